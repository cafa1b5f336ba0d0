//! Encodes code points as UTF-8, four at a time.

use std::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_blendv_epi8, _mm_castsi128_ps, _mm_cmpgt_epi32, _mm_movemask_ps, _mm_or_si128,
    _mm_set1_epi32, _mm_shuffle_epi8, _mm_slli_epi32, _mm_srli_epi32, _mm_testz_si128,
};

use bytemuck::cast;

use crate::kernel::TRANSCODED;
use crate::scalar;

/// Shuffles that pack four characters from lanes of four bytes. Bits 0 to 3 of the index say which characters have one byte,
/// bits 4 to 7 which have at most two.
const SHUFFLES: [[u8; 16]; 256] = {
    let mut shuffles = [[0x80; 16]; 256];
    let mut which = 0;
    while which < 256 {
        let (mut lane, mut to) = (0, 0);
        while lane < 4 {
            let length = 3 - (which >> lane & 1) - (which >> (lane + 4) & 1);
            let mut byte = 0;
            while byte < length {
                shuffles[which][to] = (4 * lane + byte) as u8;
                (byte, to) = (byte + 1, to + 1);
            }
            lane += 1;
        }
        which += 1;
    }
    shuffles
};

/// Writes `units` to the beginning of `out`; returns the number of bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn transcode(units: &[u32], out: &mut [u8]) -> usize {
    let (fours, rest) = units.as_chunks::<4>();
    let all = |value: u32| _mm_set1_epi32(value.cast_signed());
    let (low, tail) = (all(0x3F), all(0x80));
    let mut at = 0;
    for four in fours {
        let units: __m128i = cast(*four);
        if _mm_testz_si128(units, all(0xFFFF_0000)) == 0 {
            at = scalar::transcode(four, out, at);
            continue;
        }
        let (one, two) = (_mm_cmpgt_epi32(all(0x80), units), _mm_cmpgt_epi32(all(0x800), units));
        let last = _mm_or_si128(_mm_and_si128(units, low), tail);
        let above = _mm_srli_epi32::<6>(units);
        let middle = _mm_or_si128(_mm_and_si128(above, low), tail);
        let of_two = _mm_or_si128(_mm_or_si128(above, all(0xC0)), _mm_slli_epi32::<8>(last));
        let first = _mm_or_si128(_mm_srli_epi32::<12>(units), all(0xE0));
        let of_three = _mm_or_si128(_mm_or_si128(first, _mm_slli_epi32::<8>(middle)), _mm_slli_epi32::<16>(last));
        let bytes = _mm_blendv_epi8(_mm_blendv_epi8(of_three, of_two, two), units, one);
        let bits = |mask| _mm_movemask_ps(_mm_castsi128_ps(mask)).cast_unsigned();
        let which = bits(one) | bits(two) << 4;
        let written: [u8; TRANSCODED] = cast(_mm_shuffle_epi8(bytes, cast(SHUFFLES[which as usize & 0xFF])));
        out[at..at + TRANSCODED].copy_from_slice(&written);
        at += 12 - which.count_ones() as usize;
    }
    scalar::transcode(rest, out, at)
}
