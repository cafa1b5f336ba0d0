//! Takes the lines of a file.

use super::place::Place;
use super::prompt::Prompt;
use crate::error::Error;
use crate::json::{Json, Tape};
use crate::node::MAX_DEPTH;
use trimtab_tokens::cancel;

/// Why no more lines were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All of them were.
    End,
    /// The last one has no end yet.
    Cut,
    /// The next one is not an object alone on its line, or is nested deeply.
    Unusual,
}

/// What was taken of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes of the lines.
    pub bytes: usize,
    /// Their number.
    pub lines: u64,
    /// Those with a value.
    pub values: u64,
    /// Why it is no more.
    pub stop: Stop,
}

/// What a format keeps of its records.
pub trait Records: Send {
    /// Takes a record that begins at a place; what is not in the file behind `offset` as it is, has to be held.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the names that can be numbered.
    fn add(&mut self, value: &Json<'_, '_>, place: Place, offset: Option<u64>) -> Result<(), Error>;

    /// The prompt of all records.
    ///
    /// # Errors
    ///
    /// As [`Self::add`].
    fn prompt(self: Box<Self>) -> Result<Prompt, Error>;
}

impl Records for Box<dyn Records> {
    fn add(&mut self, value: &Json<'_, '_>, place: Place, offset: Option<u64>) -> Result<(), Error> {
        (**self).add(value, place, offset)
    }

    fn prompt(self: Box<Self>) -> Result<Prompt, Error> {
        (*self).prompt()
    }
}

/// The lines of a session file, in order.
///
/// # Examples
///
/// ```
/// use trimtab_core::claude_code::Entries;
/// use trimtab_core::session::{Lines, Place, Stop};
///
/// let mut lines = Lines::of(Entries::new(false));
/// let text = r#"{"type": "user", "uuid": "1", "message": {"content": "caf\u00e9"}}
/// {"type": "user", "uuid": "2", "parentUuid": "1", "message": {"content": "tea"}} noise"#;
/// let taken = lines.take(text.as_bytes(), Place { line: 1, offset: 0 }, true)?;
/// assert_eq!((taken.lines, taken.stop), (1, Stop::Unusual));
/// let prompt = lines.prompt()?;
/// assert_eq!(prompt.places(0, 1_000), (1, vec![(53, 11)]));
/// assert_eq!(prompt.write(0..1, &[(0, text.as_bytes())])?, r#"[{"role":"user","content":"caf\u00e9"}]"#);
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
pub struct Lines {
    records: Box<dyn Records>,
    tape: Tape,
}

impl Lines {
    /// The lines of a file whose records go to these.
    pub fn of(records: impl Records + 'static) -> Self {
        Self { records: Box::new(records), tape: Tape::default() }
    }

    /// The prompt of all lines.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the names that can be numbered.
    pub fn prompt(self) -> Result<Prompt, Error> {
        self.records.prompt()
    }

    /// Takes the lines at the start of `bytes`, which begin at `place`; at the end of the file, the last needs no end.
    ///
    /// Stops at a line that is not one object, of JSON that is nested no deeper than [`MAX_DEPTH`].
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the names that can be numbered.
    pub fn take(&mut self, bytes: &[u8], place: Place, is_end: bool) -> Result<Taken, Error> {
        let mut taken = Taken { bytes: 0, lines: 0, values: 0, stop: Stop::End };
        while taken.bytes < bytes.len() {
            cancel::poll();
            let rest = &bytes[taken.bytes..];
            let length = match memchr::memchr(b'\n', rest) {
                Some(end) => end + 1,
                None if is_end => rest.len(),
                None => return Ok(Taken { stop: Stop::Cut, ..taken }),
            };
            let at = Place { line: place.line + taken.lines, offset: place.offset + taken.bytes as u64 };
            if !rest[..length].iter().copied().all(is_blank) {
                if !self.take_line(&rest[..length], at)? {
                    return Ok(Taken { stop: Stop::Unusual, ..taken });
                }
                taken.values += 1;
            }
            taken.bytes += length;
            taken.lines += 1;
        }
        Ok(taken)
    }

    /// Takes a line; false if it is not one object, and then nothing of it was taken.
    fn take_line(&mut self, line: &[u8], at: Place) -> Result<bool, Error> {
        let Ok(text) = simdutf8::basic::from_utf8(line) else { return Ok(false) };
        let mut tape = std::mem::take(&mut self.tape);
        let is_one = tape.parse(text, 0).is_ok_and(|end| {
            let is_end = text[end..].bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
            is_end && tape.is_map() && tape.depth() <= MAX_DEPTH
        });
        let done = if is_one { self.records.add(&Json::new(&tape.of(text)), at, Some(at.offset)) } else { Ok(()) };
        self.tape = tape;
        done.map(|()| is_one)
    }

    /// Takes a record that is not alone on its line, or no object, as JSON.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for what is no JSON; as [`Self::take`].
    pub fn take_value(&mut self, json: &str, at: Place) -> Result<(), Error> {
        cancel::poll();
        let mut tape = std::mem::take(&mut self.tape);
        let parsed = tape.parse(json, 0).map_err(|fault| Error::Argument(format!("need JSON, got {fault:?}")));
        let done = parsed.and_then(|_| self.records.add(&Json::new(&tape.of(json)), at, None));
        self.tape = tape;
        done
    }
}

/// Whether a byte of a line is blank to Python.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}
