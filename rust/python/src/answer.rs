//! Questions about columns and about one text.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use trimtab_core::ledger::cut;
use trimtab_core::text::envelope;
use trimtab_core::truncate as cutting;
use trimtab_core::validate::{self as rules, Options};

use crate::convert::released;
use crate::counter::Counter;
use crate::ledger::Ledger;
use crate::text::Text;

/// The earliest safe cut whose tail costs at most `keep` tokens; None if there is none.
#[pyfunction]
#[pyo3(signature = (tokens, safe, *, keep))]
pub fn split(
    py: Python<'_>,
    tokens: PyReadonlyArray1<'_, u32>,
    safe: PyReadonlyArray1<'_, bool>,
    keep: u64,
) -> PyResult<Option<usize>> {
    let (tokens, safe) = (tokens.as_slice()?, safe.as_slice()?);
    released(py, || cut::split(tokens, safe, keep))
}

/// Index, block, code, words and fix of a problem.
type Finding = (usize, Option<usize>, &'static str, String, &'static str);

/// What the ledger's provider would refuse: index, block, code, words, fix.
#[pyfunction]
#[pyo3(signature = (ledger, *, in_flight=false, prefill=true, thinking=None))]
pub fn validate(
    py: Python<'_>,
    ledger: &Bound<'_, Ledger>,
    in_flight: bool,
    prefill: bool,
    thinking: Option<bool>,
) -> PyResult<Vec<Finding>> {
    let ledger = ledger.get();
    let options = Options { in_flight, prefill, thinking };
    let problems = released(py, || Ok(rules::validate(&ledger.columns, ledger.provider, options)))?;
    Ok(problems.into_iter().map(|p| (p.index, p.block, p.code, p.message, p.fix)).collect())
}

/// Head and tail of a tool's `text` within `max_tokens` of the counter's prompt, with a notice of what was left out.
#[pyfunction]
#[pyo3(signature = (text, *, max_tokens, counter))]
pub fn truncate(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    max_tokens: usize,
    counter: &Bound<'_, Counter>,
) -> PyResult<String> {
    let (text, counter) = (Text::of_either(text)?, counter.get().0);
    released(py, || Ok(cutting::head_tail(text.as_ref(), max_tokens, &counter)))
}

/// The digest that a summary's envelope carries.
#[pyfunction]
pub fn digest(text: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(envelope::digest(Text::of_either(text)?.as_ref()))
}
