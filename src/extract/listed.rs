//! Lists of GPUs that commands compile for, each with the compiler that reads it.

use crate::dockerfile::BaseKind;
use crate::dockerfile::EvaluatedBase;
use crate::dockerfile::Lookup;
use crate::fact::ArchListSeen;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::install::lists;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::SourceId;

/// So many lists are kept.
const MOST: usize = 64;

/// Where a command stands.
pub(super) struct At<'a> {
    /// The base image of its stage.
    pub(super) base: &'a EvaluatedBase,
    /// The folder that it runs in.
    pub(super) folder: &'a str,
    /// The text that it is written in.
    pub(super) source: SourceId,
    /// The text of the Dockerfile.
    pub(super) dockerfile: SourceId,
    /// Whether the installer of a toolkit ran before.
    pub(super) other_toolkit: bool,
    /// The tables.
    pub(super) knowledge: Knowledge,
}

/// Notes the lists that one command reads.
///
/// A command that may not run is left out.
pub(super) fn read(command: &Command, at: &At<'_>, lookup: &dyn Fn(&str) -> Lookup, seen: &mut Observations) {
    if command.conditional {
        return;
    }
    for list in lists(command, at.folder, lookup, at.knowledge.cuda_extensions()) {
        let inside = list.spans.iter().map(|span| Origin::File { source: at.source, span: *span });
        let outside = list.outside.iter().map(|span| Origin::File { source: at.dockerfile, span: *span });
        let origins: Vec<Origin> = inside.chain(outside).collect();
        let known = |own: &ArchListSeen| own.name == list.name && seen.facts.origins(own.fact) == origins;
        if seen.of_base.arch_lists.len() >= MOST || seen.of_base.arch_lists.iter().any(known) {
            continue;
        }
        let compiler = match &at.base.kind {
            BaseKind::Image(image)
                if !list.other_compiler && !at.other_toolkit && !brings_compiler(seen, at.knowledge) =>
            {
                Some(image.clone())
            }
            _ => None,
        };
        let written: Vec<String> = list.entries.iter().map(|(entry, _)| entry.clone()).collect();
        let state = State::Known(Value::from(&written));
        let fact = seen.facts.add(FactKey::ArchList, Some(&list.name), state, Evidence::Leaf(origins));
        seen.of_base.arch_lists.push(ArchListSeen {
            name: list.name,
            entries: list.entries,
            ptx: list.ptx,
            compiler,
            fact,
        });
    }
}

/// Whether the image is known to have a compiler for GPUs: by its base, or by a command before.
pub(super) fn has_compiler(base: &EvaluatedBase, other: bool, seen: &Observations, knowledge: Knowledge) -> bool {
    let of_base = match &base.kind {
        BaseKind::Image(image) => {
            let monthly = knowledge.base_family(&image.familiar()).is_some_and(|family| family.monthly);
            monthly || image.tag().and_then(|tag| knowledge.cuda_flavour(tag)).is_some_and(|row| row.compiler)
        }
        _ => false,
    };
    of_base || other || brings_compiler(seen, knowledge)
}

/// Whether the base is known to bring none of a toolkit's parts for building.
pub(super) fn lacks_toolkit(base: &EvaluatedBase, knowledge: Knowledge) -> bool {
    let BaseKind::Image(image) = &base.kind else { return false };
    let flavour = image.tag().and_then(|tag| knowledge.cuda_flavour(tag));
    let of_cuda = knowledge.base_family(&image.familiar()).is_some_and(|family| family.cuda_base);
    knowledge.plain_image(&image.familiar()).is_some() || (of_cuda && flavour.is_some_and(|row| !row.compiler))
}

/// Whether a command before may have put another compiler beside that of the base image.
fn brings_compiler(seen: &Observations, knowledge: Knowledge) -> bool {
    seen.packages.iter().any(|package| knowledge.is_compiler_package(&package.name))
}

/// Whether a command runs the installer of a toolkit, such as `cuda_12.4.1_550.54.15_linux.run`.
pub(super) fn installs_toolkit(command: &Command) -> bool {
    let installer = |word: &str| {
        let file = word.rsplit('/').next().unwrap_or(word);
        file.starts_with("cuda_") && file.contains(".run")
    };
    command.words.iter().filter_map(Word::known).any(installer)
}
