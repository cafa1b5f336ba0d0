//! Messages out of bytes: in any parts as at once, what is skipped lies where it is said to, and what is added up as it
//! comes is what the whole costs.
#![no_main]

mod common;

use common::{Bytes, map};
use libfuzzer_sys::fuzz_target;
use trimtab_core::jsonl::{Collect, Reader, Reading};
use trimtab_core::ledger::{Each, Ledger, Sums, Totals};
use trimtab_core::shape::Provider;
use trimtab_tokens::{Chars, Round, Unit};
use trimtab_core::counter::Counter;
use trimtab_core::prompt::{Form, Prompt};

fn read<C: Collect>(bytes: &[u8], part: usize, provider: Option<Provider>) -> Result<Reading<C::Found>, String> {
    let mut counter = Counter::from(trimtab_tokens::Counter::length(Chars { unit: Unit::Chars, round: Round::Floor, per: 4 }));
    let turns = Prompt { form: Form::Tagged, user: 3, assistant: 5, again: 2, call: 11, ..Prompt::PLAIN };
    counter.prompt =
        Prompt { calls: 13, parallel: 17, result: 19, results: 23, each: 29, keeps_thinking: false, ..turns };
    let mut reader = Reader::<C>::of(counter, provider);
    for part in bytes.chunks(part) {
        reader.push(part).map_err(|error| error.to_string())?;
    }
    reader.finish().map_err(|error| error.to_string())
}

fuzz_target!(|data: &[u8]| {
    let [how, part, rest @ ..] = data else { return };
    let provider = Provider::NAMES.get(usize::from(how >> 2) % 6).map(|(_, provider)| *provider);
    let bytes = if how & 1 == 0 { rest.to_vec() } else { lines(rest, how & 2 != 0) };
    let part = 1 + usize::from(*part);
    let whole = read::<Ledger>(&bytes, bytes.len().max(1), provider);
    let added = read::<Sums<Totals>>(&bytes, part, provider).map(|added| added.found);
    let each = read::<Sums<Each>>(&bytes, part, provider).map(|each| each.found.tokens);
    assert_eq!(each.as_ref().err(), whole.as_ref().err());
    match (&whole, &added) {
        (Ok(Reading { found: ledger, .. }), Ok(added)) => {
            let sum = |of: &[u32]| of.iter().copied().map(u64::from).sum::<u64>();
            let tokens: u64 = added.tokens.iter().flatten().sum();
            assert_eq!((ledger.messages(), sum(&ledger.overhead)), (added.messages, added.overhead));
            assert_eq!(sum(&ledger.tokens), tokens);
            assert_eq!(each.ok(), ledger.per_message().ok());
        }
        (Err(whole), Err(added)) => assert_eq!(whole, added),
        (whole, added) => panic!("{whole:?} is not {added:?}"),
    }
    match (&whole, read::<Ledger>(&bytes, part, provider)) {
        (Ok(whole), Ok(parts)) => {
            assert_eq!((&whole.found, whole.provider, whole.lost), (&parts.found, parts.provider, parts.lost));
            assert_eq!(whole.skipped, parts.skipped);
            for skip in &whole.skipped {
                let offset = usize::try_from(skip.offset).expect("within the bytes");
                assert!(offset <= bytes.len());
                let ends = bytes[..offset].iter().filter(|byte| **byte == b'\n').count() as u64;
                assert_eq!(skip.line, ends + 1, "{skip:?}");
            }
        }
        (Err(whole), Err(parts)) => assert_eq!(whole, &parts),
        (whole, parts) => panic!("{whole:?} is not {parts:?}"),
    }
});

/// Lines of maps, some of them torn; or a list of them.
fn lines(rest: &[u8], is_list: bool) -> Vec<u8> {
    let (mut bytes, mut text) = (Bytes(rest), String::from(if is_list { "[" } else { "" }));
    while !bytes.0.is_empty() && text.len() < 20_000 {
        map(&mut bytes, 3, &mut text);
        if bytes.next() == 7 {
            let to = (0..text.len()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(to);
        }
        text.push_str(match (is_list, bytes.next() % 8) {
            (true, _) => ",",
            (_, 0) => "\r\n",
            (_, 1) => "\n\n",
            (_, 2) => " ",
            _ => "\n",
        });
    }
    let mut out = text.into_bytes();
    if is_list {
        out.pop();
        out.push(b']');
    }
    if rest.first() == Some(&9) {
        out.push(0xFF);
    }
    out
}
