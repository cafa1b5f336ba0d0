//! Messages as JSON text to a ledger or counts: no object is made of a message.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trimtab_core::jsonl::{self, Found, Wanted};
use trimtab_core::ongoing::Ongoing;
use trimtab_core::shape::Provider;

use crate::convert::{array, released, to_py};
use crate::counter::Counter;
use crate::ledger::Ledger;
use crate::settings::Settings;

/// Reads a list of messages, or JSONL with a message a line, from chunks of bytes.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Reader(Ongoing<Wanted>, Arc<Settings>);

/// Line, bytes before it, what is wrong with it, and whether it was read nevertheless.
type Skip = (u64, u64, &'static str, bool);

#[pymethods]
impl Reader {
    /// `want` is "ledger", "sums" or "counts".
    #[new]
    #[pyo3(signature = (*, counter, provider=None, want="ledger"))]
    fn new(counter: &Bound<'_, Counter>, provider: Option<&str>, want: &str) -> PyResult<Self> {
        let provider = provider.map(Provider::named).transpose().map_err(to_py)?;
        let reader = Wanted::named(want, counter.get().0, provider).map_err(to_py)?;
        Ok(Self(Ongoing::new("reader", reader), Arc::clone(&counter.get().2)))
    }

    /// Takes the next bytes; complete messages are read and counted, in parallel.
    ///
    /// Raises:
    ///     ValueError: a value is no message, args are what, path, index and hint; or the reader is finished.
    fn push(&self, py: Python<'_>, chunk: &[u8]) -> PyResult<()> {
        released(py, || self.0.advance(|reader| reader.push(chunk))?)
    }

    /// The provider, what was wanted, the first ten thousand parts with a fault (line, offset, reason, whether they were
    /// read nevertheless), and the number of all that were not read.
    ///
    /// Sums are those of a ledger. Counts are tokens of each message: uint32, shape (messages,).
    ///
    /// Raises:
    ///     ValueError: as push.
    ///     OverflowError: more rows or tokens than a uint32 can name.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(&'static str, Bound<'py, PyAny>, Vec<Skip>, u64)> {
        let reading = released(py, || self.0.take()?.finish())?;
        let (provider, counter) = (reading.provider, reading.counter);
        let found = match reading.found {
            Found::Ledger(ledger) => {
                let (columns, settings) = (Arc::new(ledger), Arc::clone(&self.1));
                Ledger { columns, provider, counter, settings }.into_bound_py_any(py)?
            }
            Found::Counts(tokens) => array(py, &tokens)?.into_any(),
            Found::Sums(sums) => sums.parts().into_bound_py_any(py)?,
        };
        let skips =
            reading.skipped.into_iter().map(|skip| (skip.line, skip.offset, skip.reason, skip.is_read)).collect();
        Ok((provider.name(), found, skips, reading.lost))
    }
}

/// JSON; end; position and reason of each defect, and whether it was read nevertheless; `is_unclosed`.
type Recovered<'py> = (Bound<'py, PyBytes>, usize, Vec<(usize, String, bool)>, bool);

/// JSON of the value at the start of a text, of a broken one with its intact entries, or empty; the position to continue
/// from; position and reason of each defect, and whether it was read nevertheless; and `is_unclosed` for the next call. None if it depends on later bytes.
#[pyfunction]
#[pyo3(signature = (text, *, is_end, is_unclosed))]
pub fn recover<'py>(py: Python<'py>, text: &[u8], is_end: bool, is_unclosed: bool) -> PyResult<Option<Recovered<'py>>> {
    let found = released(py, || Ok(jsonl::recover(text, is_end, is_unclosed)))?;
    Ok(found.map(|found| {
        let defects = found.defects.into_iter().map(|defect| (defect.at, defect.reason, defect.is_read)).collect();
        (PyBytes::new(py, &found.json), found.end, defects, found.is_unclosed)
    }))
}
