//! A command with its folder and its effect on files, which is determined once for all readers.

use crate::build::{
    Command, Destination, FileEffect, Operand, PackedMember, StandardInput, TransferKind, Word, is_at_or_below_pattern,
};
use crate::dockerfile::{RunInstruction, VariableLookup};
use crate::extract::changed_files::{TransferredPath, source_path};
use crate::extract::stage_files::{absolute_path, strip_folder};
use crate::knowledge::Knowledge;

/// The program of Debian that creates links to programs.
const ALTERNATIVES: &str = "update-alternatives";

/// A command and what it does to files.
#[derive(Clone, Copy)]
pub(super) struct CommandStep<'a> {
    pub(super) command: &'a Command,
    /// The folder in which it runs.
    pub(super) folder: &'a str,
    pub(super) effect: &'a FileEffect,
    /// The named files and folders that it copies, moves or links.
    pub(super) transfers: &'a [TransferredPath],
}

impl CommandStep<'_> {
    /// Returns the absolute path of an operand, if it is known.
    pub(super) fn absolute(&self, operand: &Operand) -> Option<String> {
        operand.text.as_deref().map(|path| absolute_path(self.folder, path))
    }

    /// Returns the paths that the command removes, which may be patterns.
    pub(super) fn removed_paths(&self) -> Vec<String> {
        match self.effect {
            FileEffect::Remove(paths) => paths.iter().filter_map(|path| self.absolute(path)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the paths that the command removes or moves away, which may be patterns.
    pub(super) fn removed_or_moved_paths(&self) -> Vec<String> {
        match self.effect {
            FileEffect::Transfer { kind: TransferKind::Move, sources, .. } => {
                sources.iter().filter_map(|source| self.absolute(source)).collect()
            }
            _ => self.removed_paths(),
        }
    }

    /// Returns the programs in `bin` folders to which the command creates links.
    pub(super) fn linked_programs(&self) -> Vec<String> {
        let targets: Vec<String> = match self.effect {
            FileEffect::Transfer { kind: TransferKind::Link, .. } => {
                self.transfers.iter().map(|transfer| transfer.from.clone()).collect()
            }
            _ if self.command.program() == Some(ALTERNATIVES) => {
                self.command.words.iter().filter_map(Word::known).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        targets.into_iter().filter(|target| target.contains("/bin/")).collect()
    }

    /// Returns the paths that the command certainly removes.
    pub(super) fn certainly_removed_paths(&self) -> Vec<String> {
        let mut paths = if self.command.conditional { Vec::new() } else { self.removed_paths() };
        // Not every shell expands braces.
        paths.retain(|path| !path.contains('{'));
        paths
    }
}

/// Files that a command copies, moves, links, packs or unpacks, and where they may be afterwards.
pub(super) struct PossibleMove {
    /// The absolute path, which may be a pattern; an archive counts as a folder.
    pub(super) from: String,
    /// The paths that it may have afterwards: two if it is unknown whether the destination is a folder.
    pub(super) to: Vec<String>,
}

impl PossibleMove {
    /// Returns the paths that a file or folder may have after the command; none if it is not among the moved ones.
    pub(super) fn new_paths(&self, path: &str) -> Vec<String> {
        let from = self.from.trim_end_matches("/*");
        let rest = strip_folder(path, from).or_else(|| {
            let (folder, _) = from.rsplit_once('/').filter(|_| is_at_or_below_pattern(path, from))?;
            strip_folder(path, folder)
        });
        rest.map_or_else(Vec::new, |rest| self.to.iter().map(|to| absolute_path(to, rest)).collect())
    }
}

/// A command with its RUN instruction.
#[derive(Clone, Copy)]
pub(super) struct LocatedCommand<'a> {
    pub(super) step: CommandStep<'a>,
    pub(super) run: &'a RunInstruction,
    pub(super) knowledge: Knowledge,
}

impl LocatedCommand<'_> {
    /// Returns a path resolved against the folder of the command; `None` if that is unknown.
    pub(super) fn resolve_path(&self, path: &str) -> Option<String> {
        let folder = self.step.folder;
        let known = path.starts_with(['/', '~']) || self.run.workdir.is_some() || *folder != *self.run.folder;
        known.then(|| absolute_path(folder, path))
    }

    /// Returns what the command copies, moves, links, packs or unpacks, with the places where it may be afterwards.
    pub(super) fn possible_moves(&self) -> Vec<PossibleMove> {
        let step = self.step;
        let resolve = |operand: &Operand| self.resolve_path(operand.text.as_deref()?);
        let keep = |from, to| PossibleMove { from, to: vec![to] };
        match step.effect {
            FileEffect::Transfer { kind, sources, to, .. } => {
                sources.iter().filter_map(|source| self.possible_move(*kind, source, to)).collect()
            }
            FileEffect::Pack { archive: Some(archive), members } => {
                let Some(archive) = resolve(archive) else { return Vec::new() };
                members.iter().filter_map(|member| self.packed(member, &archive)).collect()
            }
            FileEffect::Unpack { archive, folder } => {
                let folder = match folder {
                    Some(folder) => resolve(folder),
                    None => self.resolve_path("."),
                };
                let Some(folder) = folder else { return Vec::new() };
                match (archive, &step.command.input) {
                    (Some(archive), _) => resolve(archive).map(|archive| keep(archive, folder)).into_iter().collect(),
                    (None, StandardInput::Pipe(before)) => {
                        let FileEffect::Pack { archive: None, members } = FileEffect::of_command(before) else {
                            return Vec::new();
                        };
                        members.iter().filter_map(|member| self.packed(member, &folder)).collect()
                    }
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// Returns where a packed file or folder is in an archive, or in the folder into which it is unpacked at once.
    fn packed(&self, member: &PackedMember, archive: &str) -> Option<PossibleMove> {
        let path = member.path.text.as_deref()?;
        let folder = match &member.folder {
            Some(folder) => self.resolve_path(folder.text.as_deref()?)?,
            None => self.step.folder.to_owned(),
        };
        let inside = absolute_path(archive, path.trim_start_matches('/'));
        Some(PossibleMove { from: absolute_path(&folder, path), to: vec![inside] })
    }

    /// Returns where one source of the command may be afterwards.
    fn possible_move(&self, kind: TransferKind, source: &Operand, to: &Destination) -> Option<PossibleMove> {
        let (Destination::Folder(path) | Destination::Path(path) | Destination::File(path)) = to;
        let target = self.resolve_path(path.text.as_deref()?)?;
        let text = source.text.as_deref()?;
        let inside = source.file_name().map(|name| absolute_path(&target, name));
        let is_known = |path: &String| self.step.transfers.iter().any(|transfer| transfer.to == *path);
        let to = match (to, inside) {
            (Destination::Folder(_), Some(inside)) => vec![inside],
            (Destination::Path(_), Some(inside)) if is_known(&inside) => vec![inside],
            (Destination::Path(_), Some(inside)) => vec![target.clone(), inside],
            (Destination::File(_), _) | (_, None) => vec![target.clone()],
        };
        let from = match kind {
            TransferKind::Link => source_path(kind, text, to.first()?, self.step.folder),
            TransferKind::Copy | TransferKind::Move => self.resolve_path(text.trim_end_matches("/."))?,
        };
        Some(PossibleMove { from, to })
    }

    /// Returns the value of a variable for the command, if it is known.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match self.step.command.variable(name) {
            Some(value) => value.known_text().map(str::to_owned),
            None => match self.run.scope.lookup(name) {
                VariableLookup::Known(value, _) => Some(value),
                VariableLookup::Unset | VariableLookup::NoValue | VariableLookup::Unknown(..) => None,
            },
        }
    }
}

/// Calls a function with the step of a command in `folder`, where no other folder is known to exist.
#[cfg(test)]
pub(super) fn with_step<T>(command: &Command, folder: &str, read: impl FnOnce(CommandStep<'_>) -> T) -> T {
    let effect = FileEffect::of_command(command);
    let transfers = crate::extract::changed_files::transferred_paths(&effect, folder, &|_| false);
    read(CommandStep { command, folder, effect: &effect, transfers: &transfers })
}
