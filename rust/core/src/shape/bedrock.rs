//! Amazon Bedrock Converse: a block is a map whose one key says what it is.

use super::parts::{
    blob, blocks, first_key, given, identify, is_typed, push_rare, push_text, speaker, text_of, unknown,
};
use crate::content::entry;
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, RowFlag, Sink};
use crate::node::{Key, Node, Shape, Text};

/// Reads one message.
pub fn read<N: Node, S: Sink<Text = N::Text>>(message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    speaker(message.get(Key::Role)?, builder)?;
    let content = message.get(Key::Content)?;
    match content.as_ref().map_or(Shape::Null, Node::shape) {
        Shape::List => {
            let hint = "a block is a dict such as {\"text\": \"...\"}";
            content.map_or(Ok(()), |content| blocks(&content, hint, builder, block))
        }
        Shape::Null => {
            builder.mark(MessageFlag::Null);
            Ok(())
        }
        other => {
            let what = format!("is {}, expected a list of blocks", other.name());
            Err(builder.bad("content", &what, "write text as a block: [{\"text\": \"...\"}]"))
        }
    }
}

/// Whether a block is one of this shape: no type, and a key that says what it is.
pub fn is_block<N: Node>(block: &N) -> Result<bool, Error> {
    Ok(BLOCKS.contains(&&*first_key(block)?))
}

/// The kinds of blocks, which are also their only fields.
const BLOCKS: [&str; 14] = [
    "text",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "image",
    "document",
    "video",
    "audio",
    "cachePoint",
    "guardContent",
    "citationsContent",
    "searchResult",
    "toolAddition",
    "toolRemoval",
];

fn block<N: Node, S: Sink<Text = N::Text>>(block: &N, builder: &mut Builder<S>) -> Result<Kind, Error> {
    if is_typed(block)? {
        builder.doubt();
    }
    if given(block, Key::Text)?.is_some() {
        builder.row(Kind::Text, "text");
        push_text(block, Key::Text, builder)?;
        return Ok(Kind::Text);
    }
    if let Some(call) = given(block, Key::ToolUse)? {
        return requested(&call, builder);
    }
    if let Some(result) = given(block, Key::ToolResult)? {
        // The result of a tool of Bedrock's own has a type, such as "nova_grounding_result"; a client's has none.
        let is_own = text_of(&result, Key::Type)?.is_some_and(|kind| !matches!(&*kind.text(), "" | "tool_result"));
        let kind = if is_own { Kind::ServerResult } else { Kind::Result };
        builder.row(kind, "toolResult");
        identify(&result, Key::ToolUseCamelId, builder)?;
        if text_of(&result, Key::Status)?.is_some_and(|status| status.text() == "error") {
            builder.flag(RowFlag::Error);
        }
        result.get(Key::Content)?.map_or(Ok(()), |content| returned(&content, builder))?;
        return Ok(kind);
    }
    if let Some(thought) = given(block, Key::CamelReasoning)? {
        reasoning(&thought, builder)?;
        return Ok(Kind::Thinking);
    }
    if let Some(image) = given(block, Key::Image)? {
        builder.row(Kind::Image, "image");
        picture(&image, builder)?;
        return Ok(Kind::Image);
    }
    if let Some(document) = given(block, Key::Document)? {
        builder.row(Kind::Document, "document");
        file(&document, builder)?;
        return Ok(Kind::Document);
    }
    unknown(block, builder)?;
    if first_key(block)? == "cachePoint" {
        builder.cached();
    }
    Ok(Kind::Opaque)
}

fn requested<N: Node, S: Sink<Text = N::Text>>(call: &N, builder: &mut Builder<S>) -> Result<Kind, Error> {
    let is_own = text_of(call, Key::Type)?.is_some_and(|kind| kind.text() == "server_tool_use");
    let kind = if is_own { Kind::ServerCall } else { Kind::Call };
    builder.row(kind, "toolUse");
    identify(call, Key::ToolUseCamelId, builder)?;
    if let Some(name) = text_of(call, Key::Name)? {
        builder.name(&name.text());
        builder.text(name);
    }
    if let Some(input) = given(call, Key::Input)? {
        builder.json(&input)?;
        builder.tagged(&input)?;
    }
    Ok(kind)
}

fn reasoning<N: Node, S: Sink<Text = N::Text>>(thought: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    builder.row(Kind::Thinking, "reasoningContent");
    let Some(text) = given(thought, Key::ReasoningText)? else {
        builder.flag(RowFlag::Signed);
        if let Some(data) = blob(thought, Key::RedactedContent, builder)? {
            builder.data(data);
        }
        return Ok(());
    };
    push_text(&text, Key::Text, builder)?;
    if let Some(signature) = text_of(&text, Key::Signature)?
        && !signature.text().is_empty()
    {
        builder.flag(RowFlag::Signed);
        builder.data(signature);
    }
    Ok(())
}

/// Adds what a tool gave back: text, JSON, pictures, documents.
fn returned<N: Node, S: Sink<Text = N::Text>>(content: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    if content.shape() != Shape::List {
        builder.flag(RowFlag::Incomplete);
        return builder.json_with_files(content);
    }
    content.items(&mut |part| {
        if let Some(text) = text_of(&part, Key::Text)? {
            builder.text(text);
            return Ok(());
        }
        if let Some(json) = given(&part, Key::Json)? {
            return builder.json_with_files(&json);
        }
        if let Some(image) = given(&part, Key::Image)? {
            return picture(&image, builder);
        }
        match given(&part, Key::Document)? {
            Some(document) => file(&document, builder),
            None => builder.json_with_files(&part),
        }
    })
}

fn picture<N: Node, S: Sink<Text = N::Text>>(image: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let data = image.get(Key::Source)?.map(|source| encoded(&source, builder)).transpose()?.flatten();
    builder.picture(data.as_ref().map(Text::text).as_deref(), false);
    if let Some(data) = data {
        builder.data(data);
    }
    Ok(())
}

/// The base64 of a file; the place in S3 of one that is not sent along changes the digest.
fn encoded<N: Node, S: Sink<Text = N::Text>>(source: &N, builder: &mut Builder<S>) -> Result<Option<N::Text>, Error> {
    if let Some(place) = entry(source, &["s3Location"])? {
        place.entries(&mut |_, value| {
            if let Some(text) = value.text()? {
                builder.data(text);
            }
            Ok(())
        })?;
    }
    blob(source, Key::Bytes, builder)
}

fn file<N: Node, S: Sink<Text = N::Text>>(document: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    if let Some(name) = text_of(document, Key::Name)? {
        builder.text(name);
    }
    push_rare(document, "context", builder)?;
    let Some(source) = document.get(Key::Source)? else {
        builder.flag(RowFlag::Incomplete);
        return Ok(());
    };
    if let Some(text) = text_of(&source, Key::Text)? {
        builder.text(text);
        return Ok(());
    }
    if let Some(content) = source.get(Key::Content)? {
        return returned(&content, builder);
    }
    let data = encoded(&source, builder)?;
    builder.document(data.as_ref().map(Text::text).as_deref());
    if let Some(data) = data {
        builder.data(data);
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
    fn a_block_is_what_its_key_says() {
        let mut builder = Builder::default();
        for message in [
            value!({"role": "user", "content": [{"text": "go"}, {"image": {"format": "png", "source": {"bytes": "x"}}}]}),
            value!({"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"toolUse": {"toolUseId": "a", "name": "Read", "input": {"path": "x"}}}]}),
            value!({"role": "user", "content": [
                {"toolResult": {"toolUseId": "a", "status": "error", "content": [{"text": "no"}, {"json": {"n": 1}}]}},
                {"cachePoint": {"type": "default"}}]}),
        ] {
            read(&message, &mut builder).unwrap();
        }
        let ledger = builder.finish(&Counter::from(Encoding::O200k)).unwrap();
        let kinds = [Kind::Text, Kind::Image, Kind::Thinking, Kind::Call, Kind::Result, Kind::Opaque];
        assert_eq!(ledger.kind, kinds);
        assert_eq!(ledger.safe, [true, true, false, true]);
        assert!(ledger.has(4, RowFlag::Error) && ledger.has(2, RowFlag::Signed) && ledger.has(5, RowFlag::Cached));
        assert_eq!((ledger.names.get(3), ledger.pictures.len()), ("Read", 1));
    }
}
