//! Compat packages: what they install, and which commands remove it again.

use crate::cuda::{COMPAT_ROOT, CudaVersion, DriverVersion};
use crate::infer::base::BaseBuild;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::{Knowledge, RowInfo};
use crate::model::cause::Cause;
use crate::model::fact::{
    CompatDirectory, CompatLibrary, CompatNote, Derivation, Evidence, FactId, FactKey, Facts, TypedFact, ValueState,
};

/// The prefix of the names of compat packages.
const COMPAT_PACKAGE_PREFIX: &str = "cuda-compat";

/// A compat package, or equivalent libraries in an image.
pub(super) struct CompatPackage {
    pub(super) cuda: CudaVersion,
    /// The driver version that was installed.
    pub(super) version: Option<DriverVersion>,
    /// The driver version that a table lists for the image.
    pub(super) listed_version: Option<(DriverVersion, &'static RowInfo)>,
    /// The directory of its libraries, if it is not that of the package.
    pub(super) folder: Option<&'static str>,
    /// Whether `/usr/local/cuda` links to its toolkit; assumed if unknown.
    pub(super) linked: bool,
}

impl CompatPackage {
    /// Creates a compat package that a command installs.
    pub(super) fn from_install(cuda: CudaVersion, version: Option<DriverVersion>) -> Self {
        Self { cuda, version, listed_version: None, folder: None, linked: true }
    }
}

/// Whether removing a package or path leaves no compat library: `cuda-compat-12-4`, `/usr/local/cuda/compat`.
pub(super) fn removes_compat_library(what: &str) -> bool {
    if !what.starts_with('/') {
        let pattern = what.strip_suffix('*').filter(|head| !head.is_empty());
        return what.starts_with(COMPAT_PACKAGE_PREFIX)
            || pattern.is_some_and(|head| COMPAT_PACKAGE_PREFIX.starts_with(head));
    }
    let what = what.trim_end_matches('/');
    let Some((directory, rest)) = what.strip_prefix("/usr/local/").and_then(|rest| rest.split_once('/')) else {
        // The toolkit as a whole; `/usr/local/cuda` is a link to it.
        return what.starts_with("/usr/local/cuda-") || what == "/usr/local/cuda*";
    };
    let mut parts = rest.split('/');
    let inside = |part: Option<&str>| match part {
        None | Some("*" | "lib.real") => true,
        Some(name) => name.starts_with("lib*") || name.starts_with("libcuda"),
    };
    directory.starts_with("cuda")
        && parts.next().is_some_and(|part| part == "compat" || part == "compat*")
        && inside(parts.next())
        && parts.next().is_none_or(|part| part == "*")
}

/// Returns the directory into which the compat package of a CUDA version installs its libraries.
pub(super) fn compat_directory(cuda: CudaVersion) -> String {
    format!("/usr/local/cuda-{}.{}/compat", cuda.major(), cuda.minor())
}

/// Returns every path of that directory, the real one first; the others are links that toolkit packages create.
pub(super) fn compat_directory_names(cuda: CudaVersion) -> Vec<String> {
    vec![compat_directory(cuda), COMPAT_ROOT.to_owned(), format!("/usr/local/cuda-{}/compat", cuda.major())]
}

/// Adds the fact of the compat library that a package installs.
pub(super) fn compat_from_package(
    facts: &mut Facts,
    package: &CompatPackage,
    from: Vec<FactId>,
    knowledge: Knowledge,
) -> TypedFact<CompatDirectory> {
    let row = knowledge.compat_package(package.cuda);
    let info: Option<&'static RowInfo> = package.listed_version.map(|(_, info)| info).or(row.map(|row| &row.info));
    let evidence = Evidence::Derived { by: Derivation::Row, from, row: info };
    let Some(compat) = compat_package_content(package, knowledge) else {
        let cuda = package.cuda;
        let why = Cause::CompatDriverNotKnown { cuda: cuda.to_string() };
        return add_unknown_fact(facts, FactKey::Compat, None, why, evidence);
    };
    facts.add_typed(FactKey::Compat, None, ValueState::Known(compat), evidence)
}

/// Returns the compat package of the base image.
pub(super) fn base_compat_package(build: &BaseBuild) -> Option<CompatPackage> {
    let (cuda, _) = build.cuda.filter(|_| matches!(build.compat, Some((true, _))))?;
    Some(CompatPackage {
        cuda,
        version: None,
        listed_version: build.compat_version,
        folder: build.compat_folder,
        linked: true,
    })
}

/// Returns the compat libraries in the image, including that of the base image if it is in another directory.
pub(super) fn with_base_compat(
    facts: &mut Facts,
    found: TypedFact<CompatDirectory>,
    own: Option<&CompatPackage>,
    (kept, added): (bool, bool),
    build: &BaseBuild,
    knowledge: Knowledge,
) -> TypedFact<CompatDirectory> {
    let base = own.and_then(|package| compat_package_content(package, knowledge));
    let (Some(compat), Some(base)) = (found.known(), base) else { return found };
    let both = merge_base_compat(compat.clone(), base, kept, added);
    if both.libraries.len() == compat.libraries.len() {
        return found;
    }
    let from = std::iter::once(found.id).chain(build.fact).collect();
    let evidence = Evidence::Derived { by: Derivation::Inheritance, from, row: build.family_row };
    facts.add_typed(FactKey::Compat, None, ValueState::Known(both), evidence)
}

/// Returns what a package installs; `None` if its libcuda version is unknown.
fn compat_package_content(package: &CompatPackage, knowledge: Knowledge) -> Option<CompatDirectory> {
    let cuda = package.cuda;
    let row = knowledge.compat_package(cuda);
    let newest = || row.and_then(|row| row.versions.last().copied());
    let listed_version = package.listed_version.map(|(version, _)| version);
    let version = package.version.or(listed_version).or_else(newest)?;
    // The package's own directory; the links to it are made when it is installed.
    let own = compat_directory(cuda);
    let (directories, root) = if let Some(folder) = package.folder {
        let behind = folder.strip_prefix(COMPAT_ROOT).map(|rest| format!("{own}{rest}"));
        (behind.into_iter().chain([folder.to_owned()]).collect(), None)
    } else {
        (compat_directory_names(cuda), Some(COMPAT_ROOT))
    };
    let noted = row.filter(|row| row.noted);
    // The notes of all releases that were read name the same brands.
    let device = || knowledge.brands().iter().filter(|row| row.compat).map(|row| row.number).collect();
    let note =
        noted.map(|row| CompatNote { cuda: Some(row.cuda), driver: row.base_branches.to_vec(), device: device() });
    let unread = note.is_none();
    let library = CompatLibrary { version, note, directories, root, regular: true, unread };
    Some(CompatDirectory {
        libraries: vec![library],
        cuda: Some(cuda),
        ptx_compiler: Some(true),
        absolute_link: true,
        root_seen: package.linked,
    })
}

/// Merges the compat library of the base image into the compat libraries in the image.
///
/// `kept`: the link that toolkits follow still leads to that of the base. `added`: a command added the library, so
/// that of the base is there as well; otherwise, the library found in its directory is that of the base.
fn merge_base_compat(mut found: CompatDirectory, base: CompatDirectory, kept: bool, added: bool) -> CompatDirectory {
    let directory = |library: &CompatLibrary| library.directories.first().cloned();
    let there: Vec<(Option<String>, DriverVersion)> =
        found.libraries.iter().map(|library| (directory(library), library.version)).collect();
    let is_found = |library: &CompatLibrary| {
        let mut there = there.iter();
        there.any(|(own, version)| *own == directory(library) && (!added || *version == library.version))
    };
    for mut library in base.libraries.into_iter().filter(|library| !is_found(library)) {
        if !kept {
            library.root = None;
            library.directories.truncate(1);
        } else if library.root.is_some() {
            let elsewhere = |other: &&mut CompatLibrary| {
                other.root == library.root && other.directories.first() != library.directories.first()
            };
            for other in found.libraries.iter_mut().filter(elsewhere) {
                other.root = None;
                other.directories.truncate(1);
            }
        }
        found.libraries.push(library);
    }
    found.ptx_compiler = found.ptx_compiler.filter(|own| base.ptx_compiler == Some(*own));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_removal_leaves_no_compat_library() {
        for (what, expected) in [
            ("cuda-compat-12-4", true),
            ("cuda-compat-*", true),
            ("/usr/local/cuda/compat", true),
            ("/usr/local/cuda/compat/", true),
            ("/usr/local/cuda-12.4/compat/*", true),
            ("/usr/local/cuda*/compat", true),
            ("/usr/local/cuda/compat/lib.real", true),
            ("/usr/local/cuda-12.4", true),
            ("/usr/local/cuda*", true),
            ("cuda-*", true),
            ("/usr/local/cuda", false),
            ("*", false),
            ("cuda-toolkit-*", false),
            ("/usr/local/cuda/compat/libcuda.so*", true),
            ("/usr/local/cuda/compat/libnvidia-nvvm.so.4", false),
            ("/usr/local/cuda/compat/lib.real/libcuda.so.1", false),
            ("/usr/local/cuda/lib64/stubs", false),
            ("/usr/local/compat", false),
            ("/opt/cuda/compat", false),
            ("cuda-toolkit-12-4", false),
            ("compat", false),
        ] {
            assert_eq!(removes_compat_library(what), expected, "{what}");
        }
    }
}
