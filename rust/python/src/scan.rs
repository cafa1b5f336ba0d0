//! Reading a list of messages.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use trimtab_core::error::Error;
use trimtab_core::ledger::{Builder, Ledger};
use trimtab_core::shape::{self, Provider};
use trimtab_core::text::Counter;

use crate::convert::{released, to_py};
use crate::view::View;

/// Reads `messages` once: objects with the interpreter held, texts counted and digested without it.
pub fn scan(messages: &Bound<'_, PyAny>, provider: Provider, counter: &Counter) -> PyResult<Ledger> {
    let mut builder = Builder::default();
    let mut index = 0;
    each(messages, |message| {
        index += 1;
        provider.read(&View(message), &mut builder).map_err(|error| match error {
            Error::Argument(what) => builder.bad("", &what, "pass plain dicts, lists, strings and numbers"),
            other => other,
        })
    })?;
    let py = messages.py();
    released(py, || builder.finish(counter))
}

/// Calls `visit` for each message of a list or tuple.
fn each<'py>(
    messages: &Bound<'py, PyAny>,
    mut visit: impl FnMut(Bound<'py, PyAny>) -> Result<(), Error>,
) -> PyResult<()> {
    if messages.is_instance_of::<PyString>() || messages.is_instance_of::<PyDict>() {
        return Err(PyTypeError::new_err("messages must be a list of messages, got a single one"));
    }
    if let Ok(list) = messages.cast::<PyList>() {
        return list.iter().try_for_each(|m| visit(m).map_err(to_py));
    }
    if let Ok(tuple) = messages.cast::<PyTuple>() {
        return tuple.iter().try_for_each(|m| visit(m).map_err(to_py));
    }
    let kind = messages.get_type().name()?;
    Err(PyTypeError::new_err(format!("messages must be a list or a tuple, got {kind}")))
}

/// The provider named, or else the one whose shape the messages have.
pub fn provider_of(messages: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Provider> {
    if let Some(name) = name {
        return Provider::named(name).map_err(to_py);
    }
    Ok(found(messages)?.unwrap_or(Provider::OpenAiChat))
}

fn found(messages: &Bound<'_, PyAny>) -> PyResult<Option<Provider>> {
    let mut found = None;
    each(messages, |message| {
        if found.is_none() {
            found = shape::detect(&View(message))?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// The provider whose shape the messages have; None where several write them so.
#[pyfunction]
pub fn detect(messages: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    Ok(found(messages)?.map(Provider::name))
}
