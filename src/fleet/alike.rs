//! Alike: which hosts of one pool a part of the start-up cannot tell apart.
//!
//! A pool that leaves much open is many hosts: every GPU in every mode of every toolkit. What happens up to the libcuda
//! that a program gets hangs on little of the GPU, and what happens behind it on nothing but the GPU and the driver, so
//! that each of these parts is gone through once for all hosts of one number.

use std::collections::BTreeMap;

use crate::cuda::DriverVersion;
use crate::fleet::host::Host;
use crate::fleet::host::HostGpu;
use crate::knowledge::GpuClass;

/// Numbers of a host among all hosts of its pool, and among these alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alike {
    /// Of hosts that differ in nothing but the compute capability and the name of the GPU.
    pub before: u32,
    /// Of hosts with the same GPU and the same driver.
    pub behind: u32,
}

/// Room for what is made of one host: its other mode, and each value of what it leaves open.
const OF_ONE: u32 = 16;

impl Alike {
    /// Those of the same host in its other mode.
    pub(super) const fn in_cdi(self) -> Self {
        Self { before: self.before + OF_ONE / 2, ..self }
    }

    /// Those of the same host with a value, by its place, of what decides up to the libcuda alone: none where the host has
    /// such a value already, or there are too many.
    pub(super) fn with(self, value: usize) -> Option<Self> {
        let value = u32::try_from(value + 1).ok().filter(|value| *value < OF_ONE / 2)?;
        self.before.is_multiple_of(OF_ONE / 2).then_some(Self { before: self.before + value, ..self })
    }
}

/// Where a host comes from: its driver, and the places of its launch and of its toolkit and mode among those of the pool.
pub(super) type From = (Option<DriverVersion>, usize, usize);

/// What is looked at of the GPU up to the libcuda: its class, whether forward compatibility is for it, its brand, how many
/// there are, whether it has a name.
type Kind = (Option<GpuClass>, Option<bool>, Option<String>, Option<u32>, bool);

/// The numbers that were given to the hosts of one pool.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    before: BTreeMap<(From, String, Option<Kind>), u32>,
    behind: BTreeMap<(usize, Option<DriverVersion>), u32>,
}

impl Numbers {
    /// Gives a host its numbers; `gpu` is the place of its GPU among those of the pool.
    pub(super) fn give(&mut self, host: &mut Host, gpu: usize, from: From) {
        let kind = |gpu: &HostGpu| (gpu.class, gpu.forward_compat, gpu.brand.clone(), gpu.count, gpu.named);
        let key = (from, host.platform.clone(), host.gpu.as_ref().map(kind));
        let of_one = |all: usize| u32::try_from(all).ok().and_then(|all| all.checked_mul(OF_ONE));
        let (Some(next), Ok(last)) = (of_one(self.before.len()), u32::try_from(self.behind.len())) else { return };
        let before = *self.before.entry(key).or_insert(next);
        let behind = *self.behind.entry((gpu, from.0)).or_insert(last);
        let alike = Alike { before, behind };
        host.alike = Some(alike);
        if let Some(in_cdi) = &mut host.in_cdi {
            in_cdi.alike = Some(alike.in_cdi());
        }
    }
}
