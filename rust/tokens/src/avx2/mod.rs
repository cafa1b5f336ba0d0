//! What is compiled for AVX2, and for the instructions on bits that such a processor has: no unsafe code, which is in
//! `simd` with the question whether the processor has them.
//!
//! Sixty-four bytes become masks of their classes, a bit a byte.

pub mod pieces;
pub mod strings;
pub mod transcode;

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_sub_epi8,
};

use bytemuck::cast;

#[cfg(feature = "claude-vocab")]
use super::cache::{Asked, find_all_with};
use super::cache::{Batch, Cache, Pieces, SHORTS, look_up_with};
use super::lines::Line;
use super::merging::{self, Room};
use super::starts::WIDE;
use super::tables::{Key, Tables, WITHOUT_COUNT, count_of};
use super::unknown::{Waiting, known_with};

/// The count of a piece, if `line` has it: its four entries compared at once.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn find(line: &Line, key: Key) -> Option<usize> {
    let [low, high, without] = [key.low, key.high, WITHOUT_COUNT].map(|word| _mm256_set1_epi64x(word.cast_signed()));
    let [lows, highs]: [__m256i; 2] = cast(*line);
    let same =
        _mm256_and_si256(_mm256_cmpeq_epi64(lows, low), _mm256_cmpeq_epi64(_mm256_and_si256(highs, without), high));
    let same = _mm256_movemask_pd(_mm256_castsi256_pd(same)).cast_unsigned();
    (same != 0).then(|| count_of(line[4 + same.trailing_zeros() as usize % 4]))
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn look_up(lines: &[Line; SHORTS], pieces: Pieces<'_>, batch: &mut Batch) -> usize {
    look_up_with(lines, pieces, batch, |line, key| find(line, key))
}

#[cfg(feature = "claude-vocab")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn find_all(lines: &[Line; SHORTS], asked: &[Asked], missed: &mut Vec<Asked>) -> usize {
    find_all_with(lines, asked, missed, |line, key| find(line, key))
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn known(tables: &Tables, cache: &mut Cache, waiting: &mut Vec<Waiting>, counts: &mut [usize]) {
    known_with(tables, cache, waiting, counts, |line, key| find(line, key));
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn direct(tables: &Tables, piece: &[u8]) -> usize {
    merging::direct(tables, piece)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn together(
    tables: &Tables,
    room: &mut Room,
    pieces: impl Iterator<Item = impl AsRef<[u8]>>,
    found: impl FnMut(usize, usize),
) {
    merging::together(tables, room, pieces, found);
}

#[target_feature(enable = "avx2")]
#[inline]
pub fn halves(window: &[u8; WIDE]) -> [__m256i; 2] {
    cast(*window)
}

/// A bit a byte: the highest one of what `of` makes of it.
#[target_feature(enable = "avx2")]
#[inline]
fn bits(halves: [__m256i; 2], of: impl Fn(__m256i) -> __m256i) -> u64 {
    let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(of(half)).cast_unsigned()));
    low | high << 32
}

/// Bytes that are `byte`.
#[target_feature(enable = "avx2")]
#[inline]
fn are(halves: [__m256i; 2], byte: u8) -> u64 {
    let byte = _mm256_set1_epi8(byte.cast_signed());
    bits(halves, |half| _mm256_cmpeq_epi8(half, byte))
}

/// Bytes from `first` to `last`.
#[target_feature(enable = "avx2")]
#[inline]
fn within(half: __m256i, first: u8, last: u8) -> __m256i {
    let from = _mm256_sub_epi8(half, _mm256_set1_epi8(first.cast_signed()));
    _mm256_cmpeq_epi8(_mm256_min_epu8(from, _mm256_set1_epi8((last - first).cast_signed())), from)
}
