//! Driver libraries in the image that are meant for forward compatibility.

use crate::cuda::COMPAT_ROOT;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::cuda::LIBCUDA;
use crate::cuda::TOOLKIT_ROOT;
use crate::cuda::in_compat_directory;
use crate::cuda::split_path;
use crate::cuda::toolkit_directory;
use crate::fact::Compat;
use crate::fact::CompatLibrary;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::EnvFacts;
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
use crate::infer::compat::Package;
use crate::infer::compat::beside_own;
use crate::infer::compat::compat_from_package;
use crate::infer::compat::own_directory;
use crate::infer::compat::own_names;
use crate::infer::compat::own_package;
use crate::infer::compat::removes_compat;
use crate::infer::driver_libraries::maybe_there;
use crate::infer::places::Tree;
use crate::infer::unknown;
use crate::knowledge::Knowledge;

/// How libcuda is named, with whatever version.
const LIBCUDA_BEGINS: &str = "libcuda.so";
/// Compat packages begin so.
const PACKAGE: &str = "cuda-compat-";

/// What lies in the compat directory.
pub(super) fn compat(
    facts: &mut Facts,
    seen: &Observations,
    tree: &Tree<'_>,
    build: &BaseBuild,
    env: &EnvFacts,
    base_cuda: &Fact<CudaVersion>,
    knowledge: Knowledge,
) -> Fact<Compat> {
    let removed: Vec<FactId> =
        seen.of_base.removed.iter().filter(|(what, _)| removes_compat(what)).map(|(_, fact)| *fact).collect();
    let own = own_package(build).filter(|_| removed.is_empty() && !seen.complete.files);
    if let Some(fact) = compat_from_files(facts, seen, tree, build, knowledge) {
        let here = |package: &Package| tree.resolve(COMPAT_ROOT) == Some(own_directory(package.cuda));
        let kept = !seen.files.contains_key(TOOLKIT_ROOT) || own.as_ref().is_some_and(here);
        let added = seen.depth == Depth::Text;
        return beside_own(facts, fact, own.as_ref(), (kept, added), build, knowledge);
    }
    if let Some((reason, fact)) = maybe_there(seen, |name| name.starts_with(LIBCUDA_BEGINS), is_compat) {
        let supply = "scan the built image, or list its libraries under [files] of an image description".to_owned();
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None };
        return unknown(facts, FactKey::Compat, None, Why { reason, supply }, evidence);
    }
    let packages = || seen.packages.iter().filter_map(|package| Some((package, compat_cuda(&package.name)?)));
    let certain = packages().find(|(package, _)| package.conditional.is_none());
    if let Some((package, _)) = packages().next().filter(|_| certain.is_none())
        && let Some(why) = package.conditional.clone()
    {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
        return unknown(facts, FactKey::Compat, None, why, evidence);
    }
    if let Some((package, cuda)) = certain {
        let version = match &package.version {
            PackageVersion::Exact(text) => text.split('-').next().and_then(|text| text.parse().ok()),
            PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
        };
        let linked = !nothing_links(seen, build, knowledge);
        let package_seen = Package { linked, ..Package::installed(cuda, version) };
        let fact = compat_from_package(facts, &package_seen, vec![package.fact], knowledge);
        return beside_own(facts, fact, own.as_ref(), (true, false), build, knowledge);
    }
    let other = seen.packages.iter().rev().find(|package| package.manager == Manager::Apt && is_other(&package.name));
    if let Some(package) = other {
        let why = Why {
            reason: format!("the driver version of the libraries in {} is unknown", package.name),
            supply: "list its libcuda under [files] of an image description, or scan the image".to_owned(),
        };
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
        return unknown(facts, FactKey::Compat, None, why, evidence);
    }
    if !removed.is_empty() {
        let searched = "the remaining packages of the base image";
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: removed, row: None };
        return facts.add_typed(FactKey::Compat, None, State::Absent { searched }, evidence);
    }
    let package = env.get("NV_CUDA_COMPAT_PACKAGE");
    if let Some(cuda) = package.known().and_then(|name| compat_cuda(name)) {
        return compat_from_package(facts, &Package::installed(cuda, None), vec![package.id], knowledge);
    }
    let from: Vec<FactId> = build.fact.into_iter().collect();
    match build.compat {
        Some((true, _)) if let Some(package) = own_package(build) => {
            compat_from_package(facts, &package, vec![base_cuda.id], knowledge)
        }
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

/// Whether nothing that was seen makes the link `/usr/local/cuda`: NVIDIA's own recipes make it beside the compat
/// package, or install a runtime whose dependencies do.
fn nothing_links(seen: &Observations, build: &BaseBuild, knowledge: Knowledge) -> bool {
    let links = |package: &PackageSeen| {
        let name = package.name.as_str();
        let runtime = knowledge.runtime_package(name).is_some() || knowledge.carries_libraries(name);
        package.manager == Manager::Apt && runtime && compat_cuda(name).is_none()
    };
    let plain = build.family == Family::Plain && seen.depth == Depth::Text;
    plain && !seen.files.contains_key(TOOLKIT_ROOT) && !seen.packages.iter().any(links)
}

fn compat_from_files(
    facts: &mut Facts,
    seen: &Observations,
    tree: &Tree<'_>,
    build: &BaseBuild,
    knowledge: Knowledge,
) -> Option<Fact<Compat>> {
    let linked = link_of_base(seen, build);
    let modules = knowledge.tegra_capabilities().iter().filter_map(|row| row.compat_root);
    let roots: Vec<(&'static str, Option<String>)> =
        std::iter::once(COMPAT_ROOT).chain(modules).map(|root| (root, tree.resolve(root))).collect();
    let mut libraries = Vec::new();
    let mut from = Vec::new();
    let mut cuda = None;
    let mut ptx_compiler = false;
    let mut unnumbered = None;
    // Whoever read the layers, or lists every file, has seen what is in them.
    let looked = seen.depth == Depth::Layers || seen.complete.files;
    for (path, file) in &seen.files {
        let name = split_path(path).1;
        let folder = split_path(path).0;
        let by_base = linked.filter(|cuda| folder == own_directory(*cuda) || folder == COMPAT_ROOT);
        let directories = || by_base.map_or_else(|| tree.directories(path), own_names);
        let real = directories().into_iter().next();
        let root = roots.iter().find(|(_, resolved)| resolved.is_some() && *resolved == real).map(|(root, _)| *root);
        let root = root.or(by_base.map(|_| COMPAT_ROOT));
        if !is_compat(path) && root.is_none() && !matches!(file.kind, FileKind::Noted(_)) {
            continue;
        }
        ptx_compiler |= name.starts_with("libnvidia-ptxjitcompiler.so");
        if matches!(file.kind, FileKind::Link(_)) && name.starts_with("libcuda.so.") {
            libraries.extend(behind(path, root, tree, seen).into_iter().flatten().inspect(|_| from.push(file.fact)));
            continue;
        }
        if let Some(version) = library_version(name) {
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
        } else if name == LIBCUDA && file.kind == FileKind::Present && !looked {
            unnumbered = Some((path, file.fact));
        }
    }
    let numbered = |path: &str| {
        let folder = tree.directories(path).into_iter().next();
        libraries.iter().any(|library: &CompatLibrary| library.directories.first() == folder.as_ref())
    };
    if let Some((path, fact)) = unnumbered.filter(|(path, _)| !numbered(path)) {
        let why = Why {
            reason: format!("the driver version of {path} is unknown"),
            supply: "list the file with its version under [files] of an image description, or scan the image"
                .to_owned(),
        };
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None };
        return Some(unknown(facts, FactKey::Compat, None, why, evidence));
    }
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    if libraries.is_empty() {
        return seen.complete.files.then(|| {
            facts.add_typed(FactKey::Compat, None, State::Absent { searched: "every file of the image" }, evidence)
        });
    }
    let by_branch = |library: &CompatLibrary| knowledge.driver_cuda(library.version).map(|(cuda, _)| cuda);
    let cuda = cuda.or_else(|| libraries.last().and_then(by_branch));
    let ptx_compiler = (ptx_compiler || seen.complete.files).then_some(ptx_compiler);
    let absolute_link = tree.absolute_link() || linked.is_some();
    let root_seen = linked.is_some() || link_seen(seen, build) || libraries.iter().any(|one| one.root.is_some());
    let compat = Compat { libraries, cuda, ptx_compiler, absolute_link, root_seen };
    Some(facts.add_typed(FactKey::Compat, None, State::Known(compat), evidence))
}

/// Whether what `/usr/local/cuda` is was seen, be it that nothing lies there.
fn link_seen(seen: &Observations, build: &BaseBuild) -> bool {
    seen.complete.files
        || seen.files.contains_key(TOOLKIT_ROOT)
        || (build.family == Family::Plain && seen.depth == Depth::Text)
}

/// The toolkit that the base's own link `/usr/local/cuda` leads to, where nothing else was seen in its place.
fn link_of_base(seen: &Observations, build: &BaseBuild) -> Option<CudaVersion> {
    let kept = !link_seen(seen, build) && !seen.of_base.removed.iter().any(|(what, _)| removes_compat(what));
    let (cuda, _) = build.cuda.filter(|_| kept && matches!(build.family, Family::Cuda | Family::Framework))?;
    Some(cuda)
}

/// A library elsewhere that a link of a compat directory leads to: as the link, which libnvidia-container follows and
/// the hooks do not, and as the file that it is. One in the directory itself is found without it.
fn behind(path: &str, root: Option<&'static str>, tree: &Tree<'_>, seen: &Observations) -> Option<[CompatLibrary; 2]> {
    let target = tree.resolve(path)?;
    let version = library_version(split_path(&target).1)?;
    let directories = tree.directories(&target);
    let note = match seen.files.get(&target).map(|file| &file.kind) {
        Some(FileKind::Noted(note)) => Some(note.clone()),
        None if seen.complete.files => return None,
        Some(_) | None => None,
    };
    if root.is_none() || is_compat(&target) || directories.first() == tree.directories(path).first() {
        return None;
    }
    let file = CompatLibrary { version, note, directories, root: None, regular: true, unread: false };
    Some([CompatLibrary { root, regular: false, ..file.clone() }, file])
}

/// Whether a file lies in a compat directory of a toolkit, or deeper.
pub(super) fn is_compat(path: &str) -> bool {
    in_compat_directory(split_path(path).0)
}

/// The driver version in `libcuda.so.575.57.08`; none for the soname link `libcuda.so.1`.
pub(super) fn library_version(name: &str) -> Option<DriverVersion> {
    let version: DriverVersion = name.strip_prefix("libcuda.so.")?.parse().ok()?;
    (version.0.len() > 1).then_some(version)
}

/// Whether this is a compat package whose name tells no CUDA: `cuda-compat-orin-12-2`, `cuda-compat-$RELEASE`.
fn is_other(package: &str) -> bool {
    package.starts_with(PACKAGE) && compat_cuda(package).is_none()
}

/// CUDA of `cuda-compat-12-4`.
fn compat_cuda(package: &str) -> Option<CudaVersion> {
    let package = package.split('=').next().unwrap_or(package);
    package.strip_prefix(PACKAGE)?.replace('-', ".").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compat_package_says_its_cuda_or_not() {
        for (name, cuda, other) in [
            ("cuda-compat-12-4", Some("12.4"), false),
            ("cuda-compat-orin-12-2", None, true),
            ("cuda-compat-$RELEASE", None, true),
            ("cuda-compatible", None, false),
            ("cuda-toolkit-12-4", None, false),
        ] {
            let told = compat_cuda(name).map(|cuda| cuda.to_string());
            assert_eq!((told.as_deref(), is_other(name)), (cuda, other), "{name}");
        }
    }

    #[test]
    fn a_soname_link_tells_no_driver_version() {
        assert_eq!(library_version("libcuda.so.1"), None);
        assert_eq!(library_version("libcuda.so"), None);
        assert!(library_version("libcuda.so.575.57.08").is_some());
    }
}
