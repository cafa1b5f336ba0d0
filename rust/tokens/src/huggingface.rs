//! Vocabularies that our own engine does not support, counted by the crate `tokenizers`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};

use serde_json::Value;
use tokenizers::{Encoding, Tokenizer};
use xxhash_rust::xxh3::xxh3_128;

use crate::bpe::load::Kept;
use crate::cancel;
use crate::edges::edges;
use crate::error::Error;

/// Settings of a file that plain text must ignore: special tokens, truncation and padding.
const LEFT_OUT: [&str; 5] = ["added_tokens", "decoder", "padding", "post_processor", "truncation"];

/// Bytes from which a text is counted on a second thread, so that the calling thread can be cancelled: some 30 ms.
const LONG: usize = 64 * 1024;

/// The vocabularies that were loaded.
static READ: Kept<HuggingFace> = Kept::new();

/// A `tokenizer.json`, loaded by the crate.
#[derive(Debug)]
pub struct HuggingFace {
    name: String,
    why: String,
    tokenizer: Tokenizer,
}

impl PartialEq for HuggingFace {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for HuggingFace {}

impl HuggingFace {
    /// The vocabulary of a file, and why our own engine does not count in it; the same file gives the same one.
    pub fn read(data: &[u8], name: &str, why: String) -> Result<&'static Self, String> {
        let digest = xxh3_128(data);
        if let Some(before) = READ.get(digest) {
            return Ok(before);
        }
        let mut file: Value = serde_json::from_slice(data).map_err(|error| error.to_string())?;
        if let Some(sections) = file.as_object_mut() {
            sections.retain(|section, _| !LEFT_OUT.contains(&section.as_str()));
        }
        certain(&file["model"])?;
        let tokenizer = tried(|| serde_json::from_value(file))?;
        Ok(READ.keep(digest, Self { name: name.to_owned(), why, tokenizer }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why our own engine does not count in it.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Tokens of `text`.
    pub fn count(&'static self, text: &str) -> usize {
        self.encoded(text, false).len()
    }

    /// Where the first `head` tokens of `text` end and the last `tail` begin, at whole characters; None where it has no
    /// more tokens than that.
    pub fn edges(&'static self, text: &str, head: usize, tail: usize) -> Option<(usize, usize)> {
        let encoded = self.encoded(text, true);
        let tokens = encoded.get_offsets();
        edges(tokens, text, head, tail)
    }

    /// The tokens of `text`, with byte offsets if `places`.
    ///
    /// Unwinds with an [`Error`] if the crate cannot encode it.
    fn encoded(&'static self, text: &str, places: bool) -> Encoding {
        cancel::poll_now();
        let encoded = if text.len() < LONG || cancel::current().is_none() {
            self.tokens(text, places)
        } else {
            self.beside(&Arc::from(text), places)
        };
        encoded.unwrap_or_else(|error| resume_unwind(Box::new(error)))
    }

    /// [`HuggingFace::tokens`] on a second thread, while this one polls for cancellation, which the crate cannot. After
    /// cancellation the second thread runs to its end.
    fn beside(&'static self, text: &Arc<str>, places: bool) -> Result<Encoding, Error> {
        let (sender, results) = mpsc::channel();
        let work = Arc::clone(text);
        let begun = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(self.tokens(&work, places)); // the receiver is gone after cancellation
        });
        if begun.is_err() {
            return self.tokens(text, places);
        }
        loop {
            match results.recv_timeout(cancel::POLL_INTERVAL) {
                Ok(encoded) => return encoded,
                Err(RecvTimeoutError::Timeout) => cancel::poll_now(),
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed("a thread ended")),
            }
        }
    }

    fn tokens(&self, text: &str, places: bool) -> Result<Encoding, Error> {
        let tokenizer = &self.tokenizer;
        tried(|| if places { tokenizer.encode(text, false) } else { tokenizer.encode_fast(text, false) })
            .map_err(|what| self.failed(&what))
    }

    fn failed(&self, what: &str) -> Error {
        Error::Argument(format!("{} has no tokens for a text: {what}", self.name))
    }
}

/// Whether a model gives each text the same count, and has one for each.
fn certain(model: &Value) -> Result<(), String> {
    if model["dropout"].as_f64().is_some_and(|share| share > 0.0) {
        return Err(format!("a model with dropout {} counts by chance", model["dropout"]));
    }
    let unknown = &model["unk_token"];
    if let (Some(unknown), Some(tokens)) = (unknown.as_str(), model["vocab"].as_object())
        && !tokens.contains_key(unknown)
    {
        return Err(format!("a model whose token for what is unknown, {unknown:?}, is not in its vocabulary"));
    }
    Ok(())
}

/// The result of `work`, or the message of its error or panic.
fn tried<T, E: ToString>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(made) => made.map_err(|error| error.to_string()),
        Err(payload) => Err(message_of(payload.as_ref())),
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}
