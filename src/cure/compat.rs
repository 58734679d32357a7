//! The compat library brought in or left out, and driver libraries that do not belong into an image.

use crate::cuda::CudaVersion;
use crate::cuda::in_compat_directory;
use crate::cuda::split_path;
use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::fact::BaseSeen;
use crate::fact::Manager;
use crate::knowledge::CudaImageRow;
use crate::knowledge::Knowledge;
use crate::report::kinds::FixSafety;

/// Without the compat library, or with the one of each core component's CUDA.
pub(super) fn compat(case: &Case<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut add = |title: String, safety: FixSafety, wish: Wish| {
        found.push(Candidate { kind: Kind::Compat, step: found.len(), title, safety, wish });
    };
    if case.image.compat.known().is_some() {
        let title = "leave out the compat library, so that the libcuda of the host is used".to_owned();
        add(title, FixSafety::Safe, Wish::DropCompat);
        return found;
    }
    let cuda_base = matches!(&case.seen.base, BaseSeen::Image(image, _)
        if case.knowledge().is_cuda_repository(&image.familiar())
            && image.tag().is_some_and(|tag| tag.contains("ubuntu")));
    if !cuda_base {
        return found;
    }
    for cuda in case.core().filter_map(|component| component.cuda.known()) {
        if let Some(row) = case.knowledge().compat_package(*cuda)
            && let Some(name) = package(case.knowledge(), row.cuda)
        {
            let title = format!("install {name}, the compat library of CUDA {}", row.cuda);
            add(title, FixSafety::Unsafe, Wish::AddCompat(name.to_owned()));
        }
    }
    found
}

/// The compat package of a CUDA release, as the images of that release have it.
fn package(knowledge: Knowledge, cuda: CudaVersion) -> Option<&'static str> {
    let of_release =
        |row: &&CudaImageRow| row.version.parse().is_ok_and(|version: CudaVersion| version.release() == cuda.release());
    knowledge.cuda_images().iter().filter(of_release).find_map(|row| row.compat_package)
}

/// Whether a package brings the compat library: it is called as those of the images are, but for the release.
pub(super) fn is_compat(knowledge: Knowledge, name: &str) -> bool {
    let kind = |own: &'static str| own.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    let mut kinds = knowledge.cuda_images().iter().filter_map(|row| row.compat_package).map(kind);
    kinds.any(|kind| name.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}

/// Without packages and files that are the driver's.
pub(super) fn driver_libraries(case: &Case<'_>) -> Vec<Candidate> {
    let knowledge = case.knowledge();
    let mut wishes: Vec<(String, Wish)> = Vec::new();
    for package in case.seen.packages.iter().filter(|one| one.manager == Manager::Apt) {
        let of_driver = knowledge.driver_package(&package.name).is_some_and(|row| !row.toolkit);
        let known = wishes.iter().any(|(_, wish)| *wish == Wish::DropPackage(package.name.clone()));
        if of_driver && !known {
            wishes.push((
                format!("leave out {}, which contains driver libraries", package.name),
                Wish::DropPackage(package.name.clone()),
            ));
        }
    }
    let files: Vec<String> = case
        .seen
        .files
        .keys()
        .filter(|path| is_driver(path) && !in_compat_directory(split_path(path).0))
        .cloned()
        .collect();
    if let Some(first) = files.first() {
        wishes.push((format!("leave out {first}, a driver library"), Wish::DropFiles(files)));
    }
    let candidate = |(step, (title, wish)): (usize, (String, Wish))| Candidate {
        kind: Kind::DriverLibraries,
        step,
        title,
        safety: FixSafety::Unsafe,
        wish,
    };
    wishes.into_iter().enumerate().map(candidate).collect()
}

/// Whether a path is that of the user-mode driver or a part of it, with the version of a driver.
fn is_driver(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    (name.starts_with("libcuda.so.") || name.starts_with("libnvidia-")) && !path.contains("/stubs/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compat_packages_are_those_that_images_install() {
        let knowledge = Knowledge::built_in();
        for (name, expected) in [
            ("cuda-compat", true),
            ("cuda-compat-12-4", true),
            ("cuda-compat-99-0", true),
            ("cuda-compatible", false),
            ("cuda-cudart-12-4", false),
            ("nvidia-cuda-compat-12-4", false),
            ("", false),
        ] {
            assert_eq!(is_compat(knowledge, name), expected, "{name}");
        }
        let of = |cuda: &str| package(knowledge, cuda.parse().expect("a version"));
        assert_eq!((of("11.4"), of("9.0")), (Some("cuda-compat-11-4"), None));
    }
}
