//! The operations by SSE2, which every x86-64 processor has, and one by SSSE3.

use std::arch::x86_64::{
    __m128i, _mm_add_epi8, _mm_and_si128, _mm_andnot_si128, _mm_castps_si128, _mm_castsi128_ps, _mm_cmpeq_epi8,
    _mm_cmpeq_epi32, _mm_cmpgt_epi8, _mm_cmpgt_epi32, _mm_movemask_epi8, _mm_movemask_ps, _mm_or_si128, _mm_set1_epi8,
    _mm_set1_epi32, _mm_shuffle_epi8, _mm_shuffle_ps, _mm_slli_epi32, _mm_srli_epi16, _mm_srli_epi32,
};

use bytemuck::cast;

use crate::kernel::{NEAR, WIDE};

/// Sixteen bytes.
pub type V = __m128i;

#[inline(always)]
pub fn load(bytes: &[u8; 16]) -> V {
    cast(*bytes)
}

#[inline(always)]
pub fn store(bytes: V) -> [u8; 16] {
    cast(bytes)
}

/// A window, in the order that [`mask`] takes.
#[inline(always)]
pub fn window(bytes: &[u8; WIDE]) -> [V; 4] {
    cast(*bytes)
}

#[inline(always)]
pub fn near(bytes: &[u8; NEAR]) -> [V; 2] {
    cast(*bytes)
}

#[inline(always)]
pub fn splat(byte: u8) -> V {
    // SAFETY: every x86-64 processor has SSE2; this holds for all operations.
    unsafe { _mm_set1_epi8(byte.cast_signed()) }
}

#[inline(always)]
pub fn splat_32(lane: u32) -> V {
    // SAFETY: as above.
    unsafe { _mm_set1_epi32(lane.cast_signed()) }
}

#[inline(always)]
pub fn and(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_and_si128(a, b) }
}

#[inline(always)]
pub fn or(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_or_si128(a, b) }
}

/// The bits of `a` where `mask` has a one, otherwise those of `b`.
#[inline(always)]
pub fn select(mask: V, a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b)) }
}

/// Sums of bytes, modulo 256.
#[inline(always)]
pub fn add(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_add_epi8(a, b) }
}

/// All bits of the bytes that are equal.
#[inline(always)]
pub fn equal(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_cmpeq_epi8(a, b) }
}

/// All bits of the lanes of 32 bits that are equal.
#[inline(always)]
pub fn equal_32(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_cmpeq_epi32(a, b) }
}

/// All bits of the bytes that are greater in `a`; bytes are signed.
#[inline(always)]
pub fn greater(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_cmpgt_epi8(a, b) }
}

/// All bits of the lanes of 32 bits that are greater in `a`; lanes are signed.
#[inline(always)]
pub fn greater_32(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_cmpgt_epi32(a, b) }
}

/// Shifts lanes of 32 bits to the left.
#[inline(always)]
pub fn left_32<const BITS: i32>(a: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_slli_epi32::<BITS>(a) }
}

/// Shifts lanes of 32 bits to the right.
#[inline(always)]
pub fn right_32<const BITS: i32>(a: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_srli_epi32::<BITS>(a) }
}

/// The upper four bits of each byte.
#[inline(always)]
pub fn upper_half(a: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_and_si128(_mm_srli_epi16::<4>(a), _mm_set1_epi8(15)) }
}

/// Lanes 0 and 2 of `a`, then those of `b`; lanes have 32 bits.
#[inline(always)]
pub fn even_lanes(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
}

/// A bit for each byte of a [`window`], of bytes that have all bits or none.
#[inline(always)]
pub fn mask([a, b, c, d]: [V; 4]) -> u64 {
    u64::from(mask_near([a, b])) | u64::from(mask_near([c, d])) << 32
}

/// A bit for each byte of two vectors, of bytes that have all bits or none.
#[inline(always)]
pub fn mask_near([a, b]: [V; 2]) -> u32 {
    // SAFETY: as above.
    unsafe { _mm_movemask_epi8(a).cast_unsigned() | _mm_movemask_epi8(b).cast_unsigned() << 16 }
}

/// A bit for each lane of 32 bits, of lanes that have all bits or none.
#[inline(always)]
pub fn mask_32(a: V) -> u32 {
    // SAFETY: as above.
    unsafe { _mm_movemask_ps(_mm_castsi128_ps(a)).cast_unsigned() }
}

/// Whether there is [`shuffle`].
#[inline(always)]
pub fn has_shuffle() -> bool {
    is_x86_feature_detected!("ssse3")
}

/// The bytes of `table` at the indices `at`: below 16, or 128 for a zero.
///
/// # Safety
///
/// Only in functions that are compiled for SSSE3.
#[inline(always)]
pub unsafe fn shuffle(table: V, at: V) -> V {
    // SAFETY: the caller's.
    unsafe { _mm_shuffle_epi8(table, at) }
}
