//! The way through a text, value by value, whatever surrounds them.

use super::LONGEST;
use crate::error::Error;
use crate::json::{Fault, Json, Tape};

/// A line, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u64,
    pub offset: u64,
    /// Bytes of the line that are through.
    column: u64,
}

impl Default for Place {
    fn default() -> Self {
        Self { line: 1, offset: 0, column: 0 }
    }
}

impl Place {
    /// Goes past these bytes.
    pub fn pass(&mut self, bytes: &[u8]) {
        self.pass_lines(bytes, lines(bytes));
    }

    /// Goes past these bytes, whose lines are counted already.
    pub fn pass_lines(&mut self, bytes: &[u8], lines: u64) {
        let Some(last) = memchr::memrchr(b'\n', bytes) else {
            self.column += bytes.len() as u64;
            return;
        };
        self.line += lines;
        self.offset += self.column + last as u64 + 1;
        self.column = (bytes.len() - last - 1) as u64;
    }
}

/// How many lines end in these bytes.
pub fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Where a text was left off.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    pub place: Place,
    /// Where the list began whose entries are read, if one is open.
    pub list: Option<Place>,
    /// Whether a comma may stand here.
    pub is_behind: bool,
    tape: Tape,
}

/// How far it went.
pub struct Through {
    pub bytes: usize,
    /// The bytes that follow belong to a line that is too long.
    pub is_dropping: bool,
}

/// Told of what cannot be read: its line, its position in the text, what is wrong.
type Tell<'f> = &'f mut dyn FnMut(Place, usize, &'static str);

impl Walk {
    /// Calls `visit` for each message, `tell` for what is none; a list's entries are messages.
    ///
    /// A value that cannot be read is skipped to the end of its line: one bad line must not cost the session around it.
    /// One that the text's end cuts is left for more to come, unless this is the end.
    pub fn over<'a>(
        &mut self,
        text: &'a str,
        is_end: bool,
        visit: &mut dyn FnMut(Json<'_, 'a>) -> Result<(), Error>,
        tell: Tell<'_>,
    ) -> Result<Through, Error> {
        let (bytes, mut at) = (text.as_bytes(), 0);
        loop {
            let start = at;
            while bytes.get(at).is_some_and(|&b| is_blank(b) || b == b'\n' || (b == b',' && self.is_behind)) {
                self.is_behind &= bytes[at] != b'\n' || self.list.is_some();
                at += 1;
            }
            self.place.pass(&bytes[start..at]);
            let next = match (bytes.get(at), self.list) {
                (None, _) => return Ok(Through { bytes: at, is_dropping: false }),
                (Some(b'['), None) => {
                    (self.list, self.is_behind) = (Some(self.place), false);
                    at + 1
                }
                (Some(b']'), Some(_)) => {
                    (self.list, self.is_behind) = (None, true);
                    at + 1
                }
                (_, list) => match self.tape.parse(text, at) {
                    Ok(end) if self.tape.is_map() || list.is_some() => {
                        visit(Json::new(&self.tape.of(text)))?;
                        self.is_behind = true;
                        end
                    }
                    Err(Fault::Cut) if !is_end && bytes.len() - at <= LONGEST => {
                        return Ok(Through { bytes: at, is_dropping: false });
                    }
                    fault => {
                        tell(self.place, at, reason(fault, is_end));
                        if self.list.is_some_and(|list| list.line == self.place.line) {
                            self.list = None; // no list of messages, but a line that begins like one
                        }
                        self.is_behind = self.list.is_some();
                        let Some(end) = behind(bytes, at, fault == Err(Fault::Cut)) else {
                            self.place.pass(&bytes[at..]);
                            return Ok(Through { bytes: bytes.len(), is_dropping: !is_end });
                        };
                        end
                    }
                },
            };
            self.place.pass(&bytes[at..next]);
            at = next;
        }
    }
}

fn reason(fault: Result<usize, Fault>, is_end: bool) -> &'static str {
    match fault {
        Err(Fault::Wrong(what)) => what,
        Err(Fault::Cut) if is_end => "cut off by the end of the file",
        Err(Fault::Cut) => "longer than 64 MiB",
        Ok(_) => "a bare value, no object",
    }
}

/// Where to read on behind what cannot be read: in the next line, `None` where there is none.
///
/// The lines of an object that the end cuts are parts of it; whole ones are told from them by their indent.
fn behind(bytes: &[u8], at: usize, is_cut: bool) -> Option<usize> {
    let end = memchr::memchr(b'\n', &bytes[at..]).map(|n| at + n)?;
    let is_part = is_cut && bytes[at] == b'{' && memchr::memmem::find(&bytes[end..], b"\n{").is_none();
    (!is_part).then_some(end)
}

/// White space within a line, as Python strips it.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C)
}
