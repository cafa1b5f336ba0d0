//! Truncates a text that is larger than memory: holds its head and its tail, and counts the rest.

use std::borrow::Cow;

use super::fit::{Source, cut};
use super::{Category, Limits};
use trimtab_tokens::Counter;

/// Most bytes of the head, and of the tail, that are held; the size without a limit on tokens, characters or bytes.
const MOST: usize = 32 << 20;

/// Most bytes of one token: the longest of the encodings are 128 spaces, and an estimate's are 4 characters.
const TOKEN: usize = 128;

/// A text that arrives in chunks of bytes and is truncated at its end.
///
/// The result equals that of [`super::truncate`], byte for byte, for texts of up to 64 MiB, and for longer texts if the
/// limits allow less. Invalid UTF-8 counts as U+FFFD and is returned unchanged.
pub struct Stream {
    category: Category,
    limits: Limits,
    more: String,
    counter: Counter,
    window: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Bytes and line ends that are in neither head nor tail.
    passed: (usize, usize),
    /// Whether the tail begins inside a line.
    torn: bool,
}

impl Stream {
    /// A stream without text; `more` is as in [`super::truncate`].
    #[must_use]
    pub fn new(category: Category, limits: Limits, more: String, counter: Counter) -> Self {
        let by_tokens = limits.tokens.map(|n| n.saturating_mul(TOKEN));
        let needed = [by_tokens, limits.chars.map(|n| n.saturating_mul(4)), limits.bytes];
        let window = needed.into_iter().flatten().min().map_or(MOST, |n| n.clamp(1 << 10, MOST));
        Self {
            category,
            limits,
            more,
            counter,
            window,
            head: Vec::new(),
            tail: Vec::new(),
            passed: (0, 0),
            torn: false,
        }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.window - self.head.len()));
        self.head.extend_from_slice(head);
        // The tail grows to two windows before it moves to the front: a move for each chunk would be quadratic.
        for part in rest.chunks(self.window) {
            self.tail.extend_from_slice(part);
            if self.tail.len() >= 2 * self.window {
                self.pass(self.tail.len() - self.window);
            }
        }
    }

    /// The truncated text; the unchanged bytes if they are within the limits.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if self.passed.0 == 0 {
            self.head.append(&mut self.tail);
            let text = Lossy::of(&self.head);
            if self.limits.hold(&text.text, &self.counter) {
                return self.head;
            }
            return self.cut(&text, &text, true);
        }
        self.pass(self.tail.len().saturating_sub(self.window));
        let torn = self.tail.iter().take(3).take_while(|&&b| b & 0xC0 == 0x80).count();
        self.pass(torn); // the end of a character whose beginning is not in the tail
        self.cut(&Lossy::of(&self.head), &Lossy::of(&self.tail), false)
    }

    /// Counts the first bytes of the tail, and drops them.
    fn pass(&mut self, bytes: usize) {
        self.passed.0 += bytes;
        self.passed.1 += ends(&self.tail[..bytes]);
        self.torn = self.tail[..bytes].last().map_or(self.torn, |&b| b != b'\n');
        self.tail.drain(..bytes);
    }

    fn cut(&self, front: &Lossy<'_>, back: &Lossy<'_>, whole: bool) -> Vec<u8> {
        let held = |window: &Lossy<'_>| (window.raw.len(), ends(window.raw));
        let (tail, last) = if whole { ((0, 0), front.raw) } else { (held(back), back.raw) };
        let bytes = held(front).0 + self.passed.0 + tail.0;
        let lines = held(front).1 + self.passed.1 + tail.1 + usize::from(!last.is_empty() && !last.ends_with(b"\n"));
        let raw = |part: &str, is_head: bool| {
            if is_head { front.raw_at(part.len()) } else { back.raw.len() - back.raw_at(back.text.len() - part.len()) }
        };
        let source = Source { front: &front.text, back: &back.text, whole, torn: self.torn, lines, bytes, raw: &raw };
        let cut = cut(&source, self.category, self.limits, &self.more, &self.counter);
        [&front.raw[..front.raw_at(cut.head)], cut.notice.as_bytes(), &back.raw[back.raw_at(cut.tail)..]].concat()
    }
}

/// Number of line ends.
fn ends(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// Bytes as text, with the byte offset of each place in the text.
struct Lossy<'a> {
    raw: &'a [u8],
    text: Cow<'a, str>,
    /// End of each piece of invalid UTF-8: its offset in the text, and in the bytes.
    places: Vec<(usize, usize)>,
}

impl<'a> Lossy<'a> {
    fn of(raw: &'a [u8]) -> Self {
        let (mut text, mut at, mut places) = (String::new(), 0, Vec::new());
        if let Ok(valid) = std::str::from_utf8(raw) {
            return Self { raw, text: Cow::Borrowed(valid), places };
        }
        for chunk in raw.utf8_chunks() {
            text.push_str(chunk.valid());
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
                at += chunk.invalid().len();
                places.push((text.len(), at));
            }
        }
        Self { raw, text: Cow::Owned(text), places }
    }

    /// The offset in the bytes of an offset in the text.
    fn raw_at(&self, at: usize) -> usize {
        let before = self.places.partition_point(|(text, _)| *text <= at);
        let (text, raw) = before.checked_sub(1).map_or((0, 0), |n| self.places[n]);
        raw + (at - text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_tokens::Encoding;

    fn cut(limits: Limits, parts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
        let mut stream = Stream::new(Category::HeadTail, limits, String::new(), Counter::exact(Encoding::O200k));
        parts.for_each(|part| stream.push(&part));
        stream.finish()
    }

    #[test]
    fn a_stream_returns_invalid_utf8_unchanged() {
        let noise = b"caf\xe9 \xff\xfe\n".to_vec();
        let few = Limits { lines: Some(9), ..Limits::default() };
        assert_eq!(cut(few, std::iter::repeat_n(noise.clone(), 9)), noise.repeat(9));
        let many = cut(few, std::iter::repeat_n(noise.clone(), 100));
        let expected = [noise.repeat(5), b"[92 lines, 736 bytes omitted]\n".to_vec(), noise.repeat(3)].concat();
        assert_eq!(String::from_utf8_lossy(&many), String::from_utf8_lossy(&expected));
        assert_eq!(many, expected);
    }

    #[test]
    fn a_stream_counts_the_text_that_it_does_not_hold() {
        let line = "日本語 0123456789\n".as_bytes().to_vec();
        let limits = Limits { tokens: Some(60), ..Limits::default() };
        let text = String::from_utf8(cut(limits, std::iter::repeat_n(line.clone(), 100_000))).unwrap();
        let kept = text.lines().filter(|l| l.starts_with("日本語 0")).count();
        let gone = 100_000 - kept;
        assert!(
            kept >= 4 && text.contains(&format!("[{gone} lines, {} bytes omitted]\n", gone * line.len())),
            "{text}"
        );
    }
}
