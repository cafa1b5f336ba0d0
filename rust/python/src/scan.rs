//! Reading a list of messages.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use trimtab_core::error::Error;
use trimtab_core::ledger::{Builder, Ledger};
use trimtab_core::shape::{self, Provider};
use trimtab_core::text::Counter;

use crate::convert::{defect, released, to_py};
use crate::text::Text;
use crate::view::{self, View};

/// Reads `messages` once: objects with the interpreter held, texts counted and digested without it.
pub fn scan(messages: &Bound<'_, PyAny>, provider: Provider, counter: &Counter) -> PyResult<Ledger> {
    let py = messages.py();
    let mut builder = Builder::default();
    // Reading calls into objects of any kind, and one that changes while it is read makes the binding panic.
    let read = catch_unwind(AssertUnwindSafe(|| {
        each(messages, |index, message| {
            provider.read(&View(message), &mut builder).map_err(|error| at(error, index, &builder))
        })
    }));
    match read {
        Ok(done) => done?,
        Err(_) => return Err(defect("a message could not be read; it may have changed meanwhile")),
    }
    released(py, || builder.finish(counter))
}

/// What Python raised, where it is no error but a wish to stop; else the core's error.
fn met(error: Error) -> Problem {
    match view::raised() {
        Some(stop) if !Python::attach(|py| stop.is_instance_of::<PyException>(py)) => Problem::Raised(stop),
        _ => Problem::Core(error),
    }
}

/// The same, with the place of what cannot be read.
fn at(error: Error, index: usize, builder: &Builder<Text>) -> Problem {
    match met(error) {
        Problem::Core(Error::Argument(what)) => {
            let hint = "pass plain dicts, lists, strings and numbers; of SDK objects what .model_dump() gives";
            Problem::Core(if builder.messages() > index {
                builder.bad("", &what, hint)
            } else {
                Error::Message { path: format!("messages[{index}]"), index, what, hint: hint.to_owned() }
            })
        }
        other => other,
    }
}

/// Why a list cannot be read.
enum Problem {
    Core(Error),
    Raised(PyErr),
}

impl From<Problem> for PyErr {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Core(error) => to_py(error),
            Problem::Raised(error) => error,
        }
    }
}

/// Calls `visit` for each message of a list or tuple.
fn each<'py>(
    messages: &Bound<'py, PyAny>,
    mut visit: impl FnMut(usize, Bound<'py, PyAny>) -> Result<(), Problem>,
) -> PyResult<()> {
    if messages.is_instance_of::<PyString>() || messages.is_instance_of::<PyDict>() {
        return Err(PyTypeError::new_err("messages must be a list of messages, got a single one"));
    }
    if let Ok(list) = messages.cast::<PyList>() {
        return list.iter().enumerate().try_for_each(|(n, m)| Ok(visit(n, m)?));
    }
    if let Ok(tuple) = messages.cast::<PyTuple>() {
        return tuple.iter().enumerate().try_for_each(|(n, m)| Ok(visit(n, m)?));
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
    let (mut found, mut system) = (None, false);
    each(messages, |_, message| {
        if found.is_none() {
            let view = View(message);
            found = shape::detect(&view).map_err(met)?;
            system |= shape::is_system(&view).map_err(met)?;
        }
        Ok(())
    })?;
    Ok(found.or(system.then_some(Provider::OpenAiChat)))
}

/// The provider whose shape the messages have; None where several write them so.
#[pyfunction]
pub fn detect(messages: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    Ok(found(messages)?.map(Provider::name))
}
