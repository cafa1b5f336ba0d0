//! Estimates by length: characters, bytes or UTF-16 units a token.

/// Length of a text in every unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Tokens, without the factor of a model.
    pub tokens: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
    /// Unicode scalar values.
    pub chars: usize,
    /// UTF-16 units.
    pub utf16: usize,
}

impl Size {
    /// The lengths of an ASCII text, without tokens.
    #[must_use]
    pub fn ascii(bytes: usize) -> Self {
        Self { tokens: 0, bytes, chars: bytes, utf16: bytes }
    }

    /// The lengths of `text`, without tokens.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let bytes = text.len();
        if text.is_ascii() {
            return Self::ascii(bytes);
        }
        let (chars, utf16) = chars_and_utf16(text);
        Self { tokens: 0, bytes, chars, utf16 }
    }
}

impl std::ops::AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.bytes += other.bytes;
        self.chars += other.chars;
        self.utf16 += other.utf16;
    }
}

/// The unit of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Unicode scalar values.
    Chars,
    /// Bytes of UTF-8.
    Bytes,
    /// UTF-16 code units, as JavaScript counts.
    Utf16,
}

/// How a fraction of a token is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// To the nearest integer, a half up.
    HalfUp,
}

/// An estimate: length divided by units a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chars {
    /// The unit of a length.
    pub unit: Unit,
    /// How a fraction is rounded.
    pub round: Round,
    /// Units a token, at least 1; usually 4.
    pub per: usize,
}

impl Chars {
    /// Tokens of a text of `length` units.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_tokens::{Chars, Round, Unit};
    ///
    /// let estimate = |round| Chars { unit: Unit::Bytes, round, per: 4 }.tokens(6);
    /// assert_eq!([Round::Floor, Round::Ceil, Round::HalfUp].map(estimate), [1, 2, 2]);
    /// ```
    #[must_use]
    pub fn tokens(self, length: usize) -> usize {
        match self.round {
            Round::Floor => length / self.per,
            Round::Ceil => length.div_ceil(self.per),
            Round::HalfUp => (length + self.per / 2) / self.per,
        }
    }

    /// The length in `size` that has this unit.
    #[must_use]
    pub fn length(self, size: &Size) -> usize {
        match self.unit {
            Unit::Bytes => size.bytes,
            Unit::Chars => size.chars,
            Unit::Utf16 => size.utf16,
        }
    }

    /// Length of `text` in the unit.
    #[must_use]
    pub fn length_of(self, text: &str) -> usize {
        match self.unit {
            Unit::Bytes => text.len(),
            Unit::Chars => chars(text),
            Unit::Utf16 => utf16(text),
        }
    }

    /// Tokens of `text`.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        self.tokens(self.length_of(text))
    }
}

/// Unicode scalar values in `text`.
#[must_use]
pub fn chars(text: &str) -> usize {
    text.chars().count()
}

/// UTF-16 units in `text`: one a scalar value, two outside the basic multilingual plane.
#[must_use]
pub fn utf16(text: &str) -> usize {
    chars_and_utf16(text).1
}

/// Scalar values and UTF-16 units, in one pass.
#[must_use]
pub fn chars_and_utf16(text: &str) -> (usize, usize) {
    // Chunks whose sums fit into a byte: then the compiler adds sixteen bytes at once.
    text.as_bytes().chunks(usize::from(u8::MAX)).fold((0, 0), |(chars, utf16), chunk| {
        let firsts = count(chunk, |byte| byte & 0xC0 != 0x80);
        (chars + firsts, utf16 + firsts + count(chunk, |byte| byte >= 0xF0))
    })
}

/// Number of bytes that match; of at most 255 bytes.
fn count(chunk: &[u8], is: impl Fn(u8) -> bool) -> usize {
    usize::from(chunk.iter().map(|byte| u8::from(is(*byte))).sum::<u8>())
}
