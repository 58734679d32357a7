//! CUDA that COPY brings from a CUDA image to one without: libraries of its toolkit.

use crate::cuda::CudaVersion;
use crate::cuda::LIBCUDA;
use crate::cuda::split_path;
use crate::dockerfile::CopyInstruction;
use crate::extract::tree::absolute;
use crate::fact::BaseSeen;
use crate::fact::Observations;
use crate::knowledge::Knowledge;
use crate::reference::ImageReference;

/// The folder of libraries to link against, which no program loads.
const STUBS: &str = "stubs";

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

/// Whether a COPY out of a CUDA image brings libraries of the toolkit, told by their names.
pub(super) fn brings(copy: &CopyInstruction, knowledge: Knowledge) -> bool {
    copy.sources.iter().filter_map(|(source, _)| source.known()).any(|source| is_library(source, knowledge))
}

/// Whether a path means a library of the toolkit that programs load.
fn is_library(source: &str, knowledge: Knowledge) -> bool {
    let source = absolute("/", source);
    let (folder, name) = split_path(&source);
    let Some((stem, _)) = name.split_once(".so") else { return false };
    if folder.split('/').any(|part| part == STUBS) || LIBCUDA.starts_with(&format!("{stem}.")) {
        return false;
    }
    let mut sonames = knowledge.toolkit_libraries().iter().flat_map(|row| row.sonames);
    sonames.any(|soname| soname.split(".so").next() == Some(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_toolkit_are_told_by_name() {
        for source in [
            "/usr/local/cuda/lib64/libcudart.so.12",
            "/usr/local/cuda-12.1/targets/x86_64-linux/lib/libcublas.so.12.1.3.1",
            "/opt/x/libcublasLt.so",
            "/usr/local/cuda/lib64/libcudart.so*",
        ] {
            assert!(is_library(source, Knowledge::built_in()), "{source}");
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
            assert!(!is_library(source, Knowledge::built_in()), "{source}");
        }
    }
}
