//! Driver libraries in the image that should not be there.

use crate::cuda::DriverVersion;
use crate::cuda::split_path;
use crate::fact::BaseSeen;
use crate::fact::Compat;
use crate::fact::CompatLibrary;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::DriverLibrary;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::FileKind;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::driver::is_compat;
use crate::infer::driver::library_version;
use crate::infer::places;
use crate::infer::places::Tree;
use crate::infer::stubs;
use crate::infer::unknown;
use crate::knowledge::DriverPackageRow;
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
    if let Some(none) = of_driver_image(facts, seen, knowledge) {
        return none;
    }
    let mut found = Vec::new();
    let mut from = Vec::new();
    for (path, file) in &seen.files {
        let name = split_path(path).1;
        let directories = tree.directories(path);
        if !is_driver(name) || beside_compat(path, &directories, compat) || matches!(file.kind, FileKind::Noted(_)) {
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
    let mut perhaps = maybe_there(seen, is_driver, |path| !is_compat(path)).map(|(why, fact)| (why, fact, None));
    for package in seen.packages.iter().filter(of_system) {
        if let Some(known) = knowledge.driver_package(&package.name) {
            match brings(known, &package.name, seen, build, knowledge) {
                Brings::Nothing => continue,
                Brings::Perhaps(reason) => {
                    perhaps = perhaps.or(Some((reason, package.fact, Some(&known.info))));
                    continue;
                }
                Brings::Libraries => {}
            }
            if let Some(why) = &package.conditional {
                perhaps = perhaps.or(Some((why.reason.clone(), package.fact, Some(&known.info))));
                continue;
            }
            let rpm = places::operating_system(seen, knowledge).is_some_and(|system| !system.debian);
            let held = package_driver(package, rpm, knowledge);
            if held == Held::Another && (seen.complete.packages || seen.depth == Depth::Sbom) {
                continue;
            }
            row = Some(
                knowledge
                    .driver_moved(&package.name)
                    .filter(|_| held == Held::Another)
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
    if let Some((stub, told, info)) = stubs::of_base(seen, build, arch, knowledge) {
        row = row.or(Some(info));
        from.extend(told);
        found.push(stub);
    }
    if let Some((reason, fact, info)) = perhaps.filter(|_| !found.iter().any(|one| one.libcuda && !one.stub)) {
        let evidence = Evidence::Derived { by: Derivation::Row, from: vec![fact], row: info };
        let supply = "scan the built image, or list its libraries under [files] of an image description".to_owned();
        return unknown(facts, FactKey::DriverLibraries, None, Why { reason, supply }, evidence);
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
        State::Unknown(build.unseen("the presence of driver libraries in the image"))
    } else {
        State::Absent { searched: "the base image's family and every installed package" }
    };
    facts.add_typed(FactKey::DriverLibraries, None, state, evidence)
}

/// Whether a name is that of a library of the driver that is looked for.
fn is_driver(name: &str) -> bool {
    name.starts_with("libcuda.so") || name.starts_with("libnvidia-ml.so")
}

/// Why a library of that name may lie at such a path, where nothing puts it there for certain.
pub(super) fn maybe_there(
    seen: &Observations,
    name: fn(&str) -> bool,
    place: fn(&str) -> bool,
) -> Option<(String, FactId)> {
    let certain = |path: &str| seen.files.contains_key(path);
    let mut open =
        seen.of_base.perhaps.iter().filter(|(path, _)| !certain(path) && name(split_path(path).1) && place(path));
    open.next().map(|(_, (reason, fact))| (reason.clone(), *fact))
}

/// That there are none for programs of the image, where it starts one that installs the driver of its node.
fn of_driver_image(facts: &mut Facts, seen: &Observations, knowledge: Knowledge) -> Option<Fact<Vec<DriverLibrary>>> {
    let (commands, fact) = seen.of_base.starts.as_ref()?;
    let row = commands.iter().find_map(|command| knowledge.driver_program(command))?;
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![*fact], row: Some(&row.info) };
    let state = State::Absent { searched: "the program that the image starts, which installs the driver of its node" };
    Some(facts.add_typed(FactKey::DriverLibraries, None, state, evidence))
}

/// What a package puts into the image.
enum Brings {
    Libraries,
    Nothing,
    /// Why that cannot be told.
    Perhaps(String),
}

/// Whether a package brings libraries of a driver into this image.
fn brings(
    known: &DriverPackageRow,
    name: &str,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> Brings {
    // A list of everything names what came along; and the driver's own package is what others are content with.
    let listed = seen.complete.packages || matches!(seen.depth, Depth::Sbom | Depth::Layers);
    if (known.through || known.chance) && (listed || own_driver(seen, knowledge)) {
        return Brings::Nothing;
    }
    if name.contains('$') {
        return Brings::Perhaps(format!("the package name {name} contains a variable without a value"));
    }
    // What such an image has beside what the tables say was not seen.
    let dark = build.family == Family::Framework;
    if !known.releases.is_empty()
        && !tag(seen).is_some_and(|tag| tag.split(['-', '_']).any(|word| known.releases.contains(&word)))
    {
        let told = !dark || tag(seen).is_some_and(|tag| knowledge.operating_system("", tag).is_some());
        let name = known.name;
        let reason = || {
            format!(
                "{name} includes driver libraries in some releases, and the release of the base image is \
                unknown"
            )
        };
        return if told { Brings::Nothing } else { Brings::Perhaps(reason()) };
    }
    if known.chance {
        let there = |name: &&str| seen.packages.iter().any(|package| package.name == **name);
        let looks = dark || known.finds.is_empty() || known.finds.iter().any(there);
        let reason = || format!("the GPUs of the build machine decide whether `{}` installed a driver", known.name);
        return if looks { Brings::Perhaps(reason()) } else { Brings::Nothing };
    }
    Brings::Libraries
}

/// Whether a package of the driver itself is named, with libcuda.
fn own_driver(seen: &Observations, knowledge: Knowledge) -> bool {
    seen.packages.iter().filter(|package| package.manager == Manager::Apt).any(|package| {
        let row = knowledge.driver_package(&package.name);
        row.is_some_and(|row| row.libcuda && !row.through && !row.chance)
    })
}

/// The tag of the base.
fn tag(seen: &Observations) -> Option<&str> {
    let BaseSeen::Image(reference, _) = &seen.base else { return None };
    reference.tag()
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

/// What a package with libraries of the driver holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// A driver of this version, or of this branch where nothing but its name tells it.
    Version(DriverVersion),
    /// Nothing itself: it depends on the packages of another branch than its name says.
    Another,
    /// A driver that neither its version nor its name tells.
    Untold,
}

impl Held {
    fn version(self) -> Option<DriverVersion> {
        if let Self::Version(version) = self { Some(version) } else { None }
    }
}

/// What a package such as `libnvidia-compute-535` at `535.183.01-0ubuntu1` holds.
fn package_driver(package: &PackageSeen, rpm: bool, knowledge: Knowledge) -> Held {
    let named = package_branch(&package.name);
    let told: Option<DriverVersion> = match &package.version {
        PackageVersion::Exact(text) => text.split('-').next().and_then(|text| text.parse().ok()),
        // `550.54.*` is of a branch at least.
        PackageVersion::Open(text) => text.split(['.', '*']).next().and_then(package_branch),
        PackageVersion::Unresolved(_) => None,
    };
    let branch = |version: DriverVersion| version.branch();
    let other = told.zip(named).is_some_and(|(told, named)| branch(told) != branch(named));
    let moved = told.is_none() && knowledge.driver_moved(&package.name).is_some();
    if !rpm && (other || moved) {
        return Held::Another;
    }
    told.or(named).map_or(Held::Untold, Held::Version)
}

/// The driver branch in the name of a package: 535 of `libnvidia-compute-535-server`.
fn package_branch(name: &str) -> Option<DriverVersion> {
    let is_branch = |part: &&str| part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split(['-', ':']).find(is_branch)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Value;
    use crate::infer::infer;
    use crate::reference::ImageReference;

    #[test]
    fn the_name_of_a_package_tells_its_branch() {
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
            assert_eq!(package_branch(name).map(|version| version.to_string()).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_version_of_another_branch_than_the_name_is_that_of_an_empty_package() {
        let mut facts = Facts::default();
        let fact = facts.add(FactKey::Package, None, State::Absent { searched: "" }, Evidence::Leaf(Vec::new()));
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
            let package = PackageSeen::new(Manager::Apt, name.to_owned(), told, fact);
            let held = package_driver(&package, rpm, Knowledge::built_in());
            assert_eq!(held.version().map(|version| version.to_string()).as_deref(), expected, "{name} {version}");
        }
    }

    /// What is said of the driver's libraries in an image of that base with these packages.
    fn said(base: &str, packages: &[&str], complete: bool) -> &'static str {
        let mut seen = Observations::new(Depth::Text);
        let leaf = || Evidence::Leaf(Vec::new());
        let text = |text: &str| State::Known(Value::Text(text.to_owned()));
        let fact = seen.facts.add(FactKey::Base, None, text(base), leaf());
        seen.base = BaseSeen::Image(ImageReference::parse(base).expect(base), fact);
        seen.base_env = true;
        seen.complete.packages = complete;
        for name in packages {
            let fact = seen.facts.add(FactKey::Package, Some(name), text(name), leaf());
            let version = PackageVersion::Open(String::new());
            let (name, perhaps) = name.strip_suffix('?').map_or((*name, false), |name| (name, true));
            let why = || Why { reason: "only some branches".to_owned(), supply: String::new() };
            let conditional = perhaps.then(why);
            let package = PackageSeen::new(Manager::Apt, name.to_owned(), version, fact);
            seen.packages.push(PackageSeen { conditional, ..package });
        }
        let images = infer(&seen, "linux/amd64", None, Knowledge::built_in());
        match images.first().map(|image| &image.driver_libraries.state) {
            Some(State::Known(found)) if found.iter().all(|one| !one.libcuda) => "without",
            Some(State::Known(found)) if found.iter().all(|one| one.libcuda && one.version.is_none()) => "open",
            Some(State::Known(_)) => "known",
            Some(State::Absent { .. }) => "absent",
            Some(State::Unknown(_)) => "unknown",
            None => "no image",
        }
    }

    #[test]
    fn what_a_package_depends_on_comes_along() {
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
            assert_eq!(said(base, packages, false), expected, "{base} {packages:?}");
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
            assert_eq!(said("ubuntu:22.04", packages, false), expected, "{packages:?}");
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
            assert_eq!(said(base, &[package], false), expected, "{base} {package}");
        }
        // A list of everything would name what came along.
        assert_eq!(said("ubuntu:22.04", &["nvidia-cuda-toolkit"], true), "absent");
    }

    #[test]
    fn what_looks_for_a_gpu_finds_that_of_the_machine_that_builds() {
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
            assert_eq!(said(base, packages, false), expected, "{base} {packages:?}");
        }
    }
}
