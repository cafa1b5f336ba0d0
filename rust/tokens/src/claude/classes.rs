//! Properties of characters: the class, and the effect on neighbours.

use super::table::{CLASS_BLOCKS, CLASS_INDEX};

/// The kind of run that a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Counted by itself: ideographs, Hangul, emoji, and non-ASCII symbols.
    Hard,
    /// Part of a word.
    Wordy,
    /// ASCII and Arabic digits.
    Digit,
    /// ASCII punctuation and symbols, and some others that measurements showed to join them.
    Punct,
    /// Spaces, tabs, line ends, the ideographic space.
    Space,
}

/// The properties of a character as bits, packed by `data/claude.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits(u16);

impl Bits {
    /// The kind of a hard character: 0 a letter, 1 like punctuation, 2 a number.
    const KIND: u16 = 3 << 3;
    const STRAY: u16 = 1 << 5;
    const SELECTOR: u16 = 1 << 6;
    const DECIMAL: u16 = 1 << 7;
    const NUMBER: u16 = 1 << 8;
    const UPPER: u16 = 1 << 9;
    const LOWER: u16 = 1 << 10;
    const LETTER: u16 = 1 << 11;
    const ORDERED: u16 = 1 << 12;
    const REPLACED: u16 = 1 << 13;
    const DECOMPOSED: u16 = 1 << 14;
    const JOINS: u16 = 1 << 15;

    /// The bits of `c`.
    #[inline]
    pub fn of(c: char) -> Self {
        Self::at(c as usize)
    }

    /// The bits of a code point.
    #[inline]
    pub fn at(code: usize) -> Self {
        Self(CLASS_BLOCKS[usize::from(CLASS_INDEX[code / 64]) * 64 + code % 64])
    }

    #[inline]
    pub fn class(self) -> Class {
        match self.0 & 7 {
            0 => Class::Hard,
            1 => Class::Wordy,
            2 => Class::Digit,
            3 => Class::Punct,
            _ => Class::Space,
        }
    }

    /// Whether the character is a letter or a mark of a word, with no other property.
    #[inline]
    pub fn is_plain_wordy(self) -> bool {
        self.0 & (7 | Self::KIND) == 1
    }

    /// Whether the character is a hard letter.
    #[inline]
    pub fn is_plain_alone(self) -> bool {
        self.0 & (7 | Self::KIND | Self::SELECTOR) == 0
    }

    /// Whether the character is hard and like punctuation.
    #[inline]
    pub fn is_plain_symbol(self) -> bool {
        self.0 & (7 | Self::KIND | Self::SELECTOR) == 1 << 3
    }

    /// Whether the character is a letter that, after a line end, does not depend on the text before it.
    pub fn begins_section(self) -> bool {
        self.is_letter() && !self.is_touched() && (self.is_plain_wordy() || self.is_plain_alone())
    }

    /// Kind of a hard character; runs of hard characters are split where it changes.
    pub fn kind(self) -> u16 {
        self.0 & Self::KIND
    }

    /// Whether a hard character is a letter: no piece has it and a neighbour.
    pub fn is_hard_letter(self) -> bool {
        self.kind() == 0
    }

    /// Whether a hard character is like punctuation: it takes markers beside a space.
    pub fn is_symbol(self) -> bool {
        self.kind() == 1 << 3
    }

    /// A combining mark that begins a word if no base precedes it.
    pub fn is_stray(self) -> bool {
        self.0 & Self::STRAY != 0
    }

    /// A variation selector: it belongs to the character before it.
    pub fn is_selector(self) -> bool {
        self.0 & Self::SELECTOR != 0
    }

    /// General category Nd or No, as bits that are equal for equal categories; 0 for others.
    pub fn numeral(self) -> u16 {
        self.0 & (Self::DECIMAL | Self::NUMBER)
    }

    pub fn is_upper(self) -> bool {
        self.0 & Self::UPPER != 0
    }

    pub fn is_lower(self) -> bool {
        self.0 & Self::LOWER != 0
    }

    /// Letter or mark by general category.
    pub fn is_letter(self) -> bool {
        self.0 & Self::LETTER != 0
    }

    /// Whether normalization form C may involve the character; true for no character of most texts.
    pub fn is_composed(self) -> bool {
        self.0 & (Self::ORDERED | Self::DECOMPOSED | Self::JOINS) != 0
    }

    /// Whether the character is a mark that normalization may reorder.
    pub fn is_ordered(self) -> bool {
        self.0 & Self::ORDERED != 0
    }

    /// Whether normalization form C changes the character in any context.
    pub fn is_decomposed(self) -> bool {
        self.0 & Self::DECOMPOSED != 0
    }

    /// Whether the character may compose with the one before it.
    pub fn joins(self) -> bool {
        self.0 & Self::JOINS != 0
    }

    /// Whether normalization may change the character.
    #[inline]
    pub fn is_touched(self) -> bool {
        self.0 >= Self::ORDERED
    }

    /// Whether normalization removes or replaces the character.
    pub fn is_replaced(self) -> bool {
        self.0 & Self::REPLACED != 0
    }
}

/// The non-ASCII code point at `at`, and its number of bytes. `bytes` is UTF-8, except for markers.
#[inline(always)] // as a call it takes a tenth of the time of Russian or Chinese text
#[allow(clippy::inline_always)]
pub fn decode(bytes: &[u8], at: usize) -> (usize, usize) {
    let tail = |n: usize| usize::from(bytes[at + n] & 0x3F);
    let first = usize::from(bytes[at]);
    match first {
        0..0xE0 => ((first & 0x1F) << 6 | tail(1), 2),
        0xE0..0xF0 => ((first & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
        _ => ((first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
    }
}
