//! The content of messages as a flat list of texts, for a model that reads a transcript as data.

use std::collections::HashMap;

use crate::content::{self, Call, CallResult, MEDIA, OPAQUE, THINKING, Visitor, entry, kind_of, string, word};
use crate::error::Error;
use crate::node::{Key, MAX_DEPTH, Node, Shape, quote, write_spaced};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text of the role that the entry names.
    Text,
    /// The arguments of a call of the tool that the entry names.
    Call,
    /// The result of the tool that the entry names.
    Result,
    /// A result that reports an error.
    Failure,
}

impl Kind {
    /// The kind in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Call => "call",
            Self::Result => "result",
            Self::Failure => "failure",
        }
    }
}

/// One text of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Position of the message.
    pub at: usize,
    /// The kind of the text.
    pub kind: Kind,
    /// The role, or the tool's name; empty for an unknown tool.
    pub name: String,
    /// The text. Images, documents and thinking are named and left out.
    pub text: String,
}

/// Reads messages of any provider, in order; see [`Reader::read`].
#[derive(Debug, Default)]
pub struct Reader {
    /// The entries of the messages that were read.
    pub entries: Vec<Entry>,
    /// Tool name by the id of a call.
    tools: HashMap<String, String>,
    messages: usize,
}

/// The text of a value that cannot be written as JSON.
const UNREADABLE: &str = "[unreadable]";
impl Reader {
    /// Appends the entries of the next message; a value that is no map has none.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn read<N: Node>(&mut self, message: &N) -> Result<(), Error> {
        let done = content::visit(message, self);
        self.messages += 1;
        done
    }

    fn push(&mut self, kind: Kind, name: String, text: String) {
        self.entries.push(Entry { at: self.messages, kind, name, text });
    }
}

impl<N: Node> Visitor<N> for Reader {
    fn call(&mut self, call: Call<N>) -> Result<(), Error> {
        let text = match call.arguments {
            None => "{}".to_owned(),
            Some(arguments) if arguments.shape() == Shape::Text => flat(&arguments, 0)?,
            Some(arguments) => json(&arguments),
        };
        if !call.id.is_empty() {
            self.tools.insert(call.id, call.name.clone());
        }
        self.push(Kind::Call, call.name, text);
        Ok(())
    }

    fn result(&mut self, result: CallResult<N>) -> Result<(), Error> {
        let called = self.tools.get(&result.id).filter(|name| !name.is_empty());
        let name = match called {
            Some(name) if result.name.is_empty() || !result.is_message => name.clone(), // a block names no tool
            _ => result.name,
        };
        let text = result.content.map_or_else(|| Ok(String::new()), |content| flat(&content, 0))?;
        self.push(if result.is_error == Some(true) { Kind::Failure } else { Kind::Result }, name, text);
        Ok(())
    }

    fn other(&mut self, block: &N, role: &str) -> Result<(), Error> {
        let text = flat(block, 0)?;
        self.push(Kind::Text, role.to_owned(), text);
        Ok(())
    }
}

/// The text of a content: a placeholder for a block that is left out, JSON for an unknown one.
fn flat<N: Node>(content: &N, depth: usize) -> Result<String, Error> {
    if depth > MAX_DEPTH {
        return Ok(UNREADABLE.to_owned());
    }
    match content.shape() {
        Shape::Null => Ok(String::new()),
        Shape::Text => Ok(string(content)?.unwrap_or_default()),
        Shape::List => {
            let mut texts = Vec::new();
            content.items(&mut |part| {
                texts.push(flat(&part, depth + 1)?);
                Ok(())
            })?;
            Ok(texts.join("\n"))
        }
        Shape::Map => {
            let kind = kind_of(content)?;
            if kind == "document"
                && let Some(source) = content.get(Key::Source)?
                && matches!(word(&source, Key::Type)?.as_str(), "text" | "content")
            {
                let inside = entry(&source, &["data", "content"])?;
                return inside.map_or_else(|| Ok(String::new()), |inside| flat(&inside, depth + 1));
            }
            if let Some(placeholder) = placeholder(&kind) {
                return Ok(placeholder.to_owned());
            }
            if content.get(Key::Thought)?.is_some_and(|thought| thought.is_true()) {
                return Ok("[thinking]".to_owned());
            }
            if let Some(text) = entry(content, &["text", "refusal"])?.filter(|text| text.shape() == Shape::Text) {
                return flat(&text, depth + 1);
            }
            let mut out = String::new();
            Ok(match write_readable(content, &mut out, depth) {
                Ok(()) => out,
                Err(_) => UNREADABLE.to_owned(),
            })
        }
        _ => Ok(json(content)),
    }
}

fn json<N: Node>(value: &N) -> String {
    let mut out = String::new();
    match write_spaced(value, &mut out) {
        Ok(()) => out,
        Err(_) => UNREADABLE.to_owned(),
    }
}

/// Writes JSON without the keys and blocks that only a provider can read.
fn write_readable<N: Node>(value: &N, out: &mut String, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::Argument(format!("is nested deeper than {MAX_DEPTH} levels, or contains itself")));
    }
    let mut between = "";
    match value.shape() {
        Shape::List => {
            out.push('[');
            value.items(&mut |item| {
                out.push_str(std::mem::replace(&mut between, ", "));
                write_part(&item, out, depth + 1)
            })?;
            out.push(']');
            Ok(())
        }
        Shape::Map => {
            out.push('{');
            value.entries(&mut |key, part| {
                if OPAQUE.contains(&key) {
                    return Ok(());
                }
                out.push_str(std::mem::replace(&mut between, ", "));
                quote(key, out);
                out.push_str(": ");
                write_part(&part, out, depth + 1)
            })?;
            out.push('}');
            Ok(())
        }
        _ => write_spaced(value, out),
    }
}

/// Writes a part of a value; a block that is left out as its placeholder.
fn write_part<N: Node>(part: &N, out: &mut String, depth: usize) -> Result<(), Error> {
    if part.shape() == Shape::Map && placeholder(&word(part, Key::Type)?).is_some() {
        quote(&flat(part, depth)?, out);
        return Ok(());
    }
    write_readable(part, out, depth)
}

fn placeholder(kind: &str) -> Option<&'static str> {
    match kind {
        "document" => Some("[document]"),
        "inlineData" | "fileData" => Some("[file]"),
        kind if THINKING.contains(&kind) => Some("[thinking]"),
        kind => MEDIA.iter().find(|(name, _)| *name == kind).map(|(_, placeholder)| *placeholder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::tests::Value;
    use crate::value;

    fn read(messages: &[Value]) -> Vec<(usize, &'static str, String, String)> {
        let mut reader = Reader::default();
        for message in messages {
            reader.read(message).unwrap();
        }
        reader.entries.into_iter().map(|one| (one.at, one.kind.name(), one.name, one.text)).collect()
    }

    fn entry(at: usize, kind: &'static str, name: &str, text: &str) -> (usize, &'static str, String, String) {
        (at, kind, name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_result_has_the_name_of_its_call() {
        let found = read(&[
            value!({"role": "user", "content": "go"}),
            value!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}]}),
            value!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": "no"}]}),
            value!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "Run", "arguments": "{}"}}]}),
            value!({"role": "tool", "tool_call_id": "c", "content": "done"}),
        ]);
        assert_eq!(
            found,
            [
                entry(0, "text", "user", "go"),
                entry(1, "call", "Read", r#"{"path": "a"}"#),
                entry(2, "failure", "Read", "no"),
                entry(3, "call", "Run", "{}"),
                entry(4, "result", "Run", "done"),
            ]
        );
    }

    #[test]
    fn results_without_an_id_keep_the_names_that_they_state() {
        let found = read(&[
            value!({"role": "model", "parts": [
                {"functionCall": {"name": "read", "args": {}}}, {"functionCall": {"name": "run", "args": {}}}]}),
            value!({"role": "user", "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "1"}}},
                {"functionResponse": {"name": "run", "response": {"output": "2"}}}]}),
        ]);
        let results: Vec<_> = found.iter().filter(|one| one.1 == "result").map(|one| one.2.as_str()).collect();
        assert_eq!(results, ["read", "run"]);
    }

    #[test]
    fn images_and_thinking_are_named_and_left_out() {
        let found = read(&[value!({"role": "user", "content": [
            {"type": "image", "source": {"data": "x"}},
            {"type": "thinking", "thinking": "x"},
            {"type": "odd", "id": "i", "signature": "x", "inner": [{"type": "image"}, 1]},
        ]})]);
        assert_eq!(
            found,
            [
                entry(0, "text", "user", "[image]"),
                entry(0, "text", "user", "[thinking]"),
                entry(0, "text", "user", r#"{"type": "odd", "id": "i", "inner": ["[image]", 1]}"#),
            ]
        );
    }

    #[test]
    fn items_without_a_role_are_calls_and_results() {
        let found = read(&[
            value!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}),
            value!({"type": "function_call_output", "call_id": "c", "output": "done"}),
        ]);
        assert_eq!(found, [entry(0, "call", "f", "{}"), entry(1, "result", "f", "done")]);
    }
}
