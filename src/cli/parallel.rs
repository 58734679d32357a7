//! How many things are worked on at once, and what is done beside them.

use std::num::NonZero;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

pub(crate) use crate::parallel::map;
pub(crate) use crate::parallel::map_owned;

/// How many workers to use where nobody says it.
pub(crate) fn default_jobs() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does something beside the rest, with a pause before each time, until it says that there is no more; nobody waits for it.
pub(crate) fn every(pause: Duration, act: impl Fn() -> bool + Send + 'static) {
    let rounds = move || {
        thread::sleep(pause);
        while act() {
            thread::sleep(pause);
        }
    };
    // Where there are no more threads it is left out.
    let _ = thread::Builder::new().spawn(rounds);
}

/// So many may do something at a time.
#[derive(Debug)]
pub(crate) struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// The right to do it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a>(&'a Permits);

impl Permits {
    /// At least one.
    pub(crate) fn new(number: usize) -> Self {
        Self { free: Mutex::new(number.max(1)), returned: Condvar::new() }
    }

    /// Waits for one.
    pub(crate) fn take(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.returned.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn no_more_than_the_permits_work_at_a_time() {
        let permits = Permits::new(3);
        let (busy, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let items: Vec<usize> = (0..200).collect();
        map(8, &items, |_| {
            let _permit = permits.take();
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            busy.fetch_sub(1, Ordering::SeqCst);
        });
        assert!((1..=3).contains(&most.into_inner()));
        drop(Permits::new(0).take());
    }
}
