//! The blocks of many sessions.

use numpy::PyArray1;
use pyo3::prelude::*;
use trimtab_core::corpus;
use trimtab_core::ongoing::Ongoing;

use crate::convert::{array, released};
use crate::ledger::Ledger;

/// The number of rows of each session, each uint32: the messages, role, kind, tool and tokens of the rows; and the tools.
type Columns<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<u32>>,
    Vec<String>,
);

/// Takes the ledgers of sessions, and makes columns of their blocks.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Blocks(Ongoing<corpus::Blocks>);

#[pymethods]
impl Blocks {
    #[new]
    fn new() -> Self {
        Self(Ongoing::new("table", corpus::Blocks::default()))
    }

    /// Adds a session's blocks; behind those of a message stands its overhead.
    ///
    /// Raises:
    ///     OverflowError: more rows than a column can number.
    fn add(&self, py: Python<'_>, ledger: &Bound<'_, Ledger>) -> PyResult<()> {
        let columns = &ledger.get().columns;
        released(py, || self.0.advance(|blocks| blocks.add(columns))?)
    }

    /// The number of rows of each session: uint32, shape (sessions,). Of each row its message in the session, role, kind
    /// (10 for overhead), tool (a position among the names, -1 for none) and tokens: uint32, uint8, uint8, int32 and uint32,
    /// shape (rows,). And the tools' names. No more can be added then.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let blocks = released(py, || self.0.take())?;
        Ok((
            array(py, &blocks.sessions)?,
            array(py, &blocks.message)?,
            array(py, &blocks.role)?,
            array(py, &blocks.kind)?,
            array(py, &blocks.tool)?,
            array(py, &blocks.tokens)?,
            blocks.tools,
        ))
    }
}
