//! Counting a text that grows.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trimtab_tokens::IncrementalCounter as Growing;

use crate::convert::released;
use crate::text::Text;

/// Counts a text that grows: tokens that more text cannot change are counted once.
#[pyclass(frozen, module = "trimtab._core")]
pub struct IncrementalCounter(pub Mutex<Growing>);

impl IncrementalCounter {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Growing) -> T + Send) -> PyResult<T> {
        released(py, || Ok(work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}

#[pymethods]
impl IncrementalCounter {
    /// Adds text to the end.
    ///
    /// Args:
    ///     text: str (lone surrogates count as U+FFFD), or bytes, which may end inside a character (invalid UTF-8 counts
    ///         as U+FFFD).
    ///
    /// Raises:
    ///     TypeError: text is neither.
    fn append(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(bytes) = text.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return self.with(py, |counter| counter.append_bytes(bytes));
        }
        let text: Text = text.extract()?;
        self.with(py, |counter| counter.append(text.as_ref()))
    }

    /// Tokens of the whole text, as ``Counter.count`` gives them.
    #[getter]
    fn tokens(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, Growing::tokens)
    }
}
