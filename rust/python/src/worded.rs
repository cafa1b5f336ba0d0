//! Which fields of a log's entry hold text.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use trimtab_core::text::{MOST_READ, MOST_SEARCHED, is_worded};
use trimtab_tokens::cancel;

use crate::convert::panicked;
use crate::text::Text;

/// The names of the fields of `values`, but for the `known` ones, that hold a string of three words or more at any depth; a
/// field with more than a thousand values is taken to hold one. A name stands once for each value that has such a field.
#[pyfunction]
pub fn worded<'py>(
    values: Vec<Bound<'py, PyDict>>,
    known: Vec<Bound<'py, PyString>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let find = || {
        let mut found = Vec::new();
        for value in &values {
            for (name, inner) in value {
                let is_known = || known.iter().any(|one| name.is(one) || name.eq(one).unwrap_or(false));
                if holds_text(inner)? && !is_known() {
                    found.push(name);
                }
            }
        }
        Ok(found)
    };
    // The binding panics on a dict that changes while it is read.
    cancel::caught(find).map_err(panicked)?
}

fn holds_text(value: Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(text) = value.cast::<PyString>() {
        return is_text(text);
    }
    let mut pending = vec![value];
    for _ in 0..=MOST_SEARCHED {
        let Some(inner) = pending.pop() else { return Ok(false) };
        if let Ok(text) = inner.cast::<PyString>() {
            if is_text(text)? {
                return Ok(true);
            }
        } else if let Ok(dict) = inner.cast::<PyDict>() {
            pending.extend(dict.iter().map(|(_, part)| part));
        } else if let Ok(list) = inner.cast::<PyList>() {
            pending.extend(list.iter());
        }
    }
    Ok(true)
}

fn is_text(text: &Bound<'_, PyString>) -> PyResult<bool> {
    let start = Text::start(text.as_any(), MOST_READ)?;
    start.map_or_else(|| Text::shown(text, is_worded), |start| Ok(is_worded(start.as_ref())))
}
