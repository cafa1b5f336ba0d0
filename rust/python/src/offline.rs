//! The summary without a model.

use pyo3::prelude::*;
use trimtab_core::error::Error;
use trimtab_core::offline::{Claim, Facts, KeptSpans, Part, Reader, Zone, summary, unfounded as lacking};

use crate::convert::released;
use crate::counter::Counter;
use crate::scan::{Messages, entries_of, met, visit};
use crate::text::Text;

/// A summary of the first messages, which the second ones follow, of at most `limit` tokens by `count`: a `Counter`, or a
/// function of the caller, the one in Python that is called back. `texts` are the earlier summary and the instructions.
#[pyfunction]
pub fn offline(messages: [Messages<'_>; 2], texts: [Text; 2], limit: i64, count: Bound<'_, PyAny>) -> PyResult<String> {
    let [previous, instructions] = texts.map(|text| text.as_ref().to_owned());
    let (size, [zone, after]) = (messages[0].0.len(), messages.map(|messages| parts(&messages)));
    let zone = Zone { parts: zone?, size, after: after?, previous, instructions };
    let (py, mut failed) = (count.py(), None::<PyErr>);
    let counter = count.cast::<Counter>().map(|counter| counter.get().0.text).ok();
    let function = count.unbind();
    let call = |text: &str| Python::attach(|py| function.bind(py).call1((text,))?.extract());
    let mut count = |text: &str| match counter {
        Some(counter) => Ok(i64::try_from(counter.count(text)).unwrap_or(i64::MAX)),
        None => call(text).map_err(|error| Error::Argument(failed.insert(error).to_string())),
    };
    released(py, || summary(zone, limit, &mut count)).map_err(|error| failed.unwrap_or(error))
}

/// The claims of each unit that stand neither in the messages nor in `more`, with their kinds: `name`, `path`, `number` or
/// `quotation`.
#[pyfunction]
pub fn unfounded(
    py: Python<'_>,
    units: Vec<Text>,
    messages: [Messages<'_>; 2],
    more: Vec<Text>,
) -> PyResult<Vec<Vec<(&'static str, String)>>> {
    let mut sources: Vec<String> = more.iter().map(|text| text.as_ref().to_owned()).collect();
    for messages in &messages {
        sources.extend(entries_of(messages)?.into_iter().flat_map(|entry| [entry.text, entry.name]));
    }
    let units: Vec<&str> = units.iter().map(Text::as_ref).collect();
    let named = |unit: Vec<_>| unit.into_iter().map(|(kind, text): (Claim, String)| (kind.name(), text)).collect();
    released(py, || Ok(lacking(&units, sources.iter().map(String::as_str)).into_iter().map(named).collect()))
}

/// Facts of the first messages, which the second ones follow: rules, the first request, files written, open tasks, and the
/// last run of each test command with whether it failed; then the limits without a word of a rule.
#[pyfunction]
pub fn facts(py: Python<'_>, messages: [Messages<'_>; 2], previous: Text) -> PyResult<FactsOf> {
    let [zone, after] = messages.map(|messages| parts(&messages));
    let (zone, after) = (zone?, after?);
    let Facts { rules, limits, request, written, tasks, tests } =
        released(py, move || Ok(Facts::of(&zone, &after, previous.as_ref())))?;
    Ok((rules, request, written, tasks, tests, limits))
}

/// The spans that users' and system texts of the messages keep by a tag of this name, each with the position of its message.
#[pyfunction]
pub fn kept_spans(messages: Messages<'_>, tag: &str) -> PyResult<Vec<(usize, String)>> {
    let (mut spans, py) = (KeptSpans::new(tag), messages.0.py());
    visit(&messages, 0, |_, message| {
        py.detach(|| ()); // between two messages, a thread that waits for the interpreter takes it
        spans.read(message).map(|()| false).map_err(|error| met(error, |e| e))
    })?;
    Ok(spans.found)
}

/// What `facts` returns.
type FactsOf = (Vec<String>, String, Vec<String>, Vec<(String, String)>, Vec<(String, Option<bool>)>, Vec<String>);

fn parts(messages: &Messages<'_>) -> PyResult<Vec<Part>> {
    let (mut reader, py) = (Reader::default(), messages.0.py());
    visit(messages, 0, |_, message| {
        py.detach(|| ()); // between two messages, a thread that waits for the interpreter takes it
        reader.read(message).map(|()| false).map_err(|error| met(error, |e| e))
    })?;
    Ok(reader.parts)
}
