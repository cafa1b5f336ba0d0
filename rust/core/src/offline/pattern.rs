//! Regular expressions with the character classes of Python's `re`, and the white space of its `str`.

use std::borrow::Cow;
use std::ops::Range;

use regex::{Captures, Regex};
use trimtab_tokens::cancel::poll;
use trimtab_tokens::{is_letter, is_mark, is_number};

pub use crate::text::is_space;

/// A regular expression in which `\w` is a letter, a number or `_`, and `\s` has the separators U+001C to U+001F.
///
/// The crate's own `\w` has marks, joiners and circled letters, and lacks numbers such as `²`. Characters on which the
/// two disagree are replaced, by others with as many bytes, before a text is searched.
pub struct Pattern(Regex);

/// A static [`Pattern`], compiled at its first use.
macro_rules! pattern {
    ($(#[$doc:meta])* $visible:vis $name:ident = $($text:expr),+ $(,)?) => {
        $(#[$doc])*
        $visible static $name: std::sync::LazyLock<$crate::offline::pattern::Pattern> =
            std::sync::LazyLock::new(|| $crate::offline::pattern::Pattern::new(concat!($($text),+)));
    };
}
pub(super) use pattern;

impl Pattern {
    /// Compiles an expression of this folder.
    ///
    /// # Panics
    ///
    /// If it is not valid: each one is a constant that the tests compile.
    pub fn new(text: &str) -> Self {
        Self(Regex::new(text).expect("the expressions of this folder are valid"))
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(&comparable(text))
    }

    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.0.find(&comparable(text)).map(|found| found.range())
    }

    /// The ranges of all matches, none of which overlap.
    pub fn find_all(&self, text: &str) -> Vec<Range<usize>> {
        let comparable = comparable(text);
        self.0.find_iter(&comparable).inspect(|_| poll()).map(|found| found.range()).collect()
    }

    /// The number of matches, up to `most`.
    pub fn number(&self, text: &str, most: usize) -> usize {
        self.0.find_iter(&comparable(text)).take(most).count()
    }

    /// The groups of the first match; the whole match is the group 0.
    pub fn groups<'t>(&self, text: &'t str) -> Option<Groups<'t>> {
        self.0.captures(&comparable(text)).map(|found| Groups::of(text, &found))
    }

    /// The groups of all matches.
    pub fn all_groups<'t>(&self, text: &'t str) -> Vec<Groups<'t>> {
        let comparable = comparable(text);
        self.0.captures_iter(&comparable).inspect(|_| poll()).map(|found| Groups::of(text, &found)).collect()
    }

    /// The first group of the first match that begins at `from` or later; what stands before is seen by `\b`.
    pub fn first_group_from(&self, text: &str, from: usize) -> Option<Range<usize>> {
        self.0.captures_at(&comparable(text), from).and_then(|found| found.get(1)).map(|group| group.range())
    }

    /// The first match that begins at `from` or later.
    pub fn find_from(&self, text: &str, from: usize) -> Option<Range<usize>> {
        self.0.find_at(&comparable(text), from).map(|found| found.range())
    }

    /// The text with another one in place of each match.
    pub fn replaced<'t>(&self, text: &'t str, by: &str) -> Cow<'t, str> {
        let found = self.find_all(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut end) = (String::with_capacity(text.len()), 0);
        for range in found {
            out.push_str(&text[end..range.start]);
            out.push_str(by);
            end = range.end;
        }
        out.push_str(&text[end..]);
        Cow::Owned(out)
    }

    /// Returns the texts between the matches.
    pub fn split<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut end = 0;
        let mut parts = Vec::new();
        for range in self.find_all(text) {
            parts.push(&text[end..range.start]);
            end = range.end;
        }
        parts.push(&text[end..]);
        parts
    }
}

/// The groups of a match.
pub struct Groups<'t>(Vec<Option<&'t str>>);

impl<'t> Groups<'t> {
    fn of(text: &'t str, found: &Captures<'_>) -> Self {
        Self(found.iter().map(|group| group.map(|group| &text[group.range()])).collect())
    }

    /// The text of a group, empty where it took no part.
    pub fn text(&self, number: usize) -> &'t str {
        self.0.get(number).copied().flatten().unwrap_or_default()
    }
}

pattern!(DECIMAL = r"^\d");

/// The text with each character on which Python and the crate `regex` disagree replaced by one of as many bytes.
fn comparable(text: &str) -> Cow<'_, str> {
    let odd = |b: u8| b >= 0x80 || (0x1c..0x20).contains(&b);
    // By the block, which the compiler turns into vector instructions.
    let any_odd = text.as_bytes().chunks(32).any(|block| block.iter().fold(false, |any, byte| any | odd(*byte)));
    if !any_odd || text.chars().all(|c| alike(c) == c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(alike).collect())
}

fn alike(c: char) -> char {
    match c {
        '\u{1c}'..='\u{1f}' => '\u{b}',
        '\0'..='\u{7f}' => c,
        // Connectors, joiners and what is alphabetic without being a letter are words to the crate alone.
        '\u{203f}'
        | '\u{2040}'
        | '\u{2054}'
        | '\u{200c}'
        | '\u{200d}'
        | '\u{fe33}'
        | '\u{fe34}'
        | '\u{fe4d}'..='\u{fe4f}'
        | '\u{ff3f}' => symbol(c),
        _ if is_letter(c) => c,
        _ if is_number(c) => {
            let agreed = c.is_alphabetic() || DECIMAL.0.is_match(c.encode_utf8(&mut [0; 4]));
            if agreed { c } else { ['ª', 'ㄅ', '𐎀'][c.len_utf8() - 2] }
        }
        _ if c.is_alphabetic() || is_mark(c) => symbol(c),
        _ => c,
    }
}

/// A character with as many bytes as `c` that is neither of a word nor white space.
fn symbol(c: char) -> char {
    ['¦', '⁂', '🀀'][c.len_utf8() - 2]
}

/// Whether Python's `\w` matches a character.
pub fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || (!c.is_ascii() && (is_letter(c) || is_number(c)))
}

/// `str.strip`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `str.split` without arguments.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// `str.splitlines`.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(is_line_end).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = &rest[end..];
        let mut chars = rest.chars();
        if chars.next() == Some('\r') && chars.clone().next() == Some('\n') {
            chars.next();
        }
        rest = chars.as_str();
        Some(line)
    })
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The number of characters.
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The first `most` characters.
pub fn head(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    text.char_indices().nth(most).map_or(text, |(at, _)| &text[..at])
}

/// The last `most` characters.
pub fn tail(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    text.char_indices().rev().nth(most - 1).map_or(text, |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_of_a_word_to_an_expression_as_it_is_to_python() {
        let [word, space, decimal, edge] =
            [r"^\w$", r"^\s$", r"^\d$", r"^a\b"].map(|text| Regex::new(text).expect("valid"));
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            let seen = comparable(&text);
            assert_eq!(seen.len(), text.len(), "{c:?}");
            assert_eq!(word.is_match(&seen), is_word(c), "{c:?}");
            assert_eq!(space.is_match(&seen), is_space(c), "{c:?}");
            assert_eq!(edge.is_match(&format!("a{seen}")), !is_word(c), "{c:?}");
            assert!(!decimal.is_match(&seen) || c.is_numeric(), "{c:?}");
        }
    }

    #[test]
    fn lines_end_where_python_ends_them() {
        let found: Vec<&str> = lines("a\r\nb\n\nc\u{85}d\u{2028}\x1ce\r").collect();
        assert_eq!(found, ["a", "b", "", "c", "d", "", "e"]);
        assert_eq!(lines("").count(), 0);
    }

    #[test]
    fn texts_are_cut_at_characters() {
        assert_eq!((head("日本語", 2), tail("日本語", 2), length("日本語")), ("日本", "本語", 3));
        assert_eq!((head("ab", 9), tail("ab", 9)), ("ab", "ab"));
    }
}
