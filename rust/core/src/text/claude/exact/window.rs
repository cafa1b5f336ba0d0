//! Sixty-four bytes of a text, and the characters beyond ASCII in them.

use super::table::PAIRS;
use crate::text::ascii::Ascii;
use crate::text::simd;

/// Bytes of a window.
pub const WIDE: usize = 64;

/// A window and the bytes that its last character may have behind it.
pub const READ: usize = WIDE + 3;

/// The lowest `count` bits.
#[inline]
pub fn low(count: usize) -> u64 {
    if count >= WIDE { !0 } else { (1 << count) - 1 }
}

/// The next bytes of a text, from the beginning of a character on.
pub struct Window<'a> {
    bytes: &'a [u8; READ],
    pub of: Ascii,
    /// How many of them are of the text, and of characters that end in the window.
    pub whole: usize,
}

impl<'a> Window<'a> {
    /// The first bytes of `rest`; where they are not enough they are put into `padded`, with 0 behind them.
    #[inline]
    pub fn new(rest: &'a [u8], padded: &'a mut [u8; READ]) -> Self {
        let bytes = rest.first_chunk().unwrap_or_else(|| pad(rest, padded));
        let of = Ascii::of(bytes.first_chunk().unwrap_or(&[0; WIDE]));
        let cut = (bytes[WIDE] & 0xC0 == 0x80).then(|| WIDE - 1 - of.lead.leading_zeros() as usize);
        Self { whole: cut.unwrap_or(WIDE).min(rest.len()), of, bytes }
    }

    /// Characters of ASCII that are neither visible nor a blank.
    #[inline]
    pub fn controls(&self) -> u64 {
        let of = &self.of;
        let known = of.letter | of.digit | of.mark | of.space | of.tab | of.newline | of.lead | of.tail;
        !known & low(self.whole)
    }

    /// First bytes of whole characters beyond ASCII.
    #[inline]
    pub fn leads(&self) -> u64 {
        self.of.lead & low(self.whole)
    }

    /// First bytes of characters of two bytes that are plain letters, and not all of those.
    #[inline]
    pub fn plain_pairs(&self) -> u64 {
        self.bytes.first_chunk().map_or(0, |bytes| simd::pairs(bytes, &PAIRS))
    }

    /// The code point that begins at `place`: its upper bits, and its lowest six.
    #[inline]
    pub fn character(&self, place: usize) -> (usize, usize) {
        let at = |n: usize| usize::from(self.bytes[(place & (WIDE - 1)) + n]);
        let tail = |n: usize| at(n) & 0x3F;
        let first = at(0);
        match first {
            0..0xE0 => (first & 0x1F, tail(1)),
            0xE0..0xF0 => ((first & 0x0F) << 6 | tail(1), tail(2)),
            _ => ((first & 0x07) << 12 | tail(1) << 6 | tail(2), tail(3)),
        }
    }

    /// Where the character that begins at `place` ends.
    #[inline]
    pub fn behind(&self, place: usize) -> usize {
        place + 1 + (!(self.of.tail >> 1 >> place)).trailing_zeros() as usize
    }

    /// All bytes of the characters with these first ones.
    #[inline]
    pub fn filled(&self, leads: u64) -> u64 {
        let second = leads << 1 & self.of.tail;
        let third = second << 1 & self.of.tail;
        leads | second | third | third << 1 & self.of.tail
    }
}

/// A window that ends behind the text.
#[cold]
fn pad<'a>(rest: &[u8], padded: &'a mut [u8; READ]) -> &'a [u8; READ] {
    padded.fill(0);
    padded[..rest.len()].copy_from_slice(rest);
    padded
}
