//! What the commands of the shipped stage install.

use crate::dockerfile::Evaluated;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::install;
use crate::install::Install;
use crate::install::VersionSpec;
use crate::shell;
use crate::source::SourceId;

/// Reads every RUN in order: packages come and go in `seen`; what could not be read becomes a note.
pub(super) fn installs(evaluated: &Evaluated, source: SourceId, seen: &mut Observations, notes: &mut Vec<String>) {
    for run in &evaluated.runs {
        for command in shell::commands(run) {
            let found = install::installs(&command, run);
            for install in &found.packages {
                package(install, source, seen);
            }
            for (manager, name, _) in &found.removed {
                let manager = manager_of(*manager);
                seen.packages.retain(|package| package.manager != manager || package.name != *name);
            }
            for file in &found.files {
                let path = file.path.known().unwrap_or("a requirements file").to_owned();
                notes.push(format!("{path} was not read"));
            }
        }
    }
    notes.dedup();
}

fn package(install: &Install, source: SourceId, seen: &mut Observations) {
    let variant = install.variant.as_ref();
    let mut origins = vec![Origin::File { source, span: install.span }];
    if let Some(variant) = variant.filter(|variant| variant.span != install.span) {
        origins.push(Origin::File { source, span: variant.span });
    }
    let version = match &install.version {
        VersionSpec::Exact(text) => PackageVersion::Exact(text.clone()),
        VersionSpec::Range(text) => PackageVersion::Open(text.clone()),
        VersionSpec::None => PackageVersion::Open(String::new()),
        VersionSpec::Unresolved => PackageVersion::Unresolved(Why {
            reason: format!("the version of {} stands behind a variable without value", install.name),
            supply: "give it by --build-arg NAME=VALUE".to_owned(),
        }),
    };
    let asked = match &version {
        PackageVersion::Exact(text) => format!("{}=={text}", install.name),
        PackageVersion::Open(range) => format!("{}{range}", install.name),
        PackageVersion::Unresolved(_) => install.name.clone(),
    };
    let state = State::Known(Value::Text(asked));
    let fact = seen.facts.add(FactKey::Package, Some(&install.name), state, Evidence::Leaf(origins));
    seen.packages.push(PackageSeen {
        manager: manager_of(install.manager),
        name: install.name.clone(),
        version,
        variant: variant.map(|variant| variant.tag.clone()),
        fact,
    });
}

fn manager_of(manager: install::Manager) -> Manager {
    match manager {
        install::Manager::Pip => Manager::Pip,
        install::Manager::Conda => Manager::Conda,
        install::Manager::Apt => Manager::Apt,
    }
}
