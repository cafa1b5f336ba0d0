//! Skips JSON strings, 64 bytes at a time.

use crate::kernel::{Kernel, Skipped, WIDE};
use crate::scalar::find_special;

/// [`Kernel::skip_string`] of a page with fast masks.
///
/// Arithmetic on runs of backslashes separates escapes from escaped characters. Windows depend on each other by one bit
/// only, so the next one can load early.
#[inline(always)]
pub fn skip(kernel: impl Kernel, bytes: &[u8], mut at: usize) -> Skipped {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // Whether a backslash before the window escapes its first byte; a mask that is not 0 after any backslash.
    let (mut carried, mut seen) = (0, 0);
    while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WIDE>()) {
        let window = kernel.load(window);
        let (slashes, quotes) = (kernel.equal(window, b'\\'), kernel.equal(window, b'"'));
        let opening = slashes & !carried;
        let behind = opening << 1;
        let odd = opening & !EVEN & !behind;
        let second = (EVEN ^ odd.wrapping_add(opening) << 1) & behind | carried;
        // Nearly all escaped characters are one of these three.
        let known = quotes | slashes | kernel.equal(window, b'n');
        let odd = if second & !known == 0 { 0 } else { second & !known & !kernel.simple_escapes(window) };
        let controls = kernel.within(window, 0, 0x1F);
        let stops = quotes & !second | controls | odd;
        if stops != 0 {
            let place = stops.trailing_zeros();
            let is_odd = (odd >> place & 1) as usize; // then stop at its backslash
            let escapes = seen | slashes & ((1 << place) - 1) != 0;
            return end(bytes, Skipped { at: at + place as usize - is_odd, escapes });
        }
        carried = (opening & !second) >> (WIDE - 1);
        seen |= slashes;
        at += WIDE;
    }
    end(bytes, Skipped { at: at - carried as usize, escapes: seen != 0 })
}

/// Goes on byte by byte where less than a window is left.
#[inline(always)]
fn end(bytes: &[u8], skipped: Skipped) -> Skipped {
    let is_near_end = skipped.at + WIDE > bytes.len();
    if is_near_end { Skipped { at: find_special(bytes, skipped.at), ..skipped } } else { skipped }
}
