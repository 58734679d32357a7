//! Libraries that a wheel of the default index requires from outside, and how programs find those that wheels install.

use crate::cuda::CudaVersion;
use crate::infer::release_version::release_version;
use crate::knowledge::{Knowledge, RequiredLibrariesRow, RowInfo};
use crate::model::fact::{EnvFacts, FileKind, Observations, ValueState};
use crate::model::package::{ExactVersion, ObservedPackage, PackageVersion, VersionRange};

/// The libraries, by soname, that a wheel requires from outside.
pub(super) struct ExternalLibraries {
    /// Resolved when the wheel is loaded.
    pub(super) needs: Vec<&'static str>,
    /// Opened with `dlopen` while the program runs.
    pub(super) opens: Vec<&'static str>,
    /// Whether the program continues without a GPU if one of the opened libraries is missing.
    pub(super) falls_back: bool,
    /// Whether only the dynamic loader finds them.
    pub(super) by_loader: bool,
    /// The row, if the libraries are installed as separate packages by dependency.
    pub(super) dependency_row: Option<&'static RequiredLibrariesRow>,
    /// The table row that lists them; for a range, that of its last release.
    pub(super) row: &'static RowInfo,
}

impl ExternalLibraries {
    /// Whether a library is among them.
    pub(super) fn contains(&self, soname: &str) -> bool {
        self.needs.contains(&soname) || self.opens.contains(&soname)
    }
}

/// Returns what a package requires, common to all releases that it may be; `None` if that is unknown for one of them.
pub(super) fn external_libraries_of(package: &ObservedPackage, knowledge: Knowledge) -> Option<ExternalLibraries> {
    if let Some(version) = release_version(package) {
        return knowledge.library_needs_of(&package.requirement.name, version).map(external_libraries_of_row);
    }
    let PackageVersion::Range(range) = &package.requirement.version else { return None };
    external_libraries_of_range(&package.requirement.name, range, knowledge)
}

/// Returns the external libraries that a table row lists.
fn external_libraries_of_row(row: &'static RequiredLibrariesRow) -> ExternalLibraries {
    let dependency_row = row.along.then_some(row);
    let (needs, opens) = (row.needs.to_vec(), row.opens.to_vec());
    ExternalLibraries {
        needs,
        opens,
        falls_back: row.falls_back,
        by_loader: row.by_loader,
        dependency_row,
        row: &row.info,
    }
}

/// Returns what all releases in a bounded range have in common; releases newer than the tables count like the last
/// known ones.
fn external_libraries_of_range(name: &str, range: &VersionRange, knowledge: Knowledge) -> Option<ExternalLibraries> {
    if range.names_build() || !range.is_bounded_above() {
        return None;
    }
    let rows = || knowledge.required_libraries().iter().filter(|row| row.distribution == name);
    let inside = |version: &CudaVersion| range.contains(&ExactVersion::from(version.to_string())) == Some(true);
    let first = rows().map(|row| row.from).min()?;
    let last = rows().map(|row| row.from).max()?;
    if VersionRange::below(&format!("{first}.dev0")).overlaps(range) != Some(false) {
        return None;
    }
    let releases = knowledge.framework_releases_of(name);
    let releases = releases.filter_map(|row| row.version?.as_str().parse().ok());
    // Where one row ends another has to begin.
    let bounds = rows().flat_map(|row| [Some(row.from), row.before.filter(|before| *before < last)]).flatten();
    let mut versions: Vec<CudaVersion> = releases.chain(bounds).filter(inside).collect();
    versions.sort();
    versions.dedup();
    let known: Option<Vec<_>> = versions.into_iter().map(|version| knowledge.library_needs_of(name, version)).collect();
    let mut known = known?.into_iter().rev();
    let mut asks = external_libraries_of_row(known.next()?);
    for row in known {
        asks.needs.retain(|soname| row.needs.contains(soname));
        asks.opens.retain(|soname| row.opens.contains(soname));
        asks.falls_back &= row.falls_back;
        asks.by_loader &= row.by_loader;
        // The bundled libraries of a release apply only to that release.
        if asks.dependency_row.is_some() || row.along {
            return None;
        }
    }
    (asks.dependency_row.is_none() && !(asks.needs.is_empty() && asks.opens.is_empty())).then_some(asks)
}

/// The environment variable with directories for the dynamic loader.
pub(super) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// The path part of the directories that NVIDIA's wheels install libraries into.
const NVIDIA_WHEEL_PATH: &str = "-packages/nvidia/";

/// How a program finds the libraries in the directories of NVIDIA's wheels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WheelLibrarySearch {
    /// It is unknown how.
    #[default]
    Unknown,
    /// The program searches those directories itself.
    Program,
    /// Only through the dynamic loader, which does not search those directories.
    LoaderOnly,
}

/// Whether nothing makes the loader search the directories of NVIDIA's wheels: no variable, no entrypoint, no other
/// package that loads them.
pub(super) fn loader_ignores_wheels(seen: &Observations, env: &EnvFacts, knowledge: Knowledge) -> bool {
    let variable = match &env.get(LIBRARY_PATH).state {
        ValueState::Known(path) => path.contains(NVIDIA_WHEEL_PATH),
        ValueState::Absent { .. } => false,
        ValueState::Unknown(_) => true,
    };
    let in_start_command = seen
        .base_changes
        .start_words
        .iter()
        .any(|word| word.contains(LIBRARY_PATH) || word.contains(NVIDIA_WHEEL_PATH));
    let listed =
        seen.files.values().any(|file| matches!(&file.kind, FileKind::Text(text) if text.contains(NVIDIA_WHEEL_PATH)));
    let has_loading_package = seen.packages.iter().any(|package| {
        knowledge.has_variants(&package.requirement.name)
            || knowledge.torch_requirements_of(&package.requirement.name).next().is_some()
            || external_libraries_of(package, knowledge).is_some_and(|asks| asks.dependency_row.is_some())
    });
    !(variable || in_start_command || listed || has_loading_package)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the libraries common to all releases of a range, as text.
    fn common_libraries(name: &str, range: &str) -> Option<String> {
        let asks = external_libraries_of_range(name, &range.into(), Knowledge::built_in())?;
        Some([asks.needs.join(" "), asks.opens.join(" ")].join(" | "))
    }

    #[test]
    fn a_range_requires_what_all_its_releases_require() {
        for (range, expected) in [
            (">=4.0,<5", " | libcublas.so.12"),
            (">=4,<4.9", " | libcublas.so.12"),
            ("~=4.6", " | libcublas.so.12"),
            (">=4.6.1,<4.9", " | libcublas.so.12"),
            (">=4.0,<4.5", " | libcublas.so.12 libcudnn_cnn_infer.so.8 libcudnn_ops_infer.so.8"),
            (">=4.5,<4.6.1", " | libcublas.so.12 libcudnn_cnn.so.9 libcudnn_ops.so.9"),
            (">=3,<4", " | libcublas.so.11 libcudnn_cnn_infer.so.8 libcudnn_ops_infer.so.8"),
            // Of two majors of CUDA nothing but the library without one in its name is common.
            (">=3.20,<4.2", " | libcudnn_cnn_infer.so.8 libcudnn_ops_infer.so.8"),
        ] {
            assert_eq!(common_libraries("ctranslate2", range).as_deref(), Some(expected), "{range}");
        }
    }

    #[test]
    fn a_partly_unknown_range_has_no_known_requirements() {
        for (name, range) in [
            // Without an end, and without a beginning.
            ("ctranslate2", ">=4.0"),
            ("ctranslate2", ""),
            ("ctranslate2", "<5"),
            ("ctranslate2", "!=4.2"),
            // Nothing is common.
            ("ctranslate2", ">=3.20,<4.8"),
            // Releases before the first row, and between two of them.
            ("cupy-cuda12x", ">=11,<13"),
            ("onnxruntime-gpu", ">=1.27,<1.32"),
            ("onnxruntime-gpu", ">=1.10,<1.14"),
            // Bundled libraries apply only to one release.
            ("torch", ">=2.1,<2.3"),
            ("no-such-thing", ">=1,<2"),
            ("ctranslate2", ">=9,<10"),
            ("ctranslate2", "not a range"),
        ] {
            assert_eq!(common_libraries(name, range), None, "{name} {range}");
        }
    }
}
