//! How programs come to the libraries that wheels of NVIDIA bring.

use crate::fact::EnvFacts;
use crate::fact::FileKind;
use crate::fact::Observations;
use crate::fact::State;
use crate::infer::asks;
use crate::knowledge::Knowledge;

/// The variable that names directories for the loader.
pub(super) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// What the folders of NVIDIA's wheels have in their paths.
const OF_WHEELS: &str = "-packages/nvidia/";

/// How a program comes to the libraries in the folders of NVIDIA's wheels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Looks {
    /// That is not known.
    #[default]
    Perhaps,
    /// It looks there by itself.
    Itself,
    /// By the loader alone, which nothing tells of these folders.
    Never,
}

/// Whether nothing leads the loader into the folders of NVIDIA's wheels: no variable, no word of the start, and no program
/// beside that loads what lies there.
pub(super) fn unled(seen: &Observations, env: &EnvFacts, knowledge: Knowledge) -> bool {
    let variable = match &env.get(LIBRARY_PATH).state {
        State::Known(path) => path.contains(OF_WHEELS),
        State::Absent { .. } => false,
        State::Unknown(_) => true,
    };
    let told = seen.of_base.start_words.iter().any(|word| word.contains(LIBRARY_PATH) || word.contains(OF_WHEELS));
    let listed = seen.files.values().any(|file| matches!(&file.kind, FileKind::Text(text) if text.contains(OF_WHEELS)));
    let beside = seen.packages.iter().any(|package| {
        knowledge.is_built_framework(&package.name)
            || knowledge.torch_pins_of(&package.name).next().is_some()
            || asks::of(package, knowledge).is_some_and(|asks| asks.along.is_some())
    });
    !(variable || told || listed || beside)
}
