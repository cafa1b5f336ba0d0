//! Merging of pretokens of at most [`DIRECT`] bytes, one alone or many side by side.

#![allow(clippy::cast_possible_truncation)] // two numbers in a word, and places below 64 in a byte

use crate::bpe::pretokenize::classes::point_at;
use crate::bpe::tables::{NONE, Pair, Tables};
use trimtab_simd::{Kernel, Work, prefetch, run};

/// Longest pretoken that is merged by looking for the lowest rank again and again.
pub const DIRECT: usize = 64;

/// A pretoken of at most `N` units, 64 at most, on its way to being merged: bytes, or characters that are tokens.
///
/// A token lives at its first unit. A pair is its rank and its place in one number, so that the first one of the lowest
/// rank is found by a loop without a branch.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct MergeState<const N: usize> {
    pairs: [i32; N],
    tokens: [u32; N],
    /// A bit for each unit where a token begins.
    live: u64,
    /// Whether the pairs of its units are still to be asked for.
    new: bool,
    /// Which pretoken it is.
    number: usize,
}

/// Two neighbouring tokens: whether they are there, and where the first of them is.
struct AdjacentPair {
    there: bool,
    tokens: [u32; 2],
    place: usize,
}

impl AdjacentPair {
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn ask(&self, row: u32) -> PairQuery {
        PairQuery { pair: Pair::of(self.tokens[0], self.tokens[1]), row, place: self.place as u32 }
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

    /// The same of bytes, with their pairs.
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

    /// Merges the first pair of the lowest rank: the pairs that it makes with its neighbours, which have no rank yet.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn step(&mut self) -> Option<[AdjacentPair; 2]> {
        let least = self.pairs.iter().fold(i32::MAX, |least, &pair| least.min(pair));
        if least == i32::MAX {
            return None;
        }
        let (at, token) = (least.cast_unsigned() as usize % 64 % N, least.cast_unsigned() >> 6);
        let right = self.behind(at);
        self.live &= !(1 << right);
        let (next, ahead) = (self.behind(at), self.live & ((1 << at) - 1));
        let before = if ahead == 0 { at } else { 63 - ahead.leading_zeros() as usize };
        self.tokens[at] = token;
        for place in [at, right, before] {
            self.pairs[place % N] = i32::MAX;
        }
        let behind = AdjacentPair { there: next < 64, tokens: [token, self.tokens[next % N]], place: at };
        let before = AdjacentPair { there: ahead != 0, tokens: [self.tokens[before % N], token], place: before };
        Some([behind, before])
    }

    /// All neighbours there are.
    #[inline]
    fn neighbours(&self) -> impl Iterator<Item = AdjacentPair> {
        let mut left = self.live;
        std::iter::from_fn(move || {
            let place = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let right = left.trailing_zeros() as usize;
            (left != 0).then(|| AdjacentPair {
                there: true,
                tokens: [self.tokens[place % N], self.tokens[right % N]],
                place,
            })
        })
    }

    /// Where the tokens begin when nothing is left to merge.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    pub fn merged(mut self, tables: &Tables) -> u64 {
        while let Some(neighbours) = self.step() {
            for AdjacentPair { tokens: [left, right], place, .. } in neighbours.into_iter().filter(|pair| pair.there) {
                self.pairs[place % N] = ranked_at(tables.merged(left, right), place);
            }
        }
        self.live
    }

    /// The place of the token behind the one at `at`; 64 for none.
    #[inline]
    fn behind(&self, at: usize) -> usize {
        (self.live & (u64::MAX << at) << 1).trailing_zeros() as usize
    }
}

/// A rank and its place in one number, the largest for no rank.
#[inline]
fn ranked_at(rank: u32, at: usize) -> i32 {
    if rank == NONE { i32::MAX } else { (rank << 6 | at as u32).cast_signed() }
}

/// What merging of a pretoken of at most [`DIRECT`] bytes begins with, and how many there are. A character that is a token,
/// and that no token takes a part of together with a neighbour, begins as that token: its bytes merge among themselves,
/// and before it can go into any larger one.
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
    for AdjacentPair { tokens: [left, right], place, .. } in MergeState::<DIRECT>::of(&units[..count], 0).neighbours() {
        merging.pairs[place] = ranked_at(tables.merged(left, right), place);
    }
    merging.merged(tables).count_ones() as usize
}

/// A pair of neighbours, and where its rank goes.
#[derive(Clone, Copy, Default)]
struct PairQuery {
    pair: Pair,
    row: u32,
    place: u32,
}

/// Scratch for merging pretokens side by side: those of at most 16 units, of 32 and of 64.
#[derive(Default)]
pub struct Scratch {
    few: Vec<MergeState<16>>,
    some: Vec<MergeState<32>>,
    many: Vec<MergeState<DIRECT>>,
    asks: Vec<PairQuery>,
    left: Vec<u32>,
}

/// Tells `found` the tokens of pretokens of two to [`DIRECT`] bytes, whole characters, each with its number. All of them take
/// each step together, so that the lines of their pairs are on their way at once and no branch waits for one.
pub fn count_all(
    tables: &Tables,
    scratch: &mut Scratch,
    pretokens: impl Iterator<Item = impl AsRef<[u8]>>,
    found: impl FnMut(usize, usize),
) {
    run(CountAll { tables, scratch, pretokens, found });
}

/// What [`count_all`] does.
struct CountAll<'w, I, F> {
    tables: &'w Tables,
    scratch: &'w mut Scratch,
    pretokens: I,
    found: F,
}

impl<I: Iterator<Item: AsRef<[u8]>>, F: FnMut(usize, usize)> Work for CountAll<'_, I, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)] // its loops have no branch where the page has instructions on bits
    fn run(self, _: impl Kernel) {
        let Self { tables, scratch, pretokens, mut found } = self;
        let Scratch { few, some, many, asks, left } = scratch;
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
        step_all(tables, few, asks, left, &mut found);
        step_all(tables, some, asks, left, &mut found);
        step_all(tables, many, asks, left, &mut found);
    }
}

/// Merges all rows, a pair of each in a round.
#[inline(always)]
#[allow(clippy::inline_always)] // compiled for the instructions of its caller
fn step_all<const N: usize>(
    tables: &Tables,
    rows: &mut Vec<MergeState<N>>,
    asks: &mut Vec<PairQuery>,
    left: &mut Vec<u32>,
    found: &mut impl FnMut(usize, usize),
) {
    if rows.is_empty() {
        return;
    }
    left.clear();
    left.extend(0..rows.len() as u32);
    asks.clear();
    for (row, merging) in rows.iter().enumerate().filter(|(_, merging)| merging.new) {
        asks.extend(merging.neighbours().map(|neighbours| neighbours.ask(row as u32)));
    }
    let mut asked = asks.len();
    asks.resize(asked.max(2 * rows.len()), PairQuery::default());
    let (all, asks, mut left) = (&mut rows[..], &mut asks[..], &mut left[..]);
    loop {
        // Each of these loops has no branch to foresee: what it reads of memory is on its way many times over.
        let mut may = 0;
        for at in 0..asked {
            let mut ask = asks[at];
            let passes = tables.may_merge(&mut ask.pair);
            asks[may] = ask;
            may += usize::from(passes);
        }
        for ask in &asks[..may] {
            prefetch(tables.place(ask.pair));
        }
        for &PairQuery { pair, row, place } in &asks[..may] {
            all[row as usize].pairs[place as usize % N] = ranked_at(tables.answer(pair), place as usize);
        }
        if left.is_empty() {
            break;
        }
        let mut stay = 0;
        asked = 0;
        for at in 0..left.len() {
            let row = left[at];
            let merging = &mut all[row as usize];
            let Some(neighbours) = merging.step() else {
                found(merging.number, merging.live.count_ones() as usize);
                continue;
            };
            for neighbours in neighbours {
                asks[asked] = neighbours.ask(row);
                asked += usize::from(neighbours.there);
            }
            left[stay] = row;
            stay += 1;
        }
        left = &mut left[..stay];
    }
    rows.clear();
}
