//! Finds the cut of a list from its last messages.

use super::{Ledger, Role, cut, groups};
use crate::error::Error;

/// The part of the end that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// At most this many tokens: the earliest safe cut that fits.
    Tokens(u64),
    /// At least this many messages: the latest safe cut that keeps them.
    Messages(usize),
}

/// Position of the cut in `tail`, the last messages of a list, and whether no message in front of them can change it.
///
/// `whole` says that `tail` is the whole list. None if no safe cut fits.
///
/// A cut is safe as in [`groups::safe`], except that calls without a result in front of the assistant's last turn do not
/// count: no provider accepts them any more, and no result is expected. Whether a cut is safe is therefore known once the
/// last turn is read from its start, if all calls of the results behind the cut are behind it too.
///
/// # Errors
///
/// [`Error::Overflow`] for a message of more tokens than a column's type holds.
pub fn split(tail: &Ledger, whole: bool, keep: Keep) -> Result<(Option<usize>, bool), Error> {
    let safe = safe(tail, whole);
    Ok(match keep {
        Keep::Messages(least) => {
            let most = tail.messages().saturating_sub(least);
            let found = (0..=most).rev().find(|&cut| safe[cut]);
            (found, whole || found.is_some())
        }
        Keep::Tokens(most) => {
            let tokens = tail.per_message()?;
            let from = if whole { Some(0) } else { (1..tokens.len()).find(|&cut| safe[cut] && is_turn(tail, cut)) };
            let costs = |from: &usize| tokens[*from..].iter().map(|n| u64::from(*n)).sum::<u64>();
            // Messages before a turn do not affect it; they only add tokens.
            let Some(from) = from.filter(|from| whole || costs(from) > most) else { return Ok((None, false)) };
            (cut::split(&tokens[from..], &safe[from..], most)?.map(|cut| from + cut), true)
        }
    })
}

/// The cuts that are known to be safe.
fn safe(tail: &Ledger, whole: bool) -> Vec<bool> {
    let is_asking = |role: &Role| *role == Role::Assistant;
    let last = tail.role.iter().rposition(is_asking);
    let live =
        last.map_or(0, |last| tail.role[..last].iter().rposition(|role| !is_asking(role)).map_or(0, |at| at + 1));
    let mut safe = groups::held(tail, live);
    if !whole {
        let answers = |row: &usize| tail.kind[*row].is_result() && tail.pair[*row] < 0;
        let known = match (0..tail.rows()).rfind(answers) {
            _ if live == 0 => safe.len(), // the turn may begin before the tail
            Some(row) => tail.owner[row] as usize + 1,
            None => 1,
        };
        safe[..known].fill(false);
    }
    safe
}

/// Whether the cut is between messages of different sides.
fn is_turn(tail: &Ledger, cut: usize) -> bool {
    super::overhead::side(tail.role[cut - 1]) != super::overhead::side(tail.role[cut])
}
