//! What counts a transcript: tokens of texts, and what a prompt or a policy adds to them.

use trimtab_tokens::{self as tokens, Encoding};

use crate::prompt::Prompt;

/// A counter of texts with a prompt's grammar and a policy's flat costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Counts texts, at the rate of what users and tools send.
    pub text: tokens::Counter,
    /// What the model's prompt adds; [`Prompt::PLAIN`] for an encoding.
    pub prompt: Prompt,
    /// What a policy's own estimate adds; nothing for a model or an encoding.
    pub flat: Flat,
}

impl Counter {
    /// Counts texts with `text`, and adds what a prompt and a policy's estimate add.
    #[must_use]
    pub fn new(text: tokens::Counter, prompt: Prompt, flat: Flat) -> Self {
        Self { text: text.with_rate(prompt.given), prompt, flat }
    }
}

impl From<tokens::Counter> for Counter {
    fn from(text: tokens::Counter) -> Self {
        Self::new(text, Prompt::PLAIN, Flat::default())
    }
}

impl From<Encoding> for Counter {
    fn from(encoding: Encoding) -> Self {
        tokens::Counter::exact(encoding).into()
    }
}

/// What a policy's own estimate says beyond the length of texts: flat numbers, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flat {
    /// A message.
    pub message: u32,
    /// A call.
    pub call: u32,
    /// A result.
    pub result: u32,
    /// A picture or a document, whatever its size; `None` measures it.
    pub image: Option<u32>,
    /// A picture of low detail; as `image` where it is `None`.
    pub low: Option<u32>,
    /// A message costs at least this.
    pub least: u32,
    /// The fraction is dropped once a message, not once a text.
    pub joined: bool,
}

impl Flat {
    /// Tokens of a row's pictures: `media` as measured, of `all` pictures `low` of low detail.
    #[must_use]
    pub fn media(&self, media: u32, all: u32, low: u32) -> u32 {
        let Some(image) = self.image else { return media };
        image * (all - low) + self.low.unwrap_or(image) * low
    }
}
