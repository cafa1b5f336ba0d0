//! Reads a rollout of Codex: which items are the next prompt, and what else its lines say.
//!
//! [`Items`] are those of the prompt so far: a compaction replaces them, a rollback removes the last ones.

mod compaction;
mod item;
mod items;
mod usage;

pub use items::Items;

#[cfg(test)]
mod tests;
