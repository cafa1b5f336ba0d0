//! The lookup tables of a vocabulary, built with the crate or when a file is loaded.
//!
//! The format is a slice of 64-bit words that is used in place: a header with the length of each section, then the sections.

#![allow(clippy::cast_possible_truncation)] // words are split into halves, and hashes reduced to table sizes

pub mod build;
mod cross;
mod short;

use std::collections::HashMap;

use bytemuck::cast_slice;

pub use cross::Cross;

/// Tokens that are one token as a pretoken, with the number of tokens that their bytes merge into elsewhere.
pub type Whole = HashMap<Vec<u8>, usize>;

/// Longest pretoken that a key holds, in bytes.
pub const SHORT: usize = 15;

/// Marks the absence of a token.
pub const NONE: u32 = u32::MAX;

/// Flag in the table of characters: the lower bits are a number of tokens, not a token.
const MANY: u32 = 1 << 31;

/// Bits of a token in an entry of the pair table.
const TOKEN: u32 = 21;

/// Pairs in a bucket, which is one cache line.
const PAIRS: usize = 8;

/// Number of sections.
const SECTIONS: usize = 6;

/// Words of the header: whole cache lines.
const HEADER: usize = SECTIONS.next_multiple_of(8);

/// A pretoken of at most [`SHORT`] bytes. The sixteenth byte holds its length and, in table entries, its count.
///
/// ```text
/// low word: bytes 0 to 7      high word: bytes 8 to 14 | count, 4 bits | length, 4 bits
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Key {
    /// Bytes 0 to 7, the first one lowest.
    pub low: u64,
    /// Bytes 8 to 14, and the length above them.
    pub high: u64,
}

/// Constants of the hash, one for each word of a key.
pub const SALT: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// Offset in bits of the count in the high word of an entry.
const COUNT: u32 = 56;

/// The high word without its count.
pub const WITHOUT_COUNT: u64 = !(0xF << COUNT);

impl Key {
    /// The key of `text[start..stop]`, which must be at most [`SHORT`] bytes long.
    #[inline]
    pub fn of(text: &[u8], start: usize, stop: usize) -> Self {
        if let Some(wide) = text.get(start..start + 16) {
            // One load of fixed size needs no branch on the length; the mask clears the bytes after the pretoken.
            let wide = u128::from_le_bytes(wide.try_into().unwrap_or_default());
            return Self::masked(wide, stop - start);
        }
        if let Some(last) = text.last_chunk::<16>() {
            let missing = 16 - (text.len() - start) as u32;
            return Self::masked(u128::from_le_bytes(*last).unbounded_shr(8 * missing), stop - start);
        }
        let mut wide = [0; 16];
        wide[..stop - start].copy_from_slice(&text[start..stop]);
        Self::masked(u128::from_le_bytes(wide), stop - start)
    }

    /// The key of the first `length` of sixteen bytes.
    #[inline]
    pub fn masked(wide: u128, length: usize) -> Self {
        let wide = wide & MASKS[length & 15];
        Self { low: wide as u64, high: (wide >> 64) as u64 | (length as u64) << 60 }
    }

    /// The high word of this pretoken's table entry with `count`.
    #[inline]
    pub fn with_count(self, count: usize) -> u64 {
        self.high | (count as u64) << COUNT
    }

    /// Hash of the key: one 128-bit multiplication, its halves combined by xor.
    #[inline]
    pub fn hash(self) -> u64 {
        let wide = u128::from(self.low ^ SALT[0]) * u128::from(self.high ^ SALT[1]);
        wide as u64 ^ (wide >> 64) as u64
    }

    /// Whether the pretoken is ASCII.
    #[inline]
    pub fn is_ascii(self) -> bool {
        (self.low | self.high << 8) & 0x8080_8080_8080_8080 == 0
    }

    /// The bytes of the pretoken.
    pub fn bytes(self) -> Bytes {
        let wide = u128::from(self.low) | u128::from(self.high) << 64;
        Bytes(wide.to_le_bytes(), (self.high >> 60) as usize)
    }
}

/// The bytes of a short pretoken, and their number.
pub struct Bytes([u8; 16], usize);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

/// The count in the high word of an entry.
#[inline]
pub fn count_of(high: u64) -> usize {
    (high >> COUNT & 0xF) as usize
}

/// Masks that keep the lowest bytes, by number of bytes.
pub const MASKS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut length = 1;
    while length < 16 {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// The length field of a key, by number of bytes.
pub const TAGS: [u128; 16] = {
    let mut tags = [0; 16];
    let mut length = 1;
    while length < 16 {
        tags[length] = (length as u128) << 124;
        length += 1;
    }
    tags
};

/// A key of the pair table: two tokens, and the bucket where probing starts, set by [`Tables::may_merge`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    tokens: u64,
    bucket: usize,
}

impl Pair {
    /// The pair of two tokens, not hashed yet.
    #[inline]
    pub fn of(left: u32, right: u32) -> Self {
        Self { tokens: u64::from(left) << TOKEN | u64::from(right), bucket: 0 }
    }
}

/// The tables of one vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Hash table of the tokens of at most [`SHORT`] bytes, with the count of each. A bucket is one cache line: the low
    /// words of four entries, then their high words. A full bucket overflows into the next one.
    short_tokens: &'static [[u64; 8]],
    /// Hash table from two tokens to the token that they merge into: eight entries a bucket, overflow into the next one.
    pairs: &'static [[u64; PAIRS]],
    /// Bloom filter of the pairs with one hash function: most lookups are of pairs that do not merge, and end here. It
    /// has 10 to 20 bits a pair.
    filter: &'static [u64],
    /// The token that two ASCII bytes merge into, by the bytes.
    ascii: &'static [u32],
    /// The token of each byte.
    bytes: &'static [u32],
    /// For each character of the basic multilingual plane its token, or [`MANY`] plus its number of tokens.
    chars: &'static [u32],
    /// Which neighbouring characters a token may span.
    pub cross: Cross,
    /// Whether each number of at most three digits is a token.
    pub whole_numbers: bool,
    /// Whether the bytes of each character merge before any token that holds the whole character and more.
    chars_come_first: bool,
    /// The tokens that no merges make, where such a pretoken is one token (`ignore_merges`).
    pub whole: Option<&'static Whole>,
}

impl Tables {
    /// The tables that [`make`](build::make) wrote, with their short tokens or without.
    ///
    /// # Panics
    ///
    /// If `words` are no tables.
    pub fn read(words: &'static [u64]) -> Self {
        let (lengths, mut rest) = words.split_at(HEADER);
        let mut next = |section: usize| {
            let (found, tail) = rest.split_at(usize::try_from(lengths[section]).unwrap_or(usize::MAX));
            rest = tail;
            found
        };
        let (short_tokens, pairs, ascii, bytes) = (next(0), next(1), next(2), cast_slice(next(3)));
        let short_tokens = if short_tokens.is_empty() { short::of_merges(pairs, bytes) } else { short_tokens };
        Self {
            short_tokens: cast_slice(short_tokens),
            pairs: cast_slice(pairs),
            filter: filter_of(pairs).leak(), // kept as long as the words
            ascii: cast_slice(ascii),
            bytes,
            chars: cast_slice(next(4)),
            cross: Cross::read(next(5)),
            whole_numbers: lengths[SECTIONS] & 1 == 1,
            chars_come_first: lengths[SECTIONS] & 2 == 2,
            whole: None,
        }
    }

    /// The bucket of a pretoken with that hash, to be prefetched.
    #[inline]
    pub fn short_bucket(&self, hash: u64) -> &'static [u64; 8] {
        &self.short_tokens[bucket_of(hash, self.short_tokens.len())]
    }

    /// The count of a short pretoken that is in the vocabulary; `find` searches one bucket.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn find_short(&self, key: Key, hash: u64, find: impl Fn(&[u64; 8], Key) -> Option<usize>) -> Option<usize> {
        let mut at = bucket_of(hash, self.short_tokens.len());
        loop {
            let bucket = &self.short_tokens[at];
            if let Some(count) = find(bucket, key) {
                return Some(count);
            }
            if bucket[7] == 0 {
                return None;
            }
            at = if at + 1 == self.short_tokens.len() { 0 } else { at + 1 };
        }
    }

    /// The token that two bytes merge into, or [`NONE`].
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn merged_bytes(&self, left: u8, right: u8) -> u32 {
        if (left | right) < 0x80 {
            return self.ascii[usize::from(left) << 7 | usize::from(right)];
        }
        self.merged(self.byte(left), self.byte(right))
    }

    /// The token that two tokens merge into, or [`NONE`]. A token's id is its merge rank: lower ranks merge first.
    #[inline]
    pub fn merged(&self, left: u32, right: u32) -> u32 {
        let mut pair = Pair::of(left, right);
        if self.may_merge(&mut pair) { self.find_merge(pair) } else { NONE }
    }

    /// Tests the Bloom filter and sets the pair's bucket. False is final; after true, [`Tables::find_merge`] decides.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn may_merge(&self, pair: &mut Pair) -> bool {
        let hash = hash_pair(pair.tokens);
        pair.bucket = bucket_of(hash, self.pairs.len());
        let (word, bit) = bit_of(hash, self.filter.len());
        self.filter[word] >> bit & 1 == 1
    }

    /// The bucket where [`Tables::find_merge`] starts, to be prefetched.
    #[inline]
    pub fn pair_bucket(&self, pair: Pair) -> &'static [u64; PAIRS] {
        &self.pairs[pair.bucket]
    }

    /// The token that a pair merges into, or [`NONE`]. [`Tables::may_merge`] must have set the pair's bucket.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn find_merge(&self, Pair { tokens, mut bucket }: Pair) -> u32 {
        loop {
            // Compares all entries: an early exit would be a branch that is often mispredicted. Token 0 is a byte, which no
            // pair merges into, so 0 means not found.
            let entries = &self.pairs[bucket];
            let of = |entry: u64| if entry >> TOKEN == tokens { entry & ((1 << TOKEN) - 1) } else { 0 };
            let found = entries.iter().fold(0, |found, &entry| found | of(entry));
            if found != 0 {
                return found as u32;
            }
            if entries[PAIRS - 1] == u64::MAX {
                return NONE;
            }
            bucket = if bucket + 1 == self.pairs.len() { 0 } else { bucket + 1 };
        }
    }

    /// The token of a byte.
    #[inline]
    pub fn byte(&self, byte: u8) -> u32 {
        self.bytes[usize::from(byte)]
    }

    /// Tokens of a character of the basic multilingual plane, counted by itself.
    #[inline]
    pub fn char(&self, point: u32) -> Option<usize> {
        self.chars.get(point as usize).map(|&token| if token < MANY { 1 } else { (token - MANY) as usize })
    }

    /// The token of a character of the basic multilingual plane, if it is a single token, and merges before others take it.
    #[inline]
    pub fn token(&self, point: u32) -> Option<u32> {
        self.chars.get(point as usize).copied().filter(|&token| token < MANY && self.chars_come_first)
    }

    /// The bytes of each token, by rank, rebuilt from the merges.
    pub fn vocabulary(&self) -> Vec<Vec<u8>> {
        let merges = by_token(self.pairs.as_flattened(), 256);
        let mut tokens = vec![Vec::new(); merges.len()];
        for byte in 0..=255 {
            tokens[self.byte(byte) as usize] = vec![byte];
        }
        for (token, merge) in merges.into_iter().enumerate() {
            if let Some((left, right)) = parts_of(merge) {
                // Both parts have lower ranks than the token that they merge into.
                tokens[token] = [&tokens[left][..], &tokens[right]].concat();
            }
        }
        tokens
    }
}

/// The bucket of a hash in a table of `buckets`. Uses the high half of the hash; the filter uses the low bits.
#[inline]
fn bucket_of(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// The word and the bit of a hash in a filter of `words`, a power of two.
#[inline]
fn bit_of(hash: u64, words: usize) -> (usize, usize) {
    let bit = hash as usize & (words * 64 - 1);
    (bit >> 6, bit & 63)
}

/// The entries of a pair table by the token that each makes, and [`u64::MAX`] for the tokens that none makes, which are `unmade`.
fn by_token(entries: &[u64], unmade: usize) -> Vec<u64> {
    let entries = || entries.iter().filter(|&&entry| entry != u64::MAX);
    let mut merges = vec![u64::MAX; unmade + entries().count()];
    for &entry in entries() {
        merges[token_of(entry)] = entry;
    }
    merges
}

/// The two tokens that an entry of the pair table merges, if it is one.
fn parts_of(entry: u64) -> Option<(usize, usize)> {
    (entry != u64::MAX).then(|| (token_of(entry >> (2 * TOKEN)), token_of(entry >> TOKEN)))
}

fn token_of(word: u64) -> usize {
    (word & ((1 << TOKEN) - 1)) as usize
}

/// The Bloom filter of the entries of a pair table.
fn filter_of(entries: &[u64]) -> Vec<u64> {
    let pairs = || entries.iter().filter(|&&entry| entry != u64::MAX).map(|&entry| entry >> TOKEN);
    let mut filter = vec![0; (pairs().count() * 10 / 64).next_power_of_two()];
    for pair in pairs() {
        let (word, bit) = bit_of(hash_pair(pair), filter.len());
        filter[word] |= 1_u64 << bit;
    }
    filter
}

#[inline]
fn hash_pair(pair: u64) -> u64 {
    let wide = u128::from(pair ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    wide as u64 ^ (wide >> 64) as u64
}
