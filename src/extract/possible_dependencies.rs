//! Packages with GPU code that a package may install as dependencies. Which of them it does install depends on its
//! release, which is known only after versions are resolved.

use std::collections::BTreeSet;

use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{Evidence, FactKey, Facts, PrintedValue, ValueState};
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion, Requirement};

/// Returns the possible dependencies of a package, except those that its command names.
pub(super) fn possible_dependencies(
    package: &ObservedPackage,
    named: &BTreeSet<PackageName>,
    facts: &mut Facts,
    knowledge: Knowledge,
) -> Vec<ObservedPackage> {
    let Requirement { manager, name, extras, no_deps, .. } = &package.requirement;
    if *manager != PackageManager::Pip || *no_deps {
        return Vec::new();
    }
    let rows = knowledge.dependencies_with_extras(name, extras);
    let distributions: BTreeSet<PackageName> = rows.map(|row| PackageName::python(row.package)).collect();
    let dependency = |name: &PackageName| {
        let state = ValueState::Known(PrintedValue::Text(name.to_string()));
        let fact = facts.add(FactKey::Dependency, Some(name), state, Evidence::Leaf(facts.origins(package.fact)));
        let requirement = Requirement {
            name: name.clone(),
            extras: Vec::new(),
            version: PackageVersion::any(),
            ..package.requirement.clone()
        };
        let conditional = package.conditional.as_ref().map(|why| match why {
            Cause::InstalledByBranch { .. } => Cause::InstalledByBranch { name: name.to_string() },
            why => why.clone(),
        });
        let dependent = Some(Box::new(package.requirement.clone()));
        ObservedPackage { requirement, variant: None, conditional, dependent, fact, ..package.clone() }
    };
    distributions.difference(named).map(dependency).collect()
}
