//! Reads segments 64 bytes at a time.
//!
//! A window begins at the start of a segment. Arithmetic on bitmaps of its character classes finds where segments begin and
//! end, the spaces that markers replace, and the segments that are always one token. Words and punctuation are looked up.
//! The last segment of a window may continue, so the next window reads it again. The non-ASCII characters that a window
//! handles are letters of words, letters that are counted by themselves, and symbols, whose segments are like those of
//! punctuation; it ends before any other character.
//!
//! The functions of [`Reader`] that take a character at a time define the result.

use super::classes::{Bits, Class};
use super::cover::{CharInfo, Pieces};
use super::normalize::{joins, may_change, stays};
use super::segments::{Before, Reader};
use super::vocabulary::CONTRACTIONS;
use super::window::{Ascii, READ, Window, low};
use crate::cancel;
use trimtab_simd::{Kernel, WIDE, Work};

/// The index of the highest bit of `mask`, which must not be 0.
#[inline]
fn last(mask: u64) -> usize {
    WIDE - 1 - mask.leading_zeros() as usize
}

/// Bitmaps of the first and the last bits of the runs of `mask`.
#[inline]
fn runs(mask: u64) -> (u64, u64) {
    (mask & !(mask << 1), mask & !(mask >> 1))
}

/// Calls `run` with the range of each run, from the bitmaps of [`runs`].
#[inline(always)]
#[allow(clippy::inline_always)] // compiled for the page, as its callers
fn each((mut first, mut last): (u64, u64), mut run: impl FnMut(usize, usize)) {
    while first != 0 {
        run(first.trailing_zeros() as usize, last.trailing_zeros() as usize + 1);
        first &= first - 1;
        last &= last.wrapping_sub(1);
    }
}

/// The work of [`Reader::windows`].
struct Windows<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: usize,
    before: &'r mut Before,
}

impl Work for Windows<'_, '_> {
    type Output = usize;

    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the page, as all functions that it calls
    fn run(self, kernel: impl Kernel) -> usize {
        self.reader.windows_with(kernel, self.at, self.before)
    }
}

impl Reader<'_> {
    /// Reads segments from `at` on as long as windows can handle them; returns where the last one ends.
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
            let non_ascii = self.non_ascii(kernel, at, &window);
            if self.is_not_normal {
                return at;
            }
            let mut of = window.of;
            let symbols = window.filled(non_ascii.symbol);
            of.letter |= window.filled(non_ascii.letter);
            of.mark |= symbols;
            let quotes = of.apostrophe & !(of.mark << 1) & of.letter >> 1;
            let resolved_to =
                if at + non_ascii.end == self.text.len() { non_ascii.end } else { complete(&of, quotes, &non_ascii) };
            if resolved_to == 0 || (before.guards && quotes & 1 != 0) {
                return at;
            }
            self.total += non_ascii.tokens as usize;
            self.take_back(&window, non_ascii.alone & !low(resolved_to));
            self.window(at, &of, symbols, quotes, resolved_to, *before);
            let (closes, guards) = ((of.letter | of.mark) >> (resolved_to - 1) & 1, of.mark >> (resolved_to - 1) & 1);
            *before = Before { closes: closes != 0, guards: guards != 0 };
            at += resolved_to;
            if at == self.text.len() {
                return at;
            }
        }
    }

    /// The non-ASCII characters of a window, up to the first one that it cannot handle.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn non_ascii(&mut self, kernel: impl Kernel, at: usize, window: &Window) -> NonAscii {
        let mut non_ascii = NonAscii { end: window.whole, ..NonAscii::default() };
        self.is_not_normal = window.controls() != 0;
        let leads = window.leads();
        if leads == 0 || self.is_not_normal {
            return non_ascii;
        }
        let (mut left, pieces) = (leads & !window.plain_pairs(kernel), self.vocabulary.pieces);
        // Locals, because the fields of the result live in memory: each iteration would wait for the store of the last.
        let (mut alone, mut tokens, mut symbol) = (0, 0, 0);
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            let info = pieces.character(window.character(place));
            left &= left - 1;
            if info.is_plain() {
                alone |= u64::from(info.tokens_outside_words() != 0) << place;
                tokens += info.tokens_outside_words();
                continue;
            }
            if info.is_symbol() || (info.is_settled() && is_settled(pieces, place, window)) {
                symbol |= 1 << place;
                continue;
            }
            if info.is_joining() && is_letter(pieces, place, window) {
                continue;
            }
            match self.special(at, place, window) {
                Special::Letter => {}
                Special::Alone => {
                    alone |= 1 << place;
                    tokens += info.tokens();
                }
                Special::Symbol => symbol |= 1 << place,
                other => {
                    self.is_not_normal = other == Special::NotNormal;
                    (non_ascii.end, non_ascii.word_ends) = (place, other == Special::NoWord);
                    break;
                }
            }
        }
        let letter = leads & low(non_ascii.end) & !(alone | symbol);
        NonAscii { letter, alone, tokens, symbol, ..non_ascii }
    }

    /// The kind of the character at `place`, which depends on its neighbours.
    #[inline(never)]
    fn special(&self, at: usize, place: usize, window: &Window) -> Special {
        let code = window.character(place);
        let bits = Bits::at(code);
        if self.is_raw && may_change(code, bits) && !stays(self.text, at + place, bits) {
            Special::NotNormal
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

    /// Subtracts the tokens of letters that the next window reads again.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn take_back(&mut self, window: &Window, mut alone: u64) {
        while alone != 0 {
            let code = window.character(alone.trailing_zeros() as usize);
            self.total -= self.vocabulary.pieces.alone(code) as usize;
            alone &= alone - 1;
        }
    }

    /// Adds the tokens of the first `resolved_to` bytes of a window.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn window(&mut self, at: usize, of: &Ascii, symbols: u64, quotes: u64, resolved_to: usize, before: Before) {
        let here = low(resolved_to);
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

        let space_before = of.space << 1 | u64::from(self.follows_space(at));
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
        // A symbol joins the punctuation after it, except an apostrophe that belongs to a word, and not the one before.
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
            each(runs(several), |first, end| self.total += self.vocabulary.white_space(byte, end - first) as usize);
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

/// The kind of a character that depends on its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// A letter of a word.
    Letter,
    /// A letter that is counted by itself.
    Alone,
    /// A symbol whose segment is like those of punctuation.
    Symbol,
    /// Part of a word, but windows cannot handle it.
    Word,
    /// Not part of a word, and windows cannot handle it.
    NoWord,
    /// Normalization may change it.
    NotNormal,
}

/// The non-ASCII characters of a window.
#[derive(Default)]
struct NonAscii {
    /// First bytes of letters of words.
    letter: u64,
    /// First bytes of letters that are counted by themselves.
    alone: u64,
    /// Tokens of those.
    tokens: u32,
    /// First bytes of symbols.
    symbol: u64,
    /// The byte up to which the window can be read.
    end: usize,
    /// Whether no word continues after that byte.
    word_ends: bool,
}

/// The character before `place` and its properties, if it is non-ASCII.
#[inline]
fn before(pieces: Pieces, place: usize, window: &Window) -> Option<(usize, CharInfo)> {
    let is_non_ascii = window.of.tail & 1 << place >> 1 != 0;
    is_non_ascii.then(|| window.character(last(window.of.lead & low(place)))).map(|code| (code, pieces.character(code)))
}

/// Whether normalization does not change the mark at `place`.
#[inline]
fn is_settled(pieces: Pieces, place: usize, window: &Window) -> bool {
    before(pieces, place, window).is_some_and(|(code, info)| (0x900..0xF00).contains(&code) && info.is_plain())
}

/// Whether the letter at `place` does not compose with the letter before it.
#[inline]
fn is_letter(pieces: Pieces, place: usize, window: &Window) -> bool {
    before(pieces, place, window).is_some_and(|(code, info)| info.is_plain() && !joins(code, window.character(place)))
}

/// The byte up to which the segments of a window are complete and their tokens known.
#[inline]
fn complete(of: &Ascii, quotes: u64, non_ascii: &NonAscii) -> usize {
    let end = non_ascii.end;
    if non_ascii.word_ends && end > 0 && of.letter >> (end - 1) & 1 != 0 {
        return end;
    }
    let starts = [of.letter, of.digit, of.mark, of.space, of.tab, of.newline].map(|mask| mask & !(mask << 1));
    let starts = starts.into_iter().fold(non_ascii.alone, |all, each| all | each) & low(end);
    if starts == 0 {
        return 0;
    }
    let mut resolved_to = last(starts);
    // The tokens of a single punctuation mark or space depend on the byte after it.
    if resolved_to > 0 && resolved_to + 1 == end && (of.mark | of.space) >> resolved_to & 1 != 0 {
        resolved_to = last(starts & low(resolved_to));
    }
    // An apostrophe joins the letters after it.
    resolved_to - usize::from(resolved_to > 0 && quotes >> (resolved_to - 1) & 1 != 0)
}

/// The starts of groups of three digits, from the start of each run.
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
            // A few characters at a time: words of one script, and characters that interrupt them.
            let few: [char; 6] = std::array::from_fn(|_| CHARACTERS[next(CHARACTERS.len())]);
            (0..next(200))
                .map(|_| if next(9) == 0 { CHARACTERS[next(CHARACTERS.len())] } else { few[next(6)] })
                .collect()
        })
    }

    /// Tokens of a text, segment by segment.
    fn by_segments(text: &str, vocabulary: &'static Vocabulary) -> usize {
        let mut cache = super::super::segment_cache::SegmentCache::new(vocabulary);
        let mut reader = Reader::new(text, vocabulary, &mut cache);
        let (mut at, mut before) = (0, Before::default());
        while at < text.len() {
            at = reader.segment(at, &mut before);
        }
        reader.total + reader.cache.flush(text.as_bytes())
    }

    #[test]
    fn windows_count_as_segments_do_and_texts_as_their_normal_forms() {
        for (family, vocabulary) in [(Family::Old, &OLD), (Family::New, &NEW)] {
            let claude = Claude { family, frame: Frame::Inside, by_rates: false };
            for text in texts() {
                let straight = vocabulary.fold_quotes(&text);
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
                let straight = vocabulary.fold_quotes(&text);
                let normal = normalize(&straight);
                assert_eq!(count(claude, &text), by_segments(&normal, vocabulary));
            }
        }
    }
}
