//! The content of a message of any provider: its text, tool calls and tool results, in order.

use crate::error::Error;
use crate::node::{Key, Node, Shape, Text};

/// The role of an item that names none.
const ITEM: &str = "item";
/// Types of blocks that hold the model's reasoning, in clear or encrypted.
pub(crate) const THINKING: [&str; 6] =
    ["thinking", "reasoningContent", "redacted_thinking", "reasoning", "encrypted_content", "compaction"];
/// Types of images, sounds and files, each with the placeholder that names it.
pub(crate) const MEDIA: [(&str, &str); 9] = [
    ("image", "[image]"),
    ("image_url", "[image]"),
    ("input_image", "[image]"),
    ("input_audio", "[audio]"),
    ("audio", "[audio]"),
    ("video", "[video]"),
    ("input_file", "[file]"),
    ("file", "[file]"),
    ("container_upload", "[file]"),
];
/// Keys whose values only a provider can read.
pub(crate) const OPAQUE: [&str; 6] =
    ["signature", "encrypted_content", "encrypted_index", "data", "cache_control", "citations"];

/// A tool call.
pub(crate) struct Call<N> {
    /// Its id; empty for none.
    pub id: String,
    /// The tool's name, else the type of the call.
    pub name: String,
    /// The arguments.
    pub arguments: Option<N>,
    /// Whether the provider runs the tool itself: no result follows.
    pub is_hosted: bool,
}

/// The result of a tool call.
pub(crate) struct CallResult<N> {
    /// The id of its call; empty for none.
    pub id: String,
    /// The tool's name that the result states; empty for none.
    pub name: String,
    /// The output.
    pub content: Option<N>,
    /// Whether the message says that the call failed: true, that it did not: false, or neither.
    pub is_error: Option<bool>,
    /// Whether it is a message of its own, not a block.
    pub is_message: bool,
}

/// Receives what a message holds.
pub(crate) trait Visitor<N> {
    /// Whether to skip a block of this type.
    fn skips(&self, _block: &N, _kind: &str) -> Result<bool, Error> {
        Ok(false)
    }

    /// A tool call.
    fn call(&mut self, call: Call<N>) -> Result<(), Error>;

    /// The result of a tool call.
    fn result(&mut self, result: CallResult<N>) -> Result<(), Error>;

    /// A string, or a block that is neither call nor result.
    fn other(&mut self, block: &N, role: &str) -> Result<(), Error>;
}

/// Calls `visitor` with what a message holds; a value that is no map holds nothing.
///
/// # Errors
///
/// Errors of the view and of `visitor`.
pub(crate) fn visit<N: Node>(message: &N, visitor: &mut impl Visitor<N>) -> Result<(), Error> {
    if message.shape() != Shape::Map {
        return Ok(());
    }
    let role = word(message, Key::Role)?;
    if role.is_empty() && !matches!(word(message, Key::Type)?.as_str(), "" | "message") {
        return visit_block(message, ITEM, visitor);
    }
    let content = first(message, Key::Content, Key::Parts)?;
    if matches!(role.as_str(), "tool" | "function") {
        let (id, name) = (id_of(message)?, word(message, Key::Name)?);
        return visitor.result(CallResult { id, name, content, is_error: None, is_message: true });
    }
    let role = if role.is_empty() { ITEM } else { &role };
    match content {
        Some(content) if content.shape() == Shape::List => {
            content.items(&mut |block| visit_block(&block, role, visitor))?;
        }
        Some(content) => visit_block(&content, role, visitor)?,
        None => {}
    }
    let mut call = |call: N| {
        let id = id_of(&call)?;
        match first(&call, Key::Function, Key::Custom)?.filter(|inner| inner.shape() == Shape::Map) {
            Some(inner) => visit_call(&inner, id, false, visitor),
            None if call.shape() == Shape::Map => visit_call(&call, id, false, visitor),
            None => Ok(()),
        }
    };
    match message.get(Key::ToolCalls)?.filter(|calls| calls.shape() == Shape::List) {
        Some(calls) => calls.items(&mut call),
        None => message.get(Key::FunctionCall)?.map_or(Ok(()), call),
    }
}

fn visit_block<N: Node>(block: &N, role: &str, visitor: &mut impl Visitor<N>) -> Result<(), Error> {
    match block.shape() {
        Shape::Text => return visitor.other(block, role),
        Shape::Map => {}
        _ => return Ok(()),
    }
    let kind = kind_of(block)?;
    if visitor.skips(block, &kind)? {
        return Ok(());
    }
    let ends = |endings: &[&str]| endings.iter().any(|ending| kind.ends_with(ending));
    // Bedrock and Gemini nest a call or a result below the key that names its type.
    let nested = entry(block, &[&kind])?.filter(|inner| inner.shape() == Shape::Map);
    let inner = nested.as_ref().unwrap_or(block);
    if ends(&["tool_use", "_call", "toolUse", "functionCall"]) {
        let is_hosted = kind.ends_with("_call") && nested.is_none() && block.get(Key::CallId)?.is_none();
        visit_call(inner, id_of(inner)?, is_hosted, visitor)
    } else if ends(&["_result", "_output", "toolResult", "functionResponse", "function_response"]) {
        let content = entry(inner, &["content", "output", "response", "tools"])?;
        visitor.result(CallResult {
            id: id_of(inner)?,
            name: word(inner, Key::Name)?,
            is_error: is_error(inner, content.as_ref())?,
            content,
            is_message: false,
        })
    } else {
        visitor.other(block, role)
    }
}

/// Whether a result says that its call failed: `is_error` (Anthropic), `status` (Bedrock), or an `error` instead of an
/// output (Gemini). The `status` of an item of the Responses API says only that the item is whole.
fn is_error<N: Node>(result: &N, content: Option<&N>) -> Result<Option<bool>, Error> {
    let flag = result.get(Key::IsError)?.filter(|flag| flag.shape() == Shape::Bool).map(|flag| flag.is_true());
    let status = word(result, Key::Status)?;
    let response = content.filter(|content| content.shape() == Shape::Map);
    let error = match response.map(|response| entry(response, &["error"])).transpose()?.flatten() {
        Some(error) => string(&error)?.map_or(error.shape() == Shape::Map, |text| !text.is_empty()),
        None => false,
    };
    let went_well = flag == Some(false) || status == "success";
    Ok(if flag == Some(true) || status == "error" || error { Some(true) } else { went_well.then_some(false) })
}

fn visit_call<N: Node>(call: &N, id: String, is_hosted: bool, visitor: &mut impl Visitor<N>) -> Result<(), Error> {
    let name = match word(call, Key::Name)? {
        name if name.is_empty() => word(call, Key::Type)?,
        name => name,
    };
    let arguments = entry(call, &["arguments", "input", "args", "action", "queries"])?;
    visitor.call(Call { id, name, arguments, is_hosted })
}

/// The type of a block: its `type`, or its first key whose value is not null.
pub(crate) fn kind_of<N: Node>(block: &N) -> Result<String, Error> {
    if let Some(kind) = block.get(Key::Type)?.map(|kind| string(&kind)).transpose()?.flatten() {
        return Ok(kind);
    }
    let mut first = None;
    block.entries(&mut |key, value| {
        if value.shape() != Shape::Null {
            first.get_or_insert_with(|| key.to_owned());
        }
        Ok(())
    })?;
    Ok(first.unwrap_or_default())
}

/// The value of `key`, else of `other`.
fn first<N: Node>(map: &N, key: Key, other: Key) -> Result<Option<N>, Error> {
    match map.get(key)? {
        None => map.get(other),
        found => Ok(found),
    }
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
    let text = map.get(key)?.map(|value| string(&value)).transpose()?.flatten();
    Ok(text.unwrap_or_default())
}

/// The text of a string; None of any other value.
pub(crate) fn string<N: Node>(value: &N) -> Result<Option<String>, Error> {
    Ok(value.text()?.map(|text| text.text().into_owned()))
}

/// The id of a call or of its result.
fn id_of<N: Node>(value: &N) -> Result<String, Error> {
    let id = entry(value, &["tool_use_id", "call_id", "tool_call_id", "toolUseId", "id"])?;
    Ok(id.map(|id| string(&id)).transpose()?.flatten().unwrap_or_default())
}
