//! The operations by NEON, which every aarch64 processor has.

use std::arch::aarch64::{
    uint8x16_t, vaddq_u8, vaddvq_u32, vandq_u8, vbslq_u8, vceqq_u8, vceqq_u32, vcgtq_s8, vcgtq_s32, vdupq_n_u8,
    vdupq_n_u32, vget_lane_u64, vgetq_lane_u32, vld1q_u8, vld4q_u8, vorrq_u8, vpaddq_u8, vqtbl1q_u8,
    vreinterpret_u64_u8, vreinterpretq_s8_u8, vreinterpretq_s32_u8, vreinterpretq_u8_u32, vreinterpretq_u16_u8,
    vreinterpretq_u32_u8, vshlq_n_u32, vshrn_n_u16, vshrq_n_u8, vshrq_n_u32, vsriq_n_u8, vst1q_u8, vuzp1q_u32,
};

use crate::kernel::{NEAR, WIDE};

/// Sixteen bytes.
pub type V = uint8x16_t;

#[inline(always)]
pub fn load(bytes: &[u8; 16]) -> V {
    // SAFETY: it reads sixteen bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline(always)]
pub fn store(bytes: V) -> [u8; 16] {
    let mut stored = [0; 16];
    // SAFETY: it writes sixteen bytes.
    unsafe { vst1q_u8(stored.as_mut_ptr(), bytes) };
    stored
}

/// A window, in the order that [`mask`] takes: byte `n` is in vector `n % 4`.
#[inline(always)]
pub fn window(bytes: &[u8; WIDE]) -> [V; 4] {
    // SAFETY: it reads 64 bytes.
    let four = unsafe { vld4q_u8(bytes.as_ptr()) };
    [four.0, four.1, four.2, four.3]
}

#[inline(always)]
pub fn near(bytes: &[u8; NEAR]) -> [V; 2] {
    let (two, _) = bytes.as_chunks();
    [load(&two[0]), load(&two[1])]
}

#[inline(always)]
pub fn splat(byte: u8) -> V {
    // SAFETY: every aarch64 processor has NEON; this holds for all operations.
    unsafe { vdupq_n_u8(byte) }
}

#[inline(always)]
pub fn splat_32(lane: u32) -> V {
    // SAFETY: as above.
    unsafe { vreinterpretq_u8_u32(vdupq_n_u32(lane)) }
}

#[inline(always)]
pub fn and(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vandq_u8(a, b) }
}

#[inline(always)]
pub fn or(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vorrq_u8(a, b) }
}

/// The bits of `a` where `mask` has a one, otherwise those of `b`.
#[inline(always)]
pub fn select(mask: V, a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vbslq_u8(mask, a, b) }
}

/// Sums of bytes, modulo 256.
#[inline(always)]
pub fn add(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vaddq_u8(a, b) }
}

/// All bits of the bytes that are equal.
#[inline(always)]
pub fn equal(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vceqq_u8(a, b) }
}

/// All bits of the lanes of 32 bits that are equal.
#[inline(always)]
pub fn equal_32(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vreinterpretq_u8_u32(vceqq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))) }
}

/// All bits of the bytes that are greater in `a`; bytes are signed.
#[inline(always)]
pub fn greater(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vcgtq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)) }
}

/// All bits of the lanes of 32 bits that are greater in `a`; lanes are signed.
#[inline(always)]
pub fn greater_32(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vreinterpretq_u8_u32(vcgtq_s32(vreinterpretq_s32_u8(a), vreinterpretq_s32_u8(b))) }
}

/// Shifts lanes of 32 bits to the left.
#[inline(always)]
pub fn left_32<const BITS: i32>(a: V) -> V {
    // SAFETY: as above.
    unsafe { vreinterpretq_u8_u32(vshlq_n_u32::<BITS>(vreinterpretq_u32_u8(a))) }
}

/// Shifts lanes of 32 bits to the right.
#[inline(always)]
pub fn right_32<const BITS: i32>(a: V) -> V {
    // SAFETY: as above.
    unsafe { vreinterpretq_u8_u32(vshrq_n_u32::<BITS>(vreinterpretq_u32_u8(a))) }
}

/// The upper four bits of each byte.
#[inline(always)]
pub fn upper_half(a: V) -> V {
    // SAFETY: as above.
    unsafe { vshrq_n_u8::<4>(a) }
}

/// Lanes 0 and 2 of `a`, then those of `b`; lanes have 32 bits.
#[inline(always)]
pub fn even_lanes(a: V, b: V) -> V {
    // SAFETY: as above.
    unsafe { vreinterpretq_u8_u32(vuzp1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))) }
}

/// A bit for each byte of a [`window`], of bytes that have all bits or none.
#[inline(always)]
pub fn mask([a, b, c, d]: [V; 4]) -> u64 {
    // SAFETY: as above.
    unsafe {
        // Four neighbours are in the same byte of the four vectors: shifts that keep the upper bits bring them together, twice
        // in a byte, and each of two neighbours gives the half in its place.
        let four = vsriq_n_u8::<2>(vsriq_n_u8::<1>(d, c), vsriq_n_u8::<1>(b, a));
        let twice = vsriq_n_u8::<4>(four, four);
        vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(vreinterpretq_u16_u8(twice))))
    }
}

/// A bit for each byte of two vectors, of bytes that have all bits or none.
#[inline(always)]
pub fn mask_near([a, b]: [V; 2]) -> u32 {
    // SAFETY: as above.
    unsafe {
        let bits = load(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
        let pairs = vpaddq_u8(vandq_u8(a, bits), vandq_u8(b, bits));
        let fours = vpaddq_u8(pairs, pairs);
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vpaddq_u8(fours, fours)))
    }
}

/// A bit for each lane of 32 bits, of lanes that have all bits or none.
#[inline(always)]
pub fn mask_32(a: V) -> u32 {
    // SAFETY: as above.
    unsafe {
        let bits = load(&[1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0]);
        vaddvq_u32(vreinterpretq_u32_u8(vandq_u8(a, bits)))
    }
}

/// Whether there is [`shuffle`].
#[inline(always)]
pub fn has_shuffle() -> bool {
    true
}

/// The bytes of `table` at the indices `at`: below 16, or 128 for a zero.
///
/// # Safety
///
/// None is needed here.
#[inline(always)]
pub unsafe fn shuffle(table: V, at: V) -> V {
    // SAFETY: as above.
    unsafe { vqtbl1q_u8(table, at) }
}
