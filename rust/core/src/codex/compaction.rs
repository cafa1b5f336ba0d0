//! What replaces items: a compaction's, and a rollback.

use super::item::Item;
use super::items::Items;
use crate::error::Error;
use crate::json::{Json, Tape};
use crate::seeded::{Map, Set};
use crate::session::Span;
use crate::session::names::EMPTY;
use crate::session::value::last;
use trimtab_tokens::cancel;

impl Items {
    /// Replaces the items, or with `whole` appends the new ones: the summary, mostly encrypted.
    pub(super) fn compact(&mut self, payload: &Json<'_, '_>, offset: Option<u64>) -> Result<(), Error> {
        let fresh = match last(payload, b"replacement_history").filter(Json::is_list) {
            Some(history) => self.replacement(&history, offset)?,
            None => self.summarized(payload),
        };
        if self.whole {
            self.append(&fresh);
        } else {
            let stays: Set<u128> = fresh.iter().map(|item| item.identity).collect();
            let gone = self.list.iter().filter(|item| !stays.contains(&item.identity)).count();
            self.leave([b"compacted items", b"", b""], gone)?;
            self.charges.clear();
            self.charged_prompts.clear();
            self.list = fresh;
        }
        self.turns = (0..self.list.len()).filter(|&at| self.list[at].is_turn).collect();
        self.charged = self.list.len();
        Ok(())
    }

    /// The items of a replacement that are sent.
    fn replacement(&mut self, history: &Json<'_, '_>, offset: Option<u64>) -> Result<Vec<Item>, Error> {
        let (mut fresh, mut bare, mut unsent) = (Vec::new(), 0, 0);
        for value in history.values() {
            cancel::poll();
            if !value.is_object() {
                bare += 1;
            } else if let Some(item) = Item::of(&value, |value| Span::of(value, offset, &mut self.held)) {
                fresh.push(item);
            } else {
                unsent += 1;
            }
        }
        self.leave([b"compacted", b"no object", b""], bare)?;
        self.leave([b"compacted", b"never sent", b""], unsent)?;
        Ok(fresh)
    }

    /// What older versions replace the items by: the messages of the user, then the summary.
    fn summarized(&mut self, payload: &Json<'_, '_>) -> Vec<Item> {
        let mut fresh: Vec<Item> = self.list.iter().copied().filter(|item| item.speaker.is_asked()).collect();
        let Some(text) = last(payload, b"message").filter(|text| text.is_string() && text.is_truthy()) else {
            return fresh;
        };
        let content = format!(r#"[{{"type":"input_text","text":{}}}]"#, text.source());
        let json = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
        let mut tape = Tape::default();
        if tape.parse(&json, 0).is_ok() {
            fresh.extend(Item::of(&Json::new(&tape.of(&json)), |_| Span::hold(&json, &mut self.held)));
        }
        fresh
    }

    /// Appends the items that are not there yet, and notes where all of them stand.
    fn append(&mut self, fresh: &[Item]) {
        let mut known: Map<u128, usize> = Map::default();
        known.extend(self.list.iter().enumerate().map(|(at, item)| (item.identity, at)));
        self.is_prompt = self.is_prompt && known.is_empty();
        let end = self.list.len();
        let new: Vec<Item> = fresh.iter().copied().filter(|item| !known.contains_key(&item.identity)).collect();
        known.extend(new.iter().enumerate().map(|(at, item)| (item.identity, end + at)));
        self.compactions.push(end);
        self.contexts.push(fresh.iter().filter_map(|item| known.get(&item.identity).copied()).collect());
        self.list.extend(new);
    }

    /// Removes the last turns, from a user's message on, as Codex does when it resumes.
    pub(super) fn roll_back(&mut self, turns: Option<Json<'_, '_>>) -> Result<(), Error> {
        let turns = turns.map_or(0, |turns| count(&turns));
        if turns == 0 || self.turns.is_empty() {
            return Ok(());
        }
        let left = self.turns.len().saturating_sub(turns);
        let end = self.turns[left];
        self.turns.truncate(left);
        self.leave([b"rolled back", b"", b""], self.list.len() - end)?;
        self.list.truncate(end);
        while let Some(&last) = self.charged_prompts.last().filter(|&&last| self.charges[last].before > end) {
            self.charges[last].is_prompt = false;
            self.charged_prompts.pop();
        }
        self.compactions.retain(|&at| at <= end);
        self.contexts.truncate(self.compactions.len());
        for context in &mut self.contexts {
            cancel::poll();
            context.retain(|&at| at < end);
        }
        self.charged = end;
        Ok(())
    }

    /// Counts what no message holds, by the file's names.
    pub(super) fn leave(&mut self, kind: [&[u8]; 3], times: usize) -> Result<(), Error> {
        let mut names = [EMPTY; 3];
        for (name, text) in names.iter_mut().zip(kind) {
            *name = self.names.number(text)?;
        }
        self.left_out.add(names, times);
        Ok(())
    }
}

/// An integer that is no more than 0 as 0, and one that no list is as long as as the largest; true is 1.
fn count(value: &Json<'_, '_>) -> usize {
    match value.source() {
        "true" => 1,
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => number.parse().unwrap_or(usize::MAX),
        _ => 0,
    }
}
