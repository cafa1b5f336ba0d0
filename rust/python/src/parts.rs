//! A compaction's result, told by the list that it was made of, and made of such a list again.

use std::collections::HashMap;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyMapping, PyTuple};
use trimtab_core::node::MAX_DEPTH;
use trimtab_tokens::cancel;

use crate::convert::panicked;
use crate::fields::{field, is_mapping, item};
use crate::scan::Messages;

/// Fields that hold a message's blocks.
const BLOCKS: [&str; 2] = ["content", "parts"];

/// Message, field and place of each block, by the block's address.
type Homes = HashMap<usize, (usize, &'static str, usize)>;

/// The messages of a result, told by the originals that they are or that they share blocks with.
///
/// Returns:
///     In order: `[start, stop]` of originals as they are; `{"of": place, "key": field, "blocks": [...]}` of an original with
///     other blocks, of which each is the place of one of its own, or new; or `{"new": message}`.
#[pyfunction]
pub fn parts_of<'py>(originals: Messages<'py>, made: Messages<'py>) -> PyResult<Bound<'py, PyList>> {
    let py = made.0.py();
    let tell = || {
        let places: HashMap<usize, usize> =
            originals.0.iter().enumerate().map(|(place, message)| (message.as_ptr().addr(), place)).collect();
        let (told, mut run, mut homes) = (PyList::empty(py), None::<(usize, usize)>, None::<Homes>);
        let end = |run: Option<(usize, usize)>| match run {
            Some((start, stop)) => told.append(PyList::new(py, [start, stop])?),
            None => Ok(()),
        };
        for message in made.0.iter() {
            let Some(&place) = places.get(&message.as_ptr().addr()) else {
                end(run.take())?;
                let homes = homes.get_or_insert_with(|| homes_in(&originals));
                told.append(changed(&message, &originals, homes)?)?;
                continue;
            };
            run = match run {
                Some((start, stop)) if stop == place => Some((start, place + 1)),
                before => {
                    end(before)?;
                    Some((place, place + 1))
                }
            };
        }
        end(run)?;
        Ok(told)
    };
    // The binding panics on an object that changes while it is read.
    cancel::caught(tell).map_err(panicked)?
}

fn homes_in(originals: &Messages<'_>) -> Homes {
    let mut homes = Homes::new();
    for (place, message) in originals.0.iter().enumerate() {
        for key in BLOCKS {
            let Ok(Some(blocks)) = field(&message, key) else { continue };
            for (at, block) in (0..).map_while(|at| item(&blocks, at)).enumerate() {
                if is_mapping(&block) {
                    homes.insert(block.as_ptr().addr(), (place, key, at));
                }
            }
        }
    }
    homes
}

/// A message that is no original, by the original of which it has blocks.
fn changed<'py>(message: &Bound<'py, PyAny>, originals: &Messages<'py>, homes: &Homes) -> PyResult<Bound<'py, PyDict>> {
    let py = message.py();
    let told = PyDict::new(py);
    for key in BLOCKS {
        let Some(blocks) = field(message, key)? else { continue };
        let blocks: Vec<_> = (0..).map_while(|at| item(&blocks, at)).collect();
        let home = |block: &Bound<'py, PyAny>| homes.get(&block.as_ptr().addr()).copied();
        let mut known = blocks.iter().filter_map(home);
        let Some((place, of, _)) = known.next() else { continue };
        if of == key
            && known.all(|other| (other.0, other.1) == (place, of))
            && alike(&originals.0.get_item(place)?, message, key)?
        {
            let parts = PyList::empty(py);
            for block in &blocks {
                match home(block) {
                    Some((_, _, at)) => parts.append(at)?,
                    None => parts.append(copy(block, 0)?)?,
                }
            }
            told.set_item("of", place)?;
            told.set_item("key", key)?;
            told.set_item("blocks", parts)?;
            return Ok(told);
        }
    }
    told.set_item("new", copy(message, 0)?)?;
    Ok(told)
}

/// Whether two messages have the same fields but for this one.
fn alike(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>, but: &str) -> PyResult<bool> {
    let (Ok(one), Ok(other)) = (one.cast::<PyDict>(), other.cast::<PyDict>()) else { return Ok(false) };
    if one.len() != other.len() || !one.contains(but)? {
        return Ok(false);
    }
    for (name, value) in one {
        if !name.eq(but)?
            && !other.get_item(name)?.is_some_and(|same| same.is(&value) || same.eq(&value).unwrap_or(false))
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The list with a result in place of its beginning; None where the result cannot be made of it.
///
/// Kept messages and blocks are the given objects, new ones are made for each call.
///
/// Args:
///     parts: what `parts_of` returned.
///     messages: begin with the `length` messages that the result was made of.
#[pyfunction]
pub fn made_of<'py>(
    parts: &Bound<'py, PyList>,
    messages: Messages<'py>,
    length: usize,
) -> PyResult<Option<Bound<'py, PyList>>> {
    let messages = &messages.0;
    let made = PyList::empty(messages.py());
    let copied = |start: usize, stop: usize| {
        (start..stop.min(messages.len())).try_for_each(|at| made.append(messages.get_item(at)?))
    };
    for part in parts {
        let Ok(part) = part.cast::<PyDict>() else {
            let [start, stop]: [usize; 2] = part.extract()?;
            copied(start, stop)?;
            continue;
        };
        if let Some(new) = part.get_item("new")? {
            made.append(copy(&new, 0)?)?;
            continue;
        }
        let of =
            |name: &str| part.get_item(name)?.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()));
        let (original, key) = (messages.get_item(of("of")?.extract()?)?, of("key")?);
        let Some(blocks) = field(&original, &key.extract::<String>()?)? else { return Ok(None) };
        let new = PyList::empty(messages.py());
        for block in of("blocks")?.cast::<PyList>()? {
            if !block.is_exact_instance_of::<PyInt>() {
                new.append(copy(&block, 0)?)?;
            } else if let Some(block) = item(&blocks, block.extract()?) {
                new.append(block)?;
            } else {
                return Ok(None); // the same content as a text
            }
        }
        let with = PyDict::new(messages.py());
        with.update(original.cast::<PyMapping>()?)?;
        with.set_item(key, new)?;
        made.append(with)?;
    }
    copied(length, messages.len())?;
    Ok(Some(made))
}

/// A value with dicts and lists of its own, and the same texts.
fn copy<'py>(value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if depth > MAX_DEPTH {
        return Err(PyRecursionError::new_err(format!("a message is nested deeper than {MAX_DEPTH} levels")));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let new = PyDict::new(py);
        dict.iter().try_for_each(|(name, part)| new.set_item(name, copy(&part, depth + 1)?))?;
        return Ok(new.into_any());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let parts = (0..).map_while(|at| item(value, at)).map(|part| copy(&part, depth + 1));
        return Ok(PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    if !is_mapping(value) {
        return Ok(value.clone());
    }
    let new = PyDict::new(py);
    for name in value.call_method0("keys")?.try_iter()? {
        let name = name?;
        new.set_item(&name, copy(&value.get_item(&name)?, depth + 1)?)?;
    }
    Ok(new.into_any())
}
