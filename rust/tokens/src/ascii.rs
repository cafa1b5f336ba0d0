//! The classes of ASCII of sixty-four bytes, for vocabularies that need no others of most texts, one by one: what
//! wider ways to go over bytes mean.

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
    pub fn of(window: &[u8; WIDE]) -> Self {
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

/// First bytes of characters of two bytes that `known` has a bit for: by the low half of the first byte, those behind C0 to
/// CF in bits 0 to 3, those behind D0 to DF in bits 4 to 7, a bit for sixteen characters. One byte is read behind the 64.
pub fn pairs(window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
    let is_known = |pair: &[u8]| {
        let sixteen = usize::from(pair[0] & 0x10) >> 2 | usize::from(pair[1] >> 4 & 3);
        (0xC0..0xE0).contains(&pair[0])
            && pair[1] & 0xC0 == 0x80
            && known[usize::from(pair[0] & 15)] >> sixteen & 1 != 0
    };
    window.windows(2).enumerate().map(|(place, pair)| u64::from(is_known(pair)) << place).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{Pass, Passing, Words};
    use crate::simd;

    struct Classes<'a>(&'a [u8; WIDE + 1], &'a [u8; 16]);

    impl Passing for Classes<'_> {
        type Found = (Ascii, u64);
        fn with(self, pass: impl Pass) -> (Ascii, u64) {
            (pass.ascii(self.0.first_chunk().expect("64 bytes")), pass.pairs(self.0, self.1))
        }
    }

    #[test]
    fn classes_are_found_alike_with_and_without_the_processors_help() {
        for first in 0..=u8::MAX {
            let byte = |n: usize| first.wrapping_add(n.to_le_bytes()[0]);
            let window = std::array::from_fn(|place| byte(place).wrapping_mul(37));
            let known = std::array::from_fn(|n| byte(n).wrapping_mul(73));
            assert_eq!(simd::widest(Classes(&window, &known)), Classes(&window, &known).with(Words));
        }
    }
}
