//! Which objects a list of messages was made of when it was read, so that unchanged messages are not read again.
//!
//! By identity, never by content. A leaf (a string or a number) is named by its address and kept alive here, so an equal
//! address is an equal value. A container is named by a mark of its kind and length.

use std::sync::{Arc, Mutex, PoisonError};

use crate::counter::Counter;
use crate::error::Error;
use crate::ledger::{Builder, Ledger};
use crate::node::Text;
use crate::shape::Provider;

/// The list that was read last. One thread takes it; another one that comes meanwhile finds none and reads its whole list.
#[derive(Debug)]
pub struct Last<L>(Mutex<Option<Read<L>>>);

/// A list that was read.
#[derive(Debug)]
pub struct Read<L> {
    provider: Provider,
    ledger: Arc<Ledger>,
    /// The objects of its messages.
    pub seen: Seen<L>,
}

impl<L> Default for Last<L> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<L> Last<L> {
    /// Takes the list that was read last, if it was of `provider`; else an empty one.
    pub fn take(&self, provider: Provider) -> Read<L> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let empty = || Read { provider, ledger: Arc::default(), seen: Seen::default() };
        last.filter(|read| read.provider == provider).unwrap_or_else(empty)
    }

    /// Keeps a list as the one that was read last; returns its ledger.
    pub fn put(&self, read: Read<L>) -> Arc<Ledger> {
        let ledger = Arc::clone(&read.ledger);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
        ledger
    }
}

impl<L> Read<L> {
    /// The list of its first `known` messages and those of `new`.
    ///
    /// # Errors
    ///
    /// As [`Builder::finish`].
    pub fn followed_by<T: Text>(self, new: &mut Builder<T>, known: usize, counter: &Counter) -> Result<Self, Error> {
        let all = self.ledger.messages();
        let ledger = match self.ledger {
            _ if known == 0 => Arc::new(new.finish(counter)?),
            ledger if known == all && new.messages() == 0 => ledger,
            ledger if known == all => Arc::new(Arc::unwrap_or_clone(ledger).extend(new.finish(counter)?)?),
            ledger => Arc::new(ledger.head(known).extend(new.finish(counter)?)?),
        };
        Ok(Self { ledger, ..self })
    }
}

/// Messages as they were, by identity; `L` keeps a leaf alive.
#[derive(Debug)]
pub struct Seen<L> {
    /// In the order of reading: the address of a leaf, or a container's mark (odd: no object has that address).
    marks: Vec<usize>,
    /// Cache lines that reading a message touched.
    lines: Vec<usize>,
    leaves: Vec<L>,
    /// Lengths of the columns behind each message.
    ends: Vec<Ends>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    marks: usize,
    lines: usize,
    leaves: usize,
}

impl<L> Default for Seen<L> {
    fn default() -> Self {
        Self { marks: Vec::new(), lines: Vec::new(), leaves: Vec::new(), ends: Vec::new() }
    }
}

/// The mark of a message that may change unseen. Odd, and no container's mark.
const UNKNOWN: usize = 1;

impl<L> Seen<L> {
    /// Remembers one message more: `walk` adds its parts, and returns whether a change of any of them would be seen.
    pub fn push(&mut self, walk: impl FnOnce(&mut Self) -> bool) {
        let before = self.end();
        if !walk(self) {
            self.cut(before);
            self.marks.push(UNKNOWN);
        }
        self.ends.push(self.end());
    }

    /// Adds a leaf of the message.
    pub fn leaf(&mut self, address: usize, leaf: L) {
        self.marks.push(address);
        self.leaves.push(leaf);
    }

    /// Adds a container of the message, with the cache lines that it takes.
    pub fn container(&mut self, mark: usize, lines: impl Iterator<Item = usize>) {
        self.marks.push(mark);
        self.lines.extend(lines);
    }

    /// Forgets all but the first `messages`.
    pub fn truncate(&mut self, messages: usize) {
        self.ends.truncate(messages);
        self.cut(self.ends.last().copied().unwrap_or_default());
    }

    /// How many messages are remembered.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.ends.len()
    }

    /// The mark at position `at` of all.
    #[inline]
    #[must_use]
    pub fn mark(&self, at: usize) -> Option<usize> {
        self.marks.get(at).copied()
    }

    /// Whether the marks of message `index` end at `at`.
    #[inline]
    #[must_use]
    pub fn ends_at(&self, index: usize, at: usize) -> bool {
        self.ends.get(index).is_some_and(|ends| ends.marks == at)
    }

    /// The cache lines of message `index`, which is not the first.
    #[must_use]
    pub fn lines(&self, index: usize) -> &[usize] {
        match self.ends.get(index - 1..).and_then(|ends| ends.first_chunk()) {
            Some([before, ends]) => &self.lines[before.lines..ends.lines],
            None => &[],
        }
    }

    fn end(&self) -> Ends {
        Ends { marks: self.marks.len(), lines: self.lines.len(), leaves: self.leaves.len() }
    }

    fn cut(&mut self, ends: Ends) {
        self.marks.truncate(ends.marks);
        self.lines.truncate(ends.lines);
        self.leaves.truncate(ends.leaves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_may_change_unseen_leaves_nothing_but_its_mark() {
        let mut seen = Seen::default();
        seen.push(|seen| {
            seen.container(11, [64, 128].into_iter());
            seen.leaf(16, "kept");
            true
        });
        seen.push(|seen| {
            seen.leaf(32, "let go");
            false
        });
        assert_eq!((seen.marks.clone(), seen.leaves.clone()), (vec![11, 16, UNKNOWN], vec!["kept"]));
        assert!(seen.ends_at(0, 2) && seen.ends_at(1, 3) && !seen.ends_at(2, 3));
        seen.truncate(0);
        assert_eq!((seen.messages(), seen.mark(0)), (0, None));
    }
}
