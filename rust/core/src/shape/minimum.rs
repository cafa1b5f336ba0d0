//! The fields that a message must have in each shape, and those by which only one shape is meant.
//!
//! | shape | a message has | a block has |
//! |---|---|---|
//! | `anthropic` | `role` and `content`, a text or blocks | `type` |
//! | `openai_chat` | `role`, and `content` or calls | `type` |
//! | `openai_responses` | the `type` of an item, or `role` and `content` | `type` |
//! | `bedrock` | `role` and `content`, a list of blocks | one field that names its kind, such as `toolUse`, and no `type` |
//! | `gemini` | `parts` | a field that names its kind, such as `functionCall`, and no `type` |
//!
//! A field or a block that only another shape has is refused, and so is a `type` that is neither an item's nor `message`.
//! An item of a type that is not known has an `id` and no `content`. Blocks of kinds that are not known are read whole.

use super::bedrock;
use super::items::is_item;
use super::openai_chat::{REASONING, REASONING_PARTS};
use super::parts::{given, is_typed, text_of};
use super::{Provider, foreign};
use crate::error::Error;
use crate::ledger::{Builder, Sink};
use crate::node::{Key, Node, Shape, Text};

/// Fields that may hold something beside a missing content, and are no other form of it.
const BESIDE: [&str; 12] = [
    "role",
    "type",
    "name",
    "id",
    "status",
    "phase",
    "metadata",
    "annotations",
    "cache_control",
    "timestamp",
    "uuid",
    "audio",
];

const DETECT: &str = "pass messages of one provider; where provider= or --format is given, it must be theirs";

/// The shape that a message gives away; `None` where several providers write it so, or none does.
pub fn tell<N: Node>(message: &N) -> Result<Option<Provider>, Error> {
    if let Some(parts) = message.get(Key::Parts)? {
        let is_null = parts.shape() == Shape::Null;
        return Ok((is_null || holds_gemini(&parts)?).then_some(Provider::Gemini));
    }
    let kind = text_of(message, Key::Type)?;
    let kind = kind.as_ref().map(Text::text);
    let Some(role) = message.get(Key::Role)? else {
        return Ok(kind.filter(|kind| is_item(kind)).map(|_| Provider::OpenAiResponses));
    };
    if role.text()?.is_some_and(|role| matches!(&*role.text(), "tool" | "function")) {
        return Ok(Some(Provider::OpenAiChat));
    }
    for key in [Key::ToolCalls, Key::FunctionCall, Key::ToolCallId, Key::ReasoningContent] {
        if message.get(key)?.is_some() {
            return Ok(Some(Provider::OpenAiChat));
        }
    }
    let is_message = kind.as_deref() == Some("message");
    if let Some(found) = tell_by_blocks(message, is_message)? {
        return Ok(Some(found));
    }
    // Some keep reasoning under these names beside another provider's blocks.
    for key in REASONING.into_iter().chain(REASONING_PARTS) {
        if message.get(key)?.is_some() {
            return Ok(Some(Provider::OpenAiChat));
        }
    }
    if !is_message {
        // Tools that an item adds come from a role.
        return Ok(kind.filter(|kind| is_item(kind)).map(|_| Provider::OpenAiResponses));
    }
    // An answer of Anthropic's has the type too, and says why it stopped.
    let mut stopped = false;
    message.entries(&mut |name, _| {
        stopped |= name == "stop_reason";
        Ok(())
    })?;
    Ok(Some(if stopped { Provider::Anthropic } else { Provider::OpenAiResponses }))
}

/// The shape that the first telling block of a message gives away; `is_message` says that this is the message's type.
fn tell_by_blocks<N: Node>(message: &N, is_message: bool) -> Result<Option<Provider>, Error> {
    let mut found = None;
    if let Some(content) = message.get(Key::Content)? {
        content.items(&mut |block| {
            if found.is_some() {
                return Ok(());
            }
            found = match text_of(&block, Key::Type)? {
                Some(kind) => tell_by_type(&kind.text(), &block, is_message)?,
                None => bedrock::is_block(&block)?.then_some(Provider::Bedrock),
            };
            Ok(())
        })?;
    }
    Ok(found)
}

fn tell_by_type<N: Node>(kind: &str, block: &N, is_message: bool) -> Result<Option<Provider>, Error> {
    Ok(match kind {
        "tool_use" | "tool_result" | "redacted_thinking" | "image" | "document" | "search_result" | "compaction" => {
            Some(Provider::Anthropic)
        }
        // Mistral's chat has thinking too, as a list of parts.
        "thinking" => {
            block.get(Key::Thinking)?.is_none_or(|text| text.shape() != Shape::List).then_some(Provider::Anthropic)
        }
        _ if kind.ends_with("_tool_use") || kind.ends_with("_tool_result") => Some(Provider::Anthropic),
        // A part of the Responses API too, whose messages have a type.
        "refusal" => (!is_message).then_some(Provider::OpenAiChat),
        "image_url" | "input_audio" | "file" => Some(Provider::OpenAiChat),
        "input_text" | "output_text" | "input_image" | "input_file" => Some(Provider::OpenAiResponses),
        _ => None,
    })
}

/// Whether parts can be Gemini's: maps that name no type.
fn holds_gemini<N: Node>(parts: &N) -> Result<bool, Error> {
    let mut all = parts.shape() == Shape::List;
    parts.items(&mut |part| {
        all &= part.shape() == Shape::Map && !is_typed(&part)?;
        Ok(())
    })?;
    Ok(all)
}

/// The first field that a message of the shape does not have; null is no field.
fn stray<N: Node>(provider: Provider, message: &N) -> Result<Option<&'static str>, Error> {
    const KEYS: [Key; 8] = [
        Key::Type,
        Key::Role,
        Key::Name,
        Key::Parts,
        Key::ToolCalls,
        Key::ToolCallId,
        Key::FunctionCall,
        Key::ReasoningContent,
    ];
    let [kind, role, name, parts, chat @ ..] = message.fields(KEYS)?;
    let is_given = |value: &Option<N>| value.as_ref().is_some_and(|value| value.shape() != Shape::Null);
    let of_chat = || chat.iter().position(is_given).map(|n| KEYS[n + 4].text());
    if provider != Provider::Gemini && is_given(&parts) {
        return Ok(Some("parts"));
    }
    let is_message = |kind: &Option<N>| kind.as_ref().map_or(Ok(None), |kind| kind.word(|kind| kind == "message"));
    Ok(match provider {
        Provider::OpenAiChat => is_given(&kind).then_some("type"),
        Provider::OpenAiResponses if role.is_none() => None,
        Provider::OpenAiResponses => of_chat(),
        Provider::Anthropic => {
            let is_other = is_given(&kind) && is_message(&kind)? != Some(true);
            of_chat().or(is_other.then_some("type"))
        }
        // Haystack writes texts as Bedrock does, and a name beside them, which may be null.
        Provider::Bedrock => of_chat().or(is_given(&kind).then_some("type")).or(name.map(|_| "name")),
        Provider::Gemini => {
            let content = given(message, Key::Content)?.map(|_| "content");
            of_chat().or(content).or(is_given(&kind).then_some("type"))
        }
    })
}

/// Refuses a message that was read, but is not of the shape; an error of reading gets a hint that names what it is.
///
/// A message is looked at closely only where it could not be read, has a stray field, or the builder doubts it.
///
/// # Errors
///
/// [`Error::Message`] with the framework or the shape that the message is of, else the given one.
pub fn settle<N: Node, S: Sink<Text = N::Text>>(
    provider: Provider,
    message: &N,
    read: Result<(), Error>,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    if let Err(error) = read {
        return Err(explained(provider, message, error));
    }
    let stray = stray(provider, message)?;
    if stray.is_none() && !builder.is_doubtful() {
        return Ok(());
    }
    if let Some((what, hint)) = other(provider, message)? {
        return Err(builder.refused(&what, hint));
    }
    if let Some(field) = stray {
        return Err(builder.refused(&format!("has {field:?}, which no message of {} has", provider.name()), DETECT));
    }
    match provider {
        Provider::OpenAiResponses => unknown_item(message, builder)?,
        Provider::Bedrock | Provider::Gemini => untyped(provider, message, builder)?,
        _ => {}
    }
    if !builder.is_empty_message() {
        return Ok(());
    }
    if given(message, Key::Role)?.is_none() {
        return Err(builder.refused("has neither a role nor parts", "a message is a dict with a role and parts"));
    }
    spoken(message, builder)
}

/// Returns the kind of a message that is not of the shape, and a hint; `None` if its fields do not tell.
fn other<N: Node>(provider: Provider, message: &N) -> Result<Option<(String, &'static str)>, Error> {
    if let Some(found) = foreign::recognize(message)? {
        return Ok(Some((format!("is {}", found.what), found.hint)));
    }
    let told = tell(message)?.filter(|told| *told != provider);
    Ok(told.map(|told| (format!("is a message of {}, in a list of {}", told.name(), provider.name()), DETECT)))
}

/// The error of reading, its hint with what the message is instead.
fn explained<N: Node>(provider: Provider, message: &N, error: Error) -> Error {
    match (error, other(provider, message)) {
        (Error::Message { path, index, what, .. }, Ok(Some((other, hint)))) => {
            Error::Message { path, index, what, hint: format!("it {other}: {hint}") }
        }
        (error, _) => error,
    }
}

/// Refuses an item of an unknown type that may be anything.
fn unknown_item<N: Node, S: Sink<Text = N::Text>>(item: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let Some(kind) = text_of(item, Key::Type)? else { return Ok(()) };
    let kind = kind.text();
    if is_item(&kind) {
        return Ok(());
    }
    let has_id = text_of(item, Key::Id)?.is_some();
    if has_id && item.get(Key::Content)?.is_none() && item.get(Key::Role)?.is_none() {
        return Ok(());
    }
    let what = format!("type {:?} is no item of the Responses API", kind.chars().take(40).collect::<String>());
    Err(builder.refused(&what, "give each message a role, such as \"user\" or \"assistant\""))
}

/// Refuses a message with a block that names a type.
fn untyped<N: Node, S: Sink<Text = N::Text>>(
    provider: Provider,
    message: &N,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    let (key, hint) = match provider {
        Provider::Gemini => (Key::Parts, "a part is a dict such as {\"text\": \"...\"}"),
        _ => (Key::Content, "a block is a dict such as {\"text\": \"...\"}"),
    };
    let mut typed = false;
    if let Some(blocks) = message.get(key)? {
        blocks.items(&mut |block| {
            typed |= is_typed(&block)?;
            Ok(())
        })?;
    }
    if !typed {
        return Ok(());
    }
    Err(builder.refused(&format!("has a block with a \"type\", which {} does not know", provider.name()), hint))
}

/// Refuses a message without content that says something under a name of its own.
fn spoken<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    if message.get(Key::Content)?.is_some() || message.get(Key::Parts)?.is_some() {
        return Ok(()); // null and nothing are content too, which the rules judge
    }
    let mut name = None;
    message.entries(&mut |key, value| {
        let says = match value.shape() {
            Shape::Text => value.text()?.is_some_and(|text| !text.text().is_empty()),
            Shape::List => !value.is_empty()?,
            Shape::Map => true,
            _ => false,
        };
        if says && !BESIDE.contains(&key) {
            name.get_or_insert_with(|| key.to_owned());
        }
        Ok(())
    })?;
    match name {
        None => Ok(()),
        Some(name) => {
            let what = format!("has no content, and a field {:?}", name.chars().take(40).collect::<String>());
            Err(builder.refused(&what, "write text as \"content\", in your provider's shape"))
        }
    }
}
