//! Counting many texts: in jobs for threads, which begin with the first while more texts come.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use super::Counter;
use super::count::scale;
use super::engine::parted;
use super::pool::{Sharing, shared};
use super::simd::prefetch_at;
use crate::error::Error;

/// Bytes of a job: at 400 MB/s it takes 160 us, beside which handing it to a thread is noise.
const JOB: usize = 64 * 1024;

/// Texts between the one that is counted and the one whose first bytes are asked for, which processors do not foresee.
const AHEAD: usize = 2;

/// How many of those bytes.
const FIRST: usize = 256;

/// Tokens of texts, and the texts, so that who calls may choose where they are let go of.
pub struct Counted<T> {
    counts: Vec<usize>,
    /// Those that are still held, with their numbers.
    pub texts: Vec<Arc<Vec<(usize, T)>>>,
}

impl<T> Counted<T> {
    /// Tokens of each text.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for a text of more than 4,294,967,295 tokens.
    pub fn tokens(&self) -> Result<Vec<u32>, Error> {
        self.counts.iter().map(|&tokens| u32::try_from(tokens).map_err(|_| Error::Overflow("tokens"))).collect()
    }
}

/// Texts with their numbers, and parts of texts, that one thread counts together.
struct Job<T> {
    texts: Arc<Vec<(usize, T)>>,
    parts: Vec<(usize, Range<usize>)>,
    /// Whether other threads count others.
    is_shared: bool,
}

/// What was made of a job.
type Made<T> = (Job<T>, Vec<usize>);

/// Texts that come one after the other, in any order, and are counted while they do.
pub struct Texts<'t, 's, 'scope, T> {
    sharing: &'t mut Sharing<'s, 'scope, Job<T>, Made<T>>,
    counter: &'t Counter,
    /// Those of the next job.
    next: Vec<(usize, T)>,
    /// What it will take to count them, in bytes.
    effort: usize,
    counts: Vec<usize>,
}

impl<T: AsRef<str> + Send + Sync> Texts<'_, '_, '_, T> {
    /// Adds text `number`, and lets go of some that are counted.
    pub fn add(&mut self, number: usize, text: T) {
        self.effort = self.effort.saturating_add(self.counter.effort(text.as_ref().len(), usize::MAX));
        self.next.push((number, text));
        if self.effort >= JOB {
            let made = self.sharing.done();
            sum(&mut self.counts, &made);
            self.give();
        }
    }

    /// Whether so many of them wait that this thread should count some.
    #[must_use]
    pub fn are_ahead(&self) -> bool {
        self.sharing.is_ahead()
    }

    /// Counts in this thread, until no more wait than other threads will count next.
    pub fn catch_up(&mut self) {
        self.sharing.catch_up();
    }

    fn give(&mut self) {
        let texts = Arc::new(std::mem::take(&mut self.next));
        self.effort = 0;
        let is_shared = self.sharing.is_shared();
        for parts in jobs(&texts, self.counter.counts_parts()) {
            self.sharing.give(Job { texts: Arc::clone(&texts), parts, is_shared });
        }
    }
}

fn sum<T>(counts: &mut Vec<usize>, made: &[Made<T>]) {
    for (job, found) in made {
        for ((index, _), count) in job.parts.iter().zip(found) {
            let number = job.texts[*index].0;
            if number >= counts.len() {
                counts.resize(number + 1, 0);
            }
            counts[number] += count;
        }
    }
}

impl Counter {
    /// Tokens of each text, in parallel where there are enough to gain by it.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for a text of more than 4,294,967,295 tokens.
    pub fn count_many<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<u32>, Error> {
        let Ok(counted) = self.count_given(|given| {
            texts.iter().enumerate().for_each(|(number, text)| given.add(number, text.as_ref()));
            Ok::<_, Infallible>(())
        });
        counted.tokens()
    }

    /// The same of the texts that `give` gives, whose numbers are all from 0 on.
    ///
    /// # Errors
    ///
    /// That of `give`.
    pub fn count_given<T: AsRef<str> + Send + Sync, E>(
        &self,
        give: impl FnOnce(&mut Texts<'_, '_, '_, T>) -> Result<(), E>,
    ) -> Result<Counted<T>, E> {
        let work = |job: Job<T>| {
            let counts = self.together(job.parts.len(), |counting| {
                counting.expect(job.parts.iter().map(|(_, range)| range.len()).sum(), job.is_shared);
                let part = |(index, range): &(usize, Range<usize>)| &job.texts[*index].1.as_ref()[range.clone()];
                for (n, some) in job.parts.iter().enumerate() {
                    if let Some(next) = job.parts.get(n + AHEAD).map(part) {
                        (0..next.len().min(FIRST)).step_by(64).for_each(|at| prefetch_at(next.as_ptr().addr() + at));
                    }
                    counting.of(n);
                    counting.add(part(some));
                }
            });
            (job, counts)
        };
        let mut counts = Vec::new();
        let made = shared(&work, |sharing| {
            let mut texts = Texts { sharing, counter: self, next: Vec::new(), effort: 0, counts: Vec::new() };
            give(&mut texts)?;
            texts.give();
            counts = texts.counts;
            Ok(())
        })?;
        sum(&mut counts, &made);
        let counts = counts.into_iter().map(|count| scale(count, self.rate())).collect();
        Ok(Counted { counts, texts: made.into_iter().map(|(job, _)| job.texts).collect() })
    }
}

/// The texts as jobs: short ones together, long ones in parts where that `may` be.
fn jobs<T: AsRef<str>>(texts: &[(usize, T)], may: bool) -> Vec<Vec<(usize, Range<usize>)>> {
    let (mut jobs, mut job, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (index, (_, text)) in texts.iter().enumerate() {
        let (text, mut start) = (text.as_ref().as_bytes(), 0);
        while may && bytes + text.len() - start > 2 * JOB {
            let wanted = start + JOB.saturating_sub(bytes);
            let Some(stop) = (wanted.max(start + 1)..text.len()).take(JOB).find(|&at| parted(text, at)) else { break };
            job.push((index, start..stop));
            jobs.push(std::mem::take(&mut job));
            (start, bytes) = (stop, 0);
        }
        job.push((index, start..text.len()));
        bytes += text.len() - start;
        if bytes >= JOB {
            jobs.push(std::mem::take(&mut job));
            bytes = 0;
        }
    }
    if !job.is_empty() {
        jobs.push(job);
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chars, Claude, Encoding, Round, Unit};

    fn counters() -> [Counter; 3] {
        let chars = Chars { unit: Unit::Chars, per: 4, round: Round::Ceil };
        [Counter::exact(Encoding::O200k), Counter::claude(Claude::named("claude-new").unwrap()), Counter::length(chars)]
    }

    /// Short texts, empty ones, and some that are longer than a job: one that can be parted and one that cannot.
    fn texts() -> Vec<String> {
        let long = [50_000, 90_000].map(|times| ["a b, ", "\u{4e2d}"].map(|some| some.repeat(times))).concat();
        let short = (0..5_000).map(|i| format!("line {i}: {}", "word ".repeat(i % 17)));
        short.chain(long).chain([String::new()]).collect()
    }

    #[test]
    fn many_texts_count_as_each_alone() {
        let texts = texts();
        for counter in counters() {
            let alone: Vec<u32> = texts.iter().map(|t| u32::try_from(counter.count(t)).unwrap()).collect();
            assert_eq!(counter.count_many(&texts).unwrap(), alone);
            assert_eq!(counter.count_many(&[] as &[&str]).unwrap().len(), 0);
        }
    }

    #[test]
    fn texts_may_come_in_any_order_and_be_counted_meanwhile() {
        let (texts, counter) = (texts(), Counter::exact(Encoding::Cl100k));
        let done = counter.count_given(|given| {
            for (number, text) in texts.iter().enumerate().rev() {
                given.add(number, text);
                if given.are_ahead() {
                    given.catch_up();
                    assert!(!given.are_ahead());
                }
            }
            Ok::<_, Infallible>(())
        });
        let Ok(found) = done;
        assert_eq!(found.tokens().unwrap(), counter.count_many(&texts).unwrap());
    }

    #[test]
    fn texts_that_end_in_an_error_are_not_counted_to_the_end() {
        let text: Arc<str> = Arc::from("some words ".repeat(10_000));
        let counter = Counter::exact(Encoding::O200k);
        let done = counter.count_given(|given| {
            (0..100).for_each(|number| given.add(number, Arc::clone(&text)));
            Err("no more")
        });
        assert_eq!(done.err(), Some("no more"));
        assert_eq!(Arc::strong_count(&text), 1);
    }
}
