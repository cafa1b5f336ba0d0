//! The texts of a row: their kinds, the flags that they set, and their counting.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::{Kind, Ledger, RowFlag, digest};
use crate::counter::Counter;
use crate::envelope;
use crate::node::{Room, Text};
use crate::prompt;
use crate::prompt::Form;
use trimtab_tokens::{BatchCounter, Size};

/// A piece of a row's text.
pub enum Piece<T> {
    Given(T),
    Owned(String),
    /// Content of the message that is no text to the model: a picture's data, a signature.
    Data(T),
    /// The words of a file whose base64 is [`Piece::Data`] too.
    Decoded(String),
    /// The prompt's text in place of the row's other pieces.
    Prompted(String),
}

impl<T: Text> Piece<T> {
    /// The flags that its text sets on the row; None if it is no content.
    pub fn traits(&self, text: &str, kind: Kind) -> Option<u16> {
        match self {
            Self::Prompted(_) => None,
            Self::Data(_) => Some(traits("", kind)),
            Self::Given(_) | Self::Owned(_) | Self::Decoded(_) => Some(traits(text, kind)),
        }
    }
}

impl<T: Text> Piece<T> {
    /// Bytes that its text takes in a request.
    pub fn carried(&self, text: &str) -> u64 {
        match self {
            Self::Given(_) => carried(text),
            Self::Owned(_) | Self::Data(_) => text.len() as u64, // JSON already, or without characters to escape
            Self::Prompted(_) | Self::Decoded(_) => 0,
        }
    }
}

impl<T: Text> Text for Piece<T> {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Given(text) | Self::Data(text) => text.text(),
            Self::Owned(text) | Self::Decoded(text) | Self::Prompted(text) => Cow::Borrowed(text),
        }
    }

    fn decode_into<'s>(&'s self, room: &'s mut Room) -> (&'s str, bool) {
        match self {
            Self::Given(text) | Self::Data(text) => text.decode_into(room),
            Self::Owned(text) | Self::Decoded(text) | Self::Prompted(text) => (text, false),
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Given(text) | Self::Data(text) => text.length(),
            Self::Owned(text) | Self::Decoded(text) | Self::Prompted(text) => text.len(),
        }
    }
}

/// Lengths of a row, and the digest of its text and data.
pub struct Measured {
    pub size: Size,
    pub content: [u8; 16],
    /// The flags that its texts set.
    pub traits: u16,
    /// Bytes of its texts and data in a request.
    pub length: u64,
}

/// The size of each row's texts, with the text around them in the prompt, and the digest of its content.
///
/// `pieces` returns the pieces of a row. Their texts are decoded into one buffer and counted together. Digests are computed
/// only if `wants_digests`.
pub fn measured<'p, T: Text + 'p>(
    ledger: &Ledger,
    rows: Range<usize>,
    pieces: impl Fn(usize) -> &'p [Piece<T>],
    counter: &Counter,
    wants_digests: bool,
) -> Vec<Measured> {
    let (mut all, first, mut room) = (Vec::with_capacity(rows.len()), rows.start, (Room::default(), Vec::new()));
    let tokens = counter.text.count_rows(rows.len(), |counting| {
        for row in rows {
            counting.of(row - first);
            let around = Around::of(ledger, row, pieces(row), counter.prompt.form);
            all.push(one(&around, pieces(row), counting, &mut room, wants_digests));
        }
    });
    for (measured, tokens) in all.iter_mut().zip(tokens) {
        measured.size.tokens = tokens;
    }
    all
}

/// Measures one row, whose tokens are counted later.
fn one<T: Text>(
    around: &Around,
    pieces: &[Piece<T>],
    counting: &mut BatchCounter<'_>,
    (room, digests): &mut (Room, Vec<[u8; 16]>),
    wants_digests: bool,
) -> Measured {
    let (mut size, mut length) = (Size::default(), 0);
    digests.clear();
    let mut flags = RowFlag::Empty as u16 | RowFlag::Blank as u16;
    for (n, piece) in pieces.iter().enumerate() {
        let (text, is_ascii) = piece.decode_into(room);
        length += piece.carried(text);
        match piece {
            Piece::Prompted(_) => counting.add(text),
            Piece::Data(_) => {}
            _ => {
                size += if is_ascii { Size::ascii(text.len()) } else { Size::of(text) };
                around.count(n, text, counting);
            }
        }
        if let Some(next) = piece.traits(text, around.kind) {
            flags = joined(flags, next, n == 0);
            if wants_digests {
                digests.push(digest(text.as_bytes()));
            }
        }
    }
    let content = if wants_digests { digest(digests.as_flattened()) } else { [0; 16] };
    Measured { size, content, traits: flags, length }
}

/// How a closing tag begins.
static CLOSING: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("</"));

/// The prompt's text before and after the pieces of a row, with the position of the piece.
#[derive(Default)]
struct Around {
    before: Option<(usize, &'static str)>,
    after: Option<(usize, &'static str)>,
    /// Whether the prompt has another text in place of these pieces.
    is_unsent: bool,
    kind: Kind,
}

impl Around {
    fn of<T>(ledger: &Ledger, row: usize, pieces: &[Piece<T>], form: Form) -> Self {
        let mut around = Self { kind: ledger.kind[row], ..Self::default() };
        if form != Form::Tagged {
            return around;
        }
        let is_text = |piece: &Piece<T>| !matches!(piece, Piece::Data(_));
        match around.kind {
            Kind::Result => {
                around.before = pieces.iter().position(is_text).map(|first| (first, prompt::RESULT.0));
                around.after = pieces.iter().rposition(is_text).map(|last| (last, prompt::RESULT.1));
            }
            _ if pieces.iter().any(|piece| matches!(piece, Piece::Prompted(_))) => around.is_unsent = true,
            Kind::Text if is_call_next(ledger, row) => {
                around.after = pieces.len().checked_sub(1).map(|last| (last, "\n\n"));
            }
            _ => {}
        }
        around
    }

    fn count(&self, n: usize, text: &str, counting: &mut BatchCounter<'_>) {
        let at = |what: Option<(usize, &'static str)>| what.filter(|(place, _)| *place == n).map_or("", |(_, tag)| tag);
        let (before, after) = (at(self.before), at(self.after));
        if self.is_unsent {
            return;
        }
        if before.is_empty() && after.is_empty() {
            counting.add(text);
        } else {
            counting.add(&[before, text, after].concat());
        }
    }
}

/// Whether the row behind `row` is a call of the same message.
fn is_call_next(ledger: &Ledger, row: usize) -> bool {
    ledger.kind.get(row + 1) == Some(&Kind::Call) && ledger.owner[row] == ledger.owner[row + 1]
}

/// Bytes of a text as a JSON string, without its quotes: `"` and `\`, line breaks and tabs take two, other control
/// characters six.
#[must_use]
pub fn carried(text: &str) -> u64 {
    text.len() as u64 + text.as_bytes().chunks(CHUNK).map(escapes).sum::<u64>()
}

/// Bytes that are looked at together: their counts fit a byte, so that the compiler counts 16 at once.
const CHUNK: usize = 240;

/// Bytes that JSON puts into a chunk of text.
fn escapes(chunk: &[u8]) -> u64 {
    let (mut short, mut long) = (0_u8, 0_u8);
    for &byte in chunk {
        let is_control = u8::from(byte < 0x20);
        let has_letter = u8::from(byte.wrapping_sub(8) < 3) | u8::from(byte == 12) | u8::from(byte == 13);
        short = short.wrapping_add(u8::from(byte == b'"') | u8::from(byte == b'\\') | is_control);
        long = long.wrapping_add(is_control & !has_letter);
    }
    u64::from(short) + 4 * u64::from(long)
}

/// The flags that texts set on their row.
pub const TRAITS: u16 = RowFlag::Empty as u16
    | RowFlag::Blank as u16
    | RowFlag::Trailing as u16
    | RowFlag::Summary as u16
    | RowFlag::Pruned as u16
    | RowFlag::Tagged as u16;

/// The flags that a text sets on its row, which is of this kind.
pub fn traits(text: &str, kind: Kind) -> u16 {
    let is_tagged = kind == Kind::Text && CLOSING.find(text.as_bytes()).is_some();
    let tagged = if is_tagged { RowFlag::Tagged as u16 } else { 0 };
    // Nearly every text begins and ends with visible ASCII and is no envelope: then no flag is set.
    if let (Some(first), Some(last)) = (text.as_bytes().first(), text.as_bytes().last())
        && first.is_ascii_graphic()
        && last.is_ascii_graphic()
        && !matches!(first, b'<' | b'[')
    {
        return tagged;
    }
    let pick = |on: bool, flag: RowFlag| if on { flag as u16 } else { 0 };
    tagged
        | pick(text.is_empty(), RowFlag::Empty)
        | pick(text.chars().all(char::is_whitespace), RowFlag::Blank)
        | pick(text.ends_with(char::is_whitespace), RowFlag::Trailing)
        | pick(text.starts_with('<') && envelope::is_summary(text), RowFlag::Summary)
        | pick(text.starts_with('[') && envelope::is_pruned(text), RowFlag::Pruned)
}

/// The flags of a row after one more piece: empty if all pieces are, trailing as the last one, marked if it is the only one, tagged
/// as any.
pub fn joined(row: u16, next: u16, first: bool) -> u16 {
    let all = RowFlag::Empty as u16 | RowFlag::Blank as u16;
    let marks = if first { RowFlag::Summary as u16 | RowFlag::Pruned as u16 } else { 0 };
    (row & next & all) | ((row | next) & RowFlag::Tagged as u16) | (next & (RowFlag::Trailing as u16 | marks))
}

/// The flags that apply to a row of `kind`.
pub fn allowed(kind: Kind) -> u16 {
    let marks = match kind {
        Kind::Text => RowFlag::Summary as u16 | RowFlag::Tagged as u16,
        Kind::Result => RowFlag::Pruned as u16,
        _ => 0,
    };
    RowFlag::Empty as u16 | RowFlag::Blank as u16 | RowFlag::Trailing as u16 | marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::quote;

    #[test]
    fn a_text_takes_the_bytes_of_its_json() {
        let all: String = (0..300_u32).filter_map(char::from_u32).collect();
        for text in ["", "plain", "\"quoted\" \\ and\nlines\t", &all, &all.repeat(7)] {
            let mut json = String::new();
            quote(text, &mut json);
            assert_eq!(carried(text) + 2, json.len() as u64, "{text:?}");
        }
    }
}
