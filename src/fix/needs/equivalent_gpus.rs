//! Groups of GPUs that the container start-up cannot distinguish.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::cuda::ComputeCapability;
use crate::fleet::gpu_equivalence_key;
use crate::knowledge::{GpuClass, How, Knowledge};

/// GPUs of one compute capability, class, brand and driver support.
#[derive(Clone, Debug)]
pub(super) struct EquivalentGpus {
    /// Class of the GPUs.
    pub(super) class: GpuClass,
    /// Compute capability.
    pub(super) capability: ComputeCapability,
    /// Their names, as drivers print them.
    pub(super) names: Vec<&'static str>,
    /// Newest driver branch that drives them, where support has ended.
    last_branch: Option<u32>,
}

impl EquivalentGpus {
    /// Whether a driver branch that NVIDIA supports on a date drives these GPUs.
    pub(super) fn has_supported_driver(&self, day: Date, knowledge: Knowledge) -> bool {
        let Some(last) = self.last_branch.filter(|_| self.class != GpuClass::Jetson) else { return true };
        let rows = knowledge.driver_branches();
        let ended = |end: Option<Date>| end.is_some_and(|end| end < day);
        let newest_ended = rows.iter().filter(|row| ended(row.end_of_support)).map(|row| row.branch).max();
        // The end of a branch is unknown: it is supported if it is newer than all that have ended.
        let supported = |end: Option<Date>, branch| end.map_or(Some(branch) > newest_ended, |end| day <= end);
        rows.iter().any(|row| row.branch <= last && supported(row.end_of_support, row.branch))
    }
}

/// Groups the GPUs of the tables, oldest compute capability first; rows without a source are skipped.
pub(super) fn group_equivalent_gpus(knowledge: Knowledge) -> Vec<EquivalentGpus> {
    let mut found: BTreeMap<_, EquivalentGpus> = BTreeMap::new();
    for row in knowledge.gpus().iter().filter(|row| row.info.how != How::Memory) {
        let dropped = || knowledge.architecture(row.capability).and_then(|row| row.last_branch);
        let last_branch = row.last_branch.or_else(dropped);
        let kind = || EquivalentGpus { class: row.class, capability: row.capability, names: Vec::new(), last_branch };
        found.entry(gpu_equivalence_key(row)).or_insert_with(kind).names.push(row.name);
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_gpu_that_is_not_from_memory_is_of_one_kind() {
        let kinds = group_equivalent_gpus(Knowledge::built_in());
        let named: Vec<&str> = kinds.iter().flat_map(|kind| kind.names.iter().copied()).collect();
        let distinct: BTreeSet<&str> = named.iter().copied().collect();
        let expected = Knowledge::built_in().gpus().iter().filter(|row| row.info.how != How::Memory).count();
        assert_eq!((named.len(), distinct.len()), (expected, expected));
        assert!(kinds.len() < named.len() / 2, "{} kinds of {} GPUs", kinds.len(), named.len());
    }

    /// Kepler ends with branch 470, which NVIDIA supported until July 2024; Pascal ends with 580.
    #[test]
    fn a_gpu_whose_last_branch_has_ended_is_not_driven() {
        let knowledge = Knowledge::built_in();
        let of = |gpu: &str, day: &str| {
            let kind =
                group_equivalent_gpus(knowledge).into_iter().find(|kind| kind.names.contains(&gpu)).expect("a kind");
            kind.has_supported_driver(day.parse().expect("a date"), knowledge)
        };
        for (gpu, day, expected) in [
            ("Tesla K80", "2024-07-31", true),
            ("Tesla K80", "2024-08-01", false),
            ("Tesla P100-PCIE-16GB", "2026-11-23", true),
            ("Tesla P100-PCIE-16GB", "2028-07-01", false),
            ("NVIDIA A100-SXM4-80GB", "2030-01-01", true),
            ("Jetson Nano", "2030-01-01", true),
        ] {
            assert_eq!(of(gpu, day), expected, "{gpu} {day}");
        }
    }
}
