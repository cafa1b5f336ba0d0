//! Text of a value, made when it is asked for.

use std::sync::OnceLock;

use super::{Json, Tape, unescape};
use crate::node::write_json;

/// What a value says. Reading a message costs a look at its bytes; only who counts needs the text.
///
/// # Examples
///
/// ```
/// use trimtab_core::json::Said;
///
/// assert_eq!(Said::escaped(r"caf\u00e9").as_ref(), "café");
/// assert_eq!(Said::written(r#"{"a": [1, 2.50]}"#).as_ref(), r#"{"a":[1,2.5]}"#);
/// ```
#[derive(Clone, Debug)]
pub struct Said<'a> {
    raw: &'a str,
    form: Form,
    text: OnceLock<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The text stands as it is.
    Plain,
    /// Between quotes, with escapes.
    Escaped,
    /// A value, to be written as compact JSON.
    Value,
}

impl<'a> Said<'a> {
    /// Text without escapes.
    #[must_use]
    pub fn plain(raw: &'a str) -> Self {
        Self { raw, form: Form::Plain, text: OnceLock::new() }
    }

    /// What stands between the quotes of a validated string.
    #[must_use]
    pub fn escaped(raw: &'a str) -> Self {
        Self { raw, form: Form::Escaped, text: OnceLock::new() }
    }

    /// A validated value, nested no deeper than [`crate::node::MAX_DEPTH`], as compact JSON.
    #[must_use]
    pub fn written(raw: &'a str) -> Self {
        Self { raw, form: Form::Value, text: OnceLock::new() }
    }
}

impl AsRef<str> for Said<'_> {
    fn as_ref(&self) -> &str {
        match self.form {
            Form::Plain => self.raw,
            Form::Escaped => self.text.get_or_init(|| unescape::text(self.raw).into()),
            Form::Value => self.text.get_or_init(|| written(self.raw).into()),
        }
    }
}

fn written(raw: &str) -> String {
    let (mut tape, mut out) = (Tape::default(), String::with_capacity(raw.len()));
    // It was parsed before, and its depth was looked at: neither can fail.
    if tape.parse(raw, 0).is_ok() {
        let _ = write_json(&Json::new(&tape, raw), &mut out, None);
    }
    out
}
