//! Counting.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use numpy::PyArray1;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use trimtab_core::counter::{self, Flat};
use trimtab_core::error::Error;
use trimtab_core::prompt::Prompt;
use trimtab_core::reread::Last;
use trimtab_tokens as tokens;
use trimtab_tokens::{Keeper, Nowhere, cancel, pool};

use crate::convert::{array, panicked, released, setting, settings, to_py};
use crate::incremental::IncrementalCounter;
use crate::mapped::Folder;
use crate::scan::ahead;
use crate::settings::Settings;
use crate::text::Text;

/// Return the threads that share the work of a long list, the calling one among them.
#[pyfunction]
pub fn threads() -> usize {
    pool::threads()
}

/// Text to tokens, for an encoding.
#[pyclass(frozen, subclass, module = "trimtab._core")]
pub struct Counter(pub counter::Counter, pub Last<Py<PyAny>>, pub Arc<Settings>);

/// Bytes of a GGUF file that are read: its vocabulary stands in front of the weights; the largest known has 20 MB.
const GGUF_HEAD: i64 = 64 << 20;

/// Bytes of text below which the interpreter is held: counting takes 10 us, releasing a tenth of that.
const SHORT: usize = 4 * 1024;

impl Counter {
    /// A counter that has read nothing.
    pub fn of(counter: counter::Counter, settings: Arc<Settings>) -> Self {
        Self(counter, Last::default(), settings)
    }

    /// Asks the counter about a text, up to `most` tokens; a short one with the interpreter held.
    fn short_or_released<T: Send>(
        &self,
        py: Python<'_>,
        text: &Text,
        most: usize,
        ask: impl FnOnce(&tokens::Counter, &str) -> T + Send,
    ) -> PyResult<T> {
        let (counter, text) = (&self.0.text, text.as_ref());
        if counter.cost_estimate(text.len(), most) > SHORT {
            return released(py, || Ok(ask(counter, text)));
        }
        cancel::caught(|| ask(counter, text)).map_err(panicked)
    }
}

#[pymethods]
impl Counter {
    /// `path` names a vocabulary's file, which is read; `kept` the folder that has the tables of earlier processes, and the
    /// number of its user; `flat` sets what a policy's own estimate adds, by name.
    ///
    /// Raises:
    ///     OSError: the file cannot be read.
    ///     ValueError: there is no such encoding, or the file is no vocabulary.
    #[new]
    #[pyo3(signature = (encoding, *, prompt=None, path=None, pattern=None, kept=None, **flat))]
    fn new(
        py: Python<'_>,
        encoding: &str,
        prompt: Option<&Bound<'_, PyAny>>,
        path: Option<&str>,
        pattern: Option<&str>,
        kept: Option<(PathBuf, Option<u32>)>,
        flat: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let given = Settings::of(py, encoding, prompt, path, pattern, kept.as_ref(), flat)?;
        let text = match path {
            Some(path) => from_file(py, path, encoding, pattern, kept)?,
            None => counter::named(encoding).map_err(to_py)?,
        };
        let mut costs = Flat::default();
        settings(flat, |name, value| costs.set(name, value))?;
        let counter = counter::Counter::new(text, prompt.map_or(Ok(Prompt::PLAIN), grammar)?, costs);
        Ok(Self::of(counter, Arc::new(given)))
    }

    /// What makes an equal counter in another process; a vocabulary's file is read there again.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((&str,), Bound<'py, PyDict>)> {
        self.2.arguments(py)
    }

    /// Nothing: caches are of this process.
    #[expect(clippy::unused_self, reason = "a method of Python's protocol")]
    fn __getstate__(&self) {}

    /// The model's prompt format, as it was given; None for a plain encoding.
    #[getter]
    fn prompt<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.2.prompt(py)
    }

    /// Name of the engine.
    #[getter]
    fn engine(&self) -> String {
        self.0.text.engine()
    }

    /// Whether it counts by vector instructions.
    #[getter]
    fn is_vectorised(&self) -> bool {
        self.0.text.is_vectorised()
    }

    /// Why the crate `tokenizers` counts in a file's vocabulary, not the engine; empty where the engine does.
    #[getter]
    fn fallback(&self) -> &str {
        self.0.text.fallback()
    }

    /// Tokens of a text, as a user would send it. Linear in its length; the interpreter is released.
    ///
    /// Args:
    ///     text: str (lone surrogates count as U+FFFD) or bytes (what is not UTF-8 counts as U+FFFD).
    ///
    /// Raises:
    ///     TypeError: it is neither.
    fn count(&self, py: Python<'_>, text: Text) -> PyResult<usize> {
        self.short_or_released(py, &text, usize::MAX, tokens::Counter::count)
    }

    /// Tokens of each text: uint32, shape (texts,). In parallel where that gains.
    ///
    /// Raises:
    ///     TypeError: texts is one text, or holds something else.
    fn count_many<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("texts must be a sequence of texts, got a single one"));
        }
        // An iterator that runs the caller's code is used up before the first text is counted.
        let items: Vec<_> = match texts.cast_exact::<PyList>() {
            Ok(list) => ahead(list, 0).collect(),
            Err(_) => texts.try_iter()?.collect::<PyResult<_>>()?,
        };
        let (mut counts, mut items) = (Vec::with_capacity(items.len()), items.into_iter().peekable());
        while items.peek().is_some() {
            let texts = some(py, &mut items)?;
            counts.extend(released(py, || Ok(self.0.text.count_many(&texts)?))?);
        }
        array(py, &counts)
    }

    /// A counter of one text that grows.
    fn incremental(&self) -> IncrementalCounter {
        IncrementalCounter(Mutex::new(self.0.text.incremental()))
    }

    /// The first ``head`` and the last ``tail`` tokens of a text, as two texts: exactly, and at whole characters.
    ///
    /// Args:
    ///     text: as for ``count``.
    ///     head: tokens of the first part.
    ///     tail: tokens of the second part.
    ///
    /// Returns:
    ///     The text and "" where it has no more than head + tail tokens. Else what tokens ``[:head]`` and ``[-tail:]``
    ///     stand for, but that a character of which a part was taken is left out. Counts to either end, not between.
    ///
    /// Raises:
    ///     ValueError: the counter estimates, and has no tokens to cut at; or a number is below 0.
    fn truncate_tokens(
        &self,
        py: Python<'_>,
        text: Text,
        head: &Bound<'_, PyAny>,
        tail: &Bound<'_, PyAny>,
    ) -> PyResult<(String, String)> {
        let part = |name: &str, part: &Bound<'_, PyAny>| {
            number(part)?.ok_or_else(|| PyValueError::new_err(format!("{name} must be 0 or more, got {part}")))
        };
        let (text, head, tail) = (text.as_ref(), part("head", head)?, part("tail", tail)?);
        released(py, || {
            Ok(match self.0.text.edges(text, head, tail)? {
                Some((end, start)) => (text[..end].to_owned(), text[start..].to_owned()),
                None => (text.to_owned(), String::new()),
            })
        })
    }

    /// Whether a text has more than n tokens, found without counting the rest. Every text has more than -1.
    fn exceeds(&self, py: Python<'_>, text: &Bound<'_, PyAny>, n: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(n) = number(n)? else { return text.extract::<Text>().map(|_| true) };
        let start = self.0.text.prefix_len(n).map(|most| Text::start(text, most)).transpose()?.flatten();
        if let Some(start) = start
            && self.short_or_released(py, &start, n, |counter, start| counter.prefix_exceeds(start, n))?
        {
            return Ok(true);
        }
        self.short_or_released(py, &text.extract()?, n, |counter, text| counter.exceeds(text, n))
    }

    /// The bytes of each token of an encoding, by rank; of Claude's, which has no ranks, in order.
    ///
    /// Claude's pieces hold markers: F8 where a word begins, F9 where it ends, FA and FB where it is capitalized.
    #[staticmethod]
    fn vocabulary<'py>(py: Python<'py>, encoding: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let tokens = counter::vocabulary(encoding).map_err(to_py)?;
        Ok(tokens.iter().map(|token| PyBytes::new(py, token)).collect())
    }
}

/// A number of tokens: the largest for one that is larger, None for one below 0.
fn number(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    match value.extract::<usize>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Ok((!value.lt(0)?).then_some(usize::MAX)),
        found => found.map(Some),
    }
}

/// Bytes of text that are copied for a thread before they are counted: ASCII is borrowed, anything else transcoded. A copy
/// is read again while it is in the processor's cache; with 4 MB counting took a fifth longer.
const COPIED: usize = 256 << 10;

/// The next texts, of which no more than [`COPIED`] bytes a thread and one text are copies.
fn some<'py>(py: Python<'py>, items: &mut impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<Text>> {
    let (mut texts, mut copied, most) = (Vec::new(), 0, COPIED * pool::threads());
    while copied < most
        && let Some(item) = items.next()
    {
        if texts.len() % cancel::ITEMS_PER_POLL == 0 {
            py.check_signals()?;
        }
        let text: Text = item.extract()?;
        if let Text::Copied(text) = &text {
            copied += text.len();
        }
        texts.push(text);
    }
    Ok(texts)
}

/// The counter of a file that was made before, which is read in parts and not held.
fn known(path: &str, name: &str, pattern: Option<&str>, folder: &Folder) -> Option<tokens::Counter> {
    let digest = folder.digest_of(path).ok()?;
    tokens::Counter::known(digest, name, pattern, folder)
}

/// The counter of a vocabulary's file.
fn from_file(
    py: Python<'_>,
    path: &str,
    name: &str,
    pattern: Option<&str>,
    kept: Option<(PathBuf, Option<u32>)>,
) -> PyResult<tokens::Counter> {
    let keeper = kept.map(|(path, user)| Folder { path, user });
    if let Some(folder) = &keeper
        && let Some(known) = released(py, || Ok(known(path, name, pattern, folder)))?
    {
        return Ok(known);
    }
    let file = py.import("io")?.call_method1("open", (path, "rb"))?;
    let read =
        |bytes: i64| Ok::<_, PyErr>(file.call_method1("read", (bytes,))?.cast_into::<PyBytes>()?.as_bytes().to_vec());
    let mut data = read(4)?;
    let rest = read(if data == b"GGUF" { GGUF_HEAD } else { -1 });
    file.call_method0("close")?;
    data.extend(rest?);
    let says = |error: tokens::error::Error| match error {
        tokens::error::Error::Argument(what) => Error::Argument(format!("{path}: {what}")),
        other @ tokens::error::Error::Overflow(_) => other.into(),
    };
    released(py, || {
        let keeper = keeper.as_ref().map_or(&Nowhere as &dyn Keeper, |folder| folder);
        tokens::Counter::read(&data, name, pattern, keeper).map_err(says)
    })
}

/// A prompt's grammar, from an object with an attribute for each setting.
fn grammar(object: &Bound<'_, PyAny>) -> PyResult<Prompt> {
    let mut prompt = Prompt::PLAIN;
    for name in Prompt::SETTINGS {
        setting(&object.getattr(name)?, |value| prompt.set(name, value))?;
    }
    Ok(prompt)
}
