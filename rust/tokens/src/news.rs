//! Pieces that a thread has learned, for others to be told: to be told of one takes less than to look it up.

use std::ops::Range;

/// Pieces of one thread's news: what it learns beyond that it keeps for itself.
pub const MOST: usize = 4_096;

/// Bytes of those that no key holds.
pub const MOST_BYTES: usize = 64 * 1024;

/// Pieces that a thread has learned, with their counts.
#[derive(Debug, Default)]
pub struct News {
    /// The words of a key, with its count, as a table holds them.
    pub short: Vec<(u64, u64)>,
    /// Those that no key holds: where they are in `bytes`, with their hashes.
    pub long: Vec<(Range<usize>, u64, usize)>,
    pub bytes: Vec<u8>,
}

impl News {
    /// Adds a piece of at most 15 bytes: the words of its key, with its count.
    #[inline]
    pub fn short(&mut self, entry: (u64, u64)) {
        if self.short.len() < MOST {
            self.short.push(entry);
        }
    }

    /// Adds a longer one.
    pub fn long(&mut self, piece: &[u8], hash: u64, count: usize) {
        let start = self.bytes.len();
        if self.long.len() < MOST && start + piece.len() <= MOST_BYTES {
            self.bytes.extend_from_slice(piece);
            self.long.push((start..self.bytes.len(), hash, count));
        }
    }

    /// Bytes that they take.
    pub fn size(&self) -> usize {
        size_of_val(&self.short[..]) + size_of_val(&self.long[..]) + self.bytes.len()
    }

    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_empty()
    }
}
