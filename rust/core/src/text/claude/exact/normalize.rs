//! What happens to a text before it is read: composition, and characters that are stripped or replaced.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical};

use super::chars::{Bits, decode};
use crate::stop;

/// `text` in normalization form C, without controls and private characters, with plain blanks.
///
/// `fold` turns the four curly quotation marks into straight ones.
pub fn normalize(text: &str, fold: bool) -> Cow<'_, str> {
    match needed(text, fold) {
        Needed::Nothing => Cow::Borrowed(text),
        Needed::Replacing => Cow::Owned(replaced(text, fold)),
        Needed::Composing => Cow::Owned(replaced(&composed(text), fold)),
    }
}

/// `text` in normalization form C of Unicode 15.1: what came later stands as it is, and between the two sides of it
/// nothing is ordered or joined.
fn composed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(came_later) {
        let width = rest[at..].chars().next().map_or(0, char::len_utf8);
        out.extend(rest[..at].nfc().inspect(|_| stop::check()));
        out.push_str(&rest[at..at + width]);
        rest = &rest[at + width..];
    }
    out.extend(rest.nfc().inspect(|_| stop::check()));
    out
}

/// Whether `c` may be a mark, a base or a composition that Unicode 15.1 does not know. Emoji and other symbols beyond the
/// basic plane, which take no part in compositions, are let through as well.
fn came_later(c: char) -> bool {
    let bits = Bits::of(c);
    !bits.is_composed() && (canonical_combining_class(c) != 0 || (c >= '\u{10000}' && !bits.is_letter()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Nothing,
    Replacing,
    Composing,
}

/// How many plain characters of ASCII `bytes` begins with, in steps of 32: the compiler makes vectors of the inner loop.
fn plain(bytes: &[u8]) -> usize {
    let odd = |b: &u8| (u8::from(*b < b' ') & u8::from(*b != b'\n') & u8::from(*b != b'\t')) | u8::from(*b > b'~');
    bytes.chunks_exact(32).take_while(|chunk| chunk.iter().fold(0, |any, b| any | odd(b)) == 0).count() * 32
}

fn needed(text: &str, fold: bool) -> Needed {
    let bytes = text.as_bytes();
    let (mut at, mut last, mut found) = (0, 0, Needed::Nothing);
    while at < bytes.len() {
        stop::along(at);
        if bytes[at].is_ascii() {
            at += plain(&bytes[at..]);
            while let Some(byte) = bytes.get(at).filter(|byte| byte.is_ascii()) {
                if (*byte < b' ' && *byte != b'\n' && *byte != b'\t') || *byte == 0x7F {
                    found = Needed::Replacing;
                }
                at += 1;
            }
            last = at - 1;
            continue;
        }
        let (code, width) = decode(bytes, at);
        let bits = Bits::at(code);
        if bits.is_composed() || bits.is_replaced() || code == 0xE32 {
            let (before, c) = (if at > 0 { char_at(text, last) } else { '\0' }, char_at(text, at));
            if bits.is_composed() && changes(bits, before, c) {
                return Needed::Composing;
            }
            if (bits.is_replaced() && (fold || !is_quote(c))) || is_split_am(before, c) {
                found = Needed::Replacing;
            }
        }
        last = at;
        at += width;
    }
    found
}

fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or('\0')
}

/// Whether normalization form C may change `c` behind `before`: never no where it does.
fn changes(bits: Bits, before: char, c: char) -> bool {
    if bits.is_decomposed() {
        return true;
    }
    let (behind, class) = (canonical_combining_class(before), canonical_combining_class(c));
    if behind == 0 {
        // A mark may belong in front of one that is in the letter already: Y with acute, and a dot below.
        return (bits.joins() && compose(before, c).is_some()) || (class != 0 && last_mark(before) > class);
    }
    // A mark behind marks: out of order, or it may join what stands before them.
    class != 0 && (behind > class || (behind < class && bits.joins()))
}

/// The combining class of the last character that `c` decomposes to.
fn last_mark(c: char) -> u8 {
    let mut last = c;
    decompose_canonical(c, |part| last = part);
    canonical_combining_class(last)
}

/// Thai SARA AM in two characters, which are made one.
fn is_split_am(before: char, c: char) -> bool {
    before == '\u{E4D}' && c == '\u{E32}'
}

fn is_quote(c: char) -> bool {
    matches!(c, '\u{2018}' | '\u{2019}' | '\u{201C}' | '\u{201D}')
}

/// `text` with what is stripped gone and what is replaced replaced.
fn replaced(text: &str, fold: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = '\0';
    for c in text.chars() {
        stop::along(out.len());
        match c {
            '\t' | '\n' => out.push(c),
            '\0' => out.push(' '),
            '\u{1}'..='\u{1F}' | '\u{7F}'..='\u{9F}' => continue, // gone before the next pair is looked at
            '\u{E32}' if is_split_am(before, c) => {
                out.pop();
                out.push('\u{E33}');
            }
            '\u{E000}'..='\u{F8FF}' => {}
            '\u{2018}' | '\u{2019}' if fold => out.push('\''),
            '\u{201C}' | '\u{201D}' if fold => out.push('"'),
            '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' => {
                out.push(' ');
            }
            _ => out.push(c),
        }
        before = c;
    }
    out
}
