//! The alphabet in the other providers' shapes: how its messages are written there, and their rules, written a second
//! time over the messages themselves.

use trimtab_core::error::Error;
use trimtab_core::node::{Key, Node, Shape};
use trimtab_core::shape::Provider;

use super::{Block, Message, Who};

/// A value of JSON.
#[derive(Clone)]
pub enum Json {
    Null,
    True,
    Text(String),
    List(Vec<Json>),
    Map(Vec<(&'static str, Json)>),
}

impl Node for Json {
    type Text = String;

    fn shape(&self) -> Shape {
        match self {
            Self::Null => Shape::Null,
            Self::True => Shape::Bool,
            Self::Text(_) => Shape::Text,
            Self::List(_) => Shape::List,
            Self::Map(_) => Shape::Map,
        }
    }

    fn get(&self, key: Key) -> Result<Option<Self>, Error> {
        let Self::Map(entries) = self else { return Ok(None) };
        Ok(entries.iter().find(|(name, _)| *name == key.text()).map(|(_, value)| value.clone()))
    }

    fn text(&self) -> Result<Option<String>, Error> {
        Ok(if let Self::Text(text) = self { Some(text.clone()) } else { None })
    }

    fn items(&self, visit: &mut dyn FnMut(Self) -> Result<(), Error>) -> Result<(), Error> {
        let Self::List(items) = self else { return Ok(()) };
        items.iter().try_for_each(|item| visit(item.clone()))
    }

    fn entries(&self, visit: &mut dyn FnMut(&str, Self) -> Result<(), Error>) -> Result<(), Error> {
        let Self::Map(entries) = self else { return Ok(()) };
        entries.iter().try_for_each(|(name, value)| visit(name, value.clone()))
    }

    fn literal(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::True => "true".to_owned(),
            _ => String::new(),
        }
    }
}

/// The messages as the provider has them: Chat has a message a result, Responses an item a block, and only Responses has
/// something like a server's call, which is one item.
pub fn native(provider: Provider, messages: &[Message]) -> Vec<Message> {
    let mut out = Vec::new();
    for Message { who, blocks } in messages {
        let server = |block: &Block| matches!(block, Block::Search(_) | Block::Found(_));
        let kept = |block: &&Block| match provider {
            Provider::OpenAiResponses => !matches!(block, Block::Found(_)),
            _ => !server(block),
        };
        let blocks: Vec<Block> = blocks.iter().filter(kept).copied().collect();
        let apart = match provider {
            Provider::OpenAiChat => matches!(blocks.first(), Some(Block::Result(..))),
            Provider::OpenAiResponses => !blocks.is_empty(),
            _ => false,
        };
        if apart {
            out.extend(blocks.into_iter().map(|block| Message { who: *who, blocks: vec![block] }));
        } else {
            out.push(Message { who: *who, blocks });
        }
    }
    out
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn id(id: u8) -> Json {
    Json::Text(format!("call_{id}"))
}

/// A message as the provider's JSON.
pub fn written(provider: Provider, message: &Message) -> Json {
    match provider {
        Provider::OpenAiChat => chat(message),
        Provider::OpenAiResponses => item(message),
        Provider::Bedrock => {
            let blocks = message.blocks.iter().map(|block| converse(*block)).collect();
            Json::Map(vec![("role", role(message.who, "assistant")), ("content", Json::List(blocks))])
        }
        _ => {
            let parts = message.blocks.iter().map(|block| part(*block)).collect();
            Json::Map(vec![("role", role(message.who, "model")), ("parts", Json::List(parts))])
        }
    }
}

fn role(who: Who, model: &str) -> Json {
    text(match who {
        Who::User => "user",
        Who::Assistant => model,
        Who::System => "system",
    })
}

fn chat(message: &Message) -> Json {
    if let [Block::Result(n, said)] = message.blocks[..] {
        return Json::Map(vec![("role", text("tool")), ("tool_call_id", id(n)), ("content", text(said))]);
    }
    let mut entries = vec![("role", role(message.who, "assistant"))];
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for block in &message.blocks {
        match block {
            Block::Text(said) => parts.push(Json::Map(vec![("type", text("text")), ("text", text(said))])),
            Block::Call(n) => {
                let function = Json::Map(vec![("name", text("look")), ("arguments", text("{}"))]);
                calls.push(Json::Map(vec![("id", id(*n)), ("type", text("function")), ("function", function)]));
            }
            _ => entries.push(("reasoning_content", text("thinking"))),
        }
    }
    entries.push(("content", if parts.is_empty() && !calls.is_empty() { Json::Null } else { Json::List(parts) }));
    if !calls.is_empty() {
        entries.push(("tool_calls", Json::List(calls)));
    }
    Json::Map(entries)
}

fn item(message: &Message) -> Json {
    Json::Map(match message.blocks[..] {
        [Block::Call(n)] => {
            vec![("type", text("function_call")), ("call_id", id(n)), ("name", text("look")), ("arguments", text("{}"))]
        }
        [Block::Result(n, said)] => {
            vec![("type", text("function_call_output")), ("call_id", id(n)), ("output", text(said))]
        }
        [Block::Thinking] => vec![("type", text("reasoning")), ("summary", Json::List(vec![]))],
        [Block::Search(n)] => vec![("type", text("web_search_call")), ("id", id(n))],
        [Block::Text(said)] => vec![("role", role(message.who, "assistant")), ("content", text(said))],
        _ => vec![("role", role(message.who, "assistant")), ("content", Json::List(vec![]))],
    })
}

fn converse(block: Block) -> Json {
    let held = |entries| Json::Map(entries);
    Json::Map(vec![match block {
        Block::Text(said) => ("text", text(said)),
        Block::Call(n) => {
            ("toolUse", held(vec![("toolUseId", id(n)), ("name", text("look")), ("input", held(vec![]))]))
        }
        Block::Result(n, said) => {
            let content = Json::List(vec![held(vec![("text", text(said))])]);
            ("toolResult", held(vec![("toolUseId", id(n)), ("content", content)]))
        }
        _ => {
            let said = held(vec![("text", text("thinking")), ("signature", text("sig"))]);
            ("reasoningContent", held(vec![("reasoningText", said)]))
        }
    }])
}

fn part(block: Block) -> Json {
    let named = |n, more| Json::Map(vec![("id", id(n)), ("name", text("look")), more]);
    Json::Map(match block {
        Block::Text(said) => vec![("text", text(said))],
        Block::Call(n) => vec![("functionCall", named(n, ("args", Json::Map(vec![]))))],
        Block::Result(n, said) => {
            vec![("functionResponse", named(n, ("response", Json::Map(vec![("output", text(said))]))))]
        }
        _ => vec![("text", text("thinking")), ("thought", Json::True)],
    })
}

/// Whether the provider takes the list, which is written as [`native`] has it.
pub fn judge(provider: Provider, messages: &[Message], in_flight: bool) -> bool {
    if messages.is_empty() || messages.iter().any(|m| m.blocks.is_empty()) {
        return false;
    }
    match provider {
        Provider::OpenAiChat => completions(messages, in_flight),
        Provider::OpenAiResponses => responses(messages, in_flight),
        Provider::Bedrock => conversation(messages, in_flight),
        _ => contents(messages, in_flight),
    }
}

fn calls(message: &Message) -> Vec<u8> {
    message.blocks.iter().filter_map(|b| if let Block::Call(id) = b { Some(*id) } else { None }).collect()
}

fn results(message: &Message) -> Vec<u8> {
    message.blocks.iter().filter_map(|b| if let Block::Result(id, _) = b { Some(*id) } else { None }).collect()
}

fn only_results(message: &Message) -> bool {
    results(message).len() == message.blocks.len()
}

/// Whether no id is there twice.
fn once(ids: &[u8]) -> bool {
    ids.iter().enumerate().all(|(at, id)| !ids[..at].contains(id))
}

/// Chat: the messages of results stand directly behind the calls that they answer, one for each.
fn completions(messages: &[Message], in_flight: bool) -> bool {
    let (mut owed, mut given) = (Vec::new(), Vec::new());
    let closes = |owed: &[u8], given: &[u8]| owed.iter().all(|id| given.contains(id));
    for message in messages {
        if only_results(message) {
            given.extend(results(message));
            if !once(&given) || given.iter().any(|id| !owed.contains(id)) {
                return false;
            }
            continue;
        }
        if !closes(&owed, &given) {
            return false;
        }
        (owed, given) = (calls(message), Vec::new());
    }
    in_flight || closes(&owed, &given)
}

/// Responses: a call before its output, one output a call, and reasoning in front of what it led to.
fn responses(items: &[Message], in_flight: bool) -> bool {
    let model = |at: usize| items[at].who == Who::Assistant;
    let begins = |at: &usize| !only_results(&items[*at]) && (!model(*at) || *at == 0 || !model(*at - 1));
    let start = (0..items.len()).rev().find(begins).unwrap_or(0); // of what the model said last
    let asked: Vec<u8> = items.iter().flat_map(calls).collect();
    let answers: Vec<u8> = items.iter().flat_map(results).collect();
    once(&asked)
        && once(&answers)
        && (0..items.len()).all(|at| match items[at].blocks[0] {
            Block::Thinking => at + 1 < items.len() && model(at + 1),
            Block::Call(id) => (in_flight && at >= start) || items[at..].iter().any(|i| results(i).contains(&id)),
            Block::Result(id, _) => items[..at].iter().any(|item| calls(item).contains(&id)),
            _ => true,
        })
}

/// Converse: the user begins, roles alternate, and results answer the message before them.
fn conversation(messages: &[Message], in_flight: bool) -> bool {
    let last = messages.len() - 1;
    let asked: Vec<u8> = messages.iter().flat_map(calls).collect();
    once(&asked)
        && messages.iter().enumerate().all(|(at, message)| {
            let turn = if at % 2 == 0 { Who::User } else { Who::Assistant };
            if message.who != turn {
                return false;
            }
            let answers = results(message);
            if turn == Who::User {
                let owed = if at == 0 { Vec::new() } else { calls(&messages[at - 1]) };
                let runs = in_flight && at == last && only_results(message);
                let closed = runs || owed.iter().all(|id| answers.contains(id));
                return closed && once(&answers) && answers.iter().all(|id| owed.contains(id));
            }
            let thinks = message.blocks.iter().position(|block| *block == Block::Thinking);
            let placed = thinks.is_none_or(|place| place == 0) && message.blocks.last() != Some(&Block::Thinking);
            answers.is_empty() && placed && (at < last || in_flight || calls(message).is_empty())
        })
}

/// Gemini: calls stand behind the user, and the next content has as many responses, to the same calls.
fn contents(messages: &[Message], in_flight: bool) -> bool {
    messages.iter().enumerate().all(|(at, message)| {
        let before = at.checked_sub(1).map(|at| &messages[at]);
        let (asked, answers) = (calls(message), results(message));
        let called = before.is_some_and(|before| before.who == Who::Assistant && !calls(before).is_empty());
        if message.who == Who::System || (!answers.is_empty() && !called) {
            return false;
        }
        if asked.is_empty() {
            return true;
        }
        let next = messages.get(at + 1);
        let given = next.map(results).unwrap_or_default();
        let runs = in_flight && at + 2 >= messages.len() && next.is_none_or(only_results);
        let fits = given.len() == asked.len() || (runs && given.len() <= asked.len());
        before.is_some_and(|before| before.who == Who::User)
            && fits
            && once(&given)
            && given.iter().all(|id| asked.contains(id))
    })
}
