//! `imagelint compare`: what a change of images does to a fleet.

use std::collections::BTreeMap;
use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::args::BuildArgs;
use crate::cli::args::CompareArgs;
use crate::cli::args::DifferenceFormat;
use crate::cli::args::FailOn;
use crate::cli::args::JudgingArgs;
use crate::cli::args::ReadingArgs;
use crate::cli::exit::Exit;
use crate::cli::exit::Tally;
use crate::cli::fleet;
use crate::cli::git::Repository;
use crate::cli::git::Revision;
use crate::cli::outputs::color;
use crate::cli::own::Own;
use crate::cli::parallel;
use crate::cli::scan;
use crate::cli::sides::Reading;
use crate::cli::sides::Side;
use crate::cli::streams;
use crate::compare;
use crate::compare::Least;
use crate::compare::Named;
use crate::compare::Sides;
use crate::compare::Smallest;
use crate::compare::model::Comparison;
use crate::compare::model::Older;
use crate::compare::model::Pair;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Detail;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::least;
use crate::least::Images;
use crate::least::least;
use crate::report::json::SCHEMA_VERSION;
use crate::report::kinds::VerdictKind;
use crate::report::markdown::Room;
use crate::report::model;
use crate::rules::RuleBook;
use crate::source::Sources;

/// Of more images the smallest drivers are sought only where a verdict is another.
const ALL_SOUGHT: usize = 64;

/// One side, as given.
enum Given {
    /// Files, folders, images.
    Inputs(Vec<String>),
    /// Paths in a revision.
    Revision(Revision, Vec<String>),
}

impl Given {
    /// Its inputs, as they are called from the root of the repository where revisions are compared.
    fn told(&self, repository: Option<&Repository>) -> String {
        match self {
            Self::Inputs(inputs) => {
                let below = |input: &String| repository.and_then(|own| own.below(Path::new(input)));
                let told = inputs.iter().map(|input| below(input).unwrap_or_else(|| input.clone()));
                told.collect::<Vec<_>>().join(", ")
            }
            Self::Revision(revision, paths) => {
                paths.iter().map(|path| at(&revision.name, path)).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// What an input of it is called on both sides.
    fn key(&self, name: &str, repository: Option<&Repository>) -> String {
        let below = |repository: &Repository| repository.below(Path::new(name));
        match self {
            Self::Revision(revision, _) => {
                name.strip_prefix(&revision.name).and_then(|rest| rest.strip_prefix(':')).unwrap_or(name).to_owned()
            }
            Self::Inputs(inputs) => match inputs.as_slice() {
                _ if repository.is_some() => repository.and_then(below).unwrap_or_else(|| name.to_owned()),
                [folder] => {
                    Path::new(name).strip_prefix(folder).map_or(name.to_owned(), |below| below.display().to_string())
                }
                _ => name.to_owned(),
            },
        }
    }
}

/// `main:docker/Dockerfile`.
fn at(revision: &str, path: &str) -> String {
    format!("{revision}:{path}")
}

/// Runs it.
pub(crate) fn run(options: &CompareArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let repository = Repository::around(Path::new("."));
    let (before, after) = given(options, repository.as_ref())?;
    let mut sources = Sources::default();
    let given_judging = options.against.judging();
    let ReadingArgs { pull, access, build } = &options.reading;
    let set = &options.set;
    let mut own = owns([&before, &after], repository.as_ref(), (&given_judging, build), knowledge, &mut sources)?;
    let Settled { notes, added, removed } =
        settle(&mut own, [&before, &after], &given_judging, knowledge, &mut sources)?;
    let [own_was, own_is] = &own;
    let (judging, fleet) = (&own_was.judging, &own_was.fleet);
    let reading_was = Reading { build, set, access, pull: *pull, judging, fleet, knowledge };
    let reading_is = Reading { judging: &own_is.judging, fleet: &own_is.fleet, ..reading_was };
    let judging = &own_is.judging;
    let book = RuleBook::built_in();
    let mut was = read(&before, own_was, repository.as_ref(), reading_was, &mut sources)?;
    let mut is = read(&after, own_is, repository.as_ref(), reading_is, &mut sources)?;
    for (snapshot, name) in own.iter().filter_map(|own| own.snapshot.as_ref()) {
        was.stood_in(&snapshot.folder, name);
        is.stood_in(&snapshot.folder, name);
    }
    let judged_was = was.judged(reading_was, book, &sources, Detail::Verdicts);
    let judged_is = is.judged(reading_is, book, &sources, Detail::Verdicts);
    let of_git = repository.as_ref().filter(|_| options.git.is_some());
    let mut head = is.head(reading_is, book, &sources);
    let mut fleet_before = was.head(reading_was, book, &sources).fleet;
    is.shown(&mut head.fleet);
    was.shown(&mut fleet_before);
    own_is.label.clone_into(&mut head.fleet.source);
    own_was.label.clone_into(&mut fleet_before.source);
    // A side of which nothing could be read is neither gone nor new.
    let unread = [(&was, &judged_was), (&is, &judged_is)];
    let unread = unread.iter().any(|(side, judged)| judged.is_empty() && !side.errors.is_empty());
    let sides = if unread {
        Vec::new()
    } else {
        let [old, new] = [(judged_was, &was, &before), (judged_is, &is, &after)]
            .map(|(judged, side, given)| named(judged, side, given, of_git, &sources));
        let like = |side: &Side, one: &Named<usize>, reading| likeness(side.subjects.get(one.with)?, reading);
        compare::pairs(old, new, [&|one| like(&was, one, reading_was), &|one| like(&is, one, reading_is)])
    };
    let many = ALL_SOUGHT < sides.len();
    let one = |sides: &Sides<usize>| pair(sides, (&was, reading_was), (&is, reading_is), many);
    let pairs = parallel::map(judging.jobs(), &sides, one);
    let mut tally = Tally::default();
    for (pair, (_, after)) in pairs.iter().zip(&sides) {
        if let Some(after) = after {
            let judged = model::Subject { findings: pair.new_findings.clone(), ..after.judged.clone() };
            tally.add(&judged, judging.fail_on());
        }
    }
    if !pairs.is_empty() && sides.iter().all(|(_, after)| after.is_none()) {
        // What is gone breaks nothing.
        sides.iter().filter_map(|(before, _)| before.as_ref()).for_each(|one| tally.add(&one.judged, FailOn::Never));
    }
    let mut summary = compare::summary(&pairs);
    summary.extend(compare::moved_pools("added", &added));
    summary.extend(compare::moved_pools("removed", &removed));
    let told = Comparison {
        schema_version: SCHEMA_VERSION,
        tool: head.tool,
        fleet_before: (own_was.label != own_is.label).then_some(fleet_before),
        fleet: head.fleet,
        pools_added: added,
        pools_removed: removed,
        notes,
        before: before.told(of_git),
        after: after.told(of_git),
        summary,
        images: pairs,
        errors: was.errors.into_iter().chain(is.errors).collect(),
    };
    print(&told, judging, options.against.format)?;
    Ok(tally.exit(&told.errors, judging.exit.allow_incomplete))
}

/// Writes it in the form that is asked for.
fn print(told: &Comparison, judging: &JudgingArgs, format: DifferenceFormat) -> Result<(), Failure> {
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::out());
    match format {
        DifferenceFormat::Human => compare::human(told, color(judging.color, terminal), &mut out)?,
        DifferenceFormat::Markdown => compare::markdown(told, Room::Comment, &mut out)?,
        DifferenceFormat::Summary => compare::markdown(told, Room::Summary, &mut out)?,
        DifferenceFormat::Json => json(told, &mut out)?,
    }
    Ok(out.flush()?)
}

/// A value as JSON, with a line's end.
pub(crate) fn json(value: &impl Serialize, out: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)
}

/// What is compared.
fn given(options: &CompareArgs, repository: Option<&Repository>) -> Result<(Given, Given), Failure> {
    let said = |text: String| Failure::Said(format!("error: {text}"));
    let Some(revisions) = &options.git else {
        let [before, after] = options.inputs.as_slice() else {
            return Err(said("pass two inputs (before and after) or two revisions: --git main...HEAD".to_owned()));
        };
        return Ok((one(before, repository)?, one(after, repository)?));
    };
    let repository = repository.ok_or_else(|| said("--git: this directory is not in a git repository".to_owned()))?;
    let mut inputs = options.inputs.clone();
    if inputs.is_empty() {
        inputs.push(".".to_owned());
    }
    let outside = |input: &String| said(format!("{input} is outside the repository {}", repository.top.display()));
    let below = |input: &String| repository.below(Path::new(input)).ok_or_else(|| outside(input));
    let paths: Vec<String> = inputs.iter().map(below).collect::<Result<_, _>>()?;
    let head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
    let revision = |name: &str| repository.revision(&head(name)).map_err(said);
    let (before, after) = match (revisions.split_once("..."), revisions.split_once("..")) {
        (Some((one, other)), _) => (repository.base(&head(one), &head(other)).map_err(said)?, Some(revision(other)?)),
        (None, Some((one, other))) => (revision(one)?, Some(revision(other)?)),
        (None, None) => (revision(revisions)?, None),
    };
    for (input, path) in inputs.iter().zip(&paths) {
        let now = after.as_ref().map_or_else(|| Path::new(input).exists(), |after| repository.has(after, path));
        if !now && !repository.has(&before, path) {
            return Err(said(format!("{input} does not exist in {revisions}")));
        }
    }
    let after = match after {
        Some(after) => Given::Revision(after, paths.clone()),
        None => Given::Inputs(inputs.into_iter().filter(|input| Path::new(input).exists()).collect()),
    };
    Ok((Given::Revision(before, paths), after))
}

/// One input; `REV:PATH` where no file is called that and the repository has it. Of a path that is there a revision was
/// meant, and no image.
fn one(input: &str, repository: Option<&Repository>) -> Result<Given, Failure> {
    let inputs = || Given::Inputs(vec![input.to_owned()]);
    let (Some(repository), Some((name, path)), false) = (repository, input.split_once(':'), Path::new(input).exists())
    else {
        return Ok(inputs());
    };
    let path = path.trim_end_matches('/');
    match repository.revision(name) {
        Ok(revision) if repository.has(&revision, path) => Ok(Given::Revision(revision, vec![path.to_owned()])),
        Err(error) if !path.is_empty() && repository.top.join(path).exists() => {
            Err(Failure::Said(format!("error: {input}: {error}")))
        }
        Ok(_) | Err(_) => Ok(inputs()),
    }
}

/// What each side is judged against: a revision by its own fleet and settings, two inputs that are none by the same.
fn owns(
    given: [&Given; 2],
    repository: Option<&Repository>,
    (judging, build): (&JudgingArgs, &BuildArgs),
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<[Own; 2], Failure> {
    let first = |given: &Given| match given {
        Given::Inputs(inputs) => inputs.iter().map(PathBuf::from).find(|path| path.exists()),
        Given::Revision(..) => None,
    };
    let mut of = |one: &Given, other: &Given| match (one, repository) {
        (Given::Revision(revision, paths), Some(repository)) => {
            let context = build.context.as_deref().and_then(|context| repository.below(context));
            let place = (repository, revision);
            Own::of_revision(place, (paths, context.as_ref()), judging, knowledge, sources)
        }
        // Two inputs without a revision have one fleet: that of what is.
        _ => match other {
            Given::Inputs(_) => Own::here(first(other).as_deref(), judging, knowledge, sources),
            Given::Revision(..) => Own::here(first(one).as_deref(), judging, knowledge, sources),
        },
    };
    let [before, after] = given;
    Ok([of(before, after)?, of(after, after)?])
}

/// How the fleets of both sides differ.
struct Settled {
    /// Which fleets and settings the sides have, when that is no matter of course.
    notes: Vec<String>,
    /// Pools of the later fleet alone, of those that are selected.
    added: Vec<String>,
    /// Pools of the earlier fleet alone, of those that are selected.
    removed: Vec<String>,
}

/// The selected pools that one fleet has and the other lacks.
fn only(one: &Fleet, other: &Fleet, selected: &[String]) -> Vec<String> {
    let names = |fleet: &Fleet| fleet.pools.iter().map(|pool| pool.name.value.clone()).collect::<Vec<_>>();
    let others = names(other);
    let is_selected = |name: &String| selected.is_empty() || selected.contains(name);
    names(one).into_iter().filter(|name| !others.contains(name) && is_selected(name)).collect()
}

/// Gives a side without a fleet file that of the other one, and compares the fleets before pools are left out.
fn settle(
    own: &mut [Own; 2],
    given: [&Given; 2],
    judging: &JudgingArgs,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<Settled, Failure> {
    let [was, is] = own;
    let revisions = given.iter().any(|given| matches!(given, Given::Revision(..)));
    let mut notes = Vec::new();
    if revisions {
        let explicit = judging.fleet.is_some() || fleet::from_environment().is_some();
        let without = |own: &Own| match &own.snapshot {
            Some((_, name)) => format!("{name} has no fleet file"),
            None => "the work tree has no fleet file".to_owned(),
        };
        match (was.fleet.built_in, is.fleet.built_in) {
            _ if explicit => {
                notes.push(format!("both sides use {}, as requested", is.label));
            }
            (true, false) => {
                notes.push(format!("{}: both sides use {}", without(was), is.label));
                was.share(is);
            }
            (false, true) => {
                notes.push(format!("{}: both sides use {}", without(is), was.label));
                is.share(was);
            }
            (true, true) => {
                let here = Own::here(None, judging, knowledge, sources)?;
                if !here.fleet.built_in {
                    let why = "no revision has a fleet file";
                    notes.push(format!("{why}: both sides use {} of the work tree", here.label));
                    was.share(&here);
                    is.share(&here);
                }
            }
            (false, false) => {
                if sources.get(was.fleet.source).text() != sources.get(is.fleet.source).text() {
                    notes.push(format!("before uses {}, after uses {}", was.label, is.label));
                }
            }
        }
        if let Some(config) = &judging.config.config {
            notes.push(format!("both sides use the settings of {}, as requested", config.display()));
        }
    }
    let fleets = [was.fleet.clone(), is.fleet.clone()];
    let [added, removed] = [only(&is.fleet, &was.fleet, &judging.pools), only(&was.fleet, &is.fleet, &judging.pools)];
    was.ask(&fleets[1])?;
    is.ask(&fleets[0])?;
    Ok(Settled { notes, added, removed })
}

fn read(
    given: &Given,
    own: &Own,
    repository: Option<&Repository>,
    reading: Reading<'_>,
    sources: &mut Sources,
) -> Result<Side, Failure> {
    let (revision, paths, repository, snapshot) = match (given, repository, &own.snapshot) {
        (Given::Inputs(inputs), ..) if inputs.is_empty() => return Ok(Side::empty()),
        (Given::Inputs(inputs), ..) => return Side::of_inputs(inputs, reading, sources),
        (Given::Revision(revision, paths), Some(repository), Some((snapshot, _))) => {
            (revision, paths, repository, snapshot)
        }
        (Given::Revision(..), ..) => return Ok(Side::empty()),
    };
    let context = reading.build.context.as_deref().and_then(|context| repository.below(context));
    let there = paths.iter().filter(|path| repository.has(revision, path));
    let files: Vec<PathBuf> = there.map(|path| snapshot.folder.join(path)).collect();
    if files.is_empty() {
        return Ok(Side::empty());
    }
    let build = BuildArgs {
        build_args: reading.build.build_args.clone(),
        target: reading.build.target.clone(),
        context: context.map(|context| snapshot.folder.join(context)),
        no_cache: reading.build.no_cache,
    };
    let mut side = Side::of_files(&files, Reading { build: &build, ..reading }, sources)?;
    side.rename(reading.fleet, sources, |name| {
        let below = Path::new(name).strip_prefix(&snapshot.folder).unwrap_or(Path::new(name));
        (at(&revision.name, &below.display().to_string()), repository.top.join(below))
    });
    Ok(side)
}

/// The judged subjects of a side with the names that both sides share.
fn named(
    judged: Vec<model::Subject>,
    side: &Side,
    given: &Given,
    repository: Option<&Repository>,
    sources: &Sources,
) -> Vec<Named<usize>> {
    let named = |(with, mut judged): (usize, model::Subject)| {
        let key = given.key(&judged.name, repository);
        if repository.is_some() && matches!(given, Given::Inputs(_)) {
            judged.name.clone_from(&key);
        }
        let source = match side.subjects.get(with).map(|subject| &subject.content) {
            Some(Content::Dockerfile { source, .. }) => Some(*source),
            Some(Content::Saved(saved)) => saved.dockerfile.as_ref().map(|(source, _)| *source),
            Some(Content::Fixed(_) | Content::ByPlatform(_)) | None => None,
        };
        let text = source.map(|source| sources.get(source).text().to_owned());
        Named { key, text, judged, with }
    };
    judged.into_iter().enumerate().map(named).collect()
}

/// What of a subject decides how it ends; none where nothing in it concerns a GPU.
fn likeness(subject: &Subject, reading: Reading<'_>) -> Option<String> {
    let images = images(subject, reading);
    (!images.is_empty()).then(|| images.likeness())
}

fn images(subject: &Subject, reading: Reading<'_>) -> Images {
    let Reading { fleet, knowledge, judging, .. } = reading;
    let platforms: Vec<String> = scan::platforms(fleet, knowledge).iter().map(ToString::to_string).collect();
    Images::of(subject, &platforms, judging.as_of.or(subject.as_of), knowledge)
}

/// The difference of one image.
fn pair(
    sides: &Sides<usize>,
    (was, reading_was): (&Side, Reading<'_>),
    (is, reading_is): (&Side, Reading<'_>),
    many: bool,
) -> Pair {
    let (before, after) = (sides.0.as_ref(), sides.1.as_ref());
    let one_name = |one: &Named<usize>| if one.key.is_empty() { one.judged.name.clone() } else { one.key.clone() };
    let name = after.or(before).map(one_name).unwrap_or_default();
    let (old, new) = (before.map(|one| &one.judged), after.map(|one| &one.judged));
    let differs = compare::on_pools(old, new).iter().any(|pool| pool.change != compare::model::Change::Same);
    let least = || {
        let (before, after) = (before?, after?);
        let (one, other) = (was.subjects.get(before.with)?, is.subjects.get(after.with)?);
        let asked = |pool: &str| {
            let on =
                |judged| compare::on(judged, pool).is_some_and(|verdict| verdict.fate != VerdictKind::NotApplicable);
            on(&before.judged) && on(&after.judged)
        };
        Some((drivers(one, &asked, reading_was), drivers(other, &asked, reading_is)))
    };
    let told = compare::compare(&name, old, new, if many && !differs { None } else { least() });
    match compare::renamed_from(sides) {
        Some(from) => told.renamed(from),
        None => told,
    }
}

/// The smallest driver on each pool that is asked for, where it can be told.
fn drivers(subject: &Subject, asked: &impl Fn(&str) -> bool, reading: Reading<'_>) -> Least {
    let Reading { fleet, knowledge, .. } = reading;
    let images = images(subject, reading);
    let mut known: BTreeMap<String, (least::Least, Option<least::Older>)> = BTreeMap::new();
    let mut found = Least::new();
    for pool in fleet.pools.iter().filter(|pool| asked(&pool.name.value)) {
        let (kind, older) = *known.entry(least::likeness(pool, knowledge)).or_insert_with(|| {
            let found = least(&images, pool, knowledge);
            let least::Least::From(driver) = found else { return (found, None) };
            (found, least::older(&images, pool, driver, knowledge))
        });
        let driver = match kind {
            least::Least::From(driver) => Some(driver),
            least::Least::Never => None,
            least::Least::Open => continue,
        };
        let below = least::starts_below(&images, pool, driver, knowledge);
        if below && driver.is_none() {
            // It starts with the driver that the pool has, which is none of those that are known.
            continue;
        }
        let older = older.map(|older| Older { driver: older.driver.to_string(), route: older.route.name().to_owned() });
        let smallest = Smallest { driver: driver.map(|driver| driver.to_string()), older, below };
        found.insert(pool.name.value.clone(), smallest);
    }
    found
}
