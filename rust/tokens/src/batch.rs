//! Counts many texts in parallel.

use std::ops::Range;

use trimtab_simd::prefetch_at;

use crate::bpe::worker::is_safe_split;
use crate::counter::Counter;
use crate::counter::scale;
use crate::error::Error;
use crate::pool::map;

/// Bytes of a job: at 400 MB/s it takes 160 us, much longer than passing it to a thread.
const JOB: usize = 64 * 1024;

/// Prefetch distance in texts: the hardware prefetcher does not know the address of the next text.
const AHEAD: usize = 2;

/// Bytes of a text that are prefetched.
const FIRST: usize = 256;

/// The number of a text, and a range of it that is counted separately.
type Part = (usize, Range<usize>);

impl Counter {
    /// Tokens of each text, in parallel where that is faster.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for a text of more than 4,294,967,295 tokens.
    pub fn count_many<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Vec<u32>, Error> {
        let jobs = self.jobs(texts);
        let found = map(&jobs, |job| {
            self.count_rows(job.len(), |counting| {
                counting.expect(job.iter().map(|(_, range)| range.len()).sum());
                let part = |(text, range): &Part| &texts[*text].as_ref()[range.clone()];
                for (n, some) in job.iter().enumerate() {
                    if let Some(next) = job.get(n + AHEAD).map(part) {
                        (0..next.len().min(FIRST)).step_by(64).for_each(|at| prefetch_at(next.as_ptr().addr() + at));
                    }
                    counting.of(n);
                    counting.add(part(some));
                }
            })
        });
        let mut counts = vec![0; texts.len()];
        for ((text, _), count) in jobs.iter().flatten().zip(found.into_iter().flatten()) {
            counts[*text] += count;
        }
        let narrow = |count| u32::try_from(scale(count, self.rate())).map_err(|_| Error::Overflow("tokens"));
        counts.into_iter().map(narrow).collect()
    }

    /// The texts as jobs of about [`JOB`] bytes: short texts together, long ones in parts if their parts add up.
    fn jobs<T: AsRef<str>>(&self, texts: &[T]) -> Vec<Vec<Part>> {
        let (mut jobs, mut job, mut cost) = (Vec::new(), Vec::new(), 0);
        for (number, text) in texts.iter().enumerate() {
            let (text, mut start) = (text.as_ref().as_bytes(), 0);
            while self.is_additive() && cost + text.len() - start > 2 * JOB {
                let wanted = start + JOB.saturating_sub(cost);
                let mut ends = (wanted.max(start + 1)..text.len()).take(JOB);
                let Some(stop) = ends.find(|&at| is_safe_split(text, at)) else { break };
                job.push((number, start..stop));
                jobs.push(std::mem::take(&mut job));
                (start, cost) = (stop, 0);
            }
            job.push((number, start..text.len()));
            cost += self.cost_estimate(text.len() - start, usize::MAX);
            if cost >= JOB {
                jobs.push(std::mem::take(&mut job));
                cost = 0;
            }
        }
        if !job.is_empty() {
            jobs.push(job);
        }
        jobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::Claude;
    use crate::encoding::Encoding;
    use crate::estimate::Chars;
    use crate::estimate::Round;
    use crate::estimate::Unit;

    fn counters() -> [Counter; 3] {
        let chars = Chars { unit: Unit::Chars, per: 4, round: Round::Ceil };
        [Counter::exact(Encoding::O200k), Counter::claude(Claude::named("claude-new").unwrap()), Counter::length(chars)]
    }

    /// Short texts, empty ones, and some that are longer than a job: one that can be split and one that cannot.
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
}
