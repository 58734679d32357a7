//! How the hosts and the components of a failure are called.

use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::fact::FactKey;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::Host;
use crate::fleet::PoolField;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Source;
use crate::start::Wall;
use crate::start::loader;

/// So many GPUs or drivers of several pools are named.
const MOST_NAMED: usize = 3;

/// How a host is named.
pub(super) struct Named {
    /// `B200 (sm_100)`.
    pub(super) gpu: String,
    /// `driver 535.54.03`.
    pub(super) driver: String,
    /// With the CUDA version that the pool declares for it.
    pub(super) loaded: String,
    /// Whether these words stand for several pools.
    pub(super) several: bool,
    /// Whether the drivers are several.
    drivers: bool,
}

impl Named {
    /// The verb after a subject that is or is not the drivers.
    pub(super) fn verb(&self, subject: &str, one: &'static str, many: &'static str) -> &'static str {
        if self.drivers && [&self.driver, &self.loaded].iter().any(|drivers| *drivers == subject) { many } else { one }
    }
}

/// One host.
pub(super) fn named(replay: Replay<'_>) -> Named {
    let driver = driver(replay.host);
    let loaded = match declared_cuda(replay) {
        Some(cuda) if !stands_for_cuda(replay.host) => format!("{driver} with `driver_cuda = \"{cuda}\"`"),
        _ => driver.clone(),
    };
    Named { gpu: gpu(replay), driver, loaded, several: false, drivers: false }
}

/// Without the GPU and the driver, which differ between pools.
pub(super) fn named_apart(replay: Replay<'_>) -> Named {
    let driver = "the driver of these pools".to_owned();
    let loaded = with_declared_cuda(&driver, replay);
    Named { gpu: "the GPUs of these pools".to_owned(), driver, loaded, several: true, drivers: false }
}

/// Several hosts together.
pub(super) fn named_together(all: &[(Replay<'_>, Wall)]) -> Named {
    let gpus = all.iter().map(|(replay, _)| gpu(*replay));
    let drivers = unique(all.iter().map(|(replay, _)| driver(replay.host)));
    let numbers: Option<Vec<String>> =
        drivers.iter().map(|name| name.strip_prefix("driver ").map(str::to_owned)).collect();
    let driver = match numbers.filter(|numbers| numbers.len() > 1) {
        Some(numbers) => format!("drivers {}", series(&numbers)),
        None => series(&drivers),
    };
    // What decides next to the driver is common to them: pools without it have other words.
    let loaded = all.first().map_or_else(|| driver.clone(), |(replay, _)| with_declared_cuda(&driver, *replay));
    Named { gpu: series(&unique(gpus)), driver, loaded, several: true, drivers: drivers.len() > 1 }
}

fn with_declared_cuda(driver: &str, replay: Replay<'_>) -> String {
    match declared_cuda(replay) {
        Some(cuda) => format!("{driver} with `driver_cuda = \"{cuda}\"`"),
        None => driver.to_owned(),
    }
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// `a`, `a and b`, `a, b and c`, `a, b, c and 2 more`.
fn series(names: &[String]) -> String {
    let left = names.len().saturating_sub(MOST_NAMED);
    match names {
        [one] => one.clone(),
        [others @ .., last] if left == 0 => format!("{} and {last}", others.join(", ")),
        _ => format!("{} and {left} more", names.get(..MOST_NAMED).unwrap_or_default().join(", ")),
    }
}

/// The variable that keeps a component on the CPU, with its value: `JAX_PLATFORMS=cpu`.
pub(super) fn switch(replay: Replay<'_>) -> Option<String> {
    let entry = replay.image.facts.get(replay.image.facts.variable(replay.component.cuda.id)?);
    let name = entry.of.as_deref()?;
    match &entry.state {
        State::Known(value) => Some(format!("{name}={value}")),
        State::Absent { .. } | State::Unknown(_) => Some(name.to_owned()),
    }
}

/// The component whose build decides that a component runs on the CPU.
pub(super) fn decider(replay: Replay<'_>) -> &str {
    let facts = &replay.image.facts;
    facts.get(facts.without_cuda(replay.component.cuda.id)).of.as_deref().unwrap_or(&replay.component.name)
}

/// A component that uses no GPU, in a title.
pub(super) fn cpu_only(replay: Replay<'_>) -> String {
    match decider(replay) {
        other if other != replay.component.name => {
            format!("{} is a CPU-only build, so {} uses no GPU", versioned(replay, other, other), component(replay))
        }
        _ => match switch(replay) {
            Some(setting) => format!("{setting} keeps {} on the CPU", component(replay)),
            None => without_cuda(replay),
        },
    }
}

/// What keeps a component from CUDA.
pub(super) fn without_cuda(replay: Replay<'_>) -> String {
    match replay.component.switch(&replay.image.facts) {
        Some(variable) => format!("{} runs on the CPU only because of {variable}", replay.component.called()),
        None => format!("{} is a CPU-only build", component(replay)),
    }
}

/// The component as people call it, with its version.
pub(super) fn component(replay: Replay<'_>) -> String {
    versioned(replay, &replay.component.name, replay.component.called())
}

fn versioned(replay: Replay<'_>, name: &str, called: &str) -> String {
    let version = replay.image.facts.iter().find_map(|(_, entry)| match &entry.state {
        State::Known(Value::Text(text))
            if entry.key == FactKey::ComponentVersion && entry.of.as_deref() == Some(name) =>
        {
            Some(text)
        }
        _ => None,
    });
    version.map_or_else(|| called.to_owned(), |version| format!("{name} {version}"))
}

/// The target of native code for a GPU.
pub(super) fn sm(capability: ComputeCapability) -> String {
    format!("sm_{}{}", capability.major, capability.minor)
}

/// The libcuda that a program gets from the image.
pub(super) fn libcuda(found: &Loaded<'_>, numbered: bool) -> String {
    let version = found.version.filter(|_| numbered).map_or_else(String::new, |version| format!(" {version}"));
    match found.source {
        Some(Source::Compat(_)) => format!("cuda-compat{version}"),
        Some(Source::Image(_)) => format!("libcuda{version} of the image"),
        Some(Source::Host | Source::Nowhere) | None => format!("libcuda{version}"),
    }
}

pub(super) fn gpu(replay: Replay<'_>) -> String {
    match &replay.host.gpu {
        Some(gpu) => {
            let name =
                if !gpu.named && gpu.row.is_some() { format!("a GPU such as {}", gpu.name) } else { gpu.name.clone() };
            gpu.capability.map_or_else(|| name.clone(), |capability| format!("{name} ({})", sm(capability)))
        }
        None => "the GPU".to_owned(),
    }
}

/// The driver of the host: its number, if somebody declared that.
pub(super) fn driver(host: &Host) -> String {
    match (host.driver, host.driver_cuda) {
        // Tried for the CUDA version that the pool declares in its place.
        (_, Some(cuda)) if stands_for_cuda(host) => format!("a driver for CUDA {cuda}"),
        (Some(driver), _) => format!("driver {driver}"),
        (None, _) => "the driver".to_owned(),
    }
}

/// Whether the pool declares only the CUDA version of its driver, so that the release here is one of many.
pub(super) fn stands_for_cuda(host: &Host) -> bool {
    host.driver_row.is_none() && host.driver_cuda.is_some() && host.assumed.contains(&PoolField::Driver)
}

/// The CUDA version that the pool declares for the libcuda of its driver, if programs get that one.
fn declared_cuda(replay: Replay<'_>) -> Option<CudaVersion> {
    let declared = replay.host.driver_cuda.filter(|_| replay.host.overrides.contains(&PoolField::DriverCuda));
    declared.filter(|_| loader::step(replay).0.source == Some(Source::Host))
}
