//! Text to tokens.

pub mod count;
pub mod encoding;
pub mod envelope;
pub mod estimate;
mod pool;

pub use count::{Counter, Rates, Size};
pub use encoding::Encoding;
pub use estimate::{Chars, Round, Unit};
