//! The files that commands write, copy and remove, in order, for the commands that read them later.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::{Destination, FileEffect, Operand, TransferKind, is_at_or_below_pattern};
use crate::cuda::is_at_or_below;
use crate::extract::stage_files::absolute_path;
use crate::install::OpenedFile;
use crate::model::cause::Cause;

/// The largest number of changes that are kept per stage.
const MAX_CHANGES: usize = 4096;

/// The changes to the files of a stage, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangedFiles {
    changes: Vec<ChangedFile>,
    /// The paths of written files, removed or not.
    written: BTreeSet<String>,
}

/// A change to one file, or to a folder with its content.
#[derive(Clone, Debug)]
pub(super) struct ChangedFile {
    /// The absolute path; for a removal, it may be a pattern.
    pub(super) path: String,
    pub(super) change: FileChange,
    /// The index of the instruction.
    pub(super) instruction: usize,
    /// The number of traces at that time: those of later commands have larger indexes.
    pub(super) traces: usize,
}

/// What happens to a file.
#[derive(Clone, Debug)]
pub(super) enum FileChange {
    /// It gets this content, or an unknown one.
    Written(Result<OpenedFile, Cause>),
    /// A folder gets the content of another one, besides its own.
    FolderCopied {
        from: String,
        /// Whether the command may not run.
        conditional: bool,
    },
    /// It is a link to another file or folder.
    Linked { to: String },
    /// A folder gets files of unknown names.
    UnknownFiles,
    /// A folder is created.
    FolderCreated,
    /// It is removed, with all that is below it.
    Removed {
        /// Whether the command may not run.
        conditional: bool,
    },
}

/// A file or folder that a command copies, moves or links, with absolute paths.
pub(super) struct TransferredPath {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) kind: TransferKind,
}

/// Returns the named files and folders that a command in `folder` copies, moves or links.
pub(super) fn transferred_paths(
    effect: &FileEffect,
    folder: &str,
    is_folder: &dyn Fn(&str) -> bool,
) -> Vec<TransferredPath> {
    let FileEffect::Transfer { kind, sources, to, .. } = effect else { return Vec::new() };
    let named = sources.iter().filter(|source| source.file_name().is_some());
    let transferred = named.filter_map(|source| {
        let to = target_path(to, source, folder, is_folder)?;
        let from = source_path(*kind, source.text.as_deref()?, &to, folder);
        Some(TransferredPath { from, to, kind: *kind })
    });
    transferred.collect()
}

/// Returns the absolute path of a source that is copied, moved or linked to `target` by a command in `folder`.
pub(super) fn source_path(kind: TransferKind, source: &str, target: &str, folder: &str) -> String {
    match (kind, target.rsplit_once('/')) {
        // A relative link starts at the folder that contains it.
        (TransferKind::Link, Some((parent, _))) => absolute_path(if parent.is_empty() { "/" } else { parent }, source),
        _ => absolute_path(folder, source),
    }
}

/// Returns the path at which a source is after it was copied, moved or linked; the folder for a pattern or the content
/// of a folder.
pub(super) fn target_path(
    to: &Destination,
    source: &Operand,
    folder: &str,
    is_folder: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let absolute = |operand: &Operand| operand.text.as_deref().map(|path| absolute_path(folder, path));
    let (path, into) = match to {
        Destination::File(path) => (absolute(path)?, false),
        Destination::Folder(path) => (absolute(path)?, true),
        Destination::Path(path) => {
            let path = absolute(path)?;
            let into = is_folder(&path);
            (path, into)
        }
    };
    match source.file_name() {
        Some(name) if into => Some(absolute_path(&path, name)),
        _ => Some(path),
    }
}

impl ChangedFiles {
    /// Adds a change.
    pub(super) fn push(&mut self, change: ChangedFile) {
        if !self.is_full() {
            if matches!(change.change, FileChange::Written(_)) {
                self.written.insert(change.path.clone());
            }
            self.changes.push(change);
        }
    }

    /// Returns the number of changes so far.
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether changes are missing because there are too many.
    pub(super) fn is_full(&self) -> bool {
        self.changes.len() == MAX_CHANGES
    }

    /// Returns those of the first `first` changes that may concern the file at a path, newest first, with their
    /// indexes.
    pub(super) fn changes_of<'a>(
        &'a self,
        path: &'a str,
        first: usize,
    ) -> impl Iterator<Item = (usize, &'a ChangedFile)> {
        let changes = self.changes.iter().enumerate().take(first).rev();
        changes.filter(move |(_, change)| change.concerns(path))
    }

    /// Returns the last writing of the file at a path, if no later command may have removed it.
    pub(super) fn written_file<'a>(&'a self, path: &'a str) -> Option<&'a ChangedFile> {
        if !self.written.contains(path) {
            return None;
        }
        let is_decisive = |change: &FileChange| matches!(change, FileChange::Written(_) | FileChange::Removed { .. });
        let (_, last) = self.changes_of(path, self.len()).find(|(_, changed)| is_decisive(&changed.change))?;
        matches!(last.change, FileChange::Written(_)).then_some(last)
    }

    /// Returns the paths of written files that satisfy a condition.
    pub(super) fn written_paths(&self, is_wanted: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let wanted = self.written.iter().map(String::as_str).filter(|path| is_wanted(path));
        wanted.filter(|path| self.written_file(path).is_some()).collect()
    }

    /// Returns the last writing of every file that no later command may have removed, by path.
    pub(super) fn written_files(&self) -> BTreeMap<&str, &ChangedFile> {
        let mut files = BTreeMap::new();
        let mut removed: Vec<&ChangedFile> = Vec::new();
        for changed in self.changes.iter().rev() {
            match changed.change {
                FileChange::Removed { .. } => removed.push(changed),
                FileChange::Written(_) if !removed.iter().any(|removed| removed.concerns(&changed.path)) => {
                    files.entry(changed.path.as_str()).or_insert(changed);
                }
                _ => {}
            }
        }
        files
    }

    /// Returns the certain removals, oldest first.
    pub(super) fn removals(&self) -> impl Iterator<Item = &ChangedFile> {
        self.changes.iter().filter(|changed| matches!(changed.change, FileChange::Removed { conditional: false }))
    }

    /// Returns the folders that got the content of others, or files of unknown names.
    pub(super) fn filled_folders(&self) -> impl Iterator<Item = &ChangedFile> {
        let is_filling =
            |change: &FileChange| matches!(change, FileChange::FolderCopied { .. } | FileChange::UnknownFiles);
        self.changes.iter().filter(move |changed| is_filling(&changed.change))
    }

    /// Whether a folder was created, or a file in it was written, and it was not removed later.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        for changed in self.changes.iter().rev() {
            let is_below = changed.path != folder && is_at_or_below(&changed.path, folder);
            match changed.change {
                FileChange::Removed { .. } if changed.concerns(folder) => return false,
                FileChange::FolderCreated if is_below || changed.path == folder => return true,
                FileChange::Written(_) | FileChange::FolderCopied { .. } | FileChange::Linked { .. } if is_below => {
                    return true;
                }
                _ => {}
            }
        }
        false
    }
}

impl ChangedFile {
    /// Whether the change may concern the file at a path.
    fn concerns(&self, path: &str) -> bool {
        let is_at_or_below = self.path == "/" || is_at_or_below(path, &self.path);
        match self.change {
            FileChange::Written(_) => self.path == path,
            FileChange::FolderCopied { .. } | FileChange::UnknownFiles => path != self.path && is_at_or_below,
            FileChange::Linked { .. } => is_at_or_below,
            FileChange::FolderCreated => false,
            FileChange::Removed { .. } => is_at_or_below_pattern(path, &self.path),
        }
    }
}
