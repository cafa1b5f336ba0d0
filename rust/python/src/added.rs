//! Whole prompts: rendered texts, split at the tokens of a vocabulary that stand for themselves.

use pyo3::prelude::*;
use trimtab_core::error::Error;
use trimtab_tokens::added::{self, Added};
use trimtab_tokens::gguf as files;

use crate::convert::{released, to_py};
use crate::counter::Counter;
use crate::text::Text;

/// A token: its text, and how it is found (`lstrip`, `rstrip`, `single_word`, `normalized`).
type Given = (String, bool, bool, bool, bool);

/// A model's name, chat template, window, its tokens that begin and end a text, whether the first stands in front of every
/// prompt, and its added tokens.
type Prompts = (String, String, u64, String, String, bool, Vec<String>);

/// What the beginning of a GGUF file says of the prompts of its model, empty and 0 where it says nothing; None for another
/// file.
///
/// Raises:
///     ValueError: the file is cut off or damaged.
#[pyfunction]
pub fn gguf(py: Python<'_>, head: &[u8]) -> PyResult<Option<Prompts>> {
    let found = released(py, || Ok(files::prompts(head)?))?;
    Ok(found.map(|of| (of.name, of.template, of.window, of.begin, of.end, of.begins, of.added)))
}

/// The added tokens of a vocabulary, each of which is one token wherever it stands in a prompt.
#[pyclass(frozen, module = "trimtab._core")]
pub struct AddedTokens(added::AddedTokens);

#[pymethods]
impl AddedTokens {
    /// Takes the tokens that stand in the bytes of a ``tokenizer.json``, and others.
    ///
    /// Raises:
    ///     ValueError: the bytes are no such file.
    #[new]
    #[pyo3(signature = (tokens=Vec::new(), *, file=None))]
    fn new(py: Python<'_>, tokens: Vec<Given>, file: Option<&[u8]>) -> PyResult<Self> {
        let of = |(content, lstrip, rstrip, single_word, normalized)| Added {
            content,
            lstrip,
            rstrip,
            single_word,
            normalized,
        };
        let mut all = match file {
            Some(file) => released(py, || Ok(added::listed(file)?))?,
            None => Vec::new(),
        };
        all.extend(tokens.into_iter().map(of));
        Ok(Self(added::AddedTokens::new(all).map_err(|error| to_py(Error::from(error)))?))
    }

    /// Tokens of each part of one text, which is split at the added tokens: a list, because parts are few. The sum is
    /// exact; what lies in several parts without an added token between is shared among them.
    fn count(&self, py: Python<'_>, counter: &Bound<'_, Counter>, parts: Vec<Text>) -> PyResult<Vec<u32>> {
        let counter = counter.get().0.text;
        released(py, || Ok(self.0.count(&counter, &parts)?))
    }
}
