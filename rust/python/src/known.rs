//! Strings that are known by their address.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use trimtab_core::keys::Interned;

/// The interpreter's own strings, which live as long as the process: no other string gets one of their addresses.
pub fn known(py: Python<'_>) -> &'static Interned<Py<PyString>> {
    static KNOWN: PyOnceLock<Interned<Py<PyString>>> = PyOnceLock::new();
    KNOWN.get_or_init(py, || Interned::new(|text| PyString::intern(py, text).unbind(), |string| string.as_ptr().addr()))
}
