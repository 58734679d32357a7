//! CUDA that COPY brings from a CUDA image to one without: libraries of its toolkit, and programs that were compiled with it.

use crate::cuda::CudaVersion;
use crate::cuda::LIBCUDA;
use crate::cuda::lies_below;
use crate::cuda::split_path;
use crate::dockerfile::CopyInstruction;
use crate::extract::compiled;
use crate::extract::tree::absolute;
use crate::fact::BaseSeen;
use crate::fact::Observations;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;

/// Where toolkits lie, each under a name that begins so.
const TOOLKIT: &str = "/usr/local/cuda";
/// Folders of a toolkit that hold its libraries.
const FOLDERS: &[&str] = &["lib64", "lib", "targets"];

/// The CUDA release of a CUDA base image; none of another image, or where the tables do not have its tag.
pub(super) fn release(image: &ImageReference, knowledge: Knowledge) -> Option<CudaVersion> {
    if !knowledge.is_cuda_repository(&image.familiar()) {
        return None;
    }
    let version = image.tag()?.split('-').next()?;
    knowledge.cuda_images_of(version).last()?.version.parse().ok()
}

/// Whether nothing is known of the base by which it would hold a CUDA of its own.
pub(super) fn is_without(seen: &Observations, knowledge: Knowledge) -> bool {
    match &seen.base {
        BaseSeen::Scratch(_) => true,
        BaseSeen::Image(image, _) => knowledge.plain_image(&image.familiar()).is_some(),
        BaseSeen::NotSaid | BaseSeen::Unresolved(..) => false,
    }
}

/// Whether a COPY out of a CUDA image brings libraries of the toolkit, or programs that lie in `places`.
pub(super) fn brings(copy: &CopyInstruction, places: &[String], knowledge: Knowledge) -> bool {
    let mut sources = copy.sources.iter().filter_map(|(source, _)| source.known());
    sources.any(|source| is_library(source, knowledge) || compiled::brings(source, places))
}

/// Whether a path means a library of the toolkit, by its name or by the folder that they lie in.
fn is_library(source: &str, knowledge: Knowledge) -> bool {
    let source = absolute("/", source);
    if let Some(rest) = source.strip_prefix(TOOLKIT) {
        let inside = rest.split_once('/').map(|(_, inside)| inside.trim_end_matches('*').trim_end_matches('/'));
        let folder = |inside: &str| {
            inside.is_empty() || FOLDERS.iter().any(|folder| lies_below(inside, folder) && !inside.contains(".so"))
        };
        if inside.is_none_or(folder) {
            return rest.is_empty() || rest.starts_with(['-', '/']);
        }
    }
    let name = split_path(&source).1;
    let Some((stem, _)) = name.split_once(".so").or_else(|| name.split_once('*')) else { return false };
    let pattern = name.find(['*', '?', '[']).filter(|at| *at < stem.len());
    let meant = |soname: &str| match pattern.or_else(|| (!name.contains(".so")).then_some(stem.len())) {
        Some(at) => at > "libcu".len() && soname.starts_with(name.get(..at).unwrap_or(name)),
        None => soname.split(".so").next() == Some(stem),
    };
    let mut sonames = knowledge.toolkit_libraries().iter().flat_map(|row| row.sonames);
    !LIBCUDA.starts_with(&format!("{stem}.")) && sonames.any(|soname| meant(soname))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_toolkit_are_told_by_name_or_folder() {
        for source in [
            "/usr/local/cuda/lib64/libcudart.so.12",
            "/usr/local/cuda-12.1/targets/x86_64-linux/lib/libcublas.so.12.1.3.1",
            "/opt/x/libcublasLt.so",
            "/usr/local/cuda/lib64/libcudart.so*",
            "/usr/local/cuda/lib64/libcublas*",
            "/usr/local/cuda/lib64/",
            "/usr/local/cuda/lib64/*",
            "/usr/local/cuda",
            "/usr/local/cuda-12.1/",
        ] {
            assert!(is_library(source, Knowledge::built_in()), "{source}");
        }
        for source in [
            "/usr/local/cuda/compat/libcuda.so.1",
            "/usr/lib/x86_64-linux-gnu/libcuda.so",
            "/usr/local/cuda/bin/nvcc",
            "/usr/local/cuda/include",
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
            assert!(!is_library(source, Knowledge::built_in()), "{source}");
        }
    }
}
