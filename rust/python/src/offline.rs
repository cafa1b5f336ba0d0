//! The summary without a model.

use pyo3::prelude::*;
use trimtab_core::error::Error;
use trimtab_core::offline::{Part, Reader, Zone, summary};

use crate::convert::released;
use crate::scan::{Messages, met, visit};
use crate::text::Text;

/// A summary of `messages` of at most `limit` tokens by `count`: the one function here that calls Python. `after` are the
/// messages behind them; `texts` are the earlier summary and the instructions.
#[pyfunction]
pub fn offline(
    messages: Messages<'_>,
    after: Messages<'_>,
    texts: [Text; 2],
    limit: i64,
    count: Py<PyAny>,
) -> PyResult<String> {
    let [previous, instructions] = texts.map(|text| text.as_ref().to_owned());
    let zone = Zone { parts: parts(&messages)?, size: messages.0.len(), after: parts(&after)?, previous, instructions };
    let mut failed: Option<PyErr> = None;
    let work = || {
        let counted = |text: &str| Python::attach(|py| count.bind(py).call1((text,))?.extract());
        let mut count = |text: &str| counted(text).map_err(|error| Error::Argument(failed.insert(error).to_string()));
        summary(zone, limit, &mut count)
    };
    released(messages.0.py(), work).map_err(|error| failed.unwrap_or(error))
}

fn parts(messages: &Messages<'_>) -> PyResult<Vec<Part>> {
    let mut reader = Reader::default();
    visit(messages, 0, |_, message| reader.read(message).map(|()| false).map_err(|error| met(error, |e| e)))?;
    Ok(reader.parts)
}
