//! The pattern of `DeepSeek` V2, Coder and LLM: six splits, each of the pieces that the one before has left.

use std::sync::LazyLock;

use crate::bpe::pretokenize::classes::{Char, NEWLINE, NUMBER, SPACE, Set, char_at};
use crate::cancel;

/// Letters with case, as the pattern lists them: those of an old version of Unicode.
macro_rules! letters {
    () => {
        concat!(
            "A-Za-z\u{b5}\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1ba}\u{1bc}-\u{1bf}\u{1c4}-\u{293}\u{295}-\u{2af}\u{370}",
            "-\u{373}\u{376}\u{377}\u{37b}-\u{37d}\u{37f}\u{386}\u{388}-\u{38a}\u{38c}\u{38e}-\u{3a1}\u{3a3}-\u{3f5}",
            "\u{3f7}-\u{481}\u{48a}-\u{52f}\u{531}-\u{556}\u{10a0}-\u{10c5}\u{13a0}-\u{13f5}\u{13f8}-\u{13fd}\u{1c90}",
            "-\u{1cba}\u{1cbd}-\u{1cbf}\u{1d00}-\u{1d2b}\u{1d6b}-\u{1d77}\u{1d79}-\u{1d9a}\u{1e00}-\u{1f15}\u{1f18}-",
            "\u{1f1d}\u{1f20}-\u{1f45}\u{1f48}-\u{1f4d}\u{1f50}-\u{1f57}\u{1f59}\u{1f5b}\u{1f5d}\u{1f5f}-\u{1f7d}",
            "\u{1f80}-\u{1fb4}\u{1fb6}-\u{1fbc}\u{1fbe}\u{1fc2}-\u{1fc4}\u{1fc6}-\u{1fcc}\u{1fd0}-\u{1fd3}\u{1fd6}-",
            "\u{1fdb}\u{1fe0}-\u{1fec}\u{1ff2}-\u{1ff4}\u{1ff6}-\u{1ffc}\u{2102}\u{2107}\u{210a}-\u{2113}\u{2115}",
            "\u{2119}-\u{211d}\u{2124}\u{2126}\u{2128}\u{212a}-\u{212d}\u{212f}-\u{2134}\u{2139}\u{213c}-\u{213f}",
            "\u{2145}-\u{2149}\u{214e}\u{2183}\u{2184}\u{2c00}-\u{2c7b}\u{2c7e}-\u{2ce4}\u{2ceb}-\u{2cee}\u{2cf2}",
            "\u{2cf3}\u{a640}-\u{a66d}\u{a680}-\u{a69b}\u{a722}-\u{a76f}\u{a771}-\u{a787}\u{a78b}-\u{a78e}\u{ab70}-",
            "\u{abbf}\u{fb00}-\u{fb06}\u{fb13}-\u{fb17}\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}\u{10400}-\u{1044f}\u{104b0}",
            "-\u{104d3}\u{104d8}-\u{104fb}\u{10c80}-\u{10cb2}\u{10cc0}-\u{10cf2}\u{118a0}-\u{118df}\u{1e900}-",
            "\u{1e943}",
        )
    };
}

/// Punctuation, as the pattern lists it. Its ranges have the letters of ASCII, too.
macro_rules! signs {
    () => {
        "!-/:-~\u{ff01}-\u{ff0f}\u{ff1a}-\u{ff5e}\u{2018}-\u{201f}\u{3000}-\u{3002}"
    };
}

/// Chinese, Japanese, Korean and all between, as the pattern lists them.
macro_rules! han {
    () => {
        "\u{4e00}-\u{9fa5}\u{800}-\u{4e00}\u{ac00}-\u{d7ff}"
    };
}

/// The regular expressions, in order. The last one stands for the step that splits digits one by one.
pub const PATTERN: [&str; 6] = [
    r"[\r\n]",
    concat!(r"\s?[", letters!(), "]+"),
    concat!(r"\s?[", signs!(), "]+"),
    r"\s+$",
    concat!("[", han!(), "]+"),
    r"\p{N}",
];

const WHITE_SPACE: Set = Set::of(&[SPACE, NEWLINE]);

static LETTERS: LazyLock<Points> = LazyLock::new(|| Points::of(letters!()));
static SIGNS: LazyLock<Points> = LazyLock::new(|| Points::of(signs!()));

/// The code points of a class of characters, as ranges in order; those of ASCII as a bitmap, too.
struct Points {
    ascii: u128,
    ranges: Vec<(u32, u32)>,
}

impl Points {
    /// The points of what stands between the brackets of a class without escapes.
    fn of(class: &str) -> Self {
        let chars: Vec<u32> = class.chars().map(u32::from).collect();
        let (mut ranges, mut at) = (Vec::new(), 0);
        while at < chars.len() {
            let is_range = chars.get(at + 1) == Some(&u32::from('-')) && at + 2 < chars.len();
            ranges.push((chars[at], chars[at + 2 * usize::from(is_range)]));
            at += if is_range { 3 } else { 1 };
        }
        ranges.sort_unstable();
        let ascii = |point: &u32| ranges.iter().any(|(first, last)| (first..=last).contains(&point));
        Self { ascii: (0..128).filter(ascii).fold(0, |bits, point| bits | 1 << point), ranges }
    }

    #[inline]
    fn has(&self, point: u32) -> bool {
        if point < 128 {
            return self.ascii >> point & 1 == 1;
        }
        let after = self.ranges.partition_point(|&(first, _)| first <= point);
        after > 0 && point <= self.ranges[after - 1].1
    }
}

/// Whether a character is in [`han`].
#[inline]
fn is_han(char: Char) -> bool {
    matches!(char.point, 0x0800..=0x9FA5 | 0xAC00..=0xD7FF)
}

/// The text, and what its characters are.
#[derive(Clone, Copy)]
struct Pieces<'t> {
    text: &'t [u8],
    letters: &'static Points,
    signs: &'static Points,
}

impl Pieces<'_> {
    #[inline]
    fn char(&self, at: usize) -> Option<Char> {
        char_at(self.text, at)
    }

    #[inline]
    fn is_letter(&self, at: usize) -> bool {
        self.char(at).is_some_and(|char| self.letters.has(char.point))
    }

    /// The start of the letters of a word that begins at a character: behind it, if it is white space.
    #[inline]
    fn word(&self, at: usize, char: Char) -> Option<usize> {
        if self.letters.has(char.point) {
            return Some(at);
        }
        (char.class == SPACE && self.is_letter(at + char.length)).then_some(at + char.length)
    }

    /// Whether a character is punctuation that no word takes.
    #[inline]
    fn is_sign(&self, at: usize) -> bool {
        self.char(at).is_some_and(|char| self.signs.has(char.point) && self.word(at, char).is_none())
    }

    /// The start of the signs of a run that begins at a character, which begins no word: behind it, if it is white space.
    #[inline]
    fn signs(&self, at: usize, char: Char) -> Option<usize> {
        if char.class == SPACE && self.is_sign(at + char.length) {
            return Some(at + char.length);
        }
        self.signs.has(char.point).then_some(at)
    }

    /// Whether the first three splits have a boundary in front of a place.
    #[inline]
    fn ends_piece(&self, at: usize) -> bool {
        self.char(at)
            .is_none_or(|char| char.class == NEWLINE || self.word(at, char).is_some() || self.signs(at, char).is_some())
    }

    /// Whether the white space from a place on is the last of its piece.
    fn is_last_white(&self, mut at: usize) -> bool {
        while let Some(char) = self.char(at)
            && WHITE_SPACE.has(char.class)
            && !self.ends_piece(at)
        {
            cancel::poll_at(at);
            at += char.length;
        }
        self.ends_piece(at)
    }
}

/// The end of the pretoken that begins at `at`.
pub fn end(text: &[u8], at: usize) -> usize {
    let pieces = Pieces { text, letters: &LETTERS, signs: &SIGNS };
    let Some(first) = pieces.char(at) else { return at };
    let mut end = at + first.length;
    if first.class == NEWLINE {
        return end;
    }
    if let Some(start) = pieces.word(at, first) {
        // The punctuation has letters, which are split from the other letters of the word: `é` stands alone.
        let is_sign = pieces.char(start).is_some_and(|char| pieces.signs.has(char.point));
        while let Some(char) = pieces.char(end)
            && pieces.letters.has(char.point)
            && pieces.signs.has(char.point) == is_sign
            && (is_sign || is_han(char) == is_han(first))
        {
            cancel::poll_at(end);
            end += char.length;
        }
        return end;
    }
    if let Some(start) = pieces.signs(at, first) {
        end = start;
        while pieces.is_sign(end) {
            cancel::poll_at(end);
            end += pieces.char(end).map_or(0, |char| char.length);
        }
        return end;
    }
    if first.class == NUMBER {
        return end;
    }
    let mut was_white = first.class == SPACE;
    while let Some(char) = pieces.char(end)
        && is_han(char) == is_han(first)
        && char.class != NUMBER
        && !pieces.ends_piece(end)
    {
        cancel::poll_at(end);
        if char.class == SPACE && !was_white && pieces.is_last_white(end) {
            break;
        }
        was_white = char.class == SPACE;
        end += char.length;
    }
    end
}
