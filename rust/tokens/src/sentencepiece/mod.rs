//! Vocabularies of characters and of pairs that merge, as `SentencePiece` trains them: Llama 2, Mistral before Tekken,
//! Gemma. A space is `▁`. A character without a token is the tokens of its bytes.

mod json;
mod merge;
pub mod model;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128;

use self::merge::Merges;
use crate::bpe::load::{Kept, is_json};
use crate::cancel;
use crate::edges::edges;

/// The character that vocabularies have for a space.
const SPACE: char = '▁';

/// Bytes of a part whose count is kept; a longer one does not come again.
const SHORT: usize = 64;

/// Counts that a thread keeps, a few megabytes.
const KEPT: usize = 1 << 16;

thread_local! {
    static COUNTS: RefCell<Counts> = RefCell::default();
}

/// The vocabularies that were loaded.
static READ: Kept<SentencePiece> = Kept::new();

/// The space in front of a text that is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    None,
    Always,
    /// Unless the text begins with one.
    Missing,
}

/// The parts of a vocabulary.
#[derive(Debug)]
pub struct Parts {
    prefix: Prefix,
    /// Texts that are one token wherever they stand, the longest first.
    whole: Vec<String>,
    /// The bytes that these begin with: few, and every byte of a text is compared with them.
    begins: Vec<u8>,
    merges: Merges,
}

impl Parts {
    fn new(prefix: Prefix, mut whole: Vec<String>, merges: Merges) -> Self {
        whole.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut begins: Vec<u8> = whole.iter().filter_map(|text| text.bytes().next()).collect();
        begins.sort_unstable();
        begins.dedup();
        Self { prefix, whole, begins, merges }
    }
}

/// A vocabulary.
#[derive(Debug)]
pub struct SentencePiece {
    name: String,
    parts: Parts,
}

impl PartialEq for SentencePiece {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SentencePiece {}

impl SentencePiece {
    /// The vocabulary of a `.model` file or of a `tokenizer.json`; the same file gives the same one. None where it is no
    /// such file.
    pub fn read(data: &[u8], name: &str) -> Result<Option<&'static Self>, String> {
        let digest = xxh3_128(data);
        if let Some(before) = READ.get(digest) {
            return Ok(Some(before));
        }
        let parts = if is_json(data) { json::read(data) } else { model::read(data)? };
        Ok(parts.map(|parts| Self::keep(digest, name, parts)))
    }

    /// The vocabulary of a file with that digest: the one that was kept before, or that of these parts.
    pub fn keep(digest: u128, name: &str, parts: Parts) -> &'static Self {
        READ.get(digest).unwrap_or_else(|| READ.keep(digest, Self { name: name.to_owned(), parts }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tokens of `text`.
    pub fn count(&'static self, text: &str) -> usize {
        let text = self.normal(text);
        COUNTS.with_borrow_mut(|counts| {
            counts.take(std::ptr::from_ref(self).addr());
            self.sections(&text).map(|section| section.map_or(1, |text| self.count_section(text, counts))).sum()
        })
    }

    fn count_section(&self, text: &str, counts: &mut Counts) -> usize {
        let merges = &self.parts.merges;
        merges
            .apart(text)
            .map(|part| {
                cancel::poll();
                if part.len() > SHORT {
                    return merges.count(part);
                }
                if let Some(&count) = counts.of.get(part) {
                    return count as usize;
                }
                let count = merges.count(part);
                counts.keep(part, count);
                count
            })
            .sum()
    }

    /// Where the first `head` tokens of `text` end and the last `tail` begin, at whole characters; None where it has no
    /// more tokens than that.
    pub fn edges(&self, text: &str, head: usize, tail: usize) -> Option<(usize, usize)> {
        let normal = self.normal(text);
        let added = normal.chars().count() - text.chars().count();
        // The characters of both texts are the same ones, behind the space that was added.
        let mut places = std::iter::repeat_n(0, added).chain(text.char_indices().map(|(at, c)| at + c.len_utf8()));
        let (mut read, mut place) = (0, 0);
        let mut upto = |end: usize| {
            while read < end {
                read += normal[read..].chars().next().map_or(1, char::len_utf8);
                place = places.next().unwrap_or(text.len());
            }
            place
        };
        let (mut tokens, mut start, mut from) = (Vec::new(), 0, 0);
        for section in self.sections(&normal) {
            let begin = from;
            let found = match section {
                None => vec![(self.whole_at(&normal[begin..]).map_or(0, str::len), 1)],
                Some(text) => self.parts.merges.apart(text).flat_map(|part| self.parts.merges.tokens(part)).collect(),
            };
            for (length, count) in found {
                from += length;
                let end = upto(from);
                tokens.extend(std::iter::repeat_n((start, end), count));
                start = end;
            }
        }
        edges(&tokens, text, head, tail)
    }

    /// The text as the vocabulary has it: spaces as [`SPACE`], and one in front.
    fn normal<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let prefix = match self.parts.prefix {
            Prefix::Always => !text.is_empty(),
            Prefix::Missing => !text.is_empty() && !text.starts_with([' ', SPACE]),
            Prefix::None => false,
        };
        if !prefix && !text.contains(' ') {
            return Cow::Borrowed(text);
        }
        let mut normal = String::with_capacity(text.len() + text.len() / 2);
        normal.extend(prefix.then_some(SPACE));
        for (n, word) in text.split(' ').enumerate() {
            normal.extend((n > 0).then_some(SPACE));
            normal.push_str(word);
        }
        Cow::Owned(normal)
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
        self.parts.whole.iter().map(String::as_str).find(|whole| text.starts_with(whole))
    }

    /// Where the next text that is one token begins.
    fn next_whole(&self, text: &str) -> usize {
        let is_next = |&(at, byte): &(usize, u8)| {
            cancel::poll_at(at);
            self.parts.begins.contains(&byte) && self.whole_at(&text[at..]).is_some()
        };
        if self.parts.whole.is_empty() {
            return text.len();
        }
        text.bytes().enumerate().find(is_next).map_or(text.len(), |(at, _)| at)
    }
}

/// The counts of parts that came before, in one vocabulary.
#[derive(Default)]
struct Counts {
    vocabulary: usize,
    of: HashMap<Box<str>, u32>,
}

impl Counts {
    /// Forgets the counts of another vocabulary.
    fn take(&mut self, vocabulary: usize) {
        if self.vocabulary != vocabulary {
            *self = Self { vocabulary, ..Self::default() };
        }
    }

    fn keep(&mut self, part: &str, count: usize) {
        if self.of.len() >= KEPT {
            self.of.clear();
        }
        self.of.insert(part.into(), u32::try_from(count).unwrap_or(u32::MAX)); // a part has 64 bytes at most
    }
}
