//! The pattern of `DeepSeek` V3: numbers, runs of Chinese and Japanese, and the rest are split separately.

use crate::bpe::pretokenize::classes::{
    CASELESS, Char, LOWER, MARK, NEWLINE, NUMBER, SPACE, SYMBOL, Set, UPPER, char_at,
};
use crate::cancel;

const WORDS: Set = Set::of(&[LOWER, UPPER, CASELESS, MARK]);
const WHITE_SPACE: Set = Set::of(&[SPACE, NEWLINE]);

/// A part of the text that is split separately.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Number,
    /// `[一-龥぀-ゟ゠-ヿ]`
    Han,
    Rest,
}

#[inline]
fn part(char: Char) -> Part {
    match char.point {
        0x4E00..=0x9FA5 | 0x3040..=0x30FF => Part::Han,
        _ if char.class == NUMBER => Part::Number,
        _ => Part::Rest,
    }
}

/// The character at `at` if it is in the part `of`.
#[inline]
fn inside(text: &[u8], at: usize, of: Part) -> Option<Char> {
    char_at(text, at).filter(|&char| part(char) == of)
}

#[inline]
fn run(text: &[u8], mut at: usize, set: Set, of: Part) -> usize {
    while let Some(char) = inside(text, at, of)
        && set.has(char.class)
    {
        cancel::poll_at(at);
        at += char.length;
    }
    at
}

/// The end of the pretoken that begins at `at`.
///
/// `\p{N}{1,3}`, then `[一-龥぀-ゟ゠-ヿ]+`, then
/// `[ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
pub fn end(text: &[u8], at: usize) -> usize {
    let Some(first) = char_at(text, at) else { return at };
    let of = part(first);
    if of == Part::Number {
        let mut end = at + first.length;
        for _ in 1..3 {
            end += inside(text, end, of).map_or(0, |char| char.length);
        }
        return end;
    }
    if let Some(end) = matched(text, at, first, of) {
        return end;
    }
    // Characters that no alternative matches form one pretoken up to the next match.
    let mut end = at + first.length;
    while let Some(char) = inside(text, end, of)
        && matched(text, end, char, of).is_none()
    {
        cancel::poll_at(end);
        end += char.length;
    }
    end
}

/// The end of the match at `at`, if an alternative matches.
#[inline]
fn matched(text: &[u8], at: usize, first: Char, of: Part) -> Option<usize> {
    let next = at + first.length;
    if text[at].is_ascii_punctuation() && text.get(next).is_some_and(u8::is_ascii_alphabetic) {
        return Some(next + text[next..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count());
    }
    if WORDS.has(first.class) {
        return Some(run(text, next, WORDS, of));
    }
    let second = inside(text, next, of).map(|char| char.class);
    if first.class != NEWLINE && first.class != SYMBOL && second.is_some_and(|class| WORDS.has(class)) {
        return Some(run(text, next, WORDS, of));
    }
    if first.class == SYMBOL || text[at] == b' ' && second == Some(SYMBOL) {
        let end = run(text, next, Set::of(&[SYMBOL]), of);
        let newlines = text[end..].iter().take_while(|byte| of == Part::Rest && matches!(byte, b'\r' | b'\n'));
        return Some(end + newlines.count());
    }
    WHITE_SPACE.has(first.class).then(|| white_space(text, at, of))
}

/// The end of white space, as in the other patterns, within one part of the text.
fn white_space(text: &[u8], at: usize, of: Part) -> usize {
    let (mut end, mut last, mut newline) = (at, at, None);
    while let Some(char) = inside(text, end, of)
        && WHITE_SPACE.has(char.class)
    {
        cancel::poll_at(end);
        last = end;
        end += char.length;
        if char.class == NEWLINE {
            newline = Some(end);
        }
    }
    match newline {
        Some(behind) => behind,
        None if inside(text, end, of).is_none() || last == at => end,
        None => last,
    }
}
