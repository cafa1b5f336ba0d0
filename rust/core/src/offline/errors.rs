//! Candidate lines of the summary for errors, and whether the failed command or edit succeeded later.

use std::collections::BTreeSet;

use trimtab_tokens::cancel::poll_now;

use super::endings::{Endings, Later};
use super::line::{Line, Section, float, one_if};
use super::looks::{QUOTED, looks};
use super::ordered::Ordered;
use super::part::{Kind, Part};
use super::pattern::{length, pattern, strip};
use super::text::clean;
use super::tool_runs::{EDITS, WRITES};
use super::words::{Map, Set};

pattern!(VIEWS = r"(?i)^(?:read|view|cat|grep|glob|ls|search|fetch|open)");
pattern!(COUNTED = r"^[= ]*\d+ (?:failed|passed|failing|passing|errors?)\b");
pattern!(pub DIGITS = r"\d+");

/// Suffix of an error whose command or edit succeeded later.
pub const SOLVED: &str = " (resolved)";
/// Suffix of an error where a later call of the same command or edit, of unknown outcome, shows none.
pub const NOT_SHOWN: &str = " (a later call shows none)";

struct Fault {
    text: String,
    at: i64,
    keys: BTreeSet<String>,
    times: i64,
}

/// The distinct error lines of the first `size` messages, marked where the command or edit succeeded later.
///
/// An error line that passing tests log is none, nor where it comes again among failing ones.
pub fn errors(parts: &[&Part], calls: &Map<&str, &Part>, size: i64) -> Vec<Line> {
    let (mut found, mut endings) = (Ordered::<Fault>::default(), Endings::default());
    let results = || parts.iter().filter(|part| part.kind == Kind::Result);
    let logged: Set<String> =
        results().filter_map(|part| part.logged()).flat_map(|(lines, _)| lines).map(|line| kind_key(line)).collect();
    for part in results() {
        poll_now();
        let call = calls.get(part.id.as_str());
        let key = call.map_or("", |call| call.target());
        if part.is_refused() {
            continue;
        }
        let failed = part.failed();
        if !failed {
            if !part.is_pruned() {
                endings.well(key, part.at, part.is_ok());
                let chain = call.filter(|_| !part.shows_failure()).map(|call| call.chain());
                chain.iter().flatten().for_each(|key| endings.well(key, part.at, part.is_ok()));
            }
            if !part.shows_failure() || call.is_some_and(|call| VIEWS.is_match(&call.name) || looks(call.shell())) {
                continue;
            }
        }
        let file = call.map(|call| call.file()).filter(|_| part.is_error == Some(true)).unwrap_or_default();
        let tool = call.filter(|call| call.shell().is_empty() && call.file().is_empty()).map_or("", |call| &call.name);
        for mut text in if file.is_empty() { distinct_errors(part) } else { about(part, &file) } {
            if !tool.is_empty() && !tool.contains(['(', ')', ' ']) {
                text = format!("{text} ({})", clean(tool, 80));
            }
            let key_of_kind = kind_key(&text);
            if logged.contains(&key_of_kind) {
                continue;
            }
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
    let keys = fault.keys.iter().filter(|key| !key.is_empty());
    let later = keys.filter_map(|key| endings.since(key, fault.at)).max();
    let times = if fault.times > 1 { format!(" (x{})", fault.times) } else { String::new() };
    let rank = 0.5 + 0.4 * (float(fault.at) / float(size)).min(1.0) + 0.1 * float(fault.times).log2().min(3.0)
        - 0.3 * one_if(later.is_some());
    let rank = rank * if fault.text.starts_with("Traceback (") { 0.3 } else { 1.0 };
    let ending = match later {
        None => "",
        Some(Later::Unknown) => NOT_SHOWN,
        Some(Later::Ok) => SOLVED,
    };
    Line::new(Section::Errors, format!("{}{times}{ending}", fault.text), rank, fault.at, 0)
}

/// Prefix of the key of a file or a tool that an error line names.
pub const OF: &str = "of ";

/// The commands and edits that succeeded; files that were changed and tools by [`OF`] and their names.
pub fn successes(parts: &[&Part]) -> Endings {
    let calls: Map<&str, &&Part> =
        parts.iter().filter(|part| part.kind == Kind::Call).map(|part| (part.id.as_str(), part)).collect();
    let mut endings = Endings::default();
    for part in parts.iter().filter(|part| part.kind == Kind::Result) {
        let Some(call) = calls.get(part.id.as_str()) else { continue };
        let file = call.file();
        let changes = EDITS.is_match(&call.name) || WRITES.is_match(&call.name);
        let named = if file.is_empty() { &call.name } else { file.rsplit('/').next().unwrap_or_default() };
        let of = (call.shell().is_empty() && (changes || file.is_empty())).then(|| format!("{OF}{}", clean(named, 80)));
        if part.shows_failure() {
            endings.ill(call.target());
            if let Some(of) = &of {
                endings.ill(of);
            }
        } else if !part.is_pruned() && (call.shell().is_empty() || !looks(call.shell())) {
            for key in call.chain().iter().map(String::as_str).chain([call.target()]) {
                endings.well(key, part.at, part.is_ok());
            }
            if let Some(of) = &of {
                endings.well(of, part.at, part.is_ok());
            }
        }
    }
    endings
}

/// The first line of a refused change or read, with the file's name: the lines behind it quote the call. None where its
/// words are gone.
fn about(part: &Part, file: &str) -> Vec<String> {
    let text = untagged(&part.text);
    let line = clean(text.split('\n').next().unwrap_or_default(), 200);
    let name = file.rsplit('/').next().unwrap_or_default();
    match line {
        line if line.is_empty() => Vec::new(),
        line if line.contains(name) || line.contains('/') => vec![line],
        line => vec![format!("{line} ({})", clean(name, 80))],
    }
}

/// A text without the tags of an error around it.
fn untagged(text: &str) -> &str {
    let text = strip(text);
    let text = text.strip_prefix("<tool_use_error>").unwrap_or(text);
    strip(text.strip_suffix("</tool_use_error>").unwrap_or(text))
}

/// The error lines of a result, without lines that another line contains, and without counts of tests.
fn distinct_errors(part: &Part) -> Vec<String> {
    let mut lines = part.logged().map_or_else(|| part.faults(), |(_, behind)| behind).to_vec();
    if lines.is_empty() && part.logged().is_none() && part.is_error == Some(true) && length(&part.text) > 16 {
        lines.push(clean(untagged(&part.text), 200));
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
