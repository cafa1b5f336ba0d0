//! A thread's cache from pretoken to count, of bounded size.
//!
//! | table | holds | bytes |
//! |---|---|---|
//! | short | pretokens of at most 15 bytes, 4-way set-associative | 4 MB |
//! | long | pretokens of 16 to 60 bytes, 2-way | 8 MB |
//! | longer | pretokens of 61 to 124 bytes, 2-way | 512 KB |
//! | longest | pretokens of 125 to 1,020 bytes, 2-way | 512 KB |
//!
//! The system commits the pages of a table as it fills, large pages once it has some entries. A thread
//! that ends leaves its cache to one that starts. The last three tables use only their first sets while they hold few
//! entries. Each entry stores its pretoken, so a hash collision cannot give a wrong count. A new entry evicts the oldest of
//! its set.

#![allow(clippy::inline_always)] // compiled for the page
#![allow(clippy::cast_possible_truncation)] // hashes are reduced to table sizes

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use trimtab_simd::{Kernel, Line, Portable, prefetch};

use crate::bpe::lines::Lines;
use crate::bpe::tables::{Key, SHORT, WITHOUT_COUNT, count_of};

/// Cache lines of the short table; each is a set of four entries.
pub const SHORTS: usize = 1 << 16;

/// Sets of the long table, of the longer and of the longest one, of two entries each.
const LONG: usize = 1 << 16;
const LONGER: usize = 1 << 11;
const LONGEST: usize = 1 << 8;

/// These three tables: cache lines of a set, and number of sets.
const LONG_TABLES: [(usize, usize); 3] = [(2, LONG), (4, LONGER), (32, LONGEST)];

/// Cache lines of all three.
const LONGS: usize = 2 * LONG + 4 * LONGER + 32 * LONGEST;

/// Divisor of the table size by number of entries: a small table avoids zeroing pages.
/// Prose, code and logs have some thousands of such pretokens in 8 MB, texts beyond ASCII as many in 200 KB.
const STAGES: [(usize, usize); 3] = [(1 << 6, 1 << 10), (1 << 3, 1 << 13), (1, usize::MAX)];

/// Entries from which the short table moves to large pages: to zero a large page takes as long as a hundred small ones.
const FEW: usize = 96;

/// Bytes of a small page on most processors.
const SMALL_PAGE: usize = 4 << 10;

/// Bytes of text that hold more than [`FEW`] short pretokens.
const MUCH: usize = 64 * 1024;

/// Longest pretoken that is cached.
pub const MEDIUM: usize = 1024 - TAIL;

/// Bytes of an entry after its pretoken: the count and the length, two each.
const TAIL: usize = 4;

/// Pretokens that are looked up together: all their cache lines are prefetched before the first lookup.
pub const BATCH: usize = 256;

/// Neighbouring pretokens of a text: the start of the first, and the end of each.
#[derive(Clone, Copy)]
pub struct Pretokens<'t> {
    pub text: &'t [u8],
    pub start: usize,
    pub ends: &'t [usize],
}

/// A lookup of a pretoken of at most 15 bytes.
#[derive(Clone, Copy, Default)]
pub struct Probe {
    pub key: Key,
    pub hash: u64,
}

/// Buffers of a lookup, and the pretokens that it did not resolve.
pub struct Batch {
    pub probes: Box<[Probe; BATCH]>,
    /// Short pretokens that are not in the cache.
    pub missed: Vec<Probe>,
    /// Pretokens that are too long for a key, with space for their hashes.
    pub longer: Vec<(Range<usize>, u64)>,
}

impl Default for Batch {
    fn default() -> Self {
        Self { probes: Box::new([Probe::default(); BATCH]), missed: Vec::new(), longer: Vec::new() }
    }
}

/// Queues a pretoken that is too long for a key. Not inlined: one pretoken in fifty comes here, and its code would take
/// registers from the hot loop.
#[cold]
#[inline(never)]
pub fn put_off(longer: &mut Vec<(Range<usize>, u64)>, at: usize, length: usize) {
    longer.push((at..at + length, 0));
}

/// Tokens of the cached ones of at most [`BATCH`] pretokens; the others go into `batch`.
#[inline(always)]
pub fn look_up(kernel: impl Kernel, lines: &[Line; SHORTS], pretokens: Pretokens<'_>, batch: &mut Batch) -> usize {
    let mut found = 0;
    let mut at = pretokens.start;
    for &end in &pretokens.ends[..pretokens.ends.len().min(BATCH)] {
        if end - at > SHORT {
            put_off(&mut batch.longer, at, end - at);
        } else {
            let key = Key::of(pretokens.text, at, end);
            let hash = key.hash();
            prefetch(&lines[line_of::<SHORTS>(hash)]);
            batch.probes[found % BATCH] = Probe { key, hash };
            found += 1;
        }
        at = end;
    }
    find_all(kernel, lines, &batch.probes[..found], &mut batch.missed)
}

/// Tokens of the cached pretokens; the others go into `missed`.
#[inline(always)]
pub fn find_all(kernel: impl Kernel, lines: &[Line; SHORTS], probes: &[Probe], missed: &mut Vec<Probe>) -> usize {
    let mut total = 0;
    for probe in probes {
        match find(kernel, &lines[line_of::<SHORTS>(probe.hash)], probe.key) {
            Some(count) => total += count,
            None => miss(missed, probe),
        }
    }
    total
}

/// Not inlined, as [`put_off`].
#[cold]
#[inline(never)]
fn miss(missed: &mut Vec<Probe>, probe: &Probe) {
    missed.push(*probe);
}

/// The index of a pretoken's cache line in a table of `N` lines.
#[inline]
pub fn line_of<const N: usize>(hash: u64) -> usize {
    (hash >> 6) as usize & (N - 1)
}

/// The count of a pretoken in `line`.
#[inline(always)]
pub fn find(kernel: impl Kernel, line: &Line, key: Key) -> Option<usize> {
    kernel.find(line, [key.low, key.high], WITHOUT_COUNT).map(|entry| count_of(line[4 + entry]))
}

/// The tables of one thread, for one vocabulary.
#[derive(Default)]
pub struct Cache {
    /// Pretokens of at most 15 bytes.
    pub short: Lines<SHORTS>,
    /// Insertions into the short table.
    kept: usize,
    /// The long table, the longer and the longest one.
    long: Lines<LONGS>,
    /// Insertions into the long tables.
    kept_long: usize,
    /// Divisor of the number of sets in use, from [`STAGES`]; None before the first insertion.
    divisor: Option<usize>,
}

impl Cache {
    /// Prepares for `bytes` of text: many are worth large pages from the start.
    pub fn expect(&mut self, bytes: usize) {
        if bytes < MUCH {
            return;
        }
        if self.kept < FEW {
            self.kept = FEW;
            self.short = Lines::on_large_pages();
        }
    }

    /// The count of a cached short pretoken.
    #[inline]
    pub fn short(&self, key: Key, hash: u64) -> Option<usize> {
        find(Portable, self.line(hash), key)
    }

    /// The cache line of a short pretoken.
    #[inline]
    pub fn line(&self, hash: u64) -> &Line {
        &self.short.get()[line_of::<SHORTS>(hash)]
    }

    /// Prefetches the cache line of a short pretoken.
    #[inline]
    pub fn prefetch_short(&self, hash: u64) {
        prefetch(self.line(hash));
    }

    /// Inserts a short pretoken unless it is cached.
    #[inline]
    pub fn learn_short(&mut self, key: Key, hash: u64, count: usize) {
        if self.short(key, hash).is_none() {
            self.keep_short(key, hash, count);
        }
    }

    /// Inserts a short pretoken at the front of its set, and evicts the last one.
    #[inline]
    pub fn keep_short(&mut self, key: Key, hash: u64, count: usize) {
        self.kept += 1;
        if self.kept == FEW {
            // These few entries are dropped: they are counted again when they come again.
            self.short = Lines::on_large_pages();
        }
        let line = &mut self.short.get_mut()[line_of::<SHORTS>(hash)];
        line.copy_within(0..3, 1);
        line.copy_within(4..7, 5);
        (line[0], line[4]) = (key.low, key.with_count(count));
    }

    /// The count of a cached long pretoken; `hash` is its [`hash_of`].
    #[inline]
    pub fn long(&self, pretoken: &[u8], hash: u64) -> Option<usize> {
        let set: &[u8] = cast_slice(self.set(pretoken.len(), hash)?);
        set.chunks_exact(set.len() / 2).find_map(|entry| {
            let (bytes, tail) = entry.split_at(entry.len() - TAIL);
            let [count, length] = [&tail[..2], &tail[2..]].map(|two| usize::from(u16::from_le_bytes([two[0], two[1]])));
            (length == pretoken.len() && bytes[..length] == *pretoken).then_some(count)
        })
    }

    /// Prefetches the set of a long pretoken.
    #[inline]
    pub fn prefetch_long(&self, pretoken: &[u8], hash: u64) {
        self.set(pretoken.len(), hash).into_iter().flatten().for_each(prefetch);
    }

    /// The cache lines of the set of a long pretoken; None while the long tables are empty.
    #[inline]
    fn set(&self, length: usize, hash: u64) -> Option<&[Line]> {
        self.divisor.map(|divisor| &self.long.get()[set_of(length, hash as usize, divisor)])
    }

    /// Inserts a long pretoken unless it is cached.
    pub fn learn_long(&mut self, pretoken: &[u8], hash: u64, count: usize) {
        if self.long(pretoken, hash).is_none() {
            self.keep_long(pretoken, hash, count);
        }
    }

    /// Counts an insertion into the long tables and grows them where it is due; returns their divisor.
    fn count_long_insertion(&mut self) -> usize {
        self.kept_long += 1;
        let needed = STAGES.iter().find(|&&(_, most)| self.kept_long <= most).map_or(1, |&(divisor, _)| divisor);
        let before = self.divisor.replace(needed);
        if before != Some(needed) {
            self.grow(before, needed);
        }
        needed
    }

    /// Puts more sets of the long tables into use, and rehashes the entries.
    #[cold]
    fn grow(&mut self, before: Option<usize>, divisor: usize) {
        if divisor == 1 {
            self.long.advise_large_pages();
        }
        let mut start = 0;
        for (lines, sets) in LONG_TABLES {
            let [used, new] = [before.map_or(0, |before| sets / before), sets / divisor].map(|n| start + lines * n);
            // Writes to each page first: a page that is read first is mapped to the shared zero page, and the later write
            // faults again and interrupts other processors (TLB shootdown).
            let page = SMALL_PAGE / size_of::<Line>();
            self.long.get_mut()[used..new].iter_mut().step_by(page).for_each(|line| *line = [0; 8]);
            start += lines * sets;
        }
        let lines = self.long.get_mut();
        for old in before.map_or(0..0, |before| 0..2 * LONG / before).rev() {
            let entry = lines[old];
            let bytes: &[u8] = cast_slice(&entry);
            let length = usize::from(u16::from_le_bytes([bytes[62], bytes[63]]));
            let new = set_of(length, hash_of(&bytes[..length]) as usize, divisor).start;
            if length > 0 && new != old & !1 {
                (lines[new + 1], lines[new]) = (lines[new], entry);
            }
        }
    }

    /// Inserts a long pretoken at the front of its set.
    pub fn keep_long(&mut self, pretoken: &[u8], hash: u64, count: usize) {
        let divisor = self.count_long_insertion();
        let length = pretoken.len();
        let set = &mut self.long.get_mut()[set_of(length, hash as usize, divisor)];
        let half = set.len() / 2;
        set.copy_within(..half, half);
        let entry: &mut [u8] = cast_slice_mut(&mut set[..half]);
        let (bytes, tail) = entry.split_at_mut(entry.len() - TAIL);
        bytes[..length].copy_from_slice(pretoken);
        tail[..2].copy_from_slice(&(count as u16).to_le_bytes());
        tail[2..].copy_from_slice(&(length as u16).to_le_bytes());
    }
}

/// The cache lines of the set of a long pretoken. A table with fewer sets is the beginning of the full one, so entries
/// need not be cleared when it grows.
#[inline]
fn set_of(length: usize, hash: usize, divisor: usize) -> Range<usize> {
    const LONGER_START: usize = 2 * LONG;
    const LONGEST_START: usize = LONGER_START + 4 * LONGER;
    let (start, lines) = match length + TAIL {
        ..=64 => (2 * (hash & (LONG / divisor - 1)), 2),
        65..=128 => (LONGER_START + 4 * (hash & (LONGER / divisor - 1)), 4),
        _ => (LONGEST_START + 32 * (hash & (LONGEST / divisor - 1)), 32),
    };
    start..start + lines
}

/// A hash of a long pretoken, fifteen bytes at a time.
#[inline]
pub fn hash_of(pretoken: &[u8]) -> u64 {
    let mut state = pretoken.len() as u64;
    let mut mix = |start: usize, stop: usize| {
        let key = Key::of(pretoken, start, stop);
        state = Key { low: key.low ^ state, high: key.high ^ state.rotate_left(32) }.hash();
    };
    let mut at = 0;
    while at + 15 < pretoken.len() {
        mix(at, at + 15);
        at += 15;
    }
    mix(at, pretoken.len());
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pretokens_are_found_when_their_tables_have_grown() {
        let pretoken = |n: usize| format!("{n} {}", "x".repeat([20, 20, 20, 80, 500][n % 5])).into_bytes();
        let (mut cache, mut found) = (Cache::default(), [0; 3]);
        assert_eq!(cache.long(&pretoken(0), hash_of(&pretoken(0))), None);
        for n in 0..20_000 {
            cache.keep_long(&pretoken(n), hash_of(&pretoken(n)), n % 1_000);
            let Some(stage) = [1_024, 1_025, 8_193].iter().position(|&kept| kept == n + 1) else { continue };
            for n in 0..=n {
                let count = cache.long(&pretoken(n), hash_of(&pretoken(n)));
                assert!(count.is_none_or(|count| count == n % 1_000));
                found[stage] += usize::from(count.is_some() && n % 5 < 3);
            }
        }
        // Of 614, 615 and 4,915 of up to 60 bytes; some sets have had more than two.
        assert!(found[0] > 570 && found[1] >= found[0] && found[2] > 4_500, "{found:?}");
    }
}
