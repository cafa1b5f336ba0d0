//! Splits a text into segments and sums their tokens.
//!
//! Claude's vocabularies were measured on a stream that is the text with markers: for the begin, end and case of words, and
//! for punctuation next to a space. A single space between an end marker and a begin marker is not written. No piece spans
//! the end of a word, of a run of digits or of white space, so the stream splits into segments that are counted separately;
//! `data/claude.py` asserts this of every piece.

use super::classes::{Bits, Class, decode};
use super::normalize::is_normal;
use super::segment_cache::SegmentCache;
use super::vocabulary::{CONTRACTIONS, Vocabulary};
use crate::cancel;

/// The class of a character by its first byte; [`OTHER`] for a non-ASCII one.
const ASCII: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t' | b'\n' => SPACE,
            _ => PUNCT,
        };
        byte += 1;
    }
    table
};
const LETTER: u8 = 0;
const DIGIT: u8 = 1;
const PUNCT: u8 = 2;
const SPACE: u8 = 3;
const OTHER: u8 = 4;

fn class_of(bits: Bits) -> u8 {
    match bits.class() {
        Class::Hard => OTHER,
        Class::Wordy => LETTER,
        Class::Digit => DIGIT,
        Class::Punct => PUNCT,
        Class::Space => SPACE,
    }
}

/// A run of hard characters: its end, and the markers that it has next to a space.
struct Hard {
    end: usize,
    /// Sum of the tokens of its characters.
    alone: u32,
    letters: bool,
    opens: bool,
    closes: bool,
}

/// Properties of the previous run that the next one depends on.
#[derive(Clone, Copy, Default)]
pub struct Before {
    /// It has an end marker before a single space.
    pub closes: bool,
    /// It is like punctuation: an apostrophe after it begins no contraction.
    pub guards: bool,
}

/// Reads a text and sums its tokens.
pub struct Reader<'a> {
    pub text: &'a str,
    pub vocabulary: &'static Vocabulary,
    pub cache: &'a mut SegmentCache,
    /// Whether a begin-of-word marker precedes the text, which counts as a space.
    pub opened: bool,
    /// Whether the text may lack normalization.
    pub is_raw: bool,
    /// Whether the text was found to need normalization.
    pub is_not_normal: bool,
    /// Tokens so far, without those of queued segments.
    pub total: usize,
}

impl<'a> Reader<'a> {
    /// A reader of a normalized text.
    pub fn new(text: &'a str, vocabulary: &'static Vocabulary, cache: &'a mut SegmentCache) -> Self {
        Self { text, vocabulary, cache, opened: false, is_raw: false, is_not_normal: false, total: 0 }
    }
}

impl Reader<'_> {
    /// Tokens of a text that was not normalized; None if it has to be.
    pub fn read_raw(mut self) -> Option<usize> {
        self.is_raw = true;
        let tokens = self.tokens();
        (!self.is_not_normal).then_some(tokens)
    }

    /// Tokens of the whole text.
    pub fn tokens(&mut self) -> usize {
        let length = self.text.len();
        self.cache.discard_queue();
        let (mut at, mut before) = (0, Before::default());
        let mut segments = 0_u8;
        while at < length {
            segments = segments.wrapping_add(1); // polls each 256: a poll takes as long as a segment
            if segments == 0 {
                cancel::poll();
            }
            at = self.windows(at, &mut before);
            if at < length && !self.is_not_normal {
                let end = self.segment(at, &mut before);
                self.is_not_normal = self.is_raw && !is_normal(&self.text[..end], at);
                at = end;
            }
            if self.is_not_normal {
                return 0;
            }
        }
        self.total + self.cache.flush(self.text.as_bytes())
    }

    /// Reads the run of one class at `at`; returns its end.
    #[inline]
    pub fn segment(&mut self, at: usize, before: &mut Before) -> usize {
        let (end, after) = match self.class(at) {
            LETTER => {
                let end = self.end_of(LETTER, at);
                self.add(at, end, false, false);
                (end, Before { closes: true, guards: self.ends_in_symbol(end) })
            }
            SPACE => (self.spaces(at, before.closes), Before::default()),
            PUNCT => self.punctuation(at, *before),
            DIGIT => self.digits(at),
            _ => self.hard(at),
        };
        *before = after;
        end
    }

    #[inline]
    fn add(&mut self, at: usize, end: usize, opened: bool, closed: bool) {
        self.cache.add(self.text.as_bytes(), at, end, opened, closed, &mut self.total);
    }

    /// Whether the text merges with the begin-of-word marker before it: with a leading space, or with its first piece.
    pub fn begins(&self) -> bool {
        let joins = |text: &str| !text.is_empty() && self.class(0) == OTHER && !self.hard_run(0).letters;
        self.text.starts_with(' ') || self.opens(0) || joins(self.text)
    }

    /// The class of the character at `at`; [`OTHER`] for hard characters.
    #[inline]
    fn class(&self, at: usize) -> u8 {
        let class = ASCII[usize::from(self.text.as_bytes()[at])];
        if class == OTHER { self.non_ascii_class(at) } else { class }
    }

    fn non_ascii_class(&self, at: usize) -> u8 {
        class_of(Bits::at(decode(self.text.as_bytes(), at).0))
    }

    /// The end of the run of `class` at `at`.
    #[inline]
    fn end_of(&self, class: u8, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(at) {
            cancel::poll_at(at);
            let here = ASCII[usize::from(*byte)];
            if here == class {
                at += 1;
            } else if here == OTHER {
                let (code, width) = decode(bytes, at);
                if class_of(Bits::at(code)) != class {
                    break;
                }
                at += width;
            } else {
                break;
            }
        }
        at
    }

    /// Whether a space precedes `at`.
    #[inline]
    pub fn follows_space(&self, at: usize) -> bool {
        if at == 0 { self.opened } else { self.text.as_bytes()[at - 1] == b' ' }
    }

    /// Whether exactly one space is at `at`.
    fn precedes_space(&self, at: usize) -> bool {
        let rest = &self.text.as_bytes()[at..];
        rest.first() == Some(&b' ') && rest.get(1) != Some(&b' ')
    }

    /// Whether the run at `at` has a begin marker after a space.
    fn opens(&self, at: usize) -> bool {
        if at >= self.text.len() {
            return false;
        }
        match self.class(at) {
            LETTER => true,
            PUNCT => !self.is_quote_of_word(at),
            DIGIT => !self.text.as_bytes()[at].is_ascii(),
            SPACE => false,
            _ => {
                let first = Bits::at(decode(self.text.as_bytes(), at).0);
                first.is_selector() || first.is_symbol() || (first.numeral() != 0 && self.hard_run(at).opens)
            }
        }
    }

    /// Whether an apostrophe at `at` directly precedes a word.
    fn is_quote_of_word(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        bytes[at] == b'\'' && at + 1 < bytes.len() && self.class(at + 1) == LETTER
    }

    /// Whether the word that ends at `end` has a last letter that is a symbol by category: a circled one.
    #[inline]
    fn ends_in_symbol(&self, end: usize) -> bool {
        !self.text.as_bytes()[end - 1].is_ascii()
            && self.text[..end].chars().next_back().is_some_and(|c| Bits::of(c).is_symbol())
    }

    /// Reads white space. One space between an end marker and a begin marker has no token.
    fn spaces(&mut self, at: usize, closes: bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut end = at;
        let mut tokens = 0;
        while end < bytes.len() && self.class(end) == SPACE {
            let (start, byte) = (end, bytes[end]);
            if byte.is_ascii() {
                end += bytes[end..].iter().take_while(|b| **b == byte).count();
                tokens += self.vocabulary.white_space(byte, end - start);
            } else {
                let (code, width) = decode(bytes, end);
                tokens += self.vocabulary.pieces.alone(code);
                end += width;
            }
        }
        if !(end == at + 1 && bytes[at] == b' ' && closes && self.opens(end)) {
            self.total += tokens as usize;
        }
        end
    }

    fn punctuation(&mut self, at: usize, before: Before) -> (usize, Before) {
        let quote = self.is_quote_of_word(at);
        if quote && !before.guards {
            let end = self.end_of(LETTER, at + 1);
            let suffix = &self.text[at + 1..end];
            if let Some(n) = CONTRACTIONS.iter().position(|known| *known == suffix) {
                self.total += self.vocabulary.contractions[n] as usize;
                return (end, Before { closes: true, guards: false });
            }
        }
        let end = self.end_of(PUNCT, at);
        self.add(at, end, !quote && self.follows_space(at), self.precedes_space(end));
        (end, Before { closes: true, guards: true })
    }

    /// Reads digits. Three ASCII digits are a token, any other digit is counted by itself; digits of other scripts have
    /// markers next to a space.
    fn digits(&mut self, at: usize) -> (usize, Before) {
        let bytes = self.text.as_bytes();
        let (mut end, mut tokens, mut closes) = (at, 0, false);
        while end < bytes.len() && self.class(end) == DIGIT {
            closes = !bytes[end].is_ascii();
            if closes {
                let (code, width) = decode(bytes, end);
                tokens += self.vocabulary.pieces.alone(code) as usize;
                end += width;
            } else {
                let run = bytes[end..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                tokens += run.div_ceil(3);
                end += run;
            }
        }
        let opens = !bytes[at].is_ascii();
        tokens += usize::from(opens && self.follows_space(at)) + usize::from(closes && self.precedes_space(end));
        self.total += tokens;
        (end, Before { closes, guards: closes })
    }

    /// The run of hard characters of one kind at `at`.
    fn hard_run(&self, at: usize) -> Hard {
        let bytes = self.text.as_bytes();
        let (code, width) = decode(bytes, at);
        let first = Bits::at(code);
        let (mut last, mut end) = (first, at + width);
        let mut alone = self.vocabulary.pieces.alone(code);
        let mut number = first.numeral() != 0 && !first.is_hard_letter();
        while end < bytes.len() && !bytes[end].is_ascii() {
            cancel::poll_at(end);
            let (code, width) = decode(bytes, end);
            let bits = Bits::at(code);
            if bits.class() != Class::Hard || !(bits.is_selector() || bits.kind() == first.kind()) {
                break;
            }
            alone += self.vocabulary.pieces.alone(code);
            number &= bits.numeral() == first.numeral();
            last = bits;
            end += width;
        }
        let has_marker = |bits: Bits| bits.is_selector() || bits.is_symbol() || number;
        Hard { end, alone, letters: first.is_hard_letter(), opens: has_marker(first), closes: has_marker(last) }
    }

    fn hard(&mut self, at: usize) -> (usize, Before) {
        let run = self.hard_run(at);
        let opened = self.follows_space(at) && (run.opens || (at == 0 && !run.letters));
        if run.letters {
            let markers = u32::from(opened) + u32::from(run.closes && self.precedes_space(run.end));
            self.total += (run.alone + markers) as usize;
            return (run.end, Before { closes: run.closes, guards: run.closes });
        }
        // A piece may span the run and punctuation directly after it.
        let joined = run.end < self.text.len() && self.class(run.end) == PUNCT && !self.is_quote_of_word(run.end);
        let end = if joined { self.end_of(PUNCT, run.end) } else { run.end };
        let closes = joined || run.closes;
        self.add(at, end, opened, closes && self.precedes_space(end));
        (end, Before { closes, guards: closes })
    }
}
