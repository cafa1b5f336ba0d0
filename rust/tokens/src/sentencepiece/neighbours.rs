//! The characters that stand next to each other in some piece: a text is cut where two of its characters never do.

#![allow(clippy::cast_possible_truncation)] // parts of words

use std::borrow::Cow;

use super::SPACE;
use crate::cancel;

/// Bits of the number of a pair of characters: 32 KB, and few pairs that are not there have the number of one that is.
const BITS: u32 = 18;

/// Pairs of characters, as bits: others may be among them.
#[derive(Clone, Debug)]
pub struct Neighbours(Cow<'static, [u64]>);

impl Default for Neighbours {
    fn default() -> Self {
        let mut all = Self(vec![0; 1 << (BITS - 6)].into());
        all.insert(SPACE, SPACE); // a run of spaces is one part
        all
    }
}

impl Neighbours {
    /// The pairs of these words, which [`Neighbours::words`] returned.
    pub fn of(words: &'static [u64]) -> Self {
        Self(Cow::Borrowed(words))
    }

    /// Themselves.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Where the bit of a pair is: its word, and its place there.
    fn bit_of(left: char, right: char) -> (usize, u32) {
        let both = u64::from(u32::from(left)) << 21 | u64::from(u32::from(right));
        let number = both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS);
        ((number >> 6) as usize, (number & 63) as u32)
    }

    /// Adds a pair.
    pub fn insert(&mut self, left: char, right: char) {
        let (word, bit) = Self::bit_of(left, right);
        self.0.to_mut()[word] |= 1 << bit;
    }

    /// Whether some piece may have the one character in front of the other.
    pub fn may_join(&self, left: char, right: char) -> bool {
        let (word, bit) = Self::bit_of(left, right);
        self.0.get(word).is_none_or(|word| word >> bit & 1 == 1)
    }

    /// The part at the beginning of a text that no piece joins to what follows.
    pub fn part<'t>(&self, text: &'t str) -> &'t str {
        let mut before = None;
        let inside = text.char_indices().find(|&(index, character)| {
            cancel::poll_at(index);
            let ends = before.is_some_and(|before| !self.may_join(before, character));
            before = Some(character);
            ends
        });
        &text[..inside.map_or(text.len(), |(index, _)| index)]
    }
}
