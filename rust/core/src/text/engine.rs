//! Counting the tokens of a text: pieces, and for each what the tables or the thread's cache say, or else merging.
//!
//! Only sums are wanted, so order is free: pieces that were not seen lately wait until there are enough of them for
//! their places in the large tables to be asked for together.

use std::cell::RefCell;
use std::ops::Range;

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

/// Pieces of which no more are merged side by side: room for more than that would not stay in the nearest cache.
const SIDE_BY_SIDE: usize = 32;

/// Parts of long pieces that were not seen lately, each with the number of its piece.
#[derive(Default)]
struct Parts {
    short: Vec<(Asked, usize)>,
    long: Vec<(Range<usize>, usize)>,
    /// Tokens of each piece so far.
    tokens: Vec<usize>,
}

/// Counts in one vocabulary, on one thread.
pub struct Worker {
    vocabulary: &'static Vocabulary,
    cache: Cache,
    waiting: Vec<Waiting>,
    parts: Parts,
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
            parts: Parts::default(),
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
    fn left(&mut self, text: &[u8], index: usize) -> usize {
        self.waiting.extend(self.batch.missed.drain(..).map(|asked| Waiting { asked, text: index }));
        if self.batch.longer.is_empty() { 0 } else { self.longer(text) }
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
        // ASCII does not fall apart: nothing of it is looked up again.
        let whole: Vec<Waiting> = waiting.extract_if(.., |waiting| waiting.asked.key.is_ascii()).collect();
        let pieces = whole.iter().map(|waiting| waiting.asked.key.bytes());
        simd::together::<16>(self.tables(), pieces, |n, count| {
            let Waiting { asked: Asked { key, hash }, text } = whole[n];
            if self.cache.short(key, hash).is_none() {
                self.cache.keep_short(key, hash, count);
            }
            counts[text] += count;
        });
        let mut parts = std::mem::take(&mut self.parts);
        for (number, Waiting { asked: Asked { key, .. }, .. }) in waiting.iter().enumerate() {
            let bytes = key.bytes();
            parts.tokens.push(0);
            self.fall_apart(bytes.as_ref(), 0..bytes.as_ref().len(), number, &mut parts);
        }
        self.resolve(&[], &mut parts);
        for (Waiting { asked: Asked { key, hash }, text }, count) in waiting.drain(..).zip(parts.tokens.drain(..)) {
            // One that did not fall apart is there already, as is one that waited twice.
            if self.cache.short(key, hash).is_none() {
                self.cache.keep_short(key, hash, count);
            }
            counts[text] += count;
        }
        self.parts = parts;
    }

    fn tables(&self) -> &'static Tables {
        &self.vocabulary.tables
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
        let mut total = 0;
        longer.retain(|(piece, hash)| {
            let known = if piece.len() > MEDIUM { None } else { self.cache.long(&text[piece.clone()], *hash) };
            total += known.unwrap_or(0);
            known.is_none()
        });
        total += self.unknown(text, &longer);
        longer.clear();
        self.batch.longer = longer;
        total
    }

    /// Tokens of long pieces that were not seen lately.
    fn unknown(&mut self, text: &[u8], pieces: &[(Range<usize>, u64)]) -> usize {
        let mut parts = std::mem::take(&mut self.parts);
        for (number, (piece, _)) in pieces.iter().enumerate() {
            parts.tokens.push(0);
            self.fall_apart(text, piece.clone(), number, &mut parts);
        }
        self.resolve(text, &mut parts);
        for ((piece, hash), &count) in pieces.iter().zip(&parts.tokens) {
            if piece.len() <= MEDIUM {
                self.cache.keep_long(&text[piece.clone()], *hash, count);
            }
        }
        let total = parts.tokens.drain(..).sum();
        self.parts = parts;
        total
    }

    /// The parts of a piece: it falls apart where no token may span two characters.
    fn fall_apart(&mut self, text: &[u8], piece: Range<usize>, number: usize, parts: &mut Parts) {
        if text[piece.clone()].is_ascii() {
            return self.part(text, piece, None, number, parts);
        }
        let cross = &self.vocabulary.tables.cross;
        let (mut start, mut at) = (piece.start, piece.start);
        let (mut last, mut alone) = (0, true); // the character before `at`, and whether it is all there is since `start`
        while let Some(char) = char_at(&text[..piece.end], at) {
            stop::check();
            if at > start {
                if (last | char.point) >= 0x80 && !cross.may(last, char.point, text[at - 1], text[at]) {
                    self.part(text, start..at, alone.then_some(last), number, parts);
                    (start, alone) = (at, true);
                } else {
                    alone = false;
                }
            }
            last = char.point;
            at += char.length;
        }
        self.part(text, start..at, alone.then_some(last), number, parts);
    }

    /// Adds a part to the others; `alone`: the character that it is, if it is but one.
    #[inline]
    fn part(&mut self, text: &[u8], part: Range<usize>, alone: Option<u32>, number: usize, parts: &mut Parts) {
        if let Some(count) = alone.and_then(|char| self.tables().char(char)) {
            parts.tokens[number] += count;
        } else if part.len() <= SHORT {
            let key = Key::of(text, part.start, part.end);
            let hash = key.hash();
            self.cache.prefetch_short(hash);
            parts.short.push((Asked { key, hash }, number));
        } else if part.len() <= merge::DIRECT {
            parts.long.push((part, number));
        } else {
            parts.tokens[number] += merge::count(self.tables(), &text[part]);
        }
        if parts.short.len() == BATCH || parts.long.len() == SIDE_BY_SIDE {
            self.resolve(text, parts);
        }
    }

    /// Counts parts: those that were not seen lately are looked up in the vocabulary, those that are not there merged.
    fn resolve(&mut self, text: &[u8], Parts { short, long, tokens }: &mut Parts) {
        let tables = self.tables();
        short.retain(|&(Asked { key, hash }, number)| {
            let known = self.cache.short(key, hash);
            tokens[number] += known.unwrap_or(0);
            if known.is_none() {
                simd::prefetch(tables.line(hash));
            }
            known.is_none()
        });
        let mut found = |cache: &mut Cache, (Asked { key, hash }, number): (Asked, usize), count: usize| {
            if cache.short(key, hash).is_none() {
                cache.keep_short(key, hash, count);
            }
            tokens[number] += count;
        };
        short.retain(|&part| {
            let known = tables.seed(part.0.key, part.0.hash);
            known.inspect(|&count| found(&mut self.cache, part, count)).is_none()
        });
        let pieces = short.iter().map(|(asked, _)| asked.key.bytes());
        simd::together::<16>(tables, pieces, |n, count| found(&mut self.cache, short[n], count));
        short.clear();
        let pieces = long.iter().map(|(part, _)| &text[part.clone()]);
        simd::together::<{ merge::DIRECT }>(tables, pieces, |n, count| tokens[long[n].1] += count);
        long.clear();
    }
}
