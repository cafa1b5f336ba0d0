//! BatchCounter.

use std::sync::{Arc, Mutex};

use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use trimtab_core::counter::{self, Flat};
use trimtab_core::ledger::Ledger;
use trimtab_core::media::Vision;
use trimtab_core::prompt::{self, Form};
use trimtab_core::shape::Provider;
use trimtab_tokens::cancel;
use trimtab_tokens::{self as tokens, Chars, Claude, Encoding, Round, Unit};

use crate::convert::{array, held_or_released, released, to_py};
use crate::scan::{Last, ahead, provider_of, scan};
use crate::tally::Tally;
use crate::text::Text;

/// Text to tokens, for an encoding.
#[pyclass(frozen, subclass, module = "trimtab._core")]
pub struct Counter(pub counter::Counter, Last);

impl Counter {
    /// Reads a list of messages, and of the one that it read last only what has changed.
    pub fn read(&self, messages: &Bound<'_, PyAny>, provider: Provider) -> PyResult<Arc<Ledger>> {
        scan(messages, provider, &self.0, &self.1)
    }
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (
        encoding, *, prompt=None, message=0, call=0, result=0, image=None, low=None, least=0, joined=false,
        data=None, pattern=None
    ))]
    #[allow(clippy::too_many_arguments)] // keywords of a table's row: a struct of them would be built from the same
    fn new(
        py: Python<'_>,
        encoding: &str,
        prompt: Option<Prompt>,
        message: u32,
        call: u32,
        result: u32,
        image: Option<u32>,
        low: Option<u32>,
        least: u32,
        joined: bool,
        data: Option<&[u8]>,
        pattern: Option<&str>,
    ) -> PyResult<Self> {
        let text = if let Some(data) = data {
            released(py, || Ok(tokens::Counter::read(data, encoding, pattern)?))?
        } else if let Some(name) = encoding.strip_prefix("chars/").filter(|name| name.contains(' ')) {
            tokens::Counter::length(length(name)?)
        } else if let Some(claude) = Claude::named(encoding) {
            tokens::Counter::claude(claude)
        } else {
            tokens::Counter::exact(Encoding::named(encoding).map_err(to_py)?)
        };
        let prompt = prompt.map_or(Ok(prompt::Prompt::PLAIN), Prompt::grammar)?;
        let flat = Flat { message, call, result, image, low, least, joined };
        Ok(Self(counter::Counter::new(text, prompt, flat), Last::default()))
    }

    /// What does the counting.
    #[getter]
    fn engine(&self) -> String {
        self.0.text.engine()
    }

    /// Tokens of a text, as a user would send it. Linear in its length; the interpreter is released.
    ///
    /// Args:
    ///     text: str (lone surrogates count as U+FFFD) or bytes (what is not UTF-8 counts as U+FFFD).
    ///
    /// Raises:
    ///     TypeError: it is neither.
    fn count(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<usize> {
        let text = Text::of_either(text)?;
        // A short text is counted before another thread could have begun.
        let effort = self.0.text.cost_estimate(text.as_ref().len(), usize::MAX);
        held_or_released(py, effort, || Ok(self.0.text.count(text.as_ref())))
    }

    /// Tokens of each text: uint32, shape (texts,). In parallel where that gains.
    ///
    /// Raises:
    ///     TypeError: texts is one text, or holds something else.
    fn count_many<'py>(&self, py: Python<'py>, texts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        if texts.is_instance_of::<PyString>() || texts.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("texts must be a sequence of texts, got a single one"));
        }
        // What runs code of the caller's to make texts has done so before the first is counted.
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

    /// A count of a text that is to grow.
    fn tally(&self) -> Tally {
        Tally(Mutex::new(self.0.text.incremental()))
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
    ///     ValueError: the counter estimates, and has no tokens to cut at.
    fn truncate_tokens(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        head: usize,
        tail: usize,
    ) -> PyResult<(String, String)> {
        let text = Text::of_either(text)?;
        let text = text.as_ref();
        released(py, || {
            Ok(match self.0.text.edges(text, head, tail)? {
                Some((end, start)) => (text[..end].to_owned(), text[start..].to_owned()),
                None => (text.to_owned(), String::new()),
            })
        })
    }

    /// Whether a text has more than n tokens, found without counting the rest.
    fn exceeds(&self, py: Python<'_>, text: &Bound<'_, PyAny>, n: usize) -> PyResult<bool> {
        let start = self.0.text.prefix_len(n).map(|most| Text::start(text, most)).transpose()?.flatten();
        if let Some(start) = start.as_ref().map(Text::as_ref)
            && held_or_released(py, self.0.text.cost_estimate(start.len(), n), || {
                Ok(self.0.text.prefix_exceeds(start, n))
            })?
        {
            return Ok(true);
        }
        let text = Text::of_either(text)?;
        held_or_released(py, self.0.text.cost_estimate(text.as_ref().len(), n), || {
            Ok(self.0.text.exceeds(text.as_ref(), n))
        })
    }

    /// What each message adds to the model's prompt: uint32, shape (messages,).
    ///
    /// Of the list that it read last the counter counts only what has changed, known by the identity of its strings;
    /// those it keeps alive until it reads another.
    ///
    /// Args:
    ///     messages: a list or tuple of messages in any provider's shape.
    ///     provider: the shape; found from the messages where it is None.
    ///
    /// Raises:
    ///     ValueError: a message cannot be read; args are what, path, index and hint.
    #[pyo3(signature = (messages, *, provider=None))]
    fn per_message<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        provider: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let provider = provider_of(messages, provider)?;
        let ledger = self.read(messages, provider)?;
        array(py, &ledger.per_message().map_err(to_py)?)
    }

    /// The bytes of each token of an encoding, by rank; of Claude's, which has no ranks, in order.
    ///
    /// Claude's pieces hold markers: F8 where a word begins, F9 where it ends, FA and FB where it is capitalized.
    #[staticmethod]
    fn vocabulary<'py>(py: Python<'py>, encoding: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let tokens = match Claude::named(encoding) {
            Some(claude) => claude.family.pieces(),
            None => Encoding::named(encoding).map_err(to_py)?.vocabulary(),
        };
        Ok(tokens.iter().map(|token| PyBytes::new(py, token)).collect())
    }
}

/// Bytes of text that are copied before they are counted: ASCII is borrowed, anything else transcoded.
const COPIED: usize = 4 << 20;

/// The next texts, of which no more than [`COPIED`] bytes and one text are copies.
fn some<'py>(py: Python<'py>, items: &mut impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<Text>> {
    let (mut texts, mut copied) = (Vec::new(), 0);
    while copied < COPIED
        && let Some(item) = items.next()
    {
        if texts.len() % cancel::ITEMS_PER_POLL == 0 {
            py.check_signals()?;
        }
        let text = Text::of_either(&item)?;
        if let Text::Copied(text) = &text {
            copied += text.len();
        }
        texts.push(text);
    }
    Ok(texts)
}

/// A prompt's grammar, from an object with an attribute for each term.
#[derive(FromPyObject)]
struct Prompt {
    form: String,
    given: u32,
    written: u32,
    user: u32,
    assistant: u32,
    system: u32,
    again: u32,
    call: i32,
    calls: i32,
    parallel: i32,
    result: i32,
    results: i32,
    each: i32,
    failed: i32,
    thinking: i32,
    thought: i32,
    signature: u32,
    unsigned: u32,
    keeps_thinking: bool,
    images: String,
}

impl Prompt {
    fn grammar(self) -> PyResult<prompt::Prompt> {
        let form = match self.form.as_str() {
            "plain" => Form::Plain,
            "framed" => Form::Framed,
            "tagged" => Form::Tagged,
            other => {
                let known = "known are plain, framed, tagged";
                return Err(PyValueError::new_err(format!("unknown form {other:?}, {known}")));
            }
        };
        let vision = Vision::named(&self.images).map_err(to_py)?;
        Ok(prompt::Prompt {
            form,
            given: self.given,
            written: self.written,
            user: self.user,
            assistant: self.assistant,
            system: self.system,
            again: self.again,
            call: self.call,
            calls: self.calls,
            parallel: self.parallel,
            result: self.result,
            results: self.results,
            each: self.each,
            error: self.failed,
            thinking: self.thinking,
            thought: self.thought,
            signature: self.signature,
            unsigned: self.unsigned,
            keeps_thinking: self.keeps_thinking,
            vision,
        })
    }
}

/// How many units make a token, `unit` and `round`, as in "4 chars floor".
fn length(name: &str) -> PyResult<Chars> {
    let wrong = || {
        let known = "a number from 1 on; units are chars, bytes, utf16; roundings floor, ceil, half_up";
        PyValueError::new_err(format!("unknown unit or rounding {name:?}: {known}"))
    };
    let (per, rest) = name.split_once(' ').ok_or_else(wrong)?;
    let (unit, round) = rest.split_once(' ').ok_or_else(wrong)?;
    Ok(Chars {
        unit: match unit {
            "chars" => Unit::Chars,
            "bytes" => Unit::Bytes,
            "utf16" => Unit::Utf16,
            _ => return Err(wrong()),
        },
        round: match round {
            "floor" => Round::Floor,
            "ceil" => Round::Ceil,
            "half_up" => Round::HalfUp,
            _ => return Err(wrong()),
        },
        per: per.parse().ok().filter(|&per| per > 0).ok_or_else(wrong)?,
    })
}

/// How many pieces of each kind an estimate of Claude's tokens sees in a text: what its rates are fitted on.
#[pyfunction]
pub fn features(text: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    Ok(tokens::claude::features(Text::of_either(text)?.as_ref()).to_vec())
}
