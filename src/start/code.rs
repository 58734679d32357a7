//! Code: whether every library of the component has code that the GPU can run.

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::Suffix;
use crate::fact::Signature;
use crate::fact::State;
use crate::fleet::PoolField;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
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

const CODE: Cite =
    Cite("CUDA C++ Programming Guide 13.4, Binary and PTX Compatibility; NVIDIA CUDA Compatibility guide, edition 615");

/// Of libraries built from parts, so many of a hundred containers must have code; the rest are parts for
/// one generation alone.
const ENOUGH_PERCENT: usize = 80;

/// How a GPU runs one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    /// Machine code.
    Cubin,
    /// Compiled from PTX.
    Ptx,
    /// Not at all.
    None,
}

/// Is there code for the GPU?
pub(super) fn step(replay: Replay<'_>, loaded: &Loaded) -> StepRecord {
    let code = &replay.component.code;
    let gpu = replay.host.gpu.as_ref();
    let row = gpu.and_then(|gpu| gpu.row).map(Basis::Row);
    let facts = [Basis::Image(code.id), Basis::Pool(PoolField::Gpu)].into_iter().chain(row);
    let record = |result, more: Vec<Basis>| StepRecord::new(Step::Code, result, facts.clone().chain(more), CODE);
    let containers = match &code.state {
        State::Known(code) => &code.containers,
        State::Absent { .. } => return record(StepResult::NotApplicable, Vec::new()),
        State::Unknown(_) => return record(StepResult::NotSeen, Vec::new()),
    };
    if loaded.source == Some(Source::Nowhere) {
        return record(StepResult::NotApplicable, Vec::new());
    }
    let Some(capability) = gpu.and_then(|gpu| gpu.capability) else {
        return record(StepResult::Unknown, Vec::new());
    };
    let jetson = gpu.and_then(|gpu| gpu.class) == Some(GpuClass::Jetson);
    let covered: Vec<Coverage> =
        containers.iter().map(|container| coverage(container, capability, jetson, replay.knowledge)).collect();
    let runnable = covered.iter().filter(|coverage| **coverage != Coverage::None).count();
    if runnable * 100 < covered.len() * ENOUGH_PERCENT || runnable == 0 {
        let wall = Wall::new(Outcome::NoKernelImage, Codes::certain(replay.component.codes.no_code));
        return record(StepResult::Stops(wall), Vec::new());
    }
    if !covered.contains(&Coverage::Ptx) {
        return record(StepResult::Passes(Route::Native), Vec::new());
    }
    let more = vec![Basis::Image(replay.component.cuda.id), Basis::Pool(PoolField::Driver)];
    let result = match (replay.component.cuda.known(), loaded.cuda) {
        (Some(built), Some(driver)) if !ptx_readable(replay.knowledge, *built, driver) => {
            StepResult::Stops(Wall::new(Outcome::UnsupportedPtx, Codes::certain(replay.component.codes.bad_ptx)))
        }
        (Some(_), Some(_)) if no_compiler(replay, loaded) => {
            StepResult::Stops(Wall::new(Outcome::JitFailed, Codes::certain(221)))
        }
        (Some(_), Some(_)) => StepResult::Passes(Route::Jit),
        _ => StepResult::Unknown,
    };
    record(result, more)
}

/// How one container runs on a GPU.
fn coverage(container: &Signature, gpu: ComputeCapability, jetson: bool, knowledge: Knowledge) -> Coverage {
    if container.sass.iter().any(|target| cubin_runs(*target, gpu, jetson, knowledge)) {
        Coverage::Cubin
    } else if container.ptx.iter().any(|target| ptx_runs(*target, gpu, knowledge)) {
        Coverage::Ptx
    } else {
        Coverage::None
    }
}

/// A cubin runs on its own major from its minor on; on one capability with `a`; in its family with `f`.
/// Binary compatibility is not promised between Tegra modules and anything else.
fn cubin_runs(target: CodeTarget, gpu: ComputeCapability, jetson: bool, knowledge: Knowledge) -> bool {
    let named = target.capability;
    if jetson || knowledge.tegra_capability(named) {
        return named == gpu;
    }
    match target.suffix {
        Suffix::None => named.major == gpu.major && named.minor <= gpu.minor,
        Suffix::ArchitectureSpecific => named == gpu,
        Suffix::FamilySpecific => in_family(named, gpu, knowledge),
    }
}

/// PTX compiles for its capability and everything later; with a suffix no further than a cubin reaches.
fn ptx_runs(target: CodeTarget, gpu: ComputeCapability, knowledge: Knowledge) -> bool {
    match target.suffix {
        Suffix::None => target.capability <= gpu,
        Suffix::ArchitectureSpecific => target.capability == gpu,
        Suffix::FamilySpecific => in_family(target.capability, gpu, knowledge),
    }
}

fn in_family(named: ComputeCapability, gpu: ComputeCapability, knowledge: Knowledge) -> bool {
    named.minor <= gpu.minor && knowledge.family(named).contains(&gpu)
}

/// A driver compiles PTX of its own CUDA version and older.
fn ptx_readable(knowledge: Knowledge, built: CudaVersion, driver: CudaVersion) -> bool {
    match (knowledge.target_set(built), knowledge.target_set(driver)) {
        (Some(built), Some(driver)) => built.ptx_isa <= driver.ptx_isa,
        _ => built.release() <= driver.release(),
    }
}

/// Whether the loaded compat library comes without its compiler, and the host's is of another version.
fn no_compiler(replay: Replay<'_>, loaded: &Loaded) -> bool {
    matches!(loaded.source, Some(Source::Compat(_)))
        && replay.image.compat.known().and_then(|compat| compat.ptx_compiler) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(sass: &[&str], ptx: &[&str]) -> Signature {
        let targets = |list: &[&str]| list.iter().map(|text| text.parse().expect("target")).collect();
        Signature { sass: targets(sass), ptx: targets(ptx) }
    }

    #[test]
    fn code_reaches_as_far_as_the_programming_guide_says() {
        for (sass, ptx, gpu, expected) in [
            (&["sm_70"][..], &[][..], "7.5", Coverage::Cubin),
            (&["sm_75"], &[], "7.0", Coverage::None),
            (&["sm_70"], &[], "8.0", Coverage::None),
            (&["sm_70"], &["compute_70"], "8.0", Coverage::Ptx),
            (&["sm_80"], &[], "8.9", Coverage::Cubin),
            (&["sm_86"], &[], "8.0", Coverage::None),
            (&["sm_90a"], &[], "9.0", Coverage::Cubin),
            (&["sm_90a"], &["compute_90a"], "10.0", Coverage::None),
            (&["sm_100f"], &[], "10.3", Coverage::Cubin),
            (&["sm_103f"], &[], "10.0", Coverage::None),
            (&["sm_100f"], &[], "12.0", Coverage::None),
            (&["sm_120a"], &[], "12.1", Coverage::None),
            (&["sm_90"], &["compute_90"], "12.0", Coverage::Ptx),
            (&[], &["compute_120"], "10.0", Coverage::None),
        ] {
            let found = coverage(&container(sass, ptx), gpu.parse().expect(gpu), false, Knowledge::built_in());
            assert_eq!(found, expected, "{sass:?} {ptx:?} on {gpu}");
        }
    }

    #[test]
    fn tegra_runs_only_what_names_it() {
        let tegra = |sass: &[&str], ptx: &[&str]| {
            coverage(&container(sass, ptx), "8.7".parse().expect("8.7"), true, Knowledge::built_in())
        };
        assert_eq!(tegra(&["sm_80"], &[]), Coverage::None);
        assert_eq!(tegra(&["sm_87"], &[]), Coverage::Cubin);
        assert_eq!(tegra(&["sm_80"], &["compute_80"]), Coverage::Ptx);
        let desktop = coverage(&container(&["sm_87"], &[]), "8.9".parse().expect("8.9"), false, Knowledge::built_in());
        assert_eq!(desktop, Coverage::None);
    }
}
