//! The columns that come of a scan.

use std::collections::HashSet;

use numpy::{PyArray1, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trimtab_core::error::Error;
use trimtab_core::ledger;
use trimtab_core::shape::Provider;
use trimtab_core::text;

use crate::convert::{released, to_py};
use crate::counter::Counter;
use crate::scan::{provider_of, scan};

/// A transcript as numbers: one row a content block, in order.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Ledger {
    pub columns: ledger::Ledger,
    pub provider: Provider,
    counter: text::Counter,
}

#[pymethods]
impl Ledger {
    #[staticmethod]
    #[pyo3(signature = (messages, *, counter, provider=None))]
    fn of(messages: &Bound<'_, PyAny>, counter: &Bound<'_, Counter>, provider: Option<&str>) -> PyResult<Self> {
        let (provider, counter) = (provider_of(messages, provider)?, counter.get().0);
        Ok(Self { columns: scan(messages, provider, &counter)?, provider, counter })
    }

    fn extend(&self, messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        let tail = scan(messages, self.provider, &self.counter)
            .map_err(|error| moved(messages.py(), error, self.columns.messages()))?;
        let columns = released(messages.py(), || self.columns.clone().extend(tail))?;
        Ok(Self { columns, provider: self.provider, counter: self.counter })
    }

    fn __len__(&self) -> usize {
        self.columns.messages()
    }

    #[getter]
    fn provider(&self) -> &'static str {
        self.provider.name()
    }

    #[getter]
    fn owner<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.columns.owner.to_pyarray(py)
    }

    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        PyArray1::from_iter(py, self.columns.kind.iter().map(|k| *k as u8))
    }

    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.columns.tokens.to_pyarray(py)
    }

    #[getter]
    fn pair<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.columns.pair.to_pyarray(py)
    }

    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.columns.bytes.to_pyarray(py)
    }

    #[getter]
    fn chars<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.columns.chars.to_pyarray(py)
    }

    #[getter]
    fn utf16<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.columns.utf16.to_pyarray(py)
    }

    #[getter]
    fn flags<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        self.columns.flags.to_pyarray(py)
    }

    #[getter]
    fn role<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        PyArray1::from_iter(py, self.columns.role.iter().map(|r| *r as u8))
    }

    #[getter]
    fn marks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        self.columns.marks.to_pyarray(py)
    }

    #[getter]
    fn first<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.columns.first.to_pyarray(py)
    }

    #[getter]
    fn safe<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.columns.safe.to_pyarray(py)
    }

    #[getter]
    fn per_message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(self.columns.per_message().map_err(to_py)?.to_pyarray(py))
    }

    #[getter]
    fn total(&self) -> u64 {
        let rows: u64 = self.columns.tokens.iter().map(|t| u64::from(*t)).sum();
        rows + u64::from(self.columns.overhead) * self.columns.messages() as u64
    }

    #[getter]
    fn digest(&self) -> String {
        hex(&self.columns.digest())
    }

    fn digest_of(&self, index: usize) -> PyResult<String> {
        let digest =
            self.columns.digests.get(index).ok_or_else(|| out_of(index, self.columns.messages(), "messages"))?;
        Ok(hex(digest))
    }

    fn find(&self, digests: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let wanted = digests.try_iter()?.map(|d| d?.extract()).collect::<PyResult<HashSet<String>>>()?;
        let found = |(index, digest): (usize, &[u8; 16])| wanted.contains(&hex(digest)).then_some(index);
        Ok(self.columns.digests.iter().enumerate().filter_map(found).collect())
    }

    fn id_of(&self, row: usize) -> PyResult<&str> {
        self.check(row)?;
        Ok(self.columns.ids.get(row))
    }

    fn name_of(&self, row: usize) -> PyResult<&str> {
        self.check(row)?;
        Ok(self.columns.names.get(row))
    }
}

impl Ledger {
    fn check(&self, row: usize) -> PyResult<()> {
        if row < self.columns.rows() { Ok(()) } else { Err(out_of(row, self.columns.rows(), "rows")) }
    }
}

fn out_of(index: usize, count: usize, what: &str) -> PyErr {
    PyValueError::new_err(format!("position {index} is out of range, the ledger has {count} {what}"))
}

/// An error in the messages that extend a ledger, with their position in the whole.
fn moved(py: Python<'_>, error: PyErr, by: usize) -> PyErr {
    let parts: Result<(String, String, usize, String), _> = error.value(py).getattr("args").and_then(|a| a.extract());
    match parts {
        Ok((what, path, index, hint)) => {
            let path = path.replacen(&format!("messages[{index}]"), &format!("messages[{}]", index + by), 1);
            to_py(Error::Message { path, index: index + by, what, hint })
        }
        Err(_) => error,
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, b| {
        let _ = write!(out, "{b:02x}"); // writing to a String cannot fail
        out
    })
}
