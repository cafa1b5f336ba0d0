//! What a page must be able to do.

use crate::scalar;

/// Bytes of a window.
pub const WIDE: usize = 64;

/// Bytes that are searched first: most names and words end within them.
pub const NEAR: usize = 32;

/// Bytes of a table's key.
pub const KEY: usize = 16;

/// Bytes that a transcoder writes at once; the last of them may be overwritten.
pub const TRANSCODED: usize = 16;

/// A cache line of four entries of two words: the four low words come first.
pub type Line = [u64; 8];

/// How far a JSON string was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The byte to look at next.
    pub at: usize,
    /// Whether there were escapes before it.
    pub escapes: bool,
}

/// Work that is compiled for each page.
pub trait Work {
    /// Its result.
    type Output;

    /// Does it; to be marked `#[inline(always)]`.
    fn run(self, kernel: impl Kernel) -> Self::Output;
}

/// A page: operations on 64 bytes. Masks have a bit a byte, the first byte lowest.
///
/// A value of a page's type is proof that the processor has its instructions: only [`crate::run`] makes one.
pub trait Kernel: Copy {
    /// 64 bytes in registers.
    type Window: Copy;

    /// Loads 64 bytes.
    fn load(self, bytes: &[u8; WIDE]) -> Self::Window;

    /// The bytes that are not ASCII.
    fn non_ascii(self, window: Self::Window) -> u64;

    /// The bytes equal to `byte`.
    fn equal(self, window: Self::Window, byte: u8) -> u64;

    /// The bytes from `first` to `last`.
    fn within(self, window: Self::Window, first: u8, last: u8) -> u64;

    /// The letters of ASCII.
    fn letters(self, window: Self::Window) -> u64;

    /// The place of the entry of a line that has `key` where its high word is masked with `mask`.
    fn find(self, line: &Line, key: [u64; 2], mask: u64) -> Option<usize>;

    /// The two words of `bytes`, masked, with `tag` added.
    fn key(self, bytes: &[u8; KEY], mask: u128, tag: u128) -> [u64; 2];

    /// The place of the first quote, backslash or control character; [`NEAR`] if there is none.
    fn first_special(self, bytes: &[u8; NEAR]) -> usize;

    /// Skips the contents of a JSON string from `at`, between two of its characters: up to its quote, a control character
    /// or the end of `bytes`, and past the escapes that it can judge.
    fn skip_string(self, bytes: &[u8], at: usize) -> Skipped;

    /// First bytes of two-byte characters that `known` has a bit for: by the low half of the first byte, characters behind
    /// C0 to CF in bits 0 to 3, those behind D0 to DF in bits 4 to 7, a bit for sixteen characters.
    #[inline(always)]
    fn pairs(self, bytes: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
        scalar::pairs(bytes, known)
    }

    /// Writes code points as UTF-8 to the beginning of `out`, which has room for four bytes each and [`TRANSCODED`] more:
    /// how many bytes they take. A surrogate becomes a byte that is no UTF-8.
    #[inline(always)]
    fn transcode(self, units: &[u32], out: &mut [u8]) -> usize {
        scalar::transcode(units, out, 0)
    }
}
