//! Problems for which a provider would refuse a transcript.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trimtab_core::shape::Provider;
use trimtab_core::validate::{self as rules, Options, Problem};

use crate::convert::{released, settings, to_py};
use crate::ledger::Ledger;
use crate::scan::outlined;

/// Index, block, code, message and fix of a problem.
type Finding = (usize, Option<usize>, &'static str, String, &'static str);

/// Problems of a ledger, for its provider. `rules` sets options by name.
#[pyfunction]
#[pyo3(signature = (ledger, *, original=None, **rules))]
pub fn validate(
    py: Python<'_>,
    ledger: &Bound<'_, Ledger>,
    original: Option<&Bound<'_, Ledger>>,
    rules: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Finding>> {
    let (ledger, options) = (ledger.get(), options(rules)?);
    let original = original.map(|original| &*original.get().columns);
    let problems = released(py, || Ok(rules::validate(&ledger.columns, ledger.provider, options, original)))?;
    Ok(findings(problems))
}

/// Problems of messages for `provider`, read for this alone: no text is kept or counted.
///
/// Raises:
///     ValueError: a message cannot be read; args are what, path, index and hint.
#[pyfunction]
#[pyo3(signature = (messages, *, provider, **rules))]
pub fn judge(messages: &Bound<'_, PyAny>, provider: &str, rules: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Finding>> {
    let (provider, options) = (Provider::named(provider).map_err(to_py)?, options(rules)?);
    let ledger = outlined(messages, provider)?;
    let problems = released(messages.py(), || Ok(rules::validate(&ledger, provider, options, None)))?;
    Ok(findings(problems))
}

fn findings(problems: Vec<Problem>) -> Vec<Finding> {
    problems.into_iter().map(|p| (p.index, p.block, p.code, p.message, p.fix)).collect()
}

fn options(rules: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::default();
    settings(rules, |name, value| options.set(name, value))?;
    Ok(options)
}
