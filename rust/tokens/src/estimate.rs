//! Estimates by length: so many of a text's characters, bytes or UTF-16 units make a token.

/// Length of a text in every unit that a policy may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Tokens, before a model's factors.
    pub tokens: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
    /// Unicode scalar values.
    pub chars: usize,
    /// UTF-16 units.
    pub utf16: usize,
}

impl Size {
    /// The lengths of so many characters of ASCII, but their tokens.
    #[must_use]
    pub fn ascii(bytes: usize) -> Self {
        Self { tokens: 0, bytes, chars: bytes, utf16: bytes }
    }

    /// The lengths of `text` but its tokens.
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

/// Length over so many a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chars {
    /// What is counted.
    pub unit: Unit,
    /// What happens to the fraction.
    pub round: Round,
    /// Units that make a token, 1 at least: 4 in every document.
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

    /// Of `size`, the length that is counted.
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

/// UTF-16 units in `text`: one a scalar value, two beyond the basic plane.
#[must_use]
pub fn utf16(text: &str) -> usize {
    chars_and_utf16(text).1
}

/// Both, in one pass.
#[must_use]
pub fn chars_and_utf16(text: &str) -> (usize, usize) {
    // As many as a byte can add up: the compiler makes that sixteen at once.
    text.as_bytes().chunks(usize::from(u8::MAX)).fold((0, 0), |(chars, utf16), chunk| {
        let firsts = count(chunk, |byte| byte & 0xC0 != 0x80);
        (chars + firsts, utf16 + firsts + count(chunk, |byte| byte >= 0xF0))
    })
}

/// Bytes of at most 255 that are so.
fn count(chunk: &[u8], is: impl Fn(u8) -> bool) -> usize {
    usize::from(chunk.iter().map(|byte| u8::from(is(*byte))).sum::<u8>())
}
