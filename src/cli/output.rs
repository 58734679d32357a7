//! The report on its way out: format, colour, width.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::io::Write as _;
use std::iter;
use std::path::Path;

use jiff::civil::Date;

use crate::cli::Failure;
use crate::cli::args::FailOn;
use crate::cli::args::JudgingArgs;
use crate::cli::baseline::Sieve;
use crate::cli::exit::Exit;
use crate::cli::exit::Tally;
use crate::cli::outputs;
use crate::cli::parallel;
use crate::cli::render;
use crate::cli::settings::Held;
use crate::cli::streams;
use crate::cli::texts::read_text;
use crate::cure;
use crate::cure::Crew;
use crate::fleet::Fleet;
use crate::judge;
use crate::judge::Content;
use crate::judge::Detail;
use crate::judge::Hosts;
use crate::judge::Inferred;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::nearest::unread;
use crate::report::escape::clean;
use crate::report::files;
use crate::report::json;
use crate::report::model;
use crate::report::model::InputError;
use crate::report::words::count;
use crate::rules::PageError;
use crate::rules::Persona;
use crate::rules::RuleBook;
use crate::rules::is_page;
use crate::source::Sources;
use crate::start::Doubts;

/// What something is judged by.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) options: &'a JudgingArgs,
    pub(crate) knowledge: Knowledge,
    pub(crate) sources: &'a Sources,
    pub(crate) settings: Option<Held<'a>>,
    /// `check` or `scan`.
    pub(crate) command: &'a str,
}

/// So many subjects are judged before the first of them is written.
const AT_ONCE: usize = 64;

/// Judges everything and prints the report; of what was read nothing is held any longer than it is judged.
pub(crate) fn judge_and_print(run: Run<'_>, subjects: Vec<Subject>, errors: Vec<InputError>) -> Result<Exit, Failure> {
    let own = own_rules(run.options)?;
    let book = own.as_ref().unwrap_or(RuleBook::built_in());
    let judge = Judge::new(run, &subjects, book, outputs::detail(run.options));
    let mut report = judge.head(errors);
    let mut tally = Tally::default();
    let mut sieve = Sieve::new(run.options, run.sources, book)?;
    if sieve.writes() {
        judge.each(subjects).for_each(|subject| tally.add(&sieve.pass(subject), FailOn::Never));
        sieve.write()?;
        tell_unread(&report.errors, run.options)?;
        return Ok(tally.exit(&report.errors, run.options.exit.allow_incomplete));
    }
    let all = judge.each(subjects).map(|subject| sieve.pass(subject)).chain(judge.idle());
    let all = all.inspect(|subject| tally.add(subject, run.options.fail_on()));
    outputs::write(run, book, &mut report, all)?;
    sieve.tell(run.options, run.settings.map_or(&[], |held| held.whole), book)?;
    tell_unread(&report.errors, run.options)?;
    Ok(tally.exit(&report.errors, run.options.exit.allow_incomplete))
}

/// Judges everything and lists what was looked at.
pub(crate) fn judge_and_list(run: Run<'_>, subjects: Vec<Subject>, errors: Vec<InputError>) -> Result<Exit, Failure> {
    let own = own_rules(run.options)?;
    let book = own.as_ref().unwrap_or(RuleBook::built_in());
    let mut judge = Judge::new(run, &subjects, book, Detail::Everything);
    // A line that cannot be read is told here of every file.
    judge.settings.persona = judge.settings.persona.max(Persona::Pedantic);
    let errors = judge.head(errors).errors;
    files::files(judge.each(subjects), &errors, &mut streams::out())?;
    tell_unread(&errors, run.options)?;
    Ok(if errors.is_empty() || run.options.exit.allow_incomplete { Exit::Clean } else { Exit::Broken })
}

/// So many inputs are named that the exit code leaves out; the report has all of them.
const MOST_NAMED: usize = 5;

/// Says which inputs the exit code leaves out.
pub(crate) fn tell_unread(errors: &[InputError], options: &JudgingArgs) -> io::Result<()> {
    if errors.is_empty() || !options.exit.allow_incomplete {
        return Ok(());
    }
    let mut names: Vec<_> = errors.iter().take(MOST_NAMED).map(|error| clean(&error.input)).collect();
    if errors.len() > names.len() {
        names.push("...".into());
    }
    let number = count(errors.len(), "input");
    writeln!(streams::err(), "{number} could not be read (ignored by the exit code): {}", names.join(", "))
}

/// Everything that judging needs, and the hosts for each day that tables are asked for.
pub(crate) struct Judge<'a> {
    run: Run<'a>,
    settings: Settings<'a>,
    hosts: BTreeMap<Option<Date>, Hosts>,
    /// The threads that nothing else needs.
    crew: Crew,
    /// Whether there is anything to judge.
    any: bool,
}

impl<'a> Judge<'a> {
    /// For some subjects, or for others of the same days.
    pub(crate) fn new(run: Run<'a>, subjects: &[Subject], book: &'a RuleBook, detail: Detail) -> Self {
        let Run { fleet, options, knowledge, sources, .. } = run;
        let (pools, as_of, persona) = (&options.pools, options.as_of, options.persona());
        let settings = Settings { fleet, pools, as_of, persona, knowledge, book, sources, detail, own: None };
        let days = subjects.iter().map(|subject| as_of.or(subject.as_of));
        let days: BTreeSet<Option<Date>> = days.chain(subjects.is_empty().then_some(as_of)).collect();
        let hosts = days.into_iter().map(|as_of| (as_of, Hosts::of(Settings { as_of, ..settings }))).collect();
        // Of what is given one by one nobody knows how many there are.
        let (jobs, busy) = (options.jobs(), if subjects.is_empty() { usize::MAX } else { subjects.len() });
        let crew = Crew::new(1 + jobs.saturating_sub(busy));
        Self { run, settings, hosts, crew, any: !subjects.is_empty() }
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

    /// Every subject in its order, judged some at a time, and each dropped when it is judged.
    fn each(&self, subjects: Vec<Subject>) -> impl Iterator<Item = model::Subject> {
        let (jobs, mut left) = (self.run.options.jobs(), subjects.into_iter());
        let judged = move || {
            let some: Vec<Subject> = left.by_ref().take(AT_ONCE).collect();
            (!some.is_empty()).then(|| parallel::map_owned(jobs, some, |subject| self.judge(&subject)))
        };
        iter::from_fn(judged).flatten()
    }

    /// The settings files in which something has no effect, known when all is judged: each as a subject.
    pub(crate) fn idle(&self) -> impl Iterator<Item = model::Subject> {
        let held = self.run.settings.filter(|_| self.any);
        held.into_iter().flat_map(move |held| held.idle(self.settings))
    }

    /// Judges one subject, and looks for what cures it where that is asked.
    pub(crate) fn judge(&self, subject: &Subject) -> model::Subject {
        self.with(subject, |settings, hosts| {
            let mut judged = judge::judge_on(subject, settings, hosts);
            if self.run.options.show_fixes {
                cure::offer(&mut judged, subject, settings, hosts, &self.crew);
            } else if outputs::carry_edits(self.run.options) && matches!(subject.content, Content::Dockerfile { .. }) {
                cure::offer_for_failures(&mut judged, subject, settings, hosts, &self.crew);
            }
            judged
        })
    }

    /// The threads that nothing else needs.
    pub(crate) const fn crew(&self) -> &Crew {
        &self.crew
    }

    /// Judges one subject of which some may be inferred already, and looks for no cure.
    pub(crate) fn judge_again(&self, subject: &Subject, inferred: &Inferred) -> model::Subject {
        let mut doubts = Doubts::default();
        self.with(subject, |settings, hosts| judge::judge_sharing(subject, settings, hosts, inferred, &mut doubts))
    }

    /// Something that is done with a subject on the hosts of its day.
    pub(crate) fn with<T>(&self, subject: &Subject, act: impl FnOnce(Settings<'_>, &Hosts) -> T) -> T {
        let as_of = self.settings.as_of.or(subject.as_of);
        let own = self.run.settings.and_then(|held| held.loaded.of_subject(&subject.name));
        let settings = Settings { as_of, own, ..self.settings };
        match self.hosts.get(&as_of) {
            Some(hosts) => act(settings, hosts),
            None => act(settings, &Hosts::of(settings)),
        }
    }
}

pub(crate) fn own_rules(options: &JudgingArgs) -> Result<Option<RuleBook>, Failure> {
    if options.rules.is_empty() && !options.preview {
        return Ok(None);
    }
    let book = read_rules(&options.rules)?;
    Ok(Some(if options.preview { book.with_preview() } else { book }))
}

/// Tells of folders without a page: whoever names one expects rules of it.
pub(crate) fn tell_empty_rules(options: &JudgingArgs) -> io::Result<()> {
    for folder in &options.rules {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        if !entries.map(|entry| entry.path()).any(|path| is_page(&path.to_string_lossy())) {
            writeln!(streams::err(), "warning: no rule page (*.md) in {}", clean(&folder.display().to_string()))?;
        }
    }
    Ok(())
}
/// A page is read no further than this.
pub(crate) const LONGEST_PAGE: u64 = 256 << 10;
/// No more pages are read from folders.
pub(crate) const MOST_PAGES: usize = 1_000;

/// The built-in pages and those of folders.
pub(crate) fn read_rules(folders: &[impl AsRef<Path>]) -> Result<RuleBook, Failure> {
    let mut files = Vec::new();
    for folder in folders {
        let folder = folder.as_ref();
        let fail = |error: io::Error| {
            let help = "help: imagelint rules new NAME DIR creates a page in a directory";
            let why =
                if folder.is_dir() { error.to_string() } else { unread(folder, &error, "a directory of rule pages") };
            Failure::Said(format!("error: cannot read rules in {}: {why}\n{help}", folder.display()))
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
            if files.len() >= MOST_PAGES {
                return Err(Failure::Said(format!("error: more than {MOST_PAGES} pages in {}", folder.display())));
            }
            let text = read_text(&path, LONGEST_PAGE)
                .map_err(|error| Failure::Said(format!("error: cannot read the rule {}: {error}", path.display())))?;
            files.push((path.display().to_string(), text));
        }
    }
    RuleBook::with_folder(files).map_err(|errors| unreadable(&errors))
}

/// The errors of pages, each in its text.
pub(crate) fn unreadable(errors: &[PageError]) -> Failure {
    Failure::Said(errors.iter().map(|error| render(error)).collect::<Vec<_>>().join("\n"))
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
                undeclared: judge::undeclared(pool),
            })
            .collect(),
    }
}
