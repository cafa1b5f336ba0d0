//! Finds the longest head and tail within the limits.

use super::boundary::{ceil, char_ceil, char_floor, floor};
use super::{Category, Limits};
use trimtab_tokens::Counter;

/// The result if no notice fits.
const ELLIPSIS: &str = "…";

/// A text to cut: the whole text, or the head and the tail of a text that is too long to hold.
pub struct Source<'a> {
    /// The beginning of the text.
    pub front: &'a str,
    /// The end of the text; equal to `front` if the source is whole.
    pub back: &'a str,
    /// Whether `front` and `back` are the same text.
    pub whole: bool,
    /// Whether `back` begins inside a line.
    pub torn: bool,
    /// Lines of the whole text.
    pub lines: usize,
    /// Bytes of the whole text.
    pub bytes: usize,
    /// Bytes in the source of a part of `front` (true) or `back` (false): invalid UTF-8 was replaced by U+FFFD.
    pub raw: &'a dyn Fn(&str, bool) -> usize,
}

impl<'a> Source<'a> {
    /// A source that is a whole text.
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

    /// Lines and bytes of the omitted text between head and tail; a partly omitted line counts. `None` if no text is
    /// omitted.
    fn gone(&self, head: usize, tail: usize) -> Option<(usize, usize)> {
        let (front, back) = (&self.front[..head], &self.back[tail..]);
        let bytes = self.bytes - (self.raw)(front, true) - (self.raw)(back, false);
        let is_torn = |before: &str| !before.is_empty() && !before.ends_with('\n');
        let in_line = if tail == 0 { self.torn } else { is_torn(&self.back[..tail]) };
        let torn = usize::from(is_torn(front)) + usize::from(!back.is_empty() && in_line);
        (bytes > 0).then(|| (self.lines + torn - lines_of(front) - lines_of(back), bytes))
    }
}

/// Byte offsets of the head's end and the tail's start, and the notice between them.
pub struct Cut {
    pub head: usize,
    pub notice: String,
    pub tail: usize,
}

impl Cut {
    /// What is left of a whole text.
    pub fn of(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.head], self.notice, &text[self.tail..])
    }
}

/// Cuts a text that exceeds its limits.
pub fn cut(source: &Source<'_>, category: Category, limits: Limits, more: &str, counter: &Counter) -> Cut {
    let wordings = wordings(category, more);
    for (n, wording) in wordings.iter().enumerate() {
        // The notice of a text that is omitted whole has the largest numbers, so it is the longest.
        let longest = notice(source.lines, source.bytes, wording);
        // A shorter notice replaces one that would leave less than a quarter of the limit to the text.
        if n + 1 < wordings.len() && !limits.three_quarters().hold(&longest, counter) {
            continue;
        }
        if let Some(cut) = cut_with(source, category, limits, wording, counter) {
            return cut;
        }
    }
    let notice = if limits.hold(ELLIPSIS, counter) { ELLIPSIS } else { "" };
    Cut { head: 0, notice: notice.to_owned(), tail: source.back.len() }
}

/// Cuts with one wording of the notice; `None` if the notice does not fit.
fn cut_with(source: &Source<'_>, category: Category, limits: Limits, wording: &str, counter: &Counter) -> Option<Cut> {
    let mut free = limits.beside(&notice(source.lines, source.bytes, wording), counter);
    while let Some(left) = free {
        let (head, tail) = left.kept(source, category, counter);
        let (lines, bytes) = source.gone(head, tail).unwrap_or_default();
        let seam = if head == 0 || source.front[..head].ends_with('\n') { "" } else { "\n" };
        let notice = format!("{seam}{}", notice(lines, bytes, wording));
        let made = format!("{}{notice}{}", &source.front[..head], &source.back[tail..]);
        if bytes > 0 && limits.hold(&made, counter) {
            return Some(Cut { head, notice, tail });
        }
        // Tokens of the parts do not add up to those of the whole: try less until they fit.
        let over = limits.tokens.map_or(1, |most| counter.count(&made).saturating_sub(most)).max(1);
        free = left
            .tokens
            .and_then(|tokens| tokens.checked_sub(over))
            .map(|tokens| Limits { tokens: Some(tokens), ..left });
    }
    None
}

/// Endings of the notice in order of preference: with both hints, with one of them, and without.
pub fn wordings(category: Category, more: &str) -> Vec<String> {
    let hint = category.hint();
    let clause = |text: &str| if text.is_empty() { String::new() } else { format!("; {text}") };
    let mut found = vec![format!("{}{}", clause(hint), clause(more))];
    for shorter in [more, hint, ""].map(clause) {
        if !found.contains(&shorter) {
            found.push(shorter);
        }
    }
    found
}

pub fn notice(lines: usize, bytes: usize, end: &str) -> String {
    let s = |n| if n == 1 { "" } else { "s" };
    format!("[{lines} line{}, {bytes} byte{} omitted{end}]\n", s(lines), s(bytes))
}

impl Limits {
    /// Three quarters of the limits on length; lines are left out, because a notice is one line.
    fn three_quarters(self) -> Self {
        let part = |limit: Option<usize>| limit.map(|n| n - n.div_ceil(4));
        Self { tokens: part(self.tokens), lines: None, chars: part(self.chars), bytes: part(self.bytes) }
    }

    /// The limits less a notice and the line end before it; `None` if the notice exceeds a limit.
    fn beside(self, notice: &str, counter: &Counter) -> Option<Self> {
        let end = |limit: Option<usize>| match limit {
            Some(limit) => limit.checked_sub(1).map(Some),
            None => Some(None),
        };
        let left = self.less(notice, counter)?;
        Some(Self { chars: end(left.chars)?, bytes: end(left.bytes)?, ..left })
    }

    /// The limits less a text; `None` if it exceeds one.
    pub(super) fn less(self, text: &str, counter: &Counter) -> Option<Self> {
        let less = |limit: Option<usize>, used: &dyn Fn() -> usize| match limit {
            Some(limit) => limit.checked_sub(used()).map(Some),
            None => Some(None),
        };
        Some(Self {
            tokens: less(self.tokens, &|| counter.count(text))?,
            lines: less(self.lines, &|| lines_of(text))?,
            chars: less(self.chars, &|| chars_of(text))?,
            bytes: less(self.bytes, &|| text.len())?,
        })
    }

    /// End of the head and start of the tail: the head gets its share, the tail the rest.
    fn kept(self, source: &Source<'_>, category: Category, counter: &Counter) -> (usize, usize) {
        let share = |n: usize| (n * category.head()).div_ceil(10);
        let Self { tokens, lines, chars, bytes } = self;
        let part = Self {
            tokens: tokens.map(share),
            lines: lines.map(share),
            chars: chars.map(share),
            bytes: bytes.map(share),
        };
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
            bytes: bytes.map(|n| n.saturating_sub(kept.len())),
        };
        let from = if source.whole { head } else { 0 };
        let tail = &source.back[from..];
        (head, end - tail.len() + unsnapped(tail, rest.suffix(tail, counter)))
    }

    /// Length in bytes of the longest prefix within the limits.
    fn prefix(self, text: &str, counter: &Counter) -> usize {
        let lines = self.lines.and_then(|n| match n {
            0 => Some(0),
            n => text.match_indices('\n').nth(n - 1).map(|(at, _)| at + 1),
        });
        let chars = self.chars.and_then(|n| text.char_indices().nth(n).map(|(at, _)| at));
        let most = [lines, chars, self.bytes].into_iter().flatten().fold(text.len(), usize::min);
        let Some(tokens) = self.tokens else { return floor(text, most) };
        let prefix = |n: usize| &text[..char_floor(text, n)];
        floor(text, bisect(most, |n| !counter.exceeds(prefix(n), tokens)))
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
        let bytes = self.bytes.map(|n| text.len().saturating_sub(n));
        let least = [lines, chars, bytes].into_iter().flatten().fold(0, usize::max);
        let Some(tokens) = self.tokens else { return ceil(text, least) };
        let suffix = |n: usize| &text[char_ceil(text, text.len() - n)..];
        ceil(text, text.len() - bisect(text.len() - least, |n| !counter.exceeds(suffix(n), tokens)))
    }
}

/// The largest `n` up to `most` that fits, by doubling and then bisection. Token counts grow with the length except for
/// a few tokens where a cut splits one; the result is always an `n` that was tested.
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

/// The end of the last whole line before `at`; `at` itself if the category would lose too much.
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

/// The start of the first whole line from `at` on; `at` itself if three quarters of the tail would be lost.
fn unsnapped(text: &str, at: usize) -> usize {
    if at == 0 || text[..at].ends_with('\n') {
        return at;
    }
    let line = text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
    if 4 * (text.len() - line) >= text.len() - at { line } else { at }
}

/// Number of lines of a text; the last one may lack its line end.
pub fn lines_of(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Number of Unicode scalar values of a text.
pub fn chars_of(text: &str) -> usize {
    text.chars().count()
}
