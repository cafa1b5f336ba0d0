//! The calls of messages, as Python objects; the placeholders of what is removed from them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use trimtab_core::ledger::{Kind, Ledger};
use trimtab_core::placeholder::Removed;

use crate::convert::released;
use crate::counter::Counter;
use crate::fields::{field, item};
use crate::scan::Messages;
use crate::text::Text;

/// Responses of OpenAI: type of an item that is a call, and its field with the arguments.
const ITEMS: [(&str, &str); 2] = [("function_call", "arguments"), ("custom_tool_call", "input")];
/// Chat Completions: key of an entry that holds a call, and the call's field with the arguments.
const ENTRIES: [(&str, &str); 2] = [("function", "arguments"), ("custom", "input")];
/// Bedrock and Gemini: key of a block that holds a call, and the call's field with the arguments.
const BLOCKS: [(&str, &str); 3] = [("toolUse", "input"), ("functionCall", "args"), ("function_call", "args")];

/// A call: the way to it in its message, its field with the arguments, its tool, and the arguments as they are.
pub type Call<'py> = (Bound<'py, PyTuple>, &'static str, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The call of each row, or None for a row that is no call of a known shape.
///
/// `messages` are those that the ledger was made of.
pub fn calls<'py>(columns: &Ledger, messages: &Messages<'py>, rows: &[usize]) -> PyResult<Vec<Option<Call<'py>>>> {
    rows.iter()
        .map(|&row| {
            let index = *columns.owner.get(row).ok_or_else(|| PyValueError::new_err("a row is out of range"))? as usize;
            let first = columns.first[index] as usize;
            let before = columns.kind[first..row].iter().filter(|kind| **kind == Kind::Call).count();
            call(&messages.0.get_item(index)?, row - first, before)
        })
        .collect()
}

/// The call of a message whose row has this place in it, behind so many other calls.
fn call<'py>(message: &Bound<'py, PyAny>, place: usize, before: usize) -> PyResult<Option<Call<'py>>> {
    let py = message.py();
    let number = |n: usize| n.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from);
    let word = |text: &str| PyString::intern(py, text).into_any();
    if let Some(kind) = field(message, "type")?.filter(PyAnyMethods::is_instance_of::<PyString>)
        && let Some((_, key)) = ITEMS.into_iter().find(|(name, _)| kind.eq(*name).unwrap_or(false))
    {
        return found(message, vec![], key).map(Some);
    }
    if let Some(entry) = field(message, "tool_calls")?.and_then(|calls| item(&calls, before)) {
        let Some((kind, key, inner)) = inside(&entry, &ENTRIES)? else { return Ok(None) };
        return found(&inner, vec![word("tool_calls"), number(before)?, word(kind)], key).map(Some);
    }
    let name = if field(message, "parts")?.is_some() { "parts" } else { "content" };
    let Some(blocks) = field(message, name)? else { return Ok(None) };
    let Some(block) = item(&blocks, place).filter(PyAnyMethods::is_instance_of::<PyDict>) else { return Ok(None) };
    if field(&block, "type")?.is_some_and(|kind| kind.eq("tool_use").unwrap_or(false)) {
        return found(&block, vec![word(name), number(place)?], "input").map(Some);
    }
    let Some((kind, key, inner)) = inside(&block, &BLOCKS)? else { return Ok(None) };
    found(&inner, vec![word(name), number(place)?, word(kind)], key).map(Some)
}

fn found<'py>(call: &Bound<'py, PyAny>, way: Vec<Bound<'py, PyAny>>, key: &'static str) -> PyResult<Call<'py>> {
    let py = call.py();
    let value = |name: &str| Ok::<_, PyErr>(field(call, name)?.unwrap_or_else(|| py.None().into_bound(py)));
    Ok((PyTuple::new(py, way)?, key, value("name")?, value(key)?))
}

/// The dict under the first of these keys that holds one, with the key and its field of arguments.
fn inside<'py>(
    value: &Bound<'py, PyAny>,
    kinds: &[(&'static str, &'static str)],
) -> PyResult<Option<(&'static str, &'static str, Bound<'py, PyAny>)>> {
    if !value.is_instance_of::<PyDict>() {
        return Ok(None);
    }
    for (kind, key) in kinds {
        if let Some(inner) = field(value, kind)?.filter(PyAnyMethods::is_instance_of::<PyDict>) {
            return Ok(Some((kind, key, inner)));
        }
    }
    Ok(None)
}

/// The placeholder of each text that was removed, by its tokens, its tool and what the call was about; `back` says how to get
/// it back. The longest of at most `limit` tokens; where none is so short, the one with the number alone.
#[pyfunction]
#[pyo3(signature = (removed, *, back, limit, counter))]
pub fn placeholders(
    py: Python<'_>,
    removed: Vec<(u64, Text, Text)>,
    back: &str,
    limit: usize,
    counter: &Bound<'_, Counter>,
) -> PyResult<Vec<String>> {
    let count = counter.get().0.text;
    released(py, || {
        let one = |(tokens, tool, about): &(u64, Text, Text)| {
            let removed = Removed { tokens: *tokens, tool: tool.as_ref(), about: about.as_ref(), back };
            removed.placeholder(limit, |text| count.count(text))
        };
        Ok(removed.iter().map(one).collect())
    })
}
