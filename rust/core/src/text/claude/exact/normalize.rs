//! What happens to a text before it is read: composition, and characters that are stripped or replaced.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{self, canonical_combining_class, decompose_canonical};

use super::chars::{Bits, decode};
use crate::stop;

/// `text` in normalization form C, without controls and private characters, with plain blanks.
///
/// `fold` turns the four curly quotation marks into straight ones.
pub fn normalize(text: &str, fold: bool) -> Cow<'_, str> {
    if is_normal(text, 0, fold) { Cow::Borrowed(text) } else { Cow::Owned(replaced(&composed(text), fold)) }
}

/// Whether normalization leaves `text` as it is from `start` on, the beginning of a character.
pub fn is_normal(text: &str, start: usize, fold: bool) -> bool {
    let (bytes, mut at) = (text.as_bytes(), start);
    while at < bytes.len() {
        stop::along(at);
        if bytes[at].is_ascii() {
            if is_control(bytes[at]) {
                return false;
            }
            at += 1;
            continue;
        }
        let (code, width) = decode(bytes, at);
        let bits = Bits::at(code);
        if may_change(code, bits) && !stays(text, at, bits, fold) {
            return false;
        }
        at += width;
    }
    true
}

/// Whether normalization may change a character: it is never so in most texts.
#[inline]
pub fn may_change(code: usize, bits: Bits) -> bool {
    bits.is_touched() || code == 0xE32
}

/// Whether normalization leaves the character at `at` as it is.
#[inline(never)]
pub fn stays(text: &str, at: usize, bits: Bits, fold: bool) -> bool {
    let (before, c) = (text[..at].chars().next_back().unwrap_or('\0'), char_at(text, at));
    let replaced = bits.is_replaced() && (fold || !is_quote(c));
    !(replaced || is_split_am(before, c) || (bits.is_composed() && changes(bits, before, c)))
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7F
}

/// `text` in normalization form C.
fn composed(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let joined = |c: char| Bits::of(c).is_composed();
    let (mut copied, mut before) = (0, '\0');
    for (at, c) in text.char_indices() {
        stop::along(at);
        if at >= copied && joined(c) && changes(Bits::of(c), before, c) {
            // Between two characters that join nothing before them a text is composed by itself.
            let start = text[copied..at].rfind(|c| !joined(c)).map_or(copied, |place| copied + place);
            let stop = text[at..].char_indices().skip(1).find(|(_, c)| !joined(*c)).map_or(text.len(), |(n, _)| at + n);
            out.push_str(&text[copied..start]);
            compose(&text[start..stop], &mut out);
            copied = stop;
        }
        before = c;
    }
    out.push_str(&text[copied..]);
    out
}

/// Adds `text` in normalization form C of Unicode 15.1: what came later stands as it is, and between the two sides of it
/// nothing is ordered or joined.
fn compose(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(came_later) {
        let width = rest[at..].chars().next().map_or(0, char::len_utf8);
        out.extend(rest[..at].nfc().inspect(|_| stop::check()));
        out.push_str(&rest[at..at + width]);
        rest = &rest[at + width..];
    }
    out.extend(rest.nfc().inspect(|_| stop::check()));
}

/// Whether `c` may be a mark, a base or a composition that Unicode 15.1 does not know. Emoji and other symbols beyond the
/// basic plane, which take no part in compositions, are let through as well.
fn came_later(c: char) -> bool {
    let bits = Bits::of(c);
    !bits.is_composed() && (canonical_combining_class(c) != 0 || (c >= '\u{10000}' && !bits.is_letter()))
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
        return (bits.joins() && char::compose(before, c).is_some()) || (class != 0 && last_mark(before) > class);
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
