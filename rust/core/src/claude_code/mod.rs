//! Reads a session file of Claude Code: which of its lines are the next prompt, and what else they say.
//!
//! [`Entries`] are its lines: of each is kept where its content stands and what it is linked to.

mod chain;
mod charges;
mod collected;
mod entries;
mod fields;
mod kept;
mod left_out;
mod line;
mod links;
mod messages;
mod noted;
mod prompt;
mod usage;

pub use entries::Entries;

#[cfg(test)]
mod tests;
