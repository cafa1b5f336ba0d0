//! The collectors of a reader: a ledger, or sums of tokens.

use crate::error::Error;
use crate::json::LazyText;
use crate::ledger::sums::Sum;
use crate::ledger::{Costs, Countable, Ledger, Sums, Whole};

/// Takes the parts of a list, in order.
pub trait Collect: Default + Send {
    /// The sink of the rows of a part.
    type Sink<'a>: Countable<Text = LazyText<'a>>;
    /// The result for the whole list.
    type Found;

    /// Number of messages so far.
    fn messages(&self) -> usize;

    /// Reserves memory for the next parts.
    fn make_room(&mut self, _messages: usize, _rows: usize) {}

    /// Takes the next part.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past what a column can name.
    fn take(&mut self, part: Ledger) -> Result<(), Error>;

    /// Ends the list; `empty` is a part without messages, of the list's counter.
    ///
    /// # Errors
    ///
    /// As [`Collect::take`].
    fn end(self, empty: Ledger) -> Result<Self::Found, Error>;
}

/// Collects all rows; pairs and cuts are computed at the end.
impl Collect for Ledger {
    type Sink<'a> = Whole<LazyText<'a>>;
    type Found = Self;

    fn messages(&self) -> usize {
        Self::messages(self)
    }

    fn make_room(&mut self, messages: usize, rows: usize) {
        Self::make_room(self, messages, rows);
    }

    fn take(&mut self, part: Ledger) -> Result<(), Error> {
        self.append(part)
    }

    fn end(mut self, empty: Ledger) -> Result<Self, Error> {
        self.append(empty)?;
        self.finish();
        Ok(self)
    }
}

/// Collects sums. Memory is bounded by some chunks of text, the last turn, and calls without a result.
impl<S: Sum> Collect for Sums<S> {
    type Sink<'a> = Costs<LazyText<'a>>;
    type Found = S;

    fn messages(&self) -> usize {
        Self::messages(self)
    }

    fn take(&mut self, part: Ledger) -> Result<(), Error> {
        Self::take(self, part)
    }

    fn end(self, empty: Ledger) -> Result<S, Error> {
        Self::end(self, empty)
    }
}
