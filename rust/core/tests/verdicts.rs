//! Verdicts of the judge in `judge/`, as `tests/behaviour/verdicts.jsonl` has them; `tests/behaviour/test_verdicts.py` holds the judge of the
//! Python tests to the same file.
//!
//! `TRIMTAB_WRITE_VERDICTS=1 cargo test -p trimtab-core --test verdicts` writes the file anew.

mod judge;

use std::fmt::Write as _;

use judge::shapes::{native, written};
use judge::{Block, KINDS, Message, Who, judged, spell};
use trimtab_core::node::write_json;
use trimtab_core::shape::Provider;

/// Lists of up to two messages, and every 17th of three.
fn lists() -> Vec<Vec<char>> {
    let mut lists: Vec<Vec<char>> = KINDS.iter().map(|kind| vec![*kind]).collect();
    let pairs: Vec<_> = lists.iter().flat_map(|list| KINDS.map(|kind| [&list[..], &[kind]].concat())).collect();
    let triples = pairs.iter().flat_map(|list| KINDS.map(|kind| [&list[..], &[kind]].concat())).step_by(17);
    let triples: Vec<_> = triples.collect();
    lists.extend(pairs);
    lists.extend(triples);
    lists
}

/// A message of Anthropic's.
fn anthropic(message: &Message) -> String {
    let role = match message.who {
        Who::User => "user",
        Who::Assistant => "assistant",
        Who::System => "system",
    };
    let block = |block: &Block| match block {
        Block::Text(text) => format!(r#"{{"type":"text","text":"{text}"}}"#),
        Block::Call(id) => format!(r#"{{"type":"tool_use","id":"call_{id}","name":"run","input":{{}}}}"#),
        Block::Result(id, text) => {
            format!(r#"{{"type":"tool_result","tool_use_id":"call_{id}","content":"{text}"}}"#)
        }
        Block::Thinking => r#"{"type":"thinking","thinking":"hm","signature":"sig"}"#.to_owned(),
        Block::Search(id) => {
            format!(r#"{{"type":"server_tool_use","id":"call_{id}","name":"web_search","input":{{}}}}"#)
        }
        Block::Found(id) => {
            format!(r#"{{"type":"web_search_tool_result","tool_use_id":"call_{id}","content":[]}}"#)
        }
    };
    let blocks: Vec<String> = message.blocks.iter().map(block).collect();
    format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
}

/// A message of another provider's.
fn other(provider: Provider, message: &Message) -> String {
    let mut json = String::new();
    write_json(&written(provider, message), &mut json, None).expect("plain JSON");
    json
}

/// A line for each list: its provider, its kinds, the verdict with all calls closed and with calls in flight, messages.
fn verdicts() -> String {
    let mut out = String::new();
    for (name, provider) in Provider::NAMES {
        // A message without a block is no item of Responses.
        let has_form = |kinds: &Vec<char>| provider != Provider::OpenAiResponses || !kinds.contains(&'e');
        for kinds in lists().into_iter().filter(has_form) {
            let messages = match provider {
                Provider::Anthropic => spell(&kinds),
                _ => native(provider, &spell(&kinds)),
            };
            let (closed, open) = (judged(provider, &messages, false), judged(provider, &messages, true));
            let json: Vec<String> = match provider {
                Provider::Anthropic => messages.iter().map(anthropic).collect(),
                _ => messages.iter().map(|message| other(provider, message)).collect(),
            };
            let (kinds, json): (String, _) = (kinds.iter().collect(), json.join(","));
            let head = format!(r#""provider":"{name}","kinds":"{kinds}","closed":{closed},"in_flight":{open}"#);
            writeln!(out, r#"{{{head},"messages":[{json}]}}"#).expect("a String takes all");
        }
    }
    out
}

#[test]
fn the_judge_gives_the_verdicts_of_the_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/behaviour/verdicts.jsonl");
    let found = verdicts();
    if std::env::var_os("TRIMTAB_WRITE_VERDICTS").is_some() {
        std::fs::write(path, &found).expect("the folder of tests is there");
    }
    let file = std::fs::read_to_string(path).expect("the file of verdicts is there");
    let differ = file.lines().zip(found.lines()).find(|(wanted, got)| wanted != got);
    assert_eq!(differ, None);
    assert_eq!(file.len(), found.len());
}
