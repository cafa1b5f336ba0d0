//! A slow definition of Claude's counts, built for the fuzz targets only.
#![allow(missing_docs)]

use std::collections::HashMap;

use super::Family;
use super::classes::Bits;
use super::cover::BOW;
use super::normalize::{compose, is_control};
use super::segment_cache::SegmentCache;
use super::segments::{Before, Reader};
use super::vocabulary::{Vocabulary, vocabulary};

/// Tokens of the whole normalized text, read segment by segment with an empty cache; after a begin-of-word marker if
/// `opened`.
#[must_use]
pub fn count(family: Family, text: &str, opened: bool) -> usize {
    let vocabulary = vocabulary(family);
    let normal = normal(vocabulary, text);
    let mut cache = SegmentCache::new(vocabulary);
    let mut reader = Reader { opened, ..Reader::new(&normal, vocabulary, &mut cache) };
    let (mut at, mut before) = (0, Before::default());
    while at < normal.len() {
        at = reader.segment(at, &mut before);
    }
    reader.total + reader.cache.flush(normal.as_bytes())
}

/// Tokens of the same text, read by windows.
#[must_use]
pub fn count_wide(family: Family, text: &str, opened: bool) -> usize {
    let vocabulary = vocabulary(family);
    let normal = normal(vocabulary, text);
    Reader { opened, ..Reader::new(&normal, vocabulary, &mut SegmentCache::new(vocabulary)) }.tokens()
}

/// The normal form by its definition: each step is a pass over the whole text.
fn normal(vocabulary: &Vocabulary, text: &str) -> String {
    let straight = |c| match c {
        '\u{2018}' | '\u{2019}' if vocabulary.folds_quotes => '\'',
        '\u{201C}' | '\u{201D}' if vocabulary.folds_quotes => '"',
        other => other,
    };
    let mut composed = String::new();
    compose(&text.chars().map(straight).collect::<String>(), &mut composed);
    let without_controls: String = composed.chars().filter(|c| !is_control(*c)).collect();
    let plain = |c: char| match c {
        '\u{E000}'..='\u{F8FF}' => None,
        other => Some(if Bits::of(other).is_replaced() { ' ' } else { other }),
    };
    without_controls.replace("\u{E4D}\u{E32}", "\u{E33}").chars().filter_map(plain).collect()
}

/// A family's pieces by their first three bytes; a shorter piece by all of its bytes.
pub struct Slow {
    vocabulary: &'static Vocabulary,
    pieces: HashMap<Vec<u8>, Vec<Vec<u8>>>,
}

impl Slow {
    #[must_use]
    pub fn new(family: Family) -> Self {
        let mut pieces: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
        for piece in family.pieces() {
            pieces.entry(piece[..piece.len().min(3)].to_vec()).or_default().push(piece);
        }
        Self { vocabulary: vocabulary(family), pieces }
    }

    /// The result of the fast cover.
    #[must_use]
    pub fn min_cover(&self, segment: &[u8]) -> u32 {
        self.vocabulary.pieces.min_cover(segment)
    }

    /// The fewest tokens of a segment with its markers, from the end to the start: the cost of a suffix is that of its first
    /// piece or character plus the cost of the rest.
    ///
    /// # Panics
    ///
    /// If between its markers a segment is not UTF-8.
    #[must_use]
    pub fn fewest(&self, segment: &[u8]) -> u32 {
        let mut cost = vec![u32::MAX; segment.len() + 1];
        cost[segment.len()] = 0;
        for at in (0..segment.len()).rev().filter(|at| !(0x80..0xC0).contains(&segment[*at])) {
            let rest = &segment[at..];
            let keys = (1..=rest.len().min(3)).filter_map(|length| self.pieces.get(&rest[..length]));
            let pieces = keys.flatten().filter(|piece| rest.starts_with(piece)).map(|piece| (piece.len(), 1));
            let ways = pieces.chain([self.alone(rest)]);
            cost[at] = ways.map(|(length, tokens)| cost[at + length].saturating_add(tokens)).min().unwrap_or(u32::MAX);
        }
        cost[0]
    }

    /// Bytes and tokens of the character or marker that `rest` begins with, by itself.
    fn alone(&self, rest: &[u8]) -> (usize, u32) {
        if rest[0] < 0x80 || rest[0] >= BOW {
            return (1, 1);
        }
        let length = 1 + rest[1..].iter().take_while(|byte| (0x80..0xC0).contains(*byte)).count();
        let c = str::from_utf8(&rest[..length]).expect("one character").chars().next();
        (length, c.map_or(0, |c| self.vocabulary.pieces.alone(c as usize)))
    }
}
