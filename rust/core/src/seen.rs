//! Remembers the objects of a list of messages, so that unchanged messages are not read again.
//!
//! Objects are compared by identity, not by content. A leaf (a string or a number) is stored as its address and kept alive,
//! so an equal address is an equal value. A container is stored as a mark of its kind and length.

use std::ops::Range;

use trimtab_simd::prefetch_at;
use trimtab_tokens::cancel;
use xxhash_rust::xxh3::xxh3_128;

use crate::node::MAX_DEPTH;

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
    /// Fields of an object; its length is from 1 on.
    Fields = 0b001,
}

/// Access to the objects that messages are made of.
///
/// Parts are borrowed from their container, so that no reference is counted. Code of the caller could remove one: it runs only
/// where a function is told that all objects above, and this one, are `kept`.
pub trait Objects {
    /// An object.
    type Object;
    /// A reference that keeps an object alive.
    type Leaf;
    /// A reference that keeps an object alive for a moment.
    type Kept;

    /// The address of an object, which is even.
    fn address(object: &Self::Object) -> usize;

    /// Keeps an object alive until the result is dropped.
    fn keep(object: &Self::Object) -> Self::Kept;

    /// The kind and length of a container; None for any other object, and where it takes code and it is not `kept`.
    fn container(object: &Self::Object, kept: bool) -> Option<(Container, usize)>;

    /// A reference to an object that cannot change; None as for a container.
    fn leaf(object: &Self::Object, kept: bool) -> Option<Self::Leaf>;

    /// Whether an object is what the marks from `at` on name, told by looking alone; moves `at` behind them. False also where
    /// looking is not enough; None where there is no quicker way than by [`Self::parts`].
    fn is_same(_object: &Self::Object, _marks: &[usize], _at: &mut usize) -> Option<bool> {
        None
    }

    /// Whether two leaves have one type and one content, told by looking at both; false where that would take code.
    fn is_equal(leaf: &Self::Leaf, other: &Self::Leaf) -> bool;

    /// The digest of an object that is a leaf, as [`Self::content`] makes it, where that takes no code.
    fn plain(object: &Self::Object) -> Option<u128>;

    /// A digest of the type and the content of a leaf; None where it cannot be told.
    fn content(leaf: &Self::Leaf) -> Option<u128>;

    /// Calls `visit` with all in a container of this kind and length, in order, until it returns false; returns whether it
    /// never did.
    fn parts(
        object: &Self::Object,
        container: (Container, usize),
        kept: bool,
        visit: &mut impl FnMut(&Self::Object) -> bool,
    ) -> bool;

    /// Addresses of the cache lines that are read of a container.
    fn lines(object: &Self::Object) -> impl Iterator<Item = usize>;
}

/// The mark of a container of this kind and length.
#[inline]
#[must_use]
pub fn mark((kind, length): (Container, usize)) -> usize {
    length << 3 | kind as usize
}

/// A digest of a text, or of a number's.
#[must_use]
pub fn content(is_text: bool, text: &str) -> u128 {
    xxh3_128(text.as_bytes()) ^ u128::from(is_text)
}

/// Messages as they were, by identity; `L` keeps a leaf alive.
#[derive(Debug)]
pub struct Seen<L> {
    /// In the order of reading: the address of a leaf, or a container's mark (odd: no object has that address).
    marks: Vec<usize>,
    /// Cache lines that reading a message touched.
    lines: Vec<usize>,
    /// Leaves, none where they moved to another list.
    leaves: Vec<Option<L>>,
    /// Lengths of the columns behind each message.
    ends: Vec<Ends>,
    /// Digests of the messages in front, 0 for one that nobody has asked for.
    digests: Vec<u128>,
}

/// Digests of the leaves that were looked at last, by address: keys and types are the same objects in all messages.
#[derive(Debug)]
pub struct Digests<L> {
    recent: [Recent<L>; RECENT],
    bytes: Vec<u8>,
}

/// The address of a leaf, its digest, and what keeps it alive where no list does.
type Recent<L> = (usize, u128, Option<L>);

/// Leaves that are remembered, a power of two: a message has about ten keys and types.
const RECENT: usize = 64;

impl<L> Default for Digests<L> {
    fn default() -> Self {
        Self { recent: [const { (0, 0, None) }; RECENT], bytes: Vec::new() }
    }
}

impl<L> Digests<L> {
    /// Digest of the content of a message, as [`Seen::digest`] makes it of one that was pushed; None where something in it
    /// may change unseen.
    pub fn of<O: Objects<Leaf = L>>(&mut self, message: &O::Object) -> Option<u128> {
        self.bytes.clear();
        let told = self.walk::<O, false>(message, 0) || {
            self.bytes.clear();
            self.walk::<O, true>(message, 0)
        };
        told.then(|| self.end())
    }

    /// Adds the parts of `object`; false where one has no digest, or takes code to be told and is not `KEPT`.
    fn walk<O: Objects<Leaf = L>, const KEPT: bool>(&mut self, object: &O::Object, depth: usize) -> bool {
        let address = O::address(object);
        let (at, _kept) = (address / 16 % RECENT, KEPT.then(|| O::keep(object)));
        let digest = if self.recent[at].0 == address {
            self.recent[at].1
        } else if let Some(digest) = O::plain(object) {
            if let Some(leaf) = O::leaf(object, KEPT) {
                self.recent[at] = (address, digest, Some(leaf));
            }
            digest
        } else if let Some(container) = O::container(object, KEPT) {
            self.bytes.extend_from_slice(&(mark(container) as u128).to_le_bytes());
            let walk = &mut |part: &O::Object| self.walk::<O, KEPT>(part, depth + 1);
            return depth < MAX_DEPTH && O::parts(object, container, KEPT, walk);
        } else {
            match KEPT.then(|| O::content(&O::leaf(object, KEPT)?)).flatten() {
                Some(digest) => digest,
                None => return false,
            }
        };
        self.bytes.extend_from_slice(&digest.to_le_bytes());
        true
    }

    /// The digest of the parts that were added.
    fn end(&self) -> u128 {
        xxh3_128(&self.bytes).max(1)
    }

    /// Forgets all leaves: one may be freed, and another get its address.
    fn forget(&mut self) {
        self.recent = Self::default().recent;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    marks: usize,
    lines: usize,
    leaves: usize,
}

impl<L> Default for Seen<L> {
    fn default() -> Self {
        Self { marks: Vec::new(), lines: Vec::new(), leaves: Vec::new(), ends: Vec::new(), digests: Vec::new() }
    }
}

/// The mark of a message that may change unseen. Odd, and no container's mark: one of fields has a length.
const UNKNOWN: usize = 1;

impl<L> Seen<L> {
    /// Remembers one message more.
    pub fn push<O: Objects<Leaf = L>>(&mut self, message: &O::Object) {
        let before = self.end();
        if !self.walk::<O, false>(message, 0) {
            self.cut(before);
            if !self.walk::<O, true>(message, 0) {
                self.cut(before);
                self.marks.push(UNKNOWN);
            }
        }
        self.ends.push(self.end());
    }

    /// Takes message `index` of another list as the next one; false if it was taken before.
    pub fn take(&mut self, old: &mut Self, index: usize) -> bool {
        let (start, end) = (old.start(index), old.start(index + 1));
        let leaves = &mut old.leaves[start.leaves..end.leaves];
        if leaves.iter().any(Option::is_none) {
            return false;
        }
        self.leaves.extend(leaves.iter_mut().map(Option::take));
        self.marks.extend_from_slice(&old.marks[start.marks..end.marks]);
        self.lines.extend_from_slice(&old.lines[start.lines..end.lines]);
        self.ends.push(self.end());
        if old.noted(index) != 0 {
            self.note(self.messages() - 1, old.noted(index));
        }
        true
    }

    /// Adds the parts of `object`; false where something in it may change unseen.
    fn walk<O: Objects<Leaf = L>, const KEPT: bool>(&mut self, object: &O::Object, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let _kept = KEPT.then(|| O::keep(object));
        if let Some(container) = O::container(object, KEPT) {
            self.marks.push(mark(container));
            self.lines.extend(O::lines(object));
            return O::parts(object, container, KEPT, &mut |part| self.walk::<O, KEPT>(part, depth + 1));
        }
        let leaf = O::leaf(object, KEPT);
        let is_leaf = leaf.is_some();
        if is_leaf {
            self.marks.push(O::address(object));
            self.leaves.push(leaf);
        }
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
                self.prefetch(known);
                let is_same = self.is_same::<O>(message, &mut at) && self.ends_at(known, at);
                known += usize::from(is_same);
                is_same
            })?;
            if !all || known < chunk.end {
                break; // a message changed, or is gone
            }
        }
        Ok(known)
    }

    /// Prefetches what is read of the message [`AHEAD`] behind message `index`.
    pub fn prefetch(&self, index: usize) {
        self.lines(index + AHEAD).iter().for_each(|&line| prefetch_at(line));
    }

    /// Whether message `index` is what it was; false where there is none.
    pub fn is_at<O: Objects<Leaf = L>>(&self, message: &O::Object, index: usize) -> bool {
        let mut at = self.start(index).marks;
        index < self.messages()
            && self.marks[at] != UNKNOWN
            && self.is_same::<O>(message, &mut at)
            && self.ends_at(index, at)
    }

    /// Remembers one message more, whose owner makes it anew each time, by its digest alone, and by an address that may be
    /// another object's by now. One that is not kept alive costs nothing when it is freed.
    pub fn push_copy<O: Objects<Leaf = L>>(&mut self, message: &O::Object, digest: u128) {
        self.marks.extend([UNKNOWN, O::address(message)]);
        self.ends.push(self.end());
        self.note(self.messages() - 1, digest);
    }

    /// Remembers the last message, which is this one, as [`Self::push_copy`] does, if it has a digest.
    pub fn let_go<O: Objects<Leaf = L>>(&mut self, message: &O::Object, digests: &mut Digests<L>) {
        if let Some(digest) = digests.of::<O>(message)
            && self.ends.pop().is_some()
        {
            digests.forget();
            self.cut(self.start(self.messages()));
            self.push_copy::<O>(message, digest);
        }
    }

    /// Whether message `index` is known by its digest alone.
    #[must_use]
    pub fn is_copy(&self, index: usize) -> bool {
        index < self.messages() && self.marks[self.start(index).marks] == UNKNOWN
    }

    /// Whether message `index` is known by its digest alone, and was at the address of this one.
    pub fn is_copy_of<O: Objects<Leaf = L>>(&self, message: &O::Object, index: usize) -> bool {
        self.columns(index).is_some_and(|(marks, _)| marks == [UNKNOWN, O::address(message)])
    }

    /// Whether message `index` has the content of message `at` of another list, as far as a look at both tells: comparing
    /// two texts takes less than a digest of one.
    #[must_use]
    pub fn is_like<O: Objects<Leaf = L>>(&self, index: usize, other: &Self, at: usize) -> bool {
        let (Some((marks, leaves)), Some((others, other_leaves))) = (self.columns(index), other.columns(at)) else {
            return false;
        };
        let mut pairs = leaves.iter().zip(other_leaves);
        marks.len() == others.len()
            && marks.iter().zip(others).all(|(&mark, &other)| {
                if mark & 1 == 1 || other & 1 == 1 {
                    return mark == other && mark != UNKNOWN;
                }
                match pairs.next() {
                    Some((Some(leaf), Some(old))) => mark == other || O::is_equal(leaf, old),
                    _ => false,
                }
            })
    }

    /// The marks and the leaves of message `index`; None where there is no such message.
    fn columns(&self, index: usize) -> Option<(&[usize], &[Option<L>])> {
        let (start, end) = (self.start(index), self.ends.get(index)?);
        Some((&self.marks[start.marks..end.marks], &self.leaves[start.leaves..end.leaves]))
    }

    /// Digest of the content of message `index`, none of which is 0; None where it cannot be told.
    ///
    /// As for a ledger's digests, XXH3 is enough: who makes two messages collide has misled his own session.
    pub fn digest<O: Objects<Leaf = L>>(&mut self, index: usize, digests: &mut Digests<L>) -> Option<u128> {
        if let Some(&known) = self.digests.get(index).filter(|&&known| known != 0) {
            return Some(known);
        }
        let (marks, leaves) = self.columns(index)?;
        let mut leaves = leaves.iter();
        digests.bytes.clear();
        for &mark in marks {
            let part = match mark {
                UNKNOWN => return None,
                mark if mark & 1 == 1 => mark as u128,
                address => {
                    let (leaf, recent) = (leaves.next()?, &mut digests.recent[address / 16 % RECENT]);
                    if recent.0 != address {
                        *recent = (address, O::content(leaf.as_ref()?)?, None);
                    }
                    recent.1
                }
            };
            digests.bytes.extend_from_slice(&part.to_le_bytes());
        }
        let found = digests.end();
        self.note(index, found);
        Some(found)
    }

    /// The digest of message `index` is known, or 0 for none.
    pub fn note(&mut self, index: usize, digest: u128) {
        if self.digests.len() <= index {
            self.digests.resize(index + 1, 0);
        }
        self.digests[index] = digest;
    }

    /// The digest of message `index` if somebody has asked for it, or 0.
    #[must_use]
    pub fn noted(&self, index: usize) -> u128 {
        self.digests.get(index).copied().unwrap_or_default()
    }

    /// Whether a message is what the marks from `at` on name; moves `at` behind them. It is kept alive only where that takes
    /// the caller's code.
    #[inline]
    fn is_same<O: Objects>(&self, message: &O::Object, at: &mut usize) -> bool {
        let start = *at;
        let looked = O::is_same(message, &self.marks, at);
        looked.unwrap_or_else(|| self.matches::<O, false>(message, at, 0)) || {
            *at = start;
            self.matches::<O, true>(message, at, 0)
        }
    }

    /// Whether `object` is what the marks from `at` on name; moves `at` behind them.
    #[inline]
    fn matches<O: Objects, const KEPT: bool>(&self, object: &O::Object, at: &mut usize, depth: usize) -> bool {
        let Some(&noted) = self.marks.get(*at) else { return false };
        *at += 1;
        // A leaf is kept alive: its address is enough.
        noted == O::address(object) || (noted & 1 == 1 && self.holds::<O, KEPT>(noted, object, at, depth))
    }

    /// Whether `object` is a container with this mark, and its parts are what the marks from `at` on name.
    fn holds<O: Objects, const KEPT: bool>(
        &self,
        noted: usize,
        object: &O::Object,
        at: &mut usize,
        depth: usize,
    ) -> bool {
        let _kept = KEPT.then(|| O::keep(object));
        depth <= MAX_DEPTH
            && O::container(object, KEPT).is_some_and(|container| {
                mark(container) == noted
                    && O::parts(object, container, KEPT, &mut |part| self.matches::<O, KEPT>(part, at, depth + 1))
            })
    }

    /// Parts the messages from `start` on from those in front of them.
    #[must_use]
    pub fn split_off(&mut self, start: usize) -> Self {
        let before = self.start(start);
        let less = |end: &Ends| Ends {
            marks: end.marks - before.marks,
            lines: end.lines - before.lines,
            leaves: end.leaves - before.leaves,
        };
        Self {
            marks: self.marks.split_off(before.marks),
            lines: self.lines.split_off(before.lines),
            leaves: self.leaves.split_off(before.leaves),
            ends: self.ends.split_off(start).iter().map(less).collect(),
            digests: self.digests.split_off(start.min(self.digests.len())),
        }
    }

    /// Lengths of the columns in front of message `index`.
    fn start(&self, index: usize) -> Ends {
        index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default()
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
        type Kept = ();

        fn address(object: &Thing) -> usize {
            if let Thing::Leaf(address) = object { *address } else { 2 }
        }

        fn keep(_: &Thing) {}

        fn container(object: &Thing, _: bool) -> Option<(Container, usize)> {
            if let Thing::List(items) = object { Some((Container::List, items.len())) } else { None }
        }

        fn leaf(object: &Thing, _: bool) -> Option<usize> {
            if let Thing::Leaf(address) = object { Some(*address) } else { None }
        }

        fn is_equal(leaf: &usize, other: &usize) -> bool {
            leaf / 1_000 == other / 1_000
        }

        fn plain(object: &Thing) -> Option<u128> {
            if let Thing::Leaf(address) = object { Self::content(address).filter(|content| *content < 5) } else { None }
        }

        fn content(leaf: &usize) -> Option<u128> {
            Some(*leaf as u128 / 1_000) // thousands apart are equal content
        }

        fn parts(object: &Thing, _: (Container, usize), _: bool, visit: &mut impl FnMut(&Thing) -> bool) -> bool {
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
        assert_eq!((seen.marks.clone(), seen.leaves.clone()), (vec![1 << 3 | 5, 16, UNKNOWN], vec![Some(16)]));
        assert!(seen.ends_at(0, 2) && seen.ends_at(1, 3) && !seen.ends_at(2, 3));
        let rest = seen.split_off(1);
        assert_eq!((seen.messages(), seen.marks.len(), rest.messages(), rest.marks), (1, 2, 1, vec![UNKNOWN]));
    }

    #[test]
    fn messages_of_equal_content_have_one_digest() {
        let (mut seen, mut digests) = (Seen::default(), Digests::default());
        for leaf in [1_002, 1_004, 2_002] {
            seen.push::<Things>(&Thing::List(vec![Thing::Leaf(leaf)]));
        }
        seen.push::<Things>(&Thing::Changing);
        let of: Vec<_> = (0..5).map(|index| seen.digest::<Things>(index, &mut digests)).collect();
        assert!(of[0].is_some() && of[0] == of[1] && of[1] != of[2]);
        assert_eq!((of[3], of[4], seen.noted(0) == of[0].unwrap_or(0), seen.noted(4)), (None, None, true, 0));
        let rest = seen.split_off(2);
        assert_eq!((rest.noted(0), rest.messages()), (of[2].unwrap_or(0), 2));
        assert!(rest.is_at::<Things>(&Thing::List(vec![Thing::Leaf(2_002)]), 0));
        assert!(!rest.is_at::<Things>(&Thing::List(vec![Thing::Leaf(2_004)]), 0));
    }

    #[test]
    fn messages_of_equal_parts_are_alike() {
        let (mut seen, mut other) = (Seen::default(), Seen::default());
        let list = |leaves: Vec<Thing>| Thing::List(leaves);
        for message in [list(vec![Thing::Leaf(1_002), Thing::Leaf(2_002)]), Thing::Changing, Thing::Leaf(1_002)] {
            seen.push::<Things>(&message);
        }
        for message in [
            list(vec![Thing::Leaf(1_004), Thing::Leaf(2_002)]),
            list(vec![Thing::Leaf(1_002), Thing::Leaf(3_002)]),
            list(vec![Thing::Leaf(1_002), list(vec![])]),
            list(vec![Thing::Leaf(1_002)]),
            Thing::Changing,
        ] {
            other.push::<Things>(&message);
        }
        let alike: Vec<_> = (0..6).map(|at| seen.is_like::<Things>(0, &other, at)).collect();
        assert_eq!(alike, [true, false, false, false, false, false]);
        assert!(!seen.is_like::<Things>(1, &other, 4) && !seen.is_like::<Things>(3, &other, 0));
    }

    #[test]
    fn a_message_that_was_let_go_is_known_by_its_digest_alone() {
        let (mut seen, mut digests) = (Seen::default(), Digests::default());
        let message = |leaf| Thing::List(vec![Thing::Leaf(leaf)]);
        for which in [message(1_002), Thing::Changing] {
            seen.push::<Things>(&which);
            seen.let_go::<Things>(&which, &mut digests);
        }
        assert_eq!((seen.marks.clone(), seen.leaves.clone()), (vec![UNKNOWN, 2, UNKNOWN], vec![]));
        assert_eq!(unchanged(&seen, &[message(1_002)]), 0);
        assert!(!seen.is_at::<Things>(&message(1_002), 0) && seen.noted(0) != 0 && seen.noted(1) == 0);
        assert!(seen.is_copy(0) && !seen.is_copy(2) && seen.is_copy_of::<Things>(&message(2_002), 0));
        assert!(!seen.is_copy_of::<Things>(&Thing::Leaf(4), 0) && !seen.is_copy_of::<Things>(&message(1), 1));
        let mut other = Seen::default();
        other.push::<Things>(&message(1_002));
        assert!(!other.is_like::<Things>(0, &seen, 0) && !seen.is_like::<Things>(0, &other, 0) && !other.is_copy(0));
        assert_eq!(other.digest::<Things>(0, &mut digests), Some(seen.noted(0)));
        assert_eq!(digests.of::<Things>(&message(1_004)), Some(seen.noted(0)));
        assert_eq!(digests.of::<Things>(&Thing::Changing), None);
        for leaf in [7_002, 9_002] {
            other.push::<Things>(&message(leaf));
            let last = other.messages() - 1;
            assert_eq!(digests.of::<Things>(&message(leaf)), other.digest::<Things>(last, &mut Digests::default()));
        }
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
