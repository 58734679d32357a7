//! Driver libraries in the image: those meant for forward compatibility, and those that should not be there.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::Compat;
use crate::fact::CompatLibrary;
use crate::fact::Derivation;
use crate::fact::DriverLibrary;
use crate::fact::EnvFacts;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::FileKind;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::unknown;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// The directory that the container toolkit looks into, and no other.
const COMPAT_ROOT: &str = "/usr/local/cuda/compat/";
/// The link that leads there.
const CUDA_LINK: &str = "/usr/local/cuda";

/// What lies in the compat directory.
pub(super) fn compat(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    env: &EnvFacts,
    knowledge: Knowledge,
) -> Fact<Compat> {
    if let Some(fact) = compat_from_files(facts, seen, knowledge) {
        return fact;
    }
    if let Some((package, cuda)) = seen.packages.iter().find_map(|package| Some((package, compat_cuda(&package.name)?)))
    {
        let version = match &package.version {
            PackageVersion::Exact(text) => text.split('-').next().and_then(|text| text.parse().ok()),
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
        };
        return compat_from_package(facts, cuda, version, vec![package.fact], knowledge);
    }
    let package = env.get("NV_CUDA_COMPAT_PACKAGE");
    if let Some(cuda) = package.known().and_then(|name| compat_cuda(name)) {
        return compat_from_package(facts, cuda, None, vec![package.id], knowledge);
    }
    let from: Vec<FactId> = build.fact.into_iter().collect();
    match build.compat {
        Some((true, _)) if let Some((cuda, _)) = build.cuda => compat_from_package(facts, cuda, None, from, knowledge),
        Some((false, row)) => {
            let searched = "the packages of the base image";
            let evidence = Evidence::Derived { by: Derivation::Row, from, row: Some(row) };
            facts.add_typed(FactKey::Compat, None, State::Absent { searched }, evidence)
        }
        _ if build.family == Family::Plain => {
            let searched = "the base image's family and every installed package";
            let evidence = Evidence::Derived { by: Derivation::Row, from, row: build.family_row };
            facts.add_typed(FactKey::Compat, None, State::Absent { searched }, evidence)
        }
        _ => {
            let evidence = Evidence::Derived { by: Derivation::Inheritance, from, row: None };
            unknown(facts, FactKey::Compat, None, build.unseen("the content of /usr/local/cuda/compat"), evidence)
        }
    }
}

fn compat_from_files(facts: &mut Facts, seen: &Observations, knowledge: Knowledge) -> Option<Fact<Compat>> {
    let link = seen.files.get(CUDA_LINK).and_then(|file| match &file.kind {
        FileKind::Link(target) => Some(target.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()),
        _ => None,
    });
    let mut libraries = Vec::new();
    let mut from = Vec::new();
    let mut cuda = None;
    let mut ptx_compiler = false;
    for (path, file) in &seen.files {
        let Some((root, name)) = compat_member(path) else { continue };
        // Behind another toolkit's directory than the link names, the container toolkit does not look.
        if path.strip_prefix(COMPAT_ROOT).is_none() && link.as_deref().is_some_and(|link| link != root) {
            continue;
        }
        ptx_compiler |= name.starts_with("libnvidia-ptxjitcompiler.so");
        if let Some(version) = library_version(name) {
            let note = match &file.kind {
                FileKind::Noted(note) => Some(note.clone()),
                FileKind::Present => None,
                // A link is no library of its own.
                FileKind::Link(_) | FileKind::Text(_) => continue,
            };
            cuda =
                note.as_ref().and_then(|note| note.cuda).or_else(|| root.strip_prefix("cuda-")?.parse().ok()).or(cuda);
            libraries.push(CompatLibrary { version, note });
            from.push(file.fact);
        }
    }
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    if libraries.is_empty() {
        return seen.complete.files.then(|| {
            facts.add_typed(FactKey::Compat, None, State::Absent { searched: "every file of the image" }, evidence)
        });
    }
    let by_branch = |library: &CompatLibrary| knowledge.branch(library.version.branch()).map(|row| row.cuda);
    let cuda = cuda.or_else(|| libraries.last().and_then(by_branch));
    let ptx_compiler = (ptx_compiler || seen.complete.files).then_some(ptx_compiler);
    Some(facts.add_typed(FactKey::Compat, None, State::Known(Compat { libraries, cuda, ptx_compiler }), evidence))
}

/// Toolkit directory and file name of a path in a compat directory: `cuda-12.9`, `libcuda.so.1`.
fn compat_member(path: &str) -> Option<(&str, &str)> {
    let (root, name) = path.strip_prefix("/usr/local/")?.split_once("/compat/")?;
    (root.starts_with("cuda") && !root.contains('/') && !name.contains('/')).then_some((root, name))
}

/// The driver version in `libcuda.so.575.57.08`; none for the soname link `libcuda.so.1`.
fn library_version(name: &str) -> Option<DriverVersion> {
    let version: DriverVersion = name.strip_prefix("libcuda.so.")?.parse().ok()?;
    (version.0.len() > 1).then_some(version)
}

/// CUDA of `cuda-compat-12-4`.
fn compat_cuda(package: &str) -> Option<CudaVersion> {
    let package = package.split('=').next().unwrap_or(package);
    package.strip_prefix("cuda-compat-")?.replace('-', ".").parse().ok()
}

fn compat_from_package(
    facts: &mut Facts,
    cuda: CudaVersion,
    version: Option<DriverVersion>,
    from: Vec<FactId>,
    knowledge: Knowledge,
) -> Fact<Compat> {
    let row = knowledge.compat_package(cuda);
    let info: Option<&'static RowInfo> = row.map(|row| &row.info);
    let evidence = Evidence::Derived { by: Derivation::Row, from, row: info };
    let Some(version) = version.or_else(|| row.and_then(|row| row.versions.last().copied())) else {
        let why = Why {
            reason: format!("the driver version inside the compat package of CUDA {cuda} is not in the tables"),
            supply: "run `imagelint scan` on the built image".to_owned(),
        };
        return unknown(facts, FactKey::Compat, None, why, evidence);
    };
    let libraries = vec![CompatLibrary { version, note: None }];
    let compat = Compat { libraries, cuda: Some(cuda), ptx_compiler: Some(true) };
    facts.add_typed(FactKey::Compat, None, State::Known(compat), evidence)
}

/// Driver libraries outside the compat directory.
pub(super) fn libraries(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> Fact<Vec<DriverLibrary>> {
    let mut found = Vec::new();
    let mut from = Vec::new();
    for (path, file) in &seen.files {
        let name = path.rsplit('/').next().unwrap_or(path);
        let driver = name.starts_with("libcuda.so") || name.starts_with("libnvidia-ml.so");
        if !driver || compat_member(path).is_some() || path.contains("/compat/") {
            continue;
        }
        let target = match &file.kind {
            FileKind::Link(target) => Some(target.as_str()),
            _ => None,
        };
        let stub = path.contains("/stubs/") || target.is_some_and(|target| target.contains("stubs/"));
        let version = library_version(target.and_then(|target| target.rsplit('/').next()).unwrap_or(name));
        let libcuda = name.starts_with("libcuda.so");
        found.push(DriverLibrary {
            path: path.clone(),
            version: version.or_else(|| library_version(name)),
            libcuda,
            stub,
        });
        from.push(file.fact);
    }
    let mut row = None;
    for package in &seen.packages {
        if let Some(known) = knowledge.driver_package(&package.name) {
            row = Some(&known.info);
            from.push(package.fact);
            let version = package_driver(package);
            found.push(DriverLibrary { path: package.name.clone(), version, libcuda: known.libcuda, stub: false });
        }
    }
    let from = if found.is_empty() { build.fact.into_iter().collect() } else { from };
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row };
    let state = if !found.is_empty() {
        State::Known(found)
    } else if seen.complete.files {
        State::Absent { searched: "every file of the image" }
    } else if build.family == Family::Unknown {
        State::Unknown(build.unseen("whether driver libraries lie in the image"))
    } else {
        State::Absent { searched: "the base image's family and every installed package" }
    };
    facts.add_typed(FactKey::DriverLibraries, None, state, evidence)
}

/// The driver version of a package such as `libnvidia-compute-535` at `535.183.01-0ubuntu1`.
fn package_driver(package: &PackageSeen) -> Option<DriverVersion> {
    match &package.version {
        PackageVersion::Exact(text) => text.split('-').next().and_then(|text| text.parse().ok()),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_container_toolkits_directory_is_compat() {
        for (path, expected) in [
            ("/usr/local/cuda/compat/libcuda.so.1", Some(("cuda", "libcuda.so.1"))),
            ("/usr/local/cuda-12.9/compat/libcuda.so.575.57.08", Some(("cuda-12.9", "libcuda.so.575.57.08"))),
            ("/usr/local/cuda/compat/lib.real/libcuda.so.1", None),
            ("/opt/cuda/compat/libcuda.so.1", None),
        ] {
            assert_eq!(compat_member(path), expected, "{path}");
        }
    }

    #[test]
    fn a_soname_link_tells_no_driver_version() {
        assert_eq!(library_version("libcuda.so.1"), None);
        assert_eq!(library_version("libcuda.so"), None);
        assert!(library_version("libcuda.so.575.57.08").is_some());
    }
}
