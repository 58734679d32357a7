//! Ways of starting a container, and the hosts that they make of a kind of GPU.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fleet::Declared;
use crate::fleet::DriverSpec;
use crate::fleet::GpuSpec;
use crate::fleet::Host;
use crate::fleet::Launch;
use crate::fleet::Pool;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::needs::kind::Kind;
use crate::source::Span;

/// The title of a start without a container.
pub(super) const NO_CONTAINER: &str = "no container";

/// A launch, with the container toolkit behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The launch.
    pub(super) launch: Launch,
    /// The toolkit; none without one.
    pub(super) toolkit: Option<CudaVersion>,
}

impl Way {
    /// The heading of its column.
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

/// The ways that a kind of GPU is told for, with the newest toolkit.
pub(super) fn ways(kind: &Kind, knowledge: Knowledge) -> Vec<Way> {
    let newest = knowledge.container_toolkits().last().map(|row| row.sample);
    let launches: &[Launch] = match kind.class {
        GpuClass::Jetson => &[Launch::NvidiaRuntime, Launch::Native],
        _ => &[Launch::DockerGpus, Launch::NvidiaRuntime, Launch::DockerCdi, Launch::Native],
    };
    let with = |launch: &Launch| Way { launch: *launch, toolkit: newest.filter(|_| *launch != Launch::Native) };
    launches.iter().map(with).collect()
}

/// The driver releases that a kind of GPU is tried on, of all in the tables; modules have releases of their own.
fn drivers_of<'a>(kind: &Kind, all: &'a [DriverVersion], knowledge: Knowledge) -> Cow<'a, [DriverVersion]> {
    if kind.class != GpuClass::Jetson {
        return Cow::Borrowed(all);
    }
    let own = knowledge.jetson_releases().iter().filter(|row| row.capabilities.contains(&kind.capability));
    let mut found: Vec<DriverVersion> = own.map(|row| row.driver).collect();
    found.sort_unstable();
    Cow::Owned(found)
}

/// What hosts are made of beside the GPU and the way: the same for every build and every component of an image.
#[derive(Clone, Copy)]
pub(super) struct Maker<'a> {
    /// `os/architecture` of boards that go into machines of either kind.
    pub(super) platform: &'a str,
    /// Every driver release, oldest first.
    pub(super) drivers: &'a [DriverVersion],
    /// Day for which tables are asked.
    pub(super) as_of: Option<Date>,
    /// Tables.
    pub(super) knowledge: Knowledge,
}

impl Maker<'_> {
    /// One host for each driver, but two where the day leaves open what the engine does.
    pub(super) fn hosts(self, kind: &Kind, way: Way) -> Vec<Host> {
        let Some(name) = kind.names.first() else { return Vec::new() };
        let drivers = drivers_of(kind, self.drivers, self.knowledge);
        let gpu = GpuSpec { name: (*name).to_owned(), count: None, compute_capability: None, brand: None, mig: None };
        let mut pool = Pool::undeclared(nowhere(way.title().to_owned()));
        pool.gpu = vec![nowhere(gpu)];
        // Boards that are part of an arm64 machine have no other platform; the rest goes into machines of either kind.
        let fixed = self.knowledge.gpu(name).is_some_and(|row| row.arm64_host);
        pool.platform = (!fixed).then(|| nowhere(self.platform.to_owned()));
        pool.launch = Some(nowhere(way.launch));
        pool.toolkit = way.toolkit.map(nowhere);
        pool.driver = drivers.iter().map(|driver| nowhere(DriverSpec::Exact(*driver))).collect();
        pool.hosts(self.knowledge, self.as_of)
    }
}

fn nowhere<T>(value: T) -> Declared<T> {
    Declared { value, span: Span { start: 0, end: 0 } }
}
