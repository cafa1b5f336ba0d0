//! Tokens that a prompt adds around rows and messages.

use super::{BLOCK, Kind, Ledger, Role, RowFlag};
use crate::counter::Counter;
use crate::prompt::{EMPTY, RESULT, tags};
use crate::prompt::{Form, Prompt};

/// A prompt's format, with the tokens of its tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverheadTerms {
    /// The format.
    pub prompt: Prompt,
    /// Tokens that a policy's own estimate adds to a message.
    message: u32,
    /// The tags around a turn's calls.
    block: u32,
    /// The tags around a result.
    tags: u32,
    /// Text in place of an empty result.
    empty: u32,
    /// The name in front of one of several results if its call is not in the list.
    unnamed: u32,
}

impl Default for OverheadTerms {
    fn default() -> Self {
        Self { prompt: Prompt::PLAIN, message: 0, block: 0, tags: 0, empty: 0, unnamed: 0 }
    }
}

impl OverheadTerms {
    /// The terms of a counter's prompt format.
    #[must_use]
    pub fn of(counter: &Counter) -> Self {
        let (prompt, message) = (counter.prompt, counter.flat.message);
        if prompt.form != Form::Tagged {
            return Self { prompt, message, ..Self::default() };
        }
        let tokens = |text: &str| u32::try_from(counter.text.plain(text)).unwrap_or(u32::MAX);
        Self {
            prompt,
            message,
            block: tokens(&(tags::open() + &tags::close())),
            tags: tokens(&[RESULT.0, RESULT.1].concat()),
            empty: tokens(EMPTY),
            unnamed: tokens(&tags::named("tool")),
        }
    }

    /// Tokens of a result's text, from those of the text with its tags; for an empty result, those of its replacement.
    #[must_use]
    pub fn result(&self, tokens: usize, empty: bool) -> usize {
        if empty { self.empty as usize } else { tokens.saturating_sub(self.tags as usize) }
    }
}

/// Computes the tokens of each row and the overhead of each message from the tokens of the texts.
pub fn add_overhead(ledger: &mut Ledger) {
    ledger.tokens.clear();
    ledger.overhead.clear();
    continue_from(ledger, 0);
}

/// Goes on with [`add_overhead`] where messages from `start` on were added: they may belong to the last turn before.
pub(super) fn continue_from(ledger: &mut Ledger, start: usize) {
    let terms = ledger.terms;
    let hidden = ledger.hidden();
    let visible = hidden.unwrap_or(0); // the first row of the prompt
    let behind = hidden.map_or(0, |row| ledger.owner[row] as usize); // a first message may have no rows
    let starts = |message: &usize| {
        *message == 0 || *message == behind || side(ledger.role[*message]) != side(ledger.role[*message - 1])
    };
    let from = if ledger.is_free() { start } else { (0..start).rfind(starts).unwrap_or(0) };
    let row = ledger.first[from] as usize;
    ledger.tokens.truncate(row);
    ledger.tokens.extend_from_slice(&ledger.texts[row..]);
    ledger.overhead.truncate(from);
    ledger.overhead.resize(ledger.messages(), terms.message);
    if ledger.is_free() {
        hide(ledger);
        return;
    }
    let mut start = from;
    while start < ledger.messages() {
        let mut stop = start + 1;
        while stop < ledger.messages() && stop != behind && side(ledger.role[stop]) == side(ledger.role[start]) {
            stop += 1;
        }
        turn(ledger, start, stop, visible);
        start = stop;
    }
    if !terms.prompt.keeps_thinking {
        forget(ledger);
    }
    hide(ledger);
}

/// Sets what the provider skips to 0 tokens: all in front of its own newest compaction.
fn hide(ledger: &mut Ledger) {
    if let Some(row) = ledger.hidden() {
        ledger.tokens[..row].fill(0);
        ledger.overhead[..ledger.owner[row] as usize].fill(0);
    }
}

/// The side of a message: results belong to the user's.
pub(super) fn side(role: Role) -> Role {
    match role {
        Role::Tool | Role::Other => Role::User,
        other => other,
    }
}

/// A role of the other side.
pub(super) fn opposite(role: Role) -> Role {
    if side(role) == Role::User { Role::Assistant } else { Role::User }
}

/// Messages `start` to `stop` as one turn, from the row `visible` on.
fn turn(ledger: &mut Ledger, start: usize, stop: usize, visible: usize) {
    let prompt = ledger.terms.prompt;
    for message in start..stop {
        ledger.overhead[message] = opening(ledger, message, message == start, visible);
    }
    let rows = visible.max(ledger.first[start] as usize)..ledger.first[stop] as usize;
    if prompt.form == Form::Tagged && rows.clone().any(|row| ledger.kind[row] == Kind::Call) {
        ledger.overhead[start] = 0; // the end of the turn is counted with the results
    }
    let of = |kind: Kind| rows.clone().filter(|row| ledger.kind[*row] == kind).collect::<Vec<_>>();
    let (calls, results, thinking) = (of(Kind::Call), of(Kind::Result), of(Kind::Thinking));
    for row in calls.iter().copied().chain(of(Kind::ServerCall)) {
        add(ledger, row, prompt.call);
    }
    if let Some(&first) = calls.first() {
        let several = if calls.len() > 1 { prompt.parallel } else { 0 };
        add(ledger, first, prompt.calls + several + signed(ledger.terms.block));
        if let Some(&thought) = thinking.first() {
            add(ledger, thought, prompt.thought);
        }
    }
    for row in thinking {
        if !ledger.has(row, RowFlag::Empty) {
            add(ledger, row, prompt.thinking);
        }
    }
    match results[..] {
        [] => {}
        [only] => {
            let empty = ledger.has(only, RowFlag::Empty) && ledger.texts[only] == ledger.terms.empty; // no picture
            let fails = empty || ledger.has(only, RowFlag::Error);
            add(ledger, only, prompt.result + if fails { prompt.failed } else { 0 });
        }
        _ => {
            add(ledger, results[0], prompt.results);
            for row in results {
                let call = usize::try_from(ledger.pair[row]).ok();
                let name = call.map_or(ledger.terms.unnamed, |call| ledger.labels[call]);
                add(ledger, row, prompt.each + signed(name));
            }
        }
    }
}

/// Tokens of a message by itself.
fn opening(ledger: &Ledger, message: usize, first: bool, visible: usize) -> u32 {
    let prompt = ledger.terms.prompt;
    let mut rows = ledger.rows_of(message);
    rows.start = rows.start.max(visible.min(rows.end));
    let has_text =
        rows.is_empty() || rows.any(|row| !matches!(ledger.kind[row], Kind::Call | Kind::Result | Kind::Thinking));
    match (prompt.form, side(ledger.role[message])) {
        (Form::Framed, _) if !has_text => 0, // calls and results have overheads of their own
        (Form::Tagged, _) if !first => prompt.again,
        (_, Role::Assistant) => prompt.assistant,
        (_, Role::System) => prompt.system,
        _ => prompt.user,
    }
}

/// Sets the thinking of turns before the user's last text to 0 tokens.
fn forget(ledger: &mut Ledger) {
    if let Some(last) = ledger.words() {
        // Few blocks of rows have any: a loop that does not stop at one looks at many rows at once.
        for (kinds, tokens) in ledger.kind[..last].chunks(BLOCK).zip(ledger.tokens.chunks_mut(BLOCK)) {
            if kinds.iter().filter(|kind| **kind == Kind::Thinking).count() > 0 {
                let rows = kinds.iter().zip(tokens).filter(|(kind, _)| **kind == Kind::Thinking);
                rows.for_each(|(_, tokens)| *tokens = 0);
            }
        }
    }
}

fn add(ledger: &mut Ledger, row: usize, tokens: i32) {
    ledger.tokens[row] = ledger.tokens[row].saturating_add_signed(tokens);
}

fn signed(tokens: u32) -> i32 {
    i32::try_from(tokens).unwrap_or(i32::MAX)
}
