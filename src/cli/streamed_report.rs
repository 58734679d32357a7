//! Judges subjects one by one, and prints each as soon as it is complete.

use std::io;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use crate::cli::baseline::BaselineFilter;
use crate::cli::exit::{Exit, ExitTally};
use crate::cli::judging::{Judge, JudgingRun};
use crate::cli::progress::ScanProgress;
use crate::cli::workloads::WorkloadResult;
use crate::cli::{CommandError, judging, parallel, streams};
use crate::judge::ReportDetail;
use crate::report::model::InputError;
use crate::report::ndjson;
use crate::report::ndjson::{Line, SubjectCounts};
use crate::rules::RuleBook;

/// Items, and the function that reads the subjects of each item.
pub(crate) struct SubjectSource<'a, T, F> {
    pub(crate) items: &'a [T],
    pub(crate) jobs: usize,
    pub(crate) look: &'a F,
    pub(crate) progress: &'a ScanProgress,
}

/// State of a report that is printed line by line.
#[derive(Default)]
struct StreamedReport {
    counts: SubjectCounts,
    tally: ExitTally,
    errors: Vec<InputError>,
    /// Why nobody can be told any more.
    broken: Option<io::Error>,
}

impl StreamedReport {
    /// Prints one line, unless an earlier one could not be printed.
    fn print_line(&mut self, line: &Line<'_>, progress: &ScanProgress) {
        if self.broken.is_none() {
            let told = progress.suspend_bars(|| {
                let mut out = io::BufWriter::new(streams::stdout());
                ndjson::write_ndjson_line(line, &mut out).and_then(|()| out.flush())
            });
            self.broken = told.err();
        }
    }

    /// Prints an error, and stores it for the summary.
    fn print_error(&mut self, error: InputError, progress: &ScanProgress) {
        self.print_line(&Line::Error(&error), progress);
        self.errors.push(error);
    }
}

/// Judges each subject and prints a line for it, and a summary line at the end.
pub(crate) fn judge_and_stream<T, F>(
    run: JudgingRun<'_>,
    errors: Vec<InputError>,
    each: &SubjectSource<'_, T, F>,
) -> Result<Exit, CommandError>
where
    T: Sync,
    F: Fn(&T) -> Vec<WorkloadResult> + Sync,
{
    let own = judging::custom_rule_book(run.options)?;
    let book = own.as_ref().unwrap_or(RuleBook::built_in());
    let judge = Judge::new(run, &[], book, ReportDetail::Everything);
    let sieve = Mutex::new(BaselineFilter::new(run.options, run.sources, book)?);
    let sieved = || sieve.lock().unwrap_or_else(PoisonError::into_inner);
    let writes = sieved().writes_baseline();
    let progress = each.progress;
    let told = Mutex::new(StreamedReport::default());
    let lock = || told.lock().unwrap_or_else(PoisonError::into_inner);
    for error in errors {
        lock().print_error(error, progress);
    }
    parallel::map(each.jobs, each.items, |item| {
        if lock().broken.is_some() {
            return;
        }
        for looked in (each.look)(item) {
            match looked {
                Ok(subject) => {
                    let judged = sieved().filter_subject(judge.judge(&subject));
                    let mut told = lock();
                    told.counts.add_subject(&judged);
                    told.tally.add(&judged, run.options.fail_on());
                    if writes {
                        continue;
                    }
                    told.print_line(&Line::Subject(&judged), progress);
                }
                Err(error) => lock().print_error(*error, progress),
            }
        }
    });
    progress.finish();
    let mut sieve = sieve.into_inner().unwrap_or_else(PoisonError::into_inner);
    if writes {
        sieve.write_baseline()?;
        let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
        judging::print_ignored_errors(&told.errors, run.options)?;
        return Ok(told.tally.exit(&told.errors, run.options.exit.allow_incomplete));
    }
    let mut told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    for subject in judge.settings_with_unused_suppressions() {
        told.tally.add(&subject, run.options.fail_on());
        told.print_line(&Line::Subject(&subject), progress);
    }
    let head = judge.report_head(std::mem::take(&mut told.errors));
    let summary = std::mem::take(&mut told.counts).into_summary(&head);
    told.print_line(&Line::Summary(summary), progress);
    if let Some(error) = told.broken {
        return Err(error.into());
    }
    sieve.report_hidden_findings(run.options, &[], book)?;
    judging::print_ignored_errors(&head.errors, run.options)?;
    Ok(told.tally.exit(&head.errors, run.options.exit.allow_incomplete))
}
