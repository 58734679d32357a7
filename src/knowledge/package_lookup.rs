//! Lookups about Python, conda and system packages: their releases, builds and dependencies.

use crate::cuda::CudaVersion;
use crate::knowledge::natural_order::compare_natural;
use crate::knowledge::rows::{
    Arm64BuildRow, BroughtRow, BundledRow, CondaBuildRow, CondaVariantRow, FrameworkBuildRow, FrameworkRow,
    LibraryWheelRow, RequiresDistRow, RowInfo, RuntimePackageRow, TorchArchNameRow, TorchBuildRow, TorchRow,
};
use crate::knowledge::{ImagePythonRow, Knowledge};
use crate::model::reference::ImageReference;

/// The distribution whose release decides about the builds of those that require it.
const TORCH: &str = "torch";

/// Returns the first two numbers of a version: `2.3` of `2.3.0rc0`.
fn minor_version(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    let minor: String = parts.nth(1)?.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{}.{minor}", version.split('.').next()?))
}

impl Knowledge {
    /// Returns what every distribution requires of torch.
    pub fn torch_requirements(self) -> impl Iterator<Item = &'static RequiresDistRow> + Clone {
        self.requires_dist().iter().filter(|row| row.package == TORCH)
    }

    /// Returns what the releases of a distribution require of torch.
    pub fn torch_requirements_of(
        self,
        distribution: &str,
    ) -> impl Iterator<Item = &'static RequiresDistRow> + Clone + use<'_> {
        self.requirements_of(distribution).filter(|row| row.package == TORCH)
    }

    /// Returns the row of a torch release, without a local version.
    pub fn torch_release(self, version: &str) -> Option<&'static TorchRow> {
        self.torch_releases().iter().find(|row| row.version == version)
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
        torch: Option<&str>,
    ) -> impl Iterator<Item = &'static TorchArchNameRow> {
        let holds = |row: &TorchArchNameRow, torch: &str| {
            let reached = |bound: &str| compare_natural(torch, bound).is_ge();
            reached(row.from) && !row.before.is_some_and(reached)
        };
        let of_name = self.torch_arch_names().iter().filter(move |row| row.name == name);
        of_name.filter(move |row| torch.is_none_or(|torch| holds(row, torch)))
    }

    /// Returns the build of torch with a version, variant and architecture: `2.6.0`, `cu124`, `amd64`.
    pub fn torch_build(self, version: &str, variant: &str, arch: &str) -> Option<&'static TorchBuildRow> {
        let mut rows = self.torch_builds().iter();
        rows.find(|row| row.version == version && row.variant == variant && row.arch == arch)
    }

    /// Whether the wheel version of a torch build does not include the build.
    pub fn is_unnamed_torch_build(self, version: &str, variant: &str, arch: &str) -> bool {
        self.torch_build(version, variant, arch).is_some_and(|row| row.unnamed)
    }

    /// Returns the build of another framework: the row of the version, otherwise of its minor version, otherwise of
    /// all versions.
    pub fn framework_build(self, distribution: &str, version: &str) -> Option<&'static FrameworkBuildRow> {
        let of = |version: &str| {
            self.framework_builds().iter().find(|row| row.distribution == distribution && row.version == version)
        };
        of(version).or_else(|| of(&minor_version(version)?)).or_else(|| of("*"))
    }

    /// Returns the GPU code of a framework's arm64 wheel: the row of the version, otherwise of its minor version.
    pub fn arm64_build(self, distribution: &str, version: &str) -> Option<&'static Arm64BuildRow> {
        let of = |version: &str| {
            self.arm64_builds().iter().find(|row| row.distribution == distribution && row.version == version)
        };
        of(version).or_else(|| of(&minor_version(version)?))
    }

    /// Returns the dependencies that a distribution with some extras installs.
    pub fn dependencies_with_extras(
        self,
        distribution: &str,
        extras: &[String],
    ) -> impl Iterator<Item = &'static BroughtRow> {
        let asked = |row: &&BroughtRow| row.extra.is_empty() || extras.iter().any(|extra| extra == row.extra);
        self.brought_of(distribution).filter(asked)
    }

    /// Returns the row which shows that no index has a CUDA build of a version for an architecture.
    pub fn platform_without_cuda(self, distribution: &str, version: &str, arch: &str) -> Option<&'static RowInfo> {
        let row = self.build_indexes().iter().find(|row| row.distribution == distribution)?;
        (arch == "arm64" && compare_natural(version, row.arm64_from?).is_lt()).then_some(&row.info)
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

    /// Returns the torch companion packages that a version of a distribution installs, if they are known.
    pub fn companion_packages_of(
        self,
        distribution: &str,
        reaches: impl Fn(CudaVersion) -> bool,
    ) -> Option<&'static [&'static str]> {
        let mut rows = self.companion_packages().iter().filter(|row| row.distribution == distribution);
        rows.find(|row| row.from.is_none_or(&reaches)).map(|row| row.brings)
    }

    /// Whether a page of wheels is known to list only those of its own project, not torch.
    pub fn is_project_page(self, address: &str) -> bool {
        let place = address.split_once("://").map_or(address, |(_, place)| place);
        let below = |page: &str| place.strip_prefix(page).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.own_pages().iter().any(|row| below(row.page))
    }

    /// Returns the row of a conda package that selects a build: without CUDA, or the CUDA version of the package.
    pub fn conda_variant(self, name: &str) -> Option<&'static CondaVariantRow> {
        self.conda_variants().iter().find(|row| row.name == name)
    }

    /// Returns the torch build of a conda channel for amd64: `pytorch`, `1.9.0`, `cu102`.
    pub fn conda_build(self, channel: &str, version: &str, variant: &str) -> Option<&'static CondaBuildRow> {
        let mut rows = self.conda_builds().iter().filter(|row| row.channel == channel && row.variant == variant);
        rows.find(|row| compare_natural(row.first, version).is_le() && compare_natural(version, row.last).is_le())
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
        let told = if row.versioned { minor() } else { row.cuda };
        told.map(|cuda| (cuda, &row.info))
    }

    /// Returns the Python version of an image, or of the package manager of its operating system.
    pub fn image_python(self, reference: &ImageReference) -> Option<&'static ImagePythonRow> {
        let repository = reference.familiar_name();
        let last = repository.rsplit('/').next().unwrap_or(&repository);
        let tag = reference.tag().unwrap_or_default();
        let begins = |version: &str| {
            tag.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        };
        let named = |row: &&ImagePythonRow| {
            let word = format!("{}{}", row.name, row.version);
            (last == row.name && begins(row.version)) || tag.split('-').any(|part| part == word)
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
    pub fn bundled_variants_of(self, distribution: &str, version: &str) -> Option<&'static BundledRow> {
        let mut rows = self.bundled_variants().iter().rev().filter(|row| row.distribution == distribution);
        rows.find(|row| compare_natural(row.from, version).is_le())
    }

    /// Whether a release of a distribution such as bitsandbytes bundles a library for a CUDA version; `None` if
    /// unknown.
    pub fn bundles_library_for_cuda(self, distribution: &str, version: &str, cuda: CudaVersion) -> Option<bool> {
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
        let told = self.frameworks().iter().find(|row| row.repositories.contains(&whole.as_str()));
        let compiled = || self.cuda_extensions().iter().find(|row| row.repository.eq_ignore_ascii_case(last));
        let companion = || self.build_indexes().iter().find(|row| row.repository == Some(whole.as_str()));
        let told = told.map(|row| row.distribution).or_else(|| companion().map(|row| row.distribution));
        let told = told.or_else(|| compiled().map(|row| row.distribution));
        let own = || {
            let name = last.replace(['_', '.'], "-");
            // What another framework is called by conda alone is no distribution of pip.
            let code = self.framework(&name).is_some_and(|row| row.component == name);
            (code || self.brought_packages().iter().any(|row| row.distribution == name && row.extra.is_empty()))
                .then_some(name)
        };
        told.map(str::to_owned).or_else(own)
    }
}
