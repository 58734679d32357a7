//! The drivers that the nodes of a pool may have.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fleet::possible_gpus::PoolGpu;
use crate::fleet::{DriverSpec, Pool};
use crate::knowledge::{GpuClass, Knowledge, RowInfo};

/// The branch and the CUDA version of a driver version.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DriverProperties {
    pub(super) branch: Option<u32>,
    pub(super) cuda: Option<CudaVersion>,
    /// The row that tells the CUDA.
    pub(super) row: Option<&'static RowInfo>,
}

impl DriverProperties {
    /// Returns the properties of a driver version; Jetson Linux and Windows drivers are numbered differently.
    pub(super) fn for_driver(
        driver: Option<DriverVersion>,
        class: Option<GpuClass>,
        wsl: bool,
        knowledge: Knowledge,
    ) -> Self {
        let Some(driver) = driver else { return Self::default() };
        let release = knowledge.jetson_release(driver).filter(|_| class == Some(GpuClass::Jetson));
        if let Some(release) = release {
            return Self { branch: Some(driver.branch()), cuda: Some(release.cuda), row: Some(&release.info) };
        }
        let windows = knowledge.windows_driver(driver).filter(|_| wsl);
        let branch = windows.map_or(driver.branch(), |row| row.branch);
        let told = match windows {
            Some(windows) => knowledge.driver_branch(branch).map(|row| (row.cuda, &windows.info)),
            None => knowledge.driver_cuda(driver),
        };
        Self { branch: Some(branch), cuda: told.map(|(cuda, _)| cuda), row: told.map(|(_, row)| row) }
    }
}

impl Pool {
    /// Returns the drivers to check for a GPU, and whether the declaration allows more than one.
    pub(super) fn possible_drivers(
        &self,
        gpu: PoolGpu<'_>,
        knowledge: Knowledge,
    ) -> (Vec<Option<DriverVersion>>, bool) {
        let mut drivers: Vec<Option<DriverVersion>> = Vec::new();
        let mut open = self.driver.len() > 1;
        for spec in &self.driver {
            let tried = match &spec.value {
                DriverSpec::Exact(version) => vec![*version],
                DriverSpec::Branch(branch) => boundary_releases(knowledge, |version| version.branch() == *branch)
                    .or_else(|| branch.to_string().parse().ok().map(|version| vec![version]))
                    .unwrap_or_default(),
                DriverSpec::Range { from, before } => {
                    let inside = |version: DriverVersion| {
                        from.is_none_or(|from| from <= version) && before.is_none_or(|before| version < before)
                    };
                    let mut tried = boundary_releases(knowledge, inside).unwrap_or_default();
                    tried.extend(from.iter().copied());
                    tried
                }
            };
            open |= tried.len() > 1;
            drivers.extend(tried.into_iter().map(Some));
        }
        drivers.sort();
        drivers.dedup();
        if drivers.is_empty() {
            drivers = self.drivers_for_gpu(gpu, knowledge);
            open = true;
        }
        if let Some(row) = gpu.row.filter(|_| gpu.is_assumed()) {
            drivers.retain(|driver| self.may_support_gpu(row, *driver, knowledge));
        }
        (drivers, open)
    }

    /// Returns the drivers to check where none is declared: the newest release of every branch that supports the GPU.
    /// The oldest release is added where the branch has the minimum driver of a CUDA version, or where `driver_cuda`
    /// is declared; without a known GPU the driver is unknown.
    fn drivers_for_gpu(&self, gpu: PoolGpu<'_>, knowledge: Knowledge) -> Vec<Option<DriverVersion>> {
        // A module's driver comes with its own release, and has none of these numbers.
        if gpu.row.is_some_and(|row| row.class == GpuClass::Jetson) {
            return vec![None];
        }
        let declared = self.driver_cuda.as_ref().map(|cuda| cuda.value.release());
        let overridden = self.compute_capability.as_ref().map(|capability| capability.value);
        let capability =
            gpu.spec.and_then(|gpu| gpu.compute_capability).or(overridden).or(gpu.row.map(|row| row.capability));
        let drives = |branch| capability.and_then(|capability| knowledge.branch_supports(branch, capability));
        let found: Vec<_> = knowledge
            .branches()
            .iter()
            .filter(|row| drives(row.branch).is_some_and(|(known, _)| known))
            .filter(|row| declared.is_none_or(|declared| declared == row.cuda.release()))
            .flat_map(|row| {
                let floor = knowledge.minor_compats().iter().any(|floor| floor.min_driver.branch() == row.branch);
                let oldest = row.releases.first().filter(|_| declared.is_some() || floor);
                [oldest, row.releases.last()]
            })
            .flatten()
            .copied()
            .map(Some)
            .collect();
        if found.is_empty() { vec![None] } else { found }
    }
}

/// Returns the first and the last known release of every branch that `inside` accepts; `None` where there is none.
fn boundary_releases(knowledge: Knowledge, inside: impl Fn(DriverVersion) -> bool) -> Option<Vec<DriverVersion>> {
    let mut found = Vec::new();
    for row in knowledge.branches() {
        for releases in [row.releases, row.other_releases] {
            let mut known = releases.iter().copied().filter(|version| inside(*version));
            found.extend(known.next());
            found.extend(known.next_back());
        }
    }
    (!found.is_empty()).then_some(found)
}
