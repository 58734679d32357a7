//! What a change wants to be true of an image or of a pool.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::cuda::library_path;
use crate::fact::BaseSeen;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fleet::Mode;
use crate::install::public;
use crate::reference::ImageReference;

/// A package whose version goes with that of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// Normalised name.
    pub package: String,
    /// Its version now; none where nothing pins it.
    pub from: Option<String>,
    /// Its version then.
    pub to: String,
}

/// A change of one pool.
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

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Another base image.
    Base {
        /// As it is now, variables put in.
        from: String,
        /// As it is then.
        to: String,
    },
    /// Another build or release of a package.
    Build {
        /// Normalised name.
        package: String,
        /// Its version now, without local part; none where nothing pins it.
        from: Option<String>,
        /// Its version then, without local part.
        to: String,
        /// Its build now, where the commands say it.
        old_build: Option<String>,
        /// Its build then; none for that of the default index.
        build: Option<String>,
        /// Where builds like that lie.
        page: Option<String>,
        /// What changes with it.
        companions: Vec<Companion>,
    },
    /// A package that nothing pins, with what is built with it, from the index of one build.
    Index {
        /// Normalised name.
        package: String,
        /// The build whose index the commands name now, and no other; none for the default one.
        from: Option<String>,
        /// The build whose index they name then.
        build: String,
        /// Where that lies.
        page: String,
    },
    /// Another extra of a package, which brings another build of what it runs on.
    Extra {
        /// Normalised name.
        package: String,
        /// The extra now; empty where there is none.
        from: String,
        /// The extra then.
        to: String,
        /// What comes along now; empty where nothing does.
        without: String,
        /// What comes along then.
        brings: String,
    },
    /// Another name of a package, which is another build of it.
    Name {
        /// Normalised name now.
        from: String,
        /// Its name then.
        to: String,
    },
    /// A package with what it depends on, which is left out now.
    Whole {
        /// Normalised name.
        package: String,
    },
    /// Another version of a package of conda, which chooses the build of others.
    Conda {
        /// Its name.
        package: String,
        /// Its version now.
        from: String,
        /// Its version then.
        to: String,
    },
    /// Variables of the image, by name and value.
    Env(Vec<(String, String)>),
    /// Pieces of a list with colons go.
    EnvWithout {
        /// Name.
        name: String,
        /// What the pieces hold.
        holds: Vec<&'static str>,
    },
    /// More GPUs to compile for.
    ArchList {
        /// The variable with the list.
        variable: String,
        /// `8.9`.
        add: Vec<String>,
    },
    /// A package that is not installed.
    DropPackage(String),
    /// Files that are not there.
    DropFiles(Vec<String>),
    /// No compat library.
    DropCompat,
    /// A compat package, `cuda-compat-12-4`.
    AddCompat(String),
    /// An image for these platforms as well.
    Platforms(Vec<String>),
    /// Several changes of the image together.
    All(Vec<Wish>),
    /// Changes of pools, by their names.
    Pools(Vec<(String, PoolChange)>),
}

impl Wish {
    /// Whether it leaves out the compat library.
    pub(super) fn drops_compat(&self) -> bool {
        match self {
            Self::All(list) => list.contains(&Self::DropCompat),
            one => *one == Self::DropCompat,
        }
    }

    /// Whether it was granted, as far as that can be seen.
    pub(super) fn holds(&self, seen: &Observations) -> bool {
        match self {
            Self::Base { to, .. } => {
                matches!(&seen.base, BaseSeen::Image(image, _) if ImageReference::parse(to).is_ok_and(|to| to == *image))
            }
            Self::Build { package, to, build, companions, .. } => {
                package_of(seen, package).is_some_and(|one| is_build(one, to, build.as_deref()))
                    && companions.iter().all(|one| {
                        package_of(seen, &one.package).is_some_and(
                            |other| matches!(&other.version, PackageVersion::Exact(text) if public(text) == one.to),
                        )
                    })
            }
            Self::Index { package, build, .. } => {
                package_of(seen, package).is_some_and(|one| matches!(&one.offered, Offered::Only(tag) if tag == build))
            }
            Self::Extra { without, brings, .. } => {
                package_of(seen, brings).is_some() && package_of(seen, without).is_none()
            }
            Self::Name { from, to } => package_of(seen, to).is_some() && package_of(seen, from).is_none(),
            Self::Whole { package } => package_of(seen, package).is_some_and(|one| !one.alone),
            Self::Conda { package, to, .. } => {
                let is = |one: &PackageSeen| matches!(&one.version, PackageVersion::Exact(text) if text == to);
                let mut named = seen.packages.iter().filter(|one| of_conda(one, package)).peekable();
                named.peek().is_some() && named.all(is)
            }
            Self::Env(list) => list
                .iter()
                .all(|(name, value)| seen.env.get(name).is_some_and(|(now, _)| is_value(now.as_deref(), value))),
            Self::DropPackage(name) => {
                !seen.packages.iter().any(|one| one.manager == Manager::Apt && one.name == *name)
            }
            Self::All(list) => list.iter().all(|one| one.holds(seen)),
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

/// Whether a variable is as it is wished for, as far as that was seen. A list with colons may have empty pieces more, and
/// pieces that come to its front may stay where they were; where it names what nothing sets, the verdicts tell.
fn is_value<E>(now: Result<&str, E>, wished: &str) -> bool {
    let list = wished.contains(':');
    let holds = |now: &str| {
        let (pieces, wished): (Vec<&str>, Vec<&str>) = (library_path(now).collect(), library_path(wished).collect());
        pieces.starts_with(&wished) && pieces.iter().all(|piece| wished.contains(piece))
    };
    now.map_or(list, |now| now == wished || (list && holds(now)))
}

/// Whether a package is the one of conda with a name.
pub(super) fn of_conda(package: &PackageSeen, name: &str) -> bool {
    package.manager == Manager::Conda && package.name == name
}

/// The last word on a Python distribution.
pub(super) fn package_of<'a>(seen: &'a Observations, name: &str) -> Option<&'a PackageSeen> {
    seen.packages.iter().rfind(|one| one.manager == Manager::Pip && one.name == name)
}

fn is_build(package: &PackageSeen, version: &str, build: Option<&str>) -> bool {
    let PackageVersion::Exact(text) = &package.version else { return false };
    let local = text.split_once('+').map(|(_, local)| local);
    public(text) == version && local.or(package.variant.as_deref()) == build
}
