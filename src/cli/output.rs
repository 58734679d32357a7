//! The report on its way out: format, colour, width.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;
use std::path::Path;

use jiff::civil::Date;

use crate::cli::Failure;
use crate::cli::args::Color;
use crate::cli::args::JudgingArgs;
use crate::cli::args::ReportFormat;
use crate::cli::exit::Exit;
use crate::cli::exit::Tally;
use crate::cli::parallel;
use crate::cli::render;
use crate::fleet::Fleet;
use crate::judge;
use crate::judge::Detail;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::judge::saved::Used;
use crate::knowledge::Knowledge;
use crate::report::files;
use crate::report::human;
use crate::report::human::HumanOptions;
use crate::report::json;
use crate::report::model;
use crate::report::model::InputError;
use crate::report::ndjson;
use crate::report::ndjson::Counts;
use crate::report::ndjson::Line;
use crate::report::why;
use crate::rules::RuleBook;
use crate::source::Sources;

/// What was read, and what it is judged by.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) subjects: &'a [Subject],
    pub(crate) fleet: &'a Fleet,
    pub(crate) options: &'a JudgingArgs,
    pub(crate) knowledge: Knowledge,
    pub(crate) sources: &'a Sources,
}

/// So many subjects are judged before the first of them is written.
const AT_ONCE: usize = 64;

/// Judges everything and prints the report.
pub(crate) fn judge_and_print(run: Run<'_>, errors: Vec<InputError>) -> Result<Exit, Failure> {
    let own = own_rules(run.options)?;
    let judge = Judge::new(run, own.as_ref().unwrap_or(RuleBook::built_in()), detail(run.options));
    let mut report = judge.head(errors);
    let mut tally = Tally::default();
    let all = judge.subjects().inspect(|subject| tally.add(subject, run.options.fail_on));
    let stdout = io::stdout();
    let color = color(run.options.color, stdout.is_terminal());
    let mut out = io::BufWriter::new(stdout.lock());
    match (run.options.format, &run.options.why) {
        (ReportFormat::Json, _) => {
            let used = RefCell::new(Used::default());
            let all = all.inspect(|subject| used.borrow_mut().add(subject));
            json::stream(&report, all, || used.borrow().texts(&report.errors, run.sources), &mut out)?;
        }
        (ReportFormat::Ndjson, _) => {
            let mut counts = Counts::default();
            for error in &report.errors {
                ndjson::line(&Line::Error(error), &mut out)?;
            }
            for subject in all {
                counts.add(&subject);
                ndjson::line(&Line::Subject(&subject), &mut out)?;
                out.flush()?;
            }
            ndjson::line(&Line::Summary(counts.summary(&report)), &mut out)?;
        }
        (ReportFormat::Human, Some(pool)) => {
            report.subjects = all.collect();
            why::why(&report, Some(pool.as_str()).filter(|pool| !pool.is_empty()), &mut out, color)?;
        }
        (ReportFormat::Human, None) => {
            report.subjects = all.collect();
            let width = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(110);
            let options = HumanOptions { color, ascii: false, width, verbose: run.options.verbose };
            human::human(&report, &named(&report, run.sources), &options, &mut out)?;
        }
    }
    out.flush()?;
    Ok(tally.exit(&report.errors))
}

/// Judges everything and lists what was looked at.
pub(crate) fn judge_and_list(run: Run<'_>, errors: Vec<InputError>) -> Result<Exit, Failure> {
    let own = own_rules(run.options)?;
    let judge = Judge::new(run, own.as_ref().unwrap_or(RuleBook::built_in()), Detail::Everything);
    let mut report = judge.head(errors);
    report.subjects = judge.subjects().collect();
    files::files(&report, &mut io::stdout().lock())?;
    Ok(if report.errors.is_empty() { Exit::Clean } else { Exit::Broken })
}

/// A report for a person tells the verdicts; the rest is for those who read JSON or ask why.
fn detail(options: &JudgingArgs) -> Detail {
    match (options.format, &options.why) {
        (ReportFormat::Human, None) => Detail::Verdicts,
        (ReportFormat::Human, Some(_)) | (ReportFormat::Json | ReportFormat::Ndjson, _) => Detail::Everything,
    }
}

/// The texts that places of the report lie in, by path.
fn named(report: &model::Report, sources: &Sources) -> BTreeMap<String, String> {
    let findings = report.subjects.iter().flat_map(|subject| &subject.findings);
    let places = findings.flat_map(|finding| &finding.locations);
    let places = places.chain(report.errors.iter().filter_map(|error| error.location.as_ref()));
    let paths: BTreeSet<&str> = places.map(|place| place.path.as_str()).collect();
    let texts = sources.iter().filter(|text| paths.contains(text.name()));
    texts.map(|text| (text.name().to_owned(), text.text().to_owned())).collect()
}

/// Everything that judging needs, and the hosts for each day that tables are asked for.
pub(crate) struct Judge<'a> {
    run: Run<'a>,
    settings: Settings<'a>,
    hosts: BTreeMap<Option<Date>, Hosts>,
}

impl<'a> Judge<'a> {
    /// For some subjects, or for others of the same days.
    pub(crate) fn new(run: Run<'a>, book: &'a RuleBook, detail: Detail) -> Self {
        let Run { fleet, options, knowledge, sources, .. } = run;
        let (pools, as_of, persona) = (&options.pools, options.as_of, options.persona);
        let settings = Settings { fleet, pools, as_of, persona, knowledge, book, sources, detail };
        let days = run.subjects.iter().map(|subject| as_of.or(subject.as_of));
        let days: BTreeSet<Option<Date>> = days.chain(run.subjects.is_empty().then_some(as_of)).collect();
        let hosts = days.into_iter().map(|as_of| (as_of, Hosts::of(Settings { as_of, ..settings }))).collect();
        Self { run, settings, hosts }
    }

    /// The report without its subjects.
    pub(crate) fn head(&self, errors: Vec<InputError>) -> model::Report {
        let mut days = self.hosts.keys();
        let common = days.next().copied().flatten().filter(|_| days.next().is_none());
        model::Report {
            schema_version: json::SCHEMA_VERSION,
            tool: model::Tool {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                knowledge: self.run.knowledge.newest_date().to_string(),
            },
            as_of: self.run.options.as_of.or(common).map(|day| day.to_string()),
            fleet: of_fleet(self.run.fleet, self.run.options, self.run.sources),
            subjects: Vec::new(),
            errors,
            texts: Vec::new(),
        }
    }

    /// Every subject in its order, judged some at a time.
    fn subjects(&self) -> impl Iterator<Item = model::Subject> {
        let jobs = self.run.options.jobs();
        self.run.subjects.chunks(AT_ONCE).flat_map(move |some| parallel::map(jobs, some, |subject| self.judge(subject)))
    }

    /// Judges one subject.
    pub(crate) fn judge(&self, subject: &Subject) -> model::Subject {
        let as_of = self.settings.as_of.or(subject.as_of);
        let settings = Settings { as_of, ..self.settings };
        match self.hosts.get(&as_of) {
            Some(hosts) => judge::judge_on(subject, settings, hosts),
            None => judge::judge(subject, settings),
        }
    }
}

pub(crate) fn own_rules(options: &JudgingArgs) -> Result<Option<RuleBook>, Failure> {
    if options.rules.is_empty() { Ok(None) } else { read_rules(&options.rules).map(Some) }
}

fn read_rules(folders: &[impl AsRef<Path>]) -> Result<RuleBook, Failure> {
    let mut files = Vec::new();
    for folder in folders {
        let folder = folder.as_ref();
        let fail =
            |error: io::Error| Failure::Said(format!("error: cannot read rules in {}: {error}", folder.display()));
        let mut paths: Vec<_> = fs::read_dir(folder)
            .map_err(fail)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(fail)?;
        paths.sort();
        for path in paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
            let text = fs::read_to_string(&path).map_err(fail)?;
            files.push((path.display().to_string(), text));
        }
    }
    RuleBook::with_folder(files)
        .map_err(|errors| Failure::Said(errors.iter().map(|error| render(error)).collect::<Vec<_>>().join("\n")))
}

fn of_fleet(fleet: &Fleet, options: &JudgingArgs, sources: &Sources) -> model::Fleet {
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
                location: judge::pool_place(fleet, pool, sources),
                fields: judge::pool_fields(fleet, pool, sources),
            })
            .collect(),
    }
}

/// Colour by flag, else by the environment, else on a terminal.
pub(crate) fn color(wanted: Color, terminal: bool) -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    match wanted {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto if env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") => true,
        Color::Auto => terminal,
    }
}
