//! Python strings as UTF-8.

use std::borrow::Cow;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PySequence, PyString};
use trimtab_core::text;

use crate::raw::{code_points, is_ascii, length};

/// A Python string's text. ASCII is borrowed; anything else is copied, because asking a `str` for its UTF-8 would leave a
/// second copy in it for as long as it lives.
pub enum Text {
    Borrowed(PyBackedStr),
    Copied(String),
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Copied(text) => text,
        }
    }
}

impl trimtab_core::node::Text for Text {
    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.as_ref())
    }

    fn length(&self) -> usize {
        self.as_ref().len()
    }
}

/// The text of a `str`, or of `bytes`, in which invalid UTF-8 becomes U+FFFD.
impl<'a, 'py> FromPyObject<'a, 'py> for Text {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(string) = value.cast::<PyString>() {
            return Self::of(&string);
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Copied(text::of_bytes(bytes.as_bytes())));
        }
        let kind = value.get_type().name()?;
        Err(pyo3::exceptions::PyTypeError::new_err(format!("expected str or bytes, got {kind}")))
    }
}

impl Text {
    /// The text of `string`; a lone surrogate becomes U+FFFD and a pair of them one character, as in tiktoken.
    pub fn of(string: &Bound<'_, PyString>) -> PyResult<Self> {
        if is_ascii(string)? {
            return PyBackedStr::try_from(string.clone()).map(Self::Borrowed);
        }
        if let Some(text) = text::of_code_points(length(string)?, |units| code_points(string, units)) {
            return Ok(Self::Copied(text));
        }
        if let Ok(bytes) = string.encode_utf8() {
            return Ok(Self::Copied(text::of_bytes(bytes.as_bytes())));
        }
        let (py, codec) = (string.py(), intern!(string.py(), "utf-16-le"));
        let arguments = (string, codec, intern!(py, "surrogatepass"));
        let bytes = py.get_type::<PyString>().call_method1(intern!(py, "encode"), arguments)?;
        Ok(Self::Copied(text::of_utf16(bytes.cast::<PyBytes>()?.as_bytes())))
    }

    /// Calls `see` with the text of `string`, which is copied only where it is not ASCII.
    pub fn shown<R>(string: &Bound<'_, PyString>, see: impl FnOnce(&str) -> R) -> PyResult<R> {
        if is_ascii(string)? { string.to_str().map(see) } else { Self::of(string).map(|text| see(text.as_ref())) }
    }

    /// The first `most` characters of a `str` that is much longer and not ASCII; None of any other value.
    pub fn start(value: &Bound<'_, PyAny>, most: usize) -> PyResult<Option<Self>> {
        match value.cast_exact::<PyString>() {
            Ok(string) if string.len()? / 2 > most && !is_ascii(string)? => {
                string.cast::<PySequence>()?.get_slice(0, most)?.extract().map(Some)
            }
            _ => Ok(None),
        }
    }
}
