//! The core of trimtab: transcripts in, numbers out.
//!
//! A transcript is read once, through a [`node::Node`], into a [`ledger::Ledger`]: parallel columns, one row a content
//! block. Everything else here answers questions about those columns ([`ledger::cut`], [`validate`]) or about one text
//! ([`text`], [`truncate`]). Nothing here knows Python, opens a file or reads a clock.
#![deny(unsafe_code)] // but in text/simd.rs

pub mod error;
pub mod json;
pub mod jsonl;
pub mod ledger;
pub mod media;
pub mod node;
pub mod shape;
pub mod stop;
pub mod text;
pub mod truncate;
pub mod validate;
