//! Hosts: the possible configurations of a node of a pool, with every open field filled in.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::cuda::{
    ComputeCapability, ContainerToolkitRelease, CudaVersion, DriverCapabilities, DriverVersion, RequirementHost,
};
use crate::fleet::host_equivalence::{EquivalenceNumbering, HostEquivalence};
use crate::fleet::host_variants::HostVariants;
use crate::fleet::launch_configurations::{LaunchConfiguration, ToolkitVersions};
use crate::fleet::possible_drivers::DriverProperties;
use crate::fleet::possible_gpus::PoolGpu;
use crate::fleet::requirement_values::{nvml_brand, requirement_host};
use crate::fleet::toolkit_options::default_capabilities;
use crate::fleet::{DeviceListStrategy, GpuSpec, Launch, Mode, Pool, PoolField, ToolkitOptions};
use crate::knowledge::{
    CompatSelection, ContainerToolkitRow, GpuClass, GpuRow, Knowledge, RowInfo, ToolkitChange, ToolkitChanges,
    WslLibraryRow,
};

/// The maximum number of hosts of one pool; a fleet with a larger pool is an error.
pub(super) const MAX_HOSTS: usize = 4096;

/// The launch methods that are checked where a pool declares none: all except `gke` and `native`.
const DEFAULT_LAUNCHES: &[Launch] = &[
    Launch::DockerGpus,
    Launch::Kubernetes,
    Launch::NvidiaRuntime,
    Launch::DockerCdi,
    Launch::PodmanCdi,
    Launch::Enroot,
    Launch::Singularity,
];

/// The fields whose declared values override values derived from other fields.
const OVERRIDE_FIELDS: &[PoolField] = &[
    PoolField::Brand,
    PoolField::ComputeCapability,
    PoolField::DriverCuda,
    PoolField::LibnvidiaContainer,
    PoolField::LibraryDirectory,
    PoolField::CdiSpecs,
];

/// What determines the devices of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSource {
    /// The one who starts it, whatever its environment says.
    Launch,
    /// The engine, by a variable that it sets for the prestart hook.
    Hook,
    /// The one who starts it, by a variable that the nvidia runtime reads.
    Variable,
    /// The device plugin, by volume mounts that the nvidia runtime reads.
    Mounts,
    /// The container's own environment, read by the nvidia runtime.
    Environment,
    /// The one who starts it, and the container's own environment on top.
    LaunchAndEnvironment,
    /// The container's own environment, read by enroot.
    Enroot,
    /// Nobody reads what says so.
    Nobody,
    /// Nobody does: the pool says that the container toolkit does nothing.
    Off,
}

/// The GPU of a host.
#[derive(Clone, Debug)]
pub struct HostGpu {
    /// As the pool writes it, else that of a GPU which it may mean, else what is known of it in words.
    pub name: String,
    /// Whether the pool names it.
    pub named: bool,
    /// How many a node has, where declared.
    pub count: Option<u32>,
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

/// The behaviour of the container toolkit that depends on its version.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolkitBehaviour {
    /// What a container gets that asks for no capability.
    pub default_capabilities: DriverCapabilities,
    /// Whether variables of `swarm-resource` are read outside the hook, too.
    pub swarm_in_runtime: bool,
    /// How the csv check reads versions.
    pub reading: ContainerToolkitRelease,
    /// Whether the requirement check knows the newer brands.
    pub newer_brands: bool,
    /// Every change that has come.
    pub changes: ToolkitChanges,
}

impl ToolkitBehaviour {
    /// Returns the behaviour of toolkit versions; the default where there is no toolkit.
    fn for_versions(versions: Option<ToolkitVersions>, knowledge: Knowledge) -> Self {
        let has = |change| versions.is_some_and(|versions| versions.has_change(change, knowledge));
        let compute = versions.is_none_or(|versions| versions.has_compute_by_default(knowledge));
        Self {
            default_capabilities: default_capabilities(compute),
            swarm_in_runtime: has(ToolkitChange::SwarmInRuntime),
            reading: versions.map(|versions| versions.csv_version_parser(knowledge)).unwrap_or_default(),
            newer_brands: has(ToolkitChange::BrandNames),
            changes: ToolkitChanges::matching(has),
        }
    }
}

/// One possible configuration of a node of a pool.
#[derive(Clone, Debug)]
pub struct Host {
    /// GPU, where declared.
    pub gpu: Option<HostGpu>,
    /// Kernel-mode driver, where declared.
    pub driver: Option<DriverVersion>,
    /// Its branch: of its first number, but on Windows.
    pub driver_branch: Option<u32>,
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
    /// Who says which devices a container gets.
    pub devices: DeviceSource,
    /// The same host in the mode that it takes for an image which asks for CDI devices, or for none.
    pub in_cdi: Option<Box<Self>>,
    /// Behaviour of the container toolkit; none where no toolkit is at work.
    pub toolkit: Option<&'static ContainerToolkitRow>,
    /// Its version, declared or tried.
    pub toolkit_version: Option<CudaVersion>,
    /// Whether that version is newer than the tables, so that nobody knows what it does.
    pub toolkit_newer: bool,
    /// What becomes of a compat library in the image.
    pub compat_selection: CompatSelection,
    /// Whether its toolkit takes that library where a note which nobody read decides it: of a variant alone.
    pub takes_compat: Option<bool>,
    /// How the device plugin tells the devices.
    pub strategy: DeviceListStrategy,
    /// Run-time environment.
    pub env: BTreeMap<String, String>,
    /// Windows Subsystem for Linux.
    pub wsl: bool,
    /// A library that its Windows driver asks for and its container toolkit does not bring.
    pub wsl_lacks: Option<&'static WslLibraryRow>,
    /// Whether containers run privileged. Docker, Podman and Kubernetes start none so unless they are told to, and the
    /// container toolkit tells it by the capabilities of the container: where a pool does not say it, none is.
    pub privileged: Option<bool>,
    /// Whether the node has `/dev/nvidia-modeset`, where declared.
    pub modeset: Option<bool>,
    /// Directory of the driver's libraries on the node, where declared: CDI mounts them at the same place.
    pub library_directory: Option<String>,
    /// The toolkit's configuration.
    pub options: ToolkitOptions,
    /// What its version of the toolkit does.
    pub behaviour: ToolkitBehaviour,
    /// What the requirement check sees of this host.
    pub values: RequirementHost,
    /// Fields that the pool leaves open and that were filled in here.
    pub assumed: Vec<PoolField>,
    /// Fields that the pool declares beside the GPU, the driver, the toolkit and the launch, and that stand above what those
    /// would tell; of a variant, what it tries as well.
    pub overrides: Vec<PoolField>,
    /// Which others of its pool are like it; none where no other is known to be.
    pub alike: Option<HostEquivalence>,
    /// The same host with each value of what is still open.
    pub(super) variants: HostVariants,
}

impl Host {
    /// Whether containers run privileged; by default they do not.
    pub fn runs_privileged(&self) -> bool {
        self.privileged == Some(true)
    }

    /// Returns the driver branch.
    pub fn driver_branch(&self) -> Option<u32> {
        self.driver_branch
    }
}

/// A launch method with its possible configurations, and the behaviour of the toolkit in each.
type ConfigurationsOfLaunch = (Launch, Vec<(LaunchConfiguration, ToolkitBehaviour)>);

/// The properties that all hosts of a pool with the same GPU and driver have in common.
struct NodeHardware {
    gpu: Option<HostGpu>,
    driver: Option<DriverVersion>,
    kernel: DriverProperties,
    driver_cuda: Option<CudaVersion>,
    platform: String,
    /// Under a toolkit whose check does not know the newer brands, and under one whose check does.
    values: [RequirementHost; 2],
}

impl NodeHardware {
    /// Determines the common properties for a GPU and a driver of a pool.
    fn for_pool(
        pool: &Pool,
        PoolGpu { spec, row }: PoolGpu<'_>,
        driver: Option<DriverVersion>,
        knowledge: Knowledge,
    ) -> Self {
        let wsl = pool.wsl.as_ref().is_some_and(|wsl| wsl.value);
        let kernel = DriverProperties::for_driver(driver, row.map(|row| row.class), wsl, knowledge);
        let driver_cuda = pool.driver_cuda.as_ref().map(|cuda| cuda.value).or(kernel.cuda);
        let gpu = pool.host_gpu(spec, row, kernel.branch, knowledge);
        let values = [false, true].map(|newer| requirement_host(gpu.as_ref(), driver, driver_cuda, newer, knowledge));
        Self { gpu, driver, kernel, driver_cuda, platform: pool.platform_for_gpu(row), values }
    }
}

impl Pool {
    /// Returns every possible host of this pool.
    pub fn hosts(&self, knowledge: Knowledge, as_of: Option<Date>) -> Vec<Host> {
        let mut hosts = Vec::new();
        let mut numbers = EquivalenceNumbering::default();
        let wsl = self.wsl.as_ref().is_some_and(|wsl| wsl.value);
        let same_ways = (self.toolkit.is_some() || self.libnvidia_container.is_some()) && !wsl;
        let options = ToolkitOptions::for_pool(self);
        let mut known: BTreeMap<(bool, Option<DriverVersion>), Vec<ConfigurationsOfLaunch>> = BTreeMap::new();
        for (at_gpu, gpu) in self.gpus(knowledge).into_iter().enumerate() {
            let (drivers, driver_open) = self.possible_drivers(gpu, knowledge);
            for driver in &drivers {
                let tegra = gpu.is_jetson();
                // Of a toolkit that is declared they are the same with every driver.
                let ways = known.entry((tegra, driver.filter(|_| !same_ways))).or_insert_with(|| {
                    let behaving = |way: LaunchConfiguration| {
                        let behaviour = ToolkitBehaviour::for_versions(way.versions, knowledge);
                        (way, behaviour)
                    };
                    let of_launch = |launch: &Launch| {
                        let ways = self.launch_configurations(tegra, *driver, *launch, knowledge, as_of).into_iter();
                        (*launch, ways.map(behaving).collect())
                    };
                    self.candidate_launches().iter().map(of_launch).collect()
                });
                let node = NodeHardware::for_pool(self, gpu, *driver, knowledge);
                let places = ways.iter().enumerate().flat_map(|(at, (launch, ways))| {
                    ways.iter().enumerate().map(move |(place, way)| ((*driver, at, place), launch, way))
                });
                for (from, launch, way) in places {
                    if hosts.len() == MAX_HOSTS {
                        return hosts;
                    }
                    let mut host = self.build_host(&node, &options, *launch, way);
                    host.assumed.extend(self.launch.is_none().then_some(PoolField::Launch));
                    host.assumed.extend(driver_open.then_some(PoolField::Driver));
                    host.assumed.extend((self.gpu.len() > 1 || gpu.is_assumed()).then_some(PoolField::Gpu));
                    numbers.assign(&mut host, at_gpu, from);
                    hosts.push(host);
                }
            }
        }
        hosts
    }

    /// Returns the platforms of the possible GPUs' hosts.
    pub fn platforms(&self, knowledge: Knowledge) -> Vec<String> {
        self.gpus(knowledge).into_iter().map(|gpu| self.platform_for_gpu(gpu.row)).collect()
    }

    /// Returns the declared platform, or the one that follows from the GPU.
    fn platform_for_gpu(&self, row: Option<&'static GpuRow>) -> String {
        self.platform.as_ref().map_or_else(
            || if row.is_some_and(|row| row.arm64_host) { "linux/arm64" } else { "linux/amd64" }.to_owned(),
            |platform| platform.value.clone(),
        )
    }

    /// Returns the number of possible hosts without creating them.
    pub(super) fn host_count(&self, knowledge: Knowledge) -> usize {
        self.host_count_for_gpus(&self.gpus(knowledge), knowledge)
    }

    /// Returns the number of possible hosts with certain GPUs.
    pub(super) fn host_count_for_gpus(&self, gpus: &[PoolGpu<'_>], knowledge: Knowledge) -> usize {
        let (mut width, mut known) = (0_usize, BTreeMap::new());
        for gpu in gpus {
            let tegra = gpu.is_jetson();
            let of_launch = |launch: &Launch| self.launch_configurations(tegra, None, *launch, knowledge, None).len();
            let ways: usize =
                *known.entry(tegra).or_insert_with(|| self.candidate_launches().iter().map(of_launch).sum());
            width = width.saturating_add(ways.saturating_mul(self.possible_drivers(*gpu, knowledge).0.len()));
        }
        width
    }

    /// Returns the declared launch method, or all default ones.
    fn candidate_launches(&self) -> &[Launch] {
        self.launch.as_ref().map_or(DEFAULT_LAUNCHES, |launch| std::slice::from_ref(&launch.value))
    }

    /// Builds the host for a GPU, a driver, a launch method and its configuration.
    fn build_host(
        &self,
        node: &NodeHardware,
        options: &ToolkitOptions,
        launch: Launch,
        (way, behaviour): &(LaunchConfiguration, ToolkitBehaviour),
    ) -> Host {
        let NodeHardware { gpu, driver, kernel, driver_cuda, platform, values } = node;
        let by_image = matches!(way.devices, DeviceSource::Environment) && way.auto;
        let values = if behaviour.newer_brands { &values[1] } else { &values[0] };
        let mut host = Host {
            gpu: gpu.clone(),
            driver: *driver,
            driver_branch: kernel.branch,
            driver_cuda: *driver_cuda,
            // What the pool says itself is no row's word.
            driver_row: kernel.row.filter(|_| self.driver_cuda.is_none()),
            platform: platform.clone(),
            launch,
            mode: way.mode,
            devices: way.devices,
            in_cdi: None,
            toolkit: way.versions.map(|versions| versions.row),
            toolkit_version: way.versions.map(|versions| versions.library),
            toolkit_newer: way.versions.is_some_and(|versions| versions.newer),
            compat_selection: way.selection,
            takes_compat: None,
            strategy: self.device_list_strategy.as_ref().map_or(DeviceListStrategy::Envvar, |strategy| strategy.value),
            env: self.env.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
            wsl: self.wsl.as_ref().is_some_and(|wsl| wsl.value),
            wsl_lacks: way.wsl_lacks,
            privileged: self.privileged.as_ref().map(|privileged| privileged.value),
            modeset: self.modeset.as_ref().map(|modeset| modeset.value),
            library_directory: self.library_directory.as_ref().map(|directory| directory.value.clone()),
            options: ToolkitOptions { accept_mounts: way.accept_mounts, ..options.clone() },
            behaviour: *behaviour,
            values: values.clone(),
            assumed: way.assumed.clone(),
            overrides: OVERRIDE_FIELDS.iter().copied().filter(|field| self.field_span(*field).is_some()).collect(),
            alike: None,
            variants: HostVariants::default(),
        };
        if by_image || way.devices == DeviceSource::LaunchAndEnvironment {
            host.in_cdi = Some(Box::new(host_in_cdi_mode(host.clone())));
        }
        host
    }

    /// Returns what is known of the GPU; `None` where the pool declares nothing about it.
    fn host_gpu(
        &self,
        gpu: Option<&GpuSpec>,
        row: Option<&'static GpuRow>,
        branch: Option<u32>,
        knowledge: Knowledge,
    ) -> Option<HostGpu> {
        let overridden = self.compute_capability.as_ref().map(|capability| capability.value);
        let of_pool = self.brand.as_ref().map(|brand| brand.value.clone());
        let brand = gpu.and_then(|gpu| gpu.brand.clone()).or(of_pool);
        let name = match (gpu, row, &brand) {
            (Some(gpu), _, _) => gpu.name.clone(),
            (None, Some(row), _) => row.name.to_owned(),
            (None, None, Some(brand)) => format!("a {brand} GPU"),
            (None, None, None) if overridden.is_some() => "a GPU".to_owned(),
            (None, None, None) => return None,
        };
        let capability = gpu.and_then(|gpu| gpu.compute_capability);
        // Another brand than that of the row is another product of the same chip.
        let of_row = row.and_then(|row| nvml_brand(row, branch));
        let another = brand.as_deref().filter(|brand| of_row.as_deref().is_some_and(|own| own != *brand));
        let by_brand = another.and_then(|brand| knowledge.brand_number(brand));
        let forward_compat = match by_brand {
            Some(number) => Some(knowledge.is_compat_brand(number)),
            None => row.and_then(|row| row.forward_compat),
        };
        Some(HostGpu {
            name,
            named: gpu.is_some(),
            count: gpu.and_then(|gpu| gpu.count),
            capability: capability.or(overridden).or(row.map(|row| row.capability)),
            class: row.map(|row| row.class),
            forward_compat,
            brand: brand.or(of_row),
            row: row.map(|row| &row.info),
        })
    }
}

/// Returns the same host in CDI mode, with the devices that the launch or the image names.
fn host_in_cdi_mode(host: Host) -> Host {
    let devices = match host.devices {
        DeviceSource::LaunchAndEnvironment => DeviceSource::Launch,
        devices => devices,
    };
    let compat_selection = host.toolkit.map_or(CompatSelection::Off, |row| row.cdi);
    Host { mode: Mode::Cdi, devices, compat_selection, ..host }
}
