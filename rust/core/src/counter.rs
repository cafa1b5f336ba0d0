//! The counter of a transcript: tokens of texts, of a prompt's overhead and of a policy's flat estimates.

use trimtab_tokens::{self as tokens, Chars, Claude, Encoding, Round, Unit};

use crate::error::Error;
use crate::prompt::Prompt;
use crate::setting::Setting;

/// A counter of texts with a prompt's grammar and a policy's flat costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Counts texts, at the rate of what users and tools send.
    pub text: tokens::Counter,
    /// The model's prompt; [`Prompt::PLAIN`] for an encoding.
    pub prompt: Prompt,
    /// A policy's own estimate; nothing for a model or an encoding.
    pub flat: Flat,
}

impl Counter {
    /// Counts texts with `text`, and adds what a prompt and a policy's estimate add.
    #[must_use]
    pub fn new(text: tokens::Counter, prompt: Prompt, flat: Flat) -> Self {
        Self { text: text.with_rate(prompt.given), prompt, flat }
    }
}

/// The counter of texts of that name: an encoding, or a length as in "chars/4 chars floor".
///
/// # Errors
///
/// [`Error::Argument`] names those that there are.
pub fn named(name: &str) -> Result<tokens::Counter, Error> {
    if let Some(length) = name.strip_prefix("chars/").filter(|length| length.contains(' ')) {
        return Ok(tokens::Counter::length(chars(length)?));
    }
    Ok(match Claude::named(name) {
        Some(claude) => tokens::Counter::claude(claude),
        None => tokens::Counter::exact(Encoding::named(name)?),
    })
}

/// The tokens of a vocabulary, in order: ranks of an encoding, pieces of Claude's.
///
/// # Errors
///
/// [`Error::Argument`] names the vocabularies.
pub fn vocabulary(name: &str) -> Result<Vec<Vec<u8>>, Error> {
    Ok(match Claude::named(name) {
        Some(claude) => claude.family.pieces(),
        None => Encoding::named(name)?.vocabulary(),
    })
}

/// Units of a token, the unit, and how a fraction is rounded: "4 chars floor".
fn chars(name: &str) -> Result<Chars, Error> {
    let (mut words, mut unknown) = (name.splitn(3, ' '), false);
    let mut word = || words.next().unwrap_or_default();
    let per = word().parse().ok().filter(|&per| per > 0);
    let unit = match word() {
        "bytes" => Unit::Bytes,
        "utf16" => Unit::Utf16,
        other => {
            unknown |= other != "chars";
            Unit::Chars
        }
    };
    let round = match word() {
        "floor" => Round::Floor,
        "ceil" => Round::Ceil,
        other => {
            unknown |= other != "half_up";
            Round::HalfUp
        }
    };
    per.filter(|_| !unknown).map(|per| Chars { unit, round, per }).ok_or_else(|| {
        let known = "a number from 1 on; units are chars, bytes, utf16; roundings floor, ceil, half_up";
        Error::Argument(format!("unknown unit or rounding {name:?}: {known}"))
    })
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

/// A policy's own estimate beyond the length of texts: flat numbers, in tokens.
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
    /// Changes one number, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an unknown name and for a value of another type or range.
    pub fn set(&mut self, name: &str, value: Setting<'_>) -> Result<(), Error> {
        match name {
            "message" => self.message = value.number()?,
            "call" => self.call = value.number()?,
            "result" => self.result = value.number()?,
            "image" => self.image = value.known_number()?,
            "low" => self.low = value.known_number()?,
            "least" => self.least = value.number()?,
            "joined" => self.joined = value.flag()?,
            _ => return Err(Error::Argument(format!("unknown keyword {name:?} of a counter"))),
        }
        Ok(())
    }

    /// Tokens of a row's pictures: `media` as measured, of `all` pictures `low` of low detail.
    #[must_use]
    pub fn media(&self, media: u32, all: u32, low: u32) -> u32 {
        let Some(image) = self.image else { return media };
        image * (all - low) + self.low.unwrap_or(image) * low
    }
}
