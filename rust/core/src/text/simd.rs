//! What many bytes at once are, where the processor has AVX2. The only file of the core with `unsafe` code.
//!
//! Sixty-four bytes become masks of their classes, from which [`starts`] says where pieces begin. `at`, the last known
//! start, is all the state there is: what lies before it cannot matter, as a pattern is matched from there.
//!
//! The scalar scanner is what this one means: `split::tests` compares them, and `fuzz/` does.
#![allow(unsafe_code)]
#![allow(clippy::cast_possible_truncation)] // places in a window are below 64

#[cfg(feature = "claude-vocab")]
use super::cache::Asked;
use super::cache::{BATCH, Batch, Pieces, SHORTS, find_all_with, line_of};
use super::lines::Line;
#[cfg(target_arch = "x86_64")]
use super::pass::{NEAR, Pass, Passed, special};
use super::pass::{Passing, Words};
use super::split::Scheme;
use super::starts::{self, CONTEXT, Masks, WHOLE, WIDE};
use super::tables::{Key, MASKS, SALT, SHORT, TAGS, Tables, WITHOUT_COUNT, count_of};
use super::{class, merge};

/// Pieces that must fit into what is left of a buffer for the wide scanner to go on.
pub const ROOM: usize = WIDE;

/// Whether this processor can.
#[inline]
pub fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // The standard library asks the processor once, and remembers.
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Asks for the cache line of `place` before it is needed.
#[inline]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has SSE, a prefetch of any address has no effect but on the cache, and this
        // one is of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The same for what may lie at an address.
#[inline]
pub fn prefetch_at(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has SSE, and a prefetch reads nothing: of an address where nothing is it has no
        // effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// [`cache::look_up_with`] with four entries compared at once; None where the processor cannot.
#[inline]
pub fn look_up(lines: &[Line; SHORTS], pieces: Pieces<'_>, batch: &mut Batch) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return Some(unsafe { avx2::look_up(lines, pieces, batch) });
    }
    let _ = (lines, pieces, batch);
    None
}

/// [`cache::find_all_with`] in the same way.
#[cfg(feature = "claude-vocab")]
#[inline]
pub fn find_all(lines: &[Line; SHORTS], asked: &[Asked], missed: &mut Vec<Asked>) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return Some(unsafe { avx2::find_all(lines, asked, missed) });
    }
    let _ = (lines, asked, missed);
    None
}

/// [`merge::direct`], compiled for what the processor can.
#[inline]
pub fn direct(tables: &Tables, piece: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return unsafe { avx2::direct(tables, piece) };
    }
    merge::direct(tables, piece)
}

/// [`merge::together`], compiled for what the processor can.
#[inline]
pub fn together<const N: usize>(
    tables: &Tables,
    pieces: impl Iterator<Item = impl AsRef<[u8]>>,
    found: impl FnMut(usize, usize),
) {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return unsafe { avx2::together::<N>(tables, pieces, found) };
    }
    merge::together::<N>(tables, pieces, found);
}

/// Splits `text` from `at`, the start of a piece, up to `limit`: the ends of the pieces that were found, and how many.
///
/// Behind `limit` there must be white space only, and none before it. None where the processor or the scheme cannot.
#[inline]
pub fn fill(scheme: Scheme, text: &[u8], limit: usize, at: usize, ends: &mut [usize]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that both functions are compiled for were found on this processor.
        return unsafe {
            match scheme {
                Scheme::O200k => Some(avx2::fill::<true, 3>(scheme, text, limit, at, ends)),
                Scheme::Cl100k | Scheme::Llama3 => Some(avx2::fill::<false, 3>(scheme, text, limit, at, ends)),
                Scheme::Qwen2 => Some(avx2::fill::<false, 1>(scheme, text, limit, at, ends)),
                Scheme::Gpt2 | Scheme::DeepSeek3 => None,
            }
        };
    }
    let _ = (scheme, text, limit, at, ends);
    None
}

/// The classes of 64 bytes, a bit a byte; a byte in none is a control.
#[cfg(feature = "claude-vocab")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ascii {
    pub letter: u64,
    pub digit: u64,
    /// Visible characters that are neither.
    pub mark: u64,
    pub space: u64,
    pub tab: u64,
    pub newline: u64,
    pub apostrophe: u64,
    /// First bytes of characters beyond ASCII.
    pub lead: u64,
    /// The bytes behind those.
    pub tail: u64,
}

#[cfg(feature = "claude-vocab")]
impl Ascii {
    /// The classes of the bytes of `window`.
    #[inline]
    pub fn of(window: &[u8; WIDE]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if available() {
            // SAFETY: the features that it is compiled for were found on this processor.
            return unsafe { avx2::ascii(window) };
        }
        Self::one_by_one(window)
    }

    /// The same without the processor's help: what it means.
    fn one_by_one(window: &[u8; WIDE]) -> Self {
        let mut of = Self::default();
        for (place, byte) in window.iter().enumerate() {
            let class = match byte {
                b'a'..=b'z' | b'A'..=b'Z' => &mut of.letter,
                b'0'..=b'9' => &mut of.digit,
                b'!'..=b'~' => &mut of.mark,
                b' ' => &mut of.space,
                b'\t' => &mut of.tab,
                b'\n' => &mut of.newline,
                0x80..0xC0 => &mut of.tail,
                0xC0.. => &mut of.lead,
                _ => continue,
            };
            *class |= 1 << place;
            of.apostrophe |= u64::from(*byte == b'\'') << place;
        }
        of
    }
}

/// First bytes of characters of two bytes that `known` has a bit for: by the low half of the first byte, those behind C0 to
/// CF in bits 0 to 3, those behind D0 to DF in bits 4 to 7, a bit for sixteen characters. One byte is read behind the 64.
#[cfg(feature = "claude-vocab")]
#[inline]
pub fn pairs(window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that it is compiled for were found on this processor.
        return unsafe { avx2::pairs(window, known) };
    }
    pairs_one_by_one(window, known)
}

/// The same without the processor's help: what it means.
#[cfg(feature = "claude-vocab")]
fn pairs_one_by_one(window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
    let is_known = |pair: &[u8]| {
        let sixteen = usize::from(pair[0] & 0x10) >> 2 | usize::from(pair[1] >> 4 & 3);
        (0xC0..0xE0).contains(&pair[0])
            && pair[1] & 0xC0 == 0x80
            && known[usize::from(pair[0] & 15)] >> sixteen & 1 != 0
    };
    window.windows(2).enumerate().map(|(place, pair)| u64::from(is_known(pair)) << place).sum()
}

/// `work` with the widest way to go over strings that this processor has, compiled for it.
#[inline]
pub fn widest<W: Passing>(work: W) -> W::Found {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return unsafe { avx2::widest(work) };
    }
    work.with(Words)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_and_si128, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_loadu_si128, _mm_or_si128, _mm_set_epi64x,
        _mm_storeu_si128, _mm_xor_si128, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi8, _mm256_cmpeq_epi64,
        _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_or_si256,
        _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_srli_epi16, _mm256_sub_epi8,
    };

    #[cfg(feature = "claude-vocab")]
    use std::arch::x86_64::_mm256_broadcastsi128_si256;

    #[cfg(feature = "claude-vocab")]
    use super::Asked;
    use super::{
        BATCH, Batch, CONTEXT, Key, Line, MASKS, Masks, NEAR, Pass, Passed, Passing, Pieces, ROOM, SALT, SHORT, SHORTS,
        Scheme, TAGS, Tables, WHOLE, WIDE, WITHOUT_COUNT, class, count_of, find_all_with, line_of, merge, special,
        starts,
    };
    use crate::stop;

    /// The count of a piece, if `line` has it: its four entries compared at once.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn find(line: &Line, key: Key) -> Option<usize> {
        let [low, high, without] =
            [key.low, key.high, WITHOUT_COUNT].map(|word| _mm256_set1_epi64x(word.cast_signed()));
        let place: *const __m256i = line.as_ptr().cast();
        // SAFETY: a line is 64 bytes long: two unaligned reads of 32.
        let [lows, highs] = unsafe { [_mm256_loadu_si256(place), _mm256_loadu_si256(place.add(1))] };
        let same =
            _mm256_and_si256(_mm256_cmpeq_epi64(lows, low), _mm256_cmpeq_epi64(_mm256_and_si256(highs, without), high));
        let same = _mm256_movemask_pd(_mm256_castsi256_pd(same)).cast_unsigned();
        (same != 0).then(|| count_of(line[4 + same.trailing_zeros() as usize % 4]))
    }

    /// [`look_up_with`], but for keys that are made without leaving the wide registers.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn look_up(lines: &[Line; SHORTS], pieces: Pieces<'_>, batch: &mut Batch) -> usize {
        let Pieces { text, start: mut at, ends } = pieces;
        let wide = text.len().saturating_sub(15); // from here on sixteen bytes would end behind the text
        let salt = _mm_set_epi64x(SALT[1].cast_signed(), SALT[0].cast_signed());
        let mut found = 0;
        for &end in &ends[..ends.len().min(BATCH)] {
            let length = end - at;
            if length > SHORT {
                batch.put_off(at..end);
                at = end;
                continue;
            }
            let asked = &mut batch.asked[found % BATCH];
            if at < wide {
                // SAFETY: sixteen bytes from `at` on are of the text; a mask and a key have as many.
                let salted = unsafe {
                    let bytes = _mm_loadu_si128(text.as_ptr().add(at).cast());
                    let mask = _mm_loadu_si128(std::ptr::from_ref(&MASKS[length]).cast());
                    let tag = _mm_loadu_si128(std::ptr::from_ref(&TAGS[length]).cast());
                    let key = _mm_or_si128(_mm_and_si128(bytes, mask), tag);
                    _mm_storeu_si128(std::ptr::from_mut(&mut asked.key).cast(), key);
                    _mm_xor_si128(key, salt)
                };
                let [low, high] = [_mm_cvtsi128_si64(salted), _mm_extract_epi64::<1>(salted)].map(i64::cast_unsigned);
                let product = u128::from(low) * u128::from(high);
                asked.hash = product as u64 ^ (product >> 64) as u64;
            } else {
                asked.key = Key::of(text, at, end);
                asked.hash = asked.key.hash();
            }
            super::prefetch(&lines[line_of(asked.hash)]);
            found += 1;
            at = end;
        }
        find_all_with(lines, &batch.asked[..found], &mut batch.missed, |line, key| find(line, key))
    }

    #[cfg(feature = "claude-vocab")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn find_all(lines: &[Line; SHORTS], asked: &[Asked], missed: &mut Vec<Asked>) -> usize {
        find_all_with(lines, asked, missed, |line, key| find(line, key))
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn direct(tables: &Tables, piece: &[u8]) -> u64 {
        merge::direct(tables, piece)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn together<const N: usize>(
        tables: &Tables,
        pieces: impl Iterator<Item = impl AsRef<[u8]>>,
        found: impl FnMut(usize, usize),
    ) {
        merge::together::<N>(tables, pieces, found);
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn halves(window: &[u8; WIDE]) -> [__m256i; 2] {
        let place: *const __m256i = window.as_ptr().cast();
        // SAFETY: a window is 64 bytes long: two unaligned reads of 32.
        unsafe { [_mm256_loadu_si256(place), _mm256_loadu_si256(place.add(1))] }
    }

    /// The starts of pieces in a window, and the byte up to which they are known: [`starts::starts`].
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn starts<const CASED: bool, const DIGITS: usize>(window: &[u8; WIDE], known: usize) -> (u64, usize) {
        let halves = halves(window);
        let beyond = bits(halves, |half| half);
        let ascii = ascii_masks(halves);
        if beyond == 0 {
            return starts::starts::<CASED, DIGITS>(ascii, window, known);
        }
        starts::starts::<CASED, DIGITS>(all_masks::<CASED>(ascii, window, beyond), window, known)
    }

    /// A bit a byte: the highest one of what `of` makes of it.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn bits(halves: [__m256i; 2], of: impl Fn(__m256i) -> __m256i) -> u64 {
        let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(of(half)).cast_unsigned()));
        low | high << 32
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn ascii_masks(halves: [__m256i; 2]) -> Masks {
        let is = |byte: u8| {
            let byte = _mm256_set1_epi8(byte.cast_signed());
            bits(halves, |half| _mm256_cmpeq_epi8(half, byte))
        };
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
        let is = |byte: u8| bits(text, |half| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte.cast_signed())));
        let han = bits(text, |half| within(half, 0xE5, 0xE9)) | is(0xE4) & from(0xB8) >> 1;
        let hangul =
            bits(text, |half| within(half, 0xEB, 0xEC)) | is(0xEA) & from(0xB0) >> 1 | is(0xED) & !from(0x9E) >> 1;
        let whole = leads & !(!0 << WHOLE);
        let known = (han | hangul) & whole;
        let mut classes = [class::OTHER; WIDE];
        class::fill(window, whole & !known, &mut classes);
        let classes = halves(&classes);
        let cut = leads & !whole;
        let seen = (cut & cut.wrapping_neg()).wrapping_sub(1);
        let others = beyond & seen & !(known | known << 1 | known << 2);
        let last = if CASED { class::MARK } else { class::CASELESS };
        let are = |first: u8, last: u8| bits(classes, |half| within(half, first, last)) & others;
        of.caseless = beyond & seen & !others | are(class::CASELESS, last);
        of.upper |= are(class::UPPER, class::UPPER);
        of.letter |= of.caseless | are(class::LOWER, class::UPPER);
        of.mark = are(class::MARK, class::MARK);
        of.blank |= are(class::SPACE, class::SPACE);
        of.unknown = are(class::NUMBER, class::NUMBER) | cut;
        of.inside = inside;
        of
    }

    #[cfg(feature = "claude-vocab")]
    #[target_feature(enable = "avx2")]
    pub fn ascii(window: &[u8; WIDE]) -> super::Ascii {
        let halves = halves(window);
        let is = |byte: u8| {
            let byte = _mm256_set1_epi8(byte.cast_signed());
            bits(halves, |half| _mm256_cmpeq_epi8(half, byte))
        };
        let small = _mm256_set1_epi8(0x20);
        let letter = bits(halves, |half| within(_mm256_or_si256(half, small), b'a', b'z'));
        let digit = bits(halves, |half| within(half, b'0', b'9'));
        let [beyond, tail] = [bits(halves, |half| half), bits(halves, |half| within(half, 0x80, 0xBF))];
        super::Ascii {
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
    pub fn pairs(window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
        let [first, second] =
            [window.first_chunk(), window.last_chunk()].map(|bytes| halves(bytes.unwrap_or(&[0; WIDE])));
        let twice = |table: &[u8; 16]| {
            // SAFETY: a table is 16 bytes long: one unaligned read of 16.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
        };
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

    /// Bytes from `first` to `last`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn within(half: __m256i, first: u8, last: u8) -> __m256i {
        let from = _mm256_sub_epi8(half, _mm256_set1_epi8(first.cast_signed()));
        _mm256_cmpeq_epi8(_mm256_min_epu8(from, _mm256_set1_epi8((last - first).cast_signed())), from)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn fill<const CASED: bool, const DIGITS: usize>(
        scheme: Scheme,
        text: &[u8],
        limit: usize,
        mut at: usize,
        ends: &mut [usize],
    ) -> usize {
        let (mut found, mut from) = (0, at + 1); // what starts before `from` is known
        while from < limit && found + ROOM <= ends.len() {
            let padded;
            let whole = from.checked_sub(CONTEXT).and_then(|start| text[start..].first_chunk());
            let window = if let Some(window) = whole {
                window
            } else {
                padded = pad(text, from);
                &padded
            };
            let (starts, sure) = starts::<CASED, DIGITS>(window, (at + CONTEXT).saturating_sub(from));
            let known = sure.min(limit - from + CONTEXT);
            if known <= CONTEXT {
                at = scheme.end(text, at);
                ends[found] = at;
                found += 1;
                from = at + 1;
                continue;
            }
            let bits = starts & ((1 << known) - 1) & !0 << CONTEXT;
            found += emit(bits, from - CONTEXT.min(from), CONTEXT.saturating_sub(from), &mut ends[found..]);
            if bits == 0 {
                stop::check(); // a piece of many windows
            } else {
                at = ends[found - 1];
            }
            from += known - CONTEXT;
        }
        // The last piece, and white space behind it.
        while from >= limit && at < text.len() && found < ends.len() {
            at = scheme.end(text, at);
            ends[found] = at;
            found += 1;
        }
        found
    }

    /// A way to go over strings that is named where it is known that the processor has it, in [`widest`] alone.
    #[derive(Clone, Copy)]
    struct Wide(());

    impl Pass for Wide {
        #[inline(always)]
        #[allow(clippy::inline_always)] // into what is compiled for the processor
        fn first(self, window: &[u8; NEAR]) -> usize {
            // SAFETY: there is no `Wide` but on a processor with the features that the function is compiled for.
            unsafe { first(window) }
        }

        #[inline(always)]
        #[allow(clippy::inline_always)] // as above
        fn over(self, bytes: &[u8], at: usize) -> Passed {
            // SAFETY: as above.
            let passed = unsafe { pass(bytes, at) };
            if passed.at + WIDE <= bytes.len() { passed } else { Passed { at: special(bytes, passed.at), ..passed } }
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn widest<W: Passing>(work: W) -> W::Found {
        work.with(Wide(()))
    }

    #[target_feature(enable = "avx2,bmi1")]
    #[inline]
    fn first(window: &[u8; NEAR]) -> usize {
        // SAFETY: a window is 32 bytes long.
        let window = unsafe { _mm256_loadu_si256(window.as_ptr().cast()) };
        let is = |byte: u8| _mm256_cmpeq_epi8(window, _mm256_set1_epi8(byte.cast_signed()));
        let control = _mm256_cmpeq_epi8(_mm256_min_epu8(window, _mm256_set1_epi8(0x1f)), window);
        let stops = _mm256_or_si256(_mm256_or_si256(is(b'"'), is(b'\\')), control);
        _mm256_movemask_epi8(stops).trailing_zeros() as usize
    }

    /// Up to where a string wants another look, or less than a window is left.
    ///
    /// Escapes are told from what they escape by arithmetic on runs of backslashes, as all parsers of this kind do. From
    /// window to window goes one bit, not the place: the next one is read before this one is understood.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn pass(bytes: &[u8], mut at: usize) -> Passed {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        // Whether the first byte of the window belongs to a backslash before it, and all backslashes.
        let (mut carried, mut seen) = (0, 0);
        while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WIDE>()) {
            let [low, high] = halves(window);
            let (slashes, quotes) = (equal(low, high, b'\\'), equal(low, high, b'"'));
            let opening = slashes & !carried;
            let behind = opening << 1;
            let odd = opening & !EVEN & !behind;
            let second = (EVEN ^ odd.wrapping_add(opening) << 1) & behind | carried;
            // Nearly all are of these three.
            let known = quotes | slashes | equal(low, high, b'n');
            let odd = if second & !known == 0 { 0 } else { second & !simple(low, high) };
            let controls = u64::from(control(low)) | u64::from(control(high)) << 32;
            let stops = quotes & !second | controls | odd;
            if stops != 0 {
                let place = stops.trailing_zeros();
                let is_odd = (odd >> place & 1) as usize; // then from its backslash on
                let escapes = seen | slashes & ((1 << place) - 1) != 0;
                return Passed { at: at + place as usize - is_odd, escapes };
            }
            carried = (opening & !second) >> (WIDE - 1);
            seen |= slashes;
            at += WIDE;
        }
        Passed { at: at - carried as usize, escapes: seen != 0 }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn equal(low: __m256i, high: __m256i, byte: u8) -> u64 {
        let byte = _mm256_set1_epi8(byte.cast_signed());
        let (low, high) = (_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte));
        u64::from(_mm256_movemask_epi8(low).cast_unsigned())
            | u64::from(_mm256_movemask_epi8(high).cast_unsigned()) << 32
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn control(half: __m256i) -> u32 {
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(half, _mm256_set1_epi8(0x1f)), half)).cast_unsigned()
    }

    /// The bytes that make an escape of two with a backslash, and need nothing more: `"`, `\`, `/`, b, f, n, r, t.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn simple(low: __m256i, high: __m256i) -> u64 {
        u64::from(simple_half(low)) | u64::from(simple_half(high)) << 32
    }

    /// A byte is one of them if its halves have a bit in common in two tables.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn simple_half(half: __m256i) -> u32 {
        let last = _mm256_setr_epi8(
            0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1, 0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1,
        );
        let first = _mm256_setr_epi8(
            0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0,
        );
        let fours = _mm256_and_si256(_mm256_srli_epi16::<4>(half), _mm256_set1_epi8(15));
        let common = _mm256_and_si256(_mm256_shuffle_epi8(last, half), _mm256_shuffle_epi8(first, fours));
        !_mm256_movemask_epi8(_mm256_cmpeq_epi8(common, _mm256_setzero_si256())).cast_unsigned()
    }

    /// A window that begins before the text or ends behind it.
    #[cold]
    fn pad(text: &[u8], from: usize) -> [u8; WIDE] {
        let mut window = [b'\n'; WIDE];
        let before = CONTEXT.min(from);
        let stop = text.len().min(from + WIDE - CONTEXT);
        window[CONTEXT - before..CONTEXT + stop - from].copy_from_slice(&text[from - before..stop]);
        window
    }

    /// Writes the places of `bits`, which begin at `base` but for the first `skipped` ones.
    #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn emit(mut bits: u64, base: usize, skipped: usize, ends: &mut [usize]) -> usize {
        let count = bits.count_ones() as usize;
        let mut written = 0;
        let Some(room) = ends.first_chunk_mut::<ROOM>() else { return 0 };
        // Four at a time: how many there are is hard to foresee.
        while written < count {
            for place in &mut room[written..(written + 4).min(ROOM)] {
                *place = (base + bits.trailing_zeros() as usize).wrapping_sub(skipped);
                bits &= bits.wrapping_sub(1);
            }
            written += 4;
        }
        count
    }
}

#[cfg(all(test, feature = "claude-vocab"))]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_alike_with_and_without_the_processors_help() {
        for first in 0..=u8::MAX {
            let window = std::array::from_fn(|place| first.wrapping_add(place as u8).wrapping_mul(37));
            assert_eq!(Ascii::of(&window), Ascii::one_by_one(&window));
        }
    }

    #[test]
    fn pairs_are_found_alike_with_and_without_the_processors_help() {
        for first in 0..=u8::MAX {
            let window = std::array::from_fn(|place| first.wrapping_add(place as u8).wrapping_mul(37));
            let known = std::array::from_fn(|n| first.wrapping_mul(29).wrapping_add((n as u8).wrapping_mul(73)));
            assert_eq!(pairs(&window, &known), pairs_one_by_one(&window, &known));
        }
    }
}
