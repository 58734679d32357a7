//! Which library of a component is loaded, if it has one per CUDA version in its file name.

use crate::cuda::{CudaVersion, split_path};
use crate::knowledge::Knowledge;
use crate::model::fact::{Component, InspectionDepth, Observations, ObservedGpuCode};

/// Returns the code of the library that is loaded; all code if that is unknown.
pub(super) fn loaded_library_code<'a>(
    entries: Vec<&'a ObservedGpuCode>,
    component: &Component,
    seen: &Observations,
    knowledge: Knowledge,
) -> Vec<&'a ObservedGpuCode> {
    let mut rows = knowledge.frameworks().iter().filter(|row| row.component == component.name);
    let row = rows.find_map(|row| Some((row.per_cuda?, row.per_cuda_unless)));
    let (Some((mark, unless)), Some(cuda), InspectionDepth::Layers) = (row, component.cuda.known(), seen.depth) else {
        return entries;
    };
    if unless.is_some_and(|variable| seen.env.contains_key(variable)) {
        return entries;
    }
    let own = |entry: &&ObservedGpuCode| is_library_for_cuda(&entry.file, mark, *cuda);
    if !entries.iter().any(own) {
        return entries;
    }
    entries.into_iter().filter(own).collect()
}

/// Whether a library's file name states a CUDA version: `libx_cuda124.so` for 12.4.
fn is_library_for_cuda(file: &str, mark: &str, cuda: CudaVersion) -> bool {
    let Some((_, rest)) = split_path(file).1.split_once(mark) else { return false };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits == format!("{}{}", cuda.major(), cuda.minor())
}

#[cfg(test)]
mod tests {
    use super::is_library_for_cuda;

    #[test]
    fn a_library_is_for_the_full_cuda_version_in_its_name() {
        for (file, expected) in [
            ("/x/libx_cuda124.so", true),
            ("libx_cuda124_nocublaslt.so", true),
            ("libx_cuda12.so", false),
            ("libx_cuda1240.so", false),
            ("libx_cuda118.so", false),
            ("libx_cuda.so", false),
            ("libx124.so", false),
            ("/x_cuda124/libx.so", false),
        ] {
            assert_eq!(is_library_for_cuda(file, "_cuda", "12.4".parse().expect("a version")), expected, "{file}");
        }
    }
}
