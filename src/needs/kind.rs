//! Kinds of GPU: what the start-up cannot tell apart is one kind.

use std::collections::BTreeMap;

use crate::cuda::ComputeCapability;
use crate::fleet::likeness;
use crate::knowledge::GpuClass;
use crate::knowledge::How;
use crate::knowledge::Knowledge;

/// GPUs of one capability, class, brand and driver support.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// Class.
    pub(super) class: GpuClass,
    /// Capability.
    pub(super) capability: ComputeCapability,
    /// Their names, as drivers print them.
    pub(super) names: Vec<&'static str>,
}

/// Every kind in the tables, oldest capability first. GPUs known from memory alone stand for nothing.
pub(super) fn kinds(knowledge: Knowledge) -> Vec<Kind> {
    let mut found: BTreeMap<_, Kind> = BTreeMap::new();
    for row in knowledge.gpus().iter().filter(|row| row.info.how != How::Memory) {
        let kind = || Kind { class: row.class, capability: row.capability, names: Vec::new() };
        found.entry(likeness(row)).or_insert_with(kind).names.push(row.name);
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_gpu_that_is_not_from_memory_is_of_one_kind() {
        let kinds = kinds(Knowledge::built_in());
        let named: Vec<&str> = kinds.iter().flat_map(|kind| kind.names.iter().copied()).collect();
        let distinct: BTreeSet<&str> = named.iter().copied().collect();
        let expected = Knowledge::built_in().gpus().iter().filter(|row| row.info.how != How::Memory).count();
        assert_eq!((named.len(), distinct.len()), (expected, expected));
        assert!(kinds.len() < named.len() / 2, "{} kinds of {} GPUs", kinds.len(), named.len());
    }
}
