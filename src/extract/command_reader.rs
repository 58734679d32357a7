//! The state with which the commands of a stage are read, and the files of the image at that point.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::build::{Command, FileChanges};
use crate::cuda::is_at_or_below;
use crate::dockerfile::context::path_matches;
use crate::dockerfile::{BaseKind, ExpandedText, MappedText, RunInstruction, VariableLookup};
use crate::extract::changed_files::{ChangedFiles, FileChange};
use crate::extract::command_effects::UnknownAdditions;
use crate::extract::command_step::CommandStep;
use crate::extract::compiled_programs::LinkedProgram;
use crate::extract::fetched_files::FetchedFiles;
use crate::extract::git_clones::ClonedRepositories;
use crate::extract::install_locations::InstallLocations;
use crate::extract::stage_files::{StageFileTree, absolute_path};
use crate::extract::virtual_environments::VirtualEnvironments;
use crate::extract::wheel_folders::WheelFolders;
use crate::install::{OpenedFile, TargetMachine};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::Observations;
use crate::model::note::Note;
use crate::model::package::PackageVersion;
use crate::shell::ShellFiles;
use crate::text::source::SourceId;

/// Stands for the folder of a command where it is unknown: no file is below it.
pub(super) const UNKNOWN_FOLDER: &str = "/(unknown folder)";
/// Folders that every Linux image has.
const SYSTEM_FOLDERS: &[&str] = &[
    "/",
    "/etc",
    "/home",
    "/lib",
    "/opt",
    "/root",
    "/srv",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/share",
    "/var",
];
/// The largest number of lookups in copied and linked folders for one file.
const MAX_LOOKUPS: usize = 64;
/// The largest number of commands whose file changes are recorded.
const MAX_TRACES: usize = 4096;

/// What the commands of a stage leave for later commands.
#[derive(Clone, Debug, Default)]
pub(super) struct StageState {
    /// The settings of `pip config set`, by the equivalent variable.
    pub(super) settings: BTreeMap<String, ExpandedText>,
    /// Files that commands wrote, copied and removed.
    pub(super) changed_files: ChangedFiles,
    /// Files that commands may have changed, with the instruction and working directory of each command.
    pub(super) traces: Vec<(usize, String, FileChanges)>,
    /// The number of scripts that were read.
    pub(super) scripts: usize,
    pub(super) environments: VirtualEnvironments,
    /// Added package repositories whose packages install something other than their names indicate.
    pub(super) repositories: BTreeSet<&'static str>,
    /// The Python of the base image, once it was looked up.
    pub(super) python: OnceCell<Option<&'static str>>,
    /// Whether a command installed a Python that uv may use instead of that of the base image.
    pub(super) other_python: bool,
    /// Files that commands and ADD fetched.
    pub(super) fetched: FetchedFiles,
    /// How many of the COPY and ADD instructions were looked at for those.
    pub(super) copies: usize,
    /// Where packages and programs were installed.
    pub(super) locations: InstallLocations,
    /// Wheels that commands put into folders.
    pub(super) wheels: WheelFolders,
    /// Repositories that commands cloned.
    pub(super) cloned: ClonedRepositories,
    /// What commands may have added beyond what is known.
    pub(super) unknown_additions: UnknownAdditions,
    /// Directories of PATH into which a COPY may put programs, with the RUN for which they were determined.
    pub(super) on_path: (usize, Vec<String>),
    /// Programs that commands linked, and those that were copied.
    pub(super) programs: Vec<LinkedProgram>,
    /// The programs to which commands created links.
    pub(super) linked_programs: BTreeSet<String>,
    /// Whether the installer of a toolkit ran.
    pub(super) other_toolkit: bool,
    /// Whether a command may have installed a package installer, or one is missing.
    pub(super) any_installer: bool,
    /// The installers of packages that commands installed.
    pub(super) installers: BTreeSet<&'static str>,
}

impl StageState {
    /// Looks up a variable as installers see it: settings written by commands override the environment.
    pub(super) fn lookup(&self, run: &RunInstruction, name: &str) -> VariableLookup {
        match self.settings.get(name) {
            Some(ExpandedText::Known { value, .. }) => VariableLookup::Known(value.clone(), Vec::new()),
            Some(ExpandedText::Unresolved { names, reason }) => {
                VariableLookup::Unknown(names.clone(), (**reason).clone())
            }
            None => run.scope.lookup(name),
        }
    }
}

/// Reads the commands of RUN instructions in order.
pub(super) struct CommandReader<'a> {
    pub(super) tree: StageFileTree<'a>,
    pub(super) machine: TargetMachine<'a>,
    pub(super) seen: &'a mut Observations,
    pub(super) notes: &'a mut Vec<Note>,
    pub(super) state: &'a mut StageState,
    /// The text that contains the current commands.
    pub(super) source: SourceId,
    /// The text of the Dockerfile.
    pub(super) dockerfile: SourceId,
    /// The folder in which the current text of commands starts.
    pub(super) start_folder: String,
    /// The folder of the current command.
    pub(super) folder: String,
    pub(super) knowledge: Knowledge,
}

impl CommandReader<'_> {
    /// Opens a file at this point of the build: as written by earlier commands, else from the build context.
    pub(super) fn open_image_file(&self, folder: &str, path: &str, run: &RunInstruction) -> Result<OpenedFile, Cause> {
        let folder = if folder.is_empty() { &self.folder } else { folder };
        let path = absolute_path(folder, path);
        if self.state.changed_files.is_full() {
            return Err(Cause::WrittenByCommand);
        }
        self.open_before(&path, run, self.state.changed_files.len(), &Cell::new(MAX_LOOKUPS))
    }

    /// Opens a file as it is after the first so many changes, with so many lookups in copied and linked folders left.
    fn open_before(
        &self,
        path: &str,
        run: &RunInstruction,
        first: usize,
        lookups: &Cell<usize>,
    ) -> Result<OpenedFile, Cause> {
        lookups.set(lookups.get().checked_sub(1).ok_or(Cause::WrittenByCommand)?);
        let mut copied_at = None;
        for (index, changed) in self.state.changed_files.changes_of(path, first) {
            // A later COPY replaces the file.
            if changed.instruction < *copied_at.get_or_insert_with(|| self.tree.copy_instruction_index(run, path)) {
                break;
            }
            let inside = path.strip_prefix(&changed.path).unwrap_or(path).trim_start_matches('/');
            match &changed.change {
                FileChange::Written(content) => return content.clone(),
                FileChange::Removed { conditional: false } if self.may_be_changed_since(path, changed.traces, 0) => {
                    return Err(Cause::WrittenByCommand);
                }
                FileChange::Removed { conditional: false } => return Err(Cause::RemovedByCommand),
                FileChange::UnknownFiles => return Err(Cause::WrittenByCommand),
                FileChange::Linked { to } => {
                    let opened = self.open_before(&absolute_path(to, inside), run, first, lookups)?;
                    return Ok(OpenedFile { path: path.to_owned(), ..opened });
                }
                FileChange::FolderCopied { from, conditional } => {
                    let source = absolute_path(from, inside);
                    if self.tree.copy_instruction_index(run, &source) > changed.instruction {
                        return Err(Cause::WrittenByCommand);
                    }
                    match self.open_before(&source, run, index, lookups) {
                        Ok(_) if *conditional => return Err(Cause::PerhapsWritten),
                        Ok(opened) => return Ok(OpenedFile { path: path.to_owned(), ..opened }),
                        Err(Cause::NotCopied | Cause::NotThere | Cause::NotInContext | Cause::RemovedByCommand)
                            if !self.may_be_unpacked(&source, changed.traces) => {}
                        Err(Cause::NotCopied | Cause::NotThere | Cause::NotInContext) => {
                            return Err(Cause::WrittenByCommand);
                        }
                        Err(why) => return Err(why),
                    }
                }
                FileChange::FolderCreated | FileChange::Removed { conditional: true } => {}
            }
        }
        if is_file_glob(path) { self.open_glob_matches(path, run) } else { self.tree.open(run, path) }
    }

    /// Whether one of the first so many traces names a folder, such as that of an archive, that may include a file.
    fn may_be_unpacked(&self, path: &str, traces: usize) -> bool {
        let mut traces = self.state.traces.iter().take(traces);
        traces.any(|(_, _, trace)| !trace.anything && trace.may_change(path))
    }

    /// Whether a folder certainly exists at this point.
    pub(super) fn is_known_folder(&self, folder: &str, run: &RunInstruction) -> bool {
        let copies = self.tree.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction);
        let mut destinations = copies.filter_map(|copy| copy.destination.as_ref());
        SYSTEM_FOLDERS.contains(&folder)
            || is_at_or_below(&run.folder, folder)
            || is_at_or_below(&self.start_folder, folder)
            || self.state.changed_files.has_folder(folder)
            || destinations.any(|to| is_at_or_below(&to.path, folder) && (to.is_folder || to.path != folder))
    }

    /// Parses commands with access to the files that are in the image at this point.
    pub(super) fn commands_with_files(
        &self,
        run: &RunInstruction,
        read: impl FnOnce(ShellFiles<'_>) -> Vec<Command>,
    ) -> Vec<Command> {
        let text = |path: &str| self.file_text(path, run);
        let listed = |pattern: &str| self.expand_glob(pattern, run);
        let unchanged = |path: &str| self.is_unchanged(path, run);
        read(ShellFiles { folder: &self.folder, text: &text, unchanged: &unchanged, listed: &listed })
    }

    /// Returns the text of a file that is certainly in the image.
    fn file_text(&self, path: &str, run: &RunInstruction) -> Option<String> {
        let opened = self.open_image_file("", path, run).ok().filter(|_| !self.is_removed(path, run))?;
        Some(opened.text.text().to_owned())
    }

    /// Returns the folder of the current command, if it is known.
    pub(super) fn known_folder(&self) -> Option<&str> {
        (self.folder != UNKNOWN_FOLDER).then_some(self.folder.as_str())
    }

    /// Records the files that a command may have changed.
    pub(super) fn record_file_changes(&mut self, step: CommandStep<'_>, run: &RunInstruction) {
        let Some(trace) = FileChanges::of_effect(step.command, step.effect, self.known_folder()) else { return };
        // After more changes than that, every file counts as changed.
        if self.state.traces.len() <= MAX_TRACES {
            self.state.traces.push((run.instruction, self.folder.clone(), trace));
        }
    }

    /// Whether no command after the COPY of a file may have changed it.
    fn is_unchanged(&self, path: &str, run: &RunInstruction) -> bool {
        let whole = absolute_path(&self.folder, path);
        let from = self.tree.copy_instruction_index(run, &whole);
        // The text of a file that a command wrote is known; only later commands may change it.
        let since = self.state.changed_files.written_file(&whole).map_or(0, |written| written.traces);
        self.state.traces.len() <= MAX_TRACES && !self.may_be_changed_since(&whole, since, from)
    }

    /// Whether a command after the first so many traces, at or after an instruction, may have changed a file. Programs
    /// that may change any file count for those below the folder in which they run.
    fn may_be_changed_since(&self, path: &str, first_trace: usize, instruction: usize) -> bool {
        self.state.traces.iter().skip(first_trace).any(|(at, folder, trace)| {
            *at >= instruction
                && trace.may_change(path)
                && (!trace.anything || folder == "/" || is_at_or_below(path, folder))
        })
    }

    /// Whether a command may have removed the file or a parent directory, and none wrote it again.
    pub(super) fn is_removed(&self, path: &str, run: &RunInstruction) -> bool {
        let whole = absolute_path(&self.folder, path);
        let changed_files = &self.state.changed_files;
        let mut changes = changed_files.changes_of(&whole, changed_files.len());
        let last = changes.find(|(_, changed)| !matches!(changed.change, FileChange::FolderCreated));
        last.is_some_and(|(_, changed)| {
            matches!(changed.change, FileChange::Removed { .. })
                && changed.instruction >= self.tree.copy_instruction_index(run, &whole)
        })
    }

    /// Returns the sorted paths of the files that match a glob pattern; `None` where they are unknown.
    pub(super) fn expand_glob(&self, pattern: &str, run: &RunInstruction) -> Option<Vec<String>> {
        let whole = absolute_path(&self.folder, pattern);
        let mut found = self.tree.expand_glob(run, &whole)?;
        let is_wanted = |path: &str| is_in_folder_of(path, &whole) && path_matches(&whole, path);
        found.extend(self.state.changed_files.written_paths(is_wanted).into_iter().map(str::to_owned));
        found.retain(|path| !self.is_removed(path, run));
        found.sort();
        found.dedup();
        (!found.is_empty()).then_some(found)
    }

    /// Returns the paths of the files that match a glob pattern, one per line.
    fn open_glob_matches(&self, pattern: &str, run: &RunInstruction) -> Result<OpenedFile, Cause> {
        let found = self.expand_glob(pattern, run).ok_or(Cause::MatchesUnknown)?;
        Ok(OpenedFile::new(None, pattern, MappedText::contiguous(&found.join("\n"), 0)))
    }

    /// Returns the wheel names in a folder that COPY instructions list, one per line; otherwise the error `why`.
    pub(super) fn open_wheel_names(&self, folder: &str, why: Cause, run: &RunInstruction) -> Result<OpenedFile, Cause> {
        let names = self.tree.wheel_names(run, folder).ok_or(why)?;
        Ok(OpenedFile::new(None, folder, MappedText::contiguous(&names.join("\n"), 0)))
    }

    /// Returns the version of torch in the image so far, without its local part, if known.
    pub(super) fn installed_torch_version(&self) -> Option<String> {
        let knowledge = self.knowledge;
        let mut own =
            self.seen.packages.iter().rev().filter(|package| knowledge.has_variants(&package.requirement.name));
        match (own.next(), &self.tree.evaluated.base.kind) {
            (Some(package), _) => match &package.requirement.version {
                PackageVersion::Exact(version) if package.conditional.is_none() => Some(version.public().to_owned()),
                _ => None,
            },
            (None, BaseKind::Image(image)) => knowledge
                .base_image_torch(&image.familiar_name(), image.tag()?)
                .map(|version| version.public().to_owned()),
            (None, _) => None,
        }
    }
}

/// Whether a path is a glob pattern for files of one folder, other than all files or all wheels.
fn is_file_glob(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name.contains('*') && !matches!(name, "*" | "*.whl") && !folder.contains('*')
}

/// Whether a path is in the folder of a pattern.
fn is_in_folder_of(path: &str, pattern: &str) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    folder(path) == folder(pattern)
}
