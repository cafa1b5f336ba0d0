//! A vocabulary with its rules, and precomputed counts: contractions, single characters, runs of white space.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::Family;
use super::cover::{self, BOW, EOW, Pieces};
use super::normalize;

/// Suffixes that an apostrophe joins to the word before: they have no begin-of-word marker.
pub const CONTRACTIONS: [&str; 7] = ["s", "t", "d", "m", "ll", "re", "ve"];

/// Lengths of runs of white space whose counts are precomputed.
const RUN: usize = 257;

/// A family's pieces and rules.
pub struct Vocabulary {
    pub pieces: Pieces,
    /// Whether curly quotation marks are replaced by straight ones.
    pub folds_quotes: bool,
    /// Whether words in capitals have a marker.
    pub caps: bool,
    /// Tokens of each contraction.
    pub contractions: [u32; CONTRACTIONS.len()],
    /// Tokens of each ASCII character: without markers, with a begin-of-word marker, with an end-of-word marker, with both.
    pub single: [[u8; 4]; 128],
    /// Tokens of runs of spaces, tabs and line ends, by length.
    white_space: [[u8; RUN]; 3],
}

pub static OLD: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(cover::OLD, true, true));
pub static NEW: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary::new(cover::NEW, false, false));

/// The vocabulary of a family.
pub fn vocabulary(family: Family) -> &'static Vocabulary {
    match family {
        Family::Old => &OLD,
        Family::New => &NEW,
    }
}

impl Vocabulary {
    fn new(pieces: Pieces, folds_quotes: bool, caps: bool) -> Self {
        let contractions = CONTRACTIONS.map(|suffix| {
            let marked = [b"'", suffix.as_bytes(), &[EOW]].concat();
            pieces.min_cover(&marked)
        });
        let single = std::array::from_fn(|byte| {
            let byte = u8::try_from(byte).unwrap_or(0);
            let segments: [&[u8]; 4] = [&[byte], &[BOW, byte], &[byte, EOW], &[BOW, byte, EOW]];
            segments.map(|segment| u8::try_from(pieces.min_cover(segment)).unwrap_or(u8::MAX))
        });
        let white_space = [b' ', b'\t', b'\n'].map(|byte| runs(&pieces, byte));
        Self { pieces, folds_quotes, caps, contractions, single, white_space }
    }

    /// `text` with the quotation marks that the vocabulary has.
    pub fn fold_quotes<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.folds_quotes { normalize::fold_quotes(text) } else { Cow::Borrowed(text) }
    }

    /// Tokens of `length` spaces, tabs or line ends in a row.
    #[inline]
    pub fn white_space(&self, byte: u8, length: usize) -> u32 {
        let kind = match byte {
            b' ' => 0,
            b'\t' => 1,
            _ => 2,
        };
        match self.white_space[kind].get(length) {
            Some(tokens) => u32::from(*tokens),
            None => self.pieces.min_cover(&vec![byte; length]),
        }
    }
}

/// Tokens of runs of one byte, by length: the fewest pieces of that byte whose lengths add up to it.
fn runs(pieces: &Pieces, byte: u8) -> [u8; RUN] {
    let lengths: Vec<usize> = (1..RUN).filter(|length| pieces.has(&vec![byte; *length])).collect();
    let mut tokens = [0; RUN];
    for length in 1..RUN {
        let fewest = lengths.iter().take_while(|piece| **piece <= length).map(|piece| tokens[length - piece]).min();
        tokens[length] = fewest.unwrap_or(u8::MAX - 1) + 1;
    }
    tokens
}
