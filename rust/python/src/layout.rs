//! Where CPython keeps what a dict or a list holds, so that reading an entry is no call: a session looks at all entries of
//! its transcript at each turn.
//!
//! These places are no part of the stable interface. They are read in the versions whose headers were looked at and that the
//! tests run on, and only if the interpreter's own functions say the same of some dicts and lists when the module is loaded.
//! In any other version, the functions are called.
#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trimtab_core::node::MAX_DEPTH;
use trimtab_core::seen::{Container, mark};

/// The versions 3.x whose layout is known.
const VERSIONS: RangeInclusive<u8> = 11..=13;

/// Whether the layout is the one of this file.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// A dict of CPython: `PyDictObject`.
#[repr(C)]
struct Dict {
    header: [usize; 2],
    used: isize,
    version: u64,
    keys: *const Keys,
    values: *const u8,
}

/// The table of a dict: `PyDictKeysObject`. Its indices follow, and its entries follow them.
#[repr(C)]
struct Keys {
    references: isize,
    log2_size: u8,
    log2_index_bytes: u8,
    kind: u8,
    version: u32,
    usable: isize,
    entries: isize,
}

/// The kind of a table with all sorts of keys; one with strings alone has no hashes beside them.
const GENERAL: u8 = 0;
/// The kind of a table with strings alone.
const STRINGS: u8 = 1;

/// A list of CPython: `PyListObject`.
#[repr(C)]
struct List {
    header: [usize; 2],
    size: isize,
    items: *const *mut ffi::PyObject,
}

/// A key and its value.
pub type Entry = (NonNull<ffi::PyObject>, NonNull<ffi::PyObject>);

/// What a look without a call tells.
pub enum Look<T> {
    /// What is there.
    At(T),
    /// There is nothing.
    End,
    /// The interpreter has to be asked.
    Unknown,
}

/// Looks whether the interpreter has the layout of this file.
pub fn look(py: Python<'_>) -> PyResult<()> {
    let version = py.version_info();
    let has_words = cfg!(target_pointer_width = "64");
    let fits = has_words && version.major == 3 && VERSIONS.contains(&version.minor);
    let sys = py.import("sys")?;
    // A build for debugging may keep all objects in a list, whose links stand in front of each.
    let is_plain = sys.getattr("implementation")?.getattr("name")?.eq("cpython")? && !sys.hasattr("getobjects")?;
    IS_KNOWN.store(fits && is_plain && agrees(py)?, Ordering::Relaxed);
    Ok(())
}

/// Has the interpreter asked from now on, for tests.
#[cfg(debug_assertions)]
pub fn forget() {
    IS_KNOWN.store(false, Ordering::Relaxed);
}

/// Whether dicts and lists are read without calls.
#[inline]
pub fn is_known() -> bool {
    IS_KNOWN.load(Ordering::Relaxed)
}

/// Number of entries of a dict, which is no instance of a derived type.
#[inline]
pub fn dict_length(dict: &Bound<'_, PyDict>) -> usize {
    // SAFETY: the layout is known, and this is a dict.
    if is_known() { unsafe { length_there(dict.as_ptr()) } } else { dict.len() }
}

/// [`dict_length`] where the layout is known.
#[inline]
unsafe fn length_there(dict: *mut ffi::PyObject) -> usize {
    // SAFETY: this is a dict.
    unsafe { (*dict.cast::<Dict>()).used.unsigned_abs() }
}

/// The first entry of a dict from a position on, which moves behind it.
///
/// # Safety
///
/// `dict` is a dict, and the interpreter is held.
#[inline]
pub unsafe fn entry(dict: *mut ffi::PyObject, position: &mut isize) -> Look<Entry> {
    // SAFETY: as this function's; the layout is known.
    if is_known() { unsafe { entry_there(dict, position) } } else { Look::Unknown }
}

/// [`entry`] where the layout is known.
#[inline]
unsafe fn entry_there(dict: *mut ffi::PyObject, position: &mut isize) -> Look<Entry> {
    // SAFETY: the layout is known, and this is a dict: its table stays while no Python code runs. Entries from 0 to their
    // number have been written, and those that were removed have no value.
    unsafe {
        let dict = &*dict.cast::<Dict>();
        let keys = &*dict.keys;
        if !dict.values.is_null() {
            return Look::Unknown; // an object's own fields
        }
        let words_of_indices = (1 << keys.log2_index_bytes) / size_of::<usize>(); // at least one word
        let entries = dict.keys.add(1).cast::<*mut ffi::PyObject>().add(words_of_indices);
        let (words, hash) = match keys.kind {
            STRINGS => (2, 0),
            GENERAL => (3, 1),
            _ => return Look::Unknown,
        };
        while (0..keys.entries).contains(position) {
            let place = entries.add(position.unsigned_abs() * words + hash);
            *position += 1;
            if let (Some(key), Some(value)) = (NonNull::new(*place), NonNull::new(*place.add(1))) {
                return Look::At((key, value));
            }
        }
        Look::End
    }
}

/// An item of a list.
///
/// # Safety
///
/// `list` is a list, of a derived type or not, and the interpreter is held.
#[inline]
pub unsafe fn item(list: *mut ffi::PyObject, at: usize) -> Look<NonNull<ffi::PyObject>> {
    // SAFETY: as this function's; the layout is known.
    if is_known() { unsafe { item_there(list, at) } } else { Look::Unknown }
}

/// [`item`] where the layout is known.
#[inline]
unsafe fn item_there(list: *mut ffi::PyObject, at: usize) -> Look<NonNull<ffi::PyObject>> {
    // SAFETY: the layout is known, and this is a list, which holds its items while no Python code runs.
    unsafe {
        let list = &*list.cast::<List>();
        if at >= list.size.unsigned_abs() {
            return Look::End;
        }
        NonNull::new(*list.items.add(at)).map_or(Look::End, Look::At)
    }
}

/// Whether an object is what the marks from `at` on name (`trimtab_core::seen`); moves `at` behind them. False also where that
/// takes more than looking at dicts, lists and addresses. None where the layout is not known.
#[inline]
pub fn is_same(object: &Bound<'_, PyAny>, marks: &[usize], at: &mut usize) -> Option<bool> {
    // SAFETY: the layout is known, and the interpreter is held.
    is_known().then(|| unsafe { is_same_there(object.as_ptr(), marks, at, MAX_DEPTH) })
}

/// [`is_same`] of an object with at most `depth` containers in one another, where the layout is known.
///
/// # Safety
///
/// `object` is an object or NULL, and the interpreter is held. No code of Python's runs.
unsafe fn is_same_there(object: *mut ffi::PyObject, marks: &[usize], at: &mut usize, depth: usize) -> bool {
    let Some(&noted) = marks.get(*at) else { return false };
    *at += 1;
    if noted == object.addr() {
        return true; // a leaf that is kept alive
    }
    if noted & 1 == 0 || depth == 0 || object.is_null() {
        return false;
    }
    let same = |part: *mut ffi::PyObject, at: &mut usize| {
        // Most parts are leaves: no call for them.
        let is_leaf = marks.get(*at).is_some_and(|&noted| noted == part.addr());
        *at += usize::from(is_leaf);
        // SAFETY: a container holds its parts.
        is_leaf || unsafe { is_same_there(part, marks, at, depth - 1) }
    };
    // SAFETY: an object's type is its second word; a dict's table has as many entries as it says, and a list as many items.
    unsafe {
        let kind = (*object).ob_type;
        if kind == &raw mut ffi::PyDict_Type {
            let (dict, mut position) = (&*object.cast::<Dict>(), 0);
            noted == mark((Container::Dict, dict.used.unsigned_abs()))
                && (0..dict.used).all(|_| {
                    let Look::At((key, value)) = entry_there(object, &mut position) else { return false };
                    same(key.as_ptr(), at) && same(value.as_ptr(), at)
                })
        } else if kind == &raw mut ffi::PyList_Type {
            let list = &*object.cast::<List>();
            let length = list.size.unsigned_abs();
            noted == mark((Container::List, length)) && (0..length).all(|place| same(*list.items.add(place), at))
        } else {
            false
        }
    }
}

/// Whether the interpreter says of some dicts and lists what this file reads there.
fn agrees(py: Python<'_>) -> PyResult<bool> {
    let dicts = [PyDict::new(py), PyDict::new(py), PyDict::new(py), PyDict::new(py)];
    let [_, few, many, mixed] = &dicts;
    for n in 0..300 {
        many.set_item(format!("key {n}"), n)?;
        mixed.set_item(n, n.to_string())?;
    }
    for n in 0..3 {
        few.set_item(format!("key {n}"), n)?;
    }
    few.del_item("key 1")?;
    mixed.del_item(7)?;
    let list = PyList::new(py, 0..5)?;
    Ok(dicts.iter().all(same_entries) && same_items(&list) && same_items(&PyList::empty(py)))
}

fn same_entries(dict: &Bound<'_, PyDict>) -> bool {
    let (mut place, mut position) = (0, 0);
    loop {
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: this is a dict, and the interpreter is held.
        let (more, found) = unsafe {
            let more = ffi::PyDict_Next(dict.as_ptr(), &raw mut place, &raw mut key, &raw mut value) != 0;
            (more, entry_there(dict.as_ptr(), &mut position))
        };
        match found {
            Look::At((a_key, a_value)) if more && a_key.as_ptr() == key && a_value.as_ptr() == value => {}
            Look::End => {
                // SAFETY: this is a dict.
                return !more && unsafe { length_there(dict.as_ptr()) } == dict.len();
            }
            _ => return false,
        }
    }
}

fn same_items(list: &Bound<'_, PyList>) -> bool {
    // SAFETY: this is a list, and the interpreter is held.
    let at = |at: usize| unsafe { item_there(list.as_ptr(), at) };
    let same = |(place, known): (usize, Bound<'_, PyAny>)| matches!(at(place), Look::At(item) if item.as_ptr() == known.as_ptr());
    list.iter().enumerate().all(same) && matches!(at(list.len()), Look::End)
}
