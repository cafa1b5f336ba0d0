//! Which rows belong together, and where a transcript can be cut without parting them.

use std::collections::HashMap;
use std::ops::Range;

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

/// Goes on with [`same_id`] where rows from `start` on were added.
pub(super) fn add_ids(ledger: &mut Ledger, start: usize) {
    let [before, none] = [start, ledger.rows()].map(|rows| u32::try_from(rows).unwrap_or(u32::MAX));
    let mut same_id = std::mem::take(&mut ledger.same_id);
    for first in &mut same_id {
        // Written each time: a loop without a branch takes many rows at once.
        *first = if *first == before { none } else { *first };
    }
    for row in start..ledger.rows() {
        let id = ledger.ids.get(row);
        let near = || (row.saturating_sub(NEAR)..row).rev().find(|other| ledger.ids.get(*other) == id);
        let first = || ledger.ids.position(id).filter(|first| *first < row);
        let twin = if id.is_empty() { None } else { near().or_else(first) };
        let own = if id.is_empty() { none } else { u32::try_from(row).unwrap_or(none) };
        same_id.push(twin.map_or(own, |twin| same_id[twin]));
    }
    ledger.same_id = same_id;
}

/// Goes on with [`pairs`] where rows from `start` on were added, the first of a message.
pub(super) fn add_pairs(ledger: &mut Ledger, start: usize) {
    let mut pair = std::mem::take(&mut ledger.pair);
    pair.resize(ledger.rows(), UNPAIRED);
    let from = ledger.owner.get(start).map_or(ledger.messages(), |message| *message as usize);
    let mut turn = last_turn(ledger, from);
    for message in from..ledger.messages() {
        for row in ledger.rows_of(message).filter(|row| ledger.kind[*row].is_result()) {
            let wanted = if ledger.kind[row] == Kind::ServerResult { Kind::ServerCall } else { Kind::Call };
            let is_its = |call: &usize| {
                ledger.kind[*call] == wanted && pair[*call] == UNPAIRED && ledger.same_id[*call] == ledger.same_id[row]
            };
            if let Some(call) = (0..row).rev().find(is_its) {
                pair[call] = number(row);
                pair[row] = number(call);
            }
        }
        turn = pair_by_name(ledger, &mut pair, message, turn);
    }
    ledger.pair = pair;
}

/// Goes on with [`safe`] where messages from `start` on were added.
pub(super) fn add_cuts(ledger: &mut Ledger, start: usize) {
    let mut safe = std::mem::take(&mut ledger.safe);
    // Groups that are open at the old end, or were until now, begin at its last safe cut or behind it.
    let from = (0..=start).rfind(|cut| safe[*cut]).unwrap_or(0);
    safe.truncate(from);
    safe.extend(straddled(ledger, from, 0));
    begin_with_thinking(ledger, &mut safe, from);
    ledger.safe = safe;
}

/// Pairs calls with their results, by id: the latest open call of that id before the result. A result that has no id but its
/// function's name (Gemini) takes the first call of that name which the results beside it, by their ids, leave open in the
/// model's turn before it.
///
/// Server tools pair with server results only, client tools with client results.
#[must_use]
pub fn pairs(ledger: &Ledger) -> Vec<i32> {
    let rows = ledger.rows();
    let mut pair = vec![UNPAIRED; rows];
    // By id the latest open call, and by call the one that was open before it.
    let mut open = [vec![UNPAIRED; rows + 1], vec![UNPAIRED; rows + 1]];
    let mut before = vec![UNPAIRED; rows];
    let mut turn = 0..0;
    for message in 0..ledger.messages() {
        for row in ledger.rows_of(message).filter(|row| ledger.kind[*row].is_of_tool()) {
            let kind = ledger.kind[row];
            let server = matches!(kind, Kind::ServerCall | Kind::ServerResult);
            let latest = &mut open[usize::from(server)][ledger.same_id[row] as usize];
            if kind.is_call() {
                before[row] = std::mem::replace(latest, number(row));
                continue;
            }
            while let Ok(call) = usize::try_from(*latest) {
                *latest = before[call];
                if pair[call] == UNPAIRED {
                    pair[call] = number(row);
                    pair[row] = number(call);
                    break;
                }
            }
        }
        turn = pair_by_name(ledger, &mut pair, message, turn);
    }
    pair
}

/// Pairs the results of a message that have a name in place of an id; `turn` has the rows of the model's turn before it.
/// Returns those of the turn before the next message.
fn pair_by_name(ledger: &Ledger, pair: &mut [i32], message: usize, turn: Range<usize>) -> Range<usize> {
    let rows = ledger.rows_of(message);
    if ledger.role[message] == Role::Assistant {
        let goes_on = message > 0 && ledger.role[message - 1] == Role::Assistant;
        return if goes_on { turn.start..rows.end } else { rows };
    }
    // In other shapes a result's name is its type, and its role the tool's where it is a message of its own.
    let is_named = |row: usize| {
        let id = ledger.ids.get(row);
        ledger.kind[row] == Kind::Result && !id.is_empty() && id == ledger.names.get(row)
    };
    for row in rows {
        if ledger.role[message] != Role::User || pair[row] != UNPAIRED || !is_named(row) {
            continue;
        }
        let is_its = |call: &usize| {
            ledger.kind[*call] == Kind::Call
                && pair[*call] == UNPAIRED
                && ledger.names.get(*call) == ledger.names.get(row)
        };
        if let Some(call) = turn.clone().find(is_its) {
            pair[call] = number(row);
            pair[row] = number(call);
        }
    }
    turn
}

/// The rows of the model's last turn in front of a message.
fn last_turn(ledger: &Ledger, message: usize) -> Range<usize> {
    let speaks = |message: usize| ledger.role[message] == Role::Assistant;
    let stop = (0..message).rfind(|m| speaks(*m)).map_or(0, |last| last + 1);
    let start = (0..stop).rfind(|m| !speaks(*m)).map_or(0, |other| other + 1);
    ledger.first[start] as usize..ledger.first[stop] as usize
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
    let mut safe = straddled(ledger, 0, live);
    begin_with_thinking(ledger, &mut safe, 0);
    safe
}

/// For each cut from `start` on, which no group straddles, whether none of the calls and glued messages behind it does.
fn straddled(ledger: &Ledger, start: usize, live: usize) -> Vec<bool> {
    let n = ledger.messages() - start;
    let mut opens = vec![0i32; n + 2]; // +1 where a span begins to straddle cuts, -1 where it stops
    for row in ledger.first[start] as usize..ledger.rows() {
        if !ledger.kind[row].is_call() {
            continue;
        }
        let from = ledger.owner[row] as usize;
        let to = match usize::try_from(ledger.pair[row]) {
            Ok(result) => ledger.owner[result] as usize - start,
            Err(_) if from < live => continue,
            Err(_) => n,
        };
        opens[from - start + 1] += 1;
        opens[to + 1] -= 1;
    }
    for message in (start..ledger.messages()).filter(|m| ledger.marked(*m, MessageFlag::Glued)) {
        opens[message - start + 1] += 1;
        opens[message - start + 2] -= 1;
    }
    for message in start.saturating_sub(1)..ledger.messages().saturating_sub(1) {
        if is_configured(ledger, message) {
            opens[message + 1 - start] += 1;
            opens[message + 2 - start] -= 1;
        }
    }
    let mut straddling = 0;
    let safe = opens[..=n].iter().map(|change| {
        straddling += change;
        straddling == 0
    });
    safe.collect()
}

/// Whether a message is a provider's compaction, and the settings that came with it stand behind it.
fn is_configured(ledger: &Ledger, message: usize) -> bool {
    ledger.marked(message + 1, MessageFlag::Configures)
        && ledger.kind.get(ledger.first[message] as usize) == Some(&Kind::Compaction)
}

/// A turn that thinks has to begin with that: no cut inside it may leave something else in front of its thinking.
///
/// Cuts in front of `start` are known already, but for those in a turn that thinks behind it.
fn begin_with_thinking(ledger: &Ledger, safe: &mut [bool], start: usize) {
    let speaks = |message: usize| ledger.role[message] == Role::Assistant;
    let mut thinks = false; // from the cut on, in the turn
    for cut in (1..ledger.messages()).rev() {
        thinks = speaks(cut) && (thinks || ledger.marked(cut, MessageFlag::Thinks));
        let begins = || ledger.rows_of(cut).next().is_some_and(|row| ledger.kind[row] == Kind::Thinking);
        if thinks && speaks(cut - 1) && !begins() {
            safe[cut] = false;
        }
        if cut <= start && !thinks {
            break;
        }
    }
}
