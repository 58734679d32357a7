//! Names of hosts, GPUs, drivers and components in failure messages.

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::fleet::{Host, PoolField};
use crate::model::fact::{FactKey, PrintedValue, ValueState};
use crate::replay::{LibcudaSource, LoadedLibcuda, Replay, ReplayFailure, loader};

/// Placeholder for the names of the pools in a help text.
pub const POOLS_PLACEHOLDER: &str = "{pools}";
/// How many GPUs or drivers of several pools a message lists.
const MAX_LISTED_NAMES: usize = 3;

/// How messages name a host, or several hosts together.
pub(super) struct HostNames {
    /// The GPU, such as `B200 (sm_100)`.
    pub(super) gpu: String,
    /// The driver, such as `driver 535.54.03`.
    pub(super) driver: String,
    /// The driver with the CUDA version that the pool declares for it, if any.
    pub(super) loaded: String,
    /// Whether the names stand for several pools.
    pub(super) several: bool,
    /// Whether `driver` lists several drivers.
    drivers: bool,
}

impl HostNames {
    /// Returns the plural verb if the subject is a list of drivers, otherwise the singular one.
    pub(super) fn select_verb(&self, subject: &str, one: &'static str, many: &'static str) -> &'static str {
        if self.drivers && [&self.driver, &self.loaded].iter().any(|drivers| *drivers == subject) { many } else { one }
    }
}

/// Returns the names of one host.
pub(super) fn host_names(replay: Replay<'_>) -> HostNames {
    let driver = driver_name(replay.host);
    let loaded = match declared_driver_cuda(replay) {
        Some(cuda) if !is_driver_assumed_from_cuda(replay.host) => format!("{driver} with `driver_cuda = \"{cuda}\"`"),
        _ => driver.clone(),
    };
    HostNames { gpu: gpu_name(replay), driver, loaded, several: false, drivers: false }
}

/// Returns names for several pools that do not mention the GPU and the driver, which differ.
pub(super) fn generic_host_names(replay: Replay<'_>) -> HostNames {
    let driver = "the driver of these pools".to_owned();
    let loaded = append_declared_cuda(&driver, replay);
    HostNames { gpu: "the GPUs of these pools".to_owned(), driver, loaded, several: true, drivers: false }
}

/// Returns names that list the GPUs and drivers of several hosts.
pub(super) fn combined_host_names(all: &[(Replay<'_>, ReplayFailure)]) -> HostNames {
    let gpus = all.iter().map(|(replay, _)| gpu_name(*replay));
    let drivers = deduplicate_names(all.iter().map(|(replay, _)| driver_name(replay.host)));
    let releases: Option<Vec<String>> =
        all.iter().map(|(replay, _)| driver_release(replay.host).map(|release| release.to_string())).collect();
    let numbers = releases.map(|releases| deduplicate_names(releases.into_iter()));
    let driver = match numbers.filter(|numbers| numbers.len() > 1) {
        Some(numbers) => format!("drivers {}", join_names(&numbers)),
        None => join_names(&drivers),
    };
    // What decides next to the driver is common to them: pools without it have other words.
    let loaded = all.first().map_or_else(|| driver.clone(), |(replay, _)| append_declared_cuda(&driver, *replay));
    HostNames { gpu: join_names(&deduplicate_names(gpus)), driver, loaded, several: true, drivers: drivers.len() > 1 }
}

/// Appends the CUDA version that the pool declares for its driver, if any.
fn append_declared_cuda(driver: &str, replay: Replay<'_>) -> String {
    match declared_driver_cuda(replay) {
        Some(cuda) => format!("{driver} with `driver_cuda = \"{cuda}\"`"),
        None => driver.to_owned(),
    }
}

/// Returns each name once, in the order of first occurrence.
fn deduplicate_names(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Joins names for a sentence: `a`, `a and b`, `a, b and c`, `a, b, c and 2 more`.
fn join_names(names: &[String]) -> String {
    let left = names.len().saturating_sub(MAX_LISTED_NAMES);
    match names {
        [one] => one.clone(),
        [others @ .., last] if left == 0 => format!("{} and {last}", others.join(", ")),
        _ => format!("{} and {left} more", names.get(..MAX_LISTED_NAMES).unwrap_or_default().join(", ")),
    }
}

/// Returns the variable that keeps a component on the CPU, with its value: `JAX_PLATFORMS=cpu`.
pub(super) fn cpu_variable_setting(replay: Replay<'_>) -> Option<String> {
    let entry = replay.image.facts.get(replay.image.facts.env_variable(replay.component.cuda.id)?);
    let name = entry.subject.as_deref()?;
    match &entry.state {
        ValueState::Known(value) => Some(format!("{name}={value}")),
        ValueState::Absent { .. } | ValueState::Unknown(_) => Some(name.to_owned()),
    }
}

/// Returns the component whose build decides that this component runs on the CPU.
pub(super) fn deciding_component_name(replay: Replay<'_>) -> &str {
    let facts = &replay.image.facts;
    facts.get(facts.cuda_absence_source(replay.component.cuda.id)).subject.as_deref().unwrap_or(&replay.component.name)
}

/// Returns the title for a component that uses no GPU.
pub(super) fn cpu_only_title(replay: Replay<'_>) -> String {
    match deciding_component_name(replay) {
        other if other != replay.component.name => {
            format!(
                "{} is a CPU-only build, so {} uses no GPU",
                name_with_version(replay, other, other),
                component_name(replay)
            )
        }
        _ => match cpu_variable_setting(replay) {
            Some(setting) => format!("{setting} keeps {} on the CPU", component_name(replay)),
            None => cpu_only_cause(replay),
        },
    }
}

/// Returns the part of a sentence that explains why a component does not use CUDA.
pub(super) fn cpu_only_cause(replay: Replay<'_>) -> String {
    match replay.component.cuda_variable(&replay.image.facts) {
        Some(variable) => format!("{} runs on the CPU only because of {variable}", replay.component.display_name()),
        None => format!("{} is a CPU-only build", component_name(replay)),
    }
}

/// Returns the usual name of the component with its version.
pub(super) fn component_name(replay: Replay<'_>) -> String {
    name_with_version(replay, &replay.component.name, replay.component.display_name())
}

/// Returns a component's name with its version, or `called` if the version is unknown.
fn name_with_version(replay: Replay<'_>, name: &str, called: &str) -> String {
    let versions = replay.image.facts.iter().filter_map(|(_, entry)| match &entry.state {
        ValueState::Known(PrintedValue::Text(text))
            if entry.key == FactKey::ComponentVersion && entry.subject.as_deref() == Some(name) =>
        {
            Some(text)
        }
        _ => None,
    });
    versions.last().map_or_else(|| called.to_owned(), |version| format!("{name} {version}"))
}

/// Returns the target of native code for a GPU, such as `sm_90`.
pub(super) fn sm_target(capability: ComputeCapability) -> String {
    format!("sm_{}{}", capability.major, capability.minor)
}

/// Returns the name of the loaded libcuda, with its version if `numbered`.
pub(super) fn libcuda_name(found: &LoadedLibcuda<'_>, numbered: bool) -> String {
    let version = found.version.filter(|_| numbered).map_or_else(String::new, |version| format!(" {version}"));
    match found.source {
        Some(LibcudaSource::Compat(_)) => format!("cuda-compat{version}"),
        Some(LibcudaSource::Image(_)) => format!("libcuda{version} of the image"),
        Some(LibcudaSource::Host | LibcudaSource::Nowhere) | None => format!("libcuda{version}"),
    }
}

/// Returns the name of the host's GPU with its compute capability, if known.
pub(super) fn gpu_name(replay: Replay<'_>) -> String {
    match &replay.host.gpu {
        Some(gpu) => {
            let name =
                if !gpu.named && gpu.row.is_some() { format!("a GPU such as {}", gpu.name) } else { gpu.name.clone() };
            gpu.capability.map_or_else(|| name.clone(), |capability| format!("{name} ({})", sm_target(capability)))
        }
        None => "the GPU".to_owned(),
    }
}

/// Returns the name of the host's driver, with its version if one is declared.
pub(super) fn driver_name(host: &Host) -> String {
    match (driver_release(host), host.driver_cuda) {
        (Some(driver), _) => format!("driver {driver}"),
        // Tried for the CUDA version that the pool declares in its place.
        (None, Some(cuda)) if is_driver_assumed_from_cuda(host) => format!("a driver for CUDA {cuda}"),
        (None, _) => "the driver".to_owned(),
    }
}

/// Returns the release of the host's driver; `None` if it stands for all that support a CUDA version.
fn driver_release(host: &Host) -> Option<DriverVersion> {
    host.driver.filter(|_| !is_driver_assumed_from_cuda(host))
}

/// Whether the pool declares only the CUDA version of its driver, so that the driver release here is one of many.
pub(super) fn is_driver_assumed_from_cuda(host: &Host) -> bool {
    host.driver_row.is_none() && host.driver_cuda.is_some() && host.assumed.contains(&PoolField::Driver)
}

/// Returns the CUDA version that the pool declares for its driver's libcuda, if programs load that library.
fn declared_driver_cuda(replay: Replay<'_>) -> Option<CudaVersion> {
    let declared = replay.host.driver_cuda.filter(|_| replay.host.overrides.contains(&PoolField::DriverCuda));
    declared.filter(|_| loader::loader_step(replay).0.source == Some(LibcudaSource::Host))
}
