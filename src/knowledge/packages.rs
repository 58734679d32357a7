//! Queries about Python distributions, their wheels, and the libraries that they carry.

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::natural_order::compare_natural;
use crate::knowledge::rows::{
    BundledRow, CondaBuildRow, CondaVariantRow, DriverSonameRow, FrameworkBuildRow, FrameworkRow, LibraryPackageRow,
    LibraryWheelRow, OsRow, ProcessorPackageRow, RequiredLibrariesRow, RequiresDistRow, RowInfo, RuntimePackageRow,
    ToolkitLibraryRow, TorchArchNameRow, TorchBuildRow, TorchRow, WheelPythonRow,
};
use crate::knowledge::{ImagePythonRow, Knowledge, RowVersion};
use crate::model::package::{ExactVersion, PackageName};
use crate::model::reference::ImageReference;

/// The distribution whose release decides about the builds of those that require it.
const TORCH: &str = "torch";

/// Returns the row of a version, otherwise that of its minor version.
fn row_of_version(
    mut rows: impl Iterator<Item = &'static FrameworkBuildRow> + Clone,
    version: &ExactVersion,
) -> Option<&'static FrameworkBuildRow> {
    let mut minor_rows = rows.clone();
    rows.find(|row| row.is_full_release() && row.is_of_version(version)).or_else(|| {
        let minor = minor_version(version.as_str())?;
        minor_rows.find(|row| row.version.is_some_and(|own| own.as_str() == minor))
    })
}

/// Returns the first two numbers of a version: `2.3` of `2.3.0rc0`.
fn minor_version(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    let minor: String = parts.nth(1)?.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{}.{minor}", version.split('.').next()?))
}

/// Whether every install of a distribution requires torch.
fn requires_torch(row: &RequiresDistRow) -> bool {
    row.package == TORCH && row.extra.is_none()
}

/// Prefix of the file name of the CUDA runtime library.
const CUDART_PREFIX: &str = "libcudart.so.";

impl Knowledge {
    /// Returns what every distribution requires of torch.
    pub fn torch_requirements(self) -> impl Iterator<Item = &'static RequiresDistRow> + Clone {
        self.requires_dist().iter().filter(|row| requires_torch(row))
    }

    /// Returns what the releases of a distribution require of torch.
    pub fn torch_requirements_of(
        self,
        distribution: &str,
    ) -> impl Iterator<Item = &'static RequiresDistRow> + Clone + use<'_> {
        self.requirements_of(distribution).filter(|row| requires_torch(row))
    }

    /// Returns the requirements on torch of the releases that the indexes of builds have, too.
    ///
    /// A release that was not made together with one release of torch is only known on the default index.
    pub fn torch_requirements_on_build_indexes(
        self,
        distribution: &str,
    ) -> impl Iterator<Item = &'static RequiresDistRow> + Clone + use<'_> {
        self.torch_requirements_of(distribution).filter(|row| row.released.is_none())
    }

    /// Returns the row of a torch release, without a local version.
    pub fn torch_release(self, version: &ExactVersion) -> Option<&'static TorchRow> {
        self.torch_releases().iter().find(|row| row.version.is_same(version))
    }

    /// Returns the torch releases that a version range on an index or a channel may select.
    pub fn served_torch_releases(self) -> impl Iterator<Item = &'static TorchRow> {
        self.torch_releases().iter().filter(|row| !row.apart)
    }

    /// Returns the meaning of a name in an architecture list for a torch release; without a release, all its
    /// meanings.
    pub fn torch_arch_name_rows(
        self,
        name: &str,
        torch: Option<&ExactVersion>,
    ) -> impl Iterator<Item = &'static TorchArchNameRow> {
        let holds = |row: &TorchArchNameRow, torch: &ExactVersion| {
            let reached = |bound: RowVersion| torch.reaches(bound);
            reached(row.from) && !row.before.is_some_and(reached)
        };
        let of_name = self.torch_arch_names().iter().filter(move |row| row.name == name);
        of_name.filter(move |row| torch.is_none_or(|torch| holds(row, torch)))
    }

    /// Returns the build of torch with a version, variant and architecture: `2.6.0`, `cu124`, `amd64`.
    pub fn torch_build(self, version: &ExactVersion, variant: &str, arch: &str) -> Option<&'static TorchBuildRow> {
        let mut rows = self.torch_builds().iter();
        rows.find(|row| row.variant == variant && row.arch == arch && row.version.is_same(version))
    }

    /// Whether the wheel version of a torch build does not include the build.
    pub fn is_unnamed_torch_build(self, version: &ExactVersion, variant: &str, arch: &str) -> bool {
        self.torch_build(version, variant, arch).is_some_and(|row| row.unnamed)
    }

    /// Returns the build of another framework: the row of the version, otherwise of its minor version, otherwise of
    /// all versions.
    pub fn framework_build(self, distribution: &str, version: &ExactVersion) -> Option<&'static FrameworkBuildRow> {
        row_of_version(self.framework_releases_of(distribution), version)
            .or_else(|| self.framework_build_of_every_version(distribution))
    }

    /// Returns the build of a framework that is the same in every version.
    pub fn framework_build_of_every_version(self, distribution: &str) -> Option<&'static FrameworkBuildRow> {
        self.framework_releases_of(distribution).find(|row| row.version.is_none())
    }

    /// Returns the rows of the releases of one framework, without those for one architecture.
    pub fn framework_releases_of(
        self,
        distribution: &str,
    ) -> impl Iterator<Item = &'static FrameworkBuildRow> + Clone + use<'_> {
        self.framework_releases().filter(move |row| row.distribution == distribution)
    }

    /// Returns the rows of releases of frameworks, without those for one architecture.
    pub fn framework_releases(self) -> impl Iterator<Item = &'static FrameworkBuildRow> + Clone {
        self.framework_builds().iter().filter(|row| row.arch.is_none())
    }

    /// Returns the build of a framework for an architecture that has a row of its own: of the version, otherwise of its
    /// minor version.
    pub fn framework_build_for(
        self,
        distribution: &str,
        version: &ExactVersion,
        arch: &str,
    ) -> Option<&'static FrameworkBuildRow> {
        let builds = self.framework_builds().iter();
        row_of_version(builds.filter(|row| row.arch == Some(arch) && row.distribution == distribution), version)
    }

    /// Returns the dependencies that a distribution with some extras installs.
    pub fn dependencies_with_extras(
        self,
        distribution: &str,
        extras: &[PackageName],
    ) -> impl Iterator<Item = &'static RequiresDistRow> {
        let is_selected = |row: &&RequiresDistRow| row.extra.is_none_or(|own| extras.iter().any(|extra| *extra == own));
        self.gpu_dependencies_of(distribution).filter(is_selected)
    }

    /// Returns the requirements of all distributions that install a package with GPU code.
    ///
    /// Not among them are those that the release of torch decides: torch itself, and a package that is built
    /// with torch if each release of the distribution requires one torch.
    pub fn gpu_dependencies(self) -> impl Iterator<Item = &'static RequiresDistRow> + Clone {
        self.requires_dist().iter().filter(move |row| self.is_gpu_dependency(row))
    }

    /// Returns those of [`Self::gpu_dependencies`] that a distribution or one of its extras has.
    pub fn gpu_dependencies_of(
        self,
        distribution: &str,
    ) -> impl Iterator<Item = &'static RequiresDistRow> + Clone + use<'_> {
        self.requirements_of(distribution).filter(move |row| self.is_gpu_dependency(row))
    }

    /// Returns those of [`Self::gpu_dependencies`] that install a package.
    pub fn gpu_dependencies_on(
        self,
        package: &str,
    ) -> impl Iterator<Item = &'static RequiresDistRow> + Clone + use<'_> {
        self.requirements_on(package).filter(move |row| self.is_gpu_dependency(row))
    }

    /// Whether a requirement installs a package with GPU code; see [`Self::gpu_dependencies`].
    fn is_gpu_dependency(self, row: &RequiresDistRow) -> bool {
        let pins_torch = || self.torch_requirements_of(row.distribution).any(|own| own.version.is_some());
        row.version.is_none() && !requires_torch(row) && !(self.is_built_with_torch(row.package) && pins_torch())
    }

    /// Returns the row which shows that no index has a CUDA build of a version for an architecture.
    pub fn platform_without_cuda(
        self,
        distribution: &str,
        version: &ExactVersion,
        arch: &str,
    ) -> Option<&'static RowInfo> {
        let row = self.build_indexes().iter().find(|row| row.distribution == distribution)?;
        (arch == "arm64" && !version.reaches(row.arm64_from?)).then_some(&row.info)
    }

    /// Whether an index per CUDA version, next to that of torch, selects the build of a distribution.
    pub fn has_build_index(self, distribution: &str) -> bool {
        self.build_indexes().iter().any(|row| row.distribution == distribution && row.folders.is_empty())
    }

    /// Returns the URL paths of the project's own indexes, above the build directories; empty if there are none.
    pub fn project_indexes(self, distribution: &str) -> &'static [&'static str] {
        let row = self.build_indexes().iter().find(|row| row.distribution == distribution);
        row.map_or(&[], |row| row.folders)
    }

    /// Whether a distribution is built for every CUDA version of the torch release that it requires.
    pub fn is_built_with_torch(self, distribution: &str) -> bool {
        self.build_indexes().iter().any(|row| row.distribution == distribution && row.with_torch)
    }

    /// Whether a version of a distribution installs a torch companion package; `None` if not all its companions are
    /// known. `reaches` compares the version with a minimum.
    pub fn requires_companion(
        self,
        distribution: &str,
        companion: &str,
        reaches: impl Fn(CudaVersion) -> bool,
    ) -> Option<bool> {
        let mut listed = self.listed_companion_dependencies().iter().filter(|row| row.distribution == distribution);
        listed.find(|row| row.from.is_none_or(&reaches))?;
        let mut rows = self.requirements_of(distribution).filter(|row| row.version.is_none() && row.extra.is_none());
        Some(rows.any(|row| row.package == companion))
    }

    /// Returns the ranges of torch releases with wheels for a Python version, oldest Python version first.
    pub fn torch_pythons(self) -> impl Iterator<Item = &'static WheelPythonRow> + Clone {
        self.wheel_pythons_of(TORCH)
    }

    /// Returns the amd64 wheels of a distribution if all its releases are listed, so that the newest one for a Python
    /// version is known.
    pub fn complete_wheel_pythons_of(
        self,
        distribution: &str,
    ) -> impl Iterator<Item = &'static WheelPythonRow> + Clone + use<'_> {
        let complete = self.framework(distribution).is_some_and(|row| row.all_releases);
        self.wheel_pythons_of(distribution).filter(move |row| complete && row.arch == Some("amd64"))
    }

    /// Returns the URL of the index of the builds of a distribution, with the placeholder `{build}`.
    pub fn build_index_url_template(self, distribution: &str) -> Option<&'static str> {
        self.build_indexes().iter().find(|row| row.distribution == distribution)?.page
    }

    /// Returns the URLs of all indexes of builds, with the placeholder `{build}`.
    pub fn all_build_index_url_templates(self) -> impl Iterator<Item = &'static str> {
        self.build_indexes().iter().filter_map(|row| row.page)
    }

    /// Whether a page of wheels is known to list only those of its own project, not torch.
    pub fn is_project_page(self, address: &str) -> bool {
        let place = address.split_once("://").map_or(address, |(_, place)| place);
        let below = |page: &str| place.strip_prefix(page).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.single_project_pages().iter().any(|row| below(row.page))
    }

    /// Returns the row of a conda package that selects a build: without CUDA, or the CUDA version of the package.
    pub fn conda_variant(self, name: &str) -> Option<&'static CondaVariantRow> {
        self.conda_variants().iter().find(|row| row.name == name)
    }

    /// Returns the torch build of a conda channel for amd64: `pytorch`, `1.9.0`, `cu102`.
    pub fn conda_build(self, channel: &str, version: &ExactVersion, variant: &str) -> Option<&'static CondaBuildRow> {
        let mut rows = self.conda_builds().iter().filter(|row| row.channel == channel && row.variant == variant);
        rows.find(|row| row.first.compare(version).is_le() && version.compare(row.last).is_le())
    }

    /// Returns the system package with a CUDA runtime, and the CUDA version in its name: `cuda-cudart-12-4`.
    pub fn runtime_package(self, name: &str) -> Option<(&'static RuntimePackageRow, Option<CudaVersion>)> {
        let version = |rest: &str| rest.strip_prefix('-')?.replace('-', ".").parse::<CudaVersion>().ok();
        self.runtime_packages().iter().find_map(|row| match name.strip_prefix(row.name)? {
            "" => Some((row, None)),
            rest if rest.starts_with("-$") => Some((row, None)),
            rest => version(rest).map(|cuda| (row, Some(cuda))),
        })
    }

    /// Returns the row of a distribution with a library of the CUDA toolkit, by its normalized name.
    pub fn library_wheel(self, distribution: &str) -> Option<&'static LibraryWheelRow> {
        self.library_wheels_of(distribution).next()
    }

    /// Returns the CUDA version of a library wheel: the minor version if the wheel version contains it, otherwise the
    /// major version.
    pub fn library_wheel_cuda(self, distribution: &str, version: &str) -> Option<(CudaVersion, &'static RowInfo)> {
        let row = self.library_wheel(distribution)?;
        let minor = || {
            let (major, rest) = version.split_once('.')?;
            format!("{major}.{}", rest.split('.').next()?).parse().ok()
        };
        let wheel_cuda = if row.versioned { minor() } else { row.cuda };
        wheel_cuda.map(|cuda| (cuda, &row.info))
    }

    /// Returns the Python version of an image, or of the package manager of its operating system.
    pub fn image_python(self, reference: &ImageReference) -> Option<&'static ImagePythonRow> {
        let repository = reference.familiar_name();
        let last = repository.rsplit('/').next().unwrap_or(&repository);
        let tag = reference.tag().unwrap_or_default();
        let begins = |version: &str| {
            tag.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        };
        let parts: Vec<&str> = tag.split('-').collect();
        let named = |row: &&ImagePythonRow| {
            parts.iter().any(|part| part.strip_prefix(row.name).is_some_and(|version| version == row.version))
        };
        let rows = self.image_pythons();
        let own = rows.iter().find(|row| last == row.name && begins(row.version));
        own.or_else(|| rows.iter().find(named))
    }

    /// Returns the newest Python version of a Python image whose tag has no Python version, or only the major
    /// version.
    pub fn newest_image_python(self, reference: &ImageReference) -> Option<&'static str> {
        let repository = reference.familiar_name();
        let last = repository.rsplit('/').next().unwrap_or(&repository);
        let word = reference.tag().unwrap_or_default().split('-').next().unwrap_or_default();
        let major = word.bytes().all(|one| one.is_ascii_digit()) && !word.is_empty();
        if !major && word.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let of_it = self.image_pythons().iter().filter(|row| row.name == last && row.version == row.python);
        let fits = |row: &&ImagePythonRow| !major || row.python.split('.').next() == Some(word);
        of_it.filter(fits).map(|row| row.python).max_by(|one, other| compare_natural(one, other))
    }

    /// Returns the CUDA variants for which a version of a distribution such as bitsandbytes has libraries.
    pub fn bundled_variants_of(self, distribution: &str, version: &ExactVersion) -> Option<&'static BundledRow> {
        let mut rows = self.bundled_variants().iter().rev().filter(|row| row.distribution == distribution);
        rows.find(|row| version.reaches(row.from))
    }

    /// Whether a release of a distribution such as bitsandbytes bundles a library for a CUDA version; `None` if
    /// unknown.
    pub fn bundles_library_for_cuda(
        self,
        distribution: &str,
        version: &ExactVersion,
        cuda: CudaVersion,
    ) -> Option<bool> {
        let row = self.bundled_variants_of(distribution, version)?;
        if self.is_newer_framework(distribution, version) {
            return None;
        }
        let tag = |major: u32, minor: &str| format!("cu{major}{minor}");
        let own = tag(cuda.major(), &cuda.minor().to_string());
        let of_major = tag(cuda.major(), "");
        let alike = |one: &&str| row.nearest && one.len() == own.len() && one.starts_with(&of_major);
        Some(row.variants.iter().any(|one| *one == own || alike(one)))
    }

    /// Returns the row of a distribution with GPU code, by its normalized name.
    pub fn framework(self, distribution: &str) -> Option<&'static FrameworkRow> {
        self.frameworks_of(distribution).next()
    }

    /// Returns the distribution that is built from a repository, `owner/name`, if it or a dependency concerns GPUs.
    pub fn distribution_of_repository(self, repository: &str) -> Option<String> {
        let whole = repository.to_ascii_lowercase();
        let last = whole.rsplit('/').next().unwrap_or(&whole);
        let framework = self.frameworks().iter().find(|row| row.repositories.contains(&whole.as_str()));
        let compiled = || self.cuda_extensions().iter().find(|row| row.repository.eq_ignore_ascii_case(last));
        let companion = || self.build_indexes().iter().find(|row| row.repository == Some(whole.as_str()));
        let distribution = framework.map(|row| row.distribution).or_else(|| companion().map(|row| row.distribution));
        let distribution = distribution.or_else(|| compiled().map(|row| row.distribution));
        let own = || {
            let name = last.replace(['_', '.'], "-");
            // What another framework is called by conda alone is no distribution of pip.
            let code = self.framework(&name).is_some_and(|row| row.component == name);
            let installs_code = || self.gpu_dependencies_of(&name).any(|row| row.extra.is_none());
            (code || installs_code()).then_some(name)
        };
        distribution.map(str::to_owned).or_else(own)
    }

    /// Returns the framework whose versions have builds for several CUDA versions, such as torch.
    pub fn framework_with_variants(self) -> Option<&'static FrameworkRow> {
        self.frameworks().iter().find(|row| row.variants && row.distribution == row.component)
    }

    /// Returns the releases of a distribution in the tables, including those of dependencies with the same version.
    pub fn known_releases(self, distribution: &str) -> impl Iterator<Item = RowVersion> {
        let is_same_version_dependency =
            move |name: &str| self.gpu_dependencies_of(distribution).any(|row| row.package == name && row.same);
        self.framework_releases()
            .filter(move |row| row.distribution == distribution || is_same_version_dependency(row.distribution))
            .filter_map(|row| row.version)
    }

    /// Whether an extra of a release cannot be used with a Python version such as `3.11`; without a version, whether
    /// with any.
    pub fn is_unusable_extra(
        self,
        distribution: &str,
        extra: &str,
        version: &ExactVersion,
        python: Option<&str>,
    ) -> bool {
        let mut rows = self.unusable_extras().iter();
        let for_python = |first: &str| python.is_some_and(|python| compare_natural(first, python).is_le());
        rows.any(|row| {
            (row.distribution, row.extra) == (distribution, extra)
                && row.version.is_same(version)
                && row.python.is_none_or(for_python)
        })
    }

    /// Whether a distribution has libraries for several CUDA versions.
    pub fn has_bundled_variants(self, distribution: &str) -> bool {
        self.bundled_variants().iter().any(|row| row.distribution == distribution)
    }

    /// Whether a distribution, of any package manager, is a framework with builds for several CUDA versions.
    pub fn has_variants(self, distribution: &str) -> bool {
        self.framework(distribution).is_some_and(|row| row.variants)
    }

    /// Returns the package repositories with exceptional packages that a URL or a line of a sources list names.
    pub fn package_repositories_in(self, text: &str) -> impl Iterator<Item = &'static str> {
        self.repository_packages().iter().map(|row| row.repository).filter(move |part| text.contains(part))
    }

    /// Returns the name that other repositories use for a package of a repository.
    pub fn common_package_name(self, repository: &str, name: &str) -> Option<String> {
        self.repository_packages().iter().filter(|row| row.repository == repository).find_map(|row| {
            let rest = name.strip_prefix(row.name)?;
            let fits = if row.prefix { rest.starts_with(|c: char| c.is_ascii_digit()) } else { rest.is_empty() };
            fits.then(|| format!("{}{rest}", row.installs))
        })
    }

    /// Returns the CUDA version in the name of a distribution: 12 for `cudf-cu12`, 12.0 for `spconv-cu120`.
    pub fn cuda_of_name(self, distribution: &str) -> Option<(CudaVersion, &'static RowInfo)> {
        let digit = |name: &str| name.ends_with(|one: char| one.is_ascii_digit());
        self.cuda_name_suffixes().iter().find_map(|row| {
            distribution.strip_suffix(row.after).filter(|name| digit(name))?;
            let (name, rest) = distribution.rsplit_once(row.mark)?;
            let digits = rest.strip_suffix(row.after)?;
            let cuda = self.cuda_from_digits(digits).filter(|_| !name.is_empty())?;
            let version = if row.minor { Some(cuda) } else { cuda.major().to_string().parse().ok() };
            version.map(|cuda| (cuda, &row.info))
        })
    }

    /// Returns the CUDA version in the version of a distribution: 11 for jaxlib `0.4.14+cuda11.cudnn86`.
    pub fn cuda_of_version(self, distribution: &str, version: &str) -> Option<(CudaVersion, &'static RowInfo)> {
        self.cuda_locals_of(distribution).find_map(|row| {
            let (release, rest) = version.split_once(row.mark)?;
            let digits = rest.split(|one: char| !one.is_ascii_digit()).next()?;
            let release = ExactVersion::from(release);
            let reached = |bound: RowVersion| release.reaches(bound);
            if !row.from.is_none_or(reached) || row.before.is_some_and(reached) {
                return None;
            }
            let cuda = match row.digits {
                Some(own) => row.cuda.filter(|_| own == digits),
                None => self.cuda_from_digits(digits),
            };
            cuda.map(|cuda| (cuda, &row.info))
        })
    }

    /// Parses a CUDA version without a dot: 12 of `12`, 12.4 of `124`, 9.2 of `92`. `None` if it has never existed.
    pub(super) fn cuda_from_digits(self, digits: &str) -> Option<CudaVersion> {
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?).filter(|_| plain)?;
        let release: CudaVersion = format!("{major}.{minor}").parse().ok()?;
        let version = match digits.len() {
            2 if self.toolkit(release).is_none() => digits.parse().ok(),
            2 | 3 => Some(release),
            _ => None,
        };
        version.filter(|cuda| !self.is_nonexistent_cuda(*cuda) && cuda.major() <= self.newest_cuda().major() + 1)
    }

    /// Returns the row of a distribution that uses CUDA without a CUDA version in its name.
    pub fn gpu_package(self, distribution: &str) -> Option<&'static RowInfo> {
        self.gpu_packages_of(distribution).next().map(|row| &row.info)
    }

    /// Returns the CUDA version of a runtime library: the major version if the soname covers it, otherwise the
    /// version in the name.
    pub fn cuda_of_runtime(self, soname: &str) -> Option<CudaVersion> {
        let release = soname.strip_prefix(CUDART_PREFIX)?;
        let of_every_release = |row: &&ToolkitLibraryRow| row.from.is_none() && row.before.is_none();
        let mut rows = self.toolkit_libraries().iter().filter(of_every_release);
        match rows.find(|row| row.sonames.contains(&soname)) {
            Some(row) => row.cuda_major.to_string().parse().ok(),
            None => release.parse().ok(),
        }
    }

    /// Returns the operating system of an image name: by a word of its tag, otherwise by its repository.
    pub fn operating_system(self, repository: &str, tag: &str) -> Option<&'static OsRow> {
        let rows = self.operating_systems().iter();
        let by_word = |word: &str| {
            let begins = rows.clone().filter(|row| !row.name.contains('/') && word.starts_with(row.name));
            begins.max_by_key(|row| row.name.len())
        };
        tag.split(['-', '_']).rev().find_map(by_word).or_else(|| rows.clone().find(|row| row.name == repository))
    }

    /// Returns the driver library with a soname that the container toolkit mounts.
    pub fn driver_soname(self, soname: &str) -> Option<&'static DriverSonameRow> {
        self.driver_sonames().iter().find(|row| row.soname == soname)
    }

    /// Returns the libraries in one version of a package.
    pub fn package_libraries(self, name: &str, version: Option<CudaVersion>) -> Option<&'static LibraryPackageRow> {
        let mut rows = self.library_packages().iter();
        rows.find(|row| row.name == name && is_in_version_range(version, row.from, row.before))
    }

    /// Returns the partial libraries that a library opens at run time.
    pub fn parts_of_library(self, soname: &str) -> &'static [&'static str] {
        self.libraries_opened_by_libraries().iter().find(|row| row.soname == soname).map_or(&[], |row| row.parts)
    }

    /// Returns the library that opens a partial library; otherwise the library itself.
    pub fn main_library_of(self, soname: &str) -> &str {
        self.libraries_opened_by_libraries()
            .iter()
            .find(|row| row.parts.contains(&soname))
            .map_or(soname, |row| row.soname)
    }

    /// Whether a package may contain CUDA libraries, by its name.
    pub fn may_contain_libraries(self, name: &str) -> bool {
        self.cuda_package_words().iter().any(|row| name.contains(row.word))
    }

    /// Whether a package, including its dependencies, is known not to contain a library.
    pub fn lacks_library(self, name: &str, soname: &str) -> bool {
        let mut rows = self.cuda_package_words().iter().filter(|row| row.word == name);
        rows.any(|row| row.without.iter().any(|stem| soname.starts_with(stem)))
    }

    /// Whether the libraries that a package and its dependencies do not contain are in the tables.
    pub fn has_known_content(self, name: &str) -> bool {
        self.cuda_package_words().iter().any(|row| row.word == name && !row.without.is_empty())
    }

    /// Whether a distribution and its dependencies are known to contain no CUDA library. `reaches` compares its
    /// version with a minimum.
    pub fn is_library_free(self, distribution: &str, reaches: impl Fn(CudaVersion) -> bool) -> bool {
        self.library_free_of(distribution).any(|row| row.from.is_none_or(&reaches))
    }

    /// Whether the dependencies of an extra are known to contain no CUDA library.
    pub fn is_library_free_extra(self, distribution: &str, extra: &str) -> bool {
        self.library_free_of(distribution).any(|row| row.extras.contains(&extra))
    }

    /// Whether the requested extras lack the one that installs the libraries of a distribution.
    pub fn lacks_library_extra(self, distribution: &str, extras: &[PackageName]) -> bool {
        let mut rows = self.required_libraries().iter().filter(|row| row.distribution == distribution);
        rows.any(|row| row.with.is_some_and(|with| !extras.iter().any(|extra| *extra == with)))
    }

    /// Returns the row of a CPU-only distribution.
    pub fn cpu_package(self, distribution: &str) -> Option<&'static ProcessorPackageRow> {
        self.processor_packages().iter().find(|row| row.distribution == distribution)
    }

    /// Returns the libraries that a version of a distribution needs from other packages.
    pub fn library_needs_of(self, distribution: &str, version: CudaVersion) -> Option<&'static RequiredLibrariesRow> {
        let mut rows = self.required_libraries().iter();
        rows.find(|row| {
            row.distribution == distribution && is_in_version_range(Some(version), Some(row.from), row.before)
        })
    }

    /// Returns the version in the file name of libcuda on a Tegra module, if it differs from the driver version.
    pub fn tegra_libcuda(self, capability: ComputeCapability) -> Option<DriverVersion> {
        self.tegra_capabilities().iter().find(|row| row.capability == capability)?.libcuda
    }

    /// Returns the compat directory that is specific to a Tegra module.
    pub fn tegra_compat_root(self, capability: ComputeCapability) -> Option<&'static str> {
        self.tegra_capabilities().iter().find(|row| row.capability == capability)?.compat_root
    }

    /// Returns the word of an entrypoint that tests the compat library, and its image family.
    pub fn compat_probe(self, words: &[String]) -> Option<(&String, &'static RowInfo)> {
        let mut rows = self.base_families().iter();
        rows.find_map(|row| {
            let word = words.iter().find(|word| row.compat_probe == Some(word.as_str()))?;
            Some((word, &row.info))
        })
    }
}

/// Whether a version is in a range; an unknown version is only in a range without bounds.
fn is_in_version_range(version: Option<CudaVersion>, from: Option<CudaVersion>, before: Option<CudaVersion>) -> bool {
    match version {
        Some(version) => from.is_none_or(|from| from <= version) && before.is_none_or(|before| version < before),
        None => from.is_none() && before.is_none(),
    }
}

#[cfg(test)]
mod wheel_lookup_tests {
    use crate::knowledge::Knowledge;

    #[test]
    fn local_version_states_cuda_for_distributions_that_write_it() {
        for (name, version, expected) in [
            ("jaxlib", "0.4.14+cuda11.cudnn86", Some("11")),
            ("jaxlib", "0.1.75+cuda11.cudnn82", Some("11")),
            ("jaxlib", "0.1.65+cuda111", Some("11.1")),
            ("jaxlib", "0.1.65+cuda101", Some("10.1")),
            ("paddlepaddle-gpu", "2.4.2.post112", Some("11.2")),
            ("paddlepaddle-gpu", "2.0.0.post101", Some("10.1")),
            ("paddlepaddle-gpu", "2.0.0.post90", Some("9.0")),
            ("paddlepaddle-gpu", "1.6.2.post107", Some("10.0")),
            ("paddlepaddle-gpu", "1.8.5.post97", Some("9.0")),
            ("paddlepaddle-gpu", "0.14.0.post87", Some("8.0")),
            ("paddlepaddle-gpu", "1.8.5.post101", None),
            ("paddlepaddle-gpu", "1.8.5.post9", None),
            ("paddlepaddle-gpu", "2.4.2.post107", None),
            ("paddlepaddle-gpu", "2.4.2.post97", None),
            ("paddlepaddle-gpu", "2.4.2", None),
            ("jaxlib", "0.4.14", None),
            ("jaxlib", "0.4.14+rocm60", None),
            ("jaxlib", "0.4.14+cuda", None),
            ("jaxlib", "0.4.14+cuda1", None),
            ("numpy", "1.26.4+cuda12", None),
            ("paddlepaddle", "2.4.2.post112", None),
        ] {
            let actual = Knowledge::built_in().cuda_of_version(name, version).map(|(cuda, _)| cuda.to_string());
            assert_eq!(actual.as_deref(), expected, "{name} {version}");
        }
    }

    #[test]
    fn package_name_suffix_states_cuda() {
        for (name, expected) in [
            ("cudf-cu12", Some("12")),
            ("spconv-cu120", Some("12.0")),
            ("spconv-cu118", Some("11.8")),
            ("dgl-cu92", Some("9.2")),
            ("mxnet-cu100", Some("10.0")),
            ("nvidia-dali-cuda120", Some("12")),
            ("cupy-cuda12x", Some("12")),
            ("somebodys-cu14", Some("14")),
            ("pycuda", None),
            ("xgboost-cpu", None),
            ("faiss-cpu", None),
            ("nvidia-ml-py", None),
            ("nvidia-ml-py3", None),
            ("nvidia-pyindex", None),
            ("cuda-python", None),
            ("numpy-12", None),
            ("acu12", None),
            ("-cu12", None),
            ("x-cu", None),
            ("x-cu1", None),
            ("x-cu012", None),
            ("x-cu1200", None),
            ("x-cu107", None),
            ("x-cu97", None),
            ("x-cu12x", None),
            ("x-cu12-bindings", None),
            ("x-cu١٢", None),
            ("", None),
        ] {
            let actual = Knowledge::built_in().cuda_of_name(name).map(|(cuda, _)| cuda.to_string());
            assert_eq!(actual.as_deref(), expected, "{name}");
        }
    }
}

#[cfg(test)]
mod library_lookup_tests {
    use super::*;

    const KNOWLEDGE: Knowledge = Knowledge::built_in();

    #[test]
    fn a_tag_or_a_repository_names_the_operating_system() {
        for (repository, tag, debian) in [
            ("nvidia/cuda", "12.4.1-base-ubuntu22.04", Some(true)),
            ("nvidia/cuda", "11.8.0-cudnn8-devel-rockylinux8", Some(false)),
            ("nvidia/cuda", "12.4.1-base-ubi9", Some(false)),
            ("nvidia/cuda", "12.4.1", None),
            ("python", "3.11-slim", Some(true)),
            ("python", "3.11-alpine3.19", Some(false)),
            ("registry.example.com/team/app", "latest", None),
            ("team/ubuntu", "1", None),
        ] {
            let found = KNOWLEDGE.operating_system(repository, tag).map(|row| row.debian);
            assert_eq!(found, debian, "{repository}:{tag}");
        }
    }

    #[test]
    fn runtime_soname_states_the_common_part_of_its_releases() {
        let cuda_version = |soname: &str| KNOWLEDGE.cuda_of_runtime(soname).map(|version| version.to_string());
        for (soname, expected) in [
            ("libcudart.so.13", Some("13")),
            ("libcudart.so.12", Some("12")),
            ("libcudart.so.11.0", Some("11")),
            ("libcudart.so.10.2", Some("10.2")),
            ("libcudart.so.99", Some("99")),
            ("libcudart.so", None),
            ("libcudart.so.x", None),
            ("libcublas.so.12", None),
        ] {
            assert_eq!(cuda_version(soname).as_deref(), expected, "{soname}");
        }
    }

    #[test]
    fn versions_choose_the_libraries() {
        let version = |text: &str| text.parse::<CudaVersion>().ok();
        let brings = |name: &str, text: &str| {
            KNOWLEDGE.package_libraries(name, version(text)).map(|row| row.sonames.contains(&"libcudnn.so.9"))
        };
        assert_eq!(brings("nvidia-cudnn-cu12", "9.1.0.70"), Some(true));
        assert_eq!(brings("nvidia-cudnn-cu12", "8.9.2.26"), Some(false));
        assert_eq!(brings("nvidia-cudnn-cu12", ""), None);
        assert_eq!(brings("nvidia-cudnn-cu99", "9.1"), None);
        let needs = |text: &str| {
            let row = KNOWLEDGE.library_needs_of("onnxruntime-gpu", version(text).expect("a version"));
            row.map(|row| row.needs.contains(&"libcublasLt.so.12"))
        };
        assert_eq!(needs("1.18.0"), Some(false));
        assert_eq!(needs("1.19.0"), Some(true));
        assert_eq!(needs("0.1"), None);
    }
}
