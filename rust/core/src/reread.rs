//! Reading a list again: of the list that was read last, only what is new is read.
//!
//! Messages in front that are the same objects are found first. Behind the first other one, a message is recognized near the
//! one before it, by identity and by content, or anywhere, by a digest of its content: a list may slide, begin with another
//! message, or be parsed anew from JSON.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counter::Counter;
use crate::error::Error;
use crate::ledger::{Builder, Countable, Ledger, Whole};
use crate::node::Text;
use crate::seen::{Digests, Objects, Seen};
use crate::shape::{Detector, Provider};

/// Messages that are read again in less time than remembering them takes.
const FEW: usize = 2;

/// Places at which a message is looked for before all digests are: a list that slides loses a few at a time.
const NEAR: usize = 8;

/// The list that was read last. One thread takes it; another one that comes meanwhile finds none and reads its whole list.
#[derive(Debug)]
pub struct Last<L>(Mutex<Option<Read<L>>>);

impl<L> Default for Last<L> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<L> Last<L> {
    /// Takes the list that was read last, to read one of so many messages; an empty list where there is none.
    pub fn take(&self, messages: usize) -> Read<L> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.take_if(|last| !last.outlasts(messages)).unwrap_or_default()
    }

    /// Keeps a list as the one that was read last; returns its ledger.
    pub fn put(&self, read: Read<L>) -> Arc<Ledger> {
        let ledger = Arc::clone(&read.ledger);
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = last.as_ref().is_some_and(|last| last.outlasts(ledger.messages()));
        let gone = if kept { Some(read) } else { last.replace(read) };
        drop(last); // first: a finalizer of an object that goes may read a list
        drop(gone);
        ledger
    }
}

/// A list that was read.
#[derive(Debug)]
pub struct Read<L> {
    provider: Option<Provider>,
    ledger: Arc<Ledger>,
    /// Finds the provider where none is given.
    pub detector: Detector,
    /// The objects of its messages.
    pub seen: Seen<L>,
}

impl<L> Default for Read<L> {
    fn default() -> Self {
        let (ledger, seen) = (Arc::default(), Seen::default());
        Self { provider: None, ledger, detector: Detector::default(), seen }
    }
}

impl<L> Read<L> {
    /// Whether this is remembered in place of a list of so many messages: [`FEW`], such as one to pin, take no longer
    /// list's place.
    fn outlasts(&self, messages: usize) -> bool {
        messages <= FEW && self.seen.messages() > FEW
    }
}

/// A list that is compared with the one before it.
#[derive(Debug)]
pub struct Aligned<L> {
    seen: Seen<L>,
    /// Unchanged objects in front.
    known: usize,
    /// The objects of the last list behind these.
    old: Seen<L>,
    /// Position in `old` behind the object that was recognized last.
    next: usize,
    /// Digests and positions of the objects of `old`, in order of digest; empty until one is asked for.
    by_digest: Vec<(u128, usize)>,
    digests: Digests<L>,
}

impl<L> Aligned<L> {
    /// Begins behind the first `known` objects of `last`, which are the same.
    #[must_use]
    pub fn new(mut last: Seen<L>, known: usize) -> Self {
        let known = known.min(last.messages());
        let old = last.split_off(known);
        Self { seen: last, known, old, next: 0, by_digest: Vec::new(), digests: Digests::default() }
    }

    /// Takes the next object; returns its position in the last list, if that had one of the same content. One behind the
    /// end of a list that went on as it was is new, whatever its content.
    pub fn place<O: Objects<Leaf = L>>(&mut self, object: &O::Object) -> Option<usize> {
        let place = if self.old.is_copy(self.next) && self.is_copied::<O>(object) {
            Some(self.next)
        } else {
            self.search::<O>(object)
        };
        self.next = place.unwrap_or(self.next) + 1;
        place.map(|place| self.known + place)
    }

    /// Takes an object, if it is a copy as the next of the last list was.
    fn is_copied<O: Objects<Leaf = L>>(&mut self, object: &O::Object) -> bool {
        let digest = self.old.noted(self.next);
        if self.old.is_copy_of::<O>(object, self.next) || digest == 0 || self.digests.of::<O>(object) != Some(digest) {
            return false;
        }
        self.seen.push_copy::<O>(object, digest);
        true
    }

    /// Takes an object; returns its position in the last list.
    fn search<O: Objects<Leaf = L>>(&mut self, object: &O::Object) -> Option<usize> {
        self.old.prefetch(self.next);
        let nearest = self.next..self.old.messages().min(self.next + NEAR);
        if let Some(at) = nearest.clone().find(|&at| self.old.is_at::<O>(object, at))
            && self.seen.take(&mut self.old, at)
        {
            return Some(at);
        }
        self.seen.push::<O>(object);
        if nearest.is_empty() && self.by_digest.is_empty() {
            return None;
        }
        let last = self.seen.messages() - 1;
        let place = match nearest.clone().find(|&at| self.seen.is_like::<O>(last, &self.old, at)) {
            Some(at) => {
                self.seen.note(last, self.old.noted(at));
                at
            }
            None => self.place_by_digest::<O>(last, nearest)?,
        };
        if !self.old.is_copy_of::<O>(object, place) {
            self.seen.let_go::<O>(object, &mut self.digests);
        } // else it comes for the third time, and as the same object: it is kept
        Some(place)
    }

    /// The position in `old` of an object with the digest of object `last`, in `nearest` first.
    fn place_by_digest<O: Objects<Leaf = L>>(&mut self, last: usize, mut nearest: Range<usize>) -> Option<usize> {
        let digest = self.seen.digest::<O>(last, &mut self.digests)?;
        let (old, digests) = (&mut self.old, &mut self.digests);
        if let Some(at) = nearest.find(|&at| old.noted(at) == digest) {
            return Some(at);
        }
        if self.by_digest.is_empty() {
            let all = (0..old.messages()).filter_map(|at| Some((old.digest::<O>(at, digests)?, at)));
            self.by_digest = all.collect();
            self.by_digest.sort_unstable();
        }
        let at = self.by_digest.partition_point(|(other, _)| *other < digest);
        self.by_digest.get(at).filter(|(other, _)| *other == digest).map(|(_, place)| *place)
    }

    /// The objects of the list, to compare the next one with.
    #[must_use]
    pub fn end(self) -> Seen<L> {
        self.seen
    }
}

/// A list that is read again.
#[derive(Debug)]
pub struct Reread<L> {
    provider: Provider,
    detector: Detector,
    /// The ledger of the last list.
    last: Arc<Ledger>,
    objects: Aligned<L>,
    /// Where the messages behind the unchanged ones come from.
    parts: Vec<Part>,
    /// How many messages were not recognized.
    fresh: usize,
}

/// Messages of the last list, or of those that are read.
#[derive(Debug)]
enum Part {
    Old(Range<usize>),
    New(Range<usize>),
}

impl<L> Reread<L> {
    /// Begins behind the first `known` messages of `last`, which are the same objects; none counts if another provider's
    /// shape was read.
    #[must_use]
    pub fn new(mut last: Read<L>, provider: Provider, detector: Detector, known: usize) -> Self {
        if last.provider != Some(provider) {
            last = Read::default();
        }
        let objects = Aligned::new(last.seen, known);
        Self { provider, detector, last: last.ledger, objects, parts: Vec::new(), fresh: 0 }
    }

    /// Number of messages in front that need not be read.
    #[must_use]
    pub fn known(&self) -> usize {
        self.objects.known
    }

    /// Takes the next message; returns whether the last list had it, so that it need not be read.
    pub fn recognizes<O: Objects<Leaf = L>>(&mut self, message: &O::Object) -> bool {
        let place = self.objects.place::<O>(message);
        match (place, self.parts.last_mut()) {
            (Some(at), Some(Part::Old(run))) if run.end == at => run.end += 1,
            (Some(at), _) => self.parts.push(Part::Old(at..at + 1)),
            (None, Some(Part::New(run))) => run.end += 1,
            (None, _) => self.parts.push(Part::New(self.fresh..self.fresh + 1)),
        }
        self.fresh += usize::from(place.is_none());
        place.is_some()
    }

    /// The ledger of the list, with the messages of `new` that were not recognized.
    ///
    /// # Errors
    ///
    /// As [`Builder::finish`].
    pub fn ledger<T: Text>(&mut self, new: &mut Builder<Whole<T>>, counter: &Counter) -> Result<Arc<Ledger>, Error> {
        let last = std::mem::take(&mut self.last);
        let (known, parts) = match &self.parts[..] {
            // All that the last list had, and in its order.
            [Part::Old(run), parts @ ..] if run.start == self.known() && run.end == last.messages() => (run.end, parts),
            parts => (self.known(), parts),
        };
        Ok(Arc::new(match parts {
            [] if known == last.messages() && known > 0 => return Ok(last),
            [] | [Part::New(_)] if known == 0 => new.finish(counter)?,
            [] | [Part::New(_)] if known == last.messages() => {
                Arc::unwrap_or_clone(last).extend(Whole::part(new, counter, false)?)?
            }
            parts => {
                let (mut ledger, fresh) = (last.head(known), Whole::part(new, counter, false)?);
                for part in parts {
                    ledger.append(match part {
                        Part::Old(run) => last.between(run.clone()),
                        Part::New(run) => fresh.between(run.clone()),
                    })?;
                }
                ledger.finish();
                ledger
            }
        }))
    }

    /// The list that was read.
    #[must_use]
    pub fn end(self, ledger: Arc<Ledger>) -> Read<L> {
        Read { provider: Some(self.provider), ledger, detector: self.detector, seen: self.objects.end() }
    }
}
