//! Estimates by length: a quarter of a text's characters, bytes or UTF-16 units.

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// Bytes of UTF-8.
    Bytes,
    /// UTF-16 code units, as JavaScript counts.
    Utf16,
}

/// What happens to the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// To the nearest, a half up.
    HalfUp,
}

/// Length over four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chars {
    /// What is counted.
    pub unit: Unit,
    /// What happens to the fraction.
    pub round: Round,
}

impl Chars {
    /// Tokens of a text of `length` units.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_core::text::{Chars, Round, Unit};
    ///
    /// let estimate = |round| Chars { unit: Unit::Bytes, round }.tokens(6);
    /// assert_eq!([Round::Floor, Round::Ceil, Round::HalfUp].map(estimate), [1, 2, 2]);
    /// ```
    #[must_use]
    pub fn tokens(self, length: usize) -> usize {
        match self.round {
            Round::Floor => length / 4,
            Round::Ceil => length.div_ceil(4),
            Round::HalfUp => (length + 2) / 4,
        }
    }

    /// Tokens of `text`.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        self.tokens(match self.unit {
            Unit::Bytes => text.len(),
            Unit::Chars => chars(text),
            Unit::Utf16 => utf16(text),
        })
    }
}

/// Unicode scalar values in `text`.
#[must_use]
pub fn chars(text: &str) -> usize {
    text.chars().count()
}

/// UTF-16 units in `text`: one a scalar value, two beyond the basic plane.
#[must_use]
pub fn utf16(text: &str) -> usize {
    chars(text) + text.bytes().filter(|&b| b >= 0xF0).count()
}
