//! What is kept of a text that grows, by how it is counted.

use crate::bpe::vocabulary::Vocabulary;
use crate::bpe::worker::with_worker;
use crate::claude::Claude;
use crate::estimate::Chars;

/// Pretokens at the end of a text that more text may change. Where a pretoken ends is decided by it and by what stands up to
/// the end of the one behind it, or by blanks, which make at most three pretokens: what stands before four is settled.
const OPEN: usize = 4;

/// Bytes that may wait before they are counted.
const MISSES: usize = 64 * 1024;

/// The state of such a count.
#[derive(Clone, Debug)]
pub enum State {
    Tokens(PretokenState),
    SectionState(SectionState),
    Length(Chars, usize),
    /// Where any part may change the count of all.
    Whole(String),
}

/// Text whose settled pretokens are counted and let go.
#[derive(Clone, Debug)]
pub struct PretokenState {
    vocabulary: &'static Vocabulary,
    settled: usize,
    open: Vec<u8>,
    /// Bytes from which it pays to look at the open end again: its pretokens may be long.
    next: usize,
}

impl PretokenState {
    pub fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, settled: 0, open: Vec::new(), next: MISSES }
    }

    pub fn append(&mut self, text: &str) {
        self.open.extend_from_slice(text.as_bytes());
        if self.open.len() >= self.next {
            self.tokens();
            self.next = MISSES.max(2 * self.open.len());
        }
    }

    /// Tokens of the text so far.
    pub fn tokens(&mut self) -> usize {
        with_worker(self.vocabulary, |worker| {
            let ends = worker.split(&self.open, 0);
            let (done, left) = ends.split_at(ends.len().saturating_sub(OPEN));
            let start = done.last().copied().unwrap_or_default();
            self.settled += worker.pretokens(&self.open, 0, done);
            let rest = worker.pretokens(&self.open, start, left);
            self.open.drain(..start);
            self.settled + rest
        })
    }
}

/// Text of Claude's whose settled lines are counted and let go.
#[derive(Clone, Debug)]
pub struct SectionState {
    claude: Claude,
    settled: usize,
    pub open: String,
    /// As in [`PretokenState`].
    next: usize,
}

impl SectionState {
    pub fn new(claude: Claude) -> Self {
        Self { claude, settled: 0, open: String::new(), next: MISSES }
    }

    pub fn append(&mut self, text: &str) {
        self.open.push_str(text);
        if self.open.len() >= self.next {
            self.settle();
            self.next = MISSES.max(2 * self.open.len());
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
