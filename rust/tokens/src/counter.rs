//! Counts the tokens of a text, in any encoding or by an estimate.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use crate::bpe::kept::Keeper;
use crate::bpe::load;
use crate::bpe::vocabulary::Vocabulary;
use crate::bpe::worker::{Worker, is_safe_split, with_worker};
use crate::claude::Claude;
use crate::encoding::Encoding;
use crate::error::Error;
use crate::estimate::{Chars, Size};
use crate::gguf;
use crate::huggingface::HuggingFace;
use crate::sentencepiece::SentencePiece;

/// Bytes of a batch from which a second thread pays off: 64 KB of prose in short texts took 2.4 ms on one, 1.4 ms on two.
const PARALLEL: usize = 64 * 1024;

/// Time of the crate `tokenizers` relative to this engine: it counts prose at 1.1 to 2.4 MB/s, this engine at 48 MB/s.
const SLOWER: usize = 40;

/// Time of characters that merge, or of pieces with scores, relative to that of pairs of bytes.
const SLOW: usize = 6;

/// Characters of a prefix for each token of a limit: above the four to five of most texts.
const CHARS: usize = 6;

/// The method of batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// By byte-pair merging.
    Exact(Encoding),
    /// By the fewest pieces that cover each segment.
    Claude(Claude),
    /// By merging pairs of characters, or by pieces with scores.
    SentencePiece(&'static SentencePiece),
    /// By the crate `tokenizers`.
    HuggingFace(&'static HuggingFace),
    /// By length.
    Length(Chars),
}

/// `tokens` times a factor in thousandths, rounded half up.
#[must_use]
pub fn scale(tokens: usize, factor: u32) -> usize {
    (tokens * factor as usize + 500) / 1000
}

/// Counts tokens, for an encoding or a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    pub(super) engine: Engine,
    /// Factor on the engine's count, in thousandths.
    rate: u32,
}

impl Counter {
    /// Counts in `encoding`, exactly.
    #[must_use]
    pub fn exact(encoding: Encoding) -> Self {
        Self { engine: Engine::Exact(encoding), rate: 1000 }
    }

    /// Counts in one of Claude's encodings, which are reconstructed.
    #[must_use]
    pub fn claude(claude: Claude) -> Self {
        Self { engine: Engine::Claude(claude), rate: 1000 }
    }

    /// Counts in the vocabulary of a file, with this engine where [`Encoding::read`] supports the file, else with the crate
    /// `tokenizers`, if it is built in.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] says why neither can read it. Counting returns no errors: it panics on a text that the crate
    /// cannot encode.
    pub fn read(data: &[u8], name: &str, pattern: Option<&str>, keeper: &dyn Keeper) -> Result<Self, Error> {
        if gguf::is_gguf(data) {
            return match gguf::read(data).map_err(Error::Argument)? {
                gguf::Found::Json(file) => Self::read(&file, name, None, keeper),
                gguf::Found::Pieces(parts) => {
                    let pieces = SentencePiece::keep(xxh3_128(data), name, parts);
                    Ok(Self { engine: Engine::SentencePiece(pieces), rate: 1000 })
                }
            };
        }
        let ours = match Encoding::read(data, name, pattern, keeper) {
            Ok(encoding) => return Ok(Self::exact(encoding)),
            Err(error) => error,
        };
        let ours = match SentencePiece::read(data, name, keeper) {
            Ok(Some(pieces)) => return Ok(Self { engine: Engine::SentencePiece(pieces), rate: 1000 }),
            Ok(None) => ours,
            Err(why) => Error::Argument(why),
        };
        if !load::is_json(data) {
            return Err(ours);
        }
        let theirs = HuggingFace::read(data, name, ours.to_string())
            .map_err(|theirs| Error::Argument(format!("{ours}; {theirs}")))?;
        Ok(Self { engine: Engine::HuggingFace(theirs), rate: 1000 })
    }

    /// Counts in the vocabulary of the file with this XXH3 digest, if this process or an earlier one has made its tables: then
    /// the file need not be held.
    #[must_use]
    pub fn known(digest: u128, name: &str, pattern: Option<&str>, keeper: &dyn Keeper) -> Option<Self> {
        let pieces = || SentencePiece::known(digest, name, keeper).filter(|_| pattern.is_none());
        let pieces = || Some(Self { engine: Engine::SentencePiece(pieces()?), rate: 1000 });
        Encoding::known(digest, name, pattern, keeper).map(Self::exact).or_else(pieces)
    }

    /// Estimates by length.
    #[must_use]
    pub fn length(chars: Chars) -> Self {
        Self { engine: Engine::Length(chars), rate: 1000 }
    }

    /// Multiplies counts by `rate` thousandths.
    #[must_use]
    pub fn with_rate(self, rate: u32) -> Self {
        Self { rate, ..self }
    }

    /// The factor on the encoding's tokens, in thousandths.
    #[must_use]
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// The settings of a length-based estimate; None for other engines.
    #[must_use]
    pub fn chars(&self) -> Option<Chars> {
        match self.engine {
            Engine::Exact(_) | Engine::Claude(_) | Engine::SentencePiece(_) | Engine::HuggingFace(_) => None,
            Engine::Length(chars) => Some(chars),
        }
    }

    /// The name of the engine: `trimtab o200k_base`, or `chars/4`.
    #[must_use]
    pub fn engine(&self) -> String {
        match self.engine {
            Engine::Exact(encoding) => format!("trimtab {}", encoding.name()),
            Engine::Claude(claude) => format!("trimtab {}", claude.name()),
            Engine::SentencePiece(pieces) => format!("trimtab {}", pieces.name()),
            Engine::HuggingFace(foreign) => format!("tokenizers {}", foreign.name()),
            Engine::Length(c) => format!("{:?}/{} rounded {:?}", c.unit, c.per, c.round).to_lowercase(),
        }
    }

    /// Whether it counts by vector instructions.
    #[must_use]
    pub fn is_vectorised(&self) -> bool {
        matches!(self.engine, Engine::Exact(_) | Engine::Claude(_))
    }

    /// Why the crate `tokenizers` counts in this vocabulary, which is some sixty times slower; empty where this engine does.
    #[must_use]
    pub fn fallback(&self) -> &str {
        match self.engine {
            Engine::HuggingFace(foreign) => foreign.why(),
            _ => "",
        }
    }

    /// The cost of counting `bytes` of text up to `most` tokens, in bytes that this engine counts in the same time.
    #[must_use]
    pub fn cost_estimate(&self, bytes: usize, most: usize) -> usize {
        match self.engine {
            Engine::HuggingFace(_) => bytes.saturating_mul(SLOWER),
            Engine::SentencePiece(_) => bytes.saturating_mul(SLOW), // to the end, whatever the limit
            _ => bytes.min(most),
        }
    }

    /// Tokens of `text`; text that looks like a special token is text. Linear in its length.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_tokens::{Counter, Encoding};
    ///
    /// let counter = Counter::exact(Encoding::Cl100k);
    /// assert_eq!(counter.count("hello world"), 2);
    /// assert_eq!(counter.with_rate(1500).count("hello world"), 3);
    /// ```
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        scale(self.plain(text), self.rate)
    }

    /// Tokens of `text` in the encoding, without the factor of a model.
    #[must_use]
    pub fn plain(&self, text: &str) -> usize {
        match self.engine {
            Engine::Exact(encoding) => encoding.count(text),
            Engine::Claude(claude) => claude.count(text),
            Engine::SentencePiece(pieces) => pieces.count(text),
            Engine::HuggingFace(foreign) => foreign.count(text),
            Engine::Length(chars) => chars.count(text),
        }
    }

    /// Tokens of each of `texts` texts, in the encoding. `give` adds the texts; they are counted on this thread, and their
    /// cache misses are looked up together.
    pub fn count_rows(&self, texts: usize, give: impl FnOnce(&mut BatchCounter<'_>)) -> Vec<usize> {
        let (counts, text) = (vec![0; texts], 0);
        let Engine::Exact(encoding) = self.engine else {
            let mut batch = BatchCounter { counter: self, worker: None, counts, text };
            give(&mut batch);
            return batch.counts;
        };
        with_worker(encoding.inside(), |worker| {
            let mut batch = BatchCounter { counter: self, worker: Some((encoding.inside(), worker)), counts, text };
            give(&mut batch);
            let BatchCounter { worker, mut counts, .. } = batch;
            if let Some((_, worker)) = worker {
                worker.flush(&mut counts);
            }
            counts
        })
    }

    /// Whether the parts of a text that is split at [`is_safe_split`] have counts that add up to its count.
    pub(super) fn is_additive(&self) -> bool {
        matches!(self.engine, Engine::Exact(_))
    }

    /// Whether `text` has more than `limit` tokens, found without counting the rest.
    #[must_use]
    pub fn exceeds(&self, text: &str, limit: usize) -> bool {
        // The largest plain count whose scaled count is at most the limit: scaling rounds half up.
        let most = (limit.saturating_mul(1000).saturating_add(499)) / self.rate.max(1) as usize;
        match self.engine {
            Engine::Exact(encoding) => encoding.exceeds(text, most),
            Engine::Claude(claude) => claude.exceeds(text, most),
            Engine::SentencePiece(pieces) => pieces.count(text) > most,
            Engine::HuggingFace(foreign) => foreign.count(text) > most,
            Engine::Length(chars) => chars.count(text) > most,
        }
    }

    /// Characters of a prefix that lets [`Counter::prefix_exceeds`] decide for most texts; None where no prefix can.
    #[must_use]
    pub fn prefix_len(&self, limit: usize) -> Option<usize> {
        matches!(self.engine, Engine::Exact(_)).then(|| limit.saturating_mul(CHARS).saturating_add(64))
    }

    /// Whether every text that begins with `prefix` has more than `limit` tokens. False is inconclusive.
    #[must_use]
    pub fn prefix_exceeds(&self, prefix: &str, limit: usize) -> bool {
        let Engine::Exact(_) = self.engine else { return false };
        // More text does not change the count before a safe split.
        let end = (1..prefix.len()).rev().find(|&at| is_safe_split(prefix.as_bytes(), at));
        end.is_some_and(|end| self.exceeds(&prefix[..end], limit))
    }

    /// The byte offsets where the first `head` tokens of `text` end and the last `tail` tokens begin, at whole characters;
    /// None if it has no more tokens.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a counter that has no tokens to cut at.
    pub fn edges(&self, text: &str, head: usize, tail: usize) -> Result<Option<(usize, usize)>, Error> {
        match self.engine {
            Engine::Exact(encoding) if self.rate == 1000 => encoding.edges(text, head, tail),
            Engine::SentencePiece(pieces) if self.rate == 1000 => Ok(pieces.edges(text, head, tail)),
            Engine::HuggingFace(foreign) if self.rate == 1000 => Ok(foreign.edges(text, head, tail)),
            _ => Err(Error::Argument(format!("{} has no tokens to cut at: use an encoding", self.engine()))),
        }
    }

    /// All lengths of `text`.
    #[must_use]
    pub fn size(&self, text: &str) -> Size {
        let size = Size::of(text);
        let tokens = match self.engine {
            Engine::Length(chars) => chars.tokens(chars.length(&size)),
            _ => self.plain(text),
        };
        Size { tokens, ..size }
    }
}

/// A batch of texts being counted: the cache misses of all texts share one queue.
pub struct BatchCounter<'w> {
    counter: &'w Counter,
    worker: Option<(&'static Vocabulary, &'w mut Worker)>,
    counts: Vec<usize>,
    text: usize,
}

impl BatchCounter<'_> {
    /// Sets the index of the text that [`BatchCounter::add`] adds to.
    pub fn of(&mut self, text: usize) {
        self.text = text;
    }

    /// Prepares the cache for `bytes` of text.
    pub fn expect(&mut self, bytes: usize) {
        if let Some((_, worker)) = &mut self.worker {
            worker.expect(bytes);
        }
    }

    /// Adds the tokens of a part, counted separately from other parts.
    pub fn add(&mut self, part: &str) {
        match &mut self.worker {
            Some((vocabulary, worker)) => worker.add(vocabulary.normal(part).as_bytes(), self.text, &mut self.counts),
            None => self.counts[self.text] += self.counter.plain(part),
        }
    }
}

/// Splits `items` into ranges for threads; one range where the `bytes` of text are too few for a second thread.
#[must_use]
pub fn shares(items: usize, bytes: usize) -> Vec<Range<usize>> {
    if items < 2 || bytes < PARALLEL {
        return std::iter::once(0..items).collect();
    }
    // About 16 KB each: counting that takes much longer than scheduling.
    let each = (items * 16 * 1024 / bytes).max(1);
    (0..items).step_by(each).map(|start| start..items.min(start + each)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_round_half_up() {
        assert_eq!([0, 1, 10, 1001].map(|n| scale(n, 1145)), [0, 1, 11, 1146]);
    }

    #[test]
    fn a_prefix_exceeds_only_limits_that_the_whole_text_exceeds() {
        let text = "Zwei W\u{f6}rter (x) don't stop... \u{201c}here\u{201d}\u{3000}then  go on, 中文 e\u{301}nd \n x "
            .repeat(9);
        for encoding in [Encoding::O200k, Encoding::Cl100k] {
            let counter = Counter::exact(encoding);
            let all = counter.count(&text);
            let mut told = 0;
            for (end, _) in text.char_indices() {
                let known = (0..=all + 1).rev().find(|&limit| counter.prefix_exceeds(&text[..end], limit));
                assert!(known.is_none_or(|limit| limit < all));
                told = told.max(known.unwrap_or_default());
            }
            assert!(told + 10 > all);
        }
    }

    #[test]
    fn exceeds_is_the_same_as_a_larger_count() {
        let text = "one two three four five six seven eight nine ten ".repeat(20);
        for given in [1, 999, 1000, 1145, 1535, 3000] {
            let counter = Counter::exact(Encoding::O200k).with_rate(given);
            for limit in 0..700 {
                assert_eq!(counter.exceeds(&text, limit), counter.count(&text) > limit, "{given} {limit}");
            }
        }
    }
}
