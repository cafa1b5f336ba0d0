//! `OpenAI` Responses: rules P1 to P4.

use std::collections::HashMap;

use super::{Findings, Options, changed_compactions, partner, repeated};
use crate::ledger::{Kind, Ledger, MessageFlag, Role, RowFlag};
use crate::shape::items::{self, COMPACTION_TRIGGER, CONFIGURATION_UPDATE};

pub fn check(found: &mut Findings<'_>, options: Options, original: Option<&Ledger>) {
    let ledger = found.ledger;
    if ledger.messages() == 0 {
        found.message(0, "empty_messages", "[] is too short - 'input'", "send at least one item");
        return;
    }
    let last = running(ledger);
    let running = if options.in_flight { last } else { ledger.rows() };
    let twice = repeated(ledger, |row| ledger.kind[row].is_result());
    for row in 0..ledger.rows() {
        // A program goes on when the calls that it made are answered.
        let open = if ledger.names.get(row) == "program" { last } else { running };
        item(found, row, open, twice.binary_search(&row).is_ok());
    }
    for index in 0..ledger.messages() {
        message(found, index, options);
    }
    controls(found);
    for row in repeated(ledger, |row| ledger.kind[row].is_call()) {
        let words = format!("Duplicate function call with call_id {}.", ledger.ids.get(row));
        found.row(row, "duplicate_call_id", words, "give each call an id of its own");
    }
    for row in twice {
        let words = format!("Duplicate function call output with call_id {}.", ledger.ids.get(row));
        found.row(row, "duplicate_output", words, "keep one output for each call");
    }
    if let Some(original) = original {
        stored(found, original);
        for row in changed_compactions(ledger, original) {
            let words = "The encrypted content could not be verified.";
            found.row(row, "compaction_modified", words, "send the compaction item as it came");
        }
    }
}

/// The first row of what the model said last: while tools run, its calls may be open.
fn running(ledger: &Ledger) -> usize {
    let said = |m: usize| matches!(ledger.role[m], Role::User | Role::System); // a file too, which is no tool's item
    let opaque = |m: usize| ledger.rows_of(m).next().is_some_and(|row| ledger.kind[row] == Kind::Opaque);
    let hosted = |m: usize| !said(m) && opaque(m);
    let modelled = |m: usize| ledger.role[m] == Role::Assistant || hosted(m);
    let begins = |m: &usize| {
        let answer = ledger.role[*m] == Role::Tool && !hosted(*m);
        !answer && (!modelled(*m) || *m == 0 || !modelled(*m - 1))
    };
    (0..ledger.messages()).rev().find(begins).map_or(0, |m| ledger.rows_of(m).start)
}

/// The calls that the provider stores, each with the id of the reasoning that stands before it and its neighbours.
fn led(ledger: &Ledger) -> Vec<(usize, Option<&str>)> {
    let mut reason = None;
    let mut found = Vec::new();
    for row in 0..ledger.rows() {
        if !ledger.kind[row].is_call() {
            let id = ledger.ids.get(row);
            reason = (ledger.kind[row] == Kind::Thinking && !id.is_empty()).then_some(id);
        } else if ledger.has(row, RowFlag::Stored) {
            found.push((row, reason));
        }
    }
    found
}

/// P4: a call that the provider stores is sent with the reasoning that it came with.
fn stored(found: &mut Findings<'_>, original: &Ledger) {
    let ledger = found.ledger;
    let wanted: HashMap<&str, &str> =
        led(original).into_iter().filter_map(|(row, reason)| Some((original.ids.get(row), reason?))).collect();
    for (row, given) in led(ledger) {
        let Some(&reason) = wanted.get(ledger.ids.get(row)) else { continue };
        if given != Some(reason) {
            let (id, name) = (ledger.ids.get(row), "function_call");
            let words =
                format!("Item '{id}' of type '{name}' was provided without its required 'reasoning' item: '{reason}'.");
            let fix = "keep the reasoning in front of its call, or drop the ids of both";
            found.row(row, "function_call_without_reasoning", words, fix);
        }
    }
}

/// P1, P2: calls and outputs come in pairs, the call first.
fn item(found: &mut Findings<'_>, row: usize, running: usize, twice: bool) {
    let ledger = found.ledger;
    let id = ledger.ids.get(row);
    if ledger.has(row, RowFlag::Incomplete) {
        let words = format!("Missing required parameter in an item of type '{}'", ledger.names.get(row));
        found.row(row, "field_required", words, "give calls and outputs their call_id, text its text");
        return;
    }
    let paired = partner(ledger, row).is_some_and(|other| answers(ledger, row.min(other), row.max(other)));
    if ledger.kind[row].is_call() && !paired && row < running {
        let words = format!("No tool output found for function call {id}.");
        found.row(row, "call_without_output", words, "add the call's output, or drop the call");
    }
    if ledger.kind[row].is_result() && !paired && !twice {
        let words = format!("No tool call found for function call output with call_id {id}.");
        found.row(row, "output_without_call", words, "drop the output, or put its call before it");
    }
}

/// Whether an output is of a type that answers a call. The row of a call has its tool's name, or its type where it names no
/// tool; a function may have a type's name.
fn answers(ledger: &Ledger, call: usize, output: usize) -> bool {
    let (name, given) = (ledger.names.get(call), ledger.names.get(output));
    if ledger.kind[call] != Kind::Call {
        return true;
    }
    if ledger.has(call, RowFlag::FreeText) {
        return given == "custom_tool_call_output";
    }
    given == "function_call_output"
        || match items::find(name) {
            Some(known) => known.body.is_none() && known.answers.contains(&given),
            None => name.ends_with("_call"), // of a type that the table does not have
        }
}

/// P6: a trigger ends the list; the settings behind a compaction stay there.
fn controls(found: &mut Findings<'_>) {
    let ledger = found.ledger;
    let mut compacted: Option<usize> = None; // the compaction that the model has not answered yet
    for index in 0..ledger.messages() {
        let Some(row) = ledger.rows_of(index).next() else { continue };
        let name = ledger.names.get(row);
        if ledger.kind[row] == Kind::Compaction {
            compacted = Some(index);
        } else if name == COMPACTION_TRIGGER && index + 1 < ledger.messages() {
            let words = "The 'compaction_trigger' item must be the final input item.";
            found.message(index, "compaction_trigger_position", words, "move the item to the end, or drop it");
        } else if name == CONFIGURATION_UPDATE {
            if compacted.take().is_some_and(|compaction| compaction + 1 < index) {
                let words = "A 'configuration_update' item must directly follow the 'compaction' item it came with.";
                let fix = "move the item behind the compaction";
                found.message(index, "configuration_update_parted", words, fix);
            }
        } else if ledger.role[index] == Role::Assistant {
            compacted = None;
        }
    }
}

/// P3: reasoning is followed by what it led to. And no message is empty or of an unknown role.
fn message(found: &mut Findings<'_>, index: usize, options: Options) {
    let ledger = found.ledger;
    if ledger.role[index] == Role::Other {
        let words = "Invalid value: role. Supported values are: 'assistant', 'system', 'developer', and 'user'.";
        found.message(index, "unknown_role", words, "use one of the roles named");
    }
    if ledger.marked(index, MessageFlag::Null) || ledger.marked(index, MessageFlag::Empty) {
        let words = format!("Invalid value for 'input[{index}].content': expected a string or a non-empty list.");
        found.message(index, "empty_content", words, "give content a string or at least one part");
    }
    let reasons = ledger.rows_of(index).next().is_some_and(|row| ledger.kind[row] == Kind::Thinking);
    let last = index + 1 == ledger.messages();
    let trigger = |index: usize| ledger.rows_of(index).any(|row| ledger.names.get(row) == COMPACTION_TRIGGER);
    let followed = !last && (ledger.role[index + 1] == Role::Assistant || trigger(index + 1));
    if reasons && !followed && !(last && options.in_flight) {
        let id = ledger.rows_of(index).next().map_or("", |row| ledger.ids.get(row));
        let words = format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
        found.message(index, "reasoning_without_item", words, "drop the reasoning, or keep the item behind it");
    }
}
