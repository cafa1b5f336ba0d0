//! What the lines of a file make.

use std::ops::Range;

use super::chain::Tree;
use super::charges::Charge;
use super::collected::Collected;
use super::fields::Role;
use super::left_out::{LeftOut, left_out};
use super::lines::{Fault, Lines};
use super::messages::{Message, Messages};
use super::names::EMPTY;
use super::written::{Part, Writer};
use crate::error::Error;

/// The next prompt of a session file: facts about its messages, and these as JSON from the file's bytes.
#[derive(Debug)]
pub struct Prompt {
    /// What its calls were billed.
    pub charges: Vec<Charge>,
    /// Positions behind the messages that each compaction replaced.
    pub compactions: Vec<usize>,
    /// Of each of them, the positions of the messages that the prompt has right after it.
    pub contexts: Vec<Vec<usize>>,
    /// The last model; empty for none.
    pub model: Vec<u8>,
    /// The last working directory; empty for none.
    pub folder: Vec<u8>,
    /// What lines say of the window, as JSON objects.
    pub noted: Vec<String>,
    /// The records that cannot be read.
    pub faults: Vec<Fault>,
    /// What no message holds.
    pub left_out: Vec<LeftOut>,
    writer: Writer,
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
}

impl Lines {
    /// The prompt of all lines; `whole` keeps messages that a compaction replaced.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the names that can be numbered.
    pub fn prompt(mut self, whole: bool) -> Result<Prompt, Error> {
        let tree = Tree::of(&mut self);
        let (chain, sent) = (tree.chain(whole), tree.sent);
        let collected = Collected::of(&mut self.entries, &chain, &sent);
        let mut made = Messages::of(&self, &collected, whole);
        if made.model == EMPTY {
            // A compaction left no answer: the model that spoke last goes on.
            let spoken = sent.iter().rev().map(|&at| &self.entries[at]);
            let named = spoken.filter(|line| line.role == Some(Role::Assistant)).find(|line| line.model != EMPTY);
            made.model = named.map_or(EMPTY, |line| line.model);
        }
        let left_out = left_out(&mut self, &collected)?;
        let place = |at: usize| self.entries[at].content;
        let part = |message: Message| Part {
            role: message.role,
            results_first: message.results_first,
            places: message.lines.into_iter().map(place).collect(),
        };
        let parts = made.list.into_iter().map(part).collect();
        Ok(Prompt {
            model: self.names.get(made.model).to_vec(),
            folder: self.names.get(self.folder).to_vec(),
            noted: self.noted,
            faults: self.faults,
            left_out,
            writer: Writer::new(parts, self.held),
            charges: made.charges,
            compactions: made.compactions,
            contexts: made.contexts,
        })
    }
}
