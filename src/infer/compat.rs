//! Compat packages: what they put into an image, and which commands take it away again.

use crate::cuda::COMPAT_ROOT;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::Compat;
use crate::fact::CompatLibrary;
use crate::fact::Derivation;
use crate::fact::ElfNote;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::unknown;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// The compat packages begin so.
const PACKAGE: &str = "cuda-compat";

/// A compat package, or what lies in an image as if it were one.
pub(super) struct Package {
    pub(super) cuda: CudaVersion,
    /// The version that was installed.
    pub(super) version: Option<DriverVersion>,
    /// The version that a table tells of the image.
    pub(super) told: Option<(DriverVersion, &'static RowInfo)>,
    /// Where its libraries were put, if not where the package has them.
    pub(super) folder: Option<&'static str>,
    /// Whether `/usr/local/cuda` leads to its toolkit; on that of which it is not known, the library goes as if it did.
    pub(super) linked: bool,
}

impl Package {
    /// One that a command installs.
    pub(super) fn installed(cuda: CudaVersion, version: Option<DriverVersion>) -> Self {
        Self { cuda, version, told: None, folder: None, linked: true }
    }
}

/// Whether the removal of a package or path leaves no compat library: `cuda-compat-12-4`, `/usr/local/cuda/compat`.
pub(super) fn removes_compat(what: &str) -> bool {
    if !what.starts_with('/') {
        let pattern = what.strip_suffix('*').filter(|head| !head.is_empty());
        return what.starts_with(PACKAGE) || pattern.is_some_and(|head| PACKAGE.starts_with(head));
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

/// Where the package of a CUDA version puts its libraries.
pub(super) fn own_directory(cuda: CudaVersion) -> String {
    format!("/usr/local/cuda-{}.{}/compat", cuda.major(), cuda.minor())
}

/// Every name of that directory, the real one first: the packages of the toolkit make the links to it.
pub(super) fn own_names(cuda: CudaVersion) -> Vec<String> {
    vec![own_directory(cuda), COMPAT_ROOT.to_owned(), format!("/usr/local/cuda-{}/compat", cuda.major())]
}

/// The compat library that a package brings.
pub(super) fn compat_from_package(
    facts: &mut Facts,
    package: &Package,
    from: Vec<FactId>,
    knowledge: Knowledge,
) -> Fact<Compat> {
    let row = knowledge.compat_package(package.cuda);
    let info: Option<&'static RowInfo> = package.told.map(|(_, info)| info).or(row.map(|row| &row.info));
    let evidence = Evidence::Derived { by: Derivation::Row, from, row: info };
    let Some(compat) = content(package, knowledge) else {
        let cuda = package.cuda;
        let why = Why {
            reason: format!(
                "the driver version in the cuda-compat package of CUDA {cuda} is not in the \
                compatibility database"
            ),
            supply: "run `imagelint scan` on the built image".to_owned(),
        };
        return unknown(facts, FactKey::Compat, None, why, evidence);
    };
    facts.add_typed(FactKey::Compat, None, State::Known(compat), evidence)
}

/// The compat package that the base has.
pub(super) fn own_package(build: &BaseBuild) -> Option<Package> {
    let (cuda, _) = build.cuda.filter(|_| matches!(build.compat, Some((true, _))))?;
    Some(Package { cuda, version: None, told: build.compat_version, folder: build.compat_folder, linked: true })
}

/// What was found, and the compat library of the base where it lies in another directory.
pub(super) fn beside_own(
    facts: &mut Facts,
    found: Fact<Compat>,
    own: Option<&Package>,
    (kept, added): (bool, bool),
    build: &BaseBuild,
    knowledge: Knowledge,
) -> Fact<Compat> {
    let base = own.and_then(|package| content(package, knowledge));
    let (Some(compat), Some(base)) = (found.known(), base) else { return found };
    let both = beside(compat.clone(), base, kept, added);
    if both.libraries.len() == compat.libraries.len() {
        return found;
    }
    let from = std::iter::once(found.id).chain(build.fact).collect();
    let evidence = Evidence::Derived { by: Derivation::Inheritance, from, row: build.family_row };
    facts.add_typed(FactKey::Compat, None, State::Known(both), evidence)
}

/// What a package puts into an image; none where the tables do not tell which libcuda it holds.
fn content(package: &Package, knowledge: Knowledge) -> Option<Compat> {
    let cuda = package.cuda;
    let row = knowledge.compat_package(cuda);
    let newest = || row.and_then(|row| row.versions.last().copied());
    let told = package.told.map(|(version, _)| version);
    let version = package.version.or(told).or_else(newest)?;
    // The package's own directory; the links to it are made when it is installed.
    let own = own_directory(cuda);
    let (directories, root) = if let Some(folder) = package.folder {
        let behind = folder.strip_prefix(COMPAT_ROOT).map(|rest| format!("{own}{rest}"));
        (behind.into_iter().chain([folder.to_owned()]).collect(), None)
    } else {
        (own_names(cuda), Some(COMPAT_ROOT))
    };
    let noted = row.filter(|row| row.noted);
    // The notes of all releases that were read name the same brands.
    let device = || knowledge.brands().iter().filter(|row| row.compat).map(|row| row.number).collect();
    let note = noted.map(|row| ElfNote { cuda: Some(row.cuda), driver: row.base_branches.to_vec(), device: device() });
    let unread = note.is_none();
    let library = CompatLibrary { version, note, directories, root, regular: true, unread };
    Some(Compat {
        libraries: vec![library],
        cuda: Some(cuda),
        ptx_compiler: Some(true),
        absolute_link: true,
        root_seen: package.linked,
    })
}

/// What lies in an image beside the compat library of its base, and that library.
///
/// `kept`: the link that toolkits go by still leads to the base's. `added`: what was found was put there by somebody, so
/// that the base's own lies there too; else what is found in its directory is that.
fn beside(mut found: Compat, base: Compat, kept: bool, added: bool) -> Compat {
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
    fn only_the_whole_removal_leaves_no_compat_library() {
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
            assert_eq!(removes_compat(what), expected, "{what}");
        }
    }
}
