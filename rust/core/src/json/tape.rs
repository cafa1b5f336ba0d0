//! The values of a text in order, an entry each, so that a view can step over what nobody asks for.

use super::parse::Parser;
use trimtab_simd::{Kernel, Work};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Integer,
    Float,
    /// `NaN`, `Infinity`, `-Infinity`.
    Word,
    /// A string that stands for itself.
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

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text ends inside the value.
    Cut,
    /// What is wrong.
    Wrong(&'static str),
}

/// The values of one text, in order. Used again and again, it allocates once.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub(super) entries: Vec<Entry>,
    /// How deep its lists and maps are nested.
    pub(super) depth: usize,
    /// Whether it has more white space than single blanks: where it has not, it has no ends of lines.
    pub(crate) is_spaced: bool,
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

    /// Parses the value that begins at `at`, behind white space; gives the position behind it.
    ///
    /// Linear in the value. The entries are those of this value alone.
    ///
    /// # Errors
    ///
    /// What is wrong with it; the entries mean nothing then.
    #[inline]
    pub fn parse(&mut self, text: &str, at: usize) -> Result<usize, Fault> {
        trimtab_simd::run(Parse { tape: self, text, at })
    }

    /// The same with a way to go over strings.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the processor that it was asked for
    pub fn parse_with(&mut self, kernel: impl Kernel, text: &str, at: usize) -> Result<usize, Fault> {
        if u32::try_from(text.len()).is_err() {
            return Err(Fault::Wrong("not JSON of less than 4 GiB"));
        }
        let room = std::mem::take(&mut self.entries);
        let (done, entries) = Parser::new(kernel, text.as_bytes(), at, room).parse();
        self.entries = entries;
        let parsed = done.map_err(|why| *why)?;
        (self.depth, self.is_spaced) = (parsed.depth, parsed.is_spaced);
        Ok(parsed.end)
    }

    /// Whether the value is a map.
    #[must_use]
    pub fn is_map(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.kind == Kind::Map)
    }

    /// Whether the value is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.kind == Kind::List)
    }
}

/// What [`Tape::parse`] does, whatever the processor.
struct Parse<'t, 'a> {
    tape: &'t mut Tape,
    text: &'a str,
    at: usize,
}

impl Work for Parse<'_, '_> {
    type Output = Result<usize, Fault>;

    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn run(self, kernel: impl Kernel) -> Self::Output {
        self.tape.parse_with(kernel, self.text, self.at)
    }
}
