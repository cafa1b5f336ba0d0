//! The arguments that a counter was made with.

use std::path::PathBuf;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The arguments of a counter: it goes to other processes as these, and so does a ledger's counter.
pub struct Settings {
    encoding: String,
    /// The other arguments that were given, by name.
    options: Py<PyDict>,
}

impl Settings {
    /// Keeps the arguments that are given.
    pub fn of(
        py: Python<'_>,
        encoding: &str,
        prompt: Option<&Bound<'_, PyAny>>,
        path: Option<&str>,
        pattern: Option<&str>,
        kept: Option<&(PathBuf, Option<u32>)>,
        flat: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = flat.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
        if let Some(prompt) = prompt {
            options.set_item(intern!(py, "prompt"), prompt)?;
        }
        if let Some(kept) = kept {
            options.set_item(intern!(py, "kept"), kept)?;
        }
        for (name, text) in [("path", path), ("pattern", pattern)] {
            if let Some(text) = text {
                options.set_item(name, text)?;
            }
        }
        Ok(Self { encoding: encoding.to_owned(), options: options.unbind() })
    }

    /// The encoding, and the other arguments by name.
    pub fn arguments<'py>(&self, py: Python<'py>) -> PyResult<((&str,), Bound<'py, PyDict>)> {
        Ok(((&self.encoding,), self.options.bind(py).copy()?))
    }

    /// The prompt format that was given.
    pub fn prompt<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.options.bind(py).get_item(intern!(py, "prompt"))
    }
}
