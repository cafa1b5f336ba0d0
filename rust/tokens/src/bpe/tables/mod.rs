//! A vocabulary as tables that are read where they lie: made when the crate is built, or when a file is loaded.
//!
//! One run of 64-bit words: a header with the length of each section, then the sections. Nothing is parsed at load.

#![allow(clippy::cast_possible_truncation)] // words are cut into halves, and hashes to the size of a table

pub mod build;
mod cross;

use bytemuck::cast_slice;

pub use cross::Cross;

/// Longest pretoken that a key holds, in bytes.
pub const SHORT: usize = 15;

/// No token.
pub const NONE: u32 = u32::MAX;

/// No token either: what is above it is a number of tokens.
const MANY: u32 = 1 << 31;

/// Bits of a token in an entry of the pairs.
const TOKEN: u32 = 21;

/// Pairs in a line.
const PAIRS: usize = 8;

/// Sections of the tables, in order.
const SECTIONS: usize = 7;

/// A pretoken of at most [`SHORT`] bytes: its bytes, and in the last one its length and room for its count. It is written
/// as sixteen bytes, so its words lie in order.
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

/// What the words of a key are mixed with.
pub const SALT: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93];

/// Where the count lies in the high word of an entry.
const COUNT: u32 = 56;

/// The high word without its count.
pub const WITHOUT_COUNT: u64 = !(0xF << COUNT);

impl Key {
    /// The key of `text[start..stop]`, which must be at most [`SHORT`] bytes long.
    #[inline]
    pub fn of(text: &[u8], start: usize, stop: usize) -> Self {
        if let Some(wide) = text.get(start..start + 16) {
            // One read for all lengths; what lies behind the pretoken is masked away.
            let wide = u128::from_le_bytes(wide.try_into().unwrap_or_default());
            return Self::masked(wide, stop - start);
        }
        if let Some(last) = text.last_chunk::<16>() {
            let behind = 16 - (text.len() - start) as u32;
            return Self::masked(u128::from_le_bytes(*last).unbounded_shr(8 * behind), stop - start);
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

    /// The high word of the entry that says `count` for this pretoken.
    #[inline]
    pub fn with_count(self, count: usize) -> u64 {
        self.high | (count as u64) << COUNT
    }

    /// A well mixed hash: one wide multiplication, folded.
    #[inline]
    pub fn hash(self) -> u64 {
        let wide = u128::from(self.low ^ SALT[0]) * u128::from(self.high ^ SALT[1]);
        wide as u64 ^ (wide >> 64) as u64
    }

    /// Whether the pretoken is of ASCII alone.
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

/// The bytes of a short pretoken, and how many they are.
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

/// The low bytes, by how many they are.
pub const MASKS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut length = 1;
    while length < 16 {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// What a key has above its bytes, by how many they are.
pub const TAGS: [u128; 16] = {
    let mut tags = [0; 16];
    let mut length = 1;
    while length < 16 {
        tags[length] = (length as u128) << 124;
        length += 1;
    }
    tags
};

/// Two tokens, and the line where what they merge into is looked for first, once it is known that they may.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    tokens: u64,
    line: usize,
}

impl Pair {
    /// Two tokens of which nothing is known.
    #[inline]
    pub fn of(left: u32, right: u32) -> Self {
        Self { tokens: u64::from(left) << TOKEN | u64::from(right), line: 0 }
    }
}

/// The tables of one vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Pretokens of at most [`SHORT`] bytes that are in the vocabulary, with their counts: lines of four entries, their low words
    /// first; a full one goes on in the next.
    short_tokens: &'static [[u64; 8]],
    /// Two tokens and the token that they merge into: lines of eight, a full one goes on in the next.
    pairs: &'static [[u64; PAIRS]],
    /// A bit for each pair by its hash: most look-ups end here.
    filter: &'static [u64],
    /// What two ASCII bytes merge into.
    ascii: &'static [u32],
    /// The token of each byte.
    bytes: &'static [u32],
    /// Each character of the basic plane alone: its token, or [`MANY`] and how many it has.
    chars: &'static [u32],
    /// Which neighbours a token may span.
    pub cross: Cross,
    /// Whether each number of at most three digits is a token.
    pub whole_numbers: bool,
}

impl Tables {
    /// The tables that [`make`] wrote.
    ///
    /// # Panics
    ///
    /// If `words` are no tables.
    pub fn read(words: &'static [u64]) -> Self {
        let (lengths, mut rest) = words.split_at(SECTIONS.next_multiple_of(8));
        let mut next = |section: usize| {
            let (found, behind) = rest.split_at(usize::try_from(lengths[section]).unwrap_or(usize::MAX));
            rest = behind;
            found
        };
        Self {
            short_tokens: cast_slice(next(0)),
            pairs: cast_slice(next(1)),
            filter: next(2),
            ascii: cast_slice(next(3)),
            bytes: cast_slice(next(4)),
            chars: cast_slice(next(5)),
            cross: Cross::read(next(6)),
            whole_numbers: lengths[SECTIONS] == 1,
        }
    }

    /// Where the look-up of a pretoken with that hash begins.
    #[inline]
    pub fn line(&self, hash: u64) -> &'static [u64; 8] {
        &self.short_tokens[line_of(hash, self.short_tokens.len())]
    }

    /// Tokens of a pretoken that is in the vocabulary, as `find` finds them in a line.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn find_short(&self, key: Key, hash: u64, find: impl Fn(&[u64; 8], Key) -> Option<usize>) -> Option<usize> {
        let mut at = line_of(hash, self.short_tokens.len());
        loop {
            let line = &self.short_tokens[at];
            if let Some(count) = find(line, key) {
                return Some(count);
            }
            if line[7] == 0 {
                return None;
            }
            at = if at + 1 == self.short_tokens.len() { 0 } else { at + 1 };
        }
    }

    /// What two bytes merge into, or [`NONE`].
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn merged_bytes(&self, left: u8, right: u8) -> u32 {
        if (left | right) < 0x80 {
            return self.ascii[usize::from(left) << 7 | usize::from(right)];
        }
        self.merged(self.byte(left), self.byte(right))
    }

    /// What two tokens merge into, or [`NONE`]. A token's number is its rank: lower ones merge first.
    #[inline]
    pub fn merged(&self, left: u32, right: u32) -> u32 {
        let mut pair = Pair::of(left, right);
        if self.may_merge(&mut pair) { self.answer(pair) } else { NONE }
    }

    /// Whether two tokens may merge into one: most that do not end here. If they may, [`Tables::answer`] knows more.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn may_merge(&self, pair: &mut Pair) -> bool {
        let hash = hash_pair(pair.tokens);
        pair.line = line_of(hash, self.pairs.len());
        let bit = hash as usize & (self.filter.len() * 64 - 1);
        self.filter[bit >> 6] >> (bit & 63) & 1 == 1
    }

    /// Where [`Tables::answer`] begins to look.
    #[inline]
    pub fn place(&self, pair: Pair) -> &'static [u64; PAIRS] {
        &self.pairs[pair.line]
    }

    /// What such a pair merges into, or [`NONE`].
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn answer(&self, Pair { tokens, mut line }: Pair) -> u32 {
        loop {
            // All are compared, so that no branch depends on where it lies; 0 is a byte.
            let entries = &self.pairs[line];
            let of = |entry: u64| if entry >> TOKEN == tokens { entry & ((1 << TOKEN) - 1) } else { 0 };
            let found = entries.iter().fold(0, |found, &entry| found | of(entry));
            if found != 0 {
                return found as u32;
            }
            if entries[PAIRS - 1] == u64::MAX {
                return NONE;
            }
            line = if line + 1 == self.pairs.len() { 0 } else { line + 1 };
        }
    }

    /// The token of a byte.
    #[inline]
    pub fn byte(&self, byte: u8) -> u32 {
        self.bytes[usize::from(byte)]
    }

    /// Tokens of a character of the basic plane that stands alone.
    #[inline]
    pub fn char(&self, point: u32) -> Option<usize> {
        self.chars.get(point as usize).map(|&token| if token < MANY { 1 } else { (token - MANY) as usize })
    }

    /// The token of a character of the basic plane that is one.
    #[inline]
    pub fn token(&self, point: u32) -> Option<u32> {
        self.chars.get(point as usize).copied().filter(|&token| token < MANY)
    }

    /// The bytes of each token, by rank: bytes and what they merge into.
    pub fn vocabulary(&self) -> Vec<Vec<u8>> {
        let mask = (1 << TOKEN) - 1;
        let mut made: Vec<(u64, u64, u64)> = self
            .pairs
            .as_flattened()
            .iter()
            .filter(|&&entry| entry != u64::MAX)
            .map(|&entry| (entry & mask, entry >> (2 * TOKEN), entry >> TOKEN & mask))
            .collect();
        made.sort_unstable();
        let mut tokens = vec![Vec::new(); 256 + made.len()];
        for byte in 0..=255 {
            tokens[self.byte(byte) as usize] = vec![byte];
        }
        for (token, left, right) in made {
            // Both parts are older than what they merge into.
            tokens[token as usize] = [&tokens[left as usize][..], &tokens[right as usize]].concat();
        }
        tokens
    }
}

/// A place in a table of `places`, from the high half of a hash.
#[inline]
fn line_of(hash: u64, places: usize) -> usize {
    (((hash >> 32) * places as u64) >> 32) as usize
}

#[inline]
fn hash_pair(pair: u64) -> u64 {
    let wide = u128::from(pair ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
    wide as u64 ^ (wide >> 64) as u64
}
