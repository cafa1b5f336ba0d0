//! Turns: runs of messages of one role, as providers that merge neighbours see them.
//!
//! A system message between them belongs to the turn that it follows: it parts no call from its result.

use crate::ledger::{Kind, Ledger, Role};

/// A run of messages of one role: first and behind last.
#[derive(Clone, Copy)]
pub struct Turn {
    pub role: Role,
    pub start: usize,
    pub stop: usize,
}

/// All turns, in order.
pub fn turns(ledger: &Ledger) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (index, &role) in ledger.role.iter().enumerate() {
        match turns.last_mut() {
            Some(turn) if turn.role == role || role == Role::System => turn.stop = index + 1,
            _ => turns.push(Turn { role, start: index, stop: index + 1 }),
        }
    }
    turns
}

/// The rows of a turn.
pub fn rows(ledger: &Ledger, turn: Turn) -> std::ops::Range<usize> {
    ledger.first[turn.start] as usize..ledger.first[turn.stop] as usize
}

/// Whether a turn of the user holds results of client tools and nothing else.
pub fn only_results(ledger: &Ledger, turn: Turn) -> bool {
    let is_result = |row| ledger.kind[row] == Kind::Result || ledger.role[ledger.owner[row] as usize] == Role::System;
    turn.role == Role::User && rows(ledger, turn).all(is_result)
}

/// The block's type, as the provider calls it.
pub fn name(ledger: &Ledger, row: usize) -> &str {
    match ledger.kind[row] {
        Kind::Call => "tool_use",
        Kind::ServerCall => "server_tool_use",
        _ => ledger.names.get(row),
    }
}
