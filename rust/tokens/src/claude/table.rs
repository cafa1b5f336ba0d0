//! The vocabularies and the classes of characters, made by `build.rs`.

#![allow(clippy::unreadable_literal, missing_docs)] // the numbers are a program's

include!(concat!(env!("OUT_DIR"), "/claude.rs"));
