//! Pretokens: the parts that a pattern splits a text into. `scalar` is the meaning, `masks` and `windows` the fast way.

pub mod classes;
mod contraction;
mod deepseek;
mod deepseek2;
mod deepseek_coder;
mod masks;
pub mod scalar;
pub mod windows;
