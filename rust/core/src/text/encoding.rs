//! Exact encodings, with their vocabularies inside.

use super::engine::with_worker;
use super::vocabulary::{CL100K, O200K, Vocabulary};
use crate::error::Error;

/// A byte-pair encoding whose counts equal tiktoken's `encode_ordinary`: text that looks like a special token is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// GPT-4o and later.
    O200k,
    /// GPT-4, GPT-3.5.
    Cl100k,
}

impl Encoding {
    /// The encodings by name.
    pub const NAMES: [(&'static str, Self); 2] = [("o200k_base", Self::O200k), ("cl100k_base", Self::Cl100k)];

    /// The encoding of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] names those that there are.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, e)| *e).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            Error::Argument(format!("unknown encoding {name:?}, known are {known}, claude-old, claude-new"))
        })
    }

    /// The name of the encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// What the encoding counts with.
    pub(super) fn inside(self) -> &'static Vocabulary {
        match self {
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
        }
    }

    /// Tokens of `text`. Time is linear in its length, whatever it holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_core::text::Encoding;
    ///
    /// assert_eq!(Encoding::O200k.count("hello world"), 2);
    /// assert_eq!(Encoding::O200k.count("<|endoftext|>"), 7); // text, not a special token
    /// ```
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        with_worker(self.inside(), |worker| worker.count(text.as_bytes()))
    }

    /// Whether `text` has more than `limit` tokens; stops counting there.
    #[must_use]
    pub fn exceeds(self, text: &str, limit: usize) -> bool {
        text.len() > limit && with_worker(self.inside(), |worker| worker.exceeds(text.as_bytes(), limit))
    }

    /// The bytes of each token, by rank: how the vocabulary is checked against the published one.
    #[must_use]
    pub fn vocabulary(self) -> Vec<Vec<u8>> {
        self.inside().tables.vocabulary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_of_one_character_are_counted() {
        for c in [' ', 'a', '\n', '^', '中', '0'] {
            let text = c.to_string().repeat(1_000_000);
            for (_, encoding) in Encoding::NAMES {
                let tokens = encoding.count(&text);
                assert!((7_000..=1_000_000).contains(&tokens), "{c:?} {encoding:?} {tokens}");
                assert!(encoding.exceeds(&text, tokens - 1) && !encoding.exceeds(&text, tokens));
            }
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = Encoding::named("gpt2").unwrap_err().to_string();
        assert!(message.contains("o200k_base, cl100k_base"), "{message}");
    }
}
