//! Hosts: the possible configurations of a node of a pool, with the values that are still open as variants.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::cuda::{
    ComputeCapability, ContainerToolkitRelease, CudaVersion, DriverCapabilities, DriverVersion, HostValue,
    LIB64_DIRECTORY, RequirementHost, debian_library_directory,
};
use crate::fleet::{DeviceListStrategy, Launch, Mode, PoolEntry, PoolField, ToolkitOptions};
use crate::knowledge::{
    CompatSelection, ContainerToolkitRow, GpuClass, Knowledge, RowInfo, ToolkitChanges, WslLibraryRow,
};

/// What determines the devices of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSource {
    /// The launch, whatever the environment of the container contains.
    Launch,
    /// The engine, by a variable that it sets for the prestart hook.
    Hook,
    /// The launch, by a variable that the nvidia runtime reads.
    Variable,
    /// The device plugin, by volume mounts that the nvidia runtime reads.
    Mounts,
    /// The container's own environment, read by the nvidia runtime.
    Environment,
    /// The launch, and additionally the container's own environment.
    LaunchAndEnvironment,
    /// The container's own environment, read by enroot.
    Enroot,
    /// Nothing: the runtime of the pool reads no device request.
    PlainRuntime,
    /// Nothing: the pool declares that the container toolkit is disabled.
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
    /// The capabilities of a container that requests none.
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
    /// The row that contains it.
    pub driver_row: Option<&'static RowInfo>,
    /// `linux/amd64`.
    pub platform: String,
    /// How containers are started.
    pub launch: Launch,
    /// Mode of the container toolkit.
    pub mode: Mode,
    /// What determines the devices of a container.
    pub devices: DeviceSource,
    /// The same host in the mode for an image that requests CDI devices, or none.
    pub in_cdi: Option<Box<Self>>,
    /// Behaviour of the container toolkit; none where no toolkit is at work.
    pub toolkit: Option<&'static ContainerToolkitRow>,
    /// Its version, declared or tried.
    pub toolkit_version: Option<CudaVersion>,
    /// Whether that version is newer than the tables, so that its behaviour is unknown.
    pub toolkit_newer: bool,
    /// What becomes of a compat library in the image.
    pub compat_selection: CompatSelection,
    /// Whether its toolkit uses the compat library if an unread note decides that; only set for a variant.
    pub takes_compat: Option<bool>,
    /// How the device plugin passes the devices.
    pub strategy: DeviceListStrategy,
    /// Run-time environment.
    pub env: BTreeMap<String, String>,
    /// Windows Subsystem for Linux.
    pub wsl: bool,
    /// A library that its Windows driver needs and its container toolkit does not mount.
    pub wsl_lacks: Option<&'static WslLibraryRow>,
    /// Whether containers run privileged. Docker, Podman and Kubernetes only do so on request; the container toolkit
    /// recognises it by the capabilities of the container. Without a declaration, containers are not privileged.
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
    /// Fields that the pool declares in addition to GPU, driver, toolkit and launch, and that override what those
    /// imply; for a variant, also the fields that it tries.
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

/// Numbers of a host among the hosts of its pool; hosts with the same number behave the same in that part of the
/// start.
///
/// A pool that leaves much open is many hosts: every GPU in every mode of every toolkit. What happens up to the libcuda
/// that a program gets depends on little of the GPU, and what happens after it only on the GPU and the driver, so
/// each of these parts is replayed once for all hosts with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostEquivalence {
    /// Equal for hosts that differ only in the compute capability and the name of the GPU.
    pub before_libcuda: u32,
    /// Equal for hosts with the same GPU and the same driver.
    pub after_libcuda: u32,
}

/// The quantity of numbers reserved for one host: its CDI mode, and the values of its open fields.
const NUMBERS_PER_HOST: u32 = 16;

impl HostEquivalence {
    /// Returns the numbers of the same host in CDI mode.
    const fn for_cdi_mode(self) -> Self {
        Self { before_libcuda: self.before_libcuda + NUMBERS_PER_HOST / 2, ..self }
    }

    /// Returns the numbers of the same host with the `value`th variant; `None` where none is free.
    fn for_variant(self, value: usize) -> Option<Self> {
        let value = u32::try_from(value + 1).ok().filter(|value| *value < NUMBERS_PER_HOST / 2)?;
        self.before_libcuda
            .is_multiple_of(NUMBERS_PER_HOST / 2)
            .then_some(Self { before_libcuda: self.before_libcuda + value, ..self })
    }
}

/// The origin of a host: its driver, and the indexes of its launch and of its launch configuration.
type HostOrigin = (Option<DriverVersion>, usize, usize);

/// The properties of a GPU that matter before libcuda is loaded.
type GpuEquivalenceKey = (Option<GpuClass>, Option<bool>, Option<String>, Option<u32>, bool);

/// Assigns the equivalence numbers to the hosts of one pool.
#[derive(Debug, Default)]
pub(super) struct EquivalenceNumbering {
    before: BTreeMap<(HostOrigin, String, Option<GpuEquivalenceKey>), u32>,
    behind: BTreeMap<(usize, Option<DriverVersion>), u32>,
}

impl EquivalenceNumbering {
    /// Assigns numbers to a host; `gpu` is the index of its GPU in the pool.
    pub(super) fn assign(&mut self, host: &mut Host, gpu: usize, from: HostOrigin) {
        let kind = |gpu: &HostGpu| (gpu.class, gpu.forward_compat, gpu.brand.clone(), gpu.count, gpu.named);
        let key = (from, host.platform.clone(), host.gpu.as_ref().map(kind));
        let of_one = |all: usize| u32::try_from(all).ok().and_then(|all| all.checked_mul(NUMBERS_PER_HOST));
        let (Some(next), Ok(last)) = (of_one(self.before.len()), u32::try_from(self.behind.len())) else { return };
        let before = *self.before.entry(key).or_insert(next);
        let behind = *self.behind.entry((gpu, from.0)).or_insert(last);
        let alike = HostEquivalence { before_libcuda: before, after_libcuda: behind };
        host.alike = Some(alike);
        if let Some(in_cdi) = &mut host.in_cdi {
            in_cdi.alike = Some(alike.for_cdi_mode());
        }
    }
}

/// The variants of one host, created on first use.
#[derive(Clone, Debug, Default)]
pub(super) struct HostVariants {
    directory: OnceLock<Vec<Host>>,
    brand: OnceLock<Vec<Host>>,
    compat: OnceLock<Vec<Host>>,
}

impl PoolField {
    /// Whether the values of this field become variants on demand instead of separate hosts of the pool.
    pub fn has_variants_on_demand(self) -> bool {
        matches!(self, Self::LibraryDirectory | Self::Brand)
    }
}

impl Host {
    /// Returns the host with each possible value of a field; empty where the field is declared or has no variants.
    pub fn variants_for_field(&self, field: PoolField, knowledge: Knowledge) -> &[Self] {
        match field {
            PoolField::LibraryDirectory => self.variants.directory.get_or_init(|| self.library_directory_variants()),
            PoolField::Brand => self.variants.brand.get_or_init(|| self.brand_variants(knowledge)),
            _ => &[],
        }
    }

    /// Returns the host once with and once without the use of the image's compat library, where an unread note
    /// decides that.
    pub fn with_and_without_compat(&self) -> &[Self] {
        let with = |(at, uses_compat)| Self {
            takes_compat: Some(uses_compat),
            alike: self.alike.and_then(|alike| alike.for_variant(at)),
            variants: HostVariants::default(),
            ..self.clone()
        };
        self.variants.compat.get_or_init(|| [(0, true), (1, false)].map(with).into())
    }

    /// Whether another host is this very host, its CDI mode, or a variant of one of them.
    pub fn is_or_has_variant(&self, other: &Self) -> bool {
        let of = |own: &Self| {
            let lists = [&own.variants.directory, &own.variants.brand, &own.variants.compat];
            let lists = lists.map(|list| list.get().map_or(&[][..], Vec::as_slice));
            std::ptr::eq(own, other) || lists.iter().any(|list| list.iter().any(|one| std::ptr::eq(one, other)))
        };
        of(self) || self.in_cdi.as_deref().is_some_and(of)
    }

    /// Whether its GPU has a name but no known brand.
    pub fn lacks_brand(&self) -> bool {
        self.gpu.as_ref().is_some_and(|gpu| gpu.named && gpu.brand.is_none())
    }

    /// Returns the directories where the host may have the driver libraries; CDI mounts them at the same path.
    pub fn library_directories(&self) -> [&'static str; 2] {
        [LIB64_DIRECTORY, debian_library_directory(self.platform.split('/').nth(1).unwrap_or_default())]
    }

    /// Creates the variants for each possible library directory.
    fn library_directory_variants(&self) -> Vec<Self> {
        if self.library_directory.is_some() || !matches!(self.mode, Mode::Cdi | Mode::JitCdi) {
            return Vec::new();
        }
        let with = |(at, directory): (usize, &str)| {
            let field = PoolField::LibraryDirectory;
            Self {
                library_directory: Some(directory.to_owned()),
                assumed: [self.assumed.as_slice(), &[field]].concat(),
                overrides: [self.overrides.as_slice(), &[field]].concat(),
                // Those of the compat library come first.
                alike: self.alike.and_then(|alike| alike.for_variant(2 + at)),
                variants: HostVariants::default(),
                ..self.clone()
            }
        };
        self.library_directories().into_iter().enumerate().map(with).collect()
    }

    /// Creates the variants for each possible GPU brand.
    fn brand_variants(&self, knowledge: Knowledge) -> Vec<Self> {
        let Some(gpu) = self.gpu.as_ref().filter(|_| self.lacks_brand()) else { return Vec::new() };
        let newer = self.behaviour.newer_brands;
        let rows = knowledge.brands().iter().filter(|row| newer || !row.later);
        let with = |brand: &str| {
            let gpu = Some(HostGpu { brand: Some(brand.to_ascii_lowercase()), ..gpu.clone() });
            let values = requirement_host(gpu.as_ref(), self.driver, self.driver_cuda, newer, knowledge);
            let assumed = [self.assumed.as_slice(), &[PoolField::Brand]].concat();
            let overrides = [self.overrides.as_slice(), &[PoolField::Brand]].concat();
            Self { gpu, values, assumed, overrides, alike: None, variants: HostVariants::default(), ..self.clone() }
        };
        rows.map(|row| with(row.name)).collect()
    }
}

impl PoolEntry {
    /// Returns the report key of the entry, such as `env.NAME` or `host.OPTION`.
    pub fn report_key(self, host: &Host) -> String {
        let name = match self {
            Self::Variable(before) => host.env.keys().nth(before).map_or("", String::as_str),
            Self::Option(name) => name,
        };
        format!("{}.{name}", self.table_field().name())
    }
}

/// Returns the values that the requirement check compares for a host with one GPU; a MIG device has those of its
/// parent.
pub(super) fn requirement_host(
    gpu: Option<&HostGpu>,
    driver: Option<DriverVersion>,
    cuda: Option<CudaVersion>,
    newer_brands: bool,
    knowledge: Knowledge,
) -> RequirementHost {
    let known = |value: Option<String>| value.map_or(HostValue::Unknown, HostValue::Known);
    let seen = |brand: &String| {
        if newer_brands || !knowledge.is_later_brand(brand) { brand.clone() } else { "unknown".to_owned() }
    };
    RequirementHost {
        cuda: known(cuda.map(|cuda| format!("{}.{}", cuda.major(), cuda.minor()))),
        driver: known(driver.map(|driver| driver.to_string())),
        arch: known(gpu.and_then(|gpu| gpu.capability).map(|capability| capability.to_string())),
        brand: known(gpu.and_then(|gpu| gpu.brand.as_ref()).map(seen)),
    }
}
