//! Values in; arrays, errors, panics and interrupts out.

use numpy::{Element, PyArray1, ToPyArray};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyString};
use pyo3::{PyErr, intern};
use trimtab_core::error::Error;
use trimtab_core::setting::Setting;
use trimtab_tokens::cancel::{self, Panic, Stopped};

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

/// Numbers as an array, which is a copy.
pub fn array<'py, T: Element>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    import_numpy(py)?;
    Ok(numbers.to_pyarray(py))
}

/// Imports `numpy` and its C API before the first array is made, in a thread of its own: signal handlers run in the main
/// thread alone, and the crate `numpy` panics where one raises between the import and the API.
pub fn import_numpy(py: Python<'_>) -> PyResult<()> {
    static NUMPY: PyOnceLock<()> = PyOnceLock::new();
    NUMPY
        .get_or_try_init(py, || {
            let import = || {
                Python::attach(|py| {
                    py.import("numpy")?;
                    PyArray1::<u32>::from_slice(py, &[]);
                    Ok(())
                })
            };
            py.detach(|| std::thread::scope(|scope| scope.spawn(import).join())).map_err(panicked)?
        })
        .copied()
}

/// Runs `work` without the interpreter; a signal handler that raises stops it. A panic becomes an `InternalError`.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    match py.detach(|| cancel::interruptible(|| Python::attach(signals), work)) {
        Ok(done) => done.map_err(to_py),
        Err(Stopped::Interrupted(raised)) => Err(raised),
        Err(Stopped::Panicked(payload)) => Err(panicked(payload)),
    }
}

/// Lets signal handlers run, which may raise; returns whether to ask again. Python calls handlers in its main thread alone.
fn signals(py: Python<'_>) -> PyResult<bool> {
    py.check_signals()?;
    // Python's own code checks for signals too: either call may raise.
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?.getattr(intern!(py, "ident"))?;
    main.eq(threading.call_method0(intern!(py, "get_ident"))?)
}

/// The exception for a panic. A count has no errors of its own: it unwinds with one where the crate `tokenizers` fails.
pub fn panicked(payload: Panic) -> PyErr {
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
