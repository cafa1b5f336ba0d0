//! The page of 128-bit words: SSE2 on each x86-64 processor, NEON on each aarch64 one, from one source.
//!
//! The two sets of instructions stand behind the same few operations. A byte shuffle, which SSE2 lacks, is asked for once in
//! 64 bytes or a text.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
#[path = "v128/neon.rs"]
mod ops;
#[cfg(target_arch = "x86_64")]
#[path = "v128/sse2.rs"]
mod ops;
pub mod transcode;

use ops::V;

use crate::kernel::{KEY, Kernel, Line, NEAR, Skipped, WIDE, Work};
use crate::portable::Portable;
use crate::{scalar, strings};

/// The page; its instructions need no detection.
#[derive(Clone, Copy)]
pub struct V128;

/// Runs `work`, in a function of its own.
#[inline(never)]
pub fn run<W: Work>(work: W) -> W::Output {
    work.run(V128)
}

/// The bytes from `first` to `last`, which may not be all bytes.
#[inline(always)]
fn within(bytes: V, first: u8, last: u8) -> V {
    // What is added makes `last` the greatest signed byte.
    let moved = ops::add(bytes, ops::splat(0x7F_u8.wrapping_sub(last)));
    ops::greater(moved, ops::splat(0x7E_u8.wrapping_sub(last - first)))
}

impl Kernel for V128 {
    type Window = [V; 4];

    #[inline(always)]
    fn load(self, bytes: &[u8; WIDE]) -> [V; 4] {
        ops::window(bytes)
    }

    #[inline(always)]
    fn non_ascii(self, [a, b, c, d]: [V; 4]) -> u64 {
        let zero = ops::splat(0);
        ops::mask([ops::greater(zero, a), ops::greater(zero, b), ops::greater(zero, c), ops::greater(zero, d)])
    }

    #[inline(always)]
    fn equal(self, [a, b, c, d]: [V; 4], byte: u8) -> u64 {
        let byte = ops::splat(byte);
        ops::mask([ops::equal(a, byte), ops::equal(b, byte), ops::equal(c, byte), ops::equal(d, byte)])
    }

    #[inline(always)]
    fn within(self, [a, b, c, d]: [V; 4], first: u8, last: u8) -> u64 {
        ops::mask([within(a, first, last), within(b, first, last), within(c, first, last), within(d, first, last)])
    }

    #[inline(always)]
    fn letters(self, [a, b, c, d]: [V; 4]) -> u64 {
        let small = ops::splat(0x20);
        self.within([ops::or(a, small), ops::or(b, small), ops::or(c, small), ops::or(d, small)], b'a', b'z')
    }

    #[inline(always)]
    fn find(self, line: &Line, [low, high]: [u64; 2], mask: u64) -> Option<usize> {
        // Half of a word tells entries apart, nearly always.
        let [a, b, ..]: [[u8; 16]; 4] = bytemuck::cast(*line);
        let halves = ops::even_lanes(ops::load(&a), ops::load(&b));
        let found = ops::mask_32(ops::equal_32(halves, ops::splat_32(low as u32)));
        if found == 0 {
            return None;
        }
        let place = found.trailing_zeros() as usize % 4;
        if line[place] == low && (line[place + 4] ^ high) & mask == 0 {
            return Some(place);
        }
        find_slowly(line, [low, high], mask)
    }

    #[inline(always)]
    fn key(self, bytes: &[u8; KEY], mask: u128, tag: u128) -> [u64; 2] {
        let [mask, tag] = [mask.to_le_bytes(), tag.to_le_bytes()];
        bytemuck::cast(ops::store(ops::or(ops::and(ops::load(bytes), ops::load(&mask)), ops::load(&tag))))
    }

    #[inline(always)]
    fn first_special(self, bytes: &[u8; NEAR]) -> usize {
        let [a, b] = ops::near(bytes);
        let found = ops::mask_near([special(a), special(b)]);
        found.trailing_zeros() as usize
    }

    #[inline(always)]
    fn skip_string(self, bytes: &[u8], at: usize) -> Skipped {
        skip(bytes, at)
    }

    #[inline(always)]
    fn pairs(self, bytes: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
        if ops::has_shuffle() {
            // SAFETY: there is the shuffle.
            unsafe { pairs(bytes, known) }
        } else {
            scalar::pairs(bytes, known)
        }
    }

    #[inline(always)]
    fn transcode(self, units: &[u32], out: &mut [u8]) -> usize {
        if ops::has_shuffle() {
            // SAFETY: there is the shuffle.
            unsafe { transcode(units, out) }
        } else {
            scalar::transcode(units, out, 0)
        }
    }
}

/// [`Kernel::find`] where half of a word is equal and the rest differs.
#[cold]
#[inline(never)]
fn find_slowly(line: &Line, key: [u64; 2], mask: u64) -> Option<usize> {
    Portable.find(line, key, mask)
}

/// Quotes, backslashes and control characters.
#[inline(always)]
fn special(bytes: V) -> V {
    let is = ops::or(ops::equal(bytes, ops::splat(b'"')), ops::equal(bytes, ops::splat(b'\\')));
    ops::or(is, within(bytes, 0, 0x1F))
}

#[inline(never)]
fn skip(bytes: &[u8], at: usize) -> Skipped {
    strings::skip(V128, bytes, at)
}

/// # Safety
///
/// The processor has the shuffle.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3"))]
unsafe fn transcode(units: &[u32], out: &mut [u8]) -> usize {
    // SAFETY: the caller's.
    unsafe { transcode::transcode(units, out) }
}

/// # Safety
///
/// The processor has the shuffle.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3"))]
unsafe fn pairs(bytes: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
    let [first, second] = [bytes.first_chunk(), bytes.last_chunk()].map(|bytes| bytes.unwrap_or(&[0; WIDE]));
    let (first, second) = (ops::window(first), ops::window(second));
    let (by_low, fifteen, zero) = (ops::load(known), ops::splat(15), ops::splat(0));
    let by_high = ops::load(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0F, 0xF0, 0, 0]);
    let behind = ops::load(&[0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x44, 0x88, 0, 0, 0, 0]);
    let mut none = [zero; 4];
    for (none, (first, second)) in none.iter_mut().zip(first.into_iter().zip(second)) {
        // SAFETY: the caller's.
        let [sixteens, highs, behinds] = unsafe {
            [
                ops::shuffle(by_low, ops::and(first, fifteen)),
                ops::shuffle(by_high, ops::upper_half(first)),
                ops::shuffle(behind, ops::upper_half(second)),
            ]
        };
        *none = ops::equal(ops::and(sixteens, ops::and(highs, behinds)), zero);
    }
    !ops::mask(none)
}
