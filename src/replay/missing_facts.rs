//! Missing facts: what an unknown step lacks, why, and how to supply it.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fleet::PoolField;
use crate::model::cause::Explanation;
use crate::model::fact::{DriverLibrary, FactId};
use crate::replay::cuda_callers::CudaCallers;
use crate::replay::device::{CUDA_VISIBLE_DEVICES, unknown_visible_device};
use crate::replay::gpu_code::{PartlyCoveredLibrary, PtxCompiler};
use crate::replay::gpu_request::{GpuRequestKind, VISIBLE_DEVICES_VARIABLE, first_device_with, resolve_gpu_request};
use crate::replay::{
    Basis, LibcudaSource, LoadedLibcuda, Replay, StartStep, StepRecord, StepResult, gpu_code, library_messages, loader,
    minimum_capability, runtime, user_mode,
};

/// Advice for a version that is newer than the tables.
const NEWER_DATABASE_ADVICE: &str = "use a newer imagelint: its compatibility database ends before it";
/// Advice for an unread ELF note of a libcuda in the image.
const ELF_NOTE_ADVICE: &str =
    "scan the built image, or set `elf_note` of this libcuda under [files] of an image description";

/// A fact that is needed to decide a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingFact {
    /// Name of the fact, such as `pool.driver` or `image.compat`.
    pub key: String,
    /// Why it is missing.
    pub reason: Explanation,
    /// How to supply it.
    pub supply: String,
}

/// Returns the facts that an unknown step lacks.
pub fn missing_facts(replay: Replay<'_>, record: &StepRecord) -> Vec<MissingFact> {
    let of_image = |id: FactId| {
        let why = replay.image.unknown_cause(id)?;
        let key = replay.image.facts.get(id).name();
        Some(MissingFact { key, reason: why.explain(), supply: why.remedy() })
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
#[expect(clippy::too_many_lines, reason = "one step after the other")]
fn missing_table_entry(replay: Replay<'_>, step: StartStep) -> Option<MissingFact> {
    let name = |id: FactId| replay.image.facts.get(id).name();
    let cuda = &replay.component.cuda;
    let loaded = loader::loader_step(replay).0;
    let newer = |what: String| {
        format!("{what} is newer than the compatibility database of {}", replay.knowledge.newest_source_date())
    };
    let (key, reason, supply) = match step {
        _ if let Some(reason) = missing_caller_reason(replay, step, &loaded) => {
            (name(cuda.id), reason, "name the packages or [[gpu_code]] of the image in an image description")
        }
        StartStep::Capabilities => {
            let reason =
                "whether the libcuda of the image finds /dev/nvidia-uvm without the capability compute is unknown";
            (name(replay.image.driver_libraries.id), reason.to_owned(), "request the capability compute")
        }
        StartStep::Libraries => {
            let (id, reason) = library_messages::unlocated_libraries_reason(replay)?;
            (name(id), reason, "install it, or scan the built image")
        }
        StartStep::Loader if let Some(library) = unversioned_libcuda(replay) => {
            let id = name(replay.image.driver_libraries.id);
            if library.is_package() {
                let reason = format!("{} installs an unpinned driver package", library.path);
                (id, reason, "install only the toolkit, such as cuda-toolkit-12-2, or pin the driver package")
            } else {
                (id, format!("the driver release of {} is unknown", library.path), "pin its version")
            }
        }
        StartStep::Loader if replay.image.compat.known().is_some_and(|compat| !compat.root_seen) => {
            let reason = "the target of the link `/usr/local/cuda` in the image is unknown".to_owned();
            (
                name(replay.image.compat.id),
                reason,
                "declare the link under [files] of an image description, or scan the image",
            )
        }
        StartStep::Loader => {
            let library = replay.image.compat.known()?.libraries.iter().find(|library| library.unread)?;
            let reason =
                format!("whether libcuda {} of the image lists its driver branches is unknown", library.version);
            (name(replay.image.compat.id), reason, ELF_NOTE_ADVICE)
        }
        StartStep::UserMode
            if let Some(LibcudaSource::Image(path)) = loaded.source.filter(|_| loaded.version.is_none()) =>
        {
            let reason = format!("the driver version of {path} is unknown");
            let supply = "declare the file with its version under [files] of an image description, or scan the image";
            (name(replay.image.driver_libraries.id), reason, supply)
        }
        StartStep::UserMode if user_mode::is_jetson(replay) && replay.host.driver_cuda.is_some() => {
            let reason = format!(
                "no source states whether cuda-compat of CUDA {} runs on a module release with CUDA {}",
                loaded.cuda?, replay.host.driver_cuda?
            );
            (name(replay.image.compat.id), reason, "use an image for the CUDA version of the module release")
        }
        StartStep::UserMode => {
            let Some(LibcudaSource::Compat(library)) = &loaded.source else { return None };
            let (driver, gpu) = (replay.host.driver?, replay.host.gpu.as_ref()?);
            let reason = format!(
                "no source states whether libcuda {} runs on {} with driver {driver}",
                library.version, gpu.name
            );
            (name(replay.image.compat.id), reason, ELF_NOTE_ADVICE)
        }
        StartStep::GpuKnown => return missing_gpu_support(replay),
        StartStep::Runtime if runtime::is_beyond_known_toolkits(replay.knowledge, *cuda.known()?) => {
            let reason = newer(format!("CUDA {}", cuda.known()?));
            (name(cuda.id), reason, NEWER_DATABASE_ADVICE)
        }
        StartStep::Runtime if let Some(floor) = runtime::disputed_floor(replay, &loaded) => {
            let reason = format!(
                "NVIDIA's release notes require driver {} for CUDA {}, its compatibility guide branch {}: no source states what the CUDA {} runtime does on {}",
                floor.min_driver,
                floor.cuda_major,
                floor.from_branch?,
                cuda.known()?,
                loaded.version?
            );
            (PoolField::Driver.name().to_owned(), reason, "use that driver release or newer")
        }
        StartStep::Runtime if let Some((version, oldest)) = runtime::driver_ahead_of_branch(replay, &loaded) => {
            let reason = format!(
                "driver {version} itself reports CUDA {}, and NVIDIA's release notes require driver {oldest}: no source states what the runtime does on the older one",
                loaded.cuda?
            );
            (PoolField::Driver.name().to_owned(), reason, "use that driver release or newer")
        }
        StartStep::Runtime if let Some((row, oldest)) = runtime::toolkit_too_new_for_loaded(replay, &loaded) => {
            let reason = format!(
                "CUDA {} needs driver {oldest}, other releases of CUDA {} an older one: which release {} uses is unknown",
                row.version,
                cuda.known()?,
                replay.component.name
            );
            (name(cuda.id), reason, "set the full version of the CUDA runtime, or use that driver release or newer")
        }
        // What is missing is what the loader's step lacks.
        StartStep::Runtime if replay.host.driver.is_some() => return None,
        StartStep::Runtime => {
            let reason = "the CUDA version of the driver does not show whether the driver is new enough".to_owned();
            (PoolField::Driver.name().to_owned(), reason, "set `driver` of the pool")
        }
        StartStep::Code => return missing_code_fact(replay, &loaded),
        _ => return None,
    };
    Some(MissingFact { key, reason: Explanation::plain(reason), supply: supply.to_owned() })
}

/// Describes what would happen to a program that calls CUDA, if the step is unknown because none was found.
fn missing_caller_reason(replay: Replay<'_>, step: StartStep, loaded: &LoadedLibcuda) -> Option<String> {
    let nowhere = loaded.source == Some(LibcudaSource::Nowhere);
    let no_gpu = matches!(step, StartStep::Devices | StartStep::Capabilities) || nowhere;
    let unknown = CudaCallers::of(replay).result_of_failure(step, no_gpu) == Some(StepResult::Unknown);
    let end = match step {
        _ if !unknown => return None,
        StartStep::Devices | StartStep::Capabilities | StartStep::Loader if nowhere => "find no libcuda",
        StartStep::Devices => "find no GPU",
        _ => "fail at this step",
    };
    Some(format!("nothing that calls CUDA was found; a program that does would {end}"))
}

/// Returns what is unknown about the GPU code of the component.
fn missing_code_fact(replay: Replay<'_>, loaded: &LoadedLibcuda) -> Option<MissingFact> {
    let name = |id: FactId| replay.image.facts.get(id).name();
    let (code, cuda, component) = (&replay.component.code, &replay.component.cuda, replay.component.display_name());
    let (key, reason, supply) = if let Some((id, reason, supply)) =
        minimum_capability::unknown_support(replay).filter(|_| code.is_unknown())
    {
        (name(id), reason, supply.to_owned())
    } else if code.is_unknown() {
        let gpu = &replay.host.gpu.as_ref()?.name;
        let built = release_text(*cuda.known()?);
        let reason = if gpu_code::ptx_compiler(replay, loaded) == PtxCompiler::TooOld {
            format!(
                "{component} runs on {gpu} only if it contains native code for it: the driver compiles no PTX of CUDA {built}"
            )
        } else {
            format!(
                "{component} runs on {gpu} only if it contains PTX: CUDA {built} compiles no native code for this GPU"
            )
        };
        (
            name(code.id),
            reason,
            format!("run `imagelint scan` on the built image to read its PTX, or {}", newer_toolkit_advice(replay)),
        )
    } else if let Some(partly) = gpu_code::find_partly_covered_library(replay, loaded) {
        let gpu = &replay.host.gpu.as_ref()?.name;
        let PartlyCoveredLibrary { library, runnable, all, without_ptx } = partly;
        let file = if library.file.is_empty() { component } else { &library.file };
        let kind = if without_ptx { "native code" } else { "native code or PTX" };
        let ptx = if without_ptx { ", and the driver does not compile the PTX of the others" } else { "" };
        let reason = format!(
            "{runnable} of {all} containers of device code in {file} ({} %) have {kind} for {gpu}{ptx}{}: whether {component} runs the others is unknown",
            (runnable * 100 / all.max(1)).max(1),
            gpu_code::disabling_variable_note(replay)
        );
        (name(code.id), reason, "run the image once on that GPU, or use a build for it".to_owned())
    } else if let Some(reports) =
        gpu_code::reported_ptx_failures(replay).filter(|_| gpu_code::ptx_compiler(replay, loaded) == PtxCompiler::Works)
    {
        let gpu = &replay.host.gpu.as_ref()?.name;
        let reason = format!(
            "{component} has no native code for {gpu}, only PTX; the driver should compile it, but failures are reported ({reports})"
        );
        (name(cuda.id), reason, format!("test it on that GPU, or {}", newer_toolkit_advice(replay)))
    } else if gpu_code::has_unlisted_code(replay) {
        let reason = format!(
            "the listed code of {component} does not support this GPU, and its native code or its PTX is not listed"
        );
        let supply = "write `sass` and `ptx` under [[gpu_code]] in the image description, `[]` for none";
        (name(code.id), reason, supply.to_owned())
    } else if gpu_code::needs_runtime_linking(replay) {
        let reason = format!(
            "{component} supports this GPU only in parts with PTX, and whether the driver links them is untested"
        );
        (name(code.id), reason, "build it for the GPU, or test it there".to_owned())
    } else if code.known().is_some_and(|code| gpu_code::is_required_library_unknown(replay, code)) {
        let reason = format!(
            "some libraries of {component} in the image do not support this GPU, and which ones it uses is unknown"
        );
        (
            name(code.id),
            reason,
            "list the libraries that it needs under [[gpu_code]] in an image description".to_owned(),
        )
    } else {
        match gpu_code::ptx_compiler(replay, loaded) {
            PtxCompiler::NotSeen => {
                let reason = "whether cuda-compat in the image includes the PTX compiler is unknown".to_owned();
                let supply = "list libnvidia-ptxjitcompiler.so under [files] of an image description";
                (name(replay.image.compat.id), reason, supply.to_owned())
            }
            PtxCompiler::Unknown if cuda.known().is_some() && loaded.cuda.is_some() => {
                let date = replay.knowledge.newest_source_date();
                let reason =
                    format!("PTX of CUDA {} is newer than the compatibility database of {date}", cuda.known()?);
                (name(cuda.id), reason, NEWER_DATABASE_ADVICE.to_owned())
            }
            _ => return None,
        }
    };
    Some(MissingFact { key, reason: Explanation::plain(reason), supply })
}

/// Returns major and minor, which decide compatibility, of a version that may have a patch.
fn release_text(version: CudaVersion) -> String {
    if version.is_major_only() { version.to_string() } else { format!("{}.{}", version.major(), version.minor()) }
}

/// Returns the advice to build with a toolkit that compiles native code for the GPU of the node.
fn newer_toolkit_advice(replay: Replay<'_>) -> String {
    let gpu = replay.host.gpu.as_ref();
    let row = gpu.and_then(|gpu| replay.knowledge.architecture(gpu.capability?));
    match (row, gpu) {
        (Some(row), Some(gpu)) => {
            format!("use a build with native code for {} (CUDA {} or newer)", gpu.name, release_text(row.first_toolkit))
        }
        _ => "use a build for a CUDA release that supports the GPU".to_owned(),
    }
}

/// Returns why it is unknown whether a driver supports a GPU.
fn missing_gpu_support(replay: Replay<'_>) -> Option<MissingFact> {
    let (host, knowledge) = (replay.host, replay.knowledge);
    let capability = host.gpu.as_ref()?.capability?;
    let lacks = |field: PoolField, reason: String| {
        let supply = NEWER_DATABASE_ADVICE.to_owned();
        Some(MissingFact { key: field.name().to_owned(), reason: Explanation::plain(reason), supply })
    };
    if user_mode::is_jetson(replay) {
        // Of a release that has its row something else is missing.
        if knowledge.jetson_release(host.driver?).is_some() {
            return None;
        }
        let reason = format!("no module release with driver {} is in the compatibility database", host.driver?);
        return lacks(PoolField::Driver, reason);
    }
    if knowledge.architecture(capability).is_none() {
        let newest = knowledge.architectures().iter().flat_map(|row| row.capabilities).max();
        let date = knowledge.newest_source_date();
        let why = if newest < Some(&capability) {
            format!("newer than the compatibility database of {date}")
        } else {
            "not in the compatibility database".to_owned()
        };
        return lacks(PoolField::Gpu, format!("compute capability {capability} is {why}"));
    }
    let (branch, newest) = (host.driver_branch()?, knowledge.newest_driver_branch()?.branch);
    if newest < branch {
        let date = knowledge.newest_source_date();
        return lacks(
            PoolField::Driver,
            format!("driver branch {branch} is newer than the compatibility database of {date}"),
        );
    }
    lacks(PoolField::Driver, format!("driver branch {branch} is not in the compatibility database"))
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
    let newer = || format!("newer than the compatibility database of {}", replay.knowledge.newest_source_date());
    let (reason, supply) = match field {
        PoolField::Toolkit if host.toolkit_newer => {
            let version = host.toolkit_version.map_or_else(String::new, |version| format!(" {version}"));
            (format!("container toolkit{version} is {}", newer()), NEWER_DATABASE_ADVICE.to_owned())
        }
        PoolField::Driver if host.driver.is_none() => {
            ("the pool does not set `driver`".to_owned(), "set `driver` of the pool".to_owned())
        }
        PoolField::Driver if host.driver_cuda.is_none() => {
            let newest = replay.knowledge.newest_driver_branch().map(|row| row.branch);
            let later = if host.driver_branch() > newest { ", ".to_owned() + &newer() } else { String::new() };
            (
                format!("the driver of the pool is not in the compatibility database{later}"),
                "set `driver_cuda` of the pool".to_owned(),
            )
        }
        PoolField::Gpu if gpu.is_none_or(|gpu| !gpu.named && (gpu.capability.is_none() || gpu.brand.is_none())) => {
            ("the pool does not set `gpu`".to_owned(), "set `gpu` of the pool".to_owned())
        }
        PoolField::Gpu if gpu.is_some_and(|gpu| gpu.capability.is_none()) => (
            "the GPU is not in the compatibility database".to_owned(),
            "set `compute_capability` of the pool".to_owned(),
        ),
        PoolField::Brand if host.lacks_brand() => {
            ("the brand of the GPU with this driver is unknown".to_owned(), "set `brand` of the pool".to_owned())
        }
        PoolField::LibraryDirectory if host.library_directory.is_none() => {
            let reason = "the pool does not set `library_directory`, into which CDI mounts the driver";
            (reason.to_owned(), "set `library_directory` of the pool".to_owned())
        }
        _ => return None,
    };
    Some(MissingFact { key: field.name().to_owned(), reason: Explanation::plain(reason), supply })
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
    Some(if by_index {
        MissingFact {
            key: "pool.gpu".to_owned(),
            reason: Explanation::plain(format!(
                "it is unknown whether the node has a GPU `{name}`: the pool does not declare the \
                number of GPUs"
            )),
            supply: "set `count` in the `gpu` of the pool".to_owned(),
        }
    } else {
        MissingFact {
            key: format!("env.{VISIBLE_DEVICES_VARIABLE}"),
            reason: Explanation::plain(format!("it is unknown whether the node has the device `{name}`")),
            supply: "request devices by index, or let the launch method select them".to_owned(),
        }
    })
}

/// Returns what has to be known about a GPU that `CUDA_VISIBLE_DEVICES` lists.
fn missing_visible_device_fact(name: &str) -> MissingFact {
    // What is no identifier is read as a number, whatever stands behind it.
    if name.trim_start_matches('+').starts_with(|sign: char| sign.is_ascii_digit()) {
        MissingFact {
            key: "pool.gpu".to_owned(),
            reason: Explanation::plain(format!(
                "it is unknown whether the container has a GPU `{name}` for {CUDA_VISIBLE_DEVICES}: the pool does not declare \
                    the number of GPUs"
            )),
            supply: "set `count` in the `gpu` of the pool".to_owned(),
        }
    } else {
        MissingFact {
            key: format!("env.{CUDA_VISIBLE_DEVICES}"),
            reason: Explanation::plain(format!(
                "it is unknown whether the node has `{name}`, which {CUDA_VISIBLE_DEVICES} lists"
            )),
            supply: "list GPUs by index, or let the launch method select them".to_owned(),
        }
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
