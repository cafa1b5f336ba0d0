//! What the lines of a file make.

use super::chain::Tree;
use super::collected::Collected;
use super::entries::Entries;
use super::fields::Role;
use super::left_out::left_out;
use super::messages::{Message, Messages};
use crate::error::Error;
use crate::session::names::EMPTY;
use crate::session::{Part, Prompt, Writer};

impl Entries {
    /// The prompt of all lines.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the names that can be numbered.
    pub(super) fn made(mut self) -> Result<Prompt, Error> {
        let whole = self.whole;
        let tree = Tree::of(&mut self);
        let (chain, sent, links) = (tree.chain(whole), tree.sent, tree.links);
        let collected = Collected::of(&mut self.lines, &chain, &sent);
        let mut made = Messages::of(&self, &collected, &links);
        if made.model == EMPTY {
            // A compaction left no answer: the model that spoke last goes on.
            let spoken = sent.iter().rev().map(|&at| &self.lines[at]);
            let named = spoken.filter(|line| line.role == Some(Role::Assistant)).find(|line| line.model != EMPTY);
            made.model = named.map_or(EMPTY, |line| line.model);
        }
        let left_out = left_out(&mut self, &collected)?;
        let place = |at: usize| self.lines[at].content;
        let part = |message: Message| Part {
            role: Some(if message.role == Role::User { "user" } else { "assistant" }),
            results_first: message.results_first,
            places: message.lines.into_iter().map(place).collect(),
        };
        let parts = made.list.into_iter().map(part).collect();
        Ok(Prompt {
            format: "claude_code",
            model: self.names.get(made.model).to_vec(),
            system: Vec::new(),
            window: None,
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
