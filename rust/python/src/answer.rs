//! Questions about columns and about one text.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trimtab_core::envelope;
use trimtab_core::ledger::partition::{self as zones, Columns, Keeper, Snap};
use trimtab_core::ledger::tail::{self, Keep};
use trimtab_core::ledger::{self as columns, cut};
use trimtab_core::shape::Provider;
use trimtab_core::validate::{self as rules, Options, Problem};

use crate::convert::{array, released, to_py};
use crate::counter::Counter;
use crate::ledger::Ledger;
use crate::scan::{extended, glanced, provider_of, tied};
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

/// The place nearest to `raw` where a tail may begin: one of `cuts`, `back` or behind it.
#[pyfunction]
#[pyo3(signature = (cuts, raw, *, back=true))]
pub fn snap(py: Python<'_>, cuts: PyReadonlyArray1<'_, bool>, raw: usize, back: bool) -> PyResult<usize> {
    let cuts = cuts.as_slice()?;
    let how = if back { Snap::Back } else { Snap::Forward };
    released(py, || Ok(zones::snap(cuts, raw, how, 0, cuts.len().saturating_sub(1))))
}

/// The zone of each message: uint8, shape (messages,).
///
/// Args:
///     tokens: of each message.
///     safe: cuts that part no group.
///     cuts: those of them at which the tail may begin.
///     summary: messages that are summaries.
///     pinned: messages that are pinned.
///     keepers: what keeps messages and how much, in order: "tokens", "messages", "summaries", "pins".
///     snap: where a boundary goes that falls between cuts: "back", "forward" or "own".
///     head: messages at the start that stay.
///     least: messages that stay at the end.
///
/// Raises:
///     ValueError: columns that do not fit one another, a keeper or a snap that there is not.
#[pyfunction]
#[pyo3(signature = (tokens, safe, cuts, summary, pinned, *, keepers, snap="own", head=0, least=0))]
#[allow(clippy::too_many_arguments)] // five columns and how to read them
pub fn partition<'py>(
    py: Python<'py>,
    tokens: PyReadonlyArray1<'py, u32>,
    safe: PyReadonlyArray1<'py, bool>,
    cuts: PyReadonlyArray1<'py, bool>,
    summary: PyReadonlyArray1<'py, bool>,
    pinned: PyReadonlyArray1<'py, bool>,
    keepers: Vec<(String, u64)>,
    snap: &str,
    head: usize,
    least: usize,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let keepers = keepers.iter().map(|(name, amount)| keeper(name, *amount)).collect::<PyResult<Vec<_>>>()?;
    let how = match snap {
        "back" => Snap::Back,
        "forward" => Snap::Forward,
        "own" => Snap::Own,
        _ => return Err(PyValueError::new_err(format!("unknown snap {snap:?}: known are back, forward, own"))),
    };
    let columns = Columns {
        tokens: tokens.as_slice()?,
        safe: safe.as_slice()?,
        cuts: cuts.as_slice()?,
        summary: summary.as_slice()?,
        pinned: pinned.as_slice()?,
    };
    array(py, &released(py, || zones::partition(columns, &keepers, how, head, least))?)
}

fn keeper(name: &str, amount: u64) -> PyResult<Keeper> {
    Ok(match name {
        "tokens" => Keeper::Tokens(amount),
        "messages" => Keeper::Messages(usize::try_from(amount).unwrap_or(usize::MAX)),
        "summaries" => Keeper::Summaries,
        "pins" => Keeper::Pins,
        _ => {
            let known = "known are tokens, messages, summaries, pins";
            return Err(PyValueError::new_err(format!("unknown keeper {name:?}: {known}")));
        }
    })
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
    Ok(findings(problems))
}

/// Where a list can be cut, from its last messages: the cut's place in `tail`, whether nothing in front of them can
/// change it, and their tokens.
///
/// Args:
///     tail: the last messages, a list or tuple; not changed.
///     whole: whether these are all.
///     keep: most tokens behind the cut, by `counter`: the earliest safe cut that fits.
///     keep_last: least messages behind it, where no tokens are given: the latest safe cut that leaves them.
///     provider: the shape; found from these messages where it is None.
///
/// Raises:
///     ValueError: a message cannot be read; args are what, path, index and hint.
///     TypeError: messages is no list or tuple.
#[pyfunction]
#[pyo3(signature = (tail, *, whole, keep=None, keep_last=0, counter=None, provider=None))]
pub fn split_tail(
    tail: &Bound<'_, PyAny>,
    whole: bool,
    keep: Option<u64>,
    keep_last: usize,
    counter: Option<&Bound<'_, Counter>>,
    provider: Option<&str>,
) -> PyResult<(Option<usize>, bool, u64)> {
    let provider = provider_of(tail, provider)?;
    let (keep, ledger) = match (keep, counter) {
        (Some(keep), Some(counter)) => {
            (Keep::Tokens(keep), extended(&columns::Ledger::default(), tail, provider, &counter.get().0)?)
        }
        _ => (Keep::Messages(keep_last), tied(tail, provider)?),
    };
    let tokens = ledger.total();
    let (cut, known) = released(tail.py(), || tail::split(&ledger, whole, keep))?;
    Ok((cut, known, tokens))
}

/// What `provider` would refuse about messages, read for this alone: index, block, code, words, fix.
///
/// Raises:
///     ValueError: a message cannot be read; args are what, path, index and hint.
///     TypeError: messages is no list or tuple.
#[pyfunction]
#[pyo3(signature = (messages, *, provider, **rules))]
pub fn judge(messages: &Bound<'_, PyAny>, provider: &str, rules: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Finding>> {
    let (provider, options) = (Provider::named(provider).map_err(to_py)?, options(rules)?);
    let ledger = glanced(messages, provider)?;
    let problems = released(messages.py(), || Ok(rules::validate(&ledger, provider, options, None)))?;
    Ok(findings(problems))
}

fn findings(problems: Vec<Problem>) -> Vec<Finding> {
    problems.into_iter().map(|p| (p.index, p.block, p.code, p.message, p.fix)).collect()
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
