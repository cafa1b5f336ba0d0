//! What a list of messages was made of when it was read, so that what did not change is not read again.
//!
//! By identity, never by content: a string, a number or a key is known again where it is the very same object, a dict
//! or a list where it holds as many of them in the same order. Strings and numbers cannot be changed in place and are
//! kept alive here, so the same address is the same value; whatever is put in another's place is seen.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use trimtab_core::node::MAX_DEPTH;
use trimtab_core::text::prefetch_at;

use crate::scan::ASKING;

/// Messages as they were, by identity.
#[derive(Default)]
pub struct Seen {
    /// In the order of reading: the address of a leaf, or a container's kind and length (odd: no object stands there).
    marks: Vec<usize>,
    /// Where each message stood.
    places: Vec<usize>,
    /// Where the marks of each message end; its own end where it cannot be known again.
    ends: Vec<usize>,
    /// Keeps what `marks` names alive.
    leaves: Vec<Py<PyAny>>,
    /// Where the leaves of each message end.
    kept: Vec<usize>,
}

impl Seen {
    /// Remembers one message more.
    pub fn push(&mut self, message: &Bound<'_, PyAny>) {
        let (marks, leaves) = (self.marks.len(), self.leaves.len());
        let known = walk(message, 0, &mut |mark, leaf| {
            self.marks.push(mark);
            if let Some(leaf) = leaf {
                self.leaves.push(leaf.clone().unbind());
            }
        });
        if !known {
            self.marks.truncate(marks);
            self.leaves.truncate(leaves);
            self.marks.push(UNKNOWN);
        }
        self.places.push(address(message));
        self.ends.push(self.marks.len());
        self.kept.push(self.leaves.len());
    }

    /// Forgets all but the first `messages`.
    pub fn truncate(&mut self, messages: usize) {
        self.places.truncate(messages);
        self.ends.truncate(messages);
        self.kept.truncate(messages);
        self.marks.truncate(self.ends.last().copied().unwrap_or(0));
        self.leaves.truncate(self.kept.last().copied().unwrap_or(0));
    }

    /// How many of `messages` in front are what they were.
    ///
    /// # Errors
    ///
    /// What a signal's handler raised meanwhile.
    pub fn same<'py>(&self, messages: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<usize> {
        let (mut at, mut known) = (0, 0);
        for (message, end) in messages.zip(&self.ends) {
            if known % ASKING == 0 {
                message.py().check_signals()?;
            }
            self.prefetch(known + AHEAD);
            if !self.matches(&message, &mut at, 0) || at != *end {
                break;
            }
            known += 1;
        }
        Ok(known)
    }

    /// Asks for a message and its leaves, where they stood last time, before they are come to.
    fn prefetch(&self, index: usize) {
        if let (Some(&place), Some(&[start, end])) =
            (self.places.get(index), self.ends.get(index - 1..).and_then(|ends| ends.first_chunk()))
        {
            prefetch_at(place);
            self.marks[start..end].iter().filter(|&mark| mark % 2 == 0).for_each(|&mark| prefetch_at(mark));
        }
    }

    /// Whether `object` is what the marks from `at` on say; moves behind them.
    fn matches(&self, object: &Bound<'_, PyAny>, at: &mut usize, depth: usize) -> bool {
        let Some(&mark) = self.marks.get(*at) else { return false };
        *at += 1;
        if mark == address(object) {
            return true; // a leaf, which is kept alive, so it need not even be looked at
        }
        let mut inside = |value: &Bound<'_, PyAny>| self.matches(value, at, depth + 1);
        if depth > MAX_DEPTH {
            false
        } else if let Ok(dict) = object.cast_exact::<PyDict>() {
            mark == container(dict.len(), DICT) && dict.iter().all(|(key, value)| inside(&key) && inside(&value))
        } else if let Ok(list) = object.cast_exact::<PyList>() {
            mark == container(list.len(), LIST) && list.iter().all(|item| inside(&item))
        } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
            mark == container(tuple.len(), TUPLE) && tuple.iter().all(|item| inside(&item))
        } else {
            false
        }
    }
}

/// Messages between one that is asked for and the one that is compared: as many as a dozen misses in flight.
const AHEAD: usize = 6;

/// Kinds of container, in the low bits of a mark: odd, because objects stand at even addresses.
const DICT: usize = 0b011;
const LIST: usize = 0b101;
const TUPLE: usize = 0b111;

/// Stands for a message that holds what cannot be known again. Odd, and no container's mark.
const UNKNOWN: usize = 1;

/// Shows `visit` all that `object` is made of; false where something in it may change unseen.
fn walk<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    visit: &mut impl FnMut(usize, Option<&Bound<'py, PyAny>>),
) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    if object.is_exact_instance_of::<PyString>() {
        visit(address(object), Some(object)); // nearly all are strings, keys among them
        return true;
    }
    if let Ok(dict) = object.cast_exact::<PyDict>() {
        visit(container(dict.len(), DICT), None);
        return dict.iter().all(|(key, value)| walk(&key, depth + 1, visit) && walk(&value, depth + 1, visit));
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        visit(container(list.len(), LIST), None);
        return list.iter().all(|item| walk(&item, depth + 1, visit));
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        visit(container(tuple.len(), TUPLE), None);
        return tuple.iter().all(|item| walk(&item, depth + 1, visit));
    }
    let fixed = object.is_none()
        || object.is_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>();
    if fixed {
        visit(address(object), Some(object));
    }
    fixed
}

fn address(object: &Bound<'_, PyAny>) -> usize {
    let pointer: *mut ffi::PyObject = object.as_ptr();
    pointer as usize
}

fn container(length: usize, kind: usize) -> usize {
    length << 3 | kind
}
