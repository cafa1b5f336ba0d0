//! Byte-pair encoding: texts are split into pretokens, which are counted by a cache, tables and merging.

pub mod cache;
pub mod kept;
mod lines;
pub mod load;
pub mod merge;
mod merge_state;
mod misses;
pub mod patterns;
pub mod pretokenize;
pub mod tables;
pub mod vocabulary;
pub mod worker;
