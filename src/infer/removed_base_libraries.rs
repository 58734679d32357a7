//! Libraries of a CUDA base image that commands remove, with their packages or with toolkit directories.

use globset::Glob;

use crate::cuda::{CudaVersion, TOOLKIT_ROOT};
use crate::infer::unpackaged_libraries::library_stem;
use crate::knowledge::Knowledge;
use crate::model::fact::Observations;
use crate::model::package::PackageManager;

/// Prefixes of package names before the name of a library.
const PACKAGE_PREFIXES: &[&str] = &["lib", "cuda-"];
/// The name prefix of packages that install libraries into the system's directories.
const SYSTEM_LIBRARY_PREFIX: &str = "lib";
/// Directories of a toolkit that contain libraries, relative to its root.
const TOOLKIT_LIBRARY_DIRECTORIES: &[&str] = &["lib", "lib64", "targets", "targets/x86_64-linux", "targets/sbsa-linux"];

/// Whether a library of the base image was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LibraryRemoval {
    /// No removal affects it.
    Untouched,
    /// A link on its path was removed, or something that may be the library.
    Possible,
    /// It was removed.
    Removed,
}

/// Returns whether commands remove a library of a base image with a CUDA release.
pub(super) fn library_removal(
    seen: &Observations,
    soname: &str,
    cuda: CudaVersion,
    knowledge: Knowledge,
) -> LibraryRemoval {
    let mut removed = seen.removed_packages.iter().filter(|package| package.manager == PackageManager::System);
    if removed.any(|package| package_contains_library(&package.name, soname, cuda, knowledge)) {
        return LibraryRemoval::Removed;
    }
    // Libraries with packages of their own are installed next to those of the system.
    let mut rows = knowledge.library_packages().iter();
    if rows.any(|row| row.name.starts_with(SYSTEM_LIBRARY_PREFIX) && row.sonames.contains(&soname)) {
        return LibraryRemoval::Untouched;
    }
    let mut left = LibraryRemoval::Untouched;
    for (path, _) in &seen.base_changes.removed {
        match removal_by_path(path.trim_end_matches('/'), soname, cuda) {
            LibraryRemoval::Removed => return LibraryRemoval::Removed,
            LibraryRemoval::Possible => left = LibraryRemoval::Possible,
            LibraryRemoval::Untouched => {}
        }
    }
    left
}

/// Whether a Debian or RPM package contains a library: `libcudnn8`, `libcublas-11-8`, `cuda-cudart-11-8`.
fn package_contains_library(name: &str, soname: &str, cuda: CudaVersion, knowledge: Knowledge) -> bool {
    let mut rows = knowledge.library_packages().iter().filter(|row| row.name == name);
    if rows.any(|row| row.sonames.contains(&soname)) {
        return true;
    }
    PACKAGE_PREFIXES.iter().any(|front| {
        let Some(rest) = name.strip_prefix(front).and_then(|rest| rest.strip_prefix(library_stem(soname))) else {
            return false;
        };
        rest == "*" || rest == format!("-{}-{}", cuda.major(), cuda.minor())
    })
}

/// Returns whether removing a path removes a library of the toolkit.
fn removal_by_path(path: &str, soname: &str, cuda: CudaVersion) -> LibraryRemoval {
    let Some(rest) = path.strip_prefix(TOOLKIT_ROOT) else { return LibraryRemoval::Untouched };
    let (version, inside) = rest.split_once('/').unwrap_or((rest, ""));
    let own = format!("-{}.{}", cuda.major(), cuda.minor());
    let link = version.is_empty() || version == format!("-{}", cuda.major());
    let real =
        version == own || version.split_once('*').is_some_and(|(head, tail)| own.starts_with(head) && tail.is_empty());
    if !link && !real {
        return LibraryRemoval::Untouched;
    }
    if inside.is_empty() {
        // Another link may still lead there.
        return if real { LibraryRemoval::Removed } else { LibraryRemoval::Possible };
    }
    let (folder, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let holds = |folder: &str| {
        TOOLKIT_LIBRARY_DIRECTORIES.contains(&folder)
            || folder.strip_suffix("/lib").is_some_and(|parent| TOOLKIT_LIBRARY_DIRECTORIES.contains(&parent))
    };
    match (holds(inside), holds(folder)) {
        (true, _) => LibraryRemoval::Removed,
        (false, true) if pattern_matches_file(name, soname) => LibraryRemoval::Removed,
        // The file that the name of the library leads to has a version that is not known.
        (false, true) if pattern_matches_file(name, &format!("{soname}.0")) => LibraryRemoval::Possible,
        _ => LibraryRemoval::Untouched,
    }
}

/// Whether a file name or pattern in a command matches a file.
fn pattern_matches_file(name: &str, file: &str) -> bool {
    name == file || Glob::new(name).is_ok_and(|glob| glob.compile_matcher().is_match(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the CUDA release of the tests.
    fn cuda_11_8() -> CudaVersion {
        "11.8".parse().expect("a release")
    }

    #[test]
    fn removing_a_toolkit_path_removes_its_libraries() {
        for (path, expected) in [
            ("/usr/local/cuda*", LibraryRemoval::Removed),
            ("/usr/local/cuda-*", LibraryRemoval::Removed),
            ("/usr/local/cuda-11*", LibraryRemoval::Removed),
            ("/usr/local/cuda-11.8", LibraryRemoval::Removed),
            ("/usr/local/cuda/lib64", LibraryRemoval::Removed),
            ("/usr/local/cuda/lib64/*", LibraryRemoval::Removed),
            ("/usr/local/cuda-11.8/targets/x86_64-linux/lib", LibraryRemoval::Removed),
            ("/usr/local/cuda/lib64/libcublas*", LibraryRemoval::Removed),
            ("/usr/local/cuda", LibraryRemoval::Possible),
            ("/usr/local/cuda-11", LibraryRemoval::Possible),
            ("/usr/local/cuda-12.1", LibraryRemoval::Untouched),
            ("/usr/local/cuda-12*", LibraryRemoval::Untouched),
            ("/usr/local/cuda/compat", LibraryRemoval::Untouched),
            ("/usr/local/cuda*/compat", LibraryRemoval::Untouched),
            ("/usr/local/cuda/doc", LibraryRemoval::Untouched),
            ("/usr/local/cuda/lib64/stubs", LibraryRemoval::Untouched),
            ("/usr/local/cuda/lib64/*.a", LibraryRemoval::Untouched),
            ("/usr/local/cuda/lib64/libcufft*", LibraryRemoval::Untouched),
            ("/usr/local/cuda/lib64/*_static*", LibraryRemoval::Untouched),
            ("/usr/local/cuda/lib64/lib*_static.a", LibraryRemoval::Untouched),
            ("/usr/local/cuda/lib64/lib*.so*", LibraryRemoval::Removed),
            ("/usr/local/cuda/lib64/libcublas.so.11", LibraryRemoval::Removed),
            ("/usr/local/cuda/lib64/libcublas.so.11.*", LibraryRemoval::Possible),
            ("/usr/local/cuda/lib64/libcublas.so", LibraryRemoval::Untouched),
            ("/usr/local/cuda/lib64/libcublas[", LibraryRemoval::Untouched),
            ("/usr/local/cudalike", LibraryRemoval::Untouched),
            ("/etc/ld.so.conf.d/x.conf", LibraryRemoval::Untouched),
        ] {
            assert_eq!(removal_by_path(path, "libcublas.so.11", cuda_11_8()), expected, "{path}");
        }
    }

    #[test]
    fn the_package_name_identifies_the_library() {
        for (name, soname, expected) in [
            ("libcudnn8", "libcudnn.so.8", true),
            ("libcublas-11-8", "libcublas.so.11", true),
            ("libcublas-11-8", "libcublasLt.so.11", true),
            ("libcublas*", "libcublas.so.11", true),
            ("cuda-cudart-11-8", "libcudart.so.11.0", true),
            ("libcufft-11-8", "libcufft.so.10", true),
            ("libcudnn8", "libcublas.so.11", false),
            ("libcudnn9-cuda-12", "libcudnn.so.8", false),
            ("libcudnn8-dev", "libcudnn.so.8", false),
            ("libcublas-dev-11-8", "libcublas.so.11", false),
            ("libcublas-12-1", "libcublas.so.11", false),
            ("cuda-compat-11-8", "libcublas.so.11", false),
            ("curl", "libcublas.so.11", false),
        ] {
            assert_eq!(
                package_contains_library(name, soname, cuda_11_8(), Knowledge::built_in()),
                expected,
                "{name} {soname}"
            );
        }
    }
}
