//! Reads messages of any provider into parts: texts, tool calls and results.

use super::arguments::Arguments;
use super::hidden::{PRUNED, hides};
use super::part::{HOSTED, Kind, Part};
use super::pattern::{head, pattern, strip};
use super::words::Map;
use crate::content::{self, Call, CallResult, MEDIA, OPAQUE, THINKING, Visitor, entry, string, word};
use crate::envelope::{self, is_pruned};
use crate::error::Error;
use crate::json::{Json, Tape};
use crate::node::{Key, MAX_DEPTH, Node, Shape};

pattern!(PROGRAM = r"^\s*(?:$|Caveat: |\[Request interrupted|# (?:AGENTS|CLAUDE)\.md\b)");
pattern!(
    /// How a project's rules begin that a program put into a user's message.
    GUIDE = r"^\s*# (?:AGENTS|CLAUDE)\.md\b"
);
pattern!(TAGGED = r"^\s*<(\w[\w -]{1,60})>");
pattern!(
    /// How a summary begins that a harness wrote in the user's name.
    pub(super) CONTINUED = r"(?i)^\s*(?:This session is being continued from a previous conversation",
    r"|\[?Previous conversation summary|\[COMPACT SUMMARY\]|Another language model started to solve this problem)",
);

pattern!(
    /// What stands in the middle of a result that was cut.
    NOTICE = r"\[trimtab: pruned [0-9,]+ tokens[^\[\]\r\n]{0,360}\]"
);

/// Tags around text that a program inserted into a user's message.
pub(super) const PROGRAM_TAGS: [&str; 23] = [
    "system-reminder",
    "system_reminder",
    "current_datetime",
    "sql_tables",
    "command-name",
    "command-message",
    "command-contents",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-stdout",
    "bash-stderr",
    "user-prompt-submit-hook",
    "task-notification",
    "environment_context",
    "user_instructions",
    "INSTRUCTIONS",
    "turn_aborted",
    "skill",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "new-diagnostics",
];
/// Tags around a project's rules.
pub(super) const PROJECT_TAGS: [&str; 2] = ["user_instructions", "INSTRUCTIONS"];
/// Tag around what Claude Code reminds the model of, the project's rules among it, and the files that hold these.
const REMINDER: &str = "system-reminder";
const GUIDES: [&str; 3] = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"];
/// Tags around the arguments that a user typed after a command.
const USER_TAGS: [&str; 2] = ["command-args", "bash-input"];
/// Most characters between such a pair of tags.
const LONGEST_ARGUMENTS: usize = 4_000;
/// The result that a repair writes for a call that was interrupted: there was none.
const INTERRUPTED: &str = "[no result: the session was interrupted]";
/// Names of an exit code in the fields of a result.
const EXIT_CODES: [&str; 5] = ["exit_code", "exitCode", "return_code", "returncode", "returnCode"];
/// Levels down to which such a field is the command's: below a block, its text, that text as JSON and its metadata.
const DEEPEST_CODE: usize = 4;
/// Integers from here on are machine ids, which nobody looks up.
const LARGE: u64 = 1_000_000_000_000;

/// Reads messages, in order; see [`Reader::read`].
#[derive(Debug, Default)]
pub struct Reader {
    /// The parts of the messages that were read.
    pub parts: Vec<Part>,
    at: i64,
    /// Number of calls and of results without an id, by tool: Gemini pairs them by their order.
    numbers: Map<(bool, String), usize>,
    /// By the id of a shell command, why its exit code is hidden.
    hidden: Map<String, Option<&'static str>>,
}

impl Reader {
    /// Appends the parts of the next message; a value that is no map has none.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn read<N: Node>(&mut self, message: &N) -> Result<(), Error> {
        let done = content::visit(message, self);
        self.at += 1;
        done
    }

    fn text(&mut self, text: &str, role: &str) {
        let mut push = |kind, text: &str| self.push(Part { kind, text: text.to_owned(), ..Part::default() });
        if matches!(role, "assistant" | "model") {
            push(Kind::Assistant, text);
        } else if CONTINUED.is_match(text) {
            push(Kind::Earlier, text);
        } else if role == "user" {
            let given = given(text);
            for inside in &given {
                push(Kind::Project, inside);
            }
            for words in without_arguments(text).1 {
                push(Kind::User, words);
            }
            let unwrapped = unwrapped(text);
            let (own, _) = without_arguments(&unwrapped);
            let is_guide = || given.is_empty() && GUIDE.is_match(&own);
            let kind = match is_of_a_program(&own) {
                true if is_guide() => Kind::Project,
                true => Kind::Note,
                false => Kind::User,
            };
            push(kind, &own);
        } else {
            push(Kind::Note, text);
        }
    }

    fn push(&mut self, mut part: Part) {
        part.at = self.at;
        if matches!(part.kind, Kind::Call | Kind::Result) && part.id.is_empty() {
            let number = self.numbers.entry((part.kind == Kind::Call, part.name.clone())).or_default();
            *number += 1;
            part.id = format!("{} {number}", part.name);
        }
        if part.kind == Kind::Call && !part.shell().is_empty() {
            self.hidden.insert(part.id.clone(), hides(part.shell()));
        } else if part.kind == Kind::Result {
            part.hidden = part.hidden.or_else(|| self.hidden.get(&part.id).copied().flatten());
        }
        if part.kind != Kind::Result || part.text != INTERRUPTED {
            self.parts.push(part);
        }
    }
}

impl<N: Node> Visitor<N> for Reader {
    fn skips(&self, block: &N, kind: &str) -> Result<bool, Error> {
        let is_thought = block.get(Key::Thought)?.is_some_and(|thought| thought.is_true());
        Ok(is_thought || THINKING.contains(&kind) || is_media(kind))
    }

    fn call(&mut self, call: Call<N>) -> Result<(), Error> {
        let id = if call.is_hosted { HOSTED.to_owned() } else { call.id };
        let mut part = Part { kind: Kind::Call, name: call.name, id, ..Part::default() };
        if let Some(arguments) = call.arguments {
            match string(&arguments)? {
                None => (part.text, part.arguments) = (flat(&arguments)?, Arguments::read(&arguments)?),
                Some(text) => {
                    let mut tape = Tape::default();
                    if is_json(&text, &mut tape) {
                        let parsed = tape.of(&text);
                        let opened = Json::new(&parsed);
                        (part.text, part.arguments) = (flat(&opened)?, Arguments::read(&opened)?);
                    } else {
                        part.text = text.replace("\\n", "\n");
                    }
                }
            }
        }
        self.push(part);
        Ok(())
    }

    fn result(&mut self, result: CallResult<N>) -> Result<(), Error> {
        let CallResult { id, name, content, is_error, .. } = result;
        let mut found = Found::default();
        content.map_or(Ok(()), |content| found.read(&content, 0))?;
        let Found { texts, codes, is_pruned } = found;
        let hidden = (is_pruned && texts.is_empty()).then_some(PRUNED);
        let text = texts.join("\n");
        self.push(Part { kind: Kind::Result, text, name, id, is_error, codes, hidden, ..Part::default() });
        Ok(())
    }

    fn other(&mut self, block: &N, role: &str) -> Result<(), Error> {
        let text = match string(block)? {
            None => entry(block, &["text", "refusal"])?.map(|text| string(&text)).transpose()?.flatten(),
            text => text,
        };
        match text {
            Some(text) => self.text(&text, role),
            None => self.push(Part { kind: Kind::Note, text: flat(block)?, ..Part::default() }),
        }
        Ok(())
    }
}

pub(super) fn is_media(kind: &str) -> bool {
    MEDIA.iter().any(|(name, _)| *name == kind)
}

/// Every string inside a value, a line each; a string of JSON is parsed.
fn flat<N: Node>(value: &N) -> Result<String, Error> {
    let mut found = Found::default();
    found.read(value, 0)?;
    Ok(found.texts.join("\n"))
}

/// The texts and the exit codes of a value.
#[derive(Default)]
struct Found {
    /// Its strings and numbers.
    texts: Vec<String>,
    /// The numbers below the names of an exit code.
    codes: Vec<i64>,
    /// Whether a placeholder stands in the place of a string: its words are ours, and say nothing of the session.
    is_pruned: bool,
}

impl Found {
    fn read<N: Node>(&mut self, value: &N, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Ok(());
        }
        match value.shape() {
            Shape::Text => {
                let Some(text) = string(value)? else { return Ok(()) };
                let mut tape = Tape::default();
                if is_json(&text, &mut tape) {
                    return self.read(&Json::new(&tape.of(&text)), depth + 1);
                }
                if is_pruned(&text) {
                    self.is_pruned = true;
                } else if text.contains(envelope::PRUNED) {
                    self.texts.push(NOTICE.replaced(&text, "").into_owned());
                } else {
                    self.texts.push(text);
                }
                Ok(())
            }
            Shape::List => value.items(&mut |item| self.read(&item, depth + 1)),
            Shape::Map if is_media(&word(value, Key::Type)?) => Ok(()),
            Shape::Map => value.entries(&mut |key, part| {
                if matches!(key, "type" | "id") || OPAQUE.contains(&key) {
                    return Ok(());
                }
                if depth <= DEEPEST_CODE && EXIT_CODES.contains(&key) && part.shape() == Shape::Number {
                    self.codes.extend(part.literal().parse::<i64>());
                }
                self.read(&part, depth + 1)
            }),
            Shape::Number => {
                let number = value.literal();
                if number.parse::<i64>().is_ok_and(|number| number.unsigned_abs() < LARGE) {
                    self.texts.push(number);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a text is a JSON object or list; then `tape` has its values.
fn is_json(text: &str, tape: &mut Tape) -> bool {
    text.starts_with(['{', '[']) && text.ends_with(['}', ']']) && tape.parse(text, 0) == Ok(text.len())
}

/// Whether a program inserted a user's text: it has a known beginning, or is enclosed in one tag.
fn is_of_a_program(own: &str) -> bool {
    if PROGRAM.is_match(own) {
        return true;
    }
    let Some(groups) = TAGGED.groups(own) else { return false };
    let tag = groups.text(1);
    // A program's tag has a separator within its first 41 characters; an HTML tag has none.
    let has_separator = tag.chars().skip(1).take(40).any(|c| matches!(c, '_' | ' ' | '-'));
    has_separator && strip(own).ends_with(&format!("</{tag}>"))
}

/// The text with a space in place of a command's arguments, and these arguments.
fn without_arguments(text: &str) -> (String, Vec<&str>) {
    let (mut rest, mut out, mut words) = (text, String::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        let (plain, tagged) = rest.split_at(at);
        out.push_str(plain);
        if let Some((inside, behind)) = USER_TAGS.iter().find_map(|tag| inside(tagged, tag)) {
            out.push(' ');
            words.push(inside);
            rest = behind;
        } else {
            out.push('<');
            rest = &tagged[1..];
        }
    }
    out.push_str(rest);
    (out, words)
}

/// The content of the `<tag>` at the start of a text, and the text after it.
fn inside<'t>(text: &'t str, tag: &str) -> Option<(&'t str, &'t str)> {
    let open = text.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
    let (inside, close) = open.split_at(open.find('<')?);
    let behind = close.strip_prefix("</")?.strip_prefix(tag)?.strip_prefix('>')?;
    (head(inside, LONGEST_ARGUMENTS).len() == inside.len()).then_some((inside, behind))
}

/// The project's rules in a user's text.
fn given(text: &str) -> Vec<&str> {
    let (mut rest, mut found) = (text, Vec::new());
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let opened = PROJECT_TAGS.iter().find_map(|tag| Some((tag, rest.strip_prefix(tag)?.strip_prefix('>')?)));
        let closed = opened.and_then(|(tag, inside)| inside.split_once(&format!("</{tag}>")));
        let reminder = || rest.strip_prefix(REMINDER)?.strip_prefix('>')?.split_once(&format!("</{REMINDER}>"));
        if let Some((inside, behind)) = closed {
            found.push(inside);
            rest = behind;
        } else if let Some((inside, behind)) = reminder() {
            found.extend(guide(inside));
            rest = behind;
        }
    }
    found
}

/// The project's rules in a reminder, without the program's words in front and behind.
fn guide(reminder: &str) -> Option<&str> {
    let (name, rules) = reminder[reminder.find("Contents of ")?..].split_once('\n')?;
    GUIDES.iter().any(|guide| name.contains(guide)).then(|| rules.split("IMPORTANT: this context").next().unwrap_or(""))
}

/// A user's text without the content of known program tags.
fn unwrapped(text: &str) -> String {
    let (mut rest, mut out, mut endless) = (text, String::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        let (plain, tagged) = rest.split_at(at);
        out.push_str(plain);
        let opening = |tag: &&&str| tagged[1..].strip_prefix(**tag).is_some_and(|behind| behind.starts_with('>'));
        let tag = PROGRAM_TAGS.iter().find(opening).filter(|tag| !endless.contains(*tag));
        let closed = tag.and_then(|tag| {
            let close = format!("</{tag}>");
            tagged.find(&close).map(|end| end + close.len())
        });
        if let Some(end) = closed {
            rest = &tagged[end..];
        } else {
            endless.extend(tag);
            out.push('<');
            rest = &tagged[1..];
        }
    }
    out.push_str(rest);
    out
}
