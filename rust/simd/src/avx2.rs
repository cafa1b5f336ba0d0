//! The page for x86-64 processors with AVX2 and the bit instructions that came with it.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_and_si128, _mm_or_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_castsi256_pd,
    _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_movemask_pd, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_sub_epi8,
};

use bytemuck::cast;

use crate::kernel::{KEY, Kernel, Line, NEAR, Skipped, WIDE, Work};
use crate::strings;
use crate::v128::transcode;

/// Proof that the features of [`run`] were detected.
#[derive(Clone, Copy)]
pub struct Avx2(());

/// Runs `work` compiled with these instructions.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn run<W: Work>(work: W) -> W::Output {
    work.run(Avx2(()))
}

impl Kernel for Avx2 {
    type Window = [__m256i; 2];

    #[inline(always)]
    fn load(self, bytes: &[u8; WIDE]) -> [__m256i; 2] {
        cast(*bytes)
    }

    #[inline(always)]
    fn non_ascii(self, [low, high]: [__m256i; 2]) -> u64 {
        // SAFETY: an `Avx2` exists only where its features were detected; this holds for all methods.
        unsafe {
            let [low, high] = [_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)];
            u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
        }
    }

    #[inline(always)]
    fn equal(self, [low, high]: [__m256i; 2], byte: u8) -> u64 {
        // SAFETY: as above.
        unsafe {
            let byte = _mm256_set1_epi8(byte.cast_signed());
            let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, byte));
            let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, byte));
            u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
        }
    }

    #[inline(always)]
    fn within(self, [low, high]: [__m256i; 2], first: u8, last: u8) -> u64 {
        // SAFETY: as above.
        unsafe {
            let (from, most) = (_mm256_set1_epi8(first.cast_signed()), _mm256_set1_epi8((last - first).cast_signed()));
            let (low, high) = (_mm256_sub_epi8(low, from), _mm256_sub_epi8(high, from));
            let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(low, most), low));
            let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(high, most), high));
            u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
        }
    }

    #[inline(always)]
    fn letters(self, [low, high]: [__m256i; 2]) -> u64 {
        // SAFETY: as above.
        unsafe {
            let small = _mm256_set1_epi8(0x20);
            self.within([_mm256_or_si256(low, small), _mm256_or_si256(high, small)], b'a', b'z')
        }
    }

    #[inline(always)]
    fn find(self, line: &Line, [low, high]: [u64; 2], mask: u64) -> Option<usize> {
        // SAFETY: as above.
        unsafe {
            let [lows, highs]: [__m256i; 2] = cast(*line);
            let lows = _mm256_cmpeq_epi64(lows, _mm256_set1_epi64x(low.cast_signed()));
            let highs = _mm256_and_si256(highs, _mm256_set1_epi64x(mask.cast_signed()));
            let highs = _mm256_cmpeq_epi64(highs, _mm256_set1_epi64x(high.cast_signed()));
            let found = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_and_si256(lows, highs))).cast_unsigned();
            if found == 0 { None } else { Some(found.trailing_zeros() as usize % 4) }
        }
    }

    #[inline(always)]
    fn key(self, bytes: &[u8; KEY], mask: u128, tag: u128) -> [u64; 2] {
        let [mask, tag]: [__m128i; 2] = cast([mask, tag]);
        // SAFETY: as above.
        unsafe { cast(_mm_or_si128(_mm_and_si128(cast(*bytes), mask), tag)) }
    }

    #[inline(always)]
    fn first_special(self, bytes: &[u8; NEAR]) -> usize {
        // SAFETY: as above.
        unsafe { first_special(bytes) }
    }

    #[inline(always)]
    fn skip_string(self, bytes: &[u8], at: usize) -> Skipped {
        // SAFETY: as above.
        unsafe { skip(bytes, at) }
    }

    #[inline(always)]
    fn simple_escapes(self, window: [__m256i; 2]) -> u64 {
        // SAFETY: as above.
        unsafe { simple_escapes(window) }
    }

    #[inline(always)]
    fn pairs(self, bytes: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
        // SAFETY: as above.
        unsafe { pairs(bytes, known) }
    }

    #[inline(always)]
    fn transcode(self, units: &[u32], out: &mut [u8]) -> usize {
        // SAFETY: as above.
        unsafe { transcode(units, out) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn first_special(window: &[u8; NEAR]) -> usize {
    let window: __m256i = cast(*window);
    let is = |byte: u8| _mm256_cmpeq_epi8(window, _mm256_set1_epi8(byte.cast_signed()));
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(window, _mm256_set1_epi8(0x1f)), window);
    let stops = _mm256_or_si256(_mm256_or_si256(is(b'"'), is(b'\\')), control);
    _mm256_movemask_epi8(stops).trailing_zeros() as usize
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn skip(bytes: &[u8], at: usize) -> Skipped {
    strings::skip(Avx2(()), bytes, at)
}

/// A byte is the second of an escape if the table entries of its two halves share a bit.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn simple_escapes([low, high]: [__m256i; 2]) -> u64 {
    let twice = |table: [u8; 16]| _mm256_broadcastsi128_si256(cast(table));
    let by_low = twice([0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]);
    let by_high = twice([0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    let found = |half| {
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(half), _mm256_set1_epi8(15));
        let common = _mm256_and_si256(_mm256_shuffle_epi8(by_low, half), _mm256_shuffle_epi8(by_high, high));
        u64::from(_mm256_movemask_epi8(_mm256_cmpgt_epi8(common, _mm256_setzero_si256())).cast_unsigned())
    };
    found(low) | found(high) << 32
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn transcode(units: &[u32], out: &mut [u8]) -> usize {
    // SAFETY: the function is compiled for the shuffle.
    unsafe { transcode::transcode(units, out) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn pairs(bytes: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
    let [first, second]: [[__m256i; 2]; 2] =
        [bytes.first_chunk(), bytes.last_chunk()].map(|bytes| cast(*bytes.unwrap_or(&[0; WIDE])));
    let twice = |table: &[u8; 16]| _mm256_broadcastsi128_si256(cast(*table));
    let (by_low, by_high) = (twice(known), twice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0F, 0xF0, 0, 0]));
    let behind = twice(&[0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x44, 0x88, 0, 0, 0, 0]);
    let fifteen = _mm256_set1_epi8(15);
    let high = |half| _mm256_and_si256(_mm256_srli_epi16::<4>(half), fifteen);
    let found = |place: usize| {
        let sixteens = _mm256_shuffle_epi8(by_low, _mm256_and_si256(first[place], fifteen));
        let wanted = _mm256_and_si256(
            _mm256_shuffle_epi8(by_high, high(first[place])),
            _mm256_shuffle_epi8(behind, high(second[place])),
        );
        let none = _mm256_cmpeq_epi8(_mm256_and_si256(sixteens, wanted), _mm256_setzero_si256());
        u64::from(!_mm256_movemask_epi8(none).cast_unsigned())
    };
    found(0) | found(1) << 32
}
