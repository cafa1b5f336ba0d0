//! The library and the judge agree on which lists are valid, for lists of any length over the proof's alphabet. A valid
//! list stays valid when a safe part of it is summarized or its results are pruned.
#![no_main]

mod common;
#[path = "../../rust/core/tests/judge/mod.rs"]
mod judge;

use common::Bytes;
use judge::{Block, Message, Who, allowed, judge, ledger};
use libfuzzer_sys::fuzz_target;
use trimtab_core::shape::Provider;
use trimtab_tokens::{Chars, Round, Unit};
use trimtab_core::counter::Counter;

/// A list of any blocks that a user or a model may say; ids are few, so that they meet.
fn list(bytes: &mut Bytes<'_>) -> Vec<Message> {
    let mut messages = Vec::new();
    while !bytes.0.is_empty() && messages.len() < 24 {
        let byte = bytes.next();
        let id = byte >> 4;
        let (who, blocks) = match byte & 15 {
            0 => (Who::User, vec![Block::Text("go on")]),
            1..=4 => (Who::User, vec![Block::Result(id, "done")]),
            5 => (Who::User, vec![Block::Result(id, "done"), Block::Text("and?")]),
            6 => (Who::User, vec![Block::Text("and?"), Block::Result(id, "done")]),
            7 => (Who::Assistant, vec![Block::Text("well")]),
            8..=10 => (Who::Assistant, vec![Block::Call(id)]),
            11 => (Who::Assistant, vec![Block::Text("both"), Block::Call(id), Block::Call(id ^ 1)]),
            12 => (Who::Assistant, vec![Block::Thinking, Block::Call(id)]),
            13 => (Who::Assistant, vec![Block::Search(id), Block::Found(id), Block::Text("found")]),
            14 => (Who::Assistant, vec![Block::Thinking]),
            _ => (Who::System, vec![Block::Text("rules")]),
        };
        messages.push(Message { who, blocks });
    }
    messages
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let (from, to) = (bytes.next(), bytes.next());
    let messages = list(&mut bytes);
    let counter = Counter::from(trimtab_tokens::Counter::length(Chars { unit: Unit::Bytes, round: Round::Ceil, per: 4 }));
    let columns = ledger(Provider::Anthropic, &messages, &counter);
    let (closed, open) = (judge(&messages, false), judge(&messages, true));
    assert_eq!(allowed(Provider::Anthropic, &columns, false), closed, "{messages:?}");
    assert_eq!(allowed(Provider::Anthropic, &columns, true), open, "in flight: {messages:?}");
    if !open {
        return;
    }
    let cuts: Vec<usize> = (0..=messages.len()).filter(|&cut| columns.safe[cut]).collect();
    let at = |byte: u8| cuts[usize::from(byte) % cuts.len()];
    let (from, to) = (at(from).min(at(to)), at(from).max(at(to)));
    let summary = Message { who: Who::User, blocks: vec![Block::Text("<trimtab-summary>")] };
    let answer = Message { who: Who::Assistant, blocks: vec![Block::Text("Understood.")] };
    let mut made = messages[..from].to_vec();
    made.push(summary);
    made.extend(messages.get(to).filter(|next| next.who == Who::User).map(|_| answer));
    made.extend_from_slice(&messages[to..]);
    assert!(judge(&made, !closed), "{from} to {to} of {messages:?} became {made:?}");
});
