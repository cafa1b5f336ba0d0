//! The messages of a prompt, and where its compactions stand.

use std::ops::Range;

use super::charges::billed;
use super::collected::Collected;
use super::entries::Entries;
use super::fields::Role;
use super::links::Links;
use crate::seeded::{Map, Set};
use crate::session::names::{EMPTY, Name};
use crate::session::{Charge, Time};
use trimtab_tokens::cancel;

/// A message: the lines whose contents it joins.
#[derive(Debug)]
pub struct Message {
    pub role: Role,
    /// Whether its results stand in front of its other blocks.
    pub results_first: bool,
    pub lines: Vec<usize>,
}

/// The messages of a prompt, and facts about them.
#[derive(Debug, Default)]
pub struct Messages {
    pub list: Vec<Message>,
    pub charges: Vec<Charge>,
    /// Positions behind the messages that each compaction replaced.
    pub compactions: Vec<usize>,
    /// Of each of them, the positions of the messages that the prompt has right after it.
    pub contexts: Vec<Vec<usize>>,
    /// The last model; empty for none.
    pub model: Name,
    /// Whether the messages so far are a real prompt, without compacted ones.
    is_prompt: bool,
}

impl Messages {
    /// The messages of collected lines; a whole session notes compactions.
    ///
    /// A call's usage counts only if its prompt was the list before it: not after a summary that follows the messages it
    /// summarizes, and not before the summary with which the list begins.
    pub fn of(all: &Entries, prompt: &Collected, links: &Links) -> Self {
        let mut made = Self { is_prompt: true, ..Self::default() };
        let (mut since, mut places): (Option<usize>, Map<Name, Range<usize>>) = (None, Map::default());
        for &at in &prompt.order {
            cancel::poll();
            let (line, begins) = (&all.lines[at], made.list.len());
            if line.role == Some(Role::Assistant) {
                let first = all.first.get(&line.response).copied();
                made.add_response(all, prompt, at, since.is_none_or(|since| first > Some(since)));
            } else {
                if line.is_summary {
                    (since, made.is_prompt) = (Some(line.number), !all.whole || made.list.is_empty());
                    if all.whole {
                        made.compactions.push(begins);
                        made.contexts.push(found(links.fronts.get(&line.key).into_iter().flatten().copied(), &places));
                    }
                }
                made.list.push(Message { role: Role::User, results_first: false, lines: vec![at] });
            }
            let place = begins..made.list.len();
            if let Some(context) = made.contexts.last_mut()
                && (since.is_some_and(|since| line.number <= since) || line.is_again)
            {
                context.extend(place.clone()); // the summary, or kept behind it
            }
            if let Some(context) = made.contexts.last_mut().filter(|_| line.is_summary) {
                let copies = prompt.copies.get(&made.compactions.len()).into_iter().flatten();
                context.extend(found(copies.map(|&copy| all.lines[copy].key), &places));
            }
            places.insert(line.key, place);
        }
        made
    }

    /// Adds a response with its results, and its usage if its prompt was the list before it.
    fn add_response(&mut self, all: &Entries, prompt: &Collected, at: usize, is_prompt: bool) {
        let line = &all.lines[at];
        let in_file = |lines: &[usize]| {
            let mut sorted = lines.to_vec();
            sorted.sort_by_key(|&at| all.lines[at].number);
            sorted
        };
        let parts = in_file(prompt.parts.get(line.response));
        if line.model != EMPTY {
            self.model = line.model;
        }
        if is_prompt && let Some(billed) = billed(&all.lines, &parts, &all.usages) {
            self.charges.push(Charge {
                before: self.list.len(),
                compactions: self.compactions.len(),
                is_prompt: self.is_prompt,
                model: all.names.get(self.model).to_vec(),
                time: parts.first().and_then(|&first| all.lines[first].stamp).map(|time| Time::of(all.names.get(time))),
                billed,
            });
        }
        self.list.push(Message { role: Role::Assistant, results_first: false, lines: parts });
        let results = in_file(prompt.results.get(line.response));
        if !results.is_empty() {
            // The content of a single line stays as it is, for the repair to judge.
            self.list.push(Message { role: Role::User, results_first: results.len() > 1, lines: results });
        }
    }
}

/// The positions of the messages of some lines, of each once.
fn found(keys: impl Iterator<Item = Name>, places: &Map<Name, Range<usize>>) -> Vec<usize> {
    let mut seen = Set::default();
    keys.filter(|&key| seen.insert(key)).filter_map(|key| places.get(&key)).cloned().flatten().collect()
}
