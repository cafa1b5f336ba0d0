//! The arguments of a call.

use crate::error::Error;
use crate::node::{Node, Shape, Text};

/// The arguments of a call that say what it does; any other argument is text alone.
#[derive(Debug, Default)]
pub struct Arguments(Vec<(&'static str, Value)>);

/// Names of the arguments that are read, those of a task among them.
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
