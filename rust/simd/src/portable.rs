//! The page for any processor: eight bytes a word.
//!
//! Beside another page it serves tests alone. The masks are functions there, not inlined: 120 KB less in the library, a
//! third more time on this page.

use crate::kernel::{KEY, Kernel, Line, NEAR, Skipped, WIDE};
use crate::scalar::find_special;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const TOPS: u64 = ONES << 7;

/// The portable page.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

/// Collects the top bits of 64 bytes in a mask.
#[inline(always)]
fn gather(tops: [u64; 8]) -> u64 {
    // Each top bit is shifted into the highest byte, in order.
    let eight = |top: u64| (top >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eight(tops[0])
        | eight(tops[1]) << 8
        | eight(tops[2]) << 16
        | eight(tops[3]) << 24
        | eight(tops[4]) << 32
        | eight(tops[5]) << 40
        | eight(tops[6]) << 48
        | eight(tops[7]) << 56
}

/// The top bit of each byte that is at least `least`.
#[inline(always)]
fn from(word: u64, least: u8) -> u64 {
    let low = word & !TOPS;
    let sums = low + ONES * u64::from(0x80 - (least & 0x7F));
    (if least < 0x80 { sums | word } else { sums & word }) & TOPS
}

#[inline(always)]
fn between(word: u64, first: u8, last: u8) -> u64 {
    let found = from(word, first);
    if last == 0xFF { found } else { found & !from(word, last + 1) }
}

/// The top bit of each byte that is zero.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    !(((word & !TOPS) + !TOPS) | word) & TOPS
}

impl Kernel for Portable {
    type Window = [u64; 8];

    #[inline(always)]
    fn load(self, bytes: &[u8; WIDE]) -> [u64; 8] {
        bytemuck::cast(*bytes)
    }

    #[cfg_attr(v128, inline(never))]
    #[cfg_attr(not(v128), inline(always))]
    fn non_ascii(self, window: [u64; 8]) -> u64 {
        gather(window.map(|word| word & TOPS))
    }

    #[cfg_attr(v128, inline(never))]
    #[cfg_attr(not(v128), inline(always))]
    fn equal(self, window: [u64; 8], byte: u8) -> u64 {
        gather(window.map(|word| zeros(word ^ (ONES * u64::from(byte)))))
    }

    #[cfg_attr(v128, inline(never))]
    #[cfg_attr(not(v128), inline(always))]
    fn within(self, window: [u64; 8], first: u8, last: u8) -> u64 {
        gather(window.map(|word| between(word, first, last)))
    }

    #[cfg_attr(v128, inline(never))]
    #[cfg_attr(not(v128), inline(always))]
    fn letters(self, window: [u64; 8]) -> u64 {
        gather(window.map(|word| between(word | (ONES * 0x20), b'a', b'z')))
    }

    #[inline(always)]
    fn find(self, line: &Line, [low, high]: [u64; 2], mask: u64) -> Option<usize> {
        (0..4).find(|&place| line[place] == low && line[place + 4] & mask == high)
    }

    #[inline(always)]
    fn key(self, bytes: &[u8; KEY], mask: u128, tag: u128) -> [u64; 2] {
        let key = u128::from_le_bytes(*bytes) & mask | tag;
        [key as u64, (key >> 64) as u64]
    }

    #[inline(always)]
    fn first_special(self, bytes: &[u8; NEAR]) -> usize {
        find_special(bytes, 0)
    }

    #[inline(always)]
    fn skip_string(self, bytes: &[u8], at: usize) -> Skipped {
        Skipped { at: find_special(bytes, at), escapes: false }
    }
}
