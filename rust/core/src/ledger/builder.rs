//! Where the shape readers write what they read.

use std::ops::Range;

use super::reads::{self, Read};
use super::{Kind, Ledger, Media, MessageFlag, Picture, Role, RowFlag};
use crate::error::Error;
use crate::json::{Json, Tape};
use crate::media;
use crate::node::{Node, Shape, encoded, write_json, write_spaced};
use crate::text::count::map_many;
use crate::text::envelope;
use crate::text::prompt::{self, tags};
use crate::text::{Counter, Form, Prompt, Size};

/// A piece of a row's text.
enum Piece<T> {
    Given(T),
    Made(String),
    /// Part of what the message says, but not text to the model: a picture's data, a signature.
    Data(T),
    /// What stands in the prompt for the row's other pieces.
    Sent(String),
}

impl<T: AsRef<str>> AsRef<str> for Piece<T> {
    fn as_ref(&self) -> &str {
        match self {
            Self::Given(text) | Self::Data(text) => text.as_ref(),
            Self::Made(text) | Self::Sent(text) => text,
        }
    }
}

/// Takes messages and rows in order; texts wait here, uncounted, until [`Builder::finish`].
pub struct Builder<T> {
    ledger: Ledger,
    /// Texts by row: first and behind last of `pieces`.
    spans: Vec<Range<usize>>,
    pieces: Vec<Piece<T>>,
    media: Vec<Media>,
    /// Messages of the list that stand before these.
    before: usize,
    block: Option<usize>,
    prompt: Prompt,
}

impl<T: AsRef<str> + Send + Sync> Default for Builder<T> {
    fn default() -> Self {
        Self::new(Prompt::PLAIN, 0)
    }
}

impl<T: AsRef<str> + Send + Sync> Builder<T> {
    /// A builder for a prompt's grammar, which [`Builder::finish`] is to be given again. Its messages stand behind `before`
    /// others: errors name them by their place in the whole.
    #[must_use]
    pub fn new(prompt: Prompt, before: usize) -> Self {
        let ledger = Ledger::default();
        Self { ledger, spans: Vec::new(), pieces: Vec::new(), media: Vec::new(), before, block: None, prompt }
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
        self.ledger.flags.push(0);
        self.ledger.markers.push(0);
        self.ledger.ids.push("");
        self.ledger.names.push(name);
        self.spans.push(self.pieces.len()..self.pieces.len());
        self.media.push(Media::default());
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

    /// Messages of the list that stand before these.
    #[must_use]
    pub fn before(&self) -> usize {
        self.before
    }

    /// Number of messages begun.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.ledger.role.len()
    }

    /// Number of rows begun.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.spans.len()
    }

    /// Adds text to the row.
    pub fn text(&mut self, text: T) {
        self.piece(Piece::Given(text));
    }

    /// Adds text of our own making to the row.
    pub fn made(&mut self, text: String) {
        self.piece(Piece::Made(text));
    }

    /// Adds `node` to the row, as compact JSON: all of it is text to the model.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if it cannot be written as JSON.
    pub fn json<N: Node<Text = T>>(&mut self, node: &N) -> Result<(), Error> {
        if let Some(text) = node.json() {
            self.text(text);
            return Ok(());
        }
        let mut out = String::new();
        let written = write_json(node, &mut out, None);
        self.written(written, out)
    }

    /// Adds `node` to the row, as compact JSON with its encoded files counted as media.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] if it cannot be written as JSON.
    pub fn json_with_files<N: Node<Text = T>>(&mut self, node: &N) -> Result<(), Error> {
        let (mut out, mut files) = (String::new(), Vec::new());
        let written = write_json(node, &mut out, Some(&mut files));
        self.written(written, out)?;
        for file in files {
            self.media(self.prompt.vision.file(encoded(file.as_ref()).unwrap_or_default()));
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

    /// The same for arguments that are a text of JSON; what is no JSON object stands as it is.
    ///
    /// # Errors
    ///
    /// As [`Builder::tagged`].
    pub fn tagged_text(&mut self, input: &str) -> Result<(), Error> {
        if self.prompt.form != Form::Tagged {
            return Ok(());
        }
        let mut tape = Tape::default();
        match tape.parse(input, 0) {
            Ok(end) if tape.is_map() && input[end..].trim_ascii().is_empty() => self.send(&Json::new(&tape, input)),
            _ => Ok(()),
        }
    }

    fn send<M: Node>(&mut self, input: &M) -> Result<(), Error> {
        let row = self.ledger.names.len().saturating_sub(1);
        let mut sent = tags::invoke(self.ledger.names.get(row));
        input.entries(&mut |key, value| {
            let mut json = String::new();
            match value.text()? {
                Some(text) => json.push_str(text.as_ref()),
                None => write_spaced(&value, &mut json)?,
            }
            sent.push_str(&tags::parameter(key, &json));
            Ok(())
        })?;
        sent.push_str(&tags::invoked());
        self.piece(Piece::Sent(sent));
        Ok(())
    }

    /// Adds thinking of which only this signature or ciphertext is there: counted by its length.
    pub fn hidden(&mut self, data: T) {
        self.media(u32::try_from(self.prompt.hidden(data.as_ref().len())).unwrap_or(u32::MAX));
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
        self.pieces.push(piece);
        if let Some(span) = self.spans.last_mut() {
            span.end = self.pieces.len();
        }
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

    /// Counts and digests all texts, in parallel where that gains, and pairs calls with results.
    ///
    /// Takes `&self`: the texts are still borrowed, and are to be dropped by whoever owns their source.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] where rows or tokens pass what a column can name.
    pub fn finish(&self, counter: &Counter) -> Result<Ledger, Error> {
        let rows = u32::try_from(self.spans.len()).map_err(|_| Error::Overflow("rows"))?;
        let mut ledger = self.ledger.clone();
        ledger.first.push(rows);
        let items = self.items();
        let measured = map_many(&items, |item| item.measured(counter));
        let (mut sizes, mut texts) = (Vec::with_capacity(self.spans.len()), Vec::new());
        for (row, span) in self.spans.iter().enumerate() {
            let mut size = Size::default();
            let mut traits = RowFlag::Empty as u16 | RowFlag::Blank as u16;
            texts.clear();
            for (n, piece) in measured[span.clone()].iter().enumerate() {
                size += piece.size;
                ledger.payload[ledger.owner[row] as usize] += piece.length as u64;
                if let Some(digest) = piece.digest {
                    texts.extend(digest);
                    traits = joined(traits, piece.traits, n == 0);
                }
            }
            ledger.flags[row] |= traits & allowed(ledger.kind[row]);
            ledger.said.push(super::digest(&texts));
            sizes.push(size);
        }
        ledger.measure(&sizes, &self.media, counter)?;
        ledger.reads = self.reads();
        ledger.digests = Self::digests(&ledger);
        ledger.join();
        Ok(ledger)
    }

    /// The calls that read a file: their arguments stand last among the row's texts.
    fn reads(&self) -> Vec<Read> {
        let mut tape = Tape::default();
        let mut read = |row: usize| {
            let mut texts = self.pieces[self.spans[row].clone()].iter();
            let last = texts.rfind(|piece| matches!(piece, Piece::Given(_) | Piece::Made(_)))?;
            reads::read(u32::try_from(row).ok()?, self.ledger.names.get(row), last.as_ref(), &mut tape)
        };
        let calls = (0..self.rows()).filter(|row| self.ledger.kind[*row] == Kind::Call);
        calls.filter_map(&mut read).collect()
    }

    /// What each message says, as sixteen bytes: role, marks and for each row its kind, id, name and texts.
    ///
    /// XXH3, not a cryptographic hash: BLAKE3 was half of a scan without counting, and who makes two messages collide
    /// has pinned one of his own messages more.
    fn digests(ledger: &Ledger) -> Vec<[u8; 16]> {
        let mut said = Vec::new();
        let mut digest = |index: usize| {
            said.clear();
            said.push(ledger.role[index] as u8);
            said.extend(ledger.marks[index].to_le_bytes());
            for row in ledger.rows_of(index) {
                said.push(ledger.kind[row] as u8);
                for text in [ledger.ids.get(row), ledger.names.get(row)] {
                    said.extend((text.len() as u64).to_le_bytes()); // the length parts an id from the name behind it
                    said.extend(text.as_bytes());
                }
                // A cache marker says where to cache, not what is said: it may move without making another message.
                said.extend((ledger.flags[row] & !(RowFlag::Cached as u16)).to_le_bytes());
                said.extend(ledger.said[row]);
            }
            super::digest(&said)
        };
        (0..ledger.messages()).map(&mut digest).collect()
    }

    /// The pieces, with what stands around them in the prompt.
    fn items(&self) -> Vec<Item<'_, T>> {
        let mut items: Vec<_> =
            self.pieces.iter().map(|piece| Item { piece, before: "", after: "", counts: true }).collect();
        if self.prompt.form != Form::Tagged {
            return items;
        }
        for (row, span) in self.spans.iter().enumerate() {
            let own = &mut items[span.clone()];
            match self.ledger.kind[row] {
                Kind::Result => {
                    let mut texts = own.iter_mut().filter(|item| !matches!(item.piece, Piece::Data(_)));
                    if let Some(first) = texts.next() {
                        first.before = prompt::RESULT.0;
                        texts.last().unwrap_or(first).after = prompt::RESULT.1;
                    }
                }
                _ if own.iter().any(|item| matches!(item.piece, Piece::Sent(_))) => {
                    for item in own {
                        item.counts = matches!(item.piece, Piece::Sent(_));
                    }
                }
                Kind::Text if self.is_call_next(row) => {
                    if let Some(last) = own.last_mut() {
                        last.after = "\n\n";
                    }
                }
                _ => {}
            }
        }
        items
    }

    /// Whether the row behind `row` is a call of the same message.
    fn is_call_next(&self, row: usize) -> bool {
        self.ledger.kind.get(row + 1) == Some(&Kind::Call) && self.ledger.owner[row] == self.ledger.owner[row + 1]
    }
}

/// A piece, and what stands around it in the prompt.
struct Item<'a, T> {
    piece: &'a Piece<T>,
    before: &'static str,
    after: &'static str,
    /// Whether it is in the prompt.
    counts: bool,
}

impl<T: AsRef<str>> AsRef<str> for Item<'_, T> {
    fn as_ref(&self) -> &str {
        self.piece.as_ref()
    }
}

impl<T: AsRef<str>> Item<'_, T> {
    fn measured(&self, counter: &Counter) -> Measured {
        let text = self.as_ref();
        let (digest, length) = (super::digest(text.as_bytes()), text.len());
        match self.piece {
            Piece::Data(_) => Measured { size: Size::default(), traits: traits(""), digest: Some(digest), length },
            Piece::Sent(_) => {
                let size = Size { tokens: counter.plain(text), ..Size::default() };
                Measured { size, traits: traits(""), digest: None, length }
            }
            _ => {
                let mut size = if self.counts { counter.size(text) } else { Size::of(text) };
                if !self.before.is_empty() || !self.after.is_empty() {
                    size.tokens = counter.plain(&[self.before, text, self.after].concat());
                }
                Measured { size, traits: traits(text), digest: Some(digest), length }
            }
        }
    }
}

/// What there is to know of a piece: its lengths, its [`RowFlag`] bits, and its digest where it is part of what is said.
struct Measured {
    size: Size,
    traits: u16,
    digest: Option<[u8; 16]>,
    /// Bytes of it.
    length: usize,
}

fn traits(text: &str) -> u16 {
    let pick = |on: bool, flag: RowFlag| if on { flag as u16 } else { 0 };
    pick(text.is_empty(), RowFlag::Empty)
        | pick(text.trim().is_empty(), RowFlag::Blank)
        | pick(text.ends_with(char::is_whitespace), RowFlag::Trailing)
        | pick(envelope::is_summary(text), RowFlag::Summary)
        | pick(envelope::is_pruned(text), RowFlag::Pruned)
}

/// The traits of a row that goes on with a piece: empty if all are, trailing as the last is, marked as the first is.
fn joined(row: u16, next: u16, first: bool) -> u16 {
    let all = RowFlag::Empty as u16 | RowFlag::Blank as u16;
    let marks = RowFlag::Summary as u16 | RowFlag::Pruned as u16;
    (row & next & all) | (next & RowFlag::Trailing as u16) | (if first { next } else { row } & marks)
}

/// The traits that mean something in a row of `kind`.
fn allowed(kind: Kind) -> u16 {
    let marks = match kind {
        Kind::Text => RowFlag::Summary as u16,
        Kind::Result => RowFlag::Pruned as u16,
        _ => 0,
    };
    RowFlag::Empty as u16 | RowFlag::Blank as u16 | RowFlag::Trailing as u16 | marks
}
