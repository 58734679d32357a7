//! Packages that an interpreter imports through links into the cache of a tool, which itself is ignored.

use std::collections::BTreeSet;

use crate::extract::layers::file_owner::{FileOwner, owner_of_file};
use crate::extract::layers::layer_scan::LayerScan;
use crate::extract::layers::packages::is_gpu_relevant;
use crate::knowledge::Knowledge;
use crate::layer::EntryKind;
use crate::layer::installed::is_cache_or_build_path;
use crate::model::fact::{FactKey, PrintedValue};
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion};

impl LayerScan<'_> {
    /// Records packages that are links into the cache of a tool, with unknown version and content.
    pub(super) fn record_cached_packages(&mut self) {
        let tree = self.tree;
        let mut names: BTreeSet<String> = BTreeSet::new();
        for placed in tree.entries().filter(|placed| matches!(placed.kind, EntryKind::Link(_))) {
            let FileOwner::Component { name, site: Some(_) } = owner_of_file(placed.path, Knowledge::built_in()) else {
                continue;
            };
            let target = tree.resolve(placed.path).filter(|target| is_cache_or_build_path(target));
            let Some(target) = target.filter(|_| is_gpu_relevant(&name) && !names.contains(&name)) else { continue };
            (self.seen.complete.packages, self.seen.complete.code) = (false, false);
            self.note_not_inspected(placed.path, &format!("it is a link into the cache of a tool, {target}"));
            let fact = self.add_fact(FactKey::Package, &name, PrintedValue::Text(String::new()), placed);
            let version = PackageVersion::any();
            self.seen.packages.push(ObservedPackage::new(
                PackageManager::Pip,
                PackageName::python(&name),
                version,
                fact,
            ));
            names.insert(name);
        }
    }
}
