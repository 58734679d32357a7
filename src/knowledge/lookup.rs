//! Questions to the tables.

use std::fmt;
use std::sync::OnceLock;

use jiff::civil::Date;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::change_rows::{ToolkitChange, ToolkitChangeRow, WslLibraryRow};
use crate::knowledge::gpu_names;
use crate::knowledge::gpu_names::SameGpu;
use crate::knowledge::rows::{
    ArchitectureRow, BaseFamilyRow, BranchRow, CompatRow, ContainerToolkitRow, CudaImageRow, DriverPackageRow,
    ErrorRow, ForwardRow, FrameworkImageRow, GpuRow, ImageInstallersRow, MinorCompatRow, PlainImageRow, RequireRow,
    RowInfo, TargetSetRow, ToolkitRow, WithdrawnRow,
};
use crate::knowledge::set::Tables;
use crate::knowledge::tables;
use crate::nearest::nearest_few;

/// What the program knows: a handle on one set of tables, the built-in one or one with rows of a user's own.
///
/// All copies of a handle show the same tables, and rows live as long as the process.
#[derive(Clone, Copy)]
pub struct Knowledge(&'static Tables);

impl PartialEq for Knowledge {
    /// Whether both show the same set of tables.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Knowledge {}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Knowledge of {}", self.newest_date())
    }
}

/// The row with a key, in a table that is sorted by it.
fn by_key<R, K: Ord>(rows: &'static [R], key: &K, of: impl Fn(&R) -> K) -> Option<&'static R> {
    rows.binary_search_by(|row| of(row).cmp(key)).ok().and_then(|at| rows.get(at))
}

impl Knowledge {
    /// The tables built into the program.
    pub const fn built_in() -> Self {
        Self(&tables::BUILT_IN)
    }

    /// Whether these are the tables built into the program, without rows of a user's own.
    pub(super) fn is_built_in(self) -> bool {
        std::ptr::eq(self.0, Self::built_in().0)
    }

    /// These tables, which live as long as the process.
    pub(crate) const fn of(tables: &'static Tables) -> Self {
        Self(tables)
    }

    /// The tables themselves.
    pub(crate) const fn tables(self) -> &'static Tables {
        self.0
    }

    /// The GPU that `name` means: as a driver, a node label or a person writes it.
    ///
    /// A short name that fits several GPUs is taken where they differ in nothing that decides; a machine type of a
    /// cloud means its GPU.
    pub fn gpu(self, name: &str) -> Option<&'static GpuRow> {
        let of_type = || gpu_names::find(self.gpus(), self.cloud_instance(name)?.gpu);
        gpu_names::find(self.gpus(), name).or_else(of_type)
    }

    /// Up to three GPU names: those that `name` may mean, else those that are nearest to it.
    pub fn gpu_suggestions(self, name: &str) -> Vec<&'static str> {
        let meant = gpu_names::all(self.gpus(), name);
        if meant.is_empty() {
            let near = gpu_names::suggestions(self.gpus(), name);
            let types = self.cloud_instances().iter().map(|row| row.name);
            return if near.is_empty() { nearest_few(name, types, 2) } else { near };
        }
        meant.into_iter().take(3).map(|row| row.name).collect()
    }

    /// Whether two names may mean one GPU, and whether they do for certain; a machine type of a cloud means its GPU.
    pub fn same_gpu(self, one: &str, other: &str) -> SameGpu {
        let gpu = |name| self.cloud_instance(name).map_or(name, |row| row.gpu);
        gpu_names::same(self.gpus(), gpu(one), gpu(other))
    }

    /// Whether a name that somebody declares names the GPU that a machine calls `own`: it may say less, and never anything
    /// else. False where the tables have no row for one of them.
    pub fn gpu_covers(self, declared: &str, own: &str) -> bool {
        let gpu = |name| self.cloud_instance(name).map_or(name, |row| row.gpu);
        gpu_names::covers(self.gpus(), gpu(declared), gpu(own))
    }

    /// A driver branch.
    pub fn branch(self, branch: u32) -> Option<&'static BranchRow> {
        by_key(self.branches(), &branch, |row| row.branch)
    }

    /// The newest driver branch known.
    pub fn newest_branch(self) -> Option<&'static BranchRow> {
        self.branches().last()
    }

    /// The newest CUDA version that a known driver supports.
    pub fn newest_cuda(self) -> CudaVersion {
        self.branches().iter().map(|row| row.cuda).max().unwrap_or_default()
    }

    /// The CUDA version that a driver supports, by its branch or, where a release differs from its branch, by that.
    ///
    /// None of a branch that is named alone and whose releases differ.
    pub fn driver_cuda(self, driver: DriverVersion) -> Option<(CudaVersion, &'static RowInfo)> {
        let row = self.branch(driver.branch())?;
        let open = driver.is_branch() && row.other_cuda.is_some();
        let cuda = if self.differs(driver) { row.other_cuda? } else { row.cuda };
        (!open).then_some((cuda, &row.info))
    }

    /// Whether a release of a driver supports another CUDA version than the rest of its branch.
    pub fn differs(self, driver: DriverVersion) -> bool {
        self.branch(driver.branch()).is_some_and(|row| row.other_releases.contains(&driver))
    }

    /// The known branches next to one that is not known itself, where it lies between two.
    pub fn branches_around(self, branch: u32) -> Option<[&'static BranchRow; 2]> {
        let above = self.branches().iter().position(|row| row.branch >= branch)?;
        let (below, above) = (self.branches().get(above.checked_sub(1)?)?, self.branches().get(above)?);
        (above.branch > branch && below.cuda <= above.cuda).then_some([below, above])
    }

    /// The CUDA minors that were released, from one to another.
    pub fn cuda_minors(self, from: CudaVersion, to: CudaVersion) -> impl Iterator<Item = (u32, u32)> {
        let minors = self.target_sets().iter().map(|row| row.cuda.release());
        minors.filter(move |minor| from.release() <= *minor && *minor <= to.release())
    }

    /// The toolkit release: the exact patch, else the newest patch of its minor.
    pub fn toolkit(self, cuda: CudaVersion) -> Option<&'static ToolkitRow> {
        let patch = |row: &&ToolkitRow| cuda.0.len() > 2 && row.version.0.part(2) == cuda.0.part(2);
        let of_minor = self.toolkits_of_minor(cuda.release());
        of_minor.iter().find(patch).or_else(|| of_minor.last())
    }

    /// The first release of a toolkit minor.
    pub fn oldest_toolkit(self, major: u32, minor: u32) -> Option<&'static ToolkitRow> {
        self.toolkits_of_minor((major, minor)).first()
    }

    fn toolkits_of_minor(self, release: (u32, u32)) -> &'static [ToolkitRow] {
        let all = self.toolkits();
        let from = all.partition_point(|row| row.version.release() < release);
        let to = all.partition_point(|row| row.version.release() <= release);
        all.get(from..to).unwrap_or_default()
    }

    /// The driver floor of a CUDA major.
    pub fn minor_compat(self, major: u32) -> Option<&'static MinorCompatRow> {
        by_key(self.minor_compats(), &major, |row| row.cuda_major)
    }

    /// PTX version and targets of a toolkit, by its minor.
    pub fn target_set(self, cuda: CudaVersion) -> Option<&'static TargetSetRow> {
        by_key(self.target_sets(), &cuda.release(), |row| row.cuda.release())
    }

    /// The target sets of a CUDA version, oldest first: of a major alone, those of each of its minors.
    pub fn target_sets_of(self, cuda: CudaVersion) -> &'static [TargetSetRow] {
        if cuda.0.len() > 1 {
            return self.target_set(cuda).map(std::slice::from_ref).unwrap_or_default();
        }
        let rows = self.target_sets();
        let from = rows.partition_point(|row| row.cuda.major() < cuda.major());
        let to = rows.partition_point(|row| row.cuda.major() <= cuda.major());
        rows.get(from..to).unwrap_or_default()
    }

    /// The compat package of a CUDA minor.
    pub fn compat_package(self, cuda: CudaVersion) -> Option<&'static CompatRow> {
        by_key(self.compat_packages(), &cuda.release(), |row| row.cuda.release())
    }

    /// The compat package that a libcuda comes from, by its branch.
    pub fn compat_package_of_version(self, libcuda: DriverVersion) -> Option<&'static CompatRow> {
        self.compat_packages().iter().find(|row| row.branch == libcuda.branch())
    }

    /// The cell of the forward compatibility matrix; `None` where NVIDIA prints none or calls it not applicable.
    pub fn forward(self, cuda: CudaVersion, base_branch: u32) -> Option<&'static ForwardRow> {
        by_key(self.forward_matrix(), &(cuda.release(), base_branch), |row| (row.cuda.release(), row.base_branch))
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

    /// The installers that the images of a repository lack.
    pub fn image_installers(self, repository: &str) -> Option<&'static ImageInstallersRow> {
        self.image_installers_rows().iter().find(|row| row.repository == repository)
    }

    /// Whether a system package, installed by APT or another package manager, is known to contain no installer.
    pub fn is_without_installer(self, package: &str, apt: bool) -> bool {
        self.packages_without_installer().iter().any(|row| row.package == package && (apt || row.every_manager))
    }

    /// The row of an image family without NVIDIA content: that of the repository, else the longest that begins it.
    pub fn plain_image(self, repository: &str) -> Option<&'static PlainImageRow> {
        let rows = || self.plain_images().iter();
        let begins = |row: &&PlainImageRow| {
            row.repository.strip_suffix('*').is_some_and(|beginning| repository.starts_with(beginning))
        };
        let own = rows().find(|row| row.repository == repository);
        own.or_else(|| rows().filter(begins).max_by_key(|row| row.repository.len()))
    }

    /// The container toolkit range that a version lies in.
    pub fn container_toolkit(self, version: CudaVersion) -> Option<&'static ContainerToolkitRow> {
        let mut rows = self.container_toolkits().iter();
        rows.find(|row| {
            // Of the newest range only its own minor is known.
            let known = || version.release() <= row.sample.release();
            row.from <= version && row.before.map_or_else(known, |before| version < before)
        })
    }

    /// Since when a change of the container toolkit holds.
    pub fn toolkit_change(self, change: ToolkitChange) -> Option<&'static ToolkitChangeRow> {
        self.toolkit_changes().iter().find(|row| row.change == change)
    }

    /// A library that a Windows driver asks for and a container toolkit does not bring.
    pub fn wsl_lacks(self, windows: u32, toolkit: CudaVersion) -> Option<&'static WslLibraryRow> {
        self.wsl_libraries().iter().find(|row| row.windows_from <= windows && toolkit < row.toolkit_from)
    }

    /// An error code.
    pub fn error(self, code: u16) -> Option<&'static ErrorRow> {
        self.errors().iter().find(|row| row.code == code)
    }

    /// The number that a runtime of this CUDA version prints for an error of today's number `code`.
    pub fn code_in(self, code: u16, runtime: CudaVersion) -> u16 {
        let row = self.error(code).filter(|row| row.was_before.is_some_and(|first| runtime < first));
        row.and_then(|row| row.was).and_then(|was| u16::try_from(was).ok()).unwrap_or(code)
    }

    /// Whether a library holds code that its component cannot do without; `None` where no row names the component.
    pub fn code_library(self, component: &str, file: &str) -> Option<bool> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut rows = self.code_libraries().iter().filter(|row| row.component == component).peekable();
        rows.peek()?;
        Some(rows.any(|row| !row.beside && name.starts_with(row.file)))
    }

    /// Whether a library is one of those that a component picks at run time, beside what it cannot do without.
    pub fn lies_beside_code(self, component: &str, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut rows = self.code_libraries().iter().filter(|row| row.component == component && row.beside);
        rows.any(|row| name.starts_with(row.file))
    }

    /// How the names of the libraries begin that a component cannot do without.
    pub fn code_files(self, component: &str) -> impl Iterator<Item = &'static str> {
        self.code_libraries().iter().filter(move |row| row.component == component && !row.beside).map(|row| row.file)
    }

    /// Whether a component runs without GPU code in its files: it compiles for the GPU at hand, or uses none unasked.
    pub fn runs_without_code(self, component: &str) -> bool {
        self.frameworks().iter().any(|row| row.component == component && (row.compiles || row.optional))
    }

    /// Whether importing a component loads its libraries with GPU code, and fails where one that they need is not found:
    /// as a table row says it, and as any package does that the tables do not know.
    pub fn imports_its_code(self, component: &str) -> bool {
        let mut rows = self.frameworks().iter().filter(|row| row.component == component).peekable();
        rows.peek().is_none() || rows.any(|row| row.imports_code.is_some())
    }

    /// The component whose GPU code a file holds, where its name tells it wherever it lies.
    pub fn component_of_library(self, file: &str) -> Option<&'static str> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut rows = self.code_libraries().iter().filter(|row| row.file.starts_with("lib"));
        rows.find(|row| name.starts_with(row.file)).map(|row| row.component)
    }

    /// The component that Python imports under a name.
    pub fn component_of_import(self, import: &str, normalised: &str) -> Option<&'static str> {
        let told = self.code_owners().iter().find(|row| row.import == import).map(|row| row.component);
        told.or_else(|| self.framework(normalised).map(|row| row.component))
    }

    /// Whether a file is a part of CUDA.
    pub fn is_cuda_part(self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        self.cuda_parts()
            .iter()
            .any(|row| if row.place.contains('/') { file.contains(row.place) } else { name.starts_with(row.place) })
    }

    /// Whether the CUDA upgrade package of `cuda` runs on a Jetson release of CUDA `base`.
    pub fn jetson_upgrade(self, base: CudaVersion, cuda: CudaVersion) -> Option<(bool, &'static RowInfo)> {
        let row = self.jetson_upgrades().iter().find(|row| row.base.release() == base.release())?;
        Some((row.compatible.iter().any(|one| one.release() == cuda.release()), &row.info))
    }

    /// The report that a tag is gone.
    pub fn withdrawn(self, repository: &str, version: &str) -> Option<&'static WithdrawnRow> {
        self.withdrawn_tags().iter().find(|row| row.repository == repository && row.version == version)
    }

    /// Where every row of every table comes from.
    pub fn infos(self) -> Vec<&'static RowInfo> {
        self.0.infos()
    }

    /// When a source was last read.
    pub fn newest_date(self) -> Date {
        static BUILT_IN: OnceLock<Date> = OnceLock::new();
        let newest = || self.infos().iter().map(|info| info.checked).max().unwrap_or_default();
        // There are thousands of rows, and every image asks.
        if self.is_built_in() { *BUILT_IN.get_or_init(newest) } else { newest() }
    }

    /// What the images of a repository have in common.
    pub fn base_family(self, repository: &str) -> Option<&'static BaseFamilyRow> {
        self.base_families().iter().find(|row| row.repository == repository)
    }

    /// Whether a repository holds CUDA base images.
    pub fn is_cuda_repository(self, repository: &str) -> bool {
        self.base_family(repository).is_some_and(|row| row.cuda_base)
    }

    /// Repositories of CUDA base images as they are, the shortest name first.
    pub fn cuda_repositories(self) -> Vec<&'static str> {
        let rows = self.base_families().iter().filter(|row| row.cuda_base && !row.unread && row.env.is_empty());
        let mut names: Vec<&str> = rows.map(|row| row.repository).collect();
        names.sort_by_key(|name| name.len());
        names
    }

    /// A package with driver libraries: by its name, or by its beginning before a driver branch.
    pub fn driver_package(self, name: &str) -> Option<&'static DriverPackageRow> {
        self.driver_packages().iter().find(|row| match name.strip_prefix(row.name) {
            Some("") => !row.prefix,
            // A branch that a variable gives is one too.
            Some(rest) => row.prefix && rest.starts_with(|first: char| first.is_ascii_digit() || first == '$'),
            None => false,
        })
    }

    /// Whether a name may be short for a package with driver libraries: `nvidia.deb`, `cuda-latest.rpm`.
    pub fn may_be_driver(self, name: &str) -> bool {
        let first = name.split(|c: char| !c.is_ascii_alphanumeric()).next().filter(|first| !first.is_empty());
        let short = |row: &DriverPackageRow, first: &str| {
            row.name.strip_prefix(first).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        first.is_some_and(|first| self.driver_packages().iter().any(|row| short(row, first)))
    }

    /// Whether an engine such as `docker 29.2` takes CDI for `--gpus` where the host has specifications.
    pub fn engine_prefers_cdi(self, engine: &str) -> bool {
        let Some((name, version)) = engine.split_once(' ') else { return false };
        let Ok(version) = version.trim().parse::<CudaVersion>() else { return false };
        self.engines().iter().any(|row| row.name == name && row.cdi_from <= version)
    }

    /// Whether some engine took CDI for `--gpus` on a day.
    pub fn cdi_preferred_by(self, day: Date) -> bool {
        self.engines().iter().any(|row| row.cdi_released.is_some_and(|released| released <= day))
    }

    /// The capabilities that run a family-specific target.
    pub fn family(self, named: ComputeCapability) -> &'static [ComputeCapability] {
        self.code_families().iter().find(|row| row.capability == named).map_or(&[], |row| row.members)
    }

    /// The NVML number of a brand, given in lower case.
    pub fn brand_number(self, brand: &str) -> Option<u32> {
        self.brands().iter().find(|row| row.name.eq_ignore_ascii_case(brand)).map(|row| row.number)
    }

    /// Whether a brand, given in lower case, is one that libnvidia-container learnt later.
    pub fn later_brand(self, brand: &str) -> bool {
        self.brands().iter().any(|row| row.later && row.name.eq_ignore_ascii_case(brand))
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
