//! The content of messages as a flat list of texts, for a model that reads a transcript as data.

use std::collections::HashMap;

use crate::error::Error;
use crate::node::{Key, MAX_DEPTH, Node, Shape, Text, quote, write_spaced};

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
    /// What the text is.
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
const ITEM: &str = "item";
pub(crate) const THINKING: [&str; 6] =
    ["thinking", "reasoningContent", "redacted_thinking", "reasoning", "encrypted_content", "compaction"];
/// Types of blocks that are left out, and their placeholders.
pub(crate) const LEFT_OUT: [(&str, &str); 12] = [
    ("image", "[image]"),
    ("image_url", "[image]"),
    ("input_image", "[image]"),
    ("input_audio", "[audio]"),
    ("audio", "[audio]"),
    ("video", "[video]"),
    ("input_file", "[file]"),
    ("file", "[file]"),
    ("container_upload", "[file]"),
    ("document", "[document]"),
    ("inlineData", "[file]"),
    ("fileData", "[file]"),
];
/// Keys that only a provider can read.
const OPAQUE: [&str; 6] = ["signature", "encrypted_content", "encrypted_index", "data", "cache_control", "citations"];

impl Reader {
    /// Appends the entries of the next message; a value that is no map has none.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn read<N: Node>(&mut self, message: &N) -> Result<(), Error> {
        let done = if message.shape() == Shape::Map { self.message(message) } else { Ok(()) };
        self.messages += 1;
        done
    }

    fn message<N: Node>(&mut self, message: &N) -> Result<(), Error> {
        let role = word(message, Key::Role)?;
        if role.is_empty() && !matches!(word(message, Key::Type)?.as_str(), "" | "message") {
            return self.block(message, ITEM);
        }
        let content = match message.get(Key::Content)? {
            None => message.get(Key::Parts)?,
            content => content,
        };
        if matches!(role.as_str(), "tool" | "function") {
            let name = self.tool(message, word(message, Key::Name)?)?;
            let text = content.map_or_else(|| Ok(String::new()), |content| flat(&content, 0))?;
            self.push(Kind::Result, name, text);
            return Ok(());
        }
        let role = if role.is_empty() { ITEM } else { &role };
        match content {
            Some(content) if content.shape() == Shape::List => content.items(&mut |block| self.block(&block, role))?,
            Some(content) => self.block(&content, role)?,
            None => {}
        }
        let mut call = |call: N| {
            let id = id_of(&call)?;
            let inner = match call.get(Key::Function)? {
                None => call.get(Key::Custom)?,
                inner => inner,
            };
            match inner.filter(|inner| inner.shape() == Shape::Map) {
                Some(inner) => self.call(&inner, id),
                None if call.shape() == Shape::Map => self.call(&call, id),
                None => Ok(()),
            }
        };
        match message.get(Key::ToolCalls)?.filter(|calls| calls.shape() == Shape::List) {
            Some(calls) => calls.items(&mut call),
            None => message.get(Key::FunctionCall)?.map_or(Ok(()), call),
        }
    }

    fn block<N: Node>(&mut self, block: &N, role: &str) -> Result<(), Error> {
        if block.shape() == Shape::Text {
            let text = flat(block, 0)?;
            self.push(Kind::Text, role.to_owned(), text);
        }
        if block.shape() != Shape::Map {
            return Ok(());
        }
        let kind = kind_of(block)?;
        let held = entry(block, &[&kind])?.filter(|inner| inner.shape() == Shape::Map);
        let held = held.as_ref().unwrap_or(block);
        if ends(&kind, &["tool_use", "_call", "toolUse", "functionCall"]) {
            self.call(held, id_of(held)?)
        } else if ends(&kind, &["_result", "_output", "toolResult", "functionResponse"]) {
            let failed = held.get(Key::IsError)?.is_some_and(|flag| flag.is_true());
            let failed = failed || word(held, Key::Status)? == "error";
            let name = self.tool(held, String::new())?;
            let content = entry(held, &["content", "output", "response", "tools"])?;
            let text = content.map_or_else(|| Ok(String::new()), |content| flat(&content, 0))?;
            self.push(if failed { Kind::Failure } else { Kind::Result }, name, text);
            Ok(())
        } else {
            let text = flat(block, 0)?;
            self.push(Kind::Text, role.to_owned(), text);
            Ok(())
        }
    }

    fn call<N: Node>(&mut self, call: &N, id: String) -> Result<(), Error> {
        let mut name = word(call, Key::Name)?;
        if name.is_empty() {
            name = word(call, Key::Type)?;
        }
        let text = match entry(call, &["arguments", "input", "args", "action", "queries"])? {
            None => "{}".to_owned(),
            Some(arguments) if arguments.shape() == Shape::Text => flat(&arguments, 0)?,
            Some(arguments) => json(&arguments),
        };
        self.tools.insert(id, name.clone());
        self.push(Kind::Call, name, text);
        Ok(())
    }

    /// The tool of a result: `known`, that of the call with its id, or the name that it states.
    fn tool<N: Node>(&self, result: &N, known: String) -> Result<String, Error> {
        if !known.is_empty() {
            return Ok(known);
        }
        match self.tools.get(&id_of(result)?).filter(|name| !name.is_empty()) {
            Some(name) => Ok(name.clone()),
            None => word(result, Key::Name),
        }
    }

    fn push(&mut self, kind: Kind, name: String, text: String) {
        self.entries.push(Entry { at: self.messages, kind, name, text });
    }
}

/// The text of a content: a placeholder for a block that is left out, JSON for an unknown one.
fn flat<N: Node>(content: &N, depth: usize) -> Result<String, Error> {
    if depth > MAX_DEPTH {
        return Ok(UNREADABLE.to_owned());
    }
    match content.shape() {
        Shape::Null => Ok(String::new()),
        Shape::Text => Ok(content.text()?.map_or_else(String::new, |text| text.text().into_owned())),
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
    if THINKING.contains(&kind) {
        return Some("[thinking]");
    }
    LEFT_OUT.iter().find(|(name, _)| *name == kind).map(|(_, placeholder)| *placeholder)
}

/// The type of a block: its `type`, or its first key.
pub(crate) fn kind_of<N: Node>(block: &N) -> Result<String, Error> {
    if let Some(kind) = block.get(Key::Type)?.filter(|kind| kind.shape() == Shape::Text) {
        return flat(&kind, 0);
    }
    let mut first = None;
    block.entries(&mut |key, _| {
        first.get_or_insert_with(|| key.to_owned());
        Ok(())
    })?;
    Ok(first.unwrap_or_default())
}

/// The value of the first of `keys` that a map has; null counts as missing.
pub(crate) fn entry<N: Node>(map: &N, keys: &[&str]) -> Result<Option<N>, Error> {
    let mut best: Option<(usize, N)> = None;
    map.entries(&mut |key, value| {
        if let Some(rank) = keys.iter().position(|name| *name == key)
            && value.shape() != Shape::Null
            && best.as_ref().is_none_or(|(known, _)| rank < *known)
        {
            best = Some((rank, value));
        }
        Ok(())
    })?;
    Ok(best.map(|(_, value)| value))
}

/// The text of an entry; empty for anything else.
pub(crate) fn word<N: Node>(map: &N, key: Key) -> Result<String, Error> {
    let value = map.get(key)?.filter(|value| value.shape() == Shape::Text);
    value.map_or_else(|| Ok(String::new()), |value| flat(&value, 0))
}

/// The id of a call or of its result.
pub(crate) fn id_of<N: Node>(value: &N) -> Result<String, Error> {
    let id = entry(value, &["tool_use_id", "call_id", "tool_call_id", "toolUseId", "id"])?;
    id.filter(|id| id.shape() == Shape::Text).map_or_else(|| Ok(String::new()), |id| flat(&id, 0))
}

pub(crate) fn ends(text: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| text.ends_with(ending))
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
