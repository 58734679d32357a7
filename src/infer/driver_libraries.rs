//! Driver libraries that an image should not contain.

use crate::cause::Cause;
use crate::cuda::{DriverVersion, split_path};
use crate::fact::{
    CompatDirectory, CompatLibrary, Derivation, DriverLibrary, Evidence, FactId, FactKey, Facts, FileKind,
    InspectionDepth, Observations, ObservedBase, ObservedPackage, PackageManager, PackageVersion, TypedFact,
    ValueState,
};
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::forward_compatibility::{is_compat_file, libcuda_driver_version};
use crate::infer::system_paths::ImageFileTree;
use crate::infer::{add_unknown_fact, stubs, system_paths};
use crate::knowledge::{DriverPackageRow, Knowledge};

/// Infers the driver libraries outside the compat directory.
#[expect(clippy::too_many_lines, reason = "one case after the other")]
pub(super) fn infer_driver_libraries(
    facts: &mut Facts,
    seen: &Observations,
    tree: &ImageFileTree<'_>,
    build: &BaseBuild,
    compat: &TypedFact<CompatDirectory>,
    arch: &str,
    knowledge: Knowledge,
) -> TypedFact<Vec<DriverLibrary>> {
    if let Some(none) = no_libraries_in_driver_image(facts, seen, knowledge) {
        return none;
    }
    let mut found = Vec::new();
    let mut from = Vec::new();
    for (path, file) in &seen.files {
        let name = split_path(path).1;
        let directories = tree.directory_names(path);
        if !is_driver_library(name)
            || is_in_compat_directory(path, &directories, compat)
            || matches!(file.kind, FileKind::Noted(_))
        {
            continue;
        }
        let target = match &file.kind {
            FileKind::Link(target) => Some(target.as_str()),
            _ => None,
        };
        let stub = |path: &str| path.contains("/stubs/") || path.starts_with("stubs/");
        let stub = stub(path) || target.is_some_and(stub) || tree.resolve(path).is_some_and(|path| stub(&path));
        let version = libcuda_driver_version(target.and_then(|target| target.rsplit('/').next()).unwrap_or(name));
        let libcuda = name.starts_with("libcuda.so");
        found.push(DriverLibrary {
            path: path.clone(),
            directories,
            version: version.or_else(|| libcuda_driver_version(name)),
            libcuda,
            stub,
            link: target.is_some(),
        });
        from.push(file.fact);
    }
    let mut row = None;
    // Where every file was read, a package is no more than its files.
    let by_files = seen.depth == InspectionDepth::Layers && seen.complete.files;
    let of_system = |package: &&ObservedPackage| package.manager == PackageManager::Apt && !by_files;
    let mut perhaps =
        find_possible_file(seen, is_driver_library, |path| !is_compat_file(path)).map(|(why, fact)| (why, fact, None));
    for package in seen.packages.iter().filter(of_system) {
        if let Some(known) = knowledge.driver_package(&package.name) {
            match driver_package_effect(known, &package.name, seen, build, knowledge) {
                DriverPackageEffect::Nothing => continue,
                DriverPackageEffect::Perhaps(reason) => {
                    perhaps = perhaps.or(Some((reason, package.fact, Some(&known.info))));
                    continue;
                }
                DriverPackageEffect::Libraries => {}
            }
            if let Some(why) = &package.conditional {
                perhaps = perhaps.or(Some((why.clone(), package.fact, Some(&known.info))));
                continue;
            }
            let rpm = system_paths::base_operating_system(seen, knowledge).is_some_and(|system| !system.debian);
            let held = driver_package_content(package, rpm, knowledge);
            if held == DriverPackageContent::OtherBranch
                && (seen.complete.packages || seen.depth == InspectionDepth::Sbom)
            {
                continue;
            }
            row = Some(
                knowledge
                    .moved_driver_package(&package.name)
                    .filter(|_| held == DriverPackageContent::OtherBranch)
                    .map_or(&known.info, |moved| &moved.info),
            );
            from.push(package.fact);
            let version = held.version().filter(|_| !known.toolkit && !known.through);
            let path = package.name.clone();
            found.push(DriverLibrary {
                path,
                directories: Vec::new(),
                version,
                libcuda: known.libcuda && !(rpm && known.without_rpm),
                stub: false,
                // Every package of the driver brings, by itself or by what it depends on, libcuda or libnvidia-ml
                // under a version and a link to it; that of the graphics libraries alone does not.
                link: !known.graphics,
            });
        }
    }
    if let Some((stub, told, info)) = stubs::base_stub(seen, build, arch, knowledge) {
        row = row.or(Some(info));
        from.extend(told);
        found.push(stub);
    }
    if let Some((reason, fact, info)) = perhaps.filter(|_| !found.iter().any(|one| one.libcuda && !one.stub)) {
        let evidence = Evidence::Derived { by: Derivation::Row, from: vec![fact], row: info };
        return add_unknown_fact(
            facts,
            FactKey::DriverLibraries,
            None,
            Cause::PerhapsDriver { because: Box::new(reason) },
            evidence,
        );
    }
    let from = if found.is_empty() { build.fact.into_iter().collect() } else { from };
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row };
    // Links that a command makes do not tell what the base had.
    let known = found.iter().any(|library: &DriverLibrary| library.version.is_some() || library.directories.is_empty());
    let base_open = build.family == BaseFamily::Unknown && seen.depth == InspectionDepth::Text;
    let state = if !found.is_empty() && (known || !base_open) {
        ValueState::Known(found)
    } else if seen.complete.files {
        ValueState::Absent { searched: "every file of the image" }
    } else if build.family == BaseFamily::Unknown {
        ValueState::Unknown(build.explain_unknown("the presence of driver libraries in the image"))
    } else {
        ValueState::Absent { searched: "the base image's family and every installed package" }
    };
    facts.add_typed(FactKey::DriverLibraries, None, state, evidence)
}

/// Whether a file name is that of a driver library: libcuda or libnvidia-ml.
fn is_driver_library(name: &str) -> bool {
    name.starts_with("libcuda.so") || name.starts_with("libnvidia-ml.so")
}

/// Returns why a file with a matching name and path may exist, if nothing certainly creates it.
pub(super) fn find_possible_file(
    seen: &Observations,
    name: fn(&str) -> bool,
    place: fn(&str) -> bool,
) -> Option<(Cause, FactId)> {
    let certain = |path: &str| seen.files.contains_key(path);
    let mut open =
        seen.of_base.perhaps.iter().filter(|(path, _)| !certain(path) && name(split_path(path).1) && place(path));
    open.next().map(|(_, (reason, fact))| (reason.clone(), *fact))
}

/// Returns the fact that there are none, if the image starts a program that installs the driver of its node.
fn no_libraries_in_driver_image(
    facts: &mut Facts,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<TypedFact<Vec<DriverLibrary>>> {
    let (commands, fact) = seen.of_base.starts.as_ref()?;
    let row = commands.iter().find_map(|command| knowledge.driver_program(command))?;
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![*fact], row: Some(&row.info) };
    let state =
        ValueState::Absent { searched: "the program that the image starts, which installs the driver of its node" };
    Some(facts.add_typed(FactKey::DriverLibraries, None, state, evidence))
}

/// What a package adds to the image.
enum DriverPackageEffect {
    Libraries,
    Nothing,
    /// Possibly libraries, with the reason why that is unknown.
    Perhaps(Cause),
}

/// Returns whether a package installs driver libraries in this image.
fn driver_package_effect(
    known: &DriverPackageRow,
    name: &str,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> DriverPackageEffect {
    // A list of everything names what came along; and the driver's own package is what others are content with.
    let listed = seen.complete.packages || matches!(seen.depth, InspectionDepth::Sbom | InspectionDepth::Layers);
    if (known.through || known.chance) && (listed || has_driver_package(seen, knowledge)) {
        return DriverPackageEffect::Nothing;
    }
    if name.contains('$') {
        return DriverPackageEffect::Perhaps(Cause::PackageBehindVariable { name: name.to_owned() });
    }
    // What such an image has beside what the tables say was not seen.
    let dark = build.family == BaseFamily::Framework;
    if !known.releases.is_empty()
        && !base_image_tag(seen).is_some_and(|tag| tag.split(['-', '_']).any(|word| known.releases.contains(&word)))
    {
        let told = !dark || base_image_tag(seen).is_some_and(|tag| knowledge.operating_system("", tag).is_some());
        let reason = || Cause::DriverByRelease { name: known.name.to_owned() };
        return if told { DriverPackageEffect::Nothing } else { DriverPackageEffect::Perhaps(reason()) };
    }
    if known.chance {
        let there = |name: &&str| seen.packages.iter().any(|package| package.name == **name);
        let looks = dark || known.finds.is_empty() || known.finds.iter().any(there);
        let reason = || Cause::DriverByBuildMachine { name: known.name.to_owned() };
        return if looks { DriverPackageEffect::Perhaps(reason()) } else { DriverPackageEffect::Nothing };
    }
    DriverPackageEffect::Libraries
}

/// Whether a package of the driver itself, with libcuda, is installed by name.
fn has_driver_package(seen: &Observations, knowledge: Knowledge) -> bool {
    seen.packages.iter().filter(|package| package.manager == PackageManager::Apt).any(|package| {
        let row = knowledge.driver_package(&package.name);
        row.is_some_and(|row| row.libcuda && !row.through && !row.chance)
    })
}

/// Returns the tag of the base image.
fn base_image_tag(seen: &Observations) -> Option<&str> {
    let ObservedBase::Image(reference, _) = &seen.base else { return None };
    reference.tag()
}

/// Whether a file is in a compat directory, by its path or because a compat library is in the same directory.
fn is_in_compat_directory(path: &str, directories: &[String], compat: &TypedFact<CompatDirectory>) -> bool {
    let version = libcuda_driver_version(split_path(path).1);
    let beside = |library: &CompatLibrary| {
        let itself = version == Some(library.version);
        (itself || (library.root.is_some() && library.regular)) && library.directories.first() == directories.first()
    };
    is_compat_file(path) || compat.known().is_some_and(|compat| compat.libraries.iter().any(beside))
}

/// What a package with driver libraries contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriverPackageContent {
    /// A driver of this version, or of this branch if only the package name gives it.
    Version(DriverVersion),
    /// Nothing itself: it depends on the packages of another branch than its name states.
    OtherBranch,
    /// A driver whose version neither the package version nor the name gives.
    Unknown,
}

impl DriverPackageContent {
    /// Returns the driver version, if known.
    fn version(self) -> Option<DriverVersion> {
        if let Self::Version(version) = self { Some(version) } else { None }
    }
}

/// Returns what a package such as `libnvidia-compute-535` at `535.183.01-0ubuntu1` contains.
fn driver_package_content(package: &ObservedPackage, rpm: bool, knowledge: Knowledge) -> DriverPackageContent {
    let named = driver_branch_in_name(&package.name);
    let told: Option<DriverVersion> = match &package.version {
        PackageVersion::Exact(text) => text.split('-').next().and_then(|text| text.parse().ok()),
        // `550.54.*` is of a branch at least.
        PackageVersion::Open(text) => text.split(['.', '*']).next().and_then(driver_branch_in_name),
        PackageVersion::Unresolved(_) => None,
    };
    let branch = |version: DriverVersion| version.branch();
    let other = told.zip(named).is_some_and(|(told, named)| branch(told) != branch(named));
    let moved = told.is_none() && knowledge.moved_driver_package(&package.name).is_some();
    if !rpm && (other || moved) {
        return DriverPackageContent::OtherBranch;
    }
    told.or(named).map_or(DriverPackageContent::Unknown, DriverPackageContent::Version)
}

/// Returns the driver branch in a package name: 535 for `libnvidia-compute-535-server`.
fn driver_branch_in_name(name: &str) -> Option<DriverVersion> {
    let is_branch = |part: &&str| part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split(['-', ':']).find(is_branch)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::PrintedValue;
    use crate::infer::infer_image_facts;
    use crate::reference::ImageReference;

    #[test]
    fn a_package_name_contains_the_driver_branch() {
        for (name, expected) in [
            ("libnvidia-compute-535", Some("535")),
            ("libnvidia-compute-470-server", Some("470")),
            ("cuda-drivers-550", Some("550")),
            ("libcuda1-384", Some("384")),
            ("nvidia-driver:550-dkms", Some("550")),
            ("nvidia-driver:latest-dkms", None),
            ("libnvidia-compute-$BRANCH", None),
            ("cuda-drivers", None),
            ("libcuda1", None),
            ("cuda-drivers-fabricmanager", None),
            ("libnvidia-compute-5350", None),
        ] {
            assert_eq!(driver_branch_in_name(name).map(|version| version.to_string()).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_version_of_another_branch_marks_an_empty_package() {
        let mut facts = Facts::default();
        let fact = facts.add(FactKey::Package, None, ValueState::Absent { searched: "" }, Evidence::Leaf(Vec::new()));
        for (name, version, rpm, expected) in [
            ("libnvidia-compute-535", "535.183.01-0ubuntu1", false, Some("535.183.01")),
            ("libnvidia-compute-510", "510.108.03-0ubuntu0.22.04.1", false, Some("510.108.03")),
            ("cuda-drivers-550", "550.54.15-1", false, Some("550.54.15")),
            ("libcuda1", "550.54.14-1", false, Some("550.54.14")),
            ("libnvidia-compute-510", "525.147.05-0ubuntu2.22.04.1", false, None),
            ("nvidia-driver-455", "460.32.03-0ubuntu1", false, None),
            ("nvidia-driver:525", "", true, Some("525")),
        ] {
            let told = if version.is_empty() {
                PackageVersion::Open(String::new())
            } else {
                PackageVersion::Exact(version.to_owned())
            };
            let package = ObservedPackage::new(PackageManager::Apt, name.to_owned(), told, fact);
            let held = driver_package_content(&package, rpm, Knowledge::built_in());
            assert_eq!(held.version().map(|version| version.to_string()).as_deref(), expected, "{name} {version}");
        }
    }

    /// Returns what is inferred about driver libraries for a base image with packages.
    fn driver_libraries_state(base: &str, packages: &[&str], complete: bool) -> &'static str {
        let mut seen = Observations::new(InspectionDepth::Text);
        let leaf = || Evidence::Leaf(Vec::new());
        let text = |text: &str| ValueState::Known(PrintedValue::Text(text.to_owned()));
        let fact = seen.facts.add(FactKey::Base, None, text(base), leaf());
        seen.base = ObservedBase::Image(ImageReference::parse(base).expect(base), fact);
        seen.base_env = true;
        seen.complete.packages = complete;
        for name in packages {
            let fact = seen.facts.add(FactKey::Package, Some(name), text(name), leaf());
            let version = PackageVersion::Open(String::new());
            let (name, perhaps) = name.strip_suffix('?').map_or((*name, false), |name| (name, true));
            let why = || Cause::InstalledByBranch { name: "it".to_owned() };
            let conditional = perhaps.then(why);
            let package = ObservedPackage::new(PackageManager::Apt, name.to_owned(), version, fact);
            seen.packages.push(ObservedPackage { conditional, ..package });
        }
        let images = infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in());
        match images.first().map(|image| &image.driver_libraries.state) {
            Some(ValueState::Known(found)) if found.iter().all(|one| !one.libcuda) => "without",
            Some(ValueState::Known(found)) if found.iter().all(|one| one.libcuda && one.version.is_none()) => "open",
            Some(ValueState::Known(_)) => "known",
            Some(ValueState::Absent { .. }) => "absent",
            Some(ValueState::Unknown(_)) => "unknown",
            None => "no image",
        }
    }

    #[test]
    fn dependencies_of_packages_are_installed() {
        for (base, packages, expected) in [
            ("ubuntu:22.04", &["nvidia-cuda-toolkit"][..], "open"),
            ("ubuntu:22.04", &["nvidia-cuda-dev"], "open"),
            ("ubuntu:22.04", &["libcuinj64-11.5"], "open"),
            ("debian:12", &["nvidia-smi"], "open"),
            ("debian:12", &["nvidia-driver"], "open"),
            ("nvidia/cuda:11.6.2-base-ubuntu20.04", &["nvtop"], "open"),
            ("ubuntu:jammy-20240111", &["nvtop"], "open"),
            // The driver's own package tells which.
            ("ubuntu:22.04", &["nvidia-cuda-toolkit", "libnvidia-compute-535"], "known"),
            ("ubuntu:22.04", &["libnvidia-compute-535", "nvtop"], "known"),
            ("ubuntu:22.04", &["cuda-drivers-550", "python3-pynvml"], "known"),
            // From there on it opens the library while it runs.
            ("nvidia/cuda:12.4.1-base-ubuntu24.04", &["nvtop"], "absent"),
            ("ubuntu:24.04", &["nvtop"], "absent"),
            ("debian:bookworm", &["nvtop"], "absent"),
            ("python:3.11", &["nvtop"], "absent"),
            // These merely recommend a driver, or have nothing to do with one.
            ("ubuntu:22.04", &["libcudart11.0", "libcublas11", "libcupti-dev", "nvidia-cuda-gdb"], "absent"),
            ("ubuntu:22.04", &["nvidia-modprobe", "nvidia-settings", "nvidia-container-toolkit"], "absent"),
            ("ubuntu:22.04", &["cuda-toolkit-12-4", "cuda-nvcc-12-4", "cuda-compat-12-4"], "absent"),
            ("ubuntu:22.04", &["ubuntu-drivers-common", "pciutils", "libcuinj64"], "absent"),
        ] {
            assert_eq!(driver_libraries_state(base, packages, false), expected, "{base} {packages:?}");
        }
        for (packages, expected) in [
            (&["libnvidia-compute-535?"][..], "unknown"),
            (&["cuda-drivers?", "curl"], "unknown"),
            (&["libnvidia-compute-535", "libnvidia-compute-550?"], "known"),
            (&["libnvidia-compute-550?", "libnvidia-compute-535"], "known"),
            (&["curl?", "cuda-toolkit-12-4?"], "absent"),
            // An empty package stands for one of another branch, by the day.
            (&["nvidia-driver-455"], "open"),
            (&["libnvidia-compute-510"], "open"),
            (&["nvidia-headless-no-dkms-570-server-open"], "open"),
            (&["cuda-drivers-525"], "open"),
            (&["libnvidia-compute"], "open"),
            (&["nvidia-driver-535"], "known"),
            (&["nvidia-driver-535-server"], "known"),
            (&["libnvidia-compute-470-server"], "known"),
            (&["nvidia-utils-550"], "known"),
        ] {
            assert_eq!(driver_libraries_state("ubuntu:22.04", packages, false), expected, "{packages:?}");
        }
        for (base, package, expected) in [
            ("rockylinux:9", "nvidia-driver", "without"),
            ("nvidia/cuda:12.4.1-base-ubi9", "nvidia-driver", "without"),
            ("rockylinux:9", "nvidia-driver-cuda", "open"),
            ("rockylinux:9", "nvidia-driver:525", "known"),
            ("rockylinux:9", "cuda-drivers-525", "known"),
            ("debian:12", "nvidia-driver", "open"),
            ("ubuntu:22.04", "nvidia-driver", "open"),
        ] {
            assert_eq!(driver_libraries_state(base, &[package], false), expected, "{base} {package}");
        }
        // A list of everything would name what came along.
        assert_eq!(driver_libraries_state("ubuntu:22.04", &["nvidia-cuda-toolkit"], true), "absent");
    }

    #[test]
    fn gpu_detection_sees_the_build_machine() {
        let ollama = "ollama.com/install.sh";
        for (base, packages, expected) in [
            ("ubuntu:22.04", &["ubuntu-drivers autoinstall"][..], "unknown"),
            ("ubuntu:22.04", &["ubuntu-drivers install", "curl"], "unknown"),
            ("ubuntu:22.04", &["pciutils", ollama], "unknown"),
            ("ubuntu:22.04", &[ollama, "lshw"], "unknown"),
            ("ubuntu:22.04", &["pciutils", "ollama.ai/install.sh"], "unknown"),
            ("pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime", &[ollama], "unknown"),
            ("pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime", &["nvtop"], "unknown"),
            // Without a tool to look with, it finds none.
            ("ubuntu:22.04", &[ollama], "absent"),
            ("nvidia/cuda:12.4.1-base-ubuntu22.04", &[ollama, "curl"], "absent"),
            ("ubuntu:22.04", &["ollama"], "absent"),
            // A driver that is there already is known.
            ("ubuntu:22.04", &["libnvidia-compute-535", "ubuntu-drivers install"], "known"),
            ("ubuntu:22.04", &["cuda-drivers", "pciutils", ollama], "open"),
        ] {
            assert_eq!(driver_libraries_state(base, packages, false), expected, "{base} {packages:?}");
        }
    }
}
