//! Where pieces start, by arithmetic on masks of the classes of sixty-four bytes, a bit a byte.
//!
//! A start depends on the class of a character, of the two before it and of the one behind it, but for numbers, which
//! need the last start, and some rare neighbours, which are left to the scalar scanner. All bytes of a character are of
//! its class, and a piece starts at the first one.

#![allow(clippy::inline_always)] // compiled for the instructions of its caller
#![allow(clippy::cast_possible_truncation)] // places in a window are below 64

use trimtab_simd::WIDE;

use super::split::contraction;

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
    fn from(mut self, known: usize) -> Self {
        let past = (1 << known) - 1;
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

/// Starts of pieces in a window, and up to which byte they are known.
///
/// `known`: where in the window the last known start is; 0 if it is before the window.
#[inline(always)]
pub fn starts<const CASED: bool, const DIGITS: usize>(of: Masks, window: &[u8; WIDE], known: usize) -> (u64, usize) {
    let of = of.from(known);
    let white = of.blank | of.newline;
    let sign = !(of.letter | of.number | white | of.unknown);
    // Where the class is that of the byte before.
    let (letter1, number1, sign1, space1) = (of.letter << 1, of.number << 1, sign << 1, of.space << 1);

    let first_sign = sign & !sign1 & !space1;
    // One sign that no space has taken goes with the letters behind it, as does any blank.
    let taken = of.blank << 1 | of.behind(first_sign);
    let mut starts = of.letter & !letter1 & !taken;
    // What begins to be unknown, up to the byte before it.
    let mut sure = of.unknown.trailing_zeros().saturating_sub(3).min(WIDE as u32 - 1);
    if CASED {
        starts |= of.upper & (of.letter & !of.upper & !of.caseless) << 1;
        // Which word a capital behind a letter without case is of, what is behind it says. Marks go on with signs.
        let hidden = of.upper & of.caseless << 1 | of.mark & sign1;
        sure = sure.min(hidden.trailing_zeros());
    }
    starts |= first_sign;
    // White space: its first byte unless a sign takes its line's end, what follows the line's end, and the last blank.
    let indent = of.blank & of.newline << 1;
    starts |= white & !(white << 1) & !(of.newline & sign1) | indent | of.first(of.blank & !(white >> 1));
    starts |= if DIGITS == 1 { of.number } else { threes(of.number, number1, known) };

    // Blanks between two line ends start nothing: left to the scalar scanner, with those that go on out of sight.
    let (behind, cut) = of.blank.overflowing_add(indent);
    if cut || behind & (of.newline | of.unknown) & !of.blank != 0 {
        sure = sure.min((indent & !0 << CONTEXT).trailing_zeros());
    }
    if CASED {
        // A slash may go on with signs from the line before.
        sure = sure.min((of.slash & of.newline << 1 & !(1 << known)).trailing_zeros());
    }
    let mut short = of.apostrophe & of.letter >> 1 & if CASED { letter1 } else { first_sign };
    if CASED {
        // Whether a contraction behind a contraction is one depends on those before.
        let chained = short & (short << 2 | short << 3);
        sure = sure.min(chained.trailing_zeros().saturating_sub(3));
    }
    while short != 0 {
        let place = short.trailing_zeros();
        short &= short - 1;
        if place as usize > WIDE - 4 {
            sure = sure.min(place);
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
    (starts, sure as usize)
}

/// Each third number of a run, from its first one or from the last known start.
#[inline(always)]
fn threes(number: u64, number1: u64, known: usize) -> u64 {
    let mut starts = number & !number1;
    // A run that goes on from the context: its last start is the last known one.
    if number >> (CONTEXT - 1) & 3 == 3 {
        starts = starts & !0 << CONTEXT | 1 << (known + 3) & number;
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
