//! Iterates over the JSON values of a text, with anything between them.

use super::LONGEST;
use super::damage::{self, NULS, NULS_BEFORE, UNESCAPED, is_blank, is_unescaped};
use crate::error::Error;
use crate::json::{Fault, Json, Tape};

/// A line's number, and the position where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u64,
    pub offset: u64,
    /// Bytes of the line before the current position.
    column: u64,
}

impl Default for Place {
    fn default() -> Self {
        Self { line: 1, offset: 0, column: 0 }
    }
}

impl Place {
    /// Advances over these bytes, and counts their lines.
    pub fn pass(&mut self, bytes: &[u8]) {
        self.pass_lines(bytes, lines(bytes));
    }

    /// Advances over these bytes; their lines are counted already.
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

/// Number of line ends in these bytes.
pub fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The state between two chunks of a text.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    pub place: Place,
    /// Start of the open list of messages, if there is one.
    pub list: Option<Place>,
    /// Whether a comma is allowed here.
    pub is_behind: bool,
    tape: Tape,
}

/// The end of a walk through a chunk.
pub struct Through {
    pub bytes: usize,
    /// The following bytes belong to a line that is too long.
    pub is_dropping: bool,
}

/// Called for each defect: its line, its position in the text, the reason, and whether what is there was read nevertheless.
type Tell<'f> = &'f mut dyn FnMut(Place, usize, &'static str, bool);

impl Walk {
    /// Calls `visit` for each message and `tell` for anything else; the entries of a list are messages.
    ///
    /// An unreadable value is skipped up to the end of its line, or to the record that is glued to it, because one bad line
    /// must not cost the session around it.
    /// A value cut by the end of the chunk waits for the next chunk, except at the end of the text.
    pub fn over<'a>(
        &mut self,
        text: &'a str,
        is_end: bool,
        visit: &mut dyn FnMut(Json<'_, 'a>) -> Result<(), Error>,
        tell: Tell<'_>,
    ) -> Result<Through, Error> {
        let (bytes, mut at) = (text.as_bytes(), 0);
        // Where NUL bytes in front of the value begin.
        let mut nuls: Option<(Place, usize)> = None;
        loop {
            let start = at;
            while bytes.get(at).is_some_and(|&b| is_blank(b) || b == b'\n' || (b == b',' && self.is_behind)) {
                self.is_behind &= bytes[at] != b'\n' || self.list.is_some();
                at += 1;
            }
            self.place.pass(&bytes[start..at]);
            if memchr::memchr(b'\n', &bytes[start..at]).is_some()
                && let Some((place, at)) = nuls.take()
            {
                tell(place, at, NULS, false); // behind them is a comma alone
            }
            if matches!((bytes.get(at), self.list), (Some(b'['), None) | (Some(b']'), Some(_)))
                && let Some((place, at)) = nuls.take()
            {
                tell(place, at, NULS_BEFORE, true); // now: a walk from them on would meet the bracket twice
            }
            let next = match (bytes.get(at), self.list) {
                (None, _) => match nuls {
                    Some((_, from)) if !is_end && at - from <= LONGEST => return Ok(self.open(at, nuls)),
                    Some((place, from)) => {
                        tell(place, from, NULS, false);
                        return Ok(Through { bytes: at, is_dropping: false });
                    }
                    None => return Ok(Through { bytes: at, is_dropping: false }),
                },
                (Some(b'['), None) => {
                    (self.list, self.is_behind) = (Some(self.place), false);
                    at + 1
                }
                (Some(b']'), Some(_)) => {
                    (self.list, self.is_behind) = (None, true);
                    at + 1
                }
                (Some(0), _) => {
                    let end = at + damage::nuls(&bytes[at..]);
                    match bytes.get(end) {
                        None if !is_end && end - at <= LONGEST => return Ok(Through { bytes: at, is_dropping: false }),
                        None | Some(b'\n') => tell(self.place, at, NULS, false),
                        Some(_) => nuls = Some((self.place, at)),
                    }
                    end
                }
                (_, list) => match self.tape.parse(text, at) {
                    Ok(end) if self.tape.is_map() || list.is_some() => {
                        if let Some((place, at)) = nuls.take() {
                            tell(place, at, NULS_BEFORE, true);
                        }
                        visit(Json::new(&self.tape.of(text)))?;
                        self.is_behind = true;
                        end
                    }
                    Err(Fault::Cut) if !is_end && bytes.len() - at <= LONGEST => return Ok(self.open(at, nuls)),
                    fault => {
                        if fault.is_err_and(is_unescaped) {
                            match self.tape.parse_controls(text, at) {
                                Ok(end) if self.tape.is_map() => {
                                    if let Some((place, at)) = nuls.take() {
                                        tell(place, at, NULS_BEFORE, true);
                                    }
                                    tell(self.place, at, UNESCAPED, true);
                                    visit(Json::new(&self.tape.of(text)))?;
                                    self.is_behind = true;
                                    self.place.pass(&bytes[at..end]);
                                    at = end;
                                    continue;
                                }
                                Err(Fault::Cut) if !is_end && bytes.len() - at <= LONGEST => {
                                    return Ok(self.open(at, nuls));
                                }
                                _ => {}
                            }
                        }
                        let line = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n);
                        let is_all = is_end || bytes.len() - at > LONGEST;
                        let Ok(glued) = damage::glued(&mut self.tape, text, at, line, is_all) else {
                            return Ok(self.open(at, nuls));
                        };
                        nuls = None;
                        tell(self.place, at, reason(fault, is_end), false);
                        if self.list.is_some_and(|list| list.line == self.place.line) {
                            self.list = None; // a line that only begins like a list of messages
                        }
                        self.is_behind = self.list.is_some();
                        let Some(end) = glued.or_else(|| behind(bytes, at, fault == Err(Fault::Cut))) else {
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

impl Walk {
    /// The end of a walk in front of a value that the next chunk goes on with.
    fn open(&mut self, at: usize, nuls: Option<(Place, usize)>) -> Through {
        let bytes = nuls.map_or(at, |(place, start)| {
            self.place = place;
            start
        });
        Through { bytes, is_dropping: false }
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

/// The position to continue from after an unreadable value: the next line, or `None` without one.
///
/// The lines of an object that the end cuts are parts of it, unless a later line begins with a brace: then that is an
/// object of its own.
fn behind(bytes: &[u8], at: usize, is_cut: bool) -> Option<usize> {
    let end = memchr::memchr(b'\n', &bytes[at..]).map(|n| at + n)?;
    let is_part = is_cut && bytes[at] == b'{' && memchr::memmem::find(&bytes[end..], b"\n{").is_none();
    (!is_part).then_some(end)
}
