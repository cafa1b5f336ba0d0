//! Caches of threads that ended, for threads that start.

use std::sync::Mutex;

/// Caches that are kept: as many as threads that many programs start at a time.
const KEPT: usize = 4;

/// Caches without a thread, the one that was left last at the end. Filling an empty cache for 4,000 characters takes
/// 700 us, most of it for memory from the system; counting them in a filled one takes 30.
///
/// Nobody waits for the lock: while another thread holds it, or for ever in the child of a fork that happened meanwhile,
/// there is nothing to take, and what is left is dropped.
pub struct Inherited<T>(Mutex<Vec<T>>);

impl<T> Inherited<T> {
    /// Without caches.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Takes the cache that was left last of those that are `wanted`.
    pub fn take(&self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let mut caches = self.0.try_lock().ok()?;
        caches.iter().rposition(wanted).map(|at| caches.remove(at))
    }

    /// Leaves the caches of a thread that ends; the oldest ones are dropped past [`KEPT`].
    pub fn leave(&self, left: impl Iterator<Item = T>) {
        let dropped: Vec<T> = match self.0.try_lock() {
            Ok(mut caches) => {
                caches.extend(left);
                let many = caches.len().saturating_sub(KEPT);
                caches.drain(..many).collect()
            }
            Err(_) => Vec::new(),
        };
        drop(dropped); // with the lock released: to free the memory takes a while
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_taken_once() {
        let inherited = Inherited::new();
        assert_eq!(inherited.take(|_| true), None);
        inherited.leave(0..6);
        assert_eq!(inherited.take(|&n| n < 5), Some(4));
        assert_eq!([1, 4, 0].map(|wanted| inherited.take(|&n| n == wanted)), [None; 3]);
        assert_eq!([(); 4].map(|()| inherited.take(|_| true)), [Some(5), Some(3), Some(2), None]);
    }

    #[test]
    fn nobody_waits_for_the_lock() {
        let inherited = Inherited::new();
        inherited.leave(0..1);
        let locked = inherited.0.lock().unwrap();
        assert_eq!(inherited.take(|_| true), None);
        inherited.leave(1..2);
        drop(locked);
        assert_eq!(inherited.take(|_| true), Some(0));
    }
}
