//! Messages as a flat list of what was said, called and returned.

use std::cell::OnceCell;

use super::arguments::Arguments;

/// What a part of a message is.
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
    /// Text that a program put in.
    #[default]
    Note,
}

/// One thing that a message holds.
#[derive(Debug, Default)]
pub struct Part {
    /// Position of its message.
    pub at: i64,
    /// What it is; a note by default.
    pub kind: Kind,
    /// Its text; of a call, all strings of the arguments.
    pub text: String,
    /// The tool's name.
    pub name: String,
    /// The call's id, of a call and of its result; [`HOSTED`] of a call that the provider runs itself.
    pub id: String,
    /// A call's arguments.
    pub arguments: Arguments,
    /// Whether a result says that it is an error.
    pub failed: bool,
    /// The shell command of a call, once it was asked for.
    pub shell: OnceCell<String>,
    /// What a call is about, once it was asked for.
    pub target: OnceCell<String>,
    /// How a result says that its call ended and whether it failed, once it was asked for.
    pub outcome: OnceCell<(String, bool)>,
}

/// The id of a call that the provider runs itself: no result follows.
pub const HOSTED: &str = "hosted";

impl Part {
    /// Whether somebody said it.
    pub(super) fn is_spoken(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant)
    }

    /// Whether the assistant said or called it.
    pub(super) fn is_assistants(&self) -> bool {
        matches!(self.kind, Kind::Assistant | Kind::Call)
    }
}
