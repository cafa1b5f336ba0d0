//! Byte-pair encodings: texts split into pretokens, and pretokens counted by tables, caches and merging.

pub mod cache;
mod lines;
pub mod load;
pub mod merge;
mod merge_state;
mod misses;
pub mod pretokenize;
pub mod tables;
pub mod vocabulary;
pub mod worker;
