//! What the readers of agents' session files share.
//!
//! [`Lines`] takes the lines of a file and hands each value to the [`Records`] of its format, which keep facts about it and
//! where its content stands. [`Prompt`] is what the records make: messages, which are written as JSON from the contents once
//! they are read again, and facts about them.

mod charge;
mod left_out;
mod lines;
pub(crate) mod names;
mod place;
mod prompt;
mod time;
pub(crate) mod value;
pub(crate) mod worded;
mod written;

pub use charge::{Billed, Charge, MOST, Tokens};
pub(crate) use left_out::Counts;
pub use left_out::LeftOut;
pub use lines::{Lines, Records, Stop, Taken};
pub use place::{Fault, Place};
pub use prompt::Prompt;
pub(crate) use prompt::ledger_of;
pub use time::Time;
pub(crate) use written::{Part, Span, Writer};
