//! What the parts of counting cost by themselves, what memory does, and what other designs do; built for
//! `make bench-limits` alone.
#![allow(missing_docs, clippy::cast_precision_loss, clippy::cast_possible_truncation)]

mod designs;

use std::collections::HashSet;
use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use self::designs::DESIGNS;
use super::Encoding;
use super::cache::{Asked, BATCH, Cache, SHORTS, find, find_all, hash_of, line_of};
use super::engine::Worker;
use super::lines::{Line, Lines};
use super::merging::Room;
use super::simd;
use super::split::solid;
use super::tables::{Key, SHORT};
use super::unknown::{Unknown, WAITING, Waiting};
use super::vocabulary::Vocabulary;

/// Rounds in which the parts take turns; the fastest of each is what it costs where nothing else runs.
const ROUNDS: usize = 9;

/// Bytes of a page: a table is touched once a page.
const PAGE: usize = 4 * 1024;

/// Bytes that a thread counts before another may take the next ones.
const JOB: usize = 64 * 1024;

/// A corpus, and what its parts cost.
pub struct Study {
    pub bytes: usize,
    pub pieces: usize,
    /// Pieces that were met for the first time, how many of them no vocabulary has, and how many no key holds.
    pub first: usize,
    pub nowhere: usize,
    pub long: usize,
    /// The fastest round of each part in seconds.
    pub parts: Vec<(&'static str, f64)>,
    /// The same of each design, cold and warm.
    pub designs: Vec<(&'static str, [f64; 2])>,
    /// Of a thread that counts all, and of two that count each second job, one after the other: cold and warm.
    pub shared: [[f64; 2]; 3],
}

/// The pieces of a corpus.
#[derive(Default)]
struct Pieces<'t> {
    count: usize,
    asked: Vec<Asked>,
    /// Those that are met for the first time: in the vocabulary or not, ASCII that is not, what falls apart, long ones.
    first: Vec<Asked>,
    ascii: Vec<Asked>,
    beyond: Vec<Asked>,
    long: Vec<&'t [u8]>,
}

impl<'t> Pieces<'t> {
    fn of(vocabulary: &'static Vocabulary, texts: &[&'t [u8]]) -> Self {
        let (mut pieces, mut met, worker) = (Self::default(), HashSet::new(), Worker::new(vocabulary));
        for text in texts {
            let mut start = 0;
            for end in worker.split(text, 0) {
                let piece = &text[std::mem::replace(&mut start, end)..end];
                pieces.count += 1;
                let key = (piece.len() <= SHORT).then(|| Key::of(piece, 0, piece.len()));
                let asked = key.map(|key| Asked { key, hash: key.hash() });
                pieces.asked.extend(asked);
                if piece.len() == 1 || !met.insert(piece) {
                    continue;
                }
                let Some(asked) = asked else {
                    pieces.long.push(piece);
                    continue;
                };
                pieces.first.push(asked);
                if vocabulary.tables.seed(asked.key, asked.hash, find).is_none() {
                    if asked.key.is_ascii() { &mut pieces.ascii } else { &mut pieces.beyond }.push(asked);
                }
            }
        }
        pieces
    }
}

/// The fastest of some rounds, by name.
struct Least<T>(Vec<(&'static str, T)>);

impl Least<f64> {
    fn time(&mut self, name: &'static str, work: impl FnOnce() -> usize) {
        let seconds = timed(work);
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, least)) => *least = least.min(seconds),
            None => self.0.push((name, seconds)),
        }
    }
}

/// CPU time of this thread.
fn now() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn timed(work: impl FnOnce() -> usize) -> f64 {
    let start = now();
    black_box(work());
    now() - start
}

/// # Panics
///
/// If two designs count differently.
#[must_use]
pub fn study(encoding: Encoding, texts: &[String]) -> Study {
    let vocabulary = encoding.inside();
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let pieces = Pieces::of(vocabulary, &texts);
    let mut parts = Least(Vec::new());
    let mut designs: Vec<_> = DESIGNS.map(|(name, _)| (name, [f64::INFINITY; 2])).into();
    let mut shared = [[f64::INFINITY; 2]; 3];
    for _ in 0..ROUNDS {
        time_parts(encoding, &texts, &pieces, &mut parts);
        let mut right = None;
        for ((name, make), (_, least)) in DESIGNS.iter().zip(&mut designs) {
            let mut design = make(vocabulary);
            for least in least {
                let mut tokens = 0;
                *least = least.min(timed(|| {
                    tokens = texts.iter().map(|text| design.count(text)).sum();
                    tokens
                }));
                assert_eq!(*right.get_or_insert(tokens), tokens, "{name}");
            }
        }
        for (which, least) in [None, Some(0), Some(1)].into_iter().zip(&mut shared) {
            let mut worker = Worker::new(vocabulary);
            worker.expect(usize::MAX);
            for least in least {
                *least = least.min(timed(|| count_jobs(&mut worker, &texts, which)));
            }
        }
    }
    Study {
        bytes: texts.iter().map(|text| text.len()).sum(),
        pieces: pieces.count,
        first: pieces.first.len() + pieces.long.len(),
        nowhere: pieces.ascii.len() + pieces.beyond.len(),
        long: pieces.long.len(),
        parts: parts.0,
        designs,
        shared,
    }
}

/// Counts all jobs of about [`JOB`] bytes, or those of one of two threads.
fn count_jobs(worker: &mut Worker, texts: &[&[u8]], which: Option<usize>) -> usize {
    let (mut seen, mut total) = (0, 0);
    for text in texts {
        if which.is_none_or(|which| seen / JOB % 2 == which) {
            total += worker.count(text);
        }
        seen += text.len();
    }
    total
}

fn time_parts(encoding: Encoding, texts: &[&[u8]], pieces: &Pieces<'_>, least: &mut Least<f64>) {
    let tables = &encoding.inside().tables;
    let (mut full, mut ends) = (Cache::default(), vec![0; BATCH]);
    least.time("fresh tables, a write a page", || {
        full.expect(usize::MAX);
        let mut long = Lines::<{ 1 << 17 }>::on_large_pages();
        for line in (0..SHORTS).step_by(PAGE / size_of::<Line>()) {
            full.short.get_mut()[line][7] = 0;
            long.get_mut()[2 * line][7] = 0;
        }
        long.get()[1][0] as usize
    });
    least.time("splitting", || texts.iter().map(|text| split(encoding, text, &mut ends)).sum());
    least.time("remembering pieces met for the first time", || {
        for Asked { key, hash } in &pieces.first {
            full.keep_short(*key, *hash, 1);
        }
        0
    });
    least.time("looking up in the table, keys given", || {
        let mut missed = Vec::new();
        let ask = |some: &[Asked]| {
            for asked in some {
                full.prefetch_short(asked.hash);
            }
            find_all(full.short.get(), some, &mut missed)
        };
        pieces.asked.chunks(BATCH).map(ask).sum()
    });
    least.time("the same lines touched, none waiting for another", || touched(full.short.get(), &pieces.asked));
    let mut cache = Cache::default();
    cache.expect(usize::MAX);
    least.time("looking up in the vocabulary, those met for the first time", || {
        let (mut counts, mut some) = ([0], Vec::new());
        for pieces in pieces.first.chunks(WAITING) {
            for asked in pieces {
                simd::prefetch(tables.line(asked.hash));
            }
            some.clear();
            some.extend(pieces.iter().map(|&asked| Waiting { asked, to: 0 }));
            simd::known(tables, &mut cache, &mut some, &mut counts);
        }
        counts[0]
    });
    let mut room = Room::default();
    least.time("merging ASCII that no vocabulary has", || {
        let mut total = 0;
        for some in pieces.ascii.chunks(WAITING) {
            simd::together(tables, &mut room, some.iter().map(|asked| asked.key.bytes()), |_, count| total += count);
        }
        total
    });
    least.time("the same one by one", || {
        pieces.ascii.iter().map(|asked| simd::direct(tables, asked.key.bytes().as_ref())).sum()
    });
    let (mut unknown, mut counts) = (Unknown::default(), [0]);
    least.time("taking apart and merging what is beyond ASCII or long", || {
        for &asked in &pieces.beyond {
            unknown.wait(tables, asked, 0);
            if unknown.are_enough() {
                unknown.settle(tables, &mut cache, &mut counts);
            }
        }
        for piece in &pieces.long {
            unknown.wait_long(piece, hash_of(piece), 0);
            if unknown.are_enough() {
                unknown.settle(tables, &mut cache, &mut counts);
            }
        }
        unknown.settle(tables, &mut cache, &mut counts);
        counts[0]
    });
}

/// Nanoseconds of a line of a table of `N` behind another, each at a place that the one before it says.
#[must_use]
pub fn line_behind_line<const N: usize>() -> f64 {
    let mut table = Lines::<N>::on_large_pages();
    for line in table.get_mut() {
        line[0] = 1;
    }
    let chase = || {
        let mut at = 1_usize;
        for _ in 0..1 << 20 {
            let found = table.get()[at >> 20 & (N - 1)][0] as usize;
            at = at.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814E + found);
        }
        at
    };
    (0..ROUNDS).map(|_| timed(chase)).fold(f64::INFINITY, f64::min) * 1e9 / f64::from(1 << 20)
}

fn split(encoding: Encoding, text: &[u8], ends: &mut [usize]) -> usize {
    let (mut at, mut all, limit) = (0, 0, solid(text));
    while at < text.len() {
        let found = encoding.inside().scheme.fill(text, limit, at, ends);
        at = ends[found - 1];
        all += found;
    }
    all
}

/// The lines of the pieces read in order: what memory alone costs.
fn touched(lines: &[Line; SHORTS], asked: &[Asked]) -> usize {
    let mut sum = 0;
    for some in asked.chunks(BATCH) {
        let line = |asked: &Asked| &lines[line_of::<SHORTS>(asked.hash)];
        for asked in some {
            simd::prefetch(line(asked));
        }
        sum ^= some.iter().fold(0, |sum, asked| sum ^ line(asked)[0] as usize);
    }
    sum
}
