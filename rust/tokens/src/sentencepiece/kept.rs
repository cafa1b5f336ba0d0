//! The tables of a vocabulary as they are kept between processes: a header, the settings as JSON, and three tables, which are
//! used where they lie.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::merge::Merges;
use super::neighbours::Neighbours;
use super::rewrite::Step;
use super::unigram::{Settings, Unigram};
use super::{Model, Pairs, Parts};
use crate::bpe::kept::{halves, in_words};

/// Words of the header: two cache lines, so that what follows begins one.
const HEADER: usize = 16;

/// The first word: the format's name and version. What the words mean changes it.
const FORMAT: u64 = u64::from_le_bytes(*b"pieces02");

/// Where the header has the file's digest, that of its own content, and the lengths of the settings and of the tables.
const FILE: Range<usize> = 1..3;
const CONTENT: Range<usize> = 3..5;
const LENGTHS: usize = 5;

/// What is kept beside the tables.
#[derive(Serialize, Deserialize)]
struct Stored {
    steps: Vec<Step>,
    /// Of pieces with scores; else pairs merge.
    unigram: Option<Settings>,
    /// Texts that are one token wherever they stand.
    whole: Vec<String>,
    /// The number of tokens that pairs merge to.
    tokens: u32,
}

/// The words of a vocabulary that was made of the file with a digest; None where its settings cannot be written.
pub fn words_of(digest: u128, parts: &Parts) -> Option<Vec<u64>> {
    let steps = parts.steps.clone();
    let (stored, tables) = match &parts.model {
        Model::Unigram(unigram) => {
            let (settings, tables) = unigram.tables();
            (Stored { steps, unigram: Some(settings.clone()), whole: Vec::new(), tokens: 0 }, tables)
        }
        Model::Merges(pairs) => {
            let (tokens, tables) = pairs.merges.tables();
            (Stored { steps, unigram: None, whole: pairs.whole.clone(), tokens }, tables)
        }
    };
    let settings = serde_json::to_vec(&stored).ok()?;
    let mut words = vec![0; HEADER];
    words[0] = FORMAT;
    words[FILE].copy_from_slice(&halves(digest));
    words[LENGTHS] = settings.len() as u64;
    words.extend(in_words(&settings));
    words.resize(words.len().next_multiple_of(HEADER / 2), 0);
    for (place, table) in tables.iter().enumerate() {
        words[LENGTHS + 1 + place] = table.len() as u64;
        words.extend_from_slice(table);
    }
    let content = halves(content(&words));
    words[CONTENT].copy_from_slice(&content);
    Some(words)
}

/// The parts that these words were made of; None if they are damaged, of another file, or of another version.
pub fn restored(words: &'static [u64], digest: u128) -> Option<Parts> {
    let header = words.get(..HEADER)?;
    let is_ours = header[0] == FORMAT && header[FILE] == halves(digest);
    if !is_ours || header[CONTENT] != halves(content(words)) {
        return None;
    }
    let length = |place: usize| usize::try_from(header[LENGTHS + place]).ok();
    let settings = length(0)?;
    let mut start = HEADER + settings.div_ceil(8);
    let bytes: &[u8] = bytemuck::cast_slice(words.get(HEADER..start)?);
    let stored: Stored = serde_json::from_slice(bytes.get(..settings)?).ok()?;
    start = start.next_multiple_of(HEADER / 2);
    let mut table = |place: usize| {
        let end = start.checked_add(length(place)?)?;
        let table = words.get(start..end)?;
        start = end;
        Some(table)
    };
    let (one, other, neighbours) = (table(1)?, table(2)?, Neighbours::of(table(3)?));
    let model = match stored.unigram {
        Some(settings) => Model::Unigram(Unigram::of(one, other, neighbours, settings)),
        None => Model::Merges(Pairs::new(stored.whole, Merges::of(one, other, neighbours, stored.tokens))),
    };
    Some(Parts { steps: stored.steps, model })
}

/// Digest of all words but those of the digest itself.
fn content(words: &[u64]) -> u128 {
    xxh3_128(bytemuck::cast_slice(&words[LENGTHS..])) ^ u128::from(words[0])
}
