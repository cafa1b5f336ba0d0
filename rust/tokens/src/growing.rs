//! The state of a growing text, by engine.

use crate::bpe::vocabulary::Vocabulary;
use crate::bpe::worker::with_worker;
use crate::claude::Claude;
use crate::estimate::Chars;

/// Pretokens at the end of a text that more text may change. The end of a pretoken depends on the text up to the end of the
/// next one, or on white space, which makes at most three pretokens. So all but the last four are final.
const OPEN: usize = 4;

/// Bytes that are buffered before they are counted.
const MISSES: usize = 64 * 1024;

/// The state of an incremental count.
#[derive(Clone, Debug)]
pub enum State {
    Tokens(PretokenState),
    SectionState(SectionState),
    Length(Chars, usize),
    /// The whole text, where more text may change every token.
    Whole(String),
}

/// Text whose final pretokens are counted and dropped.
#[derive(Clone, Debug)]
pub struct PretokenState {
    vocabulary: &'static Vocabulary,
    final_tokens: usize,
    open: Vec<u8>,
    /// Length of `open` from which it is split again: doubling it keeps the time linear for long pretokens.
    next: usize,
}

impl PretokenState {
    pub fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, final_tokens: 0, open: Vec::new(), next: MISSES }
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
            self.final_tokens += worker.pretokens(&self.open, 0, done);
            let rest = worker.pretokens(&self.open, start, left);
            self.open.drain(..start);
            self.final_tokens + rest
        })
    }
}

/// Text of Claude's whose final lines are counted and dropped.
#[derive(Clone, Debug)]
pub struct SectionState {
    claude: Claude,
    final_tokens: usize,
    pub open: String,
    /// As in [`PretokenState`].
    next: usize,
}

impl SectionState {
    pub fn new(claude: Claude) -> Self {
        Self { claude, final_tokens: 0, open: String::new(), next: MISSES }
    }

    pub fn append(&mut self, text: &str) {
        self.open.push_str(text);
        if self.open.len() >= self.next {
            self.settle();
            self.next = MISSES.max(2 * self.open.len());
        }
    }

    fn settle(&mut self) {
        let end = self.claude.stable_prefix(&self.open).unwrap_or_default();
        self.final_tokens += self.claude.count(&self.open[..end]);
        self.open.drain(..end);
    }

    /// Tokens of the text so far.
    pub fn tokens(&mut self) -> usize {
        self.settle();
        self.final_tokens + self.claude.count(&self.open)
    }
}
