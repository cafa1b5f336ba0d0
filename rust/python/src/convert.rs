//! Errors and panics on their way out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::PyErr;
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use trimtab_core::error::Error;

/// Every error of the core as Python's.
///
/// A message's error carries its parts: `trimtab._errors` makes a `MessageError` of them.
pub fn to_py(error: Error) -> PyErr {
    match error {
        Error::Message { path, index, what, hint } => PyValueError::new_err((what, path, index, hint)),
        Error::Length { .. } | Error::Argument(_) => PyValueError::new_err(error.to_string()),
        Error::Overflow(_) => PyOverflowError::new_err(error.to_string()),
    }
}

/// Runs `work` without the interpreter. A panic becomes a `RuntimeError` that Python can catch: a defect in the core
/// never takes the process along.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .map_err(|_| defect("the core met a defect; the transcript is unchanged"))?
        .map_err(to_py)
}

/// Bytes of text below which the interpreter is held: it is counted in 10 us, and to release costs a tenth of that.
const SHORT: usize = 4 * 1024;

/// The same; with the interpreter where there is so little text that another thread would hardly begin.
pub fn held_or_released<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    if bytes > SHORT {
        return released(py, work);
    }
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| defect("the core met a defect; the transcript is unchanged"))?
        .map_err(to_py)
}

/// An error that is ours, not the caller's.
pub fn defect(what: &'static str) -> PyErr {
    PyRuntimeError::new_err(what)
}
