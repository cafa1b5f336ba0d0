//! Internals that the fuzz targets use; built for them only.
#![allow(missing_docs)]

use std::collections::HashMap;

pub use crate::bpe::patterns::PATTERNS;
pub use crate::bpe::pretokenize::scalar::Pattern;
use crate::bpe::pretokenize::scalar::solid;
use crate::bpe::pretokenize::windows::{Fill, apply};
use crate::bpe::tables::build::{bytes_of, merge, ranked};
use crate::encoding::Encoding;

pub const ENCODINGS: [Encoding; 2] = [Encoding::O200k, Encoding::Cl100k];

fn all(text: &str, fill: impl Fn(usize, &mut [usize]) -> usize) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let mut ends = [0; 96];
        let more = fill(at, &mut ends);
        found.extend_from_slice(&ends[..more]);
        at = ends[more - 1];
    }
    found
}

/// The scalar scanner's pretokens.
#[must_use]
pub fn split(pattern: Pattern, text: &str) -> Vec<usize> {
    all(text, |at, ends| pattern.fill_one_by_one(text.as_bytes(), at, ends))
}

/// The wide scanner's pretokens.
#[must_use]
pub fn split_wide(pattern: Pattern, text: &str) -> Vec<usize> {
    all(text, |at, ends| {
        let (text, limit) = (text.as_bytes(), solid(text.as_bytes()));
        apply(pattern, Fill { pattern, text, limit, at, ends })
    })
}

/// Merging by its definition.
pub struct Slow {
    bytes: [u32; 256],
    merges: HashMap<(u32, u32), u32>,
}

impl Slow {
    /// # Panics
    ///
    /// Never: the built-in vocabularies are complete.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        let merges = ranked(encoding.vocabulary()).expect("each token is reached by merges");
        Self { bytes: bytes_of(&merges.tokens).expect("each byte has a token"), merges: merges.table() }
    }

    #[must_use]
    pub fn count(&self, encoding: Encoding, text: &str) -> usize {
        let (mut total, mut start) = (0, 0);
        for end in split(encoding.inside().pattern, text) {
            total += merge(&text.as_bytes()[start..end], &self.bytes, &self.merges).len();
            start = end;
        }
        total
    }
}
