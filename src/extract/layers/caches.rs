//! Packages that an interpreter imports by links into the cache of a tool, which itself counts as nobody's.

use std::collections::BTreeSet;

use crate::extract::layers::Audit;
use crate::extract::layers::packages::concerns;
use crate::extract::layers::place::Owner;
use crate::extract::layers::place::owner;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Value;
use crate::installed::is_kept;
use crate::knowledge::Knowledge;
use crate::layer::EntryKind;

impl Audit<'_> {
    /// Says that such packages are there, in a version that is not told: what their files hold is not known.
    pub(super) fn cached(&mut self) {
        let tree = self.tree;
        let mut names: BTreeSet<String> = BTreeSet::new();
        for placed in tree.entries().filter(|placed| matches!(placed.kind, EntryKind::Link(_))) {
            let Owner::Component { name, site: Some(_) } = owner(placed.path, Knowledge::built_in()) else { continue };
            let target = tree.resolve(placed.path).filter(|target| is_kept(target));
            let Some(target) = target.filter(|_| concerns(&name) && !names.contains(&name)) else { continue };
            (self.seen.complete.packages, self.seen.complete.code) = (false, false);
            self.note(placed.path, &format!("it is a link into the cache of a tool, {target}"));
            let fact = self.fact(FactKey::Package, &name, Value::Text(String::new()), placed);
            let version = PackageVersion::Open(String::new());
            self.seen.packages.push(PackageSeen::new(Manager::Pip, name.clone(), version, fact));
            names.insert(name);
        }
    }
}
