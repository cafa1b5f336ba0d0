//! Claude's tokens, reconstructed from two vocabularies and the token stream that they were measured on.
//!
//! Anthropic publishes no tokenizer. The vocabularies are those of the package ctok, which measured each piece with the
//! provider's counting endpoint; they give counts, not token ids. A text is normalized and split into segments, and each
//! segment counts as the fewest pieces that cover it. Without the feature `claude-vocab`, or on request, this module
//! estimates from rates of kinds of pretokens instead; the names of these encodings end in "by rates".

#[cfg(feature = "claude-vocab")]
mod case;
#[cfg(feature = "claude-vocab")]
mod classes;
#[cfg(feature = "claude-vocab")]
mod count;
#[cfg(feature = "claude-vocab")]
mod cover;
mod features;
#[cfg(all(fuzzing, feature = "claude-vocab"))]
pub mod fuzzing;
#[cfg(feature = "claude-vocab")]
mod normalize;
mod rates;
#[cfg(feature = "claude-vocab")]
mod segment_cache;
#[cfg(feature = "claude-vocab")]
mod segments;
#[cfg(feature = "claude-vocab")]
mod table;
#[cfg(feature = "claude-vocab")]
mod vocabulary;
#[cfg(feature = "claude-vocab")]
mod window;
#[cfg(feature = "claude-vocab")]
mod windows;

pub use features::{KINDS, features};

/// Whether the vocabularies are built in.
pub const EXACT: bool = cfg!(feature = "claude-vocab");

/// The vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Claude 3 to 4.6.
    Old,
    /// Claude 4.7 and later.
    New,
}

/// The context of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// More text on both sides: nothing is added or removed.
    Inside,
    /// A message that opens with a begin-of-word marker, which merges with a leading space or is a token. Up to Claude 4.7.
    Opened,
    /// A message, from Claude 4.8 on. Line ends at its end merge with those of the prompt format, as in [`Frame::Opened`].
    Plain,
}

/// An encoding of Claude's: a vocabulary and the context of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claude {
    /// The vocabulary.
    pub family: Family,
    /// The context of the text.
    pub frame: Frame,
    /// Whether to estimate even if the vocabulary is built in.
    pub by_rates: bool,
}

impl Claude {
    /// The encodings by name. None includes the overhead of a message, which depends on the model.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("claude-old", Self::of(Family::Old, Frame::Inside)),
        ("claude-new", Self::of(Family::New, Frame::Inside)),
        ("claude-3 message", Self::of(Family::Old, Frame::Opened)),
        ("claude-4.7 message", Self::of(Family::New, Frame::Opened)),
        ("claude-4.8 message", Self::of(Family::New, Frame::Plain)),
        ("claude-old by rates", Self { by_rates: true, ..Self::of(Family::Old, Frame::Inside) }),
        ("claude-new by rates", Self { by_rates: true, ..Self::of(Family::New, Frame::Inside) }),
    ];

    const fn of(family: Family, frame: Frame) -> Self {
        Self { family, frame, by_rates: false }
    }

    /// The encoding of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, claude)| *claude)
    }

    /// The name of the encoding, with "by rates" where it is an estimate.
    #[must_use]
    pub fn name(self) -> String {
        let name = Self::NAMES.iter().find(|(_, claude)| *claude == self).map_or("claude", |(name, _)| name);
        if EXACT || self.by_rates { name.to_owned() } else { format!("{name} by rates") }
    }

    /// Tokens of `text`. Time is linear in its length for any content. Each thread caches the counts of segments, in at most
    /// 12.5 MB a vocabulary.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_tokens::Claude;
    ///
    /// let [old, new] = ["claude-old", "claude-new"].map(|name| Claude::named(name).unwrap());
    /// # #[cfg(feature = "claude-vocab")]
    /// assert_eq!([old, new].map(|claude| claude.count("hello, world")), [3, 4]);
    /// ```
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        #[cfg(feature = "claude-vocab")]
        if !self.by_rates {
            return count::count(self, text);
        }
        let rates = match self.family {
            Family::Old => &rates::OLD,
            Family::New => &rates::NEW,
        };
        let thousandths: u64 = features(text).iter().zip(rates).map(|(n, rate)| u64::from(*n) * u64::from(*rate)).sum();
        usize::try_from((thousandths + 500) / 1000).unwrap_or(usize::MAX)
    }

    /// Whether `text` has more than `limit` tokens. [`Frame::Inside`] stops counting some lines after the limit.
    #[must_use]
    pub fn exceeds(self, text: &str, limit: usize) -> bool {
        #[cfg(feature = "claude-vocab")]
        if !self.by_rates {
            return count::count_up_to(self, text, limit) > limit;
        }
        self.count(text) > limit
    }

    /// The length of the prefix of `text` that is counted separately and that more text does not change: up to the start of
    /// one of the last lines. None for a message and for an estimate, where more text may change every token.
    #[must_use]
    pub fn stable_prefix(self, text: &str) -> Option<usize> {
        #[cfg(feature = "claude-vocab")]
        if !self.by_rates && self.frame == Frame::Inside {
            return Some(count::stable_prefix(text));
        }
        let _ = text;
        None
    }
}

impl Family {
    /// Every piece as bytes, in order. The markers are F8 (begin of word), F9 (end of word), FA (title case) and FB (all
    /// capitals). Empty where the vocabularies are not built in.
    #[must_use]
    pub fn pieces(self) -> Vec<Vec<u8>> {
        #[cfg(feature = "claude-vocab")]
        return vocabulary::vocabulary(self).pieces.all();
        #[cfg(not(feature = "claude-vocab"))]
        Vec::new()
    }
}
