//! The classes of ASCII of sixty-four bytes, for vocabularies that need no others of most texts.

use super::simd;
use super::starts::WIDE;

/// The classes of 64 bytes, a bit a byte; a byte in none is a control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ascii {
    pub letter: u64,
    pub digit: u64,
    /// Visible characters that are neither.
    pub mark: u64,
    pub space: u64,
    pub tab: u64,
    pub newline: u64,
    pub apostrophe: u64,
    /// First bytes of characters beyond ASCII.
    pub lead: u64,
    /// The bytes behind those.
    pub tail: u64,
}

impl Ascii {
    /// The classes of the bytes of `window`.
    #[inline]
    pub fn of(window: &[u8; WIDE]) -> Self {
        simd::ascii(window).unwrap_or_else(|| Self::one_by_one(window))
    }

    /// The same without the processor's help: what it means.
    fn one_by_one(window: &[u8; WIDE]) -> Self {
        let mut of = Self::default();
        for (place, byte) in window.iter().enumerate() {
            let class = match byte {
                b'a'..=b'z' | b'A'..=b'Z' => &mut of.letter,
                b'0'..=b'9' => &mut of.digit,
                b'!'..=b'~' => &mut of.mark,
                b' ' => &mut of.space,
                b'\t' => &mut of.tab,
                b'\n' => &mut of.newline,
                0x80..0xC0 => &mut of.tail,
                0xC0.. => &mut of.lead,
                _ => continue,
            };
            *class |= 1 << place;
            of.apostrophe |= u64::from(*byte == b'\'') << place;
        }
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_alike_with_and_without_the_processors_help() {
        for first in 0..=usize::from(u8::MAX) {
            let window = std::array::from_fn(|place| ((first + place) * 37).to_le_bytes()[0]);
            assert_eq!(Ascii::of(&window), Ascii::one_by_one(&window));
        }
    }
}
