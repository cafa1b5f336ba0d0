//! Questions about columns and about one text.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trimtab_core::ledger::cut;
use trimtab_core::text::envelope;
use trimtab_core::validate::{self as rules, Options};

use crate::convert::released;
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
///
/// `rules` overrides the defaults of what depends on the model or the moment, by name.
#[pyfunction]
#[pyo3(signature = (ledger, *, original=None, **rules))]
pub fn validate(
    py: Python<'_>,
    ledger: &Bound<'_, Ledger>,
    original: Option<&Bound<'_, Ledger>>,
    rules: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Finding>> {
    let ledger = ledger.get();
    let original = original.map(|original| &*original.get().columns);
    let options = options(rules)?;
    let problems = released(py, || Ok(rules::validate(&ledger.columns, ledger.provider, options, original)))?;
    Ok(problems.into_iter().map(|p| (p.index, p.block, p.code, p.message, p.fix)).collect())
}

fn options(rules: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::default();
    for (name, value) in rules.into_iter().flatten() {
        match name.extract::<&str>()? {
            "in_flight" => options.in_flight = value.extract()?,
            "prefill" => options.prefill = value.extract()?,
            "thinking" => options.thinking = value.extract()?,
            "binds" => options.binds = value.extract()?,
            "alternation" => options.alternation = value.extract()?,
            "markers" => options.markers = value.extract()?,
            "tools" => options.tools = value.extract()?,
            "pictures" => options.pictures = value.extract()?,
            "picture" => options.picture = value.extract()?,
            "request" => options.request = value.extract()?,
            other => return Err(PyTypeError::new_err(format!("unknown rule {other:?}"))),
        }
    }
    Ok(options)
}

/// The digest that a summary's envelope carries.
#[pyfunction]
pub fn digest(text: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(envelope::digest(Text::of_either(text)?.as_ref()))
}
