//! What can go wrong where text becomes tokens.

use std::panic::resume_unwind;

/// A failure that names what was wanted and what came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An argument that names nothing, or that cannot be read.
    #[error("{0}")]
    Argument(String),
    /// A number that a `u32` cannot hold.
    #[error("{0} exceed the 4,294,967,295 that a transcript's columns can hold")]
    Overflow(&'static str),
}

impl Error {
    /// Unwinds with the error, where a count has no other way to say it.
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
