//! Questions about shared libraries.

use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
use crate::knowledge::rows::{
    DriverSonameRow, LibraryNeedsRow, LibraryPackageRow, OsRow, ProcessorPackageRow, ToolkitLibraryRow,
};

/// How the library of the CUDA runtime begins.
const RUNTIME: &str = "libcudart.so.";

impl Knowledge {
    /// The CUDA of a runtime with this soname: the major alone where a whole major has it, else the release in the name.
    pub fn runtime_of(self, soname: &str) -> Option<CudaVersion> {
        let release = soname.strip_prefix(RUNTIME)?;
        let of_every_release = |row: &&ToolkitLibraryRow| row.from.is_none() && row.before.is_none();
        let mut rows = self.toolkit_libraries().iter().filter(of_every_release);
        match rows.find(|row| row.sonames.contains(&soname)) {
            Some(row) => row.cuda_major.to_string().parse().ok(),
            None => release.parse().ok(),
        }
    }

    /// The operating system that an image name speaks of: by a word of its tag, else by its repository.
    pub fn operating_system(self, repository: &str, tag: &str) -> Option<&'static OsRow> {
        let rows = self.operating_systems().iter();
        let by_word = |word: &str| {
            let begins = rows.clone().filter(|row| !row.name.contains('/') && word.starts_with(row.name));
            begins.max_by_key(|row| row.name.len())
        };
        tag.split(['-', '_']).rev().find_map(by_word).or_else(|| rows.clone().find(|row| row.name == repository))
    }

    /// The library of that soname that the container stack puts in.
    pub fn driver_soname(self, soname: &str) -> Option<&'static DriverSonameRow> {
        self.driver_sonames().iter().find(|row| row.soname == soname)
    }

    /// The libraries of one version of a package.
    pub fn package_libraries(self, name: &str, version: Option<CudaVersion>) -> Option<&'static LibraryPackageRow> {
        let mut rows = self.library_packages().iter();
        rows.find(|row| row.name == name && within(version, row.from, row.before))
    }

    /// The parts that a library opens while it runs.
    pub fn parts_of(self, soname: &str) -> &'static [&'static str] {
        self.library_parts().iter().find(|row| row.soname == soname).map_or(&[], |row| row.parts)
    }

    /// The library that a part comes with; itself where it is none.
    pub fn whole_of(self, soname: &str) -> &str {
        self.library_parts().iter().find(|row| row.parts.contains(&soname)).map_or(soname, |row| row.soname)
    }

    /// Whether a package may bring CUDA libraries, whichever.
    pub fn carries_libraries(self, name: &str) -> bool {
        self.library_carriers().iter().any(|row| name.contains(row.word))
    }

    /// Whether a package of a name, with what it depends on, is known to have no library of this soname.
    pub fn is_without(self, name: &str, soname: &str) -> bool {
        let mut rows = self.library_carriers().iter().filter(|row| row.word == name);
        rows.any(|row| row.without.iter().any(|stem| soname.starts_with(stem)))
    }

    /// Whether a package of a name brings nothing but itself.
    pub fn is_told_whole(self, name: &str) -> bool {
        self.library_carriers().iter().any(|row| row.word == name && !row.without.is_empty())
    }

    /// Whether a distribution is known to bring no CUDA library, with all that comes along; `reaches`: whether it is of a
    /// version or a later one.
    pub fn is_library_free(self, distribution: &str, reaches: impl Fn(CudaVersion) -> bool) -> bool {
        self.library_free_of(distribution).any(|row| row.from.is_none_or(&reaches))
    }

    /// Whether what an extra of a distribution brings is known to bring no CUDA library.
    pub fn is_free_extra(self, distribution: &str, extra: &str) -> bool {
        self.library_free_of(distribution).any(|row| row.extras.contains(&extra))
    }

    /// Whether a distribution was asked for without the extra with which alone its libraries come along.
    pub fn lacks_extra(self, distribution: &str, extras: &[String]) -> bool {
        let mut rows = self.library_needs().iter().filter(|row| row.distribution == distribution);
        rows.any(|row| row.with.is_some_and(|with| !extras.iter().any(|extra| extra == with)))
    }

    /// The row of a distribution for processors alone.
    pub fn processor_package(self, distribution: &str) -> Option<&'static ProcessorPackageRow> {
        self.processor_packages().iter().find(|row| row.distribution == distribution)
    }

    /// What a version of a distribution asks for.
    pub fn needs_of(self, distribution: &str, version: CudaVersion) -> Option<&'static LibraryNeedsRow> {
        let mut rows = self.library_needs().iter();
        rows.find(|row| row.distribution == distribution && within(Some(version), Some(row.from), row.before))
    }

    /// The version in the name of libcuda on a Tegra module, where it is not that of the driver.
    pub fn module_libcuda(self, capability: ComputeCapability) -> Option<DriverVersion> {
        self.tegra_capabilities().iter().find(|row| row.capability == capability)?.libcuda
    }

    /// The compat directory of its own that a Tegra module has.
    pub fn compat_root(self, capability: ComputeCapability) -> Option<&'static str> {
        self.tegra_capabilities().iter().find(|row| row.capability == capability)?.compat_root
    }

    /// The entrypoint among these words that tries the compat library, with the family whose it is.
    pub fn compat_probe(self, words: &[String]) -> Option<(&String, &'static RowInfo)> {
        let mut rows = self.base_families().iter();
        rows.find_map(|row| {
            let word = words.iter().find(|word| row.compat_probe == Some(word.as_str()))?;
            Some((word, &row.info))
        })
    }
}

/// Whether a version lies in a range; one that is not known lies only in a range without bounds.
fn within(version: Option<CudaVersion>, from: Option<CudaVersion>, before: Option<CudaVersion>) -> bool {
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
        let told = |soname: &str| KNOWLEDGE.runtime_of(soname).map(|version| version.to_string());
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
            let row = KNOWLEDGE.needs_of("onnxruntime-gpu", version(text).expect("a version"));
            row.map(|row| row.needs.contains(&"libcublasLt.so.12"))
        };
        assert_eq!(needs("1.18.0"), Some(false));
        assert_eq!(needs("1.19.0"), Some(true));
        assert_eq!(needs("0.1"), None);
    }
}
