//! Stubs of the toolkit that a base brings: of concern where `ldconfig` is told of their directory.

use crate::cuda::CudaVersion;
use crate::cuda::LdConf;
use crate::cuda::lies_below;
use crate::cuda::split_path;
use crate::fact::BaseSeen;
use crate::fact::DriverLibrary;
use crate::fact::FactId;
use crate::fact::FileKind;
use crate::fact::Observations;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::places::LD_CONF;
use crate::infer::places::LD_CONF_FOLDER;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// The stub: `ldconfig` links the name that programs ask for to it, by the soname inside.
const STUB: &str = "libcuda.so";
/// The packages that bring it begin so.
const PACKAGE: &str = "cuda-driver-dev";

/// The stub of the base, with what tells of it, where a file for `ldconfig` names its directory.
pub(super) fn of_base(
    seen: &Observations,
    build: &BaseBuild,
    arch: &str,
    knowledge: Knowledge,
) -> Option<(DriverLibrary, Vec<FactId>, &'static RowInfo)> {
    let BaseSeen::Image(reference, _) = &seen.base else { return None };
    let (cuda, _) = build.cuda.filter(|_| build.family == Family::Cuda && !seen.complete.files)?;
    let tag = reference.tag()?;
    let mut rows = knowledge.stub_directories().iter();
    let row = rows.find(|row| row.arch == arch && tag.split('-').any(|word| word == row.flavour))?;
    let directories = names(cuda, row.directories);
    let listed = listed(seen, &directories)?;
    if seen.of_base.removed.iter().any(|(what, _)| takes(what, &directories)) {
        return None;
    }
    let path = format!("{}/{STUB}", directories.first()?);
    let library = DriverLibrary { path, directories, version: None, libcuda: true, stub: true, link: false };
    Some((library, build.fact.into_iter().chain([listed]).collect(), &row.info))
}

/// Every name of the directory, the real one first.
fn names(cuda: CudaVersion, folders: &[&str]) -> Vec<String> {
    let (major, minor) = (cuda.major(), cuda.minor());
    let roots = [format!("cuda-{major}.{minor}"), "cuda".to_owned(), format!("cuda-{major}")];
    let in_root =
        |root: &String| -> Vec<String> { folders.iter().map(|folder| format!("/usr/local/{root}/{folder}")).collect() };
    roots.iter().flat_map(in_root).collect()
}

/// The file that names one of the directories to `ldconfig`.
fn listed(seen: &Observations, directories: &[String]) -> Option<FactId> {
    let read = |path: &str| {
        let (folder, name) = split_path(path);
        path == LD_CONF || (folder == LD_CONF_FOLDER && name.strip_suffix(".conf").is_some())
    };
    let names = |text: &str| LdConf::read("", text).directories.iter().any(|one| directories.contains(one));
    seen.files.iter().find_map(|(path, file)| match &file.kind {
        FileKind::Text(text) if read(path) && names(text) => Some(file.fact),
        _ => None,
    })
}

/// Whether a removal takes the stub away: its package, the file itself or a directory above it.
fn takes(what: &str, directories: &[String]) -> bool {
    let what = what.trim_end_matches(['*', '/']);
    let toolkit = what.starts_with("/usr/local/cuda");
    what.starts_with(PACKAGE) || (toolkit && directories.iter().any(|one| lies_below(&format!("{one}/{STUB}"), what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_takes_the_stub_by_any_of_its_names() {
        let directories =
            names("12.1.1".parse().expect("a version"), &["targets/x86_64-linux/lib/stubs", "lib64/stubs"]);
        for (what, expected) in [
            ("/usr/local/cuda/lib64/stubs", true),
            ("/usr/local/cuda/lib64/stubs/*", true),
            ("/usr/local/cuda-12.1/lib64/stubs/libcuda.so", true),
            ("/usr/local/cuda-12.1", true),
            ("cuda-driver-dev-12-1", true),
            ("/usr/local/cuda-11.8/lib64/stubs", false),
            ("/usr/local/cuda/lib64/stubs/libnvidia-ml.so", false),
            ("/usr/local/cuda/compat", false),
            ("/usr/local/cuda/lib64/stub", false),
            ("cuda-compat-12-1", false),
            ("/", false),
        ] {
            assert_eq!(takes(what, &directories), expected, "{what}");
        }
    }
}
