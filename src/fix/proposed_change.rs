//! Proposed changes of an image or of node pools, and how to see whether they took effect.

use crate::cuda::{CudaVersion, DriverVersion, library_path_directories};
use crate::fleet::Mode;
use crate::knowledge::Knowledge;
use crate::model::fact::{Observations, ObservedBase};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion,
};
use crate::model::reference::ImageReference;
use crate::report::kinds::{ChangeKind, FixSafety};

/// The suffix of a GPU in a list that adds PTX, as torch writes it. Without a GPU it adds PTX for the newest one.
pub(super) const PTX_SUFFIX: &str = "+PTX";

/// Another version of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageEdit {
    /// The name of the package.
    pub name: PackageName,
    /// Its present version, without local part; `None` if nothing pins it.
    pub from: Option<ExactVersion>,
    /// Its new version, without local part.
    pub to: ExactVersion,
    /// Its new build; `None` for that of the default index.
    pub build: Option<String>,
}

/// A change of one node pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolChange {
    /// Another driver.
    Driver(DriverVersion),
    /// Another container toolkit.
    Toolkit(CudaVersion),
    /// Another mode of the container toolkit.
    Mode(Mode),
    /// A variable that containers are started with.
    Env(&'static str, &'static str),
}

/// A package with the version and build that a change selects.
#[derive(Clone, Copy)]
pub(super) struct TargetPackage<'a> {
    /// The name.
    pub(super) name: &'a str,
    /// The version.
    pub(super) version: &'a ExactVersion,
    /// The build; `None` for that of the default index.
    pub(super) build: Option<&'a str>,
}

impl<'a> From<&'a PackageEdit> for TargetPackage<'a> {
    fn from(edit: &'a PackageEdit) -> Self {
        Self { name: &edit.name, version: &edit.to, build: edit.build.as_deref() }
    }
}

/// A proposed change of an image or of node pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposedChange {
    /// Another base image.
    Base {
        /// As it is now, variables put in.
        from: String,
        /// As it is then.
        to: String,
    },
    /// Another build or release of a package.
    Build {
        /// The package with its new version and build.
        package: PackageEdit,
        /// Its present build, if the commands name it.
        old_build: Option<String>,
        /// URL of the index with builds of that kind.
        page: Option<String>,
        /// The packages that have to change with it.
        companions: Vec<PackageEdit>,
    },
    /// A package that nothing pins, with what is built with it, from the index of one build.
    Index {
        /// The name of the package.
        package: PackageName,
        /// The build whose index the commands name now, and no other; none for the default one.
        from: Option<String>,
        /// The build whose index they name then.
        build: String,
        /// The address of that index.
        page: String,
    },
    /// Another extra of a package, which selects another build of its dependencies.
    Extra {
        /// The name of the package.
        package: PackageName,
        /// The present extra, if there is one.
        from: Option<PackageName>,
        /// The new extra.
        to: PackageName,
        /// The dependency that the present extra installs.
        without: Option<PackageName>,
        /// The dependency that the new extra installs.
        installs: PackageName,
    },
    /// Another name of a package, which is another build of it.
    Name {
        /// Its present name.
        from: PackageName,
        /// Its new name.
        to: PackageName,
    },
    /// A package together with its dependencies, which `--no-deps` omits now.
    Whole {
        /// The name of the package.
        package: PackageName,
    },
    /// Another version of a package of conda, which chooses the build of others.
    Conda {
        /// The name of the package.
        package: PackageName,
        /// Its version now.
        from: String,
        /// Its version then.
        to: String,
    },
    /// Variables of the image, by name and value.
    Env(Vec<(String, String)>),
    /// A variable with a colon-separated list, without some of its pieces.
    EnvWithout {
        /// Name.
        name: String,
        /// Texts that the removed pieces contain.
        holds: Vec<&'static str>,
    },
    /// More GPU architectures to compile for.
    ArchList {
        /// The variable with the list.
        variable: String,
        /// `8.9`.
        add: Vec<String>,
    },
    /// Removal of a system package.
    DropPackage(String),
    /// Removal of files.
    DropFiles(Vec<String>),
    /// Removal of the compat library.
    DropCompat,
    /// A compat package, `cuda-compat-12-4`.
    AddCompat(String),
    /// An image for these platforms as well.
    Platforms(Vec<String>),
    /// Several changes of the image together.
    All(Vec<ProposedChange>),
    /// Changes of pools, by their names.
    Pools(Vec<(String, PoolChange)>),
}

impl ProposedChange {
    /// Whether the change removes the compat library.
    pub(super) fn drops_compat(&self) -> bool {
        match self {
            Self::All(list) => list.contains(&Self::DropCompat),
            one => *one == Self::DropCompat,
        }
    }

    /// Whether the observations show the intended effect, as far as it is visible.
    pub(super) fn is_fulfilled_by(&self, seen: &Observations) -> bool {
        match self {
            Self::Base { to, .. } => {
                matches!(&seen.base, ObservedBase::Image(image, _) if ImageReference::parse(to).is_ok_and(|to| to == *image))
            }
            Self::Build { package, companions, .. } => {
                let has_version = |one: &PackageEdit| {
                    last_pip_package(seen, &one.name).filter(|package| {
                        matches!(&package.requirement.version, PackageVersion::Exact(text) if text.public() == one.to.as_str())
                    })
                };
                let has_build = |own: &ObservedPackage| {
                    own.requirement.version.local().or(own.variant.as_deref()) == package.build.as_deref()
                };
                has_version(package).is_some_and(has_build) && companions.iter().all(|one| has_version(one).is_some())
            }
            Self::Index { package, build, .. } => last_pip_package(seen, package)
                .is_some_and(|one| matches!(&one.requirement.indexes, IndexSelection::Only(tag) if tag == build)),
            Self::Extra { without, installs, .. } => {
                last_pip_package(seen, installs).is_some()
                    && without.as_ref().is_none_or(|name| last_pip_package(seen, name).is_none())
            }
            Self::Name { from, to } => last_pip_package(seen, to).is_some() && last_pip_package(seen, from).is_none(),
            Self::Whole { package } => last_pip_package(seen, package).is_some_and(|one| !one.requirement.no_deps),
            Self::Conda { package, to, .. } => {
                let is = |one: &ObservedPackage| matches!(&one.requirement.version, PackageVersion::Exact(text) if text.as_str() == to);
                let mut named = seen.packages.iter().filter(|one| is_conda_package(one, package)).peekable();
                named.peek().is_some() && named.all(is)
            }
            Self::Env(list) => list
                .iter()
                .all(|(name, value)| seen.env.get(name).is_some_and(|(now, _)| matches_value(now.as_deref(), value))),
            Self::DropPackage(name) => !seen
                .packages
                .iter()
                .any(|one| one.requirement.manager == PackageManager::System && one.requirement.name == *name),
            Self::All(list) => list.iter().all(|one| one.is_fulfilled_by(seen)),
            // What is written for these cannot be seen by itself; the verdicts say whether it is enough.
            Self::EnvWithout { .. }
            | Self::ArchList { .. }
            | Self::DropFiles(_)
            | Self::DropCompat
            | Self::AddCompat(_)
            | Self::Platforms(_)
            | Self::Pools(_) => true,
        }
    }
}

/// A proposed change whose effect was not evaluated yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixCandidate {
    /// What is changed.
    pub kind: ChangeKind,
    /// How far it is from what is there, within its kind.
    pub step: usize,
    /// One line.
    pub title: String,
    /// What else it may change.
    pub safety: FixSafety,
    /// The change.
    pub change: ProposedChange,
}

/// Whether a variable has the intended value; a colon-separated list may contain additional or repeated pieces.
fn matches_value<E>(now: Result<&str, E>, wished: &str) -> bool {
    let list = wished.contains(':');
    let holds = |now: &str| {
        let (pieces, wished): (Vec<&str>, Vec<&str>) =
            (library_path_directories(now).collect(), library_path_directories(wished).collect());
        pieces.starts_with(&wished) && pieces.iter().all(|piece| wished.contains(piece))
    };
    now.map_or(list, |now| now == wished || (list && holds(now)))
}

/// Whether a package is the conda package of this name.
pub(super) fn is_conda_package(package: &ObservedPackage, name: &str) -> bool {
    package.requirement.manager == PackageManager::Conda && package.requirement.name == name
}

/// Returns the last observed pip package of this name.
pub(super) fn last_pip_package<'a>(seen: &'a Observations, name: &str) -> Option<&'a ObservedPackage> {
    seen.packages.iter().rfind(|one| one.requirement.manager == PackageManager::Pip && one.requirement.name == name)
}

/// Whether a package is a compat package, judged by its name without the release.
pub(super) fn is_compat_package(knowledge: Knowledge, name: &str) -> bool {
    let kind = |own: &'static str| own.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    let mut kinds = knowledge.cuda_images().iter().filter_map(|row| row.compat_package).map(kind);
    kinds.any(|kind| name.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compat_packages_are_recognised_without_their_release() {
        let knowledge = Knowledge::built_in();
        for (name, expected) in [
            ("cuda-compat", true),
            ("cuda-compat-12-4", true),
            ("cuda-compat-99-0", true),
            ("cuda-compatible", false),
            ("cuda-cudart-12-4", false),
            ("nvidia-cuda-compat-12-4", false),
            ("", false),
        ] {
            assert_eq!(is_compat_package(knowledge, name), expected, "{name}");
        }
    }
}
