//! Lowers the ranks of statements that were retracted later.
//!
//! A heuristic on words. A statement is retracted if a later one shares most of its words and has a word of correction or
//! the opposite negation, or if the user answers it with "no". It is not removed, because the heuristic may be wrong.

use std::collections::{HashMap, HashSet, VecDeque};

use trimtab_tokens::cancel::poll_now;

use super::line::{Line, Section, float, one_if};
use super::part::{Kind, Part};
use super::pattern::{head, pattern};

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
pattern!(WORD = r"[^\W\d_]{3,}|\d+");

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

/// Lowers the lines that were retracted in the zone or after it (`later`), and raises the corrections.
pub fn reconcile(lines: &mut [Line], later: Vec<Line>, spoken: &[&Part]) {
    use Section::{Decisions, Earlier, OpenItems, Requests};
    let mut statements: Vec<&mut Line> =
        lines.iter_mut().filter(|line| matches!(line.section, Requests | Decisions | OpenItems | Earlier)).collect();
    refuse(&mut statements, spoken);
    let mut later = later;
    let mut ordered: Vec<&mut Line> = statements.into_iter().chain(&mut later).collect();
    ordered.sort_by_key(|line| (line.at, line.number));
    ordered.drain(..ordered.len().saturating_sub(MOST));
    let words: Vec<HashSet<String>> = ordered.iter().map(|line| words_of(&line.text)).collect();
    let mut index: [HashMap<&str, VecDeque<usize>>; 2] = Default::default();
    for place in 0..ordered.len() {
        poll_now();
        let line = &*ordered[place];
        let (denies, cue) = (NOT.is_match(&line.text), CUE.is_match(&line.text));
        let mut about: HashSet<&str> = words[place].iter().map(String::as_str).collect();
        let mut share = if cue { 0.6 } else { 0.8 };
        if cue && line.number < 2 && line.section != Requests && ADMITS.is_match(&line.text) {
            let ahead = (place + 1..ordered.len().min(place + 4)).filter(|at| ordered[*at].at == line.at);
            about.extend(ahead.flat_map(|at| &words[at]).map(String::as_str));
            share = 0.5;
        }
        let mut found: HashMap<usize, usize> = HashMap::new();
        for (known, polarity) in index.iter().zip([false, true]) {
            if cue || polarity != denies {
                for at in about.iter().filter_map(|word| known.get(word)).flatten() {
                    *found.entry(*at).or_default() += 1;
                }
            }
        }
        let least = if cue { 3.0 } else { (0.6 * float(about.len())).max(3.0) };
        let is_old =
            |at: usize, shared: usize| float(shared) >= least && float(shared) >= share * float(words[at].len());
        let old: Vec<usize> = found.into_iter().filter(|(at, shared)| is_old(*at, *shared)).map(|(at, _)| at).collect();
        lower(&mut ordered, place, &old);
        for word in &words[place] {
            let known = index[usize::from(denies)].entry(word).or_default();
            if known.len() == RECENT {
                known.pop_front();
            }
            known.push_back(place);
        }
    }
}

/// The content words of a text, in the singular.
fn words_of(text: &str) -> HashSet<String> {
    static KNOWN: std::sync::LazyLock<HashSet<&str>> = std::sync::LazyLock::new(|| COMMON.split_whitespace().collect());
    let small = text.to_lowercase();
    let told = WORD.texts(&small).into_iter().filter(|word| !KNOWN.contains(word)).take(MOST_WORDS);
    told.map(|word| word.strip_suffix('s').filter(|one| one.chars().count() > 2).unwrap_or(word).to_owned()).collect()
}

/// Lowers the lines of other messages that a line retracts; lines of the user only if a request retracts them.
fn lower(lines: &mut [&mut Line], now: usize, found: &[usize]) {
    let (at, section) = (lines[now].at, lines[now].section);
    let mut any = false;
    for place in found {
        let one = &mut *lines[*place];
        if one.at != at && (one.section != Section::Requests || section == Section::Requests) {
            one.trust *= 0.05;
            any = true;
        }
    }
    lines[now].rank += 0.3 * one_if(any);
}

/// Lowers the assistant's statements between two messages of the user if the second one refuses them; more so statements
/// that share a word with the refusal.
fn refuse(lines: &mut [&mut Line], spoken: &[&Part]) {
    let (mut refusals, mut before): (Vec<(i64, i64, HashSet<String>)>, i64) = (Vec::new(), -1);
    for part in spoken.iter().filter(|part| part.kind == Kind::User) {
        if REFUSES.is_match(&part.text) {
            refusals.push((before, part.at, words_of(head(&part.text, 2_000))));
        }
        before = part.at;
    }
    for line in lines {
        let refusal = refusals.iter().rfind(|(before, at, _)| *before < line.at && line.at < *at);
        if let Some((_, _, words)) = refusal.filter(|_| line.section != Section::Requests) {
            line.trust *= if words.is_disjoint(&words_of(&line.text)) { 0.2 } else { 0.05 };
        } else if line.section == Section::Requests && refusals.iter().any(|(_, at, _)| *at == line.at) {
            line.rank += 0.2;
        }
    }
}
