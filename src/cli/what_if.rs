//! `imagelint fleet what-if`: images on a fleet that is changed.

use std::collections::BTreeMap;
use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::DifferenceFormat;
use crate::cli::args::FailOn;
use crate::cli::args::ReadingArgs;
use crate::cli::args::WhatIfArgs;
use crate::cli::compare::json;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::outputs::color;
use crate::cli::parallel;
use crate::cli::scan;
use crate::cli::settings::Loaded;
use crate::cli::sides::Part;
use crate::cli::sides::Reading;
use crate::cli::sides::Side;
use crate::cli::streams;
use crate::compare;
use crate::compare::model::Change;
use crate::fleet::DriverSpec;
use crate::fleet::Fleet;
use crate::fleet::Pool;
use crate::judge;
use crate::judge::Detail;
use crate::knowledge::Knowledge;
use crate::least;
use crate::least::Images;
use crate::least::OfAll;
use crate::report::json::SCHEMA_VERSION;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::report::words::count;
use crate::report::words::title;
use crate::rules::RuleBook;
use crate::source::Sources;
use crate::what_if;
use crate::what_if::Asked;
use crate::what_if::Changed;
use crate::what_if::model::Driver;
use crate::what_if::model::Image;
use crate::what_if::model::WhatIf;

/// Runs it.
pub(crate) fn run(options: &WhatIfArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let judging = options.against.judging();
    let first = options.inputs.iter().map(PathBuf::from).find(|path| path.exists());
    let loaded = Loaded::new(&judging.config, first.as_deref(), &mut sources)?;
    let mut judging = loaded.under(&judging, &sources)?;
    let fleet = fleet::load(&judging, first.as_deref(), knowledge, &mut sources)?;
    let WhatIfArgs { set, add, remove, reading, platforms, .. } = options;
    let ReadingArgs { pull, access, build } = reading;
    let changed = what_if::changed(&fleet, Asked { set, add, remove }, knowledge, &mut sources)
        .map_err(|error| Failure::Said(format!("error: {error}{}", no_fleet(&fleet))))?;
    // Everything is read once, for all pools of both.
    let gone = fleet.pools.iter().filter(|pool| remove.contains(&pool.name.value)).cloned();
    let both = Fleet { pools: changed.fleet.pools.iter().cloned().chain(gone).collect(), ..changed.fleet.clone() };
    // Of some pools alone what is new is told as well.
    if !judging.pools.is_empty() {
        judging.pools.extend(changed.added.iter().cloned());
    }
    let reading = Reading { build, set: platforms, access, pull: *pull, judging: &judging, fleet: &both, knowledge };
    let side = Side::of_inputs(&options.inputs, reading, &mut sources)?;
    let book = RuleBook::built_in();
    let old = Reading { fleet: &fleet, ..reading };
    let new = Reading { fleet: &changed.fleet, ..reading };
    let (before, after) = (before(&side, &changed, old), after(&side, &changed, new));
    let of_old = before.len();
    let parts: Vec<Part<'_>> = before.into_iter().chain(after).collect();
    let platforms: Vec<String> = scan::platforms(&changed.fleet, knowledge).iter().map(ToString::to_string).collect();
    let (judged, seen) = side.judged_on(&parts, &platforms, new, (book, &sources));
    let (was, is) = sides(&side, &parts, &judged, of_old, (old, new));
    let head = side.head(new, book, &sources);
    let images: Vec<Image> =
        was.iter().zip(&is).filter_map(|(before, after)| what_if::image(before, after, &changed.added)).collect();
    let written = sources.get(fleet.source).text().len();
    let told = WhatIf {
        schema_version: SCHEMA_VERSION,
        tool: head.tool,
        fleet: in_file(head.fleet, written),
        images: is.len(),
        summary: summary(&images, is.len()),
        changed: images,
        ready: changed.added.iter().map(|pool| what_if::ready(pool, &is)).collect(),
        drivers: drivers(&seen, &is, &changed, reading),
        errors: side.errors,
        changes: if changed.told.is_empty() { vec!["without changes".to_owned()] } else { changed.told },
    };
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::out());
    match options.against.format {
        DifferenceFormat::Human => what_if::human(&told, color(judging.color, terminal), &mut out)?,
        DifferenceFormat::Markdown | DifferenceFormat::Summary => what_if::markdown(&told, &mut out)?,
        DifferenceFormat::Json => json(&told, &mut out)?,
    }
    out.flush()?;
    Ok(exit(&told, judging.fail_on()))
}

/// What to do where the pools that are asked for are not there because nobody declared a fleet.
fn no_fleet(fleet: &Fleet) -> &'static str {
    if fleet.built_in { "\nhelp: found no fleet file; pass one with --fleet fleet.toml" } else { "" }
}

/// What is judged on the fleet as it is: of pools that are set with what was not seen, of others the fates alone.
fn before<'a>(side: &Side, changed: &Changed, reading: Reading<'a>) -> Vec<Part<'a>> {
    let whole = |detail| vec![Part { fleet: reading.fleet, pools: reading.judging.pools.clone(), detail }];
    if side.subjects.iter().any(judge::looks_for_pools) {
        return whole(Detail::Verdicts);
    }
    let (set, others): (Vec<String>, Vec<String>) =
        asked(reading).into_iter().partition(|name| changed.set.contains(name));
    let parts = [(set, Detail::Verdicts), (others, Detail::Fates)].into_iter().filter(|(pools, _)| !pools.is_empty());
    let parts: Vec<Part<'_>> = parts.map(|(pools, detail)| Part { fleet: reading.fleet, pools, detail }).collect();
    if parts.is_empty() { whole(Detail::Fates) } else { parts }
}

/// What is judged on the changed fleet. A pool that is as it was ends as it did, unless images look for pools by name or
/// by label, which is a matter of the whole fleet.
fn after<'a>(side: &Side, changed: &Changed, reading: Reading<'a>) -> Option<Part<'a>> {
    let (fleet, detail) = (reading.fleet, Detail::Verdicts);
    if side.subjects.iter().any(judge::looks_for_pools) {
        return Some(Part { fleet, pools: reading.judging.pools.clone(), detail });
    }
    let new = |name: &String| changed.set.contains(name) || changed.added.contains(name);
    let pools: Vec<String> = asked(reading).into_iter().filter(new).collect();
    (!pools.is_empty()).then_some(Part { fleet, pools, detail })
}

/// What was judged before and after, of parts of which so many are of the fleet as it is.
fn sides(
    side: &Side,
    parts: &[Part<'_>],
    judged: &[Vec<model::Subject>],
    before: usize,
    (old, new): (Reading<'_>, Reading<'_>),
) -> (Vec<model::Subject>, Vec<model::Subject>) {
    let mut told = parts.iter().zip(judged).map(|(part, judged)| (judged.as_slice(), part.pools.as_slice()));
    let was: Vec<Judged<'_>> = told.by_ref().take(before).collect();
    let is: Vec<Judged<'_>> = told.collect();
    let all = asked(old).is_empty() || side.subjects.iter().any(judge::looks_for_pools);
    let was = match was.as_slice() {
        [(whole, _)] if all => whole.to_vec(),
        parts => together(old.fleet, parts),
    };
    if side.subjects.iter().any(judge::looks_for_pools) {
        let is = is.first().map_or_else(Vec::new, |(whole, _)| whole.to_vec());
        return (was, is);
    }
    let same: Vec<String> =
        asked(new).into_iter().filter(|name| !is.iter().any(|(_, pools)| pools.contains(name))).collect();
    let whole: Vec<Judged<'_>> = [(was.as_slice(), same.as_slice())].into_iter().chain(is).collect();
    let is = together(new.fleet, &whole);
    (was, is)
}

/// The pools of a fleet that are asked about.
fn asked(reading: Reading<'_>) -> Vec<String> {
    let wanted = &reading.judging.pools;
    let names = reading.fleet.pools.iter().map(|pool| pool.name.value.clone());
    names.filter(|name| wanted.is_empty() || wanted.contains(name)).collect()
}

/// Subjects that were judged on some pools, by their names.
type Judged<'a> = (&'a [model::Subject], &'a [String]);

/// Subjects that were judged on several parts of a fleet, with the verdicts of all of its pools in their order.
fn together(fleet: &Fleet, parts: &[Judged<'_>]) -> Vec<model::Subject> {
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

/// The fleet without places that no file has: those of values from the command line.
fn in_file(mut fleet: model::Fleet, written: usize) -> model::Fleet {
    let real = |location: &model::Location| location.region.is_none_or(|region| region.end_byte <= written);
    for pool in &mut fleet.pools {
        pool.location = pool.location.take().filter(real);
        for field in &mut pool.fields {
            field.location = field.location.take().filter(real);
        }
    }
    fleet
}

/// What is new alone counts, on pools that were there before.
fn exit(told: &WhatIf, fail_on: FailOn) -> Exit {
    let counts = |change: Change| match fail_on {
        FailOn::Never => false,
        FailOn::Error => change == Change::Breaks,
        FailOn::Warning | FailOn::Note | FailOn::Undetermined => matches!(change, Change::Breaks | Change::Unsure),
    };
    match told {
        _ if !told.errors.is_empty() => Exit::Broken,
        _ if told.images == 0 => Exit::Nothing,
        _ if told.changed.iter().flat_map(|image| &image.pools).any(|pool| counts(pool.change)) => Exit::Found,
        _ => Exit::Clean,
    }
}

fn summary(changed: &[Image], all: usize) -> Vec<String> {
    let with = |change: Change| {
        let mut pools: BTreeMap<&str, usize> = BTreeMap::new();
        for pool in changed.iter().flat_map(|image| &image.pools).filter(|pool| pool.change == change) {
            *pools.entry(&pool.pool).or_default() += 1;
        }
        let told = pools.iter().map(|(pool, images)| format!("{} on `{pool}`", count(*images, "image")));
        told.collect::<Vec<_>>().join(", ")
    };
    let sentence = |verb: &str, change: Change| {
        Some(with(change)).filter(|told| !told.is_empty()).map(|told| format!("{verb}: {told}"))
    };
    let mut told = vec![format!("the result changes for {} of {}", changed.len(), count(all, "image"))];
    told.push(sentence("unlocks", Change::Works).unwrap_or_else(|| "unlocks nothing".to_owned()));
    told.push(sentence("breaks", Change::Breaks).unwrap_or_else(|| "breaks nothing".to_owned()));
    told.extend(sentence("now unknown", Change::Unsure));
    told
}

/// The smallest driver of each pool; pools that are alike and run the same images are sought once.
fn drivers(images: &[Images], judged: &[model::Subject], changed: &Changed, reading: Reading<'_>) -> Vec<Driver> {
    let Reading { judging, knowledge, .. } = reading;
    let fleet = &changed.fleet;
    // Images that are alike but for their names and places are tried once.
    let likeness = parallel::map(judging.jobs(), images, Images::likeness);
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let alike: Vec<usize> =
        likeness.iter().enumerate().map(|(at, likeness)| *first.entry(likeness).or_insert(at)).collect();
    let runs = |pool: &Pool| -> Vec<usize> {
        let on = |subject: &model::Subject| {
            compare::on(subject, &pool.name.value).is_some_and(|verdict| verdict.fate != VerdictKind::NotApplicable)
        };
        judged.iter().enumerate().filter(|(_, subject)| on(subject)).map(|(at, _)| at).collect()
    };
    let wanted = |pool: &&Pool| judging.pools.is_empty() || judging.pools.contains(&pool.name.value);
    let pools: Vec<(&Pool, Vec<usize>)> = fleet.pools.iter().filter(wanted).map(|pool| (pool, runs(pool))).collect();
    let mut kinds: BTreeMap<(String, &[usize]), &Pool> = BTreeMap::new();
    for (pool, own) in &pools {
        kinds.entry((least::likeness(pool, knowledge), own)).or_insert(*pool);
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    let found: Vec<OfAll> = parallel::map(judging.jobs(), &kinds, |((_, own), pool)| {
        let own: Vec<_> = own.iter().filter_map(|at| Some((images.get(*at)?, *alike.get(*at)?))).collect();
        least::least_of_all(pool, &own, knowledge)
    });
    let mut told = Vec::new();
    for (pool, own) in pools.iter().filter(|(_, own)| !own.is_empty()) {
        let key = (least::likeness(pool, knowledge), own.as_slice());
        let Some(smallest) = kinds.iter().position(|(kind, _)| *kind == key).and_then(|at| found.get(at)) else {
            continue;
        };
        let enough = smallest.driver.is_some() && is_enough(pool, own, judged, smallest);
        let name = |at: &usize| own.get(*at).and_then(|at| judged.get(*at)).map(title);
        told.push(Driver {
            pool: pool.name.value.clone(),
            driver: pool.driver_text(),
            images: own.len(),
            smallest: smallest.driver.map(|driver| driver.to_string()),
            largest: smallest.last.map(|driver| driver.to_string()),
            older: smallest.older.map(|driver| driver.to_string()),
            enough,
            below: enough && least::is_below(pool, smallest.driver),
            any_gpu: pool.gpu.is_empty() && pool.compute_capability.is_none(),
            never: smallest.never.iter().filter_map(name).collect(),
            open: smallest.open.iter().filter_map(name).collect(),
        });
    }
    told
}

/// Whether all that can start on a pool start with the driver that it has.
fn is_enough(pool: &Pool, own: &[usize], judged: &[model::Subject], smallest: &OfAll) -> bool {
    let exact = pool.driver.iter().all(|driver| matches!(driver.value, DriverSpec::Exact(_)));
    let able = own.iter().enumerate().filter(|(at, _)| !smallest.never.contains(at) && !smallest.open.contains(at));
    let mut starts = able.filter_map(|(_, at)| compare::on(judged.get(*at)?, &pool.name.value));
    !pool.driver.is_empty() && exact && starts.all(|verdict| verdict.fate == VerdictKind::Starts)
}
