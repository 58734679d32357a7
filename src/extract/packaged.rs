//! A package that a command installs, as an observation.

use crate::dockerfile::BaseKind;
use crate::extract::install::Reader;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::Origin;
use crate::fact::PackageGone;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::install;
use crate::install::Builds;
use crate::install::Install;
use crate::install::Installs;
use crate::install::VersionSpec;
use crate::install::normalised;
use crate::knowledge::Knowledge;

/// The package of one install, read at `origins` in the command of that number.
pub(super) fn packaged(
    facts: &mut Facts,
    install: &Install,
    origins: Vec<Origin>,
    command: u32,
    knowledge: Knowledge,
) -> PackageSeen {
    let version = match &install.version {
        VersionSpec::Exact(text) => PackageVersion::Exact(text.clone()),
        VersionSpec::Range(text) => PackageVersion::Open(text.clone()),
        VersionSpec::None => PackageVersion::Open(String::new()),
        VersionSpec::Unresolved => PackageVersion::Unresolved(unresolved(install)),
    };
    let asked = match &version {
        PackageVersion::Exact(text) => format!("{}=={text}", install.name),
        PackageVersion::Open(range) => format!("{}{range}", install.name),
        PackageVersion::Unresolved(_) => install.name.clone(),
    };
    let state = State::Known(Value::Text(asked));
    let fact = facts.add(FactKey::Package, Some(&install.name), state, Evidence::Leaf(origins));
    let offered = match &install.builds {
        Builds::Default => Offered::Default,
        Builds::Only(tag) => Offered::Only(tag.clone()),
        Builds::Beside(tags) => Offered::Beside(tags.clone()),
        Builds::Elsewhere(address) => Offered::Unknown(Why {
            reason: format!("{address} is outside of the index, and it was not read"),
            supply: "pin the build and its index, such as +cu128 with --index-url https://download.pytorch.org/whl/cu128, or scan the built image".to_owned(),
        }),
        Builds::Unknown(reason) => Offered::Unknown(Why {
            reason: reason.clone(),
            supply: "set the build in the version and its index, such as +cu128 with --index-url \
                https://download.pytorch.org/whl/cu128"
                .to_owned(),
        }),
    };
    let conditional = install.conditional.then(|| Why {
        reason: format!("{} is installed by only some branches of the commands", install.name),
        supply: "describe or scan the built image".to_owned(),
    });
    let early = install.early.clone().map(|reason| Why {
        reason: format!("{reason}: the resulting version of {} is not in the compatibility database", install.name),
        supply: "scan the built image, or set the version and the GPU code in an image description".to_owned(),
    });
    let extras: Vec<String> = install.extras.iter().map(|extra| normalised(extra)).collect();
    let bare = install.manager == install::Manager::Pip && knowledge.lacks_extra(&install.name, &extras);
    let of_processor = |extra: &&String| knowledge.other_processor_of_word(extra).is_some();
    let of_extra = extras.iter().find(of_processor).filter(|_| knowledge.processor_package(&install.name).is_some());
    PackageSeen {
        early,
        manager: manager_of(install.manager),
        name: install.name.clone(),
        version,
        variant: install.variant.as_ref().map(|variant| &variant.tag).or(of_extra).cloned(),
        offered,
        upgrade: install.upgrade,
        alone: install.alone || bare,
        channel: install.channel.clone(),
        python: install.python.clone(),
        conditional,
        apart: false,
        command,
        fact,
    }
}

/// Why the version of a package cannot be told.
fn unresolved(install: &Install) -> Why {
    match &install.untold {
        Some(reason) => Why {
            reason: format!("the version of {} is unknown: {reason}", install.name),
            supply: format!("scan the built image, or set the version of {} in an image description", install.name),
        },
        None => Why {
            reason: format!("the version of {} contains a variable without a value", install.name),
            supply: "set it with --build-arg NAME=VALUE".to_owned(),
        },
    }
}

/// Takes away what the command at hand removes.
pub(super) fn take_away(seen: &mut Observations, found: &Installs) {
    for (manager, name, _) in &found.removed {
        let manager = manager_of(*manager);
        seen.packages.retain(|package| package.manager != manager || package.name != *name);
        seen.gone.push(PackageGone { manager, name: name.clone(), command: seen.commands });
    }
}

/// The manager as an observation has it.
fn manager_of(manager: install::Manager) -> Manager {
    match manager {
        install::Manager::Pip => Manager::Pip,
        install::Manager::Conda => Manager::Conda,
        install::Manager::Apt => Manager::Apt,
    }
}

impl Reader<'_> {
    /// The release of torch that lies in the image so far, without its local part, where that is told.
    pub(super) fn torch(&self) -> Option<String> {
        let knowledge = self.knowledge;
        let mut own = self.seen.packages.iter().rev().filter(|package| knowledge.is_built_framework(&package.name));
        let version = match (own.next(), &self.tree.evaluated.base.kind) {
            (Some(package), _) => match &package.version {
                PackageVersion::Exact(version) if package.conditional.is_none() => version,
                _ => return None,
            },
            (None, BaseKind::Image(image)) => knowledge.torch_inside(&image.familiar(), image.tag()?)?,
            (None, _) => return None,
        };
        Some(version.split('+').next().unwrap_or(version).to_owned())
    }
}
