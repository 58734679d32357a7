//! A wish granted in what was seen, where no text holds it.

use crate::cuda::COMPAT_ROOT;
use crate::cuda::in_compat_directory;
use crate::cuda::split_path;
use crate::cure::Wish;
use crate::cure::compat::is_compat;
use crate::cure::wish::of_conda;
use crate::fact::BaseSeen;
use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::Origin;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::REMOVED;
use crate::fact::State;
use crate::fact::Value;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;

/// Where what was only supposed comes from.
const SUPPOSED: Origin = Origin::Option("a change that is tried");

/// What would be seen; none where it cannot be told.
pub(super) fn pretend(wish: &Wish, seen: &Observations, knowledge: Knowledge) -> Option<Observations> {
    // Of an image that was built, its configuration and layers stay what they are.
    let built = matches!(seen.depth, Depth::Config | Depth::Layers);
    let mut new = seen.clone();
    let facts = &mut new.facts;
    let mut fact = |key: FactKey, of: Option<&str>, value: &str| {
        facts.add(key, of, State::Known(Value::Text(value.to_owned())), Evidence::Leaf(vec![SUPPOSED]))
    };
    match wish {
        Wish::Base { to, .. } if !built => {
            new.base = BaseSeen::Image(ImageReference::parse(to).ok()?, fact(FactKey::Base, None, to));
        }
        Wish::Build { package, to, build, companions, .. } if !built || seen.depth == Depth::Config => {
            let unnamed = build.as_ref().filter(|build| is_unnamed(knowledge, package, to, build));
            let version = match build {
                Some(local) if unnamed.is_none() => format!("{to}+{local}"),
                _ => to.clone(),
            };
            let changed = companions.iter().map(|one| (&one.package, &one.to)).chain([(package, &version)]);
            for (name, version) in changed {
                let id = fact(FactKey::Package, Some(name), &format!("{name}=={version}"));
                let own = |one: &PackageSeen| one.manager == Manager::Pip && one.name == *name;
                if !new.packages.iter().any(own) {
                    let open = PackageVersion::Open(String::new());
                    new.packages.push(PackageSeen::new(Manager::Pip, name.clone(), open, id));
                }
                let one = new.packages.iter_mut().rfind(|one| own(one))?;
                one.version = PackageVersion::Exact(version.clone());
                (one.variant, one.offered, one.fact) = (None, Offered::Default, id);
                if let Some(build) = unnamed.filter(|_| name == package) {
                    (one.variant, one.offered) = (Some(build.clone()), Offered::Only(build.clone()));
                }
            }
            // What is said of the code is said of the build that was.
            new.code.retain(|code| code.component.as_deref() != Some(package.as_str()));
            if seen.cuda_runtime.is_some() && (public(&version) != version || unnamed.is_some()) {
                new.cuda_runtime = None;
            }
        }
        Wish::Name { from, to } if !built => {
            for one in new.packages.iter_mut().filter(|one| one.manager == Manager::Pip && one.name == *from) {
                one.name.clone_from(to);
                one.fact = fact(FactKey::Package, Some(to), to);
            }
        }
        Wish::Whole { package } if !built => {
            let own = |one: &&mut PackageSeen| one.manager == Manager::Pip && one.name == *package;
            new.packages.iter_mut().filter(own).for_each(|one| one.alone = false);
        }
        Wish::Conda { package, to, .. } if !built => {
            let id = fact(FactKey::Package, Some(package), &format!("{package}={to}"));
            for one in new.packages.iter_mut().filter(|one| of_conda(one, package)) {
                (one.version, one.fact) = (PackageVersion::Exact(to.clone()), id);
            }
        }
        Wish::Env(list) => {
            for (name, value) in list {
                let id = fact(FactKey::Env, Some(name), value);
                new.env.insert(name.clone(), (Ok(value.clone()), id));
            }
        }
        Wish::EnvWithout { name, holds } => {
            let (Ok(value), _) = seen.env.get(name)? else { return None };
            let left: Vec<&str> =
                value.split(':').filter(|piece| !holds.iter().any(|held| piece.contains(held))).collect();
            let value = left.join(":");
            let id = fact(FactKey::Env, Some(name), &value);
            new.env.insert(name.clone(), (Ok(value), id));
        }
        Wish::DropPackage(name) => new.packages.retain(|one| one.manager != Manager::Apt || one.name != *name),
        Wish::DropFiles(paths) => new.files.retain(|path, _| !paths.contains(path)),
        Wish::DropCompat => {
            let gone = State::Absent { searched: REMOVED };
            let id = new.facts.add(FactKey::File, Some(COMPAT_ROOT), gone, Evidence::Leaf(vec![SUPPOSED]));
            new.of_base.removed.push((COMPAT_ROOT.to_owned(), id));
            new.files.retain(|path, _| !in_compat_directory(split_path(path).0));
            new.packages.retain(|one| one.manager != Manager::Apt || !is_compat(knowledge, &one.name));
        }
        Wish::AddCompat(name) => {
            let id = fact(FactKey::Package, Some(name), name);
            new.packages.push(PackageSeen::new(Manager::Apt, name.clone(), PackageVersion::Open(String::new()), id));
        }
        Wish::Platforms(more) if !built => {
            let list: Vec<String> =
                seen.platforms.iter().flat_map(|(list, _)| list).chain(more).map(String::clone).collect();
            let there = State::Known(Value::from(&list));
            let id = new.facts.add(FactKey::Platforms, None, there, Evidence::Leaf(vec![SUPPOSED]));
            new.platforms = Some((list, id));
        }
        Wish::All(list) => return list.iter().try_fold(new, |seen, one| pretend(one, &seen, knowledge)),
        Wish::Base { .. }
        | Wish::Build { .. }
        | Wish::Index { .. }
        | Wish::Extra { .. }
        | Wish::Name { .. }
        | Wish::Whole { .. }
        | Wish::Conda { .. }
        | Wish::ArchList { .. }
        | Wish::Platforms(_)
        | Wish::Pools(_) => return None,
    }
    Some(new)
}

/// Whether the version of some wheel of a build does not name it: it is told by its index then.
fn is_unnamed(knowledge: Knowledge, package: &str, version: &str, build: &str) -> bool {
    let mut rows = knowledge.torch_builds().iter().filter(|_| knowledge.is_built_framework(package));
    rows.any(|row| row.unnamed && (row.version, row.variant) == (version, build))
}
