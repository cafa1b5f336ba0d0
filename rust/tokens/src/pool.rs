//! One thread pool a process, and work that the calling thread shares with it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::stop::{self, Watch};

/// The pool and the process that it was made in: threads do not survive a fork, so a child makes its own. It has a thread
/// less than may work, for the calling one works as well: that is awake, and its caches are filled. None where that
/// leaves nobody.
static POOL: Mutex<Option<(u32, Option<Arc<ThreadPool>>)>> = Mutex::new(None);

/// Jobs that wait for each helper when the calling thread takes one itself: it will be away for as long as that takes.
const AHEAD: usize = 4;

/// For how long the calling thread looks whether the last jobs are done before it sleeps: to sleep and to be woken was a
/// seventh of what two threads take for 1 MB of prose, 0.71 and 0.61 ms.
const AWAKE: Duration = Duration::from_micros(100);

/// `work` on each item, in their order.
pub fn map<T: Sync, R: Send, C: FromIterator<R>>(items: &[T], work: impl Fn(&T) -> R + Sync) -> C {
    if items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let numbered = |(number, item): (usize, &T)| (number, work(item));
    let shared = shared(&numbered, |sharing| {
        items.iter().enumerate().for_each(|job| sharing.give(job));
        Ok::<_, Infallible>(())
    });
    let Ok(mut made) = shared;
    made.sort_unstable_by_key(|(number, _)| *number);
    made.into_iter().map(|(_, made)| made).collect()
}

/// The same; None where `work` makes nothing of one of them, and then of no more than have been begun.
pub fn map_all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Option<R> + Sync) -> Option<Vec<R>> {
    let failed = AtomicBool::new(false);
    map(items, |item| {
        let made = if failed.load(Ordering::Relaxed) { None } else { work(item) };
        failed.fetch_or(made.is_none(), Ordering::Relaxed);
        made
    })
}

/// What `work` makes of the jobs that `give` gives, in any order. Threads of the pool begin while `give` makes more of
/// them; the calling one works as well, when `give` has returned or as it says.
///
/// # Errors
///
/// That of `give`: what waits then is not worked on.
pub fn shared<J: Send, R: Send, E>(
    work: &(dyn Fn(J) -> R + Sync),
    give: impl FnOnce(&mut Sharing<'_, '_, J, R>) -> Result<(), E>,
) -> Result<Vec<R>, E> {
    let (jobs, pool) = (Jobs::default(), pool());
    match &pool {
        None => Sharing { jobs: &jobs, work, helped: None }.run(give),
        Some(pool) => pool.in_place_scope(|scope| {
            let (most, is_mutual) = (pool.current_num_threads(), pool.current_thread_index().is_some());
            let helped = Helped { scope, most, is_mutual, watch: stop::current() };
            Sharing { jobs: &jobs, work, helped: Some(helped) }.run(give)
        }),
    }?;
    Ok(jobs.lock().done.drain(..).collect())
}

/// The calling thread's end of work that is shared.
pub struct Sharing<'s, 'scope, J, R> {
    jobs: &'scope Jobs<J, R>,
    work: &'scope (dyn Fn(J) -> R + Sync),
    helped: Option<Helped<'s, 'scope>>,
}

/// Who helps.
struct Helped<'s, 'scope> {
    scope: &'s Scope<'scope>,
    most: usize,
    /// Whether the calling thread is one of the pool's itself.
    is_mutual: bool,
    watch: Option<Arc<Watch>>,
}

impl<J: Send, R: Send> Sharing<'_, '_, J, R> {
    /// Works, together with who helps, until there is no more to do.
    fn run<E>(mut self, give: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        give(&mut self)?;
        self.work(0);
        self.wait();
        Ok(())
    }

    /// Gives a job. Nobody is called for the first: it may be the only one.
    pub fn give(&mut self, job: J) {
        let mut queue = self.jobs.lock();
        queue.waiting.push_back(job);
        queue.given += 1;
        let Some(helped) = &self.helped else { return };
        if queue.given < 2 || queue.helping == helped.most {
            return;
        }
        queue.helping += 1;
        drop(queue);
        let (jobs, work, watch) = (self.jobs, self.work, helped.watch.clone());
        helped.scope.spawn(move |_| {
            let _guard = watch.as_ref().map(stop::working_for);
            while let Some(job) = jobs.next_or_leave() {
                jobs.work_on(job, |job| {
                    watch.as_ref().inspect(|watch| watch.begin());
                    work(job)
                });
            }
        });
    }

    /// Whether other threads may take jobs.
    pub fn is_shared(&self) -> bool {
        self.helped.is_some()
    }

    /// Whether enough jobs wait for this thread to work on some of them.
    pub fn is_ahead(&self) -> bool {
        self.jobs.lock().waiting.len() > AHEAD * self.helpers()
    }

    /// Works on jobs until no more wait than there are helpers to take them next.
    pub fn catch_up(&mut self) {
        self.work(self.helpers());
    }

    /// Works until no more than `left` jobs wait.
    fn work(&mut self, left: usize) {
        while let Some(job) = self.jobs.next(left) {
            self.jobs.work_on(job, self.work);
        }
    }

    fn helpers(&self) -> usize {
        self.helped.as_ref().map_or(0, |helped| helped.most)
    }

    /// What was made since this was asked.
    pub fn done(&mut self) -> Vec<R> {
        std::mem::take(&mut self.jobs.lock().done)
    }

    /// Waits for the helpers, and asks meanwhile whether their work is still wanted.
    fn wait(&self) {
        let Some(Helped { is_mutual, watch, .. }) = &self.helped else { return };
        // A thread of the pool that waited would be one less to do the work: all of them could wait for each other.
        if *is_mutual {
            return;
        }
        let begun = Instant::now();
        while begun.elapsed() < AWAKE {
            let queue = self.jobs.lock();
            if queue.busy == 0 && queue.helping == 0 {
                return;
            }
            drop(queue);
            (0..32).for_each(|_| std::hint::spin_loop());
        }
        let mut queue = self.jobs.lock();
        while queue.busy > 0 {
            let (held, waited) =
                self.jobs.idle.wait_timeout(queue, stop::PAUSE).unwrap_or_else(PoisonError::into_inner);
            queue = held;
            if let Some(watch) = watch.as_ref().filter(|_| waited.timed_out()) {
                drop(queue);
                watch.ask();
                queue = self.jobs.lock();
            }
        }
    }
}

impl<J, R> Drop for Sharing<'_, '_, J, R> {
    /// What still waits is not wanted any more: an error was met.
    fn drop(&mut self) {
        self.jobs.lock().waiting.clear();
    }
}

/// Jobs that wait, and what was made of the others.
struct Jobs<J, R> {
    queue: Mutex<Queue<J, R>>,
    /// Nobody is busy any more.
    idle: Condvar,
}

struct Queue<J, R> {
    waiting: VecDeque<J>,
    given: usize,
    done: Vec<R>,
    /// Threads that work on a job.
    busy: usize,
    /// Threads of the pool that look for jobs.
    helping: usize,
}

impl<J, R> Default for Jobs<J, R> {
    fn default() -> Self {
        let queue = Queue { waiting: VecDeque::new(), given: 0, done: Vec::new(), busy: 0, helping: 0 };
        Self { queue: Mutex::new(queue), idle: Condvar::new() }
    }
}

impl<J, R> Jobs<J, R> {
    fn lock(&self) -> MutexGuard<'_, Queue<J, R>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job, where more than `left` wait.
    fn next(&self, left: usize) -> Option<J> {
        let mut queue = self.lock();
        let job = if queue.waiting.len() > left { queue.waiting.pop_front() } else { None };
        queue.busy += usize::from(job.is_some());
        job
    }

    /// A job for a helper, which leaves where there is none.
    fn next_or_leave(&self) -> Option<J> {
        let mut queue = self.lock();
        let job = queue.waiting.pop_front();
        queue.busy += usize::from(job.is_some());
        queue.helping -= usize::from(job.is_none());
        job
    }

    fn work_on(&self, job: J, work: impl Fn(J) -> R) {
        let busy = Busy(self);
        let made = work(job);
        self.lock().done.push(made);
        drop(busy);
    }
}

/// A thread that works on a job, which may unwind: then what waits is not wanted any more.
struct Busy<'j, J, R>(&'j Jobs<J, R>);

impl<J, R> Drop for Busy<'_, J, R> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.busy -= 1;
        let unwanted = if std::thread::panicking() { std::mem::take(&mut queue.waiting) } else { VecDeque::new() };
        if queue.busy == 0 {
            self.0.idle.notify_all();
        }
        drop(queue);
        drop(unwanted);
    }
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
    let wanted = std::env::var("TRIMTAB_THREADS").ok().and_then(|n| n.parse().ok()).filter(|&threads| threads > 0);
    let threads = wanted.or_else(|| std::thread::available_parallelism().ok().map(NonZero::get)).unwrap_or(1);
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
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::stop::Stopped;

    #[test]
    fn what_is_made_is_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..10_000).collect();
        assert_eq!(map::<_, _, Vec<_>>(&items, |item| item + 1), (1..10_001).collect::<Vec<u32>>());
        assert_eq!(map_all(&items, |&item| Some(item)), Some(items.clone()));
        assert_eq!(map_all(&items, |&item| (item != 7).then_some(item)), None);
    }

    #[test]
    fn work_is_stopped_in_every_thread() {
        for _ in 0..20 {
            let endless = |_: &u32| -> u32 {
                loop {
                    stop::check();
                }
            };
            let done = catch_unwind(|| stop::watched(|| true, || map::<_, _, Vec<_>>(&[0, 1, 2, 3], endless)));
            assert!(done.unwrap_err().is::<Stopped>());
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
            let done =
                catch_unwind(AssertUnwindSafe(|| stop::watched(|| false, || map::<_, _, Vec<()>>(&items, work))));
            assert!(done.is_err());
        }
    }

    #[test]
    fn what_waits_when_no_more_is_given_for_an_error_is_left() {
        let worked = AtomicUsize::new(0);
        let work = |(): ()| {
            std::thread::sleep(Duration::from_millis(1));
            worked.fetch_add(1, Ordering::Relaxed);
        };
        let ended = shared(&work, |sharing| {
            (0..1_000).for_each(|_| sharing.give(()));
            Err("no more")
        });
        assert_eq!(ended, Err("no more"));
        assert!(worked.into_inner() < 1_000);
    }

    #[test]
    fn work_that_shares_out_work_of_its_own_ends() {
        let inner: Vec<u64> = (0..100).collect();
        for _ in 0..200 {
            let sums: Vec<u64> = stop::watched(
                || false,
                || map(&[1, 2, 3, 4, 5, 6, 7, 8], |&n| map::<_, _, Vec<u64>>(&inner, |i| i * n).iter().sum()),
            );
            assert_eq!(sums, [1, 2, 3, 4, 5, 6, 7, 8].map(|n| 4_950 * n));
        }
    }
}
