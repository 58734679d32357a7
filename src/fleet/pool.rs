//! Node pools as declared in a fleet file; undeclared fields stay empty.

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::{GpuClass, Knowledge};
use crate::text::source::{SourceId, Span};

/// A value and its position in the fleet file; the built-in fleet has no positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub span: Span,
}

/// A fleet: the pools of one file.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The text it came from.
    pub source: SourceId,
    /// Path of the file, or `built-in`.
    pub name: String,
    /// Whether it is the reference fleet that stands in where a user has none.
    pub built_in: bool,
    /// Pools in the order of the file.
    pub pools: Vec<Pool>,
}

/// A method to start containers with GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Launch {
    /// `docker run --gpus`.
    DockerGpus,
    /// `docker run --device nvidia.com/gpu=...`.
    DockerCdi,
    /// The nvidia runtime, as the default or with `--runtime=nvidia`, without requested devices.
    NvidiaRuntime,
    /// A pod that requests GPUs from the device plugin.
    Kubernetes,
    /// Podman with a CDI device.
    PodmanCdi,
    /// enroot and pyxis.
    Enroot,
    /// Singularity or Apptainer with `--nv`.
    Singularity,
    /// GKE's device plugin, which mounts the driver itself.
    Gke,
    /// No container.
    Native,
}

/// A mode of the container toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// libnvidia-container behind a prestart hook.
    Legacy,
    /// CDI specifications made at container start.
    JitCdi,
    /// CDI specifications from files.
    Cdi,
    /// CSV mount lists (Tegra).
    Csv,
    /// No toolkit at work.
    None,
}

/// How the Kubernetes device plugin passes the devices of a pod to the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceListStrategy {
    /// `NVIDIA_VISIBLE_DEVICES`.
    Envvar,
    /// Mounts under `/var/run/nvidia-container-devices`.
    VolumeMounts,
    /// CDI annotations.
    CdiAnnotations,
    /// CDI through the container runtime interface.
    CdiCri,
}

/// The low-level runtime of containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runtime {
    /// The container toolkit's own.
    Nvidia,
    /// One that knows nothing of GPUs.
    Runc,
}

/// A driver version, branch or range that a pool declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverSpec {
    /// `535.161.08`.
    Exact(DriverVersion),
    /// `535`: some release of the branch.
    Branch(u32),
    /// `>=535.161,<536`: lower bound inclusive, upper bound exclusive, each may be missing.
    Range {
        /// Inclusive.
        from: Option<DriverVersion>,
        /// Exclusive.
        before: Option<DriverVersion>,
    },
}

/// A GPU that a pool declares, with its overrides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuSpec {
    /// As written.
    pub name: String,
    /// How many in a node.
    pub count: Option<u32>,
    /// Overrides the table.
    pub compute_capability: Option<ComputeCapability>,
    /// Overrides the table; lower case.
    pub brand: Option<String>,
    /// MIG profile of its devices; empty if unknown, `None` for a whole GPU.
    pub mig: Option<String>,
}

/// Returns the MIG division of a GPU as text: `whole`, `partitioned with MIG` without a profile, or `MIG 1g.5gb`.
pub(crate) fn mig_division_text(mig: Option<&str>) -> String {
    match mig {
        None => "whole".to_owned(),
        Some("") => "partitioned with MIG".to_owned(),
        Some(profile) => format!("MIG {}", profile.strip_prefix("MIG ").unwrap_or(profile)),
    }
}

impl GpuSpec {
    /// Whether the GPU supports MIG; `None` where that is unknown. `of_pool` is the compute capability that the pool
    /// declares.
    pub fn supports_mig(&self, of_pool: Option<ComputeCapability>, knowledge: Knowledge) -> Option<bool> {
        let row = knowledge.gpu(&self.name);
        if row.is_some_and(|row| row.class == GpuClass::Consumer) {
            return Some(false);
        }
        let capability = self.compute_capability.or(of_pool).or(row.map(|row| row.capability))?;
        knowledge.architecture(capability).map(|row| row.mig)
    }
}

/// A node pool as declared.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Unique name.
    pub name: Declared<String>,
    /// GPUs; several = a node has any one of them. Empty = not declared.
    pub gpu: Vec<Declared<GpuSpec>>,
    /// Drivers; several = any of them. Empty = not declared.
    pub driver: Vec<Declared<DriverSpec>>,
    /// `linux/amd64`.
    pub platform: Option<Declared<String>>,
    /// Launch.
    pub launch: Option<Declared<Launch>>,
    /// NVIDIA Container Toolkit version.
    pub toolkit: Option<Declared<CudaVersion>>,
    /// libnvidia-container version, where numbered apart.
    pub libnvidia_container: Option<Declared<CudaVersion>>,
    /// `docker 28.2`: name and version.
    pub engine: Option<Declared<String>>,
    /// Runtime, where the launch does not imply it.
    pub runtime: Option<Declared<Runtime>>,
    /// Whether containers run privileged.
    pub privileged: Option<Declared<bool>>,
    /// Whether nodes hold CDI specifications.
    pub cdi_specs: Option<Declared<bool>>,
    /// Whether nodes have `/dev/nvidia-modeset`.
    pub modeset: Option<Declared<bool>>,
    /// Directory of the driver's libraries on the nodes, without a slash at its end.
    pub library_directory: Option<Declared<String>>,
    /// Mode, where not to be derived.
    pub mode: Option<Declared<Mode>>,
    /// Strategy of the device plugin.
    pub device_list_strategy: Option<Declared<DeviceListStrategy>>,
    /// Run-time environment, in the order of the file.
    pub env: Vec<(String, Declared<String>)>,
    /// Labels of the nodes, in the order of the file.
    pub labels: Vec<(String, Declared<String>)>,
    /// Number of nodes.
    pub nodes: Option<Declared<u32>>,
    /// Overrides the table for all GPUs of the pool.
    pub compute_capability: Option<Declared<ComputeCapability>>,
    /// Overrides the table for all GPUs of the pool; lower case.
    pub brand: Option<Declared<String>>,
    /// Overrides the CUDA version of the driver.
    pub driver_cuda: Option<Declared<CudaVersion>>,
    /// Windows Subsystem for Linux.
    pub wsl: Option<Declared<bool>>,
    /// Globs of the Dockerfiles that run here; empty = all.
    pub dockerfiles: Vec<Declared<String>>,
    /// Globs of the images that run here; empty = all.
    pub images: Vec<Declared<String>>,
    /// Options of the toolkit's `config.toml`, dotted names and values as text.
    pub host: Vec<(String, Declared<String>)>,
}

impl Pool {
    /// Creates a pool that declares only its name.
    pub fn with_name(name: Declared<String>) -> Self {
        Self {
            name,
            gpu: Vec::new(),
            driver: Vec::new(),
            platform: None,
            launch: None,
            toolkit: None,
            libnvidia_container: None,
            engine: None,
            runtime: None,
            privileged: None,
            cdi_specs: None,
            modeset: None,
            library_directory: None,
            mode: None,
            device_list_strategy: None,
            env: Vec::new(),
            labels: Vec::new(),
            nodes: None,
            compute_capability: None,
            brand: None,
            driver_cuda: None,
            wsl: None,
            dockerfiles: Vec::new(),
            images: Vec::new(),
            host: Vec::new(),
        }
    }
}
