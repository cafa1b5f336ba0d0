//! Rows whose texts are not kept: what provider rules look at, or only which messages belong together.

use std::marker::PhantomData;

use super::builder::{Builder, Sink};
use super::piece::{Piece, TRAITS, allowed, carried, joined, traits};
use super::{Kind, Ledger};
use crate::error::Error;
use crate::node::{Node, Text};
use crate::prompt::Prompt;

/// Rows for provider rules: texts set flags while they are read, and are not stored.
pub struct Outline<T> {
    /// Whether the row has no text yet.
    is_new: bool,
    /// Scratch buffer for JSON.
    json: String,
    text: PhantomData<T>,
}

impl<T: Text> Outline<T> {
    /// Sets the flags of a piece, which takes so many bytes in a request; `traits` are those on a row of a kind.
    fn note(&mut self, ledger: &mut Ledger, bytes: u64, traits: impl FnOnce(Kind) -> Option<u16>) {
        if let Some(row) = ledger.payload.len().checked_sub(1) {
            ledger.carry(row, bytes);
        }
        if let (Some(flags), Some(kind)) = (ledger.flags.last_mut(), ledger.kind.last())
            && let Some(next) = traits(*kind)
        {
            *flags = (*flags & !TRAITS) | (joined(*flags, next, self.is_new) & allowed(*kind));
        }
        self.is_new = false;
    }
}

impl<T: Text> Sink for Outline<T> {
    type Text = T;

    #[inline]
    fn row(&mut self, ledger: &mut Ledger, name: &str) {
        ledger.push_row();
        ledger.push_names(name);
        self.is_new = true;
    }

    fn piece(&mut self, ledger: &mut Ledger, piece: Piece<T>) {
        let text = piece.text();
        self.note(ledger, piece.carried(&text), |kind| piece.traits(&text, kind));
        drop(text);
        if let Piece::Owned(mut text) = piece {
            text.clear();
            self.json = text;
        }
    }

    #[inline]
    fn read<N: Node<Text = T>>(&mut self, ledger: &mut Ledger, node: &N) -> Result<bool, Error> {
        Ok(node.look(|text| self.note(ledger, carried(text), |kind| Some(traits(text, kind))))?.is_some())
    }

    fn buffer(&mut self) -> String {
        std::mem::take(&mut self.json)
    }
}

/// Rows with their links alone; texts are not read.
pub struct Links<T>(PhantomData<T>);

impl<T: Text> Sink for Links<T> {
    type Text = T;

    const LINKS_ONLY: bool = true;

    #[inline]
    fn row(&mut self, ledger: &mut Ledger, _: &str) {
        ledger.ids.push("");
    }

    #[inline]
    fn piece(&mut self, _: &mut Ledger, _: Piece<T>) {}

    #[inline]
    fn read<N: Node<Text = T>>(&mut self, _: &mut Ledger, _: &N) -> Result<bool, Error> {
        Ok(true)
    }
}

/// A sink that links rows and counts nothing.
pub trait Linkable: Sink + Send + Sized {
    /// A sink without rows.
    fn empty() -> Self;
}

impl<T: Text> Linkable for Outline<T> {
    fn empty() -> Self {
        Self { is_new: true, json: String::new(), text: PhantomData }
    }
}

impl<T: Text> Linkable for Links<T> {
    fn empty() -> Self {
        Self(PhantomData)
    }
}

impl<S: Linkable> Builder<S> {
    /// A builder with capacity for `messages`.
    #[must_use]
    pub fn of(messages: usize) -> Self {
        let mut builder = Self::with(S::empty(), Prompt::PLAIN, 0);
        builder.ledger.reserve(messages);
        builder
    }

    /// The columns of roles, kinds and ids (an [`Outline`] has flags, names and pictures too), and the pairs of calls and
    /// results. The other columns are empty.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for more rows than a column's type can number.
    pub fn linked(mut self) -> Result<Ledger, Error> {
        let mut ledger = self.closed()?;
        ledger.link();
        Ok(ledger)
    }
}
