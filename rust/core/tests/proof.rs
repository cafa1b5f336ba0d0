//! Bounded exhaustive proof: every list over ten kinds, of up to six messages in Anthropic's shape, of up to five in the
//! other providers'.
//!
//! The library decides validity, safe cuts, and the rows that an edit may take. An independent second implementation of
//! the rules judges the resulting lists: `judge/` reads the messages and shares no code with the library. The short bound
//! runs with the tests, the long one with `make proof`.

mod judge;

use judge::shapes::native;
use judge::{Block, KINDS, Message, Who, allowed, judge, judged, ledger, spell};
use trimtab_core::counter::Counter;
use trimtab_core::ledger::{Kind, Ledger};
use trimtab_core::shape::Provider;
use trimtab_tokens::{Chars, Round, Unit};

// Applies the edits to a list, in the order of the flow.

/// A summary instead of the messages `from..to`, and what keeps roles apart around it.
fn replaced(messages: &[Message], from: usize, to: usize) -> Vec<Message> {
    let text = |who, said| Message { who, blocks: vec![Block::Text(said)] };
    let mut out: Vec<Message> = messages[..from].to_vec();
    out.push(text(Who::User, "<trimtab-summary>"));
    if messages.get(to).is_some_and(|m| m.who == Who::User) {
        out.push(text(Who::Assistant, "Understood."));
    }
    out.extend_from_slice(&messages[to..]);
    out
}

/// The list with the blocks that `change` answers; messages that it empties go.
fn edited(messages: &[Message], ledger: &Ledger, change: impl Fn(Kind, usize, Block) -> Option<Block>) -> Vec<Message> {
    let mut row = 0;
    let mut out = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut blocks = Vec::new();
        for block in &message.blocks {
            blocks.extend(change(ledger.kind[row], index, *block));
            row += 1;
        }
        if !blocks.is_empty() {
            out.push(Message { who: message.who, blocks });
        }
    }
    out
}

#[derive(Default, Debug, PartialEq, Eq)]
struct Tally {
    lists: u64,
    valid: u64,
    running: u64,
    cuts: u64,
    outcomes: u64,
    is_safe_split: u64,
}

fn prove(provider: Provider, messages: &[Message], counter: &Counter, tally: &mut Tally) {
    let columns = ledger(provider, messages, counter);
    let (closed, open) = (judged(provider, messages, false), judged(provider, messages, true));
    assert_eq!(allowed(provider, &columns, false), closed, "{provider:?}: {messages:?}");
    assert_eq!(allowed(provider, &columns, true), open, "{provider:?}, in flight: {messages:?}");
    tally.lists += 1;
    tally.valid += u64::from(closed);
    tally.running += u64::from(open && !closed);
    if !open {
        return;
    }
    let mut holds = |made: &[Message], what: &str| {
        assert!(judged(provider, made, !closed), "{provider:?}, {what}: {messages:?} became {made:?}");
        tally.outcomes += 1;
    };
    let cuts: Vec<usize> = (0..=messages.len()).filter(|&cut| columns.safe[cut]).collect();
    for (n, &from) in cuts.iter().enumerate() {
        let alternates = provider == Provider::Bedrock && from > 0 && messages[from - 1].who == Who::User;
        for &to in cuts[n + 1..].iter().filter(|_| !alternates) {
            holds(&replaced(messages, from, to), "summarized");
            let behind =
                |kind: Kind, index: usize, block: Block| (kind != Kind::Thinking || index < from).then_some(block);
            let stripped = edited(messages, &columns, behind);
            if stripped.len() == messages.len() {
                holds(&replaced(&stripped, from, to), "summarized and stripped");
            }
        }
    }
    for said in ["[pruned]", "do\n[...]\nne"] {
        let cut = |kind: Kind, _: usize, block: Block| match block {
            Block::Result(id, _) if kind == Kind::Result => Some(Block::Result(id, said)),
            other => Some(other),
        };
        holds(&edited(messages, &columns, cut), "results cut");
    }
    holds(&edited(messages, &columns, |kind, _, block| (kind != Kind::Thinking).then_some(block)), "stripped");
    tally.cuts += cuts.len() as u64;
    let unsafe_cuts = (1..messages.len()).filter(|&cut| !columns.safe[cut]);
    tally.is_safe_split +=
        unsafe_cuts.filter(|&cut| !judged(provider, &replaced(messages, 0, cut), !closed)).count() as u64;
}

fn all(provider: Provider, kinds: &[char], most: u32) -> Tally {
    let counter =
        Counter::from(trimtab_tokens::Counter::length(Chars { unit: Unit::Bytes, round: Round::Ceil, per: 4 }));
    let mut tally = Tally::default();
    for length in 1..=most {
        for number in 0..kinds.len().pow(length) {
            let digits = (0..length).map(|place| kinds[number / kinds.len().pow(place) % kinds.len()]);
            let messages = spell(&digits.collect::<Vec<_>>());
            match provider {
                Provider::Anthropic => prove(provider, &messages, &counter, &mut tally),
                _ => prove(provider, &native(provider, &messages), &counter, &mut tally),
            }
        }
    }
    tally
}

#[test]
fn every_list_of_up_to_four_messages_stays_valid_whatever_is_done_to_it() {
    let tally = all(Provider::Anthropic, &KINDS, 4);
    assert_eq!(tally.lists, 11_110);
    assert!(tally.valid > 100 && tally.running > 100 && tally.outcomes > 5_000, "{tally:?}");
    assert!(tally.is_safe_split > 100, "cuts that are not safe are refused: {tally:?}");
}

#[test]
#[ignore = "a million lists: make proof"]
fn every_list_of_up_to_six_messages_stays_valid_whatever_is_done_to_it() {
    let tally = all(Provider::Anthropic, &KINDS, 6);
    assert_eq!(tally.lists, 1_111_110);
    println!("Anthropic: {tally:?}");
}

#[test]
fn every_turn_of_up_to_five_messages_that_thinks_begins_with_its_thinking_wherever_it_is_cut() {
    let tally = all(Provider::Anthropic, &['u', 'h', 't', 's', 'a', 'c', 'r'], 6);
    assert_eq!(tally.lists, 137_256);
    assert!(tally.running > 1_000 && tally.outcomes > 20_000, "{tally:?}");
}

const OTHERS: [Provider; 4] = [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Bedrock, Provider::Gemini];

#[test]
fn every_list_of_up_to_three_messages_stays_valid_in_every_other_shape() {
    for provider in OTHERS {
        let tally = all(provider, &KINDS, 3);
        assert_eq!(tally.lists, 1_110);
        assert!(tally.valid >= 20 && tally.running > 5 && tally.outcomes > 100, "{provider:?}: {tally:?}");
        assert!(tally.is_safe_split > 0, "{provider:?}: cuts that are not safe are refused: {tally:?}");
    }
}

#[test]
#[ignore = "half a million lists: make proof"]
fn every_list_of_up_to_five_messages_stays_valid_in_every_other_shape() {
    for provider in OTHERS {
        let tally = all(provider, &KINDS, 5);
        assert_eq!(tally.lists, 111_110);
        println!("{provider:?}: {tally:?}");
    }
}

#[test]
fn the_judge_refuses_what_it_should() {
    for (kinds, closed, open) in [
        ("ua", true, true),
        ("uc", false, true),
        ("ucr", true, true),
        ("ucu", false, false),
        ("upr", true, true),
        ("upra", true, true),
        ("ur", false, false),
        ("a", false, false),
        ("uat", false, false),
        ("utr", true, true),
        ("us", true, true),
        ("uy", false, false),
        ("ue", false, false),
        ("ucrr", false, false),
    ] {
        let messages = spell(&kinds.chars().collect::<Vec<_>>());
        assert_eq!((judge(&messages, false), judge(&messages, true)), (closed, open), "{kinds}");
    }
}
