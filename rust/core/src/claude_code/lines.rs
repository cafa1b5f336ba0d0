//! Takes the lines of a file.

use super::fields::{Fields, Message, Role, defect, last};
use super::line::{self, Line, name};
use super::names::{EMPTY, Name, Names};
use super::noted::noted;
use super::usage::Tokens;
use super::worded::worded;
use crate::error::Error;
use crate::json::{Json, Tape};
use crate::node::MAX_DEPTH;
use crate::seeded::Map;
use trimtab_tokens::cancel;

/// A place in a file: the line, from 1, and the bytes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the line.
    pub line: u64,
    /// The bytes before it.
    pub offset: u64,
}

/// A record whose message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place of the record.
    pub place: Place,
    /// What is wrong with it.
    pub reason: &'static str,
}

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

/// The lines of a session file, in order.
///
/// # Examples
///
/// ```
/// use trimtab_core::claude_code::{Lines, Place, Stop};
///
/// let mut lines = Lines::default();
/// let text = r#"{"type": "user", "uuid": "1", "message": {"content": "caf\u00e9"}}
/// {"type": "user", "uuid": "2", "parentUuid": "1", "message": {"content": "tea"}} noise"#;
/// let taken = lines.take(text.as_bytes(), Place { line: 1, offset: 0 }, true)?;
/// assert_eq!((taken.lines, taken.stop), (1, Stop::Unusual));
/// let prompt = lines.prompt(false)?;
/// assert_eq!(prompt.places(0, 1_000), (1, vec![(53, 11)]));
/// assert_eq!(prompt.write(0..1, &[(0, text.as_bytes())])?, r#"[{"role":"user","content":"caf\u00e9"}]"#);
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Lines {
    pub(super) names: Names,
    pub(super) entries: Vec<Line>,
    /// The line of each key that counts.
    pub(super) of: Map<Name, usize>,
    /// Number of the first line of each response; copies may follow.
    pub(super) first: Map<Name, usize>,
    /// Keys that compactions name: the first and the last line that they keep, and the one that these follow.
    pub(super) kept: Vec<[Name; 3]>,
    /// Usages, as numbers or as JSON.
    pub(super) usages: Vec<Result<Tokens, String>>,
    /// Names of the fields with text of a line, its own and those of its message.
    pub(super) worded: Map<usize, [Vec<Name>; 2]>,
    /// Contents that are not in the file as they are.
    pub(super) held: String,
    /// What lines say of the window, as JSON.
    pub(super) noted: Vec<String>,
    /// The last working directory.
    pub(super) folder: Name,
    pub(super) faults: Vec<Fault>,
    records: usize,
    tape: Tape,
}

impl Lines {
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
        let done = if is_one { self.add(&Json::new(&tape.of(text)), at, Some(at.offset)) } else { Ok(()) };
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
        let done = parsed.and_then(|_| self.add(&Json::new(&tape.of(json)), at, None));
        self.tape = tape;
        done
    }

    /// Adds a record that begins at `at`; what is not in the file behind `offset` as it is, is held.
    fn add(&mut self, value: &Json<'_, '_>, at: Place, offset: Option<u64>) -> Result<(), Error> {
        let number = self.records;
        self.records += 1;
        let fields = Fields::of(value);
        let message = Message::of(fields.message);
        self.noted.extend(noted(value, &fields, &message));
        if let Some(folder) = line::text(fields.folder).filter(|folder| !folder.is_empty()) {
            self.folder = self.names.number(&folder)?;
        }
        if let Some(reason) = defect(value, &fields, &message) {
            self.faults.push(Fault { place: at, reason });
            return Ok(());
        }
        let mut line = Line::of(number, &fields, &message, &mut self.names)?;
        if line.role == Some(Role::Assistant) {
            self.first.entry(line.response).or_insert(number);
        }
        self.keep(&fields)?;
        if let Some(&known) = self.of.get(&line.key) {
            // A resumed session repeats lines. A repeated line with another parent was kept after a summary.
            if self.entries[known].parent == line.parent {
                return Ok(());
            }
            line.is_again = true;
        }
        if line.role.is_some() {
            self.add_message(value, &fields, &message, &mut line, offset)?;
        }
        self.of.insert(line.key, self.entries.len());
        self.entries.push(line);
        Ok(())
    }

    /// Whether no later line took the place of one.
    pub(super) fn counts(&self, at: usize) -> bool {
        self.of.get(&self.entries[at].key) == Some(&at)
    }

    /// Notes which lines a compaction kept.
    fn keep(&mut self, fields: &Fields<'_, '_>) -> Result<(), Error> {
        let Some(segment) = fields.compacted.and_then(|compacted| last(&compacted, b"preservedSegment")) else {
            return Ok(());
        };
        let mut ends = [EMPTY; 3];
        for (end, field) in ends.iter_mut().zip([b"headUuid".as_slice(), b"anchorUuid", b"tailUuid"]) {
            *end = name(last(&segment, field), &mut self.names)?;
        }
        if segment.is_object() {
            self.kept.push(ends);
        }
        Ok(())
    }

    /// Notes what the message of a line holds.
    fn add_message(
        &mut self,
        value: &Json<'_, '_>,
        fields: &Fields<'_, '_>,
        message: &Message<'_, '_>,
        line: &mut Line,
        offset: Option<u64>,
    ) -> Result<(), Error> {
        if let Some(content) = message.content {
            line.digest = content.digest();
            line.content = self.place(&content, offset);
        }
        if line.role == Some(Role::Assistant)
            && let Some(usage) = message.usage.filter(Json::is_truthy)
        {
            line.usage = Some(self.usage(&usage)?);
        }
        let mut found = [Vec::new(), Vec::new()];
        for field in worded(value, &[b"message", b"toolUseResult"]) {
            found[0].push(self.names.number(&field.exact_name())?);
        }
        for field in fields.message.map(|message| worded(&message, &[b"content"])).unwrap_or_default() {
            found[1].push(self.names.number(&field.exact_name())?);
        }
        if found.iter().any(|names| !names.is_empty()) {
            self.worded.insert(self.entries.len(), found);
        }
        Ok(())
    }

    /// Where a content stands; it is held if it is not in the file.
    fn place(&mut self, content: &Json<'_, '_>, offset: Option<u64>) -> line::Place {
        let source = content.source();
        let length = source.len() as u64;
        if let Some(offset) = offset {
            return line::Place { at: offset + content.position() as u64, length, is_held: false };
        }
        let at = self.held.len() as u64;
        self.held.push_str(source);
        line::Place { at, length, is_held: true }
    }

    /// The position of a usage; most lines repeat the one before.
    fn usage(&mut self, usage: &Json<'_, '_>) -> Result<u32, Error> {
        let read = Tokens::of(usage).ok_or_else(|| usage.source().to_owned());
        if self.usages.last() != Some(&read) {
            self.usages.push(read);
        }
        u32::try_from(self.usages.len() - 1).map_err(|_| Error::Overflow("usages of a file"))
    }
}

/// Whether a byte of a line is blank to Python.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}
