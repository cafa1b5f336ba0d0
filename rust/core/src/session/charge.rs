//! What the calls of a prompt were billed.

use super::time::Time;

/// Largest number of tokens in a usage.
pub const MOST: u64 = 1 << 53;

/// The numbers of tokens in a usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input tokens, without cache reads and writes.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// Those of `cache_write` that are kept for an hour.
    pub hourly: u64,
}

impl Tokens {
    /// Tokens of the whole prompt.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

/// The usage of a call: its numbers, or the usages of its lines as a JSON list where these have other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Billed {
    /// The numbers.
    Tokens(Tokens),
    /// The usages, in order.
    Json(String),
}

/// A billed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// Number of messages in front of its answer.
    pub before: usize,
    /// Number of compactions in front of it.
    pub compactions: usize,
    /// Whether the messages in front of it were its prompt, and still are.
    pub is_prompt: bool,
    /// The model as the file names it; empty for none.
    pub model: Vec<u8>,
    /// Its time; `None` if that is no string.
    pub time: Option<Time>,
    /// The usage.
    pub billed: Billed,
}
