//! Truncation of one text.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trimtab_core::ongoing::Ongoing;
use trimtab_core::truncate::{self as cutting, Category, Stream};

use crate::convert::{released, to_py};
use crate::counter::Counter;
use crate::text::Text;

/// The truncated text, with the lines that `quotes` have; None if it is within `limits`: tokens, lines, characters, bytes.
/// `more` ends the notice.
#[pyfunction]
#[pyo3(signature = (text, *, counter, category, limits, more="", quotes=Vec::new()))]
pub fn truncate(
    py: Python<'_>,
    text: Text,
    counter: &Bound<'_, Counter>,
    category: &str,
    limits: [Option<usize>; 4],
    more: &str,
    quotes: Vec<Text>,
) -> PyResult<Option<String>> {
    let (category, limits) = (Category::named(category).map_err(to_py)?, limits.into());
    let counter = counter.get().0.text;
    released(py, || Ok(cutting::truncate_around(text.as_ref(), &quotes, category, limits, more, &counter)))
}

/// Truncates a text that arrives in chunks of bytes.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Truncation(Ongoing<Stream>);

#[pymethods]
impl Truncation {
    #[new]
    #[pyo3(signature = (*, counter, category, limits, more=String::new()))]
    fn new(counter: &Bound<'_, Counter>, category: &str, limits: [Option<usize>; 4], more: String) -> PyResult<Self> {
        let category = Category::named(category).map_err(to_py)?;
        let stream = Stream::new(category, limits.into(), more, counter.get().0.text);
        Ok(Self(Ongoing::new("text", stream)))
    }

    /// Appends bytes; raises ValueError once finished.
    fn push(&self, py: Python<'_>, chunk: &[u8]) -> PyResult<()> {
        released(py, || self.0.advance(|stream| stream.push(chunk)))
    }

    /// The truncated text, or the unchanged bytes if they are within the limits; raises ValueError the second time.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let cut = released(py, || self.0.take().map(Stream::finish))?;
        Ok(PyBytes::new(py, &cut))
    }
}
