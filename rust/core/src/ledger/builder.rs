//! Where the shape readers write what they read.

use std::ops::Range;

use super::piece::{Piece, TRAITS, allowed, joined, measured, traits};
use super::reads::{self, Read};
use super::{Kind, Ledger, Media, MessageFlag, Picture, Role, RowFlag};
use crate::counter::Counter;
use crate::error::Error;
use crate::json::{Json, Tape};
use crate::media;
use crate::node::{Node, Shape, Text, encoded, write_json, write_spaced};
use crate::prompt::tags;
use crate::prompt::{Form, Prompt};
use trimtab_tokens::cancel;
use trimtab_tokens::counter::shares;
use trimtab_tokens::pool;

/// What the builder collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Texts {
    /// Texts wait to be counted and digested.
    Kept,
    /// Texts wait to be counted.
    Counted,
    /// Flags of texts are collected while they are read.
    Seen,
    /// Links between messages are collected; texts are not read.
    Passed,
}

/// Takes messages and rows in order; texts wait here, uncounted, until [`Builder::finish`].
pub struct Builder<T> {
    ledger: Ledger,
    /// Texts by row: behind the last of `pieces`.
    ends: Vec<usize>,
    pieces: Vec<Piece<T>>,
    media: Vec<Media>,
    /// Messages of the list that stand before these.
    before: usize,
    block: Option<usize>,
    prompt: Prompt,
    /// Whether texts are kept, looked at once and let go, or not looked at.
    texts: Texts,
    /// Whether nothing was said yet in the row.
    is_new: bool,
    /// Whether anything asks for ids and names.
    is_named: bool,
    /// JSON that is looked at and let go is written here.
    json: String,
}

impl<T: Text> Default for Builder<T> {
    fn default() -> Self {
        Self::new(Prompt::PLAIN, 0)
    }
}

impl<T: Text> Builder<T> {
    /// A builder for a prompt's grammar, which [`Builder::finish`] is to be given again. Its messages stand behind `before`
    /// others: errors name them by their place in the whole.
    #[must_use]
    pub fn new(prompt: Prompt, before: usize) -> Self {
        Self {
            ledger: Ledger::default(),
            ends: Vec::new(),
            pieces: Vec::new(),
            media: Vec::new(),
            before,
            block: None,
            prompt,
            texts: Texts::Kept,
            is_new: true,
            is_named: true,
            json: String::new(),
        }
    }

    /// A builder that collects costs only: no digests.
    #[must_use]
    pub fn costs(prompt: Prompt, before: usize) -> Self {
        Self { texts: Texts::Counted, is_named: prompt.form != Form::Plain, ..Self::new(prompt, before) }
    }

    /// A builder that collects flags and links for rules; [`Builder::collected`] ends it. About so many messages will come.
    #[must_use]
    pub fn flags(messages: usize) -> Self {
        Self::sized(Texts::Seen, messages)
    }

    /// A builder that collects links alone; [`Builder::collected`] ends it. About so many messages will come.
    #[must_use]
    pub fn links(messages: usize) -> Self {
        Self::sized(Texts::Passed, messages)
    }

    fn sized(texts: Texts, messages: usize) -> Self {
        let mut builder = Self { texts, ..Self::new(Prompt::PLAIN, 0) };
        builder.ledger.reserve(messages);
        builder
    }

    /// Makes room for about so many messages, of a row each, and their texts.
    pub(crate) fn reserve(&mut self, messages: usize) {
        self.ledger.reserve(messages);
        self.ledger.ids.reserve(messages);
        self.ledger.names.reserve(messages);
        self.ends.reserve(messages);
        self.pieces.reserve(messages);
        self.media.reserve(messages);
    }

    /// Starts a message.
    pub fn message(&mut self, role: Role) {
        self.ledger.role.push(role);
        self.ledger.marks.push(0);
        self.ledger.payload.push(0);
        self.ledger.first.push(u32::try_from(self.ledger.owner.len()).unwrap_or(u32::MAX)); // checked in finish
        self.block = None;
    }

    /// Says which block of the message is read, for error paths.
    pub fn at(&mut self, block: usize) {
        self.block = Some(block);
    }

    /// Whether what ties messages together is all that is asked for: what a row says need not be looked at.
    #[must_use]
    pub fn collects_links_only(&self) -> bool {
        self.texts == Texts::Passed
    }

    /// Whether texts wait for the end.
    fn waits(&self) -> bool {
        matches!(self.texts, Texts::Kept | Texts::Counted)
    }

    /// Marks the message.
    pub fn mark(&mut self, mark: MessageFlag) {
        if let Some(marks) = self.ledger.marks.last_mut() {
            *marks |= mark as u16;
        }
    }

    /// Starts a row of `kind`; `name` is the tool or the block's type.
    pub fn row(&mut self, kind: Kind, name: &str) {
        self.ledger.owner.push(u32::try_from(self.ledger.role.len() - 1).unwrap_or(u32::MAX));
        self.ledger.kind.push(kind);
        if self.is_named {
            self.ledger.ids.push("");
        }
        if self.collects_links_only() {
            return;
        }
        self.ledger.flags.push(RowFlag::Empty as u16 | RowFlag::Blank as u16);
        self.ledger.markers.push(0);
        if self.is_named {
            self.ledger.names.push(name);
        }
        self.is_new = true;
        if self.waits() {
            self.ends.push(self.pieces.len());
            self.media.push(Media::default());
        }
    }

    /// Renames the row: the tool, once it is known.
    pub fn name(&mut self, name: &str) {
        self.ledger.names.set_last(name);
    }

    /// Gives the row the id of its call.
    pub fn id(&mut self, id: &str) {
        self.ledger.ids.set_last(id);
    }

    /// Flags the row.
    pub fn flag(&mut self, flag: RowFlag) {
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

    /// Adds text to the row.
    pub fn text(&mut self, text: T) {
        self.piece(Piece::Given(text));
    }

    /// Adds the text of `node` to the row; false where it is no string.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn push_text<N: Node<Text = T>>(&mut self, node: &N) -> Result<bool, Error> {
        Ok(match self.texts {
            Texts::Kept | Texts::Counted => node.text()?.map(|text| self.text(text)).is_some(),
            Texts::Seen => node.look(|text| self.note(text, Some(traits(text))))?.is_some(),
            Texts::Passed => true,
        })
    }

    /// Adds text of our own making to the row.
    pub fn made(&mut self, text: String) {
        self.piece(Piece::Owned(text));
    }

    /// Adds `node` to the row, as compact JSON: all of it is text to the model.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if it cannot be written as JSON.
    pub fn json<N: Node<Text = T>>(&mut self, node: &N) -> Result<(), Error> {
        if self.texts == Texts::Passed {
            return Ok(());
        }
        if let Some(text) = node.json() {
            self.text(text);
            return Ok(());
        }
        let mut out = std::mem::take(&mut self.json);
        let written = write_json(node, &mut out, None);
        self.written(written, out)
    }

    /// Adds `node` to the row, as compact JSON with its encoded files counted as media.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if it cannot be written as JSON.
    pub fn json_with_files<N: Node<Text = T>>(&mut self, node: &N) -> Result<(), Error> {
        if self.texts == Texts::Passed {
            return Ok(());
        }
        let (mut out, mut files) = (std::mem::take(&mut self.json), Vec::new());
        let written = write_json(node, &mut out, Some(&mut files));
        self.written(written, out)?;
        for file in files {
            self.media(self.prompt.vision.file(encoded(&file.text()).unwrap_or_default()));
            self.data(file);
        }
        Ok(())
    }

    /// Writes the row's call as the prompt has it, where that is another text than its JSON; the name is known by now.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if an argument cannot be written as JSON.
    pub fn tagged<N: Node<Text = T>>(&mut self, input: &N) -> Result<(), Error> {
        if self.prompt.form == Form::Tagged && input.shape() == Shape::Map {
            self.send(input)?;
        }
        Ok(())
    }

    /// [`Builder::tagged`] for arguments in a text of JSON; any other text stays as it is.
    ///
    /// # Errors
    ///
    /// As [`Builder::tagged`], and errors of the view.
    pub fn tagged_text<N: Node<Text = T>>(&mut self, input: &N) -> Result<(), Error> {
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

    /// Adds thinking of which only this signature or ciphertext is there: counted by its length.
    pub fn hidden(&mut self, data: T) {
        self.media(u32::try_from(self.prompt.hidden(data.text().len())).unwrap_or(u32::MAX));
        self.data(data);
    }

    fn written(&mut self, written: Result<(), Error>, out: String) -> Result<(), Error> {
        match written {
            Err(Error::Argument(what)) => Err(self.bad("", &what, "pass what JSON can say: dict, list, str, numbers")),
            other => other.map(|()| self.made(out)),
        }
    }

    /// Adds what is no text to the model: it changes the digest, not the count.
    pub fn data(&mut self, data: T) {
        self.piece(Piece::Data(data));
    }

    /// Adds a picture's or a document's tokens to the row.
    pub fn media(&mut self, tokens: u32) {
        if let Some(media) = self.media.last_mut() {
            media.tokens = media.tokens.saturating_add(tokens);
            media.all += 1;
        }
    }

    /// Adds a base64 picture, or one that is elsewhere: its tokens, and its size for the provider's limits. `low` says
    /// that it is wanted in low detail.
    pub fn picture(&mut self, base64: Option<&str>, low: bool) {
        let (size, vision) = (base64.and_then(media::image_size), self.prompt.vision);
        let whole = || size.map_or(vision.unknown(), |(width, height)| vision.patches(width, height));
        self.media(vision.low().filter(|_| low).unwrap_or_else(whole));
        if let Some(media) = self.media.last_mut() {
            media.low += u32::from(low);
        }
        self.ledger.pictures.push(Picture {
            row: u32::try_from(self.ledger.owner.len().saturating_sub(1)).unwrap_or(u32::MAX), // checked in finish
            edge: size.map_or(0, |(width, height)| width.max(height)),
            base64: base64.map_or(0, |data| u32::try_from(data.len()).unwrap_or(u32::MAX)),
        });
    }

    fn piece(&mut self, piece: Piece<T>) {
        if self.waits() {
            self.pieces.push(piece); // not looked at: a view may make its text when that is asked for
            if let Some(end) = self.ends.last_mut() {
                *end = self.pieces.len();
            }
            return;
        }
        if self.texts == Texts::Seen {
            self.note(&piece.text(), piece.traits(&piece.text()));
        }
        if let Piece::Owned(mut text) = piece {
            text.clear();
            self.json = text;
        }
    }

    /// Notes what there is to know of a piece without keeping it.
    fn note(&mut self, text: &str, traits: Option<u16>) {
        if let Some(payload) = self.ledger.payload.last_mut() {
            *payload += text.len() as u64;
        }
        if let (Some(flags), Some(kind), Some(next)) = (self.ledger.flags.last_mut(), self.ledger.kind.last(), traits) {
            *flags = (*flags & !TRAITS) | (joined(*flags, next, self.is_new) & allowed(*kind));
        }
        self.is_new = false;
    }

    /// An error at the place that is being read.
    #[must_use]
    pub fn bad(&self, key: &str, what: &str, hint: &str) -> Error {
        let index = self.before + self.ledger.role.len().saturating_sub(1);
        let block = self.block.map(|b| format!(".content[{b}]")).unwrap_or_default();
        let key = if key.is_empty() { String::new() } else { format!(".{key}") };
        let path = format!("messages[{index}]{block}{key}");
        Error::Message { path, index, what: what.to_owned(), hint: hint.to_owned() }
    }

    /// Gives an error of the view its place, where it has none: in message `index` of these.
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

    /// Counts and digests all texts, in parallel where that gains, and pairs calls with results.
    ///
    /// Takes `&mut self`: the texts are still borrowed, and are to be dropped by whoever owns their source.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] where rows or tokens pass what a column can name.
    pub fn finish(&mut self, counter: &Counter) -> Result<Ledger, Error> {
        let mut ledger = self.part(counter, false)?;
        ledger.finish();
        Ok(ledger)
    }

    /// [`Builder::finish`] without the columns that depend on other parts ([`Ledger::append`] joins them); `is_alone` on a
    /// thread that is one of several.
    ///
    /// # Errors
    ///
    /// As [`Self::finish`].
    pub(crate) fn part(&mut self, counter: &Counter, is_alone: bool) -> Result<Ledger, Error> {
        let mut ledger = self.closed()?;
        let bytes = if is_alone { 0 } else { self.pieces.iter().map(Text::length).sum() };
        let shares = shares(ledger.rows(), bytes);
        let wants_digests = self.texts == Texts::Kept;
        let measure =
            |rows: &Range<usize>| measured(&ledger, rows.clone(), |row| self.said_in(row), counter, wants_digests);
        let all: Vec<_> = if let [rows] = &shares[..] {
            measure(rows)
        } else {
            pool::map(&shares, measure).into_iter().flatten().collect()
        };
        for (row, found) in all.iter().enumerate() {
            ledger.flags[row] = (ledger.flags[row] & !TRAITS) | (found.traits & allowed(ledger.kind[row]));
        }
        cancel::poll_now();
        ledger.measure(all.iter().map(|row| row.size), &self.media, counter)?;
        cancel::poll_now();
        if !wants_digests {
            return Ok(ledger);
        }
        ledger.lengthen(&all)?;
        cancel::poll_now();
        ledger.reads = self.reads(&ledger);
        cancel::poll_now();
        ledger.digests = Self::digests(&ledger);
        Ok(ledger)
    }

    /// Columns for rules: roles, kinds, flags, and which calls and results are pairs. The other columns are
    /// empty.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] where rows pass what a column can name.
    pub fn collected(mut self) -> Result<Ledger, Error> {
        let mut ledger = self.closed()?;
        ledger.link();
        Ok(ledger)
    }

    fn closed(&mut self) -> Result<Ledger, Error> {
        let mut ledger = std::mem::take(&mut self.ledger);
        ledger.first.push(u32::try_from(ledger.rows()).map_err(|_| Error::Overflow("rows"))?);
        Ok(ledger)
    }

    /// The calls that read a file: their arguments stand last among the row's texts.
    fn reads(&self, ledger: &Ledger) -> Vec<Read> {
        let mut tape = Tape::default();
        let mut read = |row: usize| {
            let mut texts = self.said_in(row).iter();
            let last = texts.rfind(|piece| matches!(piece, Piece::Given(_) | Piece::Owned(_)))?;
            reads::read(u32::try_from(row).ok()?, ledger.names.get(row), &last.text(), &mut tape)
        };
        // The arguments of the others are not even made.
        let may_read = |row: &usize| ledger.kind[*row] == Kind::Call && reads::may_read(ledger.names.get(*row));
        let calls = (0..ledger.rows()).filter(may_read);
        calls.filter_map(&mut read).collect()
    }

    /// Digest of each message: role, marks and for each row its kind, id, name and texts.
    ///
    /// XXH3, not a cryptographic hash: BLAKE3 was half of a scan without counting, and who makes two messages collide
    /// has pinned one of his own messages more.
    fn digests(ledger: &Ledger) -> Vec<[u8; 16]> {
        let mut said = Vec::new();
        let mut digest = |index: usize| {
            said.clear();
            let [low, high] = ledger.marks[index].to_le_bytes();
            said.extend_from_slice(&[ledger.role[index] as u8, low, high]);
            for row in ledger.rows_of(index) {
                said.push(ledger.kind[row] as u8);
                for text in [ledger.ids.get(row), ledger.names.get(row)] {
                    said.extend_from_slice(&(text.len() as u64).to_le_bytes()); // the length parts an id from the name behind it
                    said.extend_from_slice(text.as_bytes());
                }
                // A cache marker says where to cache, not what is said: it may move without making another message.
                said.extend_from_slice(&(ledger.flags[row] & !(RowFlag::Cached as u16)).to_le_bytes());
                said.extend_from_slice(&ledger.content[row]);
            }
            super::digest(&said)
        };
        (0..ledger.messages()).map(&mut digest).collect()
    }

    /// The pieces of a row.
    fn said_in(&self, row: usize) -> &[Piece<T>] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.pieces[start..self.ends[row]]
    }
}
