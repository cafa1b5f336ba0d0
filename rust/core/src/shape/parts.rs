//! Parts that the shapes share: text under a key, calls, results, pictures, documents.

use crate::content::entry;
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, Role, RowFlag, Sink};
use crate::node::{Key, Node, Shape, Text, encoded};

/// The text under `key`, `None` where there is none or it is no string.
pub fn text_of<N: Node>(node: &N, key: Key) -> Result<Option<N::Text>, Error> {
    match node.get(key)? {
        Some(value) => value.text(),
        None => Ok(None),
    }
}

/// Begins a message of one of the shapes that know a user and an assistant, with what is under `role`.
pub fn speaker<N: Node, S: Sink<Text = N::Text>>(role: Option<N>, builder: &mut Builder<S>) -> Result<(), Error> {
    let named = |role: N| {
        role.word(|role| match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => Role::Other,
        })
    };
    let role = role.map_or(Ok(None), named)?;
    builder.message(role.unwrap_or(Role::Other));
    if role.is_none() {
        let hint = "give each message a role: \"user\" or \"assistant\"";
        return Err(builder.bad("role", "is missing or no string", hint));
    }
    Ok(())
}

/// Reads the blocks of a message with `read`; `hint` says what a block looks like.
pub fn blocks<N: Node, S: Sink<Text = N::Text>>(
    content: &N,
    hint: &str,
    builder: &mut Builder<S>,
    read: impl Fn(&N, &mut Builder<S>) -> Result<Kind, Error>,
) -> Result<(), Error> {
    let (mut index, mut last, mut thinks) = (0, Kind::Text, false);
    content.items(&mut |block| {
        builder.at(index);
        index += 1;
        if block.shape() != Shape::Map {
            return Err(builder.bad("", &format!("is {}, expected a block", block.shape().name()), hint));
        }
        last = read(&block, builder)?;
        thinks |= last == Kind::Thinking;
        Ok(())
    })?;
    if index == 0 {
        builder.mark(MessageFlag::Empty);
    }
    if thinks {
        builder.mark(MessageFlag::Thinks);
    }
    if last == Kind::Thinking {
        builder.mark(MessageFlag::Glued); // thinking belongs to the text or call after it
    }
    Ok(())
}

/// The entry under `key` unless it is null: the SDKs' dumps hold null for each field that is absent.
pub fn given<N: Node>(node: &N, key: Key) -> Result<Option<N>, Error> {
    Ok(node.get(key)?.filter(|value| value.shape() != Shape::Null))
}

/// The first key of a block whose value is not null: its type, if it has no `type`.
pub fn first_key<N: Node>(block: &N) -> Result<String, Error> {
    let mut name = String::new();
    block.entries(&mut |key, value| {
        if name.is_empty() && value.shape() != Shape::Null {
            key.clone_into(&mut name);
        }
        Ok(())
    })?;
    Ok(name)
}

/// Gives the row the id under `key`; a row without one is incomplete.
pub fn identify<N: Node, S: Sink<Text = N::Text>>(node: &N, key: Key, builder: &mut Builder<S>) -> Result<(), Error> {
    let [id] = node.fields([key])?;
    identified(id, builder)
}

/// [`identify`] with an id that was found.
pub fn identified<N: Node, S: Sink<Text = N::Text>>(id: Option<N>, builder: &mut Builder<S>) -> Result<(), Error> {
    let take = |id: &str| {
        builder.id(id);
        !id.is_empty()
    };
    let given = id.map_or(Ok(None), |id| id.word(take))?;
    if given != Some(true) {
        builder.flag(RowFlag::Incomplete);
    }
    Ok(())
}

/// Adds the text under `key` to the row; a row without one is incomplete.
pub fn push_text<N: Node, S: Sink<Text = N::Text>>(node: &N, key: Key, builder: &mut Builder<S>) -> Result<(), Error> {
    let [text] = node.fields([key])?;
    let is_pushed = match text {
        Some(text) => builder.push_text(&text)?,
        None => false,
    };
    if !is_pushed {
        builder.flag(RowFlag::Incomplete);
    }
    Ok(())
}

/// Adds the text under a name that is too rare to be a [`Key`] to the row, if there is any.
pub fn push_rare<N: Node, S: Sink<Text = N::Text>>(
    node: &N,
    name: &str,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    if let Some(text) = rare(node, name)? {
        builder.text(text);
    }
    Ok(())
}

/// [`text_of`] of a name that is too rare to be a [`Key`].
fn rare<N: Node>(node: &N, name: &str) -> Result<Option<N::Text>, Error> {
    entry(node, &[name])?.map_or(Ok(None), |value| value.text())
}

/// Lets the text under `key` change the digest, if there is any: part of the message, but not text to the model.
pub fn stamp<N: Node, S: Sink<Text = N::Text>>(node: &N, key: Key, builder: &mut Builder<S>) -> Result<(), Error> {
    if let Some(text) = text_of(node, key)? {
        builder.data(text);
    }
    Ok(())
}

/// Whether a block of Bedrock's or a part of Gemini's names a type, as neither does.
pub fn is_typed<N: Node>(block: &N) -> Result<bool, Error> {
    let mut found = false;
    block.entries(&mut |name, value| {
        found |= matches!(name, "type" | "kind") && value.shape() == Shape::Text;
        Ok(())
    })?;
    Ok(found)
}

/// The base64 under `key`; bytes are an error, upon which the caller passes them as base64.
pub fn blob<N: Node, S: Sink<Text = N::Text>>(
    node: &N,
    key: Key,
    builder: &Builder<S>,
) -> Result<Option<N::Text>, Error> {
    match node.get(key)? {
        Some(value) if value.shape() == Shape::Other => {
            Err(builder.bad(key.text(), "is an object that is not JSON", "pass a file as bytes or as base64"))
        }
        Some(value) => value.text(),
        None => Ok(None),
    }
}

/// Marks the row as cached, where the block says so.
pub fn cached<N: Node, S: Sink<Text = N::Text>>(block: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    marked(block.get(Key::CacheControl)?.as_ref(), builder);
    Ok(())
}

/// [`cached`] with a marker that was found.
pub fn marked<N: Node, S: Sink<Text = N::Text>>(marker: Option<&N>, builder: &mut Builder<S>) {
    if marker.is_some_and(|marker| marker.shape() != Shape::Null) {
        builder.cached();
    }
}

/// Flags the row of a text that is empty and has a marker.
pub fn empty_cached<N: Node, S: Sink<Text = N::Text>>(
    block: &N,
    marker: Option<&N>,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    let is_marked = marker.is_some_and(|marker| marker.shape() != Shape::Null);
    if is_marked && text_of(block, Key::Text)?.is_some_and(|text| text.text().is_empty()) {
        builder.flag(RowFlag::EmptyCached);
    }
    Ok(())
}

/// Adds a call's tool name and its arguments, which must have the shape `wanted`, to the row.
pub fn call<N: Node, S: Sink<Text = N::Text>>(
    node: &N,
    arguments: Key,
    wanted: Shape,
    builder: &mut Builder<S>,
) -> Result<(), Error> {
    let [name, value] = node.fields([Key::Name, arguments])?;
    let named = match &name {
        Some(name) => name.word(|name| builder.name(name))?.is_some() && builder.push_text(name)?,
        None => false,
    };
    if !named {
        builder.flag(RowFlag::Incomplete);
    }
    if value.as_ref().map(Node::shape) != Some(wanted) {
        builder.flag(RowFlag::Incomplete);
    }
    match value {
        Some(value) if value.shape() == Shape::Text => {
            builder.push_text(&value)?;
            builder.tagged_text(&value)
        }
        Some(value) => {
            builder.json(&value)?;
            builder.tagged(&value)
        }
        None => Ok(()),
    }
}

/// A block of a kind that we do not know: counted by its JSON, moved whole.
pub fn opaque<N: Node, S: Sink<Text = N::Text>>(block: &N, name: &str, builder: &mut Builder<S>) -> Result<(), Error> {
    builder.row(Kind::Opaque, name);
    builder.json_with_files(block)
}

/// [`opaque`] of a block that a key names, not a type; one of which all fields are null or missing is incomplete.
pub fn unknown<N: Node, S: Sink<Text = N::Text>>(block: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let name = first_key(block)?;
    opaque(block, &name, builder)?;
    if name.is_empty() {
        builder.flag(RowFlag::Incomplete);
    }
    Ok(())
}

/// Adds what a tool gave back: text, blocks of text and pictures, or nothing.
pub fn returned<N: Node, S: Sink<Text = N::Text>>(content: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    match content.shape() {
        Shape::Text => builder.push_text(content).map(|_| ()),
        Shape::List => content.items(&mut |part| {
            if part.shape() != Shape::Map {
                builder.flag(RowFlag::Incomplete);
            }
            let marker = part.get(Key::CacheControl)?;
            marked(marker.as_ref(), builder);
            match text_of(&part, Key::Type)?.as_ref().map(Text::text).as_deref() {
                Some("text" | "input_text" | "output_text" | "summary_text" | "reasoning_text") => {
                    empty_cached(&part, marker.as_ref(), builder)?;
                    push_text(&part, Key::Text, builder)
                }
                Some("image") => picture(&part, builder),
                Some("document") => document(&part, builder),
                Some("image_url" | "input_image") => picture_url(&part, builder),
                _ => builder.json_with_files(&part),
            }
        }),
        Shape::Null => Ok(()),
        _ => {
            builder.flag(RowFlag::Incomplete); // text or parts is all that a provider takes
            builder.json_with_files(content)
        }
    }
}

/// Adds the tokens of an Anthropic image block; one without a source is incomplete.
pub fn picture<N: Node, S: Sink<Text = N::Text>>(block: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let Some(source) = block.get(Key::Source)?.filter(|source| source.shape() == Shape::Map) else {
        builder.flag(RowFlag::Incomplete);
        return Ok(());
    };
    stamp(&source, Key::Url, builder)?;
    stamp(&source, Key::FileId, builder)?;
    match text_of(&source, Key::Data)? {
        Some(data) => {
            builder.picture(Some(&data.text()), false);
            builder.data(data);
        }
        None => builder.picture(None, false),
    }
    Ok(())
}

/// Adds the tokens of an `OpenAI` image part: `image_url` is a string, or a map with `url`.
pub fn picture_url<N: Node, S: Sink<Text = N::Text>>(part: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    stamp(part, Key::FileId, builder)?;
    let mut detail = rare(part, "detail")?;
    let url = match part.get(Key::ImageUrl)? {
        Some(value) if value.shape() == Shape::Map => {
            detail = rare(&value, "detail")?.or(detail);
            text_of(&value, Key::Url)?
        }
        Some(value) => value.text()?,
        None => None,
    };
    let low = detail.is_some_and(|detail| detail.text() == "low");
    match url {
        Some(url) => {
            builder.picture(encoded(&url.text()), low);
            builder.data(url);
        }
        None => builder.picture(None, low),
    }
    Ok(())
}

/// Adds a document: its text where it is text, its pages where it is a file.
pub fn document<N: Node, S: Sink<Text = N::Text>>(block: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    push_rare(block, "title", builder)?;
    push_rare(block, "context", builder)?;
    let Some(source) = block.get(Key::Source)? else {
        builder.flag(RowFlag::Incomplete);
        return Ok(());
    };
    if let Some(content) = source.get(Key::Content)? {
        return returned(&content, builder);
    }
    stamp(&source, Key::Url, builder)?;
    stamp(&source, Key::FileId, builder)?;
    let is_text = text_of(&source, Key::Type)?.is_some_and(|t| t.text() == "text");
    match text_of(&source, Key::Data)? {
        Some(data) if is_text => builder.text(data),
        Some(data) => {
            builder.document(Some(&data.text()));
            builder.data(data);
        }
        None => builder.document(None),
    }
    Ok(())
}
