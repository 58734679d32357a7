//! The files that a command may change; unknown programs may change any file.

use crate::build::command::Command;
use crate::build::file_effect::{Destination, DownloadTarget, FileEffect, Operand, TransferKind};
use crate::dockerfile::context::{path_matches, resolve_path};

/// The files that a command may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChanges {
    /// Whether any file may have changed.
    pub anything: bool,
    /// The changed files and folders.
    places: Vec<ChangedPath>,
}

/// Files that may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChangedPath {
    /// The absolute path, which may be a glob pattern; `None` if it is unknown.
    path: Option<String>,
    /// Whether files below it may have changed too.
    with_content: bool,
}

impl FileChanges {
    /// Returns the files that a command in `folder` may change; `None` if it changes none.
    pub fn of_command(command: &Command, folder: Option<&str>) -> Option<Self> {
        Self::of_effect(command, &FileEffect::of_command(command), folder)
    }

    /// Returns the files that a command with this effect may change in `folder`; `None` if it changes none.
    pub fn of_effect(command: &Command, effect: &FileEffect, folder: Option<&str>) -> Option<Self> {
        // It represents an assignment, with the command that prints the value.
        if let (Some(":"), Some(output)) =
            (command.program(), command.words.first().and_then(|first| first.output.as_ref()))
        {
            return Self::of_command(output, folder);
        }
        let mut changes = ChangedPathCollector { folder, places: Vec::new() };
        let anything = matches!(effect, FileEffect::Unknown | FileEffect::Download { may_have_options: true, .. });
        changes.add_effect(effect);
        for word in &command.writes {
            changes.add(word.known(), false);
        }
        let places = changes.places;
        (anything || !places.is_empty()).then_some(Self { anything, places })
    }

    /// Whether a file, by its absolute path, may be among the changed ones.
    pub fn may_change(&self, path: &str) -> bool {
        self.anything || self.places.iter().any(|place| place.may_include(path))
    }
}

/// Collects changed files.
struct ChangedPathCollector<'a> {
    folder: Option<&'a str>,
    places: Vec<ChangedPath>,
}

impl ChangedPathCollector<'_> {
    /// Adds a path, relative to the folder of the command.
    fn add(&mut self, path: Option<&str>, with_content: bool) {
        let path = path.and_then(|path| match (path.strip_prefix("~/"), self.folder) {
            (Some(rest), _) => Some(resolve_path("/root", rest)),
            (None, folder) => {
                (path.starts_with('/') || folder.is_some()).then(|| resolve_path(folder.unwrap_or_default(), path))
            }
        });
        self.places.push(ChangedPath { path, with_content });
    }

    fn add_operands(&mut self, operands: &[Operand], with_content: bool) {
        for operand in operands {
            self.add(operand.text.as_deref(), with_content);
        }
    }

    /// Adds what gets into a folder; files of unknown names may be any.
    fn add_into(&mut self, folder: Option<&str>, name: Option<&str>, with_content: bool) {
        match (folder, name) {
            (_, Some(name)) if name.starts_with('/') => self.add(Some(name), with_content),
            (Some(folder), Some(name)) => self.add(Some(&format!("{folder}/{name}")), with_content),
            (folder, _) => self.add(folder, true),
        }
    }

    fn add_effect(&mut self, effect: &FileEffect) {
        match effect {
            FileEffect::Nothing | FileEffect::Packages | FileEffect::Unknown | FileEffect::MakeDirectory(_) => {}
            FileEffect::Transfer { kind, sources, to, recursive, .. } => {
                for source in sources {
                    if let Destination::Folder(folder) | Destination::Path(folder) = to {
                        self.add_into(folder.text.as_deref(), source.file_name(), *recursive);
                    }
                    if let Destination::Path(path) | Destination::File(path) = to {
                        self.add(path.text.as_deref(), *recursive);
                    }
                }
                if *kind == TransferKind::Move {
                    self.add_operands(sources, true);
                }
            }
            FileEffect::Remove(paths) => self.add_operands(paths, true),
            FileEffect::Create(files) | FileEffect::Write(files) => self.add_operands(files, false),
            FileEffect::Download { addresses, to, .. } => match to {
                DownloadTarget::StandardOutput => {}
                DownloadTarget::File(file) => self.add(file.text.as_deref(), false),
                DownloadTarget::RemoteName { folder, server_named } => {
                    let folder = folder.as_ref().map_or(Some("."), |folder| folder.text.as_deref());
                    for address in addresses {
                        let name = address.file_name().filter(|_| !*server_named);
                        self.add_into(folder, name, false);
                    }
                }
            },
            FileEffect::Pack { archive, .. } => self.add_operands(archive.as_slice(), false),
            FileEffect::Unpack { folder, .. } => {
                let folder = folder.as_ref().map_or(Some("."), |folder| folder.text.as_deref());
                self.add(folder, true);
            }
            FileEffect::Clone { address, folder, inside } => {
                let inside = inside.as_ref().map_or(Some("."), |inside| inside.text.as_deref());
                let name = address.file_name().map(|name| name.trim_end_matches(".git"));
                match folder {
                    Some(folder) => self.add_into(inside, folder.text.as_deref(), true),
                    None => self.add_into(inside, name, true),
                }
            }
        }
    }
}

impl ChangedPath {
    /// Whether the place may include a file.
    fn may_include(&self, path: &str) -> bool {
        let Some(place) = &self.path else { return true };
        let path = resolve_path("/", path);
        let exact = !self.with_content && !place.contains('{');
        if exact { path_matches(place, &path) } else { is_at_or_below_pattern(&path, place) }
    }
}

/// Whether a file, or a folder above it, matches a pattern; both paths are absolute. Braces match anything.
pub fn is_at_or_below_pattern(path: &str, pattern: &str) -> bool {
    let Some(first) = pattern.find(['*', '?', '[', '{', '\\']) else {
        return pattern == "/"
            || path.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    };
    let (front, rest) = pattern.split_at(first);
    // Most paths differ in the part that is compared without a pattern.
    if !path.starts_with(front) {
        return false;
    }
    if rest.contains('{') {
        return true;
    }
    let depth = pattern.matches('/').count();
    let above: Vec<&str> = path.splitn(depth + 2, '/').take(depth + 1).collect();
    path_matches(pattern, &above.join("/"))
}
