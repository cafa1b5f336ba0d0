//! The pattern of `DeepSeek` V2: several steps, each of which splits what the steps before it left, and also what they split
//! off.
//!
//! The steps are line ends, words with a space in front, signs with a space in front, white space at the end of a piece,
//! Chinese to Korean, and digits one by one. Characters without a step of their own stay together, with white space among
//! them. The signs hold the letters of ASCII, so a word ends where these begin and end; and they hold one character of white
//! space, U+3000.

use std::sync::LazyLock;

use crate::bpe::patterns::written;
use crate::bpe::pretokenize::classes::{Char, NEWLINE, NUMBER, SPACE, char_at};
use crate::bpe::pretokenize::scalar::Pattern;
use crate::cancel;

/// What the steps make of a character. Equals are not parted, but for line ends and digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Newline,
    Digit,
    /// A letter: whether it is among the signs as well.
    Word(bool),
    Sign,
    Space,
    Other,
}

/// A character: its kind, whether it is one of Chinese to Korean, its length, and whether it is U+3000.
#[derive(Clone, Copy)]
struct Seen {
    kind: Kind,
    far: bool,
    length: usize,
    blank: bool,
}

impl Seen {
    fn is_like(self, other: Self) -> bool {
        self.far == other.far && self.kind == other.kind
    }
}

fn seen(text: &[u8], at: usize) -> Option<Seen> {
    let Char { point, class, length } = char_at(text, at)?;
    let kind = match class {
        NEWLINE => Kind::Newline,
        NUMBER => Kind::Digit,
        _ if is_cased(point) => Kind::Word(is_sign(point)),
        _ if is_sign(point) => Kind::Sign,
        SPACE => Kind::Space,
        _ => Kind::Other,
    };
    Some(Seen { kind, far: matches!(point, 0x800..=0x9FA5 | 0xAC00..=0xD7FF), length, blank: point == 0x3000 })
}

/// `[!-/:-~！-／：-～‘-‟　-。]`
fn is_sign(point: u32) -> bool {
    matches!(point, 0x21..=0x2F | 0x3A..=0x7E | 0xFF01..=0xFF0F | 0xFF1A..=0xFF5E | 0x2018..=0x201F | 0x3000..=0x3002)
}

/// The letters, as the pattern lists them: a bit for each character up to the last one.
static CASED: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let listed = written(Pattern::DeepSeek2)[1];
    let mut left = listed.strip_prefix(r"\s?[").and_then(|rest| rest.strip_suffix("]+")).unwrap_or_default().chars();
    let mut bits = vec![0; 0x2_0000 / 64];
    let mut begin = left.next();
    while let Some(first) = begin {
        begin = left.next();
        let mut last = first;
        if begin == Some('-') {
            last = left.next().unwrap_or(first);
            begin = left.next();
        }
        for point in u32::from(first)..=u32::from(last) {
            bits[point as usize / 64] |= 1_u64 << (point % 64);
        }
    }
    bits
});

#[inline]
fn is_cased(point: u32) -> bool {
    if point < 0x80 {
        return matches!(point, 0x41..=0x5A | 0x61..=0x7A);
    }
    CASED.get(point as usize / 64).is_some_and(|word| word >> (point % 64) & 1 == 1)
}

/// The end of the pretoken that begins at `at`.
pub fn end(text: &[u8], at: usize) -> usize {
    let Some(first) = seen(text, at) else { return at };
    let next = at + first.length;
    match first.kind {
        Kind::Newline | Kind::Digit => next,
        Kind::Word(_) => word(text, next, first),
        Kind::Sign if begins_word(text, at, first) => next,
        Kind::Sign => signs(text, at, next, first),
        Kind::Other => left(text, at, first),
        Kind::Space => match seen(text, next) {
            Some(second) if matches!(second.kind, Kind::Word(_) | Kind::Sign) => {
                let end = next + second.length;
                if second.far != first.far || begins_word(text, next, second) {
                    next // a later step parts them, or the word behind takes the second one
                } else if second.kind == Kind::Sign {
                    signs(text, at, end, second)
                } else {
                    word(text, end, second)
                }
            }
            _ => left(text, at, first),
        },
    }
}

/// Whether the character at `at` is U+3000 in front of a word, whose step comes before that of signs.
fn begins_word(text: &[u8], at: usize, char: Seen) -> bool {
    char.blank && seen(text, at + char.length).is_some_and(|next| matches!(next.kind, Kind::Word(_)))
}

/// The end of the letters like `first` from `at` on.
fn word(text: &[u8], mut at: usize, first: Seen) -> usize {
    while let Some(char) = seen(text, at)
        && char.is_like(first)
    {
        cancel::poll_at(at);
        at += char.length;
    }
    at
}

/// The end of the signs like `first` from `at` on, of a pretoken that begins at `start`. White space at the end of all signs
/// is a pretoken of its own.
fn signs(text: &[u8], start: usize, mut at: usize, first: Seen) -> usize {
    let is_blank = first.blank;
    let mut blank = is_blank.then_some(start);
    while let Some(char) = seen(text, at)
        && char.is_like(first)
        && !begins_word(text, at, char)
    {
        cancel::poll_at(at);
        blank = if char.blank { blank.or(Some(at)) } else { None };
        at += char.length;
    }
    let goes_on = seen(text, at).is_some_and(|char| char.kind == Kind::Sign && !char.blank);
    match blank {
        Some(from) if from > start && !goes_on => from,
        _ => at,
    }
}

/// The end of what the steps for words and signs leave, from `start` on: where that ends, where Chinese to Korean begins or
/// ends, or where white space at its end begins.
fn left(text: &[u8], start: usize, first: Seen) -> usize {
    let mut at = start;
    while let Some(char) = seen(text, at)
        && matches!(char.kind, Kind::Other | Kind::Space)
        && char.far == first.far
    {
        cancel::poll_at(at);
        if char.kind == Kind::Other {
            at += char.length;
            continue;
        }
        // Where white space begins the pretoken, its first part alone is looked at: the other parts begin others.
        let spaces = Spaces::from(text, at, first.far, at > start);
        let behind = seen(text, spaces.end);
        let is_last = behind.is_none_or(|char| char.kind == Kind::Newline || begins_word(text, spaces.end, char));
        match behind.map(|char| char.kind) {
            Some(Kind::Space) => return spaces.end,
            _ if is_last && at == start => return spaces.end,
            Some(Kind::Word(_) | Kind::Sign) if at == start => return spaces.last,
            Some(Kind::Word(_) | Kind::Sign) => return at,
            _ if is_last => return at,
            _ if spaces.alike < spaces.end => return spaces.alike,
            _ => at = spaces.end,
        }
    }
    at
}

/// White space: its end, where its last character begins, and where its first part ends, all of Chinese to Korean or none.
struct Spaces {
    end: usize,
    last: usize,
    alike: usize,
}

impl Spaces {
    /// The white space from `at` on; without `whole`, its first part.
    fn from(text: &[u8], at: usize, far: bool, whole: bool) -> Self {
        let (mut end, mut last, mut alike) = (at, at, None);
        while let Some(char) = seen(text, end)
            && char.kind == Kind::Space
            && (whole || char.far == far)
        {
            cancel::poll_at(end);
            if char.far != far && alike.is_none() {
                alike = Some(end);
            }
            last = end;
            end += char.length;
        }
        Self { end, last, alike: alike.unwrap_or(end) }
    }
}
