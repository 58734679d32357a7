//! A budget of threads that process items ahead of the caller, with the same results as one thread in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::thread::Builder;

/// The stack size of a helper thread in bytes, large enough for parsers of nested texts.
const HELPER_STACK_SIZE: usize = 8 << 20;

/// The number of helper threads that may still be started; a finished helper frees its thread for other work.
#[derive(Debug)]
pub struct ThreadBudget(AtomicIsize);

impl ThreadBudget {
    /// Creates a budget of `number` threads, including the calling one, which is always available.
    pub fn new(number: usize) -> Self {
        Self(AtomicIsize::new(isize::try_from(number.saturating_sub(1)).unwrap_or(0)))
    }

    /// Processes every item, and passes the results to `take` in the order of the items until it returns false.
    pub(super) fn process_in_order<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> R + Sync,
        mut take: impl FnMut(R) -> bool,
    ) {
        let desk = WorkQueue::new(items);
        let help = || {
            let _leaving = HelperGuard { threads: self, desk: &desk };
            while let Some((at, item)) = desk.next_item() {
                desk.store_result(at, work(item));
            }
        };
        thread::scope(|scope| {
            let recruit = || {
                if desk.has_unstarted_items() && self.try_acquire_thread() {
                    desk.lock_state().helpers += 1;
                    // Without further threads this one does it all.
                    if Builder::new().stack_size(HELPER_STACK_SIZE).spawn_scoped(scope, help).is_err() {
                        drop(HelperGuard { threads: self, desk: &desk });
                    }
                }
            };
            for at in 0..items.len() {
                let result = loop {
                    if let Some(known) = desk.lock_state().done.remove(&at) {
                        break Some(known);
                    }
                    let Some((next, item)) = desk.next_item() else { break self.wait_for_result(&desk, at) };
                    recruit();
                    let result = work(item);
                    if next == at {
                        break Some(result);
                    }
                    desk.store_result(next, result);
                };
                // Of a helper that panicked there is none, and its panic is that of the scope.
                if !result.is_some_and(&mut take) {
                    break;
                }
            }
            desk.lock_state().over = true;
        });
    }

    /// Reserves one more thread, if the budget allows it.
    fn try_acquire_thread(&self) -> bool {
        let one_less = |free: isize| (free > 0).then(|| free - 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// Waits for the result of a helper, and frees this thread's share of the budget meanwhile.
    fn wait_for_result<T, R>(&self, desk: &WorkQueue<'_, T, R>, at: usize) -> Option<R> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let pending = |state: &mut QueueState<R>| state.helpers > 0 && !state.done.contains_key(&at);
        let result =
            desk.news.wait_while(desk.lock_state(), pending).unwrap_or_else(PoisonError::into_inner).done.remove(&at);
        self.0.fetch_sub(1, Ordering::Relaxed);
        result
    }
}

/// The items to process, and the results that were not taken yet.
struct WorkQueue<'i, T, R> {
    items: &'i [T],
    state: Mutex<QueueState<R>>,
    news: Condvar,
}

/// The state of a work queue that its threads share.
struct QueueState<R> {
    /// The first item that no thread processes.
    next: usize,
    over: bool,
    helpers: usize,
    done: BTreeMap<usize, R>,
}

impl<'i, T, R> WorkQueue<'i, T, R> {
    /// Creates a queue of items.
    fn new(items: &'i [T]) -> Self {
        let state = QueueState { next: 0, over: false, helpers: 0, done: BTreeMap::new() };
        Self { items, state: Mutex::new(state), news: Condvar::new() }
    }

    /// Locks the shared state.
    fn lock_state(&self) -> MutexGuard<'_, QueueState<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next item to process, with its index.
    fn next_item(&self) -> Option<(usize, &'i T)> {
        let mut state = self.lock_state();
        let at = state.next;
        let item = self.items.get(at).filter(|_| !state.over)?;
        state.next += 1;
        Some((at, item))
    }

    /// Whether there is an item that no thread processes yet.
    fn has_unstarted_items(&self) -> bool {
        self.lock_state().next < self.items.len()
    }

    /// Stores the result of an item and wakes the waiting threads.
    fn store_result(&self, at: usize, result: R) {
        self.lock_state().done.insert(at, result);
        self.news.notify_all();
    }
}

/// Returns the thread of a helper to the budget when dropped, also after a panic.
struct HelperGuard<'a, 'i, T, R> {
    threads: &'a ThreadBudget,
    desk: &'a WorkQueue<'i, T, R>,
}

impl<T, R> Drop for HelperGuard<'_, '_, T, R> {
    fn drop(&mut self) {
        self.desk.lock_state().helpers -= 1;
        self.desk.news.notify_all();
        self.threads.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn available_threads(threads: &ThreadBudget) -> isize {
        threads.0.load(Ordering::SeqCst)
    }

    #[test]
    fn results_are_in_order_and_end_when_no_more_are_needed() {
        let items: Vec<usize> = (0..300).collect();
        for count in [0, 1, 2, 5] {
            let threads = ThreadBudget::new(count);
            for enough in [1, 7, 150, 300, 400] {
                let mut results = Vec::new();
                threads.process_in_order(
                    &items,
                    |item| item * 2,
                    |result| {
                        results.push(result);
                        results.len() < enough
                    },
                );
                let expected: Vec<usize> = items.iter().map(|item| item * 2).take(enough).collect();
                assert_eq!(results, expected, "{count} threads, {enough} wanted");
            }
            assert_eq!(
                available_threads(&threads),
                isize::try_from(count.saturating_sub(1)).expect("few"),
                "all are back"
            );
        }
        ThreadBudget::new(4).process_in_order(&[0_u8; 0], |item| *item, |_| panic!("there is nothing to take"));
    }

    #[test]
    fn one_thread_processes_nothing_ahead() {
        let (done, threads) = (AtomicUsize::new(0), ThreadBudget::new(1));
        threads.process_in_order(
            &[1, 2, 3, 4],
            |item| (*item, done.fetch_add(1, Ordering::SeqCst)),
            |(item, _)| item < 2,
        );
        assert_eq!(done.into_inner(), 2);
    }

    #[test]
    fn items_are_processed_in_parallel_within_the_budget() {
        // A single thread cannot pass it.
        let (met, threads) = (Barrier::new(2), ThreadBudget::new(2));
        let mut processed = 0;
        threads.process_in_order(
            &[(); 2],
            |()| met.wait(),
            |_| {
                processed += 1;
                true
            },
        );
        assert_eq!(processed, 2);
        let (busy, most, threads) = (AtomicUsize::new(0), AtomicUsize::new(0), ThreadBudget::new(3));
        let inner = |_: &usize| {
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            busy.fetch_sub(1, Ordering::SeqCst);
        };
        let items: Vec<usize> = (0..40).collect();
        threads.process_in_order(&items, |_| threads.process_in_order(&items, inner, |()| true), |()| true);
        // One that waits for a helper is not at work, and may be again before the one that took its place is done.
        assert!((1..=4).contains(&most.load(Ordering::SeqCst)), "{most:?}");
        assert_eq!(available_threads(&threads), 2);
    }

    #[test]
    fn a_panic_reaches_the_calling_thread() {
        for count in [1, 3] {
            let threads = ThreadBudget::new(count);
            let items: Vec<usize> = (0..20).collect();
            let work = |item: &usize| assert!(*item != 10, "of the test");
            let all = || threads.process_in_order(&items, work, |()| true);
            assert!(catch_unwind(AssertUnwindSafe(all)).is_err(), "{count} threads");
        }
    }
}
