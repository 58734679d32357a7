//! Stub libraries of the toolkit in a base image: they matter if `ldconfig` includes their directory.

use crate::cuda::{CudaVersion, LdConf, is_at_or_below, split_path};
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::system_paths::{LD_CONF, LD_CONF_DIRECTORY};
use crate::knowledge::{Knowledge, RowInfo};
use crate::model::fact::{DriverLibrary, FactId, FileKind, Observations, ObservedBase};

/// The stub library; `ldconfig` creates the soname link that programs load to it.
const STUB_LIBRARY: &str = "libcuda.so";
/// The name prefix of the packages that install it.
const STUB_PACKAGE_PREFIX: &str = "cuda-driver-dev";

/// Returns the stub of the base image, with its evidence, if an `ldconfig` file names its directory.
pub(super) fn base_stub(
    seen: &Observations,
    build: &BaseBuild,
    arch: &str,
    knowledge: Knowledge,
) -> Option<(DriverLibrary, Vec<FactId>, &'static RowInfo)> {
    let ObservedBase::Image(reference, _) = &seen.base else { return None };
    let (cuda, _) = build.cuda.filter(|_| build.family == BaseFamily::Cuda && !seen.complete.files)?;
    let tag = reference.tag()?;
    let mut rows = knowledge.stub_directories().iter();
    let row = rows.find(|row| row.arch == arch && tag.split('-').any(|word| word == row.flavour))?;
    let directories = stub_directory_names(cuda, row.directories);
    let listed = find_ld_conf_file(seen, &directories)?;
    if seen.base_changes.removed.iter().any(|(what, _)| removes_stub(what, &directories)) {
        return None;
    }
    let path = format!("{}/{STUB_LIBRARY}", directories.first()?);
    let library = DriverLibrary { path, directories, version: None, libcuda: true, stub: true, link: false };
    Some((library, build.fact.into_iter().chain([listed]).collect(), &row.info))
}

/// Returns every name of the stub directory, the real one first.
fn stub_directory_names(cuda: CudaVersion, folders: &[&str]) -> Vec<String> {
    let (major, minor) = (cuda.major(), cuda.minor());
    let roots = [format!("cuda-{major}.{minor}"), "cuda".to_owned(), format!("cuda-{major}")];
    let in_root =
        |root: &String| -> Vec<String> { folders.iter().map(|folder| format!("/usr/local/{root}/{folder}")).collect() };
    roots.iter().flat_map(in_root).collect()
}

/// Finds an `ldconfig` configuration file that lists one of the directories, and returns the fact about it.
fn find_ld_conf_file(seen: &Observations, directories: &[String]) -> Option<FactId> {
    let read = |path: &str| {
        let (folder, name) = split_path(path);
        path == LD_CONF || (folder == LD_CONF_DIRECTORY && name.strip_suffix(".conf").is_some())
    };
    let names = |text: &str| LdConf::parse("", text).directories.iter().any(|one| directories.contains(one));
    seen.files.iter().find_map(|(path, file)| match &file.kind {
        FileKind::Text(text) if read(path) && names(text) => Some(file.fact),
        _ => None,
    })
}

/// Whether a removal removes the stub: its package, the file itself or a directory above it.
fn removes_stub(what: &str, directories: &[String]) -> bool {
    let what = what.trim_end_matches(['*', '/']);
    let toolkit = what.starts_with("/usr/local/cuda");
    what.starts_with(STUB_PACKAGE_PREFIX)
        || (toolkit && directories.iter().any(|one| is_at_or_below(&format!("{one}/{STUB_LIBRARY}"), what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_by_any_directory_name_removes_the_stub() {
        let directories = stub_directory_names(
            "12.1.1".parse().expect("a version"),
            &["targets/x86_64-linux/lib/stubs", "lib64/stubs"],
        );
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
            assert_eq!(removes_stub(what, &directories), expected, "{what}");
        }
    }
}
