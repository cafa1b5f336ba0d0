//! Characters merge in pairs, the pair of the lowest rank first, of equal ones the first.

#![allow(clippy::cast_possible_truncation)] // pieces have numbers of 32 bits

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::neighbours::Neighbours;
use super::table::{Table, build};
use crate::cancel;

/// The symbol of a character that merges with none.
const ALONE: u32 = u32::MAX;

/// Symbols up to which a part is merged by the definition: a heap is no faster.
const DIRECT: usize = 48;

/// Two numbers as one.
fn wide(one: u32, other: u32) -> u64 {
    u64::from(one) << 32 | u64::from(other)
}

/// The pairs of a vocabulary: its symbols by number, tokens first.
#[derive(Debug)]
pub struct Merges {
    /// Symbols by their characters.
    chars: Table,
    /// Ranks and symbols by the symbols that merge, each of 32 bits.
    pairs: Table,
    tokens: u32,
    neighbours: Neighbours,
}

impl Merges {
    /// The merges of tokens and of pairs of texts with their ranks.
    ///
    /// Characters of pairs need not be tokens. None where a part of a pair is neither a token nor a character, or a pair makes
    /// no token.
    pub fn new<'t>(
        tokens: impl IntoIterator<Item = &'t str>,
        pairs: impl IntoIterator<Item = (&'t str, &'t str, u32)>,
    ) -> Option<Self> {
        let mut symbols: HashMap<String, u32> = HashMap::new();
        for token in tokens {
            let number = symbols.len() as u32;
            symbols.entry(token.to_owned()).or_insert(number);
        }
        let (known, mut neighbours, mut merges) = (symbols.len() as u32, Neighbours::default(), HashMap::new());
        for (left, right, rank) in pairs {
            let made = *symbols.get(&[left, right].concat()).filter(|&&made| made < known)?;
            let mut number = |part: &str| match symbols.get(part) {
                Some(&number) => Some(number),
                None if part.chars().count() == 1 => {
                    let number = symbols.len() as u32;
                    symbols.insert(part.to_owned(), number);
                    Some(number)
                }
                None => None,
            };
            merges.insert((number(left)?, number(right)?), (rank, made)); // of two equal pairs the last one counts
            neighbours.insert(left.chars().next_back()?, right.chars().next()?);
        }
        let single = |text: &str| {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        let chars =
            symbols.iter().filter_map(|(text, &number)| single(text).map(|c| (u64::from(c), u64::from(number))));
        let pairs = merges.iter().map(|(&(left, right), &(rank, made))| (wide(left, right), wide(rank, made)));
        let [chars, pairs] = [chars.collect::<Vec<_>>(), pairs.collect()].map(|entries| Vec::leak(build(&entries)));
        Some(Self { chars: Table(chars), pairs: Table(pairs), tokens: known, neighbours })
    }

    /// The merges of what [`Merges::tables`] returned.
    pub fn of(chars: &'static [u64], pairs: &'static [u64], neighbours: Neighbours, tokens: u32) -> Self {
        Self { chars: Table(chars), pairs: Table(pairs), tokens, neighbours }
    }

    /// The number of tokens, and the tables.
    pub fn tables(&self) -> (u32, [&[u64]; 3]) {
        (self.tokens, [self.chars.0, self.pairs.0, self.neighbours.words()])
    }

    /// The parts of a text that merge by themselves: no pair spans two of them.
    pub fn apart<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut left = text;
        std::iter::from_fn(move || {
            let part = self.neighbours.part(left);
            left = &left[part.len()..];
            (!part.is_empty()).then_some(part)
        })
    }

    /// Tokens of a part.
    pub fn count(&self, part: &str) -> usize {
        self.tokens(part).map(|(_, count)| count).sum()
    }

    /// The bytes of each merged piece of a part, and its tokens: one, or those of the bytes of a character.
    pub fn tokens(&self, part: &str) -> impl Iterator<Item = (usize, usize)> {
        let symbols = self.merged(part);
        let ends: Vec<usize> = symbols.iter().skip(1).map(|&(at, _)| at).chain([part.len()]).collect();
        let tokens = self.tokens;
        symbols.into_iter().zip(ends).map(move |((at, symbol), end)| {
            let bytes = end - at;
            (bytes, if symbol < tokens { 1 } else { bytes })
        })
    }

    /// Where each symbol of a part begins after merging, and its number.
    fn merged(&self, part: &str) -> Vec<(usize, u32)> {
        let number = |c: char| self.chars.get(u64::from(c)).map_or(ALONE, |number| number as u32);
        let mut symbols: Vec<(usize, u32)> = part.char_indices().map(|(at, c)| (at, number(c))).collect();
        if symbols.len() <= DIRECT {
            self.merge_directly(&mut symbols);
        } else {
            self.merge_by_heap(&mut symbols);
        }
        symbols
    }

    fn pair(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        if left == ALONE || right == ALONE {
            return None;
        }
        self.pairs.get(wide(left, right)).map(|both| ((both >> 32) as u32, both as u32))
    }

    /// By the definition.
    fn merge_directly(&self, symbols: &mut Vec<(usize, u32)>) {
        let mut pairs: Vec<_> = symbols.windows(2).map(|two| self.pair(two[0].1, two[1].1)).collect();
        loop {
            let first =
                pairs.iter().enumerate().filter_map(|(at, pair)| pair.map(|(rank, made)| (rank, at, made))).min();
            let Some((_, at, made)) = first else { return };
            symbols[at].1 = made;
            symbols.remove(at + 1);
            pairs.remove(at);
            if at > 0 {
                pairs[at - 1] = self.pair(symbols[at - 1].1, made);
            }
            if at < pairs.len() {
                pairs[at] = self.pair(made, symbols[at + 1].1);
            }
        }
    }

    /// The same in O(n log n).
    fn merge_by_heap(&self, symbols: &mut Vec<(usize, u32)>) {
        let length = symbols.len();
        // A doubly linked list of symbols by place; `length` for none.
        let mut next: Vec<usize> = (1..=length).collect();
        let mut before: Vec<usize> = (0..length).map(|at| at.checked_sub(1).unwrap_or(length)).collect();
        let mut live = vec![true; length];
        let entry = |at: usize, left: u32, right: u32| {
            self.pair(left, right).map(|(rank, made)| Reverse((rank, at, left, right, made)))
        };
        let mut heap: BinaryHeap<_> =
            (0..length - 1).filter_map(|at| entry(at, symbols[at].1, symbols[at + 1].1)).collect();
        while let Some(Reverse((_, at, left, right, made))) = heap.pop() {
            cancel::poll();
            let behind = next[at];
            // An entry is stale if one of its symbols has been merged since.
            if !live[at] || behind == length || symbols[at].1 != left || symbols[behind].1 != right {
                continue;
            }
            symbols[at].1 = made;
            live[behind] = false;
            next[at] = next[behind];
            if next[at] < length {
                before[next[at]] = at;
                heap.extend(entry(at, made, symbols[next[at]].1));
            }
            if before[at] < length {
                heap.extend(entry(before[at], symbols[before[at]].1, made));
            }
        }
        let mut kept = live.into_iter();
        symbols.retain(|_| kept.next().unwrap_or(true));
    }
}
