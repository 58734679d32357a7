//! Output of reports: formats, destination files, colour and width.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::cli::CommandError;
use crate::cli::args::{Color, JudgingArgs, ReportFormat, ReportOutput};
use crate::cli::judging::JudgingRun;
use crate::cli::repeated_arguments::arguments_to_repeat;
use crate::cli::report_target::ReportTarget;
use crate::judge::ReportDetail;
use crate::judge::saved::ReferencedTexts;
use crate::report::checkstyle::CheckstyleWriter;
use crate::report::concise::ConciseWriter;
use crate::report::github::GithubWriter;
use crate::report::gitlab::GitlabWriter;
use crate::report::human::HumanOptions;
use crate::report::junit::JunitWriter;
use crate::report::markdown::MarkdownTarget;
use crate::report::model::{Report, Subject};
use crate::report::ndjson::NdjsonWriter;
use crate::report::rdjson::RdjsonWriter;
use crate::report::report_writer::{ReportContext, ReportWriter, strip_current_dir};
use crate::report::repository_paths::with_repository_paths;
use crate::report::sarif::SarifWriter;
use crate::report::why::WhyOptions;
use crate::report::{html, human, json, markdown, why};
use crate::rules::RuleBook;
use crate::source::Sources;

/// Returns the reports to write; a text report goes to standard output if no other report does.
fn requested_reports(options: &JudgingArgs) -> Vec<ReportOutput> {
    let mut wanted = options.formats.clone();
    // A job of GitHub Actions shows what it finds beside the lines as well, where nobody asked for anything.
    if wanted.is_empty() && env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        let [report, lines] =
            [ReportFormat::Human, ReportFormat::Github].map(|format| ReportOutput { format, file: None });
        return vec![report, lines];
    }
    if wanted.iter().all(|one| one.file.is_some()) {
        wanted.insert(0, ReportOutput { format: ReportFormat::Human, file: None });
    }
    wanted
}

/// Rejects reports that would overwrite each other or whose folder does not exist, before any input is read.
pub(crate) fn check_report_files(options: &JudgingArgs) -> Result<(), CommandError> {
    let said = |text: String| Err(CommandError::Said(format!("error: {text}")));
    let mut places: BTreeSet<Option<&Path>> = BTreeSet::new();
    for one in &options.formats {
        let file = one.file.as_deref();
        if !places.insert(file) {
            return said(match file {
                None => {
                    "two reports cannot both go to standard output; write one to a file, as in `--format json=FILE`"
                        .to_owned()
                }
                Some(file) => format!("two reports cannot both go to {}", file.display()),
            });
        }
        let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return said(format!("directory {} for the report does not exist", folder.display()));
        }
        if let Some(file) = file.filter(|file| file.is_dir()) {
            return said(format!("{} is a directory, not a file for the report", file.display()));
        }
    }
    Ok(())
}

/// Whether NDJSON on standard output is the only report, so that each subject can be printed as soon as it is judged.
pub(crate) fn is_ndjson_only(options: &JudgingArgs) -> bool {
    matches!(options.formats.as_slice(), [ReportOutput { format: ReportFormat::Ndjson, file: None }])
}

/// Whether a report is requested in a format whose consumers apply edits automatically.
pub(crate) fn has_report_with_edits(options: &JudgingArgs) -> bool {
    options.formats.iter().any(|one| carries_edits(one.format))
}

/// Whether a format contains edits that its consumers apply automatically.
const fn carries_edits(format: ReportFormat) -> bool {
    matches!(format, ReportFormat::Sarif | ReportFormat::Rdjsonl)
}

/// Returns how much detail the reports require: verdicts only, or everything for JSON, HTML and `--why`.
pub(crate) fn required_detail(options: &JudgingArgs) -> ReportDetail {
    let deep = |one: &ReportOutput| match one.format {
        ReportFormat::Json | ReportFormat::Ndjson | ReportFormat::Html => true,
        ReportFormat::Human => options.why.is_some(),
        _ => false,
    };
    if requested_reports(options).iter().any(deep) { ReportDetail::Everything } else { ReportDetail::Verdicts }
}

/// Writes all requested reports, subject by subject where the format allows it.
pub(crate) fn write_reports(
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
    // Fixes that nobody asked for are for the reports that carry edits; no other report depends on what lies beside it.
    let (unasked, mut carrying) = (!run.options.show_fixes, ReportStreams::default());
    for one in requested_reports(run.options) {
        let target = ReportTarget::open(one.file)?;
        match sink_for_format(one.format, setting) {
            Some(sink) if unasked && carries_edits(one.format) => carrying.0.push((sink, target)),
            Some(sink) => streams.0.push((sink, target)),
            None if one.format == ReportFormat::Json => json.0.push(target),
            None => whole.push((one.format, target)),
        }
    }
    streams.begin(report)?;
    carrying.begin(report)?;
    let carried = RefCell::new((carrying, Ok(())));
    let subjects = subjects.map(|mut subject| {
        let (carrying, ended) = &mut *carried.borrow_mut();
        if ended.is_ok() {
            *ended = carrying.write_subject(&subject);
        }
        if unasked {
            subject.findings.iter_mut().for_each(|finding| finding.fixes.clear());
            subject.split = None;
        }
        subject
    });
    if !whole.is_empty() {
        let thin = json.0.is_empty() && whole.iter().all(|(format, _)| uses_reduced_subjects(*format, run.options));
        for subject in subjects {
            streams.write_subject(&subject)?;
            report.subjects.push(if thin { human::strip_for_human(subject) } else { subject });
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
    let (carrying, ended) = carried.into_inner();
    ended?;
    carrying.end(report)?;
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
        (_, Some(asked)) => {
            let whole = asked == why::FULL;
            let pool = Some(asked.as_str()).filter(|pool| !pool.is_empty() && !whole);
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
pub(crate) fn use_color(wanted: Color, terminal: bool) -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced = |name: &str| set(name) && env::var_os(name).is_some_and(|value| value != "0");
    match wanted {
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
