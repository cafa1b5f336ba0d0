//! Where pretokens start, by arithmetic on masks of the classes of sixty-four bytes, a bit a byte.
//!
//! A start depends on the class of a character, of the two before it and of the one behind it, but for numbers, which
//! need the last start, and some rare neighbours, which are left to the scalar scanner. All bytes of a character are of
//! its class, and a pretoken starts at the first one.

#![allow(clippy::inline_always)] // compiled for the instructions of its caller
#![allow(clippy::cast_possible_truncation)] // places in a window are below 64

use trimtab_simd::WIDE;

use crate::bpe::pretokenize::contraction::contraction;

/// Bytes of them that are there for the sake of those behind: two characters.
pub const CONTEXT: usize = 8;

/// Bytes at which a character may begin and be seen whole.
pub const WHOLE: u32 = WIDE as u32 - 3;

/// The classes of the bytes of a window, a bit a byte. What is in none of them is a sign.
#[derive(Clone, Copy, Default)]
pub struct Masks {
    /// Letters; marks as well where words are told by case.
    pub letter: u64,
    pub upper: u64,
    /// Letters that are neither large nor small; marks as well where words are told by case.
    pub caseless: u64,
    pub mark: u64,
    /// Digits: numbers beyond ASCII are not known.
    pub number: u64,
    /// The space itself.
    pub space: u64,
    /// White space that ends no line.
    pub blank: u64,
    pub newline: u64,
    pub apostrophe: u64,
    pub slash: u64,
    /// Bytes that go on with a character.
    pub inside: u64,
    /// First bytes of characters that are left to the scalar scanner.
    pub unknown: u64,
}

impl Masks {
    /// The same with nothing but a line's end before `known`.
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

    /// The first bytes behind the characters that begin at `leads`.
    #[inline(always)]
    fn behind(&self, leads: u64) -> u64 {
        (leads << 1).wrapping_add(self.inside) & !self.inside
    }

    /// The first bytes of the characters of at most three whose last ones are `last`.
    #[inline(always)]
    fn first(&self, last: u64) -> u64 {
        let second = (last & self.inside) >> 1;
        last & !self.inside | second & !self.inside | (second & self.inside) >> 1
    }
}

/// Boundaries of pretokens in a window, and the byte up to which they are resolved.
///
/// `prev_boundary`: the place of the previous boundary in the window; 0 if it is before the window.
#[inline(always)]
pub fn boundaries<const CASED: bool, const DIGITS: usize>(
    of: Masks,
    window: &[u8; WIDE],
    prev_boundary: usize,
) -> (u64, usize) {
    let of = of.from(prev_boundary);
    let white = of.blank | of.newline;
    let sign = !(of.letter | of.number | white | of.unknown);
    // The class of the byte before.
    let (letter1, number1, sign1, space1) = (of.letter << 1, of.number << 1, sign << 1, of.space << 1);

    let first_sign = sign & !sign1 & !space1;
    // A punctuation mark that no space precedes joins the letters behind it, as does any white space.
    let taken = of.blank << 1 | of.behind(first_sign);
    let mut starts = of.letter & !letter1 & !taken;
    // Resolved up to the byte before the first unknown character.
    let mut resolved_to = of.unknown.trailing_zeros().saturating_sub(3).min(WIDE as u32 - 1);
    if CASED {
        starts |= of.upper & (of.letter & !of.upper & !of.caseless) << 1;
        // The characters behind a capital that follows a caseless letter decide its word. Marks join punctuation.
        let hidden = of.upper & of.caseless << 1 | of.mark & sign1;
        resolved_to = resolved_to.min(hidden.trailing_zeros());
    }
    starts |= first_sign;
    // White space: its first byte unless punctuation takes its line end, the byte behind the line end, and the last blank.
    let indent = of.blank & of.newline << 1;
    starts |= white & !(white << 1) & !(of.newline & sign1) | indent | of.first(of.blank & !(white >> 1));
    starts |= if DIGITS == 1 { of.number } else { threes(of.number, number1, prev_boundary) };

    // Blanks between two line ends start nothing: the scalar scanner does them, and those that reach beyond the window.
    let (behind, cut) = of.blank.overflowing_add(indent);
    if cut || behind & (of.newline | of.unknown) & !of.blank != 0 {
        resolved_to = resolved_to.min((indent & !0 << CONTEXT).trailing_zeros());
    }
    if CASED {
        // A slash may join punctuation from the line before.
        resolved_to = resolved_to.min((of.slash & of.newline << 1 & !(1 << prev_boundary)).trailing_zeros());
    }
    let mut short = of.apostrophe & of.letter >> 1 & if CASED { letter1 } else { first_sign };
    if CASED {
        // A contraction behind a contraction depends on those before.
        let chained = short & (short << 2 | short << 3);
        resolved_to = resolved_to.min(chained.trailing_zeros().saturating_sub(3));
    }
    while short != 0 {
        let place = short.trailing_zeros();
        short &= short - 1;
        if place as usize > WIDE - 4 {
            resolved_to = resolved_to.min(place);
            break;
        }
        let length = contraction(window, place as usize, true) as u32;
        if length > 0 {
            if CASED {
                starts &= !(((1 << length) - 1) << place);
            }
            starts |= of.letter & 1 << (place + length);
        }
    }
    (starts, resolved_to as usize)
}

/// Each third number of a run, from its first one or from the last known start.
#[inline(always)]
fn threes(number: u64, number1: u64, prev_boundary: usize) -> u64 {
    let mut starts = number & !number1;
    // A run that goes on from the context: its last start is the last known one.
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
