//! What the parts of counting cost by themselves, and what memory does; built for `make bench-limits` alone.
#![allow(missing_docs, clippy::cast_precision_loss, clippy::cast_possible_truncation)]

use std::hint::black_box;
use std::time::Instant;

use super::Encoding;
use super::cache::{Asked, BATCH, Batch, Cache, Pieces, SHORTS, find, find_all, line_of, look_up};
use super::engine::Worker;
use super::lines::Line;
use super::simd;
use super::split::solid;
use super::tables::{Key, SHORT};

/// Rounds in which the parts take turns; the fastest of each is what it costs where nothing else runs.
const ROUNDS: usize = 9;

/// What a part costs: its name, and nanoseconds a piece.
pub type Cost = (&'static str, f64);

/// A corpus, and what its parts cost.
pub struct Study {
    pub bytes: usize,
    pub pieces: usize,
    /// Pieces that were not in the table when they were met for the first time, and how many of them no vocabulary has.
    pub missed: usize,
    pub merged: usize,
    pub costs: Vec<Cost>,
}

/// A text, with the ends of its pieces.
struct Split<'t> {
    text: &'t [u8],
    ends: Vec<usize>,
}

#[must_use]
pub fn study(encoding: Encoding, texts: &[String]) -> Study {
    let vocabulary = encoding.inside();
    let worker = Worker::new(vocabulary);
    let texts: Vec<Split<'_>> =
        texts.iter().map(String::as_bytes).map(|text| Split { text, ends: worker.split(text, 0) }).collect();
    let asked: Vec<Asked> = texts.iter().flat_map(keys).collect();
    let mut cache = Cache::default();
    let (mut missed, mut merged) = (0, 0);
    for Asked { key, hash } in &asked {
        if cache.short(*key, *hash).is_none() {
            missed += 1;
            merged += usize::from(vocabulary.tables.seed(*key, *hash, find).is_none());
            cache.keep_short(*key, *hash, 1);
        }
    }
    let pieces = texts.iter().map(|text| text.ends.len()).sum();
    let mut costs: Vec<Cost> = Vec::new();
    let mut buffer = vec![0; BATCH];
    let mut batch = Batch::default();
    for _ in 0..ROUNDS {
        let mut part = |name: &'static str, units: usize, work: &mut dyn FnMut() -> usize| {
            let start = Instant::now();
            black_box(work());
            let cost = start.elapsed().as_secs_f64() * 1e9 / units as f64;
            match costs.iter_mut().find(|(known, _)| *known == name) {
                Some((_, least)) => *least = least.min(cost),
                None => costs.push((name, cost)),
            }
        };
        let mut worker = Worker::new(vocabulary);
        part("all, cold", pieces, &mut || count(&mut worker, &texts));
        part("all, warm", pieces, &mut || count(&mut worker, &texts));
        part("splitting", pieces, &mut || texts.iter().map(|text| split(encoding, text.text, &mut buffer)).sum());
        part("keys and hashes, ends given", pieces, &mut || {
            texts.iter().flat_map(keys).fold(0, |sum, asked| sum ^ asked.hash as usize)
        });
        part("looking up, ends given", pieces, &mut || {
            texts.iter().map(|text| found(cache.short.get(), text, &mut batch)).sum()
        });
        part("looking up, keys given", pieces, &mut || {
            let mut missed = Vec::new();
            asked.chunks(BATCH).map(|some| find_all(cache.short.get(), some, &mut missed)).sum()
        });
        part("their lines touched, keys given", pieces, &mut || touched(cache.short.get(), &asked));
        part("a line of the table behind another", 1 << 20, &mut || chased(cache.short.get()));
        let mut seeded = Worker::seeded(vocabulary);
        part("all, cold, the vocabulary in the table before", pieces, &mut || count(&mut seeded, &texts));
    }
    Study { bytes: texts.iter().map(|text| text.text.len()).sum(), pieces, missed, merged, costs }
}

fn count(worker: &mut Worker, texts: &[Split<'_>]) -> usize {
    texts.iter().map(|text| worker.count(text.text)).sum()
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

/// The keys of the short pieces of a text.
fn keys<'t>(split: &'t Split<'_>) -> impl Iterator<Item = Asked> + 't {
    let mut at = 0;
    split.ends.iter().filter_map(move |&end| {
        let start = std::mem::replace(&mut at, end);
        (end - start <= SHORT).then(|| {
            let key = Key::of(split.text, start, end);
            Asked { key, hash: key.hash() }
        })
    })
}

fn found(lines: &[Line; SHORTS], split: &Split<'_>, batch: &mut Batch) -> usize {
    let (mut start, mut total) = (0, 0);
    for ends in split.ends.chunks(BATCH) {
        total += look_up(lines, Pieces { text: split.text, start, ends }, batch);
        batch.missed.clear();
        batch.longer.clear();
        start = ends[ends.len() - 1];
    }
    total
}

/// The lines of the pieces read in order, none waiting for another: what memory alone costs.
fn touched(lines: &[Line; SHORTS], asked: &[Asked]) -> usize {
    let mut sum = 0;
    for some in asked.chunks(BATCH) {
        let line = |asked: &Asked| &lines[line_of(asked.hash)];
        for asked in some {
            simd::prefetch(line(asked));
        }
        sum ^= some.iter().fold(0, |sum, asked| sum ^ line(asked)[0] as usize);
    }
    sum
}

/// A million lines, each at a place that the one before it says.
fn chased(lines: &[Line; SHORTS]) -> usize {
    let mut at = 1_usize;
    for _ in 0..1 << 20 {
        // Entries begin with bytes of a text: the first word changes nothing but that it must be there.
        at = at
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F ^ lines[at >> 20 & (SHORTS - 1)][0] as usize);
    }
    at
}
