//! Added tokens: texts that are one token each, wherever they stand in a prompt, such as `<|im_end|>`.
//!
//! A server splits a rendered prompt at them first; what stands between two of them is tokenized by itself.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::Deserialize;
use unicode_normalization::char::is_combining_mark;

use crate::counter::Counter;
use crate::error::Error;

/// A token and how it is found, as a `tokenizer.json` says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "the settings of a file's token")]
pub struct Added {
    /// Its text.
    pub content: String,
    /// Whether it takes the white space in front of it along.
    pub lstrip: bool,
    /// Whether it takes the white space behind it along.
    pub rstrip: bool,
    /// Whether it is none inside a word.
    pub single_word: bool,
    /// Whether it is looked for after all others.
    pub normalized: bool,
}

/// The tokens that are looked for together.
#[derive(Debug)]
struct Group {
    search: AhoCorasick,
    tokens: Vec<Added>,
}

/// The added tokens of a vocabulary.
#[derive(Debug)]
pub struct AddedTokens(Vec<Group>);

/// A part of a text: one added token, or plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    is_token: bool,
}

/// The only part of a `tokenizer.json` that is read.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
}

/// The added tokens that a `tokenizer.json` lists.
///
/// # Errors
///
/// [`Error::Argument`] for a file that is no JSON object, or whose added tokens are none.
pub fn listed(file: &[u8]) -> Result<Vec<Added>, Error> {
    if !file.trim_ascii_start().starts_with(b"{") {
        return Err(Error::Argument("no JSON object".to_owned())); // a list would pass as the object's values
    }
    let file: File = serde_json::from_slice(file).map_err(|error| Error::Argument(error.to_string()))?;
    Ok(file.added_tokens)
}

impl AddedTokens {
    /// Makes the search for these tokens. One without text is left out; of two with the same, the first counts.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] where they are too many to search for.
    pub fn new(tokens: impl IntoIterator<Item = Added>) -> Result<Self, Error> {
        let named = tokens.into_iter().filter(|token| !token.content.is_empty());
        let (late, early) = named.partition::<Vec<_>, _>(|token| token.normalized);
        let groups = [early, late].into_iter().filter(|tokens| !tokens.is_empty()).map(Group::new);
        groups.collect::<Result<_, _>>().map(Self)
    }

    /// Tokens of each of the parts of one text, which is split at the added tokens. The tokens of a stretch without one
    /// that lies in several parts are shared by what each part of it has alone; their sum is exact.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for a part of more than 4,294,967,295 tokens.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_tokens::{Counter, Encoding};
    /// use trimtab_tokens::added::{Added, AddedTokens};
    ///
    /// let end = Added { content: "<|end|>".to_owned(), ..Added::default() };
    /// let added = AddedTokens::new([end])?;
    /// let counter = Counter::exact(Encoding::O200k);
    /// assert_eq!(added.count(&counter, &["hello world", "<|end|>"])?, [2, 1]);
    /// # Ok::<(), trimtab_tokens::error::Error>(())
    /// ```
    pub fn count<T: AsRef<str>>(&self, counter: &Counter, parts: &[T]) -> Result<Vec<u32>, Error> {
        let text: String = parts.iter().map(AsRef::as_ref).collect();
        let mut start = 0;
        let ends = parts.iter().map(|part| {
            start += part.as_ref().len();
            start
        });
        let (ends, spans) = (ends.collect::<Vec<_>>(), self.split(&text));
        let plain: Vec<_> = spans.iter().filter(|span| !span.is_token).map(|span| &text[span.range.clone()]).collect();
        let mut counts = counter.count_many(&plain)?.into_iter();
        let (mut found, mut part) = (vec![0u64; parts.len()], 0);
        for span in spans {
            while ends[part] <= span.range.start {
                part += 1;
            }
            let tokens = if span.is_token { 1 } else { u64::from(counts.next().unwrap_or_default()) };
            if ends[part] >= span.range.end || span.is_token {
                found[part] += tokens;
            } else {
                share(counter, &text, span.range, tokens, (&ends, part), &mut found);
            }
        }
        found.into_iter().map(|tokens| u32::try_from(tokens).map_err(|_| Error::Overflow("tokens"))).collect()
    }

    /// The added tokens of a text and what stands between, in order.
    fn split(&self, text: &str) -> Vec<Span> {
        let mut spans = Vec::new();
        if !text.is_empty() {
            spans.push(Span { range: 0..text.len(), is_token: false });
        }
        for group in &self.0 {
            let mut split = Vec::with_capacity(spans.len());
            for span in spans {
                if span.is_token {
                    split.push(span);
                } else {
                    group.split(&text[span.range.clone()], span.range.start, &mut split);
                }
            }
            spans = split;
        }
        spans
    }
}

/// Shares the tokens of a stretch among the parts that it lies in.
fn share(
    counter: &Counter,
    text: &str,
    range: Range<usize>,
    tokens: u64,
    (ends, first): (&[usize], usize),
    found: &mut [u64],
) {
    let (mut start, mut left, mut part) = (range.start, tokens, first);
    while start < range.end {
        let end = ends[part].min(range.end);
        let own = if end == range.end { left } else { (counter.count(&text[start..end]) as u64).min(left) };
        found[part] += own;
        left -= own;
        start = end;
        part += 1;
    }
}

impl Group {
    fn new(tokens: Vec<Added>) -> Result<Self, Error> {
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(tokens.iter().map(|token| &token.content))
            .map_err(|error| Error::Argument(error.to_string()))?;
        Ok(Self { search, tokens })
    }

    /// Adds the parts of a text that begins at `offset`.
    fn split(&self, text: &str, offset: usize, spans: &mut Vec<Span>) {
        let mut done = 0;
        let mut push = |range: Range<usize>, is_token| {
            if !range.is_empty() {
                spans.push(Span { range: range.start + offset..range.end + offset, is_token });
            }
        };
        for found in self.search.find_iter(text) {
            let token = &self.tokens[found.pattern()];
            let (before, behind) = (&text[..found.start()], &text[found.end()..]);
            let inside = before.ends_with(is_word) || behind.starts_with(is_word);
            if token.single_word && inside {
                continue;
            }
            // One that begins inside of the white space that another took along counts too, as in the package tokenizers.
            let start = if token.lstrip { before.trim_end().len().max(done) } else { found.start() };
            let behind_it = if token.rstrip { behind.len() - behind.trim_start().len() } else { 0 };
            push(done..start, false);
            push(start..found.end() + behind_it, true);
            done = found.end() + behind_it;
        }
        push(done..text.len(), false);
    }
}

/// Whether a character belongs to a word: `\w` in regular expressions, with all numbers for the decimal ones.
fn is_word(character: char) -> bool {
    character.is_alphanumeric()
        || is_combining_mark(character)
        || matches!(character, '_' | '\u{200C}' | '\u{200D}' | '\u{203F}' | '\u{2040}' | '\u{2054}')
        || matches!(character, '\u{FE33}' | '\u{FE34}' | '\u{FE4D}'..='\u{FE4F}' | '\u{FF3F}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;

    fn added(tokens: &[Added]) -> AddedTokens {
        AddedTokens::new(tokens.iter().cloned()).expect("few tokens")
    }

    fn named(content: &str) -> Added {
        Added { content: content.to_owned(), ..Added::default() }
    }

    fn shown<'t>(added: &AddedTokens, text: &'t str) -> Vec<(&'t str, bool)> {
        added.split(text).into_iter().map(|span| (&text[span.range], span.is_token)).collect()
    }

    #[test]
    fn the_longest_token_is_taken_and_late_ones_come_behind_all_others() {
        let late = Added { normalized: true, ..named("<a><b") };
        let all = added(&[named("<a>"), named("<a>x"), late, named("")]);
        assert_eq!(shown(&all, "<a>x<a><b"), [("<a>x", true), ("<a>", true), ("<b", false)]);
        assert_eq!(shown(&all, ""), []);
    }

    #[test]
    fn a_token_takes_white_space_along_or_stands_alone() {
        let all =
            added(&[Added { lstrip: true, rstrip: true, ..named("<m>") }, Added { single_word: true, ..named("end") }]);
        assert_eq!(
            shown(&all, "a \n<m> <m>\u{3000}b"),
            [("a", false), (" \n<m> ", true), ("<m>\u{3000}", true), ("b", false)]
        );
        assert_eq!(shown(&all, "bend end_ end"), [("bend end_ ", false), ("end", true)]);
        for inside in ["end\u{301}", "end\u{200D}", "\u{203F}end", "\u{A9}\u{FE0F}end", "中end"] {
            assert_eq!(shown(&all, inside), [(inside, false)]);
        }
        assert_eq!(shown(&all, "\u{2019}end"), [("\u{2019}", false), ("end", true)]);
    }

    #[test]
    fn a_token_in_white_space_that_another_takes_along_counts() {
        let all = added(&[Added { rstrip: true, ..named("<m>") }, named("\n\n")]);
        assert_eq!(shown(&all, "<m> \n\na"), [("<m> \n\n", true), ("\n\n", true), ("a", false)]);
        assert_eq!(shown(&all, "<m>\n\n\na"), [("<m>\n\n\n", true), ("\n\n", true), ("\na", false)]);
        let counter = Counter::exact(Encoding::O200k);
        assert_eq!(all.count(&counter, &["<m>", "\n\n", "a"]).expect("few tokens"), [1, 1, 1]);
    }

    #[test]
    fn parts_share_the_tokens_of_their_whole_text() {
        let (counter, all) = (Counter::exact(Encoding::O200k), added(&[named("<|end|>")]));
        let text = "hello world, hello<|end|>there<|end|> and so on";
        let whole = all.count(&counter, &[text]).expect("few tokens")[0];
        assert_eq!(
            whole as usize,
            counter.count("hello world, hello") + 2 + counter.count("there") + counter.count(" and so on")
        );
        for cut in 0..=text.len() {
            let shared = all.count(&counter, &[&text[..cut], "", &text[cut..]]).expect("few tokens");
            assert_eq!(shared.iter().sum::<u32>(), whole, "{cut}");
            assert_eq!(shared[1], 0);
        }
        assert!(all.count::<&str>(&counter, &[]).expect("few tokens").is_empty());
        assert_eq!(all.count(&counter, &["", ""]).expect("few tokens"), [0, 0]);
    }

    #[test]
    fn the_tokens_of_a_file_are_read_and_nothing_else_of_it() {
        let file =
            br#"{"version": "1.0", "added_tokens": [{"id": 3, "content": "<s>", "special": true}], "model": {}}"#;
        let of = |file| added(&listed(file).expect("a file"));
        assert_eq!(shown(&of(file), "<s>a"), [("<s>", true), ("a", false)]);
        assert_eq!(shown(&of(b"{}"), "<s>"), [("<s>", false)]);
        for damaged in [&b"[]"[..], b"", br#"{"added_tokens": [{"content": 3}]}"#] {
            assert!(listed(damaged).is_err());
        }
    }
}
