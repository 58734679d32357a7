//! Processes many items in parallel, with the results in the order of the items.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::{io, thread};

/// Stack size in bytes of a worker thread, for the recursive parsers of nested texts.
const STACK_BYTES: usize = 8 << 20;

/// Size in bytes of the blocks that are read ahead.
const BLOCK_BYTES: usize = 256 << 10;
/// Maximum number of blocks that are read ahead.
const MAX_BLOCKS_AHEAD: usize = 8;

/// Returns the results of a function for all items, in their order.
pub fn map<T: Sync, R: Send>(jobs: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_with_state(jobs, items, || (), |(), item| work(item))
}

/// Like `map`, where every worker has a mutable state that it creates itself.
pub fn map_with_state<S, T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    own: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<R> {
    let jobs = jobs.min(items.len());
    if jobs < 2 {
        let mut own = own();
        return items.iter().map(|item| work(&mut own, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        let (mut own, mut results) = (own(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            results.push((at, work(&mut own, item)));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut results);
    };
    thread::scope(|scope| {
        let started =
            (1..jobs).filter(|_| thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, worker).is_ok());
        // Without further threads this one does it all.
        let _ = started.count();
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Like `map`, where every item is dropped as soon as it is processed.
pub fn map_owned<T: Send, R: Send>(jobs: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let results = map(jobs, &items, |item| {
        let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
        item.map(&work)
    });
    results.into_iter().flatten().collect()
}

/// Calls `act` with a reader whose bytes are read ahead on another thread.
pub fn read_ahead<R: Read + Send, T>(from: R, act: impl FnOnce(&mut dyn Read) -> T) -> T {
    let from = Mutex::new(Some(from));
    let take = || from.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::scope(|scope| {
        let (blocks, read) = mpsc::sync_channel(MAX_BLOCKS_AHEAD);
        let reads = || {
            let (blocks, from) = (blocks, take());
            // Sending stops when the receiver is gone.
            if let Some(from) = from {
                send_blocks(from, |block| blocks.send(block).is_ok());
            }
        };
        match thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, reads) {
            Ok(_) => act(&mut BlockReader { read, block: Vec::new(), at: 0 }),
            // Without a further thread this one does it all.
            Err(_) => match take() {
                Some(mut from) => act(&mut from),
                None => act(&mut io::empty()),
            },
        }
    })
}

/// Passes block after block to `send`, up to the end or the first error.
fn send_blocks(mut from: impl Read, mut send: impl FnMut(io::Result<Vec<u8>>) -> bool) {
    loop {
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        let outcome = from.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block);
        let is_sent = block.is_empty() || send(Ok(block));
        match outcome {
            Ok(count) if count > 0 && is_sent => {}
            Ok(_) => return,
            Err(error) => {
                send(Err(error));
                return;
            }
        }
    }
}

/// Reads the blocks that another thread sends.
struct BlockReader {
    read: mpsc::Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
}

impl Read for BlockReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            match self.read.recv() {
                Ok(block) => (self.block, self.at) = (block?, 0),
                Err(mpsc::RecvError) => return Ok(0),
            }
        }
        let count = self.block.get(self.at..).unwrap_or_default().read(out)?;
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes at a time, and fails at the end.
    struct FailingReader(usize);

    impl Read for FailingReader {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("gone"));
            }
            let count = self.0.min(out.len()).min(1_000);
            out[..count].fill(b'x');
            self.0 -= count;
            Ok(count)
        }
    }

    #[test]
    fn read_ahead_returns_the_bytes_of_the_source() {
        for length in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7, 2 * MAX_BLOCKS_AHEAD * BLOCK_BYTES] {
            let text: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
            let read = read_ahead(text.as_slice(), |from| {
                let mut all = Vec::new();
                from.read_to_end(&mut all).map(|_| all)
            });
            assert!(read.is_ok_and(|all| all == text), "{length}");
        }
        // A reader that stops early does not wait.
        let first = read_ahead(io::repeat(7), |from| {
            let mut one = [0];
            from.read_exact(&mut one).map(|()| one)
        });
        assert!(first.is_ok_and(|one| one == [7]));
    }

    #[test]
    fn read_errors_follow_the_readable_bytes() {
        for length in [0, 1, 5_000] {
            let mut all = Vec::new();
            let outcome = read_ahead(FailingReader(length), |from| from.read_to_end(&mut all));
            assert!(outcome.is_err_and(|error| error.to_string() == "gone"), "{length}");
            assert_eq!(all.len(), length);
        }
    }

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<usize> = (0..1_000).collect();
        for jobs in [0, 1, 2, 7, 2_000] {
            let found = map(jobs, &items, |item| item * 2);
            assert!(found.iter().enumerate().all(|(at, found)| *found == at * 2), "{jobs}");
            assert_eq!(found.len(), items.len(), "{jobs}");
        }
        assert!(map(4, &[0_u8; 0], |item| *item).is_empty());
    }

    /// Decrements a counter when it is dropped.
    struct CountedItem<'a>(usize, &'a AtomicUsize);
    impl Drop for CountedItem<'_> {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn items_are_dropped_as_they_are_processed() {
        let alive = AtomicUsize::new(0);
        for jobs in [0, 1, 3] {
            let items: Vec<CountedItem<'_>> = (0..100).map(|at| CountedItem(at, &alive)).collect();
            alive.store(items.len(), Ordering::SeqCst);
            let begun = AtomicUsize::new(0);
            let found = map_owned(jobs, items, |item| {
                let left = 100 - begun.fetch_add(1, Ordering::SeqCst);
                assert!(alive.load(Ordering::SeqCst) < left + jobs.max(1), "what was worked on is gone");
                item.0
            });
            assert!(found.into_iter().eq(0..100), "{jobs}");
            assert_eq!(alive.load(Ordering::SeqCst), 0, "{jobs}");
        }
    }

    #[test]
    fn each_worker_has_its_own() {
        let (items, made) = (vec![(); 100], AtomicUsize::new(0));
        for jobs in [0, 1, 3] {
            made.store(0, Ordering::SeqCst);
            let own = || {
                made.fetch_add(1, Ordering::SeqCst);
                0_usize
            };
            let found = map_with_state(jobs, &items, own, |met, ()| {
                *met += 1;
                *met
            });
            assert_eq!(found.len(), items.len(), "{jobs}");
            let workers = made.load(Ordering::SeqCst);
            assert!(workers <= jobs.max(1), "{jobs}: {workers}");
            // What one worker counts no other counts: each number is there once for every worker that came so far.
            assert!((1..=items.len()).all(|nth| found.iter().filter(|met| **met == nth).count() <= workers), "{jobs}");
        }
    }
}
