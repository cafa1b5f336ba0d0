//! Which neighbouring characters a token may span. Where no token can span two characters, a pretoken is sub-split there
//! and its parts are counted separately.

use bytemuck::cast_slice;

/// Words of a bitmap of the basic multilingual plane.
const PLANE: usize = 0x1_0000 / 64;

/// Bitmaps of characters and a hash table of pairs. Characters of other planes are not stored and always may be spanned.
#[derive(Clone, Copy, Debug)]
pub struct Cross {
    /// Characters with a right neighbour in some token.
    left: &'static [u64],
    /// Characters with a left neighbour in some token.
    right: &'static [u64],
    /// Characters that stand whole in some token before a part of another.
    before_part: &'static [u64],
    /// Characters that stand whole in some token behind a part of another.
    behind_part: &'static [u64],
    /// Last and first byte of two parts in one token.
    parts: &'static [u64],
    /// Hash table of the neighbours in some token: open addressing, 0 for an empty slot.
    pairs: &'static [u32],
}

impl Cross {
    pub(super) fn read(words: &'static [u64]) -> Self {
        let set = |n: usize| &words[n * PLANE..(n + 1) * PLANE];
        Self {
            left: set(0),
            right: set(1),
            before_part: set(2),
            behind_part: set(3),
            parts: set(4),
            pairs: cast_slice(&words[5 * PLANE..]),
        }
    }

    /// Whether a token may span the boundary between characters `x` and `y` and hold only a part of one of them. `last` and
    /// `first` are the bytes before and after the boundary.
    #[inline]
    pub fn breaks(&self, x: u32, y: u32, last: u8, first: u8) -> bool {
        (x | y) >= 0x1_0000
            || has(self.before_part, x)
            || has(self.behind_part, y)
            || has(self.parts, u32::from(last) << 8 | u32::from(first))
    }

    /// Whether any token may span that boundary.
    #[inline]
    pub fn may(&self, x: u32, y: u32, last: u8, first: u8) -> bool {
        if self.breaks(x, y, last, first) {
            return true;
        }
        has(self.left, x) && has(self.right, y) && find(self.pairs, x << 16 | y).is_ok()
    }
}

#[inline]
fn has(set: &[u64], point: u32) -> bool {
    set[(point >> 6) as usize] >> (point & 63) & 1 == 1
}

/// The slot of `pair`, else the empty slot where it belongs.
#[inline]
fn find(pairs: &[u32], pair: u32) -> Result<usize, usize> {
    let mask = pairs.len() - 1;
    let mut at = (pair.wrapping_mul(0x9E37_79B1) >> 12) as usize & mask;
    loop {
        match pairs[at] {
            found if found == pair => return Ok(at),
            0 => return Err(at),
            _ => at = (at + 1) & mask,
        }
    }
}

/// Packs two numbers into a word, the first one low.
pub fn packed(numbers: &[u32]) -> Vec<u64> {
    numbers.chunks_exact(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect()
}

/// The words that [`Cross::read`] reads, for these tokens.
pub(super) fn make(tokens: &[Vec<u8>]) -> Vec<u64> {
    let mut words = vec![0; 5 * PLANE];
    let mut set = |n: usize, point: u32| words[n * PLANE + (point >> 6) as usize] |= 1 << (point & 63);
    let mut pairs = std::collections::HashSet::new();
    for token in tokens {
        for at in (1..token.len()).filter(|&at| !continues(token[at])) {
            let start = (0..at).rev().find(|&i| !continues(token[i])).unwrap_or(0);
            let stop = (at + 1..token.len()).find(|&i| !continues(token[i])).unwrap_or(token.len());
            match (plain(&token[start..at]), plain(&token[at..stop])) {
                (Some(x), Some(y)) if (x | y) < 0x1_0000 => {
                    set(0, x);
                    set(1, y);
                    pairs.insert(x << 16 | y);
                }
                (Some(_), Some(_)) => {} // other planes: always spanned
                (Some(x), None) if x < 0x1_0000 => set(2, x),
                (None, Some(y)) if y < 0x1_0000 => set(3, y),
                _ => set(4, u32::from(token[at - 1]) << 8 | u32::from(token[at])),
            }
        }
    }
    let mut slots = vec![0_u32; ((pairs.len() + 1) * 3 / 2).next_power_of_two().max(2)];
    let mut pairs: Vec<u32> = pairs.into_iter().filter(|&pair| pair != 0).collect();
    pairs.sort_unstable();
    for pair in pairs {
        if let Err(at) = find(&slots, pair) {
            slots[at] = pair;
        }
    }
    words.extend(packed(&slots));
    words
}

/// Whether a byte is a UTF-8 continuation byte.
fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The first character, if the bytes are UTF-8.
fn plain(bytes: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.chars().next().map(u32::from)
}
