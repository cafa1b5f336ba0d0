//! Counts the tokens of a text: a pretoken's count comes from the thread's cache, the vocabulary's tables, or merging.
//!
//! A sum needs no order, so cache misses are queued until their buckets of the vocabulary can be prefetched together.

#![allow(clippy::inline_always)] // compiled for the page

use std::cell::RefCell;

use crate::bpe::cache::{BATCH, Batch, Cache, MEDIUM, Pretokens, hash_of, look_up};
use crate::bpe::merge;
use crate::bpe::misses::MissQueue;
use crate::bpe::pretokenize::scalar::solid;
use crate::bpe::pretokenize::windows::{self, Fill, MIN_FREE, NO_MASKS, PatternWork, apply};
use crate::bpe::tables::Tables;
use crate::bpe::vocabulary::Vocabulary;
use crate::cancel;
use crate::error::require_page;
use crate::inherited::Inherited;
use trimtab_simd::{Kernel, Work, run};

/// Workers that a thread keeps: those of the vocabularies that it used last.
const KEPT: usize = 4;

/// Counts in one vocabulary, on one thread.
pub struct Worker {
    vocabulary: &'static Vocabulary,
    pub cache: Cache,
    pub misses: MissQueue,
    /// Buffer for the ends of pretokens.
    ends: Vec<usize>,
    pub batch: Batch,
}

/// The workers of a thread, which leaves them to others when it ends.
#[allow(clippy::vec_box)] // each text takes one out and puts it back: this moves a pointer, not half a kilobyte
struct OfThread(RefCell<Vec<Box<Worker>>>);

thread_local! {
    /// The workers of this thread: a forked child has its own copy of them, so no lock is needed.
    static WORKERS: OfThread = const { OfThread(RefCell::new(Vec::new())) };
}

static INHERITED: Inherited<Box<Worker>> = Inherited::new();

impl Drop for OfThread {
    fn drop(&mut self) {
        INHERITED.leave(self.0.get_mut().drain(..));
    }
}

/// Calls `work` with this thread's worker for `vocabulary`.
pub fn with_worker<R>(vocabulary: &'static Vocabulary, work: impl FnOnce(&mut Worker) -> R) -> R {
    // Taken out while it works. A thread that is ending has dropped its thread-locals already, and makes a new worker.
    let wanted = |worker: &Worker| std::ptr::eq(worker.vocabulary, vocabulary);
    let taken = WORKERS.try_with(|OfThread(workers)| {
        let mut workers = workers.borrow_mut();
        workers.iter().rposition(|worker| wanted(worker)).map(|at| workers.swap_remove(at))
    });
    let taken = taken.ok().flatten().or_else(|| INHERITED.take(|worker| wanted(worker)));
    let mut worker = taken.unwrap_or_else(|| Box::new(Worker::new(vocabulary)));
    let result = work(&mut worker);
    let _ = WORKERS.try_with(|OfThread(workers)| {
        let mut workers = workers.borrow_mut();
        if workers.len() == KEPT {
            workers.remove(0);
        }
        workers.push(worker);
    });
    result
}

/// Whether a pretoken ends at `at` in every text with these two bytes there: a space after a visible ASCII character.
pub fn is_safe_split(text: &[u8], at: usize) -> bool {
    at > 0 && text[at] == b' ' && text[at - 1].is_ascii_graphic()
}

impl Worker {
    fn new(vocabulary: &'static Vocabulary) -> Self {
        require_page();
        Self {
            vocabulary,
            cache: Cache::default(),
            misses: MissQueue::default(),
            ends: vec![0; BATCH],
            batch: Batch::default(),
        }
    }

    /// Prepares the cache for `bytes` of text.
    pub fn expect(&mut self, bytes: usize) {
        self.cache.expect(bytes);
    }

    /// Tokens of `text`.
    pub fn count(&mut self, text: &[u8]) -> usize {
        self.expect(text.len());
        let mut counts = [0];
        self.add(text, 0, &mut counts);
        self.flush(&mut counts);
        counts[0]
    }

    /// Adds the tokens of `text` to `counts[index]`; those of queued misses are added by [`Worker::flush`].
    pub fn add(&mut self, text: &[u8], index: usize, counts: &mut [usize]) {
        apply(self.vocabulary.pattern, Add { worker: self, text, index, counts });
    }

    /// Whether `text` has more than `limit` tokens. Stops early: a pretoken has at least one token, a byte at most one.
    pub fn exceeds(&mut self, text: &[u8], limit: usize) -> bool {
        apply(self.vocabulary.pattern, Exceeds { worker: self, text, limit })
    }

    /// Splits at most `most` pretokens from `at` on. Returns where they end, and the tokens of the cached ones; queues the
    /// others.
    #[inline(always)]
    fn next<const WORD: usize, const DIGITS: usize>(
        &mut self,
        kernel: impl Kernel,
        text: &[u8],
        limit: usize,
        at: usize,
        most: usize,
        index: usize,
    ) -> (usize, usize) {
        cancel::poll();
        let Vocabulary { pattern, tables, .. } = self.vocabulary;
        let lines = self.cache.short.get();
        if DIGITS != NO_MASKS && most == BATCH {
            let batch = &mut self.batch;
            let (end, tokens) =
                windows::count::<WORD, DIGITS>(kernel, *pattern, tables.whole_numbers, lines, text, limit, at, batch);
            return (end, tokens + self.queue_misses(text, index));
        }
        let ends = &mut self.ends[..most];
        let found = windows::fill::<WORD, DIGITS>(kernel, *pattern, text, limit, at, ends);
        let end = ends[found - 1];
        let total = look_up(kernel, lines, Pretokens { text, start: at, ends: &ends[..found] }, &mut self.batch);
        (end, total + self.queue_misses(text, index))
    }

    /// Tokens of the cached pretokens; queues the others.
    fn look_up(&mut self, pretokens: Pretokens<'_>, index: usize) -> usize {
        run(LookUp { worker: self, pretokens }) + self.queue_misses(pretokens.text, index)
    }

    /// Queues the misses of a lookup. Returns the tokens of its long pretokens that are cached.
    #[inline]
    pub fn queue_misses(&mut self, text: &[u8], index: usize) -> usize {
        for probe in self.batch.missed.drain(..) {
            self.misses.push(&self.vocabulary.tables, probe, index);
        }
        if self.batch.longer.is_empty() { 0 } else { self.longer(text, index) }
    }

    /// Tokens of pretokens that are split already: the first begins at `at`.
    pub fn pretokens(&mut self, text: &[u8], mut at: usize, ends: &[usize]) -> usize {
        let mut counts = [0];
        for some in ends.chunks(BATCH) {
            counts[0] += self.look_up(Pretokens { text, start: at, ends: some }, 0);
            at = some[some.len() - 1];
            self.flush(&mut counts);
        }
        counts[0]
    }

    fn fill(&self, text: &[u8], limit: usize, at: usize, ends: &mut [usize]) -> usize {
        let pattern = self.vocabulary.pattern;
        apply(pattern, Fill { pattern, text, limit, at, ends })
    }

    /// The ends of all pretokens from `at` on, the start of one.
    pub fn split(&self, text: &[u8], mut at: usize) -> Vec<usize> {
        let (mut all, mut ends, limit) = (Vec::new(), vec![0; BATCH], solid(text));
        while at < text.len() {
            cancel::poll();
            let found = self.fill(text, limit, at, &mut ends);
            all.extend_from_slice(&ends[..found]);
            at = ends[found - 1];
        }
        all
    }

    /// The end of the first `tokens` tokens in bytes; None if the text has no more tokens.
    pub fn head(&mut self, text: &[u8], tokens: usize) -> Option<usize> {
        let (mut at, mut left, limit) = (0, tokens, solid(text));
        let mut ends = vec![0; BATCH];
        while at < text.len() {
            cancel::poll();
            let most = left.clamp(MIN_FREE, BATCH);
            let found = self.fill(text, limit, at, &mut ends[..most]);
            for &end in &ends[..found] {
                let count = self.pretokens(text, at, &[end]);
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

    /// The start of the last `tokens` tokens in bytes; None if the text has no more tokens.
    pub fn tail(&mut self, text: &[u8], tokens: usize) -> Option<usize> {
        let mut bytes = tokens.saturating_mul(8).saturating_add(64);
        loop {
            // A safe split needs no look at the text before it.
            let start = (1..text.len().saturating_sub(bytes)).rev().find(|&at| is_safe_split(text, at)).unwrap_or(0);
            let ends = self.split(text, start);
            let (mut end, mut left) = (text.len(), tokens);
            for n in (0..ends.len()).rev() {
                let at = n.checked_sub(1).map_or(start, |before| ends[before]);
                let count = self.pretokens(text, at, &[end]);
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

    /// Counts the queued misses.
    pub fn flush(&mut self, counts: &mut [usize]) {
        self.misses.flush(&self.vocabulary.tables, &mut self.cache, counts);
    }

    fn tables(&self) -> &'static Tables {
        &self.vocabulary.tables
    }

    /// Tokens of the cached long pretokens; queues the others. Prefetches all of their sets before the first lookup.
    #[cold]
    fn longer(&mut self, text: &[u8], index: usize) -> usize {
        let mut total = 0;
        for (pretoken, hash) in &mut self.batch.longer {
            let pretoken = &text[pretoken.clone()];
            if pretoken.len() <= MEDIUM {
                *hash = hash_of(pretoken);
                self.cache.prefetch_long(pretoken, *hash);
            }
        }
        for (pretoken, hash) in self.batch.longer.drain(..) {
            let pretoken = &text[pretoken];
            if pretoken.len() > MEDIUM {
                total += self.misses.count(&self.vocabulary.tables, &mut self.cache, pretoken);
            } else if let Some(count) = self.cache.long(pretoken, hash) {
                total += count;
            } else {
                self.misses.push_long(pretoken, hash, index);
            }
        }
        total
    }
}

/// The work of [`Worker::add`].
struct Add<'w> {
    worker: &'w mut Worker,
    text: &'w [u8],
    index: usize,
    counts: &'w mut [usize],
}

impl PatternWork for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const WORD: usize, const DIGITS: usize>(self, kernel: impl Kernel) {
        let Self { worker, text, index, counts } = self;
        let (mut at, limit) = (0, solid(text));
        while at < text.len() {
            let (end, tokens) = worker.next::<WORD, DIGITS>(kernel, text, limit, at, BATCH, index);
            counts[index] += tokens;
            at = end;
            if worker.misses.is_full() {
                worker.flush(counts);
            }
        }
    }
}

/// The work of [`Worker::exceeds`].
struct Exceeds<'w> {
    worker: &'w mut Worker,
    text: &'w [u8],
    limit: usize,
}

impl PatternWork for Exceeds<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<const WORD: usize, const DIGITS: usize>(self, kernel: impl Kernel) -> bool {
        let Self { worker, text, limit } = self;
        let (mut counts, mut at, solid) = ([0], 0, solid(text));
        while at < text.len() {
            // The rest of the text cannot exceed the limit.
            if text.len() - at + counts[0] + worker.misses.tokens().1 <= limit {
                break;
            }
            let most = limit.saturating_sub(counts[0]).clamp(MIN_FREE, BATCH);
            let (end, tokens) = worker.next::<WORD, DIGITS>(kernel, text, solid, at, most, 0);
            (at, counts[0]) = (end, counts[0] + tokens);
            if counts[0] + worker.misses.tokens().0 > limit {
                worker.misses.clear();
                return true;
            }
            if worker.misses.is_full() {
                worker.flush(&mut counts);
            }
        }
        worker.flush(&mut counts);
        counts[0] > limit
    }
}

/// The work of [`Worker::look_up`].
struct LookUp<'w, 't> {
    worker: &'w mut Worker,
    pretokens: Pretokens<'t>,
}

impl Work for LookUp<'_, '_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> usize {
        look_up(kernel, self.worker.cache.short.get(), self.pretokens, &mut self.worker.batch)
    }
}
