//! The host values that the requirement check of the container toolkit compares.

use crate::cuda::{CudaVersion, DriverVersion, HostValue, RequirementHost};
use crate::fleet::host::HostGpu;
use crate::knowledge::{BrandRow, GpuRow, Knowledge};

/// Returns the brand that NVML reports for a GPU under drivers of a branch.
pub(super) fn nvml_brand(row: &GpuRow, branch: Option<u32>) -> Option<String> {
    let holds = |brand: &&BrandRow| match branch {
        Some(branch) => {
            brand.from_branch.is_none_or(|from| from <= branch) && brand.up_to_branch.is_none_or(|last| branch <= last)
        }
        None => brand.from_branch.is_none() && brand.up_to_branch.is_none(),
    };
    row.brands.iter().find(holds).map(|brand| brand.brand.to_owned())
}

/// Returns the values that the requirement check compares for a host with one GPU; a MIG device has those of its
/// parent.
pub(super) fn requirement_host(
    gpu: Option<&HostGpu>,
    driver: Option<DriverVersion>,
    cuda: Option<CudaVersion>,
    newer_brands: bool,
    knowledge: Knowledge,
) -> RequirementHost {
    let known = |value: Option<String>| value.map_or(HostValue::Unknown, HostValue::Known);
    let seen = |brand: &String| {
        if newer_brands || !knowledge.is_later_brand(brand) { brand.clone() } else { "unknown".to_owned() }
    };
    RequirementHost {
        cuda: known(cuda.map(|cuda| format!("{}.{}", cuda.major(), cuda.minor()))),
        driver: known(driver.map(|driver| driver.to_string())),
        arch: known(gpu.and_then(|gpu| gpu.capability).map(|capability| capability.to_string())),
        brand: known(gpu.and_then(|gpu| gpu.brand.as_ref()).map(seen)),
    }
}
