//! What is kept of a file's lines.

use super::fields::{Fields, Message, Role, defect};
use super::kept::Kept;
use super::line::Line;
use super::noted::noted;
use super::usage;
use crate::error::Error;
use crate::json::Json;
use crate::seeded::{Map, Set};
use crate::session::names::{Name, Names};
use crate::session::value::text;
use crate::session::worded::worded;
use crate::session::{Fault, Place, Prompt, Records, Span, Tokens};

/// Fields of a line that hold its message, or repeat it for the screen or as it was sent.
const REPEATED: [&[u8]; 4] = [b"message", b"toolUseResult", b"attachment", b"rendered"];

/// The lines of a session file, in order.
#[derive(Debug, Default)]
pub struct Entries {
    pub(super) names: Names,
    pub(super) lines: Vec<Line>,
    /// The line of each key that counts.
    pub(super) of: Map<Name, usize>,
    /// Number of the first line of each response; copies may follow.
    pub(super) first: Map<Name, usize>,
    /// Which lines compactions kept.
    pub(super) kept: Vec<Kept>,
    /// Beginnings of the uuids of lines that were taken back, as a refused answer that another model gave anew.
    pub(super) retracted: Set<Vec<u8>>,
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
    /// Whether messages that a compaction replaced stay.
    pub(super) whole: bool,
}

impl Entries {
    /// No lines; `whole` keeps messages that a compaction replaced.
    #[must_use]
    pub fn new(whole: bool) -> Self {
        Self { whole, ..Self::default() }
    }

    /// Whether no later line took the place of one.
    pub(super) fn counts(&self, at: usize) -> bool {
        self.of.get(&self.lines[at].key) == Some(&at)
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
            line.content = Span::of(&content, offset, &mut self.held);
        }
        if line.role == Some(Role::Assistant)
            && let Some(usage) = message.usage.filter(Json::is_truthy)
        {
            line.usage = Some(self.usage(&usage)?);
        }
        let mut found = [Vec::new(), Vec::new()];
        for field in worded(value, &REPEATED) {
            found[0].push(self.names.number(&field.exact_name())?);
        }
        for field in fields.message.map(|message| worded(&message, &[b"content"])).unwrap_or_default() {
            found[1].push(self.names.number(&field.exact_name())?);
        }
        if found.iter().any(|names| !names.is_empty()) {
            self.worded.insert(self.lines.len(), found);
        }
        Ok(())
    }

    /// The position of a usage; most lines repeat the one before.
    fn usage(&mut self, usage: &Json<'_, '_>) -> Result<u32, Error> {
        let read = usage::read(usage).ok_or_else(|| usage.source().to_owned());
        if self.usages.last() != Some(&read) {
            self.usages.push(read);
        }
        u32::try_from(self.usages.len() - 1).map_err(|_| Error::Overflow("usages of a file"))
    }
}

impl Records for Entries {
    fn add(&mut self, value: &Json<'_, '_>, place: Place, offset: Option<u64>) -> Result<(), Error> {
        let number = self.records;
        self.records += 1;
        let fields = Fields::of(value);
        let message = Message::of(fields.message);
        self.noted.extend(noted(value, &fields, &message));
        if let Some(folder) = text(fields.folder).filter(|folder| !folder.is_empty()) {
            self.folder = self.names.number(&folder)?;
        }
        if let Some(reason) = defect(value, &fields, &message) {
            self.faults.push(Fault { place, reason });
            return Ok(());
        }
        let message = fields.queued().map_or(message, |prompt| Message { content: Some(prompt), ..Message::default() });
        let mut line = Line::of(number, &fields, &message, &mut self.names)?;
        if line.role == Some(Role::Assistant) {
            self.first.entry(line.response).or_insert(number);
        }
        let retracted = fields.retracted.iter().flat_map(Json::values).filter_map(|uuid| uuid.exact());
        self.retracted.extend(retracted.map(|uuid| beginning(&uuid).to_vec()));
        if let Some(compacted) = fields.compacted {
            self.kept.extend(Kept::of(&compacted, line.key, &mut self.names)?);
        }
        if let Some(&known) = self.of.get(&line.key) {
            // A resumed session repeats lines. A repeated line with another parent was kept after a summary.
            if self.lines[known].parent == line.parent {
                return Ok(());
            }
            line.is_again = true;
        }
        if line.role.is_some() {
            self.add_message(value, &fields, &message, &mut line, offset)?;
        }
        self.of.insert(line.key, self.lines.len());
        self.lines.push(line);
        Ok(())
    }

    fn prompt(self: Box<Self>) -> Result<Prompt, Error> {
        (*self).made()
    }
}

/// The part of a uuid that the lines of one message share.
pub(super) fn beginning(uuid: &[u8]) -> &[u8] {
    uuid.get(..24).unwrap_or(uuid)
}
