//! Counting the tokens of a text: pieces, and for each what the tables or the thread's cache say, or else merging.
//!
//! Only sums are wanted, so order is free: pieces that were not seen lately wait until there are enough of them for
//! their places in the large tables to be asked for together.

#![allow(clippy::inline_always)] // compiled for the page

use std::cell::RefCell;

use super::cache::{BATCH, Batch, Cache, MEDIUM, Pieces, hash_of, look_up};
use super::error::require_page;
use super::merge;
use super::split::solid;
use super::tables::Tables;
use super::unknown::Unknown;
use super::vocabulary::Vocabulary;
use super::walk::{self, Fill, NO_MASKS, PatternWork, ROOM, apply};
use crate::stop;
use trimtab_simd::{Kernel, Work, run};

/// Vocabularies that a thread keeps a cache for: the last ones that it counted in.
const KEPT: usize = 4;

/// Counts in one vocabulary, on one thread.
pub struct Worker {
    vocabulary: &'static Vocabulary,
    pub(super) cache: Cache,
    pub(super) unknown: Unknown,
    /// Room for the ends of pieces, and for looking them up.
    ends: Vec<usize>,
    pub(super) batch: Batch,
}

thread_local! {
    /// The workers of this thread: a child of a fork has its own copy of them, and no lock to wait for.
    #[allow(clippy::vec_box)] // one is taken out and put back with each text: a pointer, not half a kilobyte
    static WORKERS: RefCell<Vec<Box<Worker>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with this thread's worker for `vocabulary`.
pub fn with_worker<R>(vocabulary: &'static Vocabulary, work: impl FnOnce(&mut Worker) -> R) -> R {
    // Taken out while it works: a thread that is about to end has no workers any more, and makes one for itself.
    let taken = WORKERS.try_with(|workers| {
        let mut workers = workers.borrow_mut();
        let at = workers.iter().rposition(|worker| std::ptr::eq(worker.vocabulary, vocabulary))?;
        Some(workers.swap_remove(at))
    });
    let mut worker = taken.ok().flatten().unwrap_or_else(|| Box::new(Worker::new(vocabulary)));
    let result = work(&mut worker);
    let _ = WORKERS.try_with(|workers| {
        let mut workers = workers.borrow_mut();
        if workers.len() == KEPT {
            workers.remove(0);
        }
        workers.push(worker);
    });
    result
}

/// Whether a piece ends at `at` in any text that has these two bytes there: a space behind what is none.
pub fn parted(text: &[u8], at: usize) -> bool {
    at > 0 && text[at] == b' ' && text[at - 1].is_ascii_graphic()
}

impl Worker {
    fn new(vocabulary: &'static Vocabulary) -> Self {
        require_page();
        Self {
            vocabulary,
            cache: Cache::default(),
            unknown: Unknown::default(),
            ends: vec![0; BATCH],
            batch: Batch::default(),
        }
    }

    /// Makes ready for so many bytes of text.
    pub fn expect(&mut self, bytes: usize) {
        self.cache.expect(bytes);
    }

    /// Tokens of `text`.
    pub fn count(&mut self, text: &[u8]) -> usize {
        self.expect(text.len());
        let mut counts = [0];
        self.add(text, 0, &mut counts);
        self.settle(&mut counts);
        counts[0]
    }

    /// Adds the tokens of `text` to `counts[index]`, those of the pieces that wait later: [`Worker::settle`].
    pub fn add(&mut self, text: &[u8], index: usize, counts: &mut [usize]) {
        apply(self.vocabulary.scheme, Add { worker: self, text, index, counts });
    }

    /// Whether `text` has more than `limit` tokens: a piece has at least one, and a byte at most one.
    pub fn exceeds(&mut self, text: &[u8], limit: usize) -> bool {
        apply(self.vocabulary.scheme, Exceeds { worker: self, text, limit })
    }

    /// Splits off at most `most` pieces from `at` on: where they end, and the tokens of those that were seen lately.
    #[inline(always)]
    fn next<const CASED: bool, const DIGITS: usize>(
        &mut self,
        kernel: impl Kernel,
        text: &[u8],
        limit: usize,
        at: usize,
        most: usize,
        index: usize,
    ) -> (usize, usize) {
        stop::check();
        let Vocabulary { scheme, tables, .. } = self.vocabulary;
        let lines = self.cache.short.get();
        if DIGITS != NO_MASKS && most == BATCH {
            let batch = &mut self.batch;
            let (end, tokens) =
                walk::count::<CASED, DIGITS>(kernel, *scheme, tables.whole_numbers, lines, text, limit, at, batch);
            return (end, tokens + self.left(text, index));
        }
        let ends = &mut self.ends[..most];
        let found = walk::fill::<CASED, DIGITS>(kernel, *scheme, text, limit, at, ends);
        let end = ends[found - 1];
        let total = look_up(kernel, lines, Pieces { text, start: at, ends: &ends[..found] }, &mut self.batch);
        (end, total + self.left(text, index))
    }

    /// Tokens of the pieces that were seen lately, and of long ones; the others wait.
    fn look_up(&mut self, pieces: Pieces<'_>, index: usize) -> usize {
        run(LookUp { worker: self, pieces }) + self.left(pieces.text, index)
    }

    /// Tokens of the long pieces that a look-up left; what was not seen lately waits.
    #[inline]
    pub(super) fn left(&mut self, text: &[u8], index: usize) -> usize {
        for asked in self.batch.missed.drain(..) {
            self.unknown.wait(&self.vocabulary.tables, asked, index);
        }
        if self.batch.longer.is_empty() { 0 } else { self.longer(text, index) }
    }

    /// Tokens of pieces that are split already: the first begins at `at`.
    pub fn pieces(&mut self, text: &[u8], mut at: usize, ends: &[usize]) -> usize {
        let mut counts = [0];
        for some in ends.chunks(BATCH) {
            counts[0] += self.look_up(Pieces { text, start: at, ends: some }, 0);
            at = some[some.len() - 1];
            self.settle(&mut counts);
        }
        counts[0]
    }

    fn fill(&self, text: &[u8], limit: usize, at: usize, ends: &mut [usize]) -> usize {
        let scheme = self.vocabulary.scheme;
        apply(scheme, Fill { scheme, text, limit, at, ends })
    }

    /// The ends of all pieces from `at` on, the start of one.
    pub fn split(&self, text: &[u8], mut at: usize) -> Vec<usize> {
        let (mut all, mut ends, limit) = (Vec::new(), vec![0; BATCH], solid(text));
        while at < text.len() {
            stop::check();
            let found = self.fill(text, limit, at, &mut ends);
            all.extend_from_slice(&ends[..found]);
            at = ends[found - 1];
        }
        all
    }

    /// The byte behind the first `tokens` tokens; None where the text has no more than that.
    pub fn head(&mut self, text: &[u8], tokens: usize) -> Option<usize> {
        let (mut at, mut left, limit) = (0, tokens, solid(text));
        let mut ends = vec![0; BATCH];
        while at < text.len() {
            stop::check();
            let most = left.clamp(ROOM, BATCH);
            let found = self.fill(text, limit, at, &mut ends[..most]);
            for &end in &ends[..found] {
                let count = self.pieces(text, at, &[end]);
                if count > left {
                    return Some(
                        left.checked_sub(1).map_or(at, |last| at + merge::ends(self.tables(), &text[at..end])[last]),
                    );
                }
                (at, left) = (end, left - count);
            }
        }
        None
    }

    /// The byte where the last `tokens` tokens begin; None where the text has no more than that.
    pub fn tail(&mut self, text: &[u8], tokens: usize) -> Option<usize> {
        let mut bytes = tokens.saturating_mul(8).saturating_add(64);
        loop {
            // A piece ends before any space behind a sign, a letter or a digit, whatever stands before it.
            let start = (1..text.len().saturating_sub(bytes)).rev().find(|&at| parted(text, at)).unwrap_or(0);
            let ends = self.split(text, start);
            let (mut end, mut left) = (text.len(), tokens);
            for n in (0..ends.len()).rev() {
                let at = n.checked_sub(1).map_or(start, |before| ends[before]);
                let count = self.pieces(text, at, &[end]);
                if count > left {
                    let stops = merge::ends(self.tables(), &text[at..end]);
                    return Some(stops[..count - left].last().map_or(at, |stop| at + stop));
                }
                (end, left) = (at, left - count);
            }
            if start == 0 {
                return None;
            }
            bytes = bytes.saturating_mul(4);
        }
    }

    /// Counts the pieces that wait.
    pub fn settle(&mut self, counts: &mut [usize]) {
        self.unknown.settle(&self.vocabulary.tables, &mut self.cache, counts);
    }

    fn tables(&self) -> &'static Tables {
        &self.vocabulary.tables
    }

    /// Tokens of the pieces that no key holds, but for those that were not seen lately: they wait. Their places are asked for
    /// before the first is looked up.
    #[cold]
    fn longer(&mut self, text: &[u8], index: usize) -> usize {
        let mut total = 0;
        for (piece, hash) in &mut self.batch.longer {
            let piece = &text[piece.clone()];
            if piece.len() <= MEDIUM {
                *hash = hash_of(piece);
                self.cache.prefetch_long(piece, *hash);
            }
        }
        for (piece, hash) in self.batch.longer.drain(..) {
            let piece = &text[piece];
            if piece.len() > MEDIUM {
                total += self.unknown.count(&self.vocabulary.tables, &mut self.cache, piece);
            } else if let Some(count) = self.cache.long(piece, hash) {
                total += count;
            } else {
                self.unknown.wait_long(piece, hash, index);
            }
        }
        total
    }
}

/// What [`Worker::add`] does.
struct Add<'w> {
    worker: &'w mut Worker,
    text: &'w [u8],
    index: usize,
    counts: &'w mut [usize],
}

impl PatternWork for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const CASED: bool, const DIGITS: usize>(self, kernel: impl Kernel) {
        let Self { worker, text, index, counts } = self;
        let (mut at, limit) = (0, solid(text));
        while at < text.len() {
            let (end, tokens) = worker.next::<CASED, DIGITS>(kernel, text, limit, at, BATCH, index);
            counts[index] += tokens;
            at = end;
            if worker.unknown.are_enough() {
                worker.settle(counts);
            }
        }
    }
}

/// What [`Worker::exceeds`] does.
struct Exceeds<'w> {
    worker: &'w mut Worker,
    text: &'w [u8],
    limit: usize,
}

impl PatternWork for Exceeds<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<const CASED: bool, const DIGITS: usize>(self, kernel: impl Kernel) -> bool {
        let Self { worker, text, limit } = self;
        let (mut counts, mut at, solid) = ([0], 0, solid(text));
        while at < text.len() {
            // What is left cannot reach the limit.
            if text.len() - at + counts[0] + worker.unknown.tokens().1 <= limit {
                break;
            }
            let most = limit.saturating_sub(counts[0]).clamp(ROOM, BATCH);
            let (end, tokens) = worker.next::<CASED, DIGITS>(kernel, text, solid, at, most, 0);
            (at, counts[0]) = (end, counts[0] + tokens);
            if counts[0] + worker.unknown.tokens().0 > limit {
                worker.unknown.clear();
                return true;
            }
            if worker.unknown.are_enough() {
                worker.settle(&mut counts);
            }
        }
        worker.settle(&mut counts);
        counts[0] > limit
    }
}

/// A look-up of pieces that are split already.
struct LookUp<'w, 't> {
    worker: &'w mut Worker,
    pieces: Pieces<'t>,
}

impl Work for LookUp<'_, '_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> usize {
        look_up(kernel, self.worker.cache.short.get(), self.pieces, &mut self.worker.batch)
    }
}
