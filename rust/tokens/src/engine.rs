//! Counting the tokens of a text: pieces, and for each what the tables or the thread's cache say, or else merging.
//!
//! Only sums are wanted, so order is free: pieces that were not seen lately wait until there are enough of them for
//! their places in the large tables to be asked for together.

use std::cell::RefCell;

use super::board::Place;
use super::cache::{BATCH, Batch, Cache, MEDIUM, Pieces, hash_of, look_up};
use super::split::solid;
use super::tables::Tables;
use super::unknown::Unknown;
use super::vocabulary::Vocabulary;
use super::{merge, simd};
use crate::stop;

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
    place: Place,
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
    pub(super) fn new(vocabulary: &'static Vocabulary) -> Self {
        Self {
            vocabulary,
            cache: Cache::default(),
            unknown: Unknown::default(),
            ends: vec![0; BATCH],
            batch: Batch::default(),
            place: Place::default(),
        }
    }

    /// Makes ready for so many bytes of text.
    pub fn expect(&mut self, bytes: usize) {
        self.cache.expect(bytes);
    }

    /// Learns what other threads have told, and keeps what it learns by itself to be told.
    pub fn hear(&mut self) {
        self.vocabulary.board.hear(&mut self.place, &mut self.cache);
    }

    /// Tells other threads what it has learned since it heard.
    pub fn tell(&mut self) {
        self.vocabulary.board.tell(&mut self.place, &mut self.cache);
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
        let (mut at, limit) = (0, solid(text));
        while at < text.len() {
            let (end, tokens) = self.next(text, limit, at, BATCH, index);
            counts[index] += tokens;
            at = end;
            if self.unknown.are_enough() {
                self.settle(counts);
            }
        }
    }

    /// Whether `text` has more than `limit` tokens: a piece has at least one, and a byte at most one.
    pub fn exceeds(&mut self, text: &[u8], limit: usize) -> bool {
        let (mut counts, mut at, solid) = ([0], 0, solid(text));
        while at < text.len() {
            // What is left cannot reach the limit.
            if text.len() - at + counts[0] + self.unknown.tokens().1 <= limit {
                break;
            }
            let most = limit.saturating_sub(counts[0]).clamp(simd::ROOM, BATCH);
            let (end, tokens) = self.next(text, solid, at, most, 0);
            (at, counts[0]) = (end, counts[0] + tokens);
            if counts[0] + self.unknown.tokens().0 > limit {
                self.unknown.clear();
                return true;
            }
            if self.unknown.are_enough() {
                self.settle(&mut counts);
            }
        }
        self.settle(&mut counts);
        counts[0] > limit
    }

    /// Splits off at most `most` pieces from `at` on: where they end, and the tokens of those that were seen lately.
    #[inline]
    fn next(&mut self, text: &[u8], limit: usize, at: usize, most: usize, index: usize) -> (usize, usize) {
        stop::check();
        let Vocabulary { scheme, tables, .. } = self.vocabulary;
        if most == BATCH
            && let Some((end, tokens)) =
                simd::count(*scheme, tables.whole_numbers, self.cache.short.get(), text, limit, at, &mut self.batch)
        {
            return (end, tokens + self.left(text, index));
        }
        let mut ends = std::mem::take(&mut self.ends);
        let found = scheme.fill(text, limit, at, &mut ends[..most]);
        let total = self.look_up(Pieces { text, start: at, ends: &ends[..found] }, index);
        let end = ends[found - 1];
        self.ends = ends;
        (end, total)
    }

    /// Tokens of the pieces that were seen lately, and of long ones; the others wait.
    #[inline]
    fn look_up(&mut self, pieces: Pieces<'_>, index: usize) -> usize {
        look_up(self.cache.short.get(), pieces, &mut self.batch) + self.left(pieces.text, index)
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

    /// The ends of all pieces from `at` on, the start of one.
    pub fn split(&self, text: &[u8], mut at: usize) -> Vec<usize> {
        let (mut all, mut ends, limit) = (Vec::new(), vec![0; BATCH], solid(text));
        while at < text.len() {
            stop::check();
            let found = self.vocabulary.scheme.fill(text, limit, at, &mut ends);
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
            let most = left.clamp(simd::ROOM, BATCH);
            let found = self.vocabulary.scheme.fill(text, limit, at, &mut ends[..most]);
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
