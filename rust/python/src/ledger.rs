//! The columns of a transcript.

use std::collections::HashSet;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trimtab_core::counter;
use trimtab_core::json::canon::hex;
use trimtab_core::ledger;
use trimtab_core::ledger::MessageFlag;
use trimtab_core::ledger::reads;
use trimtab_core::ledger::sums::Totals;
use trimtab_core::shape::Provider;

use crate::calls::{Call, calls};
use crate::convert::{array, released, to_py};
use crate::counter::Counter;
use crate::scan::{Messages, extended, scan};
use crate::settings::Settings;

/// Version of the columns: those of another one may mean something else.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A function that makes a ledger again, and its arguments.
type Remade<'py> = (Bound<'py, PyAny>, (Bound<'py, Counter>, &'static str, &'static str, Bound<'py, PyBytes>));

/// A transcript as numbers: one row a content block, in order.
///
/// Each column is a new C-contiguous array. ``len()`` is the number of messages.
#[pyclass(frozen, module = "trimtab")]
pub struct Ledger {
    pub columns: Arc<ledger::Ledger>,
    pub provider: Provider,
    pub counter: counter::Counter,
    pub settings: Arc<Settings>,
}

/// Writes the methods of the class: a property for each column, which is a new array, and the others as they are.
macro_rules! methods {
    (columns($ledger:ident) { $($(#[$doc:meta])* $name:ident: $type:ty = $column:expr;)* } $($method:tt)*) => {
        #[pymethods]
        impl Ledger {
            $(
                $(#[$doc])*
                #[getter]
                fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<$type>>> {
                    let $ledger = &self.columns;
                    array(py, $column)
                }
            )*
            $($method)*
        }
    };
}

methods! {
    columns(ledger) {
        /// The message of each row: uint32, shape (rows,).
        owner: u32 = &ledger.owner;
        /// Kind of each row: uint8, shape (rows,).
        kind: u8 = &ledger.kind.iter().map(|k| *k as u8).collect::<Vec<_>>();
        /// Tokens of each row, with what the model's prompt puts around it: uint32, shape (rows,).
        tokens: u32 = &ledger.tokens;
        /// The row that each row is paired with, call and result; -1 for none: int32, shape (rows,).
        pair: i32 = &ledger.pair;
        /// Bytes of UTF-8 of each row's text: uint32, shape (rows,).
        bytes: u32 = &ledger.bytes;
        /// Unicode scalar values of each row's text: uint32, shape (rows,).
        chars: u32 = &ledger.chars;
        /// UTF-16 units of each row's text: uint32, shape (rows,).
        utf16: u32 = &ledger.utf16;
        /// RowFlag bits of each row: uint16, shape (rows,).
        flags: u16 = &ledger.flags;
        /// Role of each message: uint8, shape (messages,).
        role: u8 = &ledger.role.iter().map(|r| *r as u8).collect::<Vec<_>>();
        /// Mark bits of each message: uint16, shape (messages,).
        marks: u16 = &ledger.marks.iter().map(|marks| marks & !(MessageFlag::LoneSurrogate as u16)).collect::<Vec<_>>();
        /// The first row of each message, and the number of rows: uint32, shape (messages + 1,).
        first: u32 = &ledger.first;
        /// For each cut, whether no group straddles it: bool, shape (messages + 1,).
        safe: bool = &ledger.safe;
        /// Tokens of each message, what it costs by itself included: uint32, shape (messages,).
        per_message: u32 = &ledger.per_message().map_err(to_py)?;
        /// The row of the newest read's result that made each read's result old; -1 for none: int32, shape (rows,).
        superseded: i32 = &reads::superseded(ledger);
        /// The messages with a closing tag in a text, and those whose content nobody looked into, ascending: uint32.
        tagged: u32 = &ledger.tagged();
        /// The row of each picture, ascending: uint32, shape (pictures,).
        pictured: u32 = &ledger.pictured();
        /// The row of each page of a document, ascending: uint32, shape (pages,).
        paged: u32 = &ledger.paged();
        /// Bytes that each row takes in a request, about: uint32, shape (rows,).
        payload: u32 = &ledger.carried();
    }

    /// Reads messages once.
    ///
    /// The counter remembers the list that it read last, by the identity of its strings, and behind the first change by
    /// content: only what that list had not is read.
    ///
    /// Args:
    ///     messages: a list or tuple of messages, in one provider's shape; not changed.
    ///     counter: counts the texts.
    ///     provider: the shape; found from the messages where it is None.
    ///     fallback: the shape of messages in which none is found.
    ///
    /// Raises:
    ///     ValueError: a message cannot be read; args are what, path, index and hint.
    ///     TypeError: messages is no list or tuple.
    ///     OverflowError: more rows or tokens than a uint32 can name.
    #[staticmethod]
    #[pyo3(signature = (messages, *, counter, provider=None, fallback="openai_chat"))]
    fn of(
        messages: Messages<'_>,
        counter: &Bound<'_, Counter>,
        provider: Option<&str>,
        fallback: &str,
    ) -> PyResult<Self> {
        let Counter(counter, last, settings) = counter.get();
        let (provider, columns) = scan(&messages, provider, fallback, counter, last)?;
        Ok(Self { columns, provider, counter: *counter, settings: Arc::clone(settings) })
    }

    /// A ledger of these messages and those behind them: only the new ones are read.
    ///
    /// Raises:
    ///     ValueError: a message cannot be read; its index is that in the whole.
    fn extend(&self, messages: Messages<'_>) -> PyResult<Self> {
        let columns = Arc::new(extended(&self.columns, &messages, self.provider, &self.counter)?);
        let settings = Arc::clone(&self.settings);
        Ok(Self { columns, provider: self.provider, counter: self.counter, settings })
    }

    /// The ledger with these tokens for its messages, one number each: what a message has beyond its texts is its own, and
    /// one that has fewer gives up thinking first.
    ///
    /// Raises:
    ///     ValueError: there are not as many numbers as messages.
    fn framed(&self, totals: Vec<u32>) -> PyResult<Self> {
        let columns = Arc::new((*self.columns).clone().framed(&totals).map_err(to_py)?);
        Ok(Self { columns, provider: self.provider, counter: self.counter, settings: Arc::clone(&self.settings) })
    }

    /// What makes an equal ledger in another process: its columns and a counter of the same settings.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Remade<'py>> {
        let counter = Bound::new(py, Counter::of(self.counter, Arc::clone(&self.settings)))?;
        let state = PyBytes::new(py, &py.detach(|| self.columns.to_bytes()));
        let remade = py.get_type::<Self>().getattr("_remade")?;
        Ok((remade, (counter, self.provider.name(), VERSION, state)))
    }

    /// The ledger that was pickled.
    ///
    /// Raises:
    ///     ValueError: another version of trimtab pickled it, or the bytes are no ledger's.
    #[staticmethod]
    fn _remade(
        py: Python<'_>,
        counter: &Bound<'_, Counter>,
        provider: &str,
        version: &str,
        state: &[u8],
    ) -> PyResult<Self> {
        if version != VERSION {
            let what = format!("cannot unpickle a Ledger of trimtab {version} with trimtab {VERSION}");
            return Err(PyValueError::new_err(format!("{what}: make it anew from its messages")));
        }
        let Counter(counter, _, settings) = counter.get();
        let columns = Arc::new(released(py, || ledger::Ledger::of_bytes(state, counter))?);
        let provider = Provider::named(provider).map_err(to_py)?;
        Ok(Self { columns, provider, counter: *counter, settings: Arc::clone(settings) })
    }

    fn __len__(&self) -> usize {
        self.columns.messages()
    }

    /// The messages' shape, by name.
    #[getter]
    fn provider(&self) -> &'static str {
        self.provider.name()
    }

    /// Tokens of all messages.
    #[getter]
    fn total(&self) -> u64 {
        self.columns.total()
    }

    /// Bytes of all messages in a request, about.
    #[getter]
    fn request_bytes(&self) -> u64 {
        self.columns.request_bytes()
    }

    /// The number of messages, their tokens beyond their rows, and tokens of rows by role and kind.
    fn sums(&self) -> (usize, u64, Vec<Vec<u64>>) {
        Totals::of(&self.columns).parts()
    }

    /// Tokens of each tool's calls and results, by name.
    fn by_tool(&self) -> Vec<(&str, u64)> {
        self.columns.by_tool().into_iter().collect()
    }

    /// Digest of the messages, as 32 hexadecimal digits; cache markers do not change it.
    #[getter]
    fn digest(&self) -> String {
        hex(&self.columns.digest())
    }

    /// Digest of a transcript of the first messages alone, or of those of them from `start` on.
    #[pyo3(signature = (messages, start=0))]
    fn digest_until(&self, messages: usize, start: usize) -> String {
        hex(&self.columns.digest_until(messages, start))
    }

    /// Digest of one message; raises ValueError for an index out of range.
    fn digest_of(&self, index: usize) -> PyResult<String> {
        self.columns.digest_of(index).map(|digest| hex(&digest)).map_err(to_py)
    }

    /// Positions of the messages from one on with a lone surrogate, ascending: of dicts alone, none is looked for in JSON
    /// text.
    #[pyo3(signature = (since=0))]
    fn surrogates(&self, since: usize) -> Vec<usize> {
        let has_one = |&index: &usize| self.columns.marked(index, MessageFlag::LoneSurrogate);
        (since..self.columns.messages()).filter(has_one).collect()
    }

    /// Positions of the messages with one of these digests, ascending.
    fn find(&self, digests: HashSet<String>) -> Vec<usize> {
        self.columns.find(&digests)
    }

    /// Digests of all messages, 16 bytes each.
    #[getter]
    fn digests<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.columns.digests.as_flattened())
    }

    /// Whether the messages from one on are an answer and the results of its calls.
    fn loops(&self, before: usize) -> bool {
        self.columns.loops(before)
    }

    /// Tokens of a message's thinking and of its other blocks, whether it has calls, and its tokens as a whole.
    fn answer(&self, index: usize) -> PyResult<(u64, u64, bool, u32)> {
        self.columns.answer(index).map_err(to_py)
    }

    /// Positions of the messages whose digest is none of these, ascending.
    fn unlike(&self, digests: &[u8]) -> Vec<usize> {
        self.columns.unlike(digests)
    }

    /// Whether each row is a call of one of these tools, or the result of one: bool, shape (rows,).
    fn named<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        array(py, &self.columns.calls_of(&names).collect::<Vec<_>>())
    }

    /// The call of each of these rows; None for a row that is no call of a known shape.
    ///
    /// Args:
    ///     messages: those that the ledger was made of.
    ///     rows: rows of the ledger.
    ///
    /// Returns:
    ///     The way to the call in its message, its field with the arguments, its tool and the arguments, as they are there.
    ///
    /// Raises:
    ///     ValueError: a row is out of range.
    fn calls<'py>(&self, messages: Messages<'py>, rows: Vec<usize>) -> PyResult<Vec<Option<Call<'py>>>> {
        calls(&self.columns, &messages, &rows)
    }

    /// The call id of a row, empty where it has none; raises ValueError for a row out of range.
    fn id_of(&self, row: usize) -> PyResult<&str> {
        self.columns.id_of(row).map_err(to_py)
    }

    /// The tools' names and blocks' types, and the position of each row's among them: uint32, shape (rows,).
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<(Vec<&str>, Bound<'py, PyArray1<u32>>)> {
        let (names, rows) = self.columns.named();
        array(py, &rows).map(|rows| (names, rows))
    }
}
