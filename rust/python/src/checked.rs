//! Functions for tests and tools, in builds with debug assertions only (profile `checked`).

use pyo3::prelude::*;
use trimtab_tokens::{cancel, claude};

use crate::text::Text;

/// Adds the functions of this file, under private names that `__all__` and the stub leave out.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.setattr("_plant", wrap_pyfunction!(plant, module)?)?;
    module.setattr("_features", wrap_pyfunction!(features, module)?)
}

/// Makes the next work of this thread panic, once.
#[pyfunction]
pub fn plant() {
    cancel::plant_panic();
}

/// Pretokens of each kind in a text, on which the rates of Claude's estimate are fitted.
#[pyfunction]
pub fn features(text: Text) -> Vec<u32> {
    claude::features(text.as_ref()).to_vec()
}
