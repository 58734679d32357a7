//! The code step: whether every library of the component contains code that the GPU can run.

use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion};
use crate::fleet::PoolField;
use crate::knowledge::{FrameworkRow, GpuClass, Knowledge, RowInfo, TorchRow};
use crate::model::fact::{Evidence, FactId, FactKey, GpuCode, GpuCodeLibrary, PrintedValue, ValueState};
use crate::model::outcome::Outcome;
use crate::model::package::ExactVersion;
use crate::replay::coverage::{CodeCoverage, CoverageShare, code_coverage, cubin_runs};
use crate::replay::cuda_callers::is_bare_container;
use crate::replay::runtime::is_beyond_known_branches;
use crate::replay::user_mode::surrounding_branches;
use crate::replay::{
    Basis, Citation, CudaErrorCodes, LibcudaSource, LoadedLibcuda, Replay, ReplayFailure, StartRoute, StartStep,
    StepRecord, StepResult, libraries, minimum_capability,
};

/// Citation for the rules for binary and PTX compatibility.
const CODE_COMPATIBILITY_CITATION: Citation = Citation(
    "CUDA C++ Programming Guide 13.4, Binary and PTX Compatibility; NVIDIA CUDA Compatibility guide, edition 615",
);

/// Citation for the targets that a CUDA toolkit compiles for.
const COMPILER_TARGETS_CITATION: Citation = Citation("ptxas of that toolkit: the targets that it compiles to");

/// Variable that, set to 1, disables the compilation of PTX.
const DISABLE_PTX_JIT: &str = "CUDA_DISABLE_PTX_JIT";
/// Possible error codes if PTX is disabled; each list begins with the code of a component without code.
const DISABLED_PTX_CODES: &[&[u16]] = &[&[209, 223], &[200, 223], &[48, 223]];
/// Variable that, set to 1, makes the driver ignore native code and compile PTX instead.
const FORCE_PTX_JIT: &str = "CUDA_FORCE_PTX_JIT";

/// Whether the user-mode driver compiles the PTX of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PtxCompiler {
    /// It does.
    Works,
    /// The PTX is newer than it.
    TooOld,
    /// The compat library came without it.
    Missing,
    /// Whether it came with the compat library was not seen.
    NotSeen,
    /// The CUDA version of the driver or the component is unknown.
    Unknown,
}

/// Replays the code step: whether the component has code for the GPU.
pub(super) fn gpu_code_step(replay: Replay<'_>, loaded: &LoadedLibcuda) -> StepRecord {
    let fact = &replay.component.code;
    let gpu = replay.host.gpu.as_ref();
    let row = gpu.and_then(|gpu| gpu.row).map(Basis::Row);
    let switches = [DISABLE_PTX_JIT, FORCE_PTX_JIT]
        .into_iter()
        .filter(|name| is_variable_on(replay, name))
        .map(|name| replay.environment().basis(name));
    let facts = [Basis::Image(fact.id), Basis::Pool(PoolField::Gpu)].into_iter().chain(switches).chain(row);
    let record = |result| StepRecord::new(StartStep::Code, result, facts.clone(), CODE_COMPATIBILITY_CITATION);
    let code = match &fact.state {
        ValueState::Known(code) => code,
        ValueState::Absent { .. } => return record(StepResult::NotApplicable),
        ValueState::Unknown(_) if is_bare_container(replay) => return record(StepResult::NotApplicable),
        ValueState::Unknown(_) if replay.component.lacks_required_code && needs_no_gpu_code(replay, loaded) => {
            return record(StepResult::NotApplicable);
        }
        ValueState::Unknown(_) => {
            if let Some(step) = minimum_capability::minimum_capability_step(replay) {
                return step;
            }
            let Some((result, row)) = result_beyond_toolkit(replay, loaded) else {
                return record(if is_unlisted_build(replay) || replay.component.lacks_required_code {
                    StepResult::Unknown
                } else {
                    StepResult::NotSeen
                });
            };
            let more = [Basis::Image(replay.component.cuda.id), Basis::Pool(PoolField::Gpu), Basis::Row(row)];
            return StepRecord::new(StartStep::Code, result, more, COMPILER_TARGETS_CITATION);
        }
    };
    if needs_no_gpu_code(replay, loaded) {
        return record(StepResult::NotApplicable);
    }
    let Some(capability) = gpu.and_then(|gpu| gpu.capability) else {
        return record(StepResult::Unknown);
    };
    let compiler = ptx_compiler(replay, loaded);
    let (mut found, mut from_ptx) = (StepResult::NotApplicable, false);
    for library in required_code_libraries(replay, code) {
        let coverage = coverage_in_container(replay, library, capability);
        if coverage.all > 0 {
            from_ptx |= coverage.ptx > 0;
            let result = library_code_result(replay, coverage, compiler);
            found = if is_required_library_unknown(replay, code) {
                combine_alternative_results(found, result)
            } else {
                worse_result(found, result)
            };
        }
    }
    if !from_ptx {
        return record(found);
    }
    if found == StepResult::Passes(StartRoute::Jit) && reported_ptx_failures(replay).is_some() {
        found = StepResult::Unknown;
    }
    let more = [Basis::Image(replay.component.cuda.id), Basis::Pool(PoolField::Driver)];
    let from_compat =
        matches!(loaded.source, Some(LibcudaSource::Compat(_))).then_some(Basis::Image(replay.image.compat.id));
    StepRecord::new(StartStep::Code, found, facts.chain(more).chain(from_compat), CODE_COMPATIBILITY_CITATION)
}

/// Whether no GPU code is loaded: there is no libcuda, or the component falls back to the CPU because a library is
/// missing.
fn needs_no_gpu_code(replay: Replay<'_>, loaded: &LoadedLibcuda) -> bool {
    loaded.source == Some(LibcudaSource::Nowhere) || libraries::starts_without_gpu(replay)
}

/// Returns the result of unread code on a GPU for which the component's toolkit compiles no native code. On a GPU
/// older than all targets, neither native code nor PTX can run, if the component has any. On a GPU of a later
/// generation there is no native code, and whether there is PTX is unknown. That code exists at all is only known of
/// a named component, of the program of a framework image, or of a component with a known range of GPUs. An anonymous
/// caller of the runtime may use PTX, which a driver with an older CUDA does not compile.
fn result_beyond_toolkit(replay: Replay<'_>, loaded: &LoadedLibcuda) -> Option<(StepResult, &'static RowInfo)> {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability)?;
    let sets = replay.knowledge.target_sets_of(*replay.component.cuda.known()?);
    let row = sets.last()?;
    let targets = || sets.iter().flat_map(|row| row.targets);
    let oldest = targets().map(|target| target.capability).min()?;
    if loaded.source == Some(LibcudaSource::Nowhere) {
        None
    } else {
        let ranged = || minimum_capability::minimum_capability_of(replay).is_some();
        let has_code = !replay.component.anonymous || replay.component.program || ranged();
        if capability < oldest {
            return has_code.then(|| (stop_without_code(replay), &row.info));
        }
        let foreign = replay.component.anonymous
            && replay.image.components.len() == 1
            && replay.image.base_cuda.is_unknown()
            && ptx_compiler(replay, loaded) == PtxCompiler::TooOld;
        ((has_code && !targets().any(|target| target_runs_on_gpu(replay, *target, capability))) || foreign)
            .then_some((StepResult::Unknown, &row.info))
    }
}

/// Whether code listed by a table runs on a GPU that its CUDA release does not target. The libraries of that CUDA
/// release may lack code for the GPU, and the table does not cover them.
pub(super) fn is_beyond_cuda_libraries(replay: Replay<'_>) -> bool {
    let of_table =
        matches!(&replay.image.facts.get(replay.component.code.id).evidence, Evidence::Derived { row: Some(_), .. });
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let (Some(capability), Some(cuda), true) = (capability, replay.component.cuda.known(), of_table) else {
        return false;
    };
    let sets = replay.knowledge.target_sets_of(*cuda);
    let mut targets = sets.iter().flat_map(|row| row.targets).peekable();
    targets.peek().is_some() && !targets.any(|target| target_runs_on_gpu(replay, *target, capability))
}

/// Whether native code for a compiler target runs on a GPU.
fn target_runs_on_gpu(replay: Replay<'_>, target: CodeTarget, capability: ComputeCapability) -> bool {
    cubin_runs(target, capability, is_jetson(replay), replay.knowledge)
}

/// Returns where PTX failures of the component are reported, if PTX is its only code for the GPU.
pub(super) fn reported_ptx_failures(replay: Replay<'_>) -> Option<&'static str> {
    let of_component = |row: &&FrameworkRow| row.component == replay.component.name;
    let reports = replay.knowledge.frameworks().iter().find(of_component)?.ptx_doubted?;
    is_beyond_cuda_libraries(replay).then_some(reports)
}

/// Whether the component is a framework build that the tables do not list, so that its targets are unknown.
fn is_unlisted_build(replay: Replay<'_>) -> bool {
    let facts = &replay.image.facts;
    let behind = |id: FactId, key: FactKey| match &facts.get(id).evidence {
        Evidence::Derived { from, .. } => from.iter().copied().find(|one| facts.get(*one).key == key),
        Evidence::Leaf(_) => None,
    };
    let text = |id: FactId| match &facts.get(id).state {
        ValueState::Known(PrintedValue::Text(text)) => Some(text.as_str()),
        ValueState::Known(_) | ValueState::Absent { .. } | ValueState::Unknown(_) => None,
    };
    let of_framework =
        replay.knowledge.framework_with_variants().is_some_and(|row| row.component == replay.component.name);
    let Some(build) = behind(replay.component.code.id, FactKey::ComponentVariant).filter(|_| of_framework) else {
        return false;
    };
    let release = behind(build, FactKey::ComponentVersion)
        .and_then(text)
        .and_then(|text| replay.knowledge.torch_release(&ExactVersion::from(text)));
    let listed = |row: &TorchRow, build: &str| {
        row.variants.contains(&build) || row.default_variant.iter().any(|default| default.value == build)
    };
    !release.zip(text(build)).is_some_and(|(row, build)| listed(row, build))
}

/// Returns the step result for a component that has no code for the GPU: the start fails.
fn stop_without_code(replay: Replay<'_>) -> StepResult {
    StepResult::Stops(ReplayFailure::new(Outcome::NoKernelImage, CudaErrorCodes::certain(no_code_error(replay))))
}

/// Returns the error code of a component without code for the GPU.
fn no_code_error(replay: Replay<'_>) -> u16 {
    let codes = replay.component.error_codes;
    let runtime = replay.component.cuda.known();
    runtime.map_or(codes.no_code, |runtime| replay.knowledge.error_code_in(codes.no_code, *runtime))
}

/// Returns the step result for a component whose code for the GPU is disabled by a variable: the start fails. NVIDIA
/// documents a separate code for disabled PTX; which of the two codes occurs was not measured.
fn stop_with_disabled_code(replay: Replay<'_>) -> StepResult {
    let code = no_code_error(replay);
    let possible = DISABLED_PTX_CODES
        .iter()
        .find(|list| list.first() == Some(&code))
        .filter(|_| is_variable_on(replay, DISABLE_PTX_JIT));
    let codes = possible.map_or(CudaErrorCodes::certain(code), |list| CudaErrorCodes::possible(list));
    StepResult::Stops(ReplayFailure::new(Outcome::NoKernelImage, codes))
}

/// Whether a CUDA variable is set to 1, the value that its documentation names.
fn is_variable_on(replay: Replay<'_>, name: &str) -> bool {
    replay.environment().value(name) == Some("1")
}

/// Returns how much of a library's code the GPU runs with the environment variables of the container.
fn coverage_in_container(replay: Replay<'_>, library: &GpuCodeLibrary, capability: ComputeCapability) -> CodeCoverage {
    let found = code_coverage(library, capability, is_jetson(replay), replay.knowledge);
    found.with_ptx_settings(is_variable_on(replay, DISABLE_PTX_JIT), is_variable_on(replay, FORCE_PTX_JIT))
}

/// Returns the variable that disables the compiler of PTX or native code.
pub(super) fn disabling_variable(replay: Replay<'_>) -> Option<&'static str> {
    [DISABLE_PTX_JIT, FORCE_PTX_JIT].into_iter().find(|name| is_variable_on(replay, name))
}

/// Returns a phrase, after a comma, with the variable that disables code for the GPU; empty if there is none.
pub(super) fn disabling_variable_note(replay: Replay<'_>) -> String {
    disabling_variable(replay).map_or_else(String::new, |name| format!(", with {name}=1"))
}

/// Returns the step result of one library.
fn library_code_result(replay: Replay<'_>, coverage: CodeCoverage, compiler: PtxCompiler) -> StepResult {
    let codes = replay.component.error_codes;
    match coverage.share(coverage.runnable()) {
        CoverageShare::Part => return StepResult::Unknown,
        CoverageShare::None if coverage.linkable || coverage.has_unknown_code => return StepResult::Unknown,
        CoverageShare::None if coverage.switched_off => return stop_with_disabled_code(replay),
        CoverageShare::None => return stop_without_code(replay),
        CoverageShare::Most => {}
    }
    match compiler {
        PtxCompiler::Works if coverage.ptx > 0 => StepResult::Passes(StartRoute::Jit),
        _ if coverage.share(coverage.cubin) == CoverageShare::Most => StepResult::Passes(StartRoute::Native),
        PtxCompiler::TooOld | PtxCompiler::Missing if coverage.cubin > 0 => StepResult::Unknown,
        PtxCompiler::TooOld => {
            StepResult::Stops(ReplayFailure::new(Outcome::UnsupportedPtx, CudaErrorCodes::certain(codes.bad_ptx)))
        }
        PtxCompiler::Missing => StepResult::Stops(ReplayFailure::new(Outcome::JitFailed, CudaErrorCodes::certain(221))),
        PtxCompiler::Works | PtxCompiler::NotSeen | PtxCompiler::Unknown => StepResult::Unknown,
    }
}

/// Returns the worse of two results: a certain stop before an unknown one, and the first of two stops.
fn worse_result(one: StepResult, other: StepResult) -> StepResult {
    match (one, other) {
        (StepResult::Stops(_), _) => one,
        (_, StepResult::Stops(_)) => other,
        (StepResult::Unknown, _) | (_, StepResult::Unknown) => StepResult::Unknown,
        (StepResult::Passes(one), StepResult::Passes(other)) => StepResult::Passes(one.max(other)),
        (StepResult::Passes(_), _) => one,
        _ => other,
    }
}

/// Whether it is unknown which of several libraries the component needs: the tables name none, or one occurs in
/// several directories.
pub(super) fn is_required_library_unknown(replay: Replay<'_>, code: &GpuCode) -> bool {
    let name = |library: &GpuCodeLibrary| library.file.rsplit('/').next().unwrap_or_default().to_owned();
    let twice = || {
        let mut names: Vec<String> = required_code_libraries(replay, code).map(name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        names.len() < all
    };
    code.unsorted && code.libraries.len() > 1 && (!has_table_library(replay, code) || twice())
}

/// Combines the results of two libraries of which the component may need only one.
fn combine_alternative_results(one: StepResult, other: StepResult) -> StepResult {
    match (one, other) {
        (StepResult::Stops(_), StepResult::Passes(_)) | (StepResult::Passes(_), StepResult::Stops(_)) => {
            StepResult::Unknown
        }
        (StepResult::Unknown, _) | (_, StepResult::Unknown) => StepResult::Unknown,
        _ => worse_result(one, other),
    }
}

/// Returns the libraries that the component needs: those that the tables name, if one was seen, else all.
fn required_code_libraries<'a>(replay: Replay<'a>, code: &'a GpuCode) -> impl Iterator<Item = &'a GpuCodeLibrary> {
    let named = has_table_library(replay, code);
    code.libraries.iter().filter(move |library| !named || is_table_library(replay, library))
}

/// Whether the tables name one of several libraries, so that the others are selected at run time.
fn has_table_library(replay: Replay<'_>, code: &GpuCode) -> bool {
    code.libraries.len() > 1 && code.libraries.iter().any(|library| is_table_library(replay, library))
}

/// Whether the tables name a library as required by the component.
fn is_table_library(replay: Replay<'_>, library: &GpuCodeLibrary) -> bool {
    replay.knowledge.is_required_code_library(&replay.component.name, &library.file) == Some(true)
}

/// Whether the only possible code for the GPU results from linking parts of a library at run time.
pub(super) fn needs_runtime_linking(replay: Replay<'_>) -> bool {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let (Some(code), Some(capability)) = (replay.component.code.known(), capability) else { return false };
    let found = || required_code_libraries(replay, code).map(|one| coverage_in_container(replay, one, capability));
    found().any(|one| one.linkable) && found().all(|one| one.runnable() == 0)
}

/// A library of which the GPU runs only some code containers.
pub(super) struct PartlyCoveredLibrary<'a> {
    pub(super) library: &'a GpuCodeLibrary,
    /// How many containers it runs.
    pub(super) runnable: usize,
    /// How many containers there are.
    pub(super) all: usize,
    /// Whether the driver leaves out containers with PTX alone.
    pub(super) without_ptx: bool,
}

/// Returns the first library of which the GPU can run only some code containers.
pub(super) fn find_partly_covered_library<'a>(
    replay: Replay<'a>,
    loaded: &LoadedLibcuda,
) -> Option<PartlyCoveredLibrary<'a>> {
    let capability = replay.host.gpu.as_ref()?.capability?;
    let compiles = !matches!(ptx_compiler(replay, loaded), PtxCompiler::TooOld | PtxCompiler::Missing);
    required_code_libraries(replay, replay.component.code.known()?).find_map(|library| {
        let coverage = coverage_in_container(replay, library, capability);
        let of = |runnable| (coverage.share(runnable) == CoverageShare::Part).then_some(runnable);
        let all = of(coverage.runnable());
        let runnable = all.or_else(|| of(coverage.cubin).filter(|_| !compiles))?;
        Some(PartlyCoveredLibrary { library, runnable, all: coverage.all, without_ptx: all.is_none() })
    })
}

/// Whether the GPU may need a kind of code, native or PTX, that a description leaves open.
pub(super) fn has_unlisted_code(replay: Replay<'_>) -> bool {
    let code = replay.component.code.known();
    code.is_some_and(|code| required_code_libraries(replay, code).any(|library| library.has_unknown_code))
}

/// Returns the libraries that are selected at run time and contain no code for the GPU.
pub(super) fn unusable_optional_libraries(replay: Replay<'_>) -> Vec<&str> {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let (Some(code), Some(capability)) = (replay.component.code.known(), capability) else { return Vec::new() };
    if !has_table_library(replay, code) {
        return Vec::new();
    }
    let others = code.libraries.iter().filter(|library| !is_table_library(replay, library));
    let idle = others.filter(|library| {
        let coverage = coverage_in_container(replay, library, capability);
        coverage.all > 0 && !coverage.linkable && !coverage.has_unknown_code && coverage.runnable() == 0
    });
    idle.map(|library| library.file.as_str()).collect()
}

/// Returns the library at which the step stops, if the component has several.
pub(super) fn stopping_library<'a>(replay: Replay<'a>, loaded: &LoadedLibcuda) -> Option<&'a GpuCodeLibrary> {
    let code = replay.component.code.known().filter(|code| code.libraries.len() > 1)?;
    let capability = replay.host.gpu.as_ref()?.capability?;
    let compiler = ptx_compiler(replay, loaded);
    required_code_libraries(replay, code).find(|library| {
        let coverage = coverage_in_container(replay, library, capability);
        coverage.all > 0 && matches!(library_code_result(replay, coverage, compiler), StepResult::Stops(_))
    })
}

/// Whether the GPU is a Jetson module, by its class or a compute capability that no other GPU has.
fn is_jetson(replay: Replay<'_>) -> bool {
    let gpu = replay.host.gpu.as_ref();
    gpu.and_then(|gpu| gpu.class) == Some(GpuClass::Jetson)
        || gpu.and_then(|gpu| gpu.capability).is_some_and(|capability| replay.knowledge.is_tegra_capability(capability))
}

/// Returns whether the loaded driver compiles the PTX of the component.
pub(super) fn ptx_compiler(replay: Replay<'_>, loaded: &LoadedLibcuda) -> PtxCompiler {
    let Some(built) = replay.component.cuda.known() else { return PtxCompiler::Unknown };
    let readable = match loaded.cuda {
        Some(driver) => can_compile_ptx(replay.knowledge, *built, driver),
        None if is_beyond_known_branches(replay, loaded) => (*built <= replay.knowledge.newest_cuda()).then_some(true),
        None => surrounding_branches(replay, loaded).and_then(|around| {
            let [below, above] = around.map(|row| can_compile_ptx(replay.knowledge, *built, row.cuda));
            below.filter(|_| below == above)
        }),
    };
    match readable {
        None => return PtxCompiler::Unknown,
        Some(false) => return PtxCompiler::TooOld,
        Some(true) => {}
    }
    if !matches!(loaded.source, Some(LibcudaSource::Compat(_))) {
        return PtxCompiler::Works;
    }
    // The host's compiler is of another version than the library.
    match replay.image.compat.known().and_then(|compat| compat.ptx_compiler) {
        Some(true) => PtxCompiler::Works,
        Some(false) => PtxCompiler::Missing,
        None => PtxCompiler::NotSeen,
    }
}

/// Whether a driver compiles PTX of a CUDA version: that of its release or older, or a newer one with the same PTX
/// version.
fn can_compile_ptx(knowledge: Knowledge, built: CudaVersion, driver: CudaVersion) -> Option<bool> {
    if built.release() <= driver.release() {
        return Some(true);
    }
    let (built, driver) = (knowledge.target_set(built)?, knowledge.target_set(driver)?);
    Some(built.ptx_isa <= driver.ptx_isa)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::step_tests::{image_from_description, pool_hosts, step_result_and_text};

    #[test]
    fn ptx_newer_than_the_tables_is_unknown() {
        let readable = |built: &str, driver: &str| {
            can_compile_ptx(Knowledge::built_in(), built.parse().expect(built), driver.parse().expect(driver))
        };
        assert_eq!(readable("12.0", "12.4"), Some(true));
        assert_eq!(readable("12.4", "12.0"), Some(false));
        // CUDA 12.6 still writes the PTX version of 12.5.
        assert_eq!(readable("12.6", "12.5"), Some(true));
        assert_eq!(readable("99.1", "12.5"), None);
        assert_eq!(readable("12.5", "99.1"), Some(true));
    }

    /// `sm_80` on a module of 8.7 was measured and fails with 209; `sm_87` and PTX run (jax-ml/jax pull request
    /// 40492).
    #[test]
    fn a_jetson_module_runs_matching_native_code_and_ptx() {
        let pool = |gpu: &str| format!("gpu = \"{gpu}\"\ndriver = \"540.4.0\"\nlaunch = \"nvidia-runtime\"");
        let own = |cuda: &str, sass: &str, ptx: &str| {
            format!(
                "cuda_runtime = \"{cuda}\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n\
                 NVIDIA_VISIBLE_DEVICES = \"all\"\n[[gpu_code]]\ncomponent = \"own\"\nsass = [{sass}]\nptx = [{ptx}]"
            )
        };
        let torch = |build: &str| format!("platform = \"linux/arm64\"\n[packages.pip]\ntorch = \"{build}\"");
        let orin = "Jetson AGX Orin";
        for (text, gpu, expected) in [
            (own("12.2", "\"sm_80\", \"sm_86\"", ""), orin, "no-kernel-image 209"),
            (own("12.2", "\"sm_80\", \"sm_87\"", ""), orin, "passes"),
            (own("12.2", "\"sm_80\"", "\"compute_80\""), orin, "passes"),
            (own("12.2", "\"sm_87\"", ""), "L4", "no-kernel-image 209"),
            (own("12.2", "\"sm_86\"", ""), "L4", "passes"),
            // Not inspected: no compiler before 11.4 generates machine code for 8.7, even if it does for 8.0.
            (torch("1.12.1+cu113"), orin, "unknown"),
            (torch("1.13.1+cu117"), orin, "not seen"),
            (torch("1.12.1+cu113"), "L4", "not seen"),
        ] {
            let (result, message) =
                step_result_and_text(&image_from_description(&text), &pool_hosts(&pool(gpu))[0], StartStep::Code);
            assert_eq!(result, expected, "{text} {gpu}: {message}");
        }
    }

    #[test]
    fn an_older_gpu_stops_listed_code_but_not_a_bare_base() {
        let (old, new) = ("gpu = \"Tesla P100\"\ndriver = \"580.95.05\"", "gpu = \"T4\"\ndriver = \"580.95.05\"");
        for (text, pool, expected) in [
            ("base = \"nvidia/cuda:13.0.2-base-ubuntu24.04\"", old, "not seen"),
            ("base = \"nvidia/cuda:13.0.2-runtime-ubuntu24.04\"", old, "not seen"),
            ("base = \"nvidia/cuda:13.0.2-devel-ubuntu24.04\"", old, "not seen"),
            ("base = \"nvidia/cuda:13.0.2-base-ubuntu24.04\"", new, "not seen"),
            ("cuda_runtime = \"13.0\"\n[[gpu_code]]\ncomponent = \"own\"\nsass = [\"sm_75\"]\nptx = []", new, "passes"),
            (
                "cuda_runtime = \"13.0\"\n[[gpu_code]]\ncomponent = \"own\"\nsass = [\"sm_75\"]\nptx = []",
                old,
                "no-kernel-image 209",
            ),
        ] {
            let (result, message) =
                step_result_and_text(&image_from_description(text), &pool_hosts(pool)[0], StartStep::Code);
            assert_eq!(result, expected, "{text} {pool}: {message}");
        }
    }
}
