//! A reader of what a caller asks for by name.

use super::{Reader, Reading};
use crate::counter::Counter;
use crate::error::Error;
use crate::ledger::{Each, Ledger, Sums, Totals};
use crate::shape::Provider;

/// A reader of one of the results.
#[allow(clippy::large_enum_variant)] // one a file: a box would save nothing
pub enum Wanted {
    /// Of all rows.
    Ledger(Reader<Ledger>),
    /// Of the tokens of the whole list.
    Sums(Reader<Sums<Totals>>),
    /// Of the tokens of each message.
    Counts(Reader<Sums<Each>>),
}

/// The rows that such a reader found.
#[allow(clippy::large_enum_variant)] // one a file, too
pub enum Found {
    /// All rows.
    Ledger(Ledger),
    /// Tokens of the whole list.
    Sums(Totals),
    /// Tokens of each message.
    Counts(Vec<u32>),
}

impl Wanted {
    /// The reader of "ledger", "sums" or "counts"; `provider` is found from the first messages where it is `None`.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for any other name.
    pub fn named(name: &str, counter: Counter, provider: Option<Provider>) -> Result<Self, Error> {
        match name {
            "ledger" => Ok(Self::Ledger(Reader::of(counter, provider))),
            "sums" => Ok(Self::Sums(Reader::of(counter, provider))),
            "counts" => Ok(Self::Counts(Reader::of(counter, provider))),
            _ => Err(Error::Argument(format!("unknown want {name:?}: known are ledger, sums, counts"))),
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// As [`Reader::push`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self {
            Self::Ledger(reader) => reader.push(bytes),
            Self::Sums(reader) => reader.push(bytes),
            Self::Counts(reader) => reader.push(bytes),
        }
    }

    /// The contents of all bytes.
    ///
    /// # Errors
    ///
    /// As [`Reader::finish`].
    pub fn finish(self) -> Result<Reading<Found>, Error> {
        Ok(match self {
            Self::Ledger(reader) => reader.finish()?.map(Found::Ledger),
            Self::Sums(reader) => reader.finish()?.map(Found::Sums),
            Self::Counts(reader) => reader.finish()?.map(|each| Found::Counts(each.tokens)),
        })
    }
}
