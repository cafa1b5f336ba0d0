//! Problems for which a provider would refuse a transcript.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use trimtab_core::ledger::{Outline, Role};
use trimtab_core::node::Key;
use trimtab_core::shape::items::ITEMS;
use trimtab_core::validate::{self as rules, Options};

use crate::convert::{released, settings};
use crate::ledger::Ledger;
use crate::scan::{Messages, linked, provider_of};

/// Index, block, code, message and fix of a problem.
type Finding = (usize, Option<usize>, &'static str, String, &'static str);

/// Problems of a ledger for its provider, or of messages for `provider`: these are read for the rules alone, no text is
/// kept or counted. `rules` sets options by name.
///
/// Raises:
///     ValueError: a message cannot be read; args are what, path, index and hint.
#[pyfunction]
#[pyo3(signature = (subject, *, provider=None, original=None, **rules))]
pub fn validate(
    py: Python<'_>,
    subject: &Bound<'_, PyAny>,
    provider: Option<&str>,
    original: Option<&Bound<'_, Ledger>>,
    rules: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Finding>> {
    let mut options = Options::default();
    settings(rules, |name, value| options.set(name, value))?;
    let original = original.map(|original| &*original.get().columns);
    let (provider, columns) = if let Ok(ledger) = subject.cast::<Ledger>() {
        (ledger.get().provider, Arc::clone(&ledger.get().columns))
    } else {
        let messages: Messages<'_> = subject.extract()?;
        let provider = provider_of(&messages, provider)?;
        (provider, Arc::new(linked::<Outline<_>>(&messages, provider)?))
    };
    let problems = released(py, || Ok(rules::validate(&columns, provider, options, original)))?;
    Ok(problems.into_iter().map(|p| (p.index, p.block, p.code, p.message, p.fix)).collect())
}

/// The types of items of the Responses API: name, part, whether the model wrote it, fields of its id, whether it needs one,
/// the field of its text, and the types that answer it.
pub fn items(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let rows = ITEMS.iter().map(|item| {
        let ids = PyTuple::new(py, item.ids.iter().map(|key| key.text()))?;
        let (body, answers) = (item.body.map(Key::text), PyTuple::new(py, item.answers)?);
        let is_model = item.role == Role::Assistant;
        (item.name, item.part.name(), is_model, ids, item.needs_id, body, answers).into_pyobject(py)
    });
    PyTuple::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}
