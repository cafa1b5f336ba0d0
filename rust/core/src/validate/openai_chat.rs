//! `OpenAI` Chat Completions: rules C1 to C5.

use std::collections::HashSet;

use super::{Findings, Options, running};
use crate::ledger::{Kind, MessageFlag, Role, RowFlag};

pub fn check(found: &mut Findings<'_>, options: Options) {
    let ledger = found.ledger;
    if ledger.messages() == 0 {
        found.message(0, "empty_messages", "[] is too short - 'messages'", "send at least one message");
        return;
    }
    for index in 0..ledger.messages() {
        shape(found, index);
        if options.alternation {
            alternation(found, index);
        }
    }
    let mut index = 0;
    while index < ledger.messages() {
        index = if ledger.role[index] == Role::Tool {
            orphan(found, index);
            index + 1
        } else {
            answers(found, index, options)
        };
    }
}

/// C4, C5: null and empty content, empty lists of calls, unknown roles.
fn shape(found: &mut Findings<'_>, index: usize) {
    let ledger = found.ledger;
    if ledger.role[index] == Role::Other {
        let words = "Invalid value: role. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.";
        found.message(index, "unknown_role", words, "use one of the roles named");
    }
    let speaks = |row: usize| matches!(ledger.names.get(row), "audio" | "refusal");
    let says = ledger.rows_of(index).any(|row| ledger.kind[row] == Kind::Call || speaks(row));
    if ledger.marked(index, MessageFlag::NoCalls) {
        let words = format!("[] is too short - 'messages.{index}.tool_calls'");
        found.message(index, "empty_tool_calls", words, "leave tool_calls out");
    }
    if ledger.marked(index, MessageFlag::Null) && !says {
        let words = "Invalid value for 'content': expected a string, got null.";
        found.message(
            index,
            "null_content",
            words,
            "give content a string; null stands with tool_calls, audio or a refusal alone",
        );
    }
    if ledger.marked(index, MessageFlag::Empty) {
        let words = format!("[] is too short - 'messages.{index}.content'");
        found.message(index, "empty_content", words, "give content a string or at least one part");
    }
    for row in ledger.rows_of(index).filter(|&row| ledger.has(row, RowFlag::Incomplete)) {
        let words = format!("Missing required parameter in 'messages[{index}]' ({})", ledger.names.get(row));
        found.row(row, "field_required", words, "give each call its id and name, each result its tool_call_id");
    }
}

/// The rule of local models' chat templates: user and assistant take turns.
fn alternation(found: &mut Findings<'_>, index: usize) {
    let role = found.ledger.role[index];
    let spoken = matches!(role, Role::User | Role::Assistant);
    if spoken && index > 0 && found.ledger.role[index - 1] == role {
        let words =
            "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...";
        found.message(index, "role_alternation", words, "merge the two messages");
    }
}

/// C2: a result without a call in front of its run of results.
fn orphan(found: &mut Findings<'_>, index: usize) {
    let words =
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    found.message(index, "orphan_tool", words, "drop the result, or put its call directly before it");
}

/// C1, C3: a message's calls are answered directly behind it, each once. Gives the message to go on with.
fn answers(found: &mut Findings<'_>, index: usize, options: Options) -> usize {
    let ledger = found.ledger;
    let asked: Vec<(usize, &str)> = ledger
        .rows_of(index)
        .filter(|&row| ledger.kind[row] == Kind::Call)
        .map(|row| (row, ledger.ids.get(row)))
        .collect();
    let mut once: HashSet<&str> = HashSet::new();
    for (row, id) in asked.iter().filter(|(_, id)| !once.insert(id)) {
        let words = format!("Duplicate value for 'tool_calls[].id' of '{id}' in message[{index}].");
        found.row(*row, "duplicate_tool_call_id", words, "give each call an id of its own");
    }
    let known: HashSet<&str> = asked.iter().map(|(_, id)| *id).collect();
    let mut answered: HashSet<&str> = HashSet::new();
    let mut next = index + 1;
    while !asked.is_empty() && next < ledger.messages() && ledger.role[next] == Role::Tool {
        for row in ledger.rows_of(next) {
            let id = ledger.ids.get(row);
            if !known.contains(id) {
                orphan(found, next);
            } else if !answered.insert(id) {
                let words = format!("Duplicate value for 'tool_call_id' of '{id}' in message[{next}].");
                found.row(row, "duplicate_tool_call_id", words, "keep one result for each call");
            }
        }
        next += 1;
    }
    let open: Vec<&str> = asked.iter().map(|(_, id)| *id).filter(|id| !answered.contains(id)).collect();
    let runs = options.in_flight && next == ledger.messages() && index == running(ledger);
    if !open.is_empty() && !runs {
        let words = format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        );
        found.message(index, "tool_call_without_result", words, "add a tool message for each call, or drop the call");
    }
    next
}
