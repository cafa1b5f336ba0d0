//! A transcript as numbers.
//!
//! Rows are content blocks in order; messages own consecutive rows. Decisions are made on these columns alone.

pub mod builder;
pub mod counted;
pub mod cut;
mod framed;
pub mod groups;
pub mod kind;
pub mod outline;
pub mod overhead;
pub mod partition;
mod piece;
pub mod reads;
mod state;
pub mod strings;
pub mod sums;
pub mod tail;

pub use builder::{Builder, Sink};
pub use counted::{Costs, Countable, Whole};
pub use kind::{Kind, MessageFlag, Role, RowFlag};
pub use outline::{Linkable, Links, Outline};
pub use overhead::OverheadTerms;
pub use strings::Strings;
pub use sums::{Each, Sum, Sums, Totals};

use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter::repeat_n;
use std::ops::Range;

use crate::counter::Counter;
use crate::error::Error;
use crate::json::canon::hex;
use crate::prompt::Form;
use crate::prompt::tags;
use piece::Measured;
use trimtab_tokens::Size;
use trimtab_tokens::cancel;
use trimtab_tokens::counter::scale;

/// Rows of a tail that are joined to the others one by one. Each looks through the columns in front for its id or its call;
/// joining all anew hashes every id.
const FEW: usize = 32;

/// Rows that are looked at together for what few rows have.
const BLOCK: usize = 256;

/// Bytes of JSON around the rows of a message, such as `{"role":"user","content":""},`.
const AROUND_MESSAGE: u64 = 30;

/// Bytes of JSON around the texts of a row of this kind.
fn around(kind: Kind) -> u32 {
    match kind {
        Kind::Text => 27,
        Kind::Call | Kind::ServerCall => 52,
        Kind::Result | Kind::ServerResult => 72,
        Kind::Image | Kind::Document => 78,
        Kind::Thinking | Kind::Compaction | Kind::Opaque => 48,
    }
}

/// No partner.
pub const UNPAIRED: i32 = -1;

/// Sizes of a picture, for a provider's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Its row.
    pub row: u32,
    /// Pixels of the longer side; 0 where its header cannot be read, or it is not in the message.
    pub edge: u32,
    /// Characters of its base64; 0 where it is not in the message.
    pub base64: u32,
}

/// A document that is no text, for a provider's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its row.
    pub row: u32,
    /// Its pages; 1 where its structure does not say how many, or it is not in the message.
    pub pages: u32,
}

/// A transcript's columns, one entry a row or a message. Holds no text but ids and names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The message of each row.
    pub owner: Vec<u32>,
    /// Kind of each row.
    pub kind: Vec<Kind>,
    /// Tokens of each row.
    pub tokens: Vec<u32>,
    /// The row that each row is paired with (call and result), [`UNPAIRED`] for none.
    pub pair: Vec<i32>,
    /// Bytes of each row's text.
    pub bytes: Vec<u32>,
    /// Unicode scalar values of each row's text.
    pub chars: Vec<u32>,
    /// UTF-16 units of each row's text.
    pub utf16: Vec<u32>,
    /// [`RowFlag`] bits of each row.
    pub flags: Vec<u16>,
    /// Cache markers in each row, those inside a result counted with it.
    pub markers: Vec<u8>,
    /// The call's id of each row, empty where it has none.
    pub ids: Strings,
    /// For each row that has an id, the first row that has the same one; for all others the number of rows.
    pub same_id: Vec<u32>,
    /// Tool name or block type of each row.
    pub names: Strings,
    /// Digest of each row's text and data.
    pub content: Vec<[u8; 16]>,
    /// The pictures, in order; a row may hold several.
    pub pictures: Vec<Picture>,
    /// The documents that are no text, in order; a row may hold several.
    pub documents: Vec<Document>,
    /// The calls that read a file, in order.
    pub reads: Vec<reads::Read>,
    /// Bytes of each row's texts and data as JSON.
    pub payload: Vec<u32>,
    /// Role of each message.
    pub role: Vec<Role>,
    /// [`MessageFlag`] bits of each message.
    pub marks: Vec<u16>,
    /// The first row of each message, and the number of rows at the end.
    pub first: Vec<u32>,
    /// Digest of what each message says.
    pub digests: Vec<[u8; 16]>,
    /// Tokens of each row's texts and media, before what the prompt puts around them.
    pub texts: Vec<u32>,
    /// Tokens of a call's name as it stands before one of several results, 0 for other rows.
    pub labels: Vec<u32>,
    /// Tokens that each message costs beyond its rows.
    pub overhead: Vec<u32>,
    /// The prompt's grammar.
    pub terms: OverheadTerms,
    /// For each cut, whether no group straddles it; one more than there are messages.
    pub safe: Vec<bool>,
}

impl Ledger {
    /// Number of messages.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.role.len()
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.owner.len()
    }

    /// The rows of message `index`.
    #[must_use]
    pub fn rows_of(&self, index: usize) -> Range<usize> {
        self.first[index] as usize..self.first[index + 1] as usize
    }

    /// Whether row `row` carries `flag`.
    #[must_use]
    pub fn has(&self, row: usize, flag: RowFlag) -> bool {
        self.flags[row] & flag as u16 != 0
    }

    /// Whether message `index` carries `mark`.
    #[must_use]
    pub fn marked(&self, index: usize, mark: MessageFlag) -> bool {
        self.marks[index] & mark as u16 != 0
    }

    /// Tokens of each message: its rows and what a message costs by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for a message of more than 4,294,967,295 tokens.
    pub fn per_message(&self) -> Result<Vec<u32>, Error> {
        (0..self.messages()).map(|message| self.cost(message)).collect()
    }

    /// Tokens of message `index`.
    fn cost(&self, index: usize) -> Result<u32, Error> {
        let rows: u64 = self.rows_of(index).map(|row| u64::from(self.tokens[row])).sum();
        u32::try_from(rows + u64::from(self.overhead[index])).map_err(|_| Error::Overflow("tokens"))
    }

    /// Tokens of all messages.
    #[must_use]
    pub fn total(&self) -> u64 {
        let sum = |column: &[u32]| column.iter().map(|tokens| u64::from(*tokens)).sum::<u64>();
        sum(&self.tokens) + sum(&self.overhead)
    }

    /// Whether each row is a call of one of the tools `wanted`, or the result of one.
    ///
    /// They are few: comparing with each costs less than hashing a name.
    pub fn calls_of(&self, wanted: &[String]) -> impl Iterator<Item = bool> {
        (0..self.rows()).map(|row| {
            let call = match usize::try_from(self.pair[row]) {
                Ok(pair) if self.kind[row].is_result() => pair,
                _ => row,
            };
            self.kind[call].is_call() && wanted.iter().any(|name| name == self.names.get(call))
        })
    }

    /// The row of the provider's own newest compaction, if the provider skips what stands in front of it.
    #[must_use]
    pub fn hidden(&self) -> Option<usize> {
        let hides = |flags: &u16| flags & RowFlag::Hides as u16 != 0;
        // Nearly no row has the flag: a loop that does not stop at one looks at many rows at once.
        let many = self
            .flags
            .rchunks(BLOCK)
            .position(|flags| flags.iter().fold(0, |all, one| all | one) & RowFlag::Hides as u16 != 0)?;
        self.flags[..self.rows() - many * BLOCK].iter().rposition(hides)
    }

    /// The row of the user's last words.
    fn words(&self) -> Option<usize> {
        let is_said = |row: &usize| matches!(self.kind[*row], Kind::Text | Kind::Image | Kind::Document);
        (0..self.rows()).rfind(|row| self.role[self.owner[*row] as usize] == Role::User && is_said(row))
    }

    /// Whether the messages from `before` on are one answer and the results of its calls.
    #[must_use]
    pub fn loops(&self, before: usize) -> bool {
        let Some(roles) = self.role.get(before..).filter(|roles| roles.len() > 1) else { return false };
        let answers = roles.iter().filter(|role| **role == Role::Assistant).count();
        let mut given = (self.first[before] as usize..self.rows())
            .filter(|row| self.role[self.owner[*row] as usize] != Role::Assistant)
            .peekable();
        answers == 1 && given.peek().is_some() && given.all(|row| self.kind[row] == Kind::Result)
    }

    /// Tokens of a message's thinking and of its other blocks, whether it has calls, and its tokens as a whole.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] where there is no such message, and [`Error::Overflow`] for one of too many tokens.
    pub fn answer(&self, index: usize) -> Result<(u64, u64, bool, u32), Error> {
        if index >= self.messages() {
            return Err(out_of_range(index, self.messages(), "messages"));
        }
        let (mut thinking, mut visible) = (0, 0);
        for row in self.rows_of(index) {
            let of = if self.kind[row] == Kind::Thinking { &mut thinking } else { &mut visible };
            *of += u64::from(self.tokens[row]);
        }
        let calls = self.rows_of(index).any(|row| self.kind[row] == Kind::Call);
        Ok((thinking, visible, calls, self.cost(index)?))
    }

    /// Digest of the transcript: of every message's digest, in order.
    #[must_use]
    pub fn digest(&self) -> [u8; 16] {
        digest(self.digests.as_flattened())
    }

    /// Digest of those of the first `messages` from `start` on.
    #[must_use]
    pub fn digest_until(&self, messages: usize, start: usize) -> [u8; 16] {
        let stop = messages.min(self.digests.len());
        digest(self.digests[start.min(stop)..stop].as_flattened())
    }

    /// Digest of message `index`.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] where there is no such message.
    pub fn digest_of(&self, index: usize) -> Result<[u8; 16], Error> {
        self.digests.get(index).copied().ok_or_else(|| out_of_range(index, self.messages(), "messages"))
    }

    /// The call's id of row `row`, empty where it has none.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] where there is no such row.
    pub fn id_of(&self, row: usize) -> Result<&str, Error> {
        self.checked(row).map(|row| self.ids.get(row))
    }

    /// The tools' names and blocks' types in order of appearance, and for each row the position of its own.
    #[must_use]
    pub fn named(&self) -> (Vec<&str>, Vec<u32>) {
        let (mut names, mut places) = (Vec::new(), HashMap::new());
        let mut place = |row| {
            let name = self.names.get(row);
            *places.entry(name).or_insert_with(|| {
                names.push(name);
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX) // never: no more names than rows
            })
        };
        let rows = (0..self.rows()).map(&mut place).collect();
        (names, rows)
    }

    /// Tokens of each tool's calls and results, by name.
    #[must_use]
    pub fn by_tool(&self) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for row in (0..self.rows()).filter(|row| self.kind[*row].is_of_tool()) {
            *sums.entry(self.names.get(row)).or_default() += u64::from(self.tokens[row]);
        }
        sums
    }

    fn checked(&self, row: usize) -> Result<usize, Error> {
        if row < self.rows() { Ok(row) } else { Err(out_of_range(row, self.rows(), "rows")) }
    }

    /// Positions of the messages with one of these digests, ascending.
    #[must_use]
    pub fn find(&self, digests: &HashSet<String>) -> Vec<usize> {
        let wanted = |index: &usize| digests.contains(&hex(&self.digests[*index]));
        if digests.is_empty() { Vec::new() } else { (0..self.messages()).filter(wanted).collect() }
    }

    /// Positions of the messages whose digest is none of `known`, which are 16 bytes each, ascending.
    #[must_use]
    pub fn unlike(&self, known: &[u8]) -> Vec<usize> {
        let known: HashSet<&[u8]> = known.chunks_exact(16).collect();
        (0..self.messages()).filter(|index| !known.contains(&self.digests[*index][..])).collect()
    }

    /// Positions of the messages with a closing tag in a text, and of those whose content nobody looked into, ascending.
    #[must_use]
    pub fn tagged(&self) -> Vec<u32> {
        let may_hold = |row: &usize| {
            self.flags[*row] & RowFlag::Tagged as u16 != 0 || matches!(self.kind[*row], Kind::Document | Kind::Opaque)
        };
        let mut found: Vec<_> = (0..self.rows()).filter(may_hold).map(|row| self.owner[row]).collect();
        found.dedup();
        found
    }

    /// The row of each picture, ascending: a row may hold several.
    #[must_use]
    pub fn pictured(&self) -> Vec<u32> {
        self.pictures.iter().map(|picture| picture.row).collect()
    }

    /// The row of each page of a document, ascending.
    #[must_use]
    pub fn paged(&self) -> Vec<u32> {
        self.documents.iter().flat_map(|document| repeat_n(document.row, document.pages as usize)).collect()
    }

    /// Puts the messages of `tail` behind these: what was read is not read again.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] where the rows pass what a column can name.
    pub fn extend(mut self, tail: Self) -> Result<Self, Error> {
        let (messages, few, linked) = (self.messages(), tail.rows() <= FEW, !self.safe.is_empty());
        self.append(tail)?;
        if few && linked {
            self.continue_from(messages);
        } else {
            self.finish();
        }
        Ok(self)
    }

    /// Appends without pairs and cuts, which depend on all rows: call [`Self::finish`] after the last part.
    pub(crate) fn append(&mut self, tail: Self) -> Result<(), Error> {
        let rows = u32::try_from(self.rows() + tail.rows()).map_err(|_| Error::Overflow("rows"))?;
        let (row, message) = (rows - size(tail.rows())?, size(self.messages())?);
        self.owner.extend(tail.owner.iter().map(|m| m + message));
        self.kind.extend(tail.kind);
        self.texts.extend(tail.texts);
        self.labels.extend(tail.labels);
        self.bytes.extend(tail.bytes);
        self.chars.extend(tail.chars);
        self.utf16.extend(tail.utf16);
        self.flags.extend(tail.flags);
        self.markers.extend(tail.markers);
        self.ids.extend(&tail.ids);
        self.names.extend(&tail.names);
        self.content.extend(tail.content);
        self.pictures.extend(tail.pictures.iter().map(|p| Picture { row: p.row + row, ..*p }));
        self.documents.extend(tail.documents.iter().map(|d| Document { row: d.row + row, ..*d }));
        self.reads.extend(tail.reads.iter().map(|r| reads::Read { row: r.row + row, ..*r }));
        self.payload.extend(tail.payload);
        self.role.extend(tail.role);
        self.marks.extend(tail.marks);
        self.first.pop();
        self.first.extend(tail.first.iter().map(|r| r + row));
        self.digests.extend(tail.digests);
        self.terms = tail.terms;
        Ok(())
    }

    /// The first `messages` of these, as they stand in the whole: [`Ledger::extend`] makes a ledger of them again.
    #[must_use]
    pub fn head(&self, messages: usize) -> Self {
        self.between(0..messages)
    }

    /// The messages from `start` on, linked: what provider rules look at.
    #[must_use]
    pub(crate) fn tail(&self, start: usize) -> Self {
        let mut tail = self.between(start..self.messages());
        tail.link();
        tail
    }

    /// Some of these in the same way.
    pub(crate) fn between(&self, messages: Range<usize>) -> Self {
        let (from, to) = (self.first[messages.start], self.first[messages.end]);
        let (rows, before) = (from as usize..to as usize, u32::try_from(messages.start).unwrap_or(u32::MAX));
        let has = |row: u32| (from..to).contains(&row);
        let (pictures, documents, reads) = (self.pictures.iter(), self.documents.iter(), self.reads.iter());
        Self {
            owner: self.owner[rows.clone()].iter().map(|message| message - before).collect(),
            kind: self.kind[rows.clone()].to_vec(),
            tokens: Vec::new(),
            pair: Vec::new(),
            bytes: some(&self.bytes, rows.clone()),
            chars: some(&self.chars, rows.clone()),
            utf16: some(&self.utf16, rows.clone()),
            flags: self.flags[rows.clone()].to_vec(),
            markers: self.markers[rows.clone()].to_vec(),
            ids: self.ids.between(rows.clone()),
            same_id: Vec::new(),
            names: self.names.between(rows.clone()),
            content: some(&self.content, rows.clone()),
            pictures: pictures.filter(|p| has(p.row)).map(|p| Picture { row: p.row - from, ..*p }).collect(),
            documents: documents.filter(|d| has(d.row)).map(|d| Document { row: d.row - from, ..*d }).collect(),
            reads: reads.filter(|r| has(r.row)).map(|r| reads::Read { row: r.row - from, ..*r }).collect(),
            payload: some(&self.payload, rows.clone()),
            role: self.role[messages.clone()].to_vec(),
            marks: self.marks[messages.clone()].to_vec(),
            first: self.first[messages.start..=messages.end].iter().map(|row| row - from).collect(),
            digests: some(&self.digests, messages),
            texts: self.texts[rows.clone()].to_vec(),
            labels: self.labels[rows].to_vec(),
            overhead: Vec::new(),
            terms: self.terms,
            safe: Vec::new(),
        }
    }

    /// Fills what depends on all rows: pairs, safe cuts, and what the prompt puts around rows and messages.
    pub(crate) fn finish(&mut self) {
        self.link();
        self.safe = groups::safe(self);
        cancel::poll_now();
        overhead::add_overhead(self);
    }

    /// [`Self::finish`] where all in front of message `start` is filled already.
    fn continue_from(&mut self, start: usize) {
        let row = self.first[start] as usize;
        groups::add_ids(self, row);
        groups::add_pairs(self, row);
        groups::add_cuts(self, start);
        overhead::continue_from(self, start);
    }

    /// Fills only the costs of messages.
    fn finish_costs(&mut self) {
        if !self.is_free() {
            self.link();
        }
        overhead::add_overhead(self);
    }

    /// Whether each message costs what it costs alone, whatever stands around it.
    fn is_free(&self) -> bool {
        self.terms.prompt.form == Form::Plain
    }

    /// Fills what ids tie together.
    fn link(&mut self) {
        cancel::poll_now();
        self.same_id = groups::same_id(self);
        cancel::poll_now();
        self.pair = groups::pairs(self);
    }

    /// Bytes that each row takes in a request, about.
    #[must_use]
    pub fn carried(&self) -> Vec<u32> {
        (0..self.rows()).map(|row| self.payload[row].saturating_add(self.around(row))).collect()
    }

    /// Bytes of the messages in a request, about: keys are those of the provider that has the longest ones.
    #[must_use]
    pub fn request_bytes(&self) -> u64 {
        let payload: u64 = self.payload.iter().map(|bytes| u64::from(*bytes)).sum();
        let shown = (0..self.messages()).filter(|message| !self.marked(*message, MessageFlag::Plain));
        let keys = |rows: Range<usize>| self.kind[rows].iter().map(|kind| u64::from(around(*kind))).sum::<u64>();
        let around = shown.map(|message| keys(self.rows_of(message)) + self.ids.length(self.rows_of(message)));
        payload + around.sum::<u64>() + AROUND_MESSAGE * self.messages() as u64
    }

    /// Bytes of JSON around a row's texts: keys, kind, and the id of a call.
    fn around(&self, row: usize) -> u32 {
        if self.marked(self.owner[row] as usize, MessageFlag::Plain) {
            return 0;
        }
        around(self.kind[row]) + u32::try_from(self.ids.length(row..row + 1)).unwrap_or(u32::MAX / 2)
    }

    /// Writes the first flags of a row, which is empty until it has a text.
    fn push_row(&mut self) {
        self.payload.push(0);
        self.flags.push(RowFlag::Empty as u16 | RowFlag::Blank as u16);
        self.markers.push(0);
    }

    /// Writes the name of a row, and no id yet.
    fn push_names(&mut self, name: &str) {
        self.ids.push("");
        self.names.push(name);
    }

    /// Makes room for about so many messages, of a row each.
    fn reserve(&mut self, messages: usize) {
        self.owner.reserve(messages);
        self.kind.reserve(messages);
        self.flags.reserve(messages);
        self.markers.reserve(messages);
        self.payload.reserve(messages);
        self.role.reserve(messages);
        self.marks.reserve(messages);
        self.first.reserve(messages + 1);
    }

    /// Makes room for what is to be appended: else each column is moved several times.
    pub(crate) fn make_room(&mut self, messages: usize, rows: usize) {
        self.kind.reserve(rows);
        self.flags.reserve(rows);
        self.markers.reserve(rows);
        self.content.reserve(rows);
        let Self { owner, texts, labels, bytes, chars, utf16, payload, .. } = self;
        for column in [owner, texts, labels, bytes, chars, utf16, payload] {
            column.reserve(rows);
        }
        self.role.reserve(messages);
        self.marks.reserve(messages);
        self.first.reserve(messages);
        self.digests.reserve(messages);
    }

    /// Writes tokens of each row's texts, as `counter` sees them.
    fn measure(&mut self, sizes: impl Iterator<Item = Size>, media: &[Media], counter: &Counter) -> Result<(), Error> {
        let (prompt, flat) = (counter.prompt, counter.flat);
        let joined = counter.text.chars().filter(|_| flat.joined);
        self.terms = OverheadTerms::of(counter);
        let rows = self.rows();
        for column in [&mut self.texts, &mut self.labels] {
            column.reserve_exact(rows);
        }
        let mut length_before = 0; // length of the earlier rows of the same message
        for (row, (text, media)) in sizes.zip(media).enumerate() {
            let (kind, tagged) = (self.kind[row], prompt.form == Form::Tagged);
            let written = self.role[self.owner[row] as usize] == Role::Assistant && kind != Kind::ServerResult;
            let factor = if written { prompt.written } else { prompt.given };
            let mut plain = joined.map_or(text.tokens, |chars| {
                length_before = if row > 0 && self.owner[row - 1] == self.owner[row] { length_before } else { 0 };
                let before = chars.tokens(length_before);
                length_before += chars.length(&text);
                chars.tokens(length_before) - before
            });
            if tagged && kind == Kind::Result {
                plain = self.terms.result(plain, media.tokens == 0 && self.has(row, RowFlag::Empty));
            }
            let call = if kind.is_call() { flat.call } else { 0 };
            let result = if kind.is_result() { flat.result } else { 0 };
            let media = flat.media(media.tokens, media.all, media.low);
            let tokens = scale(plain, factor) + (media + call + result) as usize;
            self.texts.push(u32::try_from(tokens).map_err(|_| Error::Overflow("tokens"))?);
            let label =
                if tagged && kind == Kind::Call { counter.text.plain(&tags::named(self.names.get(row))) } else { 0 };
            self.labels.push(u32::try_from(label).map_err(|_| Error::Overflow("tokens"))?);
        }
        if flat.least > 0 {
            self.apply_minimum(flat.least);
        }
        Ok(())
    }

    /// Writes lengths of each row's texts, and what they say.
    fn lengthen(&mut self, rows: &[Measured]) -> Result<(), Error> {
        for column in [&mut self.bytes, &mut self.chars, &mut self.utf16] {
            column.reserve_exact(rows.len());
        }
        self.content.reserve_exact(rows.len());
        for (row, found) in rows.iter().enumerate() {
            self.carry(row, found.length);
            self.bytes.push(size(found.size.bytes)?);
            self.chars.push(size(found.size.chars)?);
            self.utf16.push(size(found.size.utf16)?);
            self.content.push(found.content);
        }
        Ok(())
    }

    /// Adds bytes of a row's texts or data.
    pub(crate) fn carry(&mut self, row: usize, bytes: u64) {
        let carried = &mut self.payload[row];
        *carried = carried.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// Lets every message that has rows cost at least `least`.
    fn apply_minimum(&mut self, least: u32) {
        for message in 0..self.messages() {
            let rows = self.rows_of(message);
            let tokens: u64 = rows.clone().map(|row| u64::from(self.texts[row])).sum();
            if let Some(first) = self.texts[rows].first_mut() {
                *first += least.saturating_sub(u32::try_from(tokens).unwrap_or(u32::MAX));
            }
        }
    }
}

/// The pictures and documents of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// Their tokens, by their sizes.
    pub tokens: u32,
    /// How many there are.
    pub all: u32,
    /// How many of them are of low detail.
    pub low: u32,
}

fn out_of_range(index: usize, count: usize, what: &str) -> Error {
    Error::Argument(format!("position {index} is out of range, the ledger has {count} {what}"))
}

/// Some of a column; of one that was not wanted nothing.
fn some<T: Clone>(column: &[T], which: Range<usize>) -> Vec<T> {
    column.get(which).unwrap_or_default().to_vec()
}

fn size(n: usize) -> Result<u32, Error> {
    u32::try_from(n).map_err(|_| Error::Overflow("bytes"))
}

/// Sixteen bytes that stand for these.
fn digest(bytes: &[u8]) -> [u8; 16] {
    xxhash_rust::xxh3::xxh3_128(bytes).to_be_bytes()
}
