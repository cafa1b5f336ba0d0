//! Skips JSON strings, 32 and 64 bytes at a time.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use bytemuck::cast;

use crate::kernel::{NEAR, Skipped, WIDE};

#[target_feature(enable = "avx2,bmi1")]
#[inline]
pub fn first(window: &[u8; NEAR]) -> usize {
    let window: __m256i = cast(*window);
    let is = |byte: u8| _mm256_cmpeq_epi8(window, _mm256_set1_epi8(byte.cast_signed()));
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(window, _mm256_set1_epi8(0x1f)), window);
    let stops = _mm256_or_si256(_mm256_or_si256(is(b'"'), is(b'\\')), control);
    _mm256_movemask_epi8(stops).trailing_zeros() as usize
}

/// Skips a string up to a byte that the caller must check, or until less than a window is left.
///
/// Arithmetic on runs of backslashes separates escapes from escaped characters. Windows depend on each other by one bit
/// only, so the next one can load early.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn skip(bytes: &[u8], mut at: usize) -> Skipped {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // Whether a backslash before the window escapes its first byte; a mask that is not 0 after any backslash.
    let (mut carried, mut seen) = (0, 0);
    while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WIDE>()) {
        let window: [__m256i; 2] = cast(*window);
        let (slashes, quotes) = (are(window, b'\\'), are(window, b'"'));
        let opening = slashes & !carried;
        let behind = opening << 1;
        let odd = opening & !EVEN & !behind;
        let second = (EVEN ^ odd.wrapping_add(opening) << 1) & behind | carried;
        // Nearly all escaped characters are one of these three.
        let known = quotes | slashes | are(window, b'n');
        let odd = if second & !known == 0 { 0 } else { second & !bits(window, |half| simple(half)) };
        let controls = bits(window, |half| control(half));
        let stops = quotes & !second | controls | odd;
        if stops != 0 {
            let place = stops.trailing_zeros();
            let is_odd = (odd >> place & 1) as usize; // then stop at its backslash
            let escapes = seen | slashes & ((1 << place) - 1) != 0;
            return Skipped { at: at + place as usize - is_odd, escapes };
        }
        carried = (opening & !second) >> (WIDE - 1);
        seen |= slashes;
        at += WIDE;
    }
    Skipped { at: at - carried as usize, escapes: seen != 0 }
}

/// Control characters.
#[target_feature(enable = "avx2")]
#[inline]
fn control(half: __m256i) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(half, _mm256_set1_epi8(0x1f)), half)
}

/// The second bytes of two-byte escapes: `"`, `\`, `/`, b, f, n, r, t. A byte is one of them if the table entries of its two
/// halves share a bit.
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

/// Bitmap of the top bits of the bytes after `of`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn bits(halves: [__m256i; 2], of: impl Fn(__m256i) -> __m256i) -> u64 {
    let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(of(half)).cast_unsigned()));
    low | high << 32
}

/// The bytes equal to `byte`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn are(halves: [__m256i; 2], byte: u8) -> u64 {
    let byte = _mm256_set1_epi8(byte.cast_signed());
    bits(halves, |half| _mm256_cmpeq_epi8(half, byte))
}
