//! Pieces that a thread has not seen lately: they wait until there are enough of them for their lines of the vocabulary to
//! be asked for together, and for those that are not there to be merged side by side.

use std::ops::Range;

use super::cache::{Asked, BATCH, Cache, find, line_of};
use super::class::point_at;
use super::merge;
use super::merging::{DIRECT, Room, together};
use super::tables::{Key, SHORT, Tables};
use crate::stop;
use trimtab_simd::{Kernel, Work, prefetch, run};

/// Pieces that wait to be looked up together.
pub const WAITING: usize = 64;

/// Pieces of more than [`SHORT`] bytes of which no more are merged side by side: most take 320 bytes of the nearest cache.
const SIDE_BY_SIDE: usize = 64;

/// A piece of at most [`SHORT`] bytes that was not seen lately, and which count it adds to.
#[derive(Clone, Copy)]
pub struct Waiting {
    pub asked: Asked,
    pub to: usize,
}

/// A longer one: where its bytes wait.
struct Long {
    bytes: Range<usize>,
    hash: u64,
    to: usize,
}

/// What waits.
#[derive(Default)]
pub struct Unknown {
    short: Vec<Waiting>,
    long: Vec<Long>,
    /// The bytes of the long ones: their text may be gone when they are counted.
    bytes: Vec<u8>,
    parts: Parts,
    once: Once,
}

/// Parts of pieces, each with the number of its piece.
#[derive(Default)]
struct Parts {
    short: Vec<Waiting>,
    /// Those that are known to be neither remembered nor in the vocabulary.
    whole: Vec<Waiting>,
    long: Vec<(Range<usize>, usize)>,
    /// Tokens of each piece so far.
    tokens: Vec<usize>,
}

impl Unknown {
    /// Leaves a piece for later.
    #[inline]
    pub fn wait(&mut self, tables: &Tables, asked: Asked, to: usize) {
        prefetch(tables.line(asked.hash));
        self.short.push(Waiting { asked, to });
    }

    /// Leaves a piece for later that no key holds.
    pub fn wait_long(&mut self, piece: &[u8], hash: u64, to: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(piece);
        self.long.push(Long { bytes: start..start + piece.len(), hash, to });
    }

    /// Whether it is time to count what waits.
    #[inline]
    pub fn are_enough(&self) -> bool {
        self.short.len() >= WAITING || self.long.len() >= SIDE_BY_SIDE
    }

    /// The fewest and the most tokens of what waits.
    #[inline]
    pub fn tokens(&self) -> (usize, usize) {
        (self.short.len() + self.long.len(), self.short.len() * SHORT + self.bytes.len())
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.short.clear();
        self.long.clear();
        self.bytes.clear();
    }

    /// Tokens of a piece that is too long to be remembered.
    pub fn count(&mut self, tables: &Tables, cache: &mut Cache, piece: &[u8]) -> usize {
        let mut apart = Apart { tables, cache, once: &mut self.once, parts: &mut self.parts, bytes: piece };
        apart.fall_apart(piece, 0..piece.len(), 0);
        apart.resolve();
        self.parts.tokens.drain(..).sum()
    }

    /// Counts what waits, and remembers it.
    pub fn settle(&mut self, tables: &Tables, cache: &mut Cache, counts: &mut [usize]) {
        let Self { short, long, bytes, parts, once } = self;
        if short.is_empty() && long.is_empty() {
            return;
        }
        run(Known { tables, cache, waiting: short, counts });
        // ASCII does not fall apart.
        parts.whole.extend(short.extract_if(.., |waiting| waiting.asked.key.is_ascii()));
        once.merge(tables, cache, &mut parts.whole, counts);
        if short.is_empty() && long.is_empty() {
            return;
        }
        let mut apart = Apart { tables, cache, once, parts, bytes };
        for (number, waiting) in short.iter().enumerate() {
            let piece = waiting.asked.key.bytes();
            apart.fall_apart(piece.as_ref(), 0..piece.as_ref().len(), number);
        }
        for (number, long) in (short.len()..).zip(&*long) {
            apart.fall_apart(bytes, long.bytes.clone(), number);
        }
        apart.resolve();
        let mut tokens = parts.tokens.drain(..);
        for (Waiting { asked: Asked { key, hash }, to }, count) in short.drain(..).zip(&mut tokens) {
            // One that did not fall apart is there already, as is one that waited twice.
            cache.learn_short(key, hash, count);
            counts[to] += count;
        }
        for (Long { bytes: piece, hash, to }, count) in long.drain(..).zip(tokens) {
            cache.learn_long(&bytes[piece], hash, count);
            counts[to] += count;
        }
        bytes.clear();
    }
}

/// Counts those of `waiting` that are remembered or in the vocabulary; the others are left.
struct Known<'w> {
    tables: &'w Tables,
    cache: &'w mut Cache,
    waiting: &'w mut Vec<Waiting>,
    counts: &'w mut [usize],
}

impl Work for Known<'_> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)] // compiled for the page
    fn run(self, kernel: impl Kernel) {
        let Self { tables, cache, waiting, counts } = self;
        let mut stay = 0;
        for at in 0..waiting.len() {
            let Waiting { asked: Asked { key, hash }, to } = waiting[at];
            // An equal piece may have waited before it.
            let known = find(kernel, cache.line(hash), key).or_else(|| {
                let count = tables.seed(key, hash, |line, key| find(kernel, line, key));
                count.inspect(|&count| cache.keep_short(key, hash, count))
            });
            counts[to] += known.unwrap_or(0);
            waiting[stay] = waiting[at];
            stay += usize::from(known.is_none());
        }
        waiting.truncate(stay);
    }
}

/// Merges pieces, each of them once: where a name is new, it often comes again at once.
#[derive(Default)]
struct Once {
    room: Room,
    /// Pieces that are all different but for a few.
    pieces: Vec<Waiting>,
    /// Tokens of each.
    tokens: Vec<usize>,
    /// Which of them came again, and which count it adds to.
    again: Vec<(usize, usize)>,
}

impl Once {
    /// Counts and remembers pieces that are known to be nowhere yet.
    fn merge(&mut self, tables: &Tables, cache: &mut Cache, pieces: &mut Vec<Waiting>, counts: &mut [usize]) {
        let mut places = [0_usize; 256];
        for waiting in pieces.drain(..) {
            let place = &mut places[line_of::<256>(waiting.asked.hash)];
            match self.pieces.get(*place) {
                Some(known) if known.asked.key == waiting.asked.key => self.again.push((*place, waiting.to)),
                _ => {
                    *place = self.pieces.len();
                    self.pieces.push(waiting);
                }
            }
        }
        let (once, tokens) = (&self.pieces, &mut self.tokens);
        tokens.resize(once.len(), 0);
        let bytes = once.iter().map(|waiting| waiting.asked.key.bytes());
        together(tables, &mut self.room, bytes, |number, count| {
            let Waiting { asked: Asked { key, hash }, to } = once[number];
            cache.learn_short(key, hash, count);
            counts[to] += count;
            tokens[number] = count;
        });
        for (number, to) in self.again.drain(..) {
            counts[to] += self.tokens[number];
        }
        self.pieces.clear();
    }
}

/// Pieces that fall apart.
struct Apart<'w> {
    tables: &'w Tables,
    cache: &'w mut Cache,
    once: &'w mut Once,
    parts: &'w mut Parts,
    /// The text of the long parts.
    bytes: &'w [u8],
}

impl Apart<'_> {
    /// The parts of a piece: it falls apart where no token may span two characters.
    fn fall_apart(&mut self, text: &[u8], piece: Range<usize>, number: usize) {
        self.parts.tokens.push(0);
        if text[piece.clone()].is_ascii() {
            return self.part(text, piece.clone(), piece, None, number);
        }
        let cross = &self.tables.cross;
        let (mut start, mut at) = (piece.start, piece.start);
        let (mut last, mut alone) = (0, true); // the character before `at`, and whether it is all there is since `start`
        while let Some((point, length)) = point_at(&text[..piece.end], at) {
            stop::along(at);
            if at > start {
                if (last | point) >= 0x80 && !cross.may(last, point, text[at - 1], text[at]) {
                    self.part(text, piece.clone(), start..at, alone.then_some(last), number);
                    (start, alone) = (at, true);
                } else {
                    alone = false;
                }
            }
            last = point;
            at += length;
        }
        self.part(text, piece, start..at, alone.then_some(last), number);
    }

    /// Adds a part of a piece to the others; `alone`: the character that it is, if it is but one.
    #[inline]
    fn part(&mut self, text: &[u8], piece: Range<usize>, part: Range<usize>, alone: Option<u32>, number: usize) {
        let parts = &mut *self.parts;
        if let Some(count) = alone.and_then(|char| self.tables.char(char)) {
            parts.tokens[number] += count;
        } else if part.len() <= SHORT {
            let key = Key::of(text, part.start, part.end);
            let waiting = Waiting { asked: Asked { key, hash: key.hash() }, to: number };
            if part == piece {
                parts.whole.push(waiting);
            } else {
                self.cache.prefetch_short(waiting.asked.hash);
                prefetch(self.tables.line(waiting.asked.hash));
                parts.short.push(waiting);
            }
        } else if part.len() <= DIRECT {
            parts.long.push((part, number));
        } else {
            parts.tokens[number] += merge::count(self.tables, &text[part]);
        }
        if self.parts.short.len() == BATCH || self.parts.long.len() == SIDE_BY_SIDE {
            self.resolve();
        }
    }

    /// Counts the parts: those that were not seen lately are looked up in the vocabulary, those that are not there merged.
    fn resolve(&mut self) {
        let Parts { short, whole, long, tokens } = &mut *self.parts;
        run(Known { tables: self.tables, cache: &mut *self.cache, waiting: short, counts: tokens });
        whole.append(short);
        self.once.merge(self.tables, self.cache, whole, tokens);
        let pieces = long.iter().map(|(part, _)| &self.bytes[part.clone()]);
        together(self.tables, &mut self.once.room, pieces, |number, count| tokens[long[number].1] += count);
        long.clear();
    }
}
