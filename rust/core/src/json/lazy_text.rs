//! Text of a value, decoded at its first use.

use std::borrow::Cow;
use std::cell::Cell;

use super::{Json, Tape, unescape};
use crate::node::{Room, Text, write_json};

/// The text of a value. Reading a message only scans its bytes; counting needs the text.
///
/// # Examples
///
/// ```
/// use trimtab_core::json::LazyText;
/// use trimtab_core::node::Text;
///
/// assert_eq!(LazyText::escaped(r"caf\u00e9").text(), "café");
/// assert_eq!(LazyText::written(r#"{"a": [1, 2.50]}"#).text(), r#"{"a":[1,2.5]}"#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LazyText<'a> {
    /// The source of the text, and `behind` bytes more.
    raw: &'a str,
    behind: u8,
    form: Form,
}

/// Bytes behind a text with escapes up to a character's end, of which those that make it read two windows.
const BEHIND: [u8; 4] = [128, 129, 130, 131];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Text without escapes, in place.
    Plain,
    /// Between quotes, with escapes.
    Escaped,
    /// A value, to be written as compact JSON.
    Value,
}

impl<'a> LazyText<'a> {
    /// Text without escapes.
    #[must_use]
    pub fn plain(raw: &'a str) -> Self {
        Self { raw, behind: 0, form: Form::Plain }
    }

    /// The content of a validated string, between its quotes.
    #[must_use]
    pub fn escaped(raw: &'a str) -> Self {
        Self { raw, behind: 0, form: Form::Escaped }
    }

    /// [`LazyText::escaped`] inside of a text: the bytes after it are read in place, not copied.
    #[inline]
    pub(super) fn escaped_in(text: &'a str, start: usize, end: usize) -> Self {
        let up_to = |behind| text.get(start..end + usize::from(behind)).map(|raw| (raw, behind));
        let found = BEHIND.into_iter().find_map(up_to);
        found
            .map_or_else(|| Self::escaped(&text[start..end]), |(raw, behind)| Self { raw, behind, form: Form::Escaped })
    }

    fn raw(&self) -> &'a str {
        &self.raw[..self.raw.len() - usize::from(self.behind)]
    }

    /// A validated value, nested no deeper than [`crate::node::MAX_DEPTH`], as compact JSON.
    #[must_use]
    pub fn written(raw: &'a str) -> Self {
        Self { raw, behind: 0, form: Form::Value }
    }
}

impl Text for LazyText<'_> {
    fn text(&self) -> Cow<'_, str> {
        match self.form {
            Form::Plain => Cow::Borrowed(self.raw),
            Form::Escaped => Cow::Owned(unescape::text(self.raw())),
            Form::Value => {
                let mut out = String::new();
                written(self.raw, &mut out);
                Cow::Owned(out)
            }
        }
    }

    fn decode_into<'s>(&'s self, room: &'s mut Room) -> (&'s str, bool) {
        match self.form {
            Form::Plain => (self.raw, false),
            Form::Escaped => unescape::text_in(self.raw, self.raw().len(), &mut room.bytes),
            Form::Value => {
                room.text.clear();
                written(self.raw, &mut room.text);
                (&room.text, false)
            }
        }
    }

    fn length(&self) -> usize {
        self.raw().len()
    }
}

thread_local! {
    /// The tape of the last value, reused for each.
    static TAPE: Cell<Tape> = Cell::default();
}

/// Entries that a thread keeps room for.
const KEPT: usize = 4_096;

fn written(raw: &str, out: &mut String) {
    let mut tape = TAPE.take();
    out.reserve(raw.len());
    // It was parsed before, and its depth was looked at: neither can fail.
    if tape.parse_controls(raw, 0).is_ok() {
        let _ = write_json(&Json::new(&tape.of(raw)), out, None);
    }
    if tape.entries.capacity() <= KEPT {
        TAPE.set(tape);
    }
}
