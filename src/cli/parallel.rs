//! Work on many things at once, with the results in the order of the things.

use std::num::NonZero;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Room for the readers of nested texts, which the default of a thread may not have.
const STACK: usize = 8 << 20;

/// How many workers to use where nobody says it.
pub(crate) fn default_jobs() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// The results of a function for every item, in their order.
pub(crate) fn map<T: Sync, R: Send>(jobs: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let jobs = jobs.min(items.len());
    if jobs < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        let mut own = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            own.push((at, work(item)));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
    };
    thread::scope(|scope| {
        let started =
            (1..jobs).filter(|_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_ok());
        // Without further threads this one does it all.
        let _ = started.count();
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The same, where each item is dropped by the work on it.
pub(crate) fn map_owned<T: Send, R: Send>(jobs: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let results = map(jobs, &items, |item| {
        let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
        item.map(&work)
    });
    results.into_iter().flatten().collect()
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
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1_000).collect();
        for jobs in [0, 1, 2, 7, 2_000] {
            let found = map(jobs, &items, |item| item * 2);
            assert!(found.iter().enumerate().all(|(at, found)| *found == at * 2), "{jobs}");
            assert_eq!(found.len(), items.len(), "{jobs}");
        }
        assert!(map(4, &[0_u8; 0], |item| *item).is_empty());
    }

    /// Counts down when it is dropped.
    struct Item<'a>(usize, &'a AtomicUsize);
    impl Drop for Item<'_> {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn no_more_items_are_held_than_are_worked_on() {
        let held = AtomicUsize::new(0);
        for jobs in [0, 1, 3] {
            let items: Vec<Item<'_>> = (0..100).map(|at| Item(at, &held)).collect();
            held.store(items.len(), Ordering::SeqCst);
            let begun = AtomicUsize::new(0);
            let found = map_owned(jobs, items, |item| {
                let left = 100 - begun.fetch_add(1, Ordering::SeqCst);
                assert!(held.load(Ordering::SeqCst) < left + jobs.max(1), "what was worked on is gone");
                item.0
            });
            assert!(found.into_iter().eq(0..100), "{jobs}");
            assert_eq!(held.load(Ordering::SeqCst), 0, "{jobs}");
        }
    }

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
