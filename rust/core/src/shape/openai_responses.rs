//! `OpenAI` Responses: a list of items, each a message of its own.

use super::parts::{call, identify, opaque, picture_url, push_text, returned, stamp, text_of};
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, Role, RowFlag, Sink};
use crate::node::{Key, Node, Shape, Text};

/// Reads one item.
pub fn read<N: Node, S: Sink<Text = N::Text>>(item: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let [name, role, content] = item.fields([Key::Type, Key::Role, Key::Content])?;
    let name = name.map_or(Ok(None), |name| name.text())?;
    match name.as_ref().map(Text::text).as_deref() {
        None | Some("message") => message(role, content, builder),
        Some("reasoning") => reasoning(item, builder),
        Some("compaction" | "compaction_summary") => {
            builder.message(Role::Assistant);
            builder.row(Kind::Compaction, "compaction");
            encrypted(item, builder)
        }
        Some(name) => action(name, item, builder),
    }
}

fn message<N: Node, S: Sink<Text = N::Text>>(
    role: Option<N>,
    content: Option<N>,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    let role = role.map_or(Ok(None), |role| role.text())?;
    builder.message(match role.as_ref().map(Text::text).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => Role::Other,
    });
    if role.is_none() {
        let hint =
            "an item has a \"type\" such as \"function_call\", or a role: \"user\", \"assistant\", \"developer\"";
        return Err(builder.bad("role", "is missing or no string", hint));
    }
    match content {
        Some(content) if content.shape() == Shape::Text => {
            builder.mark(MessageFlag::Plain);
            builder.row(Kind::Text, "text");
            builder.push_text(&content).map(|_| ())
        }
        Some(content) if content.shape() == Shape::List => parts(&content, builder),
        None => {
            builder.mark(MessageFlag::Null);
            Ok(())
        }
        Some(content) if content.shape() == Shape::Null => {
            builder.mark(MessageFlag::Null);
            Ok(())
        }
        Some(content) => {
            let what = format!("is {}, expected a string or a list of parts", content.shape().name());
            Err(builder.bad("content", &what, "write text as a string, anything else as parts with a \"type\""))
        }
    }
}

fn parts<N: Node, S: Sink<Text = N::Text>>(content: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let mut index = 0;
    content.items(&mut |part| {
        builder.at(index);
        index += 1;
        if part.shape() != Shape::Map {
            let what = format!("is {}, expected a part", part.shape().name());
            let hint = "a part is a dict with a \"type\", such as {\"type\": \"input_text\", \"text\": \"...\"}";
            return Err(builder.bad("", &what, hint));
        }
        let name = text_of(&part, Key::Type)?;
        match name.as_ref().map(Text::text).as_deref() {
            Some(name @ ("input_text" | "output_text" | "text" | "summary_text")) => {
                builder.row(Kind::Text, name);
                push_text(&part, Key::Text, builder)
            }
            Some(name @ "refusal") => {
                builder.row(Kind::Text, name);
                push_text(&part, Key::Refusal, builder)
            }
            Some(name @ "input_image") => {
                builder.row(Kind::Image, name);
                picture_url(&part, builder)
            }
            Some(name) => opaque(&part, name, builder),
            None => {
                Err(builder.bad("type", "is missing or no string", "each part names its type, such as \"input_text\""))
            }
        }
    })?;
    if index == 0 {
        builder.mark(MessageFlag::Empty);
    }
    Ok(())
}

/// Reasoning belongs to the item behind it, which the provider refuses to see without it.
fn reasoning<N: Node, S: Sink<Text = N::Text>>(item: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    builder.message(Role::Assistant);
    builder.mark(MessageFlag::Glued);
    builder.row(Kind::Thinking, "reasoning");
    encrypted(item, builder)?;
    if let Some(id) = text_of(item, Key::Id)? {
        builder.id(&id.text());
    }
    for key in [Key::Summary, Key::Content] {
        if let Some(content) = item.get(key)? {
            returned(&content, builder)?;
        }
    }
    Ok(())
}

/// Adds what the provider encrypted, if there is any: its tokens are estimated by its length.
fn encrypted<N: Node, S: Sink<Text = N::Text>>(item: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    if let Some(text) = text_of(item, Key::EncryptedContent)?
        && !text.text().is_empty()
    {
        builder.flag(RowFlag::Signed);
        builder.hidden(text);
    }
    Ok(())
}

/// Calls and their outputs, of every tool that there is: `*_call` and `*_output` pair by their id.
fn action<N: Node, S: Sink<Text = N::Text>>(name: &str, item: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let function = matches!(name, "function_call" | "custom_tool_call");
    let answer = matches!(name, "function_call_output" | "custom_tool_call_output");
    let called = text_of(item, Key::CallId)?.is_some_and(|id| !id.text().is_empty());
    match name {
        "mcp_approval_request" => {
            builder.message(Role::Assistant);
            builder.row(Kind::ServerCall, name);
            identify(item, Key::Id, builder)?;
            call(item, Key::Arguments, Shape::Text, builder)
        }
        "mcp_approval_response" => {
            builder.message(Role::User);
            builder.row(Kind::ServerResult, name);
            identify(item, Key::ApprovalRequestId, builder)
        }
        // Codex answers a local shell call by the call's own id.
        "local_shell_call" if !called => requested(name, Key::Id, item, builder),
        _ if function || (called && name.ends_with("_call")) => requested(name, Key::CallId, item, builder),
        _ if answer || (called && name.ends_with("_output")) => {
            builder.message(Role::Tool);
            builder.row(Kind::Result, name);
            identify(item, Key::CallId, builder)?;
            if !answer {
                builder.flag(RowFlag::Whole);
            }
            match item.get(Key::Output)? {
                Some(output) if answer && output.shape() != Shape::Null => returned(&output, builder),
                _ if answer => {
                    builder.flag(RowFlag::Incomplete);
                    Ok(())
                }
                _ => builder.json_with_files(item),
            }
        }
        _ => {
            builder.message(if name.ends_with("_output") { Role::Tool } else { Role::Assistant });
            opaque(item, name, builder)
        }
    }
}

/// A call that requires an output: name and arguments of `function_call` and `custom_tool_call`, else the whole item.
fn requested<N: Node, S: Sink<Text = N::Text>>(
    name: &str,
    id: Key,
    item: &N,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    builder.message(Role::Assistant);
    builder.row(Kind::Call, name);
    identify(item, id, builder)?;
    if text_of(item, Key::Id)?.is_some() {
        builder.flag(RowFlag::Stored);
    }
    stamp(item, Key::Id, builder)?;
    match name {
        "function_call" => call(item, Key::Arguments, Shape::Text, builder),
        "custom_tool_call" => call(item, Key::Input, Shape::Text, builder),
        _ => builder.json_with_files(item),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counter;
    use crate::value;
    use trimtab_tokens::Encoding;

    #[test]
    fn reasoning_stays_with_the_call_behind_it() {
        let mut builder = Builder::default();
        for item in [
            value!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}),
            value!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abcdefgh"}),
            value!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}),
            value!({"type": "function_call_output", "call_id": "c1", "output": "ok"}),
            value!({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        ] {
            read(&item, &mut builder).unwrap();
        }
        let ledger = builder.finish(&Counter::from(Encoding::O200k)).unwrap();
        assert_eq!(ledger.safe, [true, true, false, false, true, true]);
        assert_eq!(ledger.pair, [-1, -1, 3, 2, -1]);
        assert_eq!(ledger.kind[4], Kind::Opaque);
    }
}
