//! Errors of the core.

/// A failure that names what was wanted and what came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two columns that belong together have different lengths.
    #[error("{what} has {got} entries, expected {want}")]
    Length {
        /// The column.
        what: &'static str,
        /// The entries it should have.
        want: usize,
        /// The entries it has.
        got: usize,
    },
    /// A message cannot be read.
    #[error("{path}: {what}")]
    Message {
        /// Where, as `messages[3].content[0]`.
        path: String,
        /// Position of the message.
        index: usize,
        /// The fault.
        what: String,
        /// A remedy.
        hint: String,
    },
    /// An argument that no transcript can answer.
    #[error("{0}")]
    Argument(String),
    /// More rows, bytes or tokens than a `u32` column can name.
    #[error("{0} exceed the 4,294,967,295 that a transcript's columns can hold")]
    Overflow(&'static str),
}

impl From<trimtab_tokens::error::Error> for Error {
    fn from(error: trimtab_tokens::error::Error) -> Self {
        match error {
            trimtab_tokens::error::Error::Argument(what) => Self::Argument(what),
            trimtab_tokens::error::Error::Overflow(what) => Self::Overflow(what),
        }
    }
}
