//! Merges pretokens of at most [`DIRECT`] bytes, one by itself or many side by side.

#![allow(clippy::cast_possible_truncation)] // two numbers share a word, and indices are below 64

use crate::bpe::pretokenize::classes::point_at;
use crate::bpe::tables::{NONE, Pair, Tables};
use trimtab_simd::{Kernel, Work, prefetch, run};

/// Longest pretoken that is merged by searching all pairs for the lowest rank at each step.
pub const DIRECT: usize = 64;

/// The state of merging one pretoken of at most `N` units, where `N` is at most 64. A unit is a byte, or a character that is
/// a token.
///
/// A token is stored at its first unit. A pair is its rank and its index in one number, so that a minimum without a branch
/// finds the first pair of the lowest rank.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct MergeState<const N: usize> {
    pairs: [i32; N],
    tokens: [u32; N],
    /// Bitmap of the units where a token begins.
    live: u64,
    /// Whether the pairs of its units are still to be looked up.
    new: bool,
    /// The number of the pretoken.
    number: usize,
}

/// Two neighbouring tokens: whether both exist, and the index of the first.
struct AdjacentPair {
    exists: bool,
    tokens: [u32; 2],
    at: usize,
}

impl AdjacentPair {
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn query(&self, row: u32) -> PairQuery {
        PairQuery { pair: Pair::of(self.tokens[0], self.tokens[1]), row, at: self.at as u32 }
    }
}

impl<const N: usize> MergeState<N> {
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn of(units: &[u32], number: usize) -> Self {
        let mut tokens = [0; N];
        tokens[..units.len()].copy_from_slice(units);
        Self { pairs: [i32::MAX; N], tokens, live: u64::MAX >> (64 - units.len()), new: true, number }
    }

    /// The state of a pretoken whose units are bytes, with the ranks of its pairs.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn of_bytes(tables: &Tables, pretoken: &[u8], number: usize) -> Self {
        let (mut tokens, mut pairs) = ([0; N], [i32::MAX; N]);
        for (token, &byte) in tokens.iter_mut().zip(pretoken) {
            *token = tables.byte(byte);
        }
        for ((pair, bytes), at) in pairs.iter_mut().zip(pretoken.windows(2)).zip(0..) {
            *pair = ranked_at(tables.merged_bytes(bytes[0], bytes[1]), at);
        }
        Self { pairs, tokens, live: u64::MAX >> (64 - pretoken.len()), new: false, number }
    }

    /// Merges the first pair of the lowest rank. Returns the pairs of the new token with its neighbours, whose ranks the
    /// caller looks up; None if no pair is left.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn step(&mut self) -> Option<[AdjacentPair; 2]> {
        let least = self.pairs.iter().fold(i32::MAX, |least, &pair| least.min(pair));
        if least == i32::MAX {
            return None;
        }
        let (at, token) = (least.cast_unsigned() as usize % 64 % N, least.cast_unsigned() >> 6);
        let right = self.next(at);
        self.live &= !(1 << right);
        let (next, ahead) = (self.next(at), self.live & ((1 << at) - 1));
        let before = if ahead == 0 { at } else { 63 - ahead.leading_zeros() as usize };
        self.tokens[at] = token;
        for at in [at, right, before] {
            self.pairs[at % N] = i32::MAX;
        }
        let behind = AdjacentPair { exists: next < 64, tokens: [token, self.tokens[next % N]], at };
        let before = AdjacentPair { exists: ahead != 0, tokens: [self.tokens[before % N], token], at: before };
        Some([behind, before])
    }

    /// All pairs of neighbours.
    #[inline]
    fn adjacent_pairs(&self) -> impl Iterator<Item = AdjacentPair> {
        let mut left = self.live;
        std::iter::from_fn(move || {
            let at = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let right = left.trailing_zeros() as usize;
            (left != 0).then(|| AdjacentPair {
                exists: true,
                tokens: [self.tokens[at % N], self.tokens[right % N]],
                at,
            })
        })
    }

    /// Merges until no pair is left; returns the bitmap of the units where tokens begin.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn merged(mut self, tables: &Tables) -> u64 {
        while let Some(pairs) = self.step() {
            for AdjacentPair { tokens: [left, right], at, .. } in pairs.into_iter().filter(|pair| pair.exists) {
                self.pairs[at % N] = ranked_at(tables.merged(left, right), at);
            }
        }
        self.live
    }

    /// The index of the token after the one at `at`; 64 for none.
    #[inline]
    fn next(&self, at: usize) -> usize {
        (self.live & (u64::MAX << at) << 1).trailing_zeros() as usize
    }
}

/// A rank and an index in one number; the largest number for no rank.
#[inline]
fn ranked_at(rank: u32, at: usize) -> i32 {
    if rank == NONE { i32::MAX } else { (rank << 6 | at as u32).cast_signed() }
}

/// The units of a pretoken of at most [`DIRECT`] bytes, and their number. A character is one unit if it is a token and no
/// token spans a part of it and a neighbour: then its bytes merge with each other before any other merge takes them.
fn units(tables: &Tables, pretoken: &[u8]) -> ([u32; DIRECT], usize) {
    let (mut units, mut count) = ([0; DIRECT], 0);
    let (mut at, mut apart, mut next) = (0, true, point_at(pretoken, 0));
    while let Some((point, length)) = next {
        let stop = at + length;
        next = point_at(pretoken, stop);
        let alone = apart;
        apart = next.is_none_or(|(next, _)| !tables.cross.breaks(point, next, pretoken[stop - 1], pretoken[stop]));
        if let Some(token) = tables.token(point).filter(|_| alone && apart) {
            units[count] = token;
            count += 1;
        } else {
            for (unit, &byte) in units[count..].iter_mut().zip(&pretoken[at..stop]) {
                *unit = tables.byte(byte);
            }
            count += length;
        }
        at = stop;
    }
    (units, count)
}

/// Tokens of `pretoken`, whole characters of two to [`DIRECT`] bytes.
pub fn direct(tables: &Tables, pretoken: &[u8]) -> usize {
    let (units, count) = units(tables, pretoken);
    let mut merging = MergeState::<DIRECT>::of(&units[..count], 0);
    for AdjacentPair { tokens: [left, right], at, .. } in MergeState::<DIRECT>::of(&units[..count], 0).adjacent_pairs()
    {
        merging.pairs[at] = ranked_at(tables.merged(left, right), at);
    }
    merging.merged(tables).count_ones() as usize
}

/// A lookup of a pair, and the state and index that its rank is written to.
#[derive(Clone, Copy, Default)]
struct PairQuery {
    pair: Pair,
    row: u32,
    at: u32,
}

/// Buffers for merging pretokens side by side, by size: at most 16, 32 and 64 units.
#[derive(Default)]
pub struct Scratch {
    few: Vec<MergeState<16>>,
    some: Vec<MergeState<32>>,
    many: Vec<MergeState<DIRECT>>,
    queries: Vec<PairQuery>,
    left: Vec<u32>,
}

/// Calls `found` with the number and the tokens of each pretoken, which are whole characters of two to [`DIRECT`] bytes.
///
/// All pretokens take each step together, so that the cache misses of their pair lookups overlap.
pub fn count_all(
    tables: &Tables,
    scratch: &mut Scratch,
    pretokens: impl Iterator<Item = impl AsRef<[u8]>>,
    found: impl FnMut(usize, usize),
) {
    run(CountAll { tables, scratch, pretokens, found });
}

/// The work of [`count_all`].
struct CountAll<'w, I, F> {
    tables: &'w Tables,
    scratch: &'w mut Scratch,
    pretokens: I,
    found: F,
}

impl<I: Iterator<Item: AsRef<[u8]>>, F: FnMut(usize, usize)> Work for CountAll<'_, I, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)] // its loops are branch-free where the page has bit instructions
    fn run(self, _: impl Kernel) {
        let Self { tables, scratch, pretokens, mut found } = self;
        let Scratch { few, some, many, queries, left } = scratch;
        for (number, pretoken) in pretokens.enumerate() {
            let pretoken = pretoken.as_ref();
            if pretoken.len() <= 16 && pretoken.is_ascii() {
                few.push(MergeState::of_bytes(tables, pretoken, number));
                continue;
            }
            match units(tables, pretoken) {
                (units, count @ ..=16) => few.push(MergeState::of(&units[..count], number)),
                (units, count @ ..=32) => some.push(MergeState::of(&units[..count], number)),
                (units, count) => many.push(MergeState::of(&units[..count], number)),
            }
        }
        step_all(tables, few, queries, left, &mut found);
        step_all(tables, some, queries, left, &mut found);
        step_all(tables, many, queries, left, &mut found);
    }
}

/// Merges all rows; each round merges one pair of each row.
#[inline(always)]
#[allow(clippy::inline_always)] // compiled for the instructions of its caller
fn step_all<const N: usize>(
    tables: &Tables,
    rows: &mut Vec<MergeState<N>>,
    queries: &mut Vec<PairQuery>,
    left: &mut Vec<u32>,
    found: &mut impl FnMut(usize, usize),
) {
    if rows.is_empty() {
        return;
    }
    left.clear();
    left.extend(0..rows.len() as u32);
    queries.clear();
    for (row, merging) in rows.iter().enumerate().filter(|(_, merging)| merging.new) {
        queries.extend(merging.adjacent_pairs().map(|pair| pair.query(row as u32)));
    }
    let mut pending = queries.len();
    queries.resize(pending.max(2 * rows.len()), PairQuery::default());
    let (all, queries, mut left) = (&mut rows[..], &mut queries[..], &mut left[..]);
    loop {
        // These loops have no branch that could be mispredicted, so the processor has many of their loads in flight.
        let mut may = 0;
        for at in 0..pending {
            let mut query = queries[at];
            let passes = tables.may_merge(&mut query.pair);
            queries[may] = query;
            may += usize::from(passes);
        }
        for query in &queries[..may] {
            prefetch(tables.pair_bucket(query.pair));
        }
        for &PairQuery { pair, row, at } in &queries[..may] {
            all[row as usize].pairs[at as usize % N] = ranked_at(tables.find_merge(pair), at as usize);
        }
        if left.is_empty() {
            break;
        }
        let mut kept = 0;
        pending = 0;
        for at in 0..left.len() {
            let row = left[at];
            let merging = &mut all[row as usize];
            let Some(pairs) = merging.step() else {
                found(merging.number, merging.live.count_ones() as usize);
                continue;
            };
            for pair in pairs {
                queries[pending] = pair.query(row);
                pending += usize::from(pair.exists);
            }
            left[kept] = row;
            kept += 1;
        }
        left = &mut left[..kept];
    }
    rows.clear();
}
