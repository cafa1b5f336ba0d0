//! Finds the record that a damaged line still has.
//!
//! Files are damaged in few ways: a crash leaves NUL bytes where a write was due, a writer forgets to escape a line's end,
//! and a restarted writer goes on behind a torn record without a new line.

use crate::json::parse::{CONTROL, LINE_BREAK};
use crate::json::{Fault, Tape};

/// The reason for a run of NUL bytes with nothing behind it.
pub const NULS: &str = "NUL bytes";

/// The reason for NUL bytes in front of a record.
pub const NULS_BEFORE: &str = "NUL bytes in front of a record";

/// The reason for a record that was read with the control characters of its strings.
pub const UNESCAPED: &str = "a line break or control character in a string, which JSON escapes: read as it stands";

/// Places at which a record is tried: few are torn on one line, and few parts of a record have its first names.
const MOST: usize = 64;

/// White space within a line, as Python strips it.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C)
}

/// The number of NUL bytes and blanks at the start, if the first is a NUL.
pub fn nuls(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0) => bytes.iter().take_while(|&&byte| byte == 0 || is_blank(byte)).count(),
        _ => 0,
    }
}

/// Whether strings with control characters are all that is wrong so far.
pub fn is_unescaped(fault: Fault) -> bool {
    fault == CONTROL || fault == LINE_BREAK
}

/// The JSON of a value that [`Tape::parse_controls`] accepts: control characters in strings are escaped.
///
/// # Examples
///
/// ```
/// use trimtab_core::jsonl::escaped;
///
/// assert_eq!(escaped(b"{\"a\":\n\"b\nc\\\"\0\"}"), b"{\"a\":\n\"b\\nc\\\"\\u0000\"}");
/// ```
#[must_use]
pub fn escaped(raw: &[u8]) -> Vec<u8> {
    let (mut out, mut in_string, mut is_behind_escape) = (Vec::with_capacity(raw.len() + 16), false, false);
    for &byte in raw {
        match byte {
            b'\n' if in_string => out.extend_from_slice(b"\\n"),
            0..0x20 if in_string => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
        in_string ^= byte == b'"' && !is_behind_escape;
        is_behind_escape = in_string && byte == b'\\' && !is_behind_escape;
    }
    out
}

/// The answer depends on bytes after the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open;

/// The start of the record that is glued to the torn one at `start`, whose line ends at `end`.
///
/// It must end with a line, or be followed by one more. Where the parser stopped inside the line, it stopped at the glued
/// record or at its first name. Elsewhere that record is a legal part of the torn one: then it is one of its own only with
/// the names that the torn one begins with.
///
/// # Errors
///
/// [`Open`] if more bytes are needed; never at the end of the file.
///
/// # Examples
///
/// ```
/// use trimtab_core::json::Tape;
/// use trimtab_core::jsonl::glued;
///
/// let found = |line: &str| glued(&mut Tape::default(), line, 0, line.len(), true);
/// assert_eq!(found(r#"{"role": "user", "content": "hel{"role": "user", "content": "go"}"#), Ok(Some(32)));
/// assert_eq!(found(r#"{"role": "user", "content": [{"type": "text", "text": "go"}"#), Ok(None));
/// assert_eq!(found(r#"{"role": "user", "content": {"role": "user", "content": "go"}"#), Ok(Some(28)));
/// ```
pub fn glued(tape: &mut Tape, text: &str, start: usize, end: usize, is_end: bool) -> Result<Option<usize>, Open> {
    let (line, bytes) = (&text[..end], &text.as_bytes()[..end]);
    if bytes.get(start) != Some(&b'{') {
        return Ok(None);
    }
    let mut at = start;
    for _ in 0..MOST {
        let (is_whole, stopped) = (tape.parse(line, at).is_ok(), tape.stopped);
        if is_whole || stopped >= end {
            break;
        }
        let is_behind = stopped >= at + 3 && bytes[..stopped].ends_with(b"{\"");
        let next = || memchr::memmem::find(&bytes[stopped..], b"{\"").map(|n| stopped + n);
        let found = if is_behind { Some(stopped - 2) } else { next() };
        let Some(found) = found.filter(|&found| found > at) else { break };
        if is_alone(tape, text, found, is_end)? {
            return Ok(Some(found));
        }
        at = found; // torn too
    }
    let torn = names(tape, line, start);
    let Some(first) = torn.first() else { return Ok(None) };
    let first = &bytes[start..][..=first.len()];
    for at in memchr::memmem::find_iter(&bytes[start + 1..], first).take(MOST).map(|n| start + 1 + n) {
        if is_alone(tape, text, at, is_end)? && names(tape, line, at).starts_with(&torn) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether a map at `at` is all that its line has, apart from one more behind it; its strings may have line breaks.
fn is_alone(tape: &mut Tape, text: &str, at: usize, is_end: bool) -> Result<bool, Open> {
    let end = match tape.parse_controls(text, at) {
        Ok(end) => end,
        Err(Fault::Cut) if !is_end => return Err(Open),
        Err(_) => return Ok(false),
    };
    match text.as_bytes()[end..].iter().find(|&&byte| byte != 0 && byte != b',' && !is_blank(byte)) {
        None if !is_end => Err(Open),
        None | Some(b'\n' | b'{') => Ok(tape.is_map()),
        Some(_) => Ok(false),
    }
}

/// The first two names of a map that may be torn, with their quotes.
fn names<'a>(tape: &mut Tape, line: &'a str, start: usize) -> Vec<&'a str> {
    let (mut found, mut at) = (Vec::new(), start);
    while found.len() < 2 && line.as_bytes().get(at).is_some_and(|byte| matches!(byte, b'{' | b',')) {
        let name = at + 1 + spaces(line, at + 1);
        let Some(end) = tape.parse(line, name).ok().filter(|_| line.as_bytes()[name] == b'"') else { break };
        found.push(&line[name..end]);
        let colon = end + spaces(line, end);
        if line.as_bytes().get(colon) != Some(&b':') {
            break;
        }
        let Ok(end) = tape.parse(line, colon + 1) else { break };
        at = end + spaces(line, end);
    }
    found
}

fn spaces(line: &str, at: usize) -> usize {
    line.as_bytes()[at..].iter().take_while(|&&byte| is_blank(byte)).count()
}
