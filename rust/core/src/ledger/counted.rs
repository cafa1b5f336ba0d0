//! Rows whose texts wait until all are read, and are counted together: for a ledger, or for its costs alone.

use std::ops::Range;

use super::builder::{Builder, Sink};
use super::piece::{Measured, Piece, TRAITS, allowed, measured};
use super::reads::{self, Read};
use super::{Kind, Ledger, Media, MessageFlag, RowFlag, digest};
use crate::counter::Counter;
use crate::error::Error;
use crate::json::Tape;
use crate::node::{Node, Text};
use crate::prompt::{Form, Prompt};
use trimtab_tokens::cancel;
use trimtab_tokens::counter::shares;
use trimtab_tokens::pool;

/// Texts and pictures by row, neither looked at nor counted yet.
struct Pieces<T> {
    /// For each row the place behind the last of its texts.
    ends: Vec<usize>,
    texts: Vec<Piece<T>>,
    media: Vec<Media>,
}

impl<T: Text> Pieces<T> {
    fn new() -> Self {
        Self { ends: Vec::new(), texts: Vec::new(), media: Vec::new() }
    }

    fn reserve(&mut self, rows: usize) {
        self.ends.reserve(rows);
        self.texts.reserve(rows);
        self.media.reserve(rows);
    }

    fn row(&mut self) {
        self.ends.push(self.texts.len());
        self.media.push(Media::default());
    }

    /// Takes a piece without a look at it: a view may make its text when that is asked for.
    fn push(&mut self, piece: Piece<T>) {
        self.texts.push(piece);
        if let Some(end) = self.ends.last_mut() {
            *end = self.texts.len();
        }
    }

    fn read<N: Node<Text = T>>(&mut self, node: &N) -> Result<bool, Error> {
        Ok(node.text()?.map(|text| self.push(Piece::Given(text))).is_some())
    }

    /// The pieces of a row.
    fn of(&self, row: usize) -> &[Piece<T>] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.texts[start..self.ends[row]]
    }

    /// Counts all texts, in parallel where that gains, and writes flags and tokens of the rows. No digest is made where it
    /// `wants_digests` to nobody; `is_alone` on a thread that is one of several.
    fn count(
        &self,
        ledger: &mut Ledger,
        counter: &Counter,
        is_alone: bool,
        wants_digests: bool,
    ) -> Result<Vec<Measured>, Error> {
        let bytes = if is_alone { 0 } else { self.texts.iter().map(Text::length).sum() };
        let shares = shares(ledger.rows(), bytes);
        let measure = |rows: &Range<usize>| measured(ledger, rows.clone(), |row| self.of(row), counter, wants_digests);
        let all: Vec<_> = if let [rows] = &shares[..] {
            measure(rows)
        } else {
            pool::map(&shares, measure).into_iter().flatten().collect()
        };
        for (row, found) in all.iter().enumerate() {
            let is_whole = ledger.rows_of(ledger.owner[row] as usize).len() == 1;
            let traits = found.traits & if is_whole { TRAITS } else { TRAITS & !(RowFlag::Summary as u16) };
            ledger.flags[row] = (ledger.flags[row] & !TRAITS) | (traits & allowed(ledger.kind[row]));
        }
        cancel::poll_now();
        ledger.measure(all.iter().map(|row| row.size), &self.media, counter)?;
        cancel::poll_now();
        Ok(all)
    }
}

/// A sink whose rows become a part of a ledger: [`Ledger::append`] joins parts, and pairs and cuts come last.
pub trait Countable: Sink + Sized {
    /// A builder for a prompt's grammar, which [`Countable::part`] is to be given again, behind `before` messages.
    fn begin(prompt: Prompt, before: usize) -> Builder<Self>;

    /// Makes room for about so many messages, of a row each, and their texts.
    fn reserve(builder: &mut Builder<Self>, messages: usize);

    /// The part; `is_alone` on a thread that is one of several.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] where rows or tokens pass what a column can name.
    fn part(builder: &mut Builder<Self>, counter: &Counter, is_alone: bool) -> Result<Ledger, Error>;
}

/// Rows of a whole ledger: texts wait to be counted and digested.
pub struct Whole<T>(Pieces<T>);

impl<T: Text> Sink for Whole<T> {
    type Text = T;

    #[inline]
    fn row(&mut self, ledger: &mut Ledger, name: &str) {
        ledger.push_row();
        ledger.push_names(name);
        self.0.row();
    }

    #[inline]
    fn piece(&mut self, _: &mut Ledger, piece: Piece<T>) {
        self.0.push(piece);
    }

    #[inline]
    fn read<N: Node<Text = T>>(&mut self, _: &mut Ledger, node: &N) -> Result<bool, Error> {
        self.0.read(node)
    }

    fn media(&mut self) -> Option<&mut Media> {
        self.0.media.last_mut()
    }
}

impl<T: Text> Countable for Whole<T> {
    fn begin(prompt: Prompt, before: usize) -> Builder<Self> {
        Builder::with(Self(Pieces::new()), prompt, before)
    }

    fn reserve(builder: &mut Builder<Self>, messages: usize) {
        builder.ledger.reserve(messages);
        builder.ledger.ids.reserve(messages);
        builder.ledger.names.reserve(messages);
        builder.sink.0.reserve(messages);
    }

    fn part(builder: &mut Builder<Self>, counter: &Counter, is_alone: bool) -> Result<Ledger, Error> {
        let (mut ledger, pieces) = (builder.closed()?, &builder.sink.0);
        let all = pieces.count(&mut ledger, counter, is_alone, true)?;
        ledger.lengthen(&all)?;
        cancel::poll_now();
        ledger.reads = reads(pieces, &ledger);
        cancel::poll_now();
        ledger.digests = digests(&ledger);
        Ok(ledger)
    }
}

impl<T: Text> Default for Builder<Whole<T>> {
    fn default() -> Self {
        Self::new(Prompt::PLAIN, 0)
    }
}

impl<T: Text> Builder<Whole<T>> {
    /// A builder of a ledger for a prompt's grammar, which [`Builder::finish`] is to be given again. Its messages stand
    /// behind `before` others: errors name them by their place in the whole.
    #[must_use]
    pub fn new(prompt: Prompt, before: usize) -> Self {
        Whole::begin(prompt, before)
    }

    /// Counts and digests all texts, in parallel where that gains, and pairs calls with results.
    ///
    /// Takes `&mut self`: the texts are still borrowed, and are to be dropped by whoever owns their source.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] where rows or tokens pass what a column can name.
    pub fn finish(&mut self, counter: &Counter) -> Result<Ledger, Error> {
        let mut ledger = Whole::part(self, counter, false)?;
        ledger.finish();
        Ok(ledger)
    }
}

/// Rows of which only costs are wanted: texts wait to be counted, nothing is digested.
pub struct Costs<T> {
    pieces: Pieces<T>,
    /// Whether the costs depend on ids and names.
    is_named: bool,
}

impl<T: Text> Sink for Costs<T> {
    type Text = T;

    #[inline]
    fn row(&mut self, ledger: &mut Ledger, name: &str) {
        ledger.push_row();
        if self.is_named {
            ledger.push_names(name);
        }
        self.pieces.row();
    }

    #[inline]
    fn piece(&mut self, _: &mut Ledger, piece: Piece<T>) {
        self.pieces.push(piece);
    }

    #[inline]
    fn read<N: Node<Text = T>>(&mut self, _: &mut Ledger, node: &N) -> Result<bool, Error> {
        self.pieces.read(node)
    }

    fn media(&mut self) -> Option<&mut Media> {
        self.pieces.media.last_mut()
    }
}

impl<T: Text> Countable for Costs<T> {
    fn begin(prompt: Prompt, before: usize) -> Builder<Self> {
        let sink = Self { pieces: Pieces::new(), is_named: prompt.form != Form::Plain };
        Builder::with(sink, prompt, before)
    }

    fn reserve(builder: &mut Builder<Self>, messages: usize) {
        builder.ledger.reserve(messages);
        builder.sink.pieces.reserve(messages);
    }

    fn part(builder: &mut Builder<Self>, counter: &Counter, is_alone: bool) -> Result<Ledger, Error> {
        let mut ledger = builder.closed()?;
        builder.sink.pieces.count(&mut ledger, counter, is_alone, false)?;
        Ok(ledger)
    }
}

/// The calls that read a file: their arguments stand last among the row's texts.
fn reads<T: Text>(pieces: &Pieces<T>, ledger: &Ledger) -> Vec<Read> {
    let mut tape = Tape::default();
    let mut read = |row: usize| {
        let mut texts = pieces.of(row).iter();
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
    let mut bytes = Vec::new();
    let mut one = |index: usize| {
        bytes.clear();
        // A string and one block with it are the same content: whoever sets a cache marker writes the block.
        // A lone surrogate and the character in its place are the same content, too: a message stays known once it is mended.
        let unlike = !(MessageFlag::Plain as u16 | MessageFlag::LoneSurrogate as u16);
        let [low, high] = (ledger.marks[index] & unlike).to_le_bytes();
        bytes.extend_from_slice(&[ledger.role[index] as u8, low, high]);
        for row in ledger.rows_of(index) {
            bytes.push(ledger.kind[row] as u8);
            for text in [ledger.ids.get(row), ledger.names.get(row)] {
                bytes.extend_from_slice(&(text.len() as u64).to_le_bytes()); // the length separates an id from the name after it
                bytes.extend_from_slice(text.as_bytes());
            }
            // A cache marker says where to cache and is no content: it may move without changing the message. A tag is in the
            // text, and stored digests were made before it had a flag, or free text had one.
            let untold = RowFlag::Cached as u16 | RowFlag::Tagged as u16 | RowFlag::FreeText as u16;
            let told = ledger.flags[row] & !untold;
            bytes.extend_from_slice(&told.to_le_bytes());
            bytes.extend_from_slice(&ledger.content[row]);
        }
        digest(&bytes)
    };
    (0..ledger.messages()).map(&mut one).collect()
}
