//! Packages that an interpreter imports by links into the cache of a tool, which itself counts as nobody's.

use crate::extract::layers::Audit;
use crate::extract::layers::packages::concerns;
use crate::extract::layers::place::Owner;
use crate::extract::layers::place::owner;
use crate::installed::is_kept;
use crate::knowledge::Knowledge;
use crate::layer::EntryKind;
use crate::layer::Placed;

impl Audit<'_> {
    /// Says that such packages were not told apart: what their files hold is not known.
    pub(super) fn cached(&mut self) {
        let tree = self.tree;
        let of_package = |placed: &Placed<'_>| {
            let link = matches!(placed.kind, EntryKind::Link(_));
            link && match owner(placed.path, Knowledge::built_in()) {
                Owner::Component { name, site: Some(_) } => concerns(&name),
                _ => false,
            }
        };
        let behind = |placed: Placed<'_>| {
            let target = tree.resolve(placed.path).filter(|target| is_kept(target))?;
            Some((placed.path.to_owned(), target))
        };
        let Some((path, target)) = tree.entries().filter(of_package).find_map(behind) else { return };
        (self.seen.complete.packages, self.seen.complete.code) = (false, false);
        self.note(&path, &format!("it is a link into the cache of a tool, {target}"));
    }
}
