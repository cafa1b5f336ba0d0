//! Truncation that keeps lines which are quoted elsewhere, such as those that a later call replaces in a file.

use std::cell::LazyCell;
use std::ops::Range;

use memchr::memmem;

use super::fit::{Source, cut, lines_of, notice, wordings};
use super::{Category, Limits};
use trimtab_tokens::Counter;

/// Quoted parts of a text that are looked for to be kept.
const MOST: usize = 32;

/// Bytes between two parts that stay rather than give place to a notice, which is as long.
const NEAR: usize = 40;

/// [`truncate`](super::truncate()), with the lines of `text` that a quote has between head and tail: as many parts as half of the limit on tokens
/// holds, the largest ones left out first. Each gap has a notice.
///
/// A quote stands in the text as it is, or in lines that bear their numbers, as tools write a file.
#[must_use]
pub fn truncate_around<Q: AsRef<str>>(
    text: &str,
    quotes: &[Q],
    category: Category,
    limits: Limits,
    more: &str,
    counter: &Counter,
) -> Option<String> {
    if limits.hold(text, counter) {
        return None;
    }
    let plain = cut(&Source::whole(text), category, limits, more, counter);
    let mut kept = quoted_lines(text, quotes.iter().map(AsRef::as_ref));
    kept.retain(|part| part.end > plain.head && part.start < plain.tail);
    while let Some(largest) = (0..kept.len()).max_by_key(|&part| kept[part].len()) {
        if let Some(made) = around(text, &kept, category, limits, more, counter) {
            return Some(made);
        }
        kept.remove(largest);
    }
    Some(plain.of(text))
}

/// The text with its head, its tail and the kept parts; None if these are more than half of the limit.
fn around(
    text: &str,
    kept: &[Range<usize>],
    category: Category,
    limits: Limits,
    more: &str,
    counter: &Counter,
) -> Option<String> {
    let longest = notice(lines_of(text), text.len(), "");
    let parts: String = kept.iter().flat_map(|part| [&text[part.clone()], &longest]).collect();
    let mut left = limits.less(&parts, counter)?;
    if left.tokens.zip(limits.tokens).is_some_and(|(left, all)| 2 * left < all) {
        return None;
    }
    let wording = wordings(category, more).swap_remove(0);
    loop {
        let cut = cut(&Source::whole(text), category, left, more, counter);
        let made = joined(text, cut.head, cut.tail, kept, &wording);
        if limits.hold(&made, counter) {
            return Some(made);
        }
        // Tokens of the parts do not add up to those of the whole, and a part may not be beside head and tail.
        let over = limits.tokens.map_or(1, |most| counter.count(&made).saturating_sub(most)).max(1);
        left.tokens = Some(left.tokens?.checked_sub(over)?);
    }
}

/// Head, kept parts and tail, with a notice in place of what is between two of them; the first one ends with `wording`.
fn joined(text: &str, head: usize, tail: usize, kept: &[Range<usize>], mut wording: &str) -> String {
    let mut made = text[..head].to_owned();
    let mut end = head;
    let middle = kept.iter().filter(|part| part.end > head && part.start < tail).cloned();
    for part in middle.chain(std::iter::once(tail..text.len())) {
        let start = part.start.max(end);
        let gap = &text[end..start];
        if !gap.is_empty() {
            let seam = if made.is_empty() || made.ends_with('\n') { "" } else { "\n" };
            made += seam;
            made += &notice(lines_of(gap), gap.len(), wording);
            wording = "";
        }
        end = part.end.max(start);
        made += &text[start..end];
    }
    made
}

/// The whole lines that the quotes stand in, in order; near ones are one part.
fn quoted_lines<'q>(text: &str, quotes: impl Iterator<Item = &'q str>) -> Vec<Range<usize>> {
    let lines = LazyCell::new(|| {
        let lines = text.split_inclusive('\n').scan(0, |start, line| {
            let begin = std::mem::replace(start, *start + line.len());
            Some((begin, line, bare(line)))
        });
        lines.collect::<Vec<_>>()
    });
    let found = quotes.filter_map(|quote| {
        let quote = quote.trim_matches(['\r', '\n']);
        let is_blank = quote.trim().is_empty();
        (!is_blank).then(|| as_it_is(text, quote).or_else(|| in_numbered(&lines, quote)))?
    });
    let mut found: Vec<_> = found.take(MOST).collect();
    found.sort_unstable_by_key(|part| part.start);
    let mut parts: Vec<Range<usize>> = Vec::new();
    for part in found {
        match parts.last_mut() {
            Some(last) if part.start <= last.end + NEAR => last.end = last.end.max(part.end),
            _ => parts.push(part),
        }
    }
    parts
}

/// The lines of a quote that stands in the text.
fn as_it_is(text: &str, quote: &str) -> Option<Range<usize>> {
    let start = memmem::find(text.as_bytes(), quote.as_bytes())?;
    let end = start + quote.len();
    let line = text[..start].rfind('\n').map_or(0, |line_end| line_end + 1);
    Some(line..text[end..].find('\n').map_or(text.len(), |line_end| end + line_end + 1))
}

/// The lines of a quote that stands in lines with their numbers.
fn in_numbered(lines: &[(usize, &str, Option<&str>)], quote: &str) -> Option<Range<usize>> {
    let quoted: Vec<&str> = quote.lines().collect();
    let last = quoted.len() - 1;
    let is_quoted = |line: usize, number: usize| {
        let quote = quoted[number];
        lines[line].2.is_some_and(|text| match (number == 0, number == last) {
            (true, true) => text.contains(quote),
            (true, false) => text.ends_with(quote),
            (false, true) => text.starts_with(quote),
            (false, false) => text == quote,
        })
    };
    let first = (0..lines.len().saturating_sub(last))
        .find(|first| (0..=last).all(|number| is_quoted(first + number, number)))?;
    let (begin, text, _) = lines[first + last];
    Some(lines[first].0..begin + text.len())
}

/// A line without its number and its end: `   12→text`, tabs, colons and bars parting them too; None where it has no number.
fn bare(line: &str) -> Option<&str> {
    let line = line.trim_end_matches(['\r', '\n']);
    let numbered = line.trim_start_matches(' ');
    let rest = numbered.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (rest.len() < numbered.len()).then(|| rest.strip_prefix(['→', '\t', ':', '|']))?
}
