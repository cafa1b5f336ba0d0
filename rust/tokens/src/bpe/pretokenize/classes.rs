//! The class of each character in tiktoken's regular expressions.

/// Any other character: controls, formats, unassigned code points.
pub const OTHER: u8 = 0;
/// `\r` and `\n`.
pub const NEWLINE: u8 = 1;
/// Any other white space.
pub const SPACE: u8 = 2;
/// Lower-case letters: `\p{Ll}`.
pub const LOWER: u8 = 3;
/// Upper-case and title-case letters: `\p{Lu}` and `\p{Lt}`.
pub const UPPER: u8 = 4;
/// Letters without case: `\p{Lm}` and `\p{Lo}`.
pub const CASELESS: u8 = 5;
/// Marks: `\p{M}`.
pub const MARK: u8 = 6;
/// Numbers: `\p{N}`.
pub const NUMBER: u8 = 7;
/// Punctuation and symbols: `\p{P}` and `\p{S}`.
pub const SYMBOL: u8 = 8;

/// A set of classes.
#[derive(Clone, Copy)]
pub struct Set(u16);

impl Set {
    /// The set of these classes.
    pub const fn of(classes: &[u8]) -> Self {
        let (mut bits, mut n) = (0, 0);
        while n < classes.len() {
            bits |= 1 << classes[n];
            n += 1;
        }
        Self(bits)
    }

    /// Whether `class` is in the set.
    #[inline]
    pub const fn has(self, class: u8) -> bool {
        self.0 >> class & 1 == 1
    }
}

/// A two-stage table: for each 256 code points the index of a block, then the blocks. The build script makes it from
/// `data/classes.txt`.
static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes"));

/// A bit for each code point up to the last one of `\p{P}`, which one pattern alone tells apart from `\p{S}`.
static PUNCTUATION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/punctuation"));

/// Whether a code point is `\p{P}`; all of these are in the class [`SYMBOL`].
#[inline]
pub fn is_punctuation(point: u32) -> bool {
    PUNCTUATION.get(point as usize / 8).is_some_and(|byte| byte >> (point % 8) & 1 == 1)
}

/// Code points in a block, and blocks in all of Unicode.
const BLOCK: usize = 256;
const BLOCKS: usize = 0x11_0000 / BLOCK;

/// The classes of the characters of at most two bytes.
static TWO: [u8; 0x800] = {
    let mut classes = [OTHER; 0x800];
    let mut point = 0;
    while point < 0x800 {
        classes[point] = class_of(point);
        point += 1;
    }
    classes
};

/// The class of a code point.
#[inline]
pub fn of(point: u32) -> u8 {
    class_of(point as usize)
}

/// Whether a character is a letter: `\p{L}`.
#[must_use]
pub fn is_letter(c: char) -> bool {
    matches!(of(u32::from(c)), LOWER | UPPER | CASELESS)
}

/// Whether a character is a number: `\p{N}`.
#[must_use]
pub fn is_number(c: char) -> bool {
    of(u32::from(c)) == NUMBER
}

/// Whether a character is a mark: `\p{M}`.
#[must_use]
pub fn is_mark(c: char) -> bool {
    of(u32::from(c)) == MARK
}

#[inline]
const fn class_of(point: usize) -> u8 {
    CLASSES[BLOCKS + CLASSES[point / BLOCK] as usize * BLOCK + point % BLOCK]
}

/// A character of a text.
#[derive(Clone, Copy)]
pub struct Char {
    /// The code point.
    pub point: u32,
    /// Its class.
    pub class: u8,
    /// Its number of bytes in UTF-8.
    pub length: usize,
}

/// The character at `at`; None at the end of the text.
#[inline]
pub fn char_at(text: &[u8], at: usize) -> Option<Char> {
    let &byte = text.get(at)?;
    if byte < 0x80 {
        return Some(Char { point: u32::from(byte), class: TWO[usize::from(byte)], length: 1 });
    }
    Some(decode(text, at, byte))
}

/// The non-ASCII character at `at`. Invalid UTF-8 gives an arbitrary character within the text.
#[inline]
pub fn decode(text: &[u8], at: usize, first: u8) -> Char {
    let (point, length) = decode_non_ascii(text, at, first);
    Char { point, class: of(point), length }
}

/// The code point of the character at `at`, and its number of bytes; cheaper than [`char_at`].
#[inline]
pub fn point_at(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let &byte = text.get(at)?;
    Some(if byte < 0x80 { (u32::from(byte), 1) } else { decode_non_ascii(text, at, byte) })
}

#[inline]
fn decode_non_ascii(text: &[u8], at: usize, first: u8) -> (u32, usize) {
    let rest = |n: usize| u32::from(text.get(at + n).copied().unwrap_or_default() & 0x3F);
    let (point, length) = match first {
        0..0xE0 => (u32::from(first & 0x1F) << 6 | rest(1), 2),
        0xE0..0xF0 => (u32::from(first & 0x0F) << 12 | rest(1) << 6 | rest(2), 3),
        _ => (u32::from(first & 0x07) << 18 | rest(1) << 12 | rest(2) << 6 | rest(3), 4),
    };
    (point.min(0x10_FFFF), length.min(text.len() - at))
}

/// Writes into `classes` the class of each character of `window` that begins at a bit of `leads`, for all its bytes.
///
/// The characters must be non-ASCII and begin before the last three bytes. Other bytes may be overwritten.
#[inline(always)]
#[allow(clippy::inline_always)] // part of a page's loop
pub fn fill(window: &[u8; 64], mut leads: u64, classes: &mut [u8; 64]) {
    while leads != 0 {
        let at = leads.trailing_zeros() as usize;
        leads &= leads - 1;
        let (Some(&[first, second, third, fourth]), Some(place)) =
            (window[at..].first_chunk(), classes[at..].first_chunk_mut::<4>())
        else {
            return;
        };
        let [second, third, fourth] = [second, third, fourth].map(|byte| usize::from(byte & 0x3F));
        let class = match first {
            0..0xE0 => TWO[usize::from(first & 0x1F) << 6 | second],
            0xE0..0xF0 => class_of(usize::from(first & 0x0F) << 12 | second << 6 | third),
            _ => class_of((usize::from(first & 0x07) << 18 | second << 12 | third << 6 | fourth).min(0x10_FFFF)),
        };
        *place = [class; 4];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_point_has_the_class_that_tiktoken_sees() {
        let mut expected = vec![OTHER; 0x11_0000];
        for line in include_str!("../../../data/classes.txt").lines() {
            let [first, last, class] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let range = usize::from_str_radix(first, 16).unwrap()..=usize::from_str_radix(last, 16).unwrap();
            let is_sign = class == "p";
            assert!(range.clone().all(|point| is_punctuation(u32::try_from(point).unwrap()) == is_sign), "{line}");
            let class = match class {
                "n" => NEWLINE,
                "w" => SPACE,
                "l" => LOWER,
                "u" => UPPER,
                "c" => CASELESS,
                "m" => MARK,
                "d" => NUMBER,
                "s" | "p" => SYMBOL,
                _ => panic!("{line}"),
            };
            expected[range].fill(class);
        }
        for (point, &class) in (0..).zip(&expected) {
            assert_eq!(of(point), class, "{point:x}");
            if let Some(char) = char::from_u32(point) {
                let found = char_at(char.encode_utf8(&mut [0; 4]).as_bytes(), 0).unwrap();
                assert_eq!((found.point, found.class, found.length), (point, class, char.len_utf8()));
            }
        }
    }
}
