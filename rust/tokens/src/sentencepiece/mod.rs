//! Vocabularies of characters, as `SentencePiece` trains them: pairs that merge (Llama 2, Mistral before Tekken, Gemma), or
//! pieces with scores (T5, and many of Chinese and Japanese makers). A space is `▁`.

mod charsmap;
mod json;
mod kept;
mod merge;
pub mod model;
mod neighbours;
pub mod rewrite;
mod table;
mod trie;
mod unigram;
mod ways;

use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_128;

use self::kept::{restored, words_of};
use self::merge::Merges;
use self::rewrite::{Ready, Step, rewritten, traced};
use self::unigram::Unigram;
use self::ways::{SHORT, Ways};
use crate::bpe::kept::Keeper;
use crate::bpe::load::{Kept, is_json};
use crate::cancel;
use crate::edges::edges;

/// The character that vocabularies have for a space.
const SPACE: char = '▁';

thread_local! {
    static WAYS: RefCell<Ways> = RefCell::default();
}

/// The vocabularies that were loaded.
static READ: Kept<SentencePiece> = Kept::new();

/// The parts of a vocabulary.
#[derive(Debug)]
pub struct Parts {
    steps: Vec<Step>,
    model: Model,
}

/// How a text is laid with pieces.
#[derive(Debug)]
pub enum Model {
    /// By pairs that merge.
    Merges(Pairs),
    /// By scores.
    Unigram(Unigram),
}

/// Pairs that merge, and texts that are one token wherever they stand.
#[derive(Debug)]
pub struct Pairs {
    /// These texts, the longest first.
    whole: Vec<String>,
    /// The bytes that they begin with: few, and every byte of a text is compared with them.
    begins: Vec<u8>,
    merges: Merges,
}

impl Pairs {
    fn new(mut whole: Vec<String>, merges: Merges) -> Self {
        whole.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut begins: Vec<u8> = whole.iter().filter_map(|text| text.bytes().next()).collect();
        begins.sort_unstable();
        begins.dedup();
        Self { whole, begins, merges }
    }
}

/// A vocabulary.
#[derive(Debug)]
pub struct SentencePiece {
    name: String,
    steps: Vec<Ready>,
    model: Model,
}

impl PartialEq for SentencePiece {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SentencePiece {}

impl SentencePiece {
    /// The vocabulary of a `.model` file or of a `tokenizer.json`; the same file gives the same one. None where it is no
    /// such file. `keeper` has the tables of earlier processes.
    ///
    /// # Errors
    ///
    /// Says what is not known.
    pub fn read(data: &[u8], name: &str, keeper: &dyn Keeper) -> Result<Option<&'static Self>, String> {
        let digest = xxh3_128(data);
        if let Some(before) = Self::known(digest, name, keeper) {
            return Ok(Some(before));
        }
        let parts = if is_json(data) { json::read(data)? } else { model::read(data)? };
        let words = parts.as_ref().and_then(|parts| words_of(digest, parts));
        if let Some(words) = words {
            keeper.put(digest, &words);
        }
        Ok(parts.map(|parts| Self::keep(digest, name, parts)))
    }

    /// The vocabulary of a file with this XXH3 digest, if this process or an earlier one has made it.
    pub fn known(digest: u128, name: &str, keeper: &dyn Keeper) -> Option<&'static Self> {
        READ.get(digest).or_else(|| Some(Self::keep(digest, name, restored(keeper.get(digest)?, digest)?)))
    }

    /// The vocabulary of a file with that digest: the one that was kept before, or that of these parts.
    pub fn keep(digest: u128, name: &str, parts: Parts) -> &'static Self {
        let steps = parts.steps.into_iter().map(Ready::new).collect();
        READ.get(digest).unwrap_or_else(|| READ.keep(digest, Self { name: name.to_owned(), steps, model: parts.model }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tokens of `text`.
    pub fn count(&'static self, text: &str) -> usize {
        let (text, own) = (rewritten(&self.steps, text), std::ptr::from_ref(self).addr());
        WAYS.with_borrow_mut(|ways| {
            ways.take(own);
            match &self.model {
                Model::Merges(pairs) => {
                    pairs.sections(&text).map(|section| section.map_or(1, |text| pairs.count(text, ways))).sum()
                }
                Model::Unigram(unigram) => unigram.count(&text, ways),
            }
        })
    }

    /// Where the first `head` tokens of `text` end and the last `tail` begin, at whole characters; None where it has no
    /// more tokens than that.
    pub fn edges(&'static self, text: &str, head: usize, tail: usize) -> Option<(usize, usize)> {
        let whole = traced(&self.steps, text);
        let (mut tokens, mut start) = (Vec::new(), 0);
        let mut put = |length: usize, count: usize| {
            // The tokens of the bytes of several characters are those of each one.
            let parts = if count == length { whole.text[start..start + length].chars().count() } else { 1 };
            for part in whole.text[start..start + length].chars().map(char::len_utf8).take(parts) {
                let (length, count) = if parts == 1 { (length, count) } else { (part, part) };
                let places = &whole.places[start..start + length];
                let place = places.first().map_or(0, |place| place.start)..places.last().map_or(0, |place| place.end);
                tokens.extend(std::iter::repeat_n((place.start, place.end), count));
                start += length;
            }
        };
        match &self.model {
            Model::Merges(pairs) => pairs.tokens(&whole.text, &mut put),
            Model::Unigram(unigram) => unigram.tokens(&whole.text, &mut put),
        }
        edges(&tokens, text, head, tail)
    }
}

impl Pairs {
    fn count(&self, text: &str, ways: &mut Ways) -> usize {
        let merges = &self.merges;
        merges
            .apart(text)
            .map(|part| {
                cancel::poll();
                if part.len() > SHORT {
                    return merges.count(part);
                }
                let place = Ways::place(part);
                ways.count(part, place).unwrap_or_else(|| {
                    let count = merges.count(part);
                    ways.insert(part, place, count, None);
                    count
                })
            })
            .sum()
    }

    /// Calls `put` with bytes of a text, in order, and the number of tokens that they are.
    fn tokens(&self, text: &str, put: &mut impl FnMut(usize, usize)) {
        let mut start = 0;
        for section in self.sections(text) {
            match section {
                None => {
                    let length = self.whole_at(&text[start..]).map_or(0, str::len);
                    put(length, 1);
                    start += length;
                }
                Some(section) => {
                    for (length, count) in self.merges.apart(section).flat_map(|part| self.merges.tokens(part)) {
                        put(length, count);
                    }
                    start += section.len();
                }
            }
        }
    }

    /// The text between the texts that are one token, and None for each of these.
    fn sections<'t>(&self, text: &'t str) -> impl Iterator<Item = Option<&'t str>> {
        let mut left = Some(text).filter(|text| !text.is_empty());
        std::iter::from_fn(move || {
            let text = left?;
            if let Some(whole) = self.whole_at(text) {
                left = Some(&text[whole.len()..]).filter(|text| !text.is_empty());
                return Some(None);
            }
            let end = self.next_whole(text);
            left = Some(&text[end..]).filter(|text| !text.is_empty());
            Some(Some(&text[..end]))
        })
    }

    /// The text that is one token at the start of `text`.
    fn whole_at(&self, text: &str) -> Option<&str> {
        self.whole.iter().map(String::as_str).find(|whole| text.starts_with(whole))
    }

    /// Where the next text that is one token begins.
    fn next_whole(&self, text: &str) -> usize {
        let is_next = |&(at, byte): &(usize, u8)| {
            cancel::poll_at(at);
            self.begins.contains(&byte) && self.whole_at(&text[at..]).is_some()
        };
        if self.whole.is_empty() {
            return text.len();
        }
        text.bytes().enumerate().find(is_next).map_or(text.len(), |(at, _)| at)
    }
}
