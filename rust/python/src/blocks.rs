//! The blocks of many sessions.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trimtab_core::corpus;
use trimtab_core::log::Format;
use trimtab_core::log_counter::{LogCounter, Rules};
use trimtab_core::ongoing::Ongoing;
use trimtab_core::shape::Provider;
use trimtab_core::validate::Options;

use crate::convert::{array, released, settings, to_py};
use crate::counter::Counter;
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

/// Of each session: tokens by role and kind, overhead, the number of tools; of each of these its position and tokens; and the
/// tools.
type Sums<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<u64>>,
    Vec<String>,
);

/// Format, provider and number of messages of a log.
type Added = (&'static str, &'static str, usize);

/// Provider, and the rules by which its logs are repaired and their rows judged.
type Given<'py> = (String, Bound<'py, PyDict>, Bound<'py, PyDict>);

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

    /// Reads files, and adds the blocks of those that are logs, up to the first of which more has to be said.
    ///
    /// Args:
    ///     paths: the files.
    ///     logs: says which logs are counted, and how.
    ///     most: bytes of a file; a longer one is none of these logs.
    ///
    /// Returns:
    ///     Format, provider and number of messages of each that was added: the first of the files.
    ///
    /// Raises:
    ///     OverflowError: more rows than a column can number.
    #[pyo3(signature = (paths, *, logs, most))]
    fn add_files(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        logs: &Bound<'_, Logs>,
        most: u64,
    ) -> PyResult<Vec<Added>> {
        let (logs, mut bytes, mut added) = (&logs.get().0, Vec::new(), Vec::with_capacity(paths.len()));
        released(py, || {
            for path in &paths {
                let Some((format, ledger)) = read(path, most, &mut bytes).and_then(|text| logs.ledger(text)) else {
                    break;
                };
                self.0.advance(|blocks| blocks.add(&ledger))??;
                added.push((format.name(), format.provider().name(), ledger.messages()));
            }
            Ok(added)
        })
    }

    /// The sums of each session: tokens by role and kind (uint64, shape (sessions * roles * kinds,)) and tokens beyond them
    /// (uint64, shape (sessions,)), the number of its tools (uint32, shape (sessions,)); of each tool its position among the
    /// names, and its tokens: int32 and uint64. And the tools' names so far.
    fn sums<'py>(&self, py: Python<'py>) -> PyResult<Sums<'py>> {
        let made = self.0.advance(|corpus::Blocks { sums, tools, .. }| {
            Ok((
                array(py, sums.tokens.as_flattened().as_flattened())?,
                array(py, &sums.overhead)?,
                array(py, &sums.tools)?,
                array(py, &sums.tool)?,
                array(py, &sums.of_tool)?,
                tools.clone(),
            ))
        });
        made.map_err(to_py)?
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

/// Which logs are counted without a look by Python, and how.
#[pyclass(frozen, module = "trimtab._core")]
pub struct Logs(LogCounter);

#[pymethods]
impl Logs {
    /// `format` is that of all logs, None that of each; `rules` names those of each provider by which a log is repaired, and
    /// those by which its row is judged.
    ///
    /// Raises:
    ///     ValueError: an unknown format, provider or rule.
    #[new]
    fn new(counter: &Bound<'_, Counter>, format: Option<&str>, rules: Vec<Given<'_>>) -> PyResult<Self> {
        let made = rules.into_iter().map(|(provider, repair, judge)| {
            let provider = Provider::named(&provider).map_err(to_py)?;
            Ok(Rules { provider, repair: options(&repair)?, judge: options(&judge)? })
        });
        let format = format.map(Format::named).transpose().map_err(to_py)?;
        Ok(Self(LogCounter { counter: counter.get().0, format, rules: made.collect::<PyResult<_>>()? }))
    }
}

fn options(given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let mut options = Options::default();
    settings(Some(given), |name, value| options.set(name, value))?;
    Ok(options)
}

/// The bytes of a file, in a buffer that stays; `None` of one that is longer, or cannot be read.
fn read<'b>(path: &Path, most: u64, bytes: &'b mut Vec<u8>) -> Option<&'b [u8]> {
    bytes.clear();
    let read = File::open(path).ok()?.take(most + 1).read_to_end(bytes).ok()?;
    (read as u64 <= most).then_some(bytes)
}
