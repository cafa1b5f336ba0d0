//! Messages as a flat list of what was said, called and returned, and the lines that a summary may keep.

use std::cell::OnceCell;

use crate::error::Error;
use crate::node::{Node, Shape, Text};

/// What a part of a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The user's own words.
    User,
    /// The assistant's text.
    Assistant,
    /// A tool call.
    Call,
    /// A tool's result.
    Result,
    /// An earlier summary.
    Earlier,
    /// Text that a program put in.
    #[default]
    Note,
}

impl Kind {
    /// The kind of this name; a note for any other name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "call" => Self::Call,
            "result" => Self::Result,
            "earlier" => Self::Earlier,
            _ => Self::Note,
        }
    }
}

/// One thing that a message holds.
#[derive(Debug, Default)]
pub struct Part {
    /// Position of its message.
    pub at: i64,
    /// What it is; a note by default.
    pub kind: Kind,
    /// Its text; of a call, all strings of the arguments.
    pub text: String,
    /// The tool's name.
    pub name: String,
    /// The call's id, of a call and of its result; [`HOSTED`] of a call that the provider runs itself.
    pub id: String,
    /// A call's arguments.
    pub arguments: Arguments,
    /// Whether a result says that it is an error.
    pub failed: bool,
    /// The shell command of a call, once it was asked for.
    pub shell: OnceCell<String>,
    /// What a call is about, once it was asked for.
    pub target: OnceCell<String>,
}

/// The id of a call that the provider runs itself: no result follows.
pub const HOSTED: &str = "hosted";

impl Part {
    /// Whether somebody said it.
    pub(super) fn is_spoken(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant)
    }

    /// Whether the assistant said or called it.
    pub(super) fn is_assistants(&self) -> bool {
        matches!(self.kind, Kind::Assistant | Kind::Call)
    }
}

/// The arguments of a call that say what it does; any other argument is text alone.
#[derive(Debug, Default)]
pub struct Arguments(Vec<(&'static str, Value)>);

const READ: [&str; 23] = [
    "cmd",
    "command",
    "commands",
    "cwd",
    "description",
    "filePath",
    "file_path",
    "new_string",
    "notebook_path",
    "old_string",
    "path",
    "plan",
    "replace_all",
    "script",
    "status",
    "subject",
    "taskId",
    "todos",
    "workdir",
    "working_directory",
    "content",
    "step",
    "text",
];
/// Levels of lists and maps that are read: tasks are maps in a list.
const DEPTH: usize = 3;

impl Arguments {
    /// Reads a call's arguments.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn read<N: Node>(arguments: &N) -> Result<Self, Error> {
        entries(arguments, DEPTH).map(Self)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The text of an argument that is a string.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::text)
    }

    /// An argument in words, "None" where there is none.
    pub(super) fn words(&self, key: &str) -> String {
        self.get(key).map_or_else(|| "None".to_owned(), Value::words)
    }
}

fn entries<N: Node>(node: &N, depth: usize) -> Result<Vec<(&'static str, Value)>, Error> {
    let mut found = Vec::new();
    node.entries(&mut |name, value| {
        if let Some(name) = READ.iter().find(|one| **one == name) {
            found.push((*name, Value::read(&value, depth)?));
        }
        Ok(())
    })?;
    Ok(found)
}

/// The value of an argument.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    List(Vec<Value>),
    Map(Arguments),
    Bool(bool),
    /// A number as JSON writes it.
    Number(String),
    /// Nothing, or a value deeper than any that is looked at.
    Nothing,
}

impl Value {
    fn read<N: Node>(node: &N, depth: usize) -> Result<Self, Error> {
        Ok(match node.shape() {
            Shape::Text => Self::Text(node.text()?.map_or_else(String::new, |text| text.text().into_owned())),
            Shape::List if depth > 0 => {
                let mut items = Vec::new();
                node.items(&mut |item| {
                    items.push(Self::read(&item, depth - 1)?);
                    Ok(())
                })?;
                Self::List(items)
            }
            Shape::Map if depth > 0 => Self::Map(Arguments(entries(node, depth - 1)?)),
            Shape::Bool => Self::Bool(node.literal() == "true"),
            Shape::Number => Self::Number(node.literal()),
            _ => Self::Nothing,
        })
    }

    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn list(&self) -> Option<&[Value]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    /// The value as text, a list as its items with a blank between them.
    pub fn words(&self) -> String {
        match self {
            Self::Text(text) | Self::Number(text) => text.clone(),
            Self::List(items) => items.iter().map(Self::words).collect::<Vec<_>>().join(" "),
            Self::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
            Self::Map(_) => String::new(),
            Self::Nothing => "None".to_owned(),
        }
    }

    /// Whether the value says anything: not an empty text or list, zero, false or nothing.
    pub fn says_something(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(Arguments(entries)) => !entries.is_empty(),
            Self::Bool(flag) => *flag,
            Self::Number(number) => number.parse() != Ok(0.0),
            Self::Nothing => false,
        }
    }
}

/// A heading of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Requests,
    Earlier,
    Decisions,
    Files,
    Commands,
    Errors,
    Identifiers,
    OpenItems,
}

impl Section {
    /// All headings, in the order in which they stand.
    pub const ALL: [Self; 8] = [
        Self::Requests,
        Self::Earlier,
        Self::Decisions,
        Self::Files,
        Self::Commands,
        Self::Errors,
        Self::Identifiers,
        Self::OpenItems,
    ];

    /// The heading's text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "Requests",
            Self::Earlier => "Earlier",
            Self::Decisions => "Decisions",
            Self::Files => "Files",
            Self::Commands => "Commands",
            Self::Errors => "Errors",
            Self::Identifiers => "Identifiers",
            Self::OpenItems => "Open items",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A line that may go into the summary.
#[derive(Clone, Debug)]
pub struct Line {
    /// The heading that it stands under.
    pub section: Section,
    /// One clean line.
    pub text: String,
    /// Worth of a token of it; a request is about 1.
    pub rank: f64,
    /// Position of its message, negative if an earlier summary had it.
    pub at: i64,
    /// Its place among the lines of the message.
    pub number: i64,
    /// How likely it still holds; its rank, with what its names are worth, is that much lower.
    pub trust: f64,
}

impl Line {
    pub fn new(section: Section, text: impl Into<String>, rank: f64, at: i64, number: usize) -> Self {
        Self { section, text: text.into(), rank, at, number: i64::try_from(number).unwrap_or(i64::MAX), trust: 1.0 }
    }
}

/// A position or a number of messages as a float: exact below 2^53.
#[allow(clippy::cast_precision_loss)]
pub fn float(number: i64) -> f64 {
    number as f64
}

/// 1 if so, else 0.
pub fn one_if(so: bool) -> f64 {
    f64::from(u8::from(so))
}
