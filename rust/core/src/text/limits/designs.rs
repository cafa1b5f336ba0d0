//! Ways to count that were not taken, beside the one that was.

use super::super::cache::{Asked, Batch, SHORTS, find, find_all, line_of};
use super::super::engine::Worker;
use super::super::lines::Lines;
use super::super::split::solid;
use super::super::tables::Tables;
use super::super::vocabulary::Vocabulary;
use super::super::{merge, simd};

/// What is kept from text to text, and what becomes of one.
pub trait Design {
    fn count(&mut self, text: &[u8]) -> usize;
}

/// A design by its name, new.
pub type Made = (&'static str, fn(&'static Vocabulary) -> Box<dyn Design>);

pub const DESIGNS: [Made; 6] = [
    ("what there is", |vocabulary| Box::new(Ready::new(Worker::new(vocabulary)))),
    ("the vocabulary in the table before", |vocabulary| Box::new(Ready::new(Worker::seeded(vocabulary)))),
    ("256 KB in front of the table", |vocabulary| Box::new(Fronted::<{ 1 << 12 }>::new(vocabulary))),
    ("1 MB in front of the table", |vocabulary| Box::new(Fronted::<{ 1 << 14 }>::new(vocabulary))),
    ("unknown pieces one by one", |vocabulary| Box::new(OneByOne::new(vocabulary))),
    ("no table: vocabulary, merging", |vocabulary| Box::new(Bare::new(vocabulary))),
];

/// The engine, its tables on large pages.
struct Ready(Worker);

impl Ready {
    fn new(mut worker: Worker) -> Self {
        worker.expect(usize::MAX);
        Self(worker)
    }
}

impl Design for Ready {
    fn count(&mut self, text: &[u8]) -> usize {
        self.0.count(text)
    }
}

/// Splits `text`, and asks `lines` for its pieces: those that it knows are counted, `rest` gets a batch of the others.
fn split<const N: usize>(
    vocabulary: &Vocabulary,
    lines: &Lines<N>,
    text: &[u8],
    at: &mut usize,
    batch: &mut Batch,
) -> usize {
    let (scheme, whole) = (vocabulary.scheme, vocabulary.tables.whole_numbers);
    let (end, tokens) = simd::count(scheme, whole, lines.get(), text, solid(text), *at, batch)
        .expect("the designs are compared where the processor has AVX2");
    *at = end;
    tokens
}

/// A small table that stays in a nearer cache, before the large one.
struct Fronted<const N: usize> {
    vocabulary: &'static Vocabulary,
    worker: Worker,
    front: Lines<N>,
    batch: Batch,
    /// Pieces that are brought to the front when the large table has them.
    late: Vec<Asked>,
}

impl<const N: usize> Fronted<N> {
    fn new(vocabulary: &'static Vocabulary) -> Self {
        let mut worker = Worker::new(vocabulary);
        worker.expect(usize::MAX);
        let front = Lines::on_large_pages();
        Self { vocabulary, worker, front, batch: Batch::default(), late: Vec::new() }
    }
}

impl<const N: usize> Design for Fronted<N> {
    fn count(&mut self, text: &[u8]) -> usize {
        let (mut counts, mut at) = ([0], 0);
        while at < text.len() {
            counts[0] += split(self.vocabulary, &self.front, text, &mut at, &mut self.batch);
            for asked in &self.batch.missed {
                self.worker.cache.prefetch_short(asked.hash);
            }
            counts[0] += find_all(self.worker.cache.short.get(), &self.batch.missed, &mut self.worker.batch.missed);
            self.late.append(&mut self.batch.missed);
            self.worker.batch.longer.append(&mut self.batch.longer);
            counts[0] += self.worker.left(text, 0);
            if self.worker.unknown.are_enough() || at >= text.len() {
                self.worker.settle(&mut counts);
                for Asked { key, hash } in self.late.drain(..) {
                    let line = &mut self.front.get_mut()[line_of::<N>(hash)];
                    if let (Some(count), None) = (self.worker.cache.short(key, hash), find(line, key)) {
                        line.copy_within(0..3, 1);
                        line.copy_within(4..7, 5);
                        (line[0], line[4]) = (key.low, key.with_count(count));
                    }
                }
            }
        }
        counts[0]
    }
}

/// A piece that was not seen lately is looked up in the vocabulary and merged before the next one.
struct OneByOne {
    vocabulary: &'static Vocabulary,
    worker: Worker,
}

impl OneByOne {
    fn new(vocabulary: &'static Vocabulary) -> Self {
        let mut worker = Worker::new(vocabulary);
        worker.expect(usize::MAX);
        Self { vocabulary, worker }
    }
}

impl Design for OneByOne {
    fn count(&mut self, text: &[u8]) -> usize {
        let (mut counts, mut at) = ([0], 0);
        while at < text.len() {
            let Worker { cache, batch, .. } = &mut self.worker;
            counts[0] += split(self.vocabulary, &cache.short, text, &mut at, batch);
            for Asked { key, hash } in batch.missed.drain(..) {
                counts[0] += cache.short(key, hash).unwrap_or_else(|| {
                    let count = alone(&self.vocabulary.tables, Asked { key, hash });
                    cache.keep_short(key, hash, count);
                    count
                });
            }
            counts[0] += self.worker.left(text, 0);
            self.worker.settle(&mut counts);
        }
        counts[0]
    }
}

/// Each piece is looked up in the vocabulary, and merged if it is not there, as often as it comes.
struct Bare {
    vocabulary: &'static Vocabulary,
    nothing: Lines<{ SHORTS }>,
    batch: Batch,
}

impl Bare {
    fn new(vocabulary: &'static Vocabulary) -> Self {
        Self { vocabulary, nothing: Lines::default(), batch: Batch::default() }
    }
}

impl Design for Bare {
    fn count(&mut self, text: &[u8]) -> usize {
        let (tables, mut total, mut at) = (&self.vocabulary.tables, 0, 0);
        while at < text.len() {
            total += split(self.vocabulary, &self.nothing, text, &mut at, &mut self.batch);
            for asked in &self.batch.missed {
                simd::prefetch(tables.line(asked.hash));
            }
            total += self.batch.missed.drain(..).map(|asked| alone(tables, asked)).sum::<usize>();
            total += self.batch.longer.drain(..).map(|(piece, _)| merge::count(tables, &text[piece])).sum::<usize>();
        }
        total
    }
}

/// Tokens of a piece by itself.
fn alone(tables: &Tables, Asked { key, hash }: Asked) -> usize {
    tables.seed(key, hash, find).unwrap_or_else(|| merge::count(tables, key.bytes().as_ref()))
}
