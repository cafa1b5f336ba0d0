//! Cancellation: long loops poll whether their result is still wanted.
//!
//! Cancelled work unwinds with [`Cancelled`] to the caller of [`cancellable`], so that functions in between need no result
//! type. Threads that work for another thread share its token.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The payload of cancelled work.
#[derive(Debug)]
pub struct Cancelled;

/// Time between two polls: a quarter of the tenth of a second in which a user expects an answer, since memory must be
/// freed as well; long beside the cost of a poll.
pub const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Messages or texts between two polls: a millisecond of work at most.
pub const ITEMS_PER_POLL: usize = 1_024;

/// Calls of [`poll`] between two looks at the clock, some microseconds of counting apart.
const CALLS: u32 = 64;

/// Whom the work of a thread is for.
pub struct CancelToken {
    unwanted: Box<dyn Fn() -> bool + Send + Sync>,
    stopped: AtomicBool,
}

impl CancelToken {
    /// Asks; once the answer was yes, it stays.
    pub fn ask(&self) -> bool {
        if (self.unwanted)() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }

    /// Unwinds if the answer was yes: for the beginning of each part of work that many threads share.
    #[inline]
    pub fn begin(&self) {
        if self.stopped.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Cancelled));
        }
    }
}

/// A watch, and whether this thread is the one that asks.
type Current = Option<(Arc<CancelToken>, bool)>;

thread_local! {
    static TOKEN: RefCell<Current> = const { RefCell::new(None) };
    static LEFT: Cell<u32> = const { Cell::new(CALLS) };
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    static PLANTED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work`, and asks `unwanted` every now and then; where that says yes, unwinds with [`Cancelled`].
pub fn cancellable<R>(unwanted: impl Fn() -> bool + Send + Sync + 'static, work: impl FnOnce() -> R) -> R {
    let watch = Arc::new(CancelToken { unwanted: Box::new(unwanted), stopped: AtomicBool::new(false) });
    let _guard = Guard::set(Some((watch, true)));
    ASKED.set(Some(Instant::now()));
    panic_if_planted();
    work()
}

/// Whom this thread works for.
#[must_use]
pub fn current() -> Option<Arc<CancelToken>> {
    TOKEN.try_with(|watch| watch.borrow().as_ref().map(|(watch, _)| Arc::clone(watch))).ok().flatten()
}

/// Works for another thread, as long as the answer lives.
#[must_use]
pub fn join(watch: &Arc<CancelToken>) -> Guard {
    Guard::set(Some((Arc::clone(watch), false)))
}

/// Puts the watch back that was there before.
pub struct Guard(Current);

impl Guard {
    fn set(current: Current) -> Self {
        Self(TOKEN.try_with(|watch| watch.replace(current)).ok().flatten())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ = TOKEN.try_with(|watch| watch.replace(before));
    }
}

/// Unwinds if the work of this thread is no longer wanted. To be called wherever a loop may last.
#[inline]
pub fn poll() {
    match LEFT.get() {
        0 => look(),
        left => LEFT.set(left - 1),
    }
}

/// The same where a loop goes through a text: `at` is the byte that it has come to. Costs a comparison but every 4 KB.
#[inline]
pub fn poll_at(at: usize) {
    if at % (4 * 1024) < 4 {
        poll(); // a character has up to four bytes, so that none steps over this
    }
}

/// The same between two parts of work that last some milliseconds each, and have no loop that could ask.
pub fn poll_now() {
    look();
}

#[cold]
fn look() {
    LEFT.set(CALLS);
    let unwanted = TOKEN.try_with(|watch| match &*watch.borrow() {
        Some((watch, false)) => watch.stopped.load(Ordering::Relaxed),
        Some((watch, true)) if ASKED.get().is_none_or(|asked| asked.elapsed() >= POLL_INTERVAL) => {
            let unwanted = watch.ask();
            ASKED.set(Some(Instant::now()));
            unwanted
        }
        _ => false,
    });
    if unwanted == Ok(true) {
        resume_unwind(Box::new(Cancelled));
    }
}

/// Lets the next work of this thread panic, once, so that a test can see what becomes of a defect.
pub fn plant_panic() {
    PLANTED.set(true);
}

/// Where a planted defect shows.
///
/// # Panics
///
/// Dedup after [`plant_panic`], never otherwise.
#[inline]
pub fn panic_if_planted() {
    assert!(!PLANTED.replace(false), "a planted defect");
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn endless() {
        loop {
            poll();
        }
    }

    #[test]
    fn endless_work_stops_when_it_is_no_longer_wanted() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let done = catch_unwind(|| cancellable(move || count.fetch_add(1, Ordering::Relaxed) == 2, endless));
        assert!(done.unwrap_err().is::<Cancelled>());
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        assert!(current().is_none());
    }

    #[test]
    fn who_works_for_another_stops_with_it() {
        let done = catch_unwind(AssertUnwindSafe(|| {
            cancellable(
                || true,
                || {
                    let watch = current().unwrap();
                    let worker = std::thread::spawn({
                        let watch = Arc::clone(&watch);
                        move || {
                            let _guard = join(&watch);
                            endless();
                        }
                    });
                    while !watch.ask() {}
                    worker.join().unwrap_err().is::<Cancelled>()
                },
            )
        }));
        assert!(done.unwrap());
    }

    #[test]
    fn a_planted_defect_shows_once() {
        plant_panic();
        assert!(catch_unwind(|| cancellable(|| false, || ())).is_err());
        cancellable(|| false, || ());
    }
}
