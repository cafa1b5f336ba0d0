//! Exact byte-pair encodings.

use std::borrow::Cow;

use crate::bpe::kept::Keeper;
use crate::bpe::load;
use crate::bpe::vocabulary::{CL100K, O200K, Vocabulary};
use crate::bpe::worker::with_worker;
use crate::error::Error;
use crate::growing::{PretokenState, State};

/// The rank of the last special token of `o200k_harmony`.
const HARMONY_LAST: usize = 201_088;

/// The special token of `o200k_harmony` of that rank; most are reserved.
fn harmony_token(rank: usize) -> String {
    match rank {
        199_998 => "<|startoftext|>".to_owned(),
        199_999 => "<|endoftext|>".to_owned(),
        200_002 => "<|return|>".to_owned(),
        200_003 => "<|constrain|>".to_owned(),
        200_005 => "<|channel|>".to_owned(),
        200_006 => "<|start|>".to_owned(),
        200_007 => "<|end|>".to_owned(),
        200_008 => "<|message|>".to_owned(),
        200_012 => "<|call|>".to_owned(),
        reserved => format!("<|reserved_{reserved}|>"),
    }
}

/// A byte-pair encoding whose counts equal tiktoken's `encode_ordinary`: text that looks like a special token is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// GPT-4o and later.
    O200k,
    /// GPT-4, GPT-3.5.
    Cl100k,
    /// gpt-oss: `o200k_base` and the special tokens of its prompts.
    Harmony,
    /// An encoding from a file.
    File(&'static Vocabulary),
}

impl Encoding {
    /// The encodings by name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("o200k_base", Self::O200k), ("cl100k_base", Self::Cl100k), ("o200k_harmony", Self::Harmony)];

    /// The encoding of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] lists the valid names.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, e)| *e).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            Error::Argument(format!("unknown encoding {name:?}, known are {known}, claude-old, claude-new"))
        })
    }

    /// The encoding of a vocabulary file: a `tokenizer.json` of byte-level pairs, or a file of ranks in tiktoken's format. A
    /// file of ranks needs `pattern`, unless its tokens are those of a built-in encoding.
    ///
    /// A vocabulary is never freed; an equal file is loaded once. `keeper` has the tables of earlier processes.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] names what is not supported: the pattern, the kind of model.
    pub fn read(data: &[u8], name: &str, pattern: Option<&str>, keeper: &dyn Keeper) -> Result<Self, Error> {
        load::read(data, name, pattern, keeper).map(Self::File).map_err(Error::Argument)
    }

    /// The encoding of a vocabulary file with this XXH3 digest, if it was made before: then the file need not be held.
    #[must_use]
    pub fn known(digest: u128, name: &str, pattern: Option<&str>, keeper: &dyn Keeper) -> Option<Self> {
        load::known_file(digest, name, pattern, keeper).map(Self::File)
    }

    /// The name of the encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
            Self::Harmony => "o200k_harmony",
            Self::File(vocabulary) => &vocabulary.name,
        }
    }

    /// The vocabulary of the encoding.
    pub(super) fn inside(self) -> &'static Vocabulary {
        match self {
            Self::O200k | Self::Harmony => &O200K,
            Self::Cl100k => &CL100K,
            Self::File(vocabulary) => vocabulary,
        }
    }

    /// Tokens of `text`. Time is linear in its length for any content.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_tokens::Encoding;
    ///
    /// assert_eq!(Encoding::O200k.count("hello world"), 2);
    /// assert_eq!(Encoding::O200k.count("<|endoftext|>"), 7); // text, not a special token
    /// ```
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        let text = self.inside().normal(text);
        with_worker(self.inside(), |worker| worker.count(text.as_bytes()))
    }

    /// Whether `text` has more than `limit` tokens; stops counting at the limit.
    #[must_use]
    pub fn exceeds(self, text: &str, limit: usize) -> bool {
        // Normalization may make a text slightly longer.
        if text.len() <= limit && !self.inside().normalizes {
            return false;
        }
        let text = self.inside().normal(text);
        with_worker(self.inside(), |worker| worker.exceeds(text.as_bytes(), limit))
    }

    /// Where the first `head` tokens of `text` end and the last `tail` begin, at whole characters.
    pub(super) fn edges(self, text: &str, head: usize, tail: usize) -> Result<Option<(usize, usize)>, Error> {
        if matches!(self.inside().normal(text), Cow::Owned(_)) {
            return Err(Error::Argument("the text is not in normalization form C, in which its tokens are".to_owned()));
        }
        let bytes = text.as_bytes();
        Ok(with_worker(self.inside(), |worker| {
            let head = worker.head(bytes, head)?;
            let tail = worker.tail(bytes, tail)?;
            let head_end = (0..=head).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let tail_start = (tail..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
            (head < tail).then_some((head_end, tail_start))
        }))
    }

    /// The state of a growing text.
    pub(super) fn state(self) -> State {
        if self.inside().normalizes {
            return State::Whole(String::new());
        }
        State::Tokens(PretokenState::new(self.inside()))
    }

    /// The bytes of each token, by rank: tests compare them with the published vocabulary. Of `o200k_harmony` the special
    /// tokens, too, which no text has.
    #[must_use]
    pub fn vocabulary(self) -> Vec<Vec<u8>> {
        let mut tokens = self.inside().tables.vocabulary();
        if self == Self::Harmony {
            tokens.extend((tokens.len()..=HARMONY_LAST).map(|rank| harmony_token(rank).into_bytes()));
        }
        tokens
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
    fn harmony_is_o200k_with_special_tokens_that_no_text_has() {
        let (plain, harmony) = (Encoding::O200k.vocabulary(), Encoding::Harmony.vocabulary());
        assert_eq!((harmony.len(), &harmony[..plain.len()]), (HARMONY_LAST + 1, &plain[..]));
        assert_eq!(harmony[200_006], b"<|start|>");
        assert_eq!(harmony[HARMONY_LAST], b"<|reserved_201088|>");
        assert_eq!(Encoding::Harmony.count("<|start|>"), Encoding::O200k.count("<|start|>"));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = Encoding::named("gpt2").unwrap_err().to_string();
        assert!(message.contains("o200k_base, cl100k_base"), "{message}");
    }
}
