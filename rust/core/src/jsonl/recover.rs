//! Recovers the value at the start of a JSON text, with its intact entries if it is truncated or broken.

use std::borrow::Cow;

use super::walk::is_blank;
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
    /// Position and reason of each defect.
    pub defects: Vec<(usize, String)>,
    /// Whether the search for the end of a broken entry reached the end of the text.
    pub is_unclosed: bool,
}

/// Reads the object or list at the start of `text`; None if the answer depends on bytes after `text`.
///
/// A list, or an object with one of the fields `messages`, `steps`, `history`, `trajectory`, `contents` and `input`,
/// keeps its intact entries if it is truncated or broken. Time is linear in the bytes read, except for the search for
/// the end of a broken entry, which `is_unclosed` switches off.
///
/// # Examples
///
/// ```
/// use trimtab_core::jsonl::recover;
///
/// let found = recover(br#"[{"a": 1}, {"a": no}, {"a": 2"#, true, false).expect("the text is complete");
/// assert_eq!(found.json, br#"[{"a": 1}]"#);
/// assert_eq!(found.defects[0], (11, "[1]: not JSON (expected a value)".to_owned()));
/// assert_eq!(found.defects[1], (22, "[2]: cut off by the end of the file".to_owned()));
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
    defects: Vec<(usize, String)>,
    /// Path of the last entry.
    last: String,
}

impl Recovery<'_> {
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
        let json = match self.raw.get(start) {
            Some(b'[') => self.list()?,
            Some(b'{') => self.object()?,
            _ => None,
        };
        if let Some(json) = json {
            return Ok(json);
        }
        self.at = self.next_line(start, fault == Fault::Cut)?;
        self.defects = vec![(start, reason(fault).to_owned())];
        Err(Stop::Lost)
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
            if let Some((start, end)) = self.entry(format!("{name}[{count}]"), true)? {
                separate(json, empty);
                json.extend_from_slice(&self.raw[start..end]);
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
            let Some((start, end)) = self.entry("a name".to_owned(), false)? else { return self.fail() };
            if self.raw[start] != b'"' || self.peek() != Some(b':') {
                return self.fail();
            }
            self.at += 1;
            let name = &self.text[start + 1..end - 1];
            let whole = json.len();
            separate(json, empty);
            json.extend_from_slice(&self.raw[start..end]);
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
                    Ok(Some((start, end))) => {
                        json.extend_from_slice(&self.raw[start..end]);
                        let is_filled = matches!(self.raw[start], b'"' | b'{') && end > start + 2;
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

    /// Start and end of the next value; None if it is broken and ends where its brackets close.
    fn entry(&mut self, path: String, by_brackets: bool) -> Result<Option<(usize, usize)>, Stop> {
        self.peek();
        let start = self.at;
        let found = match self.parse() {
            Ok(end) => {
                self.at = end;
                Some((start, end))
            }
            Err(Fault::Cut) if !self.is_end => return Err(Stop::Open),
            Err(fault) => {
                self.defects.push((start, format!("{path}: {}", reason(fault))));
                if fault == Fault::Cut {
                    self.at = self.raw.len();
                    return Err(Stop::Lost);
                }
                self.at = if by_brackets { self.closing()? } else { None }.ok_or(Stop::Lost)?;
                None
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
        let next = self.invalid.partition_point(|&at| at < self.at);
        let limit = self.invalid.get(next).copied();
        match self.tape.parse(&self.text[..limit.unwrap_or(self.text.len())], self.at) {
            Err(Fault::Cut) if limit.is_some() => Err(Fault::Wrong("not UTF-8")),
            done => done,
        }
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
        self.defects.push((self.at, format!("{what} after {}", self.last)));
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
mod tests {
    use super::*;

    const TEXTS: [&str; 8] = [
        r#"{"a": [1, {"b": "c"}]} , {"next": 1}"#,
        "[{\"a\": \"\\\"]\"}, {\"a\": no, \"b\": [1]}, {\"a\": 2}]\n{}",
        "{\"info\": {}, \"messages\": [{\"a\": 1}, {\"a\": \u{1}}, {\"a\": 2} {\"a\": 3}], \"b\": nope, \"c\": 1}\n",
        "{\"steps\": [{\"a\": 1}, {\"a\" 2} 3\n{\"x\": 1}\n",
        "[{\"a\": 1}, {\"a\": no\n{\"x\": 1}\n",
        "{\"input\": \"hi\", oops}\n{\"x\": 1}",
        "\"word\" and more\n{}",
        "{\"a\": [1,\n{\"x\": 1}\n",
    ];

    #[test]
    fn an_answer_does_not_depend_on_bytes_that_were_not_given() {
        for text in TEXTS {
            let whole = recover(text.as_bytes(), true, false).expect("the text is complete");
            for end in 0..text.len() {
                if let Some(found) = recover(&text.as_bytes()[..end], false, false) {
                    assert_eq!(found, whole, "{:?}", &text[..end]);
                }
            }
        }
    }

    #[test]
    fn a_broken_value_keeps_its_intact_entries() {
        let found = |text: &[u8]| {
            let found = recover(text, true, false).expect("the text is complete");
            (String::from_utf8_lossy(&found.json).into_owned(), found.end, found.defects.len())
        };
        assert_eq!(found(TEXTS[1].as_bytes()), (r#"[{"a": "\"]"},{"a": 2}]"#.to_owned(), 45, 1));
        assert_eq!(found(TEXTS[3].as_bytes()), (r#"{"steps":[{"a": 1}]}"#.to_owned(), 30, 2));
        assert_eq!(found(TEXTS[5].as_bytes()), (r#"{"input":"hi"}"#.to_owned(), 21, 1));
        assert_eq!(found(TEXTS[6].as_bytes()), (String::new(), 16, 1));
        assert_eq!(found(b"[{\"a\": \"\xff\"}, {\"a\": \"\xed\xa0\x80\"}, {\"a\": \"\xe2\x82").2, 2);
    }
}
