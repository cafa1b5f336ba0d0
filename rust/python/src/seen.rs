//! Python objects as the parts of messages that were read.

use std::marker::PhantomData;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use trimtab_core::seen::{self, Container};

use crate::raw;
use crate::view::is_scalar;

/// The objects of an interpreter. Nothing here runs Python code.
pub struct Objects<'py>(PhantomData<&'py ()>);

impl<'py> seen::Objects for Objects<'py> {
    type Object = Bound<'py, PyAny>;
    type Leaf = Py<PyAny>;

    fn address(object: &Self::Object) -> usize {
        object.as_ptr().addr()
    }

    fn container(object: &Self::Object) -> Option<(Container, usize)> {
        if let Ok(dict) = object.cast_exact::<PyDict>() {
            Some((Container::Dict, dict.len()))
        } else if let Ok(list) = object.cast_exact::<PyList>() {
            Some((Container::List, list.len()))
        } else {
            object.cast_exact::<PyTuple>().ok().map(|tuple| (Container::Tuple, tuple.len()))
        }
    }

    fn leaf(object: &Self::Object) -> Option<Py<PyAny>> {
        (object.is_instance_of::<PyString>() || is_scalar(object)).then(|| object.clone().unbind())
    }

    fn parts(object: &Self::Object, visit: &mut dyn FnMut(&Self::Object) -> bool) -> bool {
        match object.cast_exact::<PyDict>() {
            Ok(dict) => raw::entries(dict, &mut |key, value| visit(key) && visit(value)),
            Err(_) => raw::items(object, 0..usize::MAX, &mut |item| visit(item)),
        }
    }

    fn lines(object: &Self::Object) -> impl Iterator<Item = usize> {
        raw::lines(object)
    }
}
