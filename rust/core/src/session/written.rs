//! Messages as JSON, from where their contents stand.

use std::ops::Range;

use super::value::last;
use crate::error::Error;
use crate::json::{Json, Tape};
use trimtab_tokens::cancel;

/// Bytes between two contents that are read with them: a seek costs more.
const NEAR: u64 = 16 << 10;

/// Where a content stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Bytes before it, in the file or in what is held.
    pub at: u64,
    /// Bytes of it.
    pub length: u64,
    /// Whether it is held, because it is not in the file as it is.
    pub is_held: bool,
}

impl Span {
    /// Where a value stands: in the file behind `offset`; it is held if that is none.
    pub fn of(value: &Json<'_, '_>, offset: Option<u64>, held: &mut String) -> Self {
        let source = value.source();
        match offset {
            Some(offset) => Self { at: offset + value.position() as u64, length: source.len() as u64, is_held: false },
            None => Self::hold(source, held),
        }
    }

    /// Holds a content.
    pub fn hold(source: &str, held: &mut String) -> Self {
        let at = held.len() as u64;
        held.push_str(source);
        Self { at, length: source.len() as u64, is_held: true }
    }
}

/// A message: where the contents stand that it joins.
#[derive(Debug)]
pub struct Part {
    /// Who speaks; `None` where the content is the whole message.
    pub role: Option<&'static str>,
    /// Whether its results stand in front of its other blocks.
    pub results_first: bool,
    pub places: Vec<Span>,
}

/// Writes messages in parts.
#[derive(Debug)]
pub struct Writer {
    parts: Vec<Part>,
    held: String,
}

impl Writer {
    pub fn new(parts: Vec<Part>, held: String) -> Self {
        Self { parts, held }
    }

    pub fn messages(&self) -> usize {
        self.parts.len()
    }

    pub fn places(&self, from: usize, most: u64) -> (usize, Vec<(u64, u64)>) {
        let (mut found, mut bytes, mut until) = (Vec::new(), 0, from);
        for part in self.parts.get(from..).unwrap_or_default() {
            if bytes >= most {
                break;
            }
            let in_file = part.places.iter().filter(|place| !place.is_held);
            found.extend(in_file.map(|place| (place.at, place.at + place.length)));
            bytes += part.places.iter().map(|place| place.length).sum::<u64>();
            until += 1;
        }
        found.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (start, end) in found {
            match merged.last_mut() {
                Some(last) if start <= last.1 + NEAR => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        (until, merged.into_iter().map(|(start, end)| (start, end - start)).collect())
    }

    /// A list.
    pub fn write(&self, which: Range<usize>, pieces: &[(u64, &[u8])]) -> Result<String, Error> {
        self.join_messages(which, pieces, ["[", ",", "]"])
    }

    /// A line each.
    pub fn write_lines(&self, which: Range<usize>, pieces: &[(u64, &[u8])]) -> Result<String, Error> {
        self.join_messages(which, pieces, ["", "\n", ""])
    }

    fn join_messages(
        &self,
        which: Range<usize>,
        pieces: &[(u64, &[u8])],
        [start, between, end]: [&str; 3],
    ) -> Result<String, Error> {
        let parts = self.parts.get(which).unwrap_or_default();
        let bytes = parts.iter().flat_map(|part| &part.places).map(|place| place.length + 32).sum::<u64>();
        let mut out = String::with_capacity(usize::try_from(bytes).unwrap_or(0));
        let mut tape = Tape::default();
        for (n, part) in parts.iter().enumerate() {
            cancel::poll();
            out.push_str(if n > 0 { between } else { start });
            if let Some(role) = part.role {
                out.extend([r#"{"role":""#, role, r#"","content":"#]);
            }
            if let [place] = part.places[..] {
                out.push_str(self.content(place, pieces)?);
            } else {
                self.join(part, pieces, &mut tape, &mut out)?;
            }
            if part.role.is_some() {
                out.push('}');
            }
        }
        out.push_str(if parts.is_empty() { start } else { "" });
        out.push_str(end);
        Ok(out)
    }

    /// Writes the blocks of several contents as a list.
    fn join(&self, part: &Part, pieces: &[(u64, &[u8])], tape: &mut Tape, out: &mut String) -> Result<(), Error> {
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for &place in &part.places {
            let text = self.content(place, pieces)?;
            tape.parse(text, 0).map_err(|_| changed())?;
            let parsed = tape.of(text);
            let content = Json::new(&parsed);
            if content.is_string() {
                others.push(format!(r#"{{"type":"text","text":{}}}"#, content.source()));
            }
            for block in content.values() {
                let is_result = last(&block, b"type").and_then(|kind| kind.exact()).as_deref() == Some(b"tool_result");
                let blocks = if part.results_first && is_result { &mut first } else { &mut others };
                blocks.push(block.source().to_owned());
            }
        }
        first.append(&mut others);
        out.extend(["[", &first.join(","), "]"]);
        Ok(())
    }

    /// The JSON of a content.
    fn content<'a>(&'a self, place: Span, pieces: &[(u64, &'a [u8])]) -> Result<&'a str, Error> {
        let length = usize::try_from(place.length).map_err(|_| changed())?;
        let (start, bytes) = if place.is_held {
            (0, self.held.as_bytes())
        } else {
            let behind = pieces.partition_point(|(start, _)| *start <= place.at);
            *behind.checked_sub(1).and_then(|n| pieces.get(n)).ok_or_else(changed)?
        };
        let at = usize::try_from(place.at - start).map_err(|_| changed())?;
        let found = at.checked_add(length).and_then(|end| bytes.get(at..end)).ok_or_else(changed)?;
        simdutf8::basic::from_utf8(found).map_err(|_| changed())
    }
}

fn changed() -> Error {
    Error::Argument("the file has changed".to_owned())
}
