//! Lists over a small alphabet, a judge of them that shares no code with the library, and the library's view of them.
//!
//! [`judge`] has Anthropic's rules written a second time, over the messages themselves. Used by the proof and by `fuzz/`.
#![allow(dead_code)] // each of the two uses a part

pub mod shapes;

use trimtab_core::counter::Counter;
use trimtab_core::error::Error;
use trimtab_core::ledger::{Builder, Ledger};
use trimtab_core::node::{Key, Node, Shape};
use trimtab_core::shape::Provider;
use trimtab_core::validate::{Options, validate};

/// A block, as the judge and the library see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Text(&'static str),
    Call(u8),
    Result(u8, &'static str),
    Thinking,
    Search(u8),
    Found(u8),
}

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    User,
    Assistant,
    System,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub who: Who,
    pub blocks: Vec<Block>,
}

pub const KINDS: [char; 10] = ['u', 'r', 'a', 'c', 'p', 't', 's', 'y', 'm', 'e'];

/// User text, the results that are owed, assistant text, one call, two, thinking and a call, a server's pair, system
/// text, a summary, nothing; and `h`, thinking by itself.
pub fn spell(kinds: &[char]) -> Vec<Message> {
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
                'h' => (Who::Assistant, vec![Block::Thinking]),
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

/// Whether the provider takes the list, by its own rules.
pub fn judged(provider: Provider, messages: &[Message], in_flight: bool) -> bool {
    match provider {
        Provider::Anthropic => judge(messages, in_flight),
        _ => shapes::judge(provider, messages, in_flight),
    }
}

/// Whether the server takes the list; `in_flight`: the calls of its last turn may be open.
pub fn judge(messages: &[Message], in_flight: bool) -> bool {
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
pub enum View<'a> {
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

pub fn ledger(provider: Provider, messages: &[Message], counter: &Counter) -> Ledger {
    let mut builder = Builder::default();
    for message in messages {
        match provider {
            Provider::Anthropic => provider.read(&View::Message(message), &mut builder),
            _ => provider.read(&shapes::written(provider, message), &mut builder),
        }
        .expect("the alphabet can be read");
    }
    builder.finish(counter).expect("a few rows")
}

/// Whether the library's rules find nothing, for a model that takes no `system` messages between the others.
pub fn allowed(provider: Provider, ledger: &Ledger, in_flight: bool) -> bool {
    let options = Options { in_flight, system_role: Some(false), ..Options::default() };
    validate(ledger, provider, options, None).is_empty()
}
