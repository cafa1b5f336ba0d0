//! Truncation: the result is within every limit, is a head and a tail of the text, and does not change when it is
//! truncated again; a stream returns the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trimtab_tokens::{Chars, Encoding, Round, Unit};
use trimtab_tokens::Counter;
use trimtab_core::truncate::{Category, Limits, Stream, truncate};

fuzz_target!(|data: &[u8]| {
    let [how, tokens, lines, chars, part, rest @ ..] = data else { return };
    let text: String = match how & 3 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        1 => String::from_utf8_lossy(rest).repeat(1 + usize::from(*part) / 4),
        _ => rest
            .iter()
            .map(|byte| {
                ["word", " ", "\n", "\r\n", "é", "日本", "x", "{\"a\": 1}", "    ", "😀"][usize::from(byte % 10)]
            })
            .collect(),
    };
    let category = Category::NAMES[usize::from(how >> 2) % 4].1;
    let given = |bit: u8, n: u8| (how & bit != 0).then_some(usize::from(n));
    let limits = Limits {
        tokens: given(16, *tokens),
        lines: given(32, *lines),
        chars: given(64, *chars),
        bytes: None,
    };
    let counter = if how & 128 == 0 {
        Counter::exact(Encoding::O200k)
    } else {
        Counter::length(Chars { unit: Unit::Chars, round: Round::Ceil, per: 4 })
    };
    let cut = truncate(&text, category, limits, "", &counter);
    let whole = cut.clone().unwrap_or_else(|| text.clone());
    assert!(limits.hold(&whole, &counter), "{limits:?} {category:?} {text:?} {whole:?}");
    assert_eq!(truncate(&whole, category, limits, "", &counter), None);
    if let Some(cut) = cut {
        assert!(!limits.hold(&text, &counter), "what fits is left alone");
        let head = cut.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let tail = cut.bytes().rev().zip(text.bytes().rev()).take_while(|(a, b)| a == b).count();
        let notice = cut.len().saturating_sub(head + tail);
        assert!(notice <= 120, "{notice} bytes are neither head nor tail: {cut:?}");
    }
    let mut stream = Stream::new(category, limits, String::new(), counter);
    text.as_bytes().chunks(1 + usize::from(*part)).for_each(|part| stream.push(part));
    assert_eq!(String::from_utf8_lossy(&stream.finish()), whole, "{limits:?} {category:?}");
});
