//! Claude's tokens, reconstructed: two vocabularies and the stream that they were measured on.
//!
//! Anthropic publishes no tokenizer. The vocabularies are those of the package ctok, which measured piece by piece what
//! the provider's counting endpoint answers; they give counts, not token ids. A text is normalized, read as segments and
//! each segment laid with the fewest pieces. Built without the feature `claude-vocab`, or asked to, this module estimates by
//! rates of kinds of pieces instead, and its names say so.

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

/// Whether the vocabularies are there.
pub const EXACT: bool = cfg!(feature = "claude-vocab");

/// The vocabularies that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Claude 3 to 4.6.
    Old,
    /// Claude 4.7 and later.
    New,
}

/// What stands around a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// More text: nothing is added or taken.
    Inside,
    /// A message that begins as a word does: the beginning takes a leading space, or is a token. Up to Claude 4.7.
    Opened,
    /// A message, from Claude 4.8 on. Line ends at its end run together with its own, as in [`Frame::Opened`].
    Plain,
}

/// An encoding of Claude's: a vocabulary and what stands around the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claude {
    /// The vocabulary.
    pub family: Family,
    /// What stands around the text.
    pub frame: Frame,
    /// Whether to estimate where the vocabulary could be asked.
    pub by_rates: bool,
}

impl Claude {
    /// The encodings by name. The tokens of a message's own are in none: they depend on the model.
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

    /// The encoding of that name, if it is one of these.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, claude)| *claude)
    }

    /// What counts: the name of the encoding, with "by rates" where it is an estimate.
    #[must_use]
    pub fn name(self) -> String {
        let name = Self::NAMES.iter().find(|(_, claude)| *claude == self).map_or("claude", |(name, _)| name);
        if EXACT || self.by_rates { name.to_owned() } else { format!("{name} by rates") }
    }

    /// Tokens of `text`. Time is linear in its length, whatever it holds; what segments cost is remembered by each thread, in
    /// at most 12.5 MB a vocabulary.
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

    /// Whether `text` has more than `limit` tokens; inside a frame, stops counting some lines behind there.
    #[must_use]
    pub fn exceeds(self, text: &str, limit: usize) -> bool {
        #[cfg(feature = "claude-vocab")]
        if !self.by_rates {
            return count::count_up_to(self, text, limit) > limit;
        }
        self.count(text) > limit
    }

    /// Bytes at the start of `text` whose tokens more text does not change, and which count by themselves: up to the start of
    /// one of the last lines. None where any text may change all: in a message, by rates.
    #[must_use]
    pub fn settled(self, text: &str) -> Option<usize> {
        #[cfg(feature = "claude-vocab")]
        if !self.by_rates && self.frame == Frame::Inside {
            return Some(count::settled(text));
        }
        let _ = text;
        None
    }
}

impl Family {
    /// Every piece as bytes, in order; the markers are F8 (a word begins), F9 (it ends), FA (shift) and FB (capitals).
    /// None where the vocabularies are left out.
    #[must_use]
    pub fn pieces(self) -> Vec<Vec<u8>> {
        #[cfg(feature = "claude-vocab")]
        return vocabulary::vocabulary(self).pieces.all();
        #[cfg(not(feature = "claude-vocab"))]
        Vec::new()
    }
}
