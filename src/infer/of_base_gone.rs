//! Libraries of a CUDA base that commands take away again: with their packages, or with the folder of the toolkit.

use globset::Glob;

use crate::cuda::CudaVersion;
use crate::cuda::TOOLKIT_ROOT;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::infer::loose::word;
use crate::knowledge::Knowledge;

/// What stands in front of the name of a library in the names of packages.
const FRONTS: &[&str] = &["lib", "cuda-"];
/// How the names of packages begin that put libraries beside those of the system.
const BESIDE: &str = "lib";
/// Folders of a toolkit that hold libraries, as their paths end.
const FOLDERS: &[&str] = &["lib", "lib64", "targets", "targets/x86_64-linux", "targets/sbsa-linux"];

/// What is left of a library of the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing that concerns it is taken away.
    All,
    /// A link on the way to it is, or something that may be it.
    Perhaps,
    /// It is taken away.
    Nothing,
}

/// What commands leave of a library that a base of some CUDA release has.
pub(super) fn left(seen: &Observations, soname: &str, cuda: CudaVersion, knowledge: Knowledge) -> Left {
    let mut gone = seen.gone.iter().filter(|gone| gone.manager == Manager::Apt);
    if gone.any(|gone| is_package_of(&gone.name, soname, cuda, knowledge)) {
        return Left::Nothing;
    }
    // Libraries that packages of their own bring lie beside those of the system.
    let mut rows = knowledge.library_packages().iter();
    if rows.any(|row| row.name.starts_with(BESIDE) && row.sonames.contains(&soname)) {
        return Left::All;
    }
    let mut left = Left::All;
    for (path, _) in &seen.of_base.removed {
        match of_path(path.trim_end_matches('/'), soname, cuda) {
            Left::Nothing => return Left::Nothing,
            Left::Perhaps => left = Left::Perhaps,
            Left::All => {}
        }
    }
    left
}

/// Whether a package of a Debian or RPM repository has a library: `libcudnn8`, `libcublas-11-8`, `cuda-cudart-11-8`.
fn is_package_of(name: &str, soname: &str, cuda: CudaVersion, knowledge: Knowledge) -> bool {
    let mut rows = knowledge.library_packages().iter().filter(|row| row.name == name);
    if rows.any(|row| row.sonames.contains(&soname)) {
        return true;
    }
    FRONTS.iter().any(|front| {
        let Some(rest) = name.strip_prefix(front).and_then(|rest| rest.strip_prefix(word(soname))) else {
            return false;
        };
        rest == "*" || rest == format!("-{}-{}", cuda.major(), cuda.minor())
    })
}

/// What removing a path leaves of a library of the toolkit.
fn of_path(path: &str, soname: &str, cuda: CudaVersion) -> Left {
    let Some(rest) = path.strip_prefix(TOOLKIT_ROOT) else { return Left::All };
    let (version, inside) = rest.split_once('/').unwrap_or((rest, ""));
    let own = format!("-{}.{}", cuda.major(), cuda.minor());
    let link = version.is_empty() || version == format!("-{}", cuda.major());
    let real =
        version == own || version.split_once('*').is_some_and(|(head, tail)| own.starts_with(head) && tail.is_empty());
    if !link && !real {
        return Left::All;
    }
    if inside.is_empty() {
        // Another link may still lead there.
        return if real { Left::Nothing } else { Left::Perhaps };
    }
    let (folder, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let holds = |folder: &str| {
        FOLDERS.contains(&folder) || folder.strip_suffix("/lib").is_some_and(|parent| FOLDERS.contains(&parent))
    };
    match (holds(inside), holds(folder)) {
        (true, _) => Left::Nothing,
        (false, true) if means(name, soname) => Left::Nothing,
        // The file that the name of the library leads to has a version that is not known.
        (false, true) if means(name, &format!("{soname}.0")) => Left::Perhaps,
        _ => Left::All,
    }
}

/// Whether a name in a command is that of a file, or a pattern that means it.
fn means(name: &str, file: &str) -> bool {
    name == file || Glob::new(name).is_ok_and(|glob| glob.compile_matcher().is_match(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuda() -> CudaVersion {
        "11.8".parse().expect("a release")
    }

    #[test]
    fn a_path_of_the_toolkit_takes_its_libraries_along() {
        for (path, expected) in [
            ("/usr/local/cuda*", Left::Nothing),
            ("/usr/local/cuda-*", Left::Nothing),
            ("/usr/local/cuda-11*", Left::Nothing),
            ("/usr/local/cuda-11.8", Left::Nothing),
            ("/usr/local/cuda/lib64", Left::Nothing),
            ("/usr/local/cuda/lib64/*", Left::Nothing),
            ("/usr/local/cuda-11.8/targets/x86_64-linux/lib", Left::Nothing),
            ("/usr/local/cuda/lib64/libcublas*", Left::Nothing),
            ("/usr/local/cuda", Left::Perhaps),
            ("/usr/local/cuda-11", Left::Perhaps),
            ("/usr/local/cuda-12.1", Left::All),
            ("/usr/local/cuda-12*", Left::All),
            ("/usr/local/cuda/compat", Left::All),
            ("/usr/local/cuda*/compat", Left::All),
            ("/usr/local/cuda/doc", Left::All),
            ("/usr/local/cuda/lib64/stubs", Left::All),
            ("/usr/local/cuda/lib64/*.a", Left::All),
            ("/usr/local/cuda/lib64/libcufft*", Left::All),
            ("/usr/local/cuda/lib64/*_static*", Left::All),
            ("/usr/local/cuda/lib64/lib*_static.a", Left::All),
            ("/usr/local/cuda/lib64/lib*.so*", Left::Nothing),
            ("/usr/local/cuda/lib64/libcublas.so.11", Left::Nothing),
            ("/usr/local/cuda/lib64/libcublas.so.11.*", Left::Perhaps),
            ("/usr/local/cuda/lib64/libcublas.so", Left::All),
            ("/usr/local/cuda/lib64/libcublas[", Left::All),
            ("/usr/local/cudalike", Left::All),
            ("/etc/ld.so.conf.d/x.conf", Left::All),
        ] {
            assert_eq!(of_path(path, "libcublas.so.11", cuda()), expected, "{path}");
        }
    }

    #[test]
    fn a_package_is_that_of_a_library_by_its_name() {
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
            assert_eq!(is_package_of(name, soname, cuda(), Knowledge::built_in()), expected, "{name} {soname}");
        }
    }
}
