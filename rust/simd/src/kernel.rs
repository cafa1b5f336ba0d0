//! The operations of a page.

use crate::scalar;

/// Bytes of a window.
pub const WIDE: usize = 64;

/// Bytes of the first search in a JSON string: most names and words end within them.
pub const NEAR: usize = 32;

/// Bytes of a table's key.
pub const KEY: usize = 16;

/// Bytes that a transcoder writes at once; it may overwrite the last of them later.
pub const TRANSCODED: usize = 16;

/// A cache line of four entries of two words: the four low words come first.
pub type Line = [u64; 8];

/// The result of skipping a JSON string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The byte where skipping stopped.
    pub at: usize,
    /// Whether there are escapes before it.
    pub escapes: bool,
}

/// Work that is compiled for each page.
pub trait Work {
    /// Its result.
    type Output;

    /// Does the work; mark it `#[inline(always)]`.
    fn run(self, kernel: impl Kernel) -> Self::Output;
}

/// A page: operations on 64 bytes. Masks have a bit a byte, the first byte lowest.
///
/// A value of a page's type proves that the processor has its instructions, because only [`crate::run`] creates one.
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

    /// The index of the entry of `line` that equals `key`, with `mask` applied to its high word.
    fn find(self, line: &Line, key: [u64; 2], mask: u64) -> Option<usize>;

    /// `bytes & mask | tag` as two words.
    fn key(self, bytes: &[u8; KEY], mask: u128, tag: u128) -> [u64; 2];

    /// The index of the first quote, backslash or control character; [`NEAR`] if there is none.
    fn first_special(self, bytes: &[u8; NEAR]) -> usize;

    /// Skips the contents of a JSON string from `at`, a boundary of its characters. Stops at a quote, a control character, an
    /// escape that it cannot judge, or the end of `bytes`.
    fn skip_string(self, bytes: &[u8], at: usize) -> Skipped;

    /// The second bytes of two-byte escapes other than `"`, `\\` and n, which may be among them: `/`, b, f, r, t.
    #[inline(always)]
    fn simple_escapes(self, window: Self::Window) -> u64 {
        [b'/', b'b', b'f', b'r', b't'].into_iter().fold(0, |found, byte| found | self.equal(window, byte))
    }

    /// First bytes of the two-byte characters in the bitmap `known`, which has a bit for sixteen characters. The index is the
    /// low half of the first byte; bits 0 to 3 are for C0 to CF, bits 4 to 7 for D0 to DF.
    #[inline(always)]
    fn pairs(self, bytes: &[u8; WIDE + 1], known: &[u8; 16]) -> u64 {
        scalar::pairs(bytes, known)
    }

    /// Writes code points as UTF-8 to the beginning of `out`, which must have four bytes for each and [`TRANSCODED`] more;
    /// returns the number of bytes. A surrogate becomes a byte that is invalid in UTF-8.
    #[inline(always)]
    fn transcode(self, units: &[u32], out: &mut [u8]) -> usize {
        scalar::transcode(units, out, 0)
    }
}
