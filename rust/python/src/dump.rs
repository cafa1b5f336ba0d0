//! Python values as the JSON in which an archive keeps them.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use trimtab_core::envelope;
use trimtab_core::json::canon;
use trimtab_core::node::MAX_DEPTH;

use crate::convert::{caught, defect, released};
use crate::raw::is_ascii;
use crate::text::Text;
use crate::view;

/// Nesting of archived values: deeper than any list that is scanned, and shallow enough for a thread's stack.
const DEEPEST: usize = 2 * MAX_DEPTH;

/// Each value as `json.dumps` writes it, and the SHA-256 of that in hexadecimal. Two lone surrogates in a row have capital
/// digits, so that they come back as two.
///
/// Raises:
///     TypeError: a value is none of dict with keys of str, list, str, int, float, bool and None; or of a derived type.
///     ValueError: it is nested deeper than 400 levels, or an integer is too long for Python to write.
#[pyfunction]
pub fn dumps<'py>(values: &Bound<'py, PyList>) -> PyResult<(Vec<Bound<'py, PyString>>, Vec<String>)> {
    let py = values.py();
    let mut all = Vec::new();
    // A dict that changes while it is read makes the binding panic.
    let ends: Vec<usize> =
        caught(|| values.iter().map(|value| write(&value, &mut all, 0).map(|()| all.len())).collect::<PyResult<_>>())
            .map_err(|_| defect("a message could not be read; it may have changed meanwhile"))??;
    let texts = || ends.iter().scan(0, |start, &end| Some(&all[std::mem::replace(start, end)..end]));
    let digests = released(py, || Ok(texts().map(canon::address).collect()))?;
    Ok((texts().map(|text| PyString::from_bytes(py, text)).collect::<PyResult<_>>()?, digests))
}

/// The digest in a summary's envelope.
#[pyfunction]
pub fn digest(text: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(envelope::digest(Text::of_either(text)?.as_ref()))
}

fn write(value: &Bound<'_, PyAny>, out: &mut Vec<u8>, depth: usize) -> PyResult<()> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("it is nested deeper than {DEEPEST} levels, or contains itself")));
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return quote(text, out);
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        out.push(b'{');
        for (number, (key, part)) in dict.iter().enumerate() {
            out.extend_from_slice(if number == 0 { b"" } else { b", " });
            let name = key.cast_exact::<PyString>();
            quote(name.map_err(|_| PyTypeError::new_err("JSON has no keys but strings"))?, out)?;
            out.extend_from_slice(b": ");
            write(&part, out, depth + 1)?;
        }
        out.push(b'}');
        return Ok(());
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        out.push(b'[');
        for (number, part) in list.iter().enumerate() {
            out.extend_from_slice(if number == 0 { b"" } else { b", " });
            write(&part, out, depth + 1)?;
        }
        out.push(b']');
        return Ok(());
    }
    let is_literal = value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>();
    if !is_literal {
        return Err(PyTypeError::new_err(format!("{} is not JSON", value.get_type().name()?)));
    }
    out.extend_from_slice(view::literal(value)?.as_bytes());
    Ok(())
}

fn quote(text: &Bound<'_, PyString>, out: &mut Vec<u8>) -> PyResult<()> {
    let py = text.py();
    if is_ascii(text)? {
        canon::quote(text.to_str()?, out); // ASCII needs no second copy
        return Ok(());
    }
    if let Ok(bytes) = text.encode_utf8() {
        canon::quote(std::str::from_utf8(bytes.as_bytes()).map_err(|_| defect("a text has no UTF-8"))?, out);
        return Ok(());
    }
    let arguments = (pyo3::intern!(py, "utf-32-le"), pyo3::intern!(py, "surrogatepass"));
    let bytes = text.call_method1(pyo3::intern!(py, "encode"), arguments)?;
    let points =
        bytes.cast::<PyBytes>()?.as_bytes().chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    canon::quote_points(&points.collect::<Vec<_>>(), out);
    Ok(())
}
