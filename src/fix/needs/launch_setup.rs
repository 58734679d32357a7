//! Launch methods, and the hosts to replay for a kind of GPU.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fix::needs::equivalent_gpus::EquivalentGpus;
use crate::fleet::{Declared, DriverSpec, GpuSpec, Host, Launch, Pool};
use crate::knowledge::{GpuClass, Knowledge};
use crate::text::source::Span;

/// Title of a launch without a container.
pub(super) const NO_CONTAINER: &str = "no container";

/// A launch method with its container toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LaunchSetup {
    /// The launch method.
    pub(super) launch: Launch,
    /// Version of the container toolkit, if there is one.
    pub(super) toolkit: Option<CudaVersion>,
}

impl LaunchSetup {
    /// Returns the display title of the launch method.
    pub(super) const fn title(self) -> &'static str {
        match self.launch {
            Launch::DockerGpus => "docker --gpus",
            Launch::NvidiaRuntime => "nvidia runtime",
            Launch::DockerCdi => "CDI",
            Launch::Native => NO_CONTAINER,
            other => other.as_str(),
        }
    }
}

/// Returns the launch methods to survey for a kind of GPU, with the newest toolkit.
pub(super) fn launch_setups(kind: &EquivalentGpus, knowledge: Knowledge) -> Vec<LaunchSetup> {
    let newest = knowledge.container_toolkits().last().map(|row| row.sample);
    let launches: &[Launch] = match kind.class {
        GpuClass::Jetson => &[Launch::NvidiaRuntime, Launch::Native],
        _ => &[Launch::DockerGpus, Launch::NvidiaRuntime, Launch::DockerCdi, Launch::Native],
    };
    let with = |launch: &Launch| LaunchSetup { launch: *launch, toolkit: newest.filter(|_| *launch != Launch::Native) };
    launches.iter().map(with).collect()
}

/// Returns the driver releases to replay for a kind of GPU; Jetson modules have their own releases.
fn drivers_for<'a>(kind: &EquivalentGpus, all: &'a [DriverVersion], knowledge: Knowledge) -> Cow<'a, [DriverVersion]> {
    if kind.class != GpuClass::Jetson {
        return Cow::Borrowed(all);
    }
    let own = knowledge.jetson_releases().iter().filter(|row| row.capabilities.contains(&kind.capability));
    let mut found: Vec<DriverVersion> = own.map(|row| row.driver).collect();
    found.sort_unstable();
    Cow::Owned(found)
}

/// Builds the hosts to replay; shared by all builds and components of an image.
#[derive(Clone, Copy)]
pub(super) struct SurveyHostBuilder<'a> {
    /// Platform (`os/architecture`) of hosts whose GPUs do not determine it.
    pub(super) platform: &'a str,
    /// Every driver release, oldest first.
    pub(super) drivers: &'a [DriverVersion],
    /// Date for table lookups.
    pub(super) as_of: Option<Date>,
    /// The tables.
    pub(super) knowledge: Knowledge,
}

impl SurveyHostBuilder<'_> {
    /// Returns one host per driver, or two where the date leaves the behavior of the engine open.
    pub(super) fn hosts(self, kind: &EquivalentGpus, way: LaunchSetup) -> Vec<Host> {
        let Some(name) = kind.names.first() else { return Vec::new() };
        let drivers = drivers_for(kind, self.drivers, self.knowledge);
        let gpu = GpuSpec { name: (*name).to_owned(), count: None, compute_capability: None, brand: None, mig: None };
        let mut pool = Pool::with_name(with_empty_span(way.title().to_owned()));
        pool.gpu = vec![with_empty_span(gpu)];
        // Boards that are part of an arm64 machine have no other platform; the rest goes into machines of either kind.
        let fixed = self.knowledge.gpu(name).is_some_and(|row| row.arm64_host);
        pool.platform = (!fixed).then(|| with_empty_span(self.platform.to_owned()));
        pool.launch = Some(with_empty_span(way.launch));
        pool.toolkit = way.toolkit.map(with_empty_span);
        pool.driver = drivers.iter().map(|driver| with_empty_span(DriverSpec::Exact(*driver))).collect();
        pool.hosts(self.knowledge, self.as_of)
    }
}

/// Wraps a value as declared, with an empty span.
fn with_empty_span<T>(value: T) -> Declared<T> {
    Declared { value, span: Span { start: 0, end: 0 } }
}
