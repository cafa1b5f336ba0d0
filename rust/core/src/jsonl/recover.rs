//! Recovers the value at the start of a JSON text, with its intact entries if it is truncated or broken.

use std::borrow::Cow;

use super::damage::{self, NULS, NULS_BEFORE, UNESCAPED, is_blank, is_unescaped};
use crate::json::{Fault, Tape};

/// Fields that hold the entries of a session in one object; no line of a log has one of them.
const LISTS: [&str; 6] = ["messages", "steps", "history", "trajectory", "contents", "input"];

/// The reason for a value that the end of the text cuts.
const CUT: &str = "cut off by the end of the file";

/// The value at the start of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// JSON of the value, or of the intact entries of a broken value; empty without a value.
    pub json: Vec<u8>,
    /// Position to continue from: after the value and a comma, or at the next line.
    pub end: usize,
    /// Each defect.
    pub defects: Vec<Defect>,
    /// Whether the search for the end of a broken entry reached the end of the text.
    pub is_unclosed: bool,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Position in the text.
    pub at: usize,
    /// The fault; never any of the text.
    pub reason: String,
    /// Whether what is there was read nevertheless.
    pub is_read: bool,
}

impl Defect {
    fn lost(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into(), is_read: false }
    }

    fn read(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into(), is_read: true }
    }
}

/// Reads the object or list at the start of `text`; None if the answer depends on bytes after `text`.
///
/// A list, or an object with one of the fields `messages`, `steps`, `history`, `trajectory`, `contents` and `input`,
/// keeps its intact entries if it is truncated or broken. Control characters in strings are escaped, NUL bytes in front are
/// skipped, and of a torn object `end` is the start of the one that is glued to it, if there is one. Time is linear in the bytes read, except for the search for
/// the end of a broken entry, which `is_unclosed` switches off.
///
/// # Examples
///
/// ```
/// use trimtab_core::jsonl::recover;
///
/// let found = recover(br#"[{"a": 1}, {"a": no}, {"a": 2"#, true, false).expect("the text is complete");
/// assert_eq!(found.json, br#"[{"a": 1}]"#);
/// let defects: Vec<_> = found.defects.iter().map(|defect| (defect.at, defect.reason.as_str())).collect();
/// assert_eq!(defects[0], (11, "[1]: not JSON (expected a value)"));
/// assert_eq!(defects[1], (22, "[2]: cut off by the end of the file"));
/// assert_eq!(recover(br#"[{"a": 1}, {"#, false, false), None);
/// ```
#[must_use]
pub fn recover(text: &[u8], is_end: bool, is_unclosed: bool) -> Option<Recovered> {
    let (valid, invalid) = validated(text);
    let raw = if is_end { text } else { &text[..valid.len()] };
    let mut recovery = Recovery {
        text: &valid,
        raw,
        invalid,
        is_end,
        is_unclosed,
        at: 0,
        tape: Tape::default(),
        defects: Vec::new(),
        last: "its beginning".to_owned(),
    };
    recovery.at = raw.iter().take_while(|&&byte| is_space(byte) || is_blank(byte)).count();
    let nuls = damage::nuls(&raw[recovery.at..]);
    if nuls > 0 {
        let at = recovery.at;
        recovery.at += nuls;
        match raw.get(recovery.at) {
            None if !is_end => return None,
            None | Some(b'\n') => {
                let defects = vec![Defect::lost(at, NULS)];
                return Some(Recovered { json: Vec::new(), end: recovery.at, defects, is_unclosed });
            }
            Some(_) => recovery.defects.push(Defect::read(at, NULS_BEFORE)),
        }
    }
    let json = match recovery.value() {
        Ok(json) => json,
        Err(Stop::Open) => return None,
        Err(Stop::Lost) => Vec::new(),
    };
    let Recovery { mut at, defects, is_unclosed, .. } = recovery;
    if !json.is_empty() {
        at += raw[at..].iter().take_while(|&&byte| matches!(byte, b' ' | b'\t' | b'\r' | b',')).count();
        if at == raw.len() && !is_end {
            return None;
        }
    }
    Some(Recovered { json, end: at, defects, is_unclosed })
}

/// Why the walk stops.
enum Stop {
    /// The answer depends on bytes after the text.
    Open,
    /// The position of the next entry is unknown.
    Lost,
}

/// A walk through a value.
struct Recovery<'a> {
    /// The text as UTF-8, with other characters in place of invalid bytes.
    text: &'a str,
    /// The text as it was given.
    raw: &'a [u8],
    /// Positions of invalid bytes.
    invalid: Vec<usize>,
    /// Whether the file ends with the text.
    is_end: bool,
    is_unclosed: bool,
    at: usize,
    tape: Tape,
    defects: Vec<Defect>,
    /// Path of the last entry.
    last: String,
}

impl<'a> Recovery<'a> {
    /// The JSON of the value at the current position.
    fn value(&mut self) -> Result<Vec<u8>, Stop> {
        let start = self.at;
        let fault = match self.parse() {
            Ok(end) if self.tape.is_map() || self.tape.is_list() => {
                self.at = end;
                return Ok(self.raw[start..end].to_vec());
            }
            Ok(end) if end == self.text.len() && !self.is_end => return Err(Stop::Open), // a number may continue
            Ok(_) => Fault::Wrong("a bare value, no object"),
            Err(Fault::Cut) if !self.is_end => return Err(Stop::Open),
            Err(fault) => fault,
        };
        let is_container = matches!(self.raw.get(start), Some(b'[' | b'{'));
        if is_container && let Some(json) = self.unescaped(fault, "")? {
            return Ok(json);
        }
        let json = match self.raw.get(start) {
            Some(b'[') => self.list()?,
            Some(b'{') => self.object()?,
            _ => None,
        };
        if let Some(json) = json {
            return Ok(json);
        }
        self.at = match self.glued(start)? {
            Some(at) => at,
            None => self.next_line(start, fault == Fault::Cut)?,
        };
        self.defects = vec![Defect::lost(start, reason(fault))];
        Err(Stop::Lost)
    }

    /// The JSON of the value at the current position, if control characters in its strings are all that is wrong.
    fn unescaped(&mut self, fault: Fault, path: &str) -> Result<Option<Vec<u8>>, Stop> {
        let start = self.at;
        let limit = self.limit();
        if !is_unescaped(fault) {
            return Ok(None);
        }
        match self.tape.parse_controls(&self.text[..limit], start) {
            Ok(end) => {
                self.defects.push(Defect::read(start, format!("{path}{UNESCAPED}")));
                self.at = end;
                Ok(Some(damage::escaped(&self.raw[start..end])))
            }
            Err(Fault::Cut) if !self.is_end && limit == self.text.len() => Err(Stop::Open),
            Err(_) => Ok(None),
        }
    }

    /// The start of a record behind the torn one at `start`, in its line.
    fn glued(&mut self, start: usize) -> Result<Option<usize>, Stop> {
        let end = match memchr::memchr(b'\n', &self.raw[start..]) {
            Some(length) => start + length,
            None if self.is_end => self.text.len(),
            None => return Err(Stop::Open),
        };
        // Invalid bytes are control characters here: a record with some is found invalid when it is read.
        damage::glued(&mut self.tape, self.text, start, end.min(self.text.len()), self.is_end)
            .map_err(|damage::Open| Stop::Open)
    }

    /// The intact entries of a broken list; None if it has none.
    fn list(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        let mut json = vec![b'['];
        match self.entries("", &mut json) {
            Err(Stop::Lost) => self.at = self.line_end(self.at)?, // the next lines may be its entries
            done => done?,
        }
        json.push(b']');
        Ok((json.len() > 2).then_some(json))
    }

    /// The members of a broken object with their intact entries; None if it has no entries.
    fn object(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        let (mut json, mut has_entries) = (vec![b'{'], false);
        match self.members(&mut json, &mut has_entries) {
            // The next lines are parts of it, except for a line with an object.
            Err(Stop::Lost) => match memchr::memmem::find(&self.raw[self.at..], b"\n{") {
                Some(line) => self.at += line,
                None if self.is_end => self.at = self.raw.len(),
                None => return Err(Stop::Open),
            },
            done => done?,
        }
        json.push(b'}');
        Ok(has_entries.then_some(json))
    }

    fn entries(&mut self, name: &str, json: &mut Vec<u8>) -> Result<(), Stop> {
        self.at += 1;
        let empty = json.len();
        for count in 0.. {
            match self.peek() {
                Some(b']') => break,
                Some(b'{') => {}
                _ if count == 0 => return self.fail(),
                _ => {}
            }
            if let Some(entry) = self.entry(format!("{name}[{count}]"), true)? {
                separate(json, empty);
                json.extend_from_slice(&entry);
            }
            self.comma(b']')?;
        }
        self.at += 1;
        Ok(())
    }

    fn members(&mut self, json: &mut Vec<u8>, has_entries: &mut bool) -> Result<(), Stop> {
        self.at += 1;
        let empty = json.len();
        while self.peek() != Some(b'}') {
            let Some(key) = self.entry("a name".to_owned(), false)? else { return self.fail() };
            if key[0] != b'"' || self.peek() != Some(b':') {
                return self.fail();
            }
            self.at += 1;
            let name = String::from_utf8_lossy(&key[1..key.len() - 1]).into_owned();
            let name = name.as_str();
            let whole = json.len();
            separate(json, empty);
            json.extend_from_slice(&key);
            json.push(b':');
            if LISTS.contains(&name) && self.peek() == Some(b'[') {
                json.push(b'[');
                let before = json.len();
                let done = self.entries(name, json);
                *has_entries |= json.len() > before;
                json.push(b']');
                done?;
            } else {
                match self.entry(name.to_owned(), *has_entries) {
                    Ok(Some(value)) => {
                        json.extend_from_slice(&value);
                        let is_filled = matches!(value[0], b'"' | b'{') && value.len() > 2;
                        *has_entries |= is_filled && LISTS.contains(&name);
                    }
                    broken => {
                        json.truncate(whole);
                        broken?;
                    }
                }
            }
            self.comma(b'}')?;
        }
        self.at += 1;
        Ok(())
    }

    /// The JSON of the next value; None if it is broken and ends where its brackets close.
    fn entry(&mut self, path: String, by_brackets: bool) -> Result<Option<Cow<'a, [u8]>>, Stop> {
        self.peek();
        let start = self.at;
        let found = match self.parse() {
            Ok(end) => {
                self.at = end;
                Some(Cow::Borrowed(&self.raw[start..end]))
            }
            Err(Fault::Cut) if !self.is_end => return Err(Stop::Open),
            Err(fault) => {
                let json = self.unescaped(fault, &format!("{path}: "))?;
                if json.is_none() {
                    self.defects.push(Defect::lost(start, format!("{path}: {}", reason(fault))));
                    if fault == Fault::Cut {
                        self.at = self.raw.len();
                        return Err(Stop::Lost);
                    }
                    self.at = if by_brackets { self.closing()? } else { None }.ok_or(Stop::Lost)?;
                }
                json.map(Cow::Owned)
            }
        };
        self.last = path;
        Ok(found)
    }

    /// Skips a comma, or stops at the end; a missing comma before an object is accepted.
    fn comma(&mut self, closing: u8) -> Result<(), Stop> {
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(next) if next == closing || next == b'{' => {}
            _ => return self.fail(),
        }
        Ok(())
    }

    /// Skips white space, and returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        self.at += self.raw[self.at..].iter().take_while(|&&byte| is_space(byte)).count();
        self.raw.get(self.at).copied()
    }

    /// The end of the value at the current position.
    fn parse(&mut self) -> Result<usize, Fault> {
        let limit = self.limit();
        match self.tape.parse(&self.text[..limit], self.at) {
            Err(Fault::Cut) if limit < self.text.len() => Err(Fault::Wrong("not UTF-8")),
            done => done,
        }
    }

    /// The position of the next invalid byte; the end of the text without one.
    fn limit(&self) -> usize {
        let next = self.invalid.partition_point(|&at| at < self.at);
        self.invalid.get(next).copied().unwrap_or(self.text.len())
    }

    /// The position after a broken value whose brackets and quotes are balanced.
    fn closing(&mut self) -> Result<Option<usize>, Stop> {
        if self.is_unclosed {
            return Ok(None);
        }
        let (mut depth, mut at) = (0_usize, self.at);
        while let Some(found) = self.raw[at..].iter().position(|byte| matches!(byte, b'"' | b'[' | b'{' | b']' | b'}'))
        {
            at += found + 1;
            match self.raw[at - 1] {
                b'"' => match string_end(self.raw, at) {
                    Some(end) => at = end,
                    None => break,
                },
                b'[' | b'{' => depth += 1,
                _ if depth > 1 => depth -= 1,
                _ => return Ok((depth == 1).then_some(at)),
            }
        }
        if !self.is_end {
            return Err(Stop::Open);
        }
        self.is_unclosed = true;
        Ok(None)
    }

    /// The position to continue from after a value that cannot be read: the next line, except for an object of several
    /// indented lines that the file's end cuts.
    fn next_line(&self, start: usize, is_cut: bool) -> Result<usize, Stop> {
        let is_object = self.raw.get(start) == Some(&b'{');
        if is_cut && is_object && memchr::memmem::find(&self.raw[start..], b"\n{").is_none() {
            return Ok(self.raw.len());
        }
        self.line_end(start)
    }

    /// The position after the line that contains `at`.
    fn line_end(&self, at: usize) -> Result<usize, Stop> {
        match memchr::memchr(b'\n', &self.raw[at..]) {
            Some(end) => Ok(at + end + 1),
            None if self.is_end => Ok(self.raw.len()),
            None => Err(Stop::Open),
        }
    }

    fn fail<T>(&mut self) -> Result<T, Stop> {
        let what = match self.peek() {
            Some(_) => "not JSON",
            None if self.is_end => CUT,
            None => return Err(Stop::Open),
        };
        self.defects.push(Defect::lost(self.at, format!("{what} after {}", self.last)));
        Err(Stop::Lost)
    }
}

fn separate(json: &mut Vec<u8>, empty: usize) {
    if json.len() > empty {
        json.push(b',');
    }
}

fn reason(fault: Fault) -> &'static str {
    match fault {
        Fault::Wrong(what) => what,
        Fault::Cut => CUT,
    }
}

/// JSON's white space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The position after the quote that ends a string whose content begins at `at`.
fn string_end(raw: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', raw.get(at..)?)?;
        if raw[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The bytes as text of the same length, and the positions of invalid ones. Surrogates, which Python accepts, are U+FFFD,
/// an invalid byte is U+001A; a character that the text's end cuts is left away.
fn validated(raw: &[u8]) -> (Cow<'_, str>, Vec<usize>) {
    let mut fault = match std::str::from_utf8(raw) {
        Ok(text) => return (Cow::Borrowed(text), Vec::new()),
        Err(error) => error,
    };
    let (mut made, mut at, mut invalid) = (raw.to_vec(), 0, Vec::new());
    loop {
        at += fault.valid_up_to();
        if let [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] = made[at..] {
            made[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
        } else if let Some(length) = fault.error_len() {
            made[at..at + length].fill(0x1A);
            invalid.push(at);
        } else {
            made.truncate(at);
        }
        fault = match std::str::from_utf8(&made[at..]) {
            Ok(_) => return (Cow::Owned(String::from_utf8(made).unwrap_or_default()), invalid),
            Err(error) => error,
        };
    }
}

#[cfg(test)]
mod tests;
