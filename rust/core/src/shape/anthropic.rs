//! Anthropic Messages.

use super::parts::{
    blocks, call, document, empty_cached, identified, marked, opaque, picture, push_text, returned, speaker, stamp,
    text_of,
};
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, Role, RowFlag, Sink};
use crate::node::{Key, Node, Shape, Text};

/// Reads one message.
pub fn read<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let [role, content] = message.fields([Key::Role, Key::Content])?;
    speaker(role, builder)?;
    if builder.role() == Some(Role::System) {
        message.entries(&mut |name, value| {
            match name {
                _ if value.shape() == Shape::Null => {}
                "output_config" => builder.mark(MessageFlag::Settings),
                "clear_at" => builder.mark(MessageFlag::Transient),
                _ => {}
            }
            Ok(())
        })?;
    }
    let Some(content) = content else {
        builder.mark(MessageFlag::Null);
        return Ok(());
    };
    match content.shape() {
        Shape::Null => builder.mark(MessageFlag::Null),
        Shape::Text => {
            builder.mark(MessageFlag::Plain);
            builder.row(Kind::Text, "text");
            builder.push_text(&content)?;
        }
        Shape::List => {
            let hint = "a block is a dict with a \"type\"; of SDK objects pass what .model_dump() gives";
            blocks(&content, hint, builder, block)?;
        }
        other => {
            let what = format!("is {}, expected a string or a list of blocks", other.name());
            return Err(builder.bad(
                "content",
                &what,
                "write text as a string, anything else as blocks with a \"type\"",
            ));
        }
    }
    Ok(())
}

fn block<N: Node, S: Sink<Text = N::Text>>(block: &N, builder: &mut Builder<S>) -> Result<Kind, Error> {
    let keys = [Key::Type, Key::Id, Key::ToolUseId, Key::ServerName, Key::CacheControl];
    let [name, id, answered, server, marker] = block.fields(keys)?;
    let take = |name: &str| {
        let kind = kind(name);
        if kind == Kind::Opaque {
            return opaque(block, name, builder).map(|()| kind);
        }
        builder.row(kind, name);
        match kind {
            Kind::Call | Kind::ServerCall => identified(id, builder)?,
            Kind::Result | Kind::ServerResult => identified(answered, builder)?,
            _ => {}
        }
        if !builder.collects_links_only() {
            fields(kind, name, block, server, builder)?;
        }
        Ok(kind)
    };
    let Some(kind) = name.map_or(Ok(None), |name| name.word(take))? else {
        return Err(builder.bad("type", "is missing or no string", "each block names its type, such as \"text\""));
    };
    let kind = kind?;
    marked(marker.as_ref(), builder);
    if kind == Kind::Text {
        empty_cached(block, marker.as_ref(), builder)?;
    }
    Ok(kind)
}

fn kind(name: &str) -> Kind {
    match name {
        "text" => Kind::Text,
        "tool_use" => Kind::Call,
        "tool_result" => Kind::Result,
        "thinking" | "redacted_thinking" => Kind::Thinking,
        "image" => Kind::Image,
        "document" => Kind::Document,
        "server_tool_use" | "mcp_tool_use" => Kind::ServerCall,
        "compaction" => Kind::Compaction,
        other if other.ends_with("_tool_result") => Kind::ServerResult,
        _ => Kind::Opaque,
    }
}

fn fields<N: Node, S: Sink<Text = N::Text>>(
    kind: Kind,
    name: &str,
    block: &N,
    server: Option<N>,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    match kind {
        Kind::Text => push_text(block, Key::Text, builder),
        Kind::Call | Kind::ServerCall => {
            if let Some(server) = server.map_or(Ok(None), |server| server.text())? {
                builder.data(server);
            }
            if kind == Kind::Call && is_from_code(block)? {
                builder.flag(RowFlag::FromCode);
            }
            call(block, Key::Input, Shape::Map, builder)
        }
        Kind::Result => {
            let [error, content] = block.fields([Key::IsError, Key::Content])?;
            if error.is_some_and(|error| error.is_true()) {
                builder.flag(RowFlag::Error);
            }
            content.map_or(Ok(()), |content| returned(&content, builder))
        }
        Kind::ServerResult => match block.get(Key::Content)? {
            Some(content) if content.shape() == Shape::List => returned(&content, builder),
            Some(content) => builder.json_with_files(&content), // an error, or what code execution gave
            None => Ok(()),
        },
        Kind::Thinking => thinking(name, block, builder),
        Kind::Image => picture(block, builder),
        Kind::Document => document(block, builder),
        Kind::Compaction => {
            stamp(block, Key::Signature, builder)?;
            stamp(block, Key::EncryptedContent, builder)?;
            // Null is a compaction that failed, which the provider skips; an empty one it refuses.
            let Some(content) = block.get(Key::Content)?.filter(|content| content.shape() != Shape::Null) else {
                return Ok(());
            };
            let is_blank = content.text()?.is_none_or(|text| text.text().trim().is_empty());
            builder.flag(if is_blank { RowFlag::Incomplete } else { RowFlag::Hides });
            returned(&content, builder)
        }
        Kind::Opaque => Ok(()),
    }
}

/// Whether a code execution of the provider made the call, by the block's `caller`.
fn is_from_code<N: Node>(block: &N) -> Result<bool, Error> {
    let Some(caller) = block.get(Key::Caller)? else { return Ok(false) };
    Ok(text_of(&caller, Key::Type)?.is_some_and(|kind| kind.text().starts_with("code_execution")))
}

fn thinking<N: Node, S: Sink<Text = N::Text>>(name: &str, block: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let (key, hides) = if name == "redacted_thinking" { (Key::Data, true) } else { (Key::Signature, false) };
    let hides = hides || text_of(block, Key::Thinking)?.is_some_and(|text| text.text().is_empty());
    if name != "redacted_thinking" {
        push_text(block, Key::Thinking, builder)?;
    }
    match text_of(block, key)? {
        Some(data) if data.text().is_empty() => {}
        Some(data) => {
            builder.flag(RowFlag::Signed);
            if hides { builder.hidden(data) } else { builder.data(data) }
        }
        None if name == "redacted_thinking" => builder.flag(RowFlag::Incomplete),
        None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counter;
    use crate::ledger::{Ledger, UNPAIRED};
    use crate::node::tests::Value;
    use crate::value;
    use trimtab_tokens::Encoding;

    fn scan(messages: &[Value]) -> Result<Ledger, Error> {
        let mut builder = Builder::default();
        messages.iter().try_for_each(|m| read(m, &mut builder))?;
        builder.finish(&Counter::from(Encoding::O200k))
    }

    #[test]
    fn parallel_calls_pair_with_their_results_and_hold_together() {
        let ledger = scan(&[
            value!({"role": "user", "content": "go"}),
            value!({"role": "assistant", "content": [
                {"type": "text", "text": "two at once"},
                {"type": "tool_use", "id": "a", "name": "Read", "input": {"path": "x"}},
                {"type": "tool_use", "id": "b", "name": "Read", "input": {"path": "y"}}]}),
            value!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "2"},
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "1"}], "is_error": true}]}),
            value!({"role": "assistant", "content": "done"}),
        ])
        .unwrap();
        assert_eq!(ledger.pair, [UNPAIRED, UNPAIRED, 5, 4, 3, 2, UNPAIRED]);
        assert_eq!(ledger.safe, [true, true, false, true, true]);
        assert!(ledger.has(5, RowFlag::Error) && !ledger.has(4, RowFlag::Error));
    }

    #[test]
    fn an_open_call_keeps_the_end_shut() {
        let call =
            value!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]});
        let ledger = scan(&[value!({"role": "user", "content": "go"}), call]).unwrap();
        assert_eq!(ledger.safe, [true, true, false]);
    }

    #[test]
    fn unknown_blocks_are_counted_by_their_json() {
        let ledger = scan(&[value!({"role": "user", "content": [{"type": "hologram", "depth": [1, 2, 3]}]})]).unwrap();
        assert_eq!(ledger.kind, [Kind::Opaque]);
        assert_eq!(ledger.bytes[0] as usize, r#"{"type":"hologram","depth":[1,2,3]}"#.len());
    }

    #[test]
    fn bad_content_is_named_by_its_path() {
        let error =
            scan(&[value!({"role": "user", "content": "ok"}), value!({"role": "user", "content": 7})]).unwrap_err();
        assert_eq!(error.to_string(), "messages[1].content: is a number, expected a string or a list of blocks");
        let error = scan(&[value!({"role": "user", "content": ["text"]})]).unwrap_err();
        assert_eq!(error.to_string(), "messages[0].content[0]: is a string, expected a block");
    }
}
