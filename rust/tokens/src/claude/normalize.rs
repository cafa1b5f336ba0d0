//! Normalization of a text: canonical composition, and characters that are removed or replaced.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{canonical_combining_class, compose as join, decompose_canonical};

use super::classes::{Bits, decode};
use crate::cancel;

/// The first byte of U+0300: composition never changes characters below it.
const FIRST_COMPOSED: u8 = 0xCC;

/// `text` with straight quotation marks in place of the four curly ones, which normalization does not change.
pub fn fold_quotes(text: &str) -> Cow<'_, str> {
    let (mut out, mut copied) = (String::new(), 0);
    for at in memchr::memchr_iter(0xE2, text.as_bytes()) {
        cancel::poll_at(at);
        let straight = match text.as_bytes()[at + 1..at + 3] {
            [0x80, 0x98 | 0x99] => '\'',
            [0x80, 0x9C | 0x9D] => '"',
            _ => continue,
        };
        out.push_str(&text[copied..at]);
        out.push(straight);
        copied = at + '\u{2019}'.len_utf8();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// `text` in normalization form C, without control and private-use characters, and with plain spaces.
pub fn normalize(text: &str) -> Cow<'_, str> {
    if is_normal(text, 0) { Cow::Borrowed(text) } else { Cow::Owned(replace(&compose_all(text))) }
}

/// Whether normalization does not change `text` from `start` on, the beginning of a character.
pub fn is_normal(text: &str, start: usize) -> bool {
    let (bytes, mut at) = (text.as_bytes(), start);
    while at < bytes.len() {
        cancel::poll_at(at);
        if bytes[at].is_ascii() {
            if bytes[at].is_ascii_control() && !matches!(bytes[at], b'\t' | b'\n') {
                return false;
            }
            at += 1;
            continue;
        }
        let (code, width) = decode(bytes, at);
        let bits = Bits::at(code);
        if may_change(code, bits) && !stays(text, at, bits) {
            return false;
        }
        at += width;
    }
    true
}

/// Whether normalization may change a character; true for no character of most texts.
#[inline]
pub fn may_change(code: usize, bits: Bits) -> bool {
    bits.is_touched() || code == 0xE4D
}

/// Whether normalization does not change the character at `at`.
#[inline(never)]
pub fn stays(text: &str, at: usize, bits: Bits) -> bool {
    let (before, c) = (char_before(text, at), char_at(text, at));
    !(bits.is_replaced()
        || is_split_am(c, &text[at + c.len_utf8()..])
        || (bits.is_composed() && changes(bits, before, c)))
}

/// `text` in normalization form C.
fn compose_all(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let composes = |c: char| Bits::of(c).is_composed();
    let (bytes, mut copied, mut at) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        cancel::poll_at(at);
        if bytes[at] < FIRST_COMPOSED {
            at += 1;
            continue;
        }
        let (code, width) = decode(bytes, at);
        let bits = Bits::at(code);
        if bits.is_composed() && changes(bits, char_before(text, at), char_at(text, at)) {
            // Only the text between two characters that do not compose has to be composed.
            let start = text[copied..at].rfind(|c| !composes(c)).map_or(copied, |place| copied + place);
            let stop =
                text[at..].char_indices().skip(1).find(|(_, c)| !composes(*c)).map_or(text.len(), |(n, _)| at + n);
            out.push_str(&text[copied..start]);
            compose(&text[start..stop], &mut out);
            (copied, at) = (stop, stop);
        } else {
            at += width;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// Appends `text` in normalization form C of Unicode 15.1: characters of later versions do not change, and nothing is
/// reordered or composed across them.
pub fn compose(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(is_newer) {
        let width = rest[at..].chars().next().map_or(0, char::len_utf8);
        out.extend(rest[..at].nfc().inspect(|_| cancel::poll()));
        out.push_str(&rest[at..at + width]);
        rest = &rest[at + width..];
    }
    out.extend(rest.nfc().inspect(|_| cancel::poll()));
}

/// Whether `c` may be a mark, a base or a composition that Unicode 15.1 does not have. Also true for symbols outside the
/// basic multilingual plane such as emoji, which never compose.
fn is_newer(c: char) -> bool {
    let bits = Bits::of(c);
    !bits.is_composed() && (canonical_combining_class(c) != 0 || (c >= '\u{10000}' && !bits.is_letter()))
}

fn char_before(text: &str, at: usize) -> char {
    text[..at].chars().next_back().unwrap_or('\0')
}

fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or('\0')
}

/// Whether normalization form C may change `c` after `before`; no false negatives.
fn changes(bits: Bits, before: char, c: char) -> bool {
    if bits.is_decomposed() {
        return true;
    }
    let ordered = Bits::of(before).is_ordered();
    if !bits.is_ordered() {
        return !ordered && bits.joins() && join(before, c).is_some();
    }
    let class = canonical_combining_class(c);
    let previous = if ordered { canonical_combining_class(before) } else { 0 };
    if previous == 0 {
        // A mark may sort before a mark that the letter includes already: Y with acute, then a dot below.
        return (bits.joins() && join(before, c).is_some()) || (class != 0 && last_mark(before) > class);
    }
    // A mark after marks: it is out of order, or it may compose with the base before them.
    class != 0 && (previous > class || (previous < class && bits.joins()))
}

/// Whether two characters compose.
#[inline(never)]
pub fn joins(before: usize, code: usize) -> bool {
    let of = |code: usize| u32::try_from(code).ok().and_then(char::from_u32).unwrap_or_default();
    join(of(before), of(code)).is_some()
}

/// The combining class of the last character that `c` decomposes to.
fn last_mark(c: char) -> u8 {
    let mut last = c;
    decompose_canonical(c, |part| last = part);
    canonical_combining_class(last)
}

/// Whether `c` and the text `after` it are Thai SARA AM in two characters, which normalization joins.
fn is_split_am(c: char, after: &str) -> bool {
    c == '\u{E4D}' && after.starts_with('\u{E32}')
}

/// Removes and replaces characters of `text`.
fn replace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (bytes, mut copied, mut at) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        cancel::poll_at(at);
        if (b' '..0x7F).contains(&bytes[at]) {
            at += 1;
            continue;
        }
        if !bytes[at].is_ascii() {
            let (code, width) = decode(bytes, at);
            if code != 0xE32 && !Bits::at(code).is_replaced() {
                at += width;
                continue;
            }
        }
        let c = char_at(text, at);
        let end = at + c.len_utf8();
        // Controls are removed before the pair is joined.
        let joins = c == '\u{E32}' && text[..at].chars().rev().find(|c| !is_control(*c)) == Some('\u{E4D}');
        if joins || Bits::of(c).is_replaced() {
            out.push_str(&text[copied..at]);
            copied = end;
            if joins {
                out.pop();
                out.push('\u{E33}');
            } else if !is_control(c) && !('\u{E000}'..='\u{F8FF}').contains(&c) {
                out.push(' ');
            }
        }
        at = end;
    }
    out.push_str(&text[copied..]);
    out
}

/// Whether normalization removes a character as a control.
pub fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\0' | '\t' | '\n')
}

#[cfg(test)]
mod tests {
    use super::super::cover::OLD;
    use super::*;

    #[test]
    fn normalization_keeps_a_settled_mark_after_a_plain_letter_of_its_scripts() {
        let known = |c: &char| OLD.character(*c as usize);
        let all = '\0'..=char::MAX;
        let marks: Vec<char> = all.clone().filter(|c| known(c).is_settled()).collect();
        let letters: Vec<char> = ('\u{900}'..'\u{F00}').filter(|c| known(c).is_plain()).collect();
        assert!(marks.len() > 10 && letters.len() > 800, "{} marks, {} letters", marks.len(), letters.len());
        for pair in letters.iter().flat_map(|letter| marks.iter().map(move |mark| String::from_iter([letter, mark]))) {
            let mut composed = String::new();
            compose(&pair, &mut composed);
            assert_eq!(composed, pair);
        }
        for c in all.filter(|c| known(c).is_joining()) {
            assert_eq!(canonical_combining_class(c), 0, "{c:?}");
        }
    }
}
