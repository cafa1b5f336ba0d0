//! Gemini: `contents`, each with a role and parts, in the API's spelling or the SDK's.

use super::parts::{blob, given, is_typed, push_text, text_of, unknown};
use crate::error::Error;
use crate::ledger::{Builder, Kind, MessageFlag, Role, RowFlag, Sink};
use crate::node::{Key, Node, Shape, Text};

/// Reads one content.
pub fn read<N: Node, S: Sink<Text = N::Text>>(content: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let role = text_of(content, Key::Role)?;
    builder.message(match role.as_ref().map(Text::text).as_deref() {
        None | Some("user" | "function") => Role::User,
        Some("model") => Role::Assistant,
        Some("system") => Role::System,
        _ => Role::Other,
    });
    let parts = content.get(Key::Parts)?;
    match parts.as_ref().map_or(Shape::Null, Node::shape) {
        Shape::Null => builder.mark(MessageFlag::Null),
        Shape::List => {
            let mut index = 0;
            if let Some(parts) = parts {
                parts.items(&mut |item| {
                    builder.at(index);
                    index += 1;
                    part(&item, builder)
                })?;
            }
            if index == 0 {
                builder.mark(MessageFlag::Empty);
            }
        }
        other => {
            let what = format!("is {}, expected a list of parts", other.name());
            return Err(builder.bad("parts", &what, "write text as a part: [{\"text\": \"...\"}]"));
        }
    }
    Ok(())
}

/// The entry under the API's spelling, or under the SDK's, unless it is null.
fn either<N: Node>(node: &N, camel: Key, snake: Key) -> Result<Option<N>, Error> {
    Ok(match given(node, camel)? {
        Some(value) => Some(value),
        None => given(node, snake)?,
    })
}

fn part<N: Node, S: Sink<Text = N::Text>>(part: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    if part.shape() != Shape::Map {
        let what = format!("is {}, expected a part", part.shape().name());
        return Err(builder.bad("", &what, "a part is a dict such as {\"text\": \"...\"}"));
    }
    if is_typed(part)? {
        builder.doubt();
    }
    read_part(part, builder)?;
    for key in [Key::ThoughtSignature, Key::SnakeThoughtSignature] {
        if let Some(text) = blob(part, key, builder)? {
            if !text.text().is_empty() {
                builder.flag(RowFlag::Signed);
            }
            builder.data(text);
        }
    }
    Ok(())
}

fn read_part<N: Node, S: Sink<Text = N::Text>>(part: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    if given(part, Key::Text)?.is_some() {
        let thought = part.get(Key::Thought)?.is_some_and(|thought| thought.is_true());
        let kind = if thought { Kind::Thinking } else { Kind::Text };
        builder.row(kind, if thought { "thought" } else { "text" });
        return push_text(part, Key::Text, builder);
    }
    if let Some(call) = either(part, Key::CamelCall, Key::FunctionCall)? {
        builder.row(Kind::Call, "functionCall");
        named(&call, builder)?;
        return match given(&call, Key::Args)? {
            Some(args) => builder.json(&args).and_then(|()| builder.tagged(&args)),
            None => Ok(()),
        };
    }
    if let Some(response) = either(part, Key::FunctionResponse, Key::SnakeFunctionResponse)? {
        builder.row(Kind::Result, "functionResponse");
        named(&response, builder)?;
        if let Some(returned) = given(&response, Key::Response)? {
            builder.json_with_files(&returned)?;
        }
        let parts = response.get(Key::Parts)?.filter(|parts| parts.shape() == Shape::List);
        return parts.map_or(Ok(()), |parts| {
            parts.items(&mut |part| match attached(&part)? {
                Some(file) => file.push(builder),
                None => builder.json_with_files(&part),
            })
        });
    }
    if let Some(file) = attached(part)? {
        builder.row(if file.is_picture { Kind::Image } else { Kind::Document }, file.name);
        return file.push(builder);
    }
    unknown(part, builder)
}

/// A file beside a text or in a function's response.
struct Attached<N> {
    file: N,
    name: &'static str,
    is_inline: bool,
    is_picture: bool,
}

/// The file of a part, if it has one.
fn attached<N: Node>(part: &N) -> Result<Option<Attached<N>>, Error> {
    if part.shape() != Shape::Map {
        return Ok(None);
    }
    let inline = either(part, Key::InlineData, Key::SnakeInlineData)?;
    let is_inline = inline.is_some();
    let found = match inline {
        Some(file) => Some(file),
        None => either(part, Key::FileData, Key::SnakeFileData)?,
    };
    let Some(file) = found else { return Ok(None) };
    let mime = either(&file, Key::MimeType, Key::SnakeMimeType)?.map(|mime| mime.text()).transpose()?.flatten();
    let is_picture = mime.is_some_and(|mime| mime.text().starts_with("image/"));
    Ok(Some(Attached { file, name: if is_inline { "inlineData" } else { "fileData" }, is_inline, is_picture }))
}

impl<N: Node> Attached<N> {
    /// Adds its tokens to the row.
    fn push<S: Sink<Text = N::Text>>(self, builder: &mut Builder<S>) -> Result<(), Error> {
        let data = if self.is_inline { blob(&self.file, Key::Data, builder)? } else { None };
        let text = data.as_ref().map(Text::text);
        if self.is_picture {
            builder.picture(text.as_deref(), false);
        } else {
            builder.document(text.as_deref());
        }
        match data {
            Some(data) => builder.data(data),
            None if self.is_inline => {}
            None => builder.json(&self.file)?,
        }
        Ok(())
    }
}

/// Pairs by the call's id where it has one, else by the function's name, which is then the id of the row.
fn named<N: Node, S: Sink<Text = N::Text>>(of: &N, builder: &mut Builder<S>) -> Result<(), Error> {
    let name = text_of(of, Key::Name)?;
    match text_of(of, Key::Id)?.filter(|id| !id.text().is_empty()) {
        Some(id) => builder.id(&id.text()),
        None => builder.id(&name.as_ref().map(Text::text).unwrap_or_default()),
    }
    match name {
        Some(name) if !name.text().is_empty() => {
            builder.name(&name.text());
            builder.text(name);
        }
        _ => builder.flag(RowFlag::Incomplete),
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
    fn calls_without_ids_pair_by_name_in_either_spelling() {
        let mut builder = Builder::default();
        for content in [
            value!({"parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": "x"}}]}),
            value!({"role": "model", "parts": [
                {"text": "hm", "thought": true},
                {"functionCall": {"name": "f", "args": {"n": 1}}, "thoughtSignature": "s"}]}),
            value!({"role": "user", "parts": [{"function_response": {"name": "f", "response": {"result": "1"}}}]}),
        ] {
            read(&content, &mut builder).unwrap();
        }
        let ledger = builder.finish(&Counter::from(Encoding::O200k)).unwrap();
        assert_eq!(ledger.kind, [Kind::Text, Kind::Image, Kind::Thinking, Kind::Call, Kind::Result]);
        assert_eq!(ledger.pair, [-1, -1, -1, 4, 3]);
        assert!(ledger.has(3, RowFlag::Signed) && !ledger.has(2, RowFlag::Signed));
        assert_eq!(ledger.safe, [true, true, false, true]);
    }

    #[test]
    fn a_picture_of_a_response_counts_in_each_form() {
        let mut builder = Builder::default();
        for content in [
            value!({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}),
            value!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}, "parts": [
                {"inlineData": {"mimeType": "image/png", "data": "x"}},
                {"inline_data": {"mime_type": "image/png", "data": "x"}},
                {"fileData": {"mimeType": "image/png", "fileUri": "x"}},
                {"file_data": {"mime_type": "image/png", "file_uri": "x"}},
                {"inlineData": {"mimeType": "application/pdf", "data": "x"}}]}}]}),
        ] {
            read(&content, &mut builder).unwrap();
        }
        let ledger = builder.finish(&Counter::from(Encoding::O200k)).unwrap();
        assert_eq!((ledger.kind.len(), ledger.pictured(), ledger.paged()), (2, vec![1; 4], vec![1]));
        assert!(ledger.tokens[1] > 4 * 1_560 + 2_300);
    }
}
