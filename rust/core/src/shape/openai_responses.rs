//! `OpenAI` Responses: a list of items, each a message of its own.

use super::{call, identify, opaque, picture_url, returned, say, text_of, write};
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, Role, RowFlag};
use crate::node::{Key, Node, Shape};

/// Reads one item.
pub fn read<N: Node>(item: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    let name = text_of(item, Key::Type)?;
    match name.as_ref().map(AsRef::as_ref) {
        None | Some("message") => message(item, builder),
        Some("reasoning") => reasoning(item, builder),
        Some("compaction" | "compaction_summary") => {
            builder.message(Role::Assistant);
            builder.row(Kind::Compaction, "compaction");
            builder.flag(RowFlag::Signed);
            write(item, Key::EncryptedContent, builder)
        }
        Some(name) => action(name, item, builder),
    }
}

fn message<N: Node>(item: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    let role = text_of(item, Key::Role)?;
    builder.message(match role.as_ref().map(AsRef::as_ref) {
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
    match item.get(Key::Content)? {
        Some(content) if content.shape() == Shape::Text => {
            builder.mark(MessageFlag::Plain);
            builder.row(Kind::Text, "text");
            say(item, Key::Content, builder)
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

fn parts<N: Node>(content: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    let mut index = 0;
    content.items(&mut |part| {
        builder.at(index);
        index += 1;
        let name = text_of(&part, Key::Type)?;
        match name.as_ref().map(AsRef::as_ref) {
            Some(name @ ("input_text" | "output_text" | "text" | "summary_text")) => {
                builder.row(Kind::Text, name);
                say(&part, Key::Text, builder)
            }
            Some(name @ "refusal") => {
                builder.row(Kind::Text, name);
                say(&part, Key::Refusal, builder)
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
fn reasoning<N: Node>(item: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    builder.message(Role::Assistant);
    builder.mark(MessageFlag::Glued);
    builder.row(Kind::Thinking, "reasoning");
    if let Some(encrypted) = text_of(item, Key::EncryptedContent)?
        && !encrypted.as_ref().is_empty()
    {
        builder.flag(RowFlag::Signed);
        builder.media(encrypted_tokens(encrypted.as_ref().len()));
        builder.data(encrypted);
    }
    if let Some(id) = text_of(item, Key::Id)? {
        builder.id(id.as_ref());
    }
    for key in [Key::Summary, Key::Content] {
        if let Some(content) = item.get(key)? {
            returned(&content, builder)?;
        }
    }
    Ok(())
}

/// Tokens of encrypted reasoning, by the length of its base64. A guess: four characters a token, half of it padding.
fn encrypted_tokens(chars: usize) -> u32 {
    u32::try_from(chars / 8).unwrap_or(u32::MAX)
}

/// Calls and their outputs, of every tool that there is: `*_call` and `*_output` pair by their id.
fn action<N: Node>(name: &str, item: &N, builder: &mut Builder<N::Text>) -> Result<(), Error> {
    let called = text_of(item, Key::CallId)?.is_some_and(|id| !id.as_ref().is_empty());
    if name == "mcp_approval_request" {
        builder.message(Role::Assistant);
        builder.row(Kind::ServerCall, name);
        identify(item, Key::Id, builder)?;
        return call(item, Key::Arguments, builder);
    }
    if name == "mcp_approval_response" {
        builder.message(Role::User);
        builder.row(Kind::ServerResult, name);
        return identify(item, Key::ApprovalRequestId, builder);
    }
    if name.ends_with("_output") && (called || name == "function_call_output" || name == "custom_tool_call_output") {
        builder.message(Role::Tool);
        builder.row(Kind::Result, name);
        identify(item, Key::CallId, builder)?;
        return item.get(Key::Output)?.map_or(Ok(()), |output| returned(&output, builder));
    }
    if name.ends_with("_call") && (called || name == "function_call" || name == "custom_tool_call") {
        builder.message(Role::Assistant);
        builder.row(Kind::Call, name);
        identify(item, Key::CallId, builder)?;
        return match name {
            "function_call" => call(item, Key::Arguments, builder),
            "custom_tool_call" => call(item, Key::Input, builder),
            _ => {
                write(item, Key::Arguments, builder)?;
                write(item, Key::Action, builder)
            }
        };
    }
    builder.message(if name.ends_with("_output") { Role::Tool } else { Role::Assistant });
    opaque(item, name, builder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Counter, Encoding};
    use crate::value;

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
        let ledger = builder.finish(&Counter::exact(Encoding::O200k)).unwrap();
        assert_eq!(ledger.safe, [true, true, false, false, true, true]);
        assert_eq!(ledger.pair, [-1, -1, 3, 2, -1]);
        assert_eq!(ledger.kind[4], Kind::Opaque);
    }
}
