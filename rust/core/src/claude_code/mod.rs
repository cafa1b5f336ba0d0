//! Reads a session file of Claude Code: which of its lines are the next prompt, and what else they say.
//!
//! [`Lines`] takes the lines, and keeps of each where its content stands and what it is linked to; a value that is not alone
//! on its line comes as JSON. [`Prompt`] is what the lines make: messages, which are written as JSON from the contents once
//! they are read again, and facts about them.

mod chain;
mod charges;
mod collected;
mod fields;
mod left_out;
mod line;
mod lines;
mod messages;
mod names;
mod noted;
mod prompt;
mod time;
mod usage;
mod worded;
mod written;

pub use charges::{Billed, Charge};
pub use left_out::LeftOut;
pub use lines::{Fault, Lines, Place, Stop, Taken};
pub use prompt::Prompt;
pub use time::Time;
pub use usage::Tokens;

#[cfg(test)]
mod tests;
