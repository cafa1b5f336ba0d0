//! The starts of pretokens, by arithmetic on bitmaps of the character classes of 64 bytes.
//!
//! A start depends on the classes of a character, of the two before it and of the one after it. Exceptions are numbers,
//! which need the previous start, and some rare neighbours, which the scalar scanner handles. All bytes of a character have
//! its class, and a pretoken starts at the first one.

#![allow(clippy::inline_always)] // compiled for the instructions of its caller
#![allow(clippy::cast_possible_truncation)] // indices in a window are below 64

use trimtab_simd::WIDE;

use crate::bpe::pretokenize::contraction::contraction;

/// Bytes before a window that decide its first starts: two characters.
pub const CONTEXT: usize = 8;

/// Bytes of a window at which a character of four bytes still fits.
pub const WHOLE: u32 = WIDE as u32 - 3;

/// A word is letters.
pub const LETTERS: usize = 0;

/// A word is letters and marks.
pub const MARKED: usize = 1;

/// A word is letters and marks, and case splits it.
pub const CASED: usize = 2;

/// As [`CASED`], and no contraction joins a word.
pub const CASED_ALONE: usize = 3;

/// The classes of the bytes of a window, a bit a byte. A byte in none of them is punctuation.
#[derive(Clone, Copy, Default)]
pub struct Masks {
    /// Letters; also marks where a word has them.
    pub letter: u64,
    pub upper: u64,
    /// Letters without case; also marks where a word has them.
    pub caseless: u64,
    pub mark: u64,
    /// ASCII digits; other numbers are unknown.
    pub number: u64,
    /// U+0020.
    pub space: u64,
    /// White space other than line ends.
    pub blank: u64,
    pub newline: u64,
    pub apostrophe: u64,
    pub slash: u64,
    /// UTF-8 continuation bytes.
    pub inside: u64,
    /// First bytes of characters that the scalar scanner handles.
    pub unknown: u64,
}

impl Masks {
    /// The masks with line ends in place of the bytes before `prev_boundary`.
    #[inline(always)]
    fn from(mut self, prev_boundary: usize) -> Self {
        let past = (1 << prev_boundary) - 1;
        for mask in [
            &mut self.letter,
            &mut self.upper,
            &mut self.caseless,
            &mut self.mark,
            &mut self.number,
            &mut self.space,
            &mut self.blank,
            &mut self.apostrophe,
            &mut self.slash,
            &mut self.inside,
            &mut self.unknown,
        ] {
            *mask &= !past;
        }
        self.newline |= past;
        self
    }

    /// The first bytes after the characters that begin at `leads`.
    #[inline(always)]
    fn after(&self, leads: u64) -> u64 {
        (leads << 1).wrapping_add(self.inside) & !self.inside
    }

    /// The first bytes of the characters of at most three bytes that end at `last`.
    #[inline(always)]
    fn first(&self, last: u64) -> u64 {
        let second = (last & self.inside) >> 1;
        last & !self.inside | second & !self.inside | (second & self.inside) >> 1
    }
}

/// Boundaries of pretokens in a window, and the byte up to which they are resolved.
///
/// `prev_boundary` is the offset of the previous boundary in the window; 0 if it is before the window.
#[inline(always)]
pub fn boundaries<const WORD: usize, const DIGITS: usize>(
    of: Masks,
    window: &[u8; WIDE],
    prev_boundary: usize,
) -> (u64, usize) {
    let of = of.from(prev_boundary);
    let white = of.blank | of.newline;
    let punct = !(of.letter | of.number | white | of.unknown);
    // The class of the byte before.
    let (letter1, number1, punct1, space1) = (of.letter << 1, of.number << 1, punct << 1, of.space << 1);

    let first_punct = punct & !punct1 & !space1;
    // Punctuation that no space precedes joins the letters after it, as does any white space.
    let taken = of.blank << 1 | of.after(first_punct);
    let mut starts = of.letter & !letter1 & !taken;
    // Resolved up to the byte before the first unknown character.
    let mut resolved_to = of.unknown.trailing_zeros().saturating_sub(3).min(WIDE as u32 - 1);
    if WORD >= CASED {
        starts |= of.upper & (of.letter & !of.upper & !of.caseless) << 1;
        // The word of a capital after a caseless letter depends on the characters after it. Marks join punctuation.
        let hidden = of.upper & of.caseless << 1 | of.mark & punct1;
        resolved_to = resolved_to.min(hidden.trailing_zeros());
    }
    starts |= first_punct;
    // White space starts at its first byte unless punctuation takes its line end, after its line end, and at its last blank.
    let indent = of.blank & of.newline << 1;
    starts |= white & !(white << 1) & !(of.newline & punct1) | indent | of.first(of.blank & !(white >> 1));
    starts |= if DIGITS == 1 { of.number } else { threes(of.number, number1, prev_boundary) };

    // Blanks between two line ends start no pretoken: the scalar scanner handles them, and those that exceed the window.
    let (after, cut) = of.blank.overflowing_add(indent);
    if cut || after & (of.newline | of.unknown) & !of.blank != 0 {
        resolved_to = resolved_to.min((indent & !0 << CONTEXT).trailing_zeros());
    }
    if WORD >= CASED {
        // A slash may join punctuation from the line before.
        resolved_to = resolved_to.min((of.slash & of.newline << 1 & !(1 << prev_boundary)).trailing_zeros());
    }
    let mut short = match WORD {
        CASED => of.apostrophe & of.letter >> 1 & letter1,
        CASED_ALONE => 0,
        _ => of.apostrophe & of.letter >> 1 & first_punct,
    };
    if WORD == CASED {
        // A contraction after a contraction depends on the one before.
        let chained = short & (short << 2 | short << 3);
        resolved_to = resolved_to.min(chained.trailing_zeros().saturating_sub(3));
    }
    while short != 0 {
        let at = short.trailing_zeros();
        short &= short - 1;
        if at as usize > WIDE - 4 {
            resolved_to = resolved_to.min(at);
            break;
        }
        let length = contraction(window, at as usize, true) as u32;
        if length > 0 {
            if WORD == CASED {
                starts &= !(((1 << length) - 1) << at);
            }
            starts |= of.letter & 1 << (at + length);
        }
    }
    (starts, resolved_to as usize)
}

/// Each third number of a run, from its first one or from the previous boundary.
#[inline(always)]
fn threes(number: u64, number1: u64, prev_boundary: usize) -> u64 {
    let mut starts = number & !number1;
    // A run that continues from the context: its last start is the previous boundary.
    if number >> (CONTEXT - 1) & 3 == 3 {
        starts = starts & !0 << CONTEXT | 1 << (prev_boundary + 3) & number;
    }
    let (number2, number3) = (number << 2, number << 3);
    let inside = number & number1 & number2 & number3;
    let mut next = starts << 3 & inside;
    while next != 0 {
        starts |= next;
        next = next << 3 & inside;
    }
    starts
}
