//! Operations on a byte, a word or a code point at a time, for the ends of texts and as defaults of the pages.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const TOPS: u64 = ONES << 7;

/// The first quote, backslash or control character from `at` on; the length of `bytes` if there is none.
#[must_use]
pub fn find_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let found = specials(u64::from_le_bytes(*eight));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_special = |b: &u8| matches!(b, b'"' | b'\\' | 0..0x20);
    bytes[at..].iter().position(is_special).map_or(bytes.len(), |n| at + n)
}

/// The top bit of each of eight bytes that is special. Only the lowest set bit is exact.
#[inline(always)]
fn specials(word: u64) -> u64 {
    let (quote, slash) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    (zero(quote) | zero(slash) | (word.wrapping_sub(ONES * 0x20) & !word)) & TOPS
}

/// [`Kernel::pairs`](crate::Kernel::pairs), one pair of bytes at a time.
pub fn pairs(bytes: &[u8], known: &[u8; 16]) -> u64 {
    let is_known = |pair: &[u8]| {
        let sixteen = usize::from(pair[0] & 0x10) >> 2 | usize::from(pair[1] >> 4 & 3);
        (0xC0..0xE0).contains(&pair[0])
            && pair[1] & 0xC0 == 0x80
            && known[usize::from(pair[0] & 15)] >> sixteen & 1 != 0
    };
    bytes.windows(2).enumerate().map(|(place, pair)| u64::from(is_known(pair)) << place).sum()
}

/// [`Kernel::transcode`](crate::Kernel::transcode) from `at` on, one code point at a time; returns where the last one ends.
pub fn transcode(units: &[u32], out: &mut [u8], at: usize) -> usize {
    units.iter().fold(at, |at, &unit| {
        let Some(c) = char::from_u32(unit) else {
            out[at] = 0xFF;
            return at + 1;
        };
        at + c.encode_utf8(&mut out[at..]).len()
    })
}
