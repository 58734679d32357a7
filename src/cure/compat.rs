//! The compat library brought in or left out, and driver libraries that do not belong into an image.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Safety;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::fact::BaseSeen;
use crate::fact::Manager;

/// Without the compat library, or with the one of each core component's CUDA.
pub(super) fn compat(case: &Case<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut add = |title: String, safety: Safety, wish: Wish| {
        found.push(Candidate { kind: Kind::Compat, step: found.len(), title, safety, wish });
    };
    if case.image.compat.known().is_some() {
        let title = "leave out the compat library, so that the libcuda of the host is used".to_owned();
        add(title, Safety::Safe, Wish::DropCompat);
        return found;
    }
    let cuda_base = matches!(&case.seen.base, BaseSeen::Image(image, _)
        if case.knowledge().is_cuda_repository(&image.familiar())
            && image.tag().is_some_and(|tag| tag.contains("ubuntu")));
    if !cuda_base {
        return found;
    }
    for cuda in case.core().filter_map(|component| component.cuda.known()) {
        if let Some(row) = case.knowledge().compat_package(*cuda) {
            let name = format!("cuda-compat-{}-{}", row.cuda.major(), row.cuda.minor());
            let title = format!("install {name}, the compat library of CUDA {}", row.cuda);
            add(title, Safety::Unsafe, Wish::AddCompat(name));
        }
    }
    found
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
                format!("leave out {}, which brings libraries of a driver", package.name),
                Wish::DropPackage(package.name.clone()),
            ));
        }
    }
    let files: Vec<String> =
        case.seen.files.keys().filter(|path| is_driver(path) && !path.contains("/compat/")).cloned().collect();
    if let Some(first) = files.first() {
        wishes.push((format!("leave out {first}, a library of a driver"), Wish::DropFiles(files)));
    }
    let candidate = |(step, (title, wish)): (usize, (String, Wish))| Candidate {
        kind: Kind::DriverLibraries,
        step,
        title,
        safety: Safety::Unsafe,
        wish,
    };
    wishes.into_iter().enumerate().map(candidate).collect()
}

/// Whether a path is that of the user-mode driver or a part of it, with the version of a driver.
fn is_driver(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    (name.starts_with("libcuda.so.") || name.starts_with("libnvidia-")) && !path.contains("/stubs/")
}
