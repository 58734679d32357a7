//! What installs bring along: packages with GPU code that nobody named.

use std::cmp::Ordering;

use crate::fact::Observations;
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

/// The packages with GPU code that the installs of one command bring along, save those that it names or that are
/// there already.
pub(super) fn along(command: &Installs, seen: &Observations, knowledge: Knowledge) -> Vec<Install> {
    let named = &command.packages;
    let mut found = Vec::new();
    for install in named.iter().filter(|install| install.manager == Manager::Pip) {
        let extras: Vec<String> = install.extras.iter().map(|extra| normalised(extra)).collect();
        let meant = meant(install, &command.constraints, knowledge);
        for row in knowledge.brought_by(&install.name, &extras).filter(|row| brings(row, &meant, knowledge)) {
            let version = match &install.version {
                VersionSpec::Exact(text) if row.same => VersionSpec::Exact(public(text).to_owned()),
                VersionSpec::Range(range) if row.same => VersionSpec::Range(range.clone()),
                VersionSpec::Unresolved if row.same => VersionSpec::Unresolved,
                _ => VersionSpec::None,
            };
            let exact = matches!(version, VersionSpec::Exact(_));
            let there = !exact && seen.packages.iter().any(|package| package.name == row.brings);
            if there || named.iter().any(|other| other.name == row.brings) {
                continue;
            }
            let (name, extras) = (row.brings.to_owned(), Vec::new());
            found.push(Install { name, version, extras, upgrade: false, variant: None, ..install.clone() });
        }
    }
    found
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

/// The version that an install means: of a range, the newest of the tables in it.
fn meant(install: &Install, constraints: &[Install], knowledge: Knowledge) -> Meant {
    let bounds = constraints.iter().filter(|bound| bound.name == install.name).map(|bound| &bound.version);
    let mut ranges: Vec<String> = Vec::new();
    for version in std::iter::once(&install.version).chain(bounds) {
        match version {
            VersionSpec::Exact(text) => return Meant::One(public(text).to_owned()),
            VersionSpec::Range(range) => ranges.push(range.clone()),
            VersionSpec::None => {}
            VersionSpec::Unresolved => return Meant::Unknown,
        }
    }
    if ranges.is_empty() {
        return Meant::Newest;
    }
    let range = ranges.join(",");
    let within = knowledge.releases_of(&install.name).filter(|version| admits(&range, version) == Some(true));
    let newest = within.max_by(|one, other| order(one, other).unwrap_or(Ordering::Equal));
    newest.map_or(Meant::Unknown, |version| Meant::One(version.to_owned()))
}

/// Whether a version brings what a row says. Of one that cannot be told, only what all versions bring that have the
/// extra.
fn brings(row: &BroughtRow, meant: &Meant, knowledge: Knowledge) -> bool {
    match meant {
        Meant::One(version) => between(version, row.from, row.before),
        Meant::Newest => row.before.is_none(),
        Meant::Unknown => {
            let mut others = knowledge.brought_packages().iter();
            !others.any(|other| {
                (other.distribution, other.extra) == (row.distribution, row.extra) && other.before.is_some()
            })
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
    use crate::install::installs_with;
    use crate::shell::script_commands;

    /// Names of what a command brings along that say a CUDA release.
    fn brought(command: &str) -> Vec<String> {
        let commands = script_commands(&Mapped::whole(command, 0));
        let lookup = |_: &str| Lookup::Unset;
        let open = |_: &str, _: &str| Err("it is not there".to_owned());
        let environment = Environment { machine: "x86_64", python: None };
        let around = Around { lookup: &lookup, open: &open, environment };
        let command = commands.first().expect("a command");
        let found = along(&installs_with(command, around), &Observations::default(), Knowledge::built_in());
        let mut names: Vec<String> = found
            .into_iter()
            .filter(|one| one.name.starts_with("jax-") || one.name.starts_with("nvidia-cuda-runtime"))
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
            ("jax[cuda]==0.4.20", &["jax-cuda11-plugin"]),
            ("jax[cuda]==0.4.30", &["jax-cuda12-plugin==0.4.30"]),
            ("jax[cuda]<0.4.26", &["jax-cuda11-plugin"]),
            ("jax[cuda]", &["jax-cuda12-plugin"]),
            ("jax[cuda12]~=0.4.30", &["jax-cuda12-plugin~=0.4.30"]),
            ("jax[cuda12]==0.9.0.1", &["jax-cuda12-plugin==0.9.0.1"]),
            // Neither had the extra: pip says so and goes on.
            ("jax[cuda12]==0.4.20", &[]),
            ("jax[cuda11_pip]==0.4.30", &[]),
            ("jax[cuda11_pip]==0.4.20", &["jax-cuda11-plugin"]),
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
