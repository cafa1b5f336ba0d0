//! What the stable interface offers at the price of a method call alone. The only file of this crate with `unsafe` code.
#![allow(unsafe_code)]

use std::array;
use std::cell::Cell;
use std::mem;
use std::ops::Range;

use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

use crate::known::Known;

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

/// The code points of a string, put at the beginning of `units`, and how many; None of one that has more than `most`, or
/// where the interpreter would not give them as they are.
#[cfg(not(windows))]
pub fn units(string: &Bound<'_, PyString>, units: &mut Vec<u32>, most: usize) -> Option<usize> {
    // SAFETY: `string` is a str, and the interpreter is held.
    let length = unsafe { ffi::PyUnicode_GetLength(string.as_ptr()) };
    let length = usize::try_from(length).ok().filter(|length| *length <= most)?;
    if units.len() < length {
        units.resize(length, 0);
    }
    // SAFETY: as above; at most `length` values of `wchar_t` are written, which has four bytes but on Windows.
    let copied = unsafe { ffi::PyUnicode_AsWideChar(string.as_ptr(), units.as_mut_ptr().cast(), length.cast_signed()) };
    if copied < 0 {
        drop(PyErr::take(string.py()));
    }
    (copied == length.cast_signed()).then_some(length)
}

/// The same: there `wchar_t` has two bytes.
#[cfg(windows)]
pub fn units(_: &Bound<'_, PyString>, _: &mut Vec<u32>, _: usize) -> Option<usize> {
    None
}

/// Entries that a dict may have to be read in one pass: messages and blocks have from two to six.
const MOST: usize = 6;

/// The entries of a small dict by the addresses of their keys, read in one pass: a look-up by hash costs as much as that.
pub struct Fields<'py> {
    /// Of those that are not used none; as many bytes as are moved at once.
    keys: [u8; 8],
    values: [Cell<Option<Bound<'py, PyAny>>>; MOST],
    /// Whether every key was known.
    all: bool,
}

impl<'py> Fields<'py> {
    /// What can be said of `dict` by addresses alone.
    pub fn of(dict: &Bound<'py, PyDict>, known: &Known) -> Self {
        let (py, count) = (dict.py(), dict.len());
        let mut fields =
            Self { keys: [Known::NONE; 8], values: array::from_fn(|_| Cell::new(None)), all: count <= MOST };
        let mut position = 0;
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        for place in 0..count.min(MOST) {
            // SAFETY: `dict` is a dict, the interpreter is held, and nothing here runs Python code that could change it:
            // of a key only the address is taken.
            let more = unsafe { ffi::PyDict_Next(dict.as_ptr(), &raw mut position, &raw mut key, &raw mut value) };
            let number = if more == 0 { Known::NONE } else { known.number(key.addr()) };
            if number == Known::NONE {
                fields.all = false;
                break; // the rest would be looked up all the same
            }
            fields.keys[place] = number;
            // SAFETY: the dict holds the value, which is not NULL; this takes a reference of its own.
            let value = unsafe { Bound::from_borrowed_ptr(py, value) };
            mem::forget(fields.values[place].replace(Some(value))); // nothing was there
        }
        fields
    }

    /// The value of the key with this number, handed out once: who asks again looks it up.
    pub fn take(&self, number: u8) -> Option<Bound<'py, PyAny>> {
        self.place(number).and_then(|place| self.values[place].take())
    }

    /// Whether the dict has no such key, for sure.
    pub fn lacks(&self, number: u8) -> bool {
        self.all && self.place(number).is_none()
    }

    fn place(&self, number: u8) -> Option<usize> {
        self.keys[..MOST].iter().position(|key| *key == number)
    }
}

/// Shows `visit` some items of a list or tuple, in order, until it says false; whether it never did. Nothing of any other
/// object, and nothing behind the end.
///
/// They are borrowed: a container holds what is in it for as long as no Python code runs that could take it out, and so
/// `visit` must run none. It may look at types, lengths and addresses and take references; a reference is not let go of
/// where it could be the last one. To take none of each matters: a count is written where the object lies, and what is
/// written has to go back to memory.
pub fn items<'py>(
    sequence: &Bound<'py, PyAny>,
    which: Range<usize>,
    visit: &mut impl FnMut(&Bound<'py, PyAny>) -> bool,
) -> bool {
    let (py, pointer) = (sequence.py(), sequence.as_ptr());
    // SAFETY: an item is asked for inside of the length, of a list or tuple, which holds it while no Python code runs.
    unsafe {
        if ffi::PyList_Check(pointer) != 0 {
            let stop = which.end.min(ffi::PyList_Size(pointer).unsigned_abs());
            let item = |at: usize| Borrowed::from_ptr(py, ffi::PyList_GetItem(pointer, at.cast_signed()));
            (which.start..stop).all(|at| visit(&item(at)))
        } else if ffi::PyTuple_Check(pointer) != 0 {
            let stop = which.end.min(ffi::PyTuple_Size(pointer).unsigned_abs());
            let item = |at: usize| Borrowed::from_ptr(py, ffi::PyTuple_GetItem(pointer, at.cast_signed()));
            (which.start..stop).all(|at| visit(&item(at)))
        } else {
            true
        }
    }
}

/// Shows `visit` each key of a dict and the value behind it, as [`items`] does.
pub fn entries<'py>(dict: &Bound<'py, PyDict>, visit: &mut impl FnMut(&Bound<'py, PyAny>) -> bool) -> bool {
    let (py, mut position) = (dict.py(), 0);
    let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `dict` is a dict, which holds its keys and values, never NULL, while no Python code runs.
    unsafe {
        while ffi::PyDict_Next(dict.as_ptr(), &raw mut position, &raw mut key, &raw mut value) != 0 {
            if !visit(&Borrowed::from_ptr(py, key)) || !visit(&Borrowed::from_ptr(py, value)) {
                return false;
            }
        }
    }
    true
}

/// Where the lines of memory begin that are read of a dict, list or tuple: its own, and those of what it points to.
///
/// Good for asking for them and for nothing else: the word of a dict or list that points there is no part of the stable
/// interface, only the same in all versions so far. A wrong one costs a line that is not needed.
pub fn lines(object: &Bound<'_, PyAny>) -> impl Iterator<Item = usize> + use<> {
    let (dict, list) = (object.is_exact_instance_of::<PyDict>(), object.is_exact_instance_of::<PyList>());
    let (place, word) = (object.as_ptr().addr(), if dict { 4 } else { 3 });
    // SAFETY: in CPython an object of these types is six and five words long, and every word of it has been written.
    let inner = if (dict || list) && is_cpython(object.py()) {
        unsafe { object.as_ptr().cast::<usize>().add(word).read() }
    } else {
        place
    };
    [place, inner, inner + LINE].into_iter().take(if dict { 3 } else { 2 })
}

fn is_cpython(py: Python<'_>) -> bool {
    static IS_CPYTHON: PyOnceLock<bool> = PyOnceLock::new();
    let asked = || py.import("sys")?.getattr("implementation")?.getattr("name")?.eq("cpython");
    *IS_CPYTHON.get_or_init(py, || asked().unwrap_or(false))
}

/// Bytes that come from memory at once.
const LINE: usize = 64;

/// Messages between the one that is read and the one whose memory is asked for.
const AHEAD: usize = 12;

/// Asks for the memory of a message that will be read soon.
pub fn ahead(list: &Bound<'_, PyList>, index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index + AHEAD < list.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the index is inside of the list, whose item is borrowed for its address; a prefetch reads nothing.
        unsafe {
            let item: *const i8 = ffi::PyList_GetItem(list.as_ptr(), (index + AHEAD).cast_signed()).cast_const().cast();
            _mm_prefetch(item, _MM_HINT_T0);
            _mm_prefetch(item.wrapping_add(40), _MM_HINT_T0); // a dict may lie across two lines
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, index, AHEAD);
}
