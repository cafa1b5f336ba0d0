//! Message shapes: one file a provider's, each reads a node into the builder.

mod anthropic;
mod openai_chat;
mod openai_responses;

use crate::error::Error;
use crate::ledger::{Builder, Kind, Role, RowFlag};
use crate::media;
use crate::node::{Key, Node, Shape};

/// Whose messages they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, and those who speak it.
    OpenAiChat,
    /// `OpenAI` Responses.
    OpenAiResponses,
}

impl Provider {
    /// The providers by name.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("anthropic", Self::Anthropic),
        ("openai_chat", Self::OpenAiChat),
        ("openai_responses", Self::OpenAiResponses),
    ];

    /// The provider of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] names those that there are.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, p)| *p).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            Error::Argument(format!("unknown provider {name:?}, known are {known}"))
        })
    }

    /// The name of the provider.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, p)| *p == self).map_or("", |(n, _)| n)
    }

    /// Reads one message into the builder.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] with the path of what cannot be read.
    pub fn read<N: Node>(self, message: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
        if message.shape() != Shape::Map {
            builder.message(Role::Other);
            let what = format!("is {}, expected a mapping", message.shape().name());
            return Err(builder.bad(
                "",
                &what,
                "a message is a dict such as {\"role\": \"user\", \"content\": \"...\"}",
            ));
        }
        match self {
            Self::Anthropic => anthropic::read(message, builder),
            Self::OpenAiChat => openai_chat::read(message, builder),
            Self::OpenAiResponses => openai_responses::read(message, builder),
        }
    }
}

/// The shape that a message gives away, `None` where several providers write it so.
///
/// # Errors
///
/// Whatever the view meets while looking.
pub fn detect<N: Node>(message: &N) -> Result<Option<Provider>, Error> {
    if message.get(Key::Role)?.is_none() {
        return Ok(message.get(Key::Type)?.map(|_| Provider::OpenAiResponses));
    }
    if let Some(kind) = text_of(message, Key::Type)?
        && kind.as_ref() == "message"
    {
        return Ok(Some(Provider::OpenAiResponses));
    }
    let role = text_of(message, Key::Role)?;
    let chat = matches!(role.as_ref().map(AsRef::as_ref), Some("system" | "developer" | "tool" | "function"))
        || message.get(Key::ToolCalls)?.is_some()
        || message.get(Key::FunctionCall)?.is_some();
    if chat {
        return Ok(Some(Provider::OpenAiChat));
    }
    let mut found = None;
    if let Some(content) = message.get(Key::Content)? {
        content.items(&mut |block| {
            if let Some(kind) = text_of(&block, Key::Type)? {
                found = found.or(match kind.as_ref() {
                    "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document"
                    | "server_tool_use" | "mcp_tool_use" | "compaction" => Some(Provider::Anthropic),
                    "image_url" | "input_audio" | "refusal" | "file" => Some(Provider::OpenAiChat),
                    "input_text" | "output_text" | "input_image" | "input_file" => Some(Provider::OpenAiResponses),
                    _ => None,
                });
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// The text under `key`, `None` where there is none or it is no string.
fn text_of<N: Node>(node: &N, key: Key) -> Result<Option<N::Text>, Error> {
    match node.get(key)? {
        Some(value) => value.text(),
        None => Ok(None),
    }
}

/// Gives the row the id under `key`; a row without one is incomplete.
fn identify<N: Node>(node: &N, key: Key, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    match text_of(node, key)? {
        Some(id) if !id.as_ref().is_empty() => builder.id(id.as_ref()),
        _ => builder.flag(RowFlag::Incomplete),
    }
    Ok(())
}

/// Adds the text under `key` to the row; a row without one is incomplete.
fn say<N: Node>(node: &N, key: Key, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    match text_of(node, key)? {
        Some(text) => builder.text(text),
        None => builder.flag(RowFlag::Incomplete),
    }
    Ok(())
}

/// Adds the JSON under `key` to the row, if there is any.
fn write<N: Node>(node: &N, key: Key, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    node.get(key)?.map_or(Ok(()), |value| builder.json(&value))
}

/// Adds a call's tool name and its arguments (text as it is, anything else as JSON) to the row.
fn call<N: Node>(node: &N, arguments: Key, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    match text_of(node, Key::Name)? {
        Some(name) => {
            builder.name(name.as_ref());
            builder.text(name);
        }
        None => builder.flag(RowFlag::Incomplete),
    }
    match node.get(arguments)? {
        Some(value) if value.shape() == Shape::Text => say(node, arguments, builder),
        Some(value) => builder.json(&value),
        None => Ok(()),
    }
}

/// A block of a kind that we do not know: counted by its JSON, moved whole.
fn opaque<N: Node>(block: &N, name: &str, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    builder.row(Kind::Opaque, name);
    builder.json(block)
}

/// Adds what a tool gave back: text, blocks of text and pictures, or nothing.
fn returned<N: Node>(content: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    match content.shape() {
        Shape::Text => say_all(content, builder),
        Shape::List => content.items(&mut |part| match text_of(&part, Key::Type)?.as_ref().map(AsRef::as_ref) {
            Some("text" | "input_text" | "output_text") => say(&part, Key::Text, builder),
            Some("image") => picture(&part, builder),
            Some("image_url" | "input_image") => picture_url(&part, builder),
            _ => builder.json(&part),
        }),
        Shape::Null => Ok(()),
        _ => builder.json(content),
    }
}

fn say_all<N: Node>(node: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    if let Some(text) = node.text()? {
        builder.text(text);
    }
    Ok(())
}

/// Adds the tokens of an Anthropic image block.
fn picture<N: Node>(block: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    let data = match block.get(Key::Source)? {
        Some(source) => text_of(&source, Key::Data)?,
        None => None,
    };
    match data {
        Some(data) => {
            builder.media(media::image_tokens(data.as_ref()));
            builder.data(data);
        }
        None => builder.media(media::UNKNOWN_IMAGE),
    }
    Ok(())
}

/// Adds the tokens of an `OpenAI` image part: `image_url` is a string, or a map with `url`.
fn picture_url<N: Node>(part: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    let url = match part.get(Key::ImageUrl)? {
        Some(value) if value.shape() == Shape::Map => text_of(&value, Key::Url)?,
        Some(value) => value.text()?,
        None => None,
    };
    match url {
        Some(url) => {
            let data = url.as_ref().split_once(";base64,").filter(|(head, _)| head.starts_with("data:"));
            builder.media(data.map_or(media::UNKNOWN_IMAGE, |(_, data)| media::image_tokens(data)));
            builder.data(url);
        }
        None => builder.media(media::UNKNOWN_IMAGE),
    }
    Ok(())
}
