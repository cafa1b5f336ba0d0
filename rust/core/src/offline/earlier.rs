//! Parses an earlier summary, so that it is updated and not nested.

use super::endings::Later;
use super::errors::{DIGITS, NOT_SHOWN, SOLVED, successes};
use super::files::Done;
use super::line::{Line, Section, float};
use super::open_work::{LAST, tasks};
use super::part::Part;
use super::pattern::{is_space, pattern, strip, words};
use super::statements::RULE;
use super::text::{clean, is_code, sentences};
use super::tool_runs::{LATER_CLEAN, LATER_OK, plain};
use super::words::Set;

pattern!(COMMAND = r"^(`[^`]*`.*?)(?: \(x\d+\))?(?:: (ok|exit 0|exit|failed|no result|not known|output shows)\b|$)",);
pattern!(TIMES = r" \(x\d+\)$");

/// The contents of an earlier summary.
#[derive(Default)]
pub struct Earlier {
    /// Its lines, in order, at negative positions.
    pub lines: Vec<Line>,
    /// Paths, and the operation on each.
    pub files: Vec<(String, Done)>,
    /// The text whose names are counted.
    pub names: String,
}

fn rank_of(section: Section, text: &str) -> f64 {
    match section {
        Section::Requests if RULE.is_match(text) => 2.0,
        Section::Requests => 1.0,
        Section::Errors => 0.4,
        Section::Commands | Section::OpenItems => 0.3,
        _ => 0.6,
    }
}

/// An earlier summary by section if it is one of ours, else its sentences.
pub fn earlier(text: &str) -> Earlier {
    let mut found = Earlier::default();
    if strip(text).is_empty() {
        return found;
    }
    let (mut section, mut lists, mut folder) = (None, Vec::new(), "");
    let is_ours =
        text.split('\n').filter_map(|raw| raw.strip_prefix("## ")).any(|raw| Section::named(strip(raw)).is_some());
    for raw in text.split('\n') {
        let heading = raw.trim_end_matches(is_space).strip_prefix("## ").and_then(Section::named);
        let item = raw.strip_prefix("- ");
        match (section, item) {
            _ if is_ours && heading.is_some() => section = heading,
            (Some(Section::Files | Section::Identifiers), Some(item)) => {
                let (label, rest) = item.split_once(": ").unwrap_or((item, ""));
                if label == "root" {
                    folder = strip(rest);
                } else if let Some(done) = Done::named(label) {
                    let whole = |path: &str| path.starts_with(['/', '~']) || folder.is_empty();
                    let path = |path: &str| if whole(path) { path.to_owned() } else { format!("{folder}/{path}") };
                    found.files.extend(words(rest).map(|one| (path(one), done)));
                } else {
                    lists.push(rest.to_owned());
                }
            }
            (Some(section), Some(item)) => {
                let told = clean(item, 500);
                let last = told.strip_prefix(LAST);
                let section = if last.is_some() { Section::Decisions } else { section };
                found.lines.push(Line::new(section, last.unwrap_or(&told), rank_of(section, &told), 0, 0));
            }
            _ => {
                let line = |one| Line::new(Section::Earlier, one, rank_of(Section::Earlier, ""), 0, 0);
                found.lines.extend(sentences(raw, 300).into_iter().map(line));
            }
        }
    }
    for (line, at) in found.lines.iter_mut().rev().zip(1..) {
        line.at = -at;
        if line.rank > 1.0 {
            line.rank += 0.002 * float(at); // of rules, the one that was said first
        }
        if line.section == Section::Earlier && is_code(&line.text) {
            line.rank *= 0.4;
        }
    }
    lists.extend(found.lines.iter().map(|line| line.text.clone()));
    found.names = lists.join("\n");
    found
}

/// Updates an earlier summary's commands and errors with the calls of the parts.
///
/// Drops lines that the new summary repeats. Marks a failed command that succeeded, or whose later call shows no failure.
/// Marks the errors if every failed command succeeded; this is a heuristic, because an error line does not name its
/// command.
pub fn update(before: &mut Earlier, new: &[Line], parts: &[&Part]) {
    let was_run = |line: &Line| matches!(line.section, Section::Commands | Section::Errors);
    if !before.lines.iter().any(was_run) {
        return;
    }
    let endings = successes(parts);
    let told: Set<String> = new.iter().map(|line| bare(&line.text)).collect();
    let (mut failed, mut well) = (0, 0);
    for line in before.lines.iter_mut().filter(|line| line.section == Section::Commands) {
        let Some(run) = COMMAND.groups(&line.text) else { continue };
        if !matches!(run.text(2), "exit" | "failed") || line.text.ends_with(LATER_OK) {
            continue;
        }
        failed += 1;
        match endings.since(&plain(run.text(1).trim_matches('`')), -1) {
            Some(Later::Ok) => {
                well += 1;
                line.text.truncate(line.text.strip_suffix(LATER_CLEAN).unwrap_or(&line.text).len());
                line.text.push_str(LATER_OK);
            }
            Some(Later::Unknown) if !line.text.ends_with(LATER_CLEAN) => line.text.push_str(LATER_CLEAN),
            _ => {}
        }
    }
    if failed > 0 && failed == well {
        for line in before.lines.iter_mut().filter(|line| line.section == Section::Errors) {
            line.text = format!("{}{SOLVED}", without_later(&line.text));
        }
    }
    before.lines.retain(|line| !was_run(line) || !told.contains(&bare(&line.text)));
}

/// An error line without what is said of a later call.
fn without_later(text: &str) -> &str {
    text.strip_suffix(SOLVED).or(text.strip_suffix(NOT_SHOWN)).unwrap_or(text)
}

/// A line without the parts that change when it is repeated.
fn bare(text: &str) -> String {
    if let Some(run) = COMMAND.groups(text) {
        return run.text(1).to_owned();
    }
    DIGITS.replaced(&TIMES.replaced(without_later(text), ""), "0").into_owned()
}

/// Whether a line of an earlier summary is still valid after these parts: new parts end open items.
pub fn still_holds(line: &Line, parts: &[&Part]) -> bool {
    if line.section != Section::OpenItems || parts.is_empty() {
        return true;
    }
    if line.text.starts_with("pending: ") || line.text.starts_with("in progress: ") {
        return tasks(parts).len() == 0;
    }
    !line.text.starts_with("no result yet: ") && !line.text.starts_with("not answered yet: ")
}
