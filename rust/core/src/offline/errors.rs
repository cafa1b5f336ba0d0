//! Candidate lines of the summary for errors, and whether the failed command or edit succeeded later.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use trimtab_tokens::cancel::poll_now;

use super::endings::Endings;
use super::line::{Line, Section, float, one_if};
use super::ordered::Ordered;
use super::part::{Kind, Part};
use super::pattern::{head, length, pattern, words};
use super::text::{clean, is_code};
use super::tool_runs::looks;

pattern!(SUSPECT = r"(?i)error|fail|exception|panic|fatal|traceback|cannot|not found|denied|undefined|unable");
pattern!(
    FAULT = r"(?i)\b(?:\w*error(?:\[\w+\])?|\w*exception|panic|fatal|traceback|fail(?:ed|ure)?|cannot|unable",
    r"|denied|not found|undefined)\b",
);
pattern!(DENIED = r"(?i)\b(?:0|no) $");
pattern!(LISTED = r"^(?:\s*\d+(?:→|\t)|[+-]|\S+[:-]\d+[:-]\s|.*[{;]\s*$)");
pattern!(VIEWS = r"(?i)^(?:read|view|cat|grep|glob|ls|search|fetch|open)");
pattern!(COUNTED = r"^[= ]*\d+ (?:failed|passed|failing|passing|errors?)\b");
pattern!(QUOTED = r#"'[^']*'|"[^"]*""#);
pattern!(pub DIGITS = r"\d+");

/// Suffix of an error whose command or edit succeeded later.
pub const SOLVED: &str = " (resolved)";
/// Most error lines of a result: later ones repeat them.
const MOST: usize = 12;

/// The error lines of a tool's result, cleaned.
fn faults(text: &str) -> Vec<String> {
    // The only letter whose lower case has two characters, which changes byte offsets.
    let text = if text.contains('İ') { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) };
    let (mut found, mut searched) = (Vec::new(), 0);
    for word in SUSPECT.find_all(&text) {
        if word.start < searched {
            continue;
        }
        let start = text[..word.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[word.start..].find('\n').map_or(text.len(), |at| word.start + at);
        let raw = &text[start..end];
        if (10..=600).contains(&length(raw)) && reports_failure(raw) && !LISTED.is_match(raw) {
            let line = clean(raw, 200);
            if !is_code(&line) {
                found.push(line);
                if found.len() == MOST {
                    break;
                }
            }
        }
        searched = end;
    }
    found
}

/// Whether one of a line's first words reports a failure and does not follow "0" or "no".
fn reports_failure(raw: &str) -> bool {
    let line = words(head(raw, 200)).take(6).collect::<Vec<_>>().join(" ");
    let mut from = 0;
    while let Some(found) = FAULT.find_from(&line, from) {
        if !DENIED.is_match(&line[..found.start]) {
            return true;
        }
        from = found.start + line[found.start..].chars().next().map_or(1, char::len_utf8);
    }
    false
}

struct Fault {
    text: String,
    at: i64,
    keys: BTreeSet<String>,
    times: i64,
}

/// The distinct error lines of the first `size` messages, marked where the command or edit succeeded later.
pub fn errors(parts: &[&Part], calls: &HashMap<&str, &Part>, size: i64) -> Vec<Line> {
    let (mut found, mut endings) = (Ordered::<Fault>::default(), Endings::default());
    for part in parts.iter().filter(|part| part.kind == Kind::Result) {
        poll_now();
        let call = calls.get(part.id.as_str());
        let key = call.map_or("", |call| call.target());
        let failed = part.outcome().1;
        if !failed {
            endings.well(key, part.at);
            if call.is_some_and(|call| VIEWS.is_match(&call.name) || looks(call.shell())) {
                continue;
            }
        }
        for text in distinct_errors(part) {
            let key_of_kind = kind_key(&text);
            if part.at >= size && !found.contains(&key_of_kind) {
                continue;
            }
            let new = || Fault { text: String::new(), at: 0, keys: BTreeSet::new(), times: 0 };
            let fault = found.entry(&key_of_kind, new);
            (fault.text, fault.at) = (text, part.at);
            fault.times += 1;
            fault.keys.insert(key.to_owned());
            if !failed {
                endings.ill(key);
            }
        }
    }
    found.iter().map(|(_, fault)| line_of(fault, &endings, size)).collect()
}

fn line_of(fault: &Fault, endings: &Endings, size: i64) -> Line {
    let solved = fault.keys.iter().any(|key| !key.is_empty() && endings.since(key, fault.at));
    let times = if fault.times > 1 { format!(" (x{})", fault.times) } else { String::new() };
    let rank = 0.5 + 0.4 * (float(fault.at) / float(size)).min(1.0) + 0.1 * float(fault.times).log2().min(3.0)
        - 0.3 * one_if(solved);
    let rank = rank * if fault.text.starts_with("Traceback (") { 0.3 } else { 1.0 };
    let ending = if solved { SOLVED } else { "" };
    Line::new(Section::Errors, format!("{}{times}{ending}", fault.text), rank, fault.at, 0)
}

/// The commands and edits that succeeded.
pub fn successes(parts: &[&Part]) -> Endings {
    let calls: HashMap<&str, &&Part> =
        parts.iter().filter(|part| part.kind == Kind::Call).map(|part| (part.id.as_str(), part)).collect();
    let mut endings = Endings::default();
    for part in parts.iter().filter(|part| part.kind == Kind::Result) {
        let Some(call) = calls.get(part.id.as_str()) else { continue };
        if part.outcome().1 {
            endings.ill(call.target());
        } else if call.shell().is_empty() || !looks(call.shell()) {
            endings.well(call.target(), part.at);
        }
    }
    endings
}

/// The error lines of a result, without lines that another line contains, and without counts of tests.
fn distinct_errors(part: &Part) -> Vec<String> {
    let mut lines = faults(&part.text);
    if lines.is_empty() && part.failed && length(&part.text) > 16 {
        lines.push(clean(&part.text, 200));
    }
    let is_held = |line: &&String| {
        let bare = line.strip_prefix("E ").unwrap_or(line);
        lines.iter().any(|more| more != *line && more.contains(bare))
    };
    lines.iter().filter(|line| !is_held(line) && !COUNTED.is_match(line)).cloned().collect()
}

/// A key that is equal for errors of one kind: digits and quoted names are replaced by 0; quoted names stay if the rest is short.
fn kind_key(text: &str) -> String {
    let plain = QUOTED.replaced(text, "0");
    DIGITS.replaced(if length(&plain) > 40 { &plain } else { text }, "0").into_owned()
}
