//! The counting engine against the published patterns, run by a regular-expression engine, and merging by definition.
#![no_main]

use std::sync::LazyLock;

use fancy_regex::Regex;
use libfuzzer_sys::fuzz_target;
use trimtab_tokens::Counter;
use trimtab_tokens::fuzzing::{ENCODINGS, PATTERNS, Slow, split, split_wide};

/// Parts of generated texts: characters that the patterns distinguish.
const PARTS: [&str; 64] = [
    "a", "b", "Z", "word", "The", "foo", "Bar", "HTTP", "s", "t", "ll", "re", "don", "x", "I", "ſ", "'", "'s", "'LL", "'t",
    " ", "  ", "        ", "\n", "\n\n", "\r\n", "\t", "\x0b", "\u{a0}", "\u{2028}", "\u{3000}", " \n", "\n    ", "/", "//", "!",
    "...", "----------------", "(", "=", "_", "\0", "\x7f", "1", "12", "345", "6789", "é", "ß", "Ä", "ñ", "中", "文字", "カタ",
    "・", "한국", "й", "ب", "\u{301}", "\u{200d}", "😀", "👨\u{200d}👩", "ǅ", "٣",
];

static REGEXES: LazyLock<Vec<Vec<Regex>>> = LazyLock::new(|| {
    let compiled = |patterns: &[&str]| patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
    PATTERNS.iter().map(|(patterns, _)| compiled(patterns)).collect()
});
static SLOW: LazyLock<[Slow; 2]> = LazyLock::new(|| ENCODINGS.map(Slow::new));

/// Where the pieces end: each pattern splits what the ones before it have left, and what it does not match is a piece.
fn split_slowly(patterns: &[Regex], text: &str) -> Vec<usize> {
    let mut ends = vec![text.len()];
    for pattern in patterns {
        let (mut next, mut start) = (Vec::new(), 0);
        for end in ends {
            for found in pattern.find_iter(&text[start..end]) {
                let found = found.unwrap();
                next.extend([start + found.start(), start + found.end()]);
            }
            next.push(end);
            start = end;
        }
        next.dedup();
        ends = next;
        ends.retain(|&end| end > 0);
    }
    ends
}

fuzz_target!(|data: &[u8]| {
    let [kind, limit, data @ ..] = data else { return };
    let text = if kind & 1 == 0 {
        String::from_utf8_lossy(data).into_owned()
    } else {
        data.iter().map(|byte| PARTS[usize::from(byte & 63)]).collect()
    };
    for ((_, scheme), regexes) in PATTERNS.iter().zip(&*REGEXES) {
        if !regexes.is_empty() && !text.is_empty() {
            let expected = split_slowly(regexes, &text);
            assert_eq!(split(*scheme, &text), expected, "{scheme:?} {text:?}");
            assert_eq!(split_wide(*scheme, &text), expected, "{scheme:?} {text:?}");
        }
    }
    for (encoding, slow) in ENCODINGS.into_iter().zip(&*SLOW) {
        let expected = slow.count(encoding, &text);
        assert_eq!(encoding.count(&text), expected, "{encoding:?} {text:?}");
        let limit = usize::from(*limit);
        assert_eq!(encoding.exceeds(&text, limit), expected > limit, "{encoding:?} {limit} {text:?}");
        let counter = Counter::exact(encoding);
        let mut tally = counter.incremental();
        for part in data.chunks(1 + limit) {
            tally.append_bytes(part);
        }
        let whole = String::from_utf8_lossy(data);
        assert_eq!(tally.tokens(), encoding.count(&whole), "{encoding:?} {limit} {whole:?}");
        let edges = counter.edges(&text, limit / 2, limit - limit / 2).unwrap();
        assert_eq!(edges.is_some(), expected > limit, "{encoding:?} {limit} {text:?}");
    }
});
