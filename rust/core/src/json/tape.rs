//! The values of a text in order, an entry each, so that a view can skip values that are not read.

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Integer,
    Float,
    /// `NaN`, `Infinity`, `-Infinity`.
    Word,
    /// A string without escapes.
    Plain,
    /// A string with escapes.
    Escaped,
    List,
    Map,
}

/// A value: its place in the text, without its quotes.
///
/// Thirty-two bytes: a larger one took more time to write than to find.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub kind: Kind,
    /// In a map, which name it has, as [`super::names`] numbers them, and where that stands, without its quotes.
    pub name: u8,
    pub name_start: u32,
    pub name_end: u32,
    pub start: u32,
    pub end: u32,
    /// The entry behind it and all that is inside it; of one that is still open, the one around it.
    pub next: u32,
    /// Of a map, the names that may be in it, a bit each; [`super::names::REPEATED`] where one may be there twice.
    pub names: u64,
}

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text ends inside the value.
    Cut,
    /// The fault.
    Wrong(&'static str),
}

/// The values of one text, in order. Reusing it avoids allocations.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub(super) entries: Vec<Entry>,
    /// How deep its lists and maps are nested.
    pub(super) depth: usize,
    /// Whether it has more white space than single blanks: where it has not, it has no ends of lines.
    pub(crate) is_spaced: bool,
    /// Where the parser stopped: after the value, or where it is no JSON; of a fault inside a string, at its quote.
    pub(crate) stopped: usize,
}

/// The values of a text, and the text.
#[derive(Clone, Copy, Debug)]
pub struct Parsed<'t, 'a> {
    pub(super) entries: &'t [Entry],
    pub(super) text: &'a str,
    pub(super) depth: usize,
}

impl Tape {
    /// The values with the text that they were parsed from.
    #[must_use]
    #[inline]
    pub fn of<'t, 'a>(&'t self, text: &'a str) -> Parsed<'t, 'a> {
        Parsed { entries: &self.entries, text, depth: self.depth }
    }

    /// Whether the value is a map.
    #[must_use]
    pub fn is_map(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.kind == Kind::Map)
    }

    /// How deep its lists and maps are nested.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the value is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.kind == Kind::List)
    }
}
