//! `OpenAI` Responses: a list of items, each a message of its own.

use super::items::{self, CONFIGURATION_UPDATE, Item, Part};
use super::parts::{call, opaque, picture_url, push_text, returned, stamp, text_of};
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, Role, RowFlag, Sink};
use crate::node::{Key, Node, Shape, Text};

/// Reads one item.
pub fn read<N: Node, S: Sink<Text = N::Text>>(item: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let [name, role, content] = item.fields([Key::Type, Key::Role, Key::Content])?;
    let name = name.map_or(Ok(None), |name| name.text())?;
    let Some(name) = name.as_ref().map(Text::text) else { return message(role, content, builder) };
    let known = match items::find(&name) {
        Some(known) => *known,
        None => items::guess(&name, text_of(item, Key::CallId)?.is_some_and(|id| !id.text().is_empty())),
    };
    match known.part {
        Part::Message => message(role, content, builder),
        Part::Reasoning => reasoning(item, builder),
        Part::Compaction => compaction(item, builder),
        Part::Call | Part::Output | Part::Request | Part::Answer => paired(known, &name, item, builder),
        Part::Whole => {
            builder.message(known.role);
            if known.name == CONFIGURATION_UPDATE {
                builder.mark(MessageFlag::Configures);
            }
            opaque(item, &name, builder)
        }
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

/// The provider's compaction: without its ciphertext it is none.
fn compaction<N: Node, S: Sink<Text = N::Text>>(item: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    builder.message(Role::Assistant);
    builder.row(Kind::Compaction, "compaction");
    if text_of(item, Key::EncryptedContent)?.is_none_or(|text| text.text().is_empty()) {
        builder.flag(RowFlag::Incomplete);
    }
    encrypted(item, builder)
}

/// Items that pair with another one by an id.
fn paired<N: Node, S: Sink<Text = N::Text>>(
    known: Item,
    name: &str,
    item: &N,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    builder.message(known.role);
    let mut id = None;
    for key in known.ids {
        id = id.or(text_of(item, *key)?.filter(|id| !id.text().is_empty()));
    }
    if id.is_none() && !known.needs_id {
        return opaque(item, name, builder);
    }
    builder.row(
        match known.part {
            Part::Call => Kind::Call,
            Part::Output => Kind::Result,
            Part::Request => Kind::ServerCall,
            _ => Kind::ServerResult,
        },
        name,
    );
    match id {
        Some(id) => builder.id(&id.text()),
        None => builder.flag(RowFlag::Incomplete),
    }
    match (known.part, known.body) {
        (Part::Call, body) => {
            if text_of(item, Key::Id)?.is_some() {
                builder.flag(RowFlag::Stored);
            }
            stamp(item, Key::Id, builder)?;
            if body == Some(Key::Input) {
                builder.flag(RowFlag::FreeText);
            }
            match body {
                Some(body) => call(item, body, Shape::Text, builder),
                None => builder.json_with_files(item),
            }
        }
        (Part::Request, Some(body)) => call(item, body, Shape::Text, builder),
        (Part::Output, Some(body)) => match item.get(body)? {
            Some(output) if output.shape() != Shape::Null => returned(&output, builder),
            _ => {
                builder.flag(RowFlag::Incomplete);
                Ok(())
            }
        },
        _ if name == "mcp_approval_response" => Ok(()), // the model sees what follows from it
        (part, _) => {
            if part == Part::Output {
                builder.flag(RowFlag::Whole);
            }
            builder.json_with_files(item)
        }
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
