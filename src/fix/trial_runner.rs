//! Runs and counts trials, with the same budget and results whether they run in sequence or in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fix::search_resources::SearchResources;
use crate::judge::{AnalysisSubject, SubjectContent};

/// Maximum number of trials for a subject that fails.
pub(super) const MAX_TRIALS: usize = 400;
/// Maximum number of trials for a subject that only may fail.
pub(super) const MAX_TRIALS_UNDETERMINED: usize = 120;

/// Maximum bytes of files of the build that all trials together read again.
const MAX_BYTES_READ: usize = 64 << 20;
/// Minimum number of trials, however large the files of the build are.
const MIN_TRIALS: usize = 50;

/// Returns the number of trials for a subject, which shrinks with the size of its files.
pub(super) fn trial_budget(subject: &AnalysisSubject, most: usize) -> usize {
    let SubjectContent::Dockerfile { files, .. } = &subject.content else { return most };
    let read: usize =
        files.requested_files().filter_map(|(_, file)| file.as_ref().ok()).map(|file| file.text.len()).sum();
    most.min((MAX_BYTES_READ / read.max(1)).max(MIN_TRIALS))
}

/// Runs trials within a budget.
pub(super) struct TrialRunner<'a> {
    pub(super) means: &'a SearchResources<'a>,
    left: usize,
    /// For work done in advance: the trials that remain for all of it together.
    ahead: Option<&'a AtomicUsize>,
    /// Whether the shared budget was insufficient.
    short: bool,
}

impl<'a> TrialRunner<'a> {
    /// Creates a runner with a budget of trials.
    pub(super) const fn new(means: &'a SearchResources<'a>, left: usize) -> Self {
        Self { means, left, ahead: None, short: false }
    }

    /// Creates a runner with a separate budget.
    pub(super) const fn with_budget(&self, left: usize) -> Self {
        Self::new(self.means, left)
    }

    /// Returns the number of remaining trials.
    pub(super) const fn remaining(&self) -> usize {
        self.left
    }

    /// Takes one trial from the budget, and returns whether there was one.
    pub(super) fn take_trial(&mut self) -> bool {
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

    /// Takes a number of trials from the budget, or all that remain.
    pub(super) fn spend(&mut self, number: usize) {
        for _ in 0..number {
            self.take_trial();
        }
    }

    /// Runs work on each item, with results as if in sequence, until `take` returns false.
    pub(super) fn run_each<T: Sync, R: Send>(
        &mut self,
        items: &[T],
        work: impl Fn(&T, &mut TrialRunner<'_>) -> R + Sync,
        mut take: impl FnMut(R) -> bool,
    ) {
        let means = self.means;
        let (left, ahead) = (AtomicUsize::new(self.left), AtomicUsize::new(self.left));
        let alone = |item: &T| {
            let left = left.load(Ordering::Relaxed);
            let mut own = TrialRunner { means, left, ahead: Some(&ahead), short: false };
            let result = work(item, &mut own);
            (result, (!own.short).then(|| left - own.left))
        };
        let mut items_then = items.iter();
        means.crew.process_in_order(items, alone, |(result, used)| {
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
    use crate::fix::ThreadBudget;
    use crate::judge::FleetHosts;

    /// Takes up to a number of trials, and returns how many there were.
    fn take_trials(number: usize, trials: &mut TrialRunner<'_>) -> usize {
        (0..number).take_while(|_| trials.take_trial()).count()
    }

    /// Runs lists of trial counts, and returns the results and the remaining trials.
    fn run_lists(lists: &[Vec<usize>], threads: usize, left: usize) -> (Vec<Vec<usize>>, usize) {
        let (hosts, crew) = (FleetHosts::default(), ThreadBudget::new(threads));
        let means = SearchResources::new(&hosts, &crew);
        let mut trials = TrialRunner::new(&means, left);
        let mut all = Vec::new();
        let of_list = |list: &Vec<usize>, trials: &mut TrialRunner<'_>| {
            let mut some = Vec::new();
            trials.run_each(
                list,
                |number, trials| take_trials(*number, trials),
                |number| {
                    some.push(number);
                    number != 7
                },
            );
            some
        };
        trials.run_each(lists, of_list, |some| {
            all.push(some);
            true
        });
        (all, trials.remaining())
    }

    #[test]
    fn what_is_tried_ahead_takes_from_nobody_before_it() {
        let lists = [vec![3, 0, 5], vec![], vec![7, 9, 9], vec![2; 30], vec![1], vec![40, 1, 7, 3]];
        for left in 0..140 {
            let alone = run_lists(&lists, 1, left);
            let all: usize = alone.0.iter().flatten().sum();
            assert_eq!(all + alone.1, left, "every trial is counted once");
            for threads in [2, 4] {
                assert_eq!(run_lists(&lists, threads, left), alone, "{left} trials, {threads} threads");
            }
        }
        let enough = run_lists(&lists, 2, 1_000);
        assert_eq!(enough.0[2], [7], "behind what is enough nothing is made");
        assert_eq!(enough.1, 1_000 - 8 - 7 - 60 - 1 - 48);
    }
}
