//! What is known of parts of texts that came before, of one vocabulary and thread: their tokens, and the way through them.
//!
//! A part has one place, by its hash, and takes it from the part that was there. Each place holds its part, so no two parts
//! are taken for each other.

#![allow(clippy::cast_possible_truncation)] // hashes are reduced to places, and parts are short

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a part that is kept; a longer one does not come again.
pub const SHORT: usize = 56;

/// Tokens of a way that is kept.
pub const STEPS: usize = 8;

/// Places: 4 MB of parts, and as much of ways, of which the system gives what is used.
const PLACES: usize = 1 << 16;

/// A part: its bytes, their number, and its tokens; a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    text: [u8; SHORT],
    length: u8,
    /// Tokens of the way; 0 where it is not kept.
    steps: u8,
    /// Tokens of the part alone.
    count: u16,
    limit: f32,
}

const EMPTY: Line = Line { text: [0; SHORT], length: 0, steps: 0, count: 0, limit: 0.0 };

/// A way through a part that is kept.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The scores of its tokens.
    pub scores: [f64; STEPS],
    pub steps: usize,
    /// The largest score in front of the part with which the way is this one; below 0 where there is none.
    pub limit: f64,
}

/// Parts, by their places.
#[derive(Default)]
pub struct Ways {
    vocabulary: usize,
    lines: Vec<Line>,
    scores: Vec<[f64; STEPS]>,
}

impl Ways {
    /// Forgets the parts of another vocabulary.
    pub fn take(&mut self, vocabulary: usize) {
        if self.vocabulary != vocabulary {
            *self = Self { vocabulary, lines: vec![EMPTY; PLACES], scores: Vec::new() };
        }
    }

    /// The place of a part.
    pub fn place(part: &str) -> usize {
        xxh3_64(part.as_bytes()) as usize % PLACES
    }

    fn line(&self, part: &str, place: usize) -> Option<&Line> {
        let line = self.lines.get(place)?;
        let is_same = usize::from(line.length) == part.len() && &line.text[..part.len()] == part.as_bytes();
        is_same.then_some(line)
    }

    /// Tokens of a part alone.
    pub fn count(&self, part: &str, place: usize) -> Option<usize> {
        self.line(part, place).map(|line| usize::from(line.count))
    }

    /// The way through a part; None where it is not kept.
    pub fn way(&self, part: &str, place: usize) -> Option<Way> {
        let line = self.line(part, place).filter(|line| line.steps > 0)?;
        let scores = *self.scores.get(place)?;
        Some(Way { scores, steps: usize::from(line.steps), limit: f64::from(line.limit) })
    }

    /// Keeps the tokens of a part of at most [`SHORT`] bytes, and the way through it if there is one.
    pub fn insert(&mut self, part: &str, place: usize, count: usize, way: Option<&Way>) {
        let mut text = [0; SHORT];
        text[..part.len()].copy_from_slice(part.as_bytes());
        let limit = way.map_or(0.0, |way| (way.limit as f32).next_down()); // never more than it is
        let steps = way.map_or(0, |way| way.steps as u8);
        self.lines[place] = Line { text, length: part.len() as u8, steps, count: count as u16, limit };
        if let Some(way) = way {
            if self.scores.is_empty() {
                self.scores = vec![[0.0; STEPS]; PLACES];
            }
            self.scores[place] = way.scores;
        }
    }
}
