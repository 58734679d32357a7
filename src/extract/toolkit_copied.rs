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
/// What stands in front of the star of a pattern has more letters, so that it means libraries of one kind.
const SHORTEST: usize = 5;

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

/// Whether the base says nothing of the CUDA of a program that was compiled elsewhere: it has none, or another major release.
pub(super) fn tells_none(seen: &Observations, cuda: CudaVersion, knowledge: Knowledge) -> bool {
    let other = |image| release(image, knowledge).is_some_and(|own| own.major() != cuda.major());
    is_without(seen, knowledge) || matches!(&seen.base, BaseSeen::Image(image, _) if other(image))
}

/// Whether every library of the toolkit that a COPY brings by its name is one of a CUDA release.
pub(super) fn is_of(copy: &CopyInstruction, cuda: CudaVersion, knowledge: Knowledge) -> bool {
    let sources = copy.sources.iter().filter_map(|(source, _)| source.known());
    let rows = |soname: &str| {
        let mut rows = knowledge.toolkit_libraries().iter().filter(|row| row.sonames.contains(&soname));
        let first = rows.clone().next().is_some();
        (first, rows.any(|row| row.cuda_major == cuda.major()))
    };
    let folder =
        |source: &str| source.split('/').find_map(|part| part.strip_prefix("cuda-")?.parse::<CudaVersion>().ok());
    sources.filter(|source| is_library(source, knowledge)).all(|source| {
        let (listed, own) = rows(split_path(source).1);
        (own || !listed)
            && folder(source).is_none_or(|named| (named.major(), named.minor()) == (cuda.major(), cuda.minor()))
    })
}

/// Whether a COPY out of a CUDA image brings libraries of the toolkit, told by their names.
pub(super) fn brings(copy: &CopyInstruction, knowledge: Knowledge) -> bool {
    copy.sources.iter().filter_map(|(source, _)| source.known()).any(|source| is_library(source, knowledge))
}

/// Whether a COPY names what it brings by a pattern.
pub(super) fn has_pattern(copy: &CopyInstruction) -> bool {
    copy.sources.iter().filter_map(|(source, _)| source.known()).any(|source| source.contains('*'))
}

/// The libraries of the toolkit that a COPY brings by their names, as they are called where they lie then; of those that a
/// pattern means the ones that the `image` at the bottom of its stage has.
pub(super) fn named(copy: &CopyInstruction, image: Option<&ImageReference>, knowledge: Knowledge) -> Vec<String> {
    let Some(to) = copy.destination.as_ref().and_then(|(path, _)| path.known()) else { return Vec::new() };
    let whole = absolute(&copy.folder, to);
    let is_folder = to.ends_with('/') || copy.sources.len() > 1 || !split_path(&whole).1.contains(".so");
    let here = |name: &str| if is_folder { format!("{}/{name}", whole.trim_end_matches('/')) } else { whole.clone() };
    let mut found = Vec::new();
    for source in copy.sources.iter().filter_map(|(source, _)| source.known()) {
        let name = source.rsplit('/').next().unwrap_or(source);
        match name.split_once('*') {
            Some((start, _)) if start.len() > SHORTEST => {
                let held = image.map(|image| held(image, knowledge)).unwrap_or_default();
                found.extend(held.iter().filter(|soname| soname.starts_with(start)).map(|soname| here(soname)));
            }
            None if is_library(source, knowledge) => found.push(here(name)),
            Some(_) | None => {}
        }
    }
    found
}

/// The libraries of the toolkit that a CUDA image has by its tag.
fn held(image: &ImageReference, knowledge: Knowledge) -> Vec<&'static str> {
    let (Some(cuda), Some(tag)) = (release(image, knowledge), image.tag()) else { return Vec::new() };
    let (told, least) = (knowledge.cuda_flavour(tag), knowledge.least_cuda_flavour());
    let has = |flavour: &str| {
        let included = told.is_some_and(|row| row.holds.contains(&flavour));
        included || tag.split('-').any(|word| word == flavour) || least == Some(flavour)
    };
    let rows = knowledge.toolkit_libraries().iter().filter(|row| {
        row.cuda_major == cuda.major()
            && row.from.is_none_or(|from| from <= cuda)
            && row.before.is_none_or(|before| cuda < before)
    });
    rows.filter(|row| has(row.flavour)).flat_map(|row| row.sonames.iter().copied()).collect()
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
