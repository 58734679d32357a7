//! Work on many things at once, with the results in the order of the things.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

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
        done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut own);
    };
    thread::scope(|scope| {
        let started =
            (1..jobs).filter(|_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_ok());
        // Without further threads this one does it all.
        let _ = started.count();
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
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
}
