//! Lookups about shared libraries.

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::rows::{
    DriverSonameRow, LibraryNeedsRow, LibraryPackageRow, OsRow, ProcessorPackageRow, ToolkitLibraryRow,
};
use crate::knowledge::{Knowledge, RowInfo};

/// Prefix of the file name of the CUDA runtime library.
const CUDART_PREFIX: &str = "libcudart.so.";

impl Knowledge {
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
        self.library_parts().iter().find(|row| row.soname == soname).map_or(&[], |row| row.parts)
    }

    /// Returns the library that opens a partial library; otherwise the library itself.
    pub fn main_library_of(self, soname: &str) -> &str {
        self.library_parts().iter().find(|row| row.parts.contains(&soname)).map_or(soname, |row| row.soname)
    }

    /// Whether a package may contain CUDA libraries, by its name.
    pub fn may_contain_libraries(self, name: &str) -> bool {
        self.library_carriers().iter().any(|row| name.contains(row.word))
    }

    /// Whether a package, including its dependencies, is known not to contain a library.
    pub fn lacks_library(self, name: &str, soname: &str) -> bool {
        let mut rows = self.library_carriers().iter().filter(|row| row.word == name);
        rows.any(|row| row.without.iter().any(|stem| soname.starts_with(stem)))
    }

    /// Whether the libraries that a package and its dependencies do not contain are in the tables.
    pub fn has_known_content(self, name: &str) -> bool {
        self.library_carriers().iter().any(|row| row.word == name && !row.without.is_empty())
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
    pub fn lacks_library_extra(self, distribution: &str, extras: &[String]) -> bool {
        let mut rows = self.library_needs().iter().filter(|row| row.distribution == distribution);
        rows.any(|row| row.with.is_some_and(|with| !extras.iter().any(|extra| extra == with)))
    }

    /// Returns the row of a CPU-only distribution.
    pub fn cpu_package(self, distribution: &str) -> Option<&'static ProcessorPackageRow> {
        self.processor_packages().iter().find(|row| row.distribution == distribution)
    }

    /// Returns the libraries that a version of a distribution needs from other packages.
    pub fn library_needs_of(self, distribution: &str, version: CudaVersion) -> Option<&'static LibraryNeedsRow> {
        let mut rows = self.library_needs().iter();
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
mod tests {
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
    fn the_name_of_the_runtime_tells_as_much_as_all_releases_with_it_have_in_common() {
        let told = |soname: &str| KNOWLEDGE.cuda_of_runtime(soname).map(|version| version.to_string());
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
            assert_eq!(told(soname).as_deref(), expected, "{soname}");
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
