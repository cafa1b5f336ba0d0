//! 64 bytes of a text, and the non-ASCII characters in them.

use super::table::PAIRS;
use trimtab_simd::{Kernel, WIDE};

/// Bytes of a window and of a character that begins at its last byte.
pub const READ: usize = WIDE + 3;

/// The lowest `count` bits.
#[inline]
pub fn low(count: usize) -> u64 {
    if count >= WIDE { !0 } else { (1 << count) - 1 }
}

/// The classes of 64 bytes, a bit a byte. A byte in none of them is a control character.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ascii {
    pub letter: u64,
    pub digit: u64,
    /// Other visible ASCII characters.
    pub mark: u64,
    pub space: u64,
    pub tab: u64,
    pub newline: u64,
    pub apostrophe: u64,
    /// First bytes of non-ASCII characters.
    pub lead: u64,
    /// UTF-8 continuation bytes.
    pub tail: u64,
}

impl Ascii {
    /// The classes of the bytes of `window`.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the page
    fn of(kernel: impl Kernel, window: &[u8; WIDE]) -> Self {
        let bytes = kernel.load(window);
        let (letter, digit) = (kernel.letters(bytes), kernel.within(bytes, b'0', b'9'));
        let tail = kernel.within(bytes, 0x80, 0xBF);
        Self {
            letter,
            digit,
            mark: kernel.within(bytes, b'!', b'~') & !letter & !digit,
            space: kernel.equal(bytes, b' '),
            tab: kernel.equal(bytes, b'\t'),
            newline: kernel.equal(bytes, b'\n'),
            apostrophe: kernel.equal(bytes, b'\''),
            lead: kernel.non_ascii(bytes) & !tail,
            tail,
        }
    }
}

/// The next bytes of a text, from the beginning of a character on.
pub struct Window<'a> {
    bytes: &'a [u8; READ],
    pub of: Ascii,
    /// Number of bytes that belong to the text and to characters that end in the window.
    pub whole: usize,
}

impl<'a> Window<'a> {
    /// The window at the start of `rest`; a `rest` that is too short is copied to `padded` and filled up with 0.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the page, as its callers
    pub fn new(kernel: impl Kernel, rest: &'a [u8], padded: &'a mut [u8; READ]) -> Self {
        let bytes = rest.first_chunk().unwrap_or_else(|| pad(rest, padded));
        let of = Ascii::of(kernel, bytes.first_chunk().unwrap_or(&[0; WIDE]));
        let cut = (bytes[WIDE] & 0xC0 == 0x80).then(|| WIDE - 1 - of.lead.leading_zeros() as usize);
        Self { whole: cut.unwrap_or(WIDE).min(rest.len()), of, bytes }
    }

    /// ASCII control characters other than tab and line feed.
    #[inline]
    pub fn controls(&self) -> u64 {
        let of = &self.of;
        let known = of.letter | of.digit | of.mark | of.space | of.tab | of.newline | of.lead | of.tail;
        !known & low(self.whole)
    }

    /// First bytes of the non-ASCII characters that end in the window.
    #[inline]
    pub fn leads(&self) -> u64 {
        self.of.lead & low(self.whole)
    }

    /// First bytes of two-byte characters that are plain letters; some such letters are missing.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    pub fn plain_pairs(&self, kernel: impl Kernel) -> u64 {
        self.bytes.first_chunk().map_or(0, |bytes| kernel.pairs(bytes, &PAIRS))
    }

    /// The code point that begins at `place`.
    #[inline]
    pub fn character(&self, place: usize) -> usize {
        let four = self.bytes[place & (WIDE - 1)..].first_chunk().map_or(0, |four| u32::from_be_bytes(*four)) as usize;
        match four >> 28 {
            0xE => four >> 12 & 0xF000 | four >> 10 & 0xFC0 | four >> 8 & 0x3F,
            0xF => four >> 6 & 0x1C_0000 | four >> 4 & 0x3_F000 | four >> 2 & 0xFC0 | four & 0x3F,
            _ => four >> 18 & 0x7C0 | four >> 16 & 0x3F,
        }
    }

    /// All bytes of the characters with these first bytes.
    #[inline]
    pub fn filled(&self, leads: u64) -> u64 {
        let second = leads << 1 & self.of.tail;
        let third = second << 1 & self.of.tail;
        leads | second | third | third << 1 & self.of.tail
    }
}

/// A window that exceeds the text.
#[cold]
fn pad<'a>(rest: &[u8], padded: &'a mut [u8; READ]) -> &'a [u8; READ] {
    padded.fill(0);
    padded[..rest.len()].copy_from_slice(rest);
    padded
}
