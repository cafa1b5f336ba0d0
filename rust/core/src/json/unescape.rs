//! The text that a JSON string stands for.

use crate::text::pass::{NEAR, Pass, Passing};
use crate::text::simd;

/// What a validated string says, between its quotes: pairs of surrogates are one character, lone ones U+FFFD.
pub fn text(raw: &str) -> String {
    let mut out = String::new();
    text_into(raw, &mut out);
    out
}

/// The same behind what is there.
pub fn text_into(raw: &str, out: &mut String) {
    out.reserve(raw.len());
    simd::widest(Unescape { raw, out });
}

/// Whether the text of a validated string is written as it stands here: no escape has a shorter or another form.
pub fn is_as_written(raw: &str) -> bool {
    let mut rest = raw.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        match rest.get(at + 1) {
            Some(b'/' | b'u') | None => return false,
            Some(_) => rest = &rest[at + 2..],
        }
    }
    true
}

/// What an escape of two bytes stands for, by its second; 0 where there is none.
const MEANT: [u8; 256] = {
    let (pairs, mut meant) = (*b"\"\"\\\\//b\x08f\x0cn\nr\rt\t", [0; 256]);
    let mut n = 0;
    while n < pairs.len() {
        meant[pairs[n] as usize] = pairs[n + 1];
        n += 2;
    }
    meant
};

/// Bytes that are made at a time: they stay in the nearest cache.
const ROOM: usize = 1_024;

/// What [`text_into`] does, whatever the processor.
struct Unescape<'a, 'o> {
    raw: &'a str,
    out: &'o mut String,
}

impl Passing for Unescape<'_, '_> {
    type Found = ();

    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the processor
    fn with(self, pass: impl Pass) {
        let (mut rest, mut room) = (self.raw, [0; ROOM]);
        while !rest.is_empty() {
            let (read, made, is_full) = fill(pass, rest.as_bytes(), &mut room);
            // The last window may end inside a character, which is left for the next time.
            let cut = (0..4).find(|back| rest.is_char_boundary(read - back)).unwrap_or_default();
            self.out.push_str(simdutf8::basic::from_utf8(&room[..made - cut]).unwrap_or_default());
            rest = &rest[read - cut..];
            if !is_full && !rest.is_empty() {
                let (c, behind) = long(rest);
                self.out.push(c);
                rest = &rest[behind..];
            }
        }
    }
}

/// How many bytes were read and made, up to an escape of more than two or the end; or until the room is full, and whether
/// it is.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn fill(pass: impl Pass, raw: &[u8], room: &mut [u8; ROOM]) -> (usize, usize, bool) {
    let (mut read, mut made) = (0, 0);
    while let Some(place) = room[made..].first_chunk_mut::<NEAR>() {
        let plain = if let Some(window) = raw[read..].first_chunk::<NEAR>() {
            *place = *window;
            pass.first(window)
        } else {
            let tail = &raw[read..];
            place[..tail.len()].copy_from_slice(tail);
            tail.iter().position(|byte| *byte == b'\\').unwrap_or(tail.len())
        };
        (read, made) = (read + plain, made + plain);
        if plain == NEAR {
            continue;
        }
        let meant = raw.get(read + 1).map_or(0, |byte| MEANT[usize::from(*byte)]);
        if meant == 0 {
            return (read, made, false);
        }
        room[made] = meant;
        (read, made) = (read + 2, made + 1);
    }
    (read, made, true)
}

/// The same as UTF-16, in which lone surrogates differ.
pub fn units(raw: &str) -> Vec<u16> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.extend(rest[..at].encode_utf16());
        let (unit, behind) = escape(&rest[at..]);
        out.push(unit);
        rest = &rest[at + behind..];
    }
    out.extend(rest.encode_utf16());
    out
}

/// The character that the escape at the start stands for, with the one behind it where both make one, and their length.
fn long(text: &str) -> (char, usize) {
    let (unit, behind) = escape(text);
    match char::from_u32(u32::from(unit)) {
        Some(c) => (c, behind),
        None => low(unit, &text[behind..]).map_or((char::REPLACEMENT_CHARACTER, behind), |c| (c, behind + 6)),
    }
}

/// The character that a high surrogate and the low one behind it make.
fn low(high: u16, rest: &str) -> Option<char> {
    let next = rest.starts_with("\\u").then(|| escape(rest).0)?;
    char::decode_utf16([high, next]).next()?.ok()
}

/// The unit that an escape stands for, and its length; the parser has seen that it is one.
fn escape(text: &str) -> (u16, usize) {
    let bytes = text.as_bytes();
    let unit = match bytes.get(1) {
        Some(b'u') => return (text.get(2..6).and_then(|hex| u16::from_str_radix(hex, 16).ok()).unwrap_or(0xFFFD), 6),
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => 10,
        Some(b'r') => 13,
        Some(b't') => 9,
        Some(&other) => u16::from(other),
        None => 0xFFFD,
    };
    (unit, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by definition: a character or an escape at a time.
    fn one_by_one(raw: &str) -> String {
        let (mut out, mut rest) = (String::new(), raw);
        while let Some(c) = rest.chars().next() {
            let (c, behind) = if c == '\\' { long(rest) } else { (c, c.len_utf8()) };
            out.push(c);
            rest = &rest[behind..];
        }
        out
    }

    #[test]
    fn text_is_the_same_wherever_windows_end() {
        let ends =
            [r"\n", r"\\", r#"\""#, r"\/\u00e9", "\u{e9}\u{20ac}\u{1f600}", r"\ud83d\ude00", r"\ud83d", r"\ude00x", ""];
        for before in (0..70).chain(ROOM - 70..ROOM + 70) {
            for end in ends {
                for filler in ["a", "\u{1f600}", r"\t"] {
                    let raw = format!("{}{end}{}{end}", &filler.repeat(before)[..before / 4 * 4], "b".repeat(40));
                    assert_eq!(text(&raw), one_by_one(&raw), "{raw}");
                }
            }
        }
    }

    #[test]
    fn what_is_written_as_it_stands_is_told() {
        for raw in ["", "plain", r#"\n\\\""#, r"\\u", r"\\/"] {
            assert!(is_as_written(raw), "{raw}");
        }
        for raw in [r"\u00e9", r"a\/b", r"\\\u0041"] {
            assert!(!is_as_written(raw), "{raw}");
        }
    }
}
