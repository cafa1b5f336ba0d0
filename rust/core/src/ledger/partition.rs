//! Divides a transcript into zones: messages that stay, by reason, and messages that may be compacted.

use std::ops::Range;

use crate::error::Error;

/// The reason that a message stays. The numbers are part of the Python interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Zone {
    /// No keeper applies; the message may be compacted.
    Compactable = 0,
    /// Among the newest tokens.
    Protected = 1,
    /// Pinned, or in a group with a pinned message.
    Preserved = 2,
    /// Among the newest messages.
    Recent = 3,
    /// A summary of an earlier compaction.
    Summary = 4,
    /// System text at the start.
    Head = 5,
}

/// A rule that keeps messages; it applies to those that no earlier rule keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// The newest messages, up to this many tokens.
    Tokens(u64),
    /// This many of the newest messages.
    Messages(usize),
    /// Summaries at any position.
    Summaries,
    /// Pinned messages with their groups, at any position.
    Pins,
}

impl Keeper {
    /// The keeper of that name; `amount` is its tokens or messages.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] lists the valid names.
    pub fn named(name: &str, amount: u64) -> Result<Self, Error> {
        match name {
            "tokens" => Ok(Self::Tokens(amount)),
            "messages" => Ok(Self::Messages(usize::try_from(amount).unwrap_or(usize::MAX))),
            "summaries" => Ok(Self::Summaries),
            "pins" => Ok(Self::Pins),
            _ => {
                let known = "known are tokens, messages, summaries, pins";
                Err(Error::Argument(format!("unknown keeper {name:?}: {known}")))
            }
        }
    }
}

/// The direction in which a boundary moves to a valid cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snap {
    /// To the cut before it, so that more stays.
    Back,
    /// To the cut behind it, so that less stays.
    Forward,
    /// By keeper: never more than its tokens, never fewer than its messages.
    Own,
}

impl Snap {
    /// The direction of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] lists the valid names.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "back" => Ok(Self::Back),
            "forward" => Ok(Self::Forward),
            "own" => Ok(Self::Own),
            _ => Err(Error::Argument(format!("unknown snap {name:?}: known are back, forward, own"))),
        }
    }
}

/// Columns of messages and cuts.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// Tokens of each message.
    pub tokens: &'a [u32],
    /// Cuts that split no group; one entry more than messages.
    pub safe: &'a [bool],
    /// Safe cuts at which the tail may begin.
    pub cuts: &'a [bool],
    /// Messages that are summaries.
    pub summary: &'a [bool],
    /// Messages that are pinned.
    pub pinned: &'a [bool],
}

impl Columns<'_> {
    fn check(&self) -> Result<(), Error> {
        let n = self.tokens.len();
        for (what, want, got) in [
            ("safe", n + 1, self.safe.len()),
            ("cuts", n + 1, self.cuts.len()),
            ("summary", n, self.summary.len()),
            ("pinned", n, self.pinned.len()),
        ] {
            if want != got {
                return Err(Error::Length { what, want, got });
            }
        }
        Ok(())
    }
}

/// The nearest cut to `raw` at which the tail may begin, between `head` and `end`.
///
/// `Back` takes the last cut at or before `raw`, or `head`; `Forward` takes the first cut at or behind it, or goes back if
/// an open call leaves none.
///
/// # Examples
///
/// ```
/// use trimtab_core::ledger::partition::{Snap, snap};
///
/// let cuts = [true, false, false, true, false];
/// assert_eq!([Snap::Back, Snap::Forward].map(|how| snap(&cuts, 2, how, 0, 4)), [0, 3]);
/// assert_eq!([Snap::Back, Snap::Forward].map(|how| snap(&cuts, 4, how, 0, 4)), [3, 3]);
/// ```
#[must_use]
pub fn snap(cuts: &[bool], raw: usize, how: Snap, head: usize, end: usize) -> usize {
    let end = end.min(cuts.len().saturating_sub(1));
    let raw = raw.clamp(head.min(end), end);
    let back = || (head..=raw).rev().find(|&cut| cuts[cut]).unwrap_or(head);
    match how {
        Snap::Forward => (raw..=end).find(|&cut| cuts[cut]).unwrap_or_else(back),
        Snap::Back | Snap::Own => back(),
    }
}

/// The [`Zone`] of each message, by the first keeper that keeps it. Linear in the messages.
///
/// At least the last `least` messages stay, in whole groups, whatever the keepers.
///
/// # Errors
///
/// [`Error::Length`] if the columns' lengths do not match.
///
/// # Examples
///
/// ```
/// use trimtab_core::ledger::partition::{Columns, Keeper, Snap, partition};
///
/// let (tokens, safe, none) = ([10; 5], [true; 6], [false; 5]);
/// let columns = Columns { tokens: &tokens, safe: &safe, cuts: &safe, summary: &none, pinned: &none };
/// let zones = partition(columns, &[Keeper::Tokens(25), Keeper::Messages(1)], Snap::Own, 0, 0)?;
/// assert_eq!(zones, [0, 0, 3, 1, 1]);
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
pub fn partition(
    columns: Columns<'_>,
    keepers: &[Keeper],
    how: Snap,
    head: usize,
    least: usize,
) -> Result<Vec<u8>, Error> {
    columns.check()?;
    let n = columns.tokens.len();
    let mut zones = vec![Zone::Compactable as u8; n];
    zones[..head.min(n)].fill(Zone::Head as u8);
    let head = head.min(n);
    let mut cut = n;
    for keeper in keepers {
        let (raw, own, zone) = match *keeper {
            Keeper::Tokens(most) => (within(columns.tokens, cut, most), Snap::Forward, Zone::Protected),
            Keeper::Messages(count) => (cut.saturating_sub(count), Snap::Back, Zone::Recent),
            Keeper::Summaries => {
                take(&mut zones, columns.summary, 0..n, Zone::Summary);
                continue;
            }
            Keeper::Pins => {
                pins(&mut zones, columns);
                continue;
            }
        };
        let raw = raw.max(head);
        let how = if how == Snap::Own { own } else { how };
        let start = if raw == cut && cut < n { cut } else { snap(columns.cuts, raw, how, head, cut) };
        zones[start..cut].iter_mut().for_each(|z| relabel(z, zone));
        cut = start;
    }
    if n - cut < least.min(n - head) {
        let start = snap(columns.cuts, n - least.min(n - head), Snap::Back, head, n);
        zones[start..cut].iter_mut().for_each(|z| relabel(z, Zone::Recent));
    }
    Ok(zones)
}

fn relabel(zone: &mut u8, to: Zone) {
    if *zone == Zone::Compactable as u8 {
        *zone = to as u8;
    }
}

/// The earliest message from which the messages up to `end` have at most `most` tokens.
fn within(tokens: &[u32], end: usize, most: u64) -> usize {
    let mut tail = 0u64;
    let mut fits = |count: &u32| {
        tail += u64::from(*count);
        tail <= most
    };
    end - tokens[..end].iter().rev().take_while(|count| fits(count)).count()
}

fn take(zones: &mut [u8], wanted: &[bool], range: Range<usize>, zone: Zone) {
    for message in range.filter(|&m| wanted[m]) {
        relabel(&mut zones[message], zone);
    }
}

/// Keeps the whole group of each pinned message.
fn pins(zones: &mut [u8], columns: Columns<'_>) {
    let n = zones.len();
    let mut start = 0;
    for end in 1..=n {
        if end == n || columns.safe[end] {
            if columns.pinned[start..end].contains(&true) {
                zones[start..end].iter_mut().for_each(|z| relabel(z, Zone::Preserved));
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let columns = Columns { tokens: &[1], safe: &[true], cuts: &[true; 2], summary: &[false], pinned: &[false] };
        let want = Error::Length { what: "safe", want: 2, got: 1 };
        assert_eq!(partition(columns, &[], Snap::Own, 0, 0), Err(want));
    }

    #[test]
    fn a_pin_keeps_its_group_and_a_summary_itself() {
        let safe = [true, true, false, true, true];
        let (tokens, summary) = ([5; 4], [true, false, false, false]);
        let pinned = [false, false, true, false];
        let columns = Columns { tokens: &tokens, safe: &safe, cuts: &safe, summary: &summary, pinned: &pinned };
        assert_eq!(partition(columns, &[Keeper::Summaries, Keeper::Pins], Snap::Own, 0, 0), Ok(vec![4, 2, 2, 0]));
        assert_eq!(partition(columns, &[Keeper::Pins], Snap::Own, 1, 1), Ok(vec![5, 2, 2, 3]));
    }

    #[test]
    fn an_open_call_holds_the_end() {
        let safe = [true, true, false, false];
        let none = [false; 3];
        let columns = Columns { tokens: &[9; 3], safe: &safe, cuts: &safe, summary: &none, pinned: &none };
        assert_eq!(partition(columns, &[Keeper::Tokens(9)], Snap::Own, 0, 1), Ok(vec![0, 1, 1]));
    }
}
