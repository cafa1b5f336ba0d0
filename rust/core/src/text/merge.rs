//! Byte-pair merging: how many tokens a piece falls into, and where they end.
//!
//! A piece of at most [`DIRECT`] bytes is merged as the definition says. A longer one is merged in windows, and that is
//! exact: a row of tokens is what merging gives if and only if that is true of each two neighbours alone. So the tokens
//! of two windows stand side by side where the last of the one and the first of the other do.

#![allow(clippy::cast_possible_truncation)] // two numbers in a word, and places below 64 in a byte

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::class::{char_at, decode};
use super::simd;
use super::tables::{NONE, Pair, Tables};
use crate::stop;

/// Longest piece that is merged by looking for the lowest rank again and again.
pub const DIRECT: usize = 64;

/// Bytes of a window; three quarters of it are kept. The longest token of any known vocabulary has 128 bytes.
const WINDOW: usize = 512;

/// Bits of a place in a piece, beside a rank in one word: a piece of a terabyte.
const PLACE: u32 = 40;

/// Tokens of `piece`, which is of whole characters.
pub fn count(tables: &Tables, piece: &[u8]) -> usize {
    match piece.len() {
        0 | 1 => piece.len(),
        2..=DIRECT => simd::direct(tables, piece).count_ones() as usize,
        _ => {
            let (bytes, tokens) = repeated(tables, piece);
            tokens + windows::<Number>(tables, &piece[bytes..]).0
        }
    }
}

/// Where the tokens of `piece` end, counted in bytes from its start.
pub fn ends(tables: &Tables, piece: &[u8]) -> Vec<usize> {
    windows(tables, piece)
}

/// A piece of at most `N` bytes, 64 at most, on its way to being merged.
///
/// A token lives at its first byte. A pair is its rank and its place in one number, so that the first one of the lowest
/// rank is found by a loop without a branch.
struct Merging<const N: usize> {
    tokens: [u32; N],
    pairs: [i32; N],
    /// A bit for each place where a token begins.
    live: u64,
    /// Pairs that have been asked for.
    asked: [Option<(usize, Pair)>; 2],
}

impl<const N: usize> Merging<N> {
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn of(tables: &Tables, piece: &[u8]) -> Self {
        let (mut tokens, mut pairs) = ([0; N], [i32::MAX; N]);
        for (token, &byte) in tokens.iter_mut().zip(piece) {
            *token = tables.byte(byte);
        }
        for ((pair, bytes), at) in pairs.iter_mut().zip(piece.windows(2)).zip(0..) {
            *pair = ranked_at(tables.merged_bytes(bytes[0], bytes[1]), at);
        }
        Self { tokens, pairs, live: u64::MAX >> (64 - piece.len()), asked: [None; 2] }
    }

    /// The same for whole characters. One that is a token, and that no token takes a part of together with a neighbour,
    /// begins as that token: its bytes merge among themselves, and before it can go into any larger one.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn of_chars(tables: &Tables, piece: &[u8]) -> Self {
        if piece.is_ascii() {
            return Self::of(tables, piece);
        }
        let (mut tokens, mut pairs, mut live) = ([0; N], [i32::MAX; N], 0_u64);
        let (mut at, mut apart, mut next) = (0, true, char_at(piece, 0));
        while let Some(char) = next {
            let stop = at + char.length;
            next = char_at(piece, stop);
            let alone = apart;
            apart = next.is_none_or(|next| !tables.cross.breaks(char.point, next.point, piece[stop - 1], piece[stop]));
            if let Some(token) = tables.token(char.point).filter(|_| alone && apart) {
                tokens[at % N] = token;
                live |= 1 << at;
            } else {
                for (place, &byte) in tokens[at..stop].iter_mut().zip(&piece[at..stop]) {
                    *place = tables.byte(byte);
                }
                live |= ((1 << char.length) - 1) << at;
            }
            at = stop;
        }
        let mut left = live;
        while left & (left - 1) != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let right = left.trailing_zeros() as usize;
            pairs[at % N] = ranked_at(tables.merged(tokens[at % N], tokens[right % N]), at);
        }
        Self { tokens, pairs, live, asked: [None; 2] }
    }

    /// Where the tokens begin when nothing is left to merge.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn merged(mut self, tables: &Tables) -> u64 {
        while self.step(tables) {}
        self.live
    }

    /// Merges pairs until one must be asked for; false where none is left to merge.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the instructions of its caller
    fn step(&mut self, tables: &Tables) -> bool {
        for (at, pair) in self.asked.iter_mut().filter_map(Option::take) {
            self.pairs[at % N] = ranked_at(tables.answer(pair), at);
        }
        loop {
            let least = self.pairs.iter().fold(i32::MAX, |least, &pair| least.min(pair));
            if least == i32::MAX {
                return false;
            }
            let at = least.cast_unsigned() as usize % 64 % N;
            let right = self.behind(at);
            self.tokens[at] = least.cast_unsigned() >> 6;
            self.pairs[right % N] = i32::MAX;
            self.live &= !(1 << right);
            let ahead = self.live & ((1 << at) - 1);
            let before = 63_usize.wrapping_sub(ahead.leading_zeros() as usize);
            self.asked[0] = self.ask(tables, at, self.behind(at));
            self.asked[1] = if ahead == 0 { None } else { self.ask(tables, before % N, at) };
            if self.asked[0].is_some() || self.asked[1].is_some() {
                return true;
            }
        }
    }

    /// Asks for the pair of the tokens at two places; there is none where the second is behind the piece.
    #[inline]
    fn ask(&mut self, tables: &Tables, at: usize, right: usize) -> Option<(usize, Pair)> {
        self.pairs[at] = i32::MAX;
        if right == 64 {
            return None;
        }
        let pair = tables.ask(self.tokens[at], self.tokens[right % N])?;
        simd::prefetch(tables.place(pair));
        Some((at, pair))
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

/// A bit for each byte of `piece`, whole characters of two to [`DIRECT`] bytes, where a token begins.
#[inline(always)]
#[allow(clippy::inline_always)] // compiled for the instructions of its caller
pub fn direct(tables: &Tables, piece: &[u8]) -> u64 {
    match piece.len() {
        ..=32 => Merging::<32>::of_chars(tables, piece).merged(tables),
        _ => Merging::<DIRECT>::of_chars(tables, piece).merged(tables),
    }
}

/// Tells `found` the tokens of pieces of two to `N` bytes, whole characters, each with its number. While one waits for
/// the line of a pair, the others are merged.
#[inline(always)]
#[allow(clippy::inline_always)] // compiled for the instructions of its caller
pub fn together<const N: usize>(
    tables: &Tables,
    pieces: impl Iterator<Item = impl AsRef<[u8]>>,
    mut found: impl FnMut(usize, usize),
) {
    let mut all: Vec<Merging<N>> = pieces.map(|piece| Merging::of_chars(tables, piece.as_ref())).collect();
    let mut left: Vec<usize> = (0..all.len()).collect();
    while !left.is_empty() {
        let mut stay = 0;
        for at in 0..left.len() {
            let number = left[at];
            if all[number].step(tables) {
                left[stay] = number;
                stay += 1;
            } else {
                found(number, all[number].live.count_ones() as usize);
            }
        }
        left.truncate(stay);
    }
}

/// Where the tokens of `piece` end, by a heap of the pairs: time grows a little faster than the piece.
fn heaped(tables: &Tables, piece: &[u8]) -> Vec<usize> {
    let length = piece.len();
    if length <= DIRECT {
        let live = Merging::<DIRECT>::of(tables, piece).merged(tables);
        return (1..length).filter(|&at| live >> at & 1 == 1).chain([length]).collect();
    }
    let mut tokens: Vec<u32> = piece.iter().map(|&byte| tables.byte(byte)).collect();
    // Starts of the next and of the last token, by the start of each; the piece's end for none.
    let mut next: Vec<usize> = (1..=length).collect();
    let mut before: Vec<usize> = (0..length).map(|at| at.checked_sub(1).unwrap_or(length)).collect();
    let entry = |rank: u32, at: usize| Reverse(u64::from(rank) << PLACE | at as u64);
    let mut heap: BinaryHeap<Reverse<u64>> = piece
        .windows(2)
        .enumerate()
        .map(|(at, pair)| (tables.merged_bytes(pair[0], pair[1]), at))
        .filter(|&(rank, _)| rank != NONE)
        .map(|(rank, at)| entry(rank, at))
        .collect();
    while let Some(Reverse(least)) = heap.pop() {
        stop::check();
        let (rank, at) = ((least >> PLACE) as u32, (least & ((1 << PLACE) - 1)) as usize);
        let right = next[at];
        // An entry may be of a pair that is no more: its token went into another, or its neighbour did.
        if tokens[at] == NONE || right >= length || tables.merged(tokens[at], tokens[right]) != rank {
            continue;
        }
        tokens[at] = rank;
        tokens[right] = NONE;
        next[at] = next[right];
        if next[at] < length {
            before[next[at]] = at;
            let rank = tables.merged(rank, tokens[next[at]]);
            if rank != NONE {
                heap.push(entry(rank, at));
            }
        }
        if before[at] < length {
            let rank = tables.merged(tokens[before[at]], rank);
            if rank != NONE {
                heap.push(entry(rank, before[at]));
            }
        }
    }
    (0..length).filter(|&at| tokens[at] != NONE).map(|at| next[at]).collect()
}

/// Whether `piece[..middle]` and the rest of it, a token each, stay two tokens side by side.
fn joins(tables: &Tables, piece: &[u8], middle: usize) -> bool {
    heaped(tables, piece) == [middle, piece.len()]
}

/// Where the tokens of a long piece end: merged in windows, larger ones where two do not join.
fn windows<E: Default + Extend<usize>>(tables: &Tables, piece: &[u8]) -> E {
    let mut size = WINDOW;
    loop {
        let mut ends = E::default();
        if windows_of(tables, piece, size, &mut ends) {
            return ends;
        }
        size *= 4;
    }
}

/// The same with windows of `size` bytes; false where two of them do not join.
fn windows_of(tables: &Tables, piece: &[u8], size: usize, ends: &mut impl Extend<usize>) -> bool {
    let (mut at, mut last) = (0, 0); // where the window begins, and the last token before it
    loop {
        let stop = piece.len().min(at + size);
        let found = heaped(tables, &piece[at..stop]);
        if at > 0 && !joins(tables, &piece[last..at + found[0]], at - last) {
            return false;
        }
        if stop == piece.len() {
            ends.extend(found.iter().map(|end| at + end));
            return true;
        }
        // What comes behind the window changes tokens near its end.
        let kept = &found[..found.partition_point(|&end| end <= size * 3 / 4)];
        ends.extend(kept.iter().map(|end| at + end));
        let [.., before, end] = *kept else { return false };
        (last, at) = (at + before, at + end);
    }
}

/// The number of ends, where that is all that is asked: a string of a hundred megabytes has tens of millions.
#[derive(Default)]
struct Number(usize);

impl Extend<usize> for Number {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, ends: I) {
        self.0 += ends.into_iter().count();
    }
}

/// Bytes at the start of a piece that is one character again and again: whole tokens, each the same, that may be
/// counted without looking; with the number of those tokens.
fn repeated(tables: &Tables, piece: &[u8]) -> (usize, usize) {
    let unit = decode(piece, 0, piece[0]).length;
    if piece[unit..] != piece[..piece.len() - unit] {
        return (0, 0);
    }
    for size in [DIRECT, 3 * DIRECT, WINDOW] {
        if piece.len() < 2 * size {
            break;
        }
        let token = heaped(tables, &piece[..size])[0];
        let tokens = (piece.len() - size) / token;
        // If the rest begins with twice the same token, any number of it may stand before.
        if let [first, second, ..] = heaped(tables, &piece[tokens * token..])[..]
            && (first, second) == (token, 2 * token)
            && token.is_multiple_of(unit)
        {
            return (tokens * token, tokens);
        }
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::super::tables::make::{bytes_of, merge, ranked};
    use super::super::vocabulary::{CL100K, O200K};
    use super::*;

    const CHARS: &str = "abetnioxyz =-_*#./0149AMZ中日の é─━\n";
    const BEYOND: &str = " оенитрПСжλασéüñłşاللهمنيحةשלוםกานี่รับहिन्दी한국어이다のですカーン的是一不了在人有我他这𝒜😀’“…";

    #[test]
    fn merging_means_the_first_pair_of_the_lowest_rank_again_and_again() {
        for vocabulary in [&O200K, &CL100K] {
            let tables = &vocabulary.tables;
            let merges = ranked(tables.vocabulary()).unwrap();
            let (bytes, table) = (bytes_of(&merges.tokens).unwrap(), merges.table());
            let mut seed = 7_u64;
            let mut next = |below: usize| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) as usize % below
            };
            for round in 0..1_200 {
                let script = [CHARS, BEYOND][round / 2 % 2];
                let alphabet: Vec<char> =
                    (0..=next(8)).map(|_| script.chars().nth(next(script.chars().count())).unwrap()).collect();
                let length = if round % 20 == 0 { 2_500 } else { 90 };
                let piece: String = (0..=next(length)).map(|_| alphabet[next(alphabet.len())]).collect();
                let expected = merge(piece.as_bytes(), &bytes, &table);
                assert_eq!(count(tables, piece.as_bytes()), expected.len(), "{piece:?}");
                let mut end = 0;
                let stops: Vec<usize> = expected
                    .iter()
                    .map(|&token| {
                        end += merges.tokens[token as usize].len();
                        end
                    })
                    .collect();
                assert_eq!(ends(tables, piece.as_bytes()), stops, "{piece:?}");
            }
        }
    }

    #[test]
    fn every_token_is_one_token() {
        for vocabulary in [&O200K, &CL100K] {
            for token in vocabulary.tables.vocabulary() {
                assert_eq!(ends(&vocabulary.tables, &token), [token.len()], "{token:?}");
                if std::str::from_utf8(&token).is_ok() {
                    assert_eq!(count(&vocabulary.tables, &token), 1, "{token:?}");
                }
            }
        }
    }
}
