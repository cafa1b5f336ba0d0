//! Splits and zones over any columns, beside what they mean.
#![no_main]

mod common;

use common::Bytes;
use libfuzzer_sys::fuzz_target;
use trimtab_core::ledger::cut::split;
use trimtab_core::ledger::partition::{Columns, Keeper, Snap, partition, snap};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let n = bytes.below(40);
    let tokens: Vec<u32> =
        (0..n).map(|_| [u32::from(bytes.next()), u32::MAX][usize::from(bytes.next() == 3)]).collect();
    let marks: Vec<u8> = (0..=n).map(|_| bytes.next()).collect();
    let column = |bit: u8, count: usize| marks[..count].iter().map(|mark| mark & bit != 0).collect::<Vec<bool>>();
    let mut safe = column(1, n + 1);
    safe[0] = true; // nothing stands before the first message
    let cuts: Vec<bool> = safe.iter().zip(column(2, n + 1)).map(|(safe, other)| *safe && !other).collect();
    let (summary, pinned) = (column(4, n), column(8, n));

    let keep = u64::from(bytes.next()) * u64::from(bytes.next());
    let tail = |cut: usize| tokens[cut..].iter().map(|t| u64::from(*t)).sum::<u64>();
    let meant = (0..=n).find(|&cut| safe[cut] && tail(cut) <= keep);
    assert_eq!(split(&tokens, &safe, keep), Ok(meant));

    let (head, least) = (bytes.below(n + 2), bytes.below(n + 2));
    let how = [Snap::Back, Snap::Forward, Snap::Own][bytes.below(3)];
    let raw = bytes.below(n + 1);
    let place = snap(&cuts, raw, how, 0, n);
    assert!(place <= n && (cuts[place] || place == 0));

    let mut keepers = Vec::new();
    for _ in 0..bytes.below(4) {
        keepers.push(match bytes.next() % 4 {
            0 => Keeper::Tokens(u64::from(bytes.next()) * 4),
            1 => Keeper::Messages(bytes.below(12)),
            2 => Keeper::Summaries,
            _ => Keeper::Pins,
        });
    }
    let columns = Columns { tokens: &tokens, safe: &safe, cuts: &cuts, summary: &summary, pinned: &pinned };
    let zones = partition(columns, &keepers, how, head, least).expect("the columns fit");
    assert_eq!(zones.len(), n);
    assert!(zones[..head.min(n)].iter().all(|zone| *zone == 5), "the head stays");
    if keepers.contains(&Keeper::Pins) {
        assert!((0..n).all(|m| !pinned[m] || zones[m] != 0), "what is pinned stays");
    }
    if keepers.contains(&Keeper::Summaries) {
        assert!((0..n).all(|m| !summary[m] || zones[m] != 0), "so do summaries");
    }
    assert!(zones.iter().rev().take(least.min(n - head.min(n))).all(|zone| *zone != 0), "and so many at the end");
});
