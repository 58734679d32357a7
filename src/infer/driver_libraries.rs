//! Driver libraries in the image: those for forward compatibility, and those that it should not contain.

use crate::cuda::{
    COMPAT_ROOT, CudaVersion, DriverVersion, LIBCUDA_SONAME, TOOLKIT_ROOT, is_in_compat_tree, split_path,
    toolkit_directory,
};
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::compat_package::{
    CompatPackage, base_compat_package, compat_directory, compat_directory_names, compat_from_package,
    removes_compat_library, with_base_compat,
};
use crate::infer::system_paths::ImageFileTree;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::infer::{stubs, system_paths};
use crate::knowledge::{DriverPackageRow, Knowledge};
use crate::model::cause::Cause;
use crate::model::fact::{
    CompatDirectory, CompatLibrary, Derivation, DriverLibrary, EnvFacts, Evidence, FactId, FactKey, Facts, FileKind,
    InspectionDepth, Observations, ObservedBase, TypedFact, ValueState,
};
use crate::model::package::{ObservedPackage, PackageManager, PackageVersion};

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
    let of_system = |package: &&ObservedPackage| package.requirement.manager == PackageManager::System && !by_files;
    let mut perhaps =
        find_possible_file(seen, is_driver_library, |path| !is_compat_file(path)).map(|(why, fact)| (why, fact, None));
    for package in seen.packages.iter().filter(of_system) {
        if let Some(known) = knowledge.driver_package(&package.requirement.name) {
            match driver_package_effect(known, &package.requirement.name, seen, build, knowledge) {
                DriverPackageEffect::Nothing => continue,
                DriverPackageEffect::Maybe(reason) => {
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
            let content = driver_package_content(package, rpm, knowledge);
            if content == DriverPackageContent::OtherBranch
                && (seen.complete.packages || seen.depth == InspectionDepth::Sbom)
            {
                continue;
            }
            row = Some(
                knowledge
                    .moved_driver_package(&package.requirement.name)
                    .filter(|_| content == DriverPackageContent::OtherBranch)
                    .map_or(&known.info, |moved| &moved.info),
            );
            from.push(package.fact);
            let version = content.version().filter(|_| !known.toolkit && !known.through);
            let path = package.requirement.name.clone();
            found.push(DriverLibrary {
                path: path.to_string(),
                directories: Vec::new(),
                version,
                libcuda: known.libcuda && !(rpm && known.without_rpm),
                stub: false,
                // Every driver package installs, itself or through its dependencies, libcuda or libnvidia-ml
                // under a version and a link to it; that of the graphics libraries alone does not.
                link: !known.graphics,
            });
        }
    }
    if let Some((stub, stub_facts, info)) = stubs::base_stub(seen, build, arch, knowledge) {
        row = row.or(Some(info));
        from.extend(stub_facts);
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
    // Links created by a command do not show what the base contained.
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
fn find_possible_file(seen: &Observations, name: fn(&str) -> bool, place: fn(&str) -> bool) -> Option<(Cause, FactId)> {
    let certain = |path: &str| seen.files.contains_key(path);
    let mut open =
        seen.base_changes.perhaps.iter().filter(|(path, _)| !certain(path) && name(split_path(path).1) && place(path));
    open.next().map(|(_, (reason, fact))| (reason.clone(), *fact))
}

/// Returns the fact that there are none, if the image starts a program that installs the driver of its node.
fn no_libraries_in_driver_image(
    facts: &mut Facts,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<TypedFact<Vec<DriverLibrary>>> {
    let (commands, fact) = seen.base_changes.starts.as_ref()?;
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
    Maybe(Cause),
}

/// Returns whether a package installs driver libraries in this image.
fn driver_package_effect(
    known: &DriverPackageRow,
    name: &str,
    seen: &Observations,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> DriverPackageEffect {
    // A complete list includes dependencies; and an installed driver package already satisfies them.
    let listed = seen.complete.packages || matches!(seen.depth, InspectionDepth::Sbom | InspectionDepth::Layers);
    if (known.through || known.chance) && (listed || has_driver_package(seen, knowledge)) {
        return DriverPackageEffect::Nothing;
    }
    if name.contains('$') {
        return DriverPackageEffect::Maybe(Cause::PackageBehindVariable { name: name.to_owned() });
    }
    // Such an image may contain more than the tables list.
    let dark = build.family == BaseFamily::Framework;
    if !known.releases.is_empty()
        && !base_image_tag(seen).is_some_and(|tag| tag.split(['-', '_']).any(|word| known.releases.contains(&word)))
    {
        let is_system_known =
            !dark || base_image_tag(seen).is_some_and(|tag| knowledge.operating_system("", tag).is_some());
        let reason = || Cause::DriverByRelease { name: known.name.to_owned() };
        return if is_system_known { DriverPackageEffect::Nothing } else { DriverPackageEffect::Maybe(reason()) };
    }
    if known.chance {
        let there = |name: &&str| seen.packages.iter().any(|package| package.requirement.name == **name);
        let looks = dark || known.finds.is_empty() || known.finds.iter().any(there);
        let reason = || Cause::DriverByBuildMachine { name: known.name.to_owned() };
        return if looks { DriverPackageEffect::Maybe(reason()) } else { DriverPackageEffect::Nothing };
    }
    DriverPackageEffect::Libraries
}

/// Whether a package of the driver itself, with libcuda, is installed by name.
fn has_driver_package(seen: &Observations, knowledge: Knowledge) -> bool {
    seen.packages.iter().filter(|package| package.requirement.manager == PackageManager::System).any(|package| {
        let row = knowledge.driver_package(&package.requirement.name);
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
    let shares_directory = |library: &CompatLibrary| {
        let itself = version == Some(library.version);
        (itself || (library.root.is_some() && library.regular)) && library.directories.first() == directories.first()
    };
    is_compat_file(path) || compat.known().is_some_and(|compat| compat.libraries.iter().any(shares_directory))
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
    let named = driver_branch_in_name(&package.requirement.name);
    let package_version: Option<DriverVersion> = match &package.requirement.version {
        PackageVersion::Exact(version) => version.as_str().split('-').next().and_then(|text| text.parse().ok()),
        // `550.54.*` is of a branch at least.
        PackageVersion::Range(range) => range.as_str().split(['.', '*']).next().and_then(driver_branch_in_name),
        PackageVersion::Unresolved(_) => None,
    };
    let branch = |version: DriverVersion| version.branch();
    let other =
        package_version.zip(named).is_some_and(|(package_version, named)| branch(package_version) != branch(named));
    let moved = package_version.is_none() && knowledge.moved_driver_package(&package.requirement.name).is_some();
    if !rpm && (other || moved) {
        return DriverPackageContent::OtherBranch;
    }
    package_version.or(named).map_or(DriverPackageContent::Unknown, DriverPackageContent::Version)
}

/// Returns the driver branch in a package name: 535 for `libnvidia-compute-535-server`.
fn driver_branch_in_name(name: &str) -> Option<DriverVersion> {
    let is_branch = |part: &&str| part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split(['-', ':']).find(is_branch)?.parse().ok()
}

/// The file name prefix of libcuda, in any version.
const LIBCUDA_PREFIX: &str = "libcuda.so";
/// The name prefix of compat packages, before the CUDA version.
const VERSIONED_COMPAT_PREFIX: &str = "cuda-compat-";

/// Infers the compat libraries of the image.
pub(super) fn infer_compat(
    facts: &mut Facts,
    seen: &Observations,
    tree: &ImageFileTree<'_>,
    build: &BaseBuild,
    env: &EnvFacts,
    base_cuda: &TypedFact<CudaVersion>,
    knowledge: Knowledge,
) -> TypedFact<CompatDirectory> {
    let removed: Vec<FactId> = seen
        .base_changes
        .removed
        .iter()
        .filter(|(what, _)| removes_compat_library(what))
        .map(|(_, fact)| *fact)
        .collect();
    let own = base_compat_package(build).filter(|_| removed.is_empty() && !seen.complete.files);
    if let Some(fact) = compat_from_files(facts, seen, tree, build, knowledge) {
        let here = |package: &CompatPackage| tree.resolve(COMPAT_ROOT) == Some(compat_directory(package.cuda));
        let kept = !seen.files.contains_key(TOOLKIT_ROOT) || own.as_ref().is_some_and(here);
        let added = seen.depth == InspectionDepth::Text;
        return with_base_compat(facts, fact, own.as_ref(), (kept, added), build, knowledge);
    }
    if let Some((reason, fact)) = find_possible_file(seen, |name| name.starts_with(LIBCUDA_PREFIX), is_compat_file) {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None };
        return add_unknown_fact(
            facts,
            FactKey::Compat,
            None,
            Cause::PerhapsDriver { because: Box::new(reason) },
            evidence,
        );
    }
    let packages =
        || seen.packages.iter().filter_map(|package| Some((package, compat_package_cuda(&package.requirement.name)?)));
    let certain = packages().find(|(package, _)| package.conditional.is_none());
    if let Some((package, _)) = packages().next().filter(|_| certain.is_none())
        && let Some(why) = package.conditional.clone()
    {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
        return add_unknown_fact(facts, FactKey::Compat, None, why, evidence);
    }
    if let Some((package, cuda)) = certain {
        let version = match &package.requirement.version {
            PackageVersion::Exact(version) => version.as_str().split('-').next().and_then(|text| text.parse().ok()),
            PackageVersion::Range(_) | PackageVersion::Unresolved(_) => None,
        };
        let linked = !lacks_toolkit_link(seen, build, knowledge);
        let package_seen = CompatPackage { linked, ..CompatPackage::from_install(cuda, version) };
        let fact = compat_from_package(facts, &package_seen, vec![package.fact], knowledge);
        return with_base_compat(facts, fact, own.as_ref(), (true, false), build, knowledge);
    }
    let other = seen.packages.iter().rev().find(|package| {
        package.requirement.manager == PackageManager::System && is_compat_without_cuda(&package.requirement.name)
    });
    if let Some(package) = other {
        let why = Cause::PackageDriverNotKnown { package: package.requirement.name.to_string() };
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
        return add_unknown_fact(facts, FactKey::Compat, None, why, evidence);
    }
    if !removed.is_empty() {
        let searched = "the remaining packages of the base image";
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: removed, row: None };
        return facts.add_typed(FactKey::Compat, None, ValueState::Absent { searched }, evidence);
    }
    let package = env.get("NV_CUDA_COMPAT_PACKAGE");
    if let Some(cuda) = package.known().and_then(|name| compat_package_cuda(name)) {
        return compat_from_package(facts, &CompatPackage::from_install(cuda, None), vec![package.id], knowledge);
    }
    let from: Vec<FactId> = build.fact.into_iter().collect();
    match build.compat {
        Some((true, _)) if let Some(package) = base_compat_package(build) => {
            compat_from_package(facts, &package, vec![base_cuda.id], knowledge)
        }
        Some((false, row)) => {
            let searched = "the packages of the base image";
            let evidence = Evidence::Derived { by: Derivation::Row, from, row: Some(row) };
            facts.add_typed(FactKey::Compat, None, ValueState::Absent { searched }, evidence)
        }
        _ if build.family == BaseFamily::Plain => {
            let searched = "the base image's family and every installed package";
            let evidence = Evidence::Derived { by: Derivation::Row, from, row: build.family_row };
            facts.add_typed(FactKey::Compat, None, ValueState::Absent { searched }, evidence)
        }
        _ => {
            let evidence = Evidence::Derived { by: Derivation::Inheritance, from, row: None };
            add_unknown_fact(
                facts,
                FactKey::Compat,
                None,
                build.explain_unknown("the content of /usr/local/cuda/compat"),
                evidence,
            )
        }
    }
}

/// Whether nothing in the image creates the link `/usr/local/cuda`, as NVIDIA's recipes and runtime packages do.
fn lacks_toolkit_link(seen: &Observations, build: &BaseBuild, knowledge: Knowledge) -> bool {
    let links = |package: &ObservedPackage| {
        let name = package.requirement.name.as_str();
        let runtime = knowledge.runtime_package(name).is_some() || knowledge.may_contain_libraries(name);
        package.requirement.manager == PackageManager::System && runtime && compat_package_cuda(name).is_none()
    };
    let plain = build.family == BaseFamily::Plain && seen.depth == InspectionDepth::Text;
    plain && !seen.files.contains_key(TOOLKIT_ROOT) && !seen.packages.iter().any(links)
}

/// Adds the fact of the compat libraries among the files; `None` if the files do not decide.
fn compat_from_files(
    facts: &mut Facts,
    seen: &Observations,
    tree: &ImageFileTree<'_>,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> Option<TypedFact<CompatDirectory>> {
    let linked = base_toolkit_link(seen, build);
    let modules = knowledge.tegra_capabilities().iter().filter_map(|row| row.compat_root);
    let roots: Vec<(&'static str, Option<String>)> =
        std::iter::once(COMPAT_ROOT).chain(modules).map(|root| (root, tree.resolve(root))).collect();
    let mut libraries = Vec::new();
    let mut from = Vec::new();
    let mut cuda = None;
    let mut ptx_compiler = false;
    let mut unnumbered = None;
    // If the layers were read, or every file is listed, the contents are known.
    let looked = seen.depth == InspectionDepth::Layers || seen.complete.files;
    for (path, file) in &seen.files {
        let name = split_path(path).1;
        let folder = split_path(path).0;
        let by_base = linked.filter(|cuda| folder == compat_directory(*cuda) || folder == COMPAT_ROOT);
        let directories = || by_base.map_or_else(|| tree.directory_names(path), compat_directory_names);
        let real = directories().into_iter().next();
        let root = roots.iter().find(|(_, resolved)| resolved.is_some() && *resolved == real).map(|(root, _)| *root);
        let root = root.or(by_base.map(|_| COMPAT_ROOT));
        if !is_compat_file(path) && root.is_none() && !matches!(file.kind, FileKind::Noted(_)) {
            continue;
        }
        ptx_compiler |= name.starts_with("libnvidia-ptxjitcompiler.so");
        if matches!(file.kind, FileKind::Link(_)) && name.starts_with("libcuda.so.") {
            libraries.extend(
                libraries_through_link(path, root, tree, seen).into_iter().flatten().inspect(|_| from.push(file.fact)),
            );
            continue;
        }
        if let Some(version) = libcuda_driver_version(name) {
            let (note, regular) = match &file.kind {
                FileKind::Noted(note) => (Some(note.clone()), true),
                FileKind::Present => (None, true),
                FileKind::Link(_) | FileKind::Text(_) | FileKind::NoLibrary => continue,
            };
            let of_directory = || toolkit_directory(path)?.strip_prefix("cuda-")?.parse().ok();
            cuda = note.as_ref().and_then(|note| note.cuda).or_else(of_directory).or(cuda);
            let unread = note.is_none() && !looked;
            libraries.push(CompatLibrary { version, note, directories: directories(), root, regular, unread });
            from.push(file.fact);
        } else if name == LIBCUDA_SONAME && file.kind == FileKind::Present && !looked {
            unnumbered = Some((path, file.fact));
        }
    }
    let numbered = |path: &str| {
        let folder = tree.directory_names(path).into_iter().next();
        libraries.iter().any(|library: &CompatLibrary| library.directories.first() == folder.as_ref())
    };
    if let Some((path, fact)) = unnumbered.filter(|(path, _)| !numbered(path)) {
        let why = Cause::DriverFileVersion { path: path.clone() };
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None };
        return Some(add_unknown_fact(facts, FactKey::Compat, None, why, evidence));
    }
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    if libraries.is_empty() {
        return seen.complete.files.then(|| {
            facts.add_typed(FactKey::Compat, None, ValueState::Absent { searched: "every file of the image" }, evidence)
        });
    }
    let by_branch = |library: &CompatLibrary| knowledge.driver_cuda(library.version).map(|(cuda, _)| cuda);
    let cuda = cuda.or_else(|| libraries.last().and_then(by_branch));
    let ptx_compiler = (ptx_compiler || seen.complete.files).then_some(ptx_compiler);
    let absolute_link = tree.has_absolute_compat_link() || linked.is_some();
    let root_seen =
        linked.is_some() || is_toolkit_link_known(seen, build) || libraries.iter().any(|one| one.root.is_some());
    let compat = CompatDirectory { libraries, cuda, ptx_compiler, absolute_link, root_seen };
    Some(facts.add_typed(FactKey::Compat, None, ValueState::Known(compat), evidence))
}

/// Whether it is known what `/usr/local/cuda` is, even if it does not exist.
fn is_toolkit_link_known(seen: &Observations, build: &BaseBuild) -> bool {
    seen.complete.files
        || seen.files.contains_key(TOOLKIT_ROOT)
        || (build.family == BaseFamily::Plain && seen.depth == InspectionDepth::Text)
}

/// Returns the CUDA version that the base image's link `/usr/local/cuda` leads to, if nothing replaced the link.
fn base_toolkit_link(seen: &Observations, build: &BaseBuild) -> Option<CudaVersion> {
    let kept = !is_toolkit_link_known(seen, build)
        && !seen.base_changes.removed.iter().any(|(what, _)| removes_compat_library(what));
    let (cuda, _) = build.cuda.filter(|_| kept && matches!(build.family, BaseFamily::Cuda | BaseFamily::Framework))?;
    Some(cuda)
}

/// Returns a library elsewhere that a link in a compat directory leads to: once as the link, once as the file.
fn libraries_through_link(
    path: &str,
    root: Option<&'static str>,
    tree: &ImageFileTree<'_>,
    seen: &Observations,
) -> Option<[CompatLibrary; 2]> {
    let target = tree.resolve(path)?;
    let version = libcuda_driver_version(split_path(&target).1)?;
    let directories = tree.directory_names(&target);
    let note = match seen.files.get(&target).map(|file| &file.kind) {
        Some(FileKind::Noted(note)) => Some(note.clone()),
        None if seen.complete.files => return None,
        Some(_) | None => None,
    };
    if root.is_none() || is_compat_file(&target) || directories.first() == tree.directory_names(path).first() {
        return None;
    }
    let file = CompatLibrary { version, note, directories, root: None, regular: true, unread: false };
    Some([CompatLibrary { root, regular: false, ..file.clone() }, file])
}

/// Whether a file is in a compat directory of a toolkit or below it.
fn is_compat_file(path: &str) -> bool {
    is_in_compat_tree(split_path(path).0)
}

/// Returns the driver version in `libcuda.so.575.57.08`; `None` for the soname link `libcuda.so.1`.
fn libcuda_driver_version(name: &str) -> Option<DriverVersion> {
    let version: DriverVersion = name.strip_prefix("libcuda.so.")?.parse().ok()?;
    (version.0.len() > 1).then_some(version)
}

/// Whether a compat package has no CUDA version in its name: `cuda-compat-orin-12-2`, `cuda-compat-$RELEASE`.
fn is_compat_without_cuda(package: &str) -> bool {
    package.starts_with(VERSIONED_COMPAT_PREFIX) && compat_package_cuda(package).is_none()
}

/// Returns the CUDA version of a compat package such as `cuda-compat-12-4`.
fn compat_package_cuda(package: &str) -> Option<CudaVersion> {
    let package = package.split('=').next().unwrap_or(package);
    package.strip_prefix(VERSIONED_COMPAT_PREFIX)?.replace('-', ".").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::infer_image_facts;
    use crate::model::fact::PrintedValue;
    use crate::model::package::PackageName;
    use crate::model::reference::ImageReference;

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
            let package_version =
                if version.is_empty() { PackageVersion::any() } else { PackageVersion::exact(version) };
            let package =
                ObservedPackage::new(PackageManager::System, PackageName::system(name), package_version, fact);
            let content = driver_package_content(&package, rpm, Knowledge::built_in());
            assert_eq!(content.version().map(|version| version.to_string()).as_deref(), expected, "{name} {version}");
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
            let version = PackageVersion::any();
            let (name, perhaps) = name.strip_suffix('?').map_or((*name, false), |name| (name, true));
            let why = || Cause::InstalledByBranch { name: "it".to_owned() };
            let conditional = perhaps.then(why);
            let package = ObservedPackage::new(PackageManager::System, PackageName::system(name), version, fact);
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
            // The package of the driver determines which.
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

#[cfg(test)]
mod forward_compatibility_tests {
    use super::*;

    #[test]
    fn a_compat_package_name_may_contain_its_cuda() {
        for (name, cuda, other) in [
            ("cuda-compat-12-4", Some("12.4"), false),
            ("cuda-compat-orin-12-2", None, true),
            ("cuda-compat-$RELEASE", None, true),
            ("cuda-compatible", None, false),
            ("cuda-toolkit-12-4", None, false),
        ] {
            let parsed = compat_package_cuda(name).map(|cuda| cuda.to_string());
            assert_eq!((parsed.as_deref(), is_compat_without_cuda(name)), (cuda, other), "{name}");
        }
    }

    #[test]
    fn a_soname_link_has_no_driver_version() {
        assert_eq!(libcuda_driver_version("libcuda.so.1"), None);
        assert_eq!(libcuda_driver_version("libcuda.so"), None);
        assert!(libcuda_driver_version("libcuda.so.575.57.08").is_some());
    }
}
