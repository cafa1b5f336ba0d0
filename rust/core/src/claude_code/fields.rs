//! The fields of a line that are read.

use crate::json::Json;
use crate::session::value::last;

/// The fields of a line by name; the last of equal names counts.
#[derive(Clone, Copy, Default)]
pub struct Fields<'t, 'a> {
    pub kind: Option<Json<'t, 'a>>,
    pub subtype: Option<Json<'t, 'a>>,
    pub message: Option<Json<'t, 'a>>,
    pub uuid: Option<Json<'t, 'a>>,
    pub parent: Option<Json<'t, 'a>>,
    pub logical: Option<Json<'t, 'a>>,
    pub timestamp: Option<Json<'t, 'a>>,
    pub folder: Option<Json<'t, 'a>>,
    pub content: Option<Json<'t, 'a>>,
    pub attachment: Option<Json<'t, 'a>>,
    pub data: Option<Json<'t, 'a>>,
    pub compacted: Option<Json<'t, 'a>>,
    pub retracted: Option<Json<'t, 'a>>,
    /// Of these, only what Python finds true.
    pub is_side: Option<Json<'t, 'a>>,
    pub is_summary: Option<Json<'t, 'a>>,
    pub is_error: Option<Json<'t, 'a>>,
    pub is_shown: Option<Json<'t, 'a>>,
    /// Whether it has a field that may show the window.
    pub is_telling: bool,
}

impl<'t, 'a> Fields<'t, 'a> {
    /// What was typed, or told by a task, while the agent worked: such a prompt has no line of type `user`.
    pub fn queued(&self) -> Option<Json<'t, 'a>> {
        let is = |value: Option<Json<'_, '_>>, kind: &[u8]| {
            value.is_some_and(|value| value.exact().as_deref() == Some(kind))
        };
        let attachment = self.attachment.filter(|_| is(self.kind, b"attachment"))?;
        let prompt = last(&attachment, b"prompt").filter(|prompt| prompt.is_truthy() && is_content(prompt));
        prompt.filter(|_| is(last(&attachment, b"type"), b"queued_command"))
    }

    /// The fields of an object.
    pub fn of(line: &Json<'t, 'a>) -> Self {
        let mut found = Self::default();
        for value in line.values() {
            match &*value.exact_name() {
                b"type" => found.kind = Some(value),
                b"subtype" => found.subtype = Some(value),
                b"message" => found.message = Some(value),
                b"uuid" => found.uuid = Some(value),
                b"parentUuid" => found.parent = Some(value),
                b"logicalParentUuid" => found.logical = Some(value),
                b"timestamp" => found.timestamp = Some(value),
                b"cwd" => found.folder = Some(value),
                b"content" => found.content = Some(value),
                b"attachment" => found.attachment = Some(value),
                b"data" => found.data = Some(value),
                b"retractedMessageUuids" => found.retracted = Some(value).filter(Json::is_list),
                b"isSidechain" => found.is_side = Some(value).filter(Json::is_truthy),
                b"isCompactSummary" => found.is_summary = Some(value).filter(Json::is_truthy),
                b"isApiErrorMessage" => found.is_error = Some(value).filter(Json::is_truthy),
                b"isVisibleInTranscriptOnly" => found.is_shown = Some(value).filter(Json::is_truthy),
                b"compactMetadata" => (found.compacted, found.is_telling) = (Some(value), true),
                name => found.is_telling |= TELLING.contains(&name),
            }
        }
        found
    }
}

/// Fields of a line that may show the window.
pub const TELLING: [&[u8]; 9] = [
    b"compactMetadata",
    b"model",
    b"modelUsage",
    b"settings",
    b"request",
    b"headers",
    b"betas",
    b"anthropic_beta",
    b"anthropic-beta",
];

/// Those of a message.
pub const FLAGS: [&[u8]; 3] = [b"betas", b"anthropic_beta", b"anthropic-beta"];

/// The fields of a message that are read.
#[derive(Clone, Copy, Default)]
pub struct Message<'t, 'a> {
    pub role: Option<Json<'t, 'a>>,
    pub content: Option<Json<'t, 'a>>,
    pub id: Option<Json<'t, 'a>>,
    pub model: Option<Json<'t, 'a>>,
    pub usage: Option<Json<'t, 'a>>,
    /// Whether it has flags that may show the window.
    pub is_telling: bool,
}

impl<'t, 'a> Message<'t, 'a> {
    /// The fields of a message; none of what is no object.
    pub fn of(message: Option<Json<'t, 'a>>) -> Self {
        let mut found = Self::default();
        for value in message.iter().filter(|message| message.is_object()).flat_map(Json::values) {
            match &*value.exact_name() {
                b"role" => found.role = Some(value),
                b"content" => found.content = Some(value),
                b"id" => found.id = Some(value),
                b"model" => found.model = Some(value),
                b"usage" => found.usage = Some(value),
                name => found.is_telling |= FLAGS.contains(&name),
            }
        }
        found
    }
}

/// What is wrong with a line; `None` if nothing is.
pub fn defect(line: &Json<'_, '_>, fields: &Fields<'_, '_>, message: &Message<'_, '_>) -> Option<&'static str> {
    if !line.is_object() {
        return Some("a bare value, no object");
    }
    role(fields.kind)?;
    if !fields.message.is_some_and(|message| message.is_object()) {
        return Some("no message in it");
    }
    let content = message.content.filter(|content| content.is_list() || content.is_string());
    let Some(content) = content else { return Some("a message without content") };
    (!is_content(&content)).then_some("content that is no block")
}

/// Whether a value is a text or a list of blocks.
fn is_content(value: &Json<'_, '_>) -> bool {
    let is_block = |block: Json<'_, '_>| last(&block, b"type").is_some_and(|kind| kind.is_string());
    value.is_string() || (value.is_list() && value.values().all(is_block))
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

/// The role that a string names.
pub fn role(value: Option<Json<'_, '_>>) -> Option<Role> {
    match &*value?.exact()? {
        b"user" => Some(Role::User),
        b"assistant" => Some(Role::Assistant),
        _ => None,
    }
}
