//! The summary without a model.

use pyo3::prelude::*;
use trimtab_core::error::Error;
use trimtab_core::offline::{Part, Reader, Zone, summary};

use crate::convert::released;
use crate::counter::Counter;
use crate::scan::{Messages, met, visit};
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

fn parts(messages: &Messages<'_>) -> PyResult<Vec<Part>> {
    let (mut reader, py) = (Reader::default(), messages.0.py());
    visit(messages, 0, |_, message| {
        py.detach(|| ()); // between two messages, a thread that waits for the interpreter takes it
        reader.read(message).map(|()| false).map_err(|error| met(error, |e| e))
    })?;
    Ok(reader.parts)
}
