//! Replaces `huggingface.rs` in a build without the crate `tokenizers`: no vocabulary can be loaded.

/// A type without values.
#[derive(Debug, PartialEq, Eq)]
pub enum HuggingFace {}

impl HuggingFace {
    /// Says why.
    pub fn read(_data: &[u8], _name: &str, _why: String) -> Result<&'static Self, String> {
        Err("this build is without the feature `tokenizers`, which counts in others".to_owned())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match *self {}
    }

    /// Why our own engine does not count in it.
    pub fn why(&self) -> &str {
        match *self {}
    }

    /// Tokens of `text`.
    pub fn count(&'static self, _text: &str) -> usize {
        match *self {}
    }

    /// Where the first and the last tokens end.
    pub fn edges(&'static self, _text: &str, _head: usize, _tail: usize) -> Option<(usize, usize)> {
        match *self {}
    }
}
