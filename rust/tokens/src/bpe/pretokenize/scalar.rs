//! The scalar pretokenizer, a character at a time. It defines the result that all other scanners must give.
//!
//! Each function takes a text and the start of a pretoken and returns the pretoken's end. Its documentation has the regular
//! expression that it implements. Only the end of a run is read twice, so time is linear in the length of the text.

use crate::bpe::pretokenize::classes::{
    CASELESS, Char, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, SYMBOL, Set, UPPER, char_at,
};
use crate::bpe::pretokenize::contraction::contraction;
use crate::cancel;

const LETTERS: Set = Set::of(&[LOWER, UPPER, CASELESS]);
const UPPERS: Set = Set::of(&[UPPER, CASELESS, MARK]);
const LOWERS: Set = Set::of(&[LOWER, CASELESS, MARK]);
const CASELESS_OR_MARK: Set = Set::of(&[CASELESS, MARK]);
const MARKED_LETTERS: Set = Set::of(&[LOWER, UPPER, CASELESS, MARK]);
const WHITE_SPACE: Set = Set::of(&[SPACE, NEWLINE]);
const PUNCTUATION: Set = Set::of(&[OTHER, MARK, SYMBOL]);
/// Punctuation where marks are letters.
const SIGNS: Set = Set::of(&[OTHER, SYMBOL]);

/// A pretokenization pattern, named after the first vocabulary that used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `o200k_base`: case splits words, and contractions join them.
    O200k,
    /// Mistral's Tekken: as `O200k`, but each digit is a pretoken, and a contraction begins one.
    Tekken,
    /// `cl100k_base` as in tiktoken: white space at the end of the text is one pretoken.
    Cl100k,
    /// Llama 3: `cl100k_base` without that rule.
    Llama3,
    /// Qwen 2 and later: as Llama 3, but each digit is a pretoken.
    Qwen2,
    /// Qwen 3.5 and later: as Qwen 2, but marks are letters.
    Qwen35,
    /// GPT-2: a word includes the space before it, and no other character.
    Gpt2,
    /// `DeepSeek` V3: numbers, then Chinese and Japanese, then the rest, each split by itself.
    DeepSeek3,
    /// `DeepSeek` V2: line ends, words, signs, white space at an end, Chinese to Korean and digits, each split by itself.
    DeepSeek2,
    /// `DeepSeek` Coder: line ends, words, punctuation, Chinese to Korean and digits, each split by itself.
    DeepSeekCoder,
}

impl Pattern {
    /// Writes the ends of pretokens from `at` on, the start of one: as many as fit. Returns their number.
    pub fn fill_one_by_one(self, text: &[u8], mut at: usize, ends: &mut [usize]) -> usize {
        let mut found = 0;
        while at < text.len() && found < ends.len() {
            at = self.end(text, at);
            ends[found] = at;
            found += 1;
        }
        found
    }

    /// The end of the pretoken that begins at `at`, which must be before the end of the text.
    #[inline]
    pub fn end(self, text: &[u8], at: usize) -> usize {
        match self {
            Self::O200k => o200k::<true>(text, at, 3),
            Self::Tekken => o200k::<false>(text, at, 1),
            Self::Cl100k => cl100k::<false>(text, at, 3, true),
            Self::Llama3 => cl100k::<false>(text, at, 3, false),
            Self::Qwen2 => cl100k::<false>(text, at, 1, false),
            Self::Qwen35 => cl100k::<true>(text, at, 1, false),
            Self::Gpt2 => gpt2(text, at),
            Self::DeepSeek3 => super::deepseek::end(text, at),
            Self::DeepSeek2 => super::deepseek2::end(text, at),
            Self::DeepSeekCoder => super::deepseek_coder::end(text, at),
        }
    }
}

/// The length of `text` without the ASCII white space at its end.
#[inline]
pub fn solid(text: &[u8]) -> usize {
    text.iter().rposition(|byte| !matches!(byte, b' ' | 9..=13)).map_or(0, |last| last + 1)
}

/// The end of the run of characters of `set` that begins at `at`.
#[inline]
pub fn run(text: &[u8], mut at: usize, set: Set) -> usize {
    while let Some(char) = char_at(text, at)
        && set.has(char.class)
    {
        cancel::poll_at(at);
        at += char.length;
    }
    at
}

/// The class and the length of the character at `at`; class 15, which is in no set, at the end of the text.
#[inline]
fn peek(text: &[u8], at: usize) -> (u8, usize) {
    char_at(text, at).map_or((15, 0), |char| (char.class, char.length))
}

/// The end of the white space that begins at `at`: `\s*[\r\n]+|\s+(?!\S)|\s+`.
///
/// With `whole`, white space at the end of the text is one pretoken (`\s++$`).
#[inline]
fn white_space(text: &[u8], at: usize, whole: bool) -> usize {
    let (mut end, mut last, mut newline) = (at, at, None);
    while let Some(char) = char_at(text, end)
        && WHITE_SPACE.has(char.class)
    {
        cancel::poll_at(end);
        last = end;
        end += char.length;
        if char.class == NEWLINE {
            newline = Some(end);
        }
    }
    match newline {
        _ if whole && end == text.len() => end,
        Some(behind) => behind,
        None if end == text.len() || last == at => end,
        None => last,
    }
}

/// The end of at most `most` numbers from `at` on.
#[inline]
fn numbers(text: &[u8], mut at: usize, most: usize) -> usize {
    for _ in 0..most {
        match peek(text, at) {
            (NUMBER, length) => at += length,
            _ => break,
        }
    }
    at
}

/// The end of punctuation, the characters of `set`, and the line ends after it; with `slash`, slashes among these line ends
/// count as well.
#[inline]
fn punctuation(text: &[u8], at: usize, set: Set, slash: bool) -> usize {
    let mut end = run(text, at, set);
    while let Some(b'\r' | b'\n' | b'/') = text.get(end).filter(|&&byte| slash || byte != b'/') {
        end += 1;
    }
    end
}

/// `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
///
/// With `MARKED`, a word is `[\p{L}\p{M}]+`, and no mark is punctuation.
#[inline]
fn cl100k<const MARKED: bool>(text: &[u8], at: usize, digits: usize, whole: bool) -> usize {
    let words = if MARKED { MARKED_LETTERS } else { LETTERS };
    let signs = if MARKED { SIGNS } else { PUNCTUATION };
    let (class, length) = peek(text, at);
    let next = at + length;
    match class {
        class if words.has(class) => run(text, next, words),
        NUMBER => numbers(text, at, digits),
        NEWLINE => white_space(text, at, whole),
        _ => {
            let short = contraction(text, at, true);
            if short > 0 {
                return at + short;
            }
            let (second, width) = peek(text, next);
            match second {
                second if words.has(second) => run(text, next + width, words),
                _ if class != SPACE => punctuation(text, next, signs, false),
                second if signs.has(second) && text[at] == b' ' => punctuation(text, next, signs, false),
                _ => white_space(text, at, whole),
            }
        }
    }
}

/// `[^\r\n\p{L}\p{N}]?WORD|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`, where WORD is one of [`Word`].
///
/// Without `JOINS`, a word has no contraction at its end.
#[inline]
fn o200k<const JOINS: bool>(text: &[u8], at: usize, digits: usize) -> usize {
    let (class, length) = peek(text, at);
    let next = at + length;
    match class {
        LOWER | UPPER | CASELESS => match word::<JOINS>(text, at) {
            Word::Ends(end) | Word::Capitals(end) => end,
            Word::None => next,
        },
        NUMBER => numbers(text, at, digits),
        NEWLINE => white_space(text, at, false),
        _ => match word::<JOINS>(text, next) {
            // A mark is a word by itself before capitals: the regular expression tries its first form with and without it.
            Word::Capitals(_) | Word::None if class == MARK => match word::<JOINS>(text, at) {
                Word::Ends(end) | Word::Capitals(end) => end,
                Word::None => next,
            },
            Word::Ends(end) | Word::Capitals(end) => end,
            Word::None if class != SPACE => punctuation(text, next, PUNCTUATION, true),
            Word::None if text[at] == b' ' && PUNCTUATION.has(peek(text, next).0) => {
                punctuation(text, next, PUNCTUATION, true)
            }
            Word::None => white_space(text, at, false),
        },
    }
}

/// A word of `o200k_base`, with its end.
enum Word {
    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` and a contraction.
    Ends(usize),
    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` and a contraction, where the first form fails.
    Capitals(usize),
    /// Neither.
    None,
}

#[inline]
fn word<const JOINS: bool>(text: &[u8], at: usize) -> Word {
    let (mut end, mut either) = (at, None);
    let mut next = char_at(text, end);
    while let Some(Char { class, length, .. }) = next
        && UPPERS.has(class)
    {
        cancel::poll_at(end);
        end += length;
        if CASELESS_OR_MARK.has(class) {
            either = Some(end);
        }
        next = char_at(text, end);
    }
    let behind = |end: usize| if JOINS { end + contraction(text, end, true) } else { end };
    match (next, either) {
        (Some(Char { class: LOWER, length, .. }), _) => Word::Ends(behind(run(text, end + length, LOWERS))),
        // The regular expression backtracks to the last character that both sets have.
        (_, Some(either)) => Word::Ends(behind(either)),
        _ if end > at => Word::Capitals(behind(end)),
        _ => Word::None,
    }
}

/// `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
#[inline]
fn gpt2(text: &[u8], at: usize) -> usize {
    let short = contraction(text, at, false);
    if short > 0 {
        return at + short;
    }
    let start = if text[at] == b' ' { at + 1 } else { at };
    for set in [LETTERS, Set::of(&[NUMBER]), PUNCTUATION] {
        let end = run(text, start, set);
        if end > start {
            return end;
        }
    }
    let (mut end, mut last) = (at, at);
    while let Some(char) = char_at(text, end)
        && WHITE_SPACE.has(char.class)
    {
        cancel::poll_at(end);
        last = end;
        end += char.length;
    }
    if end == text.len() || last == at { end } else { last }
}

#[cfg(test)]
mod tests {
    use crate::bpe::cache::{Batch, SHORTS};
    use trimtab_simd::{Kernel, Portable, Work};

    use super::*;
    use crate::bpe::lines::Lines;
    use crate::bpe::pretokenize::masks;
    use crate::bpe::pretokenize::windows::{self, ByPattern, Fill, PatternWork, apply};

    thread_local! {
        static NOTHING: Lines<SHORTS> = Lines::default();
    }

    const ALL: [Pattern; 10] = [
        Pattern::O200k,
        Pattern::Tekken,
        Pattern::Cl100k,
        Pattern::Llama3,
        Pattern::Qwen2,
        Pattern::Qwen35,
        Pattern::Gpt2,
        Pattern::DeepSeek3,
        Pattern::DeepSeek2,
        Pattern::DeepSeekCoder,
    ];

    /// Pseudorandom numbers from a seed.
    fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
        move |below| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        }
    }

    fn all_of(text: &[u8], mut fill: impl FnMut(usize, &mut [usize]) -> usize) -> Vec<usize> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let mut ends = [0; 100];
            let more = fill(at, &mut ends);
            assert!(more > 0);
            found.extend_from_slice(&ends[..more]);
            at = ends[more - 1];
        }
        found
    }

    #[test]
    fn the_wide_scanner_splits_as_the_scalar_one_does() {
        let mut next = numbers(1);
        let words = [
            "a",
            "b",
            "don",
            "T",
            "Foo",
            "barBaz",
            "HTTP",
            "'s",
            "'S",
            "'ll",
            "'LL",
            "'t",
            "'",
            "\'re",
            "x'",
            " ",
            "  ",
            "\n",
            "\r\n",
            "\t",
            "\x0b",
            "        ",
            "1",
            "12",
            "345",
            "67890",
            "!",
            "...",
            "/",
            "//",
            "_",
            "(",
            "é",
            "中",
            "\u{301}",
            "\u{17f}",
            "\u{a0}",
            "\u{2028}",
            "😀",
            "\u{0}",
            "=",
            "word",
            "The ",
            "\n    ",
            "\n\n",
            " \n",
            "/\n",
            "!\n",
            "中文",
            "あア",
            "한",
            "Ж",
            "ж",
            "Привет",
            "É",
            "ǅ",
            "ʰ",
            "ا",
            "َ",
            "٣",
            "क्",
            "ि",
            "²",
            "\u{3000}",
            "\u{2009}",
            "、",
            "“",
            "\u{fe0f}",
            "\u{200d}",
            "𝒜",
            "𠀀",
            "’s",
            "ſ",
            "'ſ",
        ];
        for round in 0..60_000 {
            let alphabet: Vec<&str> =
                (0..=next(if round % 2 == 0 { 6 } else { 40 })).map(|_| words[next(words.len())]).collect();
            let text: String =
                (0..next(if round % 10 == 0 { 300 } else { 60 })).map(|_| alphabet[next(alphabet.len())]).collect();
            let text = text.as_bytes();
            for pattern in ALL {
                same(pattern, text);
            }
        }
    }

    fn by_portable<W: PatternWork>(pattern: Pattern, work: W) -> W::Output {
        match pattern {
            Pattern::O200k => ByPattern::<W, { masks::CASED }, 3>(work).run(Portable),
            Pattern::Tekken => ByPattern::<W, { masks::CASED_ALONE }, 1>(work).run(Portable),
            Pattern::Cl100k | Pattern::Llama3 => ByPattern::<W, { masks::LETTERS }, 3>(work).run(Portable),
            Pattern::Qwen2 => ByPattern::<W, { masks::LETTERS }, 1>(work).run(Portable),
            Pattern::Qwen35 => ByPattern::<W, { masks::MARKED }, 1>(work).run(Portable),
            Pattern::Gpt2 | Pattern::DeepSeek3 | Pattern::DeepSeek2 | Pattern::DeepSeekCoder => {
                ByPattern::<W, { masks::LETTERS }, { windows::NO_MASKS }>(work).run(Portable)
            }
        }
    }

    struct Count<'w> {
        pattern: Pattern,
        lines: &'w [trimtab_simd::Line; SHORTS],
        text: &'w [u8],
        at: usize,
        batch: &'w mut Batch,
    }

    impl PatternWork for Count<'_> {
        type Output = (usize, usize);

        #[inline(always)]
        #[allow(clippy::inline_always)] // compiled for the page
        fn run<const WORD: usize, const DIGITS: usize>(self, kernel: impl Kernel) -> (usize, usize) {
            let Self { pattern, lines, text, at, batch } = self;
            windows::count::<WORD, DIGITS>(kernel, pattern, true, lines, text, solid(text), at, batch)
        }
    }

    fn same(pattern: Pattern, text: &[u8]) {
        let slow = all_of(text, |at, ends| pattern.fill_one_by_one(text, at, ends));
        let limit = solid(text);
        let fast = all_of(text, |at, ends| apply(pattern, Fill { pattern, text, limit, at, ends }));
        let portable = all_of(text, |at, ends| by_portable(pattern, Fill { pattern, text, limit, at, ends }));
        assert_eq!(portable, slow, "{pattern:?} {:?}", String::from_utf8_lossy(text));
        assert_eq!(fast, slow, "{pattern:?} {:?}", String::from_utf8_lossy(text));
        // The counting scanner leaves out pretokens that are surely one token.
        let (mut at, mut left_out, mut probed, mut batch) = (0, 0, Vec::new(), Batch::default());
        while at < text.len() {
            if matches!(pattern, Pattern::Gpt2 | Pattern::DeepSeek3 | Pattern::DeepSeek2 | Pattern::DeepSeekCoder) {
                return;
            }
            let (end, tokens) = NOTHING
                .with(|lines| apply(pattern, Count { pattern, lines: lines.get(), text, at, batch: &mut batch }));
            (at, left_out) = (end, left_out + tokens);
            probed.extend(batch.missed.drain(..).map(|probe| probe.key.bytes().as_ref().to_vec()));
            probed.extend(batch.longer.drain(..).map(|(pretoken, _)| text[pretoken].to_vec()));
        }
        assert_eq!(probed.len() + left_out, slow.len());
        let starts = [0].into_iter().chain(slow.iter().copied());
        let mut pretokens: Vec<Vec<u8>> = starts.zip(&slow).map(|(start, &end)| text[start..end].to_vec()).collect();
        for list in [&mut probed, &mut pretokens] {
            list.retain(|pretoken| pretoken.len() > 1 && !pretoken.iter().all(u8::is_ascii_digit));
            list.sort_unstable();
        }
        assert_eq!(probed, pretokens, "{pattern:?} {:?}", String::from_utf8_lossy(text));
    }

    #[test]
    fn the_wide_scanner_sees_each_character_as_the_scalar_one_does() {
        let chars: Vec<char> = ('\u{80}'..=char::MAX).collect();
        for (number, some) in chars.chunks(8).enumerate() {
            // Each beside the others and alone, at any place of a window.
            let mut text = ".".repeat(number % 61);
            text.extend(some);
            for c in some {
                text.extend([
                    'a', *c, ' ', *c, 'B', *c, '!', *c, *c, '\n', *c, '1', *c, ' ', ' ', *c, '\'', *c, '\t', *c,
                ]);
            }
            for pattern in [Pattern::O200k, Pattern::Tekken, Pattern::Cl100k, Pattern::Qwen35] {
                same(pattern, text.as_bytes());
            }
        }
    }
}
