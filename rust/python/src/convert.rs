//! Errors, panics and interrupts on their way out.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, IntoPyArray, PyArray1, ToPyArray};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{PyErr, intern};
use trimtab_core::error::Error;
use trimtab_tokens::cancel::{self, Cancelled};

/// Every error of the core as Python's.
///
/// A message's error carries its parts: `trimtab.errors` makes a `MessageError` of them.
pub fn to_py(error: impl Into<Error>) -> PyErr {
    match error.into() {
        Error::Message { path, index, what, hint } => PyValueError::new_err((what, path, index, hint)),
        error @ (Error::Length { .. } | Error::Argument(_)) => PyValueError::new_err(error.to_string()),
        error @ Error::Overflow(_) => PyOverflowError::new_err(error.to_string()),
    }
}

/// Numbers as an array. `numpy` is imported with the first, and an interrupt may fall into that: it is raised.
pub fn array<'py, T: Element>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    import_numpy(py)?;
    Ok(numbers.to_pyarray(py))
}

/// The same of numbers that may be many: the array holds them where they are.
pub fn array_of<T: Element>(py: Python<'_>, numbers: Vec<T>) -> PyResult<Bound<'_, PyArray1<T>>> {
    import_numpy(py)?;
    Ok(numbers.into_pyarray(py))
}

fn import_numpy(py: Python<'_>) -> PyResult<()> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind)).map(|_| ())
}

/// What a signal's handler raised, usually `KeyboardInterrupt`, kept until the work that it stops has unwound.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Runs `work` without the interpreter, and stops it where a signal asks for that. A panic becomes an `InternalError`: a
/// defect in the core never takes the process along.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    let raised = Raised::default();
    let (asked, elsewhere) = (Arc::clone(&raised), AtomicBool::new(false));
    py.detach(|| caught(|| cancel::cancellable(move || signalled(&asked, &elsewhere), work)))
        .map_err(|payload| unwound(payload.as_ref(), &raised))?
        .map_err(to_py)
}

/// Whether a signal's handler raised. Python calls handlers in its main thread alone: any other asks once.
fn signalled(raised: &Raised, elsewhere: &AtomicBool) -> bool {
    if elsewhere.load(Ordering::Relaxed) {
        return false;
    }
    // Python's own code looks for signals as well, so that either question may be the one that raises.
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

/// Why work unwound: a signal, or a defect.
fn unwound(payload: &(dyn Any + Send), raised: &Raised) -> PyErr {
    if payload.is::<Cancelled>()
        && let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    {
        return error;
    }
    panicked(payload)
}

/// Bytes of text below which the interpreter is held: it is counted in 10 us, and to release costs a tenth of that.
const SHORT: usize = 4 * 1024;

/// The same; with the interpreter where there is so little text that another thread would hardly begin.
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

/// A panic as Python's: an error that is ours, with what the core said of it. A count, which has no errors of its own,
/// unwinds with one where another's code does not answer.
pub fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    if let Some(error) = payload.downcast_ref::<trimtab_tokens::error::Error>() {
        return to_py(error.clone());
    }
    let said = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    defect(&format!("a defect in trimtab's core: {}; nothing was changed", said.unwrap_or("no more is known")))
}

/// An error that is ours, not the caller's: `trimtab.InternalError`.
pub fn defect(what: &str) -> PyErr {
    Python::attach(|py| {
        let errors = py.import(intern!(py, "trimtab.errors"));
        let made = errors.and_then(|errors| errors.getattr(intern!(py, "InternalError"))?.call1((what,)));
        made.map_or_else(|_| PyRuntimeError::new_err(what.to_owned()), PyErr::from_value)
    })
}

/// Lets the next work of this thread meet a defect, once: so tests see what becomes of one, wherever it may be.
#[pyfunction]
#[pyo3(name = "_plant")]
pub fn plant() {
    cancel::plant_panic();
}
