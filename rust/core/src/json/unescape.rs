//! Decodes JSON strings.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use trimtab_simd::{Kernel, WIDE, Work};

/// The text of a validated string, given between its quotes: a surrogate pair is one character, a lone surrogate U+FFFD.
pub fn text(raw: &str) -> String {
    text_in(raw, raw.len(), &mut Vec::new()).0.to_owned() // a copy takes less than to validate the bytes once more
}

/// Decodes the first `length` bytes into `room`, which grows to the longest text and a window; also returns whether the text
/// is known to be ASCII. If `raw` has two windows after these bytes, their end need not be copied.
pub fn text_in<'r>(raw: &str, length: usize, room: &'r mut Vec<u8>) -> (&'r str, bool) {
    let most = length + WIDE; // no escape is shorter than what it stands for
    if room.len() < most {
        room.resize(most, 0);
    }
    let (made, is_ascii) = trimtab_simd::run(Unescape { raw, length, out: room });
    (simdutf8::basic::from_utf8(&room[..made]).unwrap_or_default(), is_ascii)
}

/// Whether [`write_json`](crate::node::write_json) writes a validated string unchanged: each escape is in its shortest form,
/// and no control character lacks one.
pub fn is_as_written(raw: &str) -> bool {
    match trimtab_simd::run(Rewritten { raw: raw.as_bytes() }) {
        Form::AsWritten => true,
        Form::Controls => false,
        Form::Unsure => has_shortest_escapes(raw),
    }
}

/// Whether each escape of a string is in its shortest form.
fn has_shortest_escapes(raw: &str) -> bool {
    let mut rest = raw.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        match rest.get(at + 1) {
            Some(b'/' | b'u') | None => return false,
            Some(_) => rest = &rest[at + 2..],
        }
    }
    true
}

/// What a look at all bytes, each by itself, says of a string.
#[derive(Clone, Copy)]
enum Form {
    AsWritten,
    /// It has a control character.
    Controls,
    /// It has a backslash before `u` or `/`, which may be an escaped one.
    Unsure,
}

/// Tells the form of a string, for any kernel.
struct Rewritten<'a> {
    raw: &'a [u8],
}

impl Work for Rewritten<'_> {
    type Output = Form;

    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the processor
    fn run(self, kernel: impl Kernel) -> Form {
        let (mut rest, mut before, mut unsure) = (self.raw, 0, 0);
        let mut padded = [b' '; WIDE];
        while !rest.is_empty() {
            let (bytes, behind) = if let Some((bytes, behind)) = rest.split_first_chunk() {
                (bytes, behind)
            } else {
                padded[..rest.len()].copy_from_slice(rest);
                (&padded, &[][..])
            };
            let window = kernel.load(bytes);
            if kernel.within(window, 0, 0x1F) != 0 {
                return Form::Controls;
            }
            let slashes = kernel.equal(window, b'\\');
            unsure |= (slashes << 1 | before) & (kernel.equal(window, b'u') | kernel.equal(window, b'/'));
            (before, rest) = (slashes >> (WIDE - 1), behind);
        }
        if unsure == 0 { Form::AsWritten } else { Form::Unsure }
    }
}

/// A part of a validated string.
pub enum Part<'a> {
    /// As it stands, with escapes of two bytes.
    Raw(&'a str),
    /// The character of `\u` escapes, or of `\/`.
    Char(char),
    /// Half a character alone.
    Lone(u16),
}

/// Calls `take` with the parts of a validated string, in order.
pub fn parts<'a>(raw: &'a str, mut take: impl FnMut(Part<'a>)) {
    let mut start = 0;
    let mut next = [&*UNIT, &*SLASH].map(|escape| find(escape, raw, 0));
    while let Some(at) = next.into_iter().flatten().min() {
        take(Part::Raw(&raw[start..at]));
        let (unit, behind) = escape(&raw[at..]);
        let (c, behind) = character(unit, behind, &raw[at..]);
        take(c.map_or(Part::Lone(unit), Part::Char));
        start = at + behind;
        for (next, escape) in next.iter_mut().zip([&*UNIT, &*SLASH]) {
            if next.is_some_and(|next| next < start) {
                *next = find(escape, raw, start);
            }
        }
    }
    take(Part::Raw(&raw[start..]));
}

static UNIT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\\u"));
static SLASH: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\\/"));

/// The first escape from `from` on, where none is open; a search for each backslash took five times as long.
fn find(escape: &Finder<'_>, raw: &str, from: usize) -> Option<usize> {
    let (bytes, mut at) = (raw.as_bytes(), from);
    loop {
        at += if bytes[at..].starts_with(escape.needle()) { 0 } else { escape.find(&bytes[at..])? };
        let slashes = bytes[from..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if slashes % 2 == 0 {
            return Some(at);
        }
        at += 2;
    }
}

/// Whether a validated JSON text has an escape of half a character alone.
pub fn has_lone_surrogate(json: &str) -> bool {
    let unit = |at: usize| {
        let escape = json.as_bytes().get(at..at + 6).filter(|escape| escape.starts_with(b"\\u"))?;
        u16::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
    };
    let has = |start: &[u8]| memchr::memmem::find(json.as_bytes(), start).is_some();
    if !has(b"\\ud") && !has(b"\\uD") {
        return false; // nearly all: two passes cost less than a look at each escape
    }
    let mut at = 0;
    while let Some(next) = json.as_bytes().get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        at += match unit(at) {
            None => 2,
            Some(0xD800..0xDC00) if matches!(unit(at + 6), Some(0xDC00..0xE000)) => 12,
            Some(0xD800..0xE000) => return true,
            Some(_) => 6,
        };
    }
    false
}

/// Character of an escape of two bytes, by its second byte; 0 for none.
const MEANT: [u8; 256] = {
    let (pairs, mut meant) = (*b"\"\"\\\\//b\x08f\x0cn\nr\rt\t", [0; 256]);
    let mut n = 0;
    while n < pairs.len() {
        meant[pairs[n] as usize] = pairs[n + 1];
        n += 2;
    }
    meant
};

/// The work of [`text_in`], for any kernel.
struct Unescape<'a, 'o> {
    raw: &'a str,
    length: usize,
    out: &'o mut [u8],
}

impl Work for Unescape<'_, '_> {
    type Output = (usize, bool);

    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the processor
    fn run(self, kernel: impl Kernel) -> (usize, bool) {
        let (raw, mut read, mut made, mut is_ascii) = (self.raw.as_bytes(), 0, 0, true);
        while read < self.length {
            let (rest, padded) = (&raw[read..], &mut [0; 2 * WIDE]);
            let bytes = rest.first_chunk().unwrap_or_else(|| {
                padded[..rest.len()].copy_from_slice(rest);
                padded
            });
            let step = window(kernel, bytes, WIDE.min(self.length - read), &mut self.out[made..]);
            (read, made, is_ascii) = (read + step.read, made + step.made, is_ascii && step.is_ascii);
            if step.is_long {
                let (c, behind) = long(&self.raw[read..]);
                (read, made) = (read + behind, made + c.encode_utf8(&mut self.out[made..]).len());
                is_ascii &= c.is_ascii();
            }
        }
        (made, is_ascii)
    }
}

/// The result of decoding a window.
struct Step {
    read: usize,
    made: usize,
    /// Whether an escape of more than two bytes follows.
    is_long: bool,
    /// Whether the window is ASCII.
    is_ascii: bool,
}

/// Decodes the first `length` bytes of a window, at least one, up to an escape of more than two bytes. The positions of all
/// escapes are computed first, so that the next escape and the next window do not wait for a decoded one.
#[inline(always)]
#[allow(clippy::inline_always)] // to be compiled for the processor
fn window(kernel: impl Kernel, bytes: &[u8; 2 * WIDE], length: usize, out: &mut [u8]) -> Step {
    let first = kernel.load(bytes.first_chunk().expect("two windows"));
    let (mut slashes, is_ascii) = (kernel.equal(first, b'\\'), kernel.non_ascii(first) == 0);
    let (mut read, mut made) = (0, 0);
    slashes &= u64::MAX >> (WIDE - length);
    while slashes != 0 {
        let place = slashes.trailing_zeros() as usize;
        let meant = MEANT[usize::from(bytes[place + 1])];
        copy(&bytes[read..], &mut out[made..]);
        made += place - read;
        if meant == 0 {
            return Step { read: place, made, is_long: true, is_ascii };
        }
        out[made] = meant;
        (read, made) = (place + 2, made + 1);
        slashes &= !(3 << place); // one that is escaped begins nothing
    }
    if read < length {
        copy(&bytes[read..], &mut out[made..]);
        (read, made) = (length, made + length - read);
    }
    Step { read, made, is_long: false, is_ascii }
}

/// Copies a whole window, of which later copies overwrite the excess: a copy of the exact length mispredicts.
#[inline(always)]
#[allow(clippy::inline_always)] // to be compiled for the processor
fn copy(from: &[u8], to: &mut [u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<WIDE>(), from.first_chunk()) {
        *to = *from;
    }
}

/// The text as UTF-16, in which lone surrogates differ.
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

/// The character of the escape at the start, or of a surrogate pair there, and its length in bytes.
fn long(text: &str) -> (char, usize) {
    let (unit, behind) = escape(text);
    let (c, behind) = character(unit, behind, text);
    (c.unwrap_or(char::REPLACEMENT_CHARACTER), behind)
}

/// The character of a unit that ends behind `behind` bytes of a text, or of a surrogate pair there; `None` of half a one alone.
fn character(unit: u16, behind: usize, text: &str) -> (Option<char>, usize) {
    match char::from_u32(u32::from(unit)) {
        Some(c) => (Some(c), behind),
        None => low(unit, &text[behind..]).map_or((None, behind), |c| (Some(c), behind + 6)),
    }
}

/// The character of a surrogate pair.
fn low(high: u16, rest: &str) -> Option<char> {
    let next = rest.starts_with("\\u").then(|| escape(rest).0)?;
    char::decode_utf16([high, next]).next()?.ok()
}

/// The UTF-16 unit of an escape, which the parser has validated, and its length.
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

    /// Decodes by the definition: a character or an escape at a time.
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
    fn half_a_character_alone_is_seen() {
        for (json, is_lone) in [
            (r#"["\ud83d\ude00", "\u00e9\n"]"#, false),
            (r#"["\\ud83d"]"#, false),
            (r#"["\ud83d"]"#, true),
            (r#"["\ud83d\n\ude00"]"#, true),
            (r#"["\uDE00\ud83d"]"#, true),
            (r#"["a\ud83d\ud83d\ude00"]"#, true),
        ] {
            assert_eq!(has_lone_surrogate(json), is_lone, "{json}");
        }
    }

    #[test]
    fn text_is_the_same_wherever_windows_end() {
        let ends =
            [r"\n", r"\\", r#"\""#, r"\/\u00e9", "\u{e9}\u{20ac}\u{1f600}", r"\ud83d\ude00", r"\ud83d", r"\ude00x", ""];
        for before in 0..300 {
            for end in ends {
                for filler in ["a", "\u{1f600}", r"\t"] {
                    let raw = format!("{}{end}{}{end}", &filler.repeat(before)[..before / 4 * 4], "b".repeat(40));
                    assert_eq!(text(&raw), one_by_one(&raw), "{raw}");
                    for behind in [r#"", "key": "\u0041\"#.repeat(9), "\u{e9}\\".repeat(60)] {
                        let (more, mut room) = (raw.clone() + "\"" + &behind, Vec::new());
                        assert_eq!(text_in(&more, raw.len(), &mut room).0, one_by_one(&raw), "{raw}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_parts_of_a_string_are_its_text() {
        for raw in [
            r"a\u00e9b",
            r"\\u00e9\/",
            r"\\\u00e9\\\\/\/\/",
            r"\ud83d\ude00\u00e9\n\u000a",
            r"\ud83d",
            r"\ude00\u0041",
            "",
        ] {
            let mut out = String::new();
            parts(raw, |part| match part {
                Part::Raw(raw) => out += &one_by_one(raw),
                Part::Char(c) => out.push(c),
                Part::Lone(_) => out.push(char::REPLACEMENT_CHARACTER),
            });
            assert_eq!(out, one_by_one(raw), "{raw}");
        }
    }

    #[test]
    fn what_is_written_as_it_stands_is_told() {
        for raw in ["", "plain", r#"\n\\\""#, r"\\u", r"\\/", &r"ab\\u\\/".repeat(30), "é/u"] {
            assert!(is_as_written(raw), "{raw}");
        }
        for raw in [r"\u00e9", r"a\/b", r"\\\u0041", "a\nb"] {
            for before in 0..140 {
                let raw = "b".repeat(before) + raw + r"\n";
                assert!(!is_as_written(&raw), "{raw}");
            }
        }
    }
}
