//! Parses an earlier summary, so that it is updated and not nested.

use std::rc::Rc;

use super::announced::waits;
use super::endings::Later;
use super::errors::{DIGITS, NOT_SHOWN, OF, SOLVED, successes};
use super::files::Done;
use super::line::{Line, Section, one_if};
use super::open_work::{LAST, has_number, tasks};
use super::part::{Kind, Part};
use super::pattern::{is_space, pattern, strip, words};
use super::statements::{is_opened, project_rank, rank_of};
use super::text::{clean, is_code, sentences};
use super::tool_runs::{LATER_CLEAN, LATER_OK, plain};
use super::words::Set;
use super::worth::Said;

pattern!(COMMAND = r"^(`[^`]*`.*?)(?: \(x\d+\))?(?:: (ok|exit 0|exit|failed|no result|not known|output shows)\b|$)",);
pattern!(LABEL_ALONE = r"^- ([A-Z][^\W\d_]*(?: [^\W\d_]+){0,2}:)$");
pattern!(TIMES = r" \(x\d+\)$");
pattern!(
    /// The file or the tool of an error that no command made.
    OF_TOOL = r" \(([^()\s]+)\)$"
);

/// Prefix of a paragraph from inside of a longer message.
pub const INSIDE: &str = "… ";
/// Number of such a paragraph, of which nobody knows where it stood.
pub const DEEP: usize = 8;
/// Least number of a paragraph that stands below the first of its message.
const CHILD: usize = 4;

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

fn rank_in(section: Section) -> f64 {
    match section {
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
    let (mut section, mut lists, mut folder, mut label) = (None, Vec::new(), String::new(), "");
    let (mut number, mut children) = (0, Set::<usize>::default());
    let mut is_ours =
        text.split('\n').filter_map(|raw| raw.strip_prefix("## ")).any(|raw| Section::named(strip(raw)).is_some());
    let is_listed = |raw: &str| raw.is_empty() || ["- ", "  - ", "## "].iter().any(|mark| raw.starts_with(mark));
    let is_brief = text.starts_with("- ") && text.split('\n').all(is_listed);
    if is_brief {
        (is_ours, section) = (true, Some(Section::Requests)); // a brief one has no heading of the user's lines
    }
    for raw in text.split('\n') {
        let below = raw.strip_prefix("  - ").filter(|_| is_ours);
        if below.is_none() {
            (number, label) = (0, LABEL_ALONE.groups(raw).map_or("", |found| found.text(1)));
            if is_ours && !label.is_empty() {
                continue;
            }
        } else if label.is_empty() {
            number = CHILD.max(number + 1);
        }
        let listed =
            below.map(|below| if label.is_empty() { format!("- {below}") } else { format!("- {label} {below}") });
        let raw = listed.as_deref().unwrap_or(raw);
        let heading = raw.trim_end_matches(is_space).strip_prefix("## ").and_then(Section::named);
        let item = raw.strip_prefix("- ");
        match (section, item) {
            _ if is_ours && heading.is_some() => section = heading,
            (Some(Section::Files | Section::Identifiers), Some(item)) => {
                let (label, rest) = item.split_once(": ").unwrap_or((item, ""));
                if label == "root" {
                    strip(rest).clone_into(&mut folder);
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
                let (section, told) = last.map_or((section, told.as_str()), |last| (Section::Decisions, last));
                if !section.is_users() {
                    let is_project = section == Section::Project;
                    let rank = if is_project { project_rank(&Said::of(told)) } else { rank_in(section) };
                    found.lines.push(Line::new(section, told, rank, 0, number));
                    continue;
                }
                let inside = told.strip_prefix(INSIDE);
                if inside.is_some() {
                    number = DEEP;
                } else if number > 0 {
                    children.insert(found.lines.len());
                }
                let told = inside.unwrap_or(told);
                let mut does = Said::with_limit(told);
                // A block of code stands among the requests, whatever its remarks say must be.
                does.rule &= is_brief || section == Section::Rules || !is_code(told);
                let section = if does.binds() && !is_opened(told) { Section::Rules } else { Section::Requests };
                let begins = |before: &Line| before.section == Section::Rules && section != Section::Rules;
                let first = 0.5 * one_if(found.lines.last().is_none_or(begins));
                let mut line = Line::new(section, told, rank_of(told, &does, number.min(DEEP), first, 0.0), 0, number);
                line.does = Some(Rc::new(does));
                found.lines.push(line);
            }
            _ => {
                let line = |one| Line::new(Section::Earlier, one, rank_in(Section::Earlier), 0, 0);
                found.lines.extend(sentences(raw, 300).into_iter().map(line));
            }
        }
    }
    let mut at = i64::try_from(found.lines.len()).map_or(i64::MIN, |number| -number);
    for (place, line) in found.lines.iter_mut().enumerate() {
        at += i64::from(place > 0 && !children.contains(&place));
        line.at = at;
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
/// Marks an error that names its file or tool by the last call of that, and the others if every failed command succeeded;
/// this is a heuristic, because an error line does not name its command.
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
        match endings.since(&plain(&run.text(1).replace('`', "")), -1) {
            Some(Later::Ok) => {
                well += 1;
                line.text.truncate(line.text.strip_suffix(LATER_CLEAN).unwrap_or(&line.text).len());
                line.text.push_str(LATER_OK);
            }
            Some(Later::Unknown) if !line.text.ends_with(LATER_CLEAN) => line.text.push_str(LATER_CLEAN),
            _ => {}
        }
    }
    for line in before.lines.iter_mut().filter(|line| line.section == Section::Errors) {
        let text = without_later(&line.text);
        let bare = TIMES.replaced(text, "");
        let later = match OF_TOOL.groups(&bare) {
            Some(found) => endings.since(&format!("{OF}{}", found.text(1)), -1),
            None => (failed > 0 && failed == well).then_some(Later::Ok),
        };
        match later {
            Some(Later::Ok) => line.text = format!("{text}{SOLVED}"),
            Some(Later::Unknown) if !line.text.ends_with(SOLVED) => line.text = format!("{text}{NOT_SHOWN}"),
            _ => {}
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
    if has_number(line) {
        return false; // what `tasks` makes of it stands among the new lines
    }
    if line.section != Section::OpenItems || parts.is_empty() {
        return true;
    }
    if line.text.starts_with("pending: ") || line.text.starts_with("in progress: ") {
        return tasks(parts, &[]).len() == 0;
    }
    let is_over = waits(&line.text) && parts.iter().any(|part| part.kind == Kind::Assistant);
    !is_over && !line.text.starts_with("no result yet: ") && !line.text.starts_with("not answered yet: ")
}
