//! Trials, counted: so many are made of what is tried one after the other, and as many where some of it is tried ahead.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use crate::cure::means::Means;
use crate::judge::Content;
use crate::judge::Subject;

/// So many trials are made for one subject that fails.
pub(super) const MOST: usize = 400;
/// So many for one that may fail.
pub(super) const MOST_OPEN: usize = 120;

/// So many bytes of the files that a Dockerfile asks for are read again in all trials, and so many trials are made
/// whatever they are: lists of packages may be as long as books.
const MOST_READ: usize = 64 << 20;
const LEAST: usize = 50;

/// How many trials are made for a subject.
pub(super) fn budget(subject: &Subject, most: usize) -> usize {
    let Content::Dockerfile { files, .. } = &subject.content else { return most };
    let read: usize = files.asked().filter_map(|(_, file)| file.as_ref().ok()).map(|file| file.text.len()).sum();
    most.min((MOST_READ / read.max(1)).max(LEAST))
}

/// Trials, counted.
pub(super) struct Trials<'a> {
    pub(super) means: &'a Means<'a>,
    left: usize,
    /// Of what is tried ahead: what is left for all of it together.
    ahead: Option<&'a AtomicUsize>,
    /// Whether that did not do.
    short: bool,
}

impl<'a> Trials<'a> {
    /// So many.
    pub(super) const fn new(means: &'a Means<'a>, left: usize) -> Self {
        Self { means, left, ahead: None, short: false }
    }

    /// So many of another count.
    pub(super) const fn of_own(&self, left: usize) -> Self {
        Self::new(self.means, left)
    }

    /// How many are left.
    pub(super) const fn left(&self) -> usize {
        self.left
    }

    /// One trial less; whether there was one.
    pub(super) fn take(&mut self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        let next = |ahead: &AtomicUsize| ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok();
        if self.left == 0 {
            return false;
        }
        if self.ahead.is_some_and(|ahead| !next(ahead)) {
            (self.short, self.left) = (true, 0);
            return false;
        }
        self.left -= 1;
        true
    }

    /// As many less; as many as there are where these are fewer.
    pub(super) fn spend(&mut self, number: usize) {
        for _ in 0..number {
            self.take();
        }
    }

    /// Does something with every item, one after the other as far as anybody can tell, until no more results are taken.
    pub(super) fn each<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        work: impl Fn(&T, &mut Trials<'_>) -> R + Sync,
        mut take: impl FnMut(R) -> bool,
    ) {
        let means = self.means;
        let (left, ahead) = (AtomicUsize::new(self.left), AtomicUsize::new(self.left));
        let alone = |item: &T| {
            let left = left.load(Ordering::Relaxed);
            let mut own = Trials { means, left, ahead: Some(&ahead), short: false };
            let result = work(item, &mut own);
            (result, (!own.short).then(|| left - own.left))
        };
        let mut items_then = items.iter();
        means.crew.each(items, alone, |(result, used)| {
            let item = items_then.next();
            let result = match (item, used.filter(|used| *used <= self.left)) {
                (_, Some(used)) => {
                    self.spend(used);
                    result
                }
                // What comes before it left less.
                (Some(item), None) => work(item, self),
                (None, None) => return false,
            };
            left.store(self.left, Ordering::Relaxed);
            take(result)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cure::Crew;
    use crate::judge::Hosts;

    /// So many of these are made.
    fn made(number: usize, trials: &mut Trials<'_>) -> usize {
        (0..number).take_while(|_| trials.take()).count()
    }

    /// What is made of lists of numbers of trials, and how many are left.
    fn run(lists: &[Vec<usize>], threads: usize, left: usize) -> (Vec<Vec<usize>>, usize) {
        let (hosts, crew) = (Hosts::default(), Crew::new(threads));
        let means = Means::new(&hosts, &crew);
        let mut trials = Trials::new(&means, left);
        let mut all = Vec::new();
        let of_list = |list: &Vec<usize>, trials: &mut Trials<'_>| {
            let mut some = Vec::new();
            trials.each(
                list,
                |number, trials| made(*number, trials),
                |number| {
                    some.push(number);
                    number != 7
                },
            );
            some
        };
        trials.each(lists, of_list, |some| {
            all.push(some);
            true
        });
        (all, trials.left())
    }

    #[test]
    fn what_is_tried_ahead_takes_from_nobody_before_it() {
        let lists = [vec![3, 0, 5], vec![], vec![7, 9, 9], vec![2; 30], vec![1], vec![40, 1, 7, 3]];
        for left in 0..140 {
            let alone = run(&lists, 1, left);
            let all: usize = alone.0.iter().flatten().sum();
            assert_eq!(all + alone.1, left, "every trial is counted once");
            for threads in [2, 4] {
                assert_eq!(run(&lists, threads, left), alone, "{left} trials, {threads} threads");
            }
        }
        let enough = run(&lists, 2, 1_000);
        assert_eq!(enough.0[2], [7], "behind what is enough nothing is made");
        assert_eq!(enough.1, 1_000 - 8 - 7 - 60 - 1 - 48);
    }
}
