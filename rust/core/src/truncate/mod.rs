//! Truncates one text to a limit; a notice states the size of the omitted part.
//!
//! The [`Category`] of a text decides how much of its head and tail stays: the kind of output, not the tool (sven,
//! layer 4).

mod boundary;
mod fit;
mod quoted;
mod stream;

pub use quoted::truncate_around;
pub use stream::Stream;

use crate::error::Error;
use fit::{chars_of, lines_of};
use trimtab_tokens::Counter;

/// The kind of a tool's output, which decides the part to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A command's output: three fifths of the limit for the head, which shows the request, the rest for the tail, which
    /// shows the outcome.
    HeadTail,
    /// Matches, best first: leading lines, whole ones only.
    MatchList,
    /// A file: head and tail in equal shares; the notice says how to read on.
    FileContent,
    /// Any other output: the head, up to the end of a line.
    Generic,
}

impl Category {
    /// The categories by name.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("head-tail", Self::HeadTail),
        ("match-list", Self::MatchList),
        ("file-content", Self::FileContent),
        ("generic", Self::Generic),
    ];

    /// The category of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] lists the valid names.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, c)| *c).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            Error::Argument(format!("unknown category {name:?}, known are {known}"))
        })
    }

    /// The head's share of the limit, in tenths.
    fn head(self) -> usize {
        match self {
            Self::HeadTail => 6,
            Self::FileContent => 5,
            Self::MatchList | Self::Generic => 10,
        }
    }

    fn hint(self) -> &'static str {
        if self == Self::FileContent { "read on with offset/limit" } else { "" }
    }
}

/// Limits of a text, each optional; the notice counts towards all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Tokens, by the caller's counter.
    pub tokens: Option<usize>,
    /// Lines; the last one may lack its end.
    pub lines: Option<usize>,
    /// Unicode scalar values.
    pub chars: Option<usize>,
    /// Bytes of UTF-8.
    pub bytes: Option<usize>,
}

impl From<[Option<usize>; 4]> for Limits {
    /// The limits in the order of the fields.
    fn from([tokens, lines, chars, bytes]: [Option<usize>; 4]) -> Self {
        Self { tokens, lines, chars, bytes }
    }
}

impl Limits {
    /// Whether `text` is within all limits.
    #[must_use]
    pub fn hold(&self, text: &str, counter: &Counter) -> bool {
        self.bytes.is_none_or(|n| text.len() <= n)
            && self.lines.is_none_or(|n| lines_of(text) <= n)
            && self.chars.is_none_or(|n| text.len() <= n || chars_of(text) <= n)
            && self.tokens.is_none_or(|n| !counter.exceeds(text, n))
    }
}

/// Truncates `text` to `limits`; `None` if it is within them, so truncation is idempotent.
///
/// Whole lines are kept, unless that would waste three quarters of the head's or the tail's share; then the cut is
/// inside a line, between two grapheme clusters. `more` says in the notice how to read the rest; it is left out where it
/// would take most of the limit. If no notice fits, the result is an ellipsis, or empty. Linear in the text for its
/// lines, and in the limits for its tokens.
///
/// # Examples
///
/// ```
/// use trimtab_tokens::{Counter, Encoding};
/// use trimtab_core::truncate::{Category, Limits, truncate};
///
/// let counter = Counter::exact(Encoding::O200k);
/// let log = "line\n".repeat(500);
/// let limits = Limits { tokens: Some(100), ..Limits::default() };
/// let cut = truncate(&log, Category::HeadTail, limits, "see run.log", &counter).expect("the log exceeds the limit");
/// assert!(cut.starts_with("line\nline\n") && cut.ends_with("line\n"));
/// assert!(cut.contains(" bytes omitted; see run.log]\n") && counter.count(&cut) <= 100);
/// assert_eq!(truncate(&cut, Category::HeadTail, limits, "", &counter), None);
/// ```
#[must_use]
pub fn truncate(text: &str, category: Category, limits: Limits, more: &str, counter: &Counter) -> Option<String> {
    truncate_around::<&str>(text, &[], category, limits, more, counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_tokens::Encoding;

    fn limits() -> impl Iterator<Item = Limits> {
        [1, 2, 3, 7, 12, 20, 50, 200].into_iter().flat_map(|n| {
            [
                Limits { tokens: Some(n), ..Limits::default() },
                Limits { chars: Some(n), ..Limits::default() },
                Limits { lines: Some(n), ..Limits::default() },
                Limits { bytes: Some(n), ..Limits::default() },
                Limits { tokens: Some(n), lines: Some(5), chars: Some(3 * n), bytes: Some(4 * n) },
            ]
        })
    }

    #[test]
    fn any_text_is_cut_to_any_size() {
        let counter = Counter::exact(Encoding::O200k);
        let texts = ["é".repeat(5_000), "日本語 and more\n".repeat(300), "\n".repeat(22), "x\r\n\r\n".repeat(90)];
        for text in &texts {
            for (_, category) in Category::NAMES {
                for limits in limits() {
                    let cut =
                        truncate(text, category, limits, "see the archive", &counter).unwrap_or_else(|| text.clone());
                    assert!(limits.hold(&cut, &counter), "{category:?} {limits:?} {cut:?}");
                }
            }
        }
    }

    #[test]
    fn a_stream_in_any_chunks_gives_what_the_text_gives() {
        let counter = Counter::exact(Encoding::Cl100k);
        let text = (0..400).map(|n| format!("zeile {n} · größer als {}\n", n * n)).collect::<Vec<_>>().concat();
        for (_, category) in Category::NAMES {
            for limits in limits() {
                for chunk in [1, 7, 1_000, 1 << 20] {
                    let mut stream = Stream::new(category, limits, "in run.log".to_owned(), counter);
                    text.as_bytes().chunks(chunk).for_each(|part| stream.push(part));
                    let whole =
                        truncate(&text, category, limits, "in run.log", &counter).unwrap_or_else(|| text.clone());
                    assert_eq!(String::from_utf8(stream.finish()).unwrap(), whole, "{category:?} {limits:?}");
                }
            }
        }
    }
}
