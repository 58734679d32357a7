//! `imagelint fleet what-if`: judges images on a changed fleet and prints the differences.

use std::collections::BTreeMap;
use std::io;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use crate::cli::args::{DifferenceFormat, DockerfileArgs, FailOn, WhatIfArgs};
use crate::cli::compare::write_json;
use crate::cli::comparison_side::{ComparisonSide, PoolSelection, SideOptions};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::use_color;
use crate::cli::settings::LoadedSettings;
use crate::cli::{fleet_file, parallel, scan, streams};
use crate::fix::compare::model::VerdictChange;
use crate::fix::minimum_driver::{CommonMinimumDriver, SubjectImages};
use crate::fix::what_if::model::{WhatIfDriver, WhatIfImage, WhatIfReport};
use crate::fix::what_if::{ChangedFleet, RequestedFleetChanges};
use crate::fix::{compare, minimum_driver, what_if};
use crate::fleet::{DriverSpec, Fleet, Pool};
use crate::judge;
use crate::judge::ReportDetail;
use crate::knowledge::Knowledge;
use crate::report::json::SCHEMA_VERSION;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::report::phrases::{pluralize, subject_title};
use crate::rules::RuleBook;
use crate::text::source::Sources;

/// Runs `imagelint fleet what-if`.
pub(crate) fn run(options: &WhatIfArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut sources = Sources::default();
    let judging = options.against.to_judging_args();
    let first = options.inputs.iter().map(PathBuf::from).find(|path| path.exists());
    let loaded = LoadedSettings::new(&judging.config, first.as_deref(), &mut sources)?;
    let mut judging = loaded.merge_with_options(&judging, &sources)?;
    let fleet = fleet_file::load_fleet(&judging, first.as_deref(), knowledge, &mut sources)?;
    let WhatIfArgs { set, add, remove, reading, platforms, .. } = options;
    let DockerfileArgs { pull, access, build } = reading;
    let changed = what_if::change_fleet(&fleet, RequestedFleetChanges { set, add, remove }, knowledge, &mut sources)
        .map_err(|error| CommandError::Message(format!("error: {error}{}", missing_fleet_help(&fleet))))?;
    // Everything is read once, for all pools of both.
    let removed = fleet.pools.iter().filter(|pool| remove.contains(&pool.name.value)).cloned();
    let both = Fleet { pools: changed.fleet.pools.iter().cloned().chain(removed).collect(), ..changed.fleet.clone() };
    // If pools are selected, the added pools are shown as well.
    if !judging.pools.is_empty() {
        judging.pools.extend(changed.added.iter().cloned());
    }
    let reading =
        SideOptions { build, set: platforms, access, pull: *pull, judging: &judging, fleet: &both, knowledge };
    let side = ComparisonSide::from_inputs(&options.inputs, reading, &mut sources)?;
    let book = RuleBook::built_in();
    let old = SideOptions { fleet: &fleet, ..reading };
    let new = SideOptions { fleet: &changed.fleet, ..reading };
    let (before, after) = (selections_before(&side, &changed, old), selection_after(&side, &changed, new));
    let of_old = before.len();
    let parts: Vec<PoolSelection<'_>> = before.into_iter().chain(after).collect();
    let platforms: Vec<String> =
        scan::fleet_platforms(&changed.fleet, knowledge).iter().map(ToString::to_string).collect();
    let (judged, seen) = side.judge_on_selections(&parts, &platforms, new, (book, &sources));
    let (was, is) = subjects_before_and_after(&side, &parts, &judged, of_old, (old, new));
    let head = side.report_head(new, book, &sources);
    let images: Vec<WhatIfImage> = was
        .iter()
        .zip(&is)
        .filter_map(|(before, after)| what_if::compare_image(before, after, &changed.added))
        .collect();
    let written = sources.get(fleet.source).text().len();
    let report = WhatIfReport {
        schema_version: SCHEMA_VERSION,
        tool: head.tool,
        fleet: without_command_line_locations(head.fleet, written),
        images: is.len(),
        summary: summary_lines(&images, is.len()),
        changed: images,
        ready: changed.added.iter().map(|pool| what_if::pool_readiness(pool, &is)).collect(),
        drivers: smallest_drivers(&seen, &is, &changed, reading),
        errors: side.errors,
        changes: if changed.descriptions.is_empty() {
            vec!["without changes".to_owned()]
        } else {
            changed.descriptions
        },
    };
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::stdout());
    match options.against.format {
        DifferenceFormat::Human => what_if::write_human(&report, use_color(judging.color, terminal), &mut out)?,
        DifferenceFormat::Markdown | DifferenceFormat::Summary => what_if::write_markdown(&report, &mut out)?,
        DifferenceFormat::Json => write_json(&report, &mut out)?,
    }
    out.flush()?;
    Ok(exit_code(&report, judging.fail_on()))
}

/// Returns a help text for pools that do not exist because there is no fleet file.
fn missing_fleet_help(fleet: &Fleet) -> &'static str {
    if fleet.built_in { "\nhelp: found no fleet file; pass one with --fleet fleet.toml" } else { "" }
}

/// Returns the pools to judge on in the current fleet: changed pools in detail, others without.
fn selections_before<'a>(
    side: &ComparisonSide,
    changed: &ChangedFleet,
    reading: SideOptions<'a>,
) -> Vec<PoolSelection<'a>> {
    let whole = |detail| vec![PoolSelection { fleet: reading.fleet, pools: reading.judging.pools.clone(), detail }];
    if side.subjects.iter().any(judge::depends_on_all_pools) {
        return whole(ReportDetail::Verdicts);
    }
    let (set, others): (Vec<String>, Vec<String>) =
        selected_pools(reading).into_iter().partition(|name| changed.set.contains(name));
    let parts = [(set, ReportDetail::Verdicts), (others, ReportDetail::Fates)]
        .into_iter()
        .filter(|(pools, _)| !pools.is_empty());
    let parts: Vec<PoolSelection<'_>> =
        parts.map(|(pools, detail)| PoolSelection { fleet: reading.fleet, pools, detail }).collect();
    if parts.is_empty() { whole(ReportDetail::Fates) } else { parts }
}

/// Returns the pools to judge on in the changed fleet: changed and added ones, or all if images select pools.
fn selection_after<'a>(
    side: &ComparisonSide,
    changed: &ChangedFleet,
    reading: SideOptions<'a>,
) -> Option<PoolSelection<'a>> {
    let (fleet, detail) = (reading.fleet, ReportDetail::Verdicts);
    if side.subjects.iter().any(judge::depends_on_all_pools) {
        return Some(PoolSelection { fleet, pools: reading.judging.pools.clone(), detail });
    }
    let new = |name: &String| changed.set.contains(name) || changed.added.contains(name);
    let pools: Vec<String> = selected_pools(reading).into_iter().filter(new).collect();
    (!pools.is_empty()).then_some(PoolSelection { fleet, pools, detail })
}

/// Combines the verdicts into subjects before and after the change; the first `before` selections belong to the
/// current fleet.
fn subjects_before_and_after(
    side: &ComparisonSide,
    parts: &[PoolSelection<'_>],
    judged: &[Vec<model::Subject>],
    before: usize,
    (old, new): (SideOptions<'_>, SideOptions<'_>),
) -> (Vec<model::Subject>, Vec<model::Subject>) {
    let mut selections = parts.iter().zip(judged).map(|(part, judged)| (judged.as_slice(), part.pools.as_slice()));
    let was: Vec<SubjectsOnPools<'_>> = selections.by_ref().take(before).collect();
    let is: Vec<SubjectsOnPools<'_>> = selections.collect();
    let all = selected_pools(old).is_empty() || side.subjects.iter().any(judge::depends_on_all_pools);
    let was = match was.as_slice() {
        [(whole, _)] if all => whole.to_vec(),
        parts => merge_selections(old.fleet, parts),
    };
    if side.subjects.iter().any(judge::depends_on_all_pools) {
        let is = is.first().map_or_else(Vec::new, |(whole, _)| whole.to_vec());
        return (was, is);
    }
    let same: Vec<String> =
        selected_pools(new).into_iter().filter(|name| !is.iter().any(|(_, pools)| pools.contains(name))).collect();
    let whole: Vec<SubjectsOnPools<'_>> = [(was.as_slice(), same.as_slice())].into_iter().chain(is).collect();
    let is = merge_selections(new.fleet, &whole);
    (was, is)
}

/// Returns the names of the selected pools of a fleet.
fn selected_pools(reading: SideOptions<'_>) -> Vec<String> {
    let selected = &reading.judging.pools;
    let names = reading.fleet.pools.iter().map(|pool| pool.name.value.clone());
    names.filter(|name| selected.is_empty() || selected.contains(name)).collect()
}

/// Judged subjects, and the names of the pools they were judged on.
type SubjectsOnPools<'a> = (&'a [model::Subject], &'a [String]);

/// Merges subjects judged on several pool selections, with verdicts in the order of the fleet's pools.
fn merge_selections(fleet: &Fleet, parts: &[SubjectsOnPools<'_>]) -> Vec<model::Subject> {
    let whole = |(at, first): (usize, &model::Subject)| {
        let of_pool = |name: &str| {
            let part = parts.iter().find(|(_, pools)| pools.iter().any(|pool| pool == name));
            let subject = part.and_then(|(subjects, _)| subjects.get(at)).into_iter();
            subject.flat_map(|subject| &subject.verdicts).filter(|one| one.pool == name).cloned().collect::<Vec<_>>()
        };
        let verdicts = fleet.pools.iter().flat_map(|pool| of_pool(&pool.name.value)).collect();
        model::Subject { verdicts, ..first.clone() }
    };
    parts.first().map_or_else(Vec::new, |(subjects, _)| subjects.iter().enumerate().map(whole).collect())
}

/// Removes locations of values that come from the command line and not from the fleet file.
fn without_command_line_locations(mut fleet: model::Fleet, written: usize) -> model::Fleet {
    let real = |location: &model::Location| location.region.is_none_or(|region| region.end_byte <= written);
    for pool in &mut fleet.pools {
        pool.location = pool.location.take().filter(real);
        for field in &mut pool.fields {
            field.location = field.location.take().filter(real);
        }
    }
    fleet
}

/// Returns the exit code: only changes for the worse on pools that existed before count.
fn exit_code(report: &WhatIfReport, fail_on: FailOn) -> Exit {
    let counts = |change: VerdictChange| match fail_on {
        FailOn::Never => false,
        FailOn::Error => change == VerdictChange::Breaks,
        FailOn::Warning | FailOn::Note | FailOn::Undetermined => {
            matches!(change, VerdictChange::Breaks | VerdictChange::Unsure)
        }
    };
    match report {
        _ if !report.errors.is_empty() => Exit::Broken,
        _ if report.images == 0 => Exit::Nothing,
        _ if report.changed.iter().flat_map(|image| &image.pools).any(|pool| counts(pool.change)) => Exit::Found,
        _ => Exit::Clean,
    }
}

/// Returns the summary of all changes, one line per kind of change.
fn summary_lines(changed: &[WhatIfImage], all: usize) -> Vec<String> {
    let with = |change: VerdictChange| {
        let mut pools: BTreeMap<&str, usize> = BTreeMap::new();
        for pool in changed.iter().flat_map(|image| &image.pools).filter(|pool| pool.change == change) {
            *pools.entry(&pool.pool).or_default() += 1;
        }
        let parts = pools.iter().map(|(pool, images)| format!("{} on `{pool}`", pluralize(*images, "image")));
        parts.collect::<Vec<_>>().join(", ")
    };
    let sentence = |verb: &str, change: VerdictChange| {
        Some(with(change)).filter(|text| !text.is_empty()).map(|text| format!("{verb}: {text}"))
    };
    let mut lines = vec![format!("the result changes for {} of {}", changed.len(), pluralize(all, "image"))];
    lines.push(sentence("unlocks", VerdictChange::Works).unwrap_or_else(|| "unlocks nothing".to_owned()));
    lines.push(sentence("breaks", VerdictChange::Breaks).unwrap_or_else(|| "breaks nothing".to_owned()));
    lines.extend(sentence("now unknown", VerdictChange::Unsure));
    lines
}

/// Returns the smallest sufficient driver of each pool; equivalent pools with the same images are computed once.
fn smallest_drivers(
    images: &[SubjectImages],
    judged: &[model::Subject],
    changed: &ChangedFleet,
    reading: SideOptions<'_>,
) -> Vec<WhatIfDriver> {
    let SideOptions { judging, knowledge, .. } = reading;
    let fleet = &changed.fleet;
    // Images that are alike but for their names and places are tried once.
    let likeness = parallel::map(judging.jobs(), images, SubjectImages::equivalence_key);
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let alike: Vec<usize> =
        likeness.iter().enumerate().map(|(at, likeness)| *first.entry(likeness).or_insert(at)).collect();
    let runs = |pool: &Pool| -> Vec<usize> {
        let on = |subject: &model::Subject| {
            compare::verdict_on_pool(subject, &pool.name.value)
                .is_some_and(|verdict| verdict.fate != VerdictKind::NotApplicable)
        };
        judged.iter().enumerate().filter(|(_, subject)| on(subject)).map(|(at, _)| at).collect()
    };
    let is_selected = |pool: &&Pool| judging.pools.is_empty() || judging.pools.contains(&pool.name.value);
    let pools: Vec<(&Pool, Vec<usize>)> =
        fleet.pools.iter().filter(is_selected).map(|pool| (pool, runs(pool))).collect();
    let mut kinds: BTreeMap<(String, &[usize]), &Pool> = BTreeMap::new();
    for (pool, own) in &pools {
        kinds.entry((minimum_driver::pool_equivalence_key(pool, knowledge), own)).or_insert(*pool);
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    let found: Vec<CommonMinimumDriver> = parallel::map(judging.jobs(), &kinds, |((_, own), pool)| {
        let own: Vec<_> = own.iter().filter_map(|at| Some((images.get(*at)?, *alike.get(*at)?))).collect();
        minimum_driver::common_minimum_driver(pool, &own, knowledge)
    });
    let mut drivers = Vec::new();
    for (pool, own) in pools.iter().filter(|(_, own)| !own.is_empty()) {
        let key = (minimum_driver::pool_equivalence_key(pool, knowledge), own.as_slice());
        let Some(smallest) = kinds.iter().position(|(kind, _)| *kind == key).and_then(|at| found.get(at)) else {
            continue;
        };
        let enough = smallest.driver.is_some() && is_driver_sufficient(pool, own, judged, smallest);
        let name = |at: &usize| own.get(*at).and_then(|at| judged.get(*at)).map(subject_title);
        drivers.push(WhatIfDriver {
            pool: pool.name.value.clone(),
            driver: pool.driver_text(),
            images: own.len(),
            smallest: smallest.driver.map(|driver| driver.to_string()),
            largest: smallest.last.map(|driver| driver.to_string()),
            older: smallest.older.map(|driver| driver.to_string()),
            enough,
            below: enough && minimum_driver::is_below_minimum(pool, smallest.driver),
            any_gpu: pool.gpu.is_empty() && pool.compute_capability.is_none(),
            never: smallest.never.iter().filter_map(name).collect(),
            open: smallest.open.iter().filter_map(name).collect(),
        });
    }
    drivers
}

/// Whether all images that can start on a pool start with its current driver.
fn is_driver_sufficient(pool: &Pool, own: &[usize], judged: &[model::Subject], smallest: &CommonMinimumDriver) -> bool {
    let exact = pool.driver.iter().all(|driver| matches!(driver.value, DriverSpec::Exact(_)));
    let able = own.iter().enumerate().filter(|(at, _)| !smallest.never.contains(at) && !smallest.open.contains(at));
    let mut starts = able.filter_map(|(_, at)| compare::verdict_on_pool(judged.get(*at)?, &pool.name.value));
    !pool.driver.is_empty() && exact && starts.all(|verdict| verdict.fate == VerdictKind::Starts)
}
