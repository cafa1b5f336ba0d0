//! What the records of a file make.

use std::ops::Range;

use super::charge::Charge;
use super::left_out::LeftOut;
use super::place::Fault;
use super::written::Writer;
use crate::counter::Counter;
use crate::error::Error;
use crate::json::has_lone_surrogate;
use crate::jsonl::Reader;
use crate::ledger::Ledger;
use crate::shape::Provider;

/// The next prompt of a session file: facts about its messages, and these as JSON from the file's bytes.
#[derive(Debug)]
pub struct Prompt {
    /// The file's format.
    pub format: &'static str,
    /// What its calls were billed.
    pub charges: Vec<Charge>,
    /// Positions behind the messages that each compaction replaced.
    pub compactions: Vec<usize>,
    /// Of each of them, the positions of the messages that the prompt has right after it.
    pub contexts: Vec<Vec<usize>>,
    /// The last model; empty for none.
    pub model: Vec<u8>,
    /// The system prompt, where it is no message; empty for none.
    pub system: Vec<u8>,
    /// The last window that the file names.
    pub window: Option<u64>,
    /// The last working directory; empty for none.
    pub folder: Vec<u8>,
    /// What lines say of the window, as JSON objects.
    pub noted: Vec<String>,
    /// The records that cannot be read.
    pub faults: Vec<Fault>,
    /// What no message holds.
    pub left_out: Vec<LeftOut>,
    pub(crate) writer: Writer,
}

impl Prompt {
    /// The number of its messages.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.writer.messages()
    }

    /// Where the contents of the messages from a position on stand in the file, by the bytes before them and their number: of
    /// messages with `most` bytes, or of one. In front of it the position behind these messages.
    #[must_use]
    pub fn places(&self, from: usize, most: u64) -> (usize, Vec<(u64, u64)>) {
        self.writer.places(from, most)
    }

    /// Some messages as a JSON list; `pieces` are bytes of the file, each with the number of those before it, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] where the pieces have not what was read there first.
    pub fn write(&self, which: Range<usize>, pieces: &[(u64, &[u8])]) -> Result<String, Error> {
        self.writer.write(which, pieces)
    }

    /// The ledger of the first `messages`, which a provider's shape reads; `pieces` as in [`Self::write`].
    ///
    /// `None` where the messages are not what their JSON says: one has half a character alone, or is nested too deeply.
    ///
    /// # Errors
    ///
    /// As [`Self::write`]; [`Error::Message`] for what is no message of the provider's; [`Error::Overflow`] past what a column
    /// holds.
    pub fn ledger(
        &self,
        pieces: &[(u64, &[u8])],
        counter: Counter,
        provider: Provider,
        messages: usize,
    ) -> Result<Option<Ledger>, Error> {
        self.lines(pieces, messages)?.map_or(Ok(None), |lines| ledger_of(&lines, counter, provider, messages))
    }

    /// The first `messages` as JSON, a line each; `None` where one has half a character alone.
    pub(crate) fn lines(&self, pieces: &[(u64, &[u8])], messages: usize) -> Result<Option<String>, Error> {
        let text = self.writer.write_lines(0..messages, pieces)?; // a list would be looked at twice, for what else it may be
        Ok(Some(text).filter(|text| !has_lone_surrogate(text)))
    }
}

/// The ledger of `messages` as JSON, a line each; `None` where they are not what their JSON says.
pub(crate) fn ledger_of(
    lines: &str,
    counter: Counter,
    provider: Provider,
    messages: usize,
) -> Result<Option<Ledger>, Error> {
    let mut reader = Reader::new(counter, Some(provider));
    reader.push(lines.as_bytes())?;
    let reading = reader.finish()?;
    Ok(Some(reading.found).filter(|ledger| reading.skipped.is_empty() && ledger.messages() == messages))
}
