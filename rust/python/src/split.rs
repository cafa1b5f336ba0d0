//! Where a transcript can be cut, and which messages stay.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use trimtab_core::ledger::partition::{self as zones, Columns, Keeper, Snap};
use trimtab_core::ledger::tail::{self, Keep};
use trimtab_core::ledger::{Ledger, Links, cut};

use crate::convert::{array, released, to_py};
use crate::counter::Counter;
use crate::scan::{Messages, extended, linked, provider_of};

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

/// Cuts a list by its last messages: the position in `tail` of the earliest safe cut with at most `keep` tokens behind it
/// (without `keep`: of the latest with `keep_last` messages), whether no earlier message can change it, and the tokens
/// of `tail`. `whole` says that `tail` is the whole list.
#[pyfunction]
#[pyo3(signature = (tail, *, whole, keep=None, keep_last=0, counter=None, provider=None))]
pub fn split_tail(
    tail: Messages<'_>,
    whole: bool,
    keep: Option<u64>,
    keep_last: usize,
    counter: Option<&Bound<'_, Counter>>,
    provider: Option<&str>,
) -> PyResult<(Option<usize>, bool, u64)> {
    let provider = provider_of(&tail, provider)?;
    let (keep, ledger) = match (keep, counter) {
        (Some(keep), Some(counter)) => {
            (Keep::Tokens(keep), extended(&Ledger::default(), &tail, provider, &counter.get().0)?)
        }
        _ => (Keep::Messages(keep_last), linked::<Links<_>>(&tail, provider)?),
    };
    let tokens = ledger.total();
    let (cut, known) = released(tail.0.py(), || tail::split(&ledger, whole, keep))?;
    Ok((cut, known, tokens))
}

/// The zone of each message: uint8, shape (messages,).
///
/// `cuts` are the safe cuts at which the tail may begin; `keepers` are pairs of a name ("tokens", "messages", "summaries",
/// "pins") and an amount; `snap` ("back", "forward", "own") moves a boundary between cuts; `head` and `least` messages
/// stay at the start and the end.
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
    let keepers: Result<Vec<_>, _> = keepers.iter().map(|(name, amount)| Keeper::named(name, *amount)).collect();
    let (keepers, snap) = (keepers.map_err(to_py)?, Snap::named(snap).map_err(to_py)?);
    let columns = Columns {
        tokens: tokens.as_slice()?,
        safe: safe.as_slice()?,
        cuts: cuts.as_slice()?,
        summary: summary.as_slice()?,
        pinned: pinned.as_slice()?,
    };
    array(py, &released(py, || zones::partition(columns, &keepers, snap, head, least))?)
}
