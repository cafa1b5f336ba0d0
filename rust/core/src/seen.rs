//! Remembers the objects of a list of messages, so that unchanged messages are not read again.
//!
//! Objects are compared by identity, not by content. A leaf (a string or a number) is stored as its address and kept alive,
//! so an equal address is an equal value. A container is stored as a mark of its kind and length.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use trimtab_simd::prefetch_at;
use trimtab_tokens::cancel;

use crate::counter::Counter;
use crate::error::Error;
use crate::ledger::{Builder, Ledger, Whole};
use crate::node::{MAX_DEPTH, Text};
use crate::shape::Provider;

/// Messages between the one that is prefetched and the one that is compared: about a dozen cache misses in flight.
const AHEAD: usize = 6;

/// A kind of container, in the low bits of its mark: odd, because objects have even addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Container {
    /// Keys and values.
    Dict = 0b011,
    /// Items that may change.
    List = 0b101,
    /// Items that stay.
    Tuple = 0b111,
}

/// Access to the objects that messages are made of. None of it runs the caller's code.
pub trait Objects {
    /// An object.
    type Object;
    /// A reference that keeps an object alive.
    type Leaf;

    /// The address of an object, which is even.
    fn address(object: &Self::Object) -> usize;

    /// The kind and length of a container; None for any other object.
    fn container(object: &Self::Object) -> Option<(Container, usize)>;

    /// A reference to an object that cannot change; None for any other object.
    fn leaf(object: &Self::Object) -> Option<Self::Leaf>;

    /// Calls `visit` with all in a container, in order, until it returns false; returns whether it never did.
    fn parts(object: &Self::Object, visit: &mut dyn FnMut(&Self::Object) -> bool) -> bool;

    /// Addresses of the cache lines that are read of a container.
    fn lines(object: &Self::Object) -> impl Iterator<Item = usize>;
}

/// The mark of a container: its kind and length.
#[inline]
fn mark_of<O: Objects>(object: &O::Object) -> Option<usize> {
    O::container(object).map(|(kind, length)| length << 3 | kind as usize)
}

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

    /// How many messages the list has that was read last.
    pub fn messages(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |read| read.seen.messages())
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
    pub fn followed_by<T: Text>(
        self,
        new: &mut Builder<Whole<T>>,
        known: usize,
        counter: &Counter,
    ) -> Result<Self, Error> {
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
    /// Remembers one message more.
    pub fn push<O: Objects<Leaf = L>>(&mut self, message: &O::Object) {
        let before = self.end();
        if !self.walk::<O>(message, 0) {
            self.cut(before);
            self.marks.push(UNKNOWN);
        }
        self.ends.push(self.end());
    }

    /// Adds the parts of `object`; false where something in it may change unseen.
    fn walk<O: Objects<Leaf = L>>(&mut self, object: &O::Object, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        if let Some(mark) = mark_of::<O>(object) {
            self.marks.push(mark);
            self.lines.extend(O::lines(object));
            return O::parts(object, &mut |part| self.walk::<O>(part, depth + 1));
        }
        let leaf = O::leaf(object);
        let is_leaf = leaf.is_some();
        if is_leaf {
            self.marks.push(O::address(object));
        }
        self.leaves.extend(leaf);
        is_leaf
    }

    /// How many messages in front are what they were. `each` calls a function with the messages of a range, in order,
    /// until it returns false; returns whether it never did.
    ///
    /// # Errors
    ///
    /// The first error of `each`.
    pub fn unchanged<O: Objects<Leaf = L>, E>(
        &self,
        mut each: impl FnMut(Range<usize>, &mut dyn FnMut(&O::Object) -> bool) -> Result<bool, E>,
    ) -> Result<usize, E> {
        let (mut at, mut known) = (0, 0);
        while known < self.messages() {
            let chunk = known..self.messages().min(known + cancel::ITEMS_PER_POLL);
            let all = each(chunk.clone(), &mut |message| {
                self.lines(known + AHEAD).iter().for_each(|&line| prefetch_at(line));
                let is_same = self.matches::<O>(message, &mut at, 0) && self.ends_at(known, at);
                known += usize::from(is_same);
                is_same
            })?;
            if !all || known < chunk.end {
                break; // a message changed, or is gone
            }
        }
        Ok(known)
    }

    /// Whether `object` is what the marks from `at` on name; moves `at` behind them.
    fn matches<O: Objects>(&self, object: &O::Object, at: &mut usize, depth: usize) -> bool {
        let Some(&mark) = self.marks.get(*at) else { return false };
        *at += 1;
        // A leaf is kept alive: its address is enough.
        mark == O::address(object)
            || (depth <= MAX_DEPTH
                && mark_of::<O>(object) == Some(mark)
                && O::parts(object, &mut |part| self.matches::<O>(part, at, depth + 1)))
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

    /// Whether the marks of message `index` end at `at`.
    #[inline]
    fn ends_at(&self, index: usize, at: usize) -> bool {
        self.ends.get(index).is_some_and(|ends| ends.marks == at)
    }

    /// The cache lines of message `index`, which is not the first.
    fn lines(&self, index: usize) -> &[usize] {
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

    /// An object of a test: a list, or a number at an address.
    enum Thing {
        List(Vec<Thing>),
        Leaf(usize),
        Changing,
    }

    struct Things;

    impl Objects for Things {
        type Object = Thing;
        type Leaf = usize;

        fn address(object: &Thing) -> usize {
            if let Thing::Leaf(address) = object { *address } else { 2 }
        }

        fn container(object: &Thing) -> Option<(Container, usize)> {
            if let Thing::List(items) = object { Some((Container::List, items.len())) } else { None }
        }

        fn leaf(object: &Thing) -> Option<usize> {
            if let Thing::Leaf(address) = object { Some(*address) } else { None }
        }

        fn parts(object: &Thing, visit: &mut dyn FnMut(&Thing) -> bool) -> bool {
            if let Thing::List(items) = object { items.iter().all(visit) } else { true }
        }

        fn lines(_: &Thing) -> impl Iterator<Item = usize> {
            [64, 128].into_iter()
        }
    }

    /// How many of `messages` in front are what `seen` remembers.
    fn unchanged(seen: &Seen<usize>, messages: &[Thing]) -> usize {
        let found = seen.unchanged::<Things, ()>(|which, visit| {
            Ok(messages[which.start..messages.len().min(which.end)].iter().all(visit))
        });
        found.unwrap()
    }

    #[test]
    fn a_message_that_may_change_unseen_leaves_nothing_but_its_mark() {
        let mut seen = Seen::default();
        seen.push::<Things>(&Thing::List(vec![Thing::Leaf(16)]));
        seen.push::<Things>(&Thing::List(vec![Thing::Leaf(32), Thing::Changing]));
        assert_eq!((seen.marks.clone(), seen.leaves.clone()), (vec![1 << 3 | 5, 16, UNKNOWN], vec![16]));
        assert!(seen.ends_at(0, 2) && seen.ends_at(1, 3) && !seen.ends_at(2, 3));
        seen.truncate(0);
        assert_eq!((seen.messages(), seen.marks.len()), (0, 0));
    }

    #[test]
    fn messages_are_unchanged_up_to_the_first_with_another_part() {
        let mut seen = Seen::default();
        let list = |addresses: &[usize]| Thing::List(addresses.iter().map(|&address| Thing::Leaf(address)).collect());
        for addresses in [&[16, 32][..], &[48], &[64]] {
            seen.push::<Things>(&list(addresses));
        }
        assert_eq!(unchanged(&seen, &[list(&[16, 32]), list(&[48]), list(&[64]), list(&[80])]), 3);
        assert_eq!(unchanged(&seen, &[list(&[16, 32]), list(&[48])]), 2);
        assert_eq!(unchanged(&seen, &[list(&[16, 32]), list(&[48, 64]), list(&[64])]), 1);
        assert_eq!(unchanged(&seen, &[list(&[16])]), 0);
    }
}
