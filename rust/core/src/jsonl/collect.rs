//! What a reader makes of the messages: a ledger, or their costs added up.

use crate::error::Error;
use crate::json::LazyText;
use crate::ledger::sums::Sum;
use crate::ledger::{Costs, Countable, Ledger, Sums, Whole};

/// Takes the parts of a list, in order.
pub trait Collect: Default + Send {
    /// What is kept of the rows of a part.
    type Sink<'a>: Countable<Text = LazyText<'a>>;
    /// What comes of the whole list.
    type Found;

    /// Messages that have come so far.
    fn messages(&self) -> usize;

    /// Makes room for what is to be taken.
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

/// All rows; their pairs and cuts are found at the end.
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

/// Costs: memory is for some chunks of text, however many they are, and for a turn that has no end and calls that have no
/// result.
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
