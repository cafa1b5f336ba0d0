//! Functions for tests and tools, in builds with debug assertions only (profile `checked`).

use pyo3::prelude::*;
use trimtab_core::json::{Json, Tape};
use trimtab_core::node::Node;
use trimtab_core::offline::KeptSpans;
use trimtab_tokens::{cancel, claude};

use crate::convert::to_py;
use crate::layout;
use crate::text::Text;

/// Adds the functions of this file, under private names that `__all__` and the stub leave out.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.setattr("_plant", wrap_pyfunction!(plant, module)?)?;
    module.setattr("_looks", wrap_pyfunction!(looks, module)?)?;
    module.setattr("_features", wrap_pyfunction!(features, module)?)?;
    module.setattr("_kept_spans_of_json", wrap_pyfunction!(kept_spans_of_json, module)?)
}

/// Makes the next work of this thread panic, once.
#[pyfunction]
pub fn plant() {
    cancel::plant_panic();
}

/// Reads dicts and lists by calls alone where `known` is false, else as this interpreter allows; returns whether without calls.
#[pyfunction]
pub fn looks(py: Python<'_>, known: bool) -> PyResult<bool> {
    if known {
        layout::look(py)?;
    } else {
        layout::forget();
    }
    Ok(layout::is_known())
}

/// Pretokens of each kind in a text, on which the rates of Claude's estimate are fitted.
#[pyfunction]
pub fn features(text: Text) -> Vec<u32> {
    claude::features(text.as_ref()).to_vec()
}

/// What `kept_spans` returns, of messages as JSON; nothing of a text that is none.
#[pyfunction]
pub fn kept_spans_of_json(text: Text, tag: &str) -> PyResult<Vec<(usize, String)>> {
    let (mut tape, mut spans) = (Tape::default(), KeptSpans::new(tag));
    if tape.parse(text.as_ref(), 0) == Ok(text.as_ref().len()) {
        let values = tape.of(text.as_ref());
        Json::new(&values).items(&mut |message| spans.read(&message)).map_err(to_py)?;
    }
    Ok(spans.found)
}
