//! Anthropic Messages: rules A1 to A20 as far as a list alone can break them.
//!
//! The provider merges neighbours of one role, so pairs and order are judged on turns: runs of messages of one role.

use super::turns::{Turn, name, only_results, rows, turns};
use super::{Findings, Options, changed_compactions, partner, repeated, running, thinking};
use crate::ledger::{Kind, Ledger, MessageFlag, Role, RowFlag};
use trimtab_tokens::cancel;

pub fn check(found: &mut Findings<'_>, options: Options, original: Option<&Ledger>) {
    let ledger = found.ledger;
    if ledger.messages() == 0 {
        found.message(
            0,
            "empty_messages",
            "messages: at least one message is required",
            "send at least one user message",
        );
        return;
    }
    let turns = turns(ledger);
    roles(found, options);
    if options.alternation {
        alternation(found);
    }
    contents(found);
    cancel::poll_now();
    results(found, &turns);
    calls(found, &turns, options);
    cancel::poll_now();
    servers(found, &turns, options);
    if !options.container {
        container(found);
    }
    thinking::check(found, &turns, options);
    cancel::poll_now();
    if let Some(original) = original {
        thinking::bound(found, &turns, original, options);
        for row in changed_compactions(ledger, original) {
            let words = "`compaction` blocks cannot be modified. These blocks must remain as they were in the original response.";
            found.row(row, "compaction_modified", words, "send the block as it came");
        }
    }
    end(found, options);
}

/// A8: where the model takes system messages, each stands behind the user, or behind a server call, and in front of the
/// assistant. One that has settings alone may stand anywhere.
fn system(found: &mut Findings<'_>, index: usize, options: Options) {
    let ledger = found.ledger;
    let unsent = |index: usize| ledger.marked(index, MessageFlag::Settings) && ledger.rows_of(index).is_empty();
    if options.system_role == Some(false) {
        let words = "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.";
        found.message(index, "system_role", words, "pass the text as the top-level `system`");
        return;
    }
    if options.system_role.is_none() && options.notes {
        let words = "role 'system' is not supported on some models";
        found.message(
            index,
            "system_role_unknown",
            words,
            "name the model, or pass the text as the top-level `system`",
        );
    }
    let headers = [
        (options.clear_at, ledger.marked(index, MessageFlag::Transient), "clear_at"),
        (options.output_config, ledger.marked(index, MessageFlag::Settings), "output_config"),
        (options.tool_changes, ledger.rows_of(index).any(|row| is_tool_change(ledger, row)), "tool_addition"),
    ];
    for (_, _, field) in headers.into_iter().filter(|(sent, used, _)| *used && !sent) {
        let words = format!("messages.{index}.{field}: Extra inputs are not permitted");
        found.message(index, "beta_required", words, "send the beta header of the field, or leave it out");
    }
    for row in ledger.rows_of(index) {
        if ledger.kind[row] != Kind::Text && !is_tool_change(ledger, row) {
            let words = format!("messages: `{}` blocks cannot be in `system` messages", name(ledger, row));
            found.row(row, "block_role", words, "move the block into a message of the user");
        }
    }
    if unsent(index) {
        return;
    }
    let before = (0..index).rev().find(|&other| !unsent(other));
    let behind = (index + 1..ledger.messages()).find(|&other| !unsent(other));
    let Some(before) = before else {
        let words = format!(
            "messages.{index}: use the top-level 'system' parameter for the initial system prompt; the directive-only form (content: [] with output_config) is accepted at any position"
        );
        found.message(index, "system_role", words, "pass the text as the top-level `system`");
        return;
    };
    let last = ledger.rows_of(before).last().map(|row| ledger.kind[row]);
    let follows = match ledger.role[before] {
        Role::User => true,
        Role::Assistant => matches!(last, Some(Kind::ServerCall | Kind::ServerResult)),
        _ => false,
    };
    if !follows || behind.is_some_and(|other| ledger.role[other] != Role::Assistant) {
        let words = "messages: a `system` message must directly follow a `user` message or a server tool use, and be the last one or be followed by an `assistant` message";
        found.message(index, "system_position", words, "move it behind the user's next message; merge neighbours");
    }
}

fn is_tool_change(ledger: &Ledger, row: usize) -> bool {
    matches!(ledger.names.get(row), "tool_addition" | "tool_removal")
}

/// A4, A6: who may speak, and first.
fn roles(found: &mut Findings<'_>, options: Options) {
    let ledger = found.ledger;
    for (index, role) in ledger.role.iter().enumerate() {
        match role {
            Role::System => system(found, index, options),
            Role::Other | Role::Tool => found.message(
                index,
                "unknown_role",
                "messages: role: Input should be 'user' or 'assistant'",
                "use \"user\" or \"assistant\"",
            ),
            Role::User | Role::Assistant => {}
        }
    }
    let leads = ledger.kind.first() == Some(&Kind::Compaction) && ledger.has(0, RowFlag::Hides);
    let first = ledger.role.iter().position(|role| *role != Role::System).unwrap_or(0);
    if ledger.role[first] == Role::Assistant && !leads {
        found.message(
            first,
            "first_message_role",
            "messages: first message must use the \"user\" role",
            "put a user message in front",
        );
    }
    for row in repeated(ledger, |row| ledger.kind[row].is_call()) {
        found.row(row, "duplicate_tool_use_id", "`tool_use` ids must be unique", "give each call an id of its own");
    }
}

/// A7: where neighbours of one role are not merged.
fn alternation(found: &mut Findings<'_>) {
    let ledger = found.ledger;
    for index in 1..ledger.messages() {
        if ledger.role[index] == ledger.role[index - 1] {
            let role = if ledger.role[index] == Role::User { "user" } else { "assistant" };
            let words = format!(
                "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles in a row"
            );
            found.message(index, "role_alternation", words, "merge the two messages");
        }
    }
}

/// A9: nothing empty, and nothing missing.
fn contents(found: &mut Findings<'_>) {
    let ledger = found.ledger;
    let last = ledger.messages() - 1;
    for index in 0..=last {
        let settings = ledger.role[index] == Role::System && ledger.marked(index, MessageFlag::Settings);
        let optional = settings || (index == last && ledger.role[index] == Role::Assistant);
        let mut rows = ledger.rows_of(index);
        if !rows.is_empty() && rows.clone().all(|row| is_plain(ledger, row)) {
            continue; // nearly every message is that
        }
        if ledger.marked(index, MessageFlag::Null) && !settings {
            let words = "messages: content: Input should be a valid string or list";
            found.message(index, "null_content", words, "give content a string or at least one block");
            continue;
        }
        let empty = rows.is_empty()
            || (ledger.marked(index, MessageFlag::Plain) && rows.all(|row| ledger.has(row, RowFlag::Empty)));
        if empty && !optional {
            let words =
                "messages: all messages must have non-empty content except for the optional final assistant message";
            found.message(index, "empty_content", words, "leave the message out, or say something");
            continue;
        }
        for row in ledger.rows_of(index).filter(|_| !empty) {
            block(found, row);
        }
    }
}

/// Whether there is nothing to say of a row by itself.
fn is_plain(ledger: &Ledger, row: usize) -> bool {
    const ODD: u16 =
        RowFlag::Incomplete as u16 | RowFlag::Empty as u16 | RowFlag::Blank as u16 | RowFlag::EmptyCached as u16;
    matches!(ledger.kind[row], Kind::Text | Kind::Result) && ledger.flags[row] & ODD == 0
}

fn block(found: &mut Findings<'_>, row: usize) {
    let ledger = found.ledger;
    let kind = ledger.kind[row];
    let leads = row == 0 && ledger.has(row, RowFlag::Hides); // a compaction may lead the user's message too
    let mine = !leads && (kind.is_call() || matches!(kind, Kind::Thinking | Kind::ServerResult | Kind::Compaction));
    if mine && ledger.role[ledger.owner[row] as usize] == Role::User {
        let words = format!("messages: `{}` blocks can only be in `assistant` messages", name(ledger, row));
        found.row(row, "block_role", words, "move the block into an assistant message, or drop it");
    }
    if kind == Kind::Thinking && ledger.has(row, RowFlag::Cached) {
        let words = "cache_control cannot be set for thinking blocks";
        found.row(row, "cache_control_on_thinking", words, "set the marker on another block");
    }
    if ledger.has(row, RowFlag::EmptyCached) {
        let words = "cache_control cannot be set for empty text blocks";
        found.row(row, "cache_control_on_empty_text", words, "set the marker on another block");
    }
    if kind == Kind::Compaction && ledger.has(row, RowFlag::Incomplete) {
        let words = "`compaction` blocks: content: Input should be a non-empty string or null";
        found.row(row, "empty_compaction", words, "leave the block out");
    } else if ledger.has(row, RowFlag::Incomplete) {
        let message = format!("{}: a required field is missing or of the wrong type", ledger.names.get(row));
        found.row(row, "field_required", message, "give the block all fields that its type asks for");
    } else if ledger.kind[row] == Kind::Text && ledger.has(row, RowFlag::Empty) {
        found.row(row, "empty_text_block", "messages: text content blocks must be non-empty", "leave the block out");
    } else if ledger.kind[row] == Kind::Text && ledger.has(row, RowFlag::Blank) {
        let words = "messages: text content blocks must contain non-whitespace text";
        found.row(row, "blank_text_block", words, "leave the block out");
    }
}

/// A2, A3, A5: results answer the turn before, once each, and come first.
fn results(found: &mut Findings<'_>, turns: &[Turn]) {
    let ledger = found.ledger;
    let mut answered = vec![0; ledger.rows() + 1]; // by id: the last turn with a result of it, counted from 1
    for (n, &turn) in turns.iter().enumerate() {
        let asked = if n > 0 && turns[n - 1].role == Role::Assistant { rows(ledger, turns[n - 1]) } else { 0..0 };
        let mut other = false;
        for row in rows(ledger, turn) {
            if ledger.kind[row] != Kind::Result {
                other = true;
                continue;
            }
            let (id, twin) = (ledger.ids.get(row), ledger.same_id[row] as usize);
            let is_second = std::mem::replace(&mut answered[twin], n + 1) == n + 1;
            let owed = partner(ledger, row).is_some_and(|call| asked.contains(&call));
            if turn.role != Role::User {
                let words = "messages: `tool_result` blocks can only be in `user` messages";
                found.row(row, "tool_result_role", words, "move the result into a user message");
            } else if is_second {
                let words = format!(
                    "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                );
                found.row(row, "duplicate_tool_result", words, "keep one result for each call");
            } else if !owed {
                let words = format!(
                    "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                );
                found.row(row, "unexpected_tool_use_id", words, "drop the result, or put its call directly before it");
            } else if other {
                let words =
                    format!("{} Each `tool_result` block must come before any other content.", unanswered(&[id]));
                found.row(row, "tool_result_not_first", words, "put results before text in a user message");
            }
        }
    }
}

fn unanswered(ids: &[&str]) -> String {
    format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    )
}

/// A1: each call is answered in the next turn.
fn calls(found: &mut Findings<'_>, turns: &[Turn], options: Options) {
    let ledger = found.ledger;
    let running = running(ledger);
    for (n, &turn) in turns.iter().enumerate().filter(|(_, t)| t.role == Role::Assistant) {
        let answers = turns.get(n + 1).map_or(0..0, |next| rows(ledger, *next));
        // While tools run, the results that are there may be fewer than the calls, but nothing else may follow.
        let open = options.in_flight
            && turn.stop > running
            && n + 2 >= turns.len()
            && answers.clone().all(|row| ledger.kind[row] == Kind::Result);
        let missing: Vec<usize> = rows(ledger, turn)
            .filter(|&row| ledger.kind[row] == Kind::Call && !open)
            .filter(|&row| partner(ledger, row).is_none_or(|result| !answers.contains(&result)))
            .collect();
        if let Some(&first) = missing.first() {
            let ids: Vec<&str> = missing.iter().map(|&row| ledger.ids.get(row)).collect();
            found.row(
                first,
                "tool_use_without_result",
                unanswered(&ids),
                "add a result for each call, or drop the call",
            );
        }
    }
}

/// Whether a server call may stay open over this turn: one of the assistant calls client tools, one of the user has
/// nothing but their results.
fn waits(ledger: &Ledger, turn: Turn) -> bool {
    match turn.role {
        Role::Assistant => rows(ledger, turn).any(|row| ledger.kind[row] == Kind::Call),
        _ => only_results(ledger, turn),
    }
}

/// For each turn, the first one from it on over which no server call may stay open; one entry more than turns.
fn ends(ledger: &Ledger, turns: &[Turn]) -> Vec<usize> {
    let mut ends = vec![turns.len(); turns.len() + 1];
    for (n, &turn) in turns.iter().enumerate().rev() {
        ends[n] = if waits(ledger, turn) { ends[n + 1] } else { n };
    }
    ends
}

/// A19: calls of client tools that a running code execution made are answered in its container.
fn container(found: &mut Findings<'_>) {
    let ledger = found.ledger;
    let mut is_running = false;
    for row in 0..ledger.rows() {
        is_running |= ledger.kind[row] == Kind::ServerCall && partner(ledger, row).is_none();
        if is_running && ledger.kind[row] == Kind::Call && ledger.has(row, RowFlag::FromCode) {
            let words =
                "container_id is required when there are pending tool uses generated by code execution with tools.";
            let fix = "send the container's id with the request; tell validate with container=";
            found.row(row, "container_required", words, fix);
            return;
        }
    }
}

/// A16 to A18: calls that the provider runs have their result in the same turn. One that a paused turn left open may
/// have it later, where nothing but calls and results of client tools stands between the two.
fn servers(found: &mut Findings<'_>, turns: &[Turn], options: Options) {
    let ledger = found.ledger;
    if !ledger.kind.iter().any(|kind| matches!(kind, Kind::ServerCall | Kind::ServerResult)) {
        return;
    }
    let ends = ends(ledger, turns);
    for (n, &turn) in turns.iter().enumerate() {
        for row in rows(ledger, turn) {
            let near = |other: usize| {
                let there = turns.partition_point(|turn| turn.stop <= ledger.owner[other] as usize);
                let between = n.min(there) + 1..n.max(there);
                n == there || (!between.is_empty() && ends[between.start] >= between.end)
            };
            let paired = partner(ledger, row).is_some_and(near);
            if ledger.kind[row] == Kind::ServerResult && !paired && turn.role == Role::Assistant {
                let words = format!(
                    "Each `{}` block must have a corresponding `server_tool_use` block before it.",
                    ledger.names.get(row)
                );
                found.row(row, "server_result_without_use", words, "drop the result, or keep it with its call");
            } else if ledger.kind[row] == Kind::ServerCall && !paired && turn.role == Role::Assistant {
                unresolved(found, row, &turns[n + 1..], turns.get(ends[n + 1]), options);
            }
        }
    }
}

/// Whether nothing but calls and results of the server stands behind a row of the last turn: so a paused answer ends, which
/// goes back as it is.
fn is_paused(ledger: &Ledger, row: usize) -> bool {
    (row + 1..ledger.rows()).all(|row| matches!(ledger.kind[row], Kind::ServerCall | Kind::ServerResult))
}

/// A17: a paused turn may leave a server call open, if only results of client tools follow, or nothing. `end` is the first
/// of the turns behind it that holds anything else.
fn unresolved(found: &mut Findings<'_>, row: usize, behind: &[Turn], end: Option<&Turn>, options: Options) {
    let ledger = found.ledger;
    let mixed = |turn: &Turn| rows(ledger, *turn).any(|r| ledger.kind[r] == Kind::Result);
    match end {
        None if options.in_flight || behind.last().is_some_and(|turn| turn.role == Role::User) => {}
        None if behind.is_empty() && is_paused(ledger, row) => {}
        Some(next) if next.role == Role::User && mixed(next) => {
            let words =
                "While a server tool use is unresolved, the next user message can only hold `tool_result` blocks.";
            let fix = "send the results alone, the text afterwards";
            found.message(next.start, "only_tool_results_allowed", words, fix);
        }
        _ => {
            let (name, id) = (ledger.names.get(row), ledger.ids.get(row));
            let words = format!(
                "`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block"
            );
            found.row(row, "server_tool_without_result", words, "drop the call, or keep it with its result");
        }
    }
}

/// A10: how the list may end.
pub fn end(found: &mut Findings<'_>, options: Options) {
    let ledger = found.ledger;
    let last = ledger.messages() - 1;
    let open = |row: usize| ledger.kind[row].is_call() && partner(ledger, row).is_none();
    let calls = ledger.rows_of(last).any(open);
    if ledger.role[last] != Role::Assistant || calls {
        return;
    }
    let is_paused = ledger.rows_of(last).last().is_some_and(|row| ledger.kind[row] == Kind::ServerResult);
    if !options.prefill && !is_paused {
        let words =
            "This model does not support assistant message prefill. The conversation must end with a user message.";
        found.message(last, "prefill_unsupported", words, "end with a user message");
    }
    if let Some(row) = ledger.rows_of(last).last()
        && ledger.kind[row] == Kind::Text
        && ledger.has(row, RowFlag::Trailing)
        && !ledger.has(row, RowFlag::Blank)
    {
        let words = "messages: final assistant content cannot end with trailing whitespace";
        found.row(row, "final_assistant_whitespace", words, "strip the white space at the end");
    }
}
