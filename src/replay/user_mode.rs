//! User-mode driver steps: whether libcuda works with the kernel-mode driver, and whether both support the GPU.

use crate::cuda::{ComputeCapability, DriverVersion};
use crate::fleet::PoolField;
use crate::knowledge::{BranchRow, GpuClass, Knowledge, RowInfo};
use crate::model::fact::CompatLibrary;
use crate::model::outcome::Outcome;
use crate::replay::{
    Basis, Citation, CudaErrorCodes, LibcudaSource, LoadedLibcuda, Replay, ReplayFailure, StartRoute, StartStep,
    StepRecord, StepResult,
};

/// Citation for forward compatibility.
const FORWARD_COMPAT_CITATION: Citation =
    Citation("NVIDIA CUDA Compatibility guide, edition 615, Forward Compatibility");
/// Citation for the rule that user-mode and kernel-mode driver have the same version.
const SAME_VERSION_CITATION: Citation = Citation(
    "NVIDIA CUDA Compatibility guide, edition 615: the user-mode driver has the version of the kernel-mode driver",
);
/// Citation for the architectures that a driver supports.
const ARCHITECTURE_CITATION: Citation =
    Citation("NVIDIA data center driver documentation, CUDA toolkit, driver and architecture matrix");

/// Citation for the library that Windows drivers since 555 need under WSL.
const WSL_LIBRARY_CITATION: Citation = Citation(
    "NVIDIA/nvidia-container-toolkit issue 520: Windows drivers since 555 need libnvdxgdmal.so.1, which toolkits mount since 1.14.4; without it cuInit fails with error 500",
);
/// Citation for the rule that the libcuda of a Linux driver does not work under WSL.
const LINUX_DRIVER_ON_WSL_CITATION: Citation = Citation(
    "CUDA on WSL user guide, Getting Started with CUDA on WSL 2: libcuda is that of the Windows driver, no Linux driver may take its place; the GPU is /dev/dxg, and there is no /dev/nvidiactl",
);

/// Failure of a compat library on a driver that it does not support; the error code varies.
const COMPAT_UNUSABLE: ReplayFailure =
    ReplayFailure::new(Outcome::CompatUnusable, CudaErrorCodes::possible(&[803, 999, 100]));
/// The same failure on a GPU that has no forward compatibility or may have none; either error may come first.
const COMPAT_UNUSABLE_ON_GPU: ReplayFailure =
    ReplayFailure::new(Outcome::CompatUnusable, CudaErrorCodes::possible(&[803, 804, 999, 100]));

/// Replays the user-mode step: whether the loaded libcuda works with the kernel-mode driver.
pub(super) fn user_mode_step(replay: Replay<'_>, loaded: &LoadedLibcuda) -> StepRecord {
    let driver = Basis::Pool(PoolField::Driver);
    let record =
        |result, facts: &[Basis], cite| StepRecord::new(StartStep::UserMode, result, facts.iter().copied(), cite);
    match &loaded.source {
        None => record(StepResult::Unknown, &[], SAME_VERSION_CITATION),
        Some(LibcudaSource::Host) if let Some(row) = replay.host.wsl_lacks => {
            let stops = StepResult::Stops(ReplayFailure::new(Outcome::LibraryMissing, CudaErrorCodes::certain(500)));
            record(stops, &[driver, Basis::Pool(PoolField::Toolkit), Basis::Row(&row.info)], WSL_LIBRARY_CITATION)
        }
        // Whatever the version, it is the kernel-mode driver's own.
        Some(LibcudaSource::Host) => record(StepResult::Passes(StartRoute::Native), &[driver], SAME_VERSION_CITATION),
        Some(LibcudaSource::Nowhere) => record(StepResult::NotApplicable, &[], SAME_VERSION_CITATION),
        Some(LibcudaSource::Image(_)) => {
            let result = match (loaded.version, replay.host.driver) {
                (Some(library), Some(host)) => image_library_result(replay, library, host),
                _ => StepResult::Unknown,
            };
            let facts = [Basis::Image(replay.image.driver_libraries.id)].into_iter().chain(loaded.forced_by);
            StepRecord::new(StartStep::UserMode, result, facts.chain([driver]), SAME_VERSION_CITATION)
        }
        Some(LibcudaSource::Compat(library)) => {
            let (result, row) = match replay.host {
                // A libcuda for Linux finds none of the devices that it looks for.
                host if host.wsl => (StepResult::Stops(COMPAT_UNUSABLE), None),
                _ if is_jetson(replay) => jetson_upgrade_result(replay, loaded),
                // Taken, it is for this branch by its note.
                _ if loaded.by_note => (StepResult::Passes(StartRoute::ForwardCompat), None),
                _ => forward_compat_result(replay, library),
            };
            let gpu_row = replay.host.gpu.as_ref().and_then(|gpu| gpu.row);
            let rows = row.into_iter().chain(gpu_row).map(Basis::Row);
            let wsl = replay.host.wsl.then_some(Basis::Pool(PoolField::Wsl));
            let facts = [Basis::Image(replay.image.compat.id)].into_iter().chain(loaded.forced_by).chain(wsl);
            let needs_brand = result == StepResult::Unknown && replay.host.lacks_brand() && !is_jetson(replay);
            let brand = needs_brand.then_some(Basis::Pool(PoolField::Brand));
            let facts = facts.chain([driver, Basis::Pool(PoolField::Gpu)]).chain(brand).chain(rows);
            StepRecord::new(
                StartStep::UserMode,
                result,
                facts,
                if replay.host.wsl { LINUX_DRIVER_ON_WSL_CITATION } else { FORWARD_COMPAT_CITATION },
            )
        }
    }
}

/// Whether the host is a Jetson module.
pub(super) fn is_jetson(replay: Replay<'_>) -> bool {
    replay.host.gpu.as_ref().and_then(|gpu| gpu.class) == Some(GpuClass::Jetson)
}

/// Returns the result for an upgrade package on a Jetson module, by CUDA versions, because its libcuda has no driver
/// version.
fn jetson_upgrade_result(replay: Replay<'_>, loaded: &LoadedLibcuda) -> (StepResult, Option<&'static RowInfo>) {
    let (Some(base), Some(cuda)) = (replay.host.driver_cuda, loaded.cuda) else { return (StepResult::Unknown, None) };
    match replay.knowledge.jetson_upgrade(base, cuda) {
        Some((true, row)) => (StepResult::Passes(StartRoute::ForwardCompat), Some(row)),
        Some((false, row)) => (StepResult::Stops(COMPAT_UNUSABLE), Some(row)),
        None => (StepResult::Unknown, None),
    }
}

/// Returns the result for a driver library that was not packaged for forward compatibility. A newer one counts as an
/// attempt at it, which GPUs without forward compatibility reject with an error of their kind.
fn image_library_result(replay: Replay<'_>, library: DriverVersion, host: DriverVersion) -> StepResult {
    let admitted = replay.host.gpu.as_ref().and_then(|gpu| gpu.forward_compat) == Some(true);
    if library == host {
        StepResult::Passes(StartRoute::Native)
    } else if library.is_branch_only() && library.branch() == host.branch() {
        StepResult::Unknown
    } else if library.branch() > host.branch() && !admitted {
        StepResult::Stops(ReplayFailure::new(Outcome::DriverMismatch, CudaErrorCodes::possible(&[803, 804])))
    } else {
        StepResult::Stops(ReplayFailure::new(Outcome::DriverMismatch, CudaErrorCodes::certain(803)))
    }
}

/// Returns the result for a compat library, which works on some kernel-mode branches and GPU classes only. An
/// unsupported branch was reported to fail first, also on an unsupported GPU.
pub(super) fn forward_compat_result(
    replay: Replay<'_>,
    library: &CompatLibrary,
) -> (StepResult, Option<&'static RowInfo>) {
    if library.is_module_specific() {
        return (StepResult::Passes(StartRoute::ForwardCompat), None);
    }
    let Some(host) = replay.host.driver else { return (StepResult::Unknown, None) };
    if library.version == host {
        return (StepResult::Passes(StartRoute::Native), None);
    }
    if library.version < host {
        return (StepResult::Stops(ReplayFailure::new(Outcome::DriverMismatch, CudaErrorCodes::certain(803))), None);
    }
    let (listed, row) = is_branch_listed(replay, library, host);
    let result = match (listed, has_forward_compat(replay, library)) {
        (Some(false), Some(true)) => StepResult::Stops(COMPAT_UNUSABLE),
        (Some(false), _) => StepResult::Stops(COMPAT_UNUSABLE_ON_GPU),
        (_, Some(false)) => {
            StepResult::Stops(ReplayFailure::new(Outcome::CompatNotSupported, CudaErrorCodes::certain(804)))
        }
        (Some(true), Some(true)) => StepResult::Passes(StartRoute::ForwardCompat),
        (None, _) | (_, None) => StepResult::Unknown,
    };
    (result, row)
}

/// Whether the GPU has forward compatibility, by its class, otherwise by the brands in the library's note; `None` if
/// unknown.
fn has_forward_compat(replay: Replay<'_>, library: &CompatLibrary) -> Option<bool> {
    let gpu = replay.host.gpu.as_ref()?;
    if let Some(admitted) = gpu.forward_compat {
        return Some(admitted);
    }
    let number = replay.knowledge.brand_number(gpu.brand.as_deref()?)?;
    if let Some(note) = library.note.as_ref().filter(|note| !note.device.is_empty()) {
        return Some(note.device.contains(&number));
    }
    // GPUs without a row are classified by their brand only.
    (gpu.class.is_none()).then(|| replay.knowledge.is_compat_brand(number))
}

/// Whether the GPU certainly has forward compatibility.
pub(super) fn certainly_has_forward_compat(replay: Replay<'_>, library: &CompatLibrary) -> bool {
    has_forward_compat(replay, library) == Some(true)
}

/// Whether the library may run on this kernel-mode branch, by its note, otherwise by NVIDIA's matrix, otherwise by
/// the requirements of its images.
pub(super) fn is_branch_listed(
    replay: Replay<'_>,
    library: &CompatLibrary,
    host: DriverVersion,
) -> (Option<bool>, Option<&'static RowInfo>) {
    // A branch that no table lists proves nothing: it may not exist.
    let in_tables = replay.knowledge.driver_branch(host.branch()).is_some();
    let if_conclusive = |listed: bool| (listed || in_tables).then_some(listed);
    if let Some(note) = library.note.as_ref().filter(|note| !note.driver.is_empty()) {
        return (if_conclusive(note.driver.contains(&host.branch())), None);
    }
    let package = replay.knowledge.compat_package_of_libcuda(library.version);
    let cuda = package.map(|row| row.cuda).or_else(|| replay.image.compat.known().and_then(|compat| compat.cuda));
    if let Some(row) = cuda.and_then(|cuda| replay.knowledge.forward_compatibility(cuda, host.branch())) {
        return (Some(row.supported), Some(&row.info));
    }
    let Some(row) = package.filter(|row| !row.base_branches.is_empty()) else { return (None, None) };
    let listed = row.base_branches.contains(&host.branch());
    // No source but a note says what an older release of the library's own branch does with it.
    let own = library.version.branch() == host.branch();
    (if_conclusive(listed).filter(|_| listed || !own), Some(&row.info))
}

/// Returns the kernel-mode branches for which a compat library is listed.
pub(super) fn supported_branches(replay: Replay<'_>, library: &CompatLibrary) -> Vec<u32> {
    if let Some(note) = library.note.as_ref().filter(|note| !note.driver.is_empty()) {
        return note.driver.clone();
    }
    let package = replay.knowledge.compat_package_of_libcuda(library.version);
    let cuda = package.map(|row| row.cuda).or_else(|| replay.image.compat.known().and_then(|compat| compat.cuda));
    let rows = replay.knowledge.forward_matrix().iter();
    let of_cuda = rows.filter(|row| cuda.is_some_and(|cuda| row.cuda.release() == cuda.release()));
    let listed: Vec<u32> = of_cuda.filter(|row| row.supported).map(|row| row.base_branch).collect();
    match package {
        Some(row) if listed.is_empty() => row.base_branches.to_vec(),
        _ => listed,
    }
}

/// Replays the GPU step: whether the kernel-mode and the user-mode driver support the GPU.
pub(super) fn gpu_known_step(replay: Replay<'_>, loaded: &LoadedLibcuda) -> StepRecord {
    let pool = [Basis::Pool(PoolField::Gpu), Basis::Pool(PoolField::Driver)];
    let image = match &loaded.source {
        Some(LibcudaSource::Compat(_)) => Some(Basis::Image(replay.image.compat.id)),
        Some(LibcudaSource::Image(_)) => Some(Basis::Image(replay.image.driver_libraries.id)),
        Some(LibcudaSource::Host | LibcudaSource::Nowhere) | None => None,
    };
    let record = |result, row: Option<&'static RowInfo>| {
        // Where the host's driver knows it, that of the image is what does not.
        let image = image.filter(|_| !kernel_driver_lacks_gpu(replay));
        let facts = pool.into_iter().chain(image).chain(row.map(Basis::Row));
        StepRecord::new(StartStep::GpuKnown, result, facts, ARCHITECTURE_CITATION)
    };
    // An upgrade package is made for the module and its driver.
    if is_jetson(replay) && matches!(loaded.source, Some(LibcudaSource::Host | LibcudaSource::Compat(_))) {
        let (result, row) = jetson_module_result(replay);
        return record(result, row);
    }
    let Some(capability) = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability) else {
        return record(StepResult::Unknown, None);
    };
    let kernel = replay.host.driver_branch();
    let own = loaded.version.filter(|_| loaded.source != Some(LibcudaSource::Host));
    let user = own.map(DriverVersion::branch).or(kernel);
    let (mut deciding, mut unknown) = (None, false);
    for branch in [kernel, user] {
        match branch.and_then(|branch| branch_supports_gpu(replay.knowledge, branch, capability)) {
            Some((true, row)) => deciding = Some(row),
            Some((false, row)) => {
                let failure = ReplayFailure::new(Outcome::GpuUnsupported, CudaErrorCodes::possible(&[100]));
                return record(StepResult::Stops(failure), Some(row));
            }
            None => unknown = true,
        }
    }
    record(if unknown { StepResult::Unknown } else { StepResult::Passes(StartRoute::Native) }, deciding)
}

/// Whether the branch of the kernel-mode driver is known not to support the GPU.
pub(super) fn kernel_driver_lacks_gpu(replay: Replay<'_>) -> bool {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let known = replay.host.driver_branch().zip(capability);
    known
        .and_then(|(branch, capability)| branch_supports_gpu(replay.knowledge, branch, capability))
        .is_some_and(|(known, _)| !known)
}

/// Returns the result for a Jetson module, whose driver release supports certain modules only.
fn jetson_module_result(replay: Replay<'_>) -> (StepResult, Option<&'static RowInfo>) {
    let gpu = replay.host.gpu.as_ref();
    let release = replay.host.driver.map(|driver| replay.knowledge.jetson_release(driver));
    match (release, gpu.and_then(|gpu| gpu.capability)) {
        (Some(Some(release)), Some(capability)) if !release.capabilities.contains(&capability) => {
            let failure = ReplayFailure::new(Outcome::GpuUnsupported, CudaErrorCodes::possible(&[100]));
            (StepResult::Stops(failure), Some(&release.info))
        }
        (Some(Some(release)), _) => (StepResult::Passes(StartRoute::Native), Some(&release.info)),
        // The modules of an unreleased driver version are unknown.
        (Some(None), _) => (StepResult::Unknown, None),
        (None, _) => (StepResult::Passes(StartRoute::Native), gpu.and_then(|gpu| gpu.row)),
    }
}

/// Whether a driver branch supports a compute capability; branches newer than the tables certainly do not support
/// what was already dropped.
fn branch_supports_gpu(
    knowledge: Knowledge,
    branch: u32,
    capability: ComputeCapability,
) -> Option<(bool, &'static RowInfo)> {
    knowledge.branch_supports(branch, capability).or_else(|| {
        let row = knowledge.architecture(capability)?;
        (row.last_branch? < branch).then_some((false, &row.info))
    })
}

/// Returns the known driver branches below and above the loaded driver's, if its branch is unknown: it supports at
/// least the CUDA version of the one and at most that of the other.
pub(super) fn surrounding_branches(replay: Replay<'_>, loaded: &LoadedLibcuda) -> Option<[&'static BranchRow; 2]> {
    // Modules and Windows have numbers of their own.
    let other_numbers = loaded.source == Some(LibcudaSource::Host) && (replay.host.wsl || is_jetson(replay));
    if loaded.cuda.is_some() || other_numbers {
        return None;
    }
    replay.knowledge.neighbouring_branches(loaded.version?.branch())
}
