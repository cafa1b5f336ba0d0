//! Byte-pair merging: the number of tokens of a pretoken, and where they end.
//!
//! A pretoken of at most [`DIRECT`] bytes is merged by the definition. A longer one is merged in windows. This is exact: a
//! sequence of tokens is the result of merging if and only if each two neighbours are the result of merging their own
//! bytes. So the tokens of two windows can be joined if the last token of the one and the first of the other pass.

#![allow(clippy::cast_possible_truncation)] // two numbers share a word

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::bpe::merge_state::{DIRECT, MergeState, direct};
use crate::bpe::pretokenize::classes::decode;
use crate::bpe::tables::{NONE, Tables};
use crate::cancel;

/// Bytes of a window; the tokens of its first three quarters are kept. The longest token of `o200k_base` has 128 bytes.
const WINDOW: usize = 512;

/// Bits of an index into a pretoken, which shares a word with a rank: enough for a terabyte.
const INDEX: u32 = 40;

/// Tokens of `pretoken`, which must be whole characters.
pub fn count(tables: &Tables, pretoken: &[u8]) -> usize {
    match pretoken.len() {
        0 | 1 => pretoken.len(),
        2..=DIRECT => direct(tables, pretoken),
        _ => {
            let (bytes, tokens) = repeated(tables, pretoken);
            tokens + windows::<Number>(tables, &pretoken[bytes..]).0
        }
    }
}

/// Where the tokens of `pretoken` end, counted in bytes from its start.
pub fn ends(tables: &Tables, pretoken: &[u8]) -> Vec<usize> {
    if tables.whole.is_some_and(|whole| whole.contains_key(pretoken)) {
        return vec![pretoken.len()];
    }
    windows(tables, pretoken)
}

/// Where the tokens of `pretoken` end, by a heap of its pairs: O(n log n).
fn heaped(tables: &Tables, pretoken: &[u8]) -> Vec<usize> {
    let length = pretoken.len();
    if length <= DIRECT {
        let live = MergeState::<DIRECT>::of_bytes(tables, pretoken, 0).merged(tables);
        return (1..length).filter(|&at| live >> at & 1 == 1).chain([length]).collect();
    }
    let mut tokens: Vec<u32> = pretoken.iter().map(|&byte| tables.byte(byte)).collect();
    // A doubly linked list of tokens, by their start; `length` for none.
    let mut next: Vec<usize> = (1..=length).collect();
    let mut before: Vec<usize> = (0..length).map(|at| at.checked_sub(1).unwrap_or(length)).collect();
    let entry = |rank: u32, at: usize| Reverse(u64::from(rank) << INDEX | at as u64);
    let mut heap: BinaryHeap<Reverse<u64>> = pretoken
        .windows(2)
        .enumerate()
        .map(|(at, pair)| (tables.merged_bytes(pair[0], pair[1]), at))
        .filter(|&(rank, _)| rank != NONE)
        .map(|(rank, at)| entry(rank, at))
        .collect();
    while let Some(Reverse(least)) = heap.pop() {
        cancel::poll();
        let (rank, at) = ((least >> INDEX) as u32, (least & ((1 << INDEX) - 1)) as usize);
        let right = next[at];
        // An entry is stale if one of its tokens has been merged since.
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

/// Whether `pretoken`, which is two tokens that meet at `middle`, merges to these two tokens.
fn joins(tables: &Tables, pretoken: &[u8], middle: usize) -> bool {
    heaped(tables, pretoken) == [middle, pretoken.len()]
}

/// Where the tokens of a long pretoken end: merged in windows, which grow until neighbouring windows join.
fn windows<E: Default + Extend<usize>>(tables: &Tables, pretoken: &[u8]) -> E {
    let mut size = WINDOW;
    loop {
        let mut ends = E::default();
        if windows_of(tables, pretoken, size, &mut ends) {
            return ends;
        }
        size *= 4;
    }
}

/// Writes where the tokens end, with windows of `size` bytes; false if two windows do not join.
fn windows_of(tables: &Tables, pretoken: &[u8], size: usize, ends: &mut impl Extend<usize>) -> bool {
    let (mut at, mut last) = (0, 0); // start of the window, and of the last token before it
    loop {
        let stop = pretoken.len().min(at + size);
        let found = heaped(tables, &pretoken[at..stop]);
        if at > 0 && !joins(tables, &pretoken[last..at + found[0]], at - last) {
            return false;
        }
        if stop == pretoken.len() {
            ends.extend(found.iter().map(|end| at + end));
            return true;
        }
        // The bytes after the window can change the tokens near its end.
        let kept = &found[..found.partition_point(|&end| end <= size * 3 / 4)];
        ends.extend(kept.iter().map(|end| at + end));
        let [.., before, end] = *kept else { return false };
        (last, at) = (at + before, at + end);
    }
}

/// Counts the ends without storing them: a string of a hundred megabytes has tens of millions.
#[derive(Default)]
struct Number(usize);

impl Extend<usize> for Number {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, ends: I) {
        self.0 += ends.into_iter().count();
    }
}

/// For a pretoken that repeats one character: the bytes at its start that are copies of one token and need no merging, and
/// the number of these tokens.
fn repeated(tables: &Tables, pretoken: &[u8]) -> (usize, usize) {
    let unit = decode(pretoken, 0, pretoken[0]).length;
    if pretoken[unit..] != pretoken[..pretoken.len() - unit] {
        return (0, 0);
    }
    for size in [DIRECT, 3 * DIRECT, WINDOW] {
        if pretoken.len() < 2 * size {
            break;
        }
        let token = heaped(tables, &pretoken[..size])[0];
        let tokens = (pretoken.len() - size) / token;
        // If the rest begins with this token twice, any number of copies may precede it.
        if let [first, second, ..] = heaped(tables, &pretoken[tokens * token..])[..]
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
    use super::*;
    use crate::bpe::tables::build::{bytes_of, merge, ranked};
    use crate::bpe::vocabulary::{CL100K, O200K};

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
                let pretoken: String = (0..=next(length)).map(|_| alphabet[next(alphabet.len())]).collect();
                let expected = merge(pretoken.as_bytes(), &bytes, &table);
                assert_eq!(count(tables, pretoken.as_bytes()), expected.len(), "{pretoken:?}");
                let mut end = 0;
                let stops: Vec<usize> = expected
                    .iter()
                    .map(|&token| {
                        end += merges.tokens[token as usize].len();
                        end
                    })
                    .collect();
                assert_eq!(ends(tables, pretoken.as_bytes()), stops, "{pretoken:?}");
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
