//! Applies a change to the observations, where no file contains what is changed.

use crate::cuda::{COMPAT_ROOT, is_in_compat_tree, split_path};
use crate::fix::proposed_change::{is_compat_package, is_conda_package};
use crate::fix::{PackageEdit, ProposedChange};
use crate::knowledge::Knowledge;
use crate::model::fact::{
    Evidence, FactKey, InspectionDepth, Observations, ObservedBase, Origin, PrintedValue, REMOVED_BY_COMMAND,
    ValueState,
};
use crate::model::package::{
    ExactVersion, IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion,
};
use crate::model::reference::ImageReference;

/// The origin of facts that a simulated change introduces.
const SIMULATED_ORIGIN: Origin = Origin::Option("a change that is tried");

/// Returns the observations after a change; `None` if they cannot be determined.
#[expect(clippy::too_many_lines, reason = "one case after the other")]
pub(super) fn apply_to_observations(
    change: &ProposedChange,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<Observations> {
    // Of an image that was built, its configuration and layers stay what they are.
    let built = matches!(seen.depth, InspectionDepth::Config | InspectionDepth::Layers);
    let mut new = seen.clone();
    let facts = &mut new.facts;
    let mut fact = |key: FactKey, of: Option<&str>, value: &str| {
        facts.add(
            key,
            of,
            ValueState::Known(PrintedValue::Text(value.to_owned())),
            Evidence::Leaf(vec![SIMULATED_ORIGIN]),
        )
    };
    match change {
        ProposedChange::Base { to, .. } if !built => {
            new.base = ObservedBase::Image(ImageReference::parse(to).ok()?, fact(FactKey::Base, None, to));
        }
        ProposedChange::Build { package: PackageEdit { name: package, to, build, .. }, companions, .. }
            if !built || seen.depth == InspectionDepth::Config =>
        {
            let unnamed =
                build.as_ref().filter(|build| is_build_missing_from_version(knowledge, package, to.as_str(), build));
            let version = match build {
                Some(local) if unnamed.is_none() => ExactVersion::from(format!("{to}+{local}")),
                _ => to.clone(),
            };
            let changed = companions.iter().map(|one| (&one.name, &one.to)).chain([(package, &version)]);
            for (name, version) in changed {
                let id = fact(FactKey::Package, Some(name), &format!("{name}=={version}"));
                let own = |one: &ObservedPackage| {
                    one.requirement.manager == PackageManager::Pip && one.requirement.name == *name
                };
                if !new.packages.iter().any(own) {
                    let open = PackageVersion::any();
                    new.packages.push(ObservedPackage::new(PackageManager::Pip, name.clone(), open, id));
                }
                let one = new.packages.iter_mut().rfind(|one| own(one))?;
                one.requirement.version = PackageVersion::Exact(version.clone());
                (one.variant, one.requirement.indexes, one.fact) = (None, IndexSelection::Default, id);
                if let Some(build) = unnamed.filter(|_| name == package) {
                    (one.variant, one.requirement.indexes) = (Some(build.clone()), IndexSelection::Only(build.clone()));
                }
            }
            // What is said of the code is said of the build that was.
            new.code.retain(|code| code.component.as_deref() != Some(package.as_str()));
            if seen.cuda_runtime.is_some() && (version.local().is_some() || unnamed.is_some()) {
                new.cuda_runtime = None;
            }
        }
        ProposedChange::Name { from, to } if !built => {
            for one in new
                .packages
                .iter_mut()
                .filter(|one| one.requirement.manager == PackageManager::Pip && one.requirement.name == *from)
            {
                one.requirement.name = to.clone();
                one.fact = fact(FactKey::Package, Some(to), to);
            }
        }
        ProposedChange::Whole { package } if !built => {
            let own = |one: &&mut ObservedPackage| {
                one.requirement.manager == PackageManager::Pip && one.requirement.name == *package
            };
            new.packages.iter_mut().filter(own).for_each(|one| one.requirement.no_deps = false);
        }
        ProposedChange::Conda { package, to, .. } if !built => {
            let id = fact(FactKey::Package, Some(package), &format!("{package}={to}"));
            for one in new.packages.iter_mut().filter(|one| is_conda_package(one, package)) {
                (one.requirement.version, one.fact) = (PackageVersion::exact(to.as_str()), id);
            }
        }
        ProposedChange::Env(list) => {
            for (name, value) in list {
                let id = fact(FactKey::Env, Some(name), value);
                new.env.insert(name.clone(), (Ok(value.clone()), id));
            }
        }
        ProposedChange::EnvWithout { name, holds } => {
            let (Ok(value), _) = seen.env.get(name)? else { return None };
            let left: Vec<&str> =
                value.split(':').filter(|piece| !holds.iter().any(|substring| piece.contains(substring))).collect();
            let value = left.join(":");
            let id = fact(FactKey::Env, Some(name), &value);
            new.env.insert(name.clone(), (Ok(value), id));
        }
        ProposedChange::DropPackage(name) => {
            new.packages
                .retain(|one| one.requirement.manager != PackageManager::System || one.requirement.name != *name);
        }
        ProposedChange::DropFiles(paths) => new.files.retain(|path, _| !paths.contains(path)),
        ProposedChange::DropCompat => {
            let absent = ValueState::Absent { searched: REMOVED_BY_COMMAND };
            let id = new.facts.add(FactKey::File, Some(COMPAT_ROOT), absent, Evidence::Leaf(vec![SIMULATED_ORIGIN]));
            new.base_changes.removed.push((COMPAT_ROOT.to_owned(), id));
            new.files.retain(|path, _| !is_in_compat_tree(split_path(path).0));
            new.packages.retain(|one| {
                one.requirement.manager != PackageManager::System
                    || !is_compat_package(knowledge, &one.requirement.name)
            });
        }
        ProposedChange::AddCompat(name) => {
            let id = fact(FactKey::Package, Some(name), name);
            new.packages.push(ObservedPackage::new(
                PackageManager::System,
                PackageName::system(name),
                PackageVersion::any(),
                id,
            ));
        }
        ProposedChange::Platforms(more) if !built => {
            let list: Vec<String> =
                seen.platforms.iter().flat_map(|(list, _)| list).chain(more).map(String::clone).collect();
            let there = ValueState::Known(PrintedValue::from(&list));
            let id = new.facts.add(FactKey::Platforms, None, there, Evidence::Leaf(vec![SIMULATED_ORIGIN]));
            new.platforms = Some((list, id));
        }
        ProposedChange::All(list) => {
            return list.iter().try_fold(new, |seen, one| apply_to_observations(one, &seen, knowledge));
        }
        ProposedChange::Base { .. }
        | ProposedChange::Build { .. }
        | ProposedChange::Index { .. }
        | ProposedChange::Extra { .. }
        | ProposedChange::Name { .. }
        | ProposedChange::Whole { .. }
        | ProposedChange::Conda { .. }
        | ProposedChange::ArchList { .. }
        | ProposedChange::Platforms(_)
        | ProposedChange::Pools(_) => return None,
    }
    Some(new)
}

/// Whether some wheel of a build does not name the build in its version, so that only the index identifies it.
fn is_build_missing_from_version(knowledge: Knowledge, package: &str, version: &str, build: &str) -> bool {
    let mut rows = knowledge.torch_builds().iter().filter(|_| knowledge.has_variants(package));
    rows.any(|row| row.unnamed && (row.version.as_str(), row.variant) == (version, build))
}
