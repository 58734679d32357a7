//! Questions to the tables.

use jiff::civil::Date;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::rows::{
    ArchitectureRow, BaseFamilyRow, BranchRow, BrandNumberRow, CodeFamilyRow, CompatRow, ContainerToolkitRow,
    CudaExtensionRow, CudaImageRow, DriverPackageRow, EngineRow, ErrorRow, ForwardRow, FrameworkBuildRow,
    FrameworkImageRow, FrameworkRow, GpuRow, ImagePythonRow, MinorCompatRow, PlainImageRow, RequireRow, RowInfo,
    TargetSetRow, TegraRow, ToolkitRow, TorchBuildRow, TorchPinRow, TorchPythonRow, TorchRow, WithdrawnRow,
};
use crate::knowledge::{gpu_names, tables};

/// The knowledge that imagelint was built with.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge(());

macro_rules! whole_tables {
    ($($(#[$doc:meta])* $name:ident: $row:ident = $table:ident;)*) => {$(
        $(#[$doc])*
        pub const fn $name(self) -> &'static [$row] {
            tables::$table
        }
    )*};
}

impl Knowledge {
    /// The tables built into the program.
    pub const fn built_in() -> Self {
        Self(())
    }

    whole_tables! {
        /// Every GPU.
        gpus: GpuRow = GPUS;
        /// Every driver branch, oldest first.
        branches: BranchRow = DRIVER_BRANCHES;
        /// Every architecture row.
        architectures: ArchitectureRow = ARCHITECTURES;
        /// Every toolkit release, oldest first.
        toolkits: ToolkitRow = TOOLKITS;
        /// PTX versions and targets of every toolkit minor, oldest first.
        target_sets: TargetSetRow = TARGET_SETS;
        /// Driver floors of CUDA majors.
        minor_compats: MinorCompatRow = MINOR_COMPAT;
        /// Every compat package, oldest first.
        compat_packages: CompatRow = COMPAT_PACKAGES;
        /// The forward compatibility matrix.
        forward_matrix: ForwardRow = FORWARD_MATRIX;
        /// Every requirement string.
        requirements: RequireRow = REQUIREMENTS;
        /// Every CUDA base image version.
        cuda_images: CudaImageRow = CUDA_IMAGES;
        /// Every framework image.
        framework_images: FrameworkImageRow = FRAMEWORK_IMAGES;
        /// Every image family without NVIDIA content.
        plain_images: PlainImageRow = PLAIN_IMAGES;
        /// Every torch release, oldest first.
        torch_releases: TorchRow = TORCH_RELEASES;
        /// Every torch build.
        torch_builds: TorchBuildRow = TORCH_BUILDS;
        /// Every build of another framework.
        framework_builds: FrameworkBuildRow = FRAMEWORK_BUILDS;
        /// Every range of container toolkit versions, oldest first.
        container_toolkits: ContainerToolkitRow = CONTAINER_TOOLKITS;
        /// Every error code.
        errors: ErrorRow = ERRORS;
        /// What the images of a repository have in common.
        base_families: BaseFamilyRow = BASE_FAMILIES;
        /// Every distribution with GPU code.
        frameworks: FrameworkRow = FRAMEWORKS;
        /// Every package with driver libraries.
        driver_packages: DriverPackageRow = DRIVER_PACKAGES;
        /// Every engine that prefers CDI.
        engines: EngineRow = ENGINES;
        /// Every family of family-specific targets.
        code_families: CodeFamilyRow = CODE_FAMILIES;
        /// Every brand number.
        brands: BrandNumberRow = BRANDS;
        /// Every Tegra capability.
        tegra_capabilities: TegraRow = TEGRA_CAPABILITIES;
        /// Which torch other distributions bring.
        torch_pins: TorchPinRow = TORCH_PINS;
        /// Which torch releases a version of Python can have.
        torch_pythons: TorchPythonRow = TORCH_PYTHONS;
        /// The Python of images and distributions.
        image_pythons: ImagePythonRow = IMAGE_PYTHONS;
        /// Packages that are compiled while the image is built.
        cuda_extensions: CudaExtensionRow = CUDA_EXTENSIONS;
        /// Every withdrawn tag.
        withdrawn_tags: WithdrawnRow = WITHDRAWN_TAGS;
    }

    /// The GPU that `name` means: as a driver, a node label or a person writes it.
    ///
    /// A short name that fits several GPUs is taken where they differ in nothing that decides.
    pub fn gpu(self, name: &str) -> Option<&'static GpuRow> {
        gpu_names::find(self.gpus(), name)
    }

    /// Up to three GPU names that are nearest to `name`.
    pub fn gpu_suggestions(self, name: &str) -> Vec<&'static str> {
        gpu_names::suggestions(self.gpus(), name)
    }

    /// A driver branch.
    pub fn branch(self, branch: u32) -> Option<&'static BranchRow> {
        self.branches().iter().find(|row| row.branch == branch)
    }

    /// The newest driver branch known.
    pub fn newest_branch(self) -> Option<&'static BranchRow> {
        self.branches().last()
    }

    /// The newest CUDA version that a known driver supports.
    pub fn newest_cuda(self) -> CudaVersion {
        self.branches().iter().map(|row| row.cuda).max().unwrap_or_default()
    }

    /// The CUDA version that a driver supports, by its branch.
    pub fn driver_cuda(self, driver: DriverVersion) -> Option<(CudaVersion, &'static RowInfo)> {
        self.branch(driver.branch()).map(|row| (row.cuda, &row.info))
    }

    /// The toolkit release: the exact patch, else the newest patch of its minor.
    pub fn toolkit(self, cuda: CudaVersion) -> Option<&'static ToolkitRow> {
        let same = |row: &&ToolkitRow| row.version.release() == cuda.release();
        let patch = |row: &&ToolkitRow| cuda.0.len() > 2 && row.version.0.part(2) == cuda.0.part(2);
        let of_minor = || self.toolkits().iter().filter(same);
        of_minor().find(patch).or_else(|| of_minor().max_by_key(|row| row.version))
    }

    /// The first release of a toolkit minor.
    pub fn oldest_toolkit(self, major: u32, minor: u32) -> Option<&'static ToolkitRow> {
        self.toolkits().iter().filter(|row| row.version.release() == (major, minor)).min_by_key(|row| row.version)
    }

    /// The driver floor of a CUDA major.
    pub fn minor_compat(self, major: u32) -> Option<&'static MinorCompatRow> {
        self.minor_compats().iter().find(|row| row.cuda_major == major)
    }

    /// PTX version and targets of a toolkit, by its minor.
    pub fn target_set(self, cuda: CudaVersion) -> Option<&'static TargetSetRow> {
        self.target_sets().iter().find(|row| row.cuda.release() == cuda.release())
    }

    /// The compat package of a CUDA minor.
    pub fn compat_package(self, cuda: CudaVersion) -> Option<&'static CompatRow> {
        self.compat_packages().iter().find(|row| row.cuda.release() == cuda.release())
    }

    /// The compat package that a libcuda comes from, by its branch.
    pub fn compat_package_of_version(self, libcuda: DriverVersion) -> Option<&'static CompatRow> {
        self.compat_packages().iter().find(|row| row.branch == libcuda.branch())
    }

    /// The cell of the forward compatibility matrix; `None` where NVIDIA prints none or calls it not applicable.
    pub fn forward(self, cuda: CudaVersion, base_branch: u32) -> Option<&'static ForwardRow> {
        let mut rows = self.forward_matrix().iter();
        rows.find(|row| row.cuda.release() == cuda.release() && row.base_branch == base_branch)
    }

    /// The architecture row of a capability.
    pub fn architecture(self, capability: ComputeCapability) -> Option<&'static ArchitectureRow> {
        self.architectures().iter().find(|row| row.capabilities.contains(&capability))
    }

    /// Whether drivers of a branch drive GPUs of a capability, and the row that says so.
    ///
    /// `None` where the branch lies outside the known ones or no row has the capability.
    pub fn branch_knows(self, branch: u32, capability: ComputeCapability) -> Option<(bool, &'static RowInfo)> {
        let (oldest, newest) = (self.branches().first()?, self.branches().last()?);
        if branch < oldest.branch || branch > newest.branch {
            return None;
        }
        let row = self.architecture(capability)?;
        let first = self.branches().iter().find(|known| known.cuda >= row.first_toolkit);
        let begun = first.is_some_and(|first| first.branch <= branch);
        let going_on = row.last_branch.is_none_or(|last| branch <= last);
        Some((begun && going_on, &row.info))
    }

    /// A requirement string by its id.
    pub fn requirement(self, id: &str) -> Option<&'static RequireRow> {
        self.requirements().iter().find(|row| row.id == id)
    }

    /// The CUDA base images of a version as in the tag.
    pub fn cuda_image(self, version: &str) -> Option<&'static CudaImageRow> {
        self.cuda_images().iter().find(|row| row.version == version)
    }

    /// A framework image.
    pub fn framework_image(self, repository: &str, tag: &str) -> Option<&'static FrameworkImageRow> {
        self.framework_images().iter().find(|row| row.repository == repository && row.tag == tag)
    }

    /// The row of an image family without NVIDIA content.
    pub fn plain_image(self, repository: &str) -> Option<&'static PlainImageRow> {
        self.plain_images().iter().find(|row| row.repository == repository)
    }

    /// A torch release, without local version.
    pub fn torch(self, version: &str) -> Option<&'static TorchRow> {
        self.torch_releases().iter().find(|row| row.version == version)
    }

    /// A torch build: `2.6.0`, `cu124`, `amd64`.
    pub fn torch_build(self, version: &str, variant: &str, arch: &str) -> Option<&'static TorchBuildRow> {
        let mut rows = self.torch_builds().iter();
        rows.find(|row| row.version == version && row.variant == variant && row.arch == arch)
    }

    /// A build of another framework: the version's own row, else the row that stands for every version.
    pub fn framework_build(self, distribution: &str, version: &str) -> Option<&'static FrameworkBuildRow> {
        let of = |version: &str| {
            self.framework_builds().iter().find(|row| row.distribution == distribution && row.version == version)
        };
        of(version).or_else(|| of("*"))
    }

    /// The container toolkit range that a version lies in.
    pub fn container_toolkit(self, version: CudaVersion) -> Option<&'static ContainerToolkitRow> {
        let mut rows = self.container_toolkits().iter();
        rows.find(|row| row.from <= version && row.before.is_none_or(|before| version < before))
    }

    /// An error code.
    pub fn error(self, code: u16) -> Option<&'static ErrorRow> {
        self.errors().iter().find(|row| row.code == code)
    }

    /// The report that a tag is gone.
    pub fn withdrawn(self, repository: &str, version: &str) -> Option<&'static WithdrawnRow> {
        self.withdrawn_tags().iter().find(|row| row.repository == repository && row.version == version)
    }

    /// Where every row of every table comes from.
    pub fn infos(self) -> Vec<&'static RowInfo> {
        tables::all_infos()
    }

    /// When a source was last read.
    pub fn newest_date(self) -> Date {
        self.infos().iter().map(|info| info.checked).max().unwrap_or_default()
    }

    /// What the images of a repository have in common.
    pub fn base_family(self, repository: &str) -> Option<&'static BaseFamilyRow> {
        self.base_families().iter().find(|row| row.repository == repository)
    }

    /// Whether a repository holds CUDA base images.
    pub fn is_cuda_repository(self, repository: &str) -> bool {
        self.base_family(repository).is_some_and(|row| row.cuda_base)
    }

    /// A distribution with GPU code, by its normalised name.
    pub fn framework(self, distribution: &str) -> Option<&'static FrameworkRow> {
        self.frameworks().iter().find(|row| row.distribution == distribution)
    }

    /// A package with driver libraries: by its name, or by its beginning before a driver branch.
    pub fn driver_package(self, name: &str) -> Option<&'static DriverPackageRow> {
        self.driver_packages().iter().find(|row| match name.strip_prefix(row.name) {
            Some("") => !row.prefix,
            Some(rest) => row.prefix && rest.starts_with(|first: char| first.is_ascii_digit()),
            None => false,
        })
    }

    /// Whether an engine such as `docker 29.2` takes CDI for `--gpus` where the host has specifications.
    pub fn engine_prefers_cdi(self, engine: &str) -> bool {
        let Some((name, version)) = engine.split_once(' ') else { return false };
        let Ok(version) = version.trim().parse::<CudaVersion>() else { return false };
        self.engines().iter().any(|row| row.name == name && row.cdi_from <= version)
    }

    /// The capabilities that run a family-specific target.
    pub fn family(self, named: ComputeCapability) -> &'static [ComputeCapability] {
        self.code_families().iter().find(|row| row.capability == named).map_or(&[], |row| row.members)
    }

    /// The NVML number of a brand, given in lower case.
    pub fn brand_number(self, brand: &str) -> Option<u32> {
        self.brands().iter().find(|row| row.name.eq_ignore_ascii_case(brand)).map(|row| row.number)
    }

    /// Whether the notes of compat libraries admit a brand.
    pub fn compat_brand(self, number: u32) -> bool {
        self.brands().iter().any(|row| row.number == number && row.compat)
    }

    /// Whether a capability is a Tegra module's.
    pub fn tegra_capability(self, capability: ComputeCapability) -> bool {
        self.tegra_capabilities().iter().any(|row| row.capability == capability)
    }
}
