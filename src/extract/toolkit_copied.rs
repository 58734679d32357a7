//! CUDA that COPY brings to an image without: libraries of its toolkit, told by their names and folders.

use crate::cuda::CudaVersion;
use crate::cuda::LIBCUDA;
use crate::cuda::split_path;
use crate::dockerfile::CopyInstruction;
use crate::extract::tree::absolute;
use crate::fact::BaseSeen;
use crate::fact::Observations;
use crate::knowledge::Knowledge;
use crate::knowledge::ToolkitLibraryRow;
use crate::reference::ImageReference;

/// The folder of libraries to link against, which no program loads.
const STUBS: &str = "stubs";
/// Where toolkits lie, each under a name that begins so.
const ROOT: &str = "/usr/local/cuda";
/// Compilers and linkers among the libraries: they ask no driver, whichever release they are of.
const COMPILERS: &[&str] = &["libnvJitLink", "libnvrtc", "libnvrtc-builtins", "libnvvm"];
/// How words of a tag begin that bring libraries from elsewhere.
const CUDNN: &str = "cudnn";

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

/// The library of a release by the beginning of its name: `libcublas.so.12` of `libcublas`; none that is no library of the
/// toolkit.
pub(super) fn soname(stem: &str, cuda: CudaVersion, knowledge: Knowledge) -> Option<&'static str> {
    let mut sonames = rows_of(cuda, knowledge).flat_map(|row| row.sonames);
    sonames.find(|soname| soname.split(".so").next() == Some(stem)).copied()
}

/// The libraries of a release.
fn rows_of(cuda: CudaVersion, knowledge: Knowledge) -> impl Iterator<Item = &'static ToolkitLibraryRow> {
    knowledge.toolkit_libraries().iter().filter(move |row| {
        let from = row.from.is_none_or(|from| from <= cuda);
        row.cuda_major == cuda.major() && from && row.before.is_none_or(|before| cuda < before)
    })
}

/// Of which CUDA the libraries of the toolkit are that a COPY brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Of a release, of which the minor may not be known.
    Release(CudaVersion),
    /// That cannot be told.
    Untold,
}

/// What a COPY tells by the names of the libraries that it brings; `own` is the release of the image at the bottom of what
/// is copied from. None where it brings none.
pub(super) fn told(copy: &CopyInstruction, own: Option<CudaVersion>, knowledge: Knowledge) -> Option<Told> {
    let known = copy.sources.iter().filter_map(|(source, _)| source.known());
    let all: Vec<Told> = known.filter_map(|source| of_source(source, copy.from.is_some(), own, knowledge)).collect();
    all.iter().find(|told| matches!(told, Told::Release(_))).or(all.first()).copied()
}

/// What one source tells; of folders those count that come from another image or stage.
fn of_source(source: &str, from: bool, own: Option<CudaVersion>, knowledge: Knowledge) -> Option<Told> {
    let source = absolute("/", source);
    let name = split_path(&source).1;
    let of_path = release_of_path(&source).map(|said| match own {
        Some(own) if own.release() == said.release() => own,
        _ => said,
    });
    if !is_library(&source, knowledge) {
        let toolkit = from && is_toolkit(&source);
        return match (of_path.or(own), is_folder(&source)) {
            (Some(cuda), true) if from => Some(Told::Release(cuda)),
            _ => (toolkit || (from && is_folder(&source))).then_some(Told::Untold),
        };
    }
    let stem = name.split(".so").next().unwrap_or(name);
    if COMPILERS.contains(&stem) {
        return Some(Told::Untold);
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
    let told = of_path.or(own).filter(fits).or_else(|| knowledge.runtime_of(name)).or_else(of_name);
    Some(told.map_or(Told::Untold, Told::Release))
}

/// The release in the name of a folder: 12.2 of `/usr/local/cuda-12.2/lib64`.
fn release_of_path(source: &str) -> Option<CudaVersion> {
    let said = source.strip_prefix(ROOT)?.strip_prefix('-')?.split('/').next()?;
    said.contains('.').then(|| said.parse().ok()).flatten()
}

/// What stands behind the root of a toolkit in a path, without a pattern for all that lies there.
fn behind_root(source: &str) -> Option<&str> {
    let rest = source.strip_prefix(ROOT)?;
    let rest =
        if rest.starts_with('-') { rest.find('/').map_or("", |at| rest.get(at..).unwrap_or_default()) } else { rest };
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

/// Whether a path means a whole toolkit.
fn is_toolkit(source: &str) -> bool {
    behind_root(source).is_some_and(|rest| rest.trim_end_matches('*').is_empty())
}

/// Whether a path means the folder of the libraries of a toolkit, or all that lies in it.
fn is_folder(source: &str) -> bool {
    let Some(rest) = behind_root(source) else { return false };
    let (folder, name) = rest.rsplit_once('/').unwrap_or(("", rest));
    let is_own = |folder: &str| {
        let parts: Vec<&str> = folder.split('/').collect();
        matches!(parts.as_slice(), ["lib64" | "lib"] | ["targets", _, "lib"])
    };
    is_own(rest)
        || (is_own(folder) && matches!(name, "*" | "*.so" | "*.so*" | "*.so.*" | "lib*" | "lib*.so*" | "lib*.so.*"))
}

/// Where the libraries of the toolkit come to lie that a COPY brings; of a folder those that the `image` at the bottom of what
/// is copied from has by its tag.
pub(super) fn landing(
    copy: &CopyInstruction,
    cuda: CudaVersion,
    image: Option<&ImageReference>,
    knowledge: Knowledge,
) -> Vec<String> {
    let Some(written) = copy.destination.as_ref().and_then(|(path, _)| path.known()) else { return Vec::new() };
    let into = absolute(copy.workdir.as_deref().unwrap_or("/"), written);
    let into = into.trim_end_matches('/');
    let mut found = Vec::new();
    for source in copy.sources.iter().filter_map(|(source, _)| source.known()) {
        let source = absolute("/", source);
        let name = split_path(&source).1;
        let stem = name.split(".so").next().unwrap_or(name);
        if !is_folder(&source) && !is_library(&source, knowledge) {
            continue;
        }
        if is_folder(&source) {
            let held = rows_of(cuda, knowledge)
                .filter(|row| !row.flavour.starts_with(CUDNN))
                .filter(|row| image.is_some_and(|image| has(image, row.flavour, knowledge)));
            found.extend(held.flat_map(|row| row.sonames).map(|name| format!("{into}/{name}")));
        } else if name.contains('*') {
            found.extend(soname(stem, cuda, knowledge).map(|name| format!("{into}/{name}")));
        } else if written.ends_with('/') || copy.sources.len() > 1 || !split_path(into).1.contains(".so") {
            found.push(format!("{into}/{name}"));
        } else {
            found.push(into.to_owned());
        }
    }
    found
}

/// Whether a CUDA image has the libraries of a flavour by its tag.
fn has(image: &ImageReference, flavour: &str, knowledge: Knowledge) -> bool {
    let Some(tag) = image.tag().filter(|_| release(image, knowledge).is_some()) else { return false };
    let included = knowledge.cuda_flavour(tag).is_some_and(|row| row.holds.contains(&flavour));
    included || tag.split('-').any(|word| word == flavour) || knowledge.least_cuda_flavour() == Some(flavour)
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

    #[test]
    fn the_release_is_told_by_the_folder_the_soname_or_the_image() {
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
            // Which it is cannot be told.
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
            let said = match of_source(source, true, own, Knowledge::built_in()) {
                Some(Told::Release(cuda)) => cuda.to_string(),
                Some(Told::Untold) => "?".to_owned(),
                None => "-".to_owned(),
            };
            assert_eq!(said, expected, "{source}");
        }
        assert_eq!(of_source("/usr/local/cuda/lib64", false, own, Knowledge::built_in()), None);
    }
}
