//! Where the values of a list stood in the list before it.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use trimtab_core::reread::Aligned;
use trimtab_core::seen;

use crate::scan::{Messages, unchanged, visit};
use crate::seen::Objects;

/// Remembers the values of a list, by identity and by content: dicts, lists, tuples, texts, numbers, times, bytes,
/// pydantic models and dataclasses. A value that holds anything else is never known.
#[pyclass(frozen, module = "trimtab._core")]
#[derive(Default)]
pub struct Seen(Mutex<seen::Seen<Py<PyAny>>>);

#[pymethods]
impl Seen {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Compares values with those of the last call, and remembers them in place of these.
    ///
    /// Returns:
    ///     How many in front are what they were, and for each value behind them its position in the list of the last
    ///     call; None for a value that is new or was changed.
    fn places(&self, values: Messages<'_>) -> PyResult<(usize, Vec<Option<usize>>)> {
        let last = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let known = unchanged(&values, &last)?;
        let (mut aligned, mut places) = (Aligned::new(last, known), Vec::new());
        visit(&values, known, |_, value| {
            places.push(aligned.place::<Objects<'_>>(&value.object));
            Ok(false)
        })?;
        let seen = aligned.end();
        let gone = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), seen);
        drop(gone); // behind the lock: a finalizer of an object that goes may come here
        Ok((known, places))
    }
}
