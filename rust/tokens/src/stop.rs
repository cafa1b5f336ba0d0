//! Work that can be stopped: long loops ask from time to time whether it is still wanted.
//!
//! Who is no longer wanted unwinds with [`Stopped`], through whatever called it, to whoever called [`watched`]; nothing
//! that only counts has to know of it. Threads that work for another are stopped with it.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What stopped work unwinds with.
#[derive(Debug)]
pub struct Stopped;

/// Between two questions to whoever is watched for: a quarter of the tenth of a second in which a user wants an answer,
/// since what was made must be let go as well; and long beside what the question costs.
pub const PAUSE: Duration = Duration::from_millis(25);

/// Messages or texts that are gone over between two looks whether they are still wanted: a millisecond's, at most.
pub const ITEMS: usize = 1_024;

/// Calls of [`check`] between two looks at the clock: between two of them some microseconds of counting.
const CALLS: u32 = 64;

/// Whom the work of a thread is for.
pub struct Watch {
    unwanted: Box<dyn Fn() -> bool + Send + Sync>,
    stopped: AtomicBool,
}

impl Watch {
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
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// A watch, and whether this thread is the one that asks.
type Current = Option<(Arc<Watch>, bool)>;

thread_local! {
    static WATCH: RefCell<Current> = const { RefCell::new(None) };
    static LEFT: Cell<u32> = const { Cell::new(CALLS) };
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    static PLANTED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work`, and asks `unwanted` every now and then; where that says yes, unwinds with [`Stopped`].
pub fn watched<R>(unwanted: impl Fn() -> bool + Send + Sync + 'static, work: impl FnOnce() -> R) -> R {
    let watch = Arc::new(Watch { unwanted: Box::new(unwanted), stopped: AtomicBool::new(false) });
    let _guard = Guard::set(Some((watch, true)));
    ASKED.set(Some(Instant::now()));
    trip();
    work()
}

/// Whom this thread works for.
#[must_use]
pub fn current() -> Option<Arc<Watch>> {
    WATCH.try_with(|watch| watch.borrow().as_ref().map(|(watch, _)| Arc::clone(watch))).ok().flatten()
}

/// Works for another thread, as long as the answer lives.
#[must_use]
pub fn working_for(watch: &Arc<Watch>) -> Guard {
    Guard::set(Some((Arc::clone(watch), false)))
}

/// Puts the watch back that was there before.
pub struct Guard(Current);

impl Guard {
    fn set(current: Current) -> Self {
        Self(WATCH.try_with(|watch| watch.replace(current)).ok().flatten())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let before = self.0.take();
        let _ = WATCH.try_with(|watch| watch.replace(before));
    }
}

/// Unwinds if the work of this thread is no longer wanted. To be called wherever a loop may last.
#[inline]
pub fn check() {
    match LEFT.get() {
        0 => look(),
        left => LEFT.set(left - 1),
    }
}

/// The same where a loop goes through a text: `at` is the byte that it has come to. Costs a comparison but every 4 KB.
#[inline]
pub fn along(at: usize) {
    if at % (4 * 1024) < 4 {
        check(); // a character has up to four bytes, so that none steps over this
    }
}

/// The same between two parts of work that last some milliseconds each, and have no loop that could ask.
pub fn between() {
    look();
}

#[cold]
fn look() {
    LEFT.set(CALLS);
    let unwanted = WATCH.try_with(|watch| match &*watch.borrow() {
        Some((watch, false)) => watch.stopped.load(Ordering::Relaxed),
        Some((watch, true)) if ASKED.get().is_none_or(|asked| asked.elapsed() >= PAUSE) => {
            let unwanted = watch.ask();
            ASKED.set(Some(Instant::now()));
            unwanted
        }
        _ => false,
    });
    if unwanted == Ok(true) {
        resume_unwind(Box::new(Stopped));
    }
}

/// Lets the next work of this thread panic, once, so that a test can see what becomes of a defect.
pub fn plant() {
    PLANTED.set(true);
}

/// Where a planted defect shows.
///
/// # Panics
///
/// Once after [`plant`], never otherwise.
#[inline]
pub fn trip() {
    assert!(!PLANTED.replace(false), "a planted defect");
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn endless() {
        loop {
            check();
        }
    }

    #[test]
    fn endless_work_stops_when_it_is_no_longer_wanted() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let done = catch_unwind(|| watched(move || count.fetch_add(1, Ordering::Relaxed) == 2, endless));
        assert!(done.unwrap_err().is::<Stopped>());
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        assert!(current().is_none());
    }

    #[test]
    fn who_works_for_another_stops_with_it() {
        let done = catch_unwind(AssertUnwindSafe(|| {
            watched(
                || true,
                || {
                    let watch = current().unwrap();
                    let worker = std::thread::spawn({
                        let watch = Arc::clone(&watch);
                        move || {
                            let _guard = working_for(&watch);
                            endless();
                        }
                    });
                    while !watch.ask() {}
                    worker.join().unwrap_err().is::<Stopped>()
                },
            )
        }));
        assert!(done.unwrap());
    }

    #[test]
    fn a_planted_defect_shows_once() {
        plant();
        assert!(catch_unwind(|| watched(|| false, || ())).is_err());
        watched(|| false, || ());
    }
}
