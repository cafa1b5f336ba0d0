//! The summary without a model.

use pyo3::prelude::*;
use pyo3::types::PyString;
use trimtab_core::error::Error;
use trimtab_core::offline::{Part, Reader, Zone, summary};

use crate::convert::released;
use crate::scan::{Messages, visit};
use crate::text::Text;

/// A summary of `messages` of at most `limit` tokens by `count`: the one function here that calls Python. `after` are the
/// messages behind them; `texts` are the earlier summary and the instructions.
#[pyfunction]
pub fn offline(
    messages: Messages<'_>,
    after: Messages<'_>,
    texts: [Bound<'_, PyString>; 2],
    limit: i64,
    count: Py<PyAny>,
) -> PyResult<String> {
    let [previous, instructions] = texts.each_ref().map(|text| Text::of(text).map(|text| text.as_ref().to_owned()));
    let (previous, instructions) = (previous?, instructions?);
    let size = i64::try_from(messages.0.len()).unwrap_or(i64::MAX);
    let zone = Zone { parts: parts(&messages)?, size, after: parts(&after)?, previous, instructions };
    let mut failed: Option<PyErr> = None;
    let work = || {
        let counted = |text: &str| Python::attach(|py| count.bind(py).call1((text,))?.extract());
        let mut count = |text: &str| counted(text).map_err(|error| Error::Argument(failed.insert(error).to_string()));
        summary(zone, limit, &mut count)
    };
    let text = released(texts[0].py(), work);
    text.map_err(|error| failed.unwrap_or(error))
}

fn parts(messages: &Messages<'_>) -> PyResult<Vec<Part>> {
    let mut reader = Reader::default();
    visit(messages, &mut |message| reader.read(message))?;
    Ok(reader.parts)
}
