//! A thread's cache of segment counts, with a queue of segments that are looked up together.

use std::ops::Range;

use super::case;
use super::classes::{Bits, Class, decode};
use super::cover::{BOW, EOW};
use super::vocabulary::Vocabulary;
use crate::bpe::cache::{BATCH, Cache, MEDIUM, Probe, SHORTS, find_all, hash_of, line_of};
use crate::bpe::tables::{Key, SHORT};
use crate::error::require_page;
use trimtab_simd::prefetch_at;
use trimtab_simd::{Kernel, Line, Work, run};

/// Most tokens that an entry of a short segment can hold.
const MOST: usize = 15;

/// Capacity of the queue of long words: they prefetch as many cache lines as [`BATCH`] short ones.
const LONGER: usize = BATCH / 2;

/// A cache from segment to tokens. The key of a word is its text, of any other segment its text with markers.
pub struct SegmentCache {
    vocabulary: &'static Vocabulary,
    cache: Cache,
    /// Queue of short segments whose cache lines are being prefetched, its length, and the misses of its last lookup.
    queue: Box<[Probe; BATCH]>,
    count: usize,
    missed: Vec<Probe>,
    /// Address of the short table.
    lines: usize,
    /// Queue of words that are too long for a key, with their hashes.
    longer: Vec<(Range<usize>, u64)>,
    scratch: Vec<u8>,
}

impl SegmentCache {
    pub fn new(vocabulary: &'static Vocabulary) -> Self {
        let (queue, cache) = (Box::new([Probe::default(); BATCH]), Cache::default());
        let (missed, longer) = (Vec::with_capacity(BATCH), Vec::with_capacity(LONGER));
        let lines = cache.short.get().as_ptr().addr();
        require_page();
        Self { vocabulary, cache, queue, count: 0, missed, lines, longer, scratch: Vec::new() }
    }

    /// Adds the tokens of the segment `text[at..end]` to `total`, now or in [`SegmentCache::flush`]. `opened` and `closed`
    /// add markers at its ends; a word gets its own markers later.
    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the processor, as its callers
    pub fn add(&mut self, text: &[u8], at: usize, end: usize, opened: bool, closed: bool, total: &mut usize) {
        let length = end - at;
        let marked = length + usize::from(opened) + usize::from(closed);
        if marked > SHORT {
            *total += self.add_long(text, at..end, opened, closed);
            return;
        }
        let mut key = Key::of(text, at, end);
        if marked > length {
            let mut wide = u128::from(key.low) | u128::from(key.high) << 64;
            wide |= (u128::from(EOW) * u128::from(closed)) << (8 * length);
            wide = (wide << (8 * u32::from(opened))) | (u128::from(BOW) * u128::from(opened));
            key = Key::masked(wide, marked);
        }
        let hash = key.hash();
        prefetch_at(self.lines + line_of::<SHORTS>(hash) * size_of::<Line>());
        self.queue[self.count % BATCH] = Probe { key, hash };
        self.count += 1;
        if self.count == BATCH {
            *total += self.flush_short();
        }
    }

    /// Tokens of a segment that is too long for a key; 0 if it is queued.
    #[inline(never)]
    fn add_long(&mut self, text: &[u8], segment: Range<usize>, opened: bool, closed: bool) -> usize {
        if opened || closed || segment.len() > MEDIUM {
            return self.long(&text[segment], opened, closed);
        }
        let bytes = &text[segment.clone()];
        let hash = hash_of(bytes);
        self.cache.prefetch_long(bytes, hash);
        self.longer.push((segment, hash));
        if self.longer.len() == LONGER { self.flush_long(text) } else { 0 }
    }

    /// Drops the queued segments: those of a text whose count was interrupted.
    pub fn discard_queue(&mut self) {
        self.count = 0;
        self.missed.clear();
        self.longer.clear();
    }

    /// Tokens of the queued segments of `text`.
    pub fn flush(&mut self, text: &[u8]) -> usize {
        self.flush_short() + self.flush_long(text)
    }

    #[inline(never)]
    fn flush_long(&mut self, text: &[u8]) -> usize {
        let mut longer = std::mem::take(&mut self.longer);
        let total = longer.drain(..).map(|(segment, hash)| self.count_long(&text[segment], hash)).sum();
        self.longer = longer;
        total
    }

    #[inline(never)]
    fn flush_short(&mut self) -> usize {
        let queue = &self.queue[..std::mem::take(&mut self.count)];
        let mut total = run(FindAll { cache: &self.cache, queue, missed: &mut self.missed });
        let mut missed = std::mem::take(&mut self.missed);
        for Probe { key, hash } in missed.drain(..) {
            // An equal segment may have been counted just before.
            let known = self.cache.short(key, hash);
            total += known.unwrap_or_else(|| self.count_and_keep(key, hash));
        }
        self.missed = missed;
        self.lines = self.cache.short.get().as_ptr().addr();
        total
    }

    /// Counts a short segment and inserts it into the cache.
    fn count_and_keep(&mut self, key: Key, hash: u64) -> usize {
        let count = self.min_cover(key.bytes().as_ref());
        if count <= MOST {
            self.cache.keep_short(key, hash, count);
        }
        count
    }

    /// Tokens of a segment that is too long for a key.
    fn long(&mut self, segment: &[u8], opened: bool, closed: bool) -> usize {
        let mut marked = std::mem::take(&mut self.scratch);
        marked.clear();
        marked.extend(opened.then_some(BOW));
        marked.extend_from_slice(segment);
        marked.extend(closed.then_some(EOW));
        let count =
            if marked.len() > MEDIUM { self.min_cover(&marked) } else { self.count_long(&marked, hash_of(&marked)) };
        self.scratch = marked;
        count
    }

    /// Tokens of such a segment, from the cache if it has them.
    fn count_long(&mut self, segment: &[u8], hash: u64) -> usize {
        self.cache.long(segment, hash).unwrap_or_else(|| {
            let count = self.min_cover(segment);
            self.cache.keep_long(segment, hash, count);
            count
        })
    }

    /// Counts a segment without the cache.
    fn min_cover(&self, segment: &[u8]) -> usize {
        let pieces = &self.vocabulary.pieces;
        if !is_word(segment) {
            return pieces.min_cover(segment) as usize;
        }
        let mut marked = Vec::with_capacity(segment.len() + 3);
        case::mark(str::from_utf8(segment).unwrap_or_default(), self.vocabulary.caps, &mut marked);
        pieces.min_cover(&marked) as usize
    }
}

/// Whether a segment is a word without its markers.
fn is_word(segment: &[u8]) -> bool {
    match segment.first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_alphabetic(),
        Some(&(BOW | EOW)) | None => false,
        Some(_) => Bits::at(decode(segment, 0).0).class() == Class::Wordy,
    }
}

/// A lookup of the queued segments.
struct FindAll<'w> {
    cache: &'w Cache,
    queue: &'w [Probe],
    missed: &'w mut Vec<Probe>,
}

impl Work for FindAll<'_> {
    type Output = usize;

    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the page
    fn run(self, kernel: impl Kernel) -> usize {
        find_all(kernel, self.cache.short.get(), self.queue, self.missed)
    }
}
