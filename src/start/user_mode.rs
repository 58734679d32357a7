//! User-mode against kernel-mode driver, and whether both know the GPU.

use crate::cuda::ComputeCapability;
use crate::cuda::DriverVersion;
use crate::fact::CompatLibrary;
use crate::fleet::PoolField;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Source;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;

const FORWARD: Cite = Cite("NVIDIA CUDA Compatibility guide, edition 615, Forward Compatibility");
const SAME: Cite = Cite(
    "NVIDIA CUDA Compatibility guide, edition 615: the user-mode driver has the version of the kernel-mode driver",
);
const ARCHITECTURES: Cite =
    Cite("NVIDIA data center driver documentation, CUDA toolkit, driver and architecture matrix");

const WSL: Cite = Cite(
    "NVIDIA/nvidia-container-toolkit issue 520: Windows drivers since 555 need libnvdxgdmal.so.1, which toolkits mount since 1.14.4; without it cuInit fails with error 500",
);
const LINUX: Cite = Cite(
    "CUDA on WSL user guide, Getting Started with CUDA on WSL 2: libcuda is that of the Windows driver, no Linux driver may take its place; the GPU is /dev/dxg, and there is no /dev/nvidiactl",
);

/// A compat library on a driver that it is not for: what is printed differs from case to case.
const UNUSABLE: Wall = Wall::new(Outcome::CompatUnusable, Codes::possible(&[803, 999, 100]));
/// The same on a GPU that no compat library is for, or of which that is not known: either may be met first.
const UNUSABLE_HERE: Wall = Wall::new(Outcome::CompatUnusable, Codes::possible(&[803, 804, 999, 100]));

/// Does the loaded libcuda go with the kernel-mode driver?
pub(super) fn admitted(replay: Replay<'_>, loaded: &Loaded) -> StepRecord {
    let driver = Basis::Pool(PoolField::Driver);
    let record = |result, facts: &[Basis], cite| StepRecord::new(Step::UserMode, result, facts.iter().copied(), cite);
    match &loaded.source {
        None => record(StepResult::Unknown, &[], SAME),
        Some(Source::Host) if let Some(row) = replay.host.wsl_lacks => {
            let stops = StepResult::Stops(Wall::new(Outcome::LibraryMissing, Codes::certain(500)));
            record(stops, &[driver, Basis::Pool(PoolField::Toolkit), Basis::Row(&row.info)], WSL)
        }
        // Whatever the version, it is the kernel-mode driver's own.
        Some(Source::Host) => record(StepResult::Passes(Route::Native), &[driver], SAME),
        Some(Source::Nowhere) => record(StepResult::NotApplicable, &[], SAME),
        Some(Source::Image(_)) => {
            let result = match (loaded.version, replay.host.driver) {
                (Some(library), Some(host)) => baked(replay, library, host),
                _ => StepResult::Unknown,
            };
            let facts = [Basis::Image(replay.image.driver_libraries.id)].into_iter().chain(loaded.forced_by);
            StepRecord::new(Step::UserMode, result, facts.chain([driver]), SAME)
        }
        Some(Source::Compat(library)) => {
            let (result, row) = match replay.host {
                // A libcuda for Linux finds none of the devices that it looks for.
                host if host.wsl => (StepResult::Stops(UNUSABLE), None),
                _ if is_jetson(replay) => upgrade(replay, loaded),
                // Taken, it is for this branch by its note.
                _ if loaded.by_note => (StepResult::Passes(Route::ForwardCompat), None),
                _ => forward(replay, library),
            };
            let gpu_row = replay.host.gpu.as_ref().and_then(|gpu| gpu.row);
            let rows = row.into_iter().chain(gpu_row).map(Basis::Row);
            let wsl = replay.host.wsl.then_some(Basis::Pool(PoolField::Wsl));
            let facts = [Basis::Image(replay.image.compat.id)].into_iter().chain(loaded.forced_by).chain(wsl);
            let asked = result == StepResult::Unknown && replay.host.lacks_brand() && !is_jetson(replay);
            let brand = asked.then_some(Basis::Pool(PoolField::Brand));
            let facts = facts.chain([driver, Basis::Pool(PoolField::Gpu)]).chain(brand).chain(rows);
            StepRecord::new(Step::UserMode, result, facts, if replay.host.wsl { LINUX } else { FORWARD })
        }
    }
}

pub(super) fn is_jetson(replay: Replay<'_>) -> bool {
    replay.host.gpu.as_ref().and_then(|gpu| gpu.class) == Some(GpuClass::Jetson)
}

/// An upgrade package on a Jetson module: told by CUDA versions, since its libcuda has no driver version.
fn upgrade(replay: Replay<'_>, loaded: &Loaded) -> (StepResult, Option<&'static RowInfo>) {
    let (Some(base), Some(cuda)) = (replay.host.driver_cuda, loaded.cuda) else { return (StepResult::Unknown, None) };
    match replay.knowledge.jetson_upgrade(base, cuda) {
        Some((true, row)) => (StepResult::Passes(Route::ForwardCompat), Some(row)),
        Some((false, row)) => (StepResult::Stops(UNUSABLE), Some(row)),
        None => (StepResult::Unknown, None),
    }
}

/// A driver library that was not packaged for forward compatibility. A newer one is taken for an attempt at
/// it, which GPUs that have none answer in their own way.
fn baked(replay: Replay<'_>, library: DriverVersion, host: DriverVersion) -> StepResult {
    let admitted = replay.host.gpu.as_ref().and_then(|gpu| gpu.forward_compat) == Some(true);
    if library == host {
        StepResult::Passes(Route::Native)
    } else if library.is_branch() && library.branch() == host.branch() {
        StepResult::Unknown
    } else if library.branch() > host.branch() && !admitted {
        StepResult::Stops(Wall::new(Outcome::DriverMismatch, Codes::possible(&[803, 804])))
    } else {
        StepResult::Stops(Wall::new(Outcome::DriverMismatch, Codes::certain(803)))
    }
}

/// A compat library: admitted on some kernel-mode branches and GPU classes only. A branch that the library is not
/// for was reported to be met first, also on a GPU that it is not for.
pub(super) fn forward(replay: Replay<'_>, library: &CompatLibrary) -> (StepResult, Option<&'static RowInfo>) {
    if library.of_module() {
        return (StepResult::Passes(Route::ForwardCompat), None);
    }
    let Some(host) = replay.host.driver else { return (StepResult::Unknown, None) };
    if library.version == host {
        return (StepResult::Passes(Route::Native), None);
    }
    if library.version < host {
        return (StepResult::Stops(Wall::new(Outcome::DriverMismatch, Codes::certain(803))), None);
    }
    let (listed, row) = branch_listed(replay, library, host);
    let result = match (listed, class_admitted(replay, library)) {
        (Some(false), Some(true)) => StepResult::Stops(UNUSABLE),
        (Some(false), _) => StepResult::Stops(UNUSABLE_HERE),
        (_, Some(false)) => StepResult::Stops(Wall::new(Outcome::CompatNotSupported, Codes::certain(804))),
        (Some(true), Some(true)) => StepResult::Passes(Route::ForwardCompat),
        (None, _) | (_, None) => StepResult::Unknown,
    };
    (result, row)
}

/// Whether forward compatibility is for this GPU: by its class, else by the brands in the library's note.
fn class_admitted(replay: Replay<'_>, library: &CompatLibrary) -> Option<bool> {
    let gpu = replay.host.gpu.as_ref()?;
    if let Some(admitted) = gpu.forward_compat {
        return Some(admitted);
    }
    let number = replay.knowledge.brand_number(gpu.brand.as_deref()?)?;
    if let Some(note) = library.note.as_ref().filter(|note| !note.device.is_empty()) {
        return Some(note.device.contains(&number));
    }
    // GPUs without a row are told by their brand alone.
    (gpu.class.is_none()).then(|| replay.knowledge.compat_brand(number))
}

/// Whether forward compatibility is certainly for this GPU.
pub(super) fn admitted_class(replay: Replay<'_>, library: &CompatLibrary) -> bool {
    class_admitted(replay, library) == Some(true)
}

/// Whether the library may run on this kernel-mode branch: its own note, else NVIDIA's matrix, else
/// what the requirement strings of its images name.
pub(super) fn branch_listed(
    replay: Replay<'_>,
    library: &CompatLibrary,
    host: DriverVersion,
) -> (Option<bool>, Option<&'static RowInfo>) {
    // That a branch which no table has is not listed tells nothing: there may be no such branch.
    let in_tables = replay.knowledge.branch(host.branch()).is_some();
    let told = |listed: bool| (listed || in_tables).then_some(listed);
    if let Some(note) = library.note.as_ref().filter(|note| !note.driver.is_empty()) {
        return (told(note.driver.contains(&host.branch())), None);
    }
    let package = replay.knowledge.compat_package_of_version(library.version);
    let cuda = package.map(|row| row.cuda).or_else(|| replay.image.compat.known().and_then(|compat| compat.cuda));
    if let Some(row) = cuda.and_then(|cuda| replay.knowledge.forward(cuda, host.branch())) {
        return (Some(row.supported), Some(&row.info));
    }
    let Some(row) = package.filter(|row| !row.base_branches.is_empty()) else { return (None, None) };
    let listed = row.base_branches.contains(&host.branch());
    // No source but a note says what an older release of the library's own branch does with it.
    let own = library.version.branch() == host.branch();
    (told(listed).filter(|_| listed || !own), Some(&row.info))
}

/// The kernel-mode branches that a compat library is listed for.
pub(super) fn supported_branches(replay: Replay<'_>, library: &CompatLibrary) -> Vec<u32> {
    if let Some(note) = library.note.as_ref().filter(|note| !note.driver.is_empty()) {
        return note.driver.clone();
    }
    let package = replay.knowledge.compat_package_of_version(library.version);
    let cuda = package.map(|row| row.cuda).or_else(|| replay.image.compat.known().and_then(|compat| compat.cuda));
    let rows = replay.knowledge.forward_matrix().iter();
    let of_cuda = rows.filter(|row| cuda.is_some_and(|cuda| row.cuda.release() == cuda.release()));
    let listed: Vec<u32> = of_cuda.filter(|row| row.supported).map(|row| row.base_branch).collect();
    match package {
        Some(row) if listed.is_empty() => row.base_branches.to_vec(),
        _ => listed,
    }
}

/// Do the drivers know the GPU?
pub(super) fn gpu_known(replay: Replay<'_>, loaded: &Loaded) -> StepRecord {
    let pool = [Basis::Pool(PoolField::Gpu), Basis::Pool(PoolField::Driver)];
    let image = match &loaded.source {
        Some(Source::Compat(_)) => Some(Basis::Image(replay.image.compat.id)),
        Some(Source::Image(_)) => Some(Basis::Image(replay.image.driver_libraries.id)),
        Some(Source::Host | Source::Nowhere) | None => None,
    };
    let record = |result, row: Option<&'static RowInfo>| {
        // Where the host's driver knows it, that of the image is what does not.
        let image = image.filter(|_| !kernel_lacks(replay));
        let facts = pool.into_iter().chain(image).chain(row.map(Basis::Row));
        StepRecord::new(Step::GpuKnown, result, facts, ARCHITECTURES)
    };
    // An upgrade package is made for the module and its driver.
    if is_jetson(replay) && matches!(loaded.source, Some(Source::Host | Source::Compat(_))) {
        let (result, row) = of_module(replay);
        return record(result, row);
    }
    let Some(capability) = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability) else {
        return record(StepResult::Unknown, None);
    };
    let kernel = replay.host.branch();
    let own = loaded.version.filter(|_| loaded.source != Some(Source::Host));
    let user = own.map(DriverVersion::branch).or(kernel);
    let (mut deciding, mut unknown) = (None, false);
    for branch in [kernel, user] {
        match branch.and_then(|branch| knows(replay.knowledge, branch, capability)) {
            Some((true, row)) => deciding = Some(row),
            Some((false, row)) => {
                let wall = Wall::new(Outcome::GpuUnsupported, Codes::possible(&[100]));
                return record(StepResult::Stops(wall), Some(row));
            }
            None => unknown = true,
        }
    }
    record(if unknown { StepResult::Unknown } else { StepResult::Passes(Route::Native) }, deciding)
}

/// Whether the branch of the kernel-mode driver is known not to know the GPU.
pub(super) fn kernel_lacks(replay: Replay<'_>) -> bool {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let known = replay.host.branch().zip(capability);
    known.and_then(|(branch, capability)| knows(replay.knowledge, branch, capability)).is_some_and(|(known, _)| !known)
}

/// A module and its driver come together: each release is for some modules.
fn of_module(replay: Replay<'_>) -> (StepResult, Option<&'static RowInfo>) {
    let gpu = replay.host.gpu.as_ref();
    let release = replay.host.driver.map(|driver| replay.knowledge.jetson_release(driver));
    match (release, gpu.and_then(|gpu| gpu.capability)) {
        (Some(Some(release)), Some(capability)) if !release.capabilities.contains(&capability) => {
            let wall = Wall::new(Outcome::GpuUnsupported, Codes::possible(&[100]));
            (StepResult::Stops(wall), Some(&release.info))
        }
        (Some(Some(release)), _) => (StepResult::Passes(Route::Native), Some(&release.info)),
        // Of a number that no release has, nobody tells which modules it is for.
        (Some(None), _) => (StepResult::Unknown, None),
        (None, _) => (StepResult::Passes(Route::Native), gpu.and_then(|gpu| gpu.row)),
    }
}

/// Whether a branch knows a capability; a branch newer than the tables certainly does not know what they say was dropped.
fn knows(knowledge: Knowledge, branch: u32, capability: ComputeCapability) -> Option<(bool, &'static RowInfo)> {
    knowledge.branch_knows(branch, capability).or_else(|| {
        let row = knowledge.architecture(capability)?;
        (row.last_branch? < branch).then_some((false, &row.info))
    })
}
