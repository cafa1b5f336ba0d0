//! Text to tokens: encodings, estimates, and counts of many texts in parallel. Knows no message.
#![deny(unsafe_code)] // but in simd.rs

#[cfg(target_endian = "big")]
compile_error!("the tables of the vocabularies are little-endian");

#[cfg(feature = "claude-vocab")]
mod ascii;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod board;
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
mod news;
pub mod pass;
pub mod pool;
pub mod simd;
mod split;
mod starts;
pub mod stop;
mod tables;
mod tally;
pub mod transcode;
mod unknown;
pub mod vocabulary;

pub use claude::Claude;
pub use count::{Counter, Counting, Size};
pub use encoding::Encoding;
pub use estimate::{Chars, Round, Unit};
pub use many::{Counted, Texts};
pub use simd::prefetch_at;
pub use tally::Tally;
