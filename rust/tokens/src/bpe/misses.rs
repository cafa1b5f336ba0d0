//! A thread's queue of cache misses.
//!
//! Each miss prefetches its bucket of the vocabulary's table. A flush looks all of them up, then merges those that are not
//! in the vocabulary side by side, so that memory latencies overlap.

use std::ops::Range;

use crate::bpe::cache::{BATCH, Cache, Probe, find, line_of};
use crate::bpe::merge;
use crate::bpe::merge_state::{DIRECT, Scratch, count_all};
use crate::bpe::pretokenize::classes::point_at;
use crate::bpe::tables::{Key, SHORT, Tables};
use crate::cancel;
use trimtab_simd::{Kernel, Work, prefetch, run};

/// Short misses that fill the queue.
pub const MISSES: usize = 64;

/// Long pretokens that are merged side by side at most: most take 320 bytes, and all must fit into the L1 cache.
const SIDE_BY_SIDE: usize = 64;

/// A short pretoken that is not in the cache, and the index of the count that it adds to.
#[derive(Clone, Copy)]
pub struct Miss {
    pub probe: Probe,
    pub to: usize,
}

/// A miss of more than [`SHORT`] bytes, with the range of its bytes in the queue.
struct Long {
    bytes: Range<usize>,
    hash: u64,
    to: usize,
}

/// The misses of a thread that are not counted yet.
#[derive(Default)]
pub struct MissQueue {
    short: Vec<Miss>,
    long: Vec<Long>,
    /// Copies of the long pretokens: their text may be freed before the flush.
    bytes: Vec<u8>,
    splits: Splits,
    dedup: Dedup,
}

/// Parts of sub-split pretokens, each with the number of its pretoken.
#[derive(Default)]
struct Splits {
    short: Vec<Miss>,
    /// Parts that are in neither the cache nor the vocabulary.
    whole: Vec<Miss>,
    long: Vec<(Range<usize>, usize)>,
    /// Tokens of each pretoken so far.
    tokens: Vec<usize>,
}

impl MissQueue {
    /// Queues a short pretoken.
    #[inline]
    pub fn push(&mut self, tables: &Tables, probe: Probe, to: usize) {
        prefetch(tables.short_bucket(probe.hash));
        self.short.push(Miss { probe, to });
    }

    /// Queues a pretoken that is too long for a key.
    pub fn push_long(&mut self, pretoken: &[u8], hash: u64, to: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(pretoken);
        self.long.push(Long { bytes: start..start + pretoken.len(), hash, to });
    }

    /// Whether to flush now.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.short.len() >= MISSES || self.long.len() >= SIDE_BY_SIDE
    }

    /// The fewest and the most tokens that the queued pretokens can have.
    #[inline]
    pub fn tokens(&self) -> (usize, usize) {
        (self.short.len() + self.long.len(), self.short.len() * SHORT + self.bytes.len())
    }

    /// Drops the queued pretokens.
    pub fn clear(&mut self) {
        self.short.clear();
        self.long.clear();
        self.bytes.clear();
    }

    /// Tokens of a pretoken that is too long for the cache.
    pub fn count(&mut self, tables: &Tables, cache: &mut Cache, pretoken: &[u8]) -> usize {
        let mut sub_split =
            SubSplit { tables, cache, dedup: &mut self.dedup, splits: &mut self.splits, bytes: pretoken };
        sub_split.split(pretoken, 0..pretoken.len(), 0);
        sub_split.resolve();
        self.splits.tokens.drain(..).sum()
    }

    /// Counts the queued pretokens and inserts them into the cache.
    pub fn flush(&mut self, tables: &Tables, cache: &mut Cache, counts: &mut [usize]) {
        let Self { short, long, bytes, splits, dedup } = self;
        if short.is_empty() && long.is_empty() {
            return;
        }
        run(FindAll { tables, cache, misses: short, counts });
        // ASCII pretokens are not sub-split.
        splits.whole.extend(short.extract_if(.., |miss| miss.probe.key.is_ascii()));
        dedup.merge(tables, cache, &mut splits.whole, counts);
        if short.is_empty() && long.is_empty() {
            return;
        }
        let mut sub_split = SubSplit { tables, cache, dedup, splits, bytes };
        for (number, miss) in short.iter().enumerate() {
            let pretoken = miss.probe.key.bytes();
            sub_split.split(pretoken.as_ref(), 0..pretoken.as_ref().len(), number);
        }
        for (number, long) in (short.len()..).zip(&*long) {
            sub_split.split(bytes, long.bytes.clone(), number);
        }
        sub_split.resolve();
        let mut tokens = splits.tokens.drain(..);
        for (Miss { probe: Probe { key, hash }, to }, count) in short.drain(..).zip(&mut tokens) {
            // A pretoken that was not sub-split is cached already, and so is one that was queued twice.
            cache.learn_short(key, hash, count);
            counts[to] += count;
        }
        for (Long { bytes: pretoken, hash, to }, count) in long.drain(..).zip(tokens) {
            cache.learn_long(&bytes[pretoken], hash, count);
            counts[to] += count;
        }
        bytes.clear();
    }
}

/// Counts the misses that are in the cache by now or in the vocabulary, and keeps the others.
struct FindAll<'w> {
    tables: &'w Tables,
    cache: &'w mut Cache,
    misses: &'w mut Vec<Miss>,
    counts: &'w mut [usize],
}

impl Work for FindAll<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the page
    fn run(self, kernel: impl Kernel) {
        let Self { tables, cache, misses, counts } = self;
        let mut kept = 0;
        for at in 0..misses.len() {
            let Miss { probe: Probe { key, hash }, to } = misses[at];
            // An equal pretoken may have been queued before it.
            let known = find(kernel, cache.line(hash), key).or_else(|| {
                let count = tables.find_short(key, hash, |line, key| find(kernel, line, key));
                count.inspect(|&count| cache.keep_short(key, hash, count))
            });
            counts[to] += known.unwrap_or(0);
            misses[kept] = misses[at];
            kept += usize::from(known.is_none());
        }
        misses.truncate(kept);
    }
}

/// Merges each distinct pretoken once: a new name often recurs within a few words.
#[derive(Default)]
struct Dedup {
    scratch: Scratch,
    /// The pretokens; a few duplicates remain, because the table of indices has no probing.
    pretokens: Vec<Miss>,
    /// Tokens of each.
    tokens: Vec<usize>,
    /// For each duplicate the index of its pretoken, and of the count that it adds to.
    duplicates: Vec<(usize, usize)>,
}

impl Dedup {
    /// Counts pretokens that are in neither the cache nor the vocabulary, and inserts them into the cache.
    fn merge(&mut self, tables: &Tables, cache: &mut Cache, pretokens: &mut Vec<Miss>, counts: &mut [usize]) {
        let mut slots = [0_usize; 256];
        for miss in pretokens.drain(..) {
            let slot = &mut slots[line_of::<256>(miss.probe.hash)];
            match self.pretokens.get(*slot) {
                Some(known) if known.probe.key == miss.probe.key => self.duplicates.push((*slot, miss.to)),
                _ => {
                    *slot = self.pretokens.len();
                    self.pretokens.push(miss);
                }
            }
        }
        let (distinct, tokens) = (&self.pretokens, &mut self.tokens);
        tokens.resize(distinct.len(), 0);
        let bytes = distinct.iter().map(|miss| miss.probe.key.bytes());
        count_all(tables, &mut self.scratch, bytes, |number, count| {
            let Miss { probe: Probe { key, hash }, to } = distinct[number];
            cache.learn_short(key, hash, count);
            counts[to] += count;
            tokens[number] = count;
        });
        for (number, to) in self.duplicates.drain(..) {
            counts[to] += self.tokens[number];
        }
        self.pretokens.clear();
    }
}

/// Splits pretokens into parts that are counted separately.
struct SubSplit<'w> {
    tables: &'w Tables,
    cache: &'w mut Cache,
    dedup: &'w mut Dedup,
    splits: &'w mut Splits,
    /// The bytes of the long parts.
    bytes: &'w [u8],
}

impl SubSplit<'_> {
    /// Splits a pretoken where no token can span two neighbouring characters.
    fn split(&mut self, text: &[u8], pretoken: Range<usize>, number: usize) {
        if self.tables.whole.is_some_and(|whole| whole.contains_key(&text[pretoken.clone()])) {
            return self.splits.tokens.push(1);
        }
        self.splits.tokens.push(0);
        if text[pretoken.clone()].is_ascii() {
            return self.part(text, pretoken.clone(), pretoken, None, number);
        }
        let cross = &self.tables.cross;
        let (mut start, mut at) = (pretoken.start, pretoken.start);
        let (mut last, mut alone) = (0, true); // the character before `at`, and whether it is the only one since `start`
        while let Some((point, length)) = point_at(&text[..pretoken.end], at) {
            cancel::poll_at(at);
            if at > start {
                if (last | point) >= 0x80 && !cross.may(last, point, text[at - 1], text[at]) {
                    self.part(text, pretoken.clone(), start..at, alone.then_some(last), number);
                    (start, alone) = (at, true);
                } else {
                    alone = false;
                }
            }
            last = point;
            at += length;
        }
        self.part(text, pretoken, start..at, alone.then_some(last), number);
    }

    /// Queues a part of a pretoken; `alone` is its character if it has only one.
    #[inline]
    fn part(&mut self, text: &[u8], pretoken: Range<usize>, part: Range<usize>, alone: Option<u32>, number: usize) {
        let splits = &mut *self.splits;
        if let Some(&count) = self.tables.whole.and_then(|whole| whole.get(&text[part.clone()])) {
            splits.tokens[number] += count;
        } else if let Some(count) = alone.and_then(|char| self.tables.char(char)) {
            splits.tokens[number] += count;
        } else if part.len() <= SHORT {
            let key = Key::of(text, part.start, part.end);
            let miss = Miss { probe: Probe { key, hash: key.hash() }, to: number };
            if part == pretoken {
                splits.whole.push(miss);
            } else {
                self.cache.prefetch_short(miss.probe.hash);
                prefetch(self.tables.short_bucket(miss.probe.hash));
                splits.short.push(miss);
            }
        } else if part.len() <= DIRECT {
            splits.long.push((part, number));
        } else {
            splits.tokens[number] += merge::count(self.tables, &text[part]);
        }
        if self.splits.short.len() == BATCH || self.splits.long.len() == SIDE_BY_SIDE {
            self.resolve();
        }
    }

    /// Counts the queued parts: from the cache, else from the vocabulary, else by merging.
    fn resolve(&mut self) {
        let Splits { short, whole, long, tokens } = &mut *self.splits;
        run(FindAll { tables: self.tables, cache: &mut *self.cache, misses: short, counts: tokens });
        whole.append(short);
        self.dedup.merge(self.tables, self.cache, whole, tokens);
        let pretokens = long.iter().map(|(part, _)| &self.bytes[part.clone()]);
        count_all(self.tables, &mut self.dedup.scratch, pretokens, |number, count| tokens[long[number].1] += count);
        long.clear();
    }
}
