//! Where the pieces of a text start, sixty-four bytes at a time, and the keys of those that must be looked up.
//!
//! `at`, the last known start, is all the state there is: what lies before it cannot matter, as a pattern is matched from
//! there. The scalar scanner is what this one means.

#![allow(clippy::cast_possible_truncation)] // places in a window are below 64

use std::arch::x86_64::{
    __m128i, __m256i, _mm_and_si128, _mm_or_si128, _mm_set_epi64x, _mm_xor_si128, _mm256_or_si256, _mm256_set1_epi8,
};

#[cfg(feature = "claude-vocab")]
use std::arch::x86_64::{
    _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use bytemuck::cast;

use super::{are, bits, find, halves, within};
#[cfg(feature = "claude-vocab")]
use crate::ascii::Ascii;
use crate::cache::{Asked, BATCH, Batch, find_all_with, line_of, put_off};
use crate::class;
use crate::lines::Line;
use crate::simd::{ROOM, prefetch};
use crate::split::Scheme;
use crate::starts::{self, CONTEXT, Masks, WHOLE, WIDE};
use crate::stop;
use crate::tables::{Key, MASKS, SALT, SHORT, TAGS};

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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn starts<const CASED: bool, const DIGITS: usize>(window: &[u8; WIDE], known: usize) -> Starts {
    let halves = halves(window);
    let beyond = bits(halves, |half| half);
    let ascii = ascii_masks(halves);
    let (at, sure) = if beyond == 0 {
        starts::starts::<CASED, DIGITS>(ascii, window, known)
    } else {
        starts::starts::<CASED, DIGITS>(all_masks::<CASED>(ascii, window, beyond), window, known)
    };
    Starts { at, sure, number: ascii.number }
}

#[target_feature(enable = "avx2")]
#[inline]
fn ascii_masks(halves: [__m256i; 2]) -> Masks {
    let is = |byte| are(halves, byte);
    let small = _mm256_set1_epi8(0x20);
    let space = is(b' ');
    let newline = is(b'\n') | is(b'\r');
    Masks {
        letter: bits(halves, |half| within(_mm256_or_si256(half, small), b'a', b'z')),
        upper: bits(halves, |half| within(half, b'A', b'Z')),
        number: bits(halves, |half| within(half, b'0', b'9')),
        space,
        blank: (space | bits(halves, |half| within(half, 9, 13))) & !newline,
        newline,
        apostrophe: is(b'\''),
        slash: is(b'/'),
        ..Masks::default()
    }
}

/// The masks of a window that has bytes beyond ASCII: all bytes of a character are of its class.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn all_masks<const CASED: bool>(mut of: Masks, window: &[u8; WIDE], beyond: u64) -> Masks {
    let text = halves(window);
    let from = |byte: u8| bits(text, |half| within(half, byte, 0xFF));
    let inside = bits(text, |half| within(half, 0x80, 0xBF));
    let leads = beyond & !inside;
    // Han, U+4E00 to U+9FFF, and Hangul, U+AC00 to U+D77F, are letters without case.
    let is = |byte| are(text, byte);
    let han = bits(text, |half| within(half, 0xE5, 0xE9)) | is(0xE4) & from(0xB8) >> 1;
    let hangul = bits(text, |half| within(half, 0xEB, 0xEC)) | is(0xEA) & from(0xB0) >> 1 | is(0xED) & !from(0x9E) >> 1;
    let whole = leads & !(!0 << WHOLE);
    let known = (han | hangul) & whole;
    let mut classes = [class::OTHER; WIDE];
    class::fill(window, whole & !known, &mut classes);
    let classes = halves(&classes);
    let cut = leads & !whole;
    let seen = (cut & cut.wrapping_neg()).wrapping_sub(1);
    let others = beyond & seen & !(known | known << 1 | known << 2);
    let last = if CASED { class::MARK } else { class::CASELESS };
    let found = |first: u8, last: u8| bits(classes, |half| within(half, first, last)) & others;
    of.caseless = beyond & seen & !others | found(class::CASELESS, last);
    of.upper |= found(class::UPPER, class::UPPER);
    of.letter |= of.caseless | found(class::LOWER, class::UPPER);
    of.mark = found(class::MARK, class::MARK);
    of.blank |= found(class::SPACE, class::SPACE);
    of.unknown = found(class::NUMBER, class::NUMBER) | cut;
    of.inside = inside;
    of
}

#[cfg(feature = "claude-vocab")]
#[target_feature(enable = "avx2")]
#[inline]
pub fn ascii(window: &[u8; WIDE]) -> Ascii {
    let halves = halves(window);
    let is = |byte| are(halves, byte);
    let small = _mm256_set1_epi8(0x20);
    let letter = bits(halves, |half| within(_mm256_or_si256(half, small), b'a', b'z'));
    let digit = bits(halves, |half| within(half, b'0', b'9'));
    let [beyond, tail] = [bits(halves, |half| half), bits(halves, |half| within(half, 0x80, 0xBF))];
    Ascii {
        letter,
        digit,
        mark: bits(halves, |half| within(half, b'!', b'~')) & !letter & !digit,
        space: is(b' '),
        tab: is(b'\t'),
        newline: is(b'\n'),
        apostrophe: is(b'\''),
        lead: beyond & !tail,
        tail,
    }
}

#[cfg(feature = "claude-vocab")]
#[target_feature(enable = "avx2")]
#[inline]
pub fn pairs(window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
    let [first, second] = [window.first_chunk(), window.last_chunk()].map(|bytes| halves(bytes.unwrap_or(&[0; WIDE])));
    let twice = |table: &[u8; 16]| _mm256_broadcastsi128_si256(cast(*table));
    let (by_low, by_high) = (twice(known), twice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0F, 0xF0, 0, 0]));
    let behind = twice(&[0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x44, 0x88, 0, 0, 0, 0]);
    let fifteen = _mm256_set1_epi8(15);
    let high = |half| _mm256_and_si256(_mm256_srli_epi16::<4>(half), fifteen);
    let found = |place: usize| {
        let sixteens = _mm256_shuffle_epi8(by_low, _mm256_and_si256(first[place], fifteen));
        let asked = _mm256_and_si256(
            _mm256_shuffle_epi8(by_high, high(first[place])),
            _mm256_shuffle_epi8(behind, high(second[place])),
        );
        let none = _mm256_cmpeq_epi8(_mm256_and_si256(sixteens, asked), _mm256_setzero_si256());
        u64::from(!_mm256_movemask_epi8(none).cast_unsigned())
    };
    found(0) | found(1) << 32
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn walk<const CASED: bool, const DIGITS: usize>(
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
        let Starts { at: starts, sure, number } = starts::<CASED, DIGITS>(seen, (at + CONTEXT).saturating_sub(from));
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

/// [`Scheme::fill`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn fill<const CASED: bool, const DIGITS: usize>(
    scheme: Scheme,
    text: &[u8],
    limit: usize,
    at: usize,
    ends: &mut [usize],
) -> usize {
    let mut count = 0;
    walk::<CASED, DIGITS>(scheme, text, limit, at, |found| {
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

/// Looks up pieces from `at` on, but for those that are known to be one token: [`crate::simd::count`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub fn count<const CASED: bool, const DIGITS: usize, const N: usize>(
    scheme: Scheme,
    whole_numbers: bool,
    lines: &[Line; N],
    text: &[u8],
    limit: usize,
    at: usize,
    batch: &mut Batch,
) -> (usize, usize) {
    let numbers = if whole_numbers { u64::MAX } else { 0 };
    let (mut asked, mut tokens) = (0, 0);
    let at = walk::<CASED, DIGITS>(scheme, text, limit, at, |found| {
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
                asked += several(lines, window, from, [inside & !known, ends], batch, asked);
            }
        }
        asked + ROOM < BATCH
    });
    (at, tokens + find_all_with(lines, &batch.asked[..asked], &mut batch.missed, |line, key| find(line, key)))
}

/// Asks for a piece that may begin before the window.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn one<const N: usize>(lines: &[Line; N], text: &[u8], at: usize, end: usize, batch: &mut Batch, asked: &mut usize) {
    if end - at > SHORT {
        put_off(&mut batch.longer, at, end - at);
        return;
    }
    let key = Key::of(text, at, end);
    let hash = key.hash();
    prefetch(&lines[line_of::<N>(hash)]);
    batch.asked[*asked % BATCH] = Asked { key, hash };
    *asked += 1;
}

/// Asks for the pieces that begin and end at the bits of two masks; how many of them a key holds.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn several<const N: usize>(
    lines: &[Line; N],
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
            *asked = key_of(bytes, length);
            prefetch(&lines[line_of::<N>(asked.hash)]);
            count += 1;
        }
    }
    count
}

/// [`Key::of`] and [`Key::hash`] of the first `length` of some bytes, in wide registers.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn key_of(bytes: &[u8; 16], length: usize) -> Asked {
    let [mask, tag]: [__m128i; 2] = cast([MASKS[length % 16], TAGS[length % 16]]);
    let salt = _mm_set_epi64x(SALT[1].cast_signed(), SALT[0].cast_signed());
    let key = _mm_or_si128(_mm_and_si128(cast(*bytes), mask), tag);
    let [low, high]: [u64; 2] = cast(_mm_xor_si128(key, salt));
    let product = u128::from(low) * u128::from(high);
    let [key_low, key_high] = cast(key);
    Asked { key: Key { low: key_low, high: key_high }, hash: product as u64 ^ (product >> 64) as u64 }
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
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
