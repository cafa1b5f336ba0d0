//! A text read as segments, and their tokens summed.
//!
//! The stream that Claude's vocabularies were measured on is the text with markers: where a word begins and ends, how it
//! is cased; and where punctuation stands beside a space. A single space between an end and a beginning is written by the
//! two markers alone. No piece of a vocabulary reaches over the end of a word, of a run of digits or of blanks, so the
//! stream falls into segments that are counted one by one; `data/claude.py` asserts it of every piece.

use super::classes::{Bits, Class, decode};
use super::normalize::is_normal;
use super::segment_cache::SegmentCache;
use super::vocabulary::{CONTRACTIONS, Vocabulary};
use crate::cancel;

/// What a byte begins: a letter, a digit, punctuation, white space, or a character beyond ASCII.
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

/// A run of hard characters: where it ends, and which markers it would take beside a space.
struct Hard {
    end: usize,
    /// Tokens of its characters, each by itself.
    alone: u32,
    letters: bool,
    opens: bool,
    closes: bool,
}

/// What the run before says to the one that is read.
#[derive(Clone, Copy, Default)]
pub struct Before {
    /// It writes an end before a single space.
    pub closes: bool,
    /// It is punctuation or the like: an apostrophe behind it joins nothing.
    pub guards: bool,
}

/// Reads a text.
pub struct Reader<'a> {
    pub text: &'a str,
    pub vocabulary: &'static Vocabulary,
    pub cache: &'a mut SegmentCache,
    /// Whether what stands before the text ends in the beginning of a word, which counts as a space.
    pub opened: bool,
    /// Whether the text may not be normalized.
    pub is_raw: bool,
    /// Whether it was seen not to be.
    pub is_odd: bool,
    /// Tokens so far, but for the segments that wait.
    pub total: usize,
}

impl<'a> Reader<'a> {
    /// A reader of a normalized text.
    pub fn new(text: &'a str, vocabulary: &'static Vocabulary, cache: &'a mut SegmentCache) -> Self {
        Self { text, vocabulary, cache, opened: false, is_raw: false, is_odd: false, total: 0 }
    }
}

impl Reader<'_> {
    /// Tokens of a text as it stands; none if it has to be normalized first.
    pub fn read_raw(mut self) -> Option<usize> {
        self.is_raw = true;
        let tokens = self.tokens();
        (!self.is_odd).then_some(tokens)
    }

    /// Tokens of the whole text.
    pub fn tokens(&mut self) -> usize {
        let length = self.text.len();
        self.cache.discard_waiting();
        let (mut at, mut before) = (0, Before::default());
        let mut segments = 0_u8;
        while at < length {
            segments = segments.wrapping_add(1); // asked by the way: a segment is counted in the time that asking takes
            if segments == 0 {
                cancel::poll();
            }
            at = self.windows(at, &mut before);
            if at < length && !self.is_odd {
                let end = self.segment(at, &mut before);
                self.is_odd = self.is_raw && !is_normal(&self.text[..end], at);
                at = end;
            }
            if self.is_odd {
                return 0;
            }
        }
        self.total + self.cache.flush(self.text.as_bytes())
    }

    /// Reads the segments of one class from `at` on: where they end.
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

    /// Whether the text takes the beginning that stands before it: as a space of its own, or into its first piece.
    pub fn begins(&self) -> bool {
        let joins = |text: &str| !text.is_empty() && self.class(0) == OTHER && !self.hard_run(0).letters;
        self.text.starts_with(' ') || self.opens(0) || joins(self.text)
    }

    /// What begins at `at`, with characters beyond ASCII by their class; hard ones are [`OTHER`].
    #[inline]
    fn class(&self, at: usize) -> u8 {
        let class = ASCII[usize::from(self.text.as_bytes()[at])];
        if class == OTHER { self.class_beyond(at) } else { class }
    }

    fn class_beyond(&self, at: usize) -> u8 {
        class_of(Bits::at(decode(self.text.as_bytes(), at).0))
    }

    /// The end of the characters of `class` from `at` on.
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

    /// Whether a space stands before `at`.
    #[inline]
    pub fn behind_space(&self, at: usize) -> bool {
        if at == 0 { self.opened } else { self.text.as_bytes()[at - 1] == b' ' }
    }

    /// Whether one space, and no second, stands at `at`.
    fn before_space(&self, at: usize) -> bool {
        let rest = &self.text.as_bytes()[at..];
        rest.first() == Some(&b' ') && rest.get(1) != Some(&b' ')
    }

    /// Whether the run at `at` would write a beginning behind a space.
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

    /// Whether an apostrophe and nothing else stands at `at`, and a word behind it.
    fn is_quote_of_word(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        bytes[at] == b'\'' && at + 1 < bytes.len() && self.class(at + 1) == LETTER
    }

    /// Whether the word that ends at `end` does so in a letter that is a symbol by category: a circled one.
    #[inline]
    fn ends_in_symbol(&self, end: usize) -> bool {
        !self.text.as_bytes()[end - 1].is_ascii()
            && self.text[..end].chars().next_back().is_some_and(|c| Bits::of(c).is_symbol())
    }

    /// White space. One space between an end and a beginning is written by their markers.
    fn spaces(&mut self, at: usize, closes: bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut end = at;
        let mut tokens = 0;
        while end < bytes.len() && self.class(end) == SPACE {
            let (start, byte) = (end, bytes[end]);
            if byte.is_ascii() {
                end += bytes[end..].iter().take_while(|b| **b == byte).count();
                tokens += self.vocabulary.blanks(byte, end - start);
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
        self.add(at, end, !quote && self.behind_space(at), self.before_space(end));
        (end, Before { closes: true, guards: true })
    }

    /// Digits: three of ASCII a token, any other by itself; those of other scripts take markers beside a space.
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
        tokens += usize::from(opens && self.behind_space(at)) + usize::from(closes && self.before_space(end));
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
        let takes = |bits: Bits| bits.is_selector() || bits.is_symbol() || number;
        Hard { end, alone, letters: first.is_hard_letter(), opens: takes(first), closes: takes(last) }
    }

    fn hard(&mut self, at: usize) -> (usize, Before) {
        let run = self.hard_run(at);
        let opened = self.behind_space(at) && (run.opens || (at == 0 && !run.letters));
        if run.letters {
            let markers = u32::from(opened) + u32::from(run.closes && self.before_space(run.end));
            self.total += (run.alone + markers) as usize;
            return (run.end, Before { closes: run.closes, guards: run.closes });
        }
        // A piece may go on into punctuation that follows at once.
        let joined = run.end < self.text.len() && self.class(run.end) == PUNCT && !self.is_quote_of_word(run.end);
        let end = if joined { self.end_of(PUNCT, run.end) } else { run.end };
        let closes = joined || run.closes;
        self.add(at, end, opened, closes && self.before_space(end));
        (end, Before { closes, guards: closes })
    }
}
