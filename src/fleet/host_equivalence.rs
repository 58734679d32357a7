//! Equivalence of hosts: which hosts of a pool give the same result in a part of the container start.
//!
//! A pool that leaves much open is many hosts: every GPU in every mode of every toolkit. What happens up to the libcuda
//! that a program gets hangs on little of the GPU, and what happens behind it on nothing but the GPU and the driver, so
//! that each of these parts is gone through once for all hosts of one number.

use std::collections::BTreeMap;

use crate::cuda::DriverVersion;
use crate::fleet::host::{Host, HostGpu};
use crate::knowledge::GpuClass;

/// Numbers of a host among the hosts of its pool; hosts with the same number behave the same in that part of the
/// start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostEquivalence {
    /// Equal for hosts that differ only in the compute capability and the name of the GPU.
    pub before_libcuda: u32,
    /// Equal for hosts with the same GPU and the same driver.
    pub after_libcuda: u32,
}

/// The quantity of numbers reserved for one host: its CDI mode, and the values of its open fields.
const NUMBERS_PER_HOST: u32 = 16;

impl HostEquivalence {
    /// Returns the numbers of the same host in CDI mode.
    pub(super) const fn for_cdi_mode(self) -> Self {
        Self { before_libcuda: self.before_libcuda + NUMBERS_PER_HOST / 2, ..self }
    }

    /// Returns the numbers of the same host with the `value`th variant; `None` where none is free.
    pub(super) fn for_variant(self, value: usize) -> Option<Self> {
        let value = u32::try_from(value + 1).ok().filter(|value| *value < NUMBERS_PER_HOST / 2)?;
        self.before_libcuda
            .is_multiple_of(NUMBERS_PER_HOST / 2)
            .then_some(Self { before_libcuda: self.before_libcuda + value, ..self })
    }
}

/// The origin of a host: its driver, and the indexes of its launch and of its launch configuration.
pub(super) type HostOrigin = (Option<DriverVersion>, usize, usize);

/// The properties of a GPU that matter before libcuda is loaded.
type GpuEquivalenceKey = (Option<GpuClass>, Option<bool>, Option<String>, Option<u32>, bool);

/// Assigns the equivalence numbers to the hosts of one pool.
#[derive(Debug, Default)]
pub(super) struct EquivalenceNumbering {
    before: BTreeMap<(HostOrigin, String, Option<GpuEquivalenceKey>), u32>,
    behind: BTreeMap<(usize, Option<DriverVersion>), u32>,
}

impl EquivalenceNumbering {
    /// Assigns numbers to a host; `gpu` is the index of its GPU in the pool.
    pub(super) fn assign(&mut self, host: &mut Host, gpu: usize, from: HostOrigin) {
        let kind = |gpu: &HostGpu| (gpu.class, gpu.forward_compat, gpu.brand.clone(), gpu.count, gpu.named);
        let key = (from, host.platform.clone(), host.gpu.as_ref().map(kind));
        let of_one = |all: usize| u32::try_from(all).ok().and_then(|all| all.checked_mul(NUMBERS_PER_HOST));
        let (Some(next), Ok(last)) = (of_one(self.before.len()), u32::try_from(self.behind.len())) else { return };
        let before = *self.before.entry(key).or_insert(next);
        let behind = *self.behind.entry((gpu, from.0)).or_insert(last);
        let alike = HostEquivalence { before_libcuda: before, after_libcuda: behind };
        host.alike = Some(alike);
        if let Some(in_cdi) = &mut host.in_cdi {
            in_cdi.alike = Some(alike.for_cdi_mode());
        }
    }
}
