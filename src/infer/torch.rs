//! Which torch an image ends up with: command by command, what is asked for, brought along, replaced or kept.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::fact::Depth;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::candidates::parts;
use crate::infer::candidates::within;
use crate::infer::conda_torch::conda;
use crate::infer::python::python;
use crate::install::admits;
use crate::install::order;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
use crate::knowledge::TorchRow;

/// The component that this is about.
pub(super) const COMPONENT: &str = "torch";

/// What the image holds.
#[derive(Clone, Debug)]
pub(super) enum Torch<'a> {
    /// None that was seen.
    None,
    /// That of the base image.
    Base,
    /// One that a command brought.
    Brought(Brought<'a>),
}

/// A torch that a command brought.
#[derive(Clone, Debug)]
pub(super) struct Brought<'a> {
    /// The package that asked for it.
    pub(super) package: &'a PackageSeen,
    /// Which version, without local part.
    pub(super) version: Result<String, Why>,
    /// Which build; `None` is the default index's own.
    pub(super) variant: Result<Option<String>, Why>,
    /// Whether it is the newest of several that would do.
    pub(super) newest: bool,
    /// The row that it was chosen by.
    pub(super) row: Option<&'static RowInfo>,
    /// The releases that it may be, where the version cannot be told.
    pub(super) candidates: Vec<&'static TorchRow>,
}

impl<'a> Brought<'a> {
    pub(super) fn unknown(package: &'a PackageSeen, why: Why) -> Self {
        let variant = match (&package.variant, &package.offered) {
            (Some(tag), Offered::Only(_) | Offered::Default) => Ok(Some(tag.clone())),
            _ => Err(why.clone()),
        };
        Self { package, version: Err(why), variant, newest: false, row: None, candidates: Vec::new() }
    }
}

/// What decides beside the packages.
#[derive(Clone, Copy)]
struct Day<'a> {
    arch: &'a str,
    as_of: Option<Date>,
    knowledge: Knowledge,
}

/// Goes through the commands.
pub(super) fn resolve<'a>(
    seen: &'a Observations,
    build: &BaseBuild,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Torch<'a> {
    let day = Day { arch, as_of, knowledge };
    let mut now = if build.torch.is_some() { Torch::Base } else { Torch::None };
    if seen.depth != Depth::Text {
        return seen.packages.iter().rfind(|package| is_torch(package, knowledge)).map_or(now, |package| {
            Torch::Brought(match package.manager {
                Manager::Conda => conda(package, seen, knowledge),
                Manager::Pip | Manager::Apt => as_said(package, day),
            })
        });
    }
    let mut open_base = build.torch.is_none() && !matches!(build.family, Family::Plain | Family::Cuda);
    let commands: BTreeSet<u32> =
        seen.packages.iter().map(|package| package.command).chain(seen.gone.iter().map(|gone| gone.command)).collect();
    for command in commands {
        let of_torch = |name: &str| knowledge.framework(name).is_some_and(|row| row.component == COMPONENT);
        if seen.gone.iter().any(|gone| gone.command == command && of_torch(&gone.name)) {
            now = Torch::None;
            open_base = false;
        }
        let here: Vec<&PackageSeen> = seen.packages.iter().filter(|package| package.command == command).collect();
        if let Some(brought) = step(&here, &now, open_base, seen, build, day) {
            now = Torch::Brought(brought);
            open_base = false;
        }
    }
    now
}

fn is_torch(package: &PackageSeen, knowledge: Knowledge) -> bool {
    knowledge.framework(&package.name).is_some_and(|row| row.component == COMPONENT)
}

/// What one command changes; `None` where it leaves things as they are.
fn step<'a>(
    here: &[&'a PackageSeen],
    now: &Torch<'_>,
    open_base: bool,
    seen: &'a Observations,
    build: &BaseBuild,
    day: Day<'_>,
) -> Option<Brought<'a>> {
    let asked = here.iter().rfind(|package| is_torch(package, day.knowledge)).copied();
    let pins: Vec<(&'a PackageSeen, Result<&'static str, Why>)> = here
        .iter()
        .filter(|package| package.manager == Manager::Pip && Some(package.fact) != asked.map(|asked| asked.fact))
        .filter_map(|package| Some((*package, pin(package, day.knowledge)?)))
        .collect();
    let package = asked.or_else(|| pins.first().map(|(package, _)| *package))?;
    if package.manager == Manager::Conda {
        return Some(conda(package, seen, day.knowledge));
    }
    let exact = matches!(package.version, PackageVersion::Exact(_)) && asked.is_some();
    let mut ranges: Vec<String> = Vec::new();
    let mut open: Option<Why> = None;
    match asked.map(|asked| &asked.version) {
        Some(PackageVersion::Exact(version)) => ranges.push(format!("=={version}")),
        Some(PackageVersion::Open(range)) => ranges.push(range.clone()),
        Some(PackageVersion::Unresolved(why)) => open = Some(why.clone()),
        None => {}
    }
    for (_, pin) in &pins {
        match pin {
            Ok(range) => ranges.push((*range).to_owned()),
            Err(why) if !exact => open = open.or_else(|| Some(why.clone())),
            Err(_) => {}
        }
    }
    for bound in seen.bounds.iter().filter(|bound| bound.command == package.command && is_torch(bound, day.knowledge)) {
        match &bound.version {
            PackageVersion::Exact(version) => ranges.push(format!("=={version}")),
            PackageVersion::Open(range) => ranges.push(range.clone()),
            PackageVersion::Unresolved(why) => open = open.or_else(|| Some(why.clone())),
        }
    }
    let replaced = asked.is_some_and(|asked| asked.upgrade);
    if open.is_none() && !replaced && held(now, build).is_some_and(|held| fits(&ranges, &held) == Some(true)) {
        return None;
    }
    let ways = package.conditional.clone();
    if let Some(why) = open.or(ways) {
        return Some(Brought::unknown(package, why));
    }
    if let (Torch::Brought(Brought { version: Err(why), .. }), false, false) = (now, replaced, exact) {
        return Some(Brought::unknown(package, why.clone()));
    }
    if open_base && !exact {
        let why = Why {
            reason: format!("the base image may bring {} already, and it was not read", package.name),
            supply: "pin the version, or scan the built image".to_owned(),
        };
        return Some(Brought::unknown(package, why));
    }
    Some(match &package.version {
        PackageVersion::Exact(_) if exact => as_said(package, day),
        _ => newest(package, &ranges, &python(seen, package, day.knowledge), day),
    })
}

/// The version that is there, as the installer's records say it.
fn held(now: &Torch<'_>, build: &BaseBuild) -> Option<String> {
    match now {
        Torch::None => None,
        Torch::Base => build.torch.map(|(version, _)| version.to_owned()),
        Torch::Brought(brought) => {
            let version = brought.version.as_ref().ok()?;
            Some(match &brought.variant {
                Ok(Some(variant)) => format!("{version}+{variant}"),
                _ => version.clone(),
            })
        }
    }
}

fn fits(ranges: &[String], version: &str) -> Option<bool> {
    let mut all = true;
    for range in ranges {
        all &= admits(range, version)?;
    }
    Some(all)
}

/// What a package asks of torch; `None` where it asks for none.
fn pin(package: &PackageSeen, knowledge: Knowledge) -> Option<Result<&'static str, Why>> {
    let rows = || knowledge.torch_pins().iter().filter(|row| row.distribution == package.name);
    let any = rows().find(|row| row.version == "*");
    rows().next()?;
    if let PackageVersion::Exact(version) = &package.version
        && let Some(row) = rows().find(|row| order(row.version, public(version)) == Some(Ordering::Equal))
    {
        return Some(Ok(row.torch));
    }
    Some(any.map(|row| row.torch).ok_or_else(|| Why {
        reason: format!("which release of torch {} brings is not in the tables", package.name),
        supply: "pin torch beside it".to_owned(),
    }))
}

/// A version that is written down, with the build that the index gives.
fn as_said<'a>(package: &'a PackageSeen, day: Day<'_>) -> Brought<'a> {
    let text = match &package.version {
        PackageVersion::Exact(text) => text,
        PackageVersion::Unresolved(why) => return Brought::unknown(package, why.clone()),
        PackageVersion::Open(range) => {
            let asked = if range.is_empty() { "no version" } else { range };
            let why = Why {
                reason: format!("{} is installed with {asked}: the build depends on the day", package.name),
                supply: format!("pin it, such as {}==<version>", package.name),
            };
            return any_of(package, range, why, day);
        }
    };
    if let Some(why) = &package.conditional {
        return Brought::unknown(package, why.clone());
    }
    let row = release(public(text), day.knowledge);
    let version = row.map_or_else(|| public(text).to_owned(), |row| row.version.to_owned());
    let local = text.split_once('+').map(|(_, local)| local.to_owned());
    let variant = match (local, &package.offered, &package.variant) {
        (Some(local), _, _) => Ok(Some(local)),
        (None, Offered::Beside(tags), _) => {
            Ok(row.map_or_else(|| package.variant.clone(), |row| tags.iter().find(|tag| has(row, tag, day)).cloned()))
        }
        (None, Offered::Unknown(why), _) => Err(why.clone()),
        (None, _, variant) => Ok(variant.clone()),
    };
    Brought {
        package,
        version: Ok(version),
        variant,
        newest: false,
        row: row.map(|row| &row.info),
        candidates: Vec::new(),
    }
}

/// A range that somebody wrote of an image that is there: any release of it.
fn any_of<'a>(package: &'a PackageSeen, range: &str, why: Why, day: Day<'_>) -> Brought<'a> {
    let (range, tag) = parts(range);
    let brought = Brought::unknown(package, why);
    if package.conditional.is_some() || matches!(package.offered, Offered::Unknown(_) | Offered::Beside(_)) {
        return brought;
    }
    let variant = Ok(tag.or_else(|| package.variant.clone()));
    Brought { variant, candidates: within(&range, day.as_of, day.knowledge), ..brought }
}

fn release(version: &str, knowledge: Knowledge) -> Option<&'static TorchRow> {
    let mut rows = knowledge.torch_releases().iter();
    rows.find(|row| order(row.version, version) == Some(Ordering::Equal))
}

/// Whether a release has a build.
fn has(row: &TorchRow, tag: &str, day: Day<'_>) -> bool {
    let cuda = tag.starts_with("cu");
    if !cuda {
        return true;
    }
    if day.arch == "amd64" {
        return row.variants.contains(&tag);
    }
    day.knowledge.torch_build(row.version, tag, day.arch).is_some()
}

/// The newest release that will do.
fn newest<'a>(package: &'a PackageSeen, ranges: &[String], python: &Result<String, Why>, day: Day<'_>) -> Brought<'a> {
    let unknown = |reason: String| {
        let supply = format!("pin it, such as {}==<version>+<build>", package.name);
        Brought::unknown(package, Why { reason, supply })
    };
    if let Offered::Unknown(why) = &package.offered {
        return Brought::unknown(package, why.clone());
    }
    if ranges.iter().any(|range| admits(range, "1").is_none()) {
        return unknown(format!("`{}` is no range of versions", ranges.join(",")));
    }
    let fitting = |row: &&TorchRow| fits(ranges, row.version) == Some(true);
    if day.as_of.is_some() && day.knowledge.torch_releases().iter().filter(fitting).any(|row| row.released.is_none()) {
        return unknown(format!("when the releases that {} allows came out is not in the tables", package.name));
    }
    let of_python = |python: &str| {
        let range = day.knowledge.torch_pythons().iter().find(|row| row.python == python)?;
        let served = |row: &&TorchRow| {
            order(row.version, range.first).is_some_and(Ordering::is_ge)
                && range.last.is_none_or(|last| order(row.version, last).is_some_and(Ordering::is_le))
        };
        let there = |row: &&TorchRow| match (day.as_of, row.released) {
            (Some(day), Some(released)) => released <= day,
            _ => true,
        };
        let rows = day.knowledge.torch_releases().iter().filter(fitting).filter(served).filter(there);
        rows.filter(|row| offered(row, package, day))
            .max_by(|a, b| order(a.version, b.version).unwrap_or(Ordering::Equal))
    };
    let chosen: Vec<&'static TorchRow> = if let Ok(python) = python {
        of_python(python).into_iter().collect()
    } else {
        let mut all: Vec<&'static TorchRow> =
            day.knowledge.torch_pythons().iter().filter_map(|row| of_python(row.python)).collect();
        all.dedup_by_key(|row| row.version);
        all
    };
    let row = match (chosen.as_slice(), python) {
        ([row], _) => *row,
        ([], _) => {
            return unknown(format!("no release of torch in the tables of {} fits", day.knowledge.newest_date()));
        }
        (rows, Err(why)) => {
            let variant = match &package.offered {
                Offered::Only(tag) => Ok(Some(tag.clone())),
                Offered::Default => Ok(None),
                Offered::Beside(_) | Offered::Unknown(_) => Err(why.clone()),
            };
            return Brought { variant, candidates: rows.to_vec(), ..Brought::unknown(package, why.clone()) };
        }
        (_, Ok(_)) => return unknown("several releases fit".to_owned()),
    };
    let variant = match &package.offered {
        Offered::Only(tag) => Some(tag.clone()),
        Offered::Beside(tags) => tags.iter().find(|tag| has(row, tag, day)).cloned(),
        Offered::Default | Offered::Unknown(_) => None,
    };
    let newest = day.knowledge.torch_releases().iter().filter(fitting).count() > 1;
    Brought {
        package,
        version: Ok(row.version.to_owned()),
        variant: Ok(variant),
        newest,
        row: Some(&row.info),
        candidates: Vec::new(),
    }
}

/// Whether the indexes that a command names have a release for the platform.
fn offered(row: &TorchRow, package: &PackageSeen, day: Day<'_>) -> bool {
    let default = row.default_variant.iter().any(|value| value.arch == day.arch);
    match &package.offered {
        Offered::Only(tag) => has(row, tag, day),
        Offered::Beside(tags) => default || tags.iter().any(|tag| has(row, tag, day)),
        Offered::Default | Offered::Unknown(_) => default,
    }
}
