//! Segments read sixty-four bytes at a time.
//!
//! A window begins where a segment does. Its bytes become masks of their classes; where segments begin and end, which spaces
//! their neighbours' markers write, and what costs one token whatever it says is arithmetic on masks. What is left, words
//! and punctuation, is looked up. The last segment of a window waits for the next one, as more of it may come. Beyond ASCII a
//! window has letters of words, letters that stand alone, and symbols, whose segments are like those of punctuation; it ends
//! before any other character.
//!
//! [`Reader`]'s other functions, which take a character at a time, are what this means.

use super::classes::{Bits, Class};
use super::cover::{CharInfo, Pieces};
use super::normalize::{joins, may_change, stays};
use super::segments::{Before, Reader};
use super::vocabulary::CONTRACTIONS;
use super::window::{Ascii, READ, Window, low};
use crate::cancel;
use trimtab_simd::{Kernel, WIDE, Work};

/// The last bit of `mask`, which is not 0.
#[inline]
fn last(mask: u64) -> usize {
    WIDE - 1 - mask.leading_zeros() as usize
}

/// First and last places of the runs of `mask`.
#[inline]
fn runs(mask: u64) -> (u64, u64) {
    (mask & !(mask << 1), mask & !(mask >> 1))
}

/// The runs of two masks of first and last places, as ranges.
#[inline(always)]
#[allow(clippy::inline_always)] // compiled for the processor, as its callers
fn each((mut first, mut last): (u64, u64), mut run: impl FnMut(usize, usize)) {
    while first != 0 {
        run(first.trailing_zeros() as usize, last.trailing_zeros() as usize + 1);
        first &= first - 1;
        last &= last.wrapping_sub(1);
    }
}

/// Segments of a text to be read from `at` on.
struct Windows<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: usize,
    before: &'r mut Before,
}

impl Work for Windows<'_, '_> {
    type Output = usize;

    #[inline(always)]
    #[allow(clippy::inline_always)] // to be compiled for the processor that it was asked for, as all that it calls
    fn run(self, kernel: impl Kernel) -> usize {
        self.reader.windows_with(kernel, self.at, self.before)
    }
}

impl Reader<'_> {
    /// Reads segments from `at` on, as far as they end in sight and windows may have them: where they end.
    pub fn windows(&mut self, at: usize, before: &mut Before) -> usize {
        trimtab_simd::run(Windows { reader: self, at, before })
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn windows_with(&mut self, kernel: impl Kernel, mut at: usize, before: &mut Before) -> usize {
        let mut padded = [0; READ];
        loop {
            cancel::poll();
            let window = Window::new(kernel, &self.text.as_bytes()[at..], &mut padded);
            let beyond = self.beyond(kernel, at, &window);
            if self.is_odd {
                return at;
            }
            let mut of = window.of;
            let symbols = window.filled(beyond.symbol);
            of.letter |= window.filled(beyond.letter);
            of.mark |= symbols;
            let quotes = of.apostrophe & !(of.mark << 1) & of.letter >> 1;
            let sure = if at + beyond.seen == self.text.len() { beyond.seen } else { whole(&of, quotes, &beyond) };
            if sure == 0 || (before.guards && quotes & 1 != 0) {
                return at;
            }
            self.total += beyond.tokens as usize;
            self.take_back(&window, beyond.alone & !low(sure));
            self.window(at, &of, symbols, quotes, sure, *before);
            let (closes, guards) = ((of.letter | of.mark) >> (sure - 1) & 1, of.mark >> (sure - 1) & 1);
            *before = Before { closes: closes != 0, guards: guards != 0 };
            at += sure;
            if at == self.text.len() {
                return at;
            }
        }
    }

    /// What a window has beyond ASCII, and up to where it is read.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn beyond(&mut self, kernel: impl Kernel, at: usize, window: &Window) -> Beyond {
        let mut beyond = Beyond { seen: window.whole, ..Beyond::default() };
        self.is_odd = window.controls() != 0;
        let leads = window.leads();
        if leads == 0 || self.is_odd {
            return beyond;
        }
        let (mut left, pieces) = (leads & !window.plain_pairs(kernel), self.vocabulary.pieces);
        // Not in `beyond` yet: what is handed on is kept in memory, and each character would wait for the one before.
        let (mut alone, mut tokens, mut symbol) = (0, 0, 0);
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            let known = pieces.character(window.character(place));
            left &= left - 1;
            if known.is_plain() {
                alone |= u64::from(known.apart() != 0) << place;
                tokens += known.apart();
                continue;
            }
            if known.is_symbol() || (known.is_settled() && is_settled(pieces, place, window)) {
                symbol |= 1 << place;
                continue;
            }
            if known.is_joining() && is_letter(pieces, place, window) {
                continue;
            }
            match self.special(at, place, window) {
                Special::Letter => {}
                Special::Alone => {
                    alone |= 1 << place;
                    tokens += known.tokens();
                }
                Special::Symbol => symbol |= 1 << place,
                other => {
                    self.is_odd = other == Special::Odd;
                    (beyond.seen, beyond.word_ends) = (place, other == Special::NoWord);
                    break;
                }
            }
        }
        let letter = leads & low(beyond.seen) & !(alone | symbol);
        Beyond { letter, alone, tokens, symbol, ..beyond }
    }

    /// What the character at `place` is, to which something beside it matters.
    #[inline(never)]
    fn special(&self, at: usize, place: usize, window: &Window) -> Special {
        let code = window.character(place);
        let bits = Bits::at(code);
        if self.is_raw && may_change(code, bits) && !stays(self.text, at + place, bits) {
            Special::Odd
        } else if bits.is_plain_alone() {
            Special::Alone
        } else if bits.is_plain_symbol() {
            Special::Symbol
        } else if bits.is_plain_wordy() {
            Special::Letter
        } else if bits.class() == Class::Wordy {
            Special::Word
        } else {
            Special::NoWord
        }
    }

    /// Takes back the tokens of letters that stand alone: they are read once more.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn take_back(&mut self, window: &Window, mut alone: u64) {
        while alone != 0 {
            let code = window.character(alone.trailing_zeros() as usize);
            self.total -= self.vocabulary.pieces.alone(code) as usize;
            alone &= alone - 1;
        }
    }

    /// Adds the tokens of the first `sure` bytes of a window.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn window(&mut self, at: usize, of: &Ascii, symbols: u64, quotes: u64, sure: usize, before: Before) {
        let here = low(sure);
        let opening = (of.letter | of.mark & !quotes) >> 1;
        let closing = (of.letter | of.mark) << 1 | u64::from(before.closes);
        let single = of.space & !(of.space << 1 | of.space >> 1) & here;
        let mut ones = (single & !(opening & closing)).count_ones();
        ones += threes(of.digit & here).count_ones();

        let (mut words, mut ends) = runs(of.letter & here);
        let mut marks = of.mark & here;
        let mut left = quotes & here;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            let end = place + 2 + (ends >> (place + 1)).trailing_zeros() as usize;
            if let Some(tokens) = self.contraction(at + place + 1, at + end) {
                self.total += tokens;
                words &= !(2 << place);
                ends &= !(1 << (end - 1));
                marks &= !(1 << place);
            }
        }
        let text = self.text.as_bytes();
        each((words, ends), |first, end| {
            self.cache.add(text, at + first, at + end, false, false, &mut self.total);
        });

        let space_before = of.space << 1 | u64::from(self.behind_space(at));
        let opened = space_before & !quotes;
        let closed = (of.space & !(of.space >> 1)) >> 1;
        let alone = marks & !(marks << 1 | marks >> 1);
        let mut marked = alone & (opened | closed);
        ones += (alone & !marked).count_ones();
        while marked != 0 {
            let place = marked.trailing_zeros() as usize;
            marked &= marked - 1;
            let markers = usize::from(opened >> place & 1 != 0) | usize::from(closed >> place & 1 != 0) << 1;
            self.total += usize::from(self.vocabulary.single[usize::from(text[at + place])][markers]);
        }
        // Symbols go with the marks behind them, but for an apostrophe that belongs to a word, and not with those before.
        let apart = symbols & marks << 1 & !(symbols << 1) | symbols << 1 & of.apostrophe & of.letter >> 1;
        let (first, last) = runs(marks & !alone);
        each((first | apart & here, last | apart >> 1 & marks), |first, end| {
            let (opened, closed) = (opened >> first & 1 != 0, closed >> (end - 1) & 1 != 0);
            self.cache.add(text, at + first, at + end, opened, closed, &mut self.total);
        });

        for (mask, byte) in [(of.space, b' '), (of.newline, b'\n'), (of.tab, b'\t')] {
            let several = mask & (mask << 1 | mask >> 1) & here;
            if byte != b' ' {
                ones += (mask & here & !several).count_ones();
            }
            each(runs(several), |first, end| self.total += self.vocabulary.blanks(byte, end - first) as usize);
        }
        self.total += ones as usize;
    }

    /// Tokens of an apostrophe and the suffix `text[at..end]` behind it, if it is one.
    #[inline]
    fn contraction(&self, at: usize, end: usize) -> Option<usize> {
        let suffix = &self.text.as_bytes()[at..end];
        let n = CONTRACTIONS.iter().position(|known| known.as_bytes() == suffix)?;
        Some(self.vocabulary.contractions[n] as usize)
    }
}

/// What a character is to which something beside it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// A word's letter.
    Letter,
    /// A letter that stands alone.
    Alone,
    /// A symbol whose segment is like those of punctuation.
    Symbol,
    /// A word's that a window does not have.
    Word,
    /// No word's that a window has.
    NoWord,
    /// One that normalization may change.
    Odd,
}

/// What a window has beyond ASCII.
#[derive(Default)]
struct Beyond {
    /// First bytes of words' letters.
    letter: u64,
    /// First bytes of letters that stand alone.
    alone: u64,
    /// Tokens of those.
    tokens: u32,
    /// First bytes of symbols.
    symbol: u64,
    /// Bytes that were read.
    seen: usize,
    /// Whether no word goes on behind them.
    word_ends: bool,
}

/// The character before `place` that is beyond ASCII, and what is known of it.
#[inline]
fn before(pieces: Pieces, place: usize, window: &Window) -> Option<(usize, CharInfo)> {
    let is_beyond = window.of.tail & 1 << place >> 1 != 0;
    is_beyond.then(|| window.character(last(window.of.lead & low(place)))).map(|code| (code, pieces.character(code)))
}

/// Whether the mark at `place` stays as it is.
#[inline]
fn is_settled(pieces: Pieces, place: usize, window: &Window) -> bool {
    before(pieces, place, window).is_some_and(|(code, known)| (0x900..0xF00).contains(&code) && known.is_plain())
}

/// Whether the letter at `place` is one: it is not joined with the letter before it.
#[inline]
fn is_letter(pieces: Pieces, place: usize, window: &Window) -> bool {
    before(pieces, place, window).is_some_and(|(code, known)| known.is_plain() && !joins(code, window.character(place)))
}

/// Up to where the segments of a window are whole, and what they cost is known.
#[inline]
fn whole(of: &Ascii, quotes: u64, beyond: &Beyond) -> usize {
    let seen = beyond.seen;
    if beyond.word_ends && seen > 0 && of.letter >> (seen - 1) & 1 != 0 {
        return seen;
    }
    let starts = [of.letter, of.digit, of.mark, of.space, of.tab, of.newline].map(|mask| mask & !(mask << 1));
    let starts = starts.into_iter().fold(beyond.alone, |all, each| all | each) & low(seen);
    if starts == 0 {
        return 0;
    }
    let mut sure = last(starts);
    // What one mark or one space means to those before it depends on what stands behind it.
    if sure > 0 && sure + 1 == seen && (of.mark | of.space) >> sure & 1 != 0 {
        sure = last(starts & low(sure));
    }
    // An apostrophe goes with the letters behind it.
    sure - usize::from(sure > 0 && quotes >> (sure - 1) & 1 != 0)
}

/// Where each group of three digits begins, from the beginning of its run.
#[inline]
fn threes(digit: u64) -> u64 {
    let mut starts = digit & !(digit << 1);
    let inside = digit & digit << 1 & digit << 2 & digit << 3;
    let mut next = starts << 3 & inside;
    while next != 0 {
        starts |= next;
        next = next << 3 & inside;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::super::count::count;
    use super::super::normalize::normalize;
    use super::super::vocabulary::{NEW, OLD, Vocabulary};
    use super::*;
    use crate::claude::{Claude, Family, Frame};

    const CHARACTERS: [char; 64] = [
        'a', 'b', 's', 't', 'R', 'e', 'X', 'l', '\'', '\'', '"', '.', '-', '(', '1', '2', '7', ' ', ' ', ' ', ' ',
        '\n', '\t', '\u{1}', 'é', 'É', 'ß', 'ж', 'Й', 'й', 'ա', 'ა', 'ש', '\u{5B0}', 'ب', '\u{64E}', 'क', '\u{93C}',
        '\u{94D}', '\u{958}', 'ก', '\u{E32}', '\u{E4D}', '\u{E48}', 'が', 'ー', '。', '，', '日', '本', '한',
        '\u{301}', '\u{323}', '\u{A0}', '“', '’', '«', '½', '²', '٣', 'Ⓐ', '\u{FE0F}', '😀', '\u{E000}',
    ];

    fn texts() -> impl Iterator<Item = String> {
        let mut state = 1_u64;
        let mut next = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        (0..12_000).map(move |_| {
            // A few characters at a time: words of one script, and what disturbs them.
            let few: [char; 6] = std::array::from_fn(|_| CHARACTERS[next(CHARACTERS.len())]);
            (0..next(200))
                .map(|_| if next(9) == 0 { CHARACTERS[next(CHARACTERS.len())] } else { few[next(6)] })
                .collect()
        })
    }

    /// What a text costs by one segment after another.
    fn by_segments(text: &str, vocabulary: &'static Vocabulary) -> usize {
        let mut known = super::super::segment_cache::SegmentCache::new(vocabulary);
        let mut reader = Reader::new(text, vocabulary, &mut known);
        let (mut at, mut before) = (0, Before::default());
        while at < text.len() {
            at = reader.segment(at, &mut before);
        }
        reader.total + reader.cache.flush(text.as_bytes())
    }

    #[test]
    fn windows_say_what_segments_say_and_texts_what_their_normal_forms_say() {
        for (family, vocabulary) in [(Family::Old, &OLD), (Family::New, &NEW)] {
            let claude = Claude { family, frame: Frame::Inside, by_rates: false };
            for text in texts() {
                let straight = vocabulary.straightened(&text);
                let normal = normalize(&straight);
                assert_eq!(count(claude, &text), by_segments(&normal, vocabulary), "{text:?}");
            }
        }
    }

    #[test]
    fn sections_of_a_text_add_up() {
        let all: Vec<String> = texts().take(1_500).collect();
        for (family, vocabulary) in [(Family::Old, &OLD), (Family::New, &NEW)] {
            let claude = Claude { family, frame: Frame::Inside, by_rates: false };
            for texts in all.chunks(150) {
                let text = texts.join("\n");
                let straight = vocabulary.straightened(&text);
                let normal = normalize(&straight);
                assert_eq!(count(claude, &text), by_segments(&normal, vocabulary));
            }
        }
    }
}
