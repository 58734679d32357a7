//! Which of several libraries of a component is loaded, where each is for a CUDA version that its name tells.

use crate::cuda::CudaVersion;
use crate::cuda::split_path;
use crate::fact::CodeSeen;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Observations;
use crate::knowledge::Knowledge;

/// The code of the library that is loaded; all where the tables, or what is known of the image, do not tell which.
pub(super) fn loaded<'a>(
    entries: Vec<&'a CodeSeen>,
    component: &Component,
    seen: &Observations,
    knowledge: Knowledge,
) -> Vec<&'a CodeSeen> {
    let mut rows = knowledge.frameworks().iter().filter(|row| row.component == component.name);
    let row = rows.find_map(|row| Some((row.per_cuda?, row.per_cuda_unless)));
    let (Some((mark, unless)), Some(cuda), Depth::Layers) = (row, component.cuda.known(), seen.depth) else {
        return entries;
    };
    if unless.is_some_and(|variable| seen.env.contains_key(variable)) {
        return entries;
    }
    let own = |entry: &&CodeSeen| is_for(&entry.file, mark, *cuda);
    if !entries.iter().any(own) {
        return entries;
    }
    entries.into_iter().filter(own).collect()
}

/// Whether the name of a library tells that it is for a CUDA version: `libx_cuda124.so` for 12.4.
fn is_for(file: &str, mark: &str, cuda: CudaVersion) -> bool {
    let Some((_, rest)) = split_path(file).1.split_once(mark) else { return false };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits == format!("{}{}", cuda.major(), cuda.minor())
}

#[cfg(test)]
mod tests {
    use super::is_for;

    #[test]
    fn a_library_is_for_the_cuda_that_its_name_tells_in_full() {
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
            assert_eq!(is_for(file, "_cuda", "12.4".parse().expect("a version")), expected, "{file}");
        }
    }
}
