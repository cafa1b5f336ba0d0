//! The summary without a model: an extract of the sentences, lines and names that are most likely needed again.
//!
//! `tests/oracles/offline` is the slow version of this folder: a property test holds both to the same text.

mod announced;
mod arguments;
mod choose;
mod claims;
mod covered;
mod earlier;
mod endings;
mod errors;
mod excerpt;
mod facts;
mod faults;
mod files;
mod hidden;
mod kept_spans;
mod language;
mod learned;
mod limits;
mod line;
mod looks;
mod names;
mod numbers;
mod open_work;
mod ordered;
mod outcome;
mod part;
mod pattern;
mod read;
mod renamed;
mod replaced;
mod retracted;
mod statements;
mod summary;
mod text;
mod tool_runs;
mod words;
mod worth;

pub use arguments::Arguments;
pub use claims::{Claim, unfounded};
pub use excerpt::shorten;
pub use facts::Facts;
pub use kept_spans::{KeptSpans, kept_spans};
pub use part::{HOSTED, Kind, Part};
pub use read::Reader;
pub use summary::{Zone, summary};
