//! Pieces with scores: the best sum of scores that a text can be laid with, as `SentencePiece`'s Unigram models have it.
//!
//! Where two ways are equally good, or nearly so, the rounding of sums decides, so these are rounded as the reference does:
//! the package `sentencepiece` adds in single precision from the beginning of the text on, and begins again at 0 where a sum is
//! large (since its release 0.2.2); the package `tokenizers` adds in double precision from the beginning of a word on. The
//! way through a part of a text is kept with the largest sum in front of it up to which rounding cannot change the way.

#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // places in short parts, and sums as they are kept

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::SPACE;
use super::neighbours::Neighbours;
use super::trie::{MOST, Trie, build};
use super::ways::{SHORT, STEPS, Way, Ways};
use crate::cancel;

/// What a character without a piece costs more than the worst piece.
const PENALTY: f64 = 10.0;

/// A multiple of the error of a sum that a lead must have: each of two sums may err, here and where the lead was measured.
const SAFE: f64 = 5.0;

/// Beyond this size a sum of single precision begins again at 0.
const LARGE: f64 = 100_000.0;

/// Bytes of a piece between two polls whether the count is still wanted.
const POLLED: usize = 256;

thread_local! {
    static NODES: RefCell<Vec<Node>> = const { RefCell::new(Vec::new()) };
}

/// What a file says beside its pieces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // as the files have them
pub struct Settings {
    /// Whether sums are kept in single precision.
    pub single: bool,
    /// Whether a text is split in front of each `▁`, and each part is laid by itself.
    pub splits: bool,
    /// Whether characters without a piece are the tokens of their bytes.
    pub bytes: bool,
    /// The bytes that have no token.
    pub without: Vec<u8>,
    /// Whether unknown characters that follow each other are looked up once more as one text.
    pub looks_up: bool,
    /// The score of a character without a piece.
    pub unknown: f64,
    /// The piece that counts as an unknown character, where its text stands.
    pub unknown_piece: Option<usize>,
    /// Whether `▁` stands at the beginnings of pieces alone, behind nothing but itself.
    pub begins: bool,
}

/// A vocabulary.
#[derive(Debug)]
pub struct Unigram {
    trie: Trie,
    scores: &'static [f64],
    neighbours: Neighbours,
    settings: Settings,
}

/// The best way to lay a text up to a place.
#[derive(Clone, Copy, Default)]
struct Node {
    score: f64,
    /// The score of the best of the other ways, by their last tokens.
    second: f64,
    /// Bytes of its last token; 0 where there is no way.
    length: u32,
    piece: u32,
}

/// A token of a way.
#[derive(Clone, Copy, Debug)]
struct Token {
    score: f64,
    length: u32,
    is_unknown: bool,
}

/// The way through a part: its tokens, the score at its end, and the largest score in front of it up to which it is this one.
struct Laid {
    tokens: Vec<Token>,
    score: f64,
    limit: f64,
}

/// The piece of a character that has none.
const UNKNOWN: u32 = u32::MAX;

impl Unigram {
    /// A vocabulary of different texts with their scores.
    pub fn new(pieces: &[(&str, f64)], settings: Settings) -> Option<Self> {
        if pieces.len() > MOST {
            return None;
        }
        let mut texts: Vec<(&[u8], u32)> = pieces.iter().map(|piece| piece.0.as_bytes()).zip(0..).collect();
        texts.sort_unstable();
        let mut neighbours = Neighbours::default();
        let mut begins = true;
        for (text, _) in pieces {
            for (left, right) in text.chars().zip(text.chars().skip(1)) {
                neighbours.insert(left, right);
                begins &= right != SPACE || left == SPACE;
            }
        }
        let scores: Vec<f64> = pieces.iter().map(|piece| piece.1).collect();
        let trie = Trie(Vec::leak(build(&texts, &scores)));
        Some(Self { trie, scores: Vec::leak(scores), neighbours, settings: Settings { begins, ..settings } })
    }

    /// A vocabulary of what [`Unigram::tables`] returned.
    pub fn of(trie: &'static [u64], scores: &'static [u64], neighbours: Neighbours, settings: Settings) -> Self {
        Self { trie: Trie(trie), scores: bytemuck::cast_slice(scores), neighbours, settings }
    }

    /// Its settings and its tables.
    pub fn tables(&self) -> (&Settings, [&[u64]; 3]) {
        (&self.settings, [self.trie.0, bytemuck::cast_slice(self.scores), self.neighbours.words()])
    }

    /// The score of a character without a piece, from that of the worst piece.
    pub fn unknown(worst: f64) -> f64 {
        worst - PENALTY
    }

    /// Tokens of a text that was rewritten.
    pub fn count(&self, text: &str, ways: &mut Ways) -> usize {
        self.runs(text).map(|run| self.count_run(run, ways)).sum()
    }

    /// Calls `put` with bytes of a text, in order, and the number of tokens that they are.
    pub fn tokens(&self, text: &str, put: &mut impl FnMut(usize, usize)) {
        for run in self.runs(text) {
            let mut chain = Chain::new(self, run);
            let mut start = 0;
            while start < run.len() {
                let part = self.part(run, start);
                chain.begin();
                chain.follow(&self.way(part, chain.score), put);
                start += part.len();
            }
            chain.finish(put);
        }
    }

    fn count_run(&self, run: &str, ways: &mut Ways) -> usize {
        if self.settings.splits && run.len() <= SHORT {
            let place = Ways::place(run);
            return ways.count(run, place).unwrap_or_else(|| {
                let count = self.count_alone(run);
                ways.insert(run, place, count, None);
                count
            });
        }
        let mut chain = Chain::new(self, run);
        let (mut start, mut count) = (0, 0);
        while start < run.len() {
            let part = self.part(run, start);
            self.follow(part, &mut chain, ways, &mut |_, tokens| count += tokens);
            start += part.len();
        }
        chain.finish(&mut |_, tokens| count += tokens);
        count
    }

    /// Tokens of a run.
    fn count_alone(&self, run: &str) -> usize {
        let known = NODES.with_borrow_mut(|nodes| {
            self.lay_part(run, 0.0, nodes);
            let (mut count, mut end) = (0, run.len());
            while end > 0 {
                let node = nodes[end];
                if node.piece == UNKNOWN || Some(node.piece as usize) == self.settings.unknown_piece {
                    return None;
                }
                count += 1;
                end -= node.length as usize;
            }
            Some(count)
        });
        known.unwrap_or_else(|| {
            let (mut chain, mut count) = (Chain::new(self, run), 0);
            chain.follow(&self.way(run, 0.0), &mut |_, tokens| count += tokens);
            chain.finish(&mut |_, tokens| count += tokens);
            count
        })
    }

    /// The texts that are laid by themselves.
    fn runs<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let (splits, mut left) = (self.settings.splits, text);
        std::iter::from_fn(move || {
            let first = left.chars().next()?.len_utf8();
            let end = if splits { next_space(left, first) } else { left.len() };
            let (run, behind) = left.split_at(end);
            left = behind;
            Some(run)
        })
    }

    /// A part of a run that no piece joins to what follows it.
    fn part<'t>(&self, run: &'t str, start: usize) -> &'t str {
        let left = &run[start..];
        if !self.settings.begins {
            return self.neighbours.part(left);
        }
        let spaces = left.len() - left.trim_start_matches(SPACE).len();
        let word = &left[..next_space(left, spaces)];
        let is_plain = word.len() <= SHORT && word[spaces..].is_ascii();
        if is_plain { word } else { self.neighbours.part(word) }
    }

    /// Adds the way through the next part to a chain.
    fn follow(&self, part: &str, chain: &mut Chain<'_>, ways: &mut Ways, put: &mut impl FnMut(usize, usize)) {
        chain.begin();
        if part.len() <= SHORT {
            let place = Ways::place(part);
            match ways.way(part, place) {
                Some(way) if chain.score.abs() <= way.limit => return chain.pass(&way, part.len(), put),
                Some(_) => {}
                None => {
                    let laid = self.way(part, 0.0);
                    keep(&laid, part, place, ways);
                    if chain.score.abs() <= laid.limit {
                        return laid.tokens.iter().for_each(|token| chain.add(token, put));
                    }
                }
            }
        }
        chain.follow(&self.way(part, chain.score), put);
    }

    /// The way through a part whose beginning has this score.
    fn way(&self, part: &str, score: f64) -> Laid {
        NODES.with_borrow_mut(|nodes| {
            let most = self.lay_part(part, score, nodes);
            let (mut tokens, mut lead, mut end) = (Vec::new(), f64::INFINITY, part.len());
            while end > 0 {
                let node = nodes[end];
                let is_unknown = node.piece == UNKNOWN;
                let score = if is_unknown { self.settings.unknown } else { self.scores[node.piece as usize] };
                let is_unknown = is_unknown || Some(node.piece as usize) == self.settings.unknown_piece;
                tokens.push(Token { score, length: node.length, is_unknown });
                lead = lead.min(node.score - node.second);
                end -= node.length as usize;
            }
            tokens.reverse();
            Laid { tokens, score: nodes[part.len()].score, limit: self.limit(part, lead, most) }
        })
    }

    /// The largest score at the beginning of a part with which its way is the same as with 0; none is below 0.
    ///
    /// `lead` is by how much the way is better than others, `most` the largest of its sums.
    fn limit(&self, part: &str, lead: f64, most: f64) -> f64 {
        // An addition errs by half of that share of its result; a way has no more of them than the part has characters.
        let share = if self.settings.single { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
        let limit = (lead / (SAFE * share * part.chars().count() as f64) - most).max(0.0);
        let free = LARGE - 1.0 - most; // no sum on the way becomes large
        if self.settings.single { limit.min(free) } else { limit }
    }

    fn lay_part(&self, part: &str, score: f64, nodes: &mut Vec<Node>) -> f64 {
        if self.settings.single {
            self.lay::<true>(part.as_bytes(), score, nodes)
        } else {
            self.lay::<false>(part.as_bytes(), score, nodes)
        }
    }

    /// Finds the best way to each place of a part; returns the largest of all sums.
    fn lay<const SINGLE: bool>(&self, part: &[u8], score: f64, nodes: &mut Vec<Node>) -> f64 {
        nodes.clear();
        nodes.resize(part.len() + 1, Node { second: f64::NEG_INFINITY, ..Node::default() });
        nodes[0].score = score;
        let (mut start, mut most, mut reached) = (0, 0.0_f64, 0);
        while start < part.len() {
            if SINGLE && nodes[start].score.abs() > LARGE {
                begin_again(&mut nodes[start..=reached.max(start)]);
            }
            let before = nodes[start].score;
            let width = width(part[start]);
            let (mut place, mut is_known) = (self.trie.root(), false);
            cancel::poll();
            for (index, &byte) in part[start..].iter().enumerate() {
                if index % POLLED == POLLED - 1 {
                    cancel::poll();
                }
                let Some(next) = self.trie.step(place, byte) else { break };
                place = next;
                if let Some(piece) = place.piece() {
                    is_known |= index + 1 == width;
                    let sum = rounded::<SINGLE>(place.score() + before);
                    most = most.max(sum.abs());
                    reached = reached.max(start + index + 1);
                    nodes[start + index + 1].offer(sum, index + 1, piece as u32);
                }
            }
            if !is_known {
                let sum = rounded::<SINGLE>(self.settings.unknown + before);
                most = most.max(sum.abs());
                reached = reached.max(start + width);
                nodes[start + width].offer(sum, width, UNKNOWN);
            }
            start += width;
        }
        most
    }

    /// Tokens of unknown characters that follow each other.
    fn unknown_tokens(&self, text: &str) -> usize {
        let settings = &self.settings;
        let is_known = || settings.looks_up && self.trie.get(text.as_bytes()).is_some();
        if !settings.bytes || is_known() || text.bytes().any(|byte| settings.without.contains(&byte)) {
            return 1;
        }
        text.len()
    }
}

/// Takes the score of the first of these nodes from all of them.
fn begin_again(nodes: &mut [Node]) {
    let offset = nodes[0].score;
    for (index, node) in nodes.iter_mut().enumerate() {
        if index == 0 || node.length > 0 {
            node.score = rounded::<true>(node.score - offset);
            node.second -= offset;
        }
    }
}

impl Node {
    /// Takes another way if it is better than all before it.
    fn offer(&mut self, sum: f64, length: usize, piece: u32) {
        if self.length == 0 || sum > self.score {
            let second = if self.length == 0 { self.second } else { self.score };
            *self = Self { score: sum, second, length: length as u32, piece };
        } else {
            self.second = self.second.max(sum);
        }
    }
}

/// Keeps a way, unless it has unknown characters or many tokens.
fn keep(laid: &Laid, part: &str, place: usize, ways: &mut Ways) {
    if laid.tokens.len() <= STEPS && !laid.tokens.iter().any(|token| token.is_unknown) {
        let mut scores = [0.0; STEPS];
        scores.iter_mut().zip(&laid.tokens).for_each(|(score, token)| *score = token.score);
        let way = Way { scores, steps: laid.tokens.len(), limit: laid.limit };
        ways.insert(part, place, way.steps, Some(&way));
    }
}

/// A sum as it is kept. What double precision says of two numbers of single precision rounds to what single precision says.
fn rounded<const SINGLE: bool>(sum: f64) -> f64 {
    if SINGLE { f64::from(sum as f32) } else { sum }
}

/// Bytes of a character, by its first.
fn width(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// Where the next `▁` begins, from a place on.
fn next_space(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mark = b"\xE2\x96\x81";
    memchr::memchr_iter(mark[0], &bytes[from..])
        .map(|index| from + index)
        .find(|&index| bytes[index..].starts_with(mark))
        .unwrap_or(bytes.len())
}

/// The tokens of a run, one after the other: the sum of their scores, and the unknown characters that are not counted yet.
struct Chain<'r> {
    vocabulary: &'r Unigram,
    run: &'r str,
    score: f64,
    /// Where the next token begins.
    place: usize,
    /// Where the unknown characters in front of it begin.
    unknown: usize,
}

impl<'r> Chain<'r> {
    fn new(vocabulary: &'r Unigram, run: &'r str) -> Self {
        Self { vocabulary, run, score: 0.0, place: 0, unknown: 0 }
    }

    /// Begins a part.
    fn begin(&mut self) {
        if self.vocabulary.settings.single && self.score.abs() > LARGE {
            self.score = 0.0;
        }
    }

    /// Adds the way through a part that was found for this score.
    fn follow(&mut self, laid: &Laid, put: &mut impl FnMut(usize, usize)) {
        laid.tokens.iter().for_each(|token| self.add(token, put));
        self.score = laid.score;
    }

    /// Adds a token. Calls `put` with bytes and the number of tokens that they are.
    fn add(&mut self, token: &Token, put: &mut impl FnMut(usize, usize)) {
        self.score += token.score;
        if self.vocabulary.settings.single {
            self.score = rounded::<true>(self.score);
        }
        self.place += token.length as usize;
        if !token.is_unknown {
            self.finish_to(self.place - token.length as usize, put);
            put(token.length as usize, 1);
            self.unknown = self.place;
        }
    }

    /// Adds the tokens of a way without unknown characters.
    fn pass(&mut self, way: &Way, length: usize, put: &mut impl FnMut(usize, usize)) {
        self.finish_to(self.place, put);
        for score in &way.scores[..way.steps] {
            self.score += score;
            if self.vocabulary.settings.single {
                self.score = rounded::<true>(self.score);
            }
        }
        self.place += length;
        self.unknown = self.place;
        put(length, way.steps);
    }

    /// Counts the unknown characters that are left.
    fn finish(mut self, put: &mut impl FnMut(usize, usize)) {
        self.finish_to(self.place, put);
    }

    fn finish_to(&mut self, end: usize, put: &mut impl FnMut(usize, usize)) {
        if self.unknown < end {
            let text = &self.run[self.unknown..end];
            put(text.len(), self.vocabulary.unknown_tokens(text));
        }
    }
}
