//! Subjects that are judged and told one by one, as they are done.

use std::io;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::Failure;
use crate::cli::baseline::Sieve;
use crate::cli::exit::Exit;
use crate::cli::exit::Tally;
use crate::cli::output;
use crate::cli::output::Judge;
use crate::cli::output::Run;
use crate::cli::parallel;
use crate::cli::progress::Progress;
use crate::cli::streams;
use crate::cli::workloads::Looked;
use crate::judge::Detail;
use crate::report::model::InputError;
use crate::report::ndjson;
use crate::report::ndjson::Counts;
use crate::report::ndjson::Line;
use crate::rules::RuleBook;

/// Things, and the way from each to a subject.
pub(crate) struct Each<'a, T, F> {
    pub(crate) items: &'a [T],
    pub(crate) jobs: usize,
    pub(crate) look: &'a F,
    pub(crate) progress: &'a Progress,
}

/// What was told so far.
#[derive(Default)]
struct Told {
    counts: Counts,
    tally: Tally,
    errors: Vec<InputError>,
    /// Why nobody can be told any more.
    broken: Option<io::Error>,
}

impl Told {
    fn line(&mut self, line: &Line<'_>, progress: &Progress) {
        if self.broken.is_none() {
            let told = progress.beside(|| {
                let mut out = io::BufWriter::new(streams::out());
                ndjson::line(line, &mut out).and_then(|()| out.flush())
            });
            self.broken = told.err();
        }
    }

    fn error(&mut self, error: InputError, progress: &Progress) {
        self.line(&Line::Error(&error), progress);
        self.errors.push(error);
    }
}

/// Judges each and prints a line for it, and one line for all of them at the end.
pub(crate) fn judge_and_print<T, F>(
    run: Run<'_>,
    errors: Vec<InputError>,
    each: &Each<'_, T, F>,
) -> Result<Exit, Failure>
where
    T: Sync,
    F: Fn(&T) -> Vec<Looked> + Sync,
{
    let own = output::own_rules(run.options)?;
    let book = own.as_ref().unwrap_or(RuleBook::built_in());
    let judge = Judge::new(run, &[], book, Detail::Everything);
    let sieve = Mutex::new(Sieve::new(run.options, run.sources, book)?);
    let sieved = || sieve.lock().unwrap_or_else(PoisonError::into_inner);
    let writes = sieved().writes();
    let progress = each.progress;
    let told = Mutex::new(Told::default());
    let lock = || told.lock().unwrap_or_else(PoisonError::into_inner);
    for error in errors {
        lock().error(error, progress);
    }
    parallel::map(each.jobs, each.items, |item| {
        if lock().broken.is_some() {
            return;
        }
        for looked in (each.look)(item) {
            match looked {
                Ok(subject) => {
                    let judged = sieved().pass(judge.judge(&subject));
                    let mut told = lock();
                    told.counts.add(&judged);
                    told.tally.add(&judged, run.options.fail_on());
                    if writes {
                        continue;
                    }
                    told.line(&Line::Subject(&judged), progress);
                }
                Err(error) => lock().error(*error, progress),
            }
        }
    });
    progress.finish();
    let mut sieve = sieve.into_inner().unwrap_or_else(PoisonError::into_inner);
    if writes {
        sieve.write()?;
        let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
        output::tell_unread(&told.errors, run.options)?;
        return Ok(told.tally.exit(&told.errors, run.options.exit.allow_incomplete));
    }
    let mut told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    for subject in judge.idle() {
        told.tally.add(&subject, run.options.fail_on());
        told.line(&Line::Subject(&subject), progress);
    }
    let head = judge.head(std::mem::take(&mut told.errors));
    let summary = std::mem::take(&mut told.counts).summary(&head);
    told.line(&Line::Summary(summary), progress);
    if let Some(error) = told.broken {
        return Err(error.into());
    }
    sieve.tell(run.options, &[], book)?;
    output::tell_unread(&head.errors, run.options)?;
    Ok(told.tally.exit(&head.errors, run.options.exit.allow_incomplete))
}
