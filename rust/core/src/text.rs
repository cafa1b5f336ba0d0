//! Strings of other encodings as UTF-8; white space, and numbers as people read them.

use std::cell::RefCell;

use trimtab_simd::{capacity_for, transcode};

/// Longest string in code points that is transcoded here: the buffers take at most a megabyte a thread.
const MOST: usize = 1 << 17;

thread_local! {
    /// Buffers for a string's code points and their UTF-8.
    static BUFFERS: RefCell<(Vec<u32>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// The text of `length` code points. `fill` writes them, and returns false if it cannot.
///
/// Takes half of the time of `CPython`'s encoder. None for a long string and for one with a surrogate.
///
/// # Examples
///
/// ```
/// use trimtab_core::text::of_code_points;
///
/// let copy = |from: &'static [u32]| of_code_points(from.len(), |to| { to.copy_from_slice(from); true });
/// assert_eq!(copy(&[0x68, 0xe9]).as_deref(), Some("hé"));
/// assert_eq!(copy(&[0xd800]), None);
/// ```
pub fn of_code_points(length: usize, fill: impl FnOnce(&mut [u32]) -> bool) -> Option<String> {
    if length > MOST {
        return None;
    }
    let found = BUFFERS.try_with(|kept| {
        let (units, bytes) = &mut *kept.try_borrow_mut().ok()?;
        if units.len() < length {
            *units = vec![0; length.next_power_of_two()]; // growing would copy the old ones
        }
        if bytes.len() < capacity_for(length) {
            *bytes = vec![0; capacity_for(length.next_power_of_two())];
        }
        let units = &mut units[..length];
        if !fill(units) {
            return None;
        }
        let end = transcode(units, bytes);
        simdutf8::basic::from_utf8(&bytes[..end]).ok().map(str::to_owned)
    });
    found.ok().flatten()
}

/// Whether a character is white space to Python.
#[must_use]
pub fn is_space(c: char) -> bool {
    matches!(c, '\u{1c}'..='\u{1f}') || c.is_whitespace()
}

/// Characters of a string of a file in which words are looked for.
pub const MOST_READ: usize = 1_000;
/// Values of a field of a file that are searched for a string with words; a field with more is taken to hold one.
pub const MOST_SEARCHED: usize = 1_000;

/// Whether a string of a file counts as text: it has three words or more. Identifiers, numbers, times and paths have fewer.
///
/// # Examples
///
/// ```
/// use trimtab_core::text::is_worded;
///
/// assert!(is_worded("read the file"));
/// assert!(!is_worded("2026-01-31 23:59:59"));
/// ```
#[must_use]
pub fn is_worded(text: &str) -> bool {
    const WORDS: usize = 3;
    // Between words stand spaces, whose bytes are of these: of an id, the bytes say enough.
    let first = &text.as_bytes()[..text.len().min(4 * MOST_READ)];
    if first.iter().filter(|byte| !(0x21..0x80).contains(*byte)).count() < WORDS - 1 {
        return false;
    }
    let (mut words, mut is_behind) = (0, false);
    for c in text.chars().take(MOST_READ) {
        let is_word = !is_space(c);
        words += usize::from(is_word && !is_behind);
        if words == WORDS {
            return true; // of nearly every text after a few characters
        }
        is_behind = is_word;
    }
    false
}

/// A number with a comma before each three digits.
///
/// # Examples
///
/// ```
/// assert_eq!([999, 1_234_005].map(trimtab_core::text::with_commas), ["999", "1,234,005"]);
/// ```
#[must_use]
pub fn with_commas(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", with_commas(number / 1_000), number % 1_000) }
}

/// The text of bytes; invalid UTF-8, which is rare, becomes U+FFFD.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> String {
    let valid = simdutf8::basic::from_utf8(bytes).map(str::to_owned);
    valid.unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned())
}

/// The text of UTF-16, little-endian; a lone surrogate becomes U+FFFD, a pair of them one character.
///
/// # Examples
///
/// ```
/// assert_eq!(trimtab_core::text::of_utf16(b"\x3d\xd8\x00\xde\x3d\xd8"), "😀\u{fffd}");
/// ```
#[must_use]
pub fn of_utf16(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
