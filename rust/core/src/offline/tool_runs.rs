//! Candidate lines of the summary for commands, each once with its last outcome.

use trimtab_tokens::cancel::poll_now;

use super::arguments::Value;
use super::endings::{Endings, Later};
use super::line::{Line, Section, float, one_if};
use super::looks::{QUOTED, looks};
use super::ordered::Ordered;
use super::outcome::{EXIT, NOT_KNOWN, OUTPUT_SHOWS};
use super::part::{Kind, Part};
use super::pattern::{head, length, pattern, strip, words};
use super::text::clean;
use super::words::{Map, Set};
use crate::envelope::is_pruned;

pattern!(pub EDITS = r"(?i)edit|replace|patch|update|notebook|insert");
pattern!(pub WRITES = r"(?i)write|create|save");
pattern!(
    CHANGES = r"\b(?:test|build|lint|check|fmt|install|run|make|cargo|pytest|npm|pnpm|yarn|bun|go|docker|deploy|migrate|commit",
    r"|push|merge|rebase|checkout|switch|branch|tag|release|curl|gh)\b",
);
pattern!(HEREDOC = r#"<<-?\s*["']?(\w+)["']?"#);
pattern!(
    SHOWS = r"\s*(?:2>&1|[12]?>\s*/dev/null|\|\s*(?:tail|head|grep|tee|cat|less)\b[^|&;]*|;\s*echo [^;&|\n]*\$\?[^;&|\n]*$)"
);
pattern!(VERBOSE = r"(\s(?:-[qvsx]{1,3}|--(?:quiet|verbose|no-header|tb=\w+|colou?r(?:=\w+)?)))(?:\s|$)");
pattern!(
    /// Lines in front of a script that do nothing: blank ones, remarks, options of the shell.
    IDLE = r"^(?:[ \t]*(?:#[^\n]*|\\|set -[^\n;&|]*)?\n)+\s*"
);
pattern!(MEANS_NOTHING = r"^\s*(?:import |from \S+ import |use |#!|set -|package |$)");
pattern!(
    /// A command that is given to a shell in quotes.
    WRAPPED = r#"^bash -l?c (?:'([^']*)'|"([^"]*)")$"#
);
pattern!(
    /// What joins commands otherwise.
    OTHERWISE = r"\|\||;|\n|<<"
);
pattern!(LEADING = r"^(?:bash -l?c |cd \S+ *(?:&&|;) *)");
pattern!(MOVED = r"^cd (\S+) *(?:&&|;)");
pattern!(
    /// A command of an earlier summary with its folder.
    IN_FOLDER = r"^`([^`]+)` in (\S+)(?: \(x\d+\))?(?::|$)"
);

/// What editors that are one tool call their changes.
const EDITORS: [&str; 7] = ["view", "create", "insert", "str_replace", "undo_edit", "delete", "rename"];
/// Suffix of a command that failed and succeeded later.
pub const LATER_OK: &str = ", later ok";
/// Suffix of a command that failed, where a later call of unknown outcome shows no failure.
pub const LATER_CLEAN: &str = ", a later call shows no failure";

impl Part {
    /// The shell command of a call as it was given, empty if it is none.
    fn given(&self) -> String {
        let given = ["command", "cmd", "script", "commands"].into_iter().find_map(|key| {
            let text = match self.arguments.get(key)? {
                Value::Text(text) => text.clone(),
                list @ Value::List(_) => list.words(),
                _ => return None,
            };
            Some(strip(&text).to_owned()).filter(|text| !text.is_empty())
        });
        let given = given.filter(|text| !self.is_an_editors(text)).unwrap_or_default();
        let inner = WRAPPED.groups(&given).map(|found| strip(&[found.text(1), found.text(2)].concat()).to_owned());
        inner.unwrap_or(given)
    }

    /// Whether a word names what an editor does to a file.
    fn is_an_editors(&self, word: &str) -> bool {
        let names_a_file = || ["path", "file_path"].into_iter().any(|key| self.arguments.text(key).is_some());
        EDITORS.contains(&word) && names_a_file()
    }

    /// The shell command of a call without the change of folder in front, empty if it is none.
    pub fn shell(&self) -> &str {
        self.shell.get_or_init(|| LEADING.replaced(&self.given(), "").into_owned())
    }

    /// What a call says of its command.
    fn about(&self) -> Option<&str> {
        self.arguments.text("description").filter(|about| !strip(about).is_empty() && !is_pruned(about))
    }

    /// The folder that a call names for its command, empty if it names none.
    fn names_folder(&self) -> String {
        let given = self.given();
        let moved = MOVED.groups(&given).map(|found| found.text(1));
        let told = || ["workdir", "cwd", "working_directory"].into_iter().find_map(|key| self.arguments.text(key));
        let folder = moved.or_else(told).unwrap_or_default().trim_matches(['"', '\'']);
        head(folder.trim_end_matches('/'), 200).to_owned()
    }

    /// The file of a call, empty for a shell command and where there is none.
    pub fn file(&self) -> String {
        if !self.shell().is_empty() {
            return String::new();
        }
        let path = ["file_path", "path", "notebook_path"].into_iter().find_map(|key| self.arguments.get(key));
        path.map(Value::words).unwrap_or_default()
    }

    /// The target of a call: its command, or its file.
    pub fn target(&self) -> &str {
        self.target.get_or_init(|| {
            if is_pruned(self.shell()) {
                return String::new(); // nobody knows whether another call is the same one
            }
            if !self.shell().is_empty() {
                let folder = self.folder.get().map_or_else(String::new, |folder| format!(" in {folder}"));
                return plain(self.shell()) + &folder;
            }
            let path = Some(self.file()).filter(|path| !path.is_empty());
            let path = path.unwrap_or_else(|| head(&self.text, 200).to_owned());
            let changes = EDITS.is_match(&self.name) || WRITES.is_match(&self.name);
            format!("{} {path}", if changes { "change" } else { &self.name })
        })
    }

    /// The targets of the commands that a call joins by `&&`: where it went well, each of them did. Up to one that changes the
    /// folder.
    pub fn chain(&self) -> Vec<String> {
        let text = self.shell();
        let joined = || text.matches("&&").count();
        let bare = if text.contains("&&") { QUOTED.replaced(text, "") } else { return Vec::new() };
        if bare.matches("&&").count() < joined() || OTHERWISE.is_match(&bare) {
            return Vec::new();
        }
        let folder = self.folder.get().map_or_else(String::new, |folder| format!(" in {folder}"));
        let commands = text.split("&&").map(strip).take_while(|one| !one.starts_with("cd "));
        commands.filter(|one| !one.is_empty()).map(|one| plain(one) + &folder).collect()
    }
}

/// Tells calls of one command apart that name different folders: from here on each is known by its folder too.
///
/// `before` are the lines of an earlier summary. A call that names no folder stays as it is: it ran wherever the shell stood.
pub fn tell_apart(parts: &[&Part], before: &[Line]) {
    let mut folders: Map<String, Set<String>> = Map::default();
    for line in before.iter().filter(|line| line.section == Section::Commands) {
        if let Some(run) = IN_FOLDER.groups(&line.text) {
            folders.entry(plain(run.text(1))).or_default().extend(["", run.text(2)].map(str::to_owned));
        }
    }
    let mut named = Vec::new();
    for part in parts.iter().filter(|part| part.kind == Kind::Call && !part.shell().is_empty()) {
        let folder = part.names_folder();
        if !folder.is_empty() && !looks(part.shell()) {
            let command = plain(part.shell());
            folders.entry(command.clone()).or_default().insert(folder.clone());
            named.push((part, command, folder));
        }
    }
    for (part, command, folder) in named {
        if folders[&command].len() > 1 {
            part.folder.get_or_init(|| folder);
        }
    }
}

/// A command as the summary shows it: for a script its description, else the first line that has an effect.
///
/// Empty where a placeholder stands in its place, and nothing says what it did.
fn shown(part: &Part) -> String {
    let text = part.shell();
    if is_pruned(text) {
        return part.about().map_or_else(String::new, |about| format!("`…` {}", clean(about, 100)));
    }
    let text = IDLE.find(text).map(|idle| &text[idle.end..]).filter(|rest| !rest.is_empty()).unwrap_or(text);
    let opened = HEREDOC.groups(text).map(|found| found.text(1));
    if opened.is_none() && !text.contains('\n') && length(text) <= 160 {
        return format!("`{}`", clean(text, 160));
    }
    let (first, body) = text.split_once('\n').unwrap_or((text, ""));
    let first = HEREDOC.replaced(first, "");
    if let Some(about) = part.about() {
        return format!("`{}` {}", clean(&first, 60), clean(about, 100));
    }
    if let Some(end) = opened.filter(|_| !body.is_empty()) {
        let mut lines = body.split('\n').take(60);
        let line = lines.find(|one| !MEANS_NOTHING.is_match(one) && strip(one) != end).unwrap_or_default();
        return format!("`{}` {}", clean(&first, 80), clean(line, 100)).trim_end().to_owned();
    }
    format!("`{}`", clean(text, 160))
}

/// A command without the parts that only change its output.
pub fn plain(text: &str) -> String {
    let shown = SHOWS.replaced(head(text, 2_000), "").into_owned();
    let (mut out, mut end) = (String::new(), 0);
    while let Some(flag) = VERBOSE.first_group_from(&shown, end) {
        out.push_str(&shown[end..flag.start]);
        end = flag.end;
    }
    out.push_str(&shown[end..]);
    let line = words(&out).collect::<Vec<_>>().join(" ");
    if line.is_empty() { head(text, 200).to_owned() } else { line }
}

struct Run {
    text: String,
    key: String,
    at: i64,
    times: i64,
    ending: String,
    failed: bool,
    again: bool,
    /// The commands that it is known to have run with success.
    chain: Vec<String>,
}

impl Run {
    fn new(text: &str, key: &str, at: i64) -> Self {
        let (text, key) = (text.to_owned(), key.to_owned());
        Self { text, key, at, times: 0, ending: String::new(), failed: false, again: false, chain: Vec::new() }
    }
}

/// The commands of the first `size` messages, each once with its last outcome.
///
/// A command that a later one contains, which succeeded, is left out unless it failed. A failed command that succeeded later is
/// marked, and a command that later messages run again gets a lower rank.
pub fn commands(parts: &[&Part], results: &Map<&str, &Part>, size: i64) -> Vec<Line> {
    let (mut runs, mut endings) = (Ordered::<Run>::default(), Endings::default());
    for part in parts.iter().filter(|part| part.kind == Kind::Call) {
        poll_now();
        if part.shell().is_empty() || looks(part.shell()) {
            continue;
        }
        let (mut text, result) = (shown(part), results.get(part.id.as_str()).copied());
        if text.is_empty() {
            continue;
        }
        let script = !text.ends_with('`');
        if let Some(folder) = part.folder.get() {
            text.push_str(" in ");
            text.push_str(folder);
        }
        let (failed, chain) = (result.is_some_and(Part::failed), part.chain());
        let ending = match result {
            Some(result) => with_output(result, script),
            None => "no result".to_owned(),
        };
        if let Some(result) = result.filter(|result| !result.shows_failure() && !result.is_pruned()) {
            for key in chain.iter().map(String::as_str).chain([part.target()]) {
                endings.well(key, result.at, result.is_ok());
            }
        }
        let key = if script { &text } else { part.target() };
        if part.at >= size {
            runs.entry(key, || Run::new("", "", part.at)).again = true;
            continue;
        }
        let run = runs.entry(key, || Run::new(&text, part.target(), part.at));
        run.times += 1;
        (run.at, run.ending, run.failed) = (part.at, ending, failed);
        run.chain = if result.is_some_and(Part::is_ok) { chain } else { Vec::new() };
        run.text = text;
    }
    let told = told_once(&runs).into_iter().filter(|run| !run.text.is_empty());
    told.map(|run| line_of(run, endings.since(&run.key, run.at).filter(|_| run.failed), size)).collect()
}

/// The runs without those that did not fail and are inside of a later one.
fn told_once(runs: &Ordered<Run>) -> Vec<&Run> {
    let mut within = Map::<&str, i64>::default();
    for (key, at) in runs.iter().flat_map(|(_, run)| run.chain.iter().map(|key| (key.as_str(), run.at))) {
        let last = within.entry(key).or_insert(at);
        *last = at.max(*last);
    }
    let is_within = |run: &&Run| !run.failed && within.get(run.key.as_str()).is_some_and(|at| *at >= run.at);
    runs.iter().map(|(_, run)| run).filter(|run| !is_within(run)).collect()
}

/// How a command ended, for a script with a short output.
fn with_output(result: &Part, script: bool) -> String {
    let ending = result.ending();
    let text = if script { EXIT.replaced(head(&result.text, 400), "") } else { "".into() };
    let short = length(&result.text) <= 400 && length(&text) <= 160 && strip(&text).matches('\n').count() < 2;
    let output = if short { clean(&text, 100) } else { String::new() };
    if output.is_empty() || ending.contains("; ") || ending.starts_with(OUTPUT_SHOWS) {
        ending
    } else if ending.is_empty() {
        format!("{OUTPUT_SHOWS}{output}")
    } else if ending.starts_with(NOT_KNOWN) {
        format!("{ending}; {OUTPUT_SHOWS}{output}")
    } else {
        format!("{ending}; {output}")
    }
}

fn line_of(run: &Run, later: Option<Later>, size: i64) -> Line {
    let times = if run.times > 1 { format!(" (x{})", run.times) } else { String::new() };
    let rank = 0.15
        + 0.25 * one_if(CHANGES.is_match(&run.text))
        + 0.25 * one_if(run.failed && later.is_none())
        + 0.3 * float(run.at) / float(size);
    let rank = (rank + 0.05 * float(run.times).log2()) * if run.again { 0.5 } else { 1.0 };
    let later = match later {
        None => "",
        Some(Later::Unknown) => LATER_CLEAN,
        Some(Later::Ok) => LATER_OK,
    };
    let colon = if run.ending.is_empty() { "" } else { ": " };
    Line::new(Section::Commands, format!("{}{times}{colon}{}{later}", run.text, run.ending), rank, run.at, 0)
}
