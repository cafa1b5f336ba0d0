//! The JSON in which a message is archived: ASCII, identical to Python's `json.dumps`.
//!
//! There is one exception. Two surrogates that are separate characters of a string are written like the character of that
//! pair, and are read back as it. Their escapes have capitals here, which `json.dumps` never writes.

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::node::MAX_DEPTH;

/// Nesting of archived values: deeper than any list that is scanned, and shallow enough for a thread's stack.
const DEEPEST: usize = 2 * MAX_DEPTH;

/// A sequence of JSON texts.
#[derive(Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    depth: usize,
}

impl Texts {
    /// Ends a text.
    pub fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// The texts that were ended.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().scan(0, |start, &end| Some(&self.bytes[std::mem::replace(start, end)..end]))
    }

    /// Appends a number, a bool or null.
    pub fn literal(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends a string.
    pub fn string(&mut self, text: &str) {
        quote(text, &mut self.bytes);
    }

    /// Appends a string in UTF-32, little-endian: one with lone surrogates.
    pub fn string_of_points(&mut self, bytes: &[u8]) {
        let (points, _) = bytes.as_chunks();
        let points: Vec<_> = points.iter().map(|point| u32::from_le_bytes(*point)).collect();
        quote_points(&points, &mut self.bytes);
    }

    /// Appends the separator between a key and its value.
    pub fn colon(&mut self) {
        self.bytes.extend_from_slice(b": ");
    }

    /// Appends a container between `brackets`; `part` appends each of its `parts`.
    ///
    /// # Errors
    ///
    /// The first error of `part`, and what `error` makes of [`Error::Argument`] for nesting beyond 400 levels.
    pub fn container<P, E>(
        &mut self,
        brackets: [u8; 2],
        parts: impl Iterator<Item = P>,
        error: impl FnOnce(Error) -> E,
        mut part: impl FnMut(&mut Self, P) -> Result<(), E>,
    ) -> Result<(), E> {
        self.depth += 1;
        self.bytes.push(brackets[0]);
        for (number, of) in parts.enumerate() {
            if self.depth > DEEPEST {
                let what = format!("it is nested deeper than {DEEPEST} levels, or contains itself");
                return Err(error(Error::Argument(what)));
            }
            self.bytes.extend_from_slice(if number == 0 { b"" } else { b", " });
            part(self, of)?;
        }
        self.bytes.push(brackets[1]);
        self.depth -= 1;
        Ok(())
    }
}

/// A float in JSON, from Python's `repr`.
#[must_use]
pub fn float(repr: &str) -> &str {
    match repr {
        "nan" => "NaN",
        "inf" => "Infinity",
        "-inf" => "-Infinity",
        finite => finite,
    }
}

/// Whether a byte needs no escape inside a JSON string.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

/// Appends `text` as a JSON string.
///
/// # Examples
///
/// ```
/// let mut out = Vec::new();
/// trimtab_core::json::canon::quote("a\t\"é\" 😀", &mut out);
/// assert_eq!(out, br#""a\t\"\u00e9\" \ud83d\ude00""#);
/// ```
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !is_plain(byte)) {
        let (plain, behind) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let mut chars = behind.chars();
        chars.next().into_iter().for_each(|c| escape(u32::from(c), out));
        rest = chars.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'"');
}

/// Appends a string with lone surrogates, given as code points.
///
/// # Examples
///
/// ```
/// let mut out = Vec::new();
/// trimtab_core::json::canon::quote_points(&[0xd800, 0x1f600, 0xd83d, 0xde00], &mut out);
/// assert_eq!(out, br#""\ud800\ud83d\ude00\uD83D\uDE00""#);
/// ```
pub fn quote_points(points: &[u32], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut at = 0;
    while let Some(&point) = points.get(at) {
        match points.get(at + 1) {
            Some(&next @ 0xdc00..=0xdfff) if matches!(point, 0xd800..=0xdbff) => {
                unit(point, CAPITALS, out);
                unit(next, CAPITALS, out);
                at += 2;
            }
            _ => {
                escape(point, out);
                at += 1;
            }
        }
    }
    out.push(b'"');
}

fn escape(point: u32, out: &mut Vec<u8>) {
    match point {
        0x22 => out.extend_from_slice(b"\\\""),
        0x5c => out.extend_from_slice(b"\\\\"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0d => out.extend_from_slice(b"\\r"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x20..=0x7e => out.extend(u8::try_from(point)),
        0x1_0000.. => {
            let over = point - 0x1_0000;
            unit(0xd800 + (over >> 10), SMALL, out);
            unit(0xdc00 + (over & 0x3ff), SMALL, out);
        }
        _ => unit(point, SMALL, out),
    }
}

const SMALL: &[u8; 16] = b"0123456789abcdef";
const CAPITALS: &[u8; 16] = b"0123456789ABCDEF";

/// Appends an escape of four digits; the formatting machinery takes five times as long.
fn unit(unit: u32, digits: &[u8; 16], out: &mut Vec<u8>) {
    let digit = |shift: u32| digits[(unit >> shift & 15) as usize];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

/// The address of a text: its SHA-256 in hexadecimal.
///
/// # Examples
///
/// ```
/// assert!(trimtab_core::json::canon::address(b"{}").starts_with("44136fa355b3678a"));
/// ```
#[must_use]
pub fn address(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}

/// Bytes in lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(SMALL[usize::from(digit)])).collect()
}
