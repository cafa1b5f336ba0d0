//! Text to tokens: encodings, estimates, and counts of many texts in parallel. Knows no message.
#![forbid(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("the tables of the vocabularies are little-endian");

pub mod added;
pub mod batch;
mod bpe;
pub mod cancel;
pub mod claude;
pub mod counter;
mod edges;
pub mod encoding;
pub mod error;
pub mod estimate;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod gguf;
mod growing;
#[cfg_attr(not(feature = "tokenizers"), path = "huggingface_none.rs")]
mod huggingface;
pub mod incremental;
mod inherited;
pub mod pool;
mod sentencepiece;

pub use bpe::kept::{Keeper, Nowhere};
pub use bpe::pretokenize::classes::{is_letter, is_mark, is_number};
pub use bpe::vocabulary::Vocabulary;
pub use claude::Claude;
pub use counter::{BatchCounter, Counter};
pub use encoding::Encoding;
pub use estimate::{Chars, Round, Size, Unit};
pub use incremental::IncrementalCounter;
