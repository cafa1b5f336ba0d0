//! Pretoken boundaries, 64 bytes at a time, and the keys of the pretokens that must be looked up.
//!
//! The only state is `at`, the previous boundary, because a pattern matches from there. The scalar scanner defines the result.

#![allow(clippy::inline_always)] // compiled for the page
#![allow(clippy::cast_possible_truncation)] // indices in a window are below 64

use trimtab_simd::{Kernel, Line, WIDE, Work, prefetch, run};

use crate::bpe::cache::{BATCH, Batch, Probe, SHORTS, find_all, line_of, put_off};
use crate::bpe::pretokenize::classes;
use crate::bpe::pretokenize::masks::{self, CASED, CASED_ALONE, CONTEXT, LETTERS, MARKED, Masks, WHOLE};
use crate::bpe::pretokenize::scalar::Pattern;
use crate::bpe::tables::{Key, MASKS, SHORT, TAGS};
use crate::cancel;

/// Free entries that a buffer needs before a window is read: a window has at most one pretoken a byte.
pub const MIN_FREE: usize = WIDE;

/// Bytes that are loaded: the context, the window, and the bytes of a key that begins at its last byte.
const READ: usize = CONTEXT + WIDE + 16;

/// The pretoken boundaries in a window.
struct Boundaries {
    /// Bitmap of the starts of pretokens.
    at: u64,
    /// The byte up to which the starts are resolved.
    resolved_to: usize,
    /// Bitmap of the digits.
    number: u64,
}

/// The starts of pretokens in a window: [`masks::boundaries`].
#[inline(always)]
fn boundaries<const WORD: usize, const DIGITS: usize>(
    kernel: impl Kernel,
    window: &[u8; WIDE],
    prev_boundary: usize,
) -> Boundaries {
    let ascii = ascii_masks(kernel, window);
    let non_ascii = kernel.non_ascii(kernel.load(window));
    let (at, resolved_to) = if non_ascii == 0 {
        masks::boundaries::<WORD, DIGITS>(ascii, window, prev_boundary)
    } else {
        masks::boundaries::<WORD, DIGITS>(all_masks::<WORD>(kernel, ascii, window, non_ascii), window, prev_boundary)
    };
    Boundaries { at, resolved_to, number: ascii.number }
}

#[inline(always)]
fn ascii_masks(kernel: impl Kernel, window: &[u8; WIDE]) -> Masks {
    let bytes = kernel.load(window);
    let space = kernel.equal(bytes, b' ');
    let newline = kernel.equal(bytes, b'\n') | kernel.equal(bytes, b'\r');
    Masks {
        letter: kernel.letters(bytes),
        upper: kernel.within(bytes, b'A', b'Z'),
        number: kernel.within(bytes, b'0', b'9'),
        space,
        blank: (space | kernel.within(bytes, 9, 13)) & !newline,
        newline,
        apostrophe: kernel.equal(bytes, b'\''),
        slash: kernel.equal(bytes, b'/'),
        ..Masks::default()
    }
}

/// The masks of a window with non-ASCII bytes: all bytes of a character have its class.
#[inline(always)]
fn all_masks<const WORD: usize>(kernel: impl Kernel, mut of: Masks, window: &[u8; WIDE], non_ascii: u64) -> Masks {
    let text = kernel.load(window);
    let inside = kernel.within(text, 0x80, 0xBF);
    let leads = non_ascii & !inside;
    // Han, U+4E00 to U+9FFF, and Hangul, U+AC00 to U+D77F, are letters without case.
    let han = kernel.within(text, 0xE5, 0xE9) | kernel.equal(text, 0xE4) & kernel.within(text, 0xB8, 0xFF) >> 1;
    let hangul = kernel.within(text, 0xEB, 0xEC)
        | kernel.equal(text, 0xEA) & kernel.within(text, 0xB0, 0xFF) >> 1
        | kernel.equal(text, 0xED) & !kernel.within(text, 0x9E, 0xFF) >> 1;
    let whole = leads & !(!0 << WHOLE);
    let han_or_hangul = (han | hangul) & whole;
    let mut classes = [classes::OTHER; WIDE];
    classes::fill(window, whole & !han_or_hangul, &mut classes);
    let classes = kernel.load(&classes);
    let cut = leads & !whole;
    let seen = (cut & cut.wrapping_neg()).wrapping_sub(1);
    let others = non_ascii & seen & !(han_or_hangul | han_or_hangul << 1 | han_or_hangul << 2);
    let last = if WORD == LETTERS { classes::CASELESS } else { classes::MARK };
    of.caseless = non_ascii & seen & !others | kernel.within(classes, classes::CASELESS, last) & others;
    of.upper |= kernel.equal(classes, classes::UPPER) & others;
    of.letter |= of.caseless | kernel.within(classes, classes::LOWER, classes::UPPER) & others;
    of.mark = kernel.equal(classes, classes::MARK) & others;
    of.blank |= kernel.equal(classes, classes::SPACE) & others;
    of.unknown = kernel.equal(classes, classes::NUMBER) & others | cut;
    of.inside = inside;
    of
}

/// The boundaries of pretokens that a window shows.
struct Window<'w> {
    /// The last boundary before the window.
    at: usize,
    /// The offset of bit 0 of `starts`: this in the text, [`CONTEXT`] in `bytes`.
    from: usize,
    /// Bitmap of the bytes that start a pretoken; not 0.
    starts: u64,
    /// Bitmap of the digits.
    number: u64,
    /// The bytes of the window, with its context.
    bytes: &'w [u8; READ],
}

/// Work on the pretokens that [`walk`] finds.
///
/// A trait, because a closure that is not inlined is compiled without the vector instructions of its page, which made
/// counting a fifth slower. Mark the methods `#[inline(always)]`. Each returns whether its buffer has room for another window.
trait Visit {
    /// Takes one pretoken.
    fn pretoken(&mut self, at: usize, end: usize) -> bool;

    /// Takes the pretokens from `window.at` to the last boundary of the window.
    fn window(&mut self, kernel: impl Kernel, window: &Window<'_>) -> bool;
}

/// Passes the pretokens of `text` from `at` on, the start of one, to `visit` while that has room; returns where it
/// stopped.
///
/// `text[limit..]` must be all ASCII white space at the end of the text.
#[inline(always)]
fn walk<const WORD: usize, const DIGITS: usize>(
    kernel: impl Kernel,
    pattern: Pattern,
    text: &[u8],
    limit: usize,
    mut at: usize,
    visit: &mut impl Visit,
) -> usize {
    let (mut from, mut more) = (at + 1, true); // the starts before `from` are resolved
    while from < limit && more {
        let padded;
        let whole = from.checked_sub(CONTEXT).and_then(|start| text[start..].first_chunk::<READ>());
        let bytes = if let Some(window) = whole {
            window
        } else {
            padded = pad(text, from);
            &padded
        };
        let seen = bytes.first_chunk().expect("it is longer than that");
        let Boundaries { at: starts, resolved_to, number } =
            boundaries::<WORD, DIGITS>(kernel, seen, (at + CONTEXT).saturating_sub(from));
        let resolved_to = resolved_to.min(limit - from + CONTEXT);
        if resolved_to <= CONTEXT {
            let end = pattern.end(text, at);
            more = visit.pretoken(at, end);
            at = end;
            from = at + 1;
            continue;
        }
        let starts = (starts & ((1 << resolved_to) - 1)) >> CONTEXT;
        if starts == 0 {
            cancel::poll(); // a pretoken may span many windows
        } else {
            more = visit.window(kernel, &Window { at, from, starts, number: number >> CONTEXT, bytes });
            at = from + 63 - starts.leading_zeros() as usize;
        }
        from += resolved_to - CONTEXT;
    }
    // The last pretoken, and the white space after it.
    while from >= limit && at < text.len() && more {
        let end = pattern.end(text, at);
        more = visit.pretoken(at, end);
        at = end;
    }
    at
}

/// Work on the pretokens of a pattern, compiled for each kind of pattern on each page.
pub trait PatternWork {
    /// Its result.
    type Output;

    /// Does the work; mark it `#[inline(always)]`.
    fn run<const WORD: usize, const DIGITS: usize>(self, kernel: impl Kernel) -> Self::Output;
}

/// [`PatternWork`] on one kind of pattern: what a word is ([`masks`]), and the most digits of a number.
pub struct ByPattern<W, const WORD: usize, const DIGITS: usize>(pub W);

impl<W: PatternWork, const WORD: usize, const DIGITS: usize> Work for ByPattern<W, WORD, DIGITS> {
    type Output = W::Output;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> W::Output {
        self.0.run::<WORD, DIGITS>(kernel)
    }
}

/// Value of `DIGITS` for a pattern that has no masks and is scanned character by character.
pub const NO_MASKS: usize = 0;

/// Does `work` with `pattern`.
#[inline]
pub fn apply<W: PatternWork>(pattern: Pattern, work: W) -> W::Output {
    match pattern {
        Pattern::O200k => run(ByPattern::<W, CASED, 3>(work)),
        Pattern::Tekken => run(ByPattern::<W, CASED_ALONE, 1>(work)),
        Pattern::Cl100k | Pattern::Llama3 => run(ByPattern::<W, LETTERS, 3>(work)),
        Pattern::Qwen2 => run(ByPattern::<W, LETTERS, 1>(work)),
        Pattern::Qwen35 => run(ByPattern::<W, MARKED, 1>(work)),
        Pattern::Gpt2 | Pattern::DeepSeek3 | Pattern::DeepSeek2 | Pattern::DeepSeekCoder => {
            run(ByPattern::<W, LETTERS, NO_MASKS>(work))
        }
    }
}

/// The work of [`fill`].
pub struct Fill<'w> {
    pub pattern: Pattern,
    pub text: &'w [u8],
    pub limit: usize,
    pub at: usize,
    pub ends: &'w mut [usize],
}

impl PatternWork for Fill<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<const WORD: usize, const DIGITS: usize>(self, kernel: impl Kernel) -> usize {
        fill::<WORD, DIGITS>(kernel, self.pattern, self.text, self.limit, self.at, self.ends)
    }
}

/// Writes the ends of pretokens from `at` on, the start of one: as many as fit, at least one. Returns their number.
///
/// `text[limit..]` must be all ASCII white space at the end of the text.
#[inline(always)]
pub fn fill<const WORD: usize, const DIGITS: usize>(
    kernel: impl Kernel,
    pattern: Pattern,
    text: &[u8],
    limit: usize,
    at: usize,
    ends: &mut [usize],
) -> usize {
    if DIGITS == NO_MASKS || ends.len() < MIN_FREE {
        return pattern.fill_one_by_one(text, at, ends);
    }
    let mut found = Ends { ends, count: 0 };
    walk::<WORD, DIGITS>(kernel, pattern, text, limit, at, &mut found);
    found.count
}

/// Writes the ends of pretokens.
struct Ends<'w> {
    ends: &'w mut [usize],
    count: usize,
}

impl Visit for Ends<'_> {
    #[inline(always)]
    fn pretoken(&mut self, _at: usize, end: usize) -> bool {
        self.ends[self.count] = end;
        self.count += 1;
        self.count + MIN_FREE <= self.ends.len()
    }

    #[inline(always)]
    fn window(&mut self, _kernel: impl Kernel, window: &Window<'_>) -> bool {
        self.count += emit(window.starts, window.from, &mut self.ends[self.count..]);
        self.count + MIN_FREE <= self.ends.len()
    }
}

/// Counts pretokens of `text` from `at` on, the start of one, as many as fit into `batch`. Returns where the next one begins,
/// and the tokens of those that are one byte or number, or cached in `lines`; the others are left in `batch`.
///
/// `text[limit..]` must be all ASCII white space at the end of the text. `whole_numbers`: whether all numbers of up to three
/// digits are tokens.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // the fields of a worker, which it cannot borrow as a whole
pub fn count<const WORD: usize, const DIGITS: usize>(
    kernel: impl Kernel,
    pattern: Pattern,
    whole_numbers: bool,
    lines: &[Line; SHORTS],
    text: &[u8],
    limit: usize,
    at: usize,
    batch: &mut Batch,
) -> (usize, usize) {
    let numbers = if whole_numbers { u64::MAX } else { 0 };
    let mut found = Counts { lines, text, numbers, batch, probed: 0, tokens: 0 };
    let at = walk::<WORD, DIGITS>(kernel, pattern, text, limit, at, &mut found);
    let Counts { batch, probed, tokens, .. } = found;
    (at, tokens + find_all(kernel, lines, &batch.probes[..probed], &mut batch.missed))
}

/// Counts the pretokens that are surely one token, and prefetches the others.
struct Counts<'w> {
    lines: &'w [Line; SHORTS],
    text: &'w [u8],
    /// All bits where each number of up to three digits is a token, otherwise none.
    numbers: u64,
    batch: &'w mut Batch,
    probed: usize,
    tokens: usize,
}

impl Visit for Counts<'_> {
    #[inline(always)]
    fn pretoken(&mut self, at: usize, end: usize) -> bool {
        one(self.lines, self.text, at, end, self.batch, &mut self.probed);
        self.probed + MIN_FREE < BATCH
    }

    #[inline(always)]
    fn window(&mut self, kernel: impl Kernel, window: &Window<'_>) -> bool {
        let Window { at, from, starts, number, bytes } = *window;
        // The pretoken that began before the window; the end of the window's last one is not known yet.
        one(self.lines, self.text, at, from + starts.trailing_zeros() as usize, self.batch, &mut self.probed);
        let byte = starts & starts >> 1;
        let number = number & self.numbers;
        let inside = starts & (u64::MAX >> 1 >> starts.leading_zeros());
        let single = inside & (byte | number);
        self.tokens += single.count_ones() as usize;
        let ends = starts & (starts - 1) & !(byte << 1 | number << 1);
        self.probed += several(kernel, self.lines, bytes, from, [inside & !single, ends], self.batch, self.probed);
        self.probed + MIN_FREE < BATCH
    }
}

/// Prefetches a pretoken that may begin before the window.
#[inline(always)]
fn one(lines: &[Line; SHORTS], text: &[u8], at: usize, end: usize, batch: &mut Batch, probed: &mut usize) {
    if end - at > SHORT {
        put_off(&mut batch.longer, at, end - at);
        return;
    }
    let key = Key::of(text, at, end);
    let hash = key.hash();
    prefetch(&lines[line_of::<SHORTS>(hash)]);
    batch.probes[*probed % BATCH] = Probe { key, hash };
    *probed += 1;
}

/// Prefetches the pretokens that begin and end at the bits of two masks; returns how many of them fit into a key.
#[inline(always)]
fn several(
    kernel: impl Kernel,
    lines: &[Line; SHORTS],
    window: &[u8; READ],
    from: usize,
    [mut begins, mut ends]: [u64; 2],
    batch: &mut Batch,
    probed: usize,
) -> usize {
    let mut count = 0;
    let room = batch.probes[probed..].first_chunk_mut::<MIN_FREE>().expect("a batch has room for a window");
    while begins != 0 {
        let place = begins.trailing_zeros() as usize;
        let length = ends.trailing_zeros() as usize - place;
        begins &= begins - 1;
        ends &= ends.wrapping_sub(1);
        if length > SHORT {
            put_off(&mut batch.longer, from + place, length);
        } else {
            let bytes = window[CONTEXT + place % WIDE..].first_chunk().expect("the bytes of a key follow the window");
            let probe = &mut room[count % MIN_FREE];
            *probe = key_of(kernel, bytes, length);
            prefetch(&lines[line_of::<SHORTS>(probe.hash)]);
            count += 1;
        }
    }
    count
}

/// [`Key::of`] and [`Key::hash`] of the first `length` bytes, in vector registers.
#[inline(always)]
fn key_of(kernel: impl Kernel, bytes: &[u8; 16], length: usize) -> Probe {
    let [low, high] = kernel.key(bytes, MASKS[length % 16], TAGS[length % 16]);
    let key = Key { low, high };
    Probe { key, hash: key.hash() }
}

/// A window that exceeds the text at its start or end, padded with line ends.
#[cold]
fn pad(text: &[u8], from: usize) -> [u8; READ] {
    let mut window = [b'\n'; READ];
    let before = CONTEXT.min(from);
    let stop = text.len().min(from + READ - CONTEXT);
    window[CONTEXT - before..CONTEXT + stop - from].copy_from_slice(&text[from - before..stop]);
    window
}

/// Writes the offsets of the set bits, plus `base`; returns their number.
#[inline(always)]
fn emit(mut bits: u64, base: usize, ends: &mut [usize]) -> usize {
    let count = bits.count_ones() as usize;
    let mut written = 0;
    let Some(room) = ends.first_chunk_mut::<MIN_FREE>() else { return 0 };
    // Writes four at a time: a loop over the exact number mispredicts its end.
    while written < count {
        for place in &mut room[written..(written + 4).min(MIN_FREE)] {
            *place = base + bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
        }
        written += 4;
    }
    count
}
