//! What a list of messages was made of when it was read, so that what did not change is not read again.
//!
//! By identity, never by content: a string, a number or a key is known again where it is the very same object, a dict
//! or a list where it holds as many of them in the same order. Strings and numbers cannot be changed in place and are
//! kept alive here, so the same address is the same value; whatever is put in another's place is seen.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use trimtab_core::node::MAX_DEPTH;
use trimtab_simd::prefetch_at;
use trimtab_tokens::cancel;

use crate::raw;

/// Messages as they were, by identity.
#[derive(Default)]
pub struct Seen {
    /// In the order of reading: the address of a leaf, or a container's kind and length (odd: no object stands there).
    marks: Vec<usize>,
    /// Lines of memory that a look at a message needs, as they were then.
    lines: Vec<usize>,
    /// Keeps what `marks` names alive.
    leaves: Vec<Py<PyAny>>,
    /// Where the marks, lines and leaves of each message end. Marks that are of no object where it cannot be known again.
    ends: Vec<Ends>,
}

#[derive(Clone, Copy, Default)]
struct Ends {
    marks: usize,
    lines: usize,
    leaves: usize,
}

impl Seen {
    /// Remembers one message more.
    pub fn push(&mut self, message: &Bound<'_, PyAny>) {
        let before = self.end();
        let known = walk(message, 0, &mut |mark, object| {
            self.marks.push(mark);
            if mark == address(object) {
                self.leaves.push(object.clone().unbind());
            } else {
                self.lines.extend(raw::lines(object));
            }
        });
        if !known {
            self.cut(before);
            self.marks.push(UNKNOWN);
        }
        self.ends.push(self.end());
    }

    /// Forgets all but the first `messages`.
    pub fn truncate(&mut self, messages: usize) {
        self.ends.truncate(messages);
        self.cut(self.ends.last().copied().unwrap_or_default());
    }

    fn end(&self) -> Ends {
        Ends { marks: self.marks.len(), lines: self.lines.len(), leaves: self.leaves.len() }
    }

    fn cut(&mut self, ends: Ends) {
        self.marks.truncate(ends.marks);
        self.lines.truncate(ends.lines);
        self.leaves.truncate(ends.leaves);
    }

    /// How many messages in front are what they were.
    ///
    /// # Errors
    ///
    /// What a signal's handler raised meanwhile.
    pub fn same(&self, messages: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (mut at, mut known) = (0, 0);
        while known < self.ends.len() {
            messages.py().check_signals()?;
            let chunk = known..self.ends.len().min(known + cancel::ITEMS_PER_POLL);
            let all = raw::items(messages, chunk.clone(), &mut |message| {
                self.prefetch(known + AHEAD);
                let same = self.matches(message, &mut at, 0) && at == self.ends[known].marks;
                known += usize::from(same);
                same
            });
            if !all || known < chunk.end {
                break; // there is another one, or none
            }
        }
        Ok(known)
    }

    /// Asks for the memory that a message had last time, before it is come to.
    fn prefetch(&self, index: usize) {
        if let Some([before, ends]) = self.ends.get(index - 1..).and_then(|ends| ends.first_chunk()) {
            self.lines[before.lines..ends.lines].iter().for_each(|&line| prefetch_at(line));
        }
    }

    /// Whether `object` is what the marks from `at` on say; moves behind them. Runs no Python code.
    fn matches(&self, object: &Bound<'_, PyAny>, at: &mut usize, depth: usize) -> bool {
        let Some(&mark) = self.marks.get(*at) else { return false };
        *at += 1;
        // A leaf is kept alive, so it need not even be looked at.
        mark == address(object)
            || (depth <= MAX_DEPTH
                && container(object) == Some(mark)
                && inside(object, &mut |value| self.matches(value, at, depth + 1)))
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

/// Shows `visit` all that `object` is made of, with its mark; false where something in it may change unseen. Runs no
/// Python code.
fn walk<'py>(object: &Bound<'py, PyAny>, depth: usize, visit: &mut impl FnMut(usize, &Bound<'py, PyAny>)) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    if let Some(mark) = container(object) {
        visit(mark, object);
        return inside(object, &mut |value| walk(value, depth + 1, visit));
    }
    let fixed = object.is_instance_of::<PyString>()
        || object.is_none()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>();
    if fixed {
        visit(address(object), object);
    }
    fixed
}

/// The mark of a container: its kind and length.
fn container(object: &Bound<'_, PyAny>) -> Option<usize> {
    let (length, kind) = if let Ok(dict) = object.cast_exact::<PyDict>() {
        (dict.len(), DICT)
    } else if let Ok(list) = object.cast_exact::<PyList>() {
        (list.len(), LIST)
    } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        (tuple.len(), TUPLE)
    } else {
        return None;
    };
    Some(length << 3 | kind)
}

/// Shows `visit` what stands in a container, as [`raw::items`] does.
fn inside<'py>(object: &Bound<'py, PyAny>, visit: &mut impl FnMut(&Bound<'py, PyAny>) -> bool) -> bool {
    match object.cast_exact::<PyDict>() {
        Ok(dict) => raw::entries(dict, &mut |key, value| visit(key) && visit(value)),
        Err(_) => raw::items(object, 0..usize::MAX, visit),
    }
}

fn address(object: &Bound<'_, PyAny>) -> usize {
    let pointer: *mut ffi::PyObject = object.as_ptr();
    pointer as usize
}
