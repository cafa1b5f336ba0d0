//! Cancellation: long loops poll whether their result is still wanted.
//!
//! Cancelled work unwinds with [`Cancelled`] to the caller of [`cancellable`], so that functions in between need no result
//! type. Threads that work for another thread share its token.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The payload of cancelled work.
#[derive(Debug)]
pub struct Cancelled;

/// Time between two checks: a quarter of the 100 ms in which a user expects a reaction, because memory must be freed as
/// well; long compared to the cost of a check.
pub const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Messages or texts between two polls: a millisecond of work at most.
pub const ITEMS_PER_POLL: usize = 1_024;

/// Calls of [`poll`] between two readings of the clock, some microseconds of counting apart.
const CALLS: u32 = 64;

/// The check whether the work of a thread is still wanted.
pub struct CancelToken {
    unwanted: Box<dyn Fn() -> bool + Send + Sync>,
    stopped: AtomicBool,
}

impl CancelToken {
    /// Runs the check; once it said yes, that result stays.
    pub fn ask(&self) -> bool {
        if (self.unwanted)() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }

    /// Unwinds if the check said yes; called at the start of each part of work that many threads share.
    #[inline]
    pub fn begin(&self) {
        if self.stopped.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Cancelled));
        }
    }
}

/// A token, and whether this thread is the one that runs the check.
type Current = Option<(Arc<CancelToken>, bool)>;

thread_local! {
    static TOKEN: RefCell<Current> = const { RefCell::new(None) };
    static LEFT: Cell<u32> = const { Cell::new(CALLS) };
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    static PLANTED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` and calls `unwanted` at intervals; unwinds with [`Cancelled`] once it returns true.
pub fn cancellable<R>(unwanted: impl Fn() -> bool + Send + Sync + 'static, work: impl FnOnce() -> R) -> R {
    let watch = Arc::new(CancelToken { unwanted: Box::new(unwanted), stopped: AtomicBool::new(false) });
    let _guard = Guard::set(Some((watch, true)));
    ASKED.set(Some(Instant::now()));
    work()
}

/// The payload of a panic.
pub type Panic = Box<dyn Any + Send>;

/// Why work stopped before its end.
#[derive(Debug)]
pub enum Stopped<E> {
    /// The check returned this error.
    Interrupted(E),
    /// The work panicked.
    Panicked(Panic),
}

/// Does `work` and calls `check` at intervals; its first error stops the work. After it returned false, it is not called
/// again.
///
/// # Errors
///
/// [`Stopped`] says what ended the work.
pub fn interruptible<R, E: Send + 'static>(
    check: impl Fn() -> Result<bool, E> + Send + Sync + 'static,
    work: impl FnOnce() -> R,
) -> Result<R, Stopped<E>> {
    let raised = Arc::new(Mutex::new(None));
    let (slot, is_over) = (Arc::clone(&raised), AtomicBool::new(false));
    let unwanted = move || {
        if is_over.load(Ordering::Relaxed) {
            return false;
        }
        let checked = check().map(|again| is_over.store(!again, Ordering::Relaxed));
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = slot.take().or(checked.err());
        slot.is_some()
    };
    caught(|| cancellable(unwanted, work)).map_err(|payload| {
        let raised =
            if payload.is::<Cancelled>() { raised.lock().ok().and_then(|mut error| error.take()) } else { None };
        raised.map_or(Stopped::Panicked(payload), Stopped::Interrupted)
    })
}

/// Does `work`; returns a panic as an error.
///
/// # Errors
///
/// The payload of the panic.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, Panic> {
    catch_unwind(AssertUnwindSafe(|| {
        panic_if_planted();
        work()
    }))
}

/// The token of this thread's work.
#[must_use]
pub fn current() -> Option<Arc<CancelToken>> {
    TOKEN.try_with(|watch| watch.borrow().as_ref().map(|(watch, _)| Arc::clone(watch))).ok().flatten()
}

/// Sets this thread's token until the returned guard is dropped.
#[must_use]
pub fn join(watch: &Arc<CancelToken>) -> Guard {
    Guard::set(Some((Arc::clone(watch), false)))
}

/// Restores the previous token.
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

/// Unwinds if the work of this thread is no longer wanted. Call it in every loop that may take long.
#[inline]
pub fn poll() {
    match LEFT.get() {
        0 => look(),
        left => LEFT.set(left - 1),
    }
}

/// [`poll`] for a loop over a text that has reached byte `at`: polls every 4 KB, else it costs a comparison.
#[inline]
pub fn poll_at(at: usize) {
    if at % (4 * 1024) < 4 {
        poll(); // a step has at most four bytes, so none skips this range
    }
}

/// [`poll`] that reads the clock each time, for parts of work of some milliseconds each.
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

/// Makes the next work of this thread panic once, so that a test can check how a defect is reported.
pub fn plant_panic() {
    PLANTED.set(true);
}

/// Panics if a defect was planted.
///
/// # Panics
///
/// Once after each [`plant_panic`].
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
        assert!(caught(|| ()).is_err());
        assert!(caught(|| ()).is_ok());
    }

    #[test]
    fn the_first_error_of_a_check_is_what_stops_the_work() {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let check = move || if count.fetch_add(1, Ordering::Relaxed) == 1 { Err("enough") } else { Ok(true) };
        assert!(matches!(interruptible(check, endless), Err(Stopped::Interrupted("enough"))));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_check_that_says_false_is_not_called_again() {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let check = move || -> Result<bool, ()> {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(false)
        };
        let work = || (0..3).all(|_| current().is_some_and(|token| !token.ask()));
        assert!(interruptible(check, work).is_ok_and(|never_stopped| never_stopped));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
