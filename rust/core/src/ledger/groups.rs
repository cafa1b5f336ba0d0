//! Which rows belong together, and where a transcript can be cut without parting them.

use std::collections::HashMap;

use super::{Kind, Ledger, MessageFlag, Role, UNPAIRED};

/// For each row that has an id, the first row that has the same one; for all others the number of rows. Ids are compared
/// here and nowhere else: what asks for them looks into a column.
#[must_use]
pub fn same_id(ledger: &Ledger) -> Vec<u32> {
    let none = u32::try_from(ledger.rows()).unwrap_or(u32::MAX);
    let calls = ledger.kind.iter().filter(|kind| kind.is_call()).count();
    let mut first: HashMap<&str, u32> = HashMap::with_capacity(calls);
    let mut same_id: Vec<u32> = Vec::with_capacity(ledger.rows());
    for row in 0..ledger.rows() {
        let id = ledger.ids.get(row);
        if id.is_empty() {
            same_id.push(none);
            continue;
        }
        // Nearly every result stands right behind its call: to hash all that came before costs ten such comparisons.
        let near = if ledger.kind[row].is_result() { row.saturating_sub(NEAR) } else { row };
        let twin = match (near..row).rev().find(|before| ledger.ids.get(*before) == id) {
            Some(before) => same_id[before],
            None => *first.entry(id).or_insert(u32::try_from(row).unwrap_or(none)),
        };
        same_id.push(twin);
    }
    same_id
}

/// Rows that a result looks back for its call.
const NEAR: usize = 4;

/// Pairs calls with their results, by id: the latest open call of that id before the result.
///
/// Server tools pair with server results only, client tools with client results.
#[must_use]
pub fn pairs(ledger: &Ledger) -> Vec<i32> {
    let rows = ledger.rows();
    let mut pair = vec![UNPAIRED; rows];
    // By id the latest open call, and by call the one that was open before it.
    let mut open = [vec![UNPAIRED; rows + 1], vec![UNPAIRED; rows + 1]];
    let mut before = vec![UNPAIRED; rows];
    for (row, kind) in ledger.kind.iter().enumerate() {
        if !kind.is_call() && !kind.is_result() {
            continue;
        }
        let server = matches!(kind, super::Kind::ServerCall | super::Kind::ServerResult);
        let latest = &mut open[usize::from(server)][ledger.same_id[row] as usize];
        if kind.is_call() {
            before[row] = std::mem::replace(latest, number(row));
        } else if let Ok(call) = usize::try_from(*latest) {
            *latest = before[call];
            pair[call] = number(row);
            pair[row] = number(call);
        }
    }
    pair
}

fn number(row: usize) -> i32 {
    i32::try_from(row).unwrap_or(UNPAIRED) // 2^31 rows would need 100 GB of columns
}

/// Whether each cut parts no group; one entry more than there are messages.
///
/// A group is an assistant message with its calls and all their results, and a message with what it is glued to. A call
/// without its result is open to the end: no cut behind it is safe, the one at the end included. A cut inside a turn that
/// thinks behind it has to leave the thinking first.
#[must_use]
pub fn safe(ledger: &Ledger) -> Vec<bool> {
    held(ledger, 0)
}

/// [`safe`] where calls before message `live` wait for no result: they hold no cut.
pub(super) fn held(ledger: &Ledger, live: usize) -> Vec<bool> {
    let n = ledger.messages();
    let mut opens = vec![0i32; n + 2]; // +1 where a span begins to straddle cuts, -1 where it stops
    for (row, kind) in ledger.kind.iter().enumerate() {
        if !kind.is_call() {
            continue;
        }
        let from = ledger.owner[row] as usize;
        let to = match usize::try_from(ledger.pair[row]) {
            Ok(result) => ledger.owner[result] as usize,
            Err(_) if from < live => continue,
            Err(_) => n,
        };
        opens[from + 1] += 1;
        opens[to + 1] -= 1;
    }
    for (message, _) in ledger.marks.iter().enumerate().filter(|(m, _)| ledger.marked(*m, MessageFlag::Glued)) {
        opens[message + 1] += 1;
        opens[message + 2] -= 1;
    }
    let mut straddling = 0;
    let mut safe: Vec<bool> = opens[..=n]
        .iter()
        .map(|change| {
            straddling += change;
            straddling == 0
        })
        .collect();
    begin_with_thinking(ledger, &mut safe);
    safe
}

/// A turn that thinks has to begin with that: no cut inside it may leave something else in front of its thinking.
fn begin_with_thinking(ledger: &Ledger, safe: &mut [bool]) {
    if !ledger.marks.iter().any(|marks| marks & MessageFlag::Thinks as u16 != 0) {
        return;
    }
    let speaks = |message: usize| ledger.role[message] == Role::Assistant;
    let mut thinks = false; // from the cut on, in the turn
    for cut in (1..ledger.messages()).rev() {
        thinks = speaks(cut) && (thinks || ledger.marked(cut, MessageFlag::Thinks));
        let begins = || ledger.rows_of(cut).next().is_some_and(|row| ledger.kind[row] == Kind::Thinking);
        if thinks && speaks(cut - 1) && !begins() {
            safe[cut] = false;
        }
    }
}
