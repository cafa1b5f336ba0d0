//! What the stable interface offers at the price of a method call alone. The only file of this crate with `unsafe` code.
#![allow(unsafe_code)]

use std::cell::Cell;
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
        *units = vec![0; length.next_power_of_two()]; // to grow would be to copy what nobody wants any more
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

/// Where the keys of a small dict stand, known by their addresses and read in one pass: a look-up by hash costs as much
/// as that.
///
/// A byte a place: the number of the key, or none. The last says what is known: 0 before anything is. No value is held:
/// one is asked for by its place, and taken where its key stands there still.
#[derive(Clone, Default)]
pub struct Keys(Cell<u64>);

/// Entries that a dict may have to be known whole: messages and blocks have from two to six.
const PLACES: usize = 7;

/// All keys are known.
const ALL: u64 = 0xFD;

/// Some are.
const SOME: u64 = 0xFE;

/// What the places of keys say of one.
pub enum Found<'py> {
    Value(Bound<'py, PyAny>),
    /// There is no such key.
    Nothing,
    /// It is to be looked up.
    Unknown,
}

impl Keys {
    /// What is under the key with this number in `dict`, which is always the same.
    #[inline]
    pub fn find<'py>(&self, dict: &Bound<'py, PyDict>, number: u8, known: &Known) -> Found<'py> {
        let keys = match self.0.get() {
            0 => self.read(dict, known),
            keys => keys,
        };
        let Some(place) = place(keys, number) else {
            return if keys >> (8 * PLACES) == ALL { Found::Nothing } else { Found::Unknown };
        };
        let (mut key, mut value, mut position) = (std::ptr::null_mut(), std::ptr::null_mut(), place);
        // SAFETY: `dict` is a dict, and the position one that it gave; where it has changed since, another key stands
        // there or none. The dict holds the value, of which this takes a reference.
        unsafe {
            let more = ffi::PyDict_Next(dict.as_ptr(), &raw mut position, &raw mut key, &raw mut value);
            if more == 0 || known.number(key.addr()) != number {
                return Found::Unknown;
            }
            Found::Value(Bound::from_borrowed_ptr(dict.py(), value))
        }
    }

    #[inline(never)]
    fn read(&self, dict: &Bound<'_, PyDict>, known: &Known) -> u64 {
        let length = dict.len();
        let (mut key, mut value, mut position) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        let (mut keys, mut count) = (u64::MAX >> 8, 0);
        for place in 0..length.min(PLACES) {
            // SAFETY: `dict` is a dict, and of a key only the address is taken.
            let more = unsafe { ffi::PyDict_Next(dict.as_ptr(), &raw mut position, &raw mut key, &raw mut value) };
            if more == 0 || position.cast_unsigned() != place + 1 {
                break; // something was deleted from it
            }
            let number = known.number(key.addr());
            count += usize::from(number != Known::NONE);
            keys ^= u64::from(!number) << (8 * place);
        }
        keys |= if count == length { ALL } else { SOME } << (8 * PLACES);
        self.0.set(keys);
        keys
    }
}

/// The first byte of `keys` that is this number.
fn place(keys: u64, number: u8) -> Option<isize> {
    const ONES: u64 = u64::MAX / 0xFF;
    let other = keys ^ (ONES * u64::from(number));
    let zero = other.wrapping_sub(ONES) & !other & (ONES << 7);
    (zero != 0).then(|| (zero.trailing_zeros() / 8).cast_signed() as isize)
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
pub fn entries<'py>(
    dict: &Bound<'py, PyDict>,
    visit: &mut impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> bool,
) -> bool {
    let (py, mut position) = (dict.py(), 0);
    let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `dict` is a dict, which holds its keys and values, never NULL, while no Python code runs.
    unsafe {
        for _ in 0..dict.len() {
            let more = ffi::PyDict_Next(dict.as_ptr(), &raw mut position, &raw mut key, &raw mut value);
            if more == 0 || !visit(&Borrowed::from_ptr(py, key), &Borrowed::from_ptr(py, value)) {
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

/// Bytes that come from memory at once.
const LINE: usize = 64;
