//! GPU architecture lists that commands compile for, each with the compiler that reads it.

use crate::build::{Command, FileEffect, Word};
use crate::dockerfile::{BaseKind, EvaluatedBase, VariableLookup};
use crate::extract::command_step::CommandStep;
use crate::install::read_arch_lists;
use crate::knowledge::Knowledge;
use crate::model::fact::{Evidence, FactKey, Observations, ObservedArchList, Origin, PrintedValue, ValueState};
use crate::text::source::SourceId;

/// The largest number of recorded architecture lists.
const MAX_ARCH_LISTS: usize = 64;

/// The context of a command that reads GPU architecture lists.
pub(super) struct ArchListContext<'a> {
    /// The base image of the build stage.
    pub(super) base: &'a EvaluatedBase,
    /// The working directory of the command.
    pub(super) folder: &'a str,
    /// The file that contains the command.
    pub(super) source: SourceId,
    /// The Dockerfile.
    pub(super) dockerfile: SourceId,
    /// Whether an earlier command ran the installer of a CUDA toolkit.
    pub(super) other_toolkit: bool,
    /// The tables.
    pub(super) knowledge: Knowledge,
}

/// Records the GPU architecture lists that one command reads.
///
/// A command that may not run is left out.
pub(super) fn record_arch_lists(
    command: &Command,
    at: &ArchListContext<'_>,
    lookup: &dyn Fn(&str) -> VariableLookup,
    seen: &mut Observations,
) {
    if command.conditional {
        return;
    }
    for list in read_arch_lists(command, at.folder, lookup, at.knowledge.cuda_extensions()) {
        let inside = list.spans.iter().map(|span| Origin::File { source: at.source, span: *span });
        let outside = list.outside.iter().map(|span| Origin::File { source: at.dockerfile, span: *span });
        let origins: Vec<Origin> = inside.chain(outside).collect();
        let known = |own: &ObservedArchList| own.name == list.name && seen.facts.origins(own.fact) == origins;
        if seen.base_changes.arch_lists.len() >= MAX_ARCH_LISTS || seen.base_changes.arch_lists.iter().any(known) {
            continue;
        }
        let compiler = match &at.base.kind {
            BaseKind::Image(image)
                if !list.other_compiler && !at.other_toolkit && !has_compiler_package(seen, at.knowledge) =>
            {
                Some(image.clone())
            }
            _ => None,
        };
        let written: Vec<String> = list.entries.iter().map(|(entry, _)| entry.clone()).collect();
        let state = ValueState::Known(PrintedValue::from(&written));
        let fact = seen.facts.add(FactKey::ArchList, Some(&list.name), state, Evidence::Leaf(origins));
        seen.base_changes.arch_lists.push(ObservedArchList {
            name: list.name,
            entries: list.entries,
            ptx: list.ptx,
            compiler,
            fact,
        });
    }
}

/// Whether the image is known to contain a CUDA compiler, from its base image or an earlier command.
pub(super) fn has_cuda_compiler(base: &EvaluatedBase, other: bool, seen: &Observations, knowledge: Knowledge) -> bool {
    let of_base = match &base.kind {
        BaseKind::Image(image) => {
            let monthly = knowledge.base_family(&image.familiar_name()).is_some_and(|family| family.monthly);
            monthly || image.tag().and_then(|tag| knowledge.cuda_flavour(tag)).is_some_and(|row| row.compiler)
        }
        _ => false,
    };
    of_base || other || has_compiler_package(seen, knowledge)
}

/// Whether the base image is known to contain no build part of a CUDA toolkit.
pub(super) fn base_lacks_toolkit(base: &EvaluatedBase, knowledge: Knowledge) -> bool {
    let BaseKind::Image(image) = &base.kind else { return false };
    let flavour = image.tag().and_then(|tag| knowledge.cuda_flavour(tag));
    let of_cuda = knowledge.base_family(&image.familiar_name()).is_some_and(|family| family.cuda_base);
    knowledge.plain_image(&image.familiar_name()).is_some() || (of_cuda && flavour.is_some_and(|row| !row.compiler))
}

/// Whether an earlier command may have installed a compiler besides that of the base image.
fn has_compiler_package(seen: &Observations, knowledge: Knowledge) -> bool {
    seen.packages.iter().any(|package| knowledge.is_compiler_package(&package.requirement.name))
}

/// Whether a command runs the installer of a CUDA toolkit, such as `cuda_12.4.1_550.54.15_linux.run`.
pub(super) fn runs_toolkit_installer(step: CommandStep<'_>) -> bool {
    let installer = |word: &str| {
        let file = word.rsplit('/').next().unwrap_or(word);
        file.starts_with("cuda_") && file.contains(".run")
    };
    let only_moves_files = matches!(
        step.effect,
        FileEffect::Nothing
            | FileEffect::Packages
            | FileEffect::Transfer { .. }
            | FileEffect::Remove(_)
            | FileEffect::MakeDirectory(_)
            | FileEffect::Create(_)
            | FileEffect::Download { .. }
    );
    !only_moves_files && step.command.words.iter().filter_map(Word::known).any(installer)
}
