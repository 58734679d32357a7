//! Gaps: what a step that cannot be told lacks, why, and how to supply it.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::DriverLibrary;
use crate::fact::FactId;
use crate::fleet::PoolField;
use crate::start::Basis;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Source;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::code;
use crate::start::code::Compiler;
use crate::start::code::Partly;
use crate::start::container_words;
use crate::start::floor;
use crate::start::libraries;
use crate::start::loader;
use crate::start::runtime;
use crate::start::user_mode;

/// How to supply what is newer than the tables.
const NEWER: &str = "use a newer imagelint: its compatibility database ends before it";
/// How to supply what a libcuda of the image says of itself.
const NOTE: &str = "scan the built image, or set `elf_note` of this libcuda under [files] of an image description";

/// Something that would have to be known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingFact {
    /// `pool.driver`, `image.compat`.
    pub key: String,
    /// What stands in the way.
    pub reason: String,
    /// How to supply it.
    pub supply: String,
}

/// What a step that cannot be told lacks.
pub fn missing(replay: Replay<'_>, record: &StepRecord) -> Vec<MissingFact> {
    let of_image = |id: FactId| {
        let why = replay.image.why(id)?;
        let key = replay.image.facts.get(id).name();
        Some(MissingFact { key, reason: why.reason.clone(), supply: why.supply.clone() })
    };
    let mut found: Vec<MissingFact> = record
        .facts
        .iter()
        .filter_map(|basis| match basis {
            Basis::Image(id) => of_image(id),
            // What code runs is told by the capability, whatever the brand.
            Basis::Pool(PoolField::Gpu) if record.step == Step::Code && has_capability(replay) => None,
            // Which devices there are is told by their number, whatever the GPU.
            Basis::Pool(PoolField::Gpu) if record.step == Step::Devices => None,
            // A module is told by its CUDA version alone.
            Basis::Pool(PoolField::Gpu) if record.step == Step::UserMode && user_mode::is_jetson(replay) => None,
            // A driver knows capabilities, whatever the brand; and its branch, whatever its CUDA.
            Basis::Pool(field) if record.step == Step::GpuKnown => of_pool(replay, field).filter(|_| match field {
                PoolField::Gpu => !has_capability(replay),
                _ => replay.host.driver.is_none(),
            }),
            Basis::Pool(field) => of_pool(replay, field),
            Basis::Entry(_) | Basis::Row(_) => None,
        })
        .collect();
    if record.step == Step::Devices {
        found.extend(container_words::missing_device(replay));
    }
    found.dedup();
    if found.is_empty() && record.result == StepResult::Unknown {
        found.extend(of_step(replay, record.step));
    }
    found
}

fn has_capability(replay: Replay<'_>) -> bool {
    replay.host.gpu.as_ref().is_some_and(|gpu| gpu.capability.is_some())
}

/// What no fact and no field lacks: a question that the tables do not answer.
#[expect(clippy::too_many_lines, reason = "one step after the other")]
fn of_step(replay: Replay<'_>, step: Step) -> Option<MissingFact> {
    let name = |id: FactId| replay.image.facts.get(id).name();
    let cuda = &replay.component.cuda;
    let loaded = loader::step(replay).0;
    let newer =
        |what: String| format!("{what} is newer than the compatibility database of {}", replay.knowledge.newest_date());
    let (key, reason, supply) = match step {
        _ if let Some(reason) = without_caller(replay, step, &loaded) => {
            (name(cuda.id), reason, "name the packages or [[gpu_code]] of the image in an image description")
        }
        Step::Capabilities => {
            let reason =
                "whether the libcuda of the image finds /dev/nvidia-uvm without the capability compute is unknown";
            (name(replay.image.driver_libraries.id), reason.to_owned(), "request the capability compute")
        }
        Step::Libraries => {
            let (id, reason) = libraries::unfound(replay)?;
            (name(id), reason, "install it, or scan the built image")
        }
        Step::Loader if let Some(library) = unnumbered(replay) => {
            let id = name(replay.image.driver_libraries.id);
            if library.packaged() {
                let reason = format!("{} installs an unpinned driver package", library.path);
                (id, reason, "install only the toolkit, such as cuda-toolkit-12-2, or pin the driver package")
            } else {
                (id, format!("the driver release of {} is unknown", library.path), "pin its version")
            }
        }
        Step::Loader if replay.image.compat.known().is_some_and(|compat| !compat.root_seen) => {
            let reason = "the target of the link `/usr/local/cuda` in the image is unknown".to_owned();
            (
                name(replay.image.compat.id),
                reason,
                "declare the link under [files] of an image description, or scan the image",
            )
        }
        Step::Loader => {
            let library = replay.image.compat.known()?.libraries.iter().find(|library| library.unread)?;
            let reason =
                format!("whether libcuda {} of the image lists its driver branches is unknown", library.version);
            (name(replay.image.compat.id), reason, NOTE)
        }
        Step::UserMode if let Some(Source::Image(path)) = loaded.source.filter(|_| loaded.version.is_none()) => {
            let reason = format!("the driver version of {path} is unknown");
            let supply = "declare the file with its version under [files] of an image description, or scan the image";
            (name(replay.image.driver_libraries.id), reason, supply)
        }
        Step::UserMode if user_mode::is_jetson(replay) && replay.host.driver_cuda.is_some() => {
            let reason = format!(
                "no source states whether cuda-compat of CUDA {} runs on a module release with CUDA {}",
                loaded.cuda?, replay.host.driver_cuda?
            );
            (name(replay.image.compat.id), reason, "use an image for the CUDA version of the module release")
        }
        Step::UserMode => {
            let Some(Source::Compat(library)) = &loaded.source else { return None };
            let (driver, gpu) = (replay.host.driver?, replay.host.gpu.as_ref()?);
            let reason = format!(
                "no source states whether libcuda {} runs on {} with driver {driver}",
                library.version, gpu.name
            );
            (name(replay.image.compat.id), reason, NOTE)
        }
        Step::GpuKnown => return of_gpu(replay),
        Step::Runtime if runtime::is_beyond(replay.knowledge, *cuda.known()?) => {
            let reason = newer(format!("CUDA {}", cuda.known()?));
            (name(cuda.id), reason, NEWER)
        }
        Step::Runtime if let Some(floor) = runtime::disputed(replay, &loaded) => {
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
        Step::Runtime if let Some((version, oldest)) = runtime::ahead(replay, &loaded) => {
            let reason = format!(
                "driver {version} itself reports CUDA {}, and NVIDIA's release notes require driver {oldest}: no source states what the runtime does on the older one",
                loaded.cuda?
            );
            (PoolField::Driver.name().to_owned(), reason, "use that driver release or newer")
        }
        Step::Runtime if let Some((row, oldest)) = runtime::may_be_too_new(replay, &loaded) => {
            let reason = format!(
                "CUDA {} needs driver {oldest}, other releases of CUDA {} an older one: which release {} uses is unknown",
                row.version,
                cuda.known()?,
                replay.component.name
            );
            (name(cuda.id), reason, "set the full version of the CUDA runtime, or use that driver release or newer")
        }
        // What is missing is what the loader's step lacks.
        Step::Runtime if replay.host.driver.is_some() => return None,
        Step::Runtime => {
            let reason = "the CUDA version of the driver does not show whether the driver is new enough".to_owned();
            (PoolField::Driver.name().to_owned(), reason, "set `driver` of the pool")
        }
        Step::Code => return of_code(replay, &loaded),
        _ => return None,
    };
    Some(MissingFact { key, reason, supply: supply.to_owned() })
}

/// What would happen to a program that calls CUDA, in an image where none was found.
fn without_caller(replay: Replay<'_>, step: Step, loaded: &Loaded) -> Option<String> {
    let end = match uncalled(replay, step, loaded) {
        Some(lacks) => format!("find no {lacks}"),
        None => runtime::of_nothing(replay, step).map(|_| "fail at this step".to_owned())?,
    };
    Some(format!("nothing that calls CUDA was found; a program that does would {end}"))
}

/// What a program that calls CUDA would lack, in an image where none was found.
fn uncalled(replay: Replay<'_>, step: Step, loaded: &Loaded) -> Option<&'static str> {
    let nowhere = loaded.source == Some(Source::Nowhere);
    match step {
        Step::Devices | Step::Capabilities | Step::Loader if nowhere => Some("libcuda"),
        Step::Devices => Some("GPU"),
        _ => None,
    }
    .filter(|_| runtime::is_uncalled(replay, step))
}

/// What is not known of the code of the component.
fn of_code(replay: Replay<'_>, loaded: &Loaded) -> Option<MissingFact> {
    let name = |id: FactId| replay.image.facts.get(id).name();
    let (code, cuda, component) = (&replay.component.code, &replay.component.cuda, replay.component.called());
    let (key, reason, supply) = if let Some((id, reason, supply)) = floor::open(replay).filter(|_| code.is_unknown()) {
        (name(id), reason, supply.to_owned())
    } else if code.is_unknown() {
        let gpu = &replay.host.gpu.as_ref()?.name;
        let built = release(*cuda.known()?);
        let reason = if code::compiler(replay, loaded) == Compiler::TooOld {
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
            format!("run `imagelint scan` on the built image to read its PTX, or {}", newer_toolkit(replay)),
        )
    } else if let Some(partly) = code::partly(replay, loaded) {
        let gpu = &replay.host.gpu.as_ref()?.name;
        let Partly { library, runnable, all, without_ptx } = partly;
        let file = if library.file.is_empty() { component } else { &library.file };
        let kind = if without_ptx { "native code" } else { "native code or PTX" };
        let ptx = if without_ptx { ", and the driver does not compile the PTX of the others" } else { "" };
        let reason = format!(
            "{runnable} of {all} containers of device code in {file} ({} %) have {kind} for {gpu}{ptx}{}: whether {component} runs the others is unknown",
            (runnable * 100 / all.max(1)).max(1),
            code::switch(replay)
        );
        (name(code.id), reason, "run the image once on that GPU, or use a build for it".to_owned())
    } else if let Some(reports) = code::doubts(replay).filter(|_| code::compiler(replay, loaded) == Compiler::Works) {
        let gpu = &replay.host.gpu.as_ref()?.name;
        let reason = format!(
            "{component} has no native code for {gpu}, only PTX; the driver should compile it, but failures are reported ({reports})"
        );
        (name(cuda.id), reason, format!("test it on that GPU, or {}", newer_toolkit(replay)))
    } else if code::unsaid(replay) {
        let reason = format!(
            "the listed code of {component} does not support this GPU, and its native code or its PTX is not listed"
        );
        let supply = "write `sass` and `ptx` under [[gpu_code]] in the image description, `[]` for none";
        (name(code.id), reason, supply.to_owned())
    } else if code::to_link(replay) {
        let reason = format!(
            "{component} supports this GPU only in parts with PTX, and whether the driver links them is untested"
        );
        (name(code.id), reason, "build it for the GPU, or test it there".to_owned())
    } else if code.known().is_some_and(|code| code::mixed(replay, code)) {
        let reason = format!(
            "some libraries of {component} in the image do not support this GPU, and which ones it uses is unknown"
        );
        (
            name(code.id),
            reason,
            "list the libraries that it needs under [[gpu_code]] in an image description".to_owned(),
        )
    } else {
        match code::compiler(replay, loaded) {
            Compiler::NotSeen => {
                let reason = "whether cuda-compat in the image includes the PTX compiler is unknown".to_owned();
                let supply = "list libnvidia-ptxjitcompiler.so under [files] of an image description";
                (name(replay.image.compat.id), reason, supply.to_owned())
            }
            Compiler::Unknown if cuda.known().is_some() && loaded.cuda.is_some() => {
                let date = replay.knowledge.newest_date();
                let reason =
                    format!("PTX of CUDA {} is newer than the compatibility database of {date}", cuda.known()?);
                (name(cuda.id), reason, NEWER.to_owned())
            }
            _ => return None,
        }
    };
    Some(MissingFact { key, reason, supply })
}

/// Major and minor, which decide compatibility, of a version that may name a patch.
fn release(version: CudaVersion) -> String {
    if version.is_major() { version.to_string() } else { format!("{}.{}", version.major(), version.minor()) }
}

/// The advice to build with a toolkit that compiles native code for the GPU of the node.
fn newer_toolkit(replay: Replay<'_>) -> String {
    let gpu = replay.host.gpu.as_ref();
    let row = gpu.and_then(|gpu| replay.knowledge.architecture(gpu.capability?));
    match (row, gpu) {
        (Some(row), Some(gpu)) => {
            format!("use a build with native code for {} (CUDA {} or newer)", gpu.name, release(row.first_toolkit))
        }
        _ => "use a build for a CUDA release that supports the GPU".to_owned(),
    }
}

/// Why it cannot be told whether a driver knows a GPU.
fn of_gpu(replay: Replay<'_>) -> Option<MissingFact> {
    let (host, knowledge) = (replay.host, replay.knowledge);
    let capability = host.gpu.as_ref()?.capability?;
    let lacks = |field: PoolField, reason: String| {
        let supply = NEWER.to_owned();
        Some(MissingFact { key: field.name().to_owned(), reason, supply })
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
        let date = knowledge.newest_date();
        let why = if newest < Some(&capability) {
            format!("newer than the compatibility database of {date}")
        } else {
            "not in the compatibility database".to_owned()
        };
        return lacks(PoolField::Gpu, format!("compute capability {capability} is {why}"));
    }
    let (branch, newest) = (host.branch()?, knowledge.newest_branch()?.branch);
    if newest < branch {
        let date = knowledge.newest_date();
        return lacks(
            PoolField::Driver,
            format!("driver branch {branch} is newer than the compatibility database of {date}"),
        );
    }
    lacks(PoolField::Driver, format!("driver branch {branch} is not in the compatibility database"))
}

/// A libcuda of the image whose release is not known.
fn unnumbered(replay: Replay<'_>) -> Option<&DriverLibrary> {
    let mut libraries = replay.image.driver_libraries.known().into_iter().flatten();
    let open = |library: &DriverLibrary| library.version.is_none_or(DriverVersion::is_branch);
    libraries.find(|library| library.libcuda && !library.unversioned() && open(library))
}

fn of_pool(replay: Replay<'_>, field: PoolField) -> Option<MissingFact> {
    let host = replay.host;
    let gpu = host.gpu.as_ref();
    let newer = || format!("newer than the compatibility database of {}", replay.knowledge.newest_date());
    let (reason, supply) = match field {
        PoolField::Toolkit if host.toolkit_newer => {
            let version = host.toolkit_version.map_or_else(String::new, |version| format!(" {version}"));
            (format!("container toolkit{version} is {}", newer()), NEWER.to_owned())
        }
        PoolField::Driver if host.driver.is_none() => {
            ("the pool does not set `driver`".to_owned(), "set `driver` of the pool".to_owned())
        }
        PoolField::Driver if host.driver_cuda.is_none() => {
            let newest = replay.knowledge.newest_branch().map(|row| row.branch);
            let later = if host.branch() > newest { ", ".to_owned() + &newer() } else { String::new() };
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
    Some(MissingFact { key: field.name().to_owned(), reason, supply })
}

#[cfg(test)]
mod tests {
    use crate::start::Step;
    use crate::start::step_tests::hosts;
    use crate::start::step_tests::image;
    use crate::start::step_tests::step;

    #[test]
    fn code_is_not_told_by_the_brand() {
        let image = image("base = \"nvcr.io/nvidia/pytorch:20.10-py3\"\n");
        let said = |fields: &str| step(&image, &hosts(fields)[0], Step::Code);
        let (result, text) = said("gpu = \"GB10\"\ndriver = \"580.95.05\"\nplatform = \"linux/amd64\"");
        assert!(result == "unknown" && !text.contains("brand") && text.contains("only if it contains PTX"), "{text}");
        let (result, text) = said("gpu = \"Own\"\ndriver = \"580.95.05\"\nbrand = \"tesla\"");
        assert!(result != "unknown" || text.contains("GPU"), "{result}: {text}");
    }
}
