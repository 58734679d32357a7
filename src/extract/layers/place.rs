//! Whose GPU code a file holds, by where it lies.

use crate::install::normalised;
use crate::installed::is_kept;
use crate::knowledge::Knowledge;

/// Who a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// CUDA and its libraries, or the driver.
    Cuda,
    /// Nobody that runs it: the cache of a tool.
    Kept,
    /// A package that Python imports from this folder, or a library that is known by its name.
    Component {
        /// Its name.
        name: String,
        /// The folder that Python imports it from.
        site: Option<String>,
    },
    /// The image itself.
    Image,
}

/// Whose file it is.
pub(super) fn owner(path: &str, knowledge: Knowledge) -> Owner {
    if is_kept(path) {
        return Owner::Kept;
    }
    if knowledge.is_cuda_part(path) {
        return Owner::Cuda;
    }
    let imported = imported(path);
    if let Some(name) = knowledge.component_of_library(path) {
        let site = imported.map(|(site, _)| site.to_owned());
        return Owner::Component { name: name.to_owned(), site };
    }
    match imported {
        Some((site, import)) => {
            let plain = normalised(import);
            let name = knowledge.component_of_import(import, &plain).map_or(plain, str::to_owned);
            Owner::Component { name, site: Some(site.to_owned()) }
        }
        None => Owner::Image,
    }
}

/// The folder that Python imports from, and what it imports there: `torch` of `torch/lib/libc10_cuda.so`.
fn imported(path: &str) -> Option<(&str, &str)> {
    let end = |marker: &str| path.find(marker).map(|at| at + marker.len());
    let at = ["/site-packages/", "/dist-packages/"].into_iter().filter_map(end).min()?;
    let (site, rest) = path.split_at_checked(at)?;
    let site = site.trim_matches('/');
    let (first, inside) = rest.split_once('/').map_or((rest, false), |(first, _)| (first, true));
    let record = first.strip_suffix(".dist-info").or_else(|| first.strip_suffix(".egg-info"));
    let import = match record {
        // The record of a distribution begins with its name.
        Some(record) => record.split('-').next().unwrap_or(record),
        // Libraries that are bundled with a wheel lie beside it.
        None if inside => first.strip_suffix(".libs").unwrap_or(first),
        None => first.split('.').next().unwrap_or(first),
    };
    (!import.is_empty()).then_some((site, import))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_what_python_imports_it_with() {
        let of = |name: &str, site: &str| Owner::Component {
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
            ("nvidia/cublas/lib/libcublas.so.12", Owner::Cuda),
            ("torch/lib/libcudnn.so.8", Owner::Cuda),
        ] {
            assert_eq!(owner(&format!("/{packages}/{path}"), Knowledge::built_in()), expected, "{path}");
        }
        for (path, expected) in [
            ("/opt/libtorch/lib/libtorch_cuda.so", of("torch", "")),
            ("/usr/local/cuda-12.4/lib64/libcublas.so.12", Owner::Cuda),
            ("/usr/lib/x86_64-linux-gnu/libnccl.so.2", Owner::Cuda),
            ("/root/.cache/uv/archive-v0/x/torch/lib/libtorch_cuda.so", Owner::Kept),
            ("/app/bin/server", Owner::Image),
            ("/app/site-packages", Owner::Image),
        ] {
            assert_eq!(owner(path, Knowledge::built_in()), expected, "{path}");
        }
    }
}
