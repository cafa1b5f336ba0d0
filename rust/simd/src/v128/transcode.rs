//! Encodes code points as UTF-8, four at a time; for the AVX2 page, too.

use super::ops::{
    and, equal_32, greater_32, left_32, load, mask_32, or, right_32, select, shuffle, splat_32 as all, store,
};
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
///
/// # Safety
///
/// Only in functions that are compiled for the shuffle.
#[inline(always)]
pub unsafe fn transcode(units: &[u32], out: &mut [u8]) -> usize {
    let (fours, rest) = units.as_chunks::<4>();
    let (low, tail) = (all(0x3F), all(0x80));
    let mut at = 0;
    for four in fours {
        let units = load(&bytemuck::cast(*four));
        if mask_32(equal_32(right_32::<16>(units), all(0))) != 0xF {
            at = scalar::transcode(four, out, at);
            continue;
        }
        let (one, two) = (greater_32(all(0x80), units), greater_32(all(0x800), units));
        let last = or(and(units, low), tail);
        let above = right_32::<6>(units);
        let middle = or(and(above, low), tail);
        let of_two = or(or(above, all(0xC0)), left_32::<8>(last));
        let first = or(right_32::<12>(units), all(0xE0));
        let of_three = or(or(first, left_32::<8>(middle)), left_32::<16>(last));
        let bytes = select(one, units, select(two, of_two, of_three));
        let which = mask_32(one) | mask_32(two) << 4;
        // SAFETY: the caller's.
        let written: [u8; TRANSCODED] = store(unsafe { shuffle(bytes, load(&SHUFFLES[which as usize & 0xFF])) });
        out[at..at + TRANSCODED].copy_from_slice(&written);
        at += 12 - which.count_ones() as usize;
    }
    scalar::transcode(rest, out, at)
}
