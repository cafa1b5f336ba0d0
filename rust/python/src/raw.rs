//! What the stable interface offers at the price of a method call alone. The only file of this crate with `unsafe` code.
#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyString};

/// `str.isascii` as the C function that it is, with the object that keeps it alive; None where it is not one without
/// arguments.
static IS_ASCII: PyOnceLock<Option<(Py<PyAny>, ffi::PyCFunction)>> = PyOnceLock::new();

/// Whether a string holds ASCII alone, and so is its own UTF-8.
///
/// Asked once for every string of a transcript: by name it costs 45 ns, a third of what reading the message costs.
pub fn is_ascii(string: &Bound<'_, PyString>) -> PyResult<bool> {
    let py = string.py();
    let known = IS_ASCII.get_or_try_init(py, || {
        let method = intern!(py, "").getattr(intern!(py, "isascii"))?;
        // SAFETY: the type of the object is looked at before the object is taken for a C function, and a function that
        // is declared to take no arguments has this signature.
        let function = unsafe {
            let is_plain = ffi::PyCFunction_Check(method.as_ptr()) != 0
                && ffi::PyCFunction_GetFlags(method.as_ptr()) == ffi::METH_NOARGS;
            if is_plain { ffi::PyCFunction_GetFunction(method.as_ptr()) } else { None }
        };
        PyResult::Ok(function.map(|function| (method.unbind(), function)))
    })?;
    let Some((_, function)) = known else {
        return string.call_method0(intern!(py, "isascii"))?.is_truthy();
    };
    // SAFETY: this is the function behind `str.isascii`, `string` is a str or of a type derived from it, the interpreter
    // is held, and an argument that there is not is NULL. It gives a new reference to a bool.
    let answer = unsafe { Bound::from_owned_ptr_or_err(py, function(string.as_ptr(), std::ptr::null_mut()))? };
    Ok(answer.is(PyBool::new(py, true)))
}
