//! The view of a JSON-like value that shape readers use.
//!
//! A reader asks a [`Node`] for its shape, its entries and its text. The binding has one view over Python objects;
//! a second one over JSON text needs no change in a reader.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::error::Error;
use trimtab_simd::find_special;

/// Deepest nesting that is accepted: real messages are far below it, and it stops at cycles.
pub const MAX_DEPTH: usize = 200;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `null`, `None`.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer or a float.
    Number,
    /// A string.
    Text,
    /// An array, a list, a tuple.
    List,
    /// An object, a dict.
    Map,
    /// Anything that JSON has no word for.
    Other,
}

impl Shape {
    /// The word that an error message uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::Text => "a string",
            Self::List => "a list",
            Self::Map => "a mapping",
            Self::Other => "an object that is not JSON",
        }
    }
}

macro_rules! keys {
    ($($name:ident $text:literal),* $(,)?) => {
        /// Every key that a shape reader looks up. Closed, so that a view can prepare its own form of each once.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Key { $(#[doc = concat!("`", $text, "`")] $name),* }

        impl Key {
            /// All keys, in the order of their discriminants.
            pub const ALL: &'static [Key] = &[$(Key::$name),*];

            /// The key as it stands in JSON.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Key::$name => $text),* }
            }
        }
    };
}

keys! {
    Role "role", Content "content", Type "type", Text "text", Id "id", Name "name", Input "input",
    ToolUseId "tool_use_id", IsError "is_error", Thinking "thinking", Signature "signature", Data "data",
    Source "source", CacheControl "cache_control", Caller "caller", ToolCalls "tool_calls",
    ToolCallId "tool_call_id", Function "function", FunctionCall "function_call", Custom "custom",
    Arguments "arguments", Refusal "refusal", ImageUrl "image_url", Url "url", CallId "call_id", Output "output",
    Summary "summary", EncryptedContent "encrypted_content", ReasoningContent "reasoning_content",
    Reasoning "reasoning", ReasoningDetails "reasoning_details", ThinkingBlocks "thinking_blocks",
    ApprovalRequestId "approval_request_id", FileId "file_id", ServerName "server_name",
    ToolUse "toolUse", ToolUseCamelId "toolUseId", ToolResult "toolResult", Status "status", Json "json",
    CamelReasoning "reasoningContent", ReasoningText "reasoningText", RedactedContent "redactedContent",
    Image "image", Document "document", Bytes "bytes",
    Parts "parts", Thought "thought", ThoughtSignature "thoughtSignature", SnakeThoughtSignature "thought_signature",
    CamelCall "functionCall", FunctionResponse "functionResponse", SnakeFunctionResponse "function_response",
    Args "args", Response "response", InlineData "inlineData", SnakeInlineData "inline_data",
    FileData "fileData", SnakeFileData "file_data", MimeType "mimeType", SnakeMimeType "mime_type",
}

/// A buffer that texts are decoded into, one after the other.
#[derive(Debug, Default)]
pub struct Room {
    pub(crate) text: String,
    /// As long as the longest text that was made of bytes, and longer.
    pub(crate) bytes: Vec<u8>,
}

/// Text of a view: borrowed where possible, else decoded on demand.
pub trait Text: Send + Sync {
    /// The text.
    fn text(&self) -> Cow<'_, str>;

    /// The text, and whether it is known to be ASCII. It is decoded into `room` if necessary: a loop over many texts reuses
    /// one buffer.
    fn decode_into<'s>(&'s self, room: &'s mut Room) -> (&'s str, bool) {
        let text = match self.text() {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => {
                room.text = text;
                &room.text
            }
        };
        (text, false)
    }

    /// Estimated bytes of the text, without decoding it.
    fn length(&self) -> usize;
}

impl Text for String {
    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }

    fn length(&self) -> usize {
        self.len()
    }
}

/// A JSON-like value that can be looked into. Cheap to clone.
pub trait Node: Clone {
    /// How the view hands out text.
    type Text: Text;

    /// The type of the value.
    fn shape(&self) -> Shape;

    /// The entry of a map, `None` where there is none or the value is no map.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    fn get(&self, key: Key) -> Result<Option<Self>, Error>;

    /// The entries of a map under several keys, as [`Node::get`] gives them: a view may find them all in one pass.
    ///
    /// # Errors
    ///
    /// As [`Node::get`].
    #[inline]
    fn fields<const N: usize>(&self, keys: [Key; N]) -> Result<[Option<Self>; N], Error> {
        let mut found = [const { None }; N];
        for (value, key) in found.iter_mut().zip(keys) {
            *value = self.get(key)?;
        }
        Ok(found)
    }

    /// The string's text; `None` for any other shape.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    fn text(&self) -> Result<Option<Self::Text>, Error>;

    /// Returns what `see` makes of the string's text, which it borrows; `None` for any other shape.
    ///
    /// # Errors
    ///
    /// As [`Node::text`].
    fn look<R>(&self, see: impl FnOnce(&str) -> R) -> Result<Option<R>, Error> {
        Ok(self.text()?.map(|text| see(&text.text())))
    }

    /// [`Node::look`] for a short word: a role, a type, an id, a name. A view may cache its UTF-8 in the string.
    ///
    /// # Errors
    ///
    /// As [`Node::text`].
    fn word<R>(&self, see: impl FnOnce(&str) -> R) -> Result<Option<R>, Error> {
        self.look(see)
    }

    /// Calls `visit` for each item of a list, in order; does nothing for any other shape.
    ///
    /// # Errors
    ///
    /// The first error of `visit`.
    fn items(&self, visit: &mut dyn FnMut(Self) -> Result<(), Error>) -> Result<(), Error>;

    /// Calls `visit` for each entry of a map, in order; does nothing for any other shape.
    ///
    /// # Errors
    ///
    /// The first error of `visit`.
    fn entries(&self, visit: &mut dyn FnMut(&str, Self) -> Result<(), Error>) -> Result<(), Error>;

    /// A null, bool or number as JSON writes it; empty for any other shape.
    fn literal(&self) -> String;

    /// The string between its quotes as [`write_json`] writes it, where it stands there like that already.
    fn quoted(&self) -> Option<&str> {
        None
    }

    /// The map as [`write_json`] writes it, where the view can write it later.
    fn json(&self) -> Option<Self::Text> {
        None
    }

    /// Whether the value is `true`.
    fn is_true(&self) -> bool {
        self.shape() == Shape::Bool && self.literal() == "true"
    }

    /// Number of items of a list, 0 for any other shape.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    fn len(&self) -> Result<usize, Error> {
        let mut n = 0;
        self.items(&mut |_| {
            n += 1;
            Ok(())
        })?;
        Ok(n)
    }

    /// Whether a list has no items; true for any other shape.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.len()? == 0)
    }
}

/// Writes `node` as compact JSON: what a provider is sent for a tool's input or an unknown block.
///
/// Where `apart` is given, encoded files (see [`encoded`]) are put there and left out of the JSON: they are no text.
///
/// # Errors
///
/// [`Error::Argument`] for nesting over [`MAX_DEPTH`] (a cycle too) and for values that JSON has no word for.
pub fn write_json<N: Node>(node: &N, out: &mut String, apart: Option<&mut Vec<N::Text>>) -> Result<(), Error> {
    let mut unwanted = Vec::new();
    let take = apart.is_some();
    write_at(node, out, &mut Apart { files: apart.unwrap_or(&mut unwanted), take, between: (",", ":") }, 0)
}

/// Writes `node` as JSON with a blank behind each comma and colon, as Claude's prompt has it.
///
/// # Errors
///
/// As [`write_json`].
pub fn write_spaced<N: Node>(node: &N, out: &mut String) -> Result<(), Error> {
    write_at(node, out, &mut Apart { files: &mut Vec::new(), take: false, between: (", ", ": ") }, 0)
}

/// The base64 of a string that is an encoded file: a data URL, or a long run of base64 and nothing else.
#[must_use]
pub fn encoded(text: &str) -> Option<&str> {
    const SHORT: usize = 1_024; // a hash, a key or an id is shorter; a picture's data longer
    if let Some((head, data)) = text.split_once(";base64,") {
        return head.starts_with("data:").then_some(data);
    }
    let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_');
    (text.len() >= SHORT && text.bytes().all(base64)).then_some(text)
}

/// Where encoded files go, whether they do, and what stands between entries and behind keys.
struct Apart<'a, T> {
    files: &'a mut Vec<T>,
    take: bool,
    between: (&'static str, &'static str),
}

fn write_at<N: Node>(node: &N, out: &mut String, apart: &mut Apart<'_, N::Text>, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::Argument(format!("is nested deeper than {MAX_DEPTH} levels, or contains itself")));
    }
    match node.shape() {
        Shape::Text => {
            if !apart.take {
                match node.quoted() {
                    Some(inside) => out.extend(["\"", inside, "\""]),
                    None => drop(node.look(|text| quote(text, out))?),
                }
            } else if let Some(text) = node.text()? {
                if encoded(&text.text()).is_some() {
                    apart.files.push(text);
                    quote("", out);
                } else {
                    quote(&text.text(), out);
                }
            }
        }
        Shape::List => {
            out.push('[');
            let mut first = true;
            node.items(&mut |item| {
                separate(&mut first, apart.between.0, out);
                write_at(&item, out, apart, depth + 1)
            })?;
            out.push(']');
        }
        Shape::Map => {
            out.push('{');
            let mut first = true;
            node.entries(&mut |key, value| {
                separate(&mut first, apart.between.0, out);
                quote(key, out);
                out.push_str(apart.between.1);
                write_at(&value, out, apart, depth + 1)
            })?;
            out.push('}');
        }
        Shape::Null | Shape::Bool | Shape::Number => out.push_str(&node.literal()),
        Shape::Other => return Err(Error::Argument(format!("holds {}", Shape::Other.name()))),
    }
    Ok(())
}

fn separate(first: &mut bool, between: &str, out: &mut String) {
    if !std::mem::take(first) {
        out.push_str(between);
    }
}

/// Writes `text` as a JSON string.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let (bytes, mut from) = (text.as_bytes(), 0);
    loop {
        let at = find_special(bytes, from);
        out.push_str(&text[from..at]);
        let Some(&byte) = bytes.get(at) else { break };
        from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            _ => {
                let _ = write!(out, "\\u{byte:04x}"); // writing to a String cannot fail
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
#[allow(missing_docs)]
pub mod tests {
    use super::*;

    /// A view over a value written in Rust, for the tests of the readers.
    #[derive(Clone, Debug)]
    pub enum Value {
        Null,
        Bool(bool),
        Number(i64),
        Text(String),
        List(Vec<Value>),
        Map(Vec<(String, Value)>),
    }

    impl From<&str> for Value {
        fn from(text: &str) -> Self {
            Self::Text(text.to_owned())
        }
    }

    #[macro_export]
    #[doc(hidden)]
    macro_rules! value {
        ({ $($k:literal : $v:tt),* $(,)? }) => { $crate::node::tests::Value::Map(vec![$(($k.to_owned(), $crate::value!($v))),*]) };
        ([ $($v:tt),* $(,)? ]) => { $crate::node::tests::Value::List(vec![$($crate::value!($v)),*]) };
        (null) => { $crate::node::tests::Value::Null };
        (true) => { $crate::node::tests::Value::Bool(true) };
        (false) => { $crate::node::tests::Value::Bool(false) };
        ($n:literal) => { $crate::node::tests::literal($n) };
    }

    /// The value of a literal in [`value!`].
    pub trait Literal {
        fn value(self) -> Value;
    }
    impl Literal for &str {
        fn value(self) -> Value {
            Value::from(self)
        }
    }
    impl Literal for i64 {
        fn value(self) -> Value {
            Value::Number(self)
        }
    }
    pub fn literal(literal: impl Literal) -> Value {
        literal.value()
    }

    impl Node for Value {
        type Text = String;

        fn shape(&self) -> Shape {
            match self {
                Self::Null => Shape::Null,
                Self::Bool(_) => Shape::Bool,
                Self::Number(_) => Shape::Number,
                Self::Text(_) => Shape::Text,
                Self::List(_) => Shape::List,
                Self::Map(_) => Shape::Map,
            }
        }

        fn get(&self, key: Key) -> Result<Option<Self>, Error> {
            let Self::Map(entries) = self else { return Ok(None) };
            Ok(entries.iter().find(|(k, _)| k == key.text()).map(|(_, v)| v.clone()))
        }

        fn text(&self) -> Result<Option<String>, Error> {
            Ok(if let Self::Text(text) = self { Some(text.clone()) } else { None })
        }

        fn items(&self, visit: &mut dyn FnMut(Self) -> Result<(), Error>) -> Result<(), Error> {
            if let Self::List(items) = self { items.iter().try_for_each(|item| visit(item.clone())) } else { Ok(()) }
        }

        fn entries(&self, visit: &mut dyn FnMut(&str, Self) -> Result<(), Error>) -> Result<(), Error> {
            if let Self::Map(entries) = self {
                entries.iter().try_for_each(|(k, v)| visit(k, v.clone()))
            } else {
                Ok(())
            }
        }

        fn literal(&self) -> String {
            match self {
                Self::Null => "null".to_owned(),
                Self::Bool(b) => b.to_string(),
                Self::Number(n) => n.to_string(),
                _ => String::new(),
            }
        }
    }

    #[test]
    fn json_is_compact_and_escaped() {
        let node = value!({"a": [1, null, true], "b": "x\"\\\n\u{1}é"});
        let mut out = String::new();
        write_json(&node, &mut out, None).unwrap();
        assert_eq!(out, r#"{"a":[1,null,true],"b":"x\"\\\n\u0001é"}"#);
        let mut spaced = String::new();
        write_spaced(&value!({"a": [1, 2], "b": {}}), &mut spaced).unwrap();
        assert_eq!(spaced, r#"{"a": [1, 2], "b": {}}"#);
    }

    #[test]
    fn encoded_files_are_put_apart_where_that_is_asked() {
        let data = "QUJD".repeat(300);
        let node = Value::Map(vec![("data".to_owned(), Value::Text(data.clone())), ("n".to_owned(), Value::Number(1))]);
        let (mut out, mut files) = (String::new(), Vec::new());
        write_json(&node, &mut out, Some(&mut files)).unwrap();
        assert_eq!((out.as_str(), files), (r#"{"data":"","n":1}"#, vec![data]));
        assert_eq!(encoded("data:image/png;base64,QUJD"), Some("QUJD"));
        assert_eq!(encoded(&"two words ".repeat(200)), None);
    }

    #[test]
    fn nesting_is_refused_beyond_the_limit() {
        let nested = |n| (0..n).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        assert!(write_json(&nested(MAX_DEPTH), &mut String::new(), None).is_ok());
        assert!(write_json(&nested(MAX_DEPTH + 1), &mut String::new(), None).is_err());
    }
}
