//! Pretoken boundaries, 64 bytes at a time, and the keys of the pretokens that must be looked up.
//!
//! The only state is `at`, the previous boundary, because a pattern matches from there. The scalar scanner defines the result.

#![allow(clippy::inline_always)] // compiled for the page
#![allow(clippy::cast_possible_truncation)] // places in a window are below 64

use trimtab_simd::{Kernel, Line, WIDE, Work, prefetch, run};

use crate::bpe::cache::{BATCH, Batch, Probe, SHORTS, find_all, line_of, put_off};
use crate::bpe::pretokenize::classes;
use crate::bpe::pretokenize::masks::{self, CONTEXT, Masks, WHOLE};
use crate::bpe::pretokenize::scalar::Pattern;
use crate::bpe::tables::{Key, MASKS, SHORT, TAGS};
use crate::cancel;

/// Pretokens that must fit into what is left of a buffer for a window to be read.
pub const ROOM: usize = WIDE;

/// Bytes of a window, and behind it as many as a key that begins at any of its places is made of.
const READ: usize = CONTEXT + WIDE + 16;

/// What is known of a window.
struct Boundaries {
    /// A bit for each start of a pretoken.
    at: u64,
    /// The byte up to which they are known.
    resolved_to: usize,
    /// Digits.
    number: u64,
}

/// The starts of pretokens in a window: [`masks::boundaries`].
#[inline(always)]
fn boundaries<const CASED: bool, const DIGITS: usize>(
    kernel: impl Kernel,
    window: &[u8; WIDE],
    known: usize,
) -> Boundaries {
    let ascii = ascii_masks(kernel, window);
    let beyond = kernel.non_ascii(kernel.load(window));
    let (at, resolved_to) = if beyond == 0 {
        masks::boundaries::<CASED, DIGITS>(ascii, window, known)
    } else {
        masks::boundaries::<CASED, DIGITS>(all_masks::<CASED>(kernel, ascii, window, beyond), window, known)
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

/// The masks of a window that has bytes beyond ASCII: all bytes of a character are of its class.
#[inline(always)]
fn all_masks<const CASED: bool>(kernel: impl Kernel, mut of: Masks, window: &[u8; WIDE], beyond: u64) -> Masks {
    let text = kernel.load(window);
    let inside = kernel.within(text, 0x80, 0xBF);
    let leads = beyond & !inside;
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
    let others = beyond & seen & !(han_or_hangul | han_or_hangul << 1 | han_or_hangul << 2);
    let last = if CASED { classes::MARK } else { classes::CASELESS };
    of.caseless = beyond & seen & !others | kernel.within(classes, classes::CASELESS, last) & others;
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
    /// The place in the text of bit 0 of `starts`; [`CONTEXT`] in `bytes`.
    from: usize,
    /// A bit for each byte that starts a pretoken; at least one.
    starts: u64,
    /// A bit for each digit.
    number: u64,
    /// The window.
    bytes: &'w [u8; READ],
}

/// Work on the pretokens that [`walk`] finds.
///
/// A trait and not a closure: a closure that is not inlined is compiled without the vector instructions of its page, and
/// made counting a fifth slower. Methods are to be marked `#[inline(always)]`. Each says whether there is room for more.
trait Visit {
    /// Takes one pretoken.
    fn pretoken(&mut self, at: usize, end: usize) -> bool;

    /// Takes the pretokens from `window.at` to the last boundary of the window.
    fn window(&mut self, kernel: impl Kernel, window: &Window<'_>) -> bool;
}

/// Shows the pretokens of `text` from `at` on, the start of one, to `visit` as long as that has room; returns where it
/// stopped.
///
/// Behind `limit` there must be white space only, and none before it.
#[inline(always)]
fn walk<const CASED: bool, const DIGITS: usize>(
    kernel: impl Kernel,
    pattern: Pattern,
    text: &[u8],
    limit: usize,
    mut at: usize,
    visit: &mut impl Visit,
) -> usize {
    let (mut from, mut more) = (at + 1, true); // what starts before `from` is known
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
            boundaries::<CASED, DIGITS>(kernel, seen, (at + CONTEXT).saturating_sub(from));
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
            cancel::poll(); // a pretoken of many windows
        } else {
            more = visit.window(kernel, &Window { at, from, starts, number: number >> CONTEXT, bytes });
            at = from + 63 - starts.leading_zeros() as usize;
        }
        from += resolved_to - CONTEXT;
    }
    // The last pretoken, and white space behind it.
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

    /// Does it; to be marked `#[inline(always)]`.
    fn run<const CASED: bool, const DIGITS: usize>(self, kernel: impl Kernel) -> Self::Output;
}

/// [`PatternWork`] on one kind of pattern: whether words are told by case, and the digits of a number at most.
pub struct ByPattern<W, const CASED: bool, const DIGITS: usize>(pub W);

impl<W: PatternWork, const CASED: bool, const DIGITS: usize> Work for ByPattern<W, CASED, DIGITS> {
    type Output = W::Output;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> W::Output {
        self.0.run::<CASED, DIGITS>(kernel)
    }
}

/// For digits: a pattern that masks do not know.
pub const NO_MASKS: usize = 0;

/// Does `work` with `pattern`.
#[inline]
pub fn apply<W: PatternWork>(pattern: Pattern, work: W) -> W::Output {
    match pattern {
        Pattern::O200k => run(ByPattern::<W, true, 3>(work)),
        Pattern::Cl100k | Pattern::Llama3 => run(ByPattern::<W, false, 3>(work)),
        Pattern::Qwen2 => run(ByPattern::<W, false, 1>(work)),
        Pattern::Gpt2 | Pattern::DeepSeek3 => run(ByPattern::<W, false, NO_MASKS>(work)),
    }
}

/// What [`fill`] does.
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
    fn run<const CASED: bool, const DIGITS: usize>(self, kernel: impl Kernel) -> usize {
        fill::<CASED, DIGITS>(kernel, self.pattern, self.text, self.limit, self.at, self.ends)
    }
}

/// Ends of pretokens from `at` on, the start of one: as many as fit, at least one.
///
/// Behind `limit` there must be white space only, and none before it.
#[inline(always)]
pub fn fill<const CASED: bool, const DIGITS: usize>(
    kernel: impl Kernel,
    pattern: Pattern,
    text: &[u8],
    limit: usize,
    at: usize,
    ends: &mut [usize],
) -> usize {
    if DIGITS == NO_MASKS || ends.len() < ROOM {
        return pattern.fill_one_by_one(text, at, ends);
    }
    let mut found = Ends { ends, count: 0 };
    walk::<CASED, DIGITS>(kernel, pattern, text, limit, at, &mut found);
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
        self.count + ROOM <= self.ends.len()
    }

    #[inline(always)]
    fn window(&mut self, _kernel: impl Kernel, window: &Window<'_>) -> bool {
        self.count += emit(window.starts, window.from, &mut self.ends[self.count..]);
        self.count + ROOM <= self.ends.len()
    }
}

/// Counts pretokens of `text` from `at` on, the start of one, as many as fit into `batch`: where the next one begins, and the
/// tokens of those that need not be looked up or that `lines` has; the others are left in `batch`.
///
/// Behind `limit` there must be white space only, and none before it. `whole_numbers`: whether all numbers of up to three
/// digits are tokens.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // the state of a worker, apart for the borrow checker
pub fn count<const CASED: bool, const DIGITS: usize>(
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
    let mut found = Counts { lines, text, numbers, batch, asked: 0, tokens: 0 };
    let at = walk::<CASED, DIGITS>(kernel, pattern, text, limit, at, &mut found);
    let Counts { batch, asked, tokens, .. } = found;
    (at, tokens + find_all(kernel, lines, &batch.asked[..asked], &mut batch.missed))
}

/// Adds up the pretokens that are one token, and asks for the others.
struct Counts<'w> {
    lines: &'w [Line; SHORTS],
    text: &'w [u8],
    /// All bits where each number of up to three digits is a token, otherwise none.
    numbers: u64,
    batch: &'w mut Batch,
    asked: usize,
    tokens: usize,
}

impl Visit for Counts<'_> {
    #[inline(always)]
    fn pretoken(&mut self, at: usize, end: usize) -> bool {
        one(self.lines, self.text, at, end, self.batch, &mut self.asked);
        self.asked + ROOM < BATCH
    }

    #[inline(always)]
    fn window(&mut self, kernel: impl Kernel, window: &Window<'_>) -> bool {
        let Window { at, from, starts, number, bytes } = *window;
        // The one that began before; the last one is not known to end.
        one(self.lines, self.text, at, from + starts.trailing_zeros() as usize, self.batch, &mut self.asked);
        let byte = starts & starts >> 1;
        let number = number & self.numbers;
        let inside = starts & (u64::MAX >> 1 >> starts.leading_zeros());
        let single = inside & (byte | number);
        self.tokens += single.count_ones() as usize;
        let ends = starts & (starts - 1) & !(byte << 1 | number << 1);
        self.asked += several(kernel, self.lines, bytes, from, [inside & !single, ends], self.batch, self.asked);
        self.asked + ROOM < BATCH
    }
}

/// Asks for a pretoken that may begin before the window.
#[inline(always)]
fn one(lines: &[Line; SHORTS], text: &[u8], at: usize, end: usize, batch: &mut Batch, asked: &mut usize) {
    if end - at > SHORT {
        put_off(&mut batch.longer, at, end - at);
        return;
    }
    let key = Key::of(text, at, end);
    let hash = key.hash();
    prefetch(&lines[line_of::<SHORTS>(hash)]);
    batch.asked[*asked % BATCH] = Probe { key, hash };
    *asked += 1;
}

/// Asks for the pretokens that begin and end at the bits of two masks; how many of them a key holds.
#[inline(always)]
fn several(
    kernel: impl Kernel,
    lines: &[Line; SHORTS],
    window: &[u8; READ],
    from: usize,
    [mut begins, mut ends]: [u64; 2],
    batch: &mut Batch,
    asked: usize,
) -> usize {
    let mut count = 0;
    let room = batch.asked[asked..].first_chunk_mut::<ROOM>().expect("a batch goes on with room for a window");
    while begins != 0 {
        let place = begins.trailing_zeros() as usize;
        let length = ends.trailing_zeros() as usize - place;
        begins &= begins - 1;
        ends &= ends.wrapping_sub(1);
        if length > SHORT {
            put_off(&mut batch.longer, from + place, length);
        } else {
            let bytes = window[CONTEXT + place % WIDE..].first_chunk().expect("a window is read that far");
            let asked = &mut room[count % ROOM];
            *asked = key_of(kernel, bytes, length);
            prefetch(&lines[line_of::<SHORTS>(asked.hash)]);
            count += 1;
        }
    }
    count
}

/// [`Key::of`] and [`Key::hash`] of the first `length` of some bytes, in wide registers.
#[inline(always)]
fn key_of(kernel: impl Kernel, bytes: &[u8; 16], length: usize) -> Probe {
    let [low, high] = kernel.key(bytes, MASKS[length % 16], TAGS[length % 16]);
    let key = Key { low, high };
    Probe { key, hash: key.hash() }
}

/// A window that begins before the text or ends behind it.
#[cold]
fn pad(text: &[u8], from: usize) -> [u8; READ] {
    let mut window = [b'\n'; READ];
    let before = CONTEXT.min(from);
    let stop = text.len().min(from + READ - CONTEXT);
    window[CONTEXT - before..CONTEXT + stop - from].copy_from_slice(&text[from - before..stop]);
    window
}

/// Writes the places of `bits`, which begin at `base`.
#[inline(always)]
fn emit(mut bits: u64, base: usize, ends: &mut [usize]) -> usize {
    let count = bits.count_ones() as usize;
    let mut written = 0;
    let Some(room) = ends.first_chunk_mut::<ROOM>() else { return 0 };
    // Four at a time: how many there are is hard to foresee.
    while written < count {
        for place in &mut room[written..(written + 4).min(ROOM)] {
            *place = base + bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
        }
        written += 4;
    }
    count
}
