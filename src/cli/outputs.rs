//! Reports on their way out: which, where to, with colour or without.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::Color;
use crate::cli::args::JudgingArgs;
use crate::cli::args::ReportFormat;
use crate::cli::args::Wanted;
use crate::cli::output::Run;
use crate::cli::repeat::arguments;
use crate::cli::target::Target;
use crate::judge::Detail;
use crate::judge::saved::Used;
use crate::report::checkstyle::Checkstyle;
use crate::report::concise::Concise;
use crate::report::github::Github;
use crate::report::gitlab::Gitlab;
use crate::report::html;
use crate::report::human;
use crate::report::human::HumanOptions;
use crate::report::json;
use crate::report::junit::Junit;
use crate::report::markdown;
use crate::report::markdown::Room;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::ndjson::Ndjson;
use crate::report::rdjson::Rdjson;
use crate::report::rooted::rooted;
use crate::report::sarif::Sarif;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::sink::short;
use crate::report::why;
use crate::report::why::WhyOptions;
use crate::rules::RuleBook;
use crate::source::Sources;

/// The reports that are asked for; a person reads standard output where nothing else goes there.
fn wanted(options: &JudgingArgs) -> Vec<Wanted> {
    let mut wanted = options.formats.clone();
    // A job of GitHub Actions shows what it finds beside the lines as well, where nobody asked for anything.
    if wanted.is_empty() && env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        let [report, lines] = [ReportFormat::Human, ReportFormat::Github].map(|format| Wanted { format, file: None });
        return vec![report, lines];
    }
    if wanted.iter().all(|one| one.file.is_some()) {
        wanted.insert(0, Wanted { format: ReportFormat::Human, file: None });
    }
    wanted
}

/// Refuses reports that would overwrite each other, or have no folder to lie in, before anything is read.
pub(crate) fn agreed(options: &JudgingArgs) -> Result<(), Failure> {
    let said = |text: String| Err(Failure::Said(format!("error: {text}")));
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

/// Whether lines of JSON are all that is asked for, so that each can be told as soon as it is known.
pub(crate) fn are_lines(options: &JudgingArgs) -> bool {
    matches!(options.formats.as_slice(), [Wanted { format: ReportFormat::Ndjson, file: None }])
}

/// Whether a report is asked for whose readers put changes into the text by themselves.
pub(crate) fn carry_edits(options: &JudgingArgs) -> bool {
    options.formats.iter().any(|one| carries_edits(one.format))
}

const fn carries_edits(format: ReportFormat) -> bool {
    matches!(format, ReportFormat::Sarif | ReportFormat::Rdjsonl)
}

/// Most reports tell the verdicts; the rest is for those who read JSON, look into cells or ask why.
pub(crate) fn detail(options: &JudgingArgs) -> Detail {
    let deep = |one: &Wanted| match one.format {
        ReportFormat::Json | ReportFormat::Ndjson | ReportFormat::Html => true,
        ReportFormat::Human => options.why.is_some(),
        _ => false,
    };
    if wanted(options).iter().any(deep) { Detail::Everything } else { Detail::Verdicts }
}

/// Writes every report that is asked for, as the subjects come where its format allows it.
pub(crate) fn write(
    run: Run<'_>,
    book: &RuleBook,
    report: &mut Report,
    subjects: impl Iterator<Item = Subject>,
) -> Result<(), Failure> {
    let root = Root::found();
    let from_root = |path: &str| root.path(path);
    let fleet = report.fleet.clone();
    let category = run.options.category.as_deref().unwrap_or(run.command);
    let setting = Setting { category, fleet: &fleet, sources: run.sources, book, from_root: &from_root };
    let (mut streams, mut json, mut whole) = (Streams::default(), Tee::default(), Vec::new());
    // Fixes that nobody asked for are for the reports that carry edits; no other report depends on what lies beside it.
    let (unasked, mut carrying) = (!run.options.show_fixes, Streams::default());
    for one in wanted(run.options) {
        let target = Target::open(one.file)?;
        match sink(one.format, setting) {
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
            *ended = carrying.subject(&subject);
        }
        if unasked {
            subject.findings.iter_mut().for_each(|finding| finding.fixes.clear());
            subject.split = None;
        }
        subject
    });
    if !whole.is_empty() {
        let thin = json.0.is_empty() && whole.iter().all(|(format, _)| is_thin(*format, run.options));
        for subject in subjects {
            streams.subject(&subject)?;
            report.subjects.push(if thin { human::needed(subject) } else { subject });
        }
        if !json.0.is_empty() {
            let mut used = Used::default();
            report.subjects.iter().for_each(|subject| used.add(subject));
            report.texts = used.texts(&report.errors, run.sources);
            json::json(report, &mut json)?;
        }
    } else if json.0.is_empty() {
        for subject in subjects {
            streams.subject(&subject)?;
        }
    } else {
        let (used, broken) = (RefCell::new(Used::default()), RefCell::new(Ok(())));
        let subjects = subjects.inspect(|subject| {
            used.borrow_mut().add(subject);
            let mut broken = broken.borrow_mut();
            if broken.is_ok() {
                *broken = streams.subject(subject);
            }
        });
        json::stream(report, subjects, || used.borrow().texts(&report.errors, run.sources), &mut json)?;
        broken.into_inner()?;
    }
    let (carrying, ended) = carried.into_inner();
    ended?;
    carrying.end(report)?;
    streams.end(report)?;
    json.0.into_iter().try_for_each(Target::done)?;
    for (format, mut target) in whole {
        render(format, run, report, &from_root, &mut target)?;
        target.done()?;
    }
    Ok(())
}

/// Whether a report reads no more of a subject than [`human::needed`] leaves.
fn is_thin(format: ReportFormat, options: &JudgingArgs) -> bool {
    format == ReportFormat::Human && options.why.is_none()
}

/// The reports that grow with the subjects.
#[derive(Default)]
struct Streams<'a>(Vec<(Box<dyn Sink + 'a>, Target)>);

impl Streams<'_> {
    fn begin(&mut self, head: &Report) -> Result<(), Failure> {
        self.0.iter_mut().try_for_each(|(sink, target)| target.tell(|out| sink.begin(head, out)))
    }

    fn subject(&mut self, subject: &Subject) -> Result<(), Failure> {
        self.0.iter_mut().try_for_each(|(sink, target)| target.tell(|out| sink.subject(subject, out)))
    }

    fn end(mut self, head: &Report) -> Result<(), Failure> {
        self.0.iter_mut().try_for_each(|(sink, target)| target.tell(|out| sink.end(head, out)))?;
        self.0.into_iter().try_for_each(|(_, target)| target.done())
    }
}

/// The same bytes in several places.
#[derive(Default)]
struct Tee(Vec<Target>);

impl io::Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.iter_mut().try_for_each(|target| target.write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(io::Write::flush)
    }
}

fn sink<'a>(format: ReportFormat, setting: Setting<'a>) -> Option<Box<dyn Sink + 'a>> {
    Some(match format {
        ReportFormat::Concise => Box::new(Concise::new(setting)),
        ReportFormat::Ndjson => Box::new(Ndjson::default()),
        ReportFormat::Sarif => Box::new(Sarif::new(setting)),
        ReportFormat::Github => Box::new(Github::new(setting)),
        ReportFormat::Gitlab => Box::new(Gitlab::new(setting)),
        ReportFormat::Rdjsonl => Box::new(Rdjson::new(setting)),
        ReportFormat::Checkstyle => Box::new(Checkstyle::new(setting)),
        ReportFormat::Junit => Box::new(Junit::new(setting)),
        ReportFormat::Human
        | ReportFormat::Json
        | ReportFormat::Markdown
        | ReportFormat::Summary
        | ReportFormat::Html => return None,
    })
}

/// Writes a report that cannot be begun before everything is known.
fn render(
    format: ReportFormat,
    run: Run<'_>,
    report: &Report,
    from_root: &dyn Fn(&str) -> String,
    out: &mut Target,
) -> Result<(), Failure> {
    let color = color(run.options.color, out.is_terminal());
    match (format, &run.options.why) {
        (ReportFormat::Markdown, _) => markdown::markdown(&rooted(report, from_root), Room::Comment, out)?,
        (ReportFormat::Summary, _) => markdown::markdown(&rooted(report, from_root), Room::Summary, out)?,
        (ReportFormat::Html, _) => html::html(report, out)?,
        (_, Some(asked)) => {
            let whole = asked == why::FULL;
            let pool = Some(asked.as_str()).filter(|pool| !pool.is_empty() && !whole);
            let options = WhyOptions { pool, whole, color, width: width(out.is_terminal()) };
            let entries = run.knowledge.infos();
            let source = |id: &str| {
                let (table, row) = id.split_once('/')?;
                let info = entries.iter().find(|info| info.table == table && info.row == row)?;
                Some(format!("{} (checked {})", info.source, info.checked))
            };
            why::why(report, &options, &source, out)?;
        }
        (_, None) => {
            let command = if run.command == "scan" { "scan" } else { "check" };
            let options = HumanOptions {
                color,
                ascii: false,
                width: width(out.is_terminal()),
                verbose: run.options.verbose,
                searched: run.options.show_fixes,
                command,
                arguments: &arguments(command),
            };
            human::human(report, &named(report, run.sources), &options, out)?;
        }
    }
    Ok(())
}

/// The texts that places of the report lie in, by path.
fn named<'a>(report: &Report, sources: &'a Sources) -> BTreeMap<&'a str, &'a str> {
    let findings = report.subjects.iter().flat_map(|subject| &subject.findings);
    let places = findings.flat_map(|finding| &finding.locations);
    let places = places.chain(report.errors.iter().filter_map(|error| error.location.as_ref()));
    let paths: BTreeSet<&str> = places.map(|place| place.path.as_str()).collect();
    let texts = sources.iter().filter(|text| paths.contains(text.name()));
    texts.map(|text| (text.name(), text.text())).collect()
}

/// Columns without a terminal.
const WIDTH: usize = 80;

/// The columns of the terminal; those that the environment names take precedence.
pub(crate) fn width(terminal: bool) -> usize {
    let named = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
    named.or_else(measured).unwrap_or(WIDTH)
}

/// Colour by flag, else by the environment, else on a terminal.
pub(crate) fn color(wanted: Color, terminal: bool) -> bool {
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

/// Endings of files of builds.
const OF_BUILDS: [&str; 4] = ["hcl", "json", "yaml", "yml"];

/// The root of the repository that the program runs in, and what paths are called from there.
struct Root {
    folder: Option<PathBuf>,
    known: RefCell<BTreeMap<String, String>>,
}

impl Root {
    /// The folder with `.git` at or above the current one, else that one.
    fn found() -> Self {
        let here = env::current_dir().and_then(fs::canonicalize).ok();
        let root = here.as_deref().and_then(|here| here.ancestors().find(|above| above.join(".git").exists()));
        Self { folder: root.map(Path::to_path_buf).or(here), known: RefCell::default() }
    }

    /// The path from the root, links followed; of what lies elsewhere, the whole path; of what is no file, its name. What
    /// is built by such a file has its name behind the path.
    fn path(&self, path: &str) -> String {
        let mut known = self.known.borrow_mut();
        let of_file = |path: &str| {
            let (whole, root) = (fs::canonicalize(path).ok()?, self.folder.as_ref()?);
            Some(whole.strip_prefix(root).unwrap_or(&whole).to_string_lossy().into_owned())
        };
        let of_target = || {
            let (file, target) = path.rsplit_once(':')?;
            let extension = Path::new(file).extension()?.to_str()?;
            Some(format!("{}:{target}", of_file(file).filter(|_| OF_BUILDS.contains(&extension))?))
        };
        let make = || of_file(path).or_else(of_target).unwrap_or_else(|| short(path).to_owned());
        known.entry(path.to_owned()).or_insert_with(make).clone()
    }
}
