//! Work that takes its input in parts, from any thread, until it is finished.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// A reader or a stream that is pushed to and finished once.
#[derive(Debug)]
pub struct Ongoing<T> {
    /// Names the work in errors.
    name: &'static str,
    work: Mutex<Option<T>>,
}

impl<T> Ongoing<T> {
    /// Holds `work` until it is finished; errors name it by `name`.
    #[must_use]
    pub fn new(name: &'static str, work: T) -> Self {
        Self { name, work: Mutex::new(Some(work)) }
    }

    /// Does one more part of the work, one thread at a time.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] once it is finished.
    pub fn advance<R>(&self, step: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        self.lock().as_mut().map(step).ok_or_else(|| self.finished())
    }

    /// Takes the work, to be finished.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] the second time.
    pub fn take(&self) -> Result<T, Error> {
        self.lock().take().ok_or_else(|| self.finished())
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finished(&self) -> Error {
        Error::Argument(format!("the {} is finished; begin another", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_work_takes_no_more() {
        let work = Ongoing::new("sum", 1);
        assert_eq!(work.advance(|sum| *sum += 2), Ok(()));
        assert_eq!(work.take(), Ok(3));
        let finished = Error::Argument("the sum is finished; begin another".to_owned());
        assert_eq!(work.advance(|_| ()), Err(finished.clone()));
        assert_eq!(work.take(), Err(finished));
    }
}
