//! The lines of the prompt: user lines, responses of several lines, and their results.

use super::fields::Role;
use super::line::Line;
use crate::seeded::{Map, Set};
use crate::session::names::Name;
use trimtab_tokens::cancel;

/// Lines by the response that they belong to, in the order in which the responses came.
#[derive(Debug, Default)]
pub struct Groups {
    places: Map<Name, usize>,
    groups: Vec<Vec<usize>>,
}

impl Groups {
    /// The lines of a response.
    pub fn get(&self, response: Name) -> &[usize] {
        self.places.get(&response).map_or(&[], |&place| &self.groups[place])
    }

    /// The lines of all responses.
    pub fn all(&self) -> impl Iterator<Item = usize> {
        self.groups.iter().flatten().copied()
    }

    fn has(&self, response: Name) -> bool {
        self.places.contains_key(&response)
    }

    fn of(&mut self, response: Name) -> &mut Vec<usize> {
        let place = *self.places.entry(response).or_insert(self.groups.len());
        if place == self.groups.len() {
            self.groups.push(Vec::new());
        }
        &mut self.groups[place]
    }
}

/// The lines of the prompt.
#[derive(Debug, Default)]
pub struct Collected {
    /// User lines, and the first line of each response.
    pub order: Vec<usize>,
    /// Keys of the lines on the chain.
    pub keys: Set<Name>,
    /// Lines of each response.
    pub parts: Groups,
    /// Lines that answer each response.
    pub results: Groups,
    /// By the number of summaries before them, the lines of which copies stand there.
    pub copies: Map<usize, Vec<usize>>,
    /// Response of each call.
    owners: Map<Name, Name>,
    /// User lines by time, and first lines of responses by id, with the number of summaries before them.
    stamps: Map<Name, (usize, usize)>,
    summaries: usize,
}

impl Collected {
    /// The lines of a chain, and those beside it that belong to its responses.
    ///
    /// Parallel calls and their results end beside the chain. All calls come before the results, because a result may come
    /// before the line of its call.
    pub fn of(lines: &mut [Line], chain: &[usize], sent: &[usize]) -> Self {
        let mut found = Self::default();
        for &at in chain {
            found.add(lines, at);
        }
        for role in [Role::Assistant, Role::User] {
            for &at in sent {
                if lines[at].role == Some(role) && !found.keys.contains(&lines[at].key) {
                    found.add_sibling(lines, at);
                }
            }
        }
        found
    }

    /// Adds the chain's next line, unless it is a copy.
    fn add(&mut self, lines: &mut [Line], at: usize) {
        cancel::poll();
        let line = &lines[at];
        self.keys.insert(line.key);
        if line.role == Some(Role::Assistant) {
            let response = line.response;
            if !self.parts.has(response) {
                self.order.push(at);
            }
            self.first(lines, response, at, false);
            self.add_part(lines, at);
        } else if let Some(owner) = self.owner(line) {
            let results = self.results.of(owner);
            if same(lines, results, line).is_none() {
                results.push(at);
            }
        } else {
            let is_summary = usize::from(line.is_summary);
            if line.stamp.is_none_or(|stamp| self.first(lines, stamp, at, true) == at) {
                self.order.push(at);
            }
            self.summaries += is_summary;
        }
    }

    /// Adds a line beside the chain if it belongs to a response on it, or is the only result of its call.
    fn add_sibling(&mut self, lines: &mut [Line], at: usize) {
        cancel::poll();
        let line = &lines[at];
        if line.role == Some(Role::Assistant) {
            if self.parts.has(line.response) {
                self.add_part(lines, at);
            }
        } else if let Some(owner) = self.owner(line) {
            let results = self.results.of(owner);
            let is_answered = |id: &Name| results.iter().any(|&other| lines[other].answers.contains(id));
            if !line.answers.iter().any(is_answered) {
                results.push(at);
            }
        }
    }

    /// Adds a response's line once: a fork copies lines with new uuids and the same response id.
    ///
    /// A fork copies the chain only; the calls beside it, and their order, come from the originals.
    fn add_part(&mut self, lines: &mut [Line], at: usize) {
        let parts = self.parts.of(lines[at].response);
        if let Some(copy) = same(lines, parts, &lines[at]) {
            lines[copy].number = lines[copy].number.min(lines[at].number);
            return;
        }
        parts.push(at);
        for &id in &lines[at].ids {
            self.owners.insert(id, lines[at].response);
        }
    }

    /// The response whose calls a line answers.
    fn owner(&self, line: &Line) -> Option<Name> {
        line.answers.iter().find_map(|id| self.owners.get(id).copied())
    }

    /// The line of a name in front of the last summary, of which this one is a copy; else this line.
    fn first(&mut self, lines: &[Line], name: Name, at: usize, same: bool) -> usize {
        let (summaries, first) = *self.stamps.entry(name).or_insert((self.summaries, at));
        if summaries == self.summaries || (same && lines[first].digest != lines[at].digest) {
            return at;
        }
        self.copies.entry(self.summaries).or_default().push(first);
        first
    }
}

/// The first of some lines with the content of a line.
fn same(lines: &[Line], parts: &[usize], line: &Line) -> Option<usize> {
    parts.iter().copied().find(|&part| lines[part].digest == line.digest)
}
