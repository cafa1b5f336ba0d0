//! `OpenAI` Chat Completions.

use super::parts::{cached, call, identified, identify, opaque, picture_url, push_text, returned, stamp, text_of};
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, Role, RowFlag, Sink};
use crate::node::{Key, Node, Shape, Text};

/// Fields of a message's reasoning, in the order in which Hugging Face's `apply_chat_template` looks for it: servers and
/// gateways write one of them, or several with the same text.
pub const REASONING: [Key; 3] = [Key::ReasoningContent, Key::Thinking, Key::Reasoning];

/// Fields that hold it in parts, with what a provider wants back: `OpenRouter`'s, and `LiteLLM`'s.
pub const REASONING_PARTS: [Key; 2] = [Key::ReasoningDetails, Key::ThinkingBlocks];

/// Reads one message.
pub fn read<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let [role, content, refusal] = message.fields([Key::Role, Key::Content, Key::Refusal])?;
    let role = role.map_or(Ok(None), |role| role.text())?;
    builder.message(match role.as_ref().map(Text::text).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool" | "function") => Role::Tool,
        _ => Role::Other,
    });
    let Some(role) = role else {
        let hint = "give each message a role: \"system\", \"user\", \"assistant\" or \"tool\"";
        return Err(builder.bad("role", "is missing or no string", hint));
    };
    match &*role.text() {
        "tool" => result(message, Key::ToolCallId, content, builder),
        "function" => legacy_result(message, content, builder),
        role => {
            reasoned(message, builder)?;
            let is_silent = content.as_ref().is_none_or(|content| content.shape() == Shape::Null);
            read_content(content, builder)?;
            if let Some(refusal) = refusal.filter(|refusal| refusal.shape() == Shape::Text) {
                builder.row(Kind::Text, "refusal");
                builder.push_text(&refusal)?;
            }
            if role != "assistant" {
                return beside(message, builder);
            }
            if is_silent {
                spoken(message, builder)?;
            }
            calls(message, builder)
        }
    }
}

/// Adds a row with the message's reasoning: the first text of it, else that of the parts.
fn reasoned<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    for (key, reasoning) in REASONING.iter().zip(message.fields(REASONING)?) {
        if let Some(reasoning) = reasoning.filter(|reasoning| reasoning.shape() == Shape::Text) {
            builder.row(Kind::Thinking, key.text());
            return builder.push_text(&reasoning).map(|_| ());
        }
    }
    for (key, parts) in REASONING_PARTS.iter().zip(message.fields(REASONING_PARTS)?) {
        let Some(parts) = parts.filter(|parts| parts.shape() == Shape::List) else { continue };
        if parts.is_empty()? {
            continue;
        }
        builder.row(Kind::Thinking, key.text());
        return parts.items(&mut |part| {
            for text in part.fields([Key::Text, Key::Thinking, Key::Summary])?.into_iter().flatten() {
                builder.push_text(&text)?;
            }
            match text_of(&part, Key::Data)? {
                Some(data) => builder.hidden(data),
                None => stamp(&part, Key::Signature, builder)?,
            }
            Ok(())
        });
    }
    Ok(())
}

fn result<N: Node, S: Sink<Text = N::Text>>(
    message: &N,
    id: Key,
    content: Option<N>,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    builder.row(Kind::Result, "tool");
    identify(message, id, builder)?;
    match content {
        Some(content) if matches!(content.shape(), Shape::Text | Shape::List) => {
            if content.shape() == Shape::List && content.is_empty()? {
                builder.mark(MessageFlag::Empty);
            }
            returned(&content, builder)
        }
        None => {
            builder.mark(MessageFlag::Null);
            Ok(())
        }
        Some(content) if content.shape() == Shape::Null => {
            builder.mark(MessageFlag::Null);
            Ok(())
        }
        Some(content) => Err(wrong(content.shape(), builder)),
    }
}

/// The form before `tool_calls`: pairs by the function's name.
fn legacy_result<N: Node, S: Sink<Text = N::Text>>(
    message: &N,
    content: Option<N>,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    if content.as_ref().is_some_and(|content| content.shape() == Shape::Null) {
        builder.row(Kind::Result, "tool"); // what a function gave may be null, as no tool's content may
        identify(message, Key::Name, builder)?;
    } else {
        result(message, Key::Name, content, builder)?;
    }
    if let Some(name) = text_of(message, Key::Name)? {
        builder.id(&legacy_id(&name.text()));
    }
    Ok(())
}

fn legacy_id(name: &str) -> String {
    format!("function_call:{name}")
}

fn read_content<N: Node, S: Sink<Text = N::Text>>(content: Option<N>, builder: &mut Builder<S>) -> Result<(), Error> {
    match content {
        None => {
            builder.mark(MessageFlag::Null);
            Ok(())
        }
        Some(content) => match content.shape() {
            Shape::Null => {
                builder.mark(MessageFlag::Null);
                Ok(())
            }
            Shape::Text => {
                builder.mark(MessageFlag::Plain);
                builder.row(Kind::Text, "text");
                builder.push_text(&content).map(|_| ())
            }
            Shape::List => {
                let mut index = 0;
                content.items(&mut |item| {
                    builder.at(index);
                    index += 1;
                    part(&item, builder)
                })?;
                if index == 0 {
                    builder.mark(MessageFlag::Empty);
                }
                Ok(())
            }
            other => Err(wrong(other, builder)),
        },
    }
}

fn wrong<S>(shape: Shape, builder: &Builder<S>) -> Error {
    let what = format!("is {}, expected a string, a list of parts or null", shape.name());
    builder.bad("content", &what, "write text as a string, anything else as parts with a \"type\"")
}

fn part<N: Node, S: Sink<Text = N::Text>>(part: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    if part.shape() != Shape::Map {
        let what = format!("is {}, expected a part", part.shape().name());
        return Err(builder.bad(
            "",
            &what,
            "a part is a dict with a \"type\", such as {\"type\": \"text\", \"text\": \"...\"}",
        ));
    }
    let Some(name) = text_of(part, Key::Type)? else {
        return Err(builder.bad("type", "is missing or no string", "each part names its type, such as \"text\""));
    };
    match &*name.text() {
        "text" => {
            builder.row(Kind::Text, "text");
            push_text(part, Key::Text, builder)?;
        }
        "refusal" => {
            builder.row(Kind::Text, "refusal");
            push_text(part, Key::Refusal, builder)?;
        }
        "image_url" => {
            builder.row(Kind::Image, "image_url");
            picture_url(part, builder)?;
        }
        other => opaque(part, other, builder)?,
    }
    cached(part, builder)
}

/// Fields of other roles beside the content: a name, and calls, which only the assistant makes: carried, not paired.
fn beside<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let [calls, name] = message.fields([Key::ToolCalls, Key::Name])?;
    if let Some(calls) = calls
        && calls.shape() != Shape::Null
    {
        opaque(&calls, "tool_calls", builder)?;
    }
    if let Some(name) = name.map_or(Ok(None), |name| name.text())? {
        builder.row(Kind::Text, "name");
        builder.text(name);
    }
    Ok(())
}

/// Adds what the assistant said aloud in place of a content: a map with the id of its sound.
fn spoken<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    message.entries(&mut |name, value| match name {
        "audio" if value.shape() == Shape::Map => opaque(&value, name, builder),
        _ => Ok(()),
    })
}

fn calls<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let [calls, function] = message.fields([Key::ToolCalls, Key::FunctionCall])?;
    if let Some(calls) = calls
        && calls.shape() != Shape::Null
    {
        if calls.shape() != Shape::List {
            let what = format!("is {}, expected a list of calls", calls.shape().name());
            return Err(builder.bad("tool_calls", &what, "each call is a dict with id, type and function"));
        }
        let mut any = false;
        calls.items(&mut |item| {
            any = true;
            builder.row(Kind::Call, "function");
            let [id, kind, function, custom] = item.fields([Key::Id, Key::Type, Key::Function, Key::Custom])?;
            identified(id, builder)?;
            if kind.is_none_or(|kind| kind.shape() != Shape::Text) {
                builder.flag(RowFlag::Incomplete);
            }
            match (function, custom) {
                (Some(function), _) => call(&function, Key::Arguments, Shape::Text, builder),
                (None, Some(custom)) => call(&custom, Key::Input, Shape::Text, builder),
                (None, None) => builder.json(&item),
            }
        })?;
        if !any {
            builder.mark(MessageFlag::NoCalls);
        }
    }
    if let Some(function) = function
        && function.shape() == Shape::Map
    {
        builder.row(Kind::Call, "function_call");
        if let Some(name) = text_of(&function, Key::Name)? {
            builder.id(&legacy_id(&name.text()));
        }
        call(&function, Key::Arguments, Shape::Text, builder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counter;
    use crate::value;
    use trimtab_tokens::Encoding;

    #[test]
    fn calls_and_tool_messages_are_one_group() {
        let mut builder = Builder::default();
        for message in [
            value!({"role": "system", "content": "rules"}),
            value!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}),
            value!({"role": "tool", "tool_call_id": "2", "content": "b"}),
            value!({"role": "tool", "tool_call_id": "1", "content": "a"}),
        ] {
            read(&message, &mut builder).unwrap();
        }
        let ledger = builder.finish(&Counter::from(Encoding::O200k)).unwrap();
        assert_eq!(ledger.pair, [-1, 4, 3, 2, 1]);
        assert_eq!(ledger.safe, [true, true, false, false, true]);
        assert!(ledger.marked(1, MessageFlag::Null));
        assert_eq!(ledger.names.get(2), "g");
    }
}
