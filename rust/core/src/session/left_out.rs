//! What of a file no message holds.

use super::names::{EMPTY, Name, Names};
use crate::seeded::Map;

/// A kind of what no message holds: the file's own names, outermost first, and how often it stands there.
pub type LeftOut = (Vec<Vec<u8>>, usize);

/// Counts by kind, in the order in which the kinds came.
#[derive(Debug, Default)]
pub struct Counts {
    places: Map<[Name; 3], usize>,
    counts: Vec<([Name; 3], usize)>,
}

impl Counts {
    /// Counts a kind once more, or several times; no time makes no kind.
    pub fn add(&mut self, kind: [Name; 3], times: usize) {
        if times == 0 {
            return;
        }
        let place = *self.places.entry(kind).or_insert(self.counts.len());
        match self.counts.get_mut(place) {
            Some((_, count)) => *count += times,
            None => self.counts.push((kind, times)),
        }
    }

    /// The kinds by their names; empty ones are left out.
    pub fn named(self, names: &Names) -> Vec<LeftOut> {
        let text = |kind: [Name; 3]| {
            let parts = kind.into_iter().filter(|&name| name != EMPTY);
            parts.map(|name| names.get(name).to_vec()).collect()
        };
        self.counts.into_iter().map(|(kind, count)| (text(kind), count)).collect()
    }
}
