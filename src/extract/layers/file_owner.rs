//! The owner of a file that contains GPU code, decided by its path.

use crate::knowledge::Knowledge;
use crate::layer::installed::is_cache_or_build_path;
use crate::model::package::PackageName;

/// The owner of a file in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileOwner {
    /// The CUDA toolkit, one of its libraries, or the driver.
    Cuda,
    /// The cache of a tool; no program of the image runs it.
    ToolCache,
    /// A package in a site-packages folder, or a library that is recognised by its name.
    Component {
        /// The name of the package or library.
        name: String,
        /// The site-packages folder that contains the file, if any.
        site: Option<String>,
    },
    /// The image itself: no package owns the file.
    Image,
}

/// Returns the owner of the file at `path`.
pub(super) fn owner_of_file(path: &str, knowledge: Knowledge) -> FileOwner {
    if is_cache_or_build_path(path) {
        return FileOwner::ToolCache;
    }
    if knowledge.is_cuda_file(path) {
        return FileOwner::Cuda;
    }
    let imported = split_site_packages_path(path);
    if let Some(name) = knowledge.component_of_library(path) {
        let site = imported.map(|(site, _)| site.to_owned());
        return FileOwner::Component { name: name.to_owned(), site };
    }
    match imported {
        Some((site, import)) => {
            let plain = PackageName::python(import);
            let name = knowledge.component_of_import(import, &plain).unwrap_or(&plain).to_owned();
            FileOwner::Component { name, site: Some(site.to_owned()) }
        }
        None => FileOwner::Image,
    }
}

/// Splits a path below site-packages into that folder and the import name: `torch` of `torch/lib/libc10_cuda.so`.
fn split_site_packages_path(path: &str) -> Option<(&str, &str)> {
    let end = |marker: &str| path.find(marker).map(|at| at + marker.len());
    let at = ["/site-packages/", "/dist-packages/"].into_iter().filter_map(end).min()?;
    let (site, rest) = path.split_at_checked(at)?;
    let site = site.trim_matches('/');
    let (first, inside) = rest.split_once('/').map_or((rest, false), |(first, _)| (first, true));
    let record = first.strip_suffix(".dist-info").or_else(|| first.strip_suffix(".egg-info"));
    let import = match record {
        // The record of a distribution begins with its name.
        Some(record) => record.split('-').next().unwrap_or(record),
        // Libraries that are bundled with a wheel are in a sibling directory.
        None if inside => first.strip_suffix(".libs").unwrap_or(first),
        None => first.split('.').next().unwrap_or(first),
    };
    (!import.is_empty()).then_some((site, import))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_package_that_imports_it() {
        let of = |name: &str, site: &str| FileOwner::Component {
            name: name.to_owned(),
            site: Some(site.to_owned()).filter(|site| !site.is_empty()),
        };
        let packages = "opt/venv/lib/python3.11/site-packages";
        for (path, expected) in [
            ("torch/lib/libtorch_cuda.so", of("torch", packages)),
            ("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", of("flash-attn", packages)),
            ("my_kernels/_C.abi3.so", of("my-kernels", packages)),
            ("cupy_cuda12x.libs/libx-1.so", of("cupy", packages)),
            ("torch-2.6.0+cu124.dist-info/METADATA", of("torch", packages)),
            ("torch-2.6.0.dist-info", of("torch", packages)),
            ("my_kernels-1.0.egg-info", of("my-kernels", packages)),
            ("nvidia/cublas/lib/libcublas.so.12", FileOwner::Cuda),
            ("torch/lib/libcudnn.so.8", FileOwner::Cuda),
        ] {
            assert_eq!(owner_of_file(&format!("/{packages}/{path}"), Knowledge::built_in()), expected, "{path}");
        }
        for (path, expected) in [
            ("/opt/libtorch/lib/libtorch_cuda.so", of("torch", "")),
            ("/usr/local/cuda-12.4/lib64/libcublas.so.12", FileOwner::Cuda),
            ("/usr/lib/x86_64-linux-gnu/libnccl.so.2", FileOwner::Cuda),
            ("/root/.cache/uv/archive-v0/x/torch/lib/libtorch_cuda.so", FileOwner::ToolCache),
            ("/app/bin/server", FileOwner::Image),
            ("/app/site-packages", FileOwner::Image),
        ] {
            assert_eq!(owner_of_file(path, Knowledge::built_in()), expected, "{path}");
        }
    }
}
