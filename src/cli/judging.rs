//! Judging of all subjects of a run, and the rule pages that apply to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::{fs, io, iter};

use jiff::civil::Date;

use crate::cli::args::{FailOn, JudgingArgs};
use crate::cli::baseline::BaselineFilter;
use crate::cli::exit::{Exit, ExitTally};
use crate::cli::input_texts::read_text;
use crate::cli::settings::RunSettings;
use crate::cli::{CommandError, parallel, render_diagnostic, report_output, streams};
use crate::fix::ThreadBudget;
use crate::fleet::Fleet;
use crate::judge::{AnalysisSettings, AnalysisSubject, FleetHosts, InferenceCache, ReportDetail, SubjectContent};
use crate::knowledge::Knowledge;
use crate::nearest::unreadable_path_message;
use crate::replay::ImprovementGoals;
use crate::report::escape::escape_one_line;
use crate::report::model::InputError;
use crate::report::phrases::pluralize;
use crate::report::{checked_files, json, model};
use crate::rules::{Persona, RuleBook, RulePageError, is_rule_page};
use crate::source::Sources;
use crate::{fix, judge};

/// The fleet, options and settings that the subjects of a run are judged with.
#[derive(Clone, Copy)]
pub(crate) struct JudgingRun<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) options: &'a JudgingArgs,
    pub(crate) knowledge: Knowledge,
    pub(crate) sources: &'a Sources,
    pub(crate) settings: Option<RunSettings<'a>>,
    /// The subcommand: `check`, `scan` or `lsp`.
    pub(crate) command: &'a str,
}

/// Number of subjects that are judged before the first of them is written.
const SUBJECT_BATCH: usize = 64;

/// Judges all subjects and prints the reports; each subject is dropped as soon as it is judged.
pub(crate) fn judge_and_print(
    run: JudgingRun<'_>,
    subjects: Vec<AnalysisSubject>,
    errors: Vec<InputError>,
) -> Result<Exit, CommandError> {
    let own = custom_rule_book(run.options)?;
    let book = own.as_ref().unwrap_or(RuleBook::built_in());
    let judge = Judge::new(run, &subjects, book, report_output::required_detail(run.options));
    let mut report = judge.report_head(errors);
    let mut tally = ExitTally::default();
    let mut sieve = BaselineFilter::new(run.options, run.sources, book)?;
    if sieve.writes_baseline() {
        judge.judge_each(subjects).for_each(|subject| tally.add(&sieve.filter_subject(subject), FailOn::Never));
        sieve.write_baseline()?;
        print_ignored_errors(&report.errors, run.options)?;
        return Ok(tally.exit(&report.errors, run.options.exit.allow_incomplete));
    }
    let all = judge
        .judge_each(subjects)
        .map(|subject| sieve.filter_subject(subject))
        .chain(judge.settings_with_unused_suppressions());
    let all = all.inspect(|subject| tally.add(subject, run.options.fail_on()));
    report_output::write_reports(run, book, &mut report, all)?;
    sieve.report_hidden_findings(run.options, run.settings.map_or(&[], |held| held.whole), book)?;
    print_ignored_errors(&report.errors, run.options)?;
    Ok(tally.exit(&report.errors, run.options.exit.allow_incomplete))
}

/// Judges all subjects and lists the files that were inspected.
pub(crate) fn judge_and_list(
    run: JudgingRun<'_>,
    subjects: Vec<AnalysisSubject>,
    errors: Vec<InputError>,
) -> Result<Exit, CommandError> {
    let own = custom_rule_book(run.options)?;
    let book = own.as_ref().unwrap_or(RuleBook::built_in());
    let mut judge = Judge::new(run, &subjects, book, ReportDetail::Everything);
    // A line that cannot be read is told here of every file.
    judge.settings.persona = judge.settings.persona.max(Persona::Pedantic);
    let errors = judge.report_head(errors).errors;
    checked_files::write_checked_files(judge.judge_each(subjects), &errors, &mut streams::stdout())?;
    print_ignored_errors(&errors, run.options)?;
    Ok(if errors.is_empty() || run.options.exit.allow_incomplete { Exit::Clean } else { Exit::Broken })
}

/// Largest number of inputs named in the note on those that the exit code ignores; the report lists all of them.
const MAX_NAMED_INPUTS: usize = 5;

/// Prints which unreadable inputs the exit code ignores.
pub(crate) fn print_ignored_errors(errors: &[InputError], options: &JudgingArgs) -> io::Result<()> {
    if errors.is_empty() || !options.exit.allow_incomplete {
        return Ok(());
    }
    let mut names: Vec<_> = errors.iter().take(MAX_NAMED_INPUTS).map(|error| escape_one_line(&error.input)).collect();
    if errors.len() > names.len() {
        names.push("...".into());
    }
    let number = pluralize(errors.len(), "input");
    writeln!(streams::stderr(), "{number} could not be read (ignored by the exit code): {}", names.join(", "))
}

/// Judges subjects; holds the hosts of the fleet for each date that the tables are read for.
pub(crate) struct Judge<'a> {
    run: JudgingRun<'a>,
    settings: AnalysisSettings<'a>,
    hosts: BTreeMap<Option<Date>, FleetHosts>,
    /// Threads that are not needed to judge subjects in parallel.
    crew: ThreadBudget,
    /// Whether there are subjects to judge.
    any: bool,
}

impl<'a> Judge<'a> {
    /// Creates a judge for these subjects, or for others with the same dates.
    pub(crate) fn new(
        run: JudgingRun<'a>,
        subjects: &[AnalysisSubject],
        book: &'a RuleBook,
        detail: ReportDetail,
    ) -> Self {
        let JudgingRun { fleet, options, knowledge, sources, .. } = run;
        let (pools, as_of, persona) = (&options.pools, options.as_of, options.persona());
        let settings = AnalysisSettings { fleet, pools, as_of, persona, knowledge, book, sources, detail, own: None };
        let days = subjects.iter().map(|subject| as_of.or(subject.as_of));
        let days: BTreeSet<Option<Date>> = days.chain(subjects.is_empty().then_some(as_of)).collect();
        let hosts = days
            .into_iter()
            .map(|as_of| (as_of, FleetHosts::for_fleet(AnalysisSettings { as_of, ..settings })))
            .collect();
        // Of what is given one by one nobody knows how many there are.
        let (jobs, busy) = (options.jobs(), if subjects.is_empty() { usize::MAX } else { subjects.len() });
        let crew = ThreadBudget::new(1 + jobs.saturating_sub(busy));
        Self { run, settings, hosts, crew, any: !subjects.is_empty() }
    }

    /// Returns the report without its subjects.
    pub(crate) fn report_head(&self, errors: Vec<InputError>) -> model::Report {
        let mut days = self.hosts.keys();
        let common = days.next().copied().flatten().filter(|_| days.next().is_none());
        model::Report {
            schema_version: json::SCHEMA_VERSION,
            tool: model::Tool {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                knowledge: self.run.knowledge.newest_source_date().to_string(),
            },
            as_of: self.run.options.as_of.or(common).map(|day| day.to_string()),
            fleet: report_fleet(self.run.fleet, self.run.options, self.run.sources),
            subjects: Vec::new(),
            errors,
            texts: Vec::new(),
        }
    }

    /// Judges the subjects in order, in parallel batches; each is dropped once it is judged.
    fn judge_each(&self, subjects: Vec<AnalysisSubject>) -> impl Iterator<Item = model::Subject> {
        let (jobs, mut left) = (self.run.options.jobs(), subjects.into_iter());
        let judged = move || {
            let some: Vec<AnalysisSubject> = left.by_ref().take(SUBJECT_BATCH).collect();
            (!some.is_empty()).then(|| parallel::map_owned(jobs, some, |subject| self.judge(&subject)))
        };
        iter::from_fn(judged).flatten()
    }

    /// Returns the settings files with suppressions that have no effect, each as a subject; complete only after all
    /// subjects are judged.
    pub(crate) fn settings_with_unused_suppressions(&self) -> impl Iterator<Item = model::Subject> {
        let held = self.run.settings.filter(|_| self.any);
        held.into_iter().flat_map(move |held| held.files_with_unused_suppressions(self.settings))
    }

    /// Judges one subject, and searches for fixes if the options request them.
    pub(crate) fn judge(&self, subject: &AnalysisSubject) -> model::Subject {
        self.with_hosts(subject, |settings, hosts| {
            let mut judged = judge::judge_on_hosts(subject, settings, hosts);
            if self.run.options.show_fixes {
                fix::add_fixes(&mut judged, subject, settings, hosts, &self.crew);
            } else if report_output::has_report_with_edits(self.run.options)
                && matches!(subject.content, SubjectContent::Dockerfile { .. })
            {
                fix::add_fixes_to_errors(&mut judged, subject, settings, hosts, &self.crew);
            }
            judged
        })
    }

    /// Returns the threads that are not needed to judge subjects in parallel.
    pub(crate) const fn spare_threads(&self) -> &ThreadBudget {
        &self.crew
    }

    /// Judges one subject without searching for fixes, and reuses facts that are already inferred.
    pub(crate) fn judge_sharing_inference(
        &self,
        subject: &AnalysisSubject,
        inferred: &InferenceCache,
    ) -> model::Subject {
        let mut doubts = ImprovementGoals::default();
        self.with_hosts(subject, |settings, hosts| {
            judge::judge_with_replay_cache(subject, settings, hosts, inferred, &mut doubts)
        })
    }

    /// Calls `act` with the settings of a subject and the hosts for its date.
    pub(crate) fn with_hosts<T>(
        &self,
        subject: &AnalysisSubject,
        act: impl FnOnce(AnalysisSettings<'_>, &FleetHosts) -> T,
    ) -> T {
        let as_of = self.settings.as_of.or(subject.as_of);
        let own = self.run.settings.and_then(|held| held.loaded.settings_of_subject(&subject.name));
        let settings = AnalysisSettings { as_of, own, ..self.settings };
        match self.hosts.get(&as_of) {
            Some(hosts) => act(settings, hosts),
            None => act(settings, &FleetHosts::for_fleet(settings)),
        }
    }
}

/// Returns the rule book of the options; `None` if the built-in rules apply unchanged.
pub(crate) fn custom_rule_book(options: &JudgingArgs) -> Result<Option<RuleBook>, CommandError> {
    if options.rules.is_empty() && !options.preview {
        return Ok(None);
    }
    let book = read_rule_book(&options.rules)?;
    Ok(Some(if options.preview { book.with_preview() } else { book }))
}

/// Warns about rule folders without a rule page.
pub(crate) fn warn_about_empty_rule_folders(options: &JudgingArgs) -> io::Result<()> {
    for folder in &options.rules {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        if !entries.map(|entry| entry.path()).any(|path| is_rule_page(&path.to_string_lossy())) {
            writeln!(
                streams::stderr(),
                "warning: no rule page (*.md) in {}",
                escape_one_line(&folder.display().to_string())
            )?;
        }
    }
    Ok(())
}
/// Largest size of a rule page in bytes.
pub(crate) const MAX_PAGE_BYTES: u64 = 256 << 10;
/// Largest number of rule pages read from folders.
pub(crate) const MAX_PAGES: usize = 1_000;

/// Reads the rule pages of folders in addition to the built-in ones.
pub(crate) fn read_rule_book(folders: &[impl AsRef<Path>]) -> Result<RuleBook, CommandError> {
    let mut files = Vec::new();
    for folder in folders {
        let folder = folder.as_ref();
        let fail = |error: io::Error| {
            let help = "help: imagelint rules new NAME DIR creates a page in a directory";
            let why = if folder.is_dir() {
                error.to_string()
            } else {
                unreadable_path_message(folder, &error, "a directory of rule pages")
            };
            CommandError::Said(format!("error: cannot read rules in {}: {why}\n{help}", folder.display()))
        };
        let mut paths: Vec<_> = fs::read_dir(folder)
            .map_err(fail)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(fail)?;
        paths.sort();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        if paths.is_empty() {
            return Err(fail(io::Error::new(io::ErrorKind::NotFound, "no rule page (*.md) in it")));
        }
        for path in paths {
            if files.len() >= MAX_PAGES {
                return Err(CommandError::Said(format!("error: more than {MAX_PAGES} pages in {}", folder.display())));
            }
            let text = read_text(&path, MAX_PAGE_BYTES).map_err(|error| {
                CommandError::Said(format!("error: cannot read the rule {}: {error}", path.display()))
            })?;
            files.push((path.display().to_string(), text));
        }
    }
    RuleBook::with_folder(files).map_err(|errors| page_errors(&errors))
}

/// Returns the error message for invalid rule pages, each shown in its text.
pub(crate) fn page_errors(errors: &[RulePageError]) -> CommandError {
    CommandError::Said(errors.iter().map(|error| render_diagnostic(error)).collect::<Vec<_>>().join("\n"))
}

/// Returns the fleet as it appears in the report, with the selected pools.
fn report_fleet(fleet: &Fleet, options: &JudgingArgs, sources: &Sources) -> model::Fleet {
    let pools = fleet.pools.iter().filter(|pool| options.pools.is_empty() || options.pools.contains(&pool.name.value));
    model::Fleet {
        source: fleet.name.clone(),
        built_in: fleet.built_in,
        pools: pools
            .map(|pool| model::Pool {
                name: pool.name.value.clone(),
                gpu: pool.gpu.iter().map(|gpu| gpu.value.name.clone()).collect(),
                driver: pool.driver_text(),
                nodes: pool.nodes.as_ref().map(|nodes| nodes.value),
                location: judge::pool_location(fleet, pool, sources),
                fields: judge::declared_pool_fields(fleet, pool, sources),
                undeclared: judge::undeclared_pool_fields(pool),
            })
            .collect(),
    }
}
