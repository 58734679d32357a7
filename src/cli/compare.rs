//! `imagelint compare`: the effect of changed images on a fleet.

use std::collections::BTreeMap;
use std::io;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::args::{BuildArgs, CompareArgs, DifferenceFormat, DockerfileArgs, FailOn, JudgingArgs};
use crate::cli::comparison_side::{ComparisonSide, SideOptions};
use crate::cli::error::CommandError;
use crate::cli::exit::{Exit, ExitTally};
use crate::cli::git::{GitRepository, GitRevision};
use crate::cli::judging::use_color;
use crate::cli::side_configuration::SideConfiguration;
use crate::cli::{fleet_file, parallel, scan, streams};
use crate::fix::compare::model::{ComparedImage, ComparedOlderDriver, Comparison};
use crate::fix::compare::{NamedSubject, SmallestDriverByPool, SmallestPoolDriver, SubjectPair};
use crate::fix::minimum_driver::{SubjectImages, minimum_driver};
use crate::fix::{compare, minimum_driver};
use crate::fleet::Fleet;
use crate::judge::{AnalysisSubject, ReportDetail, SubjectContent};
use crate::knowledge::Knowledge;
use crate::report::json::SCHEMA_VERSION;
use crate::report::kinds::VerdictKind;
use crate::report::markdown::MarkdownTarget;
use crate::report::model;
use crate::rules::RuleBook;
use crate::text::source::Sources;

/// Number of images up to which the smallest driver is always searched; for more images, only if a verdict differs.
const MAX_FULL_DRIVER_SEARCHES: usize = 64;

/// One side of a comparison, as specified on the command line.
enum ComparisonInput {
    /// Files, folders, images.
    Inputs(Vec<String>),
    /// Paths in a revision.
    Revision(GitRevision, Vec<String>),
}

impl ComparisonInput {
    /// Returns the inputs as text, relative to the repository root if revisions are compared.
    fn title(&self, repository: Option<&GitRepository>) -> String {
        match self {
            Self::Inputs(inputs) => {
                let below = |input: &String| repository.and_then(|own| own.relative_path(Path::new(input)));
                let names = inputs.iter().map(|input| below(input).unwrap_or_else(|| input.clone()));
                names.collect::<Vec<_>>().join(", ")
            }
            Self::Revision(revision, paths) => {
                paths.iter().map(|path| revision_path(&revision.name, path)).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Returns the name of an input that is the same on both sides.
    fn shared_name(&self, name: &str, repository: Option<&GitRepository>) -> String {
        let below = |repository: &GitRepository| repository.relative_path(Path::new(name));
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

/// Returns the name of a file in a revision, such as `main:docker/Dockerfile`.
fn revision_path(revision: &str, path: &str) -> String {
    format!("{revision}:{path}")
}

/// Runs `imagelint compare`.
pub(crate) fn run(options: &CompareArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let repository = GitRepository::find_containing(Path::new("."));
    let (before, after) = comparison_inputs(options, repository.as_ref())?;
    let mut sources = Sources::default();
    let given_judging = options.against.to_judging_args();
    let DockerfileArgs { pull, access, build } = &options.reading;
    let set = &options.set;
    let mut own =
        load_side_settings([&before, &after], repository.as_ref(), (&given_judging, build), knowledge, &mut sources)?;
    let FleetDifference { notes, added, removed } =
        reconcile_fleets(&mut own, [&before, &after], &given_judging, knowledge, &mut sources)?;
    let [own_was, own_is] = &own;
    let (judging, fleet) = (&own_was.judging, &own_was.fleet);
    let reading_was = SideOptions { build, set, access, pull: *pull, judging, fleet, knowledge };
    let reading_is = SideOptions { judging: &own_is.judging, fleet: &own_is.fleet, ..reading_was };
    let judging = &own_is.judging;
    let book = RuleBook::built_in();
    let mut was = read_side(&before, own_was, repository.as_ref(), reading_was, &mut sources)?;
    let mut is = read_side(&after, own_is, repository.as_ref(), reading_is, &mut sources)?;
    for (snapshot, name) in own.iter().filter_map(|own| own.snapshot.as_ref()) {
        was.replace_folder_by_revision(&snapshot.folder, name);
        is.replace_folder_by_revision(&snapshot.folder, name);
    }
    let judged_was = was.judge_all(reading_was, book, &sources, ReportDetail::Verdicts);
    let judged_is = is.judge_all(reading_is, book, &sources, ReportDetail::Verdicts);
    let of_git = repository.as_ref().filter(|_| options.git.is_some());
    let mut head = is.report_head(reading_is, book, &sources);
    let mut fleet_before = was.report_head(reading_was, book, &sources).fleet;
    is.replace_fleet_paths(&mut head.fleet);
    was.replace_fleet_paths(&mut fleet_before);
    own_is.label.clone_into(&mut head.fleet.source);
    own_was.label.clone_into(&mut fleet_before.source);
    // If nothing of a side could be read, no image counts as added or removed.
    let unread = [(&was, &judged_was), (&is, &judged_is)];
    let unread = unread.iter().any(|(side, judged)| judged.is_empty() && !side.errors.is_empty());
    let sides = if unread {
        Vec::new()
    } else {
        let [old, new] = [(judged_was, &was, &before), (judged_is, &is, &after)]
            .map(|(judged, side, given)| name_subjects(judged, side, given, of_git, &sources));
        let like = |side: &ComparisonSide, one: &NamedSubject<usize>, reading| {
            verdict_key(side.subjects.get(one.with)?, reading)
        };
        compare::pair_subjects(old, new, [&|one| like(&was, one, reading_was), &|one| like(&is, one, reading_is)])
    };
    let many = MAX_FULL_DRIVER_SEARCHES < sides.len();
    let one = |sides: &SubjectPair<usize>| compare_pair(sides, (&was, reading_was), (&is, reading_is), many);
    let pairs = parallel::map(judging.jobs(), &sides, one);
    let mut tally = ExitTally::default();
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
    let mut summary = compare::summarize_images(&pairs);
    summary.extend(compare::changed_pool_list("added", &added));
    summary.extend(compare::changed_pool_list("removed", &removed));
    let comparison = Comparison {
        schema_version: SCHEMA_VERSION,
        tool: head.tool,
        fleet_before: (own_was.label != own_is.label).then_some(fleet_before),
        fleet: head.fleet,
        pools_added: added,
        pools_removed: removed,
        notes,
        before: before.title(of_git),
        after: after.title(of_git),
        summary,
        images: pairs,
        errors: was.errors.into_iter().chain(is.errors).collect(),
    };
    print_comparison(&comparison, judging, options.against.format)?;
    Ok(tally.exit(&comparison.errors, judging.exit.allow_incomplete))
}

/// Prints the comparison in the requested format.
fn print_comparison(
    comparison: &Comparison,
    judging: &JudgingArgs,
    format: DifferenceFormat,
) -> Result<(), CommandError> {
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::stdout());
    match format {
        DifferenceFormat::Human => compare::write_human(comparison, use_color(judging.color, terminal), &mut out)?,
        DifferenceFormat::Markdown => compare::write_markdown(comparison, MarkdownTarget::Comment, &mut out)?,
        DifferenceFormat::Summary => compare::write_markdown(comparison, MarkdownTarget::Summary, &mut out)?,
        DifferenceFormat::Json => write_json(comparison, &mut out)?,
    }
    Ok(out.flush()?)
}

/// Writes a value as indented JSON, with a final line break.
pub(crate) fn write_json(value: &impl Serialize, out: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    writeln!(out)
}

/// Returns the two sides that the command line specifies, old and new.
fn comparison_inputs(
    options: &CompareArgs,
    repository: Option<&GitRepository>,
) -> Result<(ComparisonInput, ComparisonInput), CommandError> {
    let command_error = |text: String| CommandError::Message(format!("error: {text}"));
    let Some(revisions) = &options.git else {
        let [before, after] = options.inputs.as_slice() else {
            return Err(command_error(
                "pass two inputs (before and after) or two revisions: --git main...HEAD".to_owned(),
            ));
        };
        return Ok((parse_input(before, repository)?, parse_input(after, repository)?));
    };
    let repository =
        repository.ok_or_else(|| command_error("--git: this directory is not in a git repository".to_owned()))?;
    let mut inputs = options.inputs.clone();
    if inputs.is_empty() {
        inputs.push(".".to_owned());
    }
    let outside =
        |input: &String| command_error(format!("{input} is outside the repository {}", repository.top.display()));
    let below = |input: &String| repository.relative_path(Path::new(input)).ok_or_else(|| outside(input));
    let paths: Vec<String> = inputs.iter().map(below).collect::<Result<_, _>>()?;
    let head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
    let revision = |name: &str| repository.resolve_revision(&head(name)).map_err(command_error);
    let (before, after) = match (revisions.split_once("..."), revisions.split_once("..")) {
        (Some((one, other)), _) => {
            (repository.merge_base(&head(one), &head(other)).map_err(command_error)?, Some(revision(other)?))
        }
        (None, Some((one, other))) => (revision(one)?, Some(revision(other)?)),
        (None, None) => (revision(revisions)?, None),
    };
    for (input, path) in inputs.iter().zip(&paths) {
        let now = after.as_ref().map_or_else(|| Path::new(input).exists(), |after| repository.contains(after, path));
        if !now && !repository.contains(&before, path) {
            return Err(command_error(format!("{input} does not exist in {revisions}")));
        }
    }
    let after = match after {
        Some(after) => ComparisonInput::Revision(after, paths.clone()),
        None => ComparisonInput::Inputs(inputs.into_iter().filter(|input| Path::new(input).exists()).collect()),
    };
    Ok((ComparisonInput::Revision(before, paths), after))
}

/// Parses one input: `REV:PATH` if no such file exists and the repository has it, else a file or an image. `REV` must
/// be a revision if the path exists.
fn parse_input(input: &str, repository: Option<&GitRepository>) -> Result<ComparisonInput, CommandError> {
    let inputs = || ComparisonInput::Inputs(vec![input.to_owned()]);
    let (Some(repository), Some((name, path)), false) = (repository, input.split_once(':'), Path::new(input).exists())
    else {
        return Ok(inputs());
    };
    let path = path.trim_end_matches('/');
    match repository.resolve_revision(name) {
        Ok(revision) if repository.contains(&revision, path) => {
            Ok(ComparisonInput::Revision(revision, vec![path.to_owned()]))
        }
        Err(error) if !path.is_empty() && repository.top.join(path).exists() => {
            Err(CommandError::Message(format!("error: {input}: {error}")))
        }
        Ok(_) | Err(_) => Ok(inputs()),
    }
}

/// Loads the fleet and the settings of each side: those in a revision, or common ones for two other inputs.
fn load_side_settings(
    given: [&ComparisonInput; 2],
    repository: Option<&GitRepository>,
    (judging, build): (&JudgingArgs, &BuildArgs),
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<[SideConfiguration; 2], CommandError> {
    let first = |given: &ComparisonInput| match given {
        ComparisonInput::Inputs(inputs) => inputs.iter().map(PathBuf::from).find(|path| path.exists()),
        ComparisonInput::Revision(..) => None,
    };
    let mut of = |one: &ComparisonInput, other: &ComparisonInput| match (one, repository) {
        (ComparisonInput::Revision(revision, paths), Some(repository)) => {
            let context = build.context.as_deref().and_then(|context| repository.relative_path(context));
            let place = (repository, revision);
            SideConfiguration::from_revision(place, (paths, context.as_ref()), judging, knowledge, sources)
        }
        // Two inputs without a revision have one fleet: that of what is.
        _ => match other {
            ComparisonInput::Inputs(_) => {
                SideConfiguration::from_work_tree(first(other).as_deref(), judging, knowledge, sources)
            }
            ComparisonInput::Revision(..) => {
                SideConfiguration::from_work_tree(first(one).as_deref(), judging, knowledge, sources)
            }
        },
    };
    let [before, after] = given;
    Ok([of(before, after)?, of(after, after)?])
}

/// Difference between the fleets of both sides.
struct FleetDifference {
    /// Which fleets and settings the sides have, when that is no matter of course.
    notes: Vec<String>,
    /// Pools of the later fleet alone, of those that are selected.
    added: Vec<String>,
    /// Pools of the earlier fleet alone, of those that are selected.
    removed: Vec<String>,
}

/// Returns the selected pools of one fleet that the other fleet lacks.
fn pools_only_in(one: &Fleet, other: &Fleet, selected: &[String]) -> Vec<String> {
    let names = |fleet: &Fleet| fleet.pools.iter().map(|pool| pool.name.value.clone()).collect::<Vec<_>>();
    let others = names(other);
    let is_selected = |name: &String| selected.is_empty() || selected.contains(name);
    names(one).into_iter().filter(|name| !others.contains(name) && is_selected(name)).collect()
}

/// Assigns the fleet of the other side to a side without a fleet file, and compares the fleets before pools are
/// selected.
fn reconcile_fleets(
    own: &mut [SideConfiguration; 2],
    given: [&ComparisonInput; 2],
    judging: &JudgingArgs,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<FleetDifference, CommandError> {
    let [was, is] = own;
    let revisions = given.iter().any(|given| matches!(given, ComparisonInput::Revision(..)));
    let mut notes = Vec::new();
    if revisions {
        let explicit = judging.fleet.is_some() || fleet_file::fleet_file_from_environment().is_some();
        let without = |own: &SideConfiguration| match &own.snapshot {
            Some((_, name)) => format!("{name} has no fleet file"),
            None => "the work tree has no fleet file".to_owned(),
        };
        match (was.fleet.built_in, is.fleet.built_in) {
            _ if explicit => {
                notes.push(format!("both sides use {}, as requested", is.label));
            }
            (true, false) => {
                notes.push(format!("{}: both sides use {}", without(was), is.label));
                was.use_fleet_of(is);
            }
            (false, true) => {
                notes.push(format!("{}: both sides use {}", without(is), was.label));
                is.use_fleet_of(was);
            }
            (true, true) => {
                let here = SideConfiguration::from_work_tree(None, judging, knowledge, sources)?;
                if !here.fleet.built_in {
                    let why = "no revision has a fleet file";
                    notes.push(format!("{why}: both sides use {} of the work tree", here.label));
                    was.use_fleet_of(&here);
                    is.use_fleet_of(&here);
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
    let [added, removed] =
        [pools_only_in(&is.fleet, &was.fleet, &judging.pools), pools_only_in(&was.fleet, &is.fleet, &judging.pools)];
    was.select_pools(&fleets[1])?;
    is.select_pools(&fleets[0])?;
    Ok(FleetDifference { notes, added, removed })
}

/// Reads the subjects of one side: its inputs, or the files of its revision.
fn read_side(
    given: &ComparisonInput,
    own: &SideConfiguration,
    repository: Option<&GitRepository>,
    reading: SideOptions<'_>,
    sources: &mut Sources,
) -> Result<ComparisonSide, CommandError> {
    let (revision, paths, repository, snapshot) = match (given, repository, &own.snapshot) {
        (ComparisonInput::Inputs(inputs), ..) if inputs.is_empty() => return Ok(ComparisonSide::empty()),
        (ComparisonInput::Inputs(inputs), ..) => return ComparisonSide::from_inputs(inputs, reading, sources),
        (ComparisonInput::Revision(revision, paths), Some(repository), Some((snapshot, _))) => {
            (revision, paths, repository, snapshot)
        }
        (ComparisonInput::Revision(..), ..) => return Ok(ComparisonSide::empty()),
    };
    let context = reading.build.context.as_deref().and_then(|context| repository.relative_path(context));
    let there = paths.iter().filter(|path| repository.contains(revision, path));
    let files: Vec<PathBuf> = there.map(|path| snapshot.folder.join(path)).collect();
    if files.is_empty() {
        return Ok(ComparisonSide::empty());
    }
    let build = BuildArgs {
        build_args: reading.build.build_args.clone(),
        target: reading.build.target.clone(),
        context: context.map(|context| snapshot.folder.join(context)),
        no_cache: reading.build.no_cache,
    };
    let mut side = ComparisonSide::from_files(&files, SideOptions { build: &build, ..reading }, sources)?;
    side.rename_subjects(reading.fleet, sources, |name| {
        let below = Path::new(name).strip_prefix(&snapshot.folder).unwrap_or(Path::new(name));
        (revision_path(&revision.name, &below.display().to_string()), repository.top.join(below))
    });
    Ok(side)
}

/// Combines the judged subjects of a side with the names that both sides share.
fn name_subjects(
    judged: Vec<model::Subject>,
    side: &ComparisonSide,
    given: &ComparisonInput,
    repository: Option<&GitRepository>,
    sources: &Sources,
) -> Vec<NamedSubject<usize>> {
    let named = |(with, mut judged): (usize, model::Subject)| {
        let key = given.shared_name(&judged.name, repository);
        if repository.is_some() && matches!(given, ComparisonInput::Inputs(_)) {
            judged.name.clone_from(&key);
        }
        let source = match side.subjects.get(with).map(|subject| &subject.content) {
            Some(SubjectContent::Dockerfile { source, .. }) => Some(*source),
            Some(SubjectContent::Saved(saved)) => saved.dockerfile.as_ref().map(|(source, _)| *source),
            Some(SubjectContent::Fixed(_) | SubjectContent::ByPlatform(_)) | None => None,
        };
        let text = source.map(|source| sources.get(source).text().to_owned());
        NamedSubject { key, text, judged, with }
    };
    judged.into_iter().enumerate().map(named).collect()
}

/// Returns a key for everything that decides the verdicts of a subject; `None` without GPU content.
fn verdict_key(subject: &AnalysisSubject, reading: SideOptions<'_>) -> Option<String> {
    let images = subject_images(subject, reading);
    (!images.is_empty()).then(|| images.equivalence_key())
}

/// Returns the images of a subject on the platforms of the fleet, for the driver search.
fn subject_images(subject: &AnalysisSubject, reading: SideOptions<'_>) -> SubjectImages {
    let SideOptions { fleet, knowledge, judging, .. } = reading;
    let platforms: Vec<String> = scan::fleet_platforms(fleet, knowledge).iter().map(ToString::to_string).collect();
    SubjectImages::infer(subject, &platforms, judging.as_of.or(subject.as_of), knowledge)
}

/// Compares the two sides of one image.
fn compare_pair(
    sides: &SubjectPair<usize>,
    (was, reading_was): (&ComparisonSide, SideOptions<'_>),
    (is, reading_is): (&ComparisonSide, SideOptions<'_>),
    many: bool,
) -> ComparedImage {
    let (before, after) = (sides.0.as_ref(), sides.1.as_ref());
    let one_name =
        |one: &NamedSubject<usize>| if one.key.is_empty() { one.judged.name.clone() } else { one.key.clone() };
    let name = after.or(before).map(one_name).unwrap_or_default();
    let (old, new) = (before.map(|one| &one.judged), after.map(|one| &one.judged));
    let differs =
        compare::compare_pools(old, new).iter().any(|pool| pool.change != compare::model::VerdictChange::Same);
    let least = || {
        let (before, after) = (before?, after?);
        let (one, other) = (was.subjects.get(before.with)?, is.subjects.get(after.with)?);
        let is_compared = |pool: &str| {
            let on = |judged| {
                compare::verdict_on_pool(judged, pool).is_some_and(|verdict| verdict.fate != VerdictKind::NotApplicable)
            };
            on(&before.judged) && on(&after.judged)
        };
        Some((smallest_drivers(one, &is_compared, reading_was), smallest_drivers(other, &is_compared, reading_is)))
    };
    let compared = compare::compare_subjects(&name, old, new, if many && !differs { None } else { least() });
    match compare::earlier_dockerfile_name(sides) {
        Some(from) => compared.with_earlier_name(from),
        None => compared,
    }
}

/// Returns the smallest driver for each requested pool, where it is known.
fn smallest_drivers(
    subject: &AnalysisSubject,
    is_compared: &impl Fn(&str) -> bool,
    reading: SideOptions<'_>,
) -> SmallestDriverByPool {
    let SideOptions { fleet, knowledge, .. } = reading;
    let images = subject_images(subject, reading);
    let mut known: BTreeMap<String, (minimum_driver::MinimumDriver, Option<minimum_driver::OlderStartingDriver>)> =
        BTreeMap::new();
    let mut found = SmallestDriverByPool::new();
    for pool in fleet.pools.iter().filter(|pool| is_compared(&pool.name.value)) {
        let (kind, older) = *known.entry(minimum_driver::pool_equivalence_key(pool, knowledge)).or_insert_with(|| {
            let found = minimum_driver(&images, pool, knowledge);
            let minimum_driver::MinimumDriver::From(driver) = found else { return (found, None) };
            (found, minimum_driver::find_older_driver(&images, pool, driver, knowledge))
        });
        let driver = match kind {
            minimum_driver::MinimumDriver::From(driver) => Some(driver),
            minimum_driver::MinimumDriver::Never => None,
            minimum_driver::MinimumDriver::Open => continue,
        };
        let below = minimum_driver::starts_below_minimum(&images, pool, driver, knowledge);
        if below && driver.is_none() {
            // It starts with the driver that the pool has, which is none of those that are known.
            continue;
        }
        let older = older.map(|older| ComparedOlderDriver { driver: older.driver.to_string(), route: older.route });
        let smallest = SmallestPoolDriver { driver: driver.map(|driver| driver.to_string()), older, below };
        found.insert(pool.name.value.clone(), smallest);
    }
    found
}
