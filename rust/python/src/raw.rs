//! Calls of CPython's C interface that the binding does not offer, or only at the price of a method call.
//!
//! The only file of this crate with `unsafe` code beside `layout` and `mapped`. Every borrow here relies on the GIL, so the
//! module declares that it uses one.
#![allow(unsafe_code)]

use std::ops::Range;

use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

use crate::layout::{self, Look};

/// The C function behind `str.isascii`, with the object that keeps it alive; None where it takes arguments.
static IS_ASCII: PyOnceLock<Option<(Py<PyAny>, ffi::PyCFunction)>> = PyOnceLock::new();

/// Whether a string is ASCII, and so is its own UTF-8. A call by name costs 45 ns, a third of reading a message.
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

/// The number of code points of a string, whatever a derived type says of its length.
pub fn length(string: &Bound<'_, PyString>) -> PyResult<usize> {
    // SAFETY: `string` is a str, and the interpreter is held.
    let length = unsafe { ffi::PyUnicode_GetLength(string.as_ptr()) };
    usize::try_from(length).map_err(|_| PyErr::fetch(string.py()))
}

/// Whether two strings have the same code points. No Python code runs: neither is of a derived type.
pub fn is_equal(string: &Bound<'_, PyString>, other: &Bound<'_, PyString>) -> bool {
    // SAFETY: both are str, and the interpreter is held.
    let order = unsafe { ffi::PyUnicode_Compare(string.as_ptr(), other.as_ptr()) };
    if order == -1 {
        drop(PyErr::take(string.py())); // an error, or the first one is less
    }
    order == 0
}

/// Writes the code points of a string to `to`, which has as many places; false where the interpreter does not give them
/// one by one.
pub fn code_points(string: &Bound<'_, PyString>, to: &mut [u32]) -> bool {
    let length = to.len().cast_signed();
    if cfg!(windows) {
        return false; // `wchar_t` has two bytes there
    }
    // SAFETY: `string` is a str, the interpreter is held, and at most `length` values of `wchar_t` are written, which has
    // four bytes but on Windows.
    let copied = unsafe { ffi::PyUnicode_AsWideChar(string.as_ptr(), to.as_mut_ptr().cast(), length) };
    if copied < 0 {
        drop(PyErr::take(string.py()));
    }
    copied == length
}

/// The key and the value at a position of a dict, which moves behind them. None at the end.
///
/// They are borrowed, as in [`items`]. A position that another version of the dict gave may name another entry, or none.
#[inline]
pub fn entry<'a, 'py>(
    dict: &'a Bound<'py, PyDict>,
    position: &mut isize,
) -> Option<(Borrowed<'a, 'py, PyAny>, Borrowed<'a, 'py, PyAny>)> {
    let (py, mut key, mut value) = (dict.py(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `dict` is a dict, which holds its keys and values, never NULL, while no Python code runs.
    unsafe {
        match layout::entry(dict.as_ptr(), position) {
            Look::At((key, value)) => {
                return Some((Borrowed::from_ptr(py, key.as_ptr()), Borrowed::from_ptr(py, value.as_ptr())));
            }
            Look::End => return None,
            Look::Unknown => {}
        }
        let more = ffi::PyDict_Next(dict.as_ptr(), position, &raw mut key, &raw mut value);
        (more != 0).then(|| (Borrowed::from_ptr(py, key), Borrowed::from_ptr(py, value)))
    }
}

/// Calls `visit` with the items `which` of a list or tuple, in order, until it returns false; returns whether it never did.
/// Does nothing for any other object.
///
/// Items are borrowed, because a reference count costs a write to memory: before `visit` runs Python code, which could remove
/// one, it must take a reference. It may look at addresses, types and lengths. An item that is gone gives false.
pub fn items<'py>(
    sequence: &Bound<'py, PyAny>,
    which: Range<usize>,
    visit: &mut impl FnMut(&Bound<'py, PyAny>) -> bool,
) -> bool {
    let (py, pointer) = (sequence.py(), sequence.as_ptr());
    // SAFETY: an item is asked for inside of the length, of a list or tuple, which holds it while no Python code runs.
    unsafe {
        if ffi::PyList_CheckExact(pointer) != 0 || ffi::PyList_Check(pointer) != 0 {
            let stop = which.end.min(ffi::PyList_Size(pointer).unsigned_abs());
            let item = |at: usize| match layout::item(pointer, at) {
                Look::At(item) => Some(Borrowed::from_ptr(py, item.as_ptr())),
                Look::End => None,
                Look::Unknown => Borrowed::from_ptr_or_err(py, ffi::PyList_GetItem(pointer, at.cast_signed())).ok(),
            };
            (which.start..stop).all(|at| item(at).is_some_and(|item| visit(&item)))
        } else if ffi::PyTuple_Check(pointer) != 0 {
            let stop = which.end.min(ffi::PyTuple_Size(pointer).unsigned_abs());
            let item = |at: usize| Borrowed::from_ptr(py, ffi::PyTuple_GetItem(pointer, at.cast_signed()));
            (which.start..stop).all(|at| visit(&item(at)))
        } else {
            true
        }
    }
}

/// Calls `visit` with each key and value of a dict of that length, as [`items`] does.
pub fn entries<'py>(
    dict: &Bound<'py, PyDict>,
    length: usize,
    visit: &mut impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> bool,
) -> bool {
    let mut position = 0;
    (0..length).all(|_| entry(dict, &mut position).is_some_and(|(key, value)| visit(&key, &value)))
}

/// An attribute of an object that is found without its class's `__getattr__`; None where there is none.
///
/// Python code may run nevertheless: a property's, and finalizers' where an allocation collects garbage.
pub fn attribute<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    // SAFETY: both are objects, the interpreter is held, and what comes is a new reference, or NULL with an exception.
    let found = unsafe {
        Bound::from_owned_ptr_or_err(object.py(), ffi::PyObject_GenericGetAttr(object.as_ptr(), name.as_ptr()))
    };
    found.ok()
}

/// The addresses of the cache lines that are read of a dict, list or tuple: its own, and those of its items.
///
/// For prefetching only: the word of a dict or list that points to its items is no part of the stable interface, though
/// equal in all versions so far. A wrong one costs a line that is not needed.
pub fn lines(object: &Bound<'_, PyAny>) -> impl Iterator<Item = usize> + use<> {
    let (dict, list) = (object.is_exact_instance_of::<PyDict>(), object.is_exact_instance_of::<PyList>());
    let (place, word) = (object.as_ptr().addr(), if dict { 4 } else { 3 });
    let inner = if (dict || list) && is_cpython(object.py()) {
        // SAFETY: in CPython an object of these types is six and five words long, and every word of it has been written.
        unsafe { object.as_ptr().cast::<usize>().add(word).read() }
    } else {
        place + LINE
    };
    [place, inner, inner + LINE].into_iter().take(if dict { 3 } else { 2 })
}

fn is_cpython(py: Python<'_>) -> bool {
    static IS_CPYTHON: PyOnceLock<bool> = PyOnceLock::new();
    let asked = || py.import("sys")?.getattr("implementation")?.getattr("name")?.eq("cpython");
    *IS_CPYTHON.get_or_init(py, || asked().unwrap_or(false))
}

/// Bytes of a cache line.
const LINE: usize = 64;
