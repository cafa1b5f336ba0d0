//! What a thread remembers of the pieces that it has counted, within fixed bounds.
//!
//! | table | holds | bytes |
//! |---|---|---|
//! | near | any piece of at most 15 bytes: what was seen last, two to a place | 512 KB, so that it stays in a core's L2 |
//! | far | pieces of at most 15 bytes that are no token, four to a place | 4 MB |
//! | long | pieces of 16 to 59 bytes | 2 MB |
//! | longer | pieces of 60 to 123 bytes | 512 KB |
//!
//! A table is taken from the system as it fills, and goes when its thread ends. Each entry holds its piece, so that a
//! wrong count cannot be found whatever the hash. A new piece takes the place of an old one: nothing grows.

#![allow(clippy::cast_possible_truncation)] // hashes are cut to the size of a table

use super::simd;
use super::tables::{Key, WITHOUT_COUNT, count_of};

/// Places of the near table: two entries each.
const NEAR: usize = 1 << 14;

/// Places of the far table: four entries each.
const FAR: usize = 1 << 16;

/// Places of the long table, and of the longer one.
const LONG: usize = 1 << 15;
const LONGER: usize = 1 << 12;

/// Longest piece that is remembered.
pub const MEDIUM: usize = 128 - TAIL;

/// Bytes of an entry behind its piece: the count in two bytes, nothing, the length.
const TAIL: usize = 5;

/// The tables of one thread, for one vocabulary.
pub struct Cache {
    near: Box<[[u64; 4]]>,
    far: Box<[[u64; 8]]>,
    long: Box<[[u8; 64]]>,
    longer: Box<[[u8; 128]]>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            near: vec![[0; 4]; NEAR].into_boxed_slice(),
            far: vec![[0; 8]; FAR].into_boxed_slice(),
            long: vec![[0; 64]; LONG].into_boxed_slice(),
            longer: vec![[0; 128]; LONGER].into_boxed_slice(),
        }
    }
}

impl Cache {
    /// The count of a piece that was seen lately.
    #[inline]
    pub fn near(&self, key: Key, hash: u64) -> Option<usize> {
        let [low0, high0, low1, high1] = self.near[hash as usize & (NEAR - 1)];
        let first = low0 == key.low && high0 & WITHOUT_COUNT == key.high;
        let second = low1 == key.low && high1 & WITHOUT_COUNT == key.high;
        (first || second).then(|| count_of(if first { high0 } else { high1 }))
    }

    /// Asks for the place of a piece before it is looked up.
    #[inline]
    pub fn prefetch_near(&self, hash: u64) {
        simd::prefetch(&self.near[hash as usize & (NEAR - 1)]);
    }

    /// The same for the far table.
    #[inline]
    pub fn prefetch_far(&self, hash: u64) {
        simd::prefetch(&self.far[far_of(hash)]);
    }

    /// Remembers a piece: it comes first in its place, and what came first there comes second.
    #[inline]
    pub fn keep_near(&mut self, key: Key, hash: u64, count: usize) {
        let place = &mut self.near[hash as usize & (NEAR - 1)];
        *place = [key.low, key.with_count(count), place[0], place[1]];
    }

    /// The count of a piece that is no token.
    #[inline]
    pub fn far(&self, key: Key, hash: u64) -> Option<usize> {
        let place = &self.far[far_of(hash)];
        let found = place.chunks_exact(2).find(|entry| entry[0] == key.low && entry[1] & WITHOUT_COUNT == key.high);
        found.map(|entry| count_of(entry[1]))
    }

    /// Remembers a piece that is no token.
    #[inline]
    pub fn keep_far(&mut self, key: Key, hash: u64, count: usize) {
        let place = &mut self.far[far_of(hash)];
        place.copy_within(0..6, 2);
        (place[0], place[1]) = (key.low, key.with_count(count));
    }

    /// The count of a piece that no key holds, and its hash.
    #[inline]
    pub fn long(&self, piece: &[u8]) -> (Option<usize>, u64) {
        let hash = hash_of(piece);
        let entry: &[u8] = if piece.len() <= 64 - TAIL {
            &self.long[hash as usize & (LONG - 1)]
        } else {
            &self.longer[hash as usize & (LONGER - 1)]
        };
        let (bytes, tail) = entry.split_at(entry.len() - TAIL);
        let same = usize::from(tail[4]) == piece.len() && bytes[..piece.len()] == *piece;
        (same.then(|| usize::from(u16::from_le_bytes([tail[0], tail[1]]))), hash)
    }

    /// Remembers a piece that no key holds.
    pub fn keep_long(&mut self, piece: &[u8], hash: u64, count: usize) {
        let entry: &mut [u8] = if piece.len() <= 64 - TAIL {
            &mut self.long[hash as usize & (LONG - 1)]
        } else {
            &mut self.longer[hash as usize & (LONGER - 1)]
        };
        let (bytes, tail) = entry.split_at_mut(entry.len() - TAIL);
        bytes[..piece.len()].copy_from_slice(piece);
        tail[..2].copy_from_slice(&(count as u16).to_le_bytes());
        tail[4] = piece.len() as u8;
    }
}

/// The place in the far table: other bits of the hash than in the near one.
#[inline]
fn far_of(hash: u64) -> usize {
    (hash >> 20) as usize & (FAR - 1)
}

/// A hash of a long piece, fifteen bytes at a time.
#[inline]
fn hash_of(piece: &[u8]) -> u64 {
    let mut state = piece.len() as u64;
    let mut mix = |start: usize, stop: usize| {
        let key = Key::of(piece, start, stop);
        state = Key { low: key.low ^ state, high: key.high ^ state.rotate_left(32) }.hash();
    };
    let mut at = 0;
    while at + 15 < piece.len() {
        mix(at, at + 15);
        at += 15;
    }
    mix(at, piece.len());
    state
}
