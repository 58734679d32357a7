//! Sets of changes in the behaviour of the NVIDIA Container Toolkit.

use crate::knowledge::rows::ToolkitChange;

/// A set of toolkit changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolkitChanges(u32);

impl ToolkitChanges {
    /// Returns the set of the changes for which `has_come` is true.
    pub fn matching(has_come: impl Fn(ToolkitChange) -> bool) -> Self {
        let come = ToolkitChange::ALL.iter().copied().filter(|change| has_come(*change));
        Self(come.fold(0, |set, change| set | 1 << change as u32))
    }

    /// Whether the set contains a change.
    pub const fn contains(self, change: ToolkitChange) -> bool {
        self.0 & 1 << change as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        for change in ToolkitChange::ALL.iter().copied() {
            let set = ToolkitChanges::matching(|one| one == change);
            for other in ToolkitChange::ALL.iter().copied() {
                assert_eq!(set.contains(other), other == change, "{change:?} {other:?}");
            }
            assert!(!ToolkitChanges::default().contains(change));
        }
    }
}
