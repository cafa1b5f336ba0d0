//! The pattern of `DeepSeek` Coder: several steps, each of which splits what the steps before it left, and also what they
//! split off: `[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, Chinese to Korean, and digits one by one.
//!
//! A space belongs to the word or the punctuation behind it, if there is one; the step for Chinese to Korean then parts
//! what is of these from what is not. Symbols, marks and other white space have no step and stay together.

use crate::bpe::pretokenize::classes::{
    CASELESS, Char, LOWER, NEWLINE, NUMBER, SPACE, SYMBOL, UPPER, char_at, is_punctuation,
};
use crate::cancel;

/// What the steps make of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Newline,
    Digit,
    Letter,
    Punctuation,
    Space,
    Other,
}

/// A character: its kind, whether it is one of Chinese to Korean, and its length.
#[derive(Clone, Copy)]
struct Step {
    kind: Kind,
    far: bool,
    length: usize,
}

impl Step {
    /// Whether a step for words or for punctuation takes it, with a space in front.
    fn is_taken(self) -> bool {
        matches!(self.kind, Kind::Letter | Kind::Punctuation)
    }
}

#[inline]
fn step(text: &[u8], at: usize) -> Option<Step> {
    let Char { point, class, length } = char_at(text, at)?;
    let kind = match class {
        NEWLINE => Kind::Newline,
        NUMBER => Kind::Digit,
        LOWER | UPPER | CASELESS => Kind::Letter,
        SYMBOL if is_punctuation(point) => Kind::Punctuation,
        SPACE => Kind::Space,
        _ => Kind::Other,
    };
    Some(Step { kind, far: matches!(point, 0x800..=0x9FA5 | 0xAC00..=0xD7FF), length })
}

/// The end of the pretoken that begins at `at`.
pub fn end(text: &[u8], at: usize) -> usize {
    let Some(first) = step(text, at) else { return at };
    let next = at + first.length;
    match first.kind {
        Kind::Newline | Kind::Digit => next,
        Kind::Letter | Kind::Punctuation => alike(text, next, first),
        Kind::Space | Kind::Other => match step(text, next) {
            Some(second) if first.kind == Kind::Space && second.is_taken() => {
                if second.far == first.far {
                    alike(text, next + second.length, second)
                } else {
                    next
                }
            }
            _ => between(text, next, first.far),
        },
    }
}

/// The end of the characters like `first` from `at` on.
fn alike(text: &[u8], mut at: usize, first: Step) -> usize {
    while let Some(char) = step(text, at)
        && (char.kind, char.far) == (first.kind, first.far)
    {
        cancel::poll_at(at);
        at += char.length;
    }
    at
}

/// The end of what stands between words, punctuation, digits and line ends, from `at` on.
fn between(text: &[u8], mut at: usize, far: bool) -> usize {
    while let Some(char) = step(text, at)
        && matches!(char.kind, Kind::Space | Kind::Other)
        && char.far == far
    {
        cancel::poll_at(at);
        let next = at + char.length;
        if char.kind == Kind::Space && step(text, next).is_some_and(Step::is_taken) {
            break;
        }
        at = next;
    }
    at
}
