//! Python objects as nodes.

use std::cell::Cell;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use trimtab_core::error::Error;
use trimtab_core::node::{Key, Node, Shape};

use crate::known::Known;
use crate::raw::{Found, Keys, entries};
use crate::text::Text;

/// A Python object, looked into.
pub struct View<'py> {
    pub object: Bound<'py, PyAny>,
    /// Where the keys of a small dict stand, once something was looked up in it.
    keys: Keys,
}

/// Entries that a dict may have to be read in one pass: messages and blocks have from two to six.
const SMALL: usize = 8;

impl<'py> View<'py> {
    #[inline]
    pub fn of(object: Bound<'py, PyAny>) -> Self {
        Self { object, keys: Keys::default() }
    }

    /// The entry of a map, by the hash of its key.
    #[inline(never)]
    fn looked_up(&self, key: Key) -> Result<Option<Self>, Error> {
        let name = Known::strings(self.object.py()).key(self.object.py(), key);
        if let Ok(dict) = self.object.cast::<PyDict>() {
            return dict.get_item(name).map(|value| value.map(Self::of)).map_err(foreign);
        }
        match self.object.cast::<PyMapping>() {
            Ok(mapping) if mapping.contains(name).map_err(foreign)? => {
                mapping.get_item(name).map(|value| Some(Self::of(value))).map_err(foreign)
            }
            _ => Ok(None),
        }
    }
}

impl Clone for View<'_> {
    fn clone(&self) -> Self {
        Self::of(self.object.clone())
    }
}

thread_local! {
    /// What Python raised while an object was looked into: the core's errors have no room for it.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// What Python raised, as the core's error; [`raised`] gives the original back.
fn foreign(error: PyErr) -> Error {
    let what = format!("cannot be read: {error}");
    RAISED.set(Some(error));
    Error::Argument(what)
}

/// What Python raised last while an object was looked into on this thread, once.
pub fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// A key or a number as JSON writes it: an `IntEnum` is its number, whatever it calls itself.
fn plain(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = object.py();
    if object.is_none() {
        return Ok("null".to_owned());
    }
    if let Ok(b) = object.cast::<PyBool>() {
        return Ok(if b.is_true() { "true" } else { "false" }.to_owned());
    }
    if object.is_instance_of::<PyFloat>() {
        let text = py.get_type::<PyFloat>().call_method1(intern!(py, "__repr__"), (object,))?.to_string();
        return Ok(match text.as_str() {
            "nan" => "NaN".to_owned(),
            "inf" => "Infinity".to_owned(),
            "-inf" => "-Infinity".to_owned(),
            _ => text,
        });
    }
    let number = py.get_type::<PyInt>();
    // Python refuses to write very long integers in decimal; in hexadecimal it does, and two still differ.
    let text = number
        .call_method1(intern!(py, "__repr__"), (object,))
        .or_else(|_| number.call_method1(intern!(py, "__format__"), (object, intern!(py, "#x"))))?;
    Ok(text.to_string())
}

impl<'py> Node for View<'py> {
    type Text = Text;

    fn shape(&self) -> Shape {
        let object = &self.object;
        // First what nearly all are, by the address of their type: to ask for a derived one is a call into Python each.
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
        } else if object.cast::<PyMapping>().is_ok() {
            Shape::Map
        } else {
            Shape::Other
        }
    }

    #[inline]
    fn get(&self, key: Key) -> Result<Option<Self>, Error> {
        if let Ok(dict) = self.object.cast_exact::<PyDict>() {
            match self.keys.find(dict, key as u8, Known::strings(dict.py())) {
                Found::Value(value) => return Ok(Some(Self::of(value))),
                Found::Nothing => return Ok(None),
                Found::Unknown => {}
            }
        }
        self.looked_up(key)
    }

    #[inline]
    fn fields<const N: usize>(&self, keys: [Key; N]) -> Result<[Option<Self>; N], Error> {
        let (mut found, mut all) = ([const { None }; N], false);
        if let Ok(dict) = self.object.cast_exact::<PyDict>()
            && dict.len() <= SMALL
        {
            let known = Known::strings(dict.py());
            all = true;
            entries(dict, &mut |key, value| {
                let number = known.number(key.as_ptr().addr());
                all &= number != Known::NONE;
                if let Some(place) = keys.iter().position(|key| *key as u8 == number) {
                    found[place] = Some(Self::of(value.clone()));
                }
                true
            });
        }
        if !all {
            for (value, key) in found.iter_mut().zip(keys).filter(|(value, _)| value.is_none()) {
                *value = self.looked_up(key)?; // by another string of the same text
            }
        }
        Ok(found)
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
        if let Some(text) = Known::strings(self.object.py()).text(self.object.as_ptr().addr()) {
            return Ok(Some(see(text)));
        }
        let Ok(string) = self.object.cast::<PyString>() else { return Ok(None) };
        // Nearly all are ASCII, which is shown where it stands; of another the copy that is left in it is short.
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
                return visit(&plain(name).map_err(foreign)?, Self::of(value));
            };
            visit(Text::of(text).map_err(foreign)?.as_ref(), Self::of(value))
        };
        if let Ok(dict) = self.object.cast::<PyDict>() {
            return dict.iter().try_for_each(|(name, value)| entry(&name, value));
        }
        let Ok(mapping) = self.object.cast::<PyMapping>() else { return Ok(()) };
        let names = mapping.keys().map_err(foreign)?;
        names.iter().try_for_each(|name| {
            let value = mapping.get_item(&name).map_err(foreign)?;
            entry(&name, value)
        })
    }

    fn literal(&self) -> String {
        plain(&self.object).unwrap_or_default()
    }
}
