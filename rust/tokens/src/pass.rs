//! Ways to go over bytes, as wide as the processor is: the strings of JSON, where what stands between their quotes is seldom
//! looked at, and texts.

#[cfg(feature = "claude-vocab")]
use super::ascii::{Ascii, pairs};
pub use super::starts::WIDE;

/// Bytes that are looked at first: most names and words are over within them.
pub const NEAR: usize = 32;

/// How far a look at a string went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The byte that wants another look.
    pub at: usize,
    /// Whether there were escapes before it.
    pub escapes: bool,
}

/// A way to go over strings and texts, as wide as the processor is.
pub trait Pass: Copy {
    /// The place of the first quote, backslash or control character; [`NEAR`] where there is none.
    fn first(self, window: &[u8; NEAR]) -> usize;

    /// Goes over a string from `at`, between two of its characters: up to its quote, a control character or the end, and
    /// over escapes as far as it can tell that they are.
    fn over(self, bytes: &[u8], at: usize) -> Passed;

    /// The backslashes of `window`, a bit a byte, and whether all of it is ASCII.
    fn slashes(self, window: &[u8; WIDE]) -> (u64, bool);

    /// The classes of the bytes of `window`.
    #[cfg(feature = "claude-vocab")]
    fn ascii(self, window: &[u8; WIDE]) -> Ascii;

    /// What [`pairs`] says.
    #[cfg(feature = "claude-vocab")]
    fn pairs(self, window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64;
}

/// Work that goes over strings or texts; [`super::simd::widest`] finds the way for it.
pub trait Passing {
    /// What it comes to.
    type Found;

    /// Does it.
    fn with(self, pass: impl Pass) -> Self::Found;
}

/// Eight bytes at once, on any processor: what the wider ways mean.
#[derive(Clone, Copy, Debug)]
pub struct Words;

impl Pass for Words {
    #[inline]
    fn first(self, window: &[u8; NEAR]) -> usize {
        special(window, 0)
    }

    #[inline]
    fn over(self, bytes: &[u8], at: usize) -> Passed {
        Passed { at: special(bytes, at), escapes: false }
    }

    #[inline]
    fn slashes(self, window: &[u8; WIDE]) -> (u64, bool) {
        (window.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(*byte == b'\\')), window.is_ascii())
    }

    #[cfg(feature = "claude-vocab")]
    #[inline]
    fn ascii(self, window: &[u8; WIDE]) -> Ascii {
        Ascii::of(window)
    }

    #[cfg(feature = "claude-vocab")]
    #[inline]
    fn pairs(self, window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
        pairs(window, known)
    }
}

/// The first quote, backslash or control character from `at` on; the length of `bytes` where there is none.
pub fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes[at..].first_chunk::<8>() {
        let found = specials(u64::from_le_bytes(*eight));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_special = |b: &u8| matches!(b, b'"' | b'\\' | 0..0x20);
    bytes[at..].iter().position(is_special).map_or(bytes.len(), |n| at + n)
}

/// The top bit of each of eight bytes that is special; only the lowest one is exact.
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    let (quote, slash) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    (zero(quote) | zero(slash) | (word.wrapping_sub(ONES * 0x20) & !word)) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        struct First<'a>(&'a [u8; NEAR]);
        impl Passing for First<'_> {
            type Found = usize;
            fn with(self, pass: impl Pass) -> usize {
                pass.first(self.0)
            }
        }
        for byte in [b'"', b'\\', 0, 0x1f, b'\n'] {
            for at in 0..40 {
                let mut bytes = [0xC3; 40];
                bytes[at] = byte;
                assert_eq!(special(&bytes, 0), at);
                let window = bytes.first_chunk().expect("40 bytes");
                assert_eq!((Words.first(window), simd::widest(First(window))), (at.min(NEAR), at.min(NEAR)));
            }
        }
        let text = b"plain \x20 text \x7f \xff, long";
        assert_eq!(special(text, 3), text.len());
        assert_eq!(simd::widest(First(&[0xE0; NEAR])), NEAR);
    }
}
