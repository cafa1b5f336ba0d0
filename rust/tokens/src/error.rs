//! What can go wrong where text becomes tokens.

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
