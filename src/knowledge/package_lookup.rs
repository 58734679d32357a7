//! Questions about packages of Python, conda and the system: their releases, builds and what they bring.

use crate::cuda::CudaVersion;
use crate::knowledge::ImagePythonRow;
use crate::knowledge::Knowledge;
use crate::knowledge::order::by_number;
use crate::knowledge::rows::{
    Arm64BuildRow, BroughtRow, BundledRow, CondaBuildRow, CondaVariantRow, FrameworkBuildRow, FrameworkRow,
    LibraryWheelRow, RowInfo, RuntimePackageRow, TorchArchNameRow, TorchBuildRow, TorchRow,
};
use crate::reference::ImageReference;

/// `2.3` of `2.3.0rc0`.
fn minor_of(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    let minor: String = parts.nth(1)?.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{}.{minor}", version.split('.').next()?))
}

impl Knowledge {
    /// A torch release, without local version.
    pub fn torch(self, version: &str) -> Option<&'static TorchRow> {
        self.torch_releases().iter().find(|row| row.version == version)
    }

    /// The torch releases that a range on an index or a channel may take.
    pub fn torch_served(self) -> impl Iterator<Item = &'static TorchRow> {
        self.torch_releases().iter().filter(|row| !row.apart)
    }

    /// What a name in a list of architectures stands for in a release of torch; in each where that is not known.
    pub fn torch_arch_name(self, name: &str, torch: Option<&str>) -> impl Iterator<Item = &'static TorchArchNameRow> {
        let holds = |row: &TorchArchNameRow, torch: &str| {
            let reached = |bound: &str| by_number(torch, bound).is_ge();
            reached(row.from) && !row.before.is_some_and(reached)
        };
        let of_name = self.torch_arch_names().iter().filter(move |row| row.name == name);
        of_name.filter(move |row| torch.is_none_or(|torch| holds(row, torch)))
    }

    /// A torch build: `2.6.0`, `cu124`, `amd64`.
    pub fn torch_build(self, version: &str, variant: &str, arch: &str) -> Option<&'static TorchBuildRow> {
        let mut rows = self.torch_builds().iter();
        rows.find(|row| row.version == version && row.variant == variant && row.arch == arch)
    }

    /// Whether the version of the wheel of a torch build does not name the build.
    pub fn is_unnamed(self, version: &str, variant: &str, arch: &str) -> bool {
        self.torch_build(version, variant, arch).is_some_and(|row| row.unnamed)
    }

    /// A build of another framework: the version's own row, else that of its minor, else that of every version.
    pub fn framework_build(self, distribution: &str, version: &str) -> Option<&'static FrameworkBuildRow> {
        let of = |version: &str| {
            self.framework_builds().iter().find(|row| row.distribution == distribution && row.version == version)
        };
        of(version).or_else(|| of(&minor_of(version)?)).or_else(|| of("*"))
    }

    /// The GPU code of a framework's wheel for arm64: the version's own row, else that of its minor.
    pub fn arm64_build(self, distribution: &str, version: &str) -> Option<&'static Arm64BuildRow> {
        let of = |version: &str| {
            self.arm64_builds().iter().find(|row| row.distribution == distribution && row.version == version)
        };
        of(version).or_else(|| of(&minor_of(version)?))
    }

    /// What a package with these extras brings along.
    pub fn brought_by(self, distribution: &str, extras: &[String]) -> impl Iterator<Item = &'static BroughtRow> {
        let asked = |row: &&BroughtRow| row.extra.is_empty() || extras.iter().any(|extra| extra == row.extra);
        self.brought_of(distribution).filter(asked)
    }

    /// The row by which no index of a distribution has a build of CUDA for a platform, of versions as old as this one.
    pub fn without_cuda_on(self, distribution: &str, version: &str, arch: &str) -> Option<&'static RowInfo> {
        let row = self.build_indexes().iter().find(|row| row.distribution == distribution)?;
        (arch == "arm64" && by_number(version, row.arm64_from?).is_lt()).then_some(&row.info)
    }

    /// Whether an index for each CUDA version, beside that of torch, decides the build of a distribution.
    pub fn has_build_index(self, distribution: &str) -> bool {
        self.build_indexes().iter().any(|row| row.distribution == distribution && row.folders.is_empty())
    }

    /// The paths of the indexes that are a distribution's own, above the folders of its builds; empty where it has none.
    pub fn own_indexes(self, distribution: &str) -> &'static [&'static str] {
        let row = self.build_indexes().iter().find(|row| row.distribution == distribution);
        row.map_or(&[], |row| row.folders)
    }

    /// Whether a distribution is built for every CUDA that the torch it asks for is built for.
    pub fn is_built_with_torch(self, distribution: &str) -> bool {
        self.build_indexes().iter().any(|row| row.distribution == distribution && row.with_torch)
    }

    /// What of the packages that go with one torch each comes along with a version of a distribution, where that is known.
    pub fn companions_of(
        self,
        distribution: &str,
        reaches: impl Fn(CudaVersion) -> bool,
    ) -> Option<&'static [&'static str]> {
        let mut rows = self.companion_packages().iter().filter(|row| row.distribution == distribution);
        rows.find(|row| row.from.is_none_or(&reaches)).map(|row| row.brings)
    }

    /// Whether a page of wheels is known to list those of its own project alone, which is not torch.
    pub fn is_own_page(self, address: &str) -> bool {
        let place = address.split_once("://").map_or(address, |(_, place)| place);
        let below = |page: &str| place.strip_prefix(page).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.own_pages().iter().any(|row| below(row.page))
    }

    /// Whether a conda package chooses a build: without CUDA, or the one that its version names.
    pub fn conda_variant(self, name: &str) -> Option<&'static CondaVariantRow> {
        self.conda_variants().iter().find(|row| row.name == name)
    }

    /// The torch build of a conda channel: `pytorch`, `1.9.0`, `cu102`; they are all for amd64.
    pub fn conda_build(self, channel: &str, version: &str, variant: &str) -> Option<&'static CondaBuildRow> {
        let mut rows = self.conda_builds().iter().filter(|row| row.channel == channel && row.variant == variant);
        rows.find(|row| by_number(row.first, version).is_le() && by_number(version, row.last).is_le())
    }

    /// The CUDA runtime of a system package, where its name tells it: `cuda-cudart-12-4`.
    pub fn runtime_package(self, name: &str) -> Option<(&'static RuntimePackageRow, Option<CudaVersion>)> {
        let version = |rest: &str| rest.strip_prefix('-')?.replace('-', ".").parse::<CudaVersion>().ok();
        self.runtime_packages().iter().find_map(|row| match name.strip_prefix(row.name)? {
            "" => Some((row, None)),
            rest if rest.starts_with("-$") => Some((row, None)),
            rest => version(rest).map(|cuda| (row, Some(cuda))),
        })
    }

    /// A distribution with a library of the CUDA toolkit, by its normalised name.
    pub fn library_wheel(self, distribution: &str) -> Option<&'static LibraryWheelRow> {
        self.library_wheels_of(distribution).next()
    }

    /// The CUDA version of a library wheel: its minor where versions tell it, else the major.
    pub fn library_wheel_cuda(self, distribution: &str, version: &str) -> Option<(CudaVersion, &'static RowInfo)> {
        let row = self.library_wheel(distribution)?;
        let minor = || {
            let (major, rest) = version.split_once('.')?;
            format!("{major}.{}", rest.split('.').next()?).parse().ok()
        };
        let told = if row.versioned { minor() } else { row.cuda };
        told.map(|cuda| (cuda, &row.info))
    }

    /// The Python that an image brings, or its distribution installs first.
    pub fn python_of_image(self, reference: &ImageReference) -> Option<&'static ImagePythonRow> {
        let repository = reference.familiar();
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

    /// The newest Python of an image that is named by its Python, where the tag names none or its major alone.
    pub fn newest_python_of(self, reference: &ImageReference) -> Option<&'static str> {
        let repository = reference.familiar();
        let last = repository.rsplit('/').next().unwrap_or(&repository);
        let word = reference.tag().unwrap_or_default().split('-').next().unwrap_or_default();
        let major = word.bytes().all(|one| one.is_ascii_digit()) && !word.is_empty();
        if !major && word.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let of_it = self.image_pythons().iter().filter(|row| row.name == last && row.version == row.python);
        let fits = |row: &&ImagePythonRow| !major || row.python.split('.').next() == Some(word);
        of_it.filter(fits).map(|row| row.python).max_by(|one, other| by_number(one, other))
    }

    /// The CUDA variants that a version of a distribution such as bitsandbytes has libraries for.
    pub fn bundled_variants_of(self, distribution: &str, version: &str) -> Option<&'static BundledRow> {
        let mut rows = self.bundled_variants().iter().rev().filter(|row| row.distribution == distribution);
        rows.find(|row| by_number(row.from, version).is_le())
    }

    /// Whether a version of such a distribution has a library that it takes for a CUDA version; none where the tables do
    /// not tell.
    pub fn has_library_for(self, distribution: &str, version: &str, cuda: CudaVersion) -> Option<bool> {
        let row = self.bundled_variants_of(distribution, version)?;
        if self.newer_framework(distribution, version) {
            return None;
        }
        let tag = |major: u32, minor: &str| format!("cu{major}{minor}");
        let own = tag(cuda.major(), &cuda.minor().to_string());
        let of_major = tag(cuda.major(), "");
        let alike = |one: &&str| row.nearest && one.len() == own.len() && one.starts_with(&of_major);
        Some(row.variants.iter().any(|one| *one == own || alike(one)))
    }

    /// A distribution with GPU code, by its normalised name.
    pub fn framework(self, distribution: &str) -> Option<&'static FrameworkRow> {
        self.frameworks_of(distribution).next()
    }

    /// The distribution that is built from a repository, `owner/name`, where it or what it brings along concerns a GPU.
    pub fn distribution_of_sources(self, repository: &str) -> Option<String> {
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
