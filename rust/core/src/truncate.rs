//! Cutting one text down to a number of tokens.

use crate::text::Counter;

/// Keeps the head and the tail of `text`, whole lines where there are any, with a notice between them that says what
/// was left out. The result has at most `max_tokens`, or is the notice alone where that has more.
///
/// Sixty parts of the head to forty of the tail: a tool's output opens with what was asked and ends with how it went
/// (seed 003, section "`HeadTail`"). A cut never parts a code point.
///
/// # Examples
///
/// ```
/// use trimtab_core::{text::{Counter, Encoding}, truncate::head_tail};
///
/// let counter = Counter::exact(Encoding::O200k);
/// let log: String = (0..500).map(|n| format!("line {n}\n")).collect();
/// let cut = head_tail(&log, 100, &counter);
/// assert!(cut.starts_with("line 0\nline 1\n") && cut.ends_with("line 499\n"));
/// assert!(cut.contains(" lines, ") && counter.count(&cut) <= 100);
/// assert_eq!(head_tail("short", 100, &counter), "short");
/// ```
#[must_use]
pub fn head_tail(text: &str, max_tokens: usize, counter: &Counter) -> String {
    if !counter.exceeds(text, max_tokens) {
        return text.to_owned();
    }
    // The largest number of kept bytes that fits, by bisection: tokens grow with bytes but for a few at the seams, so
    // the last one that was seen to fit is what counts.
    let (mut low, mut high) = (0, text.len());
    let mut best = cut(text, 0);
    while low < high {
        let kept = (low + high).div_ceil(2);
        let candidate = cut(text, kept);
        if counter.exceeds(&candidate, max_tokens) {
            high = kept - 1;
        } else {
            low = kept;
            best = candidate;
        }
    }
    best
}

/// `text` with about `kept` of its bytes, three fifths of them at the head.
fn cut(text: &str, kept: usize) -> String {
    let head = at_line(text, floor(text, kept * 3 / 5));
    let from = floor(text, text.len() - (kept - kept * 3 / 5).min(text.len()));
    let tail = text[from..].find('\n').map_or(from, |n| if from + n + 1 < text.len() { from + n + 1 } else { from });
    let tail = tail.max(head);
    let gone = &text[head..tail];
    let lines = gone.bytes().filter(|&b| b == b'\n').count() + usize::from(!gone.ends_with('\n'));
    let seam = if head == 0 || text[..head].ends_with('\n') { "" } else { "\n" };
    format!("{}{seam}[trimtab: {lines} lines, {} bytes left out]\n{}", &text[..head], gone.len(), &text[tail..])
}

/// The last code point boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The end of the last whole line before `at`, or `at` where the line is longer than a quarter of it.
fn at_line(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map(|n| n + 1).filter(|&n| n >= at - at / 4).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Encoding;

    #[test]
    fn any_text_is_cut_to_any_size() {
        let counter = Counter::exact(Encoding::O200k);
        let long_line = "é".repeat(5_000);
        let lines = "日本語 and more\n".repeat(300);
        for text in [long_line.as_str(), lines.as_str(), "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", "x"] {
            for max in [1, 20, 50, 200] {
                let cut = head_tail(text, max, &counter);
                assert!(counter.count(&cut) <= max.max(20), "{max} {cut:?}");
            }
        }
    }
}
