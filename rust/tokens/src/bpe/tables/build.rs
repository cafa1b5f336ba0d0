//! Builds the tables from the merges of a vocabulary, or from the ranks of its tokens.

use std::collections::HashMap;

use super::cross::packed;
use super::{HEADER, Key, MANY, NONE, PAIRS, SECTIONS, SHORT, TOKEN, Whole, bucket_of, cross, hash_pair, short};

/// Longest token of a `tokenizer.json` in bytes; the longest of 44 known ones has 512.
const LONGEST: usize = 1024;

/// A byte-pair vocabulary: tokens by rank, and the two parts that each is merged from.
pub struct Merges {
    /// The bytes of each token.
    pub tokens: Vec<Vec<u8>>,
    /// The parts of each token; None for a single byte. A part may have a higher rank than its token.
    pub parts: Vec<Option<(u32, u32)>>,
}

impl Merges {
    /// The token that each pair of tokens merges into.
    pub fn table(&self) -> HashMap<(u32, u32), u32> {
        self.parts.iter().zip(0..).filter_map(|(parts, token)| parts.map(|parts| (parts, token))).collect()
    }
}

/// The tokens of `pretoken`, by the definition of byte-pair encoding: merge the first pair of the lowest rank until no
/// pair merges.
pub fn merge(pretoken: &[u8], bytes: &[u32; 256], merges: &HashMap<(u32, u32), u32>) -> Vec<u32> {
    let mut tokens: Vec<u32> = pretoken.iter().map(|&byte| bytes[usize::from(byte)]).collect();
    loop {
        let ranks = tokens.windows(2).map(|pair| merges.get(&(pair[0], pair[1])).copied().unwrap_or(NONE));
        match ranks.enumerate().min_by_key(|&(_, rank)| rank) {
            Some((at, rank)) if rank != NONE => {
                tokens[at] = rank;
                tokens.remove(at + 1);
            }
            _ => return tokens,
        }
    }
}

/// The token of each byte.
///
/// # Errors
///
/// Names the byte that has no token.
pub fn bytes_of(tokens: &[Vec<u8>]) -> Result<[u32; 256], String> {
    let mut bytes = [NONE; 256];
    for (token, number) in tokens.iter().zip(0..) {
        if let [byte] = token[..] {
            bytes[usize::from(byte)] = number;
        }
    }
    match bytes.iter().position(|&token| token == NONE) {
        Some(byte) => Err(format!("byte {byte} has no token")),
        None => Ok(bytes),
    }
}

/// The merges of tokens given by rank: the parts of a token are the two tokens that the lower ranks make of its bytes.
///
/// # Errors
///
/// Names the token that no merge makes, or the byte that has no token.
pub fn ranked(tokens: Vec<Vec<u8>>) -> Result<Merges, String> {
    let bytes = bytes_of(&tokens)?;
    let mut merges = HashMap::with_capacity(tokens.len());
    let mut parts = Vec::with_capacity(tokens.len());
    for (token, number) in tokens.iter().zip(0..) {
        if token.len() == 1 {
            parts.push(None);
            continue;
        }
        let [left, right] = merge(token, &bytes, &merges)[..] else {
            return Err(format!("token {number} cannot be reached by merges"));
        };
        merges.insert((left, right), number);
        parts.push(Some((left, right)));
    }
    Ok(Merges { tokens, parts })
}

/// The merges of a list in the order in which they apply, of which only some are of use.
///
/// Lists that were made of ranks have every pair of tokens that is a token, in any order of the parts. Merging the bytes of a
/// token by itself passes one state of two tokens at most, and wherever two tokens that make it are neighbours, they are
/// those two: what is merged inside of them does not depend on what is around them. So each token has one merge of use, or
/// none, and then the merges do not reach it. `is_token` says whether the vocabulary has a part that no merge makes.
///
/// # Errors
///
/// Names the part of a merge that is no token, or the token that is too long to be merged by the definition.
pub fn in_order(list: &[(Vec<u8>, Vec<u8>)], is_token: impl Fn(&[u8]) -> bool) -> Result<Merges, String> {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let mut known: HashMap<Vec<u8>, u32> = tokens.iter().cloned().zip(0..).collect();
    let made: Vec<u32> = list
        .iter()
        .map(|(left, right)| {
            let token = [&left[..], right].concat();
            *known.entry(token).or_insert_with_key(|token| {
                tokens.push(token.clone());
                tokens.len() as u32 - 1
            })
        })
        .collect();
    short_enough(&tokens)?;
    let mut ranks = HashMap::with_capacity(list.len());
    for (((left, right), &token), rank) in list.iter().zip(&made).zip(0_u32..) {
        if let (Some(&first), Some(&second)) = (known.get(left), known.get(right)) {
            ranks.insert((first, second), (rank, token)); // of two equal pairs the last one counts
        } else if let Some(part) = [left, right].into_iter().find(|part| !known.contains_key(*part) && !is_token(part))
        {
            return Err(format!("a merge of what is no token: {:?}", String::from_utf8_lossy(part)));
        }
    }
    let mut used: Vec<(u32, u32, (u32, u32))> = (256..tokens.len() as u32)
        .filter_map(|token| last_merge(&tokens[token as usize], &ranks).map(|(rank, parts)| (rank, token, parts)))
        .collect();
    used.sort_unstable();
    let numbers: HashMap<u32, u32> = (0..256).chain(used.iter().map(|&(_, token, _)| token)).zip(0..).collect();
    let number = |token: u32| numbers.get(&token).copied().unwrap_or(NONE); // what merges has been merged itself
    let mut merges = Merges { tokens: tokens[..256].to_vec(), parts: vec![None; 256] };
    for (_, token, (left, right)) in used {
        merges.tokens.push(std::mem::take(&mut tokens[token as usize]));
        merges.parts.push(Some((number(left), number(right))));
    }
    Ok(merges)
}

/// Checks that no token is too long: a merge by the definition takes time in proportion to the square of the length.
pub fn short_enough<'t>(tokens: impl IntoIterator<Item = &'t Vec<u8>>) -> Result<(), String> {
    match tokens.into_iter().find(|token| token.len() > LONGEST) {
        Some(token) => Err(format!("a token of {} bytes, more than {LONGEST}", token.len())),
        None => Ok(()),
    }
}

/// The rank and the parts of the merge that makes a token of its bytes; None if they do not merge into it.
fn last_merge(token: &[u8], ranks: &HashMap<(u32, u32), (u32, u32)>) -> Option<(u32, (u32, u32))> {
    let mut parts: Vec<u32> = token.iter().map(|&byte| u32::from(byte)).collect();
    loop {
        let pairs = parts.windows(2).enumerate();
        let merges =
            pairs.filter_map(|(at, pair)| ranks.get(&(pair[0], pair[1])).map(|&(rank, made)| (rank, at, made)));
        let (rank, at, made) = merges.min()?;
        if parts.len() == 2 {
            return Some((rank, (parts[0], parts[1])));
        }
        parts[at] = made;
        parts.remove(at + 1);
    }
}

/// The words that [`Tables::read`](super::Tables::read) reads. Each of `whole` is one token as a pretoken, although no merge
/// makes it. Where it is None, short tokens are left out, half of the words: reading makes them of the merges, in a vocabulary
/// of ranks, whose tokens are all made by merges.
///
/// # Errors
///
/// The vocabulary has a byte without a token, or too many tokens.
pub fn make(merges: &Merges, whole: Option<&Whole>) -> Result<Vec<u64>, String> {
    if merges.tokens.len() >= 1 << TOKEN {
        return Err(format!("{} tokens are more than the tables can name", merges.tokens.len()));
    }
    let bytes = bytes_of(&merges.tokens)?;
    let table = merges.table();
    let count = |pretoken: &[u8]| merge(pretoken, &bytes, &table).len();
    let mut ascii = vec![NONE; 128 * 128];
    for (&(left, right), &token) in &table {
        if let ([left], [right]) = (&merges.tokens[left as usize][..], &merges.tokens[right as usize][..])
            && (left | right) & 0x80 == 0
        {
            ascii[usize::from(*left) << 7 | usize::from(*right)] = token;
        }
    }
    let chars: Vec<u32> = (0..0x1_0000_u32)
        .map(|point| {
            let char = char::from_u32(point).map(|c| merge(c.encode_utf8(&mut [0; 4]).as_bytes(), &bytes, &table));
            match char.as_deref() {
                Some(&[token]) => token,
                several => MANY + several.map_or(0, |tokens| tokens.len() as u32),
            }
        })
        .collect();
    let sections: [Vec<u64>; SECTIONS] = [
        whole.map(|whole| short_tokens(&merges.tokens, whole, count)).unwrap_or_default(),
        pairs(&table),
        packed(&ascii),
        packed(&bytes),
        packed(&chars),
        cross::make(&merges.tokens),
    ];
    let mut words = vec![0; HEADER];
    for (section, place) in sections.iter().zip(0..) {
        words[place] = section.len() as u64;
    }
    let mut numbers =
        [(1, 10), (2, 100), (3, 1000)].into_iter().flat_map(|(width, all)| (0..all).map(move |n| (n, width)));
    let whole = numbers.all(|(n, width)| count(format!("{n:0width$}").as_bytes()) == 1);
    words[SECTIONS] = u64::from(whole) | u64::from(chars_come_first(merges)) << 1;
    words.extend(sections.concat());
    Ok(words)
}

/// Whether the bytes of each character merge before any token that holds the whole character and more.
///
/// Characters beside a part of another one do not count: where such a token can be, no character is taken as a unit.
fn chars_come_first(merges: &Merges) -> bool {
    let mut of_char = HashMap::new();
    let chars = |token: &[u8]| -> Vec<char> {
        let cut = token.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
        let text = token[cut..].utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let is_cut_behind = cut + text.len() < token.len();
        let whole = text.chars().count();
        text.chars().take(whole - usize::from(is_cut_behind).min(whole)).skip(usize::from(cut > 0)).collect()
    };
    for (token, number) in merges.tokens.iter().zip(0_u32..) {
        if let [char] = chars(token)[..]
            && token.len() == char.len_utf8()
        {
            of_char.insert(char, last_inside(&merges.parts, number));
        }
    }
    merges.tokens.iter().zip(0_u32..).all(|(token, number)| {
        let found = chars(token);
        found
            .iter()
            .all(|char| char.len_utf8() == token.len() || of_char.get(char).is_none_or(|&merged| merged < number))
    })
}

/// The highest rank of the merges that make a token.
fn last_inside(parts: &[Option<(u32, u32)>], token: u32) -> u32 {
    parts[token as usize].map_or(token, |(left, right)| {
        token.max(last_inside(parts, left)).max(last_inside(parts, right)) // a character has four bytes at most
    })
}

/// The table of the tokens of at most [`SHORT`] bytes.
fn short_tokens(tokens: &[Vec<u8>], whole: &Whole, count: impl Fn(&[u8]) -> usize) -> Vec<u64> {
    let mut whole: Vec<&Vec<u8>> = whole.keys().collect();
    whole.sort_unstable();
    let counted = tokens.iter().map(|token| (token, count(token))).chain(whole.into_iter().map(|token| (token, 1)));
    let short = counted.filter(|(token, _)| token.len() <= SHORT);
    let entries = short.map(|(token, count)| {
        let key = Key::of(token, 0, token.len());
        Key { high: key.with_count(count), ..key }
    });
    let entries: Vec<_> = entries.collect();
    let mut words = vec![0; short::words(entries.len())];
    short::write(&mut words, &entries);
    words
}

/// Hash table of the pairs at a load of 60 %.
fn pairs(table: &HashMap<(u32, u32), u32>) -> Vec<u64> {
    let buckets = table.len() * 5 / 3 / PAIRS + 1;
    let mut slots = vec![u64::MAX; buckets * PAIRS];
    let mut sorted: Vec<(u32, (u32, u32))> = table.iter().map(|(&parts, &token)| (token, parts)).collect();
    sorted.sort_unstable(); // makes the build reproducible
    for (token, (left, right)) in sorted {
        let pair = u64::from(left) << TOKEN | u64::from(right);
        let mut at = bucket_of(hash_pair(pair), buckets) * PAIRS;
        while slots[at] != u64::MAX {
            at = (at + 1) % slots.len();
        }
        slots[at] = pair << TOKEN | u64::from(token);
    }
    slots
}
