//! Code: whether every library of the component has code that the GPU can run.

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::GpuCode;
use crate::fact::Library;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::PoolField;
use crate::knowledge::FrameworkRow;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
use crate::knowledge::TorchRow;
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
use crate::start::coverage::Coverage;
use crate::start::coverage::Share;
use crate::start::coverage::coverage;
use crate::start::coverage::cubin_runs;
use crate::start::environment::Env;
use crate::start::floor;
use crate::start::libraries;
use crate::start::runtime::between;
use crate::start::runtime::beyond_tables;
use crate::start::runtime::is_container;

const CODE: Cite =
    Cite("CUDA C++ Programming Guide 13.4, Binary and PTX Compatibility; NVIDIA CUDA Compatibility guide, edition 615");

const TARGETS: Cite = Cite("ptxas of that toolkit: the targets that it compiles to");

/// Set to 1, PTX is never compiled.
const NO_PTX: &str = "CUDA_DISABLE_PTX_JIT";
/// The codes where it is, behind that of a component without code.
const SWITCHED_OFF: &[&[u16]] = &[&[209, 223], &[200, 223], &[48, 223]];
/// Set to 1, machine code is left aside, and PTX compiled in its place.
const ALL_PTX: &str = "CUDA_FORCE_PTX_JIT";

/// Whether the user-mode driver compiles the component's PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compiler {
    /// It does.
    Works,
    /// The PTX is newer than it.
    TooOld,
    /// The compat library came without it.
    Missing,
    /// Whether it came with the compat library was not seen.
    NotSeen,
    /// The driver's CUDA, or the component's, cannot be told.
    Unknown,
}

/// Is there code for the GPU?
pub(super) fn step(replay: Replay<'_>, loaded: &Loaded) -> StepRecord {
    let fact = &replay.component.code;
    let gpu = replay.host.gpu.as_ref();
    let row = gpu.and_then(|gpu| gpu.row).map(Basis::Row);
    let switches =
        [NO_PTX, ALL_PTX].into_iter().filter(|name| is_on(replay, name)).map(|name| Env::of(replay).basis(name));
    let facts = [Basis::Image(fact.id), Basis::Pool(PoolField::Gpu)].into_iter().chain(switches).chain(row);
    let record = |result| StepRecord::new(Step::Code, result, facts.clone(), CODE);
    let code = match &fact.state {
        State::Known(code) => code,
        State::Absent { .. } => return record(StepResult::NotApplicable),
        State::Unknown(_) if is_container(replay) => return record(StepResult::NotApplicable),
        State::Unknown(_) if replay.component.hollow && uses_none(replay, loaded) => {
            return record(StepResult::NotApplicable);
        }
        State::Unknown(_) => {
            if let Some(step) = floor::step(replay) {
                return step;
            }
            let Some((result, row)) = beyond_toolkit(replay, loaded) else {
                return record(if is_unlisted(replay) || replay.component.hollow {
                    StepResult::Unknown
                } else {
                    StepResult::NotSeen
                });
            };
            let more = [Basis::Image(replay.component.cuda.id), Basis::Pool(PoolField::Gpu), Basis::Row(row)];
            return StepRecord::new(Step::Code, result, more, TARGETS);
        }
    };
    if uses_none(replay, loaded) {
        return record(StepResult::NotApplicable);
    }
    let Some(capability) = gpu.and_then(|gpu| gpu.capability) else {
        return record(StepResult::Unknown);
    };
    let compiler = compiler(replay, loaded);
    let (mut found, mut from_ptx) = (StepResult::NotApplicable, false);
    for library in counted(replay, code) {
        let coverage = covered(replay, library, capability);
        if coverage.all > 0 {
            from_ptx |= coverage.ptx > 0;
            let result = of_library(replay, coverage, compiler);
            found = if mixed(replay, code) { undecided(found, result) } else { worse(found, result) };
        }
    }
    if !from_ptx {
        return record(found);
    }
    if found == StepResult::Passes(Route::Jit) && doubts(replay).is_some() {
        found = StepResult::Unknown;
    }
    let more = [Basis::Image(replay.component.cuda.id), Basis::Pool(PoolField::Driver)];
    let from_compat = matches!(loaded.source, Some(Source::Compat(_))).then_some(Basis::Image(replay.image.compat.id));
    StepRecord::new(Step::Code, found, facts.chain(more).chain(from_compat), CODE)
}

/// Whether no code is looked for: there is no libcuda, or what goes on without a GPU where a library is missing, which
/// looks for its code after its libraries.
fn uses_none(replay: Replay<'_>, loaded: &Loaded) -> bool {
    loaded.source == Some(Source::Nowhere) || libraries::goes_without(replay)
}

/// Code that nobody has seen, for a GPU outside of everything that the component's own toolkit makes code for. For an
/// older one there is neither machine code nor PTX that it could run, in a component that has any. For one of a
/// generation that came later there is no machine code, and whether there is PTX is what nobody has seen; that there is
/// any code at all is only known of a component that has a name, of the program of a framework image, or of a container
/// that is told to be for a range of GPUs. What calls a runtime that is all that is told, of the base as well, may do
/// so by PTX, which a driver of an older CUDA does not compile.
fn beyond_toolkit(replay: Replay<'_>, loaded: &Loaded) -> Option<(StepResult, &'static RowInfo)> {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability)?;
    let sets = replay.knowledge.target_sets_of(*replay.component.cuda.known()?);
    let row = sets.last()?;
    let targets = || sets.iter().flat_map(|row| row.targets);
    let oldest = targets().map(|target| target.capability).min()?;
    if loaded.source == Some(Source::Nowhere) {
        None
    } else {
        let ranged = || floor::of(replay).is_some();
        let has_code = !replay.component.anonymous || replay.component.program || ranged();
        if capability < oldest {
            return has_code.then(|| (no_code(replay), &row.info));
        }
        let foreign = replay.component.anonymous
            && replay.image.components.len() == 1
            && replay.image.base_cuda.is_unknown()
            && compiler(replay, loaded) == Compiler::TooOld;
        ((has_code && !targets().any(|target| makes_for(replay, *target, capability))) || foreign)
            .then_some((StepResult::Unknown, &row.info))
    }
}

/// Whether code that a table tells of runs on a GPU that its own CUDA makes no code for: what PTX gives the component, the
/// libraries of that CUDA may lack, and the table does not speak of them.
pub(super) fn outruns_its_libraries(replay: Replay<'_>) -> bool {
    let of_table =
        matches!(&replay.image.facts.get(replay.component.code.id).evidence, Evidence::Derived { row: Some(_), .. });
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let (Some(capability), Some(cuda), true) = (capability, replay.component.cuda.known(), of_table) else {
        return false;
    };
    let sets = replay.knowledge.target_sets_of(*cuda);
    let mut targets = sets.iter().flat_map(|row| row.targets).peekable();
    targets.peek().is_some() && !targets.any(|target| makes_for(replay, *target, capability))
}

/// Whether machine code for one target of a compiler runs on a GPU.
fn makes_for(replay: Replay<'_>, target: CodeTarget, capability: ComputeCapability) -> bool {
    cubin_runs(target, capability, is_jetson(replay), replay.knowledge)
}

/// Where it is reported that drivers refused PTX of the component on GPUs that its CUDA does not support, if PTX is all
/// that it has for the GPU.
pub(super) fn doubts(replay: Replay<'_>) -> Option<&'static str> {
    let of_component = |row: &&FrameworkRow| row.component == replay.component.name;
    let reports = replay.knowledge.frameworks().iter().find(of_component)?.ptx_doubted?;
    outruns_its_libraries(replay).then_some(reports)
}

/// Whether it is a build of its own, named as such, of a framework whose builds the tables list: of one that they do not
/// have nobody knows for which GPUs it is, nor that there is one.
fn is_unlisted(replay: Replay<'_>) -> bool {
    let facts = &replay.image.facts;
    let behind = |id: FactId, key: FactKey| match &facts.get(id).evidence {
        Evidence::Derived { from, .. } => from.iter().copied().find(|one| facts.get(*one).key == key),
        Evidence::Leaf(_) => None,
    };
    let text = |id: FactId| match &facts.get(id).state {
        State::Known(Value::Text(text)) => Some(text.as_str()),
        State::Known(_) | State::Absent { .. } | State::Unknown(_) => None,
    };
    let of_framework = replay.knowledge.built_framework().is_some_and(|row| row.component == replay.component.name);
    let Some(build) = behind(replay.component.code.id, FactKey::ComponentVariant).filter(|_| of_framework) else {
        return false;
    };
    let release = behind(build, FactKey::ComponentVersion).and_then(text).and_then(|text| replay.knowledge.torch(text));
    let listed = |row: &TorchRow, build: &str| {
        row.variants.contains(&build) || row.default_variant.iter().any(|default| default.value == build)
    };
    !release.zip(text(build)).is_some_and(|(row, build)| listed(row, build))
}

fn no_code(replay: Replay<'_>) -> StepResult {
    StepResult::Stops(Wall::new(Outcome::NoKernelImage, Codes::certain(code_of_none(replay))))
}

/// The code of a component that has none for the GPU.
fn code_of_none(replay: Replay<'_>) -> u16 {
    let codes = replay.component.codes;
    let runtime = replay.component.cuda.known();
    runtime.map_or(codes.no_code, |runtime| replay.knowledge.code_in(codes.no_code, *runtime))
}

/// Code that is there and that a variable keeps from being used: of PTX that may not be compiled NVIDIA documents a code of
/// its own, and which of the two comes nobody has measured.
fn switched_off(replay: Replay<'_>) -> StepResult {
    let code = code_of_none(replay);
    let possible = SWITCHED_OFF.iter().find(|list| list.first() == Some(&code)).filter(|_| is_on(replay, NO_PTX));
    let codes = possible.map_or(Codes::certain(code), |list| Codes::possible(list));
    StepResult::Stops(Wall::new(Outcome::NoKernelImage, codes))
}

/// Whether a variable of CUDA is on: 1 is what its documentation names.
fn is_on(replay: Replay<'_>, name: &str) -> bool {
    Env::of(replay).value(name) == Some("1")
}

/// How much of a library's code the GPU runs in the environment of the container.
fn covered(replay: Replay<'_>, library: &Library, capability: ComputeCapability) -> Coverage {
    let found = coverage(library, capability, is_jetson(replay), replay.knowledge);
    found.switched(is_on(replay, NO_PTX), is_on(replay, ALL_PTX))
}

/// The variable by which code that is there for the GPU is not used, behind a comma; empty where none is.
pub(super) fn switch(replay: Replay<'_>) -> String {
    let found = [NO_PTX, ALL_PTX].into_iter().find(|name| is_on(replay, name));
    found.map_or_else(String::new, |name| format!(", with {name}=1"))
}

/// What one library comes to.
fn of_library(replay: Replay<'_>, coverage: Coverage, compiler: Compiler) -> StepResult {
    let codes = replay.component.codes;
    match coverage.share(coverage.runnable()) {
        Share::Part => return StepResult::Unknown,
        Share::None if coverage.linkable || coverage.unsaid => return StepResult::Unknown,
        Share::None if coverage.switched_off => return switched_off(replay),
        Share::None => return no_code(replay),
        Share::Most => {}
    }
    match compiler {
        Compiler::Works if coverage.ptx > 0 => StepResult::Passes(Route::Jit),
        _ if coverage.share(coverage.cubin) == Share::Most => StepResult::Passes(Route::Native),
        Compiler::TooOld | Compiler::Missing if coverage.cubin > 0 => StepResult::Unknown,
        Compiler::TooOld => StepResult::Stops(Wall::new(Outcome::UnsupportedPtx, Codes::certain(codes.bad_ptx))),
        Compiler::Missing => StepResult::Stops(Wall::new(Outcome::JitFailed, Codes::certain(221))),
        Compiler::Works | Compiler::NotSeen | Compiler::Unknown => StepResult::Unknown,
    }
}

/// The result of two libraries: a certain stop before what cannot be told, the first of two stops.
fn worse(one: StepResult, other: StepResult) -> StepResult {
    match (one, other) {
        (StepResult::Stops(_), _) => one,
        (_, StepResult::Stops(_)) => other,
        (StepResult::Unknown, _) | (_, StepResult::Unknown) => StepResult::Unknown,
        (StepResult::Passes(one), StepResult::Passes(other)) => StepResult::Passes(one.max(other)),
        (StepResult::Passes(_), _) => one,
        _ => other,
    }
}

/// Whether nobody says which of several libraries the component cannot do without: none is named by the tables, or one
/// lies in several places.
pub(super) fn mixed(replay: Replay<'_>, code: &GpuCode) -> bool {
    let name = |library: &Library| library.file.rsplit('/').next().unwrap_or_default().to_owned();
    let twice = || {
        let mut names: Vec<String> = counted(replay, code).map(name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        names.len() < all
    };
    code.unsorted && code.libraries.len() > 1 && (!named(replay, code) || twice())
}

/// The result of two libraries of which the component may need one alone: what both come to.
fn undecided(one: StepResult, other: StepResult) -> StepResult {
    match (one, other) {
        (StepResult::Stops(_), StepResult::Passes(_)) | (StepResult::Passes(_), StepResult::Stops(_)) => {
            StepResult::Unknown
        }
        (StepResult::Unknown, _) | (_, StepResult::Unknown) => StepResult::Unknown,
        _ => worse(one, other),
    }
}

/// The libraries that the component cannot do without: those that the tables name where one of them was seen,
/// else all.
fn counted<'a>(replay: Replay<'a>, code: &'a GpuCode) -> impl Iterator<Item = &'a Library> {
    let named = named(replay, code);
    code.libraries.iter().filter(move |library| !named || is_named(replay, library))
}

/// Whether one of several libraries is named by the tables, so that the others are picked at run time.
fn named(replay: Replay<'_>, code: &GpuCode) -> bool {
    code.libraries.len() > 1 && code.libraries.iter().any(|library| is_named(replay, library))
}

fn is_named(replay: Replay<'_>, library: &Library) -> bool {
    replay.knowledge.code_library(&replay.component.name, &library.file) == Some(true)
}

/// Whether code for the GPU may come of linking parts of a library while the program runs, and of nothing else.
pub(super) fn to_link(replay: Replay<'_>) -> bool {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let (Some(code), Some(capability)) = (replay.component.code.known(), capability) else { return false };
    let found = || counted(replay, code).map(|one| covered(replay, one, capability));
    found().any(|one| one.linkable) && found().all(|one| one.runnable() == 0)
}

/// A library of which the GPU runs some containers only.
pub(super) struct Partly<'a> {
    pub(super) library: &'a Library,
    /// How many containers it runs.
    pub(super) runnable: usize,
    /// How many containers there are.
    pub(super) all: usize,
    /// Whether the driver leaves out containers with PTX alone.
    pub(super) without_ptx: bool,
}

/// The first library of which the GPU runs some containers only.
pub(super) fn partly<'a>(replay: Replay<'a>, loaded: &Loaded) -> Option<Partly<'a>> {
    let capability = replay.host.gpu.as_ref()?.capability?;
    let compiles = !matches!(compiler(replay, loaded), Compiler::TooOld | Compiler::Missing);
    counted(replay, replay.component.code.known()?).find_map(|library| {
        let coverage = covered(replay, library, capability);
        let of = |runnable| (coverage.share(runnable) == Share::Part).then_some(runnable);
        let all = of(coverage.runnable());
        let runnable = all.or_else(|| of(coverage.cubin).filter(|_| !compiles))?;
        Some(Partly { library, runnable, all: coverage.all, without_ptx: all.is_none() })
    })
}

/// Whether the code that the GPU would need is of a kind that nobody has spoken of.
pub(super) fn unsaid(replay: Replay<'_>) -> bool {
    let code = replay.component.code.known();
    code.is_some_and(|code| counted(replay, code).any(|library| library.unsaid))
}

/// Libraries that are picked at run time and have no code for the GPU.
pub(super) fn idle(replay: Replay<'_>) -> Vec<&str> {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let (Some(code), Some(capability)) = (replay.component.code.known(), capability) else { return Vec::new() };
    if !named(replay, code) {
        return Vec::new();
    }
    let others = code.libraries.iter().filter(|library| !is_named(replay, library));
    let idle = others.filter(|library| {
        let coverage = covered(replay, library, capability);
        coverage.all > 0 && !coverage.linkable && !coverage.unsaid && coverage.runnable() == 0
    });
    idle.map(|library| library.file.as_str()).collect()
}

/// The library at which the step stops, where the component has several.
pub(super) fn deciding<'a>(replay: Replay<'a>, loaded: &Loaded) -> Option<&'a Library> {
    let code = replay.component.code.known().filter(|code| code.libraries.len() > 1)?;
    let capability = replay.host.gpu.as_ref()?.capability?;
    let compiler = compiler(replay, loaded);
    counted(replay, code).find(|library| {
        let coverage = covered(replay, library, capability);
        coverage.all > 0 && matches!(of_library(replay, coverage, compiler), StepResult::Stops(_))
    })
}

/// Tegra modules are told by their class, and by a capability that no other GPU has.
fn is_jetson(replay: Replay<'_>) -> bool {
    let gpu = replay.host.gpu.as_ref();
    gpu.and_then(|gpu| gpu.class) == Some(GpuClass::Jetson)
        || gpu.and_then(|gpu| gpu.capability).is_some_and(|capability| replay.knowledge.tegra_capability(capability))
}

/// Whether the loaded driver compiles what the component holds.
pub(super) fn compiler(replay: Replay<'_>, loaded: &Loaded) -> Compiler {
    let Some(built) = replay.component.cuda.known() else { return Compiler::Unknown };
    let readable = match loaded.cuda {
        Some(driver) => ptx_readable(replay.knowledge, *built, driver),
        None if beyond_tables(replay, loaded) => (*built <= replay.knowledge.newest_cuda()).then_some(true),
        None => between(replay, loaded).and_then(|around| {
            let [below, above] = around.map(|row| ptx_readable(replay.knowledge, *built, row.cuda));
            below.filter(|_| below == above)
        }),
    };
    match readable {
        None => return Compiler::Unknown,
        Some(false) => return Compiler::TooOld,
        Some(true) => {}
    }
    if !matches!(loaded.source, Some(Source::Compat(_))) {
        return Compiler::Works;
    }
    // The host's compiler is of another version than the library.
    match replay.image.compat.known().and_then(|compat| compat.ptx_compiler) {
        Some(true) => Compiler::Works,
        Some(false) => Compiler::Missing,
        None => Compiler::NotSeen,
    }
}

/// A driver compiles PTX of its own CUDA version and older, and of a newer one that writes the same PTX version.
fn ptx_readable(knowledge: Knowledge, built: CudaVersion, driver: CudaVersion) -> Option<bool> {
    if built.release() <= driver.release() {
        return Some(true);
    }
    let (built, driver) = (knowledge.target_set(built)?, knowledge.target_set(driver)?);
    Some(built.ptx_isa <= driver.ptx_isa)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::step_tests::hosts;
    use crate::start::step_tests::image;
    use crate::start::step_tests::step;

    #[test]
    fn ptx_is_read_by_its_version_and_newer_than_the_tables_is_not_told() {
        let readable = |built: &str, driver: &str| {
            ptx_readable(Knowledge::built_in(), built.parse().expect(built), driver.parse().expect(driver))
        };
        assert_eq!(readable("12.0", "12.4"), Some(true));
        assert_eq!(readable("12.4", "12.0"), Some(false));
        // CUDA 12.6 still writes the PTX version of 12.5.
        assert_eq!(readable("12.6", "12.5"), Some(true));
        assert_eq!(readable("99.1", "12.5"), None);
        assert_eq!(readable("12.5", "99.1"), Some(true));
    }

    /// `sm_80` on a module of 8.7 was tried and ends in 209; `sm_87` and PTX run (jax-ml/jax pull request 40492).
    #[test]
    fn a_module_runs_its_own_machine_code_and_ptx() {
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
            // What nobody has seen: before 11.4 no compiler makes machine code for 8.7, whatever it makes for 8.0.
            (torch("1.12.1+cu113"), orin, "unknown"),
            (torch("1.13.1+cu117"), orin, "not seen"),
            (torch("1.12.1+cu113"), "L4", "not seen"),
        ] {
            let (result, told) = step(&image(&text), &hosts(&pool(gpu))[0], Step::Code);
            assert_eq!(result, expected, "{text} {gpu}: {told}");
        }
    }

    #[test]
    fn an_older_gpu_is_refused_by_what_has_code_and_not_by_a_bare_base() {
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
            let (result, told) = step(&image(text), &hosts(pool)[0], Step::Code);
            assert_eq!(result, expected, "{text} {pool}: {told}");
        }
    }
}
