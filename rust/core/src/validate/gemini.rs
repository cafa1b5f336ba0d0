//! Gemini: calls and responses by position, nothing empty.

use super::{Findings, Options, partner};
use crate::ledger::{Kind, Ledger, MessageFlag, Role, RowFlag};

pub fn check(found: &mut Findings<'_>, options: Options) {
    let ledger = found.ledger;
    if ledger.messages() == 0 {
        let words = "* GenerateContentRequest.contents: contents is not specified";
        found.message(0, "empty_messages", words, "send at least one content");
        return;
    }
    for index in 0..ledger.messages() {
        role(found, index, options);
        calls(found, index, options);
        responses(found, index);
        parts(found, index);
    }
    if options.signatures {
        signatures(found);
    }
    let last = ledger.messages() - 1;
    if !options.prefill && ledger.role[last] == Role::Assistant && count(ledger, last, Kind::Call) == 0 {
        let words = "Please ensure that multiturn requests ends with a user role or a function response.";
        found.message(last, "prefill_unsupported", words, "end with a user content");
    }
}

/// The first call of each step of the current turn is signed. The turn begins with what the user said last.
fn signatures(found: &mut Findings<'_>) {
    let ledger = found.ledger;
    let says = |&index: &usize| {
        ledger.role[index] == Role::User && ledger.rows_of(index).any(|row| ledger.kind[row] != Kind::Result)
    };
    let start = (0..ledger.messages()).rev().find(says).unwrap_or(0);
    for index in (start..ledger.messages()).filter(|&index| ledger.role[index] == Role::Assistant) {
        let first = ledger.rows_of(index).find(|&row| ledger.kind[row] == Kind::Call);
        if let Some(row) = first.filter(|&row| !ledger.has(row, RowFlag::Signed)) {
            let words = format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}` , position {}.",
                ledger.names.get(row),
                index + 1
            );
            found.row(row, "thought_signature_missing", words, "send each part of the model's as it came");
        }
    }
}

fn role(found: &mut Findings<'_>, index: usize, options: Options) {
    let ledger = found.ledger;
    let role = ledger.role[index];
    if !matches!(role, Role::User | Role::Assistant) {
        let code = if role == Role::System { "system_role" } else { "unknown_role" };
        let words = "Please use a valid role: user, model.";
        found.message(index, code, words, "use \"user\" or \"model\"; system text is systemInstruction");
    } else if options.alternation && index > 0 && ledger.role[index - 1] == role {
        let words = "Please ensure that multiturn requests alternate between user and model.";
        found.message(index, "role_alternation", words, "merge the two contents");
    }
}

fn count(ledger: &Ledger, index: usize, kind: Kind) -> usize {
    ledger.rows_of(index).filter(|&row| ledger.kind[row] == kind).count()
}

/// A content with calls stands behind the user, and the next one has as many responses.
fn calls(found: &mut Findings<'_>, index: usize, options: Options) {
    let ledger = found.ledger;
    let asked = count(ledger, index, Kind::Call);
    if asked == 0 {
        return;
    }
    if ledger.role[index] != Role::Assistant {
        let words = "functionCall parts can only be in contents with the role model.";
        found.message(index, "block_role", words, "move the call into a content of the model");
        return;
    }
    if index == 0 || ledger.role[index - 1] != Role::User {
        let words = "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
        found.message(index, "function_call_position", words, "merge the content into the one of the model before it");
    }
    let next = index + 1;
    let given = if next < ledger.messages() { count(ledger, next, Kind::Result) } else { 0 };
    let running = options.in_flight
        && next + 1 >= ledger.messages()
        && given <= asked
        && (next == ledger.messages() || ledger.rows_of(next).all(|row| ledger.kind[row] == Kind::Result));
    if given != asked && !running {
        let words = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
        let index = if given > 0 { next } else { index };
        found.message(index, "function_response_count", words, "give each call one response, in the next content");
    } else if given > 0 {
        names(found, index);
    }
}

/// Responses answer the calls: each that has an id by that, each that has none by the function's name.
fn names(found: &mut Findings<'_>, index: usize) {
    let ledger = found.ledger;
    let asked = ledger.rows_of(index);
    let unasked = ledger
        .rows_of(index + 1)
        .filter(|&row| ledger.kind[row] == Kind::Result)
        .filter(|&row| partner(ledger, row).is_none_or(|call| !asked.contains(&call)))
        .map(|row| ledger.ids.get(row))
        .min();
    if let Some(name) = unasked {
        let words = format!(
            "Please ensure that function response parts match the function call parts of the function call turn: {name}."
        );
        found.message(index + 1, "function_response_name", words, "name the function; an id must be that of the call");
    }
}

/// Responses stand directly behind their calls.
fn responses(found: &mut Findings<'_>, index: usize) {
    let ledger = found.ledger;
    if count(ledger, index, Kind::Result) == 0 {
        return;
    }
    if index == 0 || count(ledger, index - 1, Kind::Call) == 0 || ledger.role[index - 1] != Role::Assistant {
        let words = "Please ensure that function response turn comes immediately after a function call turn.";
        found.message(index, "function_response_position", words, "drop the response, or put its call before it");
    } else if ledger.role[index] != Role::User {
        let words = "functionResponse parts can only be in contents with the role user.";
        found.message(index, "tool_result_role", words, "move the response into a content of the user");
    }
}

fn parts(found: &mut Findings<'_>, index: usize) {
    let ledger = found.ledger;
    if ledger.marked(index, MessageFlag::Null) || ledger.marked(index, MessageFlag::Empty) {
        let words = format!("* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.");
        found.message(index, "empty_content", words, "leave the content out, or say something");
    }
    for row in ledger.rows_of(index) {
        let place = row - ledger.first[index] as usize;
        if ledger.has(row, RowFlag::Incomplete) {
            let words = format!(
                "* GenerateContentRequest.contents[{index}].parts[{place}] ({}): a required field is missing",
                ledger.names.get(row)
            );
            found.row(row, "field_required", words, "give the part all fields that it asks for");
        } else if ledger.kind[row] == Kind::Text && ledger.has(row, RowFlag::Empty) && !ledger.has(row, RowFlag::Signed)
        {
            let words = format!(
                "* GenerateContentRequest.contents[{index}].parts[{place}].data: required oneof field 'data' must have one initialized field"
            );
            found.row(row, "empty_text_block", words, "leave the part out");
        }
    }
}
