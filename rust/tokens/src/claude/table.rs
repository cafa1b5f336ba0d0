//! The vocabularies and the classes of characters, made by `build.rs`.

#![allow(clippy::unreadable_literal, missing_docs)] // generated

include!(concat!(env!("OUT_DIR"), "/claude.rs"));
