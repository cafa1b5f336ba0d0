//! Python objects as nodes.

use std::cell::Cell;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use trimtab_core::error::Error;
use trimtab_core::json::canon;
use trimtab_core::keys::{Fields, Interned, Place, Places};
use trimtab_core::node::{Key, MAX_DEPTH, Node, Shape};

use crate::fields::is_mapping;
use crate::raw::{entries, entry, is_ascii, items};
use crate::text::Text;

/// A Python object as a node.
pub struct View<'py> {
    pub object: Bound<'py, PyAny>,
    /// The places of a small dict's keys, once one was looked up.
    places: Places,
}

/// Most entries of a dict that is read in one pass: messages and blocks have from two to six.
const SMALL: usize = 8;

impl<'py> View<'py> {
    #[inline]
    pub fn of(object: Bound<'py, PyAny>) -> Self {
        Self { object, places: Places::default() }
    }

    /// Whether this is a dict down to the blocks of its content, and no entry of a log.
    pub fn is_plain(&self) -> bool {
        let Ok(dict) = self.object.cast_exact::<PyDict>() else { return false };
        let known = known(dict.py());
        entries(dict, dict.len(), &mut |key, value| {
            let text = || key.cast::<PyString>().ok()?.to_str().ok();
            match known.text(key.as_ptr().addr()).or_else(text) {
                Some("content") => items(value, 0..usize::MAX, &mut |block| block.is_exact_instance_of::<PyDict>()),
                Some("message") => false,
                _ => true,
            }
        })
    }

    /// The entry of a map, by the hash of its key.
    #[inline(never)]
    fn looked_up(&self, key: Key) -> Result<Option<Self>, Error> {
        let name = known(self.object.py()).key(key).bind(self.object.py());
        if let Ok(dict) = self.object.cast::<PyDict>() {
            return dict.get_item(name).map(|value| value.map(Self::of)).map_err(foreign);
        }
        if is_mapping(&self.object) && self.object.contains(name).map_err(foreign)? {
            return self.object.get_item(name).map(|value| Some(Self::of(value))).map_err(foreign);
        }
        Ok(None)
    }
}

impl Clone for View<'_> {
    fn clone(&self) -> Self {
        Self::of(self.object.clone())
    }
}

/// The interpreter's own strings, which live as long as the process: no other string gets one of their addresses.
fn known(py: Python<'_>) -> &'static Interned<Py<PyString>> {
    static KNOWN: PyOnceLock<Interned<Py<PyString>>> = PyOnceLock::new();
    KNOWN.get_or_init(py, || Interned::new(|text| PyString::intern(py, text).unbind(), |string| string.as_ptr().addr()))
}

thread_local! {
    /// The last exception of an object that was looked into: the core's errors cannot hold it.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// An exception as the core's error; [`raised`] returns the exception itself.
fn foreign(error: PyErr) -> Error {
    let what = format!("cannot be read: {error}");
    RAISED.set(Some(error));
    Error::Argument(what)
}

/// Takes the last exception of an object that was looked into on this thread.
pub fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Whether a value is None or exactly a bool, an int or a float.
pub fn is_scalar(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
}

/// Whether a text or a key in a value has a lone surrogate. No Python code runs: an error, which may collect garbage, ends it.
pub fn has_surrogate(value: &Bound<'_, PyAny>, depth: usize) -> bool {
    if let Ok(text) = value.cast::<PyString>() {
        return !is_ascii(text).unwrap_or(false) && text.encode_utf8().is_err();
    }
    if depth > MAX_DEPTH || is_scalar(value) {
        return false;
    }
    let is_without = |part: &Bound<'_, PyAny>| !has_surrogate(part, depth + 1);
    match value.cast::<PyDict>() {
        Ok(dict) => !entries(dict, dict.len(), &mut |key, part| is_without(key) && is_without(part)),
        Err(_) => !items(value, 0..usize::MAX, &mut |part| is_without(part)),
    }
}

/// A key or a number as JSON writes it: an `IntEnum` is its number, whatever its own `repr`.
///
/// # Errors
///
/// `ValueError` for an integer that is too long for Python to write.
pub fn literal(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = object.py();
    if object.is_none() {
        return Ok("null".to_owned());
    }
    if let Ok(b) = object.cast::<PyBool>() {
        return Ok(if b.is_true() { "true" } else { "false" }.to_owned());
    }
    if object.is_instance_of::<PyFloat>() {
        let text = py.get_type::<PyFloat>().call_method1(intern!(py, "__repr__"), (object,))?.to_string();
        return Ok(canon::float(&text).to_owned());
    }
    Ok(py.get_type::<PyInt>().call_method1(intern!(py, "__repr__"), (object,))?.to_string())
}

/// [`literal`], with a very long integer in hexadecimal: two of them still differ.
fn any_literal(object: &Bound<'_, PyAny>) -> PyResult<String> {
    literal(object).or_else(|_| {
        let (py, format) = (object.py(), intern!(object.py(), "__format__"));
        Ok(py.get_type::<PyInt>().call_method1(format, (object, intern!(py, "#x")))?.to_string())
    })
}

impl<'py> Node for View<'py> {
    type Text = Text;

    fn shape(&self) -> Shape {
        let object = &self.object;
        // Exact types first, by their address: a check for a derived type is a call into Python.
        if object.is_exact_instance_of::<PyString>() {
            Shape::Text
        } else if object.is_exact_instance_of::<PyDict>() {
            Shape::Map
        } else if object.is_exact_instance_of::<PyList>() {
            Shape::List
        } else if object.is_instance_of::<PyString>() {
            Shape::Text
        } else if object.is_instance_of::<PyDict>() {
            Shape::Map
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            Shape::List
        } else if object.is_none() {
            Shape::Null
        } else if object.is_instance_of::<PyBool>() {
            Shape::Bool
        } else if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>() {
            Shape::Number
        } else if is_mapping(object) {
            Shape::Map
        } else {
            Shape::Other
        }
    }

    #[inline]
    fn get(&self, key: Key) -> Result<Option<Self>, Error> {
        if let Ok(dict) = self.object.cast_exact::<PyDict>() {
            let (known, mut position) = (known(dict.py()), 0);
            // An entry that was deleted leaves a gap in the positions, and those behind it are looked up.
            let next = |next| entry(dict, &mut position).filter(|_| position == next);
            let numbers = || (1..).map_while(next).map(|(key, _)| known.number(key.as_ptr().addr()));
            match self.places.find(key as u8, || Places::pack(numbers(), dict.len())) {
                Place::At(mut place) => {
                    if let Some((name, value)) = entry(dict, &mut place)
                        && known.number(name.as_ptr().addr()) == key as u8
                    {
                        return Ok(Some(Self::of(value.to_owned())));
                    }
                }
                Place::Absent => return Ok(None),
                Place::Unknown => {}
            }
        }
        self.looked_up(key)
    }

    #[inline]
    fn fields<const N: usize>(&self, keys: [Key; N]) -> Result<[Option<Self>; N], Error> {
        let small = self.object.cast_exact::<PyDict>().ok().filter(|dict| dict.len() <= SMALL);
        let mut fields = Fields::new(keys, small.is_some());
        if let Some(dict) = small {
            let known = known(dict.py());
            entries(dict, dict.len(), &mut |key, value| {
                fields.see(known.number(key.as_ptr().addr()), || Self::of(value.clone()));
                true
            });
        }
        fields.or_else(|key| self.looked_up(key))
    }

    fn text(&self) -> Result<Option<Text>, Error> {
        match self.object.cast::<PyString>() {
            Ok(string) => Text::of(string).map(Some).map_err(foreign),
            Err(_) => Ok(None),
        }
    }

    fn look<R>(&self, see: impl FnOnce(&str) -> R) -> Result<Option<R>, Error> {
        match self.object.cast::<PyString>() {
            Ok(string) => Text::shown(string, see).map(Some).map_err(foreign),
            Err(_) => Ok(None),
        }
    }

    fn word<R>(&self, see: impl FnOnce(&str) -> R) -> Result<Option<R>, Error> {
        if let Some(text) = known(self.object.py()).text(self.object.as_ptr().addr()) {
            return Ok(Some(see(text)));
        }
        let Ok(string) = self.object.cast::<PyString>() else { return Ok(None) };
        // ASCII, nearly always, is borrowed; the UTF-8 copy that stays in another string is short.
        match string.to_str() {
            Ok(word) => Ok(Some(see(word))),
            Err(_) => self.look(see),
        }
    }

    fn items(&self, visit: &mut dyn FnMut(Self) -> Result<(), Error>) -> Result<(), Error> {
        if let Ok(list) = self.object.cast::<PyList>() {
            return list.iter().try_for_each(|item| visit(Self::of(item)));
        }
        if let Ok(tuple) = self.object.cast::<PyTuple>() {
            return tuple.iter().try_for_each(|item| visit(Self::of(item)));
        }
        Ok(())
    }

    fn entries(&self, visit: &mut dyn FnMut(&str, Self) -> Result<(), Error>) -> Result<(), Error> {
        let mut entry = |name: &Bound<'py, PyAny>, value: Bound<'py, PyAny>| {
            let Ok(text) = name.cast::<PyString>() else {
                return visit(&any_literal(name).map_err(foreign)?, Self::of(value));
            };
            visit(Text::of(text).map_err(foreign)?.as_ref(), Self::of(value))
        };
        if let Ok(dict) = self.object.cast::<PyDict>() {
            return dict.iter().try_for_each(|(name, value)| entry(&name, value));
        }
        if !is_mapping(&self.object) {
            return Ok(());
        }
        let names = self.object.call_method0("keys").and_then(|names| names.try_iter()).map_err(foreign)?;
        for name in names {
            let name = name.map_err(foreign)?;
            let value = self.object.get_item(&name).map_err(foreign)?;
            entry(&name, value)?;
        }
        Ok(())
    }

    fn literal(&self) -> String {
        any_literal(&self.object).unwrap_or_default()
    }
}
