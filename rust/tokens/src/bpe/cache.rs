//! What a thread remembers of the pretokens that it has counted, within fixed bounds.
//!
//! | table | holds | bytes |
//! |---|---|---|
//! | short | any pretoken of at most 15 bytes, four to a line: what was seen last | 4 MB |
//! | long | pretokens of 16 to 60 bytes, two to a place | 8 MB |
//! | longer | pretokens of 61 to 124 bytes, two to a place | 512 KB |
//! | longest | pretokens of 125 to 1,020 bytes, two to a place | 512 KB |
//!
//! A table is taken from the system as it fills, soon in large pages, and goes when its thread ends; of the last three only
//! the beginning is used while there are few pretokens in them. Each entry holds its pretoken, so that a wrong count cannot be
//! found whatever the hash. A new pretoken takes the place of an old one, and nothing grows beyond these bounds.

#![allow(clippy::inline_always)] // compiled for the page
#![allow(clippy::cast_possible_truncation)] // hashes are cut to the size of a table

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use trimtab_simd::{Kernel, Line, Portable, prefetch};

use crate::bpe::lines::Lines;
use crate::bpe::tables::{Key, SHORT, WITHOUT_COUNT, count_of};

/// Lines of the table of short pretokens, of four entries each.
pub const SHORTS: usize = 1 << 16;

/// Places of the long table, of the longer and of the longest one, of two entries each.
const LONG: usize = 1 << 16;
const LONGER: usize = 1 << 11;
const LONGEST: usize = 1 << 8;

/// The three: lines of a place, and how many of these.
const LONG_TABLES: [(usize, usize); 3] = [(2, LONG), (4, LONGER), (32, LONGEST)];

/// Lines of all three.
const LONGS: usize = 2 * LONG + 4 * LONGER + 32 * LONGEST;

/// Divisor of the table size by number of entries: a small table avoids zeroing pages.
/// Prose, code and logs have some thousands of such pretokens in 8 MB, texts beyond ASCII as many in 200 KB.
const STAGES: [(usize, usize); 3] = [(1 << 6, 1 << 10), (1 << 3, 1 << 13), (1, usize::MAX)];

/// Pretokens that a thread remembers in a table before it moves to large pages: a large one takes as long as a hundred others.
const FEW: usize = 96;

/// Bytes of a page that is not large, on most processors.
const SMALL_PAGE: usize = 4 << 10;

/// Bytes of text that surely hold more short pretokens than are few.
const MUCH: usize = 64 * 1024;

/// Longest pretoken that is remembered.
pub const MEDIUM: usize = 1024 - TAIL;

/// Bytes of an entry behind its pretoken: the count and the length, two each.
const TAIL: usize = 4;

/// Pretokens that are looked up together: while one is looked for, the lines of those behind it are on their way.
pub const BATCH: usize = 256;

/// Neighbouring pretokens of a text: where the first begins, and where each ends.
#[derive(Clone, Copy)]
pub struct Pretokens<'t> {
    pub text: &'t [u8],
    pub start: usize,
    pub ends: &'t [usize],
}

/// A pretoken of at most 15 bytes, to be looked up.
#[derive(Clone, Copy, Default)]
pub struct Probe {
    pub key: Key,
    pub hash: u64,
}

/// Room for looking up, and what was not found.
pub struct Batch {
    pub asked: Box<[Probe; BATCH]>,
    /// Pretokens that were not seen lately.
    pub missed: Vec<Probe>,
    /// Pretokens that no key holds, with room for their hashes.
    pub longer: Vec<(Range<usize>, u64)>,
}

impl Default for Batch {
    fn default() -> Self {
        Self { asked: Box::new([Probe::default(); BATCH]), missed: Vec::new(), longer: Vec::new() }
    }
}

/// Leaves a pretoken that no key holds for later. Kept apart, so that what happens to one pretoken in fifty takes no register of
/// the others.
#[cold]
#[inline(never)]
pub fn put_off(longer: &mut Vec<(Range<usize>, u64)>, at: usize, length: usize) {
    longer.push((at..at + length, 0));
}

/// Tokens of those of at most [`BATCH`] pretokens that `lines` has; the others go into `batch`.
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
            batch.asked[found % BATCH] = Probe { key, hash };
            found += 1;
        }
        at = end;
    }
    find_all(kernel, lines, &batch.asked[..found], &mut batch.missed)
}

/// Tokens of the pretokens that `lines` has; the others go into `missed`.
#[inline(always)]
pub fn find_all(kernel: impl Kernel, lines: &[Line; SHORTS], asked: &[Probe], missed: &mut Vec<Probe>) -> usize {
    let mut total = 0;
    for asked in asked {
        match find(kernel, &lines[line_of::<SHORTS>(asked.hash)], asked.key) {
            Some(count) => total += count,
            None => miss(missed, asked),
        }
    }
    total
}

/// Kept apart for the same reason.
#[cold]
#[inline(never)]
fn miss(missed: &mut Vec<Probe>, asked: &Probe) {
    missed.push(*asked);
}

/// The line of a pretoken in a table of `N`; what is shifted out is where it lies in bytes.
#[inline]
pub fn line_of<const N: usize>(hash: u64) -> usize {
    (hash >> 6) as usize & (N - 1)
}

/// The count of a pretoken, if `line` has it.
#[inline(always)]
pub fn find(kernel: impl Kernel, line: &Line, key: Key) -> Option<usize> {
    kernel.find(line, [key.low, key.high], WITHOUT_COUNT).map(|place| count_of(line[4 + place]))
}

/// The tables of one thread, for one vocabulary.
#[derive(Default)]
pub struct Cache {
    /// Pretokens of at most 15 bytes.
    pub short: Lines<SHORTS>,
    /// Short pretokens that were put there.
    kept: usize,
    /// The long table, the longer and the longest one.
    long: Lines<LONGS>,
    /// Pretokens that were put there.
    kept_long: usize,
    /// By how much these tables are smaller; before the first pretoken there are none.
    smaller: Option<usize>,
}

impl Cache {
    /// Makes ready for so many bytes of text: many are worth large pages from the start.
    pub fn expect(&mut self, bytes: usize) {
        if bytes < MUCH {
            return;
        }
        if self.kept < FEW {
            self.kept = FEW;
            self.short = Lines::on_large_pages();
        }
    }

    /// The count of a short pretoken that was seen lately.
    #[inline]
    pub fn short(&self, key: Key, hash: u64) -> Option<usize> {
        find(Portable, self.line(hash), key)
    }

    /// The line of a short pretoken.
    #[inline]
    pub fn line(&self, hash: u64) -> &Line {
        &self.short.get()[line_of::<SHORTS>(hash)]
    }

    /// Asks for the line of a short pretoken before it is looked up.
    #[inline]
    pub fn prefetch_short(&self, hash: u64) {
        prefetch(self.line(hash));
    }

    /// Remembers a short pretoken unless it is there.
    #[inline]
    pub fn learn_short(&mut self, key: Key, hash: u64, count: usize) {
        if self.short(key, hash).is_none() {
            self.keep_short(key, hash, count);
        }
    }

    /// Remembers a short pretoken: it comes first in its line, and the last one there goes.
    #[inline]
    pub fn keep_short(&mut self, key: Key, hash: u64, count: usize) {
        self.kept += 1;
        if self.kept == FEW {
            // Those few are found again where they were found before.
            self.short = Lines::on_large_pages();
        }
        let line = &mut self.short.get_mut()[line_of::<SHORTS>(hash)];
        line.copy_within(0..3, 1);
        line.copy_within(4..7, 5);
        (line[0], line[4]) = (key.low, key.with_count(count));
    }

    /// The count of a pretoken that no key holds, with its [`hash_of`].
    #[inline]
    pub fn long(&self, pretoken: &[u8], hash: u64) -> Option<usize> {
        let place: &[u8] = cast_slice(self.place(pretoken.len(), hash)?);
        place.chunks_exact(place.len() / 2).find_map(|entry| {
            let (bytes, tail) = entry.split_at(entry.len() - TAIL);
            let [count, length] = [&tail[..2], &tail[2..]].map(|two| usize::from(u16::from_le_bytes([two[0], two[1]])));
            (length == pretoken.len() && bytes[..length] == *pretoken).then_some(count)
        })
    }

    /// Asks for the place of such a pretoken before it is looked up.
    #[inline]
    pub fn prefetch_long(&self, pretoken: &[u8], hash: u64) {
        self.place(pretoken.len(), hash).into_iter().flatten().for_each(prefetch);
    }

    /// The lines where a pretoken of that length is kept, if any is.
    #[inline]
    fn place(&self, length: usize, hash: u64) -> Option<&[Line]> {
        self.smaller.map(|smaller| &self.long.get()[place(length, hash as usize, smaller)])
    }

    /// Remembers a pretoken that no key holds unless it is there.
    pub fn learn_long(&mut self, pretoken: &[u8], hash: u64, count: usize) {
        if self.long(pretoken, hash).is_none() {
            self.keep_long(pretoken, hash, count);
        }
    }

    /// By how much the tables of long pretokens are smaller when another one has come.
    fn room_for_long(&mut self) -> usize {
        self.kept_long += 1;
        let needed = STAGES.iter().find(|&&(_, most)| self.kept_long <= most).map_or(1, |&(smaller, _)| smaller);
        let before = self.smaller.replace(needed);
        if before != Some(needed) {
            self.grow(before, needed);
        }
        needed
    }

    /// Makes room for more long pretokens, and puts those that are there where they will be looked for.
    #[cold]
    fn grow(&mut self, before: Option<usize>, smaller: usize) {
        if smaller == 1 {
            self.long.advise_large_pages();
        }
        let mut start = 0;
        for (lines, places) in LONG_TABLES {
            let [used, new] = [before.map_or(0, |before| places / before), places / smaller].map(|n| start + lines * n);
            // What is read first is taken twice: as zeros that all share, and anew when it is written to, for which the other
            // processors are interrupted. Where small pages are already there are no large ones.
            let page = SMALL_PAGE / size_of::<Line>();
            self.long.get_mut()[used..new].iter_mut().step_by(page).for_each(|line| *line = [0; 8]);
            start += lines * places;
        }
        let lines = self.long.get_mut();
        for old in before.map_or(0..0, |before| 0..2 * LONG / before).rev() {
            let entry = lines[old];
            let bytes: &[u8] = cast_slice(&entry);
            let length = usize::from(u16::from_le_bytes([bytes[62], bytes[63]]));
            let place = place(length, hash_of(&bytes[..length]) as usize, smaller).start;
            if length > 0 && place != old & !1 {
                (lines[place + 1], lines[place]) = (lines[place], entry);
            }
        }
    }

    /// Remembers a pretoken that no key holds: it comes first in its place.
    pub fn keep_long(&mut self, pretoken: &[u8], hash: u64, count: usize) {
        let smaller = self.room_for_long();
        let length = pretoken.len();
        let place = &mut self.long.get_mut()[place(length, hash as usize, smaller)];
        let half = place.len() / 2;
        place.copy_within(..half, half);
        let entry: &mut [u8] = cast_slice_mut(&mut place[..half]);
        let (bytes, tail) = entry.split_at_mut(entry.len() - TAIL);
        bytes[..length].copy_from_slice(pretoken);
        tail[..2].copy_from_slice(&(count as u16).to_le_bytes());
        tail[2..].copy_from_slice(&(length as u16).to_le_bytes());
    }
}

/// The lines of a pretoken that no key holds, by its length. A table that is smaller is the beginning of the larger one, so
/// that what lies there is a pretoken in both.
#[inline]
fn place(length: usize, hash: usize, smaller: usize) -> Range<usize> {
    const BEHIND_LONG: usize = 2 * LONG;
    const BEHIND_LONGER: usize = BEHIND_LONG + 4 * LONGER;
    let (start, lines) = match length + TAIL {
        ..=64 => (2 * (hash & (LONG / smaller - 1)), 2),
        65..=128 => (BEHIND_LONG + 4 * (hash & (LONGER / smaller - 1)), 4),
        _ => (BEHIND_LONGER + 32 * (hash & (LONGEST / smaller - 1)), 32),
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
        // Of 614, 615 and 4,915 of up to 60 bytes; some places have had more than two.
        assert!(found[0] > 570 && found[1] >= found[0] && found[2] > 4_500, "{found:?}");
    }
}
