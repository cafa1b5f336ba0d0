//! One thread pool a process, and a map over items that the calling thread shares with it.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::cancel::{self, CancelToken};

/// Most threads for each processor, whatever `TRIMTAB_THREADS` says: thousands would take minutes to start.
const MOST_EACH: usize = 8;

/// The pool and the process that made it: threads do not survive a fork, so a child makes its own. The pool has one thread
/// less than may work, because the calling thread works as well; None if that is no thread.
static POOL: Mutex<Option<(u32, Option<Arc<ThreadPool>>)>> = Mutex::new(None);

/// `work` on each item, in their order: each thread takes the next item from a cursor.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let Some(pool) = (if items.len() < 2 { None } else { pool() }) else {
        return items.iter().map(work).collect();
    };
    let (cursor, watch) = (Cursor::new(items, work), cancel::current());
    pool.in_place_scope(|scope| {
        for _ in 0..pool.current_num_threads().min(items.len() - 1) {
            scope.spawn(|_| {
                let _guard = watch.as_ref().map(cancel::join);
                cursor.work(watch.as_deref());
            });
        }
        cursor.work(None);
        // A thread of the pool must not block, or all of them could deadlock.
        if pool.current_thread_index().is_none() {
            cursor.wait(watch.as_deref());
        }
    });
    cursor.made()
}

/// [`map`] that stops at the first None of `work` and returns None.
pub fn map_all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Option<R> + Sync) -> Option<Vec<R>> {
    let failed = AtomicBool::new(false);
    let made = map(items, |item| {
        let made = if failed.load(Ordering::Relaxed) { None } else { work(item) };
        failed.fetch_or(made.is_none(), Ordering::Relaxed);
        made
    });
    made.into_iter().collect()
}

/// The items, the cursor and the results.
struct Cursor<'t, T, R, F> {
    items: &'t [T],
    work: F,
    next: AtomicUsize,
    progress: Mutex<Progress<R>>,
    /// No thread is busy.
    idle: Condvar,
}

struct Progress<R> {
    /// Results with the numbers of their items.
    made: Vec<(usize, R)>,
    /// Threads that may still take items.
    busy: usize,
}

impl<'t, T, R, F: Fn(&T) -> R> Cursor<'t, T, R, F> {
    fn new(items: &'t [T], work: F) -> Self {
        let progress = Mutex::new(Progress { made: Vec::with_capacity(items.len()), busy: 0 });
        Self { items, work, next: AtomicUsize::new(0), progress, idle: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Progress<R>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on items until none is left.
    fn work(&self, watch: Option<&CancelToken>) {
        let _busy = Busy::new(self);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = self.items.get(number) else { return };
            watch.inspect(|watch| watch.begin());
            let made = (self.work)(item);
            self.lock().made.push((number, made));
        }
    }

    /// Waits for the helper threads, and polls for cancellation meanwhile.
    fn wait(&self, watch: Option<&CancelToken>) {
        let mut progress = self.lock();
        while progress.busy > 0 {
            let waited =
                self.idle.wait_timeout(progress, cancel::POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner);
            progress = waited.0;
            if let Some(watch) = watch.filter(|_| waited.1.timed_out()) {
                drop(progress);
                watch.ask();
                progress = self.lock();
            }
        }
    }

    fn made(self) -> Vec<R> {
        let mut made = self.progress.into_inner().unwrap_or_else(PoisonError::into_inner).made;
        made.sort_unstable_by_key(|(number, _)| *number);
        made.into_iter().map(|(_, made)| made).collect()
    }
}

/// A thread that takes items. If its work unwinds, no thread takes more.
struct Busy<'c, 't, T, R, F: Fn(&T) -> R>(&'c Cursor<'t, T, R, F>);

impl<'c, 't, T, R, F: Fn(&T) -> R> Busy<'c, 't, T, R, F> {
    fn new(cursor: &'c Cursor<'t, T, R, F>) -> Self {
        cursor.lock().busy += 1;
        Self(cursor)
    }
}

impl<T, R, F: Fn(&T) -> R> Drop for Busy<'_, '_, T, R, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.next.store(self.0.items.len(), Ordering::Relaxed);
        }
        let mut progress = self.0.lock();
        progress.busy -= 1;
        if progress.busy == 0 {
            self.0.idle.notify_all();
        }
    }
}

/// Threads that share the work of [`map`], the calling one among them.
#[must_use]
pub fn threads() -> usize {
    pool().map_or(1, |pool| pool.current_num_threads() + 1)
}

fn pool() -> Option<Arc<ThreadPool>> {
    // Never blocks: a lock that another thread held during a fork is never released in the child.
    let mut slot = POOL.try_lock().ok()?;
    let pid = std::process::id();
    if let Some((owner, pool)) = &*slot
        && *owner == pid
    {
        return pool.clone();
    }
    let wanted = std::env::var("TRIMTAB_THREADS").ok().and_then(|n| n.parse().ok()).filter(|&threads| threads > 0);
    // Counting waits for nothing: more threads than processors only change places with one another.
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = wanted.unwrap_or(processors).min(MOST_EACH * processors);
    let pool = match threads - 1 {
        0 => None,
        helpers => Some(Arc::new(ThreadPoolBuilder::new().num_threads(helpers).build().ok()?)),
    };
    if let Some((_, old)) = slot.replace((pid, pool.clone())) {
        std::mem::forget(old); // its threads are in the parent: waiting for them would hang
    }
    pool
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;
    use crate::cancel::Cancelled;

    #[test]
    fn what_is_made_is_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..10_000).collect();
        assert_eq!(map(&items, |item| item + 1), (1..10_001).collect::<Vec<u32>>());
        assert_eq!(map_all(&items, |&item| Some(item)), Some(items.clone()));
        assert_eq!(map_all(&items, |&item| (item != 7).then_some(item)), None);
    }

    #[test]
    fn work_is_stopped_in_every_thread() {
        for _ in 0..20 {
            let endless = |_: &u32| -> u32 {
                loop {
                    cancel::poll();
                }
            };
            let done = catch_unwind(|| cancel::cancellable(|| true, || map(&[0, 1, 2, 3], endless)));
            assert!(done.unwrap_err().is::<Cancelled>());
        }
    }

    #[test]
    fn a_defect_in_any_thread_ends_the_work() {
        for bad in [0, 1, 99] {
            let work = |&item: &u32| {
                std::thread::sleep(Duration::from_micros(50));
                assert!(item != bad, "a defect");
            };
            let items: Vec<u32> = (0..100).collect();
            let done = catch_unwind(AssertUnwindSafe(|| cancel::cancellable(|| false, || map(&items, work))));
            assert!(done.is_err());
        }
    }

    #[test]
    fn work_that_shares_out_work_of_its_own_ends() {
        let inner: Vec<u64> = (0..100).collect();
        for _ in 0..200 {
            let sums: Vec<u64> = cancel::cancellable(
                || false,
                || map(&[1, 2, 3, 4, 5, 6, 7, 8], |&n| map(&inner, |i| i * n).iter().sum()),
            );
            assert_eq!(sums, [1, 2, 3, 4, 5, 6, 7, 8].map(|n| 4_950 * n));
        }
    }
}
