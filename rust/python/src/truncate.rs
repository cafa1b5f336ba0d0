//! One text, cut down to a limit.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trimtab_core::ongoing::Ongoing;
use trimtab_core::truncate::{self as cutting, Category, Stream};

use crate::convert::{released, to_py};
use crate::counter::Counter;
use crate::text::Text;

/// The text cut down to its limits, with a notice of what was left out; None where it is within them.
/// `limits` are tokens, lines and characters.
#[pyfunction]
#[pyo3(signature = (text, *, counter, category, limits))]
pub fn truncate(
    py: Python<'_>,
    text: Text,
    counter: &Bound<'_, Counter>,
    category: &str,
    limits: [Option<usize>; 3],
) -> PyResult<Option<String>> {
    let (category, limits) = (Category::named(category).map_err(to_py)?, limits.into());
    let counter = counter.get().0.text;
    released(py, || Ok(cutting::truncate(text.as_ref(), category, limits, &counter)))
}

/// Cuts a text that comes in chunks of bytes down to its limits.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Truncation(Ongoing<Stream>);

#[pymethods]
impl Truncation {
    #[new]
    #[pyo3(signature = (*, counter, category, limits))]
    fn new(counter: &Bound<'_, Counter>, category: &str, limits: [Option<usize>; 3]) -> PyResult<Self> {
        let category = Category::named(category).map_err(to_py)?;
        let stream = Stream::new(category, limits.into(), counter.get().0.text);
        Ok(Self(Ongoing::new("text", stream)))
    }

    /// Takes the next bytes; raises ValueError once finished.
    fn push(&self, py: Python<'_>, chunk: &[u8]) -> PyResult<()> {
        released(py, || self.0.advance(|stream| stream.push(chunk)))
    }

    /// The text, cut down where it passes a limit, else byte for byte; raises ValueError the second time.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let cut = released(py, || self.0.take().map(Stream::finish))?;
        Ok(PyBytes::new(py, &cut))
    }
}
