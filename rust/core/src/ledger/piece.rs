//! The texts of a row: what they are, what they tell of their row, and how they are counted.

use super::{Kind, Ledger, RowFlag, digest};
use crate::text::prompt;
use crate::text::{Counter, Form, Size, envelope};

/// A piece of a row's text.
pub enum Piece<T> {
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

impl<T: AsRef<str>> Piece<T> {
    /// The flags that it gives its row; None where it is no part of what is said.
    pub fn traits(&self) -> Option<u16> {
        match self {
            Self::Sent(_) => None,
            Self::Data(_) => Some(traits("")),
            Self::Given(_) | Self::Made(_) => Some(traits(self.as_ref())),
        }
    }
}

/// What there is to know of a row: its lengths and the digest of what it says.
pub struct Measured {
    pub size: Size,
    pub said: [u8; 16],
    /// The flags that its texts give it.
    pub traits: u16,
    /// Bytes of its texts and data.
    pub length: u64,
}

/// The size of a row's texts, with what stands around them in the prompt, and the digest of what it says.
pub fn measured<T: AsRef<str>>(ledger: &Ledger, row: usize, pieces: &[Piece<T>], counter: &Counter) -> Measured {
    let around = Around::of(ledger, row, pieces, counter.prompt.form);
    let (mut size, mut texts, mut length) = (Size::default(), Vec::new(), 0);
    let mut flags = RowFlag::Empty as u16 | RowFlag::Blank as u16;
    for (n, piece) in pieces.iter().enumerate() {
        let text = piece.as_ref();
        length += text.len() as u64;
        match piece {
            Piece::Sent(_) => size.tokens += counter.plain(text),
            Piece::Data(_) => {}
            _ => size += around.size(n, text, counter),
        }
        if let Some(next) = piece.traits() {
            flags = joined(flags, next, n == 0);
            texts.push(digest(text.as_bytes()));
        }
    }
    Measured { size, said: digest(texts.as_flattened()), traits: flags, length }
}

/// What stands before and behind the pieces of a row in the prompt, with the place of the piece.
#[derive(Default)]
struct Around {
    before: Option<(usize, &'static str)>,
    after: Option<(usize, &'static str)>,
    /// Whether another text stands in the prompt for these pieces.
    is_unsent: bool,
}

impl Around {
    fn of<T>(ledger: &Ledger, row: usize, pieces: &[Piece<T>], form: Form) -> Self {
        let mut around = Self::default();
        if form != Form::Tagged {
            return around;
        }
        let is_text = |piece: &Piece<T>| !matches!(piece, Piece::Data(_));
        match ledger.kind[row] {
            Kind::Result => {
                around.before = pieces.iter().position(is_text).map(|first| (first, prompt::RESULT.0));
                around.after = pieces.iter().rposition(is_text).map(|last| (last, prompt::RESULT.1));
            }
            _ if pieces.iter().any(|piece| matches!(piece, Piece::Sent(_))) => around.is_unsent = true,
            Kind::Text if is_call_next(ledger, row) => {
                around.after = pieces.len().checked_sub(1).map(|last| (last, "\n\n"));
            }
            _ => {}
        }
        around
    }

    fn size(&self, n: usize, text: &str, counter: &Counter) -> Size {
        let at = |what: Option<(usize, &'static str)>| what.filter(|(place, _)| *place == n).map_or("", |(_, tag)| tag);
        let (before, after) = (at(self.before), at(self.after));
        if self.is_unsent {
            Size::of(text)
        } else if before.is_empty() && after.is_empty() {
            counter.size(text)
        } else {
            Size { tokens: counter.plain(&[before, text, after].concat()), ..Size::of(text) }
        }
    }
}

/// Whether the row behind `row` is a call of the same message.
fn is_call_next(ledger: &Ledger, row: usize) -> bool {
    ledger.kind.get(row + 1) == Some(&Kind::Call) && ledger.owner[row] == ledger.owner[row + 1]
}

/// The flags that texts give their row.
pub const TRAITS: u16 = RowFlag::Empty as u16
    | RowFlag::Blank as u16
    | RowFlag::Trailing as u16
    | RowFlag::Summary as u16
    | RowFlag::Pruned as u16;

pub fn traits(text: &str) -> u16 {
    let pick = |on: bool, flag: RowFlag| if on { flag as u16 } else { 0 };
    pick(text.is_empty(), RowFlag::Empty)
        | pick(text.chars().all(char::is_whitespace), RowFlag::Blank)
        | pick(text.ends_with(char::is_whitespace), RowFlag::Trailing)
        | pick(text.starts_with('<') && envelope::is_summary(text), RowFlag::Summary)
        | pick(text.starts_with('[') && envelope::is_pruned(text), RowFlag::Pruned)
}

/// The traits of a row that goes on with a piece: empty if all are, trailing as the last is, marked as the first is.
pub fn joined(row: u16, next: u16, first: bool) -> u16 {
    let all = RowFlag::Empty as u16 | RowFlag::Blank as u16;
    let marks = RowFlag::Summary as u16 | RowFlag::Pruned as u16;
    (row & next & all) | (next & RowFlag::Trailing as u16) | (if first { next } else { row } & marks)
}

/// The traits that mean something in a row of `kind`.
pub fn allowed(kind: Kind) -> u16 {
    let marks = match kind {
        Kind::Text => RowFlag::Summary as u16,
        Kind::Result => RowFlag::Pruned as u16,
        _ => 0,
    };
    RowFlag::Empty as u16 | RowFlag::Blank as u16 | RowFlag::Trailing as u16 | marks
}
