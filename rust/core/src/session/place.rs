//! Places in a file, and what is wrong there.

/// A place in a file: the line, from 1, and the bytes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the line.
    pub line: u64,
    /// The bytes before it.
    pub offset: u64,
}

/// A record whose message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place of the record.
    pub place: Place,
    /// What is wrong with it.
    pub reason: &'static str,
}
