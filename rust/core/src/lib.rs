//! The core of trimtab: transcripts to numbers.
//!
//! A transcript is read once, through a [`node::Node`], into a [`ledger::Ledger`]: parallel columns, one row a content
//! block. The other modules compute on these columns ([`ledger::cut`], [`validate`]) or on one text ([`truncate`]).
//! No module depends on Python, opens a file or reads a clock.
#![forbid(unsafe_code)]

pub mod claude_code;
pub mod codex;
mod content;
pub mod corpus;
pub mod counter;
pub mod entries;
pub mod envelope;
pub mod error;
pub mod json;
pub mod jsonl;
pub mod keys;
pub mod ledger;
pub mod log;
pub mod log_counter;
pub mod media;
pub mod mended;
pub mod node;
pub mod offline;
pub mod ongoing;
pub mod placeholder;
pub mod prompt;
pub mod reread;
mod seeded;
pub mod seen;
pub mod session;
pub mod setting;
pub mod shape;
pub mod text;
pub mod truncate;
pub mod validate;
