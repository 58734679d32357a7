//! Judging of all subjects of a run, the rule pages that apply to it, and the output of its report.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io, iter};

use jiff::civil::Date;

use crate::cli::args::{Color, FailOn, JudgingArgs, ReportFormat, ReportOutput};
use crate::cli::baseline::BaselineFilter;
use crate::cli::error::{CommandError, render_diagnostic};
use crate::cli::exit::{Exit, ExitTally};
use crate::cli::repeated_arguments::arguments_to_repeat;
use crate::cli::report_target::ReportTarget;
use crate::cli::settings::RunSettings;
use crate::cli::text_file::read_text;
use crate::cli::{parallel, streams};
use crate::fix::ThreadBudget;
use crate::fleet::Fleet;
use crate::judge::saved::ReferencedTexts;
use crate::judge::{AnalysisSettings, AnalysisSubject, FleetHosts, InferenceCache, ReportDetail, SubjectContent};
use crate::knowledge::Knowledge;
use crate::replay::ImprovementGoals;
use crate::report::checkstyle::CheckstyleWriter;
use crate::report::concise::ConciseWriter;
use crate::report::escape::escape_one_line;
use crate::report::github::GithubWriter;
use crate::report::gitlab::GitlabWriter;
use crate::report::human_options::HumanOptions;
use crate::report::junit::JunitWriter;
use crate::report::markdown::MarkdownTarget;
use crate::report::model::{InputError, Report, Subject};
use crate::report::ndjson::NdjsonWriter;
use crate::report::phrases::pluralize;
use crate::report::rdjson::RdjsonWriter;
use crate::report::report_writer::{ReportContext, ReportWriter, strip_current_dir};
use crate::report::repository_paths::with_repository_paths;
use crate::report::sarif::SarifWriter;
use crate::report::why::WhyOptions;
use crate::report::{checked_files, html, human, json, markdown, model, why};
use crate::rules::{Persona, RuleBook, RulePageError, is_rule_page};
use crate::text::nearest::unreadable_path_message;
use crate::text::source::Sources;
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
    let judge = Judge::new(run, &subjects, book, required_detail(run.options));
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
    write_reports(run, book, &mut report, all)?;
    sieve.report_hidden_findings(run.options, run.settings.map_or(&[], |run_settings| run_settings.whole), book)?;
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
    // Lines with syntax errors are reported for every file here.
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
    threads: ThreadBudget,
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
        // The number of subjects that arrive one by one is unknown.
        let (jobs, busy) = (options.jobs(), if subjects.is_empty() { usize::MAX } else { subjects.len() });
        let threads = ThreadBudget::new(1 + jobs.saturating_sub(busy));
        Self { run, settings, hosts, threads, any: !subjects.is_empty() }
    }

    /// Returns the report without its subjects.
    pub(crate) fn report_head(&self, errors: Vec<InputError>) -> Report {
        let mut days = self.hosts.keys();
        let common = days.next().copied().flatten().filter(|_| days.next().is_none());
        Report {
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
    fn judge_each(&self, subjects: Vec<AnalysisSubject>) -> impl Iterator<Item = Subject> {
        let (jobs, mut left) = (self.run.options.jobs(), subjects.into_iter());
        let judged = move || {
            let some: Vec<AnalysisSubject> = left.by_ref().take(SUBJECT_BATCH).collect();
            (!some.is_empty()).then(|| parallel::map_owned(jobs, some, |subject| self.judge(&subject)))
        };
        iter::from_fn(judged).flatten()
    }

    /// Returns the settings files with suppressions that have no effect, each as a subject; complete only after all
    /// subjects are judged.
    pub(crate) fn settings_with_unused_suppressions(&self) -> impl Iterator<Item = Subject> {
        let run_settings = self.run.settings.filter(|_| self.any);
        run_settings
            .into_iter()
            .flat_map(move |run_settings| run_settings.files_with_unused_suppressions(self.settings))
    }

    /// Judges one subject, and searches for fixes if the options request them.
    pub(crate) fn judge(&self, subject: &AnalysisSubject) -> Subject {
        self.with_hosts(subject, |settings, hosts| {
            let mut judged = judge::judge_on_hosts(subject, settings, hosts);
            if self.run.options.show_fixes {
                fix::add_fixes(&mut judged, subject, settings, hosts, &self.threads);
            } else if has_report_with_edits(self.run.options)
                && matches!(subject.content, SubjectContent::Dockerfile { .. })
            {
                fix::add_fixes_to_errors(&mut judged, subject, settings, hosts, &self.threads);
            }
            judged
        })
    }

    /// Returns the threads that are not needed to judge subjects in parallel.
    pub(crate) const fn spare_threads(&self) -> &ThreadBudget {
        &self.threads
    }

    /// Judges one subject without searching for fixes, and reuses facts that are already inferred.
    pub(crate) fn judge_sharing_inference(&self, subject: &AnalysisSubject, inferred: &InferenceCache) -> Subject {
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
        let own = self.run.settings.and_then(|run_settings| run_settings.loaded.settings_of_subject(&subject.name));
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
            CommandError::Message(format!("error: cannot read rules in {}: {why}\n{help}", folder.display()))
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
                return Err(CommandError::Message(format!(
                    "error: more than {MAX_PAGES} pages in {}",
                    folder.display()
                )));
            }
            let text = read_text(&path, MAX_PAGE_BYTES).map_err(|error| {
                CommandError::Message(format!("error: cannot read the rule {}: {error}", path.display()))
            })?;
            files.push((path.display().to_string(), text));
        }
    }
    RuleBook::with_folder(files).map_err(|errors| page_errors(&errors))
}

/// Returns the error message for invalid rule pages, each shown in its text.
pub(crate) fn page_errors(errors: &[RulePageError]) -> CommandError {
    CommandError::Message(errors.iter().map(|error| render_diagnostic(error)).collect::<Vec<_>>().join("\n"))
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

/// Returns the reports to write; a text report is written to standard output if no other report is.
fn requested_reports(options: &JudgingArgs) -> Vec<ReportOutput> {
    let mut outputs = options.formats.clone();
    // In GitHub Actions, annotations are also shown if no format is requested.
    if outputs.is_empty() && env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        let [report, lines] =
            [ReportFormat::Human, ReportFormat::Github].map(|format| ReportOutput { format, file: None });
        return vec![report, lines];
    }
    if outputs.iter().all(|one| one.file.is_some()) {
        outputs.insert(0, ReportOutput { format: ReportFormat::Human, file: None });
    }
    outputs
}

/// Rejects reports that would overwrite each other or whose folder does not exist, before any input is read.
pub(crate) fn check_report_files(options: &JudgingArgs) -> Result<(), CommandError> {
    let fail = |text: String| Err(CommandError::Message(format!("error: {text}")));
    let mut places: BTreeSet<Option<&Path>> = BTreeSet::new();
    for one in &options.formats {
        let file = one.file.as_deref();
        if !places.insert(file) {
            return fail(match file {
                None => {
                    "two reports cannot both go to standard output; write one to a file, as in `--format json=FILE`"
                        .to_owned()
                }
                Some(file) => format!("two reports cannot both go to {}", file.display()),
            });
        }
        let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return fail(format!("directory {} for the report does not exist", folder.display()));
        }
        if let Some(file) = file.filter(|file| file.is_dir()) {
            return fail(format!("{} is a directory, not a file for the report", file.display()));
        }
    }
    Ok(())
}

/// Whether NDJSON on standard output is the only report, so that each subject can be printed as soon as it is judged.
pub(crate) fn is_ndjson_only(options: &JudgingArgs) -> bool {
    matches!(options.formats.as_slice(), [ReportOutput { format: ReportFormat::Ndjson, file: None }])
}

/// Whether a report is requested in a format whose consumers apply edits automatically.
fn has_report_with_edits(options: &JudgingArgs) -> bool {
    options.formats.iter().any(|one| has_fix_edits(one.format))
}

/// Whether a format contains edits that its consumers apply automatically.
const fn has_fix_edits(format: ReportFormat) -> bool {
    matches!(format, ReportFormat::Sarif | ReportFormat::Rdjsonl)
}

/// Returns how much detail the reports require: verdicts only, or everything for JSON, HTML and `--why`.
fn required_detail(options: &JudgingArgs) -> ReportDetail {
    let deep = |one: &ReportOutput| match one.format {
        ReportFormat::Json | ReportFormat::Ndjson | ReportFormat::Html => true,
        ReportFormat::Human => options.why.is_some(),
        _ => false,
    };
    if requested_reports(options).iter().any(deep) { ReportDetail::Everything } else { ReportDetail::Verdicts }
}

/// Writes all requested reports, subject by subject where the format allows it.
fn write_reports(
    run: JudgingRun<'_>,
    book: &RuleBook,
    report: &mut Report,
    subjects: impl Iterator<Item = Subject>,
) -> Result<(), CommandError> {
    let root = RepositoryRoot::find();
    let from_root = |path: &str| root.relative_path(path);
    let fleet = report.fleet.clone();
    let category = run.options.category.as_deref().unwrap_or(run.command);
    let setting = ReportContext { category, fleet: &fleet, sources: run.sources, book, from_root: &from_root };
    let (mut streams, mut json, mut whole) = (ReportStreams::default(), Tee::default(), Vec::new());
    // Without `--show-fixes`, only reports with edits contain fixes; no other report depends on which ones are written.
    let (drop_fixes, mut with_edits) = (!run.options.show_fixes, ReportStreams::default());
    for one in requested_reports(run.options) {
        let target = ReportTarget::open(one.file)?;
        match sink_for_format(one.format, setting) {
            Some(sink) if drop_fixes && has_fix_edits(one.format) => with_edits.0.push((sink, target)),
            Some(sink) => streams.0.push((sink, target)),
            None if one.format == ReportFormat::Json => json.0.push(target),
            None => whole.push((one.format, target)),
        }
    }
    streams.begin(report)?;
    with_edits.begin(report)?;
    let shared_streams = RefCell::new((with_edits, Ok(())));
    let subjects = subjects.map(|mut subject| {
        let (with_edits, ended) = &mut *shared_streams.borrow_mut();
        if ended.is_ok() {
            *ended = with_edits.write_subject(&subject);
        }
        if drop_fixes {
            subject.findings.iter_mut().for_each(|finding| finding.fixes.clear());
            subject.split = None;
        }
        subject
    });
    if !whole.is_empty() {
        let reduced = json.0.is_empty() && whole.iter().all(|(format, _)| uses_reduced_subjects(*format, run.options));
        for subject in subjects {
            streams.write_subject(&subject)?;
            report.subjects.push(if reduced { human::strip_for_human(subject) } else { subject });
        }
        if !json.0.is_empty() {
            let mut used = ReferencedTexts::default();
            report.subjects.iter().for_each(|subject| used.add_subject(subject));
            report.texts = used.texts(&report.errors, run.sources);
            json::write_json(report, &mut json)?;
        }
    } else if json.0.is_empty() {
        for subject in subjects {
            streams.write_subject(&subject)?;
        }
    } else {
        let (used, broken) = (RefCell::new(ReferencedTexts::default()), RefCell::new(Ok(())));
        let subjects = subjects.inspect(|subject| {
            used.borrow_mut().add_subject(subject);
            let mut broken = broken.borrow_mut();
            if broken.is_ok() {
                *broken = streams.write_subject(subject);
            }
        });
        json::write_json_stream(report, subjects, || used.borrow().texts(&report.errors, run.sources), &mut json)?;
        broken.into_inner()?;
    }
    let (with_edits, ended) = shared_streams.into_inner();
    ended?;
    with_edits.end(report)?;
    streams.end(report)?;
    json.0.into_iter().try_for_each(ReportTarget::finish)?;
    for (format, mut target) in whole {
        write_whole_report(format, run, report, &from_root, &mut target)?;
        target.finish()?;
    }
    Ok(())
}

/// Whether a report format uses only the reduced form of a subject.
fn uses_reduced_subjects(format: ReportFormat, options: &JudgingArgs) -> bool {
    format == ReportFormat::Human && options.why.is_none()
}

/// Reports that are written subject by subject.
#[derive(Default)]
struct ReportStreams<'a>(Vec<(Box<dyn ReportWriter + 'a>, ReportTarget)>);

impl ReportStreams<'_> {
    /// Writes the beginning of every report.
    fn begin(&mut self, head: &Report) -> Result<(), CommandError> {
        self.0.iter_mut().try_for_each(|(sink, target)| target.write_part(|out| sink.write_start(head, out)))
    }

    /// Writes a subject to every report.
    fn write_subject(&mut self, subject: &Subject) -> Result<(), CommandError> {
        self.0.iter_mut().try_for_each(|(sink, target)| target.write_part(|out| sink.write_subject(subject, out)))
    }

    /// Writes the end of every report.
    fn end(mut self, head: &Report) -> Result<(), CommandError> {
        self.0.iter_mut().try_for_each(|(sink, target)| target.write_part(|out| sink.write_end(head, out)))?;
        self.0.into_iter().try_for_each(|(_, target)| target.finish())
    }
}

/// Writer that copies all bytes to several report files.
#[derive(Default)]
struct Tee(Vec<ReportTarget>);

impl io::Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.iter_mut().try_for_each(|target| target.write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(io::Write::flush)
    }
}

/// Creates the sink of a format that is written subject by subject; `None` for other formats.
fn sink_for_format<'a>(format: ReportFormat, setting: ReportContext<'a>) -> Option<Box<dyn ReportWriter + 'a>> {
    Some(match format {
        ReportFormat::Concise => Box::new(ConciseWriter::new(setting)),
        ReportFormat::Ndjson => Box::new(NdjsonWriter::default()),
        ReportFormat::Sarif => Box::new(SarifWriter::new(setting)),
        ReportFormat::Github => Box::new(GithubWriter::new(setting)),
        ReportFormat::Gitlab => Box::new(GitlabWriter::new(setting)),
        ReportFormat::Rdjsonl => Box::new(RdjsonWriter::new(setting)),
        ReportFormat::Checkstyle => Box::new(CheckstyleWriter::new(setting)),
        ReportFormat::Junit => Box::new(JunitWriter::new(setting)),
        ReportFormat::Human
        | ReportFormat::Json
        | ReportFormat::Markdown
        | ReportFormat::Summary
        | ReportFormat::Html => return None,
    })
}

/// Writes a report in a format that requires all subjects first.
fn write_whole_report(
    format: ReportFormat,
    run: JudgingRun<'_>,
    report: &Report,
    from_root: &dyn Fn(&str) -> String,
    out: &mut ReportTarget,
) -> Result<(), CommandError> {
    let color = use_color(run.options.color, out.is_terminal());
    match (format, &run.options.why) {
        (ReportFormat::Markdown, _) => {
            markdown::write_markdown(&with_repository_paths(report, from_root), MarkdownTarget::Comment, out)?;
        }
        (ReportFormat::Summary, _) => {
            markdown::write_markdown(&with_repository_paths(report, from_root), MarkdownTarget::Summary, out)?;
        }
        (ReportFormat::Html, _) => html::write_html(report, out)?,
        (_, Some(why_value)) => {
            let whole = why_value == why::FULL;
            let pool = Some(why_value.as_str()).filter(|pool| !pool.is_empty() && !whole);
            let options = WhyOptions { pool, whole, color, width: output_width(out.is_terminal()) };
            let entries = run.knowledge.row_infos();
            let source = |id: &str| {
                let (table, row) = id.split_once('/')?;
                let info = entries.iter().find(|info| info.table == table && info.row == row)?;
                Some(format!("{} (checked {})", info.source, info.checked))
            };
            why::write_why(report, &options, &source, out)?;
        }
        (_, None) => {
            let command = if run.command == "scan" { "scan" } else { "check" };
            let options = HumanOptions {
                color,
                ascii: false,
                width: output_width(out.is_terminal()),
                verbose: run.options.verbose,
                searched: run.options.show_fixes,
                command,
                arguments: &arguments_to_repeat(command),
            };
            human::write_human(report, &texts_by_path(report, run.sources), &options, out)?;
        }
    }
    Ok(())
}

/// Returns the source texts that the report refers to, by path.
fn texts_by_path<'a>(report: &Report, sources: &'a Sources) -> BTreeMap<&'a str, &'a str> {
    let findings = report.subjects.iter().flat_map(|subject| &subject.findings);
    let places = findings.flat_map(|finding| &finding.locations);
    let places = places.chain(report.errors.iter().filter_map(|error| error.location.as_ref()));
    let paths: BTreeSet<&str> = places.map(|place| place.path.as_str()).collect();
    let texts = sources.iter().filter(|text| paths.contains(text.name()));
    texts.map(|text| (text.name(), text.text())).collect()
}

/// Number of columns where there is no terminal.
const DEFAULT_WIDTH: usize = 80;

/// Returns the number of columns: from the variable `COLUMNS`, else from the terminal.
pub(crate) fn output_width(terminal: bool) -> usize {
    let named = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
    named.or_else(measured).unwrap_or(DEFAULT_WIDTH)
}

/// Whether to print in colour: by the flag, else by environment variables, else if there is a terminal.
pub(crate) fn use_color(choice: Color, terminal: bool) -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced = |name: &str| set(name) && env::var_os(name).is_some_and(|value| value != "0");
    match choice {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto if forced("FORCE_COLOR") || forced("CLICOLOR_FORCE") => true,
        Color::Auto => terminal,
    }
}

/// File extensions of bake files and compose files.
const BUILD_FILE_EXTENSIONS: [&str; 4] = ["hcl", "json", "yaml", "yml"];

/// The root folder of the repository around the current directory, and a cache of paths relative to it.
struct RepositoryRoot {
    folder: Option<PathBuf>,
    known: RefCell<BTreeMap<String, String>>,
}

impl RepositoryRoot {
    /// Finds the folder with `.git` at or above the current directory, else uses the current directory.
    fn find() -> Self {
        let here = env::current_dir().and_then(fs::canonicalize).ok();
        let root = here.as_deref().and_then(|here| here.ancestors().find(|above| above.join(".git").exists()));
        Self { folder: root.map(Path::to_path_buf).or(here), known: RefCell::default() }
    }

    /// Returns a path relative to the root, symbolic links resolved; absolute if outside, unchanged if it is not a
    /// file.
    fn relative_path(&self, path: &str) -> String {
        let mut known = self.known.borrow_mut();
        let of_file = |path: &str| {
            let (whole, root) = (fs::canonicalize(path).ok()?, self.folder.as_ref()?);
            Some(whole.strip_prefix(root).unwrap_or(&whole).to_string_lossy().into_owned())
        };
        let of_target = || {
            let (file, target) = path.rsplit_once(':')?;
            let extension = Path::new(file).extension()?.to_str()?;
            Some(format!("{}:{target}", of_file(file).filter(|_| BUILD_FILE_EXTENSIONS.contains(&extension))?))
        };
        let make = || of_file(path).or_else(of_target).unwrap_or_else(|| strip_current_dir(path).to_owned());
        known.entry(path.to_owned()).or_insert_with(make).clone()
    }
}
