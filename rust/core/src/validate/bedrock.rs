//! Amazon Bedrock Converse: strict alternation, and the pairs of Claude's shape in Converse's words.

use super::anthropic::end;
use super::turns::{Turn, rows, turns};
use super::{Findings, Options, partner, repeated, running, thinking};
use crate::ledger::{Kind, Ledger, MessageFlag, Role, RowFlag};

pub fn check(found: &mut Findings<'_>, options: Options, original: Option<&Ledger>) {
    let ledger = found.ledger;
    if ledger.messages() == 0 {
        let words = "A conversation must start with a user message. Try again with a conversation that starts with a user message.";
        found.message(0, "empty_messages", words, "send at least one user message");
        return;
    }
    let turns = turns(ledger);
    tools(found, options);
    roles(found);
    results(found, &turns);
    calls(found, &turns, options);
    contents(found);
    thinking::check(found, &turns, options);
    if let Some(original) = original {
        thinking::bound(found, &turns, original, options);
    }
    end(found, options);
}

/// Tools in the history need their definitions, whether the model is to call one or not.
fn tools(found: &mut Findings<'_>, options: Options) {
    let used = found.ledger.kind.iter().position(|kind| matches!(kind, Kind::Call | Kind::Result));
    if let Some(row) = used.filter(|_| options.tools == Some(false)) {
        let words = "The toolConfig field must be defined when using toolUse and toolResult content blocks.";
        found.row(row, "tool_config_required", words, "send toolConfig with the tools that the history names");
    }
}

fn roles(found: &mut Findings<'_>) {
    let ledger = found.ledger;
    if ledger.role[0] == Role::Assistant {
        let words = "A conversation must start with a user message. Try again with a conversation that starts with a user message.";
        found.message(0, "first_message_role", words, "put a user message in front");
    }
    for (index, role) in ledger.role.iter().enumerate() {
        if !matches!(role, Role::User | Role::Assistant) {
            let code = if *role == Role::System { "system_role" } else { "unknown_role" };
            let words = format!(
                "Value at 'messages.{}.member.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]",
                index + 1
            );
            found.message(index, code, words, "use \"user\" or \"assistant\"; system text stands beside the messages");
        } else if index > 0 && ledger.role[index - 1] == *role {
            let words = "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.";
            found.message(index, "role_alternation", words, "merge the two messages");
        }
    }
    for row in repeated(ledger, |row| ledger.kind[row] == Kind::Call) {
        let words = format!("The toolUse block contains duplicate Ids: {}", ledger.ids.get(row));
        found.row(row, "duplicate_tool_use_id", words, "give each call an id of its own");
    }
}

fn contents(found: &mut Findings<'_>) {
    let ledger = found.ledger;
    for index in 0..ledger.messages() {
        if ledger.marked(index, MessageFlag::Null) || ledger.marked(index, MessageFlag::Empty) {
            let words = format!(
                "The content field in the Message object at messages.{index} is empty. Add a ContentBlock object to the content field and try again."
            );
            found.message(index, "empty_content", words, "leave the message out, or say something");
        }
        for row in ledger.rows_of(index) {
            block(found, index, row);
        }
    }
}

fn block(found: &mut Findings<'_>, index: usize, row: usize) {
    let ledger = found.ledger;
    let place = format!("messages.{index}.content.{}", row - ledger.first[index] as usize);
    if matches!(ledger.kind[row], Kind::Call | Kind::Thinking) && ledger.role[index] == Role::User {
        let kind = if ledger.kind[row] == Kind::Call { "toolUse" } else { "reasoningContent" };
        let words = format!("{kind} blocks at {place} can only be in assistant messages");
        found.row(row, "block_role", words, "move the block into an assistant message, or drop it");
    }
    if ledger.has(row, RowFlag::Incomplete) {
        let words = format!("{place} ({}): a required field is missing or of the wrong type", ledger.names.get(row));
        found.row(row, "field_required", words, "give the block all fields that its type asks for");
    } else if ledger.kind[row] == Kind::Text && ledger.has(row, RowFlag::Blank) {
        let words = format!(
            "The text field in the ContentBlock object at {place} is blank. Add text to the text field, and try again."
        );
        found.row(row, "blank_text_block", words, "leave the block out");
    }
}

/// Results answer the turn before, once each.
fn results(found: &mut Findings<'_>, turns: &[Turn]) {
    let ledger = found.ledger;
    let mut answered = vec![0; ledger.rows() + 1]; // by id: the last turn with a result of it, counted from 1
    for (n, &turn) in turns.iter().enumerate() {
        let asked = if n > 0 && turns[n - 1].role == Role::Assistant { rows(ledger, turns[n - 1]) } else { 0..0 };
        for row in rows(ledger, turn).filter(|&row| ledger.kind[row] == Kind::Result) {
            let (id, index) = (ledger.ids.get(row), ledger.owner[row]);
            let is_second = std::mem::replace(&mut answered[ledger.same_id[row] as usize], n + 1) == n + 1;
            if turn.role != Role::User {
                let words = format!("toolResult blocks at messages.{index}.content can only be in user messages");
                found.row(row, "tool_result_role", words, "move the result into a user message");
            } else if is_second {
                let words = format!("The toolResult blocks at messages.{index}.content contain duplicate Ids: {id}");
                found.row(row, "duplicate_tool_result", words, "keep one result for each call");
            } else if partner(ledger, row).is_none_or(|call| !asked.contains(&call)) {
                let words = format!(
                    "The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn."
                );
                let fix = "drop the result, or put its call directly before it";
                found.row(row, "unexpected_tool_use_id", words, fix);
            }
        }
    }
}

/// Each call is answered in the next turn.
fn calls(found: &mut Findings<'_>, turns: &[Turn], options: Options) {
    let ledger = found.ledger;
    let running = running(ledger);
    for (n, &turn) in turns.iter().enumerate().filter(|(_, t)| t.role == Role::Assistant) {
        let answers = turns.get(n + 1).map_or(0..0, |next| rows(ledger, *next));
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
            let words = format!(
                "Expected toolResult blocks at messages.{}.content for the following Ids: {}",
                turn.stop,
                ids.join(", ")
            );
            found.row(first, "tool_use_without_result", words, "add a result for each call, or drop the call");
        }
    }
}
