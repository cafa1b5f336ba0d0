//! Session files of the agents whose lines the core reads, from their bytes.

use crate::claude_code::Entries;
use crate::codex::Items;
use crate::error::Error;
use crate::json::Json;
use crate::session::value::{last, text};
use crate::session::{Lines, Place, Prompt, Records, Stop};
use crate::shape::Provider;

/// A format of session files that the core reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// Types of a line of Claude Code that has a message.
const ROLES: [&[u8]; 2] = [b"user", b"assistant"];

/// Types of the lines of a rollout.
const ROLLOUT: [&[u8]; 5] = [b"session_meta", b"turn_context", b"response_item", b"compacted", b"event_msg"];

impl Format {
    /// The one of a name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an unknown one; names the known.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "claude_code" => Ok(Self::ClaudeCode),
            "codex" => Ok(Self::Codex),
            _ => Err(Error::Argument(format!("unknown format {name:?}: known are claude_code, codex"))),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude_code",
            Self::Codex => "codex",
        }
    }

    /// The shape of its messages.
    #[must_use]
    pub fn provider(self) -> Provider {
        match self {
            Self::ClaudeCode => Provider::Anthropic,
            Self::Codex => Provider::OpenAiResponses,
        }
    }

    /// The records of its lines; `whole` keeps messages that a compaction replaced.
    #[must_use]
    pub fn lines(self, whole: bool) -> Lines {
        Lines::of(self.records(whole))
    }

    fn records(self, whole: bool) -> Box<dyn Records> {
        match self {
            Self::ClaudeCode => Box::new(Entries::new(whole)),
            Self::Codex => Box::new(Items::new(whole)),
        }
    }

    /// The one of a line that no other format has; `None` where another may have it, too.
    fn of(line: &Json<'_, '_>) -> Option<Self> {
        let field = |name: &[u8]| last(line, name);
        let message = field(b"message").filter(Json::is_object);
        let is_others = |message: &Json<'_, '_>| last(message, b"parts").is_some(); // Qwen Code links its lines likewise
        if field(b"role").is_some() || field(b"systemPayload").is_some() || message.as_ref().is_some_and(is_others) {
            return None;
        }
        let kind = text(field(b"type")).unwrap_or_default();
        let is_of = |kinds: &[&[u8]]| kinds.contains(&&*kind);
        match field(b"payload") {
            _ if field(b"parentUuid").is_some() || (is_of(&ROLES) && message.is_some()) => Some(Self::ClaudeCode),
            Some(payload) if payload.is_object() && is_of(&ROLLOUT) => Some(Self::Codex),
            _ => None,
        }
    }
}

/// The records of a file whose first line says its format.
struct Detected(Option<Box<dyn Records>>);

impl Records for Detected {
    fn add(&mut self, value: &Json<'_, '_>, place: Place, offset: Option<u64>) -> Result<(), Error> {
        let unknown = || Error::Argument("need a line of a known format".to_owned());
        let records = match self.0.take() {
            Some(records) => records,
            None => Format::of(value).ok_or_else(unknown)?.records(false),
        };
        self.0.insert(records).add(value, place, offset)
    }

    fn prompt(self: Box<Self>) -> Result<Prompt, Error> {
        self.0.ok_or_else(|| Error::Argument("need a line".to_owned()))?.prompt()
    }
}

/// The next prompt of a session file whose lines are an object each, and their number; a `format` of `None` is that of the
/// first line.
///
/// `None` where more than the core has to look at the file: at a line that is no object alone, or of another format.
///
/// # Errors
///
/// [`Error::Overflow`] past the names that can be numbered.
///
/// # Examples
///
/// ```
/// use trimtab_core::log::read;
///
/// let text = br#"{"type": "user", "uuid": "1", "message": {"role": "user", "content": "tea"}}"#;
/// let (prompt, lines) = read(text, None)?.expect("one line, an object alone");
/// assert_eq!((prompt.format, prompt.messages(), lines), ("claude_code", 1, 1));
/// assert!(read(b"[1]", None)?.is_none());
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
pub fn read(text: &[u8], format: Option<Format>) -> Result<Option<(Prompt, u64)>, Error> {
    let mut lines = Lines::of(Detected(format.map(|format| format.records(false))));
    match lines.take(text, Place { line: 1, offset: 0 }, true) {
        Ok(taken) if taken.stop == Stop::End && taken.values > 0 => {
            lines.prompt().map(|prompt| Some((prompt, taken.values)))
        }
        Ok(_) | Err(Error::Argument(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_says_the_format_where_one_alone_has_it() {
        for (line, format) in [
            (r#"{"parentUuid": null}"#, Some("claude_code")),
            (r#"{"type": "assistant", "message": {}}"#, Some("claude_code")),
            (r#"{"type": "turn_context", "payload": {}}"#, Some("codex")),
            (r#"{"type": "turn_context", "payload": {}, "parentUuid": 1}"#, Some("claude_code")),
            (r#"{"type": "turn_context", "payload": []}"#, None),
            (r#"{"type": "user", "message": "text"}"#, None),
            (r#"{"type": "user", "message": {"parts": []}}"#, None),
            (r#"{"type": "system", "parentUuid": null, "systemPayload": {}}"#, None),
            (r#"{"role": "user", "parentUuid": null}"#, None),
            ("\n \n", None),
            ("{", None),
        ] {
            let found = read(line.as_bytes(), None).unwrap();
            assert_eq!(found.map(|(prompt, _)| prompt.format), format, "{line}");
        }
    }
}
