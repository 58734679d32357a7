//! Helpers for parallel work: number of threads, background tasks and a semaphore.

use std::num::NonZero;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub(crate) use crate::parallel::{map, map_owned};

/// Returns the default number of worker threads.
pub(crate) fn default_jobs() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Calls `act` on a background thread after each pause, until it returns `false`.
pub(crate) fn repeat_in_background(pause: Duration, act: impl Fn() -> bool + Send + 'static) {
    let rounds = move || {
        thread::sleep(pause);
        while act() {
            thread::sleep(pause);
        }
    };
    // Where there are no more threads it is left out.
    let _ = thread::Builder::new().spawn(rounds);
}

/// A counting semaphore that limits how many threads do something at the same time.
#[derive(Debug)]
pub(crate) struct Semaphore {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A permit of a semaphore, returned when it is dropped.
#[derive(Debug)]
pub(crate) struct SemaphorePermit<'a>(&'a Semaphore);

impl Semaphore {
    /// Creates a semaphore with `number` permits, at least one.
    pub(crate) fn new(number: usize) -> Self {
        Self { free: Mutex::new(number.max(1)), returned: Condvar::new() }
    }

    /// Waits for a free permit and takes it.
    pub(crate) fn acquire(&self) -> SemaphorePermit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.returned.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        SemaphorePermit(self)
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_than_the_permits_work_at_a_time() {
        let permits = Semaphore::new(3);
        let (busy, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items: Vec<usize> = (0..200).collect();
        map(8, &items, |_| {
            let _permit = permits.acquire();
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            busy.fetch_sub(1, Ordering::SeqCst);
        });
        assert!((1..=3).contains(&most.into_inner()));
        drop(Semaphore::new(0).acquire());
    }
}
