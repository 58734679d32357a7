//! CUDA toolkit libraries that COPY adds to an image without CUDA, recognised by their names and folders.

use crate::cuda::{CudaVersion, LIBCUDA_SONAME, split_path};
use crate::dockerfile::{CopyDestination, CopyInstruction};
use crate::extract::stage_files::absolute_path;
use crate::knowledge::{Knowledge, ToolkitLibraryRow};
use crate::model::fact::{Observations, ObservedBase};
use crate::model::reference::ImageReference;

/// The folder of stub libraries, which no program loads.
const STUBS_FOLDER: &str = "stubs";
/// The prefix of the folders of CUDA toolkits.
const TOOLKIT_ROOT_PREFIX: &str = "/usr/local/cuda";
/// Compiler and linker libraries, which require no driver in any release.
const COMPILER_LIBRARIES: &[&str] = &["libnvJitLink", "libnvrtc", "libnvrtc-builtins", "libnvvm"];
/// The prefix of tag parts that add libraries from outside of the toolkit.
const CUDNN_PREFIX: &str = "cudnn";

/// Returns the CUDA release of a CUDA base image; `None` for another image or an unknown tag.
pub(super) fn release_of_cuda_image(image: &ImageReference, knowledge: Knowledge) -> Option<CudaVersion> {
    if !knowledge.is_cuda_repository(&image.familiar_name()) {
        return None;
    }
    let version = image.tag()?.split('-').next()?;
    knowledge.cuda_images_for_version(version).last()?.version.parse().ok()
}

/// Whether the base image is known to contain no CUDA of its own.
pub(super) fn base_lacks_cuda(seen: &Observations, knowledge: Knowledge) -> bool {
    match &seen.base {
        ObservedBase::Scratch(_) => true,
        ObservedBase::Image(image, _) => knowledge.plain_image(&image.familiar_name()).is_some(),
        ObservedBase::NotSaid | ObservedBase::Unresolved(..) => false,
    }
}

/// Returns the soname of a toolkit library by its stem: `libcublas.so.12` of `libcublas`.
pub(super) fn find_soname(stem: &str, cuda: CudaVersion, knowledge: Knowledge) -> Option<&'static str> {
    let mut sonames = libraries_of_release(cuda, knowledge).flat_map(|row| row.sonames);
    sonames.find(|soname| soname.split(".so").next() == Some(stem)).copied()
}

/// Returns the toolkit libraries of a CUDA release.
fn libraries_of_release(cuda: CudaVersion, knowledge: Knowledge) -> impl Iterator<Item = &'static ToolkitLibraryRow> {
    knowledge.toolkit_libraries().iter().filter(move |row| {
        let from = row.from.is_none_or(|from| from <= cuda);
        row.cuda_major == cuda.major() && from && row.before.is_none_or(|before| cuda < before)
    })
}

/// The CUDA release of toolkit libraries that a COPY adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopiedCuda {
    /// A release, whose minor version may be unknown.
    Release(CudaVersion),
    /// An unknown release.
    Unknown,
}

/// Returns the CUDA release of the toolkit libraries that a COPY adds, if any; `own` is that of its source image.
pub(super) fn cuda_of_copy(
    copy: &CopyInstruction,
    own: Option<CudaVersion>,
    knowledge: Knowledge,
) -> Option<CopiedCuda> {
    let known = copy.sources.iter().filter_map(|(source, _)| source.known_text());
    let all: Vec<CopiedCuda> =
        known.filter_map(|source| cuda_of_source(source, copy.from.is_some(), own, knowledge)).collect();
    all.iter().find(|cuda| matches!(cuda, CopiedCuda::Release(_))).or(all.first()).copied()
}

/// Returns the CUDA release of one COPY source; a folder counts only if it comes from another image or stage.
fn cuda_of_source(source: &str, from: bool, own: Option<CudaVersion>, knowledge: Knowledge) -> Option<CopiedCuda> {
    let source = absolute_path("/", source);
    let name = split_path(&source).1;
    let of_path = release_of_path(&source).map(|path_release| match own {
        Some(own) if own.release() == path_release.release() => own,
        _ => path_release,
    });
    if !is_toolkit_library(&source, knowledge) {
        let toolkit = from && is_toolkit_root(&source);
        return match (of_path.or(own), is_library_folder(&source)) {
            (Some(cuda), true) if from => Some(CopiedCuda::Release(cuda)),
            _ => (toolkit || (from && is_library_folder(&source))).then_some(CopiedCuda::Unknown),
        };
    }
    let stem = name.split(".so").next().unwrap_or(name);
    if COMPILER_LIBRARIES.contains(&stem) {
        return Some(CopiedCuda::Unknown);
    }
    let means = |soname: &str| name.strip_prefix(soname).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let rows = knowledge.toolkit_libraries().iter().filter(|row| row.sonames.iter().any(|soname| means(soname)));
    let mut majors: Vec<u32> = rows.map(|row| row.cuda_major).collect();
    majors.dedup();
    let fits = |cuda: &CudaVersion| majors.is_empty() || majors.contains(&cuda.major());
    let of_name = || match majors.as_slice() {
        [only] => only.to_string().parse().ok(),
        _ => None,
    };
    let release = of_path.or(own).filter(fits).or_else(|| knowledge.cuda_of_runtime(name)).or_else(of_name);
    Some(release.map_or(CopiedCuda::Unknown, CopiedCuda::Release))
}

/// Returns the release in the name of a toolkit folder: 12.2 of `/usr/local/cuda-12.2/lib64`.
fn release_of_path(source: &str) -> Option<CudaVersion> {
    let version = source.strip_prefix(TOOLKIT_ROOT_PREFIX)?.strip_prefix('-')?.split('/').next()?;
    version.contains('.').then(|| version.parse().ok()).flatten()
}

/// Returns the rest of a path after the root folder of a toolkit.
fn strip_toolkit_root(source: &str) -> Option<&str> {
    let rest = source.strip_prefix(TOOLKIT_ROOT_PREFIX)?;
    let rest =
        if rest.starts_with('-') { rest.find('/').map_or("", |at| rest.get(at..).unwrap_or_default()) } else { rest };
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

/// Whether a path means a whole toolkit.
fn is_toolkit_root(source: &str) -> bool {
    strip_toolkit_root(source).is_some_and(|rest| rest.trim_end_matches('*').is_empty())
}

/// Whether a path means the library folder of a toolkit, or all of its files.
fn is_library_folder(source: &str) -> bool {
    let Some(rest) = strip_toolkit_root(source) else { return false };
    let (folder, name) = rest.rsplit_once('/').unwrap_or(("", rest));
    let is_own = |folder: &str| {
        let parts: Vec<&str> = folder.split('/').collect();
        matches!(parts.as_slice(), ["lib64" | "lib"] | ["targets", _, "lib"])
    };
    is_own(rest)
        || (is_own(folder) && matches!(name, "*" | "*.so" | "*.so*" | "*.so.*" | "lib*" | "lib*.so*" | "lib*.so.*"))
}

/// Returns the paths at which a COPY puts toolkit libraries; for a folder, those that the tag of the source `image`
/// implies.
pub(super) fn copied_library_paths(
    copy: &CopyInstruction,
    cuda: CudaVersion,
    image: Option<&ImageReference>,
    knowledge: Knowledge,
) -> Vec<String> {
    let Some(CopyDestination { path, is_folder }) = &copy.destination else { return Vec::new() };
    let into = path.trim_end_matches('/');
    let mut found = Vec::new();
    for source in copy.sources.iter().filter_map(|(source, _)| source.known_text()) {
        let source = absolute_path("/", source);
        let name = split_path(&source).1;
        let stem = name.split(".so").next().unwrap_or(name);
        if !is_library_folder(&source) && !is_toolkit_library(&source, knowledge) {
            continue;
        }
        if is_library_folder(&source) {
            let rows = libraries_of_release(cuda, knowledge)
                .filter(|row| !row.flavour.starts_with(CUDNN_PREFIX))
                .filter(|row| image.is_some_and(|image| image_has_flavour(image, row.flavour, knowledge)));
            found.extend(rows.flat_map(|row| row.sonames).map(|name| format!("{into}/{name}")));
        } else if name.contains('*') {
            found.extend(find_soname(stem, cuda, knowledge).map(|name| format!("{into}/{name}")));
        } else if *is_folder || !split_path(into).1.contains(".so") {
            found.push(format!("{into}/{name}"));
        } else {
            found.push(into.to_owned());
        }
    }
    found
}

/// Whether a CUDA image contains the libraries of a flavour, by its tag.
fn image_has_flavour(image: &ImageReference, flavour: &str, knowledge: Knowledge) -> bool {
    let Some(tag) = image.tag().filter(|_| release_of_cuda_image(image, knowledge).is_some()) else { return false };
    let included = knowledge.cuda_flavour(tag).is_some_and(|row| row.holds.contains(&flavour));
    included || tag.split('-').any(|word| word == flavour) || knowledge.smallest_cuda_flavour() == Some(flavour)
}

/// Whether a path is a toolkit library that programs load.
fn is_toolkit_library(source: &str, knowledge: Knowledge) -> bool {
    let source = absolute_path("/", source);
    let (folder, name) = split_path(&source);
    let Some((stem, _)) = name.split_once(".so") else { return false };
    if folder.split('/').any(|part| part == STUBS_FOLDER) || LIBCUDA_SONAME.starts_with(&format!("{stem}.")) {
        return false;
    }
    let mut sonames = knowledge.toolkit_libraries().iter().flat_map(|row| row.sonames);
    sonames.any(|soname| soname.split(".so").next() == Some(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolkit_libraries_are_recognised_by_name() {
        for source in [
            "/usr/local/cuda/lib64/libcudart.so.12",
            "/usr/local/cuda-12.1/targets/x86_64-linux/lib/libcublas.so.12.1.3.1",
            "/opt/x/libcublasLt.so",
            "/usr/local/cuda/lib64/libcudart.so*",
        ] {
            assert!(is_toolkit_library(source, Knowledge::built_in()), "{source}");
        }
        for source in [
            "/usr/local/cuda/compat/libcuda.so.1",
            "/usr/lib/x86_64-linux-gnu/libcuda.so",
            "/usr/local/cuda/bin/nvcc",
            "/usr/local/cuda/include",
            "/usr/local/cuda/lib64/",
            "/usr/local/cuda/lib64/cmake",
            "/usr/local/cuda/lib64/stubs",
            "/usr/local/cuda/lib64/stubs/libcublas.so",
            "/usr/local/cuda/lib64/libcudart_static.a",
            "/usr/local/cuda",
            "/usr/local/cuda/version.json",
            "/usr/local/cudasomething/lib64",
            "/usr/lib/libcurl.so.4",
            "/usr/lib/libcu*",
            "/usr/lib/lib*.so",
            "/usr/lib/x86_64-linux-gnu",
            "/app/run",
            "/app/*",
            "/",
            "/usr/local",
        ] {
            assert!(!is_toolkit_library(source, Knowledge::built_in()), "{source}");
        }
    }

    #[test]
    fn the_release_follows_from_the_folder_the_soname_or_the_image() {
        let release = |text: &str| text.parse::<CudaVersion>().expect(text);
        let own = Some(release("13.0.0"));
        for (source, own, expected) in [
            ("/usr/local/cuda/lib64/libcudart.so.13", own, "13.0.0"),
            ("/usr/local/cuda/lib64/libcudart.so*", own, "13.0.0"),
            ("/usr/local/cuda-13.0/lib64/libcublas.so.13", own, "13.0.0"),
            ("/usr/local/cuda-12.2/lib64/libcudart.so.12", own, "12.2"),
            ("/opt/x/libcudart.so.12", own, "12"),
            ("/opt/x/libcudart.so.12.4.127", own, "12.4.127"),
            ("/opt/x/libcublas.so.12", own, "12"),
            ("libcudart.so.12", None, "12"),
            ("libcudart.so.10.2", None, "10.2"),
            ("/usr/lib/libcublas.so.11", None, "11"),
            ("/usr/local/cuda/lib64", own, "13.0.0"),
            ("/usr/local/cuda/lib64/*.so*", own, "13.0.0"),
            ("/usr/local/cuda-12.2/targets/x86_64-linux/lib/", own, "12.2"),
            // The version is unknown.
            ("/usr/local/cuda/lib64/libnvrtc.so.13", own, "?"),
            ("/usr/lib/libcudart.so", None, "?"),
            ("/usr/local/cuda/lib64", None, "?"),
            ("/usr/local/cuda", own, "?"),
            ("/usr/local/cuda-13.0/", own, "?"),
            // There is none.
            ("/usr/local/cuda/include", own, "-"),
            ("/usr/local/cuda/bin", own, "-"),
            ("/usr/local/cuda/lib64/stubs", own, "-"),
            ("/usr/local/cuda/lib64/cmake", own, "-"),
            ("/usr/local/cuda/lib64/*.a", own, "-"),
            ("/usr/local/cudasomething/lib64", own, "-"),
            ("/usr/lib", own, "-"),
            ("/app/lib64", own, "-"),
        ] {
            let actual = match cuda_of_source(source, true, own, Knowledge::built_in()) {
                Some(CopiedCuda::Release(cuda)) => cuda.to_string(),
                Some(CopiedCuda::Unknown) => "?".to_owned(),
                None => "-".to_owned(),
            };
            assert_eq!(actual, expected, "{source}");
        }
        assert_eq!(cuda_of_source("/usr/local/cuda/lib64", false, own, Knowledge::built_in()), None);
    }
}
