//! A text read as cells, and their tokens summed.
//!
//! The stream that Claude's vocabularies were measured on is the text with markers: where a word begins and ends, how it
//! is cased; and where punctuation stands beside a space. A single space between an end and a beginning is written by the
//! two markers alone. No piece of a vocabulary reaches over the end of a word, of a run of digits or of blanks, so the
//! stream falls into cells that are counted one by one; `data/claude.py` asserts it of every piece.

use super::Vocabulary;
use super::cache::Cache;
use super::case;
use super::chars::{Bits, Class, decode};
use super::tile::{BOW, EOW};

/// Suffixes that an apostrophe joins to the word before: the word behind it has no beginning of its own.
pub const CONTRACTIONS: [&str; 7] = ["s", "t", "d", "m", "ll", "re", "ve"];

/// Kinds of cells in the cache: a word, and punctuation with the markers at its ends added.
const WORD: u8 = 1;
const PLAIN: u8 = 4;
const OPENED: u8 = 1;
const CLOSED: u8 = 2;

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

/// How many of sixteen bytes, from the lowest on, are letters of ASCII.
#[inline]
fn letters(sixteen: u128) -> usize {
    const EACH: u128 = u128::from_ne_bytes([1; 16]);
    const HIGH: u128 = EACH << 7;
    // Bytes of 7 bits, made small; adding carries into the high bit from 'a' on, and from behind 'z' on.
    let small = (sixteen | EACH << 5) & !HIGH;
    let from_a = small + EACH * (0x80 - u128::from(b'a'));
    let behind_z = small + EACH * (0x80 - u128::from(b'z') - 1);
    let letter = from_a & !behind_z & !sixteen & HIGH;
    ((letter ^ HIGH).trailing_zeros() / 8) as usize
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
struct Before {
    /// It writes an end before a single space.
    closes: bool,
    /// It is punctuation or the like: an apostrophe behind it joins nothing.
    guards: bool,
}

/// Reads a normalized text.
pub struct Reader<'a> {
    pub text: &'a str,
    pub vocabulary: &'static Vocabulary,
    pub cache: &'a mut Cache,
    pub scratch: &'a mut Vec<u8>,
    /// Whether what stands before the text ends in the beginning of a word, which counts as a space.
    pub opened: bool,
}

impl Reader<'_> {
    /// Tokens of the whole text.
    pub fn tokens(&mut self) -> usize {
        let bytes = self.text.as_bytes();
        let (mut at, mut total, mut before) = (0, 0, Before::default());
        while at < bytes.len() {
            let (end, tokens);
            match self.class(at) {
                LETTER => {
                    let words;
                    (end, words) = self.words(at);
                    total += words;
                    tokens = 0;
                    before = Before { closes: true, guards: self.ends_in_symbol(end) };
                }
                SPACE => {
                    (end, tokens) = self.spaces(at, before.closes);
                    before = Before::default();
                }
                PUNCT => (end, tokens, before) = self.punctuation(at, before),
                DIGIT => (end, tokens, before) = self.digits(at),
                _ => (end, tokens, before) = self.hard(at),
            }
            at = end;
            total += tokens as usize;
        }
        total
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

    fn word_end(&self, at: usize) -> usize {
        self.end_of(LETTER, at)
    }

    /// Words of ASCII with one space between, from `at` on: where they end, and their tokens.
    ///
    /// This is what most texts are made of: sixteen bytes are looked at together, without a branch a letter.
    fn words(&mut self, mut at: usize) -> (usize, usize) {
        let bytes = self.text.as_bytes();
        let mut total = 0;
        while let Some(sixteen) = bytes[at..].first_chunk::<16>().map(|bytes| u128::from_le_bytes(*bytes)) {
            let length = letters(sixteen);
            if length == 0 || length > 14 || bytes[at + length] >= 0x80 {
                break;
            }
            total += match self.cache.find_short(sixteen, length, WORD) {
                Ok(tokens) => tokens,
                Err(_) => self.word(at, at + length),
            } as usize;
            at += length;
            if bytes[at] != b' ' || at + 1 == bytes.len() || ASCII[usize::from(bytes[at + 1])] != LETTER {
                return (at, total);
            }
            at += 1;
        }
        // The last word, a long one, or one with letters beyond ASCII.
        let end = self.word_end(at);
        (end, total + self.word(at, end) as usize)
    }

    /// Whether a space stands before `at`.
    fn behind_space(&self, at: usize) -> bool {
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
            _ => self.hard_run(at).opens,
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

    fn word(&mut self, at: usize, end: usize) -> u32 {
        let (text, vocabulary) = (self.text, self.vocabulary);
        match self.cache.find(text.as_bytes(), at, end, WORD) {
            Ok(tokens) => tokens,
            Err(slot) => {
                self.scratch.clear();
                case::mark(&text[at..end], vocabulary.caps, self.scratch);
                let tokens = vocabulary.pieces.tile(self.scratch);
                self.cache.put(&slot, tokens);
                tokens
            }
        }
    }

    /// Tokens of text without case, with markers at its ends.
    fn cell(&mut self, at: usize, end: usize, opened: bool, closed: bool) -> u32 {
        let bytes = self.text.as_bytes();
        if end == at + 1 {
            return u32::from(
                self.vocabulary.single[usize::from(bytes[at])][usize::from(opened) + 2 * usize::from(closed)],
            );
        }
        let kind = PLAIN | (u8::from(opened) * OPENED) | (u8::from(closed) * CLOSED);
        match self.cache.find(self.text.as_bytes(), at, end, kind) {
            Ok(tokens) => tokens,
            Err(slot) => {
                self.scratch.clear();
                self.scratch.extend(opened.then_some(BOW));
                self.scratch.extend_from_slice(&self.text.as_bytes()[at..end]);
                self.scratch.extend(closed.then_some(EOW));
                let tokens = self.vocabulary.pieces.tile(self.scratch);
                self.cache.put(&slot, tokens);
                tokens
            }
        }
    }

    /// White space. One space between an end and a beginning is written by their markers.
    fn spaces(&mut self, at: usize, closes: bool) -> (usize, u32) {
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
        if end == at + 1 && bytes[at] == b' ' && closes && self.opens(end) { (end, 0) } else { (end, tokens) }
    }

    fn punctuation(&mut self, at: usize, before: Before) -> (usize, u32, Before) {
        let quote = self.is_quote_of_word(at);
        if quote && !before.guards {
            let end = self.word_end(at + 1);
            let suffix = &self.text[at + 1..end];
            if let Some(n) = CONTRACTIONS.iter().position(|known| *known == suffix) {
                return (end, self.vocabulary.contractions[n], Before { closes: true, guards: false });
            }
        }
        let end = self.end_of(PUNCT, at);
        let tokens = self.cell(at, end, !quote && self.behind_space(at), self.before_space(end));
        (end, tokens, Before { closes: true, guards: true })
    }

    /// Digits: three of ASCII a token, any other by itself; those of other scripts take markers beside a space.
    fn digits(&mut self, at: usize) -> (usize, u32, Before) {
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
        (end, u32::try_from(tokens).unwrap_or(u32::MAX), Before { closes, guards: closes })
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

    fn hard(&mut self, at: usize) -> (usize, u32, Before) {
        let run = self.hard_run(at);
        let opened = self.behind_space(at) && (run.opens || (at == 0 && !run.letters));
        if run.letters {
            let tokens = run.alone + u32::from(opened) + u32::from(run.closes && self.before_space(run.end));
            return (run.end, tokens, Before { closes: run.closes, guards: run.closes });
        }
        // A piece may go on into punctuation that follows at once.
        let joined = run.end < self.text.len() && self.class(run.end) == PUNCT && !self.is_quote_of_word(run.end);
        let end = if joined { self.end_of(PUNCT, run.end) } else { run.end };
        let closes = joined || run.closes;
        let tokens = self.cell(at, end, opened, closes && self.before_space(end));
        (end, tokens, Before { closes, guards: closes })
    }
}
