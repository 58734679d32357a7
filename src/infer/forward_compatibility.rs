//! Driver libraries in the image for forward compatibility.

use crate::cause::Cause;
use crate::cuda::{
    COMPAT_ROOT, CudaVersion, DriverVersion, LIBCUDA_SONAME, TOOLKIT_ROOT, is_in_compat_tree, split_path,
    toolkit_directory,
};
use crate::fact::{
    CompatDirectory, CompatLibrary, Derivation, EnvFacts, Evidence, FactId, FactKey, Facts, FileKind, InspectionDepth,
    Observations, ObservedPackage, PackageManager, PackageVersion, TypedFact, ValueState,
};
use crate::infer::add_unknown_fact;
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::compat_package::{
    CompatPackage, base_compat_package, compat_directory, compat_directory_names, compat_from_package,
    removes_compat_library, with_base_compat,
};
use crate::infer::driver_libraries::find_possible_file;
use crate::infer::system_paths::ImageFileTree;
use crate::knowledge::Knowledge;

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
    let removed: Vec<FactId> =
        seen.of_base.removed.iter().filter(|(what, _)| removes_compat_library(what)).map(|(_, fact)| *fact).collect();
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
    let packages = || seen.packages.iter().filter_map(|package| Some((package, compat_package_cuda(&package.name)?)));
    let certain = packages().find(|(package, _)| package.conditional.is_none());
    if let Some((package, _)) = packages().next().filter(|_| certain.is_none())
        && let Some(why) = package.conditional.clone()
    {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
        return add_unknown_fact(facts, FactKey::Compat, None, why, evidence);
    }
    if let Some((package, cuda)) = certain {
        let version = match &package.version {
            PackageVersion::Exact(text) => text.split('-').next().and_then(|text| text.parse().ok()),
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
        };
        let linked = !lacks_toolkit_link(seen, build, knowledge);
        let package_seen = CompatPackage { linked, ..CompatPackage::from_install(cuda, version) };
        let fact = compat_from_package(facts, &package_seen, vec![package.fact], knowledge);
        return with_base_compat(facts, fact, own.as_ref(), (true, false), build, knowledge);
    }
    let other = seen
        .packages
        .iter()
        .rev()
        .find(|package| package.manager == PackageManager::Apt && is_compat_without_cuda(&package.name));
    if let Some(package) = other {
        let why = Cause::PackageDriverNotKnown { package: package.name.clone() };
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
        let name = package.name.as_str();
        let runtime = knowledge.runtime_package(name).is_some() || knowledge.may_contain_libraries(name);
        package.manager == PackageManager::Apt && runtime && compat_package_cuda(name).is_none()
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
    // Whoever read the layers, or lists every file, has seen what is in them.
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
        && !seen.of_base.removed.iter().any(|(what, _)| removes_compat_library(what));
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
pub(super) fn is_compat_file(path: &str) -> bool {
    is_in_compat_tree(split_path(path).0)
}

/// Returns the driver version in `libcuda.so.575.57.08`; `None` for the soname link `libcuda.so.1`.
pub(super) fn libcuda_driver_version(name: &str) -> Option<DriverVersion> {
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

    #[test]
    fn a_compat_package_name_may_contain_its_cuda() {
        for (name, cuda, other) in [
            ("cuda-compat-12-4", Some("12.4"), false),
            ("cuda-compat-orin-12-2", None, true),
            ("cuda-compat-$RELEASE", None, true),
            ("cuda-compatible", None, false),
            ("cuda-toolkit-12-4", None, false),
        ] {
            let told = compat_package_cuda(name).map(|cuda| cuda.to_string());
            assert_eq!((told.as_deref(), is_compat_without_cuda(name)), (cuda, other), "{name}");
        }
    }

    #[test]
    fn a_soname_link_has_no_driver_version() {
        assert_eq!(libcuda_driver_version("libcuda.so.1"), None);
        assert_eq!(libcuda_driver_version("libcuda.so"), None);
        assert!(libcuda_driver_version("libcuda.so.575.57.08").is_some());
    }
}
