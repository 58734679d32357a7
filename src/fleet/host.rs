//! Hosts: what a node of a pool may be, once every gap of the declaration is filled with each possibility.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fleet::DeviceListStrategy;
use crate::fleet::DriverSpec;
use crate::fleet::GpuSpec;
use crate::fleet::Launch;
use crate::fleet::Mode;
use crate::fleet::Pool;
use crate::knowledge::CompatSelection;
use crate::knowledge::ContainerToolkitRow;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// At most so many hosts are tried for one pool; a declaration with more lists and gaps is cut off there.
const MAX_HOSTS: usize = 4096;

/// Ways of starting a container that are tried where a pool does not say: the common ones.
const USUAL_LAUNCHES: &[Launch] = &[Launch::DockerGpus, Launch::Kubernetes, Launch::NvidiaRuntime];

/// A field of a pool, as evidence and as something to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolField {
    /// `gpu`, with its overrides.
    Gpu,
    /// `driver`, with its override.
    Driver,
    /// `platform`.
    Platform,
    /// `launch`.
    Launch,
    /// `toolkit` and `libnvidia_container`.
    Toolkit,
    /// `mode` and `engine`.
    Mode,
    /// `env`.
    Env,
    /// `wsl`.
    Wsl,
    /// `host`.
    Host,
}

impl PoolField {
    /// The key in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gpu => "pool.gpu",
            Self::Driver => "pool.driver",
            Self::Platform => "pool.platform",
            Self::Launch => "pool.launch",
            Self::Toolkit => "pool.toolkit",
            Self::Mode => "pool.mode",
            Self::Env => "pool.env",
            Self::Wsl => "pool.wsl",
            Self::Host => "pool.host",
        }
    }
}

/// The GPU of a host.
#[derive(Clone, Debug)]
pub struct HostGpu {
    /// As the pool writes it.
    pub name: String,
    /// What it can run.
    pub capability: Option<ComputeCapability>,
    /// Class.
    pub class: Option<GpuClass>,
    /// Whether forward compatibility is for it.
    pub forward_compat: Option<bool>,
    /// NVML brand under the host's driver, lower case.
    pub brand: Option<String>,
    /// Its row.
    pub row: Option<&'static RowInfo>,
}

/// One thing that a node of a pool may be.
#[derive(Clone, Debug)]
pub struct Host {
    /// GPU, where declared.
    pub gpu: Option<HostGpu>,
    /// Kernel-mode driver, where declared.
    pub driver: Option<DriverVersion>,
    /// Newest CUDA of that driver.
    pub driver_cuda: Option<CudaVersion>,
    /// Row that tells it.
    pub driver_row: Option<&'static RowInfo>,
    /// `linux/amd64`.
    pub platform: String,
    /// How containers are started.
    pub launch: Launch,
    /// Mode of the container toolkit.
    pub mode: Mode,
    /// Behaviour of the container toolkit; none where no toolkit is at work.
    pub toolkit: Option<&'static ContainerToolkitRow>,
    /// Its version, declared or tried.
    pub toolkit_version: Option<CudaVersion>,
    /// What becomes of a compat library in the image.
    pub compat_selection: CompatSelection,
    /// How the device plugin tells the devices.
    pub strategy: DeviceListStrategy,
    /// Run-time environment.
    pub env: BTreeMap<String, String>,
    /// Windows Subsystem for Linux.
    pub wsl: bool,
    /// Whether the host's configuration turns the requirement check off.
    pub disable_require: bool,
    /// Fields that the pool leaves open and that were filled in here.
    pub assumed: Vec<PoolField>,
}

impl Host {
    /// The driver branch.
    pub fn branch(&self) -> Option<u32> {
        self.driver.map(DriverVersion::branch)
    }
}

impl Pool {
    /// Every host that this pool may be.
    pub fn hosts(&self, knowledge: Knowledge, as_of: Option<Date>) -> Vec<Host> {
        let gpus: Vec<Option<&GpuSpec>> =
            if self.gpu.is_empty() { vec![None] } else { self.gpu.iter().map(|gpu| Some(&gpu.value)).collect() };
        let launches = self.launch.as_ref().map_or(USUAL_LAUNCHES.to_vec(), |launch| vec![launch.value]);
        let mut hosts = Vec::new();
        for gpu in gpus {
            let (drivers, driver_open) = self.drivers(gpu, knowledge);
            for driver in &drivers {
                for launch in &launches {
                    for way in self.ways(gpu, *launch, knowledge, as_of) {
                        if hosts.len() == MAX_HOSTS {
                            return hosts;
                        }
                        hosts.push(self.host(gpu, *driver, driver_open, *launch, way, knowledge));
                    }
                }
            }
        }
        hosts
    }

    /// The drivers to try, and whether the declaration leaves the choice open.
    fn drivers(&self, gpu: Option<&GpuSpec>, knowledge: Knowledge) -> (Vec<Option<DriverVersion>>, bool) {
        let mut drivers: Vec<Option<DriverVersion>> = Vec::new();
        let mut open = self.driver.len() > 1;
        for spec in &self.driver {
            let tried = match &spec.value {
                DriverSpec::Exact(version) => vec![*version],
                DriverSpec::Branch(branch) => releases(knowledge, |version| version.branch() == *branch)
                    .or_else(|| branch.to_string().parse().ok().map(|version| vec![version]))
                    .unwrap_or_default(),
                DriverSpec::Range { from, before } => {
                    let inside = |version: DriverVersion| {
                        from.is_none_or(|from| from <= version) && before.is_none_or(|before| version < before)
                    };
                    let mut tried = releases(knowledge, inside).unwrap_or_default();
                    tried.extend(from.iter().copied());
                    tried
                }
            };
            open |= tried.len() > 1;
            drivers.extend(tried.into_iter().map(Some));
        }
        drivers.sort();
        drivers.dedup();
        if drivers.is_empty() {
            drivers = self.any_driver(gpu, knowledge);
            open = true;
        }
        (drivers, open)
    }

    /// Where no driver is declared: the newest release of every branch that drives the GPU, since the node has
    /// it; where the GPU is not declared either, nothing.
    fn any_driver(&self, gpu: Option<&GpuSpec>, knowledge: Knowledge) -> Vec<Option<DriverVersion>> {
        let row = gpu.and_then(|gpu| knowledge.gpu(&gpu.name));
        let overridden = self.compute_capability.as_ref().map(|capability| capability.value);
        let capability = gpu.and_then(|gpu| gpu.compute_capability).or(overridden).or(row.map(|row| row.capability));
        let drives = |branch| capability.and_then(|capability| knowledge.branch_knows(branch, capability));
        let found: Vec<_> = knowledge
            .branches()
            .iter()
            .filter(|row| drives(row.branch).is_some_and(|(known, _)| known))
            .filter_map(|row| row.releases.last().copied())
            .map(Some)
            .collect();
        if found.is_empty() { vec![None] } else { found }
    }

    /// The modes and toolkits that one launch may mean.
    fn ways(&self, gpu: Option<&GpuSpec>, launch: Launch, knowledge: Knowledge, as_of: Option<Date>) -> Vec<Way> {
        if matches!(launch, Launch::Native | Launch::Singularity | Launch::Gke) {
            let mode = self.mode.as_ref().map_or(Mode::None, |mode| mode.value);
            return vec![Way {
                mode,
                toolkit: None,
                version: None,
                selection: CompatSelection::Off,
                assumed: Vec::new(),
            }];
        }
        let tegra = gpu.and_then(|gpu| knowledge.gpu(&gpu.name)).is_some_and(|row| row.class == GpuClass::Jetson);
        let declared = self.libnvidia_container.as_ref().or(self.toolkit.as_ref()).map(|toolkit| toolkit.value);
        let rows: Vec<&'static ContainerToolkitRow> = match declared {
            Some(version) => knowledge.container_toolkit(version).into_iter().collect(),
            None => knowledge
                .container_toolkits()
                .iter()
                .filter(|row| as_of.is_none_or(|day| row.released.is_none_or(|released| released <= day)))
                .collect(),
        };
        let mut ways: Vec<Way> = Vec::new();
        for row in rows {
            for (mode, mode_assumed) in self.modes(launch, row, tegra, knowledge) {
                let selection = self.compat_selection(launch, mode, row);
                let mut assumed = Vec::new();
                if declared.is_none() {
                    assumed.push(PoolField::Toolkit);
                }
                if mode_assumed {
                    assumed.push(PoolField::Mode);
                }
                let way = Way { mode, toolkit: Some(row), version: declared.or(Some(row.sample)), selection, assumed };
                // Versions that behave alike here need not be told apart; the newest stands for them.
                ways.retain(|other| {
                    (other.mode, other.selection) != (way.mode, way.selection) || libraries(other) != libraries(&way)
                });
                ways.push(way);
            }
        }
        ways
    }

    fn modes(
        &self,
        launch: Launch,
        row: &'static ContainerToolkitRow,
        tegra: bool,
        knowledge: Knowledge,
    ) -> Vec<(Mode, bool)> {
        if let Some(mode) = &self.mode {
            let impossible = mode.value == Mode::JitCdi && row.auto_mode != Mode::JitCdi.as_str();
            return if impossible && self.toolkit.is_none() { Vec::new() } else { vec![(mode.value, false)] };
        }
        let auto = if tegra { Mode::Csv } else { row.auto_mode.parse().unwrap_or(Mode::Legacy) };
        let strategy = self.device_list_strategy.as_ref().map(|strategy| strategy.value);
        let mode = match launch {
            Launch::DockerCdi | Launch::PodmanCdi => Mode::Cdi,
            Launch::DockerGpus => {
                let engine = self.engine.as_ref().map(|engine| engine.value.as_str());
                return if engine.is_some_and(|engine| knowledge.engine_prefers_cdi(engine)) {
                    vec![(Mode::Legacy, true), (Mode::Cdi, true)]
                } else {
                    vec![(Mode::Legacy, false)]
                };
            }
            Launch::Enroot => Mode::Legacy,
            Launch::Kubernetes => match strategy {
                Some(DeviceListStrategy::CdiAnnotations | DeviceListStrategy::CdiCri) => Mode::Cdi,
                _ => auto,
            },
            Launch::NvidiaRuntime => auto,
            Launch::Singularity | Launch::Gke | Launch::Native => Mode::None,
        };
        vec![(mode, false)]
    }

    fn compat_selection(&self, launch: Launch, mode: Mode, row: &ContainerToolkitRow) -> CompatSelection {
        let own = match (mode, launch) {
            (Mode::None, _) => CompatSelection::Off,
            (Mode::Cdi | Mode::JitCdi, _) => row.cdi,
            (Mode::Csv, _) => row.csv,
            // enroot calls the command-line tool itself, which mounts unless told otherwise.
            (Mode::Legacy, Launch::Enroot) => CompatSelection::Mount,
            (Mode::Legacy, Launch::DockerGpus) => row.legacy_hook,
            (Mode::Legacy, _) => row.legacy_runtime,
        };
        if mode != Mode::Legacy {
            return own;
        }
        match self.host_option("nvidia-container-runtime.modes.legacy.cuda-compat-mode") {
            Some("disabled") => CompatSelection::Off,
            Some("mount") => CompatSelection::Mount,
            Some("ldconfig") => CompatSelection::Ldconfig,
            Some("hook") if launch == Launch::DockerGpus => CompatSelection::Off,
            Some("hook") => row.cdi,
            _ => own,
        }
    }

    fn host_option(&self, name: &str) -> Option<&str> {
        self.host.iter().find(|(key, _)| key == name).map(|(_, value)| value.value.as_str())
    }

    fn host(
        &self,
        gpu: Option<&GpuSpec>,
        driver: Option<DriverVersion>,
        driver_open: bool,
        launch: Launch,
        way: Way,
        knowledge: Knowledge,
    ) -> Host {
        let row = gpu.and_then(|gpu| knowledge.gpu(&gpu.name));
        let branch = driver.map(DriverVersion::branch);
        let by_branch = driver.and_then(|driver| knowledge.driver_cuda(driver));
        let mut assumed = way.assumed;
        for (open, field) in [
            (self.launch.is_none(), PoolField::Launch),
            (driver_open, PoolField::Driver),
            (self.gpu.len() > 1, PoolField::Gpu),
        ] {
            if open {
                assumed.push(field);
            }
        }
        let brand_of_row = || {
            let brands = row?.brands;
            let holds = |brand: &&crate::knowledge::BrandRow| {
                branch.is_some_and(|branch| {
                    brand.from_branch.is_none_or(|from| from <= branch)
                        && brand.up_to_branch.is_none_or(|last| branch <= last)
                })
            };
            let brand = if brands.len() == 1 { brands.first() } else { brands.iter().find(holds) };
            brand.map(|brand| brand.brand.to_owned())
        };
        let gpu = gpu.map(|gpu| HostGpu {
            name: gpu.name.clone(),
            capability: gpu
                .compute_capability
                .or(self.compute_capability.as_ref().map(|capability| capability.value))
                .or(row.map(|row| row.capability)),
            class: row.map(|row| row.class),
            forward_compat: row.and_then(|row| row.forward_compat),
            brand: gpu.brand.clone().or(self.brand.as_ref().map(|brand| brand.value.clone())).or_else(brand_of_row),
            row: row.map(|row| &row.info),
        });
        let platform = self.platform.as_ref().map_or_else(
            || if row.is_some_and(|row| row.arm64_host) { "linux/arm64" } else { "linux/amd64" }.to_owned(),
            |platform| platform.value.clone(),
        );
        Host {
            gpu,
            driver,
            driver_cuda: self.driver_cuda.as_ref().map(|cuda| cuda.value).or(by_branch.map(|(cuda, _)| cuda)),
            driver_row: by_branch.map(|(_, row)| row),
            platform,
            launch,
            mode: way.mode,
            toolkit: way.toolkit,
            toolkit_version: way.version,
            compat_selection: way.selection,
            strategy: self.device_list_strategy.as_ref().map_or(DeviceListStrategy::Envvar, |strategy| strategy.value),
            env: self.env.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
            wsl: self.wsl.as_ref().is_some_and(|wsl| wsl.value),
            disable_require: self.host_option("disable-require") == Some("true"),
            assumed,
        }
    }
}

/// A mode and a toolkit behind one launch.
struct Way {
    mode: Mode,
    toolkit: Option<&'static ContainerToolkitRow>,
    version: Option<CudaVersion>,
    selection: CompatSelection,
    assumed: Vec<PoolField>,
}

/// What else a toolkit does with the libraries of an image, as far as its mode asks for it.
fn libraries(way: &Way) -> [bool; 4] {
    let Some(row) = way.toolkit else { return [false; 4] };
    let by_files = matches!(way.mode, Mode::Cdi | Mode::JitCdi | Mode::Csv);
    [
        way.mode == Mode::Legacy && row.follows_absolute_link,
        by_files && row.hook_needs_cache,
        by_files && row.hook_takes_links,
        by_files && row.keeps_listed_directories,
    ]
}

/// First and last known release of every branch with releases inside; none where there is none.
fn releases(knowledge: Knowledge, inside: impl Fn(DriverVersion) -> bool) -> Option<Vec<DriverVersion>> {
    let mut found = Vec::new();
    for row in knowledge.branches() {
        let mut known = row.releases.iter().copied().filter(|version| inside(*version));
        found.extend(known.next());
        found.extend(known.next_back());
    }
    (!found.is_empty()).then_some(found)
}
