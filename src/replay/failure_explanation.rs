//! Explanations of a failure: what is wrong, the rule behind it, the error that the user sees, and what fixes it.

use std::fmt;

use crate::model::fact::{CUDA_RUNTIME_COMPONENT, GpuCode, PrintedValue};
use crate::model::outcome::Outcome;
use crate::replay::display_names::{
    HostNames, POOLS_PLACEHOLDER, combined_host_names, component_name, cpu_only_title, cpu_variable_setting,
    deciding_component_name, generic_host_names, host_names, libcuda_name, sm_target,
};
use crate::replay::failure_cause::{no_gpu_reason, no_gpu_rule};
use crate::replay::{
    LibcudaSource, LoadedLibcuda, RefusalReason, Replay, ReplayFailure, StartRoute, StepResult, failure_cause,
    gpu_code, library_messages, loader, minimum_capability, refusal_messages, runtime, user_mode,
};

/// The explanation of a failure, as a finding reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureExplanation {
    /// What is wrong, with the values of the image and the host.
    pub title: String,
    /// The rule of CUDA or of the container toolkit behind it, with the threshold.
    pub cause_text: Option<String>,
    /// The error that the program or the container runtime prints.
    pub symptom: Option<String>,
    /// What fixes it on this host; none if only general advice is known.
    pub help: Option<String>,
}

/// A failure in one sentence: `error 35: CUDA driver version is insufficient for CUDA runtime version: driver 470 is
/// too old`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureMessage {
    /// The error that a program gets, if the sentence names one.
    error: Option<NamedError>,
    /// What is wrong, or the message of the container runtime or of the loader.
    text: String,
}

/// The CUDA error in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedError {
    /// Its code, or all possible codes.
    codes: String,
    /// Its text, if the code is certain.
    text: Option<String>,
}

impl FailureMessage {
    /// A sentence that names no CUDA error.
    pub fn without_error(text: String) -> Self {
        Self { error: None, text }
    }

    /// Appends a text to the sentence.
    pub fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Returns what is wrong, followed by the error; `certain` is the code that is the same on all hosts.
    pub fn explanation(&self, certain: Option<u16>) -> String {
        let text = &self.text;
        match (&self.error, certain) {
            (None, _) => text.clone(),
            (Some(_), Some(code)) => format!("{text} (CUDA error {code})"),
            (Some(NamedError { codes, text: None }), None) => format!("{text} (CUDA error {codes})"),
            (Some(NamedError { codes, text: Some(error) }), None) => format!("{error}: {text} (CUDA error {codes})"),
        }
    }
}

impl fmt::Display for FailureMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(NamedError { codes, text }) = &self.error {
            write!(f, "error {codes}: ")?;
            if let Some(text) = text {
                write!(f, "{text}: ")?;
            }
        }
        f.write_str(&self.text)
    }
}

/// Explains a failure on one host.
pub fn explain_failure(replay: Replay<'_>, failure: ReplayFailure) -> FailureExplanation {
    explain_with_names(replay, failure, &host_names(replay))
}

/// Explains a failure on several pools: what they share, and the values of all where they differ; the rest is left
/// out.
pub fn explain_failures(all: &[(Replay<'_>, ReplayFailure)]) -> FailureExplanation {
    let own: Vec<FailureExplanation> = all.iter().map(|(replay, failure)| explain_failure(*replay, *failure)).collect();
    let Some(first) = own.first().filter(|first| own.iter().any(|other| other != *first)) else {
        return own.into_iter().next().unwrap_or_default();
    };
    let named = combined_host_names(all);
    let general: Vec<FailureExplanation> =
        all.iter().map(|(replay, failure)| explain_with_names(*replay, *failure, &named)).collect();
    let common = |part: fn(&FailureExplanation) -> &Option<String>| {
        let same = |list: &[FailureExplanation]| {
            let text = part(list.first()?).clone()?;
            list.iter().all(|other| part(other).as_ref() == Some(&text)).then_some(text)
        };
        same(&own).or_else(|| same(&general))
    };
    let alike = own.iter().all(|other| other.title == first.title);
    let title = if alike { Some(first) } else { general.first() };
    FailureExplanation {
        title: title.map(|failure| failure.title.clone()).unwrap_or_default(),
        cause_text: common(|failure| &failure.cause_text),
        symptom: common(|failure| &failure.symptom),
        help: common(|failure| &failure.help),
    }
}

/// Returns what is wrong on one host.
pub fn failure_title(replay: Replay<'_>, failure: ReplayFailure) -> String {
    failure_title_with_values(replay, failure, &host_names(replay))
}

/// Returns a failure in one sentence, the error first.
pub fn failure_message(replay: Replay<'_>, failure: ReplayFailure) -> String {
    failure_message_parts(replay, failure).to_string()
}

/// Returns the sentence for a failure, in its parts.
pub fn failure_message_parts(replay: Replay<'_>, failure: ReplayFailure) -> FailureMessage {
    message_with_names(replay, failure, &host_names(replay))
}

/// Returns a failure on several pools in one sentence, without GPU and driver.
pub fn general_failure_message(replay: Replay<'_>, failure: ReplayFailure) -> String {
    message_with_names(replay, failure, &generic_host_names(replay)).to_string()
}

/// Explains a failure with these names of the GPU and the driver.
fn explain_with_names(replay: Replay<'_>, failure: ReplayFailure, named: &HostNames) -> FailureExplanation {
    FailureExplanation {
        title: failure_title_with_values(replay, failure, named),
        cause_text: rule_with_names(replay, failure, named),
        symptom: failure_symptom(replay, failure),
        help: help_with_names(replay, failure, named),
    }
}

/// Returns a failure in one sentence, with these names of the GPU and the driver.
fn message_with_names(replay: Replay<'_>, failure: ReplayFailure, named: &HostNames) -> FailureMessage {
    let title = failure_title_with_values(replay, failure, named);
    let text = match failure.outcome() {
        Outcome::Refused => refusal_messages::refusal_message(replay, failure.reason()),
        Outcome::LibraryMissing if failure.codes().certain.is_none() => {
            library_messages::missing_library_message(replay)
        }
        Outcome::CpuOnly => format!("no error, and no GPU is used: {title}"),
        _ => return FailureMessage { error: named_error(replay, failure), text: title },
    };
    FailureMessage::without_error(text)
}

/// Returns the CUDA error of a failure with its text, or all possible codes.
fn named_error(replay: Replay<'_>, failure: ReplayFailure) -> Option<NamedError> {
    let possible: Vec<String> = failure.codes().possible.iter().map(u16::to_string).collect();
    let codes = match (failure.codes().certain, possible.as_slice()) {
        (Some(code), _) => {
            let text = replay.knowledge.error(code).map(|row| row.text.to_owned());
            return Some(NamedError { codes: code.to_string(), text });
        }
        (None, []) => return None,
        (None, [one]) => one.clone(),
        (None, [others @ .., last]) => format!("{} or {last}", others.join(", ")),
    };
    Some(NamedError { codes, text: None })
}

/// Returns what is wrong, with the values of the image and the host.
fn failure_title_with_values(replay: Replay<'_>, failure: ReplayFailure, named: &HostNames) -> String {
    let HostNames { gpu, driver, loaded, .. } = named;
    let found = loader::loader_step(replay).0;
    let image_library = || libcuda_name(&found, true);
    match failure.outcome() {
        Outcome::Refused => refusal_messages::refusal_title(replay, failure.reason(), driver),
        Outcome::WrongPlatform => match replay.image.platforms.known().filter(|list| !list.is_empty()) {
            Some(list) => format!("no image for {}, only for {}", replay.host.platform, list.join(", ")),
            None => format!("no image for {}", replay.host.platform),
        },
        Outcome::NoGpu => format!("no GPU in the container: {}", no_gpu_reason(replay)),
        Outcome::LibraryMissing => match replay.host.wsl_lacks.filter(|_| failure.codes().certain.is_some()) {
            Some(row) => format!("the container toolkit does not mount {} of the Windows driver", row.library),
            None => library_messages::missing_library_title(replay),
        },
        Outcome::StubLibrary => "the loader finds the stub of libcuda before the driver".to_owned(),
        Outcome::DriverMismatch => format!("{} does not match {driver}", image_library()),
        Outcome::CompatNotSupported => format!("{} does not support {gpu}", image_library()),
        Outcome::CompatUnusable if replay.host.wsl => format!("{} does not work under WSL", image_library()),
        Outcome::CompatUnusable => format!("{} does not support {driver}", image_library()),
        Outcome::GpuUnsupported => {
            let whose = if is_image_libcuda_at_fault(replay, &found) { image_library() } else { driver.clone() };
            let needs = branch_limit(replay).filter(|_| !named.several);
            let needs = needs.map(|(branch, from)| {
                if from {
                    format!("; it needs branch {branch} or newer")
                } else {
                    format!("; branch {branch} is the last that does")
                }
            });
            let (do_not, needs) = (named.select_verb(&whose, "does not", "do not"), needs.unwrap_or_default());
            format!("{whose} {do_not} support {gpu}{needs}")
        }
        Outcome::InsufficientDriver => {
            let runtime = replay.component.cuda.known();
            let runtime = runtime.map_or_else(|| "the CUDA runtime".to_owned(), |cuda| format!("CUDA {cuda}"));
            let whose = match found.source {
                Some(LibcudaSource::Compat(_) | LibcudaSource::Image(_)) => libcuda_name(&found, !named.several),
                Some(LibcudaSource::Host | LibcudaSource::Nowhere) | None => loaded.clone(),
            };
            format!("{whose} {} too old for {runtime}", named.select_verb(&whose, "is", "are"))
        }
        Outcome::CpuOnly => cpu_only_title(replay),
        Outcome::NoKernelImage => format!(
            "{} has no native code for {gpu}{}",
            component_name(replay),
            gpu_code::disabling_variable_note(replay)
        ),
        Outcome::UnsupportedPtx => {
            format!(
                "{loaded} cannot compile the PTX of {} for {gpu}{}",
                component_name(replay),
                gpu_code::disabling_variable_note(replay)
            )
        }
        Outcome::JitFailed => {
            format!("{} has no PTX compiler, and {} has only PTX for {gpu}", image_library(), component_name(replay))
        }
    }
}

/// Returns the rule behind a failure, with its threshold.
fn rule_with_names(replay: Replay<'_>, failure: ReplayFailure, named: &HostNames) -> Option<String> {
    let found = loader::loader_step(replay).0;
    Some(match failure.outcome() {
        Outcome::Refused => return refusal_messages::refusal_rule(replay, failure.reason(), named.several),
        Outcome::WrongPlatform => "a node runs images for its own platform only".to_owned(),
        Outcome::NoGpu => return no_gpu_rule(replay),
        Outcome::LibraryMissing => return library_messages::missing_library_rule(replay),
        Outcome::StubLibrary => "the stub is only for linking without a driver; every CUDA call on it fails".to_owned(),
        Outcome::DriverMismatch => {
            "libcuda must have the version of the kernel-mode driver, or come from cuda-compat for its branch"
                .to_owned()
        }
        Outcome::CompatNotSupported => {
            "forward compatibility supports data-center GPUs and some professional GPUs only".to_owned()
        }
        Outcome::CompatUnusable => {
            let Some(LibcudaSource::Compat(library)) = found.source.filter(|_| !replay.host.wsl) else { return None };
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
            match branch_limit(replay)? {
                (branch, true) => format!("support for {} GPUs begins with driver branch {branch}", row.name),
                (branch, false) => format!("driver branch {branch} is the last with support for {} GPUs", row.name),
            }
        }
        Outcome::InsufficientDriver => match (runtime::minimum_driver(replay, &found), found.cuda) {
            (Some((cuda, oldest)), _) => format!("CUDA {cuda} needs driver {oldest} or newer"),
            (None, Some(cuda)) => {
                let runtime = replay.component.cuda.known()?;
                format!("the driver supports CUDA {cuda}, and CUDA {runtime} needs a newer one")
            }
            (None, None) => return None,
        },
        Outcome::CpuOnly => match cpu_variable_setting(replay) {
            Some(setting) => format!("{setting} makes {} ignore the GPU", replay.component.display_name()),
            None => "a CPU-only build uses no GPU on any driver".to_owned(),
        },
        Outcome::NoKernelImage => {
            let gpu = replay.host.gpu.as_ref().filter(|_| !named.several);
            let gpu = gpu.and_then(|gpu| Some((&gpu.name, gpu.capability?)));
            let has = gpu.map(|(name, capability)| format!("; {name} has compute capability {capability}"));
            format!("{}{}", describe_component_code(replay, &found)?, has.unwrap_or_default())
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

/// Returns the error that the program or the container runtime prints.
fn failure_symptom(replay: Replay<'_>, failure: ReplayFailure) -> Option<String> {
    let text = |code: u16| replay.knowledge.error(code).map(|row| row.text.to_owned());
    match failure.outcome() {
        // NVIDIA's source sets no message for compat libraries in several directories.
        Outcome::Refused
            if failure.reason() == Some(RefusalReason::Mount) && loader::has_scattered_compat_libraries(replay) =>
        {
            None
        }
        Outcome::Refused => Some(refusal_messages::refusal_message(replay, failure.reason())),
        Outcome::WrongPlatform => {
            let platform = &replay.host.platform;
            Some(format!("no matching manifest for {platform} in the manifest list entries, or: exec format error"))
        }
        Outcome::LibraryMissing if failure.codes().certain.is_none() => {
            library_messages::missing_library_symptom(replay)
        }
        Outcome::CpuOnly => {
            let rows =
                replay.knowledge.frameworks().iter().filter(|row| row.component == deciding_component_name(replay));
            let mut texts = rows.filter_map(|row| row.without_cuda);
            texts.next().map(str::to_owned)
        }
        _ => {
            let codes = failure.codes();
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

/// Returns what fixes the failure on this host; `None` if the advice for the cause suffices.
fn help_with_names(replay: Replay<'_>, failure: ReplayFailure, named: &HostNames) -> Option<String> {
    let found = loader::loader_step(replay).0;
    let on_host = matches!(found.source, Some(LibcudaSource::Host));
    let name = &replay.component.name;
    match failure.outcome() {
        Outcome::WrongPlatform => Some(format!("build the image for {} as well", replay.host.platform)),
        Outcome::Refused if failure_cause(replay, failure).is_none() => {
            refusal_messages::refusal_help(replay, named.several)
        }
        Outcome::InsufficientDriver if on_host => {
            let (_, oldest) = runtime::minimum_driver(replay, &found)?;
            let newer = replay.host.driver.is_none_or(|driver| driver < oldest);
            let older = newest_supported_cuda(replay, &found).filter(|_| !named.several);
            let older = older.unwrap_or_else(|| "an older CUDA release".to_owned());
            Some(if newer {
                format!(
                    "upgrade the driver of {POOLS_PLACEHOLDER} to {oldest} or newer, or use an image built with {older}"
                )
            } else {
                format!("use an image built with {older}")
            })
        }
        Outcome::InsufficientDriver | Outcome::CompatUnusable | Outcome::CompatNotSupported
            if !replay.host.wsl && route_without_compat(replay).is_some() && !on_host =>
        {
            let (runtime, driver) = (replay.component.cuda.known()?, &named.driver);
            let runs = match route_without_compat(replay)? {
                StartRoute::MinorVersion => {
                    let run = named.select_verb(driver, "runs", "run");
                    format!("{run} CUDA {runtime} by minor version compatibility")
                }
                _ => format!("{} CUDA {runtime}", named.select_verb(driver, "supports", "support")),
            };
            Some(format!("remove cuda-compat from the image: {driver} {runs}"))
        }
        Outcome::InsufficientDriver | Outcome::CompatUnusable | Outcome::CompatNotSupported => {
            let (_, oldest) = runtime::minimum_driver(replay, &LoadedLibcuda::from_host(replay))?;
            let newer = replay.host.driver.is_some_and(|driver| driver < oldest);
            newer.then(|| {
                format!("remove cuda-compat from the image and upgrade the driver of {POOLS_PLACEHOLDER} to {oldest} or newer")
            })
        }
        Outcome::GpuUnsupported if !is_image_libcuda_at_fault(replay, &found) => match branch_limit(replay)? {
            (branch, true) => Some(format!("upgrade the driver of {POOLS_PLACEHOLDER} to branch {branch} or newer")),
            (branch, false) => Some(format!("use a driver of branch {branch} or older on {POOLS_PLACEHOLDER}")),
        },
        Outcome::NoKernelImage if gpu_code::disabling_variable_note(replay).is_empty() => {
            let target = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability).filter(|_| !named.several);
            let target = target.map_or_else(|| named.gpu.clone(), sm_target);
            Some(if *name == CUDA_RUNTIME_COMPONENT {
                format!("build the program with native code for {target}")
            } else {
                format!("use a build of {name} that includes native code for {target}")
            })
        }
        Outcome::UnsupportedPtx if on_host => {
            let built = replay.component.cuda.known()?;
            let branch =
                replay.knowledge.driver_branches().iter().find(|row| row.cuda.release() >= built.release())?.branch;
            Some(format!(
                "upgrade the driver of {POOLS_PLACEHOLDER} to branch {branch} or newer, or build native code for {}",
                named.gpu
            ))
        }
        Outcome::CpuOnly => {
            let variable = replay.component.cuda_variable(&replay.image.facts)?;
            Some(format!("remove {variable} from the image"))
        }
        _ => None,
    }
}

/// Describes the GPU code that a component contains.
fn describe_component_code(replay: Replay<'_>, loaded: &LoadedLibcuda<'_>) -> Option<String> {
    let name = component_name(replay);
    if let Some(lowest) = minimum_capability::minimum_capability_of(replay).and_then(|floor| floor.lowest.known()) {
        return Some(format!("{name} supports compute capability {lowest} and newer"));
    }
    let code = match gpu_code::stopping_library(replay, loaded) {
        Some(library) => {
            let code = GpuCode { libraries: vec![library.clone()], unsorted: false };
            return Some(format!("{} of {name} contains {}", library.file, describe_code_targets(&code)));
        }
        None => replay.component.code.known(),
    };
    if let Some(code) = code {
        return Some(format!("{name} contains {}", describe_code_targets(code)));
    }
    let cuda = replay.component.cuda.known()?;
    Some(format!("CUDA {cuda} compiles no code for a GPU that old"))
}

/// Lists the targets of GPU code, native and PTX.
fn describe_code_targets(code: &GpuCode) -> String {
    let PrintedValue::List(list) = PrintedValue::from(code) else { return "no GPU code".to_owned() };
    let (native, ptx): (Vec<String>, Vec<String>) = list.into_iter().partition(|target| target.starts_with("sm_"));
    match (native.is_empty(), ptx.is_empty()) {
        (true, true) => "no GPU code".to_owned(),
        (false, true) => format!("native code for {} and no PTX", native.join(", ")),
        (true, false) => format!("PTX for {} and no native code", ptx.join(", ")),
        (false, false) => format!("native code for {} and PTX for {}", native.join(", "), ptx.join(", ")),
    }
}

/// Whether the libcuda of the image is what does not support the GPU.
fn is_image_libcuda_at_fault(replay: Replay<'_>, found: &LoadedLibcuda<'_>) -> bool {
    matches!(found.source, Some(LibcudaSource::Compat(_) | LibcudaSource::Image(_)))
        && !user_mode::kernel_driver_lacks_gpu(replay)
}

/// Returns the first or the last driver branch that supports the GPU, if the driver is older or newer; `true` for the
/// first.
fn branch_limit(replay: Replay<'_>) -> Option<(u32, bool)> {
    if user_mode::is_jetson(replay) {
        return None;
    }
    let found = loader::loader_step(replay).0;
    let own =
        found.version.filter(|_| is_image_libcuda_at_fault(replay, &found)).map(crate::cuda::DriverVersion::branch);
    let branch = own.or(replay.host.driver_branch())?;
    let row = replay.knowledge.architecture(replay.host.gpu.as_ref()?.capability?)?;
    if let Some(last) = row.last_branch.filter(|last| *last < branch) {
        return Some((last, false));
    }
    let first = replay.knowledge.driver_branches().iter().find(|known| known.cuda >= row.first_toolkit)?.branch;
    (branch < first).then_some((first, true))
}

/// Describes the newest CUDA release whose programs all start with a driver.
fn newest_supported_cuda(replay: Replay<'_>, found: &LoadedLibcuda<'_>) -> Option<String> {
    let supported = found.cuda?;
    let floor = replay.knowledge.minor_compat_of(supported.major());
    let whole = floor.zip(found.version).is_some_and(|(floor, version)| floor.min_driver <= version);
    let release = supported.release();
    Some(if whole {
        format!("CUDA {}", supported.major())
    } else {
        format!("CUDA {}.{} or older", release.0, release.1)
    })
}

/// Returns the route by which the component would start on the node's driver without the compat library.
fn route_without_compat(replay: Replay<'_>) -> Option<StartRoute> {
    match runtime::runtime_step(replay, &LoadedLibcuda::from_host(replay)).result {
        StepResult::Passes(route @ (StartRoute::Native | StartRoute::MinorVersion)) => Some(route),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_puts_the_error_behind_what_is_wrong() {
        let named = |codes: &str, text: Option<&str>| {
            Some(NamedError { codes: codes.to_owned(), text: text.map(str::to_owned) })
        };
        for (error, certain, sentence, explanation) in [
            (named("35", Some("too old")), Some(35), "error 35: too old: a: b", "a: b (CUDA error 35)"),
            (named("35", Some("too old")), None, "error 35: too old: a: b", "too old: a: b (CUDA error 35)"),
            (named("35 or 100", None), None, "error 35 or 100: a: b", "a: b (CUDA error 35 or 100)"),
            (None, None, "a: b", "a: b"),
        ] {
            let mut message = FailureMessage { error, text: "a".to_owned() };
            message.push_str(": b");
            assert_eq!((message.to_string().as_str(), message.explanation(certain).as_str()), (sentence, explanation));
        }
    }
}
