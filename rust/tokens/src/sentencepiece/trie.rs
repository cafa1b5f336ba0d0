//! The pieces that begin at a place of a text, byte by byte: a double array.
//!
//! A node's children lie at its base combined with their bytes by exclusive or. No two nodes have the same base, so a child
//! that lies there with its own byte is that node's. Behind each node's word lies the score of its piece, in the same cache
//! line.

#![allow(clippy::cast_possible_truncation)] // parts of words

use std::collections::HashSet;
use std::ops::Range;

/// The bit of a slot that holds a node; the byte that leads to it lies below.
const USED: u64 = 1 << 8;

/// Where the number of a node's piece begins; 0 for none, else one more than the number.
const PIECE: u32 = 9;

/// Bits of the number.
const PIECE_BITS: u32 = 23;

/// Where the base begins; 0 for a node without children.
const BASE: u32 = 32;

/// Slots whose numbers differ in the last byte alone.
const BLOCK: usize = 256;

/// Free slots that are tried for a node's children before a block is added: more save little memory.
const TRIES: usize = 48;

/// The most pieces that a trie holds.
pub const MOST: usize = (1 << PIECE_BITS) - 2;

/// A trie.
#[derive(Clone, Copy, Debug)]
pub struct Trie(pub &'static [u64]);

/// A place in a trie: the bytes of a text up to here are the beginning of some piece.
#[derive(Clone, Copy, Debug)]
pub struct Place(u64, u64);

impl Place {
    /// The piece that ends here.
    pub fn piece(self) -> Option<usize> {
        ((self.0 >> PIECE) as usize & ((1 << PIECE_BITS) - 1)).checked_sub(1)
    }

    /// Its score.
    pub fn score(self) -> f64 {
        f64::from_bits(self.1)
    }
}

impl Trie {
    /// The place before any byte.
    pub fn root(self) -> Place {
        self.0.first_chunk().map_or(Place(0, 0), |&[unit, score]| Place(unit, score))
    }

    /// The place behind one more byte, if a piece goes on with it.
    pub fn step(self, place: Place, byte: u8) -> Option<Place> {
        let child = 2 * ((place.0 >> BASE) as usize ^ byte as usize);
        let &[unit, score] = self.0.get(child..child + 2)?.first_chunk()?;
        (unit & (USED | 0xFF) == USED | u64::from(byte)).then_some(Place(unit, score))
    }

    /// The piece that a text is.
    pub fn get(self, text: &[u8]) -> Option<usize> {
        text.iter().try_fold(self.root(), |place, &byte| self.step(place, byte))?.piece()
    }
}

/// The words of a trie with these texts, sorted and different; each is the piece of its number, and has a score.
///
/// Texts without bytes are left out, and the caller has no more than [`MOST`].
pub fn build(texts: &[(&[u8], u32)], scores: &[f64]) -> Vec<u64> {
    let mut slots = Slots::new();
    let mut nodes: Vec<(usize, Range<usize>, usize)> = vec![(0, 0..texts.len(), 0)];
    let mut children: Vec<(u8, Range<usize>)> = Vec::new();
    while let Some((slot, mut range, depth)) = nodes.pop() {
        let ends = |place: usize| texts[place].0.len() == depth;
        if !range.is_empty() && ends(range.start) {
            if depth > 0 {
                slots.units[slot] |= u64::from(texts[range.start].1 + 1) << PIECE;
            }
            range.start += 1;
        }
        children.clear();
        while !range.is_empty() {
            let byte = texts[range.start].0[depth];
            let same = texts[range.clone()].partition_point(|(text, _)| text[depth] == byte);
            children.push((byte, range.start..range.start + same));
            range.start += same;
        }
        if children.is_empty() {
            continue;
        }
        let base = slots.base_for(&children);
        slots.units[slot] |= (base as u64) << BASE;
        for (byte, range) in &children {
            let child = base ^ *byte as usize;
            slots.take(child);
            slots.units[child] = USED | u64::from(*byte);
            nodes.push((child, range.clone(), depth + 1));
        }
    }
    let score = |unit: u64| Place(unit, 0).piece().map_or(0, |piece| scores[piece].to_bits());
    slots.units.into_iter().flat_map(|unit| [unit, score(unit)]).collect()
}

/// The slots of a trie that is being made, with a list of the free ones.
struct Slots {
    units: Vec<u64>,
    /// The free slots before and behind each one, in a circle through slot 0, which is none.
    free: Vec<(u32, u32)>,
    bases: HashSet<usize>,
}

impl Slots {
    fn new() -> Self {
        let mut slots = Self { units: Vec::new(), free: vec![(0, 0)], bases: [0].into() };
        slots.grow();
        slots
    }

    /// Adds a block of free slots; of the first block all but the root's.
    fn grow(&mut self) {
        let start = self.units.len();
        self.units.resize(start + BLOCK, 0);
        self.free.resize(start + BLOCK, (0, 0));
        for slot in start.max(1)..start + BLOCK {
            let last = self.free[0].0;
            self.free[slot] = (last, 0);
            self.free[last as usize].1 = slot as u32;
            self.free[0].0 = slot as u32;
        }
    }

    fn take(&mut self, slot: usize) {
        let (before, behind) = self.free[slot];
        self.free[before as usize].1 = behind;
        self.free[behind as usize].0 = before;
    }

    /// A base that no node has, whose slots for these bytes are free.
    fn base_for(&mut self, children: &[(u8, Range<usize>)]) -> usize {
        let first = children[0].0 as usize;
        let mut slot = self.free[0].1 as usize;
        for _ in 0..TRIES {
            if slot == 0 {
                break;
            }
            let base = slot ^ first;
            let is_free = |&(byte, _): &(u8, Range<usize>)| {
                let child = base ^ byte as usize;
                child != 0 && self.units[child] == 0
            };
            if !self.bases.contains(&base) && children.iter().all(is_free) {
                self.bases.insert(base);
                return base;
            }
            slot = self.free[slot].1 as usize;
        }
        let base = self.units.len();
        self.grow();
        self.bases.insert(base);
        base
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn next(seed: &mut u64) -> usize {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize
    }

    #[test]
    fn a_trie_has_its_texts_and_no_others() {
        let mut seed = 5;
        for alphabet in [2, 5, 256] {
            let mut texts = BTreeMap::new();
            for number in 0..3_000 {
                let length = 1 + next(&mut seed) % 6;
                let text: Vec<u8> = (0..length).map(|_| (next(&mut seed) % alphabet) as u8).collect();
                texts.insert(text, number);
            }
            let sorted: Vec<(&[u8], u32)> = texts.iter().map(|(text, &number)| (&text[..], number)).collect();
            let scores: Vec<f64> = (0..3_000).map(f64::from).collect();
            let trie = Trie(Vec::leak(build(&sorted, &scores)));
            for _ in 0..20_000 {
                let length = next(&mut seed) % 8;
                let text: Vec<u8> = (0..length).map(|_| (next(&mut seed) % alphabet) as u8).collect();
                assert_eq!(trie.get(&text), texts.get(&text).map(|&number| number as usize), "{text:?}");
            }
            assert!(texts.iter().all(|(text, &number)| trie.get(text) == Some(number as usize)));
        }
    }

    #[test]
    fn a_trie_of_nothing_has_nothing() {
        let (empty, none) = (Trie(Vec::leak(build(&[], &[]))), Trie(&[]));
        for text in [&b""[..], b"\0", b"a", b"\xff\0"] {
            assert_eq!((empty.get(text), none.get(text)), (None, None));
        }
    }
}
