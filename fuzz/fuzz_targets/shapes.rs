//! The readers of all five shapes over any JSON: what is read twice is the same, in parts the same as at once, what
//! rules look at the same as what all look at; and judging any of it ends.
#![no_main]

mod common;

use common::{Bytes, map};
use libfuzzer_sys::fuzz_target;
use trimtab_core::json::{Json, Tape};
use trimtab_core::ledger::{Builder, Ledger, Outline, Sink, UNPAIRED};
use trimtab_core::node::Node;
use trimtab_core::shape::{self, Provider};
use trimtab_tokens::{Chars, Round, Unit};
use trimtab_core::counter::Counter;
use trimtab_core::validate::{Options, validate};

/// Reads messages as far as they can be read.
fn read<'t, 'a, S>(messages: &'t [(Tape, &'a str)], provider: Provider, mut builder: Builder<S>) -> Builder<S>
where
    S: Sink<Text = <Json<'t, 'a> as Node>::Text>,
{
    for (tape, text) in messages {
        let parsed = tape.of(text);
        let node = Json::new(&parsed);
        let _ = shape::Detector::default().see(&node);
        if provider.read(&node, &mut builder).is_err() {
            break;
        }
    }
    builder
}

fn check(ledger: &Ledger) {
    let rows = ledger.rows();
    assert_eq!(ledger.first.last().copied(), u32::try_from(rows).ok());
    assert_eq!((ledger.first.len(), ledger.safe.len()), (ledger.messages() + 1, ledger.messages() + 1));
    for (row, &pair) in ledger.pair.iter().enumerate().filter(|(_, pair)| **pair != UNPAIRED) {
        let other = usize::try_from(pair).expect("a row");
        assert_eq!(ledger.pair[other], i32::try_from(row).expect("a row"), "pairs are mutual");
        assert_eq!(ledger.ids.get(row), ledger.ids.get(other), "and of one id");
        let (call, result) = (row.min(other), row.max(other));
        assert!(ledger.kind[call].is_call() && ledger.kind[result].is_result());
        for cut in ledger.owner[call] + 1..=ledger.owner[result] {
            assert!(!ledger.safe[cut as usize], "no safe cut parts them");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [which, how, rest @ ..] = data else { return };
    let provider = Provider::NAMES[usize::from(*which) % Provider::NAMES.len()].1;
    let text = if how & 1 == 0 { String::from_utf8_lossy(rest).into_owned() } else { generated(rest) };
    let messages: Vec<(Tape, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut tape = Tape::default();
            tape.parse(line, 0).is_ok().then_some((tape, line))
        })
        .collect();
    let counter = Counter::from(trimtab_tokens::Counter::length(Chars { unit: Unit::Bytes, round: Round::Ceil, per: 4 }));
    let whole = read(&messages, provider, Builder::default()).finish(&counter);
    let Ok(whole) = whole else { return };
    check(&whole);
    let again = read(&messages, provider, Builder::default()).finish(&counter).expect("it could be read before");
    assert_eq!(whole, again);
    if whole.messages() == messages.len() {
        let at = usize::from(how >> 1) % (messages.len() + 1);
        let head = read(&messages[..at], provider, Builder::default()).finish(&counter).expect("a part of it");
        let tail = read(&messages[at..], provider, Builder::default()).finish(&counter).expect("a part of it");
        assert_eq!(head.extend(tail).expect("as much as before"), whole);
    }
    let outline = Builder::<Outline<_>>::of(messages.len());
    let collected = read(&messages, provider, outline).linked().expect("as much as before");
    assert_eq!((&collected.kind, &collected.flags, &collected.pair), (&whole.kind, &whole.flags, &whole.pair));
    for in_flight in [false, true] {
        let options = Options {
            in_flight,
            thinking: [None, Some(true), Some(false)][usize::from(how >> 2) % 3],
            ..Options::default()
        };
        let found = validate(&whole, provider, options, None);
        assert_eq!(found, validate(&collected, provider, options, None));
        assert!(found.iter().all(|problem| problem.index < whole.messages().max(1)));
        let _ = validate(&whole, provider, Options { binds: true, ..options }, Some(&again));
    }
});

/// A message a line.
fn generated(rest: &[u8]) -> String {
    let (mut bytes, mut text) = (Bytes(rest), String::new());
    while !bytes.0.is_empty() && text.len() < 20_000 {
        map(&mut bytes, 4, &mut text);
        text.push('\n');
    }
    text
}
