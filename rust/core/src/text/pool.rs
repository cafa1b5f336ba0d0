//! One thread pool a process.

use std::sync::{Arc, Mutex};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool and the process that it was made in: threads do not survive a fork, so a child makes its own.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs `work` in this process's pool, or in the calling thread where there is none to be had.
pub fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn pool() -> Option<Arc<ThreadPool>> {
    // Never waits: a lock that was held while another thread forked stays locked in the child for ever.
    let mut slot = POOL.try_lock().ok()?;
    let pid = std::process::id();
    if let Some((owner, pool)) = &*slot
        && *owner == pid
    {
        return Some(Arc::clone(pool));
    }
    let threads = std::env::var("TRIMTAB_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    if let Some((_, old)) = slot.replace((pid, Arc::clone(&pool))) {
        std::mem::forget(old); // its threads are in the parent: waiting for them would hang
    }
    Some(pool)
}
