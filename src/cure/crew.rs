//! A crew: threads that work ahead of the one that asks, with results as if it had done everything in its order.

use std::collections::BTreeMap;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicIsize;
use std::sync::atomic::Ordering;
use std::thread;
use std::thread::Builder;

/// Room for the readers of nested texts, which the default of a thread may not have.
const STACK: usize = 8 << 20;

/// How many threads may still be started: those that have nothing left to do help wherever something is begun.
#[derive(Debug)]
pub struct Crew(AtomicIsize);

impl Crew {
    /// So many, with the one that asks; at least that one.
    pub fn new(number: usize) -> Self {
        Self(AtomicIsize::new(isize::try_from(number.saturating_sub(1)).unwrap_or(0)))
    }

    /// Does something with every item, and hands over the results in the order of the items until no more are taken.
    pub(super) fn each<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> R + Sync,
        mut take: impl FnMut(R) -> bool,
    ) {
        let desk = Desk::new(items);
        let help = || {
            let _leaving = Leaving { crew: self, desk: &desk };
            while let Some((at, item)) = desk.next() {
                desk.put(at, work(item));
            }
        };
        thread::scope(|scope| {
            let recruit = || {
                if desk.is_more() && self.take() {
                    desk.state().helpers += 1;
                    // Without further threads this one does it all.
                    if Builder::new().stack_size(STACK).spawn_scoped(scope, help).is_err() {
                        drop(Leaving { crew: self, desk: &desk });
                    }
                }
            };
            for at in 0..items.len() {
                let result = loop {
                    if let Some(known) = desk.state().done.remove(&at) {
                        break Some(known);
                    }
                    let Some((next, item)) = desk.next() else { break self.waited(&desk, at) };
                    recruit();
                    let result = work(item);
                    if next == at {
                        break Some(result);
                    }
                    desk.put(next, result);
                };
                // Of a helper that panicked there is none, and its panic is that of the scope.
                if !result.is_some_and(&mut take) {
                    break;
                }
            }
            desk.state().over = true;
        });
    }

    /// One more thread, where one may be started.
    fn take(&self) -> bool {
        let one_less = |free: isize| (free > 0).then(|| free - 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// What a helper is at work on; others may have a thread more for so long.
    fn waited<T, R>(&self, desk: &Desk<'_, T, R>, at: usize) -> Option<R> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let pending = |state: &mut State<R>| state.helpers > 0 && !state.done.contains_key(&at);
        let result =
            desk.news.wait_while(desk.state(), pending).unwrap_or_else(PoisonError::into_inner).done.remove(&at);
        self.0.fetch_sub(1, Ordering::Relaxed);
        result
    }
}

/// Items, and the results that nobody took yet.
struct Desk<'i, T, R> {
    items: &'i [T],
    state: Mutex<State<R>>,
    news: Condvar,
}

struct State<R> {
    /// The first that nobody works on.
    next: usize,
    over: bool,
    helpers: usize,
    done: BTreeMap<usize, R>,
}

impl<'i, T, R> Desk<'i, T, R> {
    fn new(items: &'i [T]) -> Self {
        let state = State { next: 0, over: false, helpers: 0, done: BTreeMap::new() };
        Self { items, state: Mutex::new(state), news: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something to work on, with its place.
    fn next(&self) -> Option<(usize, &'i T)> {
        let mut state = self.state();
        let at = state.next;
        let item = self.items.get(at).filter(|_| !state.over)?;
        state.next += 1;
        Some((at, item))
    }

    /// Whether there is something that nobody works on.
    fn is_more(&self) -> bool {
        self.state().next < self.items.len()
    }

    fn put(&self, at: usize, result: R) {
        self.state().done.insert(at, result);
        self.news.notify_all();
    }
}

/// The end of a helper, however it comes.
struct Leaving<'a, 'i, T, R> {
    crew: &'a Crew,
    desk: &'a Desk<'i, T, R>,
}

impl<T, R> Drop for Leaving<'_, '_, T, R> {
    fn drop(&mut self) {
        self.desk.state().helpers -= 1;
        self.desk.news.notify_all();
        self.crew.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::panic::catch_unwind;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn free(crew: &Crew) -> isize {
        crew.0.load(Ordering::SeqCst)
    }

    #[test]
    fn results_are_taken_in_order_until_no_more_are_wanted() {
        let items: Vec<usize> = (0..300).collect();
        for threads in [0, 1, 2, 5] {
            let crew = Crew::new(threads);
            for enough in [1, 7, 150, 300, 400] {
                let mut taken = Vec::new();
                crew.each(
                    &items,
                    |item| item * 2,
                    |result| {
                        taken.push(result);
                        taken.len() < enough
                    },
                );
                let expected: Vec<usize> = items.iter().map(|item| item * 2).take(enough).collect();
                assert_eq!(taken, expected, "{threads} threads, {enough} wanted");
            }
            assert_eq!(free(&crew), isize::try_from(threads.saturating_sub(1)).expect("few"), "all are back");
        }
        Crew::new(4).each(&[0_u8; 0], |item| *item, |_| panic!("there is nothing to take"));
    }

    #[test]
    fn one_thread_does_nothing_ahead() {
        let (done, crew) = (AtomicUsize::new(0), Crew::new(1));
        crew.each(&[1, 2, 3, 4], |item| (*item, done.fetch_add(1, Ordering::SeqCst)), |(item, _)| item < 2);
        assert_eq!(done.into_inner(), 2);
    }

    #[test]
    fn several_things_are_done_at_a_time_and_no_more_than_there_are_threads() {
        // Nobody comes past it alone.
        let (met, crew) = (Barrier::new(2), Crew::new(2));
        let mut taken = 0;
        crew.each(
            &[(); 2],
            |()| met.wait(),
            |_| {
                taken += 1;
                true
            },
        );
        assert_eq!(taken, 2);
        let (busy, most, crew) = (AtomicUsize::new(0), AtomicUsize::new(0), Crew::new(3));
        let inner = |_: &usize| {
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            busy.fetch_sub(1, Ordering::SeqCst);
        };
        let items: Vec<usize> = (0..40).collect();
        crew.each(&items, |_| crew.each(&items, inner, |()| true), |()| true);
        // One that waits for a helper is not at work, and may be again before the one that took its place is done.
        assert!((1..=4).contains(&most.load(Ordering::SeqCst)), "{most:?}");
        assert_eq!(free(&crew), 2);
    }

    #[test]
    fn a_panic_is_that_of_the_one_that_asks() {
        for threads in [1, 3] {
            let crew = Crew::new(threads);
            let items: Vec<usize> = (0..20).collect();
            let work = |item: &usize| assert!(*item != 10, "of the test");
            let all = || crew.each(&items, work, |()| true);
            assert!(catch_unwind(AssertUnwindSafe(all)).is_err(), "{threads} threads");
        }
    }
}
