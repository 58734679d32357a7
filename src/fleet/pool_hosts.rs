//! The hosts of a pool: one for each combination of a possible GPU, a possible driver and a launch configuration.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::cuda::{CudaVersion, DriverVersion, RequirementHost};
use crate::fleet::host::{EquivalenceNumbering, HostVariants, requirement_host};
use crate::fleet::launch_configurations::LaunchConfiguration;
use crate::fleet::possible_hardware::{DriverProperties, MAX_HOSTS, PoolGpu};
use crate::fleet::{
    DeviceListStrategy, DeviceSource, GpuSpec, Host, HostGpu, Launch, Mode, Pool, PoolField, ToolkitBehaviour,
    ToolkitOptions,
};
use crate::knowledge::{BrandRow, CompatSelection, GpuRow, Knowledge};

/// The fields whose declared values override values derived from other fields.
const OVERRIDE_FIELDS: &[PoolField] = &[
    PoolField::Brand,
    PoolField::ComputeCapability,
    PoolField::DriverCuda,
    PoolField::LibnvidiaContainer,
    PoolField::LibraryDirectory,
    PoolField::CdiSpecs,
];

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
            // A value that the pool declares comes from no row.
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

/// Returns the brand that NVML reports for a GPU under drivers of a branch.
fn nvml_brand(row: &GpuRow, branch: Option<u32>) -> Option<String> {
    let holds = |brand: &&BrandRow| match branch {
        Some(branch) => {
            brand.from_branch.is_none_or(|from| from <= branch) && brand.up_to_branch.is_none_or(|last| branch <= last)
        }
        None => brand.from_branch.is_none() && brand.up_to_branch.is_none(),
    };
    row.brands.iter().find(holds).map(|brand| brand.brand.to_owned())
}
