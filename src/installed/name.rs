//! What the name of a file says of a package.

use crate::install::normalised;
use crate::installed::Gpu;
use crate::installed::Manager;
use crate::installed::Package;
use crate::installed::kind::Kind;
use crate::installed::kind::kind;
use crate::installed::kind::relative;
use crate::installed::kind::split;
use crate::installed::word;

/// The package whose record a path is, as far as the path says it; whether it counts, [`super::place`] tells.
pub fn named(path: &str) -> Option<Package> {
    let path = relative(path);
    let (folder, name) = split(path);
    match kind(path)? {
        Kind::Named if folder.ends_with("conda-meta") => conda(name),
        Kind::Metadata | Kind::Installer | Kind::Direct => wheel(split(folder).1),
        Kind::Named if name == "RECORD" => wheel(split(folder).1),
        Kind::Egg if name == "PKG-INFO" && folder.ends_with("/EGG-INFO") => egg(split(split(folder).0).1),
        Kind::Egg if name == "PKG-INFO" => egg(split(folder).1),
        Kind::Egg | Kind::EggLink | Kind::Named => egg(name),
        _ => None,
    }
}

/// `torch-2.1.0+cu121.dist-info`.
fn wheel(folder: &str) -> Option<Package> {
    let (name, version) = folder.strip_suffix(".dist-info")?.split_once('-')?;
    python(name, version)
}

/// `six-1.16.0.egg-info`, `PyYAML-6.0-py3.11-linux-x86_64.egg`, `project.egg-info`.
fn egg(name: &str) -> Option<Package> {
    let stem = name.strip_suffix(".egg-info").or_else(|| name.strip_suffix(".egg-link"));
    let stem = stem.or_else(|| name.strip_suffix(".egg"))?;
    let mut parts = stem.split('-');
    python(parts.next()?, parts.next().unwrap_or_default())
}

fn python(name: &str, version: &str) -> Option<Package> {
    let name = normalised(&word(name)?);
    let version = word(version).unwrap_or_default();
    Some(Package { manager: Manager::Python, name, version, build: None })
}

/// `pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0.json`; the last two dashes count.
fn conda(name: &str) -> Option<Package> {
    let mut parts = name.strip_suffix(".json")?.rsplitn(3, '-');
    let build = word(parts.next()?)?;
    let version = word(parts.next()?)?;
    let name = word(parts.next()?)?;
    Some(Package { manager: Manager::Conda, name, version, build: Some(build) })
}

/// What a build string of conda says that the package was built for: `py3.10_cuda12.1_cudnn8.9.2_0`,
/// `cuda120_py310h5d94b2e_301`, `cuda120py310h9360858_3`, `cpu_generic_py310_hc5c8043_0`; none where it says nothing.
pub fn built_for(build: &str) -> Option<Gpu> {
    build.split('_').find_map(|part| {
        if let Some(rest) = part.strip_prefix("cuda") {
            let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
            return release(rest.get(..end)?).map(Gpu::Cuda);
        }
        let rest = part.strip_prefix("cpu")?;
        rest.strip_prefix("py").unwrap_or(rest).chars().next().is_none_or(|c| c.is_ascii_digit()).then_some(Gpu::Cpu)
    })
}

/// `12.1` of `12.1`, `12.0` of `120`, `9.2` of `92`; `12` of `12`, which no release before 8.0 was built for.
fn release(digits: &str) -> Option<String> {
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
    fn a_build_string_tells_its_cuda() {
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
            assert_eq!(built_for(build), Some(Gpu::Cuda(expected.to_owned())), "{build}");
        }
        for build in ["cpu_generic_py310_hc5c8043_0", "py3.10_cpu_0", "cpu_py311h6d8c8f4_0", "cpupy310h1_0"] {
            assert_eq!(built_for(build), Some(Gpu::Cpu), "{build}");
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
            assert_eq!(built_for(build), None, "{build}");
        }
    }
}
