//! Where the pieces of a text start, sixty-four bytes at a time, and the keys of those that must be looked up.
//!
//! `at`, the last known start, is all the state there is: what lies before it cannot matter, as a pattern is matched from
//! there. The scalar scanner is what this one means.

#![allow(clippy::inline_always)] // compiled for the page
#![allow(clippy::cast_possible_truncation)] // places in a window are below 64

use trimtab_simd::{Kernel, Line, WIDE, Work, prefetch, run};

use crate::cache::{Asked, BATCH, Batch, SHORTS, find_all, line_of, put_off};
use crate::class;
use crate::split::Scheme;
use crate::starts::{self, CONTEXT, Masks, WHOLE};
use crate::stop;
use crate::tables::{Key, MASKS, SHORT, TAGS};

/// Pieces that must fit into what is left of a buffer for a window to be read.
pub const ROOM: usize = WIDE;

/// Bytes of a window, and behind it as many as a key that begins at any of its places is made of.
const READ: usize = CONTEXT + WIDE + 16;

/// What is known of a window.
struct Starts {
    /// A bit for each start of a piece.
    at: u64,
    /// The byte up to which they are known.
    sure: usize,
    /// Digits.
    number: u64,
}

/// The starts of pieces in a window: [`starts::starts`].
#[inline(always)]
fn starts<const CASED: bool, const DIGITS: usize>(kernel: impl Kernel, window: &[u8; WIDE], known: usize) -> Starts {
    let ascii = ascii_masks(kernel, window);
    let beyond = kernel.non_ascii(kernel.load(window));
    let (at, sure) = if beyond == 0 {
        starts::starts::<CASED, DIGITS>(ascii, window, known)
    } else {
        starts::starts::<CASED, DIGITS>(all_masks::<CASED>(kernel, ascii, window, beyond), window, known)
    };
    Starts { at, sure, number: ascii.number }
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
    let known = (han | hangul) & whole;
    let mut classes = [class::OTHER; WIDE];
    class::fill(window, whole & !known, &mut classes);
    let classes = kernel.load(&classes);
    let cut = leads & !whole;
    let seen = (cut & cut.wrapping_neg()).wrapping_sub(1);
    let others = beyond & seen & !(known | known << 1 | known << 2);
    let last = if CASED { class::MARK } else { class::CASELESS };
    of.caseless = beyond & seen & !others | kernel.within(classes, class::CASELESS, last) & others;
    of.upper |= kernel.equal(classes, class::UPPER) & others;
    of.letter |= of.caseless | kernel.within(classes, class::LOWER, class::UPPER) & others;
    of.mark = kernel.equal(classes, class::MARK) & others;
    of.blank |= kernel.equal(classes, class::SPACE) & others;
    of.unknown = kernel.equal(classes, class::NUMBER) & others | cut;
    of.inside = inside;
    of
}

/// What was found of a text.
enum Found<'w> {
    /// A piece.
    Piece { at: usize, end: usize },
    /// Starts of pieces behind `at`, the last known one: a bit a byte from `from` on, which is [`CONTEXT`] in `window`.
    Starts { at: usize, from: usize, starts: u64, number: u64, window: &'w [u8; READ] },
}

/// Tells `found` of the pieces of `text` from `at` on, the start of one, as long as it wants more; where it stopped.
///
/// Behind `limit` there must be white space only, and none before it.
#[inline(always)]
fn walk<const CASED: bool, const DIGITS: usize>(
    kernel: impl Kernel,
    scheme: Scheme,
    text: &[u8],
    limit: usize,
    mut at: usize,
    mut found: impl FnMut(Found<'_>) -> bool,
) -> usize {
    let (mut from, mut more) = (at + 1, true); // what starts before `from` is known
    while from < limit && more {
        let padded;
        let whole = from.checked_sub(CONTEXT).and_then(|start| text[start..].first_chunk::<READ>());
        let window = if let Some(window) = whole {
            window
        } else {
            padded = pad(text, from);
            &padded
        };
        let seen = window.first_chunk().expect("it is longer than that");
        let Starts { at: starts, sure, number } =
            starts::<CASED, DIGITS>(kernel, seen, (at + CONTEXT).saturating_sub(from));
        let known = sure.min(limit - from + CONTEXT);
        if known <= CONTEXT {
            let end = scheme.end(text, at);
            more = found(Found::Piece { at, end });
            at = end;
            from = at + 1;
            continue;
        }
        let starts = (starts & ((1 << known) - 1)) >> CONTEXT;
        if starts == 0 {
            stop::check(); // a piece of many windows
        } else {
            more = found(Found::Starts { at, from, starts, number: number >> CONTEXT, window });
            at = from + 63 - starts.leading_zeros() as usize;
        }
        from += known - CONTEXT;
    }
    // The last piece, and white space behind it.
    while from >= limit && at < text.len() && more {
        let end = scheme.end(text, at);
        more = found(Found::Piece { at, end });
        at = end;
    }
    at
}

/// Work on the pieces of a pattern, compiled for each kind of pattern on each page.
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

/// Does `work` with `scheme`.
#[inline]
pub fn apply<W: PatternWork>(scheme: Scheme, work: W) -> W::Output {
    match scheme {
        Scheme::O200k => run(ByPattern::<W, true, 3>(work)),
        Scheme::Cl100k | Scheme::Llama3 => run(ByPattern::<W, false, 3>(work)),
        Scheme::Qwen2 => run(ByPattern::<W, false, 1>(work)),
        Scheme::Gpt2 | Scheme::DeepSeek3 => run(ByPattern::<W, false, NO_MASKS>(work)),
    }
}

/// What [`fill`] does.
pub struct Fill<'w> {
    pub scheme: Scheme,
    pub text: &'w [u8],
    pub limit: usize,
    pub at: usize,
    pub ends: &'w mut [usize],
}

impl PatternWork for Fill<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<const CASED: bool, const DIGITS: usize>(self, kernel: impl Kernel) -> usize {
        fill::<CASED, DIGITS>(kernel, self.scheme, self.text, self.limit, self.at, self.ends)
    }
}

/// Ends of pieces from `at` on, the start of one: as many as fit, at least one.
///
/// Behind `limit` there must be white space only, and none before it.
#[inline(always)]
pub fn fill<const CASED: bool, const DIGITS: usize>(
    kernel: impl Kernel,
    scheme: Scheme,
    text: &[u8],
    limit: usize,
    at: usize,
    ends: &mut [usize],
) -> usize {
    if DIGITS == NO_MASKS || ends.len() < ROOM {
        return scheme.fill_one_by_one(text, at, ends);
    }
    let mut count = 0;
    walk::<CASED, DIGITS>(kernel, scheme, text, limit, at, |found| {
        match found {
            Found::Piece { end, .. } => {
                ends[count] = end;
                count += 1;
            }
            Found::Starts { from, starts, .. } => count += emit(starts, from, &mut ends[count..]),
        }
        count + ROOM <= ends.len()
    });
    count
}

/// Counts pieces of `text` from `at` on, the start of one, as many as fit into `batch`: where the next one begins, and the
/// tokens of those that need not be looked up or that `lines` has; the others are left in `batch`.
///
/// Behind `limit` there must be white space only, and none before it. `whole_numbers`: whether all numbers of up to three
/// digits are tokens.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // the state of a worker, apart for the borrow checker
pub fn count<const CASED: bool, const DIGITS: usize>(
    kernel: impl Kernel,
    scheme: Scheme,
    whole_numbers: bool,
    lines: &[Line; SHORTS],
    text: &[u8],
    limit: usize,
    at: usize,
    batch: &mut Batch,
) -> (usize, usize) {
    let numbers = if whole_numbers { u64::MAX } else { 0 };
    let (mut asked, mut tokens) = (0, 0);
    let at = walk::<CASED, DIGITS>(kernel, scheme, text, limit, at, |found| {
        match found {
            Found::Piece { at, end } => one(lines, text, at, end, batch, &mut asked),
            Found::Starts { at, from, starts, number, window } => {
                // The one that began before; the last one is not known to end.
                one(lines, text, at, from + starts.trailing_zeros() as usize, batch, &mut asked);
                let byte = starts & starts >> 1;
                let number = number & numbers;
                let inside = starts & (u64::MAX >> 1 >> starts.leading_zeros());
                let known = inside & (byte | number);
                tokens += known.count_ones() as usize;
                let ends = starts & (starts - 1) & !(byte << 1 | number << 1);
                asked += several(kernel, lines, window, from, [inside & !known, ends], batch, asked);
            }
        }
        asked + ROOM < BATCH
    });
    (at, tokens + find_all(kernel, lines, &batch.asked[..asked], &mut batch.missed))
}

/// Asks for a piece that may begin before the window.
#[inline(always)]
fn one(lines: &[Line; SHORTS], text: &[u8], at: usize, end: usize, batch: &mut Batch, asked: &mut usize) {
    if end - at > SHORT {
        put_off(&mut batch.longer, at, end - at);
        return;
    }
    let key = Key::of(text, at, end);
    let hash = key.hash();
    prefetch(&lines[line_of::<SHORTS>(hash)]);
    batch.asked[*asked % BATCH] = Asked { key, hash };
    *asked += 1;
}

/// Asks for the pieces that begin and end at the bits of two masks; how many of them a key holds.
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
fn key_of(kernel: impl Kernel, bytes: &[u8; 16], length: usize) -> Asked {
    let [low, high] = kernel.key(bytes, MASKS[length % 16], TAGS[length % 16]);
    let key = Key { low, high };
    Asked { key, hash: key.hash() }
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
