//! Counting the tokens of a text: pieces, and for each what the tables or the thread's cache say, or else merging.
//!
//! Only sums are wanted, so order is free: pieces that were not seen lately wait until there are enough of them for
//! their places in the large tables to be asked for together.

use std::cell::RefCell;

use super::cache::{Asked, BATCH, Batch, Cache, MEDIUM, Pieces, hash_of, look_up};
use super::class::char_at;
use super::split::solid;
use super::tables::{Key, SHORT, Tables};
use super::vocabulary::Vocabulary;
use super::{merge, simd};
use crate::stop;

/// Pieces that wait to be looked up together.
const WAITING: usize = 64;

/// Vocabularies that a thread keeps a cache for: the last ones that it counted in.
const KEPT: usize = 4;

/// A piece that was not seen lately, and the text that it is of.
struct Waiting {
    asked: Asked,
    text: usize,
}

/// Counts in one vocabulary, on one thread.
pub struct Worker {
    vocabulary: &'static Vocabulary,
    cache: Cache,
    waiting: Vec<Waiting>,
    /// Room for the ends of pieces, and for looking them up.
    ends: Vec<usize>,
    batch: Batch,
}

thread_local! {
    /// The workers of this thread: a child of a fork has its own copy of them, and no lock to wait for.
    static WORKERS: RefCell<Vec<Worker>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with this thread's worker for `vocabulary`.
pub fn with_worker<R>(vocabulary: &'static Vocabulary, work: impl FnOnce(&mut Worker) -> R) -> R {
    // Taken out while it works: a thread that is about to end has no workers any more, and makes one for itself.
    let taken = WORKERS.try_with(|workers| {
        let mut workers = workers.borrow_mut();
        let at = workers.iter().rposition(|worker| std::ptr::eq(worker.vocabulary, vocabulary))?;
        Some(workers.swap_remove(at))
    });
    let mut worker = taken.ok().flatten().unwrap_or_else(|| Worker::new(vocabulary));
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
    /// One whose table of short pieces holds as much of the vocabulary as fits.
    #[cfg(feature = "limits")]
    pub fn seeded(vocabulary: &'static Vocabulary) -> Self {
        let mut worker = Self::new(vocabulary);
        for token in vocabulary.tables.vocabulary().iter().rev().filter(|token| token.len() <= SHORT) {
            let key = Key::of(token, 0, token.len());
            worker.cache.keep_short(key, key.hash(), 1);
        }
        worker
    }

    pub(super) fn new(vocabulary: &'static Vocabulary) -> Self {
        Self {
            vocabulary,
            cache: Cache::default(),
            waiting: Vec::with_capacity(WAITING + BATCH),
            ends: vec![0; BATCH],
            batch: Batch::default(),
        }
    }

    /// Tokens of `text`.
    pub fn count(&mut self, text: &[u8]) -> usize {
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
            if self.waiting.len() >= WAITING {
                self.settle(counts);
            }
        }
    }

    /// Whether `text` has more than `limit` tokens: a piece has at least one, and a byte at most one.
    pub fn exceeds(&mut self, text: &[u8], limit: usize) -> bool {
        let (mut counts, mut at, solid) = ([0], 0, solid(text));
        while at < text.len() {
            // What is left cannot reach the limit.
            if text.len() - at + counts[0] + self.waiting.len() * SHORT <= limit {
                break;
            }
            let most = limit.saturating_sub(counts[0]).clamp(simd::ROOM, BATCH);
            let (end, tokens) = self.next(text, solid, at, most, 0);
            (at, counts[0]) = (end, counts[0] + tokens);
            if counts[0] + self.waiting.len() > limit {
                self.waiting.clear();
                return true;
            }
            if self.waiting.len() >= WAITING {
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
        let mut ends = std::mem::take(&mut self.ends);
        let found = self.vocabulary.scheme.fill(text, limit, at, &mut ends[..most]);
        let total = self.look_up(Pieces { text, start: at, ends: &ends[..found] }, index);
        let end = ends[found - 1];
        self.ends = ends;
        (end, total)
    }

    /// Tokens of the pieces that were seen lately, and of long ones; the others wait.
    #[inline]
    fn look_up(&mut self, pieces: Pieces<'_>, index: usize) -> usize {
        let mut total = look_up(self.cache.short.get(), pieces, &mut self.batch);
        self.waiting.extend(self.batch.missed.drain(..).map(|asked| Waiting { asked, text: index }));
        if !self.batch.longer.is_empty() {
            total += self.longer(pieces.text);
        }
        total
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
        let mut waiting = std::mem::take(&mut self.waiting);
        for Waiting { asked, .. } in &waiting {
            simd::prefetch(self.tables().line(asked.hash));
        }
        waiting.retain(|Waiting { asked: Asked { key, hash }, text }| {
            // An equal piece may have waited before it.
            let known = self.cache.short(*key, *hash).or_else(|| {
                let count = self.tables().seed(*key, *hash);
                count.inspect(|&count| self.cache.keep_short(*key, *hash, count))
            });
            counts[*text] += known.unwrap_or(0);
            known.is_none()
        });
        self.merge(&mut waiting, counts);
        self.waiting = waiting;
    }

    /// Counts pieces that are nowhere yet.
    fn merge(&mut self, waiting: &mut Vec<Waiting>, counts: &mut [usize]) {
        waiting.retain(|Waiting { asked: Asked { key, hash }, text }| {
            let (bytes, length) = key.bytes();
            let ascii = bytes[..length].is_ascii();
            if !ascii {
                let count = self.parts(&bytes[..length]);
                self.cache.keep_short(*key, *hash, count);
                counts[*text] += count;
            }
            ascii
        });
        let pieces = waiting.iter().map(|waiting| waiting.asked.key.bytes());
        let tables = self.tables();
        simd::together(tables, pieces, |number, count| {
            let Waiting { asked: Asked { key, hash }, text } = waiting[number];
            self.cache.keep_short(key, hash, count);
            counts[text] += count;
        });
        waiting.clear();
    }

    fn tables(&self) -> &'static Tables {
        &self.vocabulary.tables
    }

    /// Tokens of a part of a piece that was not seen lately.
    fn first_seen(&mut self, key: Key, hash: u64) -> usize {
        let count = self.tables().seed(key, hash).unwrap_or_else(|| {
            let (bytes, length) = key.bytes();
            merge::count(self.tables(), &bytes[..length])
        });
        self.cache.keep_short(key, hash, count);
        count
    }

    /// Tokens of the pieces that no key holds: their places are asked for before the first is looked up.
    #[cold]
    fn longer(&mut self, text: &[u8]) -> usize {
        let mut longer = std::mem::take(&mut self.batch.longer);
        for (piece, hash) in &mut longer {
            if piece.len() <= MEDIUM {
                *hash = hash_of(&text[piece.clone()]);
                self.cache.prefetch_long(&text[piece.clone()], *hash);
            }
        }
        let total = longer.drain(..).map(|(piece, hash)| self.long(&text[piece], hash)).sum();
        self.batch.longer = longer;
        total
    }

    /// Tokens of a piece that no key holds.
    fn long(&mut self, piece: &[u8], hash: u64) -> usize {
        let known = if piece.len() > MEDIUM { None } else { self.cache.long(piece, hash) };
        known.unwrap_or_else(|| {
            let count = if piece.is_ascii() { merge::count(self.tables(), piece) } else { self.parts(piece) };
            if piece.len() <= MEDIUM {
                self.cache.keep_long(piece, hash, count);
            }
            count
        })
    }

    /// Tokens of a piece part by part: it falls apart where no token may span two characters.
    fn parts(&mut self, piece: &[u8]) -> usize {
        let cross = &self.tables().cross;
        let (mut total, mut start, mut at) = (0, 0, 0);
        let (mut last, mut chars) = (0, 0); // the character before `at`, and how many there are since `start`
        while let Some(char) = char_at(piece, at) {
            stop::check();
            if chars > 0 && (last | char.point) >= 0x80 && !cross.may(last, char.point, piece[at - 1], piece[at]) {
                total += self.part(&piece[start..at], last, chars, true);
                (start, chars) = (at, 0);
            }
            (last, chars) = (char.point, chars + 1);
            at += char.length;
        }
        total + self.part(&piece[start..], last, chars, start > 0)
    }

    /// Tokens of a part of a piece, which is looked up unless it is all of the piece.
    fn part(&mut self, part: &[u8], last: u32, chars: usize, known: bool) -> usize {
        if chars == 1
            && let Some(count) = self.tables().char(last)
        {
            return count;
        }
        if part.len() <= SHORT {
            let key = Key::of(part, 0, part.len());
            let hash = key.hash();
            let known = self.cache.short(key, hash);
            return known.unwrap_or_else(|| self.first_seen(key, hash));
        }
        if part.len() > MEDIUM || !known {
            return merge::count(self.tables(), part);
        }
        let hash = hash_of(part);
        self.cache.long(part, hash).unwrap_or_else(|| {
            let count = merge::count(self.tables(), part);
            self.cache.keep_long(part, hash, count);
            count
        })
    }
}
