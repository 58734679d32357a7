//! Words for a failure: what is wrong, the rule behind it, the error that the user sees, and what fixes it.

use crate::fact::GpuCode;
use crate::fact::OWN_RUNTIME;
use crate::fact::Value;
use crate::outcome::Outcome;
use crate::start::Loaded;
use crate::start::Reason;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Source;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::cause;
use crate::start::cause::rule_of_no_gpu;
use crate::start::cause::why_no_gpu;
use crate::start::code;
use crate::start::container_words;
use crate::start::floor;
use crate::start::libraries;
use crate::start::loader;
use crate::start::names::Named;
use crate::start::names::component;
use crate::start::names::cpu_only;
use crate::start::names::decider;
use crate::start::names::libcuda;
use crate::start::names::named;
use crate::start::names::named_apart;
use crate::start::names::named_together;
use crate::start::names::sm;
use crate::start::names::switch;
use crate::start::runtime;
use crate::start::user_mode;

/// Stands for the pools in a help; whoever knows their names puts them in.
pub const POOLS: &str = "{pools}";

/// What a finding reports of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong, with the values of the image and the host.
    pub title: String,
    /// The rule of CUDA or of the container toolkit behind it, with the threshold.
    pub cause: Option<String>,
    /// The error that the program or the container runtime prints.
    pub symptom: Option<String>,
    /// What fixes it on this host; none if only general advice is known.
    pub help: Option<String>,
}

/// A failure on one host.
pub fn failure(replay: Replay<'_>, wall: Wall) -> Failure {
    words(replay, wall, &named(replay))
}

/// The same on several pools: what they share and, where they differ, the values of all; the rest is left out.
pub fn failure_of_several(all: &[(Replay<'_>, Wall)]) -> Failure {
    let own: Vec<Failure> = all.iter().map(|(replay, wall)| failure(*replay, *wall)).collect();
    let Some(first) = own.first().filter(|first| own.iter().any(|other| other != *first)) else {
        return own.into_iter().next().unwrap_or_default();
    };
    let named = named_together(all);
    let general: Vec<Failure> = all.iter().map(|(replay, wall)| words(*replay, *wall, &named)).collect();
    let common = |part: fn(&Failure) -> &Option<String>| {
        let same = |list: &[Failure]| {
            let text = part(list.first()?).clone()?;
            list.iter().all(|other| part(other).as_ref() == Some(&text)).then_some(text)
        };
        same(&own).or_else(|| same(&general))
    };
    let alike = own.iter().all(|other| other.title == first.title);
    let title = if alike { Some(first) } else { general.first() };
    Failure {
        title: title.map(|failure| failure.title.clone()).unwrap_or_default(),
        cause: common(|failure| &failure.cause),
        symptom: common(|failure| &failure.symptom),
        help: common(|failure| &failure.help),
    }
}

/// What is wrong on one host.
pub fn title_of(replay: Replay<'_>, wall: Wall) -> String {
    title(replay, wall, &named(replay))
}

/// A failure in one sentence, the error first.
pub fn message(replay: Replay<'_>, wall: Wall) -> String {
    sentence(replay, wall, &named(replay))
}

/// The same for several pools, without the GPU and the driver of each.
pub fn message_of_several(replay: Replay<'_>, wall: Wall) -> String {
    sentence(replay, wall, &named_apart(replay))
}

fn words(replay: Replay<'_>, wall: Wall, named: &Named) -> Failure {
    Failure {
        title: title(replay, wall, named),
        cause: rule(replay, wall, named),
        symptom: symptom(replay, wall),
        help: help(replay, wall, named),
    }
}

fn sentence(replay: Replay<'_>, wall: Wall, named: &Named) -> String {
    let title = title(replay, wall, named);
    let possible: Vec<String> = wall.codes().possible.iter().map(u16::to_string).collect();
    let said = match (wall.codes().certain, possible.as_slice()) {
        (Some(code), _) => match replay.knowledge.error(code) {
            Some(row) => format!("error {code}: {}", row.text),
            None => format!("error {code}"),
        },
        (None, []) => String::new(),
        (None, [one]) => format!("error {one}"),
        (None, [others @ .., last]) => format!("error {} or {last}", others.join(", ")),
    };
    match wall.outcome() {
        Outcome::Refused => container_words::refusal(replay, wall.reason()),
        Outcome::LibraryMissing if wall.codes().certain.is_none() => libraries::message(replay),
        Outcome::CpuOnly => format!("no error, and no GPU is used: {title}"),
        _ if said.is_empty() => title,
        _ => format!("{said}: {title}"),
    }
}

/// What is wrong, with the user's values.
fn title(replay: Replay<'_>, wall: Wall, named: &Named) -> String {
    let Named { gpu, driver, loaded, .. } = named;
    let found = loader::step(replay).0;
    let image_library = || libcuda(&found, true);
    match wall.outcome() {
        Outcome::Refused => container_words::refusal_title(replay, wall.reason(), driver),
        Outcome::WrongPlatform => match replay.image.platforms.known().filter(|list| !list.is_empty()) {
            Some(list) => format!("no image for {}, only for {}", replay.host.platform, list.join(", ")),
            None => format!("no image for {}", replay.host.platform),
        },
        Outcome::NoGpu => format!("no GPU in the container: {}", why_no_gpu(replay)),
        Outcome::LibraryMissing => match replay.host.wsl_lacks.filter(|_| wall.codes().certain.is_some()) {
            Some(row) => format!("the container toolkit does not mount {} of the Windows driver", row.library),
            None => libraries::title(replay),
        },
        Outcome::StubLibrary => "the loader finds the stub of libcuda before the driver".to_owned(),
        Outcome::DriverMismatch => format!("{} does not match {driver}", image_library()),
        Outcome::CompatNotSupported => format!("{} does not support {gpu}", image_library()),
        Outcome::CompatUnusable if replay.host.wsl => format!("{} does not work under WSL", image_library()),
        Outcome::CompatUnusable => format!("{} does not support {driver}", image_library()),
        Outcome::GpuUnsupported => {
            let whose = if of_image(replay, &found) { image_library() } else { driver.clone() };
            let needs = branches(replay).filter(|_| !named.several);
            let needs = needs.map(|(branch, from)| {
                if from {
                    format!("; it needs branch {branch} or newer")
                } else {
                    format!("; branch {branch} is the last that does")
                }
            });
            let (do_not, needs) = (named.verb(&whose, "does not", "do not"), needs.unwrap_or_default());
            format!("{whose} {do_not} support {gpu}{needs}")
        }
        Outcome::InsufficientDriver => {
            let runtime = replay.component.cuda.known();
            let runtime = runtime.map_or_else(|| "the CUDA runtime".to_owned(), |cuda| format!("CUDA {cuda}"));
            let whose = match found.source {
                Some(Source::Compat(_) | Source::Image(_)) => libcuda(&found, !named.several),
                Some(Source::Host | Source::Nowhere) | None => loaded.clone(),
            };
            format!("{whose} {} too old for {runtime}", named.verb(&whose, "is", "are"))
        }
        Outcome::CpuOnly => cpu_only(replay),
        Outcome::NoKernelImage => format!("{} has no native code for {gpu}{}", component(replay), code::switch(replay)),
        Outcome::UnsupportedPtx => {
            format!("{loaded} cannot compile the PTX of {} for {gpu}{}", component(replay), code::switch(replay))
        }
        Outcome::JitFailed => {
            format!("{} has no PTX compiler, and {} has only PTX for {gpu}", image_library(), component(replay))
        }
    }
}

/// The rule behind a failure, with its threshold.
fn rule(replay: Replay<'_>, wall: Wall, named: &Named) -> Option<String> {
    let found = loader::step(replay).0;
    Some(match wall.outcome() {
        Outcome::Refused => return container_words::refusal_rule(replay, wall.reason(), named.several),
        Outcome::WrongPlatform => "a node runs images for its own platform only".to_owned(),
        Outcome::NoGpu => return rule_of_no_gpu(replay),
        Outcome::LibraryMissing => return libraries::rule(replay),
        Outcome::StubLibrary => "the stub is only for linking without a driver; every CUDA call on it fails".to_owned(),
        Outcome::DriverMismatch => {
            "libcuda must have the version of the kernel-mode driver, or come from cuda-compat for its branch"
                .to_owned()
        }
        Outcome::CompatNotSupported => {
            "forward compatibility supports data-center GPUs and some professional GPUs only".to_owned()
        }
        Outcome::CompatUnusable => {
            let Some(Source::Compat(library)) = found.source.filter(|_| !replay.host.wsl) else { return None };
            let branches = user_mode::supported_branches(replay, library);
            let list: Vec<String> = branches.iter().map(u32::to_string).collect();
            if list.is_empty() {
                "a cuda-compat package supports only the driver branches that NVIDIA lists for it".to_owned()
            } else {
                format!("cuda-compat {} supports driver branches {}", library.version, list.join(", "))
            }
        }
        Outcome::GpuUnsupported => {
            let row = replay.knowledge.architecture(replay.host.gpu.as_ref()?.capability?)?;
            match branches(replay)? {
                (branch, true) => format!("support for {} GPUs begins with driver branch {branch}", row.name),
                (branch, false) => format!("driver branch {branch} is the last with support for {} GPUs", row.name),
            }
        }
        Outcome::InsufficientDriver => match (runtime::floor(replay, &found), found.cuda) {
            (Some((cuda, oldest)), _) => format!("CUDA {cuda} needs driver {oldest} or newer"),
            (None, Some(cuda)) => {
                let runtime = replay.component.cuda.known()?;
                format!("the driver supports CUDA {cuda}, and CUDA {runtime} needs a newer one")
            }
            (None, None) => return None,
        },
        Outcome::CpuOnly => match switch(replay) {
            Some(setting) => format!("{setting} makes {} ignore the GPU", replay.component.called()),
            None => "a CPU-only build uses no GPU on any driver".to_owned(),
        },
        Outcome::NoKernelImage => {
            let gpu = replay.host.gpu.as_ref().filter(|_| !named.several);
            let gpu = gpu.and_then(|gpu| Some((&gpu.name, gpu.capability?)));
            let has = gpu.map(|(name, capability)| format!("; {name} has compute capability {capability}"));
            format!("{}{}", built_for(replay, &found)?, has.unwrap_or_default())
        }
        Outcome::UnsupportedPtx => {
            let built = replay.component.cuda.known()?;
            match found.cuda.filter(|_| !named.several) {
                Some(cuda) => format!("the PTX is from CUDA {built}, and this driver compiles PTX up to CUDA {cuda}"),
                None => format!("the PTX is from CUDA {built}, and a driver compiles no newer PTX than its own CUDA"),
            }
        }
        Outcome::JitFailed => "libnvidia-ptxjitcompiler.so must have the version of libcuda.so".to_owned(),
    })
}

/// The error as it is printed.
fn symptom(replay: Replay<'_>, wall: Wall) -> Option<String> {
    let text = |code: u16| replay.knowledge.error(code).map(|row| row.text.to_owned());
    match wall.outcome() {
        // NVIDIA's source sets no message for compat libraries in several directories.
        Outcome::Refused if wall.reason() == Some(Reason::Mount) && loader::scattered(replay) => None,
        Outcome::Refused => Some(container_words::refusal(replay, wall.reason())),
        Outcome::WrongPlatform => {
            let platform = &replay.host.platform;
            Some(format!("no matching manifest for {platform} in the manifest list entries, or: exec format error"))
        }
        Outcome::LibraryMissing if wall.codes().certain.is_none() => libraries::symptom(replay),
        Outcome::CpuOnly => {
            let rows = replay.knowledge.frameworks().iter().filter(|row| row.component == decider(replay));
            let mut texts = rows.filter_map(|row| row.without_cuda);
            texts.next().map(str::to_owned)
        }
        _ => {
            let codes = wall.codes();
            let mut texts: Vec<String> = Vec::new();
            for one in codes.certain.into_iter().chain(codes.possible.iter().copied()).filter_map(text) {
                if !texts.contains(&one) {
                    texts.push(one);
                }
            }
            (!texts.is_empty()).then(|| texts.join(", or: "))
        }
    }
}

/// What fixes it on this host; none if the advice for the cause says all.
fn help(replay: Replay<'_>, wall: Wall, named: &Named) -> Option<String> {
    let found = loader::step(replay).0;
    let on_host = matches!(found.source, Some(Source::Host));
    let name = &replay.component.name;
    match wall.outcome() {
        Outcome::WrongPlatform => Some(format!("build the image for {} as well", replay.host.platform)),
        Outcome::Refused if cause(replay, wall).is_none() => container_words::refusal_help(replay, named.several),
        Outcome::InsufficientDriver if on_host => {
            let (_, oldest) = runtime::floor(replay, &found)?;
            let newer = replay.host.driver.is_none_or(|driver| driver < oldest);
            let older = older_cuda(replay, &found).filter(|_| !named.several);
            let older = older.unwrap_or_else(|| "an older CUDA release".to_owned());
            Some(if newer {
                format!("upgrade the driver of {POOLS} to {oldest} or newer, or use an image built with {older}")
            } else {
                format!("use an image built with {older}")
            })
        }
        Outcome::InsufficientDriver | Outcome::CompatUnusable | Outcome::CompatNotSupported
            if !replay.host.wsl && without_compat(replay).is_some() && !on_host =>
        {
            let (runtime, driver) = (replay.component.cuda.known()?, &named.driver);
            let runs = match without_compat(replay)? {
                Route::MinorVersion => {
                    let run = named.verb(driver, "runs", "run");
                    format!("{run} CUDA {runtime} by minor version compatibility")
                }
                _ => format!("{} CUDA {runtime}", named.verb(driver, "supports", "support")),
            };
            Some(format!("remove cuda-compat from the image: {driver} {runs}"))
        }
        Outcome::InsufficientDriver | Outcome::CompatUnusable | Outcome::CompatNotSupported => {
            let (_, oldest) = runtime::floor(replay, &Loaded::host(replay))?;
            let newer = replay.host.driver.is_some_and(|driver| driver < oldest);
            newer.then(|| {
                format!("remove cuda-compat from the image and upgrade the driver of {POOLS} to {oldest} or newer")
            })
        }
        Outcome::GpuUnsupported if !of_image(replay, &found) => match branches(replay)? {
            (branch, true) => Some(format!("upgrade the driver of {POOLS} to branch {branch} or newer")),
            (branch, false) => Some(format!("use a driver of branch {branch} or older on {POOLS}")),
        },
        Outcome::NoKernelImage if code::switch(replay).is_empty() => {
            let target = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability).filter(|_| !named.several);
            let target = target.map_or_else(|| named.gpu.clone(), sm);
            Some(if *name == OWN_RUNTIME {
                format!("build the program with native code for {target}")
            } else {
                format!("use a build of {name} that includes native code for {target}")
            })
        }
        Outcome::UnsupportedPtx if on_host => {
            let built = replay.component.cuda.known()?;
            let branch = replay.knowledge.branches().iter().find(|row| row.cuda.release() >= built.release())?.branch;
            Some(format!(
                "upgrade the driver of {POOLS} to branch {branch} or newer, or build native code for {}",
                named.gpu
            ))
        }
        Outcome::CpuOnly => {
            let variable = replay.component.switch(&replay.image.facts)?;
            Some(format!("remove {variable} from the image"))
        }
        _ => None,
    }
}

/// The GPU code that a component has.
fn built_for(replay: Replay<'_>, loaded: &Loaded<'_>) -> Option<String> {
    let name = component(replay);
    if let Some(lowest) = floor::of(replay).and_then(|floor| floor.lowest.known()) {
        return Some(format!("{name} supports compute capability {lowest} and newer"));
    }
    let code = match code::deciding(replay, loaded) {
        Some(library) => {
            let code = GpuCode { libraries: vec![library.clone()], unsorted: false };
            return Some(format!("{} of {name} contains {}", library.file, in_words(&code)));
        }
        None => replay.component.code.known(),
    };
    if let Some(code) = code {
        return Some(format!("{name} contains {}", in_words(code)));
    }
    let cuda = replay.component.cuda.known()?;
    Some(format!("CUDA {cuda} compiles no code for a GPU that old"))
}

/// The targets of GPU code.
fn in_words(code: &GpuCode) -> String {
    let Value::List(list) = Value::from(code) else { return "no GPU code".to_owned() };
    let (native, ptx): (Vec<String>, Vec<String>) = list.into_iter().partition(|target| target.starts_with("sm_"));
    match (native.is_empty(), ptx.is_empty()) {
        (true, true) => "no GPU code".to_owned(),
        (false, true) => format!("native code for {} and no PTX", native.join(", ")),
        (true, false) => format!("PTX for {} and no native code", ptx.join(", ")),
        (false, false) => format!("native code for {} and PTX for {}", native.join(", "), ptx.join(", ")),
    }
}

/// Whether the libcuda of the image is what does not support the GPU.
fn of_image(replay: Replay<'_>, found: &Loaded<'_>) -> bool {
    matches!(found.source, Some(Source::Compat(_) | Source::Image(_))) && !user_mode::kernel_lacks(replay)
}

/// The first driver branch for the GPU, or the last one, if the driver is older or newer than these.
fn branches(replay: Replay<'_>) -> Option<(u32, bool)> {
    if user_mode::is_jetson(replay) {
        return None;
    }
    let found = loader::step(replay).0;
    let own = found.version.filter(|_| of_image(replay, &found)).map(crate::cuda::DriverVersion::branch);
    let branch = own.or(replay.host.branch())?;
    let row = replay.knowledge.architecture(replay.host.gpu.as_ref()?.capability?)?;
    if let Some(last) = row.last_branch.filter(|last| *last < branch) {
        return Some((last, false));
    }
    let first = replay.knowledge.branches().iter().find(|known| known.cuda >= row.first_toolkit)?.branch;
    (branch < first).then_some((first, true))
}

/// The newest CUDA with which a driver starts every program.
fn older_cuda(replay: Replay<'_>, found: &Loaded<'_>) -> Option<String> {
    let supported = found.cuda?;
    let floor = replay.knowledge.minor_compat(supported.major());
    let whole = floor.zip(found.version).is_some_and(|(floor, version)| floor.min_driver <= version);
    let release = supported.release();
    Some(if whole {
        format!("CUDA {}", supported.major())
    } else {
        format!("CUDA {}.{} or older", release.0, release.1)
    })
}

/// How the component would run on the driver of the node without the compat library, if it did.
fn without_compat(replay: Replay<'_>) -> Option<Route> {
    match runtime::step(replay, &Loaded::host(replay)).result {
        StepResult::Passes(route @ (Route::Native | Route::MinorVersion)) => Some(route),
        _ => None,
    }
}
