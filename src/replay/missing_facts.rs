//! Missing facts: what an unknown step lacks, why, and how to supply it.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fleet::PoolField;
use crate::model::cause::{BuildForGpu, CallerFailure, Cause, PartlyCoveredCode};
use crate::model::fact::{DriverLibrary, FactId};
use crate::replay::cuda_callers::CudaCallers;
use crate::replay::device::{CUDA_VISIBLE_DEVICES, unknown_visible_device};
use crate::replay::gpu_code::{PartlyCoveredLibrary, PtxCompiler};
use crate::replay::gpu_request::{GpuRequestKind, VISIBLE_DEVICES_VARIABLE, first_device_with, resolve_gpu_request};
use crate::replay::{
    Basis, LibcudaSource, LoadedLibcuda, Replay, StartStep, StepRecord, StepResult, gpu_code, library_messages, loader,
    minimum_capability, runtime, user_mode,
};

/// A fact that is needed to decide a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingFact {
    /// Name of the fact, such as `pool.driver` or `image.compat`.
    pub key: String,
    /// Why it is missing, and how to supply it.
    pub cause: Cause,
}

/// Returns the facts that an unknown step lacks.
pub fn missing_facts(replay: Replay<'_>, record: &StepRecord) -> Vec<MissingFact> {
    let of_image = |id: FactId| {
        let cause = replay.image.unknown_cause(id)?.clone();
        Some(MissingFact { key: replay.image.facts.get(id).name(), cause })
    };
    let mut found: Vec<MissingFact> = record
        .facts
        .iter()
        .filter_map(|basis| match basis {
            Basis::Image(id) => of_image(id),
            // The compute capability decides which code runs, whatever the brand.
            Basis::Pool(PoolField::Gpu) if record.step == StartStep::Code && has_capability(replay) => None,
            // The number of devices decides this step, whatever the GPU.
            Basis::Pool(PoolField::Gpu) if record.step == StartStep::Devices => None,
            // For a Jetson module, only its CUDA version decides.
            Basis::Pool(PoolField::Gpu) if record.step == StartStep::UserMode && user_mode::is_jetson(replay) => None,
            // A driver knows capabilities, whatever the brand; and its branch, whatever its CUDA.
            Basis::Pool(field) if record.step == StartStep::GpuKnown => explain_missing_pool_field(replay, field)
                .filter(|_| match field {
                    PoolField::Gpu => !has_capability(replay),
                    _ => replay.host.driver.is_none(),
                }),
            Basis::Pool(field) => explain_missing_pool_field(replay, field),
            Basis::Entry(_) | Basis::Row(_) => None,
        })
        .collect();
    if record.step == StartStep::Devices {
        found.extend(missing_device_fact(replay));
    }
    found.dedup();
    if found.is_empty() && record.result == StepResult::Unknown {
        found.extend(missing_table_entry(replay, record.step));
    }
    found
}

/// Whether the compute capability of the GPU is known.
fn has_capability(replay: Replay<'_>) -> bool {
    replay.host.gpu.as_ref().is_some_and(|gpu| gpu.capability.is_some())
}

/// Returns what an unknown step lacks if all facts and fields are known: an answer that the tables do not contain.
fn missing_table_entry(replay: Replay<'_>, step: StartStep) -> Option<MissingFact> {
    let name = |id: FactId| replay.image.facts.get(id).name();
    let cuda = &replay.component.cuda;
    let loaded = loader::loader_step(replay).0;
    let (key, cause) = match step {
        _ if let Some(failure) = missing_caller_failure(replay, step, &loaded) => {
            (name(cuda.id), Cause::NoCudaCaller { failure })
        }
        StartStep::Capabilities => (name(replay.image.driver_libraries.id), Cause::UvmWithoutCompute),
        StartStep::Libraries => {
            let (id, cause) = library_messages::unlocated_libraries_cause(replay)?;
            (name(id), cause)
        }
        StartStep::Loader if let Some(library) = unversioned_libcuda(replay) => {
            let path = library.path.clone();
            let cause = if library.is_package() {
                Cause::DriverPackageNotPinned { package: path }
            } else {
                Cause::DriverRelease { path }
            };
            (name(replay.image.driver_libraries.id), cause)
        }
        StartStep::Loader if replay.image.compat.known().is_some_and(|compat| !compat.root_seen) => {
            (name(replay.image.compat.id), Cause::CudaLinkTarget)
        }
        StartStep::Loader => {
            let library = replay.image.compat.known()?.libraries.iter().find(|library| library.unread)?;
            (name(replay.image.compat.id), Cause::DriverBranchesOfCompat { libcuda: library.version })
        }
        StartStep::UserMode
            if let Some(LibcudaSource::Image(path)) = loaded.source.filter(|_| loaded.version.is_none()) =>
        {
            (name(replay.image.driver_libraries.id), Cause::LibcudaVersion { path: path.to_owned() })
        }
        StartStep::UserMode if user_mode::is_jetson(replay) && replay.host.driver_cuda.is_some() => {
            let cause = Cause::CompatOnModule { compat: loaded.cuda?, module: replay.host.driver_cuda? };
            (name(replay.image.compat.id), cause)
        }
        StartStep::UserMode => {
            let Some(LibcudaSource::Compat(library)) = &loaded.source else { return None };
            let (driver, gpu) = (replay.host.driver?, replay.host.gpu.as_ref()?.name.clone());
            (name(replay.image.compat.id), Cause::CompatOnGpu { libcuda: library.version, gpu, driver })
        }
        StartStep::GpuKnown => return unknown_gpu_support_fact(replay),
        StartStep::Runtime if runtime::is_beyond_known_toolkits(replay.knowledge, *cuda.known()?) => {
            (name(cuda.id), Cause::CudaNewer { cuda: *cuda.known()?, date: replay.knowledge.newest_source_date() })
        }
        StartStep::Runtime if let Some(floor) = runtime::disputed_floor(replay, &loaded) => {
            let cause = Cause::DriverMinimumDisputed {
                min_driver: floor.min_driver,
                cuda_major: floor.cuda_major,
                from_branch: floor.from_branch?,
                cuda: *cuda.known()?,
                libcuda: loaded.version?,
            };
            (PoolField::Driver.name().to_owned(), cause)
        }
        StartStep::Runtime if let Some((driver, required)) = runtime::driver_ahead_of_branch(replay, &loaded) => {
            let cause = Cause::DriverAheadOfBranch { driver, cuda: loaded.cuda?, required };
            (PoolField::Driver.name().to_owned(), cause)
        }
        StartStep::Runtime if let Some((row, driver)) = runtime::toolkit_too_new_for_loaded(replay, &loaded) => {
            let component = replay.component.name.clone();
            let cause = Cause::CudaReleaseOfComponent { newest: row.version, driver, cuda: *cuda.known()?, component };
            (name(cuda.id), cause)
        }
        // What is missing is what the loader's step lacks.
        StartStep::Runtime if replay.host.driver.is_some() => return None,
        StartStep::Runtime => (PoolField::Driver.name().to_owned(), Cause::DriverByCudaVersion),
        StartStep::Code => return missing_code_fact(replay, &loaded),
        _ => return None,
    };
    Some(MissingFact { key, cause })
}

/// Returns how a program that calls CUDA would fail, if the step is unknown because none was found.
fn missing_caller_failure(replay: Replay<'_>, step: StartStep, loaded: &LoadedLibcuda) -> Option<CallerFailure> {
    let nowhere = loaded.source == Some(LibcudaSource::Nowhere);
    let no_gpu = matches!(step, StartStep::Devices | StartStep::Capabilities) || nowhere;
    let unknown = CudaCallers::of(replay).result_of_failure(step, no_gpu) == Some(StepResult::Unknown);
    match step {
        _ if !unknown => None,
        StartStep::Devices | StartStep::Capabilities | StartStep::Loader if nowhere => Some(CallerFailure::NoLibcuda),
        StartStep::Devices => Some(CallerFailure::NoGpu),
        _ => Some(CallerFailure::AtThisStep),
    }
}

/// Returns what is unknown about the GPU code of the component.
fn missing_code_fact(replay: Replay<'_>, loaded: &LoadedLibcuda) -> Option<MissingFact> {
    let name = |id: FactId| replay.image.facts.get(id).name();
    let (code, cuda) = (&replay.component.code, &replay.component.cuda);
    let component = replay.component.display_name().to_owned();
    let gpu_name = || Some(replay.host.gpu.as_ref()?.name.clone());
    let (key, cause) = if let Some((id, cause)) =
        minimum_capability::unknown_support(replay).filter(|_| code.is_unknown())
    {
        (name(id), cause)
    } else if code.is_unknown() {
        let (gpu, cuda, build) = (gpu_name()?, release_text(*cuda.known()?), Box::new(build_for_gpu(replay)));
        let cause = if gpu_code::ptx_compiler(replay, loaded) == PtxCompiler::TooOld {
            Cause::NativeCodeRequired { component, gpu, cuda, build }
        } else {
            Cause::PtxRequired { component, gpu, cuda, build }
        };
        (name(code.id), cause)
    } else if let Some(partly) = gpu_code::find_partly_covered_library(replay, loaded) {
        let PartlyCoveredLibrary { library, runnable, all, without_ptx } = partly;
        let file = if library.file.is_empty() { component.clone() } else { library.file.clone() };
        let variable = gpu_code::disabling_variable(replay).map(str::to_owned);
        let gpu = gpu_name()?;
        let code_of = PartlyCoveredCode { component, file, gpu, runnable, all, without_ptx, variable };
        (name(code.id), Cause::CodePartlyCovered { code: Box::new(code_of) })
    } else if let Some(reports) =
        gpu_code::reported_ptx_failures(replay).filter(|_| gpu_code::ptx_compiler(replay, loaded) == PtxCompiler::Works)
    {
        let (gpu, reports, build) = (gpu_name()?, reports.to_owned(), Box::new(build_for_gpu(replay)));
        (name(cuda.id), Cause::PtxFailuresReported { component, gpu, reports, build })
    } else if gpu_code::has_unlisted_code(replay) {
        (name(code.id), Cause::CodeNotListed { component })
    } else if gpu_code::needs_runtime_linking(replay) {
        (name(code.id), Cause::PtxLinkingNotTested { component })
    } else if code.known().is_some_and(|code| gpu_code::is_required_library_unknown(replay, code)) {
        (name(code.id), Cause::RequiredLibraries { component })
    } else {
        match gpu_code::ptx_compiler(replay, loaded) {
            PtxCompiler::NotSeen => (name(replay.image.compat.id), Cause::PtxCompilerOfCompat),
            PtxCompiler::Unknown if cuda.known().is_some() && loaded.cuda.is_some() => {
                (name(cuda.id), Cause::PtxNewer { cuda: *cuda.known()?, date: replay.knowledge.newest_source_date() })
            }
            _ => return None,
        }
    };
    Some(MissingFact { key, cause })
}

/// Returns major and minor, which decide compatibility, of a version that may have a patch.
fn release_text(version: CudaVersion) -> String {
    if version.is_major_only() { version.to_string() } else { format!("{}.{}", version.major(), version.minor()) }
}

/// Returns the build with a toolkit that compiles native code for the GPU of the node.
fn build_for_gpu(replay: Replay<'_>) -> BuildForGpu {
    let gpu = replay.host.gpu.as_ref();
    let row = gpu.and_then(|gpu| replay.knowledge.architecture(gpu.capability?));
    match (row, gpu) {
        (Some(row), Some(gpu)) => {
            BuildForGpu::Toolkit { gpu: gpu.name.clone(), first: release_text(row.first_toolkit) }
        }
        _ => BuildForGpu::AnyToolkit,
    }
}

/// Returns why it is unknown whether a driver supports a GPU.
fn unknown_gpu_support_fact(replay: Replay<'_>) -> Option<MissingFact> {
    let (host, knowledge) = (replay.host, replay.knowledge);
    let capability = host.gpu.as_ref()?.capability?;
    let date = knowledge.newest_source_date();
    let (field, cause) = if user_mode::is_jetson(replay) {
        let driver = host.driver?;
        // Of a release that has its row something else is missing.
        if knowledge.jetson_release(driver).is_some() {
            return None;
        }
        (PoolField::Driver, Cause::ModuleReleaseNotInTables { driver })
    } else if knowledge.architecture(capability).is_none() {
        let newest = knowledge.architectures().iter().flat_map(|row| row.capabilities).max();
        let cause = if newest < Some(&capability) {
            Cause::CapabilityNewer { capability, date }
        } else {
            Cause::CapabilityNotInTables { capability }
        };
        (PoolField::Gpu, cause)
    } else {
        let (branch, newest) = (host.driver_branch()?, knowledge.newest_driver_branch()?.branch);
        let cause = if newest < branch {
            Cause::DriverBranchNewer { branch, date }
        } else {
            Cause::DriverBranchNotInTables { branch }
        };
        (PoolField::Driver, cause)
    };
    Some(MissingFact { key: field.name().to_owned(), cause })
}

/// Returns a libcuda of the image whose driver release is unknown.
fn unversioned_libcuda(replay: Replay<'_>) -> Option<&DriverLibrary> {
    let mut libraries = replay.image.driver_libraries.known().into_iter().flatten();
    let open = |library: &DriverLibrary| library.version.is_none_or(DriverVersion::is_branch_only);
    libraries.find(|library| library.libcuda && !library.has_no_version() && open(library))
}

/// Returns why a pool field has no usable value and how to set it; `None` if it has one.
fn explain_missing_pool_field(replay: Replay<'_>, field: PoolField) -> Option<MissingFact> {
    let host = replay.host;
    let gpu = host.gpu.as_ref();
    let cause = match field {
        PoolField::Toolkit if host.toolkit_newer => {
            let date = replay.knowledge.newest_source_date();
            match host.toolkit_version {
                Some(version) => Cause::ToolkitNewer { version: version.to_string(), date },
                None => Cause::AnyToolkitNewer { date },
            }
        }
        PoolField::Driver if host.driver.is_none() => pool_field_not_set("driver"),
        PoolField::Driver if host.driver_cuda.is_none() => {
            let newest = replay.knowledge.newest_driver_branch().map(|row| row.branch);
            if host.driver_branch() > newest {
                Cause::PoolDriverNewer { date: replay.knowledge.newest_source_date() }
            } else {
                Cause::PoolDriverNotInTables
            }
        }
        PoolField::Gpu if gpu.is_none_or(|gpu| !gpu.named && (gpu.capability.is_none() || gpu.brand.is_none())) => {
            pool_field_not_set("gpu")
        }
        PoolField::Gpu if gpu.is_some_and(|gpu| gpu.capability.is_none()) => Cause::PoolGpuNotInTables,
        PoolField::Brand if host.lacks_brand() => Cause::PoolBrand,
        PoolField::LibraryDirectory if host.library_directory.is_none() => Cause::LibraryDirectoryNotSet,
        _ => return None,
    };
    Some(MissingFact { key: field.name().to_owned(), cause })
}

/// Returns the cause for a field that a pool does not set.
fn pool_field_not_set(field: &str) -> Cause {
    Cause::PoolFieldNotSet { field: field.to_owned() }
}

/// Returns what has to be known about a device that the environment requests.
fn missing_device_fact(replay: Replay<'_>) -> Option<MissingFact> {
    let env = replay.environment();
    if let Some(name) = unknown_visible_device(env, replay.host) {
        return Some(missing_visible_device_fact(name));
    }
    if resolve_gpu_request(env, replay.host).kind != GpuRequestKind::UnknownDevice {
        return None;
    }
    let name = first_device_with(env, replay.host, None)?;
    let by_index = name.rsplit('=').next().is_some_and(is_number);
    let name = name.clone();
    Some(if by_index {
        MissingFact { key: PoolField::Gpu.name().to_owned(), cause: Cause::NodeGpu { name } }
    } else {
        MissingFact { key: format!("env.{VISIBLE_DEVICES_VARIABLE}"), cause: Cause::NodeDevice { name } }
    })
}

/// Returns what has to be known about a GPU that `CUDA_VISIBLE_DEVICES` lists.
fn missing_visible_device_fact(name: &str) -> MissingFact {
    let (name, variable) = (name.to_owned(), CUDA_VISIBLE_DEVICES.to_owned());
    // A word that is no identifier is read as a number, with any suffix.
    if name.trim_start_matches('+').starts_with(|sign: char| sign.is_ascii_digit()) {
        MissingFact { key: PoolField::Gpu.name().to_owned(), cause: Cause::VisibleGpu { name, variable } }
    } else {
        MissingFact { key: format!("env.{CUDA_VISIBLE_DEVICES}"), cause: Cause::VisibleDevice { name, variable } }
    }
}

/// Whether a device name consists of decimal digits.
fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::replay::StartStep;
    use crate::replay::step_tests::{image_from_description, pool_hosts, step_result_and_text};

    #[test]
    fn missing_code_does_not_mention_the_brand() {
        let image = image_from_description("base = \"nvcr.io/nvidia/pytorch:20.10-py3\"\n");
        let code_step = |fields: &str| step_result_and_text(&image, &pool_hosts(fields)[0], StartStep::Code);
        let (result, text) = code_step("gpu = \"GB10\"\ndriver = \"580.95.05\"\nplatform = \"linux/amd64\"");
        assert!(result == "unknown" && !text.contains("brand") && text.contains("only if it contains PTX"), "{text}");
        let (result, text) = code_step("gpu = \"Own\"\ndriver = \"580.95.05\"\nbrand = \"tesla\"");
        assert!(result != "unknown" || text.contains("GPU"), "{result}: {text}");
    }
}
