//! Bounded exhaustive proof for the Messages shape: every list of up to six messages over ten kinds.
//!
//! What is judged valid, where a list may be cut, and which rows an edit may take are the library's answers. The lists
//! that come of them are judged here by rules written a second time, over the messages themselves: [`judge`] shares no
//! code with the library. The short bound runs with the tests, the long one with `make proof`.

use trimtab_core::error::Error;
use trimtab_core::ledger::{Builder, Kind, Ledger};
use trimtab_core::node::{Key, Node, Shape};
use trimtab_core::shape::Provider;
use trimtab_core::text::{Chars, Counter, Round, Unit};
use trimtab_core::validate::{Options, validate};

/// A block, as the judge and the library see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text(&'static str),
    Call(u8),
    Result(u8, &'static str),
    Thinking,
    Search(u8),
    Found(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    User,
    Assistant,
    System,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    who: Who,
    blocks: Vec<Block>,
}

const KINDS: [char; 10] = ['u', 'r', 'a', 'c', 'p', 't', 's', 'y', 'm', 'e'];

/// User text, the results that are owed, assistant text, one call, two, thinking and a call, a server's pair, system
/// text, a summary, nothing.
fn spell(kinds: &[char]) -> Vec<Message> {
    let (mut ids, mut owed) = (0u8, vec![99u8]); // where nothing was called, a result answers a call that is not there
    let mut next = || {
        ids += 1;
        ids
    };
    kinds
        .iter()
        .map(|kind| {
            let (who, blocks) = match kind {
                'u' => (Who::User, vec![Block::Text("go on")]),
                'r' => (Who::User, owed.iter().map(|id| Block::Result(*id, "done")).collect()),
                'a' => (Who::Assistant, vec![Block::Text("well")]),
                'c' => (Who::Assistant, vec![Block::Call(next())]),
                'p' => (Who::Assistant, vec![Block::Text("both"), Block::Call(next()), Block::Call(next())]),
                't' => (Who::Assistant, vec![Block::Thinking, Block::Call(next())]),
                's' => {
                    let id = next();
                    (Who::Assistant, vec![Block::Search(id), Block::Found(id), Block::Text("found")])
                }
                'y' => (Who::System, vec![Block::Text("rules")]),
                'm' => (Who::User, vec![Block::Text("<trimtab-summary>")]),
                _ => (Who::User, vec![]),
            };
            let calls: Vec<u8> =
                blocks.iter().filter_map(|b| if let Block::Call(id) = b { Some(*id) } else { None }).collect();
            if !calls.is_empty() {
                owed = calls;
            }
            Message { who, blocks }
        })
        .collect()
}

// The judge: Anthropic's rules, over messages.

/// Whether the server takes the list; `in_flight`: the calls of its last turn may be open.
fn judge(messages: &[Message], in_flight: bool) -> bool {
    let Some(first) = messages.first() else { return false };
    if first.who != Who::User || messages.iter().any(|m| m.who == Who::System || m.blocks.is_empty()) {
        return false;
    }
    let mut turns: Vec<(Who, Vec<Block>)> = Vec::new();
    for message in messages {
        match turns.last_mut() {
            Some((who, blocks)) if *who == message.who => blocks.extend(&message.blocks),
            _ => turns.push((message.who, message.blocks.clone())),
        }
    }
    let mut seen = Vec::new();
    turns.iter().enumerate().all(|(n, (who, blocks))| {
        let next = turns.get(n + 1).map_or(&[][..], |(_, blocks)| blocks);
        let before = if n == 0 { &[][..] } else { &turns[n - 1].1 };
        match who {
            Who::Assistant => spoken(blocks, next, in_flight && n + 2 >= turns.len(), &mut seen),
            _ => answered(blocks, before),
        }
    })
}

fn spoken(blocks: &[Block], next: &[Block], open: bool, seen: &mut Vec<u8>) -> bool {
    let thinks = blocks.iter().position(|b| *b == Block::Thinking);
    if thinks.is_some_and(|at| at > 0) || blocks.last() == Some(&Block::Thinking) {
        return false;
    }
    let answers: Vec<u8> =
        next.iter().filter_map(|b| if let Block::Result(id, _) = b { Some(*id) } else { None }).collect();
    let open = open && answers.len() == next.len();
    blocks.iter().enumerate().all(|(at, block)| match block {
        Block::Call(id) | Block::Search(id) if seen.contains(id) => false,
        Block::Call(id) => {
            seen.push(*id);
            open || answers.contains(id)
        }
        Block::Search(id) => {
            seen.push(*id);
            blocks[at..].contains(&Block::Found(*id))
        }
        Block::Found(id) => blocks[..at].contains(&Block::Search(*id)),
        Block::Result(..) => false,
        _ => true,
    })
}

fn answered(blocks: &[Block], before: &[Block]) -> bool {
    let behind = blocks.iter().position(|b| !matches!(b, Block::Result(..))).unwrap_or(blocks.len());
    blocks.iter().enumerate().all(|(at, block)| match block {
        Block::Result(id, _) => {
            let once = !blocks[..at].iter().any(|b| matches!(b, Block::Result(other, _) if other == id));
            at < behind && once && before.contains(&Block::Call(*id))
        }
        Block::Text(_) => true,
        _ => false,
    })
}

// The library's view of the same messages.

/// A part of a message as JSON.
#[derive(Clone)]
enum View<'a> {
    Message(&'a Message),
    Blocks(&'a [Block]),
    Block(Block),
    Text(String),
    Empty,
}

impl Node for View<'_> {
    type Text = String;

    fn shape(&self) -> Shape {
        match self {
            Self::Blocks(_) => Shape::List,
            Self::Text(_) => Shape::Text,
            _ => Shape::Map,
        }
    }

    #[allow(clippy::match_same_arms)] // a row a field
    fn get(&self, key: Key) -> Result<Option<Self>, Error> {
        let text = |text: &str| Some(View::Text(text.to_owned()));
        let id = |id: &u8| Some(View::Text(format!("call_{id}")));
        Ok(match (self, key) {
            (View::Message(m), Key::Role) => text(match m.who {
                Who::User => "user",
                Who::Assistant => "assistant",
                Who::System => "system",
            }),
            (View::Message(m), Key::Content) => Some(View::Blocks(&m.blocks)),
            (View::Block(block), key) => match (block, key) {
                (Block::Text(_), Key::Type) => text("text"),
                (Block::Text(said), Key::Text) => text(said),
                (Block::Call(_), Key::Type) => text("tool_use"),
                (Block::Search(_), Key::Type) => text("server_tool_use"),
                (Block::Call(n) | Block::Search(n), Key::Id) => id(n),
                (Block::Call(_) | Block::Search(_), Key::Name) => text("look"),
                (Block::Call(_) | Block::Search(_), Key::Input) => Some(View::Empty),
                (Block::Result(..), Key::Type) => text("tool_result"),
                (Block::Found(_), Key::Type) => text("web_search_tool_result"),
                (Block::Result(n, _) | Block::Found(n), Key::ToolUseId) => id(n),
                (Block::Result(_, said), Key::Content) => text(said),
                (Block::Found(_), Key::Content) => Some(View::Blocks(&[])),
                (Block::Thinking, Key::Type | Key::Thinking) => text("thinking"),
                (Block::Thinking, Key::Signature) => text("sig"),
                _ => None,
            },
            _ => None,
        })
    }

    fn text(&self) -> Result<Option<String>, Error> {
        Ok(if let Self::Text(text) = self { Some(text.clone()) } else { None })
    }

    fn items(&self, visit: &mut dyn FnMut(Self) -> Result<(), Error>) -> Result<(), Error> {
        let Self::Blocks(blocks) = self else { return Ok(()) };
        blocks.iter().try_for_each(|block| visit(View::Block(*block)))
    }

    fn entries(&self, _: &mut dyn FnMut(&str, Self) -> Result<(), Error>) -> Result<(), Error> {
        Ok(())
    }

    fn literal(&self) -> String {
        String::new()
    }
}

fn ledger(messages: &[Message], counter: &Counter) -> Ledger {
    let mut builder = Builder::default();
    for message in messages {
        Provider::Anthropic.read(&View::Message(message), &mut builder).expect("the alphabet can be read");
    }
    builder.finish(counter).expect("a few rows")
}

fn allowed(ledger: &Ledger, in_flight: bool) -> bool {
    validate(ledger, Provider::Anthropic, Options { in_flight, ..Options::default() }, None).is_empty()
}

// What the edits make of a list, as the flow does them.

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
    parted: u64,
}

fn prove(messages: &[Message], counter: &Counter, tally: &mut Tally) {
    let columns = ledger(messages, counter);
    let (closed, open) = (judge(messages, false), judge(messages, true));
    assert_eq!(allowed(&columns, false), closed, "{messages:?}");
    assert_eq!(allowed(&columns, true), open, "in flight: {messages:?}");
    tally.lists += 1;
    tally.valid += u64::from(closed);
    tally.running += u64::from(open && !closed);
    if !open {
        return;
    }
    let mut holds = |made: &[Message], what: &str| {
        assert!(judge(made, !closed), "{what}: {messages:?} became {made:?}");
        tally.outcomes += 1;
    };
    let cuts: Vec<usize> = (0..=messages.len()).filter(|&cut| columns.safe[cut]).collect();
    for (n, &from) in cuts.iter().enumerate() {
        for &to in &cuts[n + 1..] {
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
    tally.parted += unsafe_cuts.filter(|&cut| !judge(&replaced(messages, 0, cut), !closed)).count() as u64;
}

fn all(most: u32) -> Tally {
    let counter = Counter::length(Chars { unit: Unit::Bytes, round: Round::Ceil, per: 4 });
    let mut tally = Tally::default();
    for length in 1..=most {
        for number in 0..10usize.pow(length) {
            let digits = (0..length).map(|place| KINDS[number / 10usize.pow(place) % 10]);
            prove(&spell(&digits.collect::<Vec<_>>()), &counter, &mut tally);
        }
    }
    tally
}

#[test]
fn every_list_of_up_to_four_messages_stays_valid_whatever_is_done_to_it() {
    let tally = all(4);
    assert_eq!(tally.lists, 11_110);
    assert!(tally.valid > 100 && tally.running > 100 && tally.outcomes > 5_000, "{tally:?}");
    assert!(tally.parted > 100, "cuts that are not safe are refused: {tally:?}");
}

#[test]
#[ignore = "a million lists: make proof"]
fn every_list_of_up_to_six_messages_stays_valid_whatever_is_done_to_it() {
    let tally = all(6);
    assert_eq!(tally.lists, 1_111_110);
    println!("{tally:?}");
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
