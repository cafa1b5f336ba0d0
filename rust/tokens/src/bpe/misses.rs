//! Cache misses of a thread, in a queue: a full queue prefetches the lines of the vocabulary together, and merges side by
//! side the pretokens that are not in it.

use std::ops::Range;

use crate::bpe::cache::{BATCH, Cache, Probe, find, line_of};
use crate::bpe::merge;
use crate::bpe::merge_state::{DIRECT, Scratch, count_all};
use crate::bpe::pretokenize::classes::point_at;
use crate::bpe::tables::{Key, SHORT, Tables};
use crate::cancel;
use trimtab_simd::{Kernel, Work, prefetch, run};

/// Pretokens that push to be looked up together.
pub const MISSES: usize = 64;

/// Pretokens of more than [`SHORT`] bytes of which no more are merged side by side: most take 320 bytes of the nearest cache.
const SIDE_BY_SIDE: usize = 64;

/// A pretoken of at most [`SHORT`] bytes that was not seen lately, and which count it adds to.
#[derive(Clone, Copy)]
pub struct Miss {
    pub asked: Probe,
    pub to: usize,
}

/// A longer one: where its bytes push.
struct Long {
    bytes: Range<usize>,
    hash: u64,
    to: usize,
}

/// What waits.
#[derive(Default)]
pub struct MissQueue {
    short: Vec<Miss>,
    long: Vec<Long>,
    /// The bytes of the long ones: their text may be gone when they are counted.
    bytes: Vec<u8>,
    parts: Splits,
    once: Dedup,
}

/// Parts of pretokens, each with the number of its pretoken.
#[derive(Default)]
struct Splits {
    short: Vec<Miss>,
    /// Those that are known to be neither remembered nor in the vocabulary.
    whole: Vec<Miss>,
    long: Vec<(Range<usize>, usize)>,
    /// Tokens of each pretoken so far.
    tokens: Vec<usize>,
}

impl MissQueue {
    /// Leaves a pretoken for later.
    #[inline]
    pub fn push(&mut self, tables: &Tables, asked: Probe, to: usize) {
        prefetch(tables.line(asked.hash));
        self.short.push(Miss { asked, to });
    }

    /// Leaves a pretoken for later that no key holds.
    pub fn push_long(&mut self, pretoken: &[u8], hash: u64, to: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(pretoken);
        self.long.push(Long { bytes: start..start + pretoken.len(), hash, to });
    }

    /// Whether it is time to count what waits.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.short.len() >= MISSES || self.long.len() >= SIDE_BY_SIDE
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

    /// Tokens of a pretoken that is too long to be remembered.
    pub fn count(&mut self, tables: &Tables, cache: &mut Cache, pretoken: &[u8]) -> usize {
        let mut apart = SubSplit { tables, cache, once: &mut self.once, parts: &mut self.parts, bytes: pretoken };
        apart.sub_split(pretoken, 0..pretoken.len(), 0);
        apart.resolve();
        self.parts.tokens.drain(..).sum()
    }

    /// Counts what waits, and remembers it.
    pub fn flush(&mut self, tables: &Tables, cache: &mut Cache, counts: &mut [usize]) {
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
        let mut apart = SubSplit { tables, cache, once, parts, bytes };
        for (number, waiting) in short.iter().enumerate() {
            let pretoken = waiting.asked.key.bytes();
            apart.sub_split(pretoken.as_ref(), 0..pretoken.as_ref().len(), number);
        }
        for (number, long) in (short.len()..).zip(&*long) {
            apart.sub_split(bytes, long.bytes.clone(), number);
        }
        apart.resolve();
        let mut tokens = parts.tokens.drain(..);
        for (Miss { asked: Probe { key, hash }, to }, count) in short.drain(..).zip(&mut tokens) {
            // One that did not fall apart is there already, as is one that waited twice.
            cache.learn_short(key, hash, count);
            counts[to] += count;
        }
        for (Long { bytes: pretoken, hash, to }, count) in long.drain(..).zip(tokens) {
            cache.learn_long(&bytes[pretoken], hash, count);
            counts[to] += count;
        }
        bytes.clear();
    }
}

/// Counts those of `waiting` that are remembered or in the vocabulary; the others are left.
struct Known<'w> {
    tables: &'w Tables,
    cache: &'w mut Cache,
    waiting: &'w mut Vec<Miss>,
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
            let Miss { asked: Probe { key, hash }, to } = waiting[at];
            // An equal pretoken may have waited before it.
            let known = find(kernel, cache.line(hash), key).or_else(|| {
                let count = tables.find_short(key, hash, |line, key| find(kernel, line, key));
                count.inspect(|&count| cache.keep_short(key, hash, count))
            });
            counts[to] += known.unwrap_or(0);
            waiting[stay] = waiting[at];
            stay += usize::from(known.is_none());
        }
        waiting.truncate(stay);
    }
}

/// Merges each distinct pretoken once: a new name often repeats at once.
#[derive(Default)]
struct Dedup {
    scratch: Scratch,
    /// Pretokens that are all different but for a few.
    pretokens: Vec<Miss>,
    /// Tokens of each.
    tokens: Vec<usize>,
    /// Which of them came again, and which count it adds to.
    again: Vec<(usize, usize)>,
}

impl Dedup {
    /// Counts and remembers pretokens that are known to be nowhere yet.
    fn merge(&mut self, tables: &Tables, cache: &mut Cache, pretokens: &mut Vec<Miss>, counts: &mut [usize]) {
        let mut places = [0_usize; 256];
        for waiting in pretokens.drain(..) {
            let place = &mut places[line_of::<256>(waiting.asked.hash)];
            match self.pretokens.get(*place) {
                Some(known) if known.asked.key == waiting.asked.key => self.again.push((*place, waiting.to)),
                _ => {
                    *place = self.pretokens.len();
                    self.pretokens.push(waiting);
                }
            }
        }
        let (once, tokens) = (&self.pretokens, &mut self.tokens);
        tokens.resize(once.len(), 0);
        let bytes = once.iter().map(|waiting| waiting.asked.key.bytes());
        count_all(tables, &mut self.scratch, bytes, |number, count| {
            let Miss { asked: Probe { key, hash }, to } = once[number];
            cache.learn_short(key, hash, count);
            counts[to] += count;
            tokens[number] = count;
        });
        for (number, to) in self.again.drain(..) {
            counts[to] += self.tokens[number];
        }
        self.pretokens.clear();
    }
}

/// Pretokens that fall apart.
struct SubSplit<'w> {
    tables: &'w Tables,
    cache: &'w mut Cache,
    once: &'w mut Dedup,
    parts: &'w mut Splits,
    /// The text of the long parts.
    bytes: &'w [u8],
}

impl SubSplit<'_> {
    /// The parts of a pretoken: it falls apart where no token may span two characters.
    fn sub_split(&mut self, text: &[u8], pretoken: Range<usize>, number: usize) {
        self.parts.tokens.push(0);
        if text[pretoken.clone()].is_ascii() {
            return self.part(text, pretoken.clone(), pretoken, None, number);
        }
        let cross = &self.tables.cross;
        let (mut start, mut at) = (pretoken.start, pretoken.start);
        let (mut last, mut alone) = (0, true); // the character before `at`, and whether it is all there is since `start`
        while let Some((point, length)) = point_at(&text[..pretoken.end], at) {
            cancel::poll_at(at);
            if at > start {
                if (last | point) >= 0x80 && !cross.may(last, point, text[at - 1], text[at]) {
                    self.part(text, pretoken.clone(), start..at, alone.then_some(last), number);
                    (start, alone) = (at, true);
                } else {
                    alone = false;
                }
            }
            last = point;
            at += length;
        }
        self.part(text, pretoken, start..at, alone.then_some(last), number);
    }

    /// Adds a part of a pretoken to the others; `alone`: the character that it is, if it is but one.
    #[inline]
    fn part(&mut self, text: &[u8], pretoken: Range<usize>, part: Range<usize>, alone: Option<u32>, number: usize) {
        let parts = &mut *self.parts;
        if let Some(count) = alone.and_then(|char| self.tables.char(char)) {
            parts.tokens[number] += count;
        } else if part.len() <= SHORT {
            let key = Key::of(text, part.start, part.end);
            let waiting = Miss { asked: Probe { key, hash: key.hash() }, to: number };
            if part == pretoken {
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
        let Splits { short, whole, long, tokens } = &mut *self.parts;
        run(Known { tables: self.tables, cache: &mut *self.cache, waiting: short, counts: tokens });
        whole.append(short);
        self.once.merge(self.tables, self.cache, whole, tokens);
        let pretokens = long.iter().map(|(part, _)| &self.bytes[part.clone()]);
        count_all(self.tables, &mut self.once.scratch, pretokens, |number, count| tokens[long[number].1] += count);
        long.clear();
    }
}
