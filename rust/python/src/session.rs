//! Reading the session files of agents.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use trimtab_core::log::{self, Format};
use trimtab_core::ongoing::Ongoing;
use trimtab_core::session::{Billed, Charge, Lines, Place, Prompt, Stop, Time, Tokens};
use trimtab_core::shape::Provider;

use crate::convert::{released, to_py};
use crate::counter::Counter;
use crate::ledger::Ledger;

/// Takes the lines of a session file, in order.
#[pyclass(frozen, module = "trimtab._core")]
pub struct SessionLines(Ongoing<Lines>);

#[pymethods]
impl SessionLines {
    /// `format` is "claude_code" or "codex"; `whole` keeps messages that a compaction replaced.
    #[new]
    #[pyo3(signature = (format, *, whole))]
    fn new(format: &str, whole: bool) -> PyResult<Self> {
        let lines = Format::named(format).map_err(to_py)?.lines(whole);
        Ok(Self(Ongoing::new("reader", lines)))
    }

    /// Takes the lines of `text` from `start` on, where a line begins: its number is `line`, and `offset` bytes are before it.
    ///
    /// Returns the numbers of bytes, of lines and of values taken, and whether the next line is cut off; if it is not, and
    /// there is one, its value is not one object alone on its line, and is to be taken as JSON.
    #[pyo3(signature = (text, start, *, line, offset, is_end))]
    fn take(
        &self,
        py: Python<'_>,
        text: &[u8],
        start: usize,
        line: u64,
        offset: u64,
        is_end: bool,
    ) -> PyResult<(usize, u64, u64, bool)> {
        let rest = text.get(start..).unwrap_or_default();
        let taken = released(py, || self.0.advance(|lines| lines.take(rest, Place { line, offset }, is_end))?)?;
        Ok((taken.bytes, taken.lines, taken.values, taken.stop == Stop::Cut))
    }

    /// Takes a value as JSON that begins on a line.
    #[pyo3(signature = (json, *, line, offset))]
    fn take_value(&self, py: Python<'_>, json: &str, line: u64, offset: u64) -> PyResult<()> {
        released(py, || self.0.advance(|lines| lines.take_value(json, Place { line, offset }))?)
    }

    /// What the lines make. No more lines can be taken then.
    fn prompt(&self, py: Python<'_>) -> PyResult<SessionPrompt> {
        released(py, || self.0.take()?.prompt()).map(SessionPrompt)
    }
}

/// Position, compactions in front, whether the messages in front are its prompt, model, time in seconds or as text, and its
/// tokens or usages as JSON.
type Billing<'py> = (usize, usize, bool, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Model, system prompt, window, working directory, and what lines say of the window.
type Settings<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<u64>, Bound<'py, PyAny>, Vec<String>);

/// The next prompt of a session file.
#[pyclass(frozen, module = "trimtab._core")]
pub struct SessionPrompt(Prompt);

#[pymethods]
impl SessionPrompt {
    /// The prompt of a whole file and its number of lines, by the format of the first or by this one. None where its lines have to be taken: at
    /// one that is no object alone, or of another format.
    #[staticmethod]
    #[pyo3(signature = (text, format=None))]
    fn of(py: Python<'_>, text: &[u8], format: Option<&str>) -> PyResult<Option<(Self, u64)>> {
        let format = format.map(Format::named).transpose().map_err(to_py)?;
        Ok(released(py, || log::read(text, format))?.map(|(prompt, lines)| (Self(prompt), lines)))
    }

    /// The format.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format
    }

    /// The last model; empty for none.
    #[getter]
    fn model<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        string(py, &self.0.model)
    }

    /// Of each billed call: the number of messages and of compactions in front of it, whether these messages were its prompt,
    /// its model, its time in seconds since 1970 or as the file has it, and its tokens (input, output, cache reads and
    /// writes, those kept for an hour) or the usages of its lines as JSON.
    fn charges<'py>(&self, py: Python<'py>) -> PyResult<Vec<Billing<'py>>> {
        let charges = &self.0.charges;
        let mut last: (&[u8], Bound<'py, PyAny>) = (b"", string(py, b"")?);
        let mut made = Vec::with_capacity(charges.len());
        for charge in charges {
            if last.0 != charge.model {
                last = (&charge.model, string(py, &charge.model)?);
            }
            made.push(billing(py, charge, last.1.clone())?);
        }
        Ok(made)
    }

    /// Positions behind the messages that each compaction replaced, and of each of them the positions of the messages that the
    /// prompt has right after it.
    fn compactions(&self) -> (Vec<usize>, Vec<Vec<usize>>) {
        (self.0.compactions.clone(), self.0.contexts.clone())
    }

    /// The last model and the system prompt, empty for none; the last window that the file names; the last working directory;
    /// and what lines say of the window, as JSON objects.
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Settings<'py>> {
        let Prompt { model, system, window, folder, noted, .. } = &self.0;
        Ok((string(py, model)?, string(py, system)?, *window, string(py, folder)?, noted.clone()))
    }

    /// Line, bytes before it, and reason of each record that cannot be read.
    fn faults(&self) -> Vec<(u64, u64, &'static str)> {
        self.0.faults.iter().map(|fault| (fault.place.line, fault.place.offset, fault.reason)).collect()
    }

    /// The kinds of what no message holds, the file's own names outermost first, and how often each stands there.
    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Vec<Bound<'py, PyAny>>, usize)>> {
        let named = |names: &Vec<Vec<u8>>| names.iter().map(|name| string(py, name)).collect::<PyResult<Vec<_>>>();
        self.0.left_out.iter().map(|(names, count)| Ok((named(names)?, *count))).collect()
    }

    /// The number of messages.
    fn messages(&self) -> usize {
        self.0.messages()
    }

    /// Where the contents of the messages from a position on stand in the file, by the bytes before them and their number: of
    /// messages with `most` bytes, or of one. In front of it the position behind these messages.
    fn places(&self, start: usize, most: u64) -> (usize, Vec<(u64, u64)>) {
        self.0.places(start, most)
    }

    /// Some messages as a JSON list; `pieces` are bytes of the file, in order, each with the number of those before it.
    ///
    /// Raises:
    ///     ValueError: the pieces have not what was read there first.
    fn write(
        &self,
        py: Python<'_>,
        start: usize,
        stop: usize,
        pieces: Vec<(u64, Bound<'_, PyBytes>)>,
    ) -> PyResult<String> {
        let pieces: Vec<(u64, &[u8])> = pieces.iter().map(|(at, piece)| (*at, piece.as_bytes())).collect();
        released(py, || self.0.write(start..stop, &pieces))
    }

    /// The ledger of the first `messages`, by default of all, in the provider's shape; `pieces` as in write. None where only objects can tell what they
    /// are: one has half a character alone, or is nested too deeply.
    ///
    /// Raises:
    ///     ValueError: as write; or a value is no message, args are what, path, index and hint.
    ///     OverflowError: more rows or tokens than a uint32 can name.
    #[pyo3(signature = (pieces, *, counter, provider, messages=None))]
    fn ledger(
        &self,
        py: Python<'_>,
        pieces: Vec<(u64, Bound<'_, PyBytes>)>,
        counter: &Bound<'_, Counter>,
        provider: &str,
        messages: Option<usize>,
    ) -> PyResult<Option<Ledger>> {
        let pieces: Vec<(u64, &[u8])> = pieces.iter().map(|(at, piece)| (*at, piece.as_bytes())).collect();
        let (provider, counts) = (Provider::named(provider).map_err(to_py)?, counter.get().0);
        let messages = messages.unwrap_or(usize::MAX).min(self.0.messages());
        let ledger = released(py, || self.0.ledger(&pieces, counts, provider, messages))?;
        let settings = &counter.get().2;
        Ok(ledger.map(|columns| Ledger {
            columns: Arc::new(columns),
            provider,
            counter: counts,
            settings: Arc::clone(settings),
        }))
    }
}

fn billing<'py>(py: Python<'py>, charge: &Charge, model: Bound<'py, PyAny>) -> PyResult<Billing<'py>> {
    let time = match &charge.time {
        None => py.None().into_bound(py),
        Some(Time::Seconds(seconds)) => seconds.into_bound_py_any(py)?,
        Some(Time::Text(text)) => string(py, text)?,
    };
    let billed = match &charge.billed {
        Billed::Json(json) => json.into_bound_py_any(py)?,
        Billed::Tokens(Tokens { input, output, cache_read, cache_write, hourly }) => {
            (input, output, cache_read, cache_write, hourly).into_bound_py_any(py)?
        }
    };
    Ok((charge.before, charge.compactions, charge.is_prompt, model, time, billed))
}

/// The string of bytes in which a lone surrogate stands as its three bytes.
fn string<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, bytes).call_method1(intern!(py, "decode"), ("utf-8", "surrogatepass")),
    }
}
