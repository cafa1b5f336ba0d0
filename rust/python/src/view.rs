//! Python objects as nodes.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use trimtab_core::error::Error;
use trimtab_core::node::{Key, Node, Shape};

use crate::text::Text;

/// A Python object, looked into.
#[derive(Clone)]
pub struct View<'py>(pub Bound<'py, PyAny>);

/// The keys as Python strings, made once: building one for a look-up costs more than the look-up.
static KEYS: PyOnceLock<Vec<Py<PyString>>> = PyOnceLock::new();

fn key(py: Python<'_>, key: Key) -> &Bound<'_, PyString> {
    KEYS.get_or_init(py, || Key::ALL.iter().map(|k| PyString::intern(py, k.text()).unbind()).collect())[key as usize]
        .bind(py)
}

/// What Python raised while an object was looked into, as the core's error.
fn foreign(error: &PyErr) -> Error {
    Error::Argument(format!("cannot be read: {error}"))
}

impl<'py> Node for View<'py> {
    type Text = Text;

    fn shape(&self) -> Shape {
        let object = &self.0;
        if object.is_instance_of::<PyString>() {
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

    fn get(&self, name: Key) -> Result<Option<Self>, Error> {
        let name = key(self.0.py(), name);
        if let Ok(dict) = self.0.cast::<PyDict>() {
            return dict.get_item(name).map(|value| value.map(View)).map_err(|e| foreign(&e));
        }
        match self.0.cast::<PyMapping>() {
            Ok(mapping) if mapping.contains(name).map_err(|e| foreign(&e))? => {
                mapping.get_item(name).map(|value| Some(View(value))).map_err(|e| foreign(&e))
            }
            _ => Ok(None),
        }
    }

    fn text(&self) -> Result<Option<Text>, Error> {
        match self.0.cast::<PyString>() {
            Ok(string) => Text::of(string).map(Some).map_err(|e| foreign(&e)),
            Err(_) => Ok(None),
        }
    }

    fn items(&self, visit: &mut dyn FnMut(Self) -> Result<(), Error>) -> Result<(), Error> {
        if let Ok(list) = self.0.cast::<PyList>() {
            return list.iter().try_for_each(|item| visit(View(item)));
        }
        if let Ok(tuple) = self.0.cast::<PyTuple>() {
            return tuple.iter().try_for_each(|item| visit(View(item)));
        }
        Ok(())
    }

    fn entries(&self, visit: &mut dyn FnMut(&str, Self) -> Result<(), Error>) -> Result<(), Error> {
        let mut entry = |name: &Bound<'py, PyAny>, value: Bound<'py, PyAny>| {
            let name = name.str().and_then(|name| Text::of(&name)).map_err(|e| foreign(&e))?;
            visit(name.as_ref(), View(value))
        };
        if let Ok(dict) = self.0.cast::<PyDict>() {
            return dict.iter().try_for_each(|(name, value)| entry(&name, value));
        }
        let Ok(mapping) = self.0.cast::<PyMapping>() else { return Ok(()) };
        let names = mapping.keys().map_err(|e| foreign(&e))?;
        names.iter().try_for_each(|name| {
            let value = mapping.get_item(&name).map_err(|e| foreign(&e))?;
            entry(&name, value)
        })
    }

    fn literal(&self) -> String {
        let object = &self.0;
        if object.is_none() {
            "null".to_owned()
        } else if let Ok(b) = object.cast::<PyBool>() {
            if b.is_true() { "true" } else { "false" }.to_owned()
        } else {
            object.repr().map(|text| text.to_string()).unwrap_or_default()
        }
    }
}
