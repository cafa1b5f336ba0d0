//! Fields of dicts and mappings, and items of lists and tuples: Python values whose shape nobody promised.

use pyo3::PyTypeInfo;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};

/// Whether a value is a mapping. PyO3's cast asks too, and prints and forgets an interrupt that arrives while Python answers:
/// here it is put off until Python goes on. What JSON has is known without asking.
pub fn is_mapping(value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    if value.is_instance_of::<PyDict>() {
        return true;
    }
    if value.is_none()
        || [PyString::type_object(py), PyList::type_object(py), PyTuple::type_object(py)]
            .iter()
            .any(|of| value.is_exact_instance(of))
    {
        return false;
    }
    value.is_instance(&PyMapping::type_object(py)).unwrap_or_else(|error| {
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            let again = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
            again.err().inspect(|error| error.clone_ref(py).write_unraisable(py, None));
        }
        false
    })
}

/// The value of a dict's or a mapping's key.
pub fn field<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return dict.get_item(name);
    }
    if is_mapping(value) && value.contains(name)? { value.get_item(name).map(Some) } else { Ok(None) }
}

/// An item of a list or a tuple; None of any other value.
pub fn item<'py>(value: &Bound<'py, PyAny>, index: usize) -> Option<Bound<'py, PyAny>> {
    match value.cast::<PyList>() {
        Ok(list) => list.get_item(index).ok(),
        Err(_) => value.cast::<PyTuple>().ok()?.get_item(index).ok(),
    }
}
