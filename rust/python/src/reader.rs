//! Messages as JSON text: bytes in, a ledger out, no object made of a message.

use std::sync::{Mutex, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trimtab_core::error::Error;
use trimtab_core::jsonl;
use trimtab_core::shape::Provider;

use crate::convert::{array_of, released, to_py};
use crate::counter::Counter;
use crate::ledger::Ledger;

/// Reads a list of messages, or a message a line, out of bytes that are pushed.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Reader(Mutex<Option<jsonl::Reader>>);

/// Line, bytes before it and what is wrong with it.
type Skip = (u64, u64, &'static str);

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (*, counter, provider=None, sums=false, each=false))]
    fn new(counter: &Bound<'_, Counter>, provider: Option<&str>, sums: bool, each: bool) -> PyResult<Self> {
        let provider = provider.map(Provider::named).transpose().map_err(to_py)?;
        let begin = match (sums, each) {
            (_, true) => jsonl::Reader::counting,
            (true, false) => jsonl::Reader::summing,
            (false, false) => jsonl::Reader::new,
        };
        Ok(Self(Mutex::new(Some(begin(counter.get().0, provider)))))
    }

    /// Takes the next bytes; what is complete is read and counted, in parallel.
    ///
    /// Raises:
    ///     ValueError: a value is no message, args are what, path, index and hint; or the reader is finished.
    fn push(&self, py: Python<'_>, chunk: &[u8]) -> PyResult<()> {
        released(py, || {
            let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slot.as_mut().ok_or_else(finished)?.push(chunk)
        })
    }

    /// The ledger, what could not be read (line, offset, reason; the first ten thousand), and how much that is in all. The
    /// ledger is empty where sums or counts were wanted.
    ///
    /// Raises:
    ///     ValueError: as push.
    ///     OverflowError: more rows or tokens than a uint32 can name.
    fn finish(&self, py: Python<'_>) -> PyResult<(Ledger, Vec<Skip>, u64)> {
        let (found, counter) = self.end(py)?;
        Ok((Ledger::made(found.ledger, found.provider, counter), skips(found.skipped), found.lost))
    }

    /// Where sums were wanted: the provider, the number of messages, what they cost beyond their rows, tokens of rows by
    /// role and kind, and what could not be read, as finish says it.
    ///
    /// Raises:
    ///     ValueError: as push; sums were not wanted.
    ///     OverflowError: as finish.
    fn finish_sums(&self, py: Python<'_>) -> PyResult<Summed> {
        let (found, _) = self.end(py)?;
        let sums = found.sums.ok_or_else(|| to_py(Error::Argument("sums were not wanted: a ledger was".to_owned())))?;
        let tokens = sums.tokens.iter().map(|of| of.to_vec()).collect();
        Ok((found.provider.name(), sums.messages, sums.framing, tokens, skips(found.skipped), found.lost))
    }

    /// Where each message's was wanted: the provider, tokens of each message, uint32, shape (messages,), and what could not
    /// be read, as finish says it.
    ///
    /// Raises:
    ///     ValueError: as push; counts were not wanted.
    ///     OverflowError: as finish.
    fn finish_counts<'py>(&self, py: Python<'py>) -> PyResult<Counts<'py>> {
        let (found, _) = self.end(py)?;
        let each = found.sums.and_then(|sums| sums.each);
        let each = each.ok_or_else(|| to_py(Error::Argument("counts of each message were not wanted".to_owned())))?;
        Ok((found.provider.name(), array_of(py, each.tokens)?, skips(found.skipped), found.lost))
    }
}

/// What [`Reader::finish_sums`] gives.
type Summed = (&'static str, usize, u64, Vec<Vec<u64>>, Vec<Skip>, u64);

/// What [`Reader::finish_counts`] gives.
type Counts<'py> = (&'static str, Bound<'py, PyArray1<u32>>, Vec<Skip>, u64);

impl Reader {
    fn end(&self, py: Python<'_>) -> PyResult<(jsonl::Reading, trimtab_core::counter::Counter)> {
        released(py, || {
            let reader = self.0.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(finished)?;
            let counter = reader.counter();
            Ok((reader.finish()?, counter))
        })
    }
}

fn skips(skipped: Vec<jsonl::Skip>) -> Vec<Skip> {
    skipped.into_iter().map(|skip| (skip.line, skip.offset, skip.reason)).collect()
}

fn finished() -> Error {
    Error::Argument("the reader is finished; begin another".to_owned())
}

/// Messages and rows of text with a message a line, read and not counted; None where a line is something else, or not
/// UTF-8.
///
/// Raises:
///     ValueError: the provider is unknown.
#[pyfunction]
#[pyo3(signature = (lines, *, provider))]
pub fn survey(py: Python<'_>, lines: &Bound<'_, PyBytes>, provider: &str) -> PyResult<Option<(usize, usize)>> {
    let provider = Provider::named(provider).map_err(to_py)?;
    let bytes = lines.as_bytes();
    released(py, || Ok(jsonl::survey(bytes, provider)))
}
