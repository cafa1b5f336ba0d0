//! The tokens of a text that grows.

use super::count::scale;
use super::engine::with_worker;
use super::vocabulary::Vocabulary;
use super::{Chars, Claude, Counter};

/// Pieces at the end of a text that more text may change. Where a piece ends is decided by it and by what stands up to
/// the end of the one behind it, or by blanks, which make at most three pieces: what stands before four is settled.
const OPEN: usize = 4;

/// Bytes that may wait before they are counted.
const WAITING: usize = 64 * 1024;

/// Counts a text that is given part by part, without counting again what more text cannot change.
///
/// # Examples
///
/// ```
/// use trimtab_tokens::{Counter, Encoding};
///
/// let mut tally = Counter::exact(Encoding::O200k).tally();
/// tally.append("hello wor");
/// tally.append_bytes(b"ld");
/// assert_eq!(tally.tokens(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Tally {
    counter: Counter,
    so_far: SoFar,
    /// The start of a character whose other bytes are still to come.
    begun: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) enum SoFar {
    Tokens(Growing),
    Sections(Sections),
    Length(Chars, usize),
    /// Where any part may change the count of all.
    Whole(String),
}

impl Tally {
    pub(super) fn new(counter: Counter, so_far: SoFar) -> Self {
        Self { counter, so_far, begun: Vec::new() }
    }

    /// Adds text.
    pub fn append(&mut self, text: &str) {
        if !self.begun.is_empty() {
            self.begun.clear();
            self.add("\u{FFFD}");
        }
        self.add(text);
    }

    /// Adds UTF-8, which may end inside a character; what is no UTF-8 counts as U+FFFD.
    pub fn append_bytes(&mut self, bytes: &[u8]) {
        let joined;
        let mut bytes = if self.begun.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.begun), bytes].concat();
            &joined
        };
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => return self.add(text),
                Err(error) => error,
            };
            let (text, rest) = bytes.split_at(error.valid_up_to());
            self.add(std::str::from_utf8(text).unwrap_or_default());
            match error.error_len() {
                Some(wrong) => {
                    self.add("\u{FFFD}");
                    bytes = &rest[wrong..];
                }
                None => return self.begun.extend_from_slice(rest),
            }
        }
    }

    fn add(&mut self, text: &str) {
        match &mut self.so_far {
            SoFar::Tokens(growing) => growing.append(text),
            SoFar::Sections(sections) => sections.append(text),
            SoFar::Length(chars, length) => *length += chars.length_of(text),
            SoFar::Whole(whole) => whole.push_str(text),
        }
    }

    /// Tokens of all that was added, as [`Counter::count`] gives them for it.
    pub fn tokens(&mut self) -> usize {
        if !self.begun.is_empty() {
            let mut ended = self.clone();
            ended.append("");
            return ended.tokens();
        }
        let plain = match &mut self.so_far {
            SoFar::Tokens(growing) => growing.tokens(),
            SoFar::Sections(sections) => sections.tokens(),
            SoFar::Length(chars, length) => chars.tokens(*length),
            SoFar::Whole(whole) => return self.counter.count(whole),
        };
        scale(plain, self.counter.rate())
    }
}

/// Text whose settled pieces are counted and let go.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    vocabulary: &'static Vocabulary,
    settled: usize,
    open: Vec<u8>,
    /// Bytes from which it pays to look at the open end again: its pieces may be long.
    next: usize,
}

impl Growing {
    pub fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, settled: 0, open: Vec::new(), next: WAITING }
    }

    pub fn append(&mut self, text: &str) {
        self.open.extend_from_slice(text.as_bytes());
        if self.open.len() >= self.next {
            self.tokens();
            self.next = WAITING.max(2 * self.open.len());
        }
    }

    /// Tokens of the text so far.
    pub fn tokens(&mut self) -> usize {
        with_worker(self.vocabulary, |worker| {
            let ends = worker.split(&self.open, 0);
            let (done, left) = ends.split_at(ends.len().saturating_sub(OPEN));
            let start = done.last().copied().unwrap_or_default();
            self.settled += worker.pieces(&self.open, 0, done);
            let rest = worker.pieces(&self.open, start, left);
            self.open.drain(..start);
            self.settled + rest
        })
    }
}

/// Text of Claude's whose settled lines are counted and let go.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    claude: Claude,
    settled: usize,
    open: String,
    /// As in [`Growing`].
    next: usize,
}

impl Sections {
    pub fn new(claude: Claude) -> Self {
        Self { claude, settled: 0, open: String::new(), next: WAITING }
    }

    pub fn append(&mut self, text: &str) {
        self.open.push_str(text);
        if self.open.len() >= self.next {
            self.settle();
            self.next = WAITING.max(2 * self.open.len());
        }
    }

    fn settle(&mut self) {
        let end = self.claude.settled(&self.open).unwrap_or_default();
        self.settled += self.claude.count(&self.open[..end]);
        self.open.drain(..end);
    }

    /// Tokens of the text so far.
    pub fn tokens(&mut self) -> usize {
        self.settle();
        self.settled + self.claude.count(&self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vocabulary::{CL100K, O200K};
    use super::*;

    #[test]
    fn a_growing_text_of_claudes_counts_as_the_whole_and_keeps_no_more_than_its_last_lines() {
        let parts = [
            "word ",
            "AND \u{301}",
            "\n",
            "\n\n  ",
            "中文",
            "\u{301}e",
            "line of some words\n",
            "'s",
            "\u{2019}",
            "x = 1\n",
        ];
        let mut seed = 5_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for (name, claude) in Claude::NAMES {
            let (mut tally, mut whole) = (Counter::claude(claude).tally(), String::new());
            for _ in 0..300 {
                let part = parts[next(parts.len())].repeat(1 + next(20));
                tally.append(&part);
                whole.push_str(&part);
                if next(3) == 0 {
                    assert_eq!(tally.tokens(), claude.count(&whole), "{name}");
                    let (tokens, limit) = (claude.count(&whole), next(4_000));
                    assert_eq!(claude.exceeds(&whole, limit), tokens > limit, "{name}");
                }
            }
            tally.tokens();
            if let SoFar::Sections(sections) = &tally.so_far {
                assert!(whole.len() > 10_000 && sections.open.len() < 8_000, "{}", sections.open.len());
            }
        }
    }

    #[test]
    fn a_growing_text_counts_as_the_whole_at_each_step() {
        let parts = [
            "中", "AAAA", "b", " ", "\n", "  ", "x", "'", "s", "ll", "12", "345", "/", "!", "\u{301}", "é", "word",
            "Foo",
        ];
        let mut seed = 3_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for _ in 0..3_000 {
            for vocabulary in [&*O200K, &*CL100K] {
                let (mut growing, mut whole) = (Growing::new(vocabulary), String::new());
                for _ in 0..next(30) {
                    let part = parts[next(parts.len())];
                    growing.append(part);
                    whole.push_str(part);
                    let expected = with_worker(vocabulary, |worker| worker.count(whole.as_bytes()));
                    assert_eq!(growing.tokens(), expected, "{whole:?}");
                }
            }
        }
    }
}
