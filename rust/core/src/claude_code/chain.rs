//! The tree of a session's lines, and its branch that is the prompt.

use super::entries::{Entries, beginning};
use super::line::{Line, ROOT};
use super::links::Links;
use crate::seeded::{Map, Set};
use crate::session::names::{EMPTY, Name};
use trimtab_tokens::cancel;

/// The lines of the main conversation, by their positions in the file.
pub struct Tree<'l> {
    lines: &'l [Line],
    of: &'l Map<Name, usize>,
    /// The lines that are sent.
    pub sent: Vec<usize>,
    pub links: Links,
}

impl<'l> Tree<'l> {
    /// Links the lines that compactions kept, and takes the role from those of side conversations, if there is another.
    pub fn of(all: &'l mut Entries) -> Self {
        let links = Links::of(all);
        if !all.retracted.is_empty() {
            let is_gone = |line: &&mut Line| all.retracted.contains(beginning(all.names.get(line.key)));
            all.lines.iter_mut().filter(is_gone).for_each(|line| line.role = None);
        }
        let is_sent = |all: &Entries, at: usize| all.lines[at].role.is_some() && all.counts(at);
        if (0..all.lines.len()).any(|at| is_sent(all, at) && !all.lines[at].is_side) {
            all.lines.iter_mut().filter(|line| line.is_side).for_each(|line| line.role = None);
        }
        let sent = (0..all.lines.len()).filter(|&at| is_sent(all, at)).collect();
        Tree { lines: &all.lines, of: &all.of, sent, links }
    }

    /// The lines from the root, or from the last compaction, to the last line.
    pub fn chain(&self, whole: bool) -> Vec<usize> {
        let (mut taken, mut path) = (Set::default(), Vec::new());
        // Nothing may have followed the lines that the last compaction kept yet.
        let last = self.sent.last().map(|&last| *self.links.tails.get(&self.lines[last].key).unwrap_or(&last));
        let mut next = last;
        while let Some(at) = next {
            cancel::poll();
            let line = &self.lines[at];
            taken.insert(line.key);
            path.push(at);
            let is_first = line.is_summary && !self.links.fronts.contains_key(&line.key);
            if (is_first && !whole) || self.links.starts.contains(&line.key) {
                break;
            }
            next = self.known(line.parent, &taken).or_else(|| self.before(line, &taken));
        }
        path.reverse();
        path.retain(|&at| self.lines[at].role.is_some());
        path
    }

    /// The line of a key that is not taken.
    fn known(&self, key: Name, taken: &Set<Name>) -> Option<usize> {
        self.of.get(&key).copied().filter(|_| !taken.contains(&key))
    }

    /// The line's parent, or where the chain breaks the nearest earlier line that is sent.
    ///
    /// The chain breaks at a missing parent (a session cut in two) and at a cycle. A root that a compaction created
    /// continues with the compacted lines; any other root is the start.
    fn before(&self, line: &Line, taken: &Set<Name>) -> Option<usize> {
        let parent = if line.parent == ROOT { line.logical } else { line.parent };
        if line.parent == ROOT && parent == EMPTY && !line.is_summary {
            return None;
        }
        self.known(parent, taken).or_else(|| {
            let end = self.sent.partition_point(|&at| self.lines[at].number < line.number);
            self.sent[..end].iter().rev().copied().find(|&at| {
                cancel::poll();
                !taken.contains(&self.lines[at].key)
            })
        })
    }
}
