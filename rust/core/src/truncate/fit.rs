//! How much of a text's head and tail fits.

use super::{Category, Limits};
use trimtab_tokens::Counter;

/// Stands for a text where not even the notice fits.
const ELLIPSIS: &str = "…";

/// A text to cut: all of it, or the head and the tail that are left of one too long to hold.
pub struct Source<'a> {
    /// The text from its start.
    pub front: &'a str,
    /// The text up to its end; the same as `front` where it is whole.
    pub back: &'a str,
    /// Whether `front` and `back` are one.
    pub whole: bool,
    /// Whether `back` begins inside a line.
    pub torn: bool,
    /// Lines of all of it.
    pub lines: usize,
    /// Bytes of all of it.
    pub bytes: usize,
    /// Bytes that the source had for those of a part, where they are others: what is not UTF-8 was replaced.
    pub raw: &'a dyn Fn(&str, bool) -> usize,
}

impl<'a> Source<'a> {
    /// All of a text.
    pub fn whole(text: &'a str) -> Self {
        Self {
            front: text,
            back: text,
            whole: true,
            torn: false,
            lines: lines_of(text),
            bytes: text.len(),
            raw: &|part, _| part.len(),
        }
    }

    /// What a notice says of the text between two places: lines, of which the outer ones may be parts, and bytes. `None`
    /// where nothing is between them.
    fn gone(&self, head: usize, tail: usize) -> Option<(usize, usize)> {
        let (front, back) = (&self.front[..head], &self.back[tail..]);
        let bytes = self.bytes - (self.raw)(front, true) - (self.raw)(back, false);
        let is_torn = |before: &str| !before.is_empty() && !before.ends_with('\n');
        let in_line = if tail == 0 { self.torn } else { is_torn(&self.back[..tail]) };
        let torn = usize::from(is_torn(front)) + usize::from(!back.is_empty() && in_line);
        (bytes > 0).then(|| (self.lines + torn - lines_of(front) - lines_of(back), bytes))
    }
}

/// The end of the head, the start of the tail, and what stands between.
pub struct Cut {
    pub head: usize,
    pub notice: String,
    pub tail: usize,
}

/// The head and tail that are left of a text that passes its limits.
pub fn cut(source: &Source<'_>, category: Category, limits: Limits, counter: &Counter) -> Cut {
    // The notice of a text that is gone altogether is the longest that there can be.
    let mut room = limits.beside(&notice(source.lines, source.bytes, category), counter);
    while let Some(left) = room {
        let (head, tail) = left.kept(source, category, counter);
        let (lines, bytes) = source.gone(head, tail).unwrap_or_default();
        let seam = if head == 0 || source.front[..head].ends_with('\n') { "" } else { "\n" };
        let notice = format!("{seam}{}", notice(lines, bytes, category));
        let made = format!("{}{notice}{}", &source.front[..head], &source.back[tail..]);
        if bytes > 0 && limits.hold(&made, counter) {
            return Cut { head, notice, tail };
        }
        // Tokens of parts do not add up to those of the whole: less is tried until they do.
        let over = limits.tokens.map_or(1, |most| counter.count(&made).saturating_sub(most)).max(1);
        room = left
            .tokens
            .and_then(|tokens| tokens.checked_sub(over))
            .map(|tokens| Limits { tokens: Some(tokens), ..left });
    }
    let notice = if limits.hold(ELLIPSIS, counter) { ELLIPSIS } else { "" };
    Cut { head: 0, notice: notice.to_owned(), tail: source.back.len() }
}

fn notice(lines: usize, bytes: usize, category: Category) -> String {
    let s = |n| if n == 1 { "" } else { "s" };
    format!("[{lines} line{}, {bytes} byte{} omitted{}]\n", s(lines), s(bytes), category.hint())
}

impl Limits {
    /// The limits less a notice and the line end before it; `None` where that is too much.
    fn beside(self, notice: &str, counter: &Counter) -> Option<Self> {
        let less = |limit: Option<usize>, used: &dyn Fn() -> usize| match limit {
            Some(limit) => limit.checked_sub(used()).map(Some),
            None => Some(None),
        };
        Some(Self {
            tokens: less(self.tokens, &|| counter.count(notice))?,
            lines: less(self.lines, &|| 1)?,
            chars: less(self.chars, &|| chars_of(notice) + 1)?,
        })
    }

    /// Ends of the head and start of the tail: the head has its share, the tail what the head leaves.
    fn kept(self, source: &Source<'_>, category: Category, counter: &Counter) -> (usize, usize) {
        let share = |n: usize| (n * category.head()).div_ceil(10);
        let Self { tokens, lines, chars } = self;
        let part = Self { tokens: tokens.map(share), lines: lines.map(share), chars: chars.map(share) };
        let head = snapped(source.front, part.prefix(source.front, counter), category);
        let end = source.back.len();
        if category.head() == 10 {
            return (head, end);
        }
        let kept = &source.front[..head];
        let rest = Self {
            tokens: tokens.map(|n| n.saturating_sub(counter.count(kept))),
            lines: lines.map(|n| n.saturating_sub(lines_of(kept))),
            chars: chars.map(|n| n.saturating_sub(chars_of(kept))),
        };
        let from = if source.whole { head } else { 0 };
        let tail = &source.back[from..];
        (head, end - tail.len() + unsnapped(tail, rest.suffix(tail, counter)))
    }

    /// Bytes of the longest prefix within the limits.
    fn prefix(self, text: &str, counter: &Counter) -> usize {
        let lines = self.lines.and_then(|n| match n {
            0 => Some(0),
            n => text.match_indices('\n').nth(n - 1).map(|(at, _)| at + 1),
        });
        let chars = self.chars.and_then(|n| text.char_indices().nth(n).map(|(at, _)| at));
        let most = lines.unwrap_or(text.len()).min(chars.unwrap_or(text.len()));
        let Some(tokens) = self.tokens else { return most };
        floor(text, bisect(most, |n| !counter.exceeds(&text[..floor(text, n)], tokens)))
    }

    /// The start of the longest suffix within the limits.
    fn suffix(self, text: &str, counter: &Counter) -> usize {
        let lines = self.lines.and_then(|n| match n {
            0 => Some(text.len()),
            n => text.strip_suffix('\n').unwrap_or(text).rmatch_indices('\n').nth(n - 1).map(|(at, _)| at + 1),
        });
        let chars = self.chars.and_then(|n| match n {
            0 => Some(text.len()),
            n => text.char_indices().nth_back(n - 1).map(|(at, _)| at),
        });
        let least = lines.unwrap_or(0).max(chars.unwrap_or(0));
        let Some(tokens) = self.tokens else { return least };
        let start = |n: usize| ceil(text, text.len() - n);
        start(bisect(text.len() - least, |n| !counter.exceeds(&text[start(n)..], tokens)))
    }
}

/// The largest `n` up to `most` that fits: doubled until it does not, then halved. Tokens grow with bytes but for a few
/// at the seams; the last one that was seen to fit is what counts.
fn bisect(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most.min(1_024));
    while high < most && fits(high) {
        (low, high) = (high, (2 * high).min(most));
    }
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// The end of the last whole line before `at`; `at` itself where that would give up too much.
fn snapped(text: &str, at: usize, category: Category) -> usize {
    let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let keeps = match category {
        _ if at == text.len() => false,
        Category::MatchList => true,
        Category::Generic => line > 0,
        Category::HeadTail | Category::FileContent => 4 * line >= at,
    };
    if keeps { line } else { at }
}

/// The start of the first whole line from `at` on; `at` itself where that would give up three quarters.
fn unsnapped(text: &str, at: usize) -> usize {
    if at == 0 || text[..at].ends_with('\n') {
        return at;
    }
    let line = text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
    if 4 * (text.len() - line) >= text.len() - at { line } else { at }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&n| text.is_char_boundary(n)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&n| text.is_char_boundary(n)).unwrap_or(text.len())
}

/// Lines of a text, the last one with its end or without.
pub fn lines_of(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Unicode scalar values of a text.
pub fn chars_of(text: &str) -> usize {
    text.chars().count()
}
