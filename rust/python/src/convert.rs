//! Values in; arrays, errors, panics and interrupts out.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, IntoPyArray, PyArray1, ToPyArray};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString};
use pyo3::{PyErr, intern};
use trimtab_core::error::Error;
use trimtab_core::setting::Setting;
use trimtab_tokens::cancel::{self, Cancelled};

/// An error of the core as an exception. A message's error has its parts as args, for a `MessageError`.
pub fn to_py(error: impl Into<Error>) -> PyErr {
    match error.into() {
        Error::Message { path, index, what, hint } => PyValueError::new_err((what, path, index, hint)),
        error @ (Error::Length { .. } | Error::Argument(_)) => PyValueError::new_err(error.to_string()),
        error @ Error::Overflow(_) => PyOverflowError::new_err(error.to_string()),
    }
}

/// Calls `set` with the value of a setting.
pub fn setting(value: &Bound<'_, PyAny>, set: impl FnOnce(Setting<'_>) -> Result<(), Error>) -> PyResult<()> {
    let set = |setting| set(setting).map_err(to_py);
    if value.is_none() {
        set(Setting::Unset)
    } else if let Ok(flag) = value.cast::<PyBool>() {
        set(Setting::Flag(flag.is_true()))
    } else if let Ok(word) = value.cast::<PyString>() {
        set(Setting::Word(word.to_str()?))
    } else {
        set(Setting::Number(value.extract()?))
    }
}

/// Calls `set` with each name and value of keyword arguments.
pub fn settings(
    keywords: Option<&Bound<'_, PyDict>>,
    mut set: impl FnMut(&str, Setting<'_>) -> Result<(), Error>,
) -> PyResult<()> {
    keywords.into_iter().flatten().try_for_each(|(name, value)| {
        let name: String = name.extract()?;
        setting(&value, |value| set(&name, value))
    })
}

/// Numbers as an array. `numpy` is imported with the first, and an interrupt may fall into that: it is raised.
pub fn array<'py, T: Element>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    import_numpy(py)?;
    Ok(numbers.to_pyarray(py))
}

/// Many numbers as an array, without a copy.
pub fn array_of<T: Element>(py: Python<'_>, numbers: Vec<T>) -> PyResult<Bound<'_, PyArray1<T>>> {
    import_numpy(py)?;
    Ok(numbers.into_pyarray(py))
}

fn import_numpy(py: Python<'_>) -> PyResult<()> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind)).map(|_| ())
}

/// The exception of a signal handler, usually `KeyboardInterrupt`, kept until the work has unwound.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Runs `work` without the interpreter; a signal handler that raises stops it. A panic becomes an `InternalError`.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    let raised = Raised::default();
    let (asked, elsewhere) = (Arc::clone(&raised), AtomicBool::new(false));
    py.detach(|| caught(|| cancel::cancellable(move || signalled(&asked, &elsewhere), work)))
        .map_err(|payload| unwound(payload.as_ref(), &raised))?
        .map_err(to_py)
}

/// Whether a signal handler raised. Python calls handlers in its main thread alone: any other thread asks once.
fn signalled(raised: &Raised, elsewhere: &AtomicBool) -> bool {
    if elsewhere.load(Ordering::Relaxed) {
        return false;
    }
    // Python's own code checks for signals too: either call may raise.
    let asked = Python::attach(|py| py.check_signals().and_then(|()| in_main_thread(py)));
    match asked {
        Ok(main) => elsewhere.store(!main, Ordering::Relaxed),
        Err(error) => *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
    }
    raised.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

fn in_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?.getattr(intern!(py, "ident"))?;
    main.eq(threading.call_method0(intern!(py, "get_ident"))?)
}

/// `work`, or what it unwound with.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(work))
}

/// The exception for work that unwound: of a signal handler, or a defect.
fn unwound(payload: &(dyn Any + Send), raised: &Raised) -> PyErr {
    if payload.is::<Cancelled>()
        && let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    {
        return error;
    }
    panicked(payload)
}

/// Bytes of text below which the interpreter is held: counting takes 10 us, releasing a tenth of that.
const SHORT: usize = 4 * 1024;

/// Runs `work` as [`released`], or with the interpreter held where there is little text.
pub fn held_or_released<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    if bytes > SHORT {
        return released(py, work);
    }
    let tripping = || {
        cancel::panic_if_planted();
        work()
    };
    caught(tripping).map_err(|payload| panicked(payload.as_ref()))?.map_err(to_py)
}

/// The exception for a panic. A count has no errors of its own: it unwinds with one where the crate `tokenizers` fails.
pub fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    if let Some(error) = payload.downcast_ref::<trimtab_tokens::error::Error>() {
        return to_py(error.clone());
    }
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    defect(&format!("a defect in trimtab's core: {}; nothing was changed", text.unwrap_or("no more is known")))
}

/// A `trimtab.InternalError`.
pub fn defect(what: &str) -> PyErr {
    Python::attach(|py| {
        let errors = py.import(intern!(py, "trimtab.errors"));
        let made = errors.and_then(|errors| errors.getattr(intern!(py, "InternalError"))?.call1((what,)));
        made.map_or_else(|_| PyRuntimeError::new_err(what.to_owned()), PyErr::from_value)
    })
}
