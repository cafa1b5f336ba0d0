//! The lines that a summary may keep.

/// A heading of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
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
    pub const ALL: [Self; 8] = [
        Self::Requests,
        Self::Earlier,
        Self::Decisions,
        Self::Files,
        Self::Commands,
        Self::Errors,
        Self::Identifiers,
        Self::OpenItems,
    ];

    /// The heading's text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "Requests",
            Self::Earlier => "Earlier",
            Self::Decisions => "Decisions",
            Self::Files => "Files",
            Self::Commands => "Commands",
            Self::Errors => "Errors",
            Self::Identifiers => "Identifiers",
            Self::OpenItems => "Open items",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
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
}

impl Line {
    pub fn new(section: Section, text: impl Into<String>, rank: f64, at: i64, number: usize) -> Self {
        Self { section, text: text.into(), rank, at, number: i64::try_from(number).unwrap_or(i64::MAX), trust: 1.0 }
    }
}

/// A position or a number of things as a float: exact below 2^53.
#[allow(clippy::cast_precision_loss)]
pub fn float(number: impl TryInto<i64>) -> f64 {
    number.try_into().unwrap_or(i64::MAX) as f64
}

/// 1 if so, else 0.
pub fn one_if(so: bool) -> f64 {
    f64::from(u8::from(so))
}
