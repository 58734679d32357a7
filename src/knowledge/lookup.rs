//! Handle on the compatibility database: the set of all tables, and basic lookups.

use std::fmt;
use std::sync::OnceLock;

use jiff::civil::Date;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::gpu_names::GpuNameMatch;
use crate::knowledge::rows::{
    ArchitectureRow, BaseFamilyRow, BranchRow, CloudInstanceRow, CompatRow, ContainerToolkitRow, CudaImageRow,
    DriverPackageRow, ErrorRow, ForwardRow, FrameworkImageRow, GpuRow, ImageInstallersRow, MigProfileRow,
    MinorCompatRow, PlainImageRow, RequireRow, RowInfo, TargetSetRow, ToolkitChange, ToolkitChangeRow, ToolkitRow,
    ValueAliasRow, WithdrawnRow, WslLibraryRow,
};
use crate::knowledge::{gpu_names, rows, tables};
use crate::text::nearest::{nearest_word, nearest_words};

/// The compatibility database: a handle on the built-in tables, or on tables with additional rows of a user.
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
        write!(f, "Knowledge of {}", self.newest_source_date())
    }
}

/// Returns the row with a key, in a table sorted by that key.
fn find_by_key<R, K: Ord>(rows: &'static [R], key: &K, of: impl Fn(&R) -> K) -> Option<&'static R> {
    rows.binary_search_by(|row| of(row).cmp(key)).ok().and_then(|at| rows.get(at))
}

impl Knowledge {
    /// Returns the built-in tables.
    pub const fn built_in() -> Self {
        Self(&tables::BUILT_IN)
    }

    /// Whether these are the built-in tables, without rows of a user.
    pub(super) fn is_built_in(self) -> bool {
        std::ptr::eq(self.0, Self::built_in().0)
    }

    /// Creates a handle on some tables.
    pub(crate) const fn from_tables(tables: &'static Tables) -> Self {
        Self(tables)
    }

    /// Returns the tables.
    pub(crate) const fn tables(self) -> &'static Tables {
        self.0
    }

    /// Returns the GPU that `name` refers to, as a driver, a node label or a user writes it.
    ///
    /// A short name that fits several GPUs is taken where they differ in nothing that decides; a machine type of a
    /// cloud means its GPU.
    pub fn gpu(self, name: &str) -> Option<&'static GpuRow> {
        let of_type = || gpu_names::find_gpu(self.gpus(), self.cloud_instance(name)?.gpu);
        gpu_names::find_gpu(self.gpus(), name).or_else(of_type)
    }

    /// Returns up to three GPU names: those that `name` may refer to, otherwise the most similar.
    pub fn gpu_suggestions(self, name: &str) -> Vec<&'static str> {
        let candidates = gpu_names::find_gpus(self.gpus(), name);
        if candidates.is_empty() {
            let near = gpu_names::suggest_gpu_names(self.gpus(), name);
            let types = self.cloud_instances().iter().map(|row| row.name);
            return if near.is_empty() { nearest_words(name, types, 2) } else { near };
        }
        candidates.into_iter().take(3).map(|row| row.name).collect()
    }

    /// Compares two GPU names or cloud machine types.
    pub fn compare_gpus(self, one: &str, other: &str) -> GpuNameMatch {
        let gpu = |name| self.cloud_instance(name).map_or(name, |row| row.gpu);
        gpu_names::compare_gpu_names(self.gpus(), gpu(one), gpu(other))
    }

    /// Whether a declared GPU name includes the GPU `own` of a machine: it may be less specific. False if either is
    /// not in the tables.
    pub fn gpu_name_covers(self, declared: &str, own: &str) -> bool {
        let gpu = |name| self.cloud_instance(name).map_or(name, |row| row.gpu);
        gpu_names::covers_gpu_name(self.gpus(), gpu(declared), gpu(own))
    }

    /// Returns the row of a driver branch.
    pub fn driver_branch(self, branch: u32) -> Option<&'static BranchRow> {
        find_by_key(self.driver_branches(), &branch, |row| row.branch)
    }

    /// Returns the newest driver branch in the tables.
    pub fn newest_driver_branch(self) -> Option<&'static BranchRow> {
        self.driver_branches().last()
    }

    /// Returns the newest CUDA version that a driver in the tables supports.
    pub fn newest_cuda(self) -> CudaVersion {
        self.driver_branches().iter().map(|row| row.cuda).max().unwrap_or_default()
    }

    /// Returns the CUDA version that a driver supports, by its release if that differs from its branch.
    ///
    /// None of a branch that is named alone and whose releases differ.
    pub fn driver_cuda(self, driver: DriverVersion) -> Option<(CudaVersion, &'static RowInfo)> {
        let row = self.driver_branch(driver.branch())?;
        let open = driver.is_branch_only() && row.other_cuda.is_some();
        let cuda = if self.has_exceptional_cuda(driver) { row.other_cuda? } else { row.cuda };
        (!open).then_some((cuda, &row.info))
    }

    /// Whether a driver release supports another CUDA version than the rest of its branch.
    pub fn has_exceptional_cuda(self, driver: DriverVersion) -> bool {
        self.driver_branch(driver.branch()).is_some_and(|row| row.other_releases.contains(&driver))
    }

    /// Returns the known branches before and after an unknown one; `None` if it is not between two.
    pub fn neighbouring_branches(self, branch: u32) -> Option<[&'static BranchRow; 2]> {
        let above = self.driver_branches().iter().position(|row| row.branch >= branch)?;
        let (below, above) = (self.driver_branches().get(above.checked_sub(1)?)?, self.driver_branches().get(above)?);
        (above.branch > branch && below.cuda <= above.cuda).then_some([below, above])
    }

    /// Returns the released CUDA minor versions in a range.
    pub fn cuda_minors(self, from: CudaVersion, to: CudaVersion) -> impl Iterator<Item = (u32, u32)> {
        let minors = self.target_sets().iter().map(|row| row.cuda.release());
        minors.filter(move |minor| from.release() <= *minor && *minor <= to.release())
    }

    /// Returns the release of a CUDA toolkit: the exact patch, otherwise the newest patch of its minor version.
    pub fn toolkit(self, cuda: CudaVersion) -> Option<&'static ToolkitRow> {
        let patch = |row: &&ToolkitRow| cuda.0.len() > 2 && row.version.0.part(2) == cuda.0.part(2);
        let of_minor = self.toolkits_of_minor(cuda.release());
        of_minor.iter().find(patch).or_else(|| of_minor.last())
    }

    /// Returns the first release of a CUDA minor version.
    pub fn oldest_toolkit(self, major: u32, minor: u32) -> Option<&'static ToolkitRow> {
        self.toolkits_of_minor((major, minor)).first()
    }

    /// Returns the releases of a CUDA minor version, oldest first.
    fn toolkits_of_minor(self, release: (u32, u32)) -> &'static [ToolkitRow] {
        let all = self.toolkits();
        let from = all.partition_point(|row| row.version.release() < release);
        let to = all.partition_point(|row| row.version.release() <= release);
        all.get(from..to).unwrap_or_default()
    }

    /// Returns the minimum driver of a CUDA major version.
    pub fn minor_compat_of(self, major: u32) -> Option<&'static MinorCompatRow> {
        find_by_key(self.minor_compat(), &major, |row| row.cuda_major)
    }

    /// Returns the PTX version and the targets of a CUDA minor version.
    pub fn target_set(self, cuda: CudaVersion) -> Option<&'static TargetSetRow> {
        find_by_key(self.target_sets(), &cuda.release(), |row| row.cuda.release())
    }

    /// Returns the target sets of a CUDA version, oldest first; for a major version, those of all its minor versions.
    pub fn target_sets_of(self, cuda: CudaVersion) -> &'static [TargetSetRow] {
        if cuda.0.len() > 1 {
            return self.target_set(cuda).map(std::slice::from_ref).unwrap_or_default();
        }
        let rows = self.target_sets();
        let from = rows.partition_point(|row| row.cuda.major() < cuda.major());
        let to = rows.partition_point(|row| row.cuda.major() <= cuda.major());
        rows.get(from..to).unwrap_or_default()
    }

    /// Returns the compat package of a CUDA minor version.
    pub fn compat_package(self, cuda: CudaVersion) -> Option<&'static CompatRow> {
        find_by_key(self.compat_packages(), &cuda.release(), |row| row.cuda.release())
    }

    /// Returns the compat package that contains a libcuda version, by its branch.
    pub fn compat_package_of_libcuda(self, libcuda: DriverVersion) -> Option<&'static CompatRow> {
        self.compat_packages().iter().find(|row| row.branch == libcuda.branch())
    }

    /// Returns the entry of the forward compatibility matrix; `None` if NVIDIA lists none or marks it as not
    /// applicable.
    pub fn forward_compatibility(self, cuda: CudaVersion, base_branch: u32) -> Option<&'static ForwardRow> {
        find_by_key(self.forward_matrix(), &(cuda.release(), base_branch), |row| (row.cuda.release(), row.base_branch))
    }

    /// Returns the GPU architecture of a compute capability.
    pub fn architecture(self, capability: ComputeCapability) -> Option<&'static ArchitectureRow> {
        self.architectures().iter().find(|row| row.capabilities.contains(&capability))
    }

    /// Whether drivers of a branch support GPUs of a compute capability, with the deciding row.
    ///
    /// `None` if the branch is outside the known ones or no row has the capability.
    pub fn branch_supports(self, branch: u32, capability: ComputeCapability) -> Option<(bool, &'static RowInfo)> {
        let (oldest, newest) = (self.driver_branches().first()?, self.driver_branches().last()?);
        if branch < oldest.branch || branch > newest.branch {
            return None;
        }
        let row = self.architecture(capability)?;
        let first = self.driver_branches().iter().find(|known| known.cuda >= row.first_toolkit);
        let begun = first.is_some_and(|first| first.branch <= branch);
        let going_on = row.last_branch.is_none_or(|last| branch <= last);
        Some((begun && going_on, &row.info))
    }

    /// Returns the `NVIDIA_REQUIRE_CUDA` value with an id.
    pub fn requirement(self, id: &str) -> Option<&'static RequireRow> {
        self.requirements().iter().find(|row| row.id == id)
    }

    /// Returns the CUDA base images with a version in their tag.
    pub fn cuda_image(self, version: &str) -> Option<&'static CudaImageRow> {
        self.cuda_images().iter().find(|row| row.version == version)
    }

    /// Returns the framework image with a repository and tag.
    pub fn framework_image(self, repository: &str, tag: &str) -> Option<&'static FrameworkImageRow> {
        self.framework_images().iter().find(|row| row.repository == repository && row.tag == tag)
    }

    /// Returns the row of the installers, such as pip, that the images of a repository lack.
    pub fn installers_of_repository(self, repository: &str) -> Option<&'static ImageInstallersRow> {
        self.image_installers().iter().find(|row| row.repository == repository)
    }

    /// Returns the installers that a system package, from APT or another package manager, installs; `None` if that is
    /// unknown.
    pub fn installers_of_package(self, package: &str, apt: bool) -> Option<&'static [&'static str]> {
        let mut rows = self.packages_without_installer().iter();
        rows.find(|row| row.package == package && (apt || row.every_manager)).map(|row| row.installs)
    }

    /// Returns the row of images without NVIDIA content: that of the repository, otherwise the longest matching
    /// prefix.
    pub fn plain_image(self, repository: &str) -> Option<&'static PlainImageRow> {
        let rows = || self.plain_images().iter();
        let begins = |row: &&PlainImageRow| {
            row.repository.strip_suffix('*').is_some_and(|beginning| repository.starts_with(beginning))
        };
        let own = rows().find(|row| row.repository == repository);
        own.or_else(|| rows().filter(begins).max_by_key(|row| row.repository.len()))
    }

    /// Returns the version range that a container toolkit belongs to.
    pub fn container_toolkit(self, version: CudaVersion) -> Option<&'static ContainerToolkitRow> {
        let mut rows = self.container_toolkits().iter();
        rows.find(|row| {
            // Of the newest range only its own minor is known.
            let known = || version.release() <= row.sample.release();
            row.from <= version && row.before.map_or_else(known, |before| version < before)
        })
    }

    /// Returns the first version with a change of the container toolkit.
    pub fn toolkit_change(self, change: ToolkitChange) -> Option<&'static ToolkitChangeRow> {
        self.toolkit_changes().iter().find(|row| row.change == change)
    }

    /// Returns a library that a Windows driver needs and a container toolkit does not mount.
    pub fn missing_wsl_library(self, windows: u32, toolkit: CudaVersion) -> Option<&'static WslLibraryRow> {
        self.wsl_libraries().iter().find(|row| row.windows_from <= windows && toolkit < row.toolkit_from)
    }

    /// Returns the row of a CUDA error code.
    pub fn error(self, code: u16) -> Option<&'static ErrorRow> {
        self.errors().iter().find(|row| row.code == code)
    }

    /// Returns the number that a runtime of a CUDA version prints for the error with the present number `code`.
    pub fn error_code_in(self, code: u16, runtime: CudaVersion) -> u16 {
        let row = self.error(code).filter(|row| row.was_before.is_some_and(|first| runtime < first));
        row.and_then(|row| row.was).and_then(|was| u16::try_from(was).ok()).unwrap_or(code)
    }

    /// Whether a library contains the required GPU code of its component; `None` if the tables lack the component.
    pub fn is_required_code_library(self, component: &str, file: &str) -> Option<bool> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut rows = self.code_libraries().iter().filter(|row| row.component == component).peekable();
        rows.peek()?;
        Some(rows.any(|row| !row.beside && name.starts_with(row.file)))
    }

    /// Whether a library is one that its component selects at run time, in addition to the required ones.
    pub fn is_optional_code_library(self, component: &str, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut rows = self.code_libraries().iter().filter(|row| row.component == component && row.beside);
        rows.any(|row| name.starts_with(row.file))
    }

    /// Returns the file name prefixes of the libraries with the required GPU code of a component.
    pub fn required_code_libraries(self, component: &str) -> impl Iterator<Item = &'static str> {
        self.code_libraries().iter().filter(move |row| row.component == component && !row.beside).map(|row| row.file)
    }

    /// Whether a component runs without GPU code in its files: it compiles at run time, or uses a GPU only on
    /// request.
    pub fn runs_without_gpu_code(self, component: &str) -> bool {
        self.frameworks().iter().any(|row| row.component == component && (row.compiles || row.optional))
    }

    /// Whether importing a component loads its GPU libraries and fails if a dependency of them is missing. True if
    /// the tables lack the component.
    pub fn import_loads_gpu_code(self, component: &str) -> bool {
        let mut rows = self.frameworks().iter().filter(|row| row.component == component).peekable();
        rows.peek().is_none() || rows.any(|row| row.imports_code.is_some())
    }

    /// Returns the component whose GPU code a file contains, if the file name is sufficient to determine it.
    pub fn component_of_library(self, file: &str) -> Option<&'static str> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let mut rows = self.code_libraries().iter().filter(|row| row.file.starts_with("lib"));
        rows.find(|row| name.starts_with(row.file)).map(|row| row.component)
    }

    /// Returns the component with a Python import name.
    pub fn component_of_import(self, import: &str, normalised: &str) -> Option<&'static str> {
        let component = self.gpu_code_modules().iter().find(|row| row.import == import).map(|row| row.component);
        component.or_else(|| self.framework(normalised).map(|row| row.component))
    }

    /// Whether a file belongs to CUDA itself.
    pub fn is_cuda_file(self, file: &str) -> bool {
        let name = file.rsplit('/').next().unwrap_or(file);
        self.cuda_parts()
            .iter()
            .any(|row| if row.place.contains('/') { file.contains(row.place) } else { name.starts_with(row.place) })
    }

    /// Whether the CUDA upgrade package of `cuda` runs on a Jetson release with CUDA `base`, with the deciding row.
    pub fn jetson_upgrade(self, base: CudaVersion, cuda: CudaVersion) -> Option<(bool, &'static RowInfo)> {
        let row = self.jetson_upgrades().iter().find(|row| row.base.release() == base.release())?;
        Some((row.compatible.iter().any(|one| one.release() == cuda.release()), &row.info))
    }

    /// Returns the row of a withdrawn image tag.
    pub fn withdrawn_tag(self, repository: &str, version: &str) -> Option<&'static WithdrawnRow> {
        self.withdrawn_tags().iter().find(|row| row.repository == repository && row.version == version)
    }

    /// Returns the key and source of every row of every table.
    pub fn row_infos(self) -> Vec<&'static RowInfo> {
        self.0.infos()
    }

    /// Returns the most recent date on which a source was read.
    pub fn newest_source_date(self) -> Date {
        static BUILT_IN: OnceLock<Date> = OnceLock::new();
        let newest = || self.row_infos().iter().map(|info| info.checked).max().unwrap_or_default();
        // There are thousands of rows, and every image needs it.
        if self.is_built_in() { *BUILT_IN.get_or_init(newest) } else { newest() }
    }

    /// Returns the common properties of the images of a repository.
    pub fn base_family(self, repository: &str) -> Option<&'static BaseFamilyRow> {
        self.base_families().iter().find(|row| row.repository == repository)
    }

    /// Whether a repository contains CUDA base images.
    pub fn is_cuda_repository(self, repository: &str) -> bool {
        self.base_family(repository).is_some_and(|row| row.cuda_base)
    }

    /// Returns the repositories of unmodified CUDA base images, shortest name first.
    pub fn cuda_repositories(self) -> Vec<&'static str> {
        let rows = self.base_families().iter().filter(|row| row.cuda_base && !row.unread && row.env.is_empty());
        let mut names: Vec<&str> = rows.map(|row| row.repository).collect();
        names.sort_by_key(|name| name.len());
        names
    }

    /// Returns the row of a package with driver libraries: by its name, or by its prefix before a driver branch.
    pub fn driver_package(self, name: &str) -> Option<&'static DriverPackageRow> {
        self.driver_packages().iter().find(|row| match name.strip_prefix(row.name) {
            Some("") => !row.prefix,
            // A branch that a variable gives is one too.
            Some(rest) => row.prefix && rest.starts_with(|first: char| first.is_ascii_digit() || first == '$'),
            None => false,
        })
    }

    /// Whether a name may be an abbreviation for a package with driver libraries: `nvidia.deb`, `cuda-latest.rpm`.
    pub fn may_be_driver_package(self, name: &str) -> bool {
        let first = name.split(|c: char| !c.is_ascii_alphanumeric()).next().filter(|first| !first.is_empty());
        let short = |row: &DriverPackageRow, first: &str| {
            row.name.strip_prefix(first).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        first.is_some_and(|first| self.driver_packages().iter().any(|row| short(row, first)))
    }

    /// Whether an engine such as `docker 29.2` uses CDI for `--gpus` if the host has CDI specifications.
    pub fn engine_prefers_cdi(self, engine: &str) -> bool {
        let Some((name, version)) = engine.split_once(' ') else { return false };
        let Ok(version) = version.trim().parse::<CudaVersion>() else { return false };
        self.engines().iter().any(|row| row.name == name && row.cdi_from <= version)
    }

    /// Whether any engine used CDI for `--gpus` on a date.
    pub fn any_engine_prefers_cdi(self, day: Date) -> bool {
        self.engines().iter().any(|row| row.cdi_released.is_some_and(|released| released <= day))
    }

    /// Returns the compute capabilities that run a family-specific target.
    pub fn family_members(self, named: ComputeCapability) -> &'static [ComputeCapability] {
        self.code_families().iter().find(|row| row.capability == named).map_or(&[], |row| row.members)
    }

    /// Returns the NVML number of a GPU brand.
    pub fn brand_number(self, brand: &str) -> Option<u32> {
        self.brands().iter().find(|row| row.name.eq_ignore_ascii_case(brand)).map(|row| row.number)
    }

    /// Whether a GPU brand is unknown to older versions of libnvidia-container.
    pub fn is_later_brand(self, brand: &str) -> bool {
        self.brands().iter().any(|row| row.later && row.name.eq_ignore_ascii_case(brand))
    }

    /// Whether the ELF notes of compat libraries allow a GPU brand.
    pub fn is_compat_brand(self, number: u32) -> bool {
        self.brands().iter().any(|row| row.number == number && row.compat)
    }

    /// Whether a compute capability is that of a Tegra module.
    pub fn is_tegra_capability(self, capability: ComputeCapability) -> bool {
        self.tegra_capabilities().iter().any(|row| row.capability == capability)
    }
}

/// A row of a knowledge table.
pub(crate) trait Row: Copy + 'static {
    /// Returns the table, key and source of the row.
    fn info(&self) -> &RowInfo;
}

macro_rules! set {
    ($(
        $(#[$meta:meta])*
        $name:ident: $row:ident by [$($key:ident),*] {
            $($(#[$field_meta:meta])* $field:ident: $kind:ident $(($enum:ident))?,)*
        }
    )*) => {
        /// One set of tables, each sorted by its key.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Tables {
            $(pub(crate) $name: &'static [rows::$row],)*
        }

        impl Tables {
            /// The provenance of every row, table by table.
            pub(crate) fn infos(&self) -> Vec<&'static RowInfo> {
                let mut infos = Vec::new();
                $(infos.extend(self.$name.iter().map(|row| &row.info));)*
                infos
            }
        }

        $(impl Row for rows::$row {
            fn info(&self) -> &RowInfo {
                &self.info
            }
        })*
    };
}

every_table!(set);

macro_rules! accessors {
    ($(
        $(#[$meta:meta])*
        $name:ident: $row:ident by [$($key:ident),*] {
            $($(#[$field_meta:meta])* $field:ident: $kind:ident $(($enum:ident))?,)*
        }
    )*) => {
        impl Knowledge {
            $(
                #[doc = concat!("Returns the rows of the table `", stringify!($name), "`, sorted by their key.")]
                pub const fn $name(self) -> &'static [rows::$row] {
                    self.tables().$name
                }
            )*
        }
    };
}

every_table!(accessors);

impl Knowledge {
    /// Returns the valid values that an unknown word may stand for, most likely first: by alias, otherwise by
    /// spelling.
    pub fn suggested_values<'a>(self, word: &str, values: &[&'a str]) -> Vec<&'a str> {
        let lower = word.trim().to_ascii_lowercase();
        let plain = lower.replace('_', "-");
        let alias = |row: &&ValueAliasRow| row.word == lower || row.word == plain;
        let targets = self.value_aliases().iter().find(alias).map_or(&[][..], |row| row.means);
        let value = |mean: &&str| values.iter().copied().find(|value| value == mean);
        let found: Vec<&str> = targets.iter().filter_map(value).collect();
        if found.is_empty() { nearest_word(word.trim(), values.iter().copied()).into_iter().collect() } else { found }
    }

    /// Returns the suggestion as a question: ``did you mean `docker-gpus` or `docker-cdi`?``; `None` if no value is
    /// similar.
    pub fn did_you_mean(self, word: &str, values: &[&str]) -> Option<String> {
        let suggestions: Vec<String> =
            self.suggested_values(word, values).iter().map(|value| format!("`{value}`")).collect();
        (!suggestions.is_empty()).then(|| format!("did you mean {}?", suggestions.join(" or ")))
    }

    /// Returns the machine type with a name, case-insensitively.
    pub fn cloud_instance(self, name: &str) -> Option<&'static CloudInstanceRow> {
        let name = name.trim();
        self.cloud_instances().iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// Whether a GPU that `name` may refer to supports a MIG profile, regardless of additions (`1g.10gb.me`); `None`
    /// if the table lacks one.
    pub fn has_mig_profile(self, name: &str, profile: &str) -> Option<bool> {
        let name = self.cloud_instance(name).map_or(name, |row| row.gpu);
        let candidates = gpu_names::find_gpus(self.gpus(), name);
        let rows: Option<Vec<&MigProfileRow>> =
            candidates.iter().map(|gpu| self.mig_profiles().iter().find(|row| row.gpu == gpu.name)).collect();
        let rows = rows.filter(|rows| !rows.is_empty())?;
        let plain = base_profile(profile)?;
        Some(rows.iter().any(|row| row.profiles.contains(&plain)))
    }
}

/// Returns a profile without its additions: `1g.10gb` of `1g.10gb.me`, `1g.24gb-me` and `1g.24gb+gfx`; `None` for
/// other text.
fn base_profile(profile: &str) -> Option<&str> {
    let (slices, rest) = profile.split_once("g.")?;
    let (memory, _) = rest.split_once("gb")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(slices) && is_number(memory)).then(|| &profile[..slices.len() + memory.len() + 4])
}

#[cfg(test)]
mod alias_rows_tests {
    use super::*;

    #[test]
    fn lookup_suggests_only_values_of_its_field() {
        let launch = ["docker-gpus", "docker-cdi", "kubernetes", "enroot", "singularity", "podman-cdi", "native"];
        let severity = ["off", "note", "warning", "error"];
        for (word, values, expected) in [
            ("k8s", &launch[..], &["kubernetes"][..]),
            ("K8S", &launch, &["kubernetes"]),
            ("docker", &launch, &["docker-gpus", "docker-cdi"]),
            ("pyxis", &launch, &["enroot"]),
            ("apptainer", &launch, &["singularity"]),
            ("kubernetis", &launch, &["kubernetes"]),
            ("bare_metal", &launch, &["native"]),
            ("lambda", &launch, &[]),
            ("k8s", &severity, &[]),
            ("none", &severity, &["off"]),
            ("eror", &severity, &["error"]),
        ] {
            assert_eq!(Knowledge::built_in().suggested_values(word, values), expected, "{word}");
        }
    }

    #[test]
    fn an_alias_is_in_lower_case_and_written_once() {
        let rows = Knowledge::built_in().value_aliases();
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row.word, row.word.to_ascii_lowercase());
            assert!(!row.means.is_empty() && !row.means.contains(&row.word), "{}", row.word);
            assert!(rows.iter().take(at).all(|other| other.word != row.word), "{}", row.word);
        }
    }
}

#[cfg(test)]
mod mig_profiles_tests {
    use super::*;

    #[test]
    fn mig_profile_suffix_is_ignored() {
        for (profile, expected) in [
            ("1g.10gb", Some("1g.10gb")),
            ("1g.10gb.me", Some("1g.10gb")),
            ("1g.24gb-me", Some("1g.24gb")),
            ("4g.96gb+gfx", Some("4g.96gb")),
            ("1c.3g.40gb", None),
            ("all", None),
            ("g.gb", None),
            ("1g.", None),
            ("1g.xgb", None),
            ("", None),
        ] {
            assert_eq!(base_profile(profile), expected, "{profile}");
        }
    }
}
