//! The columns that come of a scan.

use std::collections::HashSet;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trimtab_core::counter;
use trimtab_core::ledger;
use trimtab_core::ledger::reads;
use trimtab_core::shape::Provider;

use crate::convert::{array, to_py};
use crate::counter::Counter;
use crate::scan::{extended, provider_of};

/// A transcript as numbers: one row a content block, in order.
///
/// Each column is a new C-contiguous array. ``len()`` is the number of messages.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Ledger {
    pub columns: Arc<ledger::Ledger>,
    pub provider: Provider,
    counter: counter::Counter,
}

#[pymethods]
impl Ledger {
    /// Reads messages once.
    ///
    /// The counter remembers the list that it read last, by the identity of its strings: what did not change since then
    /// is not read again, and what was put in its place is.
    ///
    /// Args:
    ///     messages: a list or tuple of messages, in one provider's shape; not changed.
    ///     counter: counts the texts.
    ///     provider: the shape; found from the messages where it is None.
    ///
    /// Raises:
    ///     ValueError: a message cannot be read; args are what, path, index and hint.
    ///     TypeError: messages is no list or tuple.
    ///     OverflowError: more rows or tokens than a uint32 can name.
    #[staticmethod]
    #[pyo3(signature = (messages, *, counter, provider=None))]
    fn of(messages: &Bound<'_, PyAny>, counter: &Bound<'_, Counter>, provider: Option<&str>) -> PyResult<Self> {
        let (provider, counter) = (provider_of(messages, provider)?, counter.get());
        Ok(Self { columns: counter.read(messages, provider)?, provider, counter: counter.0 })
    }

    /// A ledger of these messages and those behind them: only the new ones are read.
    ///
    /// Raises:
    ///     ValueError: a message cannot be read; its index is that in the whole.
    fn extend(&self, messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        let columns = Arc::new(extended(&self.columns, messages, self.provider, &self.counter)?);
        Ok(Self { columns, provider: self.provider, counter: self.counter })
    }

    fn __len__(&self) -> usize {
        self.columns.messages()
    }

    /// The messages' shape, by name.
    #[getter]
    fn provider(&self) -> &'static str {
        self.provider.name()
    }

    /// The message of each row: uint32, shape (rows,).
    #[getter]
    fn owner<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &self.columns.owner)
    }

    /// What each row is, a Kind: uint8, shape (rows,).
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        array(py, &self.columns.kind.iter().map(|k| *k as u8).collect::<Vec<_>>())
    }

    /// Tokens of each row, with what the model's prompt puts around it: uint32, shape (rows,).
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &self.columns.tokens)
    }

    /// The row that each row is paired with, call and result; -1 for none: int32, shape (rows,).
    #[getter]
    fn pair<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i32>>> {
        array(py, &self.columns.pair)
    }

    /// Bytes of UTF-8 of each row's text: uint32, shape (rows,).
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &self.columns.bytes)
    }

    /// Unicode scalar values of each row's text: uint32, shape (rows,).
    #[getter]
    fn chars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &self.columns.chars)
    }

    /// UTF-16 units of each row's text: uint32, shape (rows,).
    #[getter]
    fn utf16<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &self.columns.utf16)
    }

    /// RowFlag bits of each row: uint16, shape (rows,).
    #[getter]
    fn flags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u16>>> {
        array(py, &self.columns.flags)
    }

    /// Who speaks in each message, a Role: uint8, shape (messages,).
    #[getter]
    fn role<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        array(py, &self.columns.role.iter().map(|r| *r as u8).collect::<Vec<_>>())
    }

    /// Mark bits of each message: uint16, shape (messages,).
    #[getter]
    fn marks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u16>>> {
        array(py, &self.columns.marks)
    }

    /// The first row of each message, and the number of rows: uint32, shape (messages + 1,).
    #[getter]
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &self.columns.first)
    }

    /// For each cut, whether no group straddles it: bool, shape (messages + 1,).
    #[getter]
    fn safe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        array(py, &self.columns.safe)
    }

    /// Tokens of each message, what it costs by itself included: uint32, shape (messages,).
    ///
    /// Raises:
    ///     OverflowError: a message has more tokens than a uint32 can name.
    #[getter]
    fn per_message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &self.columns.per_message().map_err(to_py)?)
    }

    /// Tokens of all messages.
    #[getter]
    fn total(&self) -> u64 {
        self.columns.total()
    }

    /// What the messages say, as 32 hexadecimal digits; cache markers do not count.
    #[getter]
    fn digest(&self) -> String {
        hex(&self.columns.digest())
    }

    /// What the first messages say, as 32 hexadecimal digits: the digest of a transcript of these alone.
    fn digest_until(&self, messages: usize) -> String {
        hex(&self.columns.digest_until(messages))
    }

    /// What one message says, as 32 hexadecimal digits.
    ///
    /// Raises:
    ///     ValueError: there is no message at index.
    fn digest_of(&self, index: usize) -> PyResult<String> {
        let digest =
            self.columns.digests.get(index).ok_or_else(|| out_of(index, self.columns.messages(), "messages"))?;
        Ok(hex(digest))
    }

    /// Positions of the messages with one of these digests, ascending.
    fn find(&self, digests: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let wanted = digests.try_iter()?.map(|d| d?.extract()).collect::<PyResult<HashSet<String>>>()?;
        let found = |(index, digest): (usize, &[u8; 16])| wanted.contains(&hex(digest)).then_some(index);
        Ok(self.columns.digests.iter().enumerate().filter_map(found).collect())
    }

    /// Whether each row is a call of one of these tools, or the result of one: bool, shape (rows,).
    fn named<'py>(&self, names: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let wanted = names.try_iter()?.map(|name| name?.extract()).collect::<PyResult<Vec<String>>>()?;
        array(names.py(), &self.columns.calls_of(&wanted).collect::<Vec<_>>())
    }

    /// Rows of results of reads that a newer read of the same file made old, ascending: uint32.
    #[getter]
    fn superseded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        array(py, &reads::superseded(&self.columns))
    }

    /// Rows that hold a picture, ascending: uint32.
    #[getter]
    fn pictured<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let mut rows: Vec<u32> = self.columns.pictures.iter().map(|picture| picture.row).collect();
        rows.dedup();
        array(py, &rows)
    }

    /// The call id of a row, empty where it has none.
    ///
    /// Raises:
    ///     ValueError: there is no such row.
    fn id_of(&self, row: usize) -> PyResult<&str> {
        self.check(row)?;
        Ok(self.columns.ids.get(row))
    }

    /// The tool's name or the block's type of a row.
    ///
    /// Raises:
    ///     ValueError: there is no such row.
    fn name_of(&self, row: usize) -> PyResult<&str> {
        self.check(row)?;
        Ok(self.columns.names.get(row))
    }
}

impl Ledger {
    /// A ledger of columns that are made already.
    pub fn made(columns: ledger::Ledger, provider: Provider, counter: counter::Counter) -> Self {
        Self { columns: Arc::new(columns), provider, counter }
    }

    fn check(&self, row: usize) -> PyResult<()> {
        if row < self.columns.rows() { Ok(()) } else { Err(out_of(row, self.columns.rows(), "rows")) }
    }
}

fn out_of(index: usize, count: usize, what: &str) -> PyErr {
    PyValueError::new_err(format!("position {index} is out of range, the ledger has {count} {what}"))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, b| {
        let _ = write!(out, "{b:02x}"); // writing to a String cannot fail
        out
    })
}
