//! Python objects as marks and leaves of [`Seen`].

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use trimtab_core::node::MAX_DEPTH;
use trimtab_core::seen::Seen;
use trimtab_simd::prefetch_at;
use trimtab_tokens::cancel;

use crate::raw;

/// Remembers one message more.
pub fn remember(seen: &mut Seen<Py<PyAny>>, message: &Bound<'_, PyAny>) {
    seen.push(|seen| walk(seen, message, 0));
}

/// How many messages in front are what they were.
///
/// # Errors
///
/// The exception of a signal handler.
pub fn unchanged(seen: &Seen<Py<PyAny>>, messages: &Bound<'_, PyAny>) -> PyResult<usize> {
    let (mut at, mut known) = (0, 0);
    while known < seen.messages() {
        messages.py().check_signals()?;
        let chunk = known..seen.messages().min(known + cancel::ITEMS_PER_POLL);
        let all = raw::items(messages, chunk.clone(), &mut |message| {
            seen.lines(known + AHEAD).iter().for_each(|&line| prefetch_at(line));
            let same = matches(seen, message, &mut at, 0) && seen.ends_at(known, at);
            known += usize::from(same);
            same
        });
        if !all || known < chunk.end {
            break; // a message changed, or is gone
        }
    }
    Ok(known)
}

/// Messages between the one that is prefetched and the one that is compared: about a dozen cache misses in flight.
const AHEAD: usize = 6;

/// Kinds of container, in the low bits of a mark: odd, because objects have even addresses.
const DICT: usize = 0b011;
const LIST: usize = 0b101;
const TUPLE: usize = 0b111;

/// Whether `object` is what the marks from `at` on name; moves `at` behind them. Runs no Python code.
fn matches(seen: &Seen<Py<PyAny>>, object: &Bound<'_, PyAny>, at: &mut usize, depth: usize) -> bool {
    let Some(mark) = seen.mark(*at) else { return false };
    *at += 1;
    // A leaf is kept alive: its address is enough.
    mark == object.as_ptr().addr()
        || (depth <= MAX_DEPTH
            && mark_of(object) == Some(mark)
            && inside(object, &mut |value| matches(seen, value, at, depth + 1)))
}

/// Adds what `object` is made of; false where something in it may change unseen. Runs no Python code.
fn walk(seen: &mut Seen<Py<PyAny>>, object: &Bound<'_, PyAny>, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    if let Some(mark) = mark_of(object) {
        seen.container(mark, raw::lines(object));
        return inside(object, &mut |value| walk(seen, value, depth + 1));
    }
    let is_immutable = object.is_instance_of::<PyString>()
        || object.is_none()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>();
    if is_immutable {
        seen.leaf(object.as_ptr().addr(), object.clone().unbind());
    }
    is_immutable
}

/// The mark of a container: its kind and length.
fn mark_of(object: &Bound<'_, PyAny>) -> Option<usize> {
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

/// Calls `visit` with everything in a container, as [`raw::items`] does.
fn inside<'py>(object: &Bound<'py, PyAny>, visit: &mut dyn FnMut(&Bound<'py, PyAny>) -> bool) -> bool {
    match object.cast_exact::<PyDict>() {
        Ok(dict) => raw::entries(dict, &mut |key, value| visit(key) && visit(value)),
        Err(_) => raw::items(object, 0..usize::MAX, &mut |item| visit(item)),
    }
}
