//! The lines that compactions kept, linked to what they follow.

use super::entries::Entries;
use super::kept::{Kept, Which};
use crate::seeded::{Map, Set};
use crate::session::names::Name;
use trimtab_tokens::cancel;

/// What the compactions of a session kept.
#[derive(Debug, Default)]
pub struct Links {
    /// The last line that a compaction kept, by the key of the summary that it follows.
    pub tails: Map<Name, usize>,
    /// Keys of the lines that a compaction kept in front of its summary, by the key of this.
    pub fronts: Map<Name, Vec<Name>>,
    /// Boundaries behind which such lines are the start of the prompt.
    pub starts: Set<Name>,
}

impl Links {
    /// Links the kept lines behind the summaries or the boundaries that they follow, as Claude Code does when it loads a session.
    ///
    /// They do not move in the file. A whole session has the lines in front of a summary once, where they stand.
    pub fn of(all: &mut Entries) -> Self {
        let mut made = Self::default();
        for kept in std::mem::take(&mut all.kept) {
            let anchor = all.of.get(&kept.anchor).copied();
            if let (Some(anchor), Some(places)) = (anchor, places(all, &kept.lines)) {
                made.link(all, &kept, anchor, &places);
            }
        }
        made
    }

    fn link(&mut self, all: &mut Entries, kept: &Kept, anchor: usize, places: &[usize]) {
        let (Some(&head), Some(&tail)) = (places.first(), places.last()) else { return };
        let (is_front, key, behind) = (kept.anchor == kept.boundary, all.lines[anchor].key, all.lines[tail].key);
        let keys: Vec<Name> = places.iter().map(|&at| all.lines[at].key).collect();
        if is_front {
            let is_summary = |&at: &usize| all.lines[at].is_summary && all.lines[at].parent == key && all.counts(at);
            if let Some(at) = (0..all.lines.len()).rev().find(is_summary) {
                self.fronts.insert(all.lines[at].key, keys.clone());
            }
            if all.whole {
                return;
            }
            self.starts.insert(key);
        } else {
            self.tails.insert(key, tail);
        }
        for at in 0..all.lines.len() {
            cancel::poll();
            if all.lines[at].parent == key && at != head {
                all.lines[at].parent = behind;
            }
        }
        let mut parent = key;
        for (&at, &key) in places.iter().zip(&keys) {
            all.lines[at].parent = std::mem::replace(&mut parent, key);
        }
    }
}

/// The positions of kept lines in order; `None` where one is missing, or where the last one does not follow the first.
fn places(all: &Entries, kept: &Which) -> Option<Vec<usize>> {
    let place = |key: &Name| all.of.get(key).copied();
    let (head, tail) = match kept {
        Which::List(keys) => return keys.iter().map(place).collect(),
        Which::Ends(head, tail) => (place(head)?, place(tail)?),
    };
    let (mut found, mut seen) = (vec![tail], Set::default());
    while *found.last()? != head {
        cancel::poll();
        let at = *found.last()?;
        found.push(Some(at).filter(|&at| seen.insert(at)).and_then(|at| place(&all.lines[at].parent))?);
    }
    found.reverse();
    Some(found)
}
