//! Candidate lines of the summary for requests and decisions, with their ranks.

use trimtab_tokens::cancel::poll_now;

use super::line::{Line, Section, float, one_if};
use super::part::{Kind, Part};
use super::pattern::{is_space, length, pattern, tail};
use super::text::{is_code, sentences, split, without_code};
use super::words::{Set, stretches};

pattern!(
    /// A rule that stands, where [`MUST`] may be a single demand.
    pub(super) RULE =
        r"(?i)\b(?:(?:must|never|always|don'?t|do not|make sure|ensure|prefer|avoid|whenever|from now on",
    r"|only (?:use|ever|change|touch|edit|run|do|the|in|on|for|when|if|after|to)|(?:when|before|after|(?:every|each) time) you",
    r"|(?:your|every|each) (?:repl(?:y|ies)|answers?|responses?|commit))\b|only[,.;])",
);
pattern!(
    MUST =
        r"(?i)\b(?:must|never|always|don'?t|do not|only|should|shouldn'?t|instead|without|please|make sure|ensure|need",
    r"|prefer|keep|avoid|whenever|from now on|(?:when|before|after|every time|each time) you",
    r"|your (?:repl(?:y|ies)|answers?|responses?))\b",
);
pattern!(
    DECIDED =
        r"(?i)\b(?:root cause|decided?|because|turns? out|the (?:real |actual )?(?:problem|issue|bug|fix|reason|cause)",
    r"|fixed|instead|confirmed|verified|all tests|pass(?:es|ed)?|fail(?:s|ed)?|implemented|removed|renamed|merged|pushed",
    r"|committed|completed?|works|conclu\w+|recommend\w*|blocked|found that|means that|caused by|won'?t|cannot|must)\b",
);
pattern!(
    FILLER = r"(?i)^(?:let me|let's|now|step \d|i'll|i will|great|good|perfect|ok(?:ay)?|sure|excellent",
    r"|you'?re (?:absolutely )?right|i'm (?:going|now)|i (?:see|need to)|next,? i|looking at)\b",
);

/// Words of small talk.
const SMALL: &str = "no nope yes yep yeah ok okay k thanks thank thx you ty great good perfect better best nice cool sure \
    right exactly agreed fine well done awesome excellent wonderful lovely correct that that's thats is it it's its this \
    was very so much looks lgtm hello hi hey please continue go on ahead proceed again all to me now then same next and a \
    for the indeed cheers";

/// Whether a sentence has only words without information.
fn is_small_talk(sentence: &str) -> bool {
    static KNOWN: std::sync::LazyLock<Set<&str>> = std::sync::LazyLock::new(|| SMALL.split_whitespace().collect());
    let mut number = 0;
    let is_known = stretches(sentence, |c| matches!(c, '\'' | '’')).all(|one| {
        // The lower case of a word is cut again: that of one letter has a mark, which ends a word.
        stretches(&one.to_lowercase().replace('’', "'"), |c| c == '\'').all(|word| {
            let word = word.trim_start_matches('\'');
            number += usize::from(!word.is_empty());
            number <= 6 && (word.is_empty() || KNOWN.contains(word))
        })
    });
    is_known && number > 0
}

/// The sentences of the user; those of the newest request rank highest, unless `after` has a newer one.
///
/// Small talk is left out unless it is the whole newest request, or the whole answer to a question; then the line includes
/// the question.
pub fn requests(parts: &[&Part], after: &[&Part], size: i64) -> Vec<Line> {
    let last = parts.iter().rposition(|part| part.kind == Kind::User);
    let newer = after.iter().any(|part| part.kind == Kind::User);
    let (mut seen, mut question, mut found) = (Set::default(), "", Vec::new());
    for (place, part) in parts.iter().enumerate() {
        poll_now();
        if part.kind == Kind::Assistant {
            question = tail(part.text.trim_end_matches(is_space), 400);
        }
        if part.kind != Kind::User {
            continue;
        }
        let newest = match last == Some(place) {
            false => 0.0,
            true if newer => 0.5,
            true => 3.0,
        };
        for (number, one) in asked(&part.text, question, newest > 1.0).into_iter().enumerate() {
            if one.starts_with("```") || !seen.insert(one.clone()) {
                continue;
            }
            let (behind, rules) = (float(number), RULE.is_match(&one));
            let fades = if rules { 32.0 } else { 8.0 }; // a rule at the end of a long request is one too
            let mut rank = 0.9
                + 0.4 * float(part.at) / float(size)
                + 0.3 * one_if(MUST.is_match(&one))
                + 0.7 * one_if(rules)
                + 0.5 * one_if(number == 0);
            rank = rank * fades / (fades + behind) + newest * 20.0 / (20.0 + behind);
            if number > 0 && (length(&one) < 20 || one.ends_with(':') || is_code(&one)) {
                rank *= 0.4;
            }
            found.push(Line::new(Section::Requests, one, rank, part.at, number));
        }
    }
    found
}

/// The sentences of a user's text without small talk.
fn asked(text: &str, question: &str, last: bool) -> Vec<String> {
    let found = sentences(text, 500);
    let without_small_talk =
        |line: &String| split(line).into_iter().filter(|one| !is_small_talk(one)).collect::<Vec<_>>().join(" ");
    let kept: Vec<String> = found.iter().map(without_small_talk).filter(|line| !line.is_empty()).collect();
    if !kept.is_empty() || found.is_empty() {
        return kept;
    }
    let asked = if question.ends_with('?') { sentences(&without_code(question), 300).pop() } else { None };
    match asked.as_deref().and_then(|asked| split(asked).pop()) {
        Some(asked) => vec![format!("{} (asked: {asked})", found[0])],
        None if last => found,
        None => Vec::new(),
    }
}

/// The conclusions of the assistant. Its last words may announce work; they are trusted only if no work follows.
pub fn decisions(parts: &[&Part], after: &[&Part], size: i64) -> Vec<Line> {
    let last = parts.iter().filter(|part| part.kind == Kind::Assistant).map(|part| part.at).max().unwrap_or(-1);
    let ahead = after.iter().any(|part| part.is_assistants());
    let (mut seen, mut found) = (Set::default(), Vec::new());
    for (place, part) in parts.iter().enumerate().filter(|(_, part)| part.kind == Kind::Assistant) {
        poll_now();
        let ends = parts.get(place + 1).is_none_or(|behind| behind.kind == Kind::User);
        for (number, one) in sentences(&without_code(&part.text), 300).into_iter().enumerate() {
            if one.len() < 20 || seen.contains(&one) || one.ends_with(':') || is_small_talk(&one) {
                continue;
            }
            seen.insert(one.clone());
            let marks = DECIDED.number(&one, 2);
            let filler = FILLER.is_match(&one);
            let rank = 0.25
                + 0.25 * if marks > 1 { 2.0 } else { one_if(marks > 0) }
                + 0.3 * float(part.at) / float(size)
                + 0.25 * one_if(ends);
            let behind = float(number);
            let rank = (rank - 0.3 * one_if(filler)).max(0.02) * 12.0 / (12.0 + behind);
            let mut line = Line::new(Section::Decisions, one, rank, part.at, number);
            if marks == 0 && filler {
                line.trust = if ahead && part.at == last { 0.05 } else { 0.4 };
            }
            found.push(line);
        }
    }
    found
}
