//! Going over the strings of JSON, thirty-two and sixty-four bytes at a time: what [`super::super::pass`] means.

#![allow(clippy::cast_possible_truncation)] // a bit in a word

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use bytemuck::cast;

use super::{are, bits, halves};
use crate::pass::{NEAR, Passed};
use crate::starts::WIDE;

#[target_feature(enable = "avx2,bmi1")]
#[inline]
pub fn first(window: &[u8; NEAR]) -> usize {
    let window: __m256i = cast(*window);
    let is = |byte: u8| _mm256_cmpeq_epi8(window, _mm256_set1_epi8(byte.cast_signed()));
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(window, _mm256_set1_epi8(0x1f)), window);
    let stops = _mm256_or_si256(_mm256_or_si256(is(b'"'), is(b'\\')), control);
    _mm256_movemask_epi8(stops).trailing_zeros() as usize
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn slashes(window: &[u8; WIDE]) -> (u64, bool) {
    let window = halves(window);
    (are(window, b'\\'), bits(window, |half| half) == 0)
}

/// Up to where a string wants another look, or less than a window is left.
///
/// Escapes are told from what they escape by arithmetic on runs of backslashes, as all parsers of this kind do. From
/// window to window goes one bit, not the place: the next one is read before this one is understood.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn pass(bytes: &[u8], mut at: usize) -> Passed {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // Whether the first byte of the window belongs to a backslash before it, and all backslashes.
    let (mut carried, mut seen) = (0, 0);
    while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WIDE>()) {
        let window = halves(window);
        let (slashes, quotes) = (are(window, b'\\'), are(window, b'"'));
        let opening = slashes & !carried;
        let behind = opening << 1;
        let odd = opening & !EVEN & !behind;
        let second = (EVEN ^ odd.wrapping_add(opening) << 1) & behind | carried;
        // Nearly all are of these three.
        let known = quotes | slashes | are(window, b'n');
        let odd = if second & !known == 0 { 0 } else { second & !bits(window, |half| simple(half)) };
        let controls = bits(window, |half| control(half));
        let stops = quotes & !second | controls | odd;
        if stops != 0 {
            let place = stops.trailing_zeros();
            let is_odd = (odd >> place & 1) as usize; // then from its backslash on
            let escapes = seen | slashes & ((1 << place) - 1) != 0;
            return Passed { at: at + place as usize - is_odd, escapes };
        }
        carried = (opening & !second) >> (WIDE - 1);
        seen |= slashes;
        at += WIDE;
    }
    Passed { at: at - carried as usize, escapes: seen != 0 }
}

/// Control characters.
#[target_feature(enable = "avx2")]
#[inline]
fn control(half: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(half, _mm256_set1_epi8(0x1f)), half)
}

/// The bytes that make an escape of two with a backslash, and need nothing more: `"`, `\`, `/`, b, f, n, r, t.
///
/// A byte is one of them if its halves have a bit in common in two tables.
#[target_feature(enable = "avx2")]
#[inline]
fn simple(half: __m256i) -> __m256i {
    let last = _mm256_setr_epi8(
        0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1, 0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1,
    );
    let first = _mm256_setr_epi8(
        0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0,
    );
    let fours = _mm256_and_si256(_mm256_srli_epi16::<4>(half), _mm256_set1_epi8(15));
    let common = _mm256_and_si256(_mm256_shuffle_epi8(last, half), _mm256_shuffle_epi8(first, fours));
    _mm256_cmpgt_epi8(common, _mm256_setzero_si256())
}
