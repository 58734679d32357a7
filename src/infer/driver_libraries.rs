//! Driver libraries in the image that should not be there.

use crate::cuda::DriverVersion;
use crate::cuda::split_path;
use crate::fact::Compat;
use crate::fact::CompatLibrary;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::DriverLibrary;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::FileKind;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::driver::is_compat;
use crate::infer::driver::library_version;
use crate::infer::places::Tree;
use crate::infer::stubs;
use crate::knowledge::Knowledge;

/// Driver libraries outside the compat directory.
pub(super) fn libraries(
    facts: &mut Facts,
    seen: &Observations,
    tree: &Tree<'_>,
    build: &BaseBuild,
    compat: &Fact<Compat>,
    arch: &str,
    knowledge: Knowledge,
) -> Fact<Vec<DriverLibrary>> {
    let mut found = Vec::new();
    let mut from = Vec::new();
    for (path, file) in &seen.files {
        let name = split_path(path).1;
        let driver = name.starts_with("libcuda.so") || name.starts_with("libnvidia-ml.so");
        let directories = tree.directories(path);
        if !driver || beside_compat(path, &directories, compat) || matches!(file.kind, FileKind::Noted(_)) {
            continue;
        }
        let target = match &file.kind {
            FileKind::Link(target) => Some(target.as_str()),
            _ => None,
        };
        let stub = |path: &str| path.contains("/stubs/") || path.starts_with("stubs/");
        let stub = stub(path) || target.is_some_and(stub) || tree.resolve(path).is_some_and(|path| stub(&path));
        let version = library_version(target.and_then(|target| target.rsplit('/').next()).unwrap_or(name));
        let libcuda = name.starts_with("libcuda.so");
        found.push(DriverLibrary {
            path: path.clone(),
            directories,
            version: version.or_else(|| library_version(name)),
            libcuda,
            stub,
            link: target.is_some(),
        });
        from.push(file.fact);
    }
    let mut row = None;
    // Where every file was read, a package is no more than its files.
    let by_files = seen.depth == Depth::Layers && seen.complete.files;
    let of_system = |package: &&PackageSeen| package.manager == Manager::Apt && !by_files;
    for package in seen.packages.iter().filter(of_system) {
        if let Some(known) = knowledge.driver_package(&package.name) {
            row = Some(&known.info);
            from.push(package.fact);
            let version = package_driver(package).filter(|_| !known.toolkit);
            let path = package.name.clone();
            found.push(DriverLibrary {
                path,
                directories: Vec::new(),
                version,
                libcuda: known.libcuda,
                stub: false,
                // Every package of the driver brings, by itself or by what it depends on, libcuda or libnvidia-ml
                // under a version and a link to it; that of the graphics libraries alone does not.
                link: !known.graphics,
            });
        }
    }
    if let Some((stub, told, info)) = stubs::of_base(seen, build, arch, knowledge) {
        row = row.or(Some(info));
        from.extend(told);
        found.push(stub);
    }
    let from = if found.is_empty() { build.fact.into_iter().collect() } else { from };
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row };
    // Links that a command makes do not tell what the base had.
    let known = found.iter().any(|library: &DriverLibrary| library.version.is_some() || library.directories.is_empty());
    let base_open = build.family == Family::Unknown && seen.depth == Depth::Text;
    let state = if !found.is_empty() && (known || !base_open) {
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

/// Whether a file belongs to a compat directory: by its path, or because a compat library lies beside it.
fn beside_compat(path: &str, directories: &[String], compat: &Fact<Compat>) -> bool {
    let version = library_version(split_path(path).1);
    let beside = |library: &CompatLibrary| {
        let itself = version == Some(library.version);
        (itself || (library.root.is_some() && library.regular)) && library.directories.first() == directories.first()
    };
    is_compat(path) || compat.known().is_some_and(|compat| compat.libraries.iter().any(beside))
}

/// The driver version of a package such as `libnvidia-compute-535` at `535.183.01-0ubuntu1`; its branch alone where
/// nothing but the name tells it.
fn package_driver(package: &PackageSeen) -> Option<DriverVersion> {
    let exact = match &package.version {
        PackageVersion::Exact(text) => text.split('-').next().and_then(|text| text.parse().ok()),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    };
    exact.or_else(|| package_branch(&package.name))
}

/// The driver branch in the name of a package: 535 of `libnvidia-compute-535-server`.
fn package_branch(name: &str) -> Option<DriverVersion> {
    let is_branch = |part: &&str| part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split('-').find(is_branch)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_package_tells_its_branch() {
        for (name, expected) in [
            ("libnvidia-compute-535", Some("535")),
            ("libnvidia-compute-470-server", Some("470")),
            ("cuda-drivers-550", Some("550")),
            ("libcuda1-384", Some("384")),
            ("cuda-drivers", None),
            ("libcuda1", None),
            ("cuda-drivers-fabricmanager", None),
            ("libnvidia-compute-5350", None),
        ] {
            assert_eq!(package_branch(name).map(|version| version.to_string()).as_deref(), expected, "{name}");
        }
    }
}
