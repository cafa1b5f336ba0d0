//! Python strings as UTF-8.

use std::borrow::Cow;
use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PySequence, PyString};
use trimtab_simd::{room, transcode};

use crate::raw::{is_ascii, units as units_of};

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

impl Text {
    /// The text of `string`; a lone surrogate becomes U+FFFD and a pair of them one character, as in tiktoken.
    pub fn of(string: &Bound<'_, PyString>) -> PyResult<Self> {
        let py = string.py();
        if let Some(text) = Self::borrowed(string)? {
            return Ok(text);
        }
        if let Some(text) = transcoded(string) {
            return Ok(Self::Copied(text));
        }
        if let Ok(bytes) = string.encode_utf8() {
            return Ok(Self::Copied(replaced(bytes.as_bytes())));
        }
        let arguments = (pyo3::intern!(py, "utf-16-le"), pyo3::intern!(py, "surrogatepass"));
        let bytes = string.call_method1(pyo3::intern!(py, "encode"), arguments)?;
        let units = bytes.cast::<PyBytes>()?.as_bytes().chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
        Ok(Self::Copied(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()))
    }

    /// The text of a string of ASCII.
    pub fn borrowed(string: &Bound<'_, PyString>) -> PyResult<Option<Self>> {
        is_ascii(string)?.then(|| PyBackedStr::try_from(string.clone()).map(Self::Borrowed)).transpose()
    }

    /// Calls `see` with the text of `string`, which is copied only where it is not ASCII.
    pub fn shown<R>(string: &Bound<'_, PyString>, see: impl FnOnce(&str) -> R) -> PyResult<R> {
        if is_ascii(string)? { string.to_str().map(see) } else { Self::of(string).map(|text| see(text.as_ref())) }
    }

    /// The first `most` characters of a `str` that is much longer and not ASCII; None of any other value.
    pub fn start(value: &Bound<'_, PyAny>, most: usize) -> PyResult<Option<Self>> {
        match value.cast_exact::<PyString>() {
            Ok(string) if string.len()? / 2 > most && !is_ascii(string)? => {
                let start = string.cast::<PySequence>()?.get_slice(0, most)?;
                Self::of(start.cast()?).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The text of a `str`, or of `bytes`, in which invalid UTF-8 becomes U+FFFD.
    pub fn of_either(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(string) = value.cast::<PyString>() {
            return Self::of(string);
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Copied(replaced(bytes.as_bytes())));
        }
        let kind = value.get_type().name()?;
        Err(pyo3::exceptions::PyTypeError::new_err(format!("expected str or bytes, got {kind}")))
    }
}

/// Most code points of a string that is transcoded here: the buffers take at most a megabyte a thread.
const MOST: usize = 1 << 17;

thread_local! {
    /// Buffers for a string's code points and their UTF-8.
    static BUFFERS: RefCell<(Vec<u32>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// The text of a string that is not too long and has no surrogates, in half of the time that the interpreter takes.
fn transcoded(string: &Bound<'_, PyString>) -> Option<String> {
    let found = BUFFERS.try_with(|kept| {
        let (units, bytes) = &mut *kept.try_borrow_mut().ok()?;
        let length = units_of(string, units, MOST)?;
        if bytes.len() < room(length) {
            *bytes = vec![0; room(length.next_power_of_two())];
        }
        let end = transcode(&units[..length], bytes);
        simdutf8::basic::from_utf8(&bytes[..end]).ok().map(str::to_owned)
    });
    found.ok().flatten()
}

/// The text of bytes; invalid UTF-8, which is rare, becomes U+FFFD.
fn replaced(bytes: &[u8]) -> String {
    let valid = simdutf8::basic::from_utf8(bytes).map(str::to_owned);
    valid.unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned())
}
