//! What many bytes at once are, where the processor has AVX2. The only file of the core with `unsafe` code.
//!
//! Sixty-four bytes become masks of their classes, from which [`starts`] says where pieces begin. `at`, the last known
//! start, is all the state there is: what lies before it cannot matter, as a pattern is matched from there.
//!
//! The scalar scanner is what this one means: `split::tests` compares them, and `fuzz/` does.
#![allow(unsafe_code)]
#![allow(clippy::cast_possible_truncation)] // places in a window are below 64

#[cfg(target_arch = "x86_64")]
use super::avx2;
#[cfg(feature = "claude-vocab")]
use super::cache::Asked;
use super::cache::{Batch, Cache, Pieces, SHORTS};
use super::lines::Line;
use super::merging::{self, Room};
use super::pass::{Passing, Words};
use super::split::Scheme;
use super::starts::WIDE;
use super::tables::Tables;
use super::unknown::{self, Waiting};

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

/// [`unknown::known`], compiled for what the processor can.
#[inline]
pub fn known(tables: &Tables, cache: &mut Cache, waiting: &mut Vec<Waiting>, counts: &mut [usize]) {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return unsafe { avx2::known(tables, cache, waiting, counts) };
    }
    unknown::known(tables, cache, waiting, counts);
}

/// [`merging::direct`], compiled for what the processor can.
#[inline]
pub fn direct(tables: &Tables, piece: &[u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return unsafe { avx2::direct(tables, piece) };
    }
    merging::direct(tables, piece)
}

/// [`merging::together`], compiled for what the processor can.
#[inline]
pub fn together(
    tables: &Tables,
    room: &mut Room,
    pieces: impl Iterator<Item = impl AsRef<[u8]>>,
    found: impl FnMut(usize, usize),
) {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return unsafe { avx2::together(tables, room, pieces, found) };
    }
    merging::together(tables, room, pieces, found);
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
                Scheme::O200k => Some(avx2::pieces::fill::<true, 3>(scheme, text, limit, at, ends)),
                Scheme::Cl100k | Scheme::Llama3 => Some(avx2::pieces::fill::<false, 3>(scheme, text, limit, at, ends)),
                Scheme::Qwen2 => Some(avx2::pieces::fill::<false, 1>(scheme, text, limit, at, ends)),
                Scheme::Gpt2 | Scheme::DeepSeek3 => None,
            }
        };
    }
    let _ = (scheme, text, limit, at, ends);
    None
}

/// Counts pieces of `text` from `at` on, the start of one, as many as fit into `batch`: where the next one begins, and the
/// tokens of those that need not be looked up or that `lines` has; the others are left in `batch`.
///
/// `limit` is as above; `whole_numbers`: whether all numbers of three digits and fewer are tokens.
#[inline]
pub fn count<const N: usize>(
    scheme: Scheme,
    whole_numbers: bool,
    lines: &[Line; N],
    text: &[u8],
    limit: usize,
    at: usize,
    batch: &mut Batch,
) -> Option<(usize, usize)> {
    #[cfg(target_arch = "x86_64")]
    if available() {
        let count = match scheme {
            Scheme::O200k => avx2::pieces::count::<true, 3, N>,
            Scheme::Cl100k | Scheme::Llama3 => avx2::pieces::count::<false, 3, N>,
            Scheme::Qwen2 => avx2::pieces::count::<false, 1, N>,
            Scheme::Gpt2 | Scheme::DeepSeek3 => return None,
        };
        // SAFETY: the features that all three are compiled for were found on this processor.
        return Some(unsafe { count(scheme, whole_numbers, lines, text, limit, at, batch) });
    }
    let _ = (scheme, whole_numbers, lines, text, limit, at, batch);
    None
}

/// [`super::transcode::transcode`] where the processor can.
#[inline]
pub fn transcode(units: &[u32], out: &mut [u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return Some(unsafe { avx2::transcode::transcode(units, out) });
    }
    let _ = (units, out);
    None
}

/// `work` with the widest way to go over bytes that this processor has, compiled for it.
#[inline]
pub fn widest<W: Passing>(work: W) -> W::Found {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the features that the function is compiled for were found on this processor.
        return unsafe { wide::widest(work) };
    }
    work.with(Words)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    #[cfg(feature = "claude-vocab")]
    use super::super::ascii::Ascii;
    #[cfg(feature = "claude-vocab")]
    use super::super::avx2::pieces;
    use super::super::avx2::strings;
    use super::super::pass::{NEAR, Pass, Passed, special};
    use super::{Passing, WIDE};

    /// A way to go over bytes that is named where it is known that the processor has it, in [`widest`] alone.
    #[derive(Clone, Copy)]
    struct Wide(());

    impl Pass for Wide {
        #[inline(always)]
        #[allow(clippy::inline_always)] // into what is compiled for the processor
        fn first(self, window: &[u8; NEAR]) -> usize {
            // SAFETY: there is no `Wide` but on a processor with the features that the function is compiled for.
            unsafe { strings::first(window) }
        }

        #[inline(always)]
        #[allow(clippy::inline_always)] // as above
        fn over(self, bytes: &[u8], at: usize) -> Passed {
            // SAFETY: as above.
            let passed = unsafe { strings::pass(bytes, at) };
            if passed.at + WIDE <= bytes.len() { passed } else { Passed { at: special(bytes, passed.at), ..passed } }
        }

        #[inline(always)]
        #[allow(clippy::inline_always)] // as above
        fn slashes(self, window: &[u8; WIDE]) -> (u64, bool) {
            // SAFETY: as above.
            unsafe { strings::slashes(window) }
        }

        #[cfg(feature = "claude-vocab")]
        #[inline(always)]
        #[allow(clippy::inline_always)] // as above
        fn ascii(self, window: &[u8; WIDE]) -> Ascii {
            // SAFETY: as above.
            unsafe { pieces::ascii(window) }
        }

        #[cfg(feature = "claude-vocab")]
        #[inline(always)]
        #[allow(clippy::inline_always)] // as above
        fn pairs(self, window: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
            // SAFETY: as above.
            unsafe { pieces::pairs(window, known) }
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn widest<W: Passing>(work: W) -> W::Found {
        work.with(Wide(()))
    }
}
