//! The lines that a summary may keep.

use std::rc::Rc;

use super::language::{Language, place_of};
pub use super::numbers::{float, one_if};
use super::worth::Said;

/// A heading of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    Rules,
    Project,
    Requests,
    Earlier,
    Decisions,
    Files,
    Commands,
    Errors,
    Identifiers,
    OpenItems,
}

impl Section {
    /// All headings, in the order in which they stand.
    pub const ALL: [Self; 10] = [
        Self::Rules,
        Self::Project,
        Self::Requests,
        Self::Earlier,
        Self::Decisions,
        Self::Files,
        Self::Commands,
        Self::Errors,
        Self::Identifiers,
        Self::OpenItems,
    ];

    /// The heading's text in English.
    pub fn name(self) -> &'static str {
        Language::default().title(self as usize)
    }

    /// Whether its lines are the user's words.
    pub fn is_users(self) -> bool {
        matches!(self, Self::Rules | Self::Requests)
    }

    /// The section with a heading, in any language.
    pub fn named(name: &str) -> Option<Self> {
        place_of(name).map(|place| Self::ALL[place])
    }
}

/// A line that may go into the summary.
#[derive(Clone, Debug)]
pub struct Line {
    /// The heading that it stands under.
    pub section: Section,
    /// One clean line.
    pub text: String,
    /// Worth of a token of it; a request is about 1.
    pub rank: f64,
    /// Position of its message, negative if an earlier summary had it.
    pub at: i64,
    /// Its place among the lines of the message.
    pub number: i64,
    /// How likely it still holds; its rank, with what its names are worth, is that much lower.
    pub trust: f64,
    /// What it does, where it is of the user and its text is still the one that was read.
    pub does: Option<Rc<Said>>,
}

impl Line {
    pub fn new(section: Section, text: impl Into<String>, rank: f64, at: i64, number: usize) -> Self {
        Self {
            section,
            text: text.into(),
            rank,
            at,
            number: i64::try_from(number).unwrap_or(i64::MAX),
            trust: 1.0,
            does: None,
        }
    }
}

/// A line or a word that the summary may contain.
pub struct Candidate {
    /// Its heading.
    pub section: Section,
    /// Its list; empty for a line.
    pub group: &'static str,
    /// The line, cleaned, or the word.
    pub text: String,
    /// Value of each of its tokens.
    pub rank: f64,
    /// Order among the lines of its section: message, number.
    pub at: (i64, i64),
    /// The indices of the names in a line; of a word, of the name that it is.
    pub names: Vec<usize>,
    /// Whether it is a sentence of a paragraph that is a candidate too.
    pub is_part: bool,
}
