//! A request's grammar: what a model's prompt adds to the tokens of its texts.
//!
//! The numbers are the caller's; the table of them, by generation and with the evidence for each, is
//! `python/trimtab/models/prompts.py`.

use trimtab_tokens::counter::scale;

use crate::error::Error;
use crate::media::Vision;
use crate::setting::Setting;

/// How the parts of a message are written into the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Each text by itself, nothing around it: the tokens of an encoding.
    #[default]
    Plain,
    /// Texts by themselves, with a fixed number of tokens around calls and results.
    Framed,
    /// Claude's: calls as tagged parameters, results between tags, both tokenized with their tags.
    Tagged,
}

impl Form {
    fn named(name: &str) -> Result<Self, Error> {
        match name {
            "plain" => Ok(Self::Plain),
            "framed" => Ok(Self::Framed),
            "tagged" => Ok(Self::Tagged),
            _ => Err(Error::Argument(format!("unknown form {name:?}, known are plain, framed, tagged"))),
        }
    }
}

/// Tokens that a prompt adds. [`Prompt::PLAIN`] adds nothing.
///
/// Factors are in thousandths; all else is tokens. A *turn* is a run of messages of one side, the results of tools
/// standing on the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// How parts are written.
    pub form: Form,
    /// Factor on the text of users, system text and tool results.
    pub given: u32,
    /// Factor on what the assistant wrote.
    pub written: u32,
    /// A user's turn.
    pub user: u32,
    /// An assistant's turn.
    pub assistant: u32,
    /// System text among the messages.
    pub system: u32,
    /// A message that goes on with the turn of the one before it.
    pub again: u32,
    /// Each call.
    pub call: i32,
    /// The calls of a turn together.
    pub calls: i32,
    /// More, where a turn has several calls.
    pub parallel: i32,
    /// The only result of a turn.
    pub result: i32,
    /// Several results of a turn together.
    pub results: i32,
    /// Each of several results.
    pub each: i32,
    /// A single result that reports an error, or is empty.
    pub failed: i32,
    /// Thinking whose text is there.
    pub thinking: i32,
    /// A turn with thinking and calls.
    pub thought: i32,
    /// Factor on the length of the signature of thinking whose text is not there.
    pub signature: u32,
    /// Characters of a signature that do not count, before the factor.
    pub unsigned: u32,
    /// Whether thinking of the turns before the user's last words stays in the prompt.
    pub keeps_thinking: bool,
    /// How pictures are charged.
    pub vision: Vision,
}

/// Claude's text for an empty result.
pub const EMPTY: &str = "Tool ran without output or errors";

/// The tags around a result, which merge with the punctuation that it begins and ends with.
pub const RESULT: (&str, &str) = ("<x>", "</x>");

impl Prompt {
    /// The tokens of the texts, nothing added; thinking that is hidden at an eighth of its characters.
    pub const PLAIN: Self = Self {
        form: Form::Plain,
        given: 1000,
        written: 1000,
        user: 0,
        assistant: 0,
        system: 0,
        again: 0,
        call: 0,
        calls: 0,
        parallel: 0,
        result: 0,
        results: 0,
        each: 0,
        failed: 0,
        thinking: 0,
        thought: 0,
        signature: 125,
        unsigned: 0,
        keeps_thinking: true,
        vision: Vision::Standard,
    };

    /// Names of the settings that [`Prompt::set`] takes: those of the fields, with `images` for `vision`.
    pub const SETTINGS: [&'static str; 20] = [
        "form",
        "given",
        "written",
        "user",
        "assistant",
        "system",
        "again",
        "call",
        "calls",
        "parallel",
        "result",
        "results",
        "each",
        "failed",
        "thinking",
        "thought",
        "signature",
        "unsigned",
        "keeps_thinking",
        "images",
    ];

    /// Changes one setting, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an unknown name and for a value of another type or range.
    pub fn set(&mut self, name: &str, value: Setting<'_>) -> Result<(), Error> {
        match name {
            "form" => self.form = Form::named(value.word()?)?,
            "given" => self.given = value.number()?,
            "written" => self.written = value.number()?,
            "user" => self.user = value.number()?,
            "assistant" => self.assistant = value.number()?,
            "system" => self.system = value.number()?,
            "again" => self.again = value.number()?,
            "call" => self.call = value.number()?,
            "calls" => self.calls = value.number()?,
            "parallel" => self.parallel = value.number()?,
            "result" => self.result = value.number()?,
            "results" => self.results = value.number()?,
            "each" => self.each = value.number()?,
            "failed" => self.failed = value.number()?,
            "thinking" => self.thinking = value.number()?,
            "thought" => self.thought = value.number()?,
            "signature" => self.signature = value.number()?,
            "unsigned" => self.unsigned = value.number()?,
            "keeps_thinking" => self.keeps_thinking = value.flag()?,
            "images" => self.vision = Vision::named(value.word()?)?,
            _ => return Err(Error::Argument(format!("unknown setting {name:?} of a prompt"))),
        }
        Ok(())
    }

    /// Tokens of thinking of which only a signature of `length` characters is there.
    #[must_use]
    pub fn hidden(&self, length: usize) -> usize {
        scale(length.saturating_sub(self.unsigned as usize), self.signature)
    }
}

/// Claude's tags, opened and closed.
pub mod tags {
    const NAMESPACE: &str = "antml:";

    /// The tag that opens a turn's calls.
    #[must_use]
    pub fn open() -> String {
        format!("<{NAMESPACE}function_calls>\n")
    }

    /// The tag that closes them.
    #[must_use]
    pub fn close() -> String {
        format!("</{NAMESPACE}function_calls>")
    }

    /// The tag that opens a call.
    #[must_use]
    pub fn invoke(name: &str) -> String {
        format!("<{NAMESPACE}invoke name=\"{name}\">\n")
    }

    /// The tag that closes it.
    #[must_use]
    pub fn invoked() -> String {
        format!("</{NAMESPACE}invoke>\n")
    }

    /// A parameter of a call.
    #[must_use]
    pub fn parameter(key: &str, value: &str) -> String {
        format!("<{NAMESPACE}parameter name=\"{key}\">{value}</{NAMESPACE}parameter>\n")
    }

    /// A tool's name, as it stands before each of several results.
    #[must_use]
    pub fn named(name: &str) -> String {
        format!("<name>{name}</name>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_signature_is_no_thinking() {
        let prompt = Prompt { signature: 188, unsigned: 191, ..Prompt::PLAIN };
        assert_eq!([0, 191, 1191].map(|n| prompt.hidden(n)), [0, 0, 188]);
    }
}
