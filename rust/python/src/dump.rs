//! Python values as the JSON in which an archive keeps them; which of them no UTF-8 can hold.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyString};
use trimtab_core::envelope;
use trimtab_core::json::canon::{self, Texts};
use trimtab_tokens::cancel;

use crate::convert::{defect, released, to_py};
use crate::raw::is_ascii;
use crate::scan::{Messages, ahead};
use crate::text::Text;
use crate::view::{has_surrogate, is_scalar, literal};

/// Each value as `json.dumps` writes it, and the SHA-256 of that in hexadecimal. Two lone surrogates in a row have capital
/// digits, so that they come back as two.
///
/// Raises:
///     TypeError: a value is none of dict with keys of str, list, str, int, float, bool and None; or of a derived type.
///     ValueError: it is nested deeper than 400 levels, or an integer is too long for Python to write.
#[pyfunction]
pub fn dumps<'py>(values: &Bound<'py, PyList>) -> PyResult<(Vec<Bound<'py, PyString>>, Vec<String>)> {
    let (py, mut all) = (values.py(), Texts::default());
    let mut one = |value| write(&value, &mut all, false).map(|()| all.end());
    // A dict that changes while it is read makes the binding panic.
    cancel::caught(|| values.iter().try_for_each(&mut one))
        .map_err(|_| defect("a message could not be read; it may have changed meanwhile"))??;
    let digests = released(py, || Ok(all.iter().map(canon::address).collect()))?;
    Ok((all.iter().map(|text| PyString::from_bytes(py, text)).collect::<PyResult<_>>()?, digests))
}

/// Positions of the values that JSON cannot hold: those that `dumps` refuses, and those with a float that is no number.
#[pyfunction]
pub fn not_json(values: &Bound<'_, PyList>) -> PyResult<Vec<usize>> {
    let mut refused = Vec::new();
    let mut one = |(index, value)| {
        if write(&value, &mut Texts::default(), true).is_err() {
            refused.push(index);
        }
    };
    cancel::caught(|| values.iter().enumerate().for_each(&mut one))
        .map_err(|_| defect("a message could not be read; it may have changed meanwhile"))?;
    Ok(refused)
}

/// The digest in a summary's envelope.
#[pyfunction]
pub fn digest(text: Text) -> String {
    envelope::digest(text.as_ref())
}

/// Appends a value; where floats must be `finite`, any other is an error.
fn write(value: &Bound<'_, PyAny>, out: &mut Texts, finite: bool) -> PyResult<()> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return quote(text, out);
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return out.container(*b"{}", dict.iter(), to_py, |out, (key, part)| {
            let name = key.cast_exact::<PyString>();
            quote(name.map_err(|_| PyTypeError::new_err("JSON has no keys but strings"))?, out)?;
            out.colon();
            write(&part, out, finite)
        });
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return out.container(*b"[]", list.iter(), to_py, |out, part| write(&part, out, finite));
    }
    if !is_scalar(value) {
        return Err(PyTypeError::new_err(format!("{} is not JSON", value.get_type().name()?)));
    }
    let text = literal(value)?;
    if finite && value.is_instance_of::<PyFloat>() && text.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(PyTypeError::new_err(format!("{text} is no number of JSON")));
    }
    out.literal(&text);
    Ok(())
}

fn quote(text: &Bound<'_, PyString>, out: &mut Texts) -> PyResult<()> {
    if is_ascii(text)? {
        out.string(text.to_str()?); // ASCII needs no second copy
    } else if let Ok(bytes) = text.encode_utf8() {
        out.string(std::str::from_utf8(bytes.as_bytes()).map_err(|_| defect("a text has no UTF-8"))?);
    } else {
        let bytes = text.call_method1("encode", ("utf-32-le", "surrogatepass"))?;
        out.string_of_points(bytes.cast::<PyBytes>()?.as_bytes());
    }
    Ok(())
}

/// Positions of the values that have a lone surrogate in a text or a key, at any depth that is read: no UTF-8 holds one, and
/// no provider takes a request with one. Objects are not looked into.
#[pyfunction]
pub fn surrogates(values: Messages<'_>) -> PyResult<Vec<usize>> {
    let mut found = Vec::new();
    let mut one = |(index, value)| {
        if has_surrogate(&value, 0) {
            found.push(index);
        }
    };
    cancel::caught(|| ahead(&values.0, 0).enumerate().for_each(&mut one))
        .map_err(|_| defect("a message could not be read; it may have changed meanwhile"))?;
    Ok(found)
}
