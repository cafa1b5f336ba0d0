//! Messages as a flat list of texts, tool calls and results.

use std::cell::OnceCell;

use super::arguments::Arguments;
use super::hidden::PRUNED;

/// The kind of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The user's own words.
    User,
    /// The assistant's text.
    Assistant,
    /// A tool call.
    Call,
    /// A tool's result.
    Result,
    /// An earlier summary.
    Earlier,
    /// The project's rules, which a program inserted.
    Project,
    /// Text that a program inserted.
    #[default]
    Note,
}

/// A text, a call or a result of a message.
#[derive(Debug, Default)]
pub struct Part {
    /// Position of its message.
    pub at: i64,
    /// Its kind; a note by default.
    pub kind: Kind,
    /// Its text; of a call, all strings of the arguments.
    pub text: String,
    /// The tool's name.
    pub name: String,
    /// The call's id, of a call and of its result; [`HOSTED`] of a call that the provider runs itself.
    pub id: String,
    /// A call's arguments.
    pub arguments: Arguments,
    /// Whether the call failed, as the message of its result says; `None` if it says nothing.
    pub is_error: Option<bool>,
    /// The exit codes that the fields of a result state.
    pub codes: Vec<i64>,
    /// Of a result, why the success that it states is not its command's.
    pub hidden: Option<&'static str>,
    /// The shell command of a call, computed at its first use.
    pub shell: OnceCell<String>,
    /// The folder of a call whose command ran in others too.
    pub folder: OnceCell<String>,
    /// The target of a call, computed at its first use.
    pub target: OnceCell<String>,
    /// The outcome that a result states for its call, read at its first use.
    pub stated: OnceCell<Stated>,
    /// The error lines of a result, found at their first use.
    pub faults: OnceCell<Vec<String>>,
}

/// The outcome that a result states for its call.
#[derive(Debug)]
pub struct Stated {
    /// The exit code.
    pub code: Option<String>,
    /// The last line that reports the result of tests.
    pub tests: Option<String>,
    /// Whether that line counts failures: true, or says that there are none: false.
    pub tests_fail: Option<bool>,
    /// The error lines behind that line, where it says that there are none.
    pub behind: Vec<String>,
}

/// The id of a call that the provider runs itself: no result follows.
pub const HOSTED: &str = "hosted";

impl Part {
    /// Whether it is text of the user or the assistant.
    pub(super) fn is_spoken(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant)
    }

    /// Whether a placeholder stands in the place of a result, which shows no failure whatever there was.
    pub(super) fn is_pruned(&self) -> bool {
        self.hidden == Some(PRUNED)
    }

    /// Whether it is text or a call of the assistant.
    pub(super) fn is_assistants(&self) -> bool {
        matches!(self.kind, Kind::Assistant | Kind::Call)
    }
}

/// Whether nobody works in these parts: there is no call.
pub fn is_chat(parts: &[&Part]) -> bool {
    !parts.iter().any(|part| part.kind == Kind::Call)
}
