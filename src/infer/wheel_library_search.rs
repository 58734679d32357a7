//! How programs find the libraries that NVIDIA's wheels install.

use crate::fact::{EnvFacts, FileKind, Observations, ValueState};
use crate::infer::external_libraries;
use crate::knowledge::Knowledge;

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
    let told =
        seen.of_base.start_words.iter().any(|word| word.contains(LIBRARY_PATH) || word.contains(NVIDIA_WHEEL_PATH));
    let listed =
        seen.files.values().any(|file| matches!(&file.kind, FileKind::Text(text) if text.contains(NVIDIA_WHEEL_PATH)));
    let beside = seen.packages.iter().any(|package| {
        knowledge.has_variants(&package.name)
            || knowledge.torch_pins_of(&package.name).next().is_some()
            || external_libraries::external_libraries_of(package, knowledge).is_some_and(|asks| asks.along.is_some())
    });
    !(variable || told || listed || beside)
}
