//! The items of the Responses API: one row a type, for reading, pairing, rules and repair.
//!
//! `tests/unit/validity/test_response_items.py` holds the table against the union of item types of the provider's own SDK.

use crate::ledger::Role;
use crate::node::Key;

/// The part of an item in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A message, whose role is a field.
    Message,
    /// Reasoning, which belongs to the item behind it.
    Reasoning,
    /// The provider's compaction of all items in front of it.
    Compaction,
    /// A call that the client answers.
    Call,
    /// The client's answer to a call.
    Output,
    /// A request of the provider's own tools: a call of an MCP server to approve, a program.
    Request,
    /// The answer to such a request.
    Answer,
    /// Moved whole, without a partner.
    Whole,
}

impl Part {
    /// Its name, as repair knows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Reasoning => "reasoning",
            Self::Compaction => "compaction",
            Self::Call => "call",
            Self::Output => "output",
            Self::Request => "request",
            Self::Answer => "answer",
            Self::Whole => "whole",
        }
    }
}

/// What is known of a type of item.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The type.
    pub name: &'static str,
    /// Its part.
    pub part: Part,
    /// Its author; a message has its own.
    pub role: Role,
    /// The fields that may have the id by which it pairs, the first that does counts.
    pub ids: &'static [Key],
    /// Whether it needs such an id. Without one it is the provider's own, and moved whole.
    pub needs_id: bool,
    /// The field with its text, `None` where the whole item is text to the model.
    pub body: Option<Key>,
    /// The types that answer it; the last one is that which a client writes.
    pub answers: &'static [&'static str],
}

const PLAIN: Item =
    Item { name: "", part: Part::Whole, role: Role::Assistant, ids: &[], needs_id: true, body: None, answers: &[] };
const CALL: Item = Item { part: Part::Call, ids: &[Key::CallId], ..PLAIN };
const OUTPUT: Item = Item { part: Part::Output, role: Role::Tool, ids: &[Key::CallId], ..PLAIN };
const LOCAL: &[Key] = &[Key::CallId, Key::Id];

/// The types; the frequent ones first, because the table is searched from its start.
pub const ITEMS: &[Item] = &[
    Item { name: "function_call", body: Some(Key::Arguments), answers: &["function_call_output"], ..CALL },
    Item { name: "function_call_output", body: Some(Key::Output), ..OUTPUT },
    Item { name: "reasoning", part: Part::Reasoning, ids: &[Key::Id], ..PLAIN },
    Item { name: "message", part: Part::Message, role: Role::Other, ..PLAIN },
    Item { name: "custom_tool_call", body: Some(Key::Input), answers: &["custom_tool_call_output"], ..CALL },
    Item { name: "custom_tool_call_output", body: Some(Key::Output), ..OUTPUT },
    // Codex answers a local shell call by the call's own id, in a function's output.
    Item {
        name: "local_shell_call",
        ids: LOCAL,
        answers: &["local_shell_call_output", "function_call_output"],
        ..CALL
    },
    Item { name: "local_shell_call_output", ids: LOCAL, ..OUTPUT },
    Item { name: "shell_call", answers: &["shell_call_output"], ..CALL },
    Item { name: "shell_call_output", ..OUTPUT },
    Item { name: "apply_patch_call", answers: &["apply_patch_call_output"], ..CALL },
    Item { name: "apply_patch_call_output", ..OUTPUT },
    Item { name: "computer_call", answers: &["computer_call_output"], ..CALL },
    Item { name: "computer_call_output", ..OUTPUT },
    Item { name: "tool_search_call", needs_id: false, answers: &["tool_search_output"], ..CALL },
    Item { name: "tool_search_output", needs_id: false, ..OUTPUT },
    Item {
        name: "mcp_approval_request",
        part: Part::Request,
        ids: &[Key::Id],
        body: Some(Key::Arguments),
        answers: &["mcp_approval_response"],
        ..PLAIN
    },
    Item {
        name: "mcp_approval_response",
        part: Part::Answer,
        role: Role::User,
        ids: &[Key::ApprovalRequestId],
        ..PLAIN
    },
    Item { name: "program", part: Part::Request, ids: &[Key::CallId], answers: &["program_output"], ..PLAIN },
    Item { name: "program_output", part: Part::Answer, ids: &[Key::CallId], ..PLAIN },
    Item { name: "compaction", part: Part::Compaction, ..PLAIN },
    Item { name: "compaction_summary", part: Part::Compaction, ..PLAIN },
    Item { name: COMPACTION_TRIGGER, role: Role::User, ..PLAIN },
    Item { name: CONFIGURATION_UPDATE, role: Role::System, ..PLAIN },
    Item { name: "additional_tools", role: Role::System, ..PLAIN },
    Item { name: "item_reference", ..PLAIN },
    Item { name: "web_search_call", ..PLAIN },
    Item { name: "file_search_call", ..PLAIN },
    Item { name: "code_interpreter_call", ..PLAIN },
    Item { name: "image_generation_call", ..PLAIN },
    Item { name: "mcp_call", ..PLAIN },
    Item { name: "mcp_list_tools", ..PLAIN },
];

/// The item that asks for a compaction, the last of its list.
pub const COMPACTION_TRIGGER: &str = "compaction_trigger";

/// The item that follows a compaction with the settings from then on.
pub const CONFIGURATION_UPDATE: &str = "configuration_update";

/// What is known of a type; `None` for one that the table does not have.
#[must_use]
pub fn find(name: &str) -> Option<&'static Item> {
    ITEMS.iter().find(|item| item.name == name)
}

/// Whether the type is one of an item, or may be that of a new one.
#[must_use]
pub fn is_item(name: &str) -> bool {
    let ends = ["_call", "_output", "_list_tools"];
    find(name).is_some() || (name != "tool_call" && ends.iter().any(|end| name.ends_with(end)))
}

/// What a type that the table does not have must be: by its end, and by whether it has a call's id.
#[must_use]
pub fn guess(name: &str, has_call_id: bool) -> Item {
    match (has_call_id, name) {
        (true, name) if name.ends_with("_call") => CALL,
        (true, name) if name.ends_with("_output") => OUTPUT,
        (_, name) if name.ends_with("_output") => Item { role: Role::Tool, ..PLAIN },
        _ => PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_answered_by_types_of_the_table() {
        for item in ITEMS {
            let asks = matches!(item.part, Part::Call | Part::Request);
            assert_eq!(asks, !item.answers.is_empty(), "{}", item.name);
            for answer in item.answers {
                let part = find(answer).map(|item| item.part);
                assert!(matches!(part, Some(Part::Output | Part::Answer)), "{answer}");
            }
        }
    }

    #[test]
    fn no_type_stands_twice() {
        let mut names: Vec<&str> = ITEMS.iter().map(|item| item.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ITEMS.len());
    }
}
