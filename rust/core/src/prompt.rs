//! Prompt format of a model: the tokens that a prompt has besides those of its texts.
//!
//! The caller passes the numbers; `python/trimtab/models/prompts.py` has them by model generation, each with its
//! evidence.

use trimtab_tokens::counter::scale;

use crate::error::Error;
use crate::media::Vision;
use crate::setting::Setting;

/// Format of a message's parts in the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Texts alone: the tokens of an encoding.
    #[default]
    Plain,
    /// Texts, with a fixed number of tokens around each call and each result.
    Framed,
    /// Claude: calls as tagged parameters, results between tags; both are tokenized with their tags.
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

/// Tokens that a prompt adds to its texts. [`Prompt::PLAIN`] adds none.
///
/// Factors are in thousandths, all other values in tokens. A *turn* is a run of messages of one side; results of tools are
/// on the user's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Format of the parts.
    pub form: Form,
    /// Factor on the text of users, system text and tool results.
    pub given: u32,
    /// Factor on the assistant's text.
    pub written: u32,
    /// Tokens around a user's turn.
    pub user: u32,
    /// Tokens around an assistant's turn.
    pub assistant: u32,
    /// Tokens around a system text among the messages.
    pub system: u32,
    /// Tokens of a message that continues the turn of the message before it.
    pub again: u32,
    /// Tokens of each call.
    pub call: i32,
    /// Tokens around all calls of a turn.
    pub calls: i32,
    /// Further tokens if a turn has several calls.
    pub parallel: i32,
    /// Tokens of the only result of a turn.
    pub result: i32,
    /// Tokens around several results of a turn.
    pub results: i32,
    /// Tokens of each of several results.
    pub each: i32,
    /// Tokens of a single result that reports an error or is empty.
    pub failed: i32,
    /// Tokens around thinking with its text.
    pub thinking: i32,
    /// Tokens of a turn that has thinking and calls.
    pub thought: i32,
    /// Factor on the signature's length of thinking without its text.
    pub signature: u32,
    /// Characters of a signature that do not count; subtracted before the factor.
    pub unsigned: u32,
    /// Whether the prompt keeps thinking of turns before the user's last text.
    pub keeps_thinking: bool,
    /// Pricing rule for pictures.
    pub vision: Vision,
}

/// Claude's text in place of an empty result.
pub const EMPTY: &str = "Tool ran without output or errors";

/// The tags around a result; they merge into one token with punctuation at the result's start and end.
pub const RESULT: (&str, &str) = ("<x>", "</x>");

impl Prompt {
    /// The tokens of the texts alone; hidden thinking counts an eighth of its characters.
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

    /// Names of the settings of [`Prompt::set`]: the fields' names, with `images` for `vision`.
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

    /// Changes one setting by name.
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

    /// Tokens of thinking that has only a signature of `length` characters.
    #[must_use]
    pub fn hidden(&self, length: usize) -> usize {
        scale(length.saturating_sub(self.unsigned as usize), self.signature)
    }
}

/// Claude's opening and closing tags.
pub mod tags {
    const NAMESPACE: &str = "antml:";

    /// Opens a turn's calls.
    #[must_use]
    pub fn open() -> String {
        format!("<{NAMESPACE}function_calls>\n")
    }

    /// Closes a turn's calls.
    #[must_use]
    pub fn close() -> String {
        format!("</{NAMESPACE}function_calls>")
    }

    /// Opens a call.
    #[must_use]
    pub fn invoke(name: &str) -> String {
        format!("<{NAMESPACE}invoke name=\"{name}\">\n")
    }

    /// Closes a call.
    #[must_use]
    pub fn invoked() -> String {
        format!("</{NAMESPACE}invoke>\n")
    }

    /// A parameter of a call.
    #[must_use]
    pub fn parameter(key: &str, value: &str) -> String {
        format!("<{NAMESPACE}parameter name=\"{key}\">{value}</{NAMESPACE}parameter>\n")
    }

    /// The tool's name in front of each of several results.
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
