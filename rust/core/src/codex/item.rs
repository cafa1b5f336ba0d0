//! An item of the Responses API, and where it stands.

use xxhash_rust::xxh3::xxh3_128;

use crate::json::Json;
use crate::session::Span;
use crate::session::value::last;

/// Types of Codex's own data, never sent.
const LOCAL: [&[u8]; 2] = [b"ghost_snapshot", b"other"];

/// Tags around whole texts that Codex writes in the role of the user; other texts with tags are the user's own.
const SETTING: [&[u8]; 9] = [
    b"environment_context",
    b"user_instructions",
    b"user_shell_command",
    b"turn_aborted",
    b"subagent_notification",
    b"skill",
    b"agent_message_board_notification",
    b"recommended_plugins",
    b"goal_context",
];

/// How another such text begins.
const GUIDE: &[u8] = b"# AGENTS.md instructions";

/// An item of the prompt.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Where it stands.
    pub content: Span,
    /// Equal for an item and its copy in a replacement, which may lack ids and metadata.
    pub identity: u128,
    /// Whether it answers a call.
    pub is_output: bool,
    /// Who wrote it.
    pub speaker: Speaker,
    /// Whether it is a message that the user wrote.
    pub is_turn: bool,
}

/// Who wrote an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The model, or nobody who is named.
    Model,
    User,
    Developer,
    Other,
}

impl Speaker {
    /// The one that a role names.
    fn of(role: Option<Json<'_, '_>>) -> Self {
        let Some(role) = role.filter(|role| !role.is_null()) else { return Self::Model };
        match role.exact().as_deref() {
            Some(b"assistant") => Self::Model,
            Some(b"user") => Self::User,
            Some(b"developer") => Self::Developer,
            _ => Self::Other,
        }
    }

    /// Whether it is no answer: older compactions keep it.
    pub fn is_asked(self) -> bool {
        matches!(self, Self::User | Self::Developer)
    }
}

/// The fields of an item that are read; the last of equal names counts.
#[derive(Clone, Copy, Default)]
struct Fields<'t, 'a> {
    kind: Option<Json<'t, 'a>>,
    role: Option<Json<'t, 'a>>,
    content: Option<Json<'t, 'a>>,
    id: Option<Json<'t, 'a>>,
    encrypted: Option<Json<'t, 'a>>,
    summary: Option<Json<'t, 'a>>,
}

impl<'t, 'a> Fields<'t, 'a> {
    fn of(item: &Json<'t, 'a>) -> Self {
        let mut found = Self::default();
        for value in item.values() {
            match &*value.exact_name() {
                b"type" => found.kind = Some(value),
                b"role" => found.role = Some(value),
                b"content" => found.content = Some(value),
                b"id" => found.id = Some(value),
                b"encrypted_content" => found.encrypted = Some(value),
                b"summary" => found.summary = Some(value),
                _ => {}
            }
        }
        found
    }

    /// Whether the item is part of the prompt: empty messages and empty reasoning are not.
    fn is_sent(&self) -> bool {
        let is_true = |value: Option<Json<'_, '_>>| value.is_some_and(|value| value.is_truthy());
        match self.kind.and_then(|kind| kind.exact()).as_deref() {
            Some(b"reasoning") => [self.id, self.encrypted, self.summary, self.content].into_iter().any(is_true),
            Some(b"message") => is_true(self.content),
            Some(kind) => !LOCAL.contains(&kind),
            None => false,
        }
    }
}

impl Item {
    /// An item; `None` of what is never sent. `hold` says where it stands.
    pub fn of(item: &Json<'_, '_>, hold: impl FnOnce(&Json<'_, '_>) -> Span) -> Option<Self> {
        let fields = Fields::of(item);
        if !fields.is_sent() {
            return None;
        }
        let kind = fields.kind.and_then(|kind| kind.exact()).unwrap_or_default();
        let speaker = Speaker::of(fields.role);
        let is_turn = speaker == Speaker::User && fields.content.is_some_and(|content| is_written(&content));
        Some(Self {
            content: hold(item),
            identity: identity(item, &fields),
            is_output: kind.ends_with(b"_output"),
            speaker,
            is_turn,
        })
    }
}

/// A digest of a message's role and content, or of an item without a role.
fn identity(item: &Json<'_, '_>, fields: &Fields<'_, '_>) -> u128 {
    let Some(role) = fields.role.filter(Json::is_truthy) else { return item.digest() };
    let content = fields.content.map_or(0, |content| content.digest());
    xxh3_128([role.digest().to_le_bytes(), content.to_le_bytes()].as_flattened())
}

/// Whether a content has parts, of which the first is no text of Codex.
fn is_written(content: &Json<'_, '_>) -> bool {
    let Some(first) = content.values().find(Json::is_object).filter(|_| content.is_list()) else { return false };
    let text = last(&first, b"text").and_then(|text| text.exact()).unwrap_or_default();
    let text = text.trim_ascii();
    !(text.starts_with(GUIDE) || SETTING.iter().any(|name| is_tagged(text, name)))
}

/// Whether a text begins with a tag and ends with the end of it, in letters of any case.
fn is_tagged(text: &[u8], name: &[u8]) -> bool {
    let [start, end] = [[b"<", name, b">"].concat(), [b"</", name, b">"].concat()];
    let has = |part: Option<&[u8]>, tag: &[u8]| part.is_some_and(|part| part.eq_ignore_ascii_case(tag));
    has(text.get(..start.len()), &start) && has(text.len().checked_sub(end.len()).and_then(|at| text.get(at..)), &end)
}
