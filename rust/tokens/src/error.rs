//! Errors of counting.

use std::panic::resume_unwind;

/// An error that names the expected and the actual value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An unknown name, or an argument that cannot be read.
    #[error("{0}")]
    Argument(String),
    /// A number that a `u32` cannot hold.
    #[error("{0} exceed the 4,294,967,295 that a transcript's columns can hold")]
    Overflow(&'static str),
}

impl Error {
    /// Unwinds with the error, because a count returns no `Result`.
    pub fn unwind(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

/// Unwinds where `TRIMTAB_SIMD` names no page of this processor.
pub fn require_page() {
    if let Err(what) = trimtab_simd::name() {
        Error::Argument(what).unwind();
    }
}
