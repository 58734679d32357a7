//! What installs bring along: packages with GPU code that nobody named.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fact;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Why;
use crate::install::Builds;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::VersionSpec;
use crate::install::admits;
use crate::install::between;
use crate::install::normalised;
use crate::install::order;
use crate::install::public;
use crate::knowledge::BroughtRow;
use crate::knowledge::Knowledge;
use crate::source::Span;

/// The packages with GPU code that the installs of one command bring along, save those that it names or that are
/// there already.
pub(super) fn along(command: &Installs, seen: &Observations, knowledge: Knowledge) -> Vec<Install> {
    let named = &command.packages;
    if named.is_empty() {
        return Vec::new();
    }
    let own_names: BTreeSet<&str> = named.iter().map(|install| install.name.as_str()).collect();
    let certain = seen.packages.iter().filter(|package| package.conditional.is_none());
    let there_already: BTreeSet<&str> = certain.map(|package| package.name.as_str()).collect();
    let bounds = bounds(&command.constraints, knowledge);
    let mut found = Vec::new();
    for install in named.iter().filter(|install| install.manager == Manager::Pip && !install.alone) {
        let extras: Vec<String> = install.extras.iter().map(|extra| normalised(extra)).collect();
        let meant = meant(install, bounds.get(install.name.as_str()), knowledge);
        for row in knowledge.brought_by(&install.name, &extras).filter(|row| brings(row, &meant, knowledge)) {
            let version = match &install.version {
                _ if row.local.is_some() => of_build(row, &meant),
                _ if let Some(range) = row.range.filter(|_| meant != Meant::Unknown) => {
                    VersionSpec::Range(range.to_owned())
                }
                VersionSpec::Exact(text) if row.same => VersionSpec::Exact(public(text).to_owned()),
                VersionSpec::Range(range) if row.same => VersionSpec::Range(range.clone()),
                VersionSpec::Unresolved if row.same => VersionSpec::Unresolved,
                // On an earlier day there may have been none that brings it.
                VersionSpec::None
                    if row.same
                        && let Some(from) = row.from =>
                {
                    VersionSpec::Range(format!(">={from}"))
                }
                _ => VersionSpec::None,
            };
            let exact = matches!(version, VersionSpec::Exact(_));
            let there = !exact && there_already.contains(row.brings);
            // What goes with one torch is brought all the same where it may not be there.
            let there = there && !(knowledge.is_built_with_torch(row.brings) && perhaps(row.brings, seen));
            if there || own_names.contains(row.brings) {
                continue;
            }
            let (name, extras) = (row.brings.to_owned(), row.with.map(str::to_owned).into_iter().collect());
            found.push(Install { name, version, extras, upgrade: false, variant: None, ..install.clone() });
        }
        if meant == Meant::Unknown {
            found.extend(one_of(install, &extras, knowledge).filter(|one| !own_names.contains(one.name.as_str())));
        }
    }
    found
}

/// Whether nothing installs a package for certain.
fn perhaps(name: &str, seen: &Observations) -> bool {
    seen.packages.iter().filter(|package| package.name == name).all(|package| package.conditional.is_some())
}

/// The version of a build that goes with the one that is meant.
fn of_build(row: &BroughtRow, meant: &Meant) -> VersionSpec {
    match (meant, row.local) {
        (Meant::One(version), Some(local)) => VersionSpec::Exact(format!("{version}+{local}")),
        _ => VersionSpec::Unresolved,
    }
}

/// What an extra brings in every version, though not the same in each: of a version that cannot be told it is one of
/// them. What asks is nothing for a GPU by itself.
fn one_of(install: &Install, extras: &[String], knowledge: Knowledge) -> Option<Install> {
    let rows = || knowledge.brought_by(&install.name, extras).filter(|row| row.same || row.local.is_some());
    let changes = rows().any(|row| row.before.is_some());
    let is_code = |row: &&BroughtRow| changes && knowledge.framework(row.brings).is_some();
    let row = rows().find(is_code).filter(|_| knowledge.framework(&install.name).is_none())?;
    let (name, extras) = (row.brings.to_owned(), Vec::new());
    let version = VersionSpec::Unresolved;
    Some(Install { name, version, extras, upgrade: false, variant: None, conditional: true, ..install.clone() })
}

/// What a package that somebody describes brings along with these extras, save what is described itself.
pub(super) fn with_extras(
    package: &PackageSeen,
    extras: &[String],
    described: &BTreeSet<String>,
    seen: &Observations,
    knowledge: Knowledge,
) -> Vec<PackageSeen> {
    let version = match &package.version {
        PackageVersion::Exact(version) => VersionSpec::Exact(version.clone()),
        PackageVersion::Open(range) if range.is_empty() => VersionSpec::None,
        PackageVersion::Open(range) => VersionSpec::Range(range.clone()),
        PackageVersion::Unresolved(_) => VersionSpec::Unresolved,
    };
    let asking = Install {
        manager: Manager::Pip,
        name: package.name.clone(),
        extras: extras.to_vec(),
        version,
        untold: None,
        variant: None,
        builds: Builds::Default,
        early: None,
        upgrade: package.upgrade,
        alone: package.alone,
        build: None,
        python: package.python.clone(),
        span: Span::default(),
        source: None,
        conditional: package.conditional.is_some(),
        channel: None,
    };
    let command = Installs { packages: vec![asking], ..Installs::default() };
    let found = along(&command, seen, knowledge).into_iter().filter(|one| !described.contains(&one.name));
    let untold = |name: &str| Why {
        reason: format!("{name} is installed as a dependency, and its version is unknown"),
        supply: format!("pin the version of {}, or of {name} itself", package.name),
    };
    found
        .map(|one| {
            let version = match one.version {
                VersionSpec::Exact(version) => PackageVersion::Exact(version),
                VersionSpec::Range(range) => PackageVersion::Open(range),
                VersionSpec::None => PackageVersion::Open(String::new()),
                VersionSpec::Unresolved => PackageVersion::Unresolved(untold(&one.name)),
            };
            let conditional = package.conditional.clone().or_else(|| one.conditional.then(|| untold(&one.name)));
            let alone = package.alone || knowledge.lacks_extra(&one.name, &one.extras);
            let new = PackageSeen::new(fact::Manager::Pip, one.name, version, package.fact);
            PackageSeen { conditional, alone, offered: package.offered.clone(), upgrade: package.upgrade, ..new }
        })
        .map(|one| PackageSeen { python: package.python.clone(), command: package.command, ..one })
        .collect()
}

/// The version that an install means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meant {
    /// This one.
    One(String),
    /// The newest there is, perhaps newer than the tables.
    Newest,
    /// One that cannot be told.
    Unknown,
}

/// What all bounds of one package say together.
struct Bounds {
    /// What the first of those says that is no range.
    decided: Option<Meant>,
    /// The releases of the tables that all ranges admit, where there are ranges.
    admitted: Option<Vec<&'static str>>,
}

/// The bounds of a command by the packages that they bound: each range is held once against the releases of the tables.
fn bounds(constraints: &[Install], knowledge: Knowledge) -> BTreeMap<&str, Bounds> {
    let mut ranges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut found: BTreeMap<&str, Bounds> = BTreeMap::new();
    for bound in constraints {
        let own = found.entry(&bound.name).or_insert(Bounds { decided: None, admitted: None });
        match &bound.version {
            VersionSpec::Exact(text) => drop(own.decided.get_or_insert_with(|| Meant::One(public(text).to_owned()))),
            VersionSpec::Unresolved => drop(own.decided.get_or_insert(Meant::Unknown)),
            VersionSpec::Range(range) => drop(ranges.entry(&bound.name).or_default().insert(range)),
            VersionSpec::None => {}
        }
    }
    for (name, ranges) in ranges {
        let mut admitted: Vec<&'static str> = knowledge.releases_of(name).collect();
        for range in ranges {
            admitted.retain(|version| admits(range, version) == Some(true));
        }
        if let Some(own) = found.get_mut(name) {
            own.admitted = Some(admitted);
        }
    }
    found
}

/// The version that an install means: of a range, the newest of the tables in it.
fn meant(install: &Install, bounds: Option<&Bounds>, knowledge: Knowledge) -> Meant {
    let range = match &install.version {
        VersionSpec::Exact(text) => return Meant::One(public(text).to_owned()),
        VersionSpec::Unresolved => return Meant::Unknown,
        VersionSpec::Range(range) => Some(range),
        VersionSpec::None => None,
    };
    if let Some(decided) = bounds.and_then(|bounds| bounds.decided.clone()) {
        return decided;
    }
    let admitted = bounds.and_then(|bounds| bounds.admitted.as_ref());
    let (None, None) = (range, admitted) else {
        let all: Vec<&str> = admitted.cloned().unwrap_or_else(|| knowledge.releases_of(&install.name).collect());
        let within = |version: &&str| range.is_none_or(|range| admits(range, version) == Some(true));
        let newest = all.into_iter().filter(within);
        let newest = newest.max_by(|one, other| order(one, other).unwrap_or(Ordering::Equal));
        return newest.map_or(Meant::Unknown, |version| Meant::One(version.to_owned()));
    };
    Meant::Newest
}

/// Whether a version brings what a row says. Of one that cannot be told, only what all versions bring that have the
/// extra.
fn brings(row: &BroughtRow, meant: &Meant, knowledge: Knowledge) -> bool {
    match meant {
        Meant::One(version) => between(version, row.from, row.before),
        Meant::Newest => row.before.is_none(),
        Meant::Unknown => {
            let of_extra = |other: &&BroughtRow| (other.distribution, other.extra) == (row.distribution, row.extra);
            let mut others = knowledge.brought_packages().iter().filter(of_extra);
            let alike = others.clone().all(|other| other.brings == row.brings && !other.same && other.local.is_none());
            row.before.is_none() && (alike || !others.any(|other| other.before.is_some()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Lookup;
    use crate::dockerfile::Mapped;
    use crate::install::Around;
    use crate::install::Environment;
    use crate::install::Machine;
    use crate::install::installs_with;
    use crate::shell::script_commands;

    /// Names of what a command brings along that say a CUDA release.
    fn brought(command: &str) -> Vec<String> {
        let commands = script_commands(&Mapped::whole(command, 0));
        let lookup = |_: &str| Lookup::Unset;
        let open = |_: &str, _: &str| Err("it is not there".to_owned());
        let environment = Environment { machine: Machine::new("x86_64"), python: None };
        let around = Around { lookup: &lookup, open: &open, environment, knowledge: Knowledge::built_in() };
        let command = commands.first().expect("a command");
        let found = along(&installs_with(command, around), &Observations::default(), Knowledge::built_in());
        let mut names: Vec<String> = found
            .into_iter()
            .filter(|one| one.name.starts_with("jax") || one.name.starts_with("nvidia-cuda-runtime"))
            .map(|one| match one.version {
                VersionSpec::Exact(version) => format!("{}=={version}", one.name),
                VersionSpec::Range(range) => format!("{}{range}", one.name),
                VersionSpec::None | VersionSpec::Unresolved => one.name,
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_version_decides_which_cuda_comes_along() {
        for (asked, expected) in [
            ("tensorflow[and-cuda]==2.14.0", &["nvidia-cuda-runtime-cu11"][..]),
            ("tensorflow[and-cuda]~=2.14.0", &["nvidia-cuda-runtime-cu11"]),
            ("tensorflow[and-cuda]==2.14.*", &["nvidia-cuda-runtime-cu11"]),
            ("tensorflow[and-cuda]<2.15", &["nvidia-cuda-runtime-cu11"]),
            // By PEP 440 this admits everything of 2 from 2.14 on.
            ("tensorflow[and-cuda]~=2.14", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]>=2.14", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]>2.14.1,<2.15.1", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]==2.15.0.post1", &["nvidia-cuda-runtime-cu12"]),
            ("tensorflow[and-cuda]", &["nvidia-cuda-runtime-cu12"]),
            // The extra came with 2.14; what a version behind a variable brings cannot be told.
            ("tensorflow[and-cuda]==2.13.1", &[]),
            ("tensorflow[and-cuda]<2.14", &[]),
            ("tensorflow[and-cuda]>=99", &[]),
            ("tensorflow~=2.14.0", &[]),
            ("jax[cuda]==0.4.20", &["jaxlib==0.4.20+cuda11.cudnn86"]),
            ("jax[cuda]==0.4.26", &["jaxlib==0.4.26+cuda12.cudnn89"]),
            ("jax[cuda]==0.4.29", &["jaxlib==0.4.29+cuda12.cudnn91"]),
            ("jax[cuda]==0.4.30", &["jax-cuda12-plugin==0.4.30"]),
            ("jax[cuda]<0.4.26", &["jaxlib==0.4.25+cuda11.cudnn86"]),
            ("jax[cuda12_pip]==0.4.25", &["jaxlib==0.4.25+cuda12.cudnn89"]),
            ("jax[cuda12_pip]==0.4.30", &["jax-cuda12-plugin==0.4.30"]),
            ("jax[cuda12_local]==0.4.14", &["jaxlib==0.4.14+cuda12.cudnn89"]),
            ("jax[cuda12_local]==0.8.0", &["jax-cuda12-plugin==0.8.0"]),
            // Older than every release that the tables have: which it is cannot be told.
            ("jax[cuda]<0.4.10", &["jax-cuda12-plugin"]),
            ("jax[cuda]==$NOBODY", &["jax-cuda12-plugin"]),
            ("jax[cuda]", &["jax-cuda12-plugin>=0.4.30"]),
            ("jax[cuda12]~=0.4.30", &["jax-cuda12-plugin~=0.4.30"]),
            ("jax[cuda12]==0.9.0.1", &["jax-cuda12-plugin==0.9.0.1"]),
            // Neither had the extra: pip says so and goes on.
            ("jax[cuda12]==0.4.20", &[]),
            ("jax[cuda11_pip]==0.4.30", &[]),
            ("jax[cuda11_pip]==0.4.20", &["jaxlib==0.4.20+cuda11.cudnn86"]),
            ("jax[cuda12_pip]==0.8.0", &[]),
            ("jax==0.4.20", &[]),
        ] {
            assert_eq!(brought(&format!("pip install '{asked}'")), expected, "{asked}");
        }
    }

    #[test]
    fn what_a_version_behind_a_variable_brings_is_told_where_all_bring_it() {
        let knowledge = Knowledge::built_in();
        let extras = |extra: &str| vec![extra.to_owned()];
        let told = |distribution: &str, extra: &str| {
            let extras = extras(extra);
            knowledge.brought_by(distribution, &extras).filter(|row| brings(row, &Meant::Unknown, knowledge)).count()
        };
        assert_eq!(told("tensorflow", "and-cuda"), 0);
        assert_eq!(told("jax", "cuda"), 0);
        assert_eq!(told("jax", "cuda12"), 1);
        assert_eq!(told("jax", "nothing"), 0);
    }
}
