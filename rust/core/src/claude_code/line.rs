//! A line of the tree: its links, and where its content stands.

use super::fields::{Fields, Message, Role, role};
use crate::error::Error;
use crate::json::Json;
use crate::session::Span;
use crate::session::names::{EMPTY, Name, Names};
use crate::session::value::{last, name, text};

/// The parent of a root.
pub const ROOT: Name = Name::MAX;

/// A line with a place in the tree.
#[derive(Clone, Debug)]
pub struct Line {
    /// Number of the record in the file.
    pub number: usize,
    /// Its uuid, or a generated name.
    pub key: Name,
    /// Who speaks; `None` if it is never sent and only links others.
    pub role: Option<Role>,
    /// Key of the line it follows, [`ROOT`] for none.
    pub parent: Name,
    /// The file's names for its kind, if it is not sent.
    pub kind: [Name; 2],
    /// The id shared by the lines of one response.
    pub response: Name,
    /// Key of the line before it, for a root that a compaction created; empty for none.
    pub logical: Name,
    /// Its time as it stands; `None` if that is no string.
    pub stamp: Option<Name>,
    /// The model; empty for none.
    pub model: Name,
    /// Ids of the calls that it answers.
    pub answers: Box<[Name]>,
    /// Ids of its blocks.
    pub ids: Box<[Name]>,
    /// Its content, and the digest of it.
    pub content: Span,
    pub digest: u128,
    /// Which of the usages is its own.
    pub usage: Option<u32>,
    /// Whether it is a line of a side conversation.
    pub is_side: bool,
    /// Whether it is a compaction's summary, with which the prompt starts.
    pub is_summary: bool,
    /// Whether it repeats a line, which a compaction kept after its summary.
    pub is_again: bool,
}

impl Line {
    /// A line without a defect; what its content holds is read later.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for too many names.
    pub fn of(
        number: usize,
        fields: &Fields<'_, '_>,
        message: &Message<'_, '_>,
        names: &mut Names,
    ) -> Result<Self, Error> {
        let role = sent_as(fields, message);
        let key = match text(fields.uuid).filter(|uuid| !uuid.is_empty()) {
            Some(uuid) => names.number(&uuid)?,
            None => names.number(format!("line {number}").as_bytes())?,
        };
        let parent = match fields.parent {
            Some(parent) if parent.is_null() => ROOT, // without the field, the parent is a missing line: file order applies
            parent => name(parent, names)?,
        };
        let id = if role == Some(Role::Assistant) { name(message.id, names)? } else { EMPTY };
        let is_response = role == Some(Role::Assistant);
        Ok(Self {
            number,
            key,
            role,
            parent,
            kind: kind(fields, message, names)?,
            response: if is_response && id == EMPTY { key } else { id },
            logical: name(fields.logical, names)?,
            stamp: text(fields.timestamp).map(|stamp| names.number(&stamp)).transpose()?,
            model: name(message.model.filter(|_| role.is_some()), names)?,
            answers: block_ids(message.content.filter(|_| role == Some(Role::User)), b"tool_use_id", names)?,
            ids: block_ids(message.content.filter(|_| is_response), b"id", names)?,
            content: Span::default(),
            digest: 0,
            usage: None,
            is_side: fields.is_side.is_some(),
            is_summary: role.is_some() && fields.is_summary.is_some(),
            is_again: false,
        })
    }
}

/// The role of a line; `None` if it is never sent.
fn sent_as(fields: &Fields<'_, '_>, message: &Message<'_, '_>) -> Option<Role> {
    let kind = role(fields.kind).or_else(|| fields.queued().map(|_| Role::User))?;
    let is_hidden = is_error(fields, message) || (fields.is_shown.is_some() && fields.is_summary.is_none());
    (!is_hidden).then(|| role(message.role).unwrap_or(kind))
}

fn is_error(fields: &Fields<'_, '_>, message: &Message<'_, '_>) -> bool {
    fields.is_error.is_some() || text(message.model).is_some_and(|model| &*model == b"<synthetic>")
}

/// The file's names for a line's kind.
fn kind(fields: &Fields<'_, '_>, message: &Message<'_, '_>, names: &mut Names) -> Result<[Name; 2], Error> {
    let kind = name(fields.kind, names)?;
    if fields.is_side.is_some() {
        return Ok([names.number(b"sidechain")?, kind]);
    }
    let more = if role(fields.kind).is_some() {
        names.number(match (fields.is_shown.is_some(), is_error(fields, message)) {
            (true, _) => b"shown only",
            (_, true) => b"error of Claude Code",
            _ => b"other branch",
        })?
    } else {
        let inner = fields.attachment.filter(Json::is_truthy).or(fields.data);
        let inner = inner.and_then(|inner| last(&inner, b"type"));
        name(fields.subtype.filter(Json::is_truthy).or(inner), names)?
    };
    Ok([kind, more])
}

/// The ids that a content's blocks have in a field.
fn block_ids(content: Option<Json<'_, '_>>, field: &[u8], names: &mut Names) -> Result<Box<[Name]>, Error> {
    let Some(content) = content.filter(Json::is_list) else { return Ok(Box::default()) };
    let ids = content.values().filter_map(|block| text(last(&block, field)));
    ids.map(|id| names.number(&id)).collect()
}
