//! Reading a list of messages.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use trimtab_core::counter::Counter;
use trimtab_core::error::Error;
use trimtab_core::ledger::{Builder, Ledger};
use trimtab_core::shape::{self, Provider};
use trimtab_simd::prefetch_at;
use trimtab_tokens::cancel;

use crate::convert::{caught, panicked, released, to_py};
use crate::raw::items;
use crate::seen::Seen;
use crate::text::Text;
use crate::view::{self, View};

/// Items between the one that is read and the one whose memory is asked for. To ask for what is in that, layer by layer,
/// costs as much as it gains.
const AHEAD: usize = 12;

/// The list that was read last, so that what did not change is not read again. One thread has it at a time; another that
/// comes meanwhile reads all.
#[derive(Default)]
pub struct Last(Mutex<Option<Read>>);

struct Read {
    provider: Provider,
    ledger: Arc<Ledger>,
    seen: Seen,
}

impl Last {
    fn take(&self, provider: Provider) -> Option<Read> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        last.filter(|read| read.provider == provider)
    }

    fn put(&self, read: Read) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
    }
}

/// Reads `messages`; those in front that are what they were the last time are not read again.
pub fn scan(messages: &Bound<'_, PyAny>, provider: Provider, counter: &Counter, last: &Last) -> PyResult<Arc<Ledger>> {
    let (before, mut seen) = last.take(provider).map_or_else(Default::default, |read| (Some(read.ledger), read.seen));
    let known = seen.same(messages)?;
    seen.truncate(known);
    let mut new = read(each(messages, known)?, provider, Builder::new(counter.prompt, known), &mut |m| {
        seen.push(m);
    })?;
    let ledger = released(messages.py(), || match before {
        Some(ledger) if known == ledger.messages() && new.messages() == 0 => Ok(ledger),
        Some(ledger) if known == ledger.messages() => {
            Arc::unwrap_or_clone(ledger).extend(new.finish(counter)?).map(Arc::new)
        }
        Some(ledger) if known > 0 => ledger.head(known).extend(new.finish(counter)?).map(Arc::new),
        _ => new.finish(counter).map(Arc::new),
    })?;
    last.put(Read { provider, ledger: Arc::clone(&ledger), seen });
    Ok(ledger)
}

/// What rules look at in `messages`, read for them alone: no text is kept, counted or remembered.
pub fn glanced(messages: &Bound<'_, PyAny>, provider: Provider) -> PyResult<Ledger> {
    let builder = read(each(messages, 0)?, provider, Builder::glancing(messages.len()?), &mut |_| ())?;
    released(messages.py(), || builder.glanced())
}

/// What ties `messages` together, read for it alone.
pub fn tied(messages: &Bound<'_, PyAny>, provider: Provider) -> PyResult<Ledger> {
    let builder = read(each(messages, 0)?, provider, Builder::tying(messages.len()?), &mut |_| ())?;
    released(messages.py(), || builder.glanced())
}

/// Reads `messages`, which stand behind those of `ledger`.
pub fn extended(
    ledger: &Ledger,
    messages: &Bound<'_, PyAny>,
    provider: Provider,
    counter: &Counter,
) -> PyResult<Ledger> {
    let builder = Builder::new(counter.prompt, ledger.messages());
    let mut new = read(each(messages, 0)?, provider, builder, &mut |_| ())?;
    released(messages.py(), || ledger.clone().extend(new.finish(counter)?))
}

/// Objects with the interpreter held; what is asked of the texts comes later, without it.
fn read<'py>(
    messages: impl Iterator<Item = Bound<'py, PyAny>>,
    provider: Provider,
    mut builder: Builder<Text>,
    remember: &mut impl FnMut(&Bound<'py, PyAny>),
) -> PyResult<Builder<Text>> {
    let mut one = |(index, message): (usize, Bound<'py, PyAny>)| {
        if index % cancel::ITEMS_PER_POLL == 0 {
            message.py().check_signals().map_err(Problem::Raised)?;
        }
        let view = View::of(message);
        provider.read(&view, &mut builder).map_err(|error| at(error, index, &builder))?;
        remember(&view.object);
        Ok(())
    };
    let all = || {
        cancel::panic_if_planted();
        messages.enumerate().try_for_each(&mut one)
    };
    // Reading calls into objects of any kind, and one that changes while it is read makes the binding panic.
    match caught(all) {
        Ok(done) => done.map_err(|problem: Problem| PyErr::from(problem)).map(|()| builder),
        Err(payload) => Err(panicked(payload.as_ref())),
    }
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
                let index = builder.before() + index;
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

/// The messages of a list or tuple from `start` on, in order; the memory of a list's is asked for early.
fn each<'a, 'py>(
    messages: &'a Bound<'py, PyAny>,
    start: usize,
) -> PyResult<Box<dyn Iterator<Item = Bound<'py, PyAny>> + 'a>> {
    if messages.is_instance_of::<PyString>() || messages.is_instance_of::<PyDict>() {
        return Err(PyTypeError::new_err("messages must be a list of messages, got a single one"));
    }
    if let Ok(list) = messages.cast::<PyList>() {
        return Ok(Box::new(ahead(list, start)));
    }
    if let Ok(tuple) = messages.cast::<PyTuple>() {
        return Ok(Box::new(tuple.iter().skip(start)));
    }
    let kind = messages.get_type().name()?;
    Err(PyTypeError::new_err(format!("messages must be a list or a tuple, got {kind}")))
}

/// The items of a list from `start` up to where it ends now. Their memory is asked for some items ahead: one behind the
/// other they would wait for it.
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

/// The provider named, or else the one whose shape the messages have.
pub fn provider_of(messages: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Provider> {
    if let Some(name) = name {
        return Provider::named(name).map_err(to_py);
    }
    Ok(found(messages)?.unwrap_or(Provider::OpenAiChat))
}

fn found(messages: &Bound<'_, PyAny>) -> PyResult<Option<Provider>> {
    let (mut found, mut system) = (None, false);
    for (index, message) in each(messages, 0)?.enumerate() {
        if index % cancel::ITEMS_PER_POLL == 0 {
            message.py().check_signals()?;
        }
        let view = View::of(message);
        found = shape::detect(&view).map_err(met)?;
        if found.is_some() {
            break;
        }
        system |= shape::is_system(&view).map_err(met)?;
    }
    Ok(found.or(system.then_some(Provider::OpenAiChat)))
}

/// The provider whose shape the messages have; None where several write them so.
#[pyfunction]
pub fn detect(messages: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    Ok(found(messages)?.map(Provider::name))
}
