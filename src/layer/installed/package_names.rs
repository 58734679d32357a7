//! Reads the name and version of a package from a file name.

use crate::layer::installed::file_kind::{InstalledFileKind, classify_file, relative_path, split_directory};
use crate::layer::installed::{GpuBackend, clean_value};
use crate::model::package::{Distribution, PackageManager};

/// Returns the package whose metadata is at a path, as far as the path states it, wherever that is.
pub fn package_from_path(path: &str) -> Option<Distribution> {
    let path = relative_path(path);
    let (folder, name) = split_directory(path);
    match classify_file(path)? {
        InstalledFileKind::Named if folder.ends_with("conda-meta") => package_from_conda_meta(name),
        InstalledFileKind::Metadata | InstalledFileKind::Installer | InstalledFileKind::Direct => {
            package_from_dist_info(split_directory(folder).1)
        }
        InstalledFileKind::Named if name == "RECORD" => package_from_dist_info(split_directory(folder).1),
        InstalledFileKind::Egg if name == "PKG-INFO" && folder.ends_with("/EGG-INFO") => {
            package_from_egg(split_directory(split_directory(folder).0).1)
        }
        InstalledFileKind::Egg if name == "PKG-INFO" => package_from_egg(split_directory(folder).1),
        InstalledFileKind::Egg | InstalledFileKind::EggLink | InstalledFileKind::Named => package_from_egg(name),
        _ => None,
    }
}

/// Parses `torch-2.1.0+cu121.dist-info`.
fn package_from_dist_info(folder: &str) -> Option<Distribution> {
    let (name, version) = folder.strip_suffix(".dist-info")?.split_once('-')?;
    python_package(name, version)
}

/// Parses `six-1.16.0.egg-info`, `PyYAML-6.0-py3.11-linux-x86_64.egg`, `project.egg-info`.
fn package_from_egg(name: &str) -> Option<Distribution> {
    let stem = name.strip_suffix(".egg-info").or_else(|| name.strip_suffix(".egg-link"));
    let stem = stem.or_else(|| name.strip_suffix(".egg"))?;
    let mut parts = stem.split('-');
    python_package(parts.next()?, parts.next().unwrap_or_default())
}

/// Returns a Python distribution.
fn python_package(name: &str, version: &str) -> Option<Distribution> {
    let version = clean_value(version).unwrap_or_default();
    Some(Distribution::new(PackageManager::Pip, &clean_value(name)?, &version))
}

/// Parses `pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0.json`; the last two dashes separate the parts.
fn package_from_conda_meta(name: &str) -> Option<Distribution> {
    let mut parts = name.strip_suffix(".json")?.rsplitn(3, '-');
    let build = clean_value(parts.next()?)?;
    let version = clean_value(parts.next()?)?;
    let name = clean_value(parts.next()?)?;
    Some(Distribution { build: Some(build), ..Distribution::new(PackageManager::Conda, &name, &version) })
}

/// Returns the GPU platform in a conda build string such as `py3.10_cuda12.1_cudnn8.9.2_0` or
/// `cpu_generic_py310_hc5c8043_0`, if it states one.
pub fn gpu_backend_of_conda_build(build: &str) -> Option<GpuBackend> {
    build.split('_').find_map(|part| {
        if let Some(rest) = part.strip_prefix("cuda") {
            let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
            return cuda_release_from_digits(rest.get(..end)?).map(GpuBackend::Cuda);
        }
        let rest = part.strip_prefix("cpu")?;
        rest.strip_prefix("py")
            .unwrap_or(rest)
            .chars()
            .next()
            .is_none_or(|c| c.is_ascii_digit())
            .then_some(GpuBackend::Cpu)
    })
}

/// Returns `12.1` for `12.1`, `12.0` for `120`, `9.2` for `92`, and `12` for `12`, as no release before 8.0 occurs.
fn cuda_release_from_digits(digits: &str) -> Option<String> {
    let number: u32 = match digits.split_once('.') {
        Some((major, minor)) if !major.is_empty() && minor.bytes().next().is_some() => return Some(digits.to_owned()),
        Some(_) => return None,
        None => digits.parse().ok()?,
    };
    match number {
        80..=999 => Some(format!("{}.{}", number / 10, number % 10)),
        8..80 => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conda_build_string_states_its_cuda() {
        for (build, expected) in [
            ("py3.10_cuda12.1_cudnn8.9.2_0", "12.1"),
            ("cuda120_py310h5d94b2e_301", "12.0"),
            ("cuda120py310h9360858_3", "12.0"),
            ("cuda126_generic_py310_h478e78a_207", "12.6"),
            ("gpu_cuda118py310hf95f2a5_100", "11.8"),
            ("py3.7_cuda9.2.148_cudnn7.6.3_0", "9.2.148"),
            ("cuda92py37h3d3c1b4_0", "9.2"),
            ("cuda100py36h0a9a2b5_0", "10.0"),
            ("cuda12_0", "12"),
        ] {
            assert_eq!(gpu_backend_of_conda_build(build), Some(GpuBackend::Cuda(expected.to_owned())), "{build}");
        }
        for build in ["cpu_generic_py310_hc5c8043_0", "py3.10_cpu_0", "cpu_py311h6d8c8f4_0", "cpupy310h1_0"] {
            assert_eq!(gpu_backend_of_conda_build(build), Some(GpuBackend::Cpu), "{build}");
        }
        for build in [
            "",
            "h5888daf_0",
            "py310h478e78a_207",
            "mkl_py39h1_0",
            "cuda_py310_0",
            "cuda1_0",
            "cuda12._0",
            "cuda99999999999_0",
            "pycuda120_0",
            "cpuinfo_0",
            "cudatoolkit_0",
        ] {
            assert_eq!(gpu_backend_of_conda_build(build), None, "{build}");
        }
    }
}
