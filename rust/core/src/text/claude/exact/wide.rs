//! Cells of ASCII, read sixty-four bytes at a time.
//!
//! A window begins where a cell does. Its bytes become masks of their classes; where cells begin and end, which spaces
//! their neighbours' markers write, and what costs one token whatever it says is arithmetic on masks. What is left, words
//! and punctuation, is looked up. The last cell of a window waits for the next one, as more of it may come.
//!
//! [`Reader`]'s other functions, which take a character at a time, are what this means.

use super::cells::{Before, CONTRACTIONS, Reader};
use crate::stop;
use crate::text::simd::Ascii;

const WIDE: usize = 64;

/// The lowest `count` bits.
#[inline]
fn low(count: usize) -> u64 {
    if count >= WIDE { !0 } else { (1 << count) - 1 }
}

/// The last bit of `mask`, which is not 0.
#[inline]
fn last(mask: u64) -> usize {
    WIDE - 1 - mask.leading_zeros() as usize
}

/// First and last places of the runs of `mask`.
#[inline]
fn runs(mask: u64) -> (u64, u64) {
    (mask & !(mask << 1), mask & !(mask >> 1))
}

/// The runs of two masks of first and last places, as ranges.
#[inline]
fn each((mut first, mut last): (u64, u64), mut run: impl FnMut(usize, usize)) {
    while first != 0 {
        run(first.trailing_zeros() as usize, last.trailing_zeros() as usize + 1);
        first &= first - 1;
        last &= last.wrapping_sub(1);
    }
}

impl Reader<'_> {
    /// Whether a window may be worth its while at `at`: eight bytes of ASCII, or all that there are.
    #[inline]
    pub fn is_wide(&self, at: usize) -> bool {
        let rest = &self.text.as_bytes()[at..];
        rest.first_chunk::<8>().map_or_else(|| rest.is_ascii(), |eight| u64::from_ne_bytes(*eight) & HIGH == 0)
    }

    /// Reads cells from `at` on, as far as they are of ASCII and end in sight: where they end.
    pub fn windows(&mut self, mut at: usize, before: &mut Before) -> usize {
        loop {
            stop::check();
            let rest = &self.text.as_bytes()[at..];
            let padded;
            let window = if let Some(window) = rest.first_chunk() {
                window
            } else {
                padded = pad(rest);
                &padded
            };
            let of = Ascii::of(window);
            let other = !(of.letter | of.digit | of.mark | of.space | of.tab | of.newline);
            let seen = other.trailing_zeros() as usize;
            let quotes = of.apostrophe & !(of.mark << 1) & of.letter >> 1;
            let sure = if at + seen == self.text.len() { seen } else { whole(&of, quotes, seen) };
            if sure == 0 || (before.guards && quotes & 1 != 0) {
                return at;
            }
            self.window(at, &of, quotes, sure, *before);
            let (closes, guards) = ((of.letter | of.mark) >> (sure - 1) & 1, of.mark >> (sure - 1) & 1);
            *before = Before { closes: closes != 0, guards: guards != 0 };
            at += sure;
            if at == self.text.len() || !self.is_wide(at) {
                return at;
            }
        }
    }

    /// Adds the tokens of the first `sure` bytes of a window.
    #[inline]
    fn window(&mut self, at: usize, of: &Ascii, quotes: u64, sure: usize, before: Before) {
        let here = low(sure);
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
            self.known.add(text, at + first, at + end, false, false, &mut self.total);
        });

        let space_before = of.space << 1 | u64::from(self.behind_space(at));
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
        each(runs(marks & !alone), |first, end| {
            let (opened, closed) = (opened >> first & 1 != 0, closed >> (end - 1) & 1 != 0);
            self.known.add(text, at + first, at + end, opened, closed, &mut self.total);
        });

        for (mask, byte) in [(of.space, b' '), (of.newline, b'\n'), (of.tab, b'\t')] {
            let several = mask & (mask << 1 | mask >> 1) & here;
            if byte != b' ' {
                ones += (mask & here & !several).count_ones();
            }
            each(runs(several), |first, end| self.total += self.vocabulary.blanks(byte, end - first) as usize);
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

const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Up to where the cells of a window are whole, and what they cost is known, if `seen` bytes of it are ASCII.
#[inline]
fn whole(of: &Ascii, quotes: u64, seen: usize) -> usize {
    let starts = [of.letter, of.digit, of.mark, of.space, of.tab, of.newline].map(|mask| mask & !(mask << 1));
    let starts = starts.into_iter().fold(0, |all, each| all | each) & low(seen);
    if starts == 0 {
        return 0;
    }
    let mut sure = last(starts);
    // What one mark or one space means to those before it depends on what stands behind it.
    if sure > 0 && sure + 1 == seen && (of.mark | of.space) >> sure & 1 != 0 {
        sure = last(starts & low(sure));
    }
    // An apostrophe goes with the letters behind it.
    sure - usize::from(sure > 0 && quotes >> (sure - 1) & 1 != 0)
}

/// Where each group of three digits begins, from the beginning of its run.
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

/// A window that ends behind the text.
#[inline]
fn pad(rest: &[u8]) -> [u8; WIDE] {
    let mut window = [0; WIDE];
    window[..rest.len()].copy_from_slice(rest);
    window
}
