//! What a list of messages was made of when it was read, so that what did not change is not read again.
//!
//! By identity, never by content: a string, a number or a key is known again where it is the very same object, a dict
//! or a list where it holds as many of them in the same order. Strings and numbers cannot be changed in place and are
//! kept alive here, so the same address is the same value; whatever is put in another's place is seen.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use trimtab_core::node::MAX_DEPTH;

/// Messages as they were, by identity.
#[derive(Default)]
pub struct Seen {
    /// In the order of reading: the address of a leaf, or a container's kind and length (odd: no object stands there).
    marks: Vec<usize>,
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
            self.leaves.extend(leaf.map(|leaf| leaf.clone().unbind()));
            true
        });
        if !known {
            self.marks.truncate(marks);
            self.leaves.truncate(leaves);
            self.marks.push(UNKNOWN);
        }
        self.ends.push(self.marks.len());
        self.kept.push(self.leaves.len());
    }

    /// Forgets all but the first `messages`.
    pub fn truncate(&mut self, messages: usize) {
        self.ends.truncate(messages);
        self.kept.truncate(messages);
        self.marks.truncate(self.ends.last().copied().unwrap_or(0));
        self.leaves.truncate(self.kept.last().copied().unwrap_or(0));
    }

    /// How many of `messages` in front are what they were.
    pub fn same<'py>(&self, messages: impl Iterator<Item = Bound<'py, PyAny>>) -> usize {
        let mut at = 0;
        let same = |(message, end): (Bound<'py, PyAny>, &usize)| {
            let as_before = walk(&message, 0, &mut |mark, _| {
                let expected = self.marks.get(at) == Some(&mark);
                at += 1;
                expected
            });
            as_before && at == *end
        };
        messages.zip(&self.ends).map(same).take_while(|same| *same).count()
    }
}

/// Stands for a message that holds what cannot be known again. Odd, and no container's mark.
const UNKNOWN: usize = 1;

/// Shows `visit` all that `object` is made of; false as soon as `visit` says so, or something may change unseen.
fn walk<'py>(
    object: &Bound<'py, PyAny>,
    depth: usize,
    visit: &mut impl FnMut(usize, Option<&Bound<'py, PyAny>>) -> bool,
) -> bool {
    if object.is_instance_of::<PyString>() {
        return visit(address(object), Some(object));
    }
    if depth > MAX_DEPTH {
        return false;
    }
    if let Ok(dict) = object.cast_exact::<PyDict>() {
        return visit(container(dict.len(), 0b011), None)
            && dict.iter().all(|(key, value)| walk(&key, depth + 1, visit) && walk(&value, depth + 1, visit));
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        return visit(container(list.len(), 0b101), None) && list.iter().all(|item| walk(&item, depth + 1, visit));
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        return visit(container(tuple.len(), 0b111), None) && tuple.iter().all(|item| walk(&item, depth + 1, visit));
    }
    let fixed = object.is_none()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>();
    fixed && visit(address(object), Some(object))
}

fn address(object: &Bound<'_, PyAny>) -> usize {
    let pointer: *mut ffi::PyObject = object.as_ptr();
    pointer as usize
}

/// An odd number: objects stand at even addresses.
fn container(length: usize, kind: usize) -> usize {
    length << 3 | kind
}
