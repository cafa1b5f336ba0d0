//! The builder that the shape readers write messages and rows to.

use super::piece::Piece;
use super::{Document, Kind, Ledger, Media, MessageFlag, Picture, Role, RowFlag};
use crate::error::Error;
use crate::json::{Json, Tape};
use crate::media;
use crate::node::{Node, Shape, Text, encoded, write_json, write_spaced};
use crate::prompt::tags;
use crate::prompt::{Form, Prompt};

/// Receives the rows of a [`Builder`]; there is one type for each kind of result.
pub trait Sink {
    /// The view's type of a text.
    type Text: Text;

    /// Whether only the links between messages are kept, so that texts need not be read.
    const LINKS_ONLY: bool = false;

    /// Begins a row; the ledger has its owner and kind already. `name` is the tool or the block's type.
    fn row(&mut self, ledger: &mut Ledger, name: &str);

    /// Receives a piece of the row's text.
    fn piece(&mut self, ledger: &mut Ledger, piece: Piece<Self::Text>);

    /// Receives the text of `node`; false if it is not a string.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    fn read<N: Node<Text = Self::Text>>(&mut self, ledger: &mut Ledger, node: &N) -> Result<bool, Error>;

    /// The pictures and documents of the row; None if they are not kept.
    fn media(&mut self) -> Option<&mut Media> {
        None
    }

    /// An empty string to write JSON to.
    fn buffer(&mut self) -> String {
        String::new()
    }
}

/// Records messages and rows in order, and passes their texts to a [`Sink`].
pub struct Builder<S> {
    pub(super) ledger: Ledger,
    pub(super) sink: S,
    /// Number of messages in front of these in the list.
    before: usize,
    block: Option<usize>,
    /// Whether the message has a block that its shape does not know, or one without a field that it needs.
    doubtful: bool,
    prompt: Prompt,
}

impl<S> Builder<S> {
    /// A builder for a prompt's format. `before` messages precede its own, so that errors name positions in the whole
    /// list.
    pub(super) fn with(sink: S, prompt: Prompt, before: usize) -> Self {
        Self { ledger: Ledger::default(), sink, before, block: None, doubtful: false, prompt }
    }

    /// The finished columns, with the position behind the last row.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for more rows than a column's type can number.
    pub(super) fn closed(&mut self) -> Result<Ledger, Error> {
        let mut ledger = std::mem::take(&mut self.ledger);
        ledger.first.push(u32::try_from(ledger.rows()).map_err(|_| Error::Overflow("rows"))?);
        Ok(ledger)
    }

    /// Starts a message.
    pub fn message(&mut self, role: Role) {
        self.ledger.role.push(role);
        self.ledger.marks.push(0);
        self.ledger.first.push(u32::try_from(self.ledger.owner.len()).unwrap_or(u32::MAX)); // checked in finish
        self.block = None;
        self.doubtful = false;
    }

    /// Doubts that the message is of the shape that it is read in.
    pub fn doubt(&mut self) {
        self.doubtful = true;
    }

    /// Whether the message may be of another shape: it is doubted, or nothing was read of it.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.doubtful || self.is_empty_message()
    }

    /// Whether nothing was read of the message.
    #[must_use]
    pub fn is_empty_message(&self) -> bool {
        self.ledger.first.last().is_some_and(|&first| first as usize == self.ledger.owner.len())
    }

    /// An error about the whole message.
    pub fn refused(&mut self, what: &str, hint: &str) -> Error {
        self.block = None;
        self.bad("", what, hint)
    }

    /// Sets the block that is being read, for error paths.
    pub fn at(&mut self, block: usize) {
        self.block = Some(block);
    }

    /// The role of the message.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.ledger.role.last().copied()
    }

    /// Marks the message.
    pub fn mark(&mut self, mark: MessageFlag) {
        if let Some(marks) = self.ledger.marks.last_mut() {
            *marks |= mark as u16;
        }
    }

    /// Sets the row's name, once the tool is known.
    pub fn name(&mut self, name: &str) {
        self.ledger.names.set_last(name);
    }

    /// Sets the call id of the row.
    pub fn id(&mut self, id: &str) {
        self.ledger.ids.set_last(id);
    }

    /// Flags the row.
    pub fn flag(&mut self, flag: RowFlag) {
        self.doubtful |= flag == RowFlag::Incomplete;
        if let Some(flags) = self.ledger.flags.last_mut() {
            *flags |= flag as u16;
        }
    }

    /// Counts a cache marker in the row.
    pub fn cached(&mut self) {
        self.flag(RowFlag::Cached);
        if let Some(markers) = self.ledger.markers.last_mut() {
            *markers = markers.saturating_add(1);
        }
    }

    /// Number of messages begun.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.ledger.role.len()
    }

    /// Number of rows begun.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ledger.owner.len()
    }

    /// An error at the current position.
    #[must_use]
    pub fn bad(&self, key: &str, what: &str, hint: &str) -> Error {
        let index = self.before + self.ledger.role.len().saturating_sub(1);
        let block = self.block.map(|b| format!(".content[{b}]")).unwrap_or_default();
        let key = if key.is_empty() { String::new() } else { format!(".{key}") };
        let path = format!("messages[{index}]{block}{key}");
        Error::Message { path, index, what: what.to_owned(), hint: hint.to_owned() }
    }

    /// Passes over a message that need not be read: those behind it stand a place further in the whole list.
    pub fn skip(&mut self) {
        self.before += 1;
    }

    /// Adds the position to an error of the view that has none: of the message that is read, `index` of them before it.
    #[must_use]
    pub fn located(&self, error: Error, index: usize, hint: &str) -> Error {
        match error {
            Error::Argument(what) if self.messages() > index => self.bad("", &what, hint),
            Error::Argument(what) => {
                let index = self.before + index;
                Error::Message { path: format!("messages[{index}]"), index, what, hint: hint.to_owned() }
            }
            other => other,
        }
    }
}

impl<S: Sink> Builder<S> {
    /// Whether only the links between messages are wanted, so that texts need not be read.
    #[must_use]
    pub fn collects_links_only(&self) -> bool {
        S::LINKS_ONLY
    }

    /// Starts a row of `kind`; `name` is the tool or the block's type.
    pub fn row(&mut self, kind: Kind, name: &str) {
        self.ledger.owner.push(u32::try_from(self.ledger.role.len() - 1).unwrap_or(u32::MAX));
        self.ledger.kind.push(kind);
        self.doubtful |= kind == Kind::Opaque;
        self.sink.row(&mut self.ledger, name);
    }

    /// Adds text to the row.
    pub fn text(&mut self, text: S::Text) {
        self.piece(Piece::Given(text));
    }

    /// Adds the text of `node` to the row; false if it is not a string.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn push_text<N: Node<Text = S::Text>>(&mut self, node: &N) -> Result<bool, Error> {
        self.sink.read(&mut self.ledger, node)
    }

    /// Adds a text that is not in the message to the row.
    pub fn made(&mut self, text: String) {
        self.piece(Piece::Owned(text));
    }

    /// Adds `node` to the row as compact JSON, all of which is text to the model.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if it cannot be written as JSON.
    pub fn json<N: Node<Text = S::Text>>(&mut self, node: &N) -> Result<(), Error> {
        if S::LINKS_ONLY {
            return Ok(());
        }
        if let Some(text) = node.json() {
            self.text(text);
            return Ok(());
        }
        let mut out = self.sink.buffer();
        let written = write_json(node, &mut out, None);
        self.written(written, out)
    }

    /// Adds `node` to the row, as compact JSON with its encoded files counted as media.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if it cannot be written as JSON.
    pub fn json_with_files<N: Node<Text = S::Text>>(&mut self, node: &N) -> Result<(), Error> {
        if S::LINKS_ONLY {
            return Ok(());
        }
        let (mut out, mut files) = (self.sink.buffer(), Vec::new());
        let written = write_json(node, &mut out, Some(&mut files));
        self.written(written, out)?;
        for file in files {
            let text = file.text();
            let base64 = encoded(&text).unwrap_or_default();
            match media::file_text(base64) {
                Some(words) => self.piece(Piece::Decoded(words)),
                None => self.media(self.prompt.vision.file(base64)),
            }
            drop(text);
            self.data(file);
        }
        Ok(())
    }

    /// Adds the row's call in the prompt's format, if that differs from its JSON. The name must be set before.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if an argument cannot be written as JSON.
    pub fn tagged<N: Node<Text = S::Text>>(&mut self, input: &N) -> Result<(), Error> {
        if self.prompt.form == Form::Tagged && input.shape() == Shape::Map {
            self.send(input)?;
        }
        Ok(())
    }

    /// [`Builder::tagged`] for arguments that are a JSON text; any other text is added unchanged.
    ///
    /// # Errors
    ///
    /// As [`Builder::tagged`], and errors of the view.
    pub fn tagged_text<N: Node<Text = S::Text>>(&mut self, input: &N) -> Result<(), Error> {
        let text = if self.prompt.form == Form::Tagged { input.text()? } else { None };
        let Some(text) = text else { return Ok(()) };
        let (input, mut tape) = (&*text.text(), Tape::default());
        match tape.parse(input, 0) {
            Ok(end) if tape.is_map() && input[end..].trim_ascii().is_empty() => self.send(&Json::new(&tape.of(input))),
            _ => Ok(()),
        }
    }

    fn send<M: Node>(&mut self, input: &M) -> Result<(), Error> {
        let row = self.ledger.names.len().saturating_sub(1);
        let mut sent = tags::invoke(self.ledger.names.get(row));
        input.entries(&mut |key, value| {
            let mut json = String::new();
            match value.text()? {
                Some(text) => json.push_str(&text.text()),
                None => write_spaced(&value, &mut json)?,
            }
            sent.push_str(&tags::parameter(key, &json));
            Ok(())
        })?;
        sent.push_str(&tags::invoked());
        self.piece(Piece::Prompted(sent));
        Ok(())
    }

    /// Adds thinking that has only a signature or ciphertext; it counts by length.
    pub fn hidden(&mut self, data: S::Text) {
        self.media(u32::try_from(self.prompt.hidden(data.text().len())).unwrap_or(u32::MAX));
        self.data(data);
    }

    fn written(&mut self, written: Result<(), Error>, out: String) -> Result<(), Error> {
        match written {
            Err(Error::Argument(what)) => Err(self.bad("", &what, "pass what JSON can say: dict, list, str, numbers")),
            other => other.map(|()| self.made(out)),
        }
    }

    /// Adds data that is no text to the model: it changes the digest, not the count.
    pub fn data(&mut self, data: S::Text) {
        self.piece(Piece::Data(data));
    }

    /// Adds a picture's or a document's tokens to the row.
    pub fn media(&mut self, tokens: u32) {
        if let Some(media) = self.sink.media() {
            media.tokens = media.tokens.saturating_add(tokens);
            media.all += 1;
        }
    }

    /// Adds the tokens of a base64 picture, or of a referenced one, and its size for the provider's limits. `low` requests
    /// low detail.
    pub fn picture(&mut self, base64: Option<&str>, low: bool) {
        let (size, vision) = (base64.and_then(media::image_size), self.prompt.vision);
        let whole = || size.map_or(vision.unknown(), |(width, height)| vision.patches(width, height));
        self.media(vision.low().filter(|_| low).unwrap_or_else(whole));
        if let Some(media) = self.sink.media() {
            media.low += u32::from(low);
        }
        self.ledger.pictures.push(Picture {
            row: u32::try_from(self.ledger.owner.len().saturating_sub(1)).unwrap_or(u32::MAX), // checked in finish
            edge: size.map_or(0, |(width, height)| width.max(height)),
            base64: base64.map_or(0, |data| u32::try_from(data.len()).unwrap_or(u32::MAX)),
        });
    }

    /// Adds the tokens of a base64 document, or of a referenced one, and its pages for the provider's limits; of one that is
    /// a text its words.
    pub fn document(&mut self, base64: Option<&str>) {
        if let Some(words) = base64.filter(|_| !S::LINKS_ONLY).and_then(media::file_text) {
            return self.piece(Piece::Decoded(words));
        }
        let (base64, pages) = (base64.unwrap_or_default(), base64.and_then(media::pdf_pages));
        self.media(media::document_tokens(base64, pages));
        self.ledger.documents.push(Document {
            row: u32::try_from(self.ledger.owner.len().saturating_sub(1)).unwrap_or(u32::MAX), // checked in finish
            pages: pages.unwrap_or(1).clamp(1, media::PDF_MOST),
        });
    }

    fn piece(&mut self, piece: Piece<S::Text>) {
        self.sink.piece(&mut self.ledger, piece);
    }
}
