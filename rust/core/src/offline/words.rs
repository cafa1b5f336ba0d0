//! Words and other stretches of a text, and maps by them. A text has many: an expression costs ten times a scan by hand.

use super::pattern::{is_space, is_word};
use super::text::is_decimal;
pub use crate::seeded::{Map, Set};

/// The stretches of characters that are all inside of words, or of what `more` holds.
pub fn stretches(text: &str, more: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !is_word(c) && !more(c)).filter(|one| !one.is_empty())
}

/// The words of at least `least` letters, and, with `decimals`, the numbers: neither `_` nor the digits of a name are
/// letters.
pub fn plain_words(text: &str, least: usize, decimals: bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find(|c| c != '_' && is_word(c))?..];
            let is_number = rest.starts_with(is_decimal);
            let end = rest.find(|c| c == '_' || !is_word(c) || is_decimal(c) != is_number).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            rest = behind;
            if if is_number { decimals } else { word.len() >= least && word.chars().take(least).count() == least } {
                return Some(word);
            }
        }
    })
}

/// The runs of characters in which names stand: URLs, and at least four characters without white space, brackets and
/// quotes.
pub fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find(is_of_run)?..];
            let end = url(rest).or_else(|| rest.find(|c| !is_of_run(c))).unwrap_or(rest.len());
            let (run, behind) = rest.split_at(end);
            rest = behind;
            if run.len() >= 4 && run.chars().take(4).count() == 4 {
                return Some(run);
            }
        }
    })
}

fn is_of_run(c: char) -> bool {
    is_word(c) || matches!(c, '.' | '/' | ':' | '@' | '~' | '+' | '#' | '%' | '-')
}

/// The length of the URL that a text begins with.
fn url(text: &str) -> Option<usize> {
    let behind = text.strip_prefix("http")?;
    let address = behind.strip_prefix('s').unwrap_or(behind).strip_prefix("://")?;
    let ends = |c| is_space(c) || r#""'<>)]}`\,|*"#.contains(c);
    let length = address.find(ends).unwrap_or(address.len());
    (length > 0).then_some(text.len() - address.len() + length)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::{Pattern, pattern};
    use super::*;

    pattern!(RUN = r#"https?://[^\s"'<>)\]}`\\,|*]+|[\w./:@~+#%-]{4,}"#);
    pattern!(WORD = r"[^\W\d_]{3,}|\d+");
    pattern!(LETTERS = r"[^\W\d_]{4,}");

    #[test]
    fn a_scan_finds_what_the_expression_finds() {
        let pieces = [
            "http://", "https://", "a", "ab_c", "x.py", " ", "'", "]", "12", "²", "٣", "é", "日本", "\u{301}",
            "\u{1c}", "-", "#", ",", "HTTP://", "\u{200d}", "_", "abc", "Ⓐ", "*",
        ];
        let mut state = 7_usize;
        for _ in 0..4_000 {
            let text: String = (0..9)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    pieces[(state >> 33) % pieces.len()]
                })
                .collect();
            let slow = |pattern: &Pattern| -> Vec<&str> {
                pattern.find_all(&text).into_iter().map(|range| &text[range]).collect()
            };
            assert_eq!(runs(&text).collect::<Vec<_>>(), slow(&RUN), "{text:?}");
            assert_eq!(plain_words(&text, 3, true).collect::<Vec<_>>(), slow(&WORD), "{text:?}");
            assert_eq!(plain_words(&text, 4, false).collect::<Vec<_>>(), slow(&LETTERS), "{text:?}");
        }
    }
}
