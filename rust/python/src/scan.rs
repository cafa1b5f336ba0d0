//! Reading a list of messages.

use std::sync::Arc;

use pyo3::exceptions::{PyException, PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use trimtab_core::counter::Counter;
use trimtab_core::entries::{Entry, Reader};
use trimtab_core::error::Error;
use trimtab_core::ledger::{Builder, Ledger, Linkable, MessageFlag, Sink};
use trimtab_core::offline::shorten;
use trimtab_core::reread::{Last, Reread};
use trimtab_core::seen::Seen;
use trimtab_core::shape::{Detector, Provider};
use trimtab_simd::prefetch_at;
use trimtab_tokens::cancel;

use crate::convert::{panicked, released, to_py};
use crate::raw::items;
use crate::seen::Objects;
use crate::text::Text;
use crate::view::{self, View, has_surrogate};

/// Items between the one that is read and the one that is prefetched. Prefetching what is inside gains nothing.
const AHEAD: usize = 12;

/// The remedy for an object that cannot be read.
const HINT: &str = "pass plain dicts, lists, strings and numbers; of SDK objects what .model_dump() gives";

/// A list of messages, or a tuple's.
pub struct Messages<'py>(pub Bound<'py, PyList>);

impl<'a, 'py> FromPyObject<'a, 'py> for Messages<'py> {
    type Error = PyErr;

    fn extract(messages: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = messages.cast::<PyList>() {
            return Ok(Self(list.to_owned()));
        }
        if let Ok(tuple) = messages.cast::<PyTuple>() {
            return Ok(Self(tuple.to_list()));
        }
        let kind = messages.get_type().name()?;
        Err(PyTypeError::new_err(format!("messages must be a list or a tuple, got {kind}")))
    }
}

/// Reads `messages`, of which those that `last` had are not read again; without a `name` their provider is found, or is
/// that named `fallback`.
pub fn scan(
    messages: &Messages<'_>,
    name: Option<&str>,
    fallback: &str,
    counter: &Counter,
    last: &Last<Py<PyAny>>,
) -> PyResult<(Provider, Arc<Ledger>)> {
    let last_read = last.take(messages.0.len());
    let known = unchanged(messages, &last_read.seen)?;
    let (mut detector, next) = last_read.detector.after(known);
    if let (None, Some(next)) = (name, next) {
        detect_in(messages, next, &mut detector)?;
    }
    let provider = Provider::of(name, &detector, fallback).map_err(to_py)?;
    let mut reread = Reread::new(last_read, provider, detector, known);
    let mut new = Builder::new(counter.prompt, reread.known());
    read(messages, reread.known(), provider, &mut new, &mut |message| reread.recognizes::<Objects<'_>>(message))?;
    let ledger = released(messages.0.py(), || reread.ledger(&mut new, counter))?;
    Ok((provider, last.put(reread.end(ledger))))
}

/// How many of `values` in front are what they were.
pub fn unchanged(values: &Messages<'_>, seen: &Seen<Py<PyAny>>) -> PyResult<usize> {
    seen.unchanged::<Objects<'_>, _>(|which, visit| {
        values.0.py().check_signals()?;
        Ok(items(&values.0, which, &mut |value| visit(value)))
    })
}

/// Reads `messages`, which follow those of `ledger`.
pub fn extended(ledger: &Ledger, messages: &Messages<'_>, provider: Provider, counter: &Counter) -> PyResult<Ledger> {
    let mut new = Builder::new(counter.prompt, ledger.messages());
    read(messages, 0, provider, &mut new, &mut |_| false)?;
    released(messages.0.py(), || ledger.clone().extend(new.finish(counter)?))
}

/// Reads which of `messages` belong together, and for an [`Outline`](trimtab_core::ledger::Outline) what rules look at: no
/// text is kept or counted.
pub fn linked<S: Linkable<Text = Text>>(messages: &Messages<'_>, provider: Provider) -> PyResult<Ledger> {
    let mut builder = Builder::<S>::of(messages.0.len());
    read(messages, 0, provider, &mut builder, &mut |_| false)?;
    released(messages.0.py(), || builder.linked())
}

/// Reads the messages from `start` on that are not `known`, with the interpreter held; their texts are counted later, without
/// it.
fn read<'py, S: Sink<Text = Text>>(
    messages: &Messages<'py>,
    start: usize,
    provider: Provider,
    builder: &mut Builder<S>,
    known: &mut impl FnMut(&Bound<'py, PyAny>) -> bool,
) -> PyResult<()> {
    visit(messages, start, |_, view| {
        let before = builder.messages();
        if known(&view.object) {
            builder.skip();
            return Ok(false);
        }
        provider.read(view, builder).map_err(|error| met(error, |e| builder.located(e, before, HINT)))?;
        if !S::LINKS_ONLY && has_surrogate(&view.object, 0) {
            builder.mark(MessageFlag::LoneSurrogate);
        }
        Ok(false)
    })
}

/// The exception behind an error of a view, where it is no `Exception` but a wish to stop, or says that memory is short,
/// which is no fault of the message; else the located error.
pub fn met(error: Error, locate: impl FnOnce(Error) -> Error) -> PyErr {
    let is_fault = |py: Python<'_>, raised: &PyErr| {
        raised.is_instance_of::<PyException>(py) && !raised.is_instance_of::<PyMemoryError>(py)
    };
    match view::raised() {
        Some(stop) if !Python::attach(|py| is_fault(py, &stop)) => stop,
        _ => to_py(locate(error)),
    }
}

/// An error of a message that no builder has begun, with its place.
fn located(error: Error, index: usize) -> Error {
    match error {
        Error::Argument(what) => {
            Error::Message { path: format!("messages[{index}]"), index, what, hint: HINT.to_owned() }
        }
        other => other,
    }
}

/// The items of a list from `start` up to its end now, each prefetched some items ahead.
pub fn ahead<'py>(list: &Bound<'py, PyList>, start: usize) -> impl Iterator<Item = Bound<'py, PyAny>> {
    let (mut index, stop) = (start, list.len());
    std::iter::from_fn(move || {
        items(list, index + AHEAD..index + AHEAD + 1, &mut |item| {
            prefetch_at(item.as_ptr().addr());
            true
        });
        index += 1;
        if index <= stop { list.get_item(index - 1).ok() } else { None }
    })
}

/// The provider of that name, or the one whose shape the messages have.
pub fn provider_of(messages: &Messages<'_>, name: Option<&str>) -> PyResult<Provider> {
    let mut detector = Detector::default();
    name.map_or_else(|| detect_in(messages, 0, &mut detector), |_| Ok(()))?;
    Provider::of(name, &detector, Provider::OpenAiChat.name()).map_err(to_py)
}

/// Looks at messages from `start` on for their provider.
fn detect_in(messages: &Messages<'_>, start: usize, detector: &mut Detector) -> PyResult<()> {
    visit(messages, start, |at, message| detector.see(message).map_err(|error| met(error, |e| located(e, start + at))))
}

/// The provider whose shape the messages have; None where several providers write them so.
#[pyfunction]
pub fn detect(messages: Messages<'_>) -> PyResult<Option<&'static str>> {
    let mut detector = Detector::default();
    detect_in(&messages, 0, &mut detector)?;
    Ok(detector.found_in_all().map(Provider::name))
}

/// The position, kind, role or tool, and text of everything that messages hold; a result of more than `most` characters
/// has its lines of most worth alone.
#[pyfunction]
#[pyo3(signature = (messages, most=None))]
pub fn entries(messages: Messages<'_>, most: Option<usize>) -> PyResult<Vec<(usize, &'static str, String, String)>> {
    let mut found = entries_of(&messages)?;
    if let Some(most) = most {
        let (py, entries) = (messages.0.py(), &mut found);
        released(py, || {
            shorten(entries, most);
            Ok(())
        })?;
    }
    Ok(found.into_iter().map(|entry| (entry.at, entry.kind.name(), entry.name, entry.text)).collect())
}

/// The entries of messages, in order.
pub fn entries_of(messages: &Messages<'_>) -> PyResult<Vec<Entry>> {
    let mut reader = Reader::default();
    visit(messages, 0, |_, message| reader.read(message).map(|()| false).map_err(|error| met(error, |e| e)))?;
    Ok(reader.entries)
}

/// Whether every message is a dict down to its blocks, and none an entry of a log.
#[pyfunction]
pub fn all_plain(messages: Messages<'_>) -> PyResult<bool> {
    let mut all = true;
    visit(&messages, 0, |_, message| {
        all = message.is_plain();
        Ok(!all)
    })?;
    Ok(all)
}

/// Calls `see` with each message from `start` on, and its place from there, until it returns that it has seen enough.
pub fn visit<'py>(
    messages: &Messages<'py>,
    start: usize,
    mut see: impl FnMut(usize, &View<'py>) -> PyResult<bool>,
) -> PyResult<()> {
    let mut all = || {
        for (index, message) in ahead(&messages.0, start).enumerate() {
            if index % cancel::ITEMS_PER_POLL == 0 {
                message.py().check_signals()?;
            }
            if see(index, &View::of(message))? {
                break;
            }
        }
        Ok(())
    };
    // The binding panics on an object that changes while it is read.
    cancel::caught(&mut all).map_err(panicked)?
}
