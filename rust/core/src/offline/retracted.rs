//! Lowers the ranks of statements that were retracted later.
//!
//! A heuristic on words. A statement is retracted if a later one shares most of its words and has a word of correction or
//! the opposite negation, or if the user answers it with "no". It is not removed, because the heuristic may be wrong.

use std::collections::VecDeque;

use trimtab_tokens::cancel::poll_now;

use super::announced::settle;
use super::line::{Line, Section, float, one_if};
use super::part::{Kind, Part};
use super::pattern::{head, length, pattern};
use super::words::{Map, Set, plain_words};

pattern!(
    CUE = r"(?i)\b(?:actually|wrong(?:ly)?|incorrect|no longer|instead|rather than|correct(?:ed|ion)|renamed?",
    r"|revert(?:ed|ing|s)?|mistake[ns]?|misread|misunderstood|in fact|not true|turned out|contrary|undone?|never ?mind",
    r"|scratch that|outdated|obsolete|superseded|had (?:believed|thought|assumed|expected)|not\b.{1,60}\bbut)\b",
);
pattern!(ADMITS = r"(?i)\b(?:wrong|incorrect|mistaken?|misread|misunderstood|not true|scratch that)\b");
pattern!(NOT = r"(?i)\b(?:not|never|no|none|nothing|cannot|without|\w+n['’]t)\b");
pattern!(
    REFUSES = r"(?i)^\s*(?:no(?:pe)?(?:[,.!;:]|\s*$|\s+(?:that|this|it|i|you)\b)|wrong\b|incorrect\b|stop\b",
    r"|that(?:'s| is| was) (?:not|wrong)\b|not (?:what|like that|quite)\b|revert\b|undo\b)",
);

const COMMON: &str = "the and for that this with from are was were has have had its but not you your can will would \
    should could now then than them they there here what when which where who why how all any also just into only still \
    very already again one two been being does did done get got let see use used always never about because instead \
    actually wrong";
/// Most words of a line that are compared.
const MOST_WORDS: usize = 40;
/// Most statements with a word that are compared, so that a repetitive transcript takes linear time.
const RECENT: usize = 6;
/// Number of last statements that are compared; 3 MB of recorded sessions have 2,100.
const MOST: usize = 5_000;

/// Lowers the lines that were retracted in the zone or after it (`later`), raises the corrections, and takes out what was
/// only announced.
pub fn reconcile(lines: &mut Vec<Line>, later: &mut [Line], spoken: &[&Part]) {
    use Section::{Decisions, Earlier, OpenItems, Requests, Rules};
    settle(lines, later, spoken);
    let mut statements: Vec<&mut Line> = lines
        .iter_mut()
        .filter(|line| matches!(line.section, Rules | Requests | Decisions | OpenItems | Earlier))
        .collect();
    refuse(&mut statements, spoken);
    let mut ordered: Vec<&mut Line> = statements.into_iter().chain(later).collect();
    ordered.sort_by_key(|line| (line.at, line.number));
    ordered.drain(..ordered.len().saturating_sub(MOST));
    let mut known = Words::default();
    let words: Vec<Vec<usize>> = ordered.iter().map(|line| known.of(&line.text)).collect();
    // The last statements with each word, those that deny apart from the others.
    let mut index = vec![[const { VecDeque::<usize>::new() }; 2]; known.0.len()];
    let mut shared = vec![0; ordered.len()];
    for place in 0..ordered.len() {
        poll_now();
        let line = &*ordered[place];
        let (denies, cue) = (NOT.is_match(&line.text), CUE.is_match(&line.text));
        let mut about = words[place].clone();
        let mut share = if cue { 0.6 } else { 0.8 };
        if cue && line.number < 2 && !line.section.is_users() && ADMITS.is_match(&line.text) {
            let ahead = (place + 1..ordered.len().min(place + 4)).filter(|at| ordered[*at].at == line.at);
            about.extend(ahead.flat_map(|at| &words[at]));
            about.sort_unstable();
            about.dedup();
            share = 0.5;
        }
        let mut found = Vec::new();
        for polarity in [false, true].into_iter().filter(|polarity| cue || *polarity != denies) {
            for at in about.iter().flat_map(|word| &index[*word][usize::from(polarity)]) {
                if shared[*at] == 0 {
                    found.push(*at);
                }
                shared[*at] += 1;
            }
        }
        let least = if cue { 3.0 } else { (0.6 * float(about.len())).max(3.0) };
        found.retain(|at| {
            let shared = float(std::mem::take(&mut shared[*at]));
            shared >= least && shared >= share * float(words[*at].len())
        });
        lower(&mut ordered, place, &found);
        for word in &words[place] {
            let known = &mut index[*word][usize::from(denies)];
            if known.len() == RECENT {
                known.pop_front();
            }
            known.push_back(place);
        }
    }
}

/// The numbers of words.
#[derive(Default)]
struct Words(Map<String, usize>);

impl Words {
    /// The content words of a text, in the singular, as ascending numbers.
    fn of(&mut self, text: &str) -> Vec<usize> {
        static KNOWN: std::sync::LazyLock<Set<&str>> = std::sync::LazyLock::new(|| COMMON.split_whitespace().collect());
        let small = text.to_lowercase();
        let told = plain_words(&small, 3, true).filter(|word| !KNOWN.contains(word)).take(MOST_WORDS);
        let mut found: Vec<usize> = told
            .map(|word| {
                let word = word.strip_suffix('s').filter(|one| length(one) > 2).unwrap_or(word);
                if let Some(number) = self.0.get(word) {
                    return *number;
                }
                self.0.insert(word.to_owned(), self.0.len());
                self.0.len() - 1
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Lowers the lines of other messages that a line retracts; lines of the user only if a request retracts them.
fn lower(lines: &mut [&mut Line], now: usize, found: &[usize]) {
    let (at, section) = (lines[now].at, lines[now].section);
    let mut any = false;
    for place in found {
        let one = &mut *lines[*place];
        if one.at != at && (!one.section.is_users() || section.is_users()) {
            one.trust *= 0.05;
            any = true;
        }
    }
    lines[now].rank += 0.3 * one_if(any);
}

/// Lowers the assistant's statements between two messages of the user if the second one refuses them; more so statements
/// that share a word with the refusal.
fn refuse(lines: &mut [&mut Line], spoken: &[&Part]) {
    let (mut refusals, mut before): (Vec<(i64, i64, Vec<usize>)>, i64) = (Vec::new(), -1);
    let mut known = Words::default();
    for part in spoken.iter().filter(|part| part.kind == Kind::User) {
        if REFUSES.is_match(&part.text) {
            refusals.push((before, part.at, known.of(head(&part.text, 2_000))));
        }
        before = part.at;
    }
    for line in lines {
        let refusal = refusals.iter().rfind(|(before, at, _)| *before < line.at && line.at < *at);
        if let Some((_, _, words)) = refusal.filter(|_| !line.section.is_users()) {
            let shares = known.of(&line.text).iter().any(|word| words.binary_search(word).is_ok());
            line.trust *= if shares { 0.05 } else { 0.2 };
        } else if line.section.is_users() && refusals.iter().any(|(_, at, _)| *at == line.at) {
            line.rank += 0.2;
        }
    }
}
