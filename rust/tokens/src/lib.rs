//! Text to tokens: encodings, estimates, and counts of many texts in parallel. Knows no message.
#![forbid(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("the tables of the vocabularies are little-endian");

mod cache;
mod class;
pub mod claude;
pub mod count;
mod deepseek;
pub mod encoding;
mod engine;
pub mod error;
pub mod estimate;
#[cfg_attr(not(feature = "tokenizers"), path = "foreign_none.rs")]
mod foreign;
#[cfg(fuzzing)]
pub mod fuzzing;
mod lines;
mod load;
pub mod many;
mod merge;
mod merging;
pub mod pool;
mod split;
mod starts;
pub mod stop;
mod tables;
mod tally;
mod unknown;
pub mod vocabulary;
mod walk;

pub use claude::Claude;
pub use count::{Counter, Counting, Size};
pub use encoding::Encoding;
pub use estimate::{Chars, Round, Unit};
pub use tally::Tally;
