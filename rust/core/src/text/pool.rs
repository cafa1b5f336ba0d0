//! One thread pool a process.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::stop::{self, Guard, Watch};

/// The pool and the process that it was made in: threads do not survive a fork, so a child makes its own. No pool where
/// it would be of one thread: the caller's has its caches filled already.
static POOL: Mutex<Option<(u32, Option<Arc<ThreadPool>>)>> = Mutex::new(None);

/// `work` on each item: in this process's pool, at least `least` items to a task, or in the calling thread where there
/// is no pool to be had.
pub fn map<T, R, C>(items: &[T], least: usize, work: impl Fn(&T) -> R + Sync + Send) -> C
where
    T: Sync,
    R: Send,
    C: FromParallelIterator<R> + FromIterator<R> + Send,
{
    let each = items.par_iter().with_min_len(least);
    match (pool(), stop::current()) {
        (None, _) => items.iter().map(work).collect(),
        (Some(pool), None) => pool.install(|| each.map(work).collect()),
        (Some(pool), Some(watch)) => {
            let work = |_: &mut Guard, item: &T| {
                watch.begin();
                work(item)
            };
            let made = || each.map_init(|| stop::working_for(&watch), work).collect();
            // A thread of the pool that waited would be one less to do the work: all of them could wait for each other.
            if pool.current_thread_index().is_some() { made() } else { waited(&pool, &watch, made) }
        }
    }
}

/// What `made` makes in the pool, while this thread asks whether it is still wanted.
fn waited<C: Send>(pool: &ThreadPool, watch: &Watch, made: impl FnOnce() -> C + Send) -> C {
    let (sender, results) = mpsc::channel();
    let done = pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            let _ = sender.send(made()); // who waits is there: it waits for this
        });
        loop {
            match results.recv_timeout(stop::PAUSE) {
                Ok(made) => return Some(made),
                Err(RecvTimeoutError::Disconnected) => return None, // it unwound, and so does this scope
                Err(RecvTimeoutError::Timeout) => _ = watch.ask(),
            }
        }
    });
    done.expect("a scope unwinds with what was spawned in it")
}

/// Whether [`map`] has no thread but the caller's.
#[must_use]
pub fn single_threaded() -> bool {
    pool().is_none()
}

fn pool() -> Option<Arc<ThreadPool>> {
    // Never waits: a lock that was held while another thread forked stays locked in the child for ever.
    let mut slot = POOL.try_lock().ok()?;
    let pid = std::process::id();
    if let Some((owner, pool)) = &*slot
        && *owner == pid
    {
        return pool.clone();
    }
    let threads = std::env::var("TRIMTAB_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    let pool = (pool.current_num_threads() > 1).then(|| Arc::new(pool));
    if let Some((_, old)) = slot.replace((pid, pool.clone())) {
        std::mem::forget(old); // its threads are in the parent: waiting for them would hang
    }
    pool
}

#[cfg(test)]
mod tests {
    use super::map;
    use crate::stop;

    #[test]
    fn work_that_shares_out_work_of_its_own_ends() {
        let inner: Vec<u64> = (0..100).collect();
        for _ in 0..200 {
            let sums: Vec<u64> = stop::watched(
                || false,
                || map(&[1, 2, 3, 4, 5, 6, 7, 8], 1, |&n| map::<_, _, Vec<u64>>(&inner, 1, |i| i * n).iter().sum()),
            );
            assert_eq!(sums, [1, 2, 3, 4, 5, 6, 7, 8].map(|n| 4_950 * n));
        }
    }
}
