//! Changes that install or remove the CUDA compat library, or remove driver libraries from an image.

use crate::cuda::{CudaVersion, is_in_compat_tree, split_path};
use crate::fix::fix_context::FixContext;
use crate::fix::{FixCandidate, ProposedChange};
use crate::knowledge::{CudaImageRow, Knowledge};
use crate::model::fact::ObservedBase;
use crate::model::package::PackageManager;
use crate::report::kinds::{ChangeKind, FixSafety};

/// Returns candidates that remove the compat library, or install the one for the CUDA version of a core component.
pub(super) fn compat_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let mut found = Vec::new();
    let mut add = |title: String, safety: FixSafety, change: ProposedChange| {
        found.push(FixCandidate { kind: ChangeKind::Compat, step: found.len(), title, safety, change });
    };
    if case.image.compat.known().is_some() {
        let title = "leave out the compat library, so that the libcuda of the host is used".to_owned();
        add(title, FixSafety::Safe, ProposedChange::DropCompat);
        return found;
    }
    let cuda_base = matches!(&case.seen.base, ObservedBase::Image(image, _)
        if case.knowledge().is_cuda_repository(&image.familiar_name())
            && image.tag().is_some_and(|tag| tag.contains("ubuntu")));
    if !cuda_base {
        return found;
    }
    for cuda in case.core_components().filter_map(|component| component.cuda.known()) {
        if let Some(row) = case.knowledge().compat_package(*cuda)
            && let Some(name) = compat_package_name(case.knowledge(), row.cuda)
        {
            let title = format!("install {name}, the compat library of CUDA {}", row.cuda);
            add(title, FixSafety::Unsafe, ProposedChange::AddCompat(name.to_owned()));
        }
    }
    found
}

/// Returns the name of the compat package that CUDA images of a release contain.
fn compat_package_name(knowledge: Knowledge, cuda: CudaVersion) -> Option<&'static str> {
    let of_release =
        |row: &&CudaImageRow| row.version.parse().is_ok_and(|version: CudaVersion| version.release() == cuda.release());
    knowledge.cuda_images().iter().filter(of_release).find_map(|row| row.compat_package)
}

/// Returns candidates that remove packages and files which belong to the driver.
pub(super) fn driver_library_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let knowledge = case.knowledge();
    let mut changes: Vec<(String, ProposedChange)> = Vec::new();
    for package in case.seen.packages.iter().filter(|one| one.requirement.manager == PackageManager::System) {
        let of_driver = knowledge.driver_package(&package.requirement.name).is_some_and(|row| !row.toolkit);
        let known = changes
            .iter()
            .any(|(_, change)| *change == ProposedChange::DropPackage(package.requirement.name.to_string()));
        if of_driver && !known {
            changes.push((
                format!("leave out {}, which contains driver libraries", package.requirement.name),
                ProposedChange::DropPackage(package.requirement.name.to_string()),
            ));
        }
    }
    let files: Vec<String> = case
        .seen
        .files
        .keys()
        .filter(|path| is_driver_library(path) && !is_in_compat_tree(split_path(path).0))
        .cloned()
        .collect();
    if let Some(first) = files.first() {
        changes.push((format!("leave out {first}, a driver library"), ProposedChange::DropFiles(files)));
    }
    let candidate = |(step, (title, change)): (usize, (String, ProposedChange))| FixCandidate {
        kind: ChangeKind::DriverLibraries,
        step,
        title,
        safety: FixSafety::Unsafe,
        change,
    };
    changes.into_iter().enumerate().map(candidate).collect()
}

/// Whether a path is a user-mode driver library with a driver version in its name.
fn is_driver_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    (name.starts_with("libcuda.so.") || name.starts_with("libnvidia-")) && !path.contains("/stubs/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compat_package_is_that_of_the_images_of_the_release() {
        let knowledge = Knowledge::built_in();
        let of = |cuda: &str| compat_package_name(knowledge, cuda.parse().expect("a version"));
        assert_eq!((of("11.4"), of("9.0")), (Some("cuda-compat-11-4"), None));
    }
}
