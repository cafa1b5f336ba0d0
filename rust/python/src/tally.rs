//! BatchCounter a text that grows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trimtab_tokens as tokens;

use crate::convert::released;
use crate::text::Text;

/// A count of a text that grows: what more text cannot change is counted once.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Tally(pub Mutex<tokens::IncrementalCounter>);

impl Tally {
    fn locked(&self) -> MutexGuard<'_, tokens::IncrementalCounter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Tally {
    /// Adds text to the end.
    ///
    /// Args:
    ///     text: str (lone surrogates count as U+FFFD) or bytes, which may end inside a character (what is not UTF-8
    ///         counts as U+FFFD).
    ///
    /// Raises:
    ///     TypeError: it is neither.
    fn append(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(bytes) = text.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return released(py, || {
                self.locked().append_bytes(bytes);
                Ok(())
            });
        }
        let text = Text::of_either(text)?;
        released(py, || {
            self.locked().append(text.as_ref());
            Ok(())
        })
    }

    /// Tokens of all that was added: what ``Counter.count`` gives for it.
    #[getter]
    fn tokens(&self, py: Python<'_>) -> PyResult<usize> {
        released(py, || Ok(self.locked().tokens()))
    }
}
