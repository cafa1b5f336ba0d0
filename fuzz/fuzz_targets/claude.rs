//! Compares Claude's counts with a slow implementation: segment by segment, each with its minimal cover.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use trimtab_tokens::Claude;
use trimtab_tokens::claude::Family;
use trimtab_tokens::claude::fuzzing::{Slow, count, count_wide};

/// Parts of generated texts: characters that segmentation, markers and normalization distinguish.
const PARTS: [&str; 128] = [
    "a", "b", "s", "t", "ll", "I", "the", "word", "The", "HTTP", "ABCD", "camelCase", "getURL", "don", "x", "inter",
    " ", " ", " ", "  ", "   ", "        ", "\n", "\n\n", "\t", "\t\t", "\r\n", " \n", "\n    ", "\0", "\u{1}", "\u{7f}",
    "'", "'", "'s", "'ll", "\"", "“", "”", "‘", "’", ".", ",", "(", ")", "==", "----------------", "/",
    "1", "12", "345", "6789", "٣", "۴", "१", "²", "½", "Ⅷ", "ⓐ", "Ⓐ", "ℂ", "№", "€", "→",
    "é", "É", "ß", "ẞ", "İ", "ǅ", "ſ", "ñ", "ж", "Й", "привет", "Ж", "Σ", "ς", "ώ", "ϴ",
    "א", "\u{5b0}", "ب", "\u{64e}", "مرحبا", "ა", "Ა", "ա", "क", "\u{93c}", "\u{94d}", "\u{93f}", "क्ष", "ப", "া", "ো",
    "ก", "\u{e32}", "\u{e4d}", "\u{e48}", "\u{e33}", "中", "日本", "、", "。", "カ", "ー", "が", "한", "국", "ᄀ", "ᅡ",
    "e\u{301}", "\u{301}", "\u{323}", "\u{34d}", "\u{fe0f}", "\u{200d}", "😀", "👨\u{200d}👩", "⚖", "\u{a0}", "\u{3000}",
    "\u{2028}", "\u{e000}", "\u{fdd0}", "\u{1c89}", "𐐀",
];

const FAMILIES: [(Family, &str); 2] = [(Family::Old, "claude-old"), (Family::New, "claude-new")];

static SLOW: LazyLock<[Slow; 2]> = LazyLock::new(|| FAMILIES.map(|(family, _)| Slow::new(family)));

/// Controls that stand for the four markers of a segment, which no text has.
fn marked(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if (1..5).contains(&byte) { 0xF7 + byte } else { byte }).collect()
}

fuzz_target!(|data: &[u8]| {
    let [kind, data @ ..] = data else { return };
    let text = if kind & 1 == 0 {
        String::from_utf8_lossy(data).into_owned()
    } else {
        data.iter().map(|byte| PARTS[usize::from(byte & 127)]).collect()
    };
    let segment = marked(&text);
    for ((family, name), slow) in FAMILIES.into_iter().zip(&*SLOW) {
        let meant = count(family, &text, false);
        assert_eq!(Claude::named(name).unwrap().count(&text), meant, "{name} {text:?}");
        assert_eq!(count_wide(family, &text, true), count(family, &text, true), "{name}, opened {text:?}");
        assert_eq!(slow.min_cover(&segment), slow.fewest(&segment), "{name} {segment:?}");
    }
});
