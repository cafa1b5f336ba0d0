//! Python objects as the parts of messages that were read.

use std::marker::PhantomData;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDateTime, PyDict, PyList, PySet, PyString, PyTuple, PyType};
use trimtab_core::seen::{self, Container, content};

use crate::layout::{self, dict_length};
use crate::raw::{self, attribute};
use crate::text::Text;
use crate::view::{has_surrogate, is_scalar, literal};

/// The objects of an interpreter. Where they are not kept, nothing here runs Python code.
///
/// A property may run some, the first look for a type that has to be imported, and a finalizer: Python 3.11 collects garbage
/// where it makes an object, as an exception that says that there is no attribute.
pub struct Objects<'py>(PhantomData<&'py ()>);

impl<'py> seen::Objects for Objects<'py> {
    type Object = Bound<'py, PyAny>;
    type Leaf = Py<PyAny>;
    type Kept = Bound<'py, PyAny>;

    fn address(object: &Self::Object) -> usize {
        object.as_ptr().addr()
    }

    fn keep(object: &Self::Object) -> Self::Kept {
        object.clone()
    }

    fn container(object: &Self::Object, kept: bool) -> Option<(Container, usize)> {
        if let Ok(dict) = object.cast_exact::<PyDict>() {
            Some((Container::Dict, dict_length(dict)))
        } else if let Ok(list) = object.cast_exact::<PyList>() {
            Some((Container::List, list.len()))
        } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
            Some((Container::Tuple, tuple.len()))
        } else {
            (kept && !is_leaf(object, kept)).then(|| fields(object))?.map(|set| (Container::Fields, set))
        }
    }

    fn leaf(object: &Self::Object, kept: bool) -> Option<Py<PyAny>> {
        is_leaf(object, kept).then(|| object.clone().unbind())
    }

    fn is_same(object: &Self::Object, marks: &[usize], at: &mut usize) -> Option<bool> {
        layout::is_same(object, marks, at)
    }

    fn is_equal(leaf: &Py<PyAny>, other: &Py<PyAny>) -> bool {
        Python::attach(|py| match (leaf.bind(py).cast_exact::<PyString>(), other.bind(py).cast_exact::<PyString>()) {
            (Ok(text), Ok(other)) => raw::is_equal(text, other),
            _ => false,
        })
    }

    fn plain(object: &Self::Object) -> Option<u128> {
        plain(object)
    }

    fn content(leaf: &Py<PyAny>) -> Option<u128> {
        // Shown, a lone surrogate is what replaces it: such a text is never known by its content.
        Python::attach(|py| match (leaf.bind(py).cast::<PyString>(), leaf.bind(py).is_instance_of::<PyType>()) {
            (Ok(text), _) if let Some(digest) = plain(text.as_any()) => Some(digest),
            (Ok(text), _) if has_surrogate(text.as_any(), 0) => None,
            (Ok(text), _) => Text::shown(text, |text| content(true, text)).ok(),
            (_, true) => Some(content(false, &leaf.as_ptr().addr().to_string())), // it stays alive
            _ => literal(leaf.bind(py)).ok().map(|number| content(false, &number)),
        })
    }

    fn parts(
        object: &Self::Object,
        (kind, length): (Container, usize),
        kept: bool,
        visit: &mut impl FnMut(&Self::Object) -> bool,
    ) -> bool {
        match (kind, object.cast_exact::<PyDict>()) {
            (Container::Dict, Ok(dict)) => {
                return raw::entries(dict, length, &mut |key, value| {
                    let _kept = kept.then(|| value.clone()); // code of the key's could remove it
                    visit(key) && visit(value)
                });
            }
            (Container::List | Container::Tuple, _) => return raw::items(object, 0..length, &mut |item| visit(item)),
            _ => {}
        }
        let (py, of) = (object.py(), |name| attribute(object, name));
        visit(object.get_type().as_any())
            && of(intern!(py, "__dict__")).is_some_and(|fields| visit(&fields))
            && of(intern!(py, "__pydantic_extra__")).is_none_or(|extra| visit(&extra))
    }

    fn lines(object: &Self::Object) -> impl Iterator<Item = usize> {
        raw::lines(object)
    }
}

/// The digest of an ASCII text, which is its own UTF-8: nothing is made.
fn plain(object: &Bound<'_, PyAny>) -> Option<u128> {
    let text = object.cast_exact::<PyString>().ok()?;
    raw::is_ascii(text).unwrap_or(false).then(|| Some(content(true, text.to_str().ok()?)))?
}

fn is_leaf(object: &Bound<'_, PyAny>, kept: bool) -> bool {
    // The exact type first, by its address: the other checks are calls. That of times is imported.
    object.is_exact_instance_of::<PyString>()
        || is_scalar(object)
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyType>()
        || object.is_exact_instance_of::<PyBytes>()
        || (kept && object.is_exact_instance_of::<PyDateTime>())
}

/// One more than the number of fields that were set in a pydantic model, on which depends what an SDK sends; 1 for a
/// dataclass. None for any other object: it may hold more than its fields.
fn fields(object: &Bound<'_, PyAny>) -> Option<usize> {
    let py = object.py();
    if let Some(set) = attribute(object, intern!(py, "__pydantic_fields_set__")) {
        return set.cast::<PySet>().ok().map(|set| set.len() + 1);
    }
    if object.is_instance_of::<PyDict>() || object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return None;
    }
    attribute(object, intern!(py, "__dataclass_fields__")).and(attribute(object, intern!(py, "__dict__"))).map(|_| 1)
}
