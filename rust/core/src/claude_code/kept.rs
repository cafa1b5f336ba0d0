//! The lines that compactions kept, and what they follow.

use super::entries::Entries;
use crate::error::Error;
use crate::json::Json;
use crate::seeded::{Map, Set};
use crate::session::names::{EMPTY, Name, Names};
use crate::session::value::{last, name};
use trimtab_tokens::cancel;

/// What the boundary of a compaction says of the lines that it kept, by keys.
#[derive(Debug)]
pub struct Kept {
    boundary: Name,
    /// The line that they follow: the summary, or the boundary where they stand in front of it.
    anchor: Name,
    lines: Which,
}

/// Which lines were kept.
#[derive(Debug)]
enum Which {
    List(Vec<Name>),
    /// The first and the last one.
    Ends(Name, Name),
}

impl Kept {
    /// What the metadata of a boundary name; `None` if they name no line. The list of newer versions counts before the ends.
    pub fn of(compacted: &Json<'_, '_>, boundary: Name, names: &mut Names) -> Result<Option<Self>, Error> {
        let field = |name: &[u8]| last(compacted, name).filter(Json::is_object);
        if let Some(list) = field(b"preservedMessages")
            && let Some(uuids) = last(&list, b"uuids").filter(Json::is_list)
        {
            let lines: Vec<Name> = uuids.values().map(|uuid| name(Some(uuid), names)).collect::<Result<_, _>>()?;
            let anchor = name(last(&list, b"anchorUuid"), names)?;
            return Ok((!lines.is_empty()).then_some(Self { boundary, anchor, lines: Which::List(lines) }));
        }
        let Some(segment) = field(b"preservedSegment") else { return Ok(None) };
        let mut ends = [EMPTY; 3];
        for (end, field) in ends.iter_mut().zip([b"headUuid".as_slice(), b"anchorUuid", b"tailUuid"]) {
            *end = name(last(&segment, field), names)?;
        }
        let [head, anchor, tail] = ends;
        Ok(Some(Self { boundary, anchor, lines: Which::Ends(head, tail) }))
    }

    /// The positions of the lines in order; `None` where one is missing, or where the last one does not follow the first.
    fn places(&self, all: &Entries) -> Option<Vec<usize>> {
        let place = |key: &Name| all.of.get(key).copied();
        let (head, tail) = match &self.lines {
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
}

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
            if let (Some(anchor), Some(places)) = (anchor, kept.places(all)) {
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
