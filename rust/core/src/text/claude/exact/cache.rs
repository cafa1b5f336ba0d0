//! What cells cost, remembered: bounded, and each thread its own.

#![allow(clippy::cast_possible_truncation)] // lengths are below 48, and half a key is what is meant

/// Entries of short cells: a mebibyte, which a core's second cache holds.
const SHORT: usize = 1 << 16;
/// Entries of longer cells: 832 KiB, made with the first of them.
const LONG: usize = 1 << 14;
/// Bytes of a short cell: what is left of sixteen beside its kind, its length and its tokens.
const SHORT_BYTES: usize = 14;
/// Bytes of the longest cell that is remembered.
const LONG_BYTES: usize = 46;

/// Tokens by cell. A cell takes the place of the one that was in its slot: the size never changes.
pub struct Cache {
    /// Key in the low fifteen bytes, tokens in the last; 0 is empty.
    short: Vec<u128>,
    long: Vec<([u8; 48], u32)>,
}

/// Where a cell is remembered, or would be.
pub enum Slot {
    Short(usize, u128),
    Long(usize, [u8; 48]),
    /// It is too long.
    None,
}

const TOKENS: u32 = 120;

impl Cache {
    pub fn new() -> Self {
        Self { short: vec![0; SHORT], long: Vec::new() }
    }

    /// The tokens of `text[at..end]` as a cell of `kind` (1 to 15), or where to put them.
    #[inline]
    pub fn find(&mut self, text: &[u8], at: usize, end: usize, kind: u8) -> Result<u32, Slot> {
        let length = end - at;
        if length > SHORT_BYTES {
            return self.find_long(&text[at..end], kind);
        }
        let bytes = if let Some(sixteen) = text[at..].first_chunk::<16>() {
            u128::from_le_bytes(*sixteen)
        } else {
            let mut sixteen = [0; 16];
            sixteen[..length].copy_from_slice(&text[at..end]);
            u128::from_le_bytes(sixteen)
        };
        self.find_short(bytes, length, kind)
    }

    /// The same for the first `length` of sixteen bytes, at most 14.
    #[inline]
    pub fn find_short(&self, bytes: u128, length: usize, kind: u8) -> Result<u32, Slot> {
        let cell = bytes & ((1 << (8 * length)) - 1);
        let key = cell | (u128::from((kind << 4) | length as u8) << (8 * SHORT_BYTES));
        let slot = slot(key);
        let entry = self.short[slot];
        if entry << 8 == key << 8 { Ok((entry >> TOKENS) as u32) } else { Err(Slot::Short(slot, key)) }
    }

    fn find_long(&mut self, cell: &[u8], kind: u8) -> Result<u32, Slot> {
        if cell.len() > LONG_BYTES {
            return Err(Slot::None);
        }
        if self.long.is_empty() {
            self.long = vec![([0; 48], 0); LONG];
        }
        let length = cell.len() as u8;
        // The first sixteen bytes, the last, and those between: what is left out tells few cells apart.
        let mut first = [0; 16];
        first[..cell.len().min(16)].copy_from_slice(&cell[..cell.len().min(16)]);
        let mut hash = mix(u128::from_le_bytes(first)) ^ u64::from(length);
        for part in [cell[cell.len() / 3..].first_chunk::<16>(), cell.last_chunk()].into_iter().flatten() {
            hash = mix(u128::from_le_bytes(*part)) ^ hash.rotate_left(23);
        }
        let slot = (hash >> 40) as usize % LONG;
        let (known, tokens) = &self.long[slot];
        if known[46] == kind && known[47] == length && known[..cell.len()] == *cell {
            return Ok(*tokens);
        }
        let mut key = [0; 48];
        key[..cell.len()].copy_from_slice(cell);
        (key[46], key[47]) = (kind, length);
        Err(Slot::Long(slot, key))
    }

    /// Remembers a cell's tokens.
    pub fn put(&mut self, slot: &Slot, tokens: u32) {
        match *slot {
            Slot::Short(at, key) => self.short[at] = key | (u128::from(tokens) << TOKENS),
            Slot::Long(at, key) => self.long[at] = (key, tokens),
            Slot::None => {}
        }
    }
}

#[inline]
fn slot(key: u128) -> usize {
    (mix(key) >> 48) as usize
}

/// Both halves of a key, multiplied into one: two multiplications, the best bits on top.
#[inline]
fn mix(key: u128) -> u64 {
    let (low, high) = (key as u64, (key >> 64) as u64);
    (low.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high.rotate_left(29)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}
