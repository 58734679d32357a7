//! Shell scripts of the build context that commands run: their commands are read like commands of the RUN.

use crate::cause::Cause;
use crate::context::path_matches;
use crate::cuda::is_at_or_below;
use crate::dockerfile::{ExpandedText, MappedText, RunInstruction, VariableLookup};
use crate::extract::install_locations::SYSTEM_BIN_FOLDERS;
use crate::extract::run_commands::CommandReader;
use crate::extract::stage_files::absolute_path;
use crate::install::{CommandContext, MarkerEnvironment, OpenedFile};
use crate::shell::{
    Command, FileChanges, SCRIPT_FILE_VARIABLE, ShellFiles, StandardInput, Word, wrapped_program_index,
};
use crate::source::Span;
use crate::{install, shell};

/// The largest depth of nested scripts.
pub(super) const MAX_SCRIPT_DEPTH: usize = 4;
/// The largest number of scripts that are read per stage.
pub(super) const MAX_SCRIPTS: usize = 64;
/// Programs that run shell scripts.
const SHELL_PROGRAMS: &[&str] = &["sh", "bash", "dash", "ash", "zsh"];
/// The largest number of commands whose file changes are recorded.
const MAX_TRACES: usize = 4096;

impl CommandReader<'_> {
    /// Reads a script of the build context; returns whether the command runs one.
    pub(super) fn read_script(&mut self, command: &Command, run: &RunInstruction, depth: usize) -> bool {
        let found = self.script_on_path(command, run);
        let Some((at, same_shell)) =
            found.as_ref().map(|(at, _)| (*at, false)).or_else(|| find_script_argument(command))
        else {
            return self.read_script_from_input(command, run, depth);
        };
        let Some(word) = command.words.get(at) else { return false };
        let path = match &word.value {
            ExpandedText::Known { value, .. } if value.contains(['*', '?']) => {
                self.record_unknown_script(value, &Cause::MatchesUnknown, word.span, run);
                return false;
            }
            ExpandedText::Known { value, .. } => found.as_ref().map_or(value.as_str(), |(_, path)| path.as_str()),
            ExpandedText::Unresolved { reason, .. } => {
                self.record_unknown_script(word.raw.trim_matches(['"', '\'']), reason, word.span, run);
                return false;
            }
        };
        if depth >= MAX_SCRIPT_DEPTH || self.state.scripts >= MAX_SCRIPTS {
            self.add_note(format!("{path} was not read: the scripts are nested too deeply"));
            return true;
        }
        let opened = match self.open_image_file("", path, run) {
            Ok(opened) => opened,
            Err(why) => {
                if is_shell_script(path) {
                    self.seen.of_base.untold.push(self.seen.commands);
                    self.record_unread_script(path, &why, command.span);
                    self.add_note(format!("{path} was not read: {why}"));
                }
                return false;
            }
        };
        if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "run") {
            return false;
        }
        let first = opened.text.text().lines().next().unwrap_or("");
        if first.starts_with("#!") && !first.contains("sh") {
            return false;
        }
        self.state.scripts += 1;
        let mut variables = command.variables.to_vec();
        if !same_shell || command.words.len() > at + 1 {
            // Its arguments are its own.
            variables.retain(|(name, _)| name == "0" || !name.bytes().all(|byte| byte.is_ascii_digit()));
        }
        if !same_shell {
            variables.push(("0".to_owned(), ExpandedText::literal(path)));
        }
        variables.push((SCRIPT_FILE_VARIABLE.to_owned(), ExpandedText::literal(path)));
        for (number, word) in command.words.iter().skip(at + 1).take(9).enumerate() {
            variables.push(((number + 1).to_string(), word.value.clone()));
        }
        let (source, folder) = (self.source, self.folder.clone());
        self.source = opened.source.unwrap_or(source);
        let commands = self.commands_with_files(run, |files| {
            shell::called_script_commands(&opened.text, &run.scope, &variables, files)
        });
        for mut inner in commands {
            inner.conditional |= command.conditional;
            self.read_command(&inner, run, depth + 1);
        }
        self.source = source;
        if !same_shell {
            self.folder = folder;
        }
        true
    }
}

impl CommandReader<'_> {
    /// Returns the first script in a directory of PATH with the bare name of a command, and the position of that
    /// name.
    fn script_on_path(&mut self, command: &Command, run: &RunInstruction) -> Option<(usize, String)> {
        let at = wrapped_program_index(&command.words);
        let name = command.words.get(at)?.known().filter(|name| !name.is_empty() && !name.contains('/'))?;
        if self.state.on_path.0 != run.instruction + 1 {
            self.state.on_path = (run.instruction + 1, self.copied_path_directories(command, run));
        }
        let copied = self.state.on_path.1.iter().find_map(|folder| {
            let path = format!("{folder}/{name}");
            (!self.is_removed(&path) && self.open_image_file("", &path, run).is_ok()).then_some(path)
        });
        let of_system = || {
            SYSTEM_BIN_FOLDERS
                .iter()
                .filter(|_| !self.state.written_files.is_empty())
                .map(|folder| format!("{folder}/{name}"))
        };
        let made = || of_system().find(|path| self.state.written_files.contains_key(path));
        copied.or_else(made).map(|path| (at, path))
    }

    /// Returns the directories of PATH that a COPY may add programs to.
    fn copied_path_directories(&self, command: &Command, run: &RunInstruction) -> Vec<String> {
        let told = match command.variable("PATH") {
            Some(value) => value.known_text().map(str::to_owned),
            None => match run.scope.lookup("PATH") {
                VariableLookup::Known(value, _) => Some(value),
                VariableLookup::Unset | VariableLookup::NoValue | VariableLookup::Unknown(..) => None,
            },
        };
        let told = told.or_else(|| run.path_head.clone()).unwrap_or_default();
        let copies = || self.tree.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction);
        let into = copies().filter_map(|copy| {
            let (path, _) = copy.destination.as_ref()?;
            Some(absolute_path(&copy.folder, path.known_text()?))
        });
        let into: Vec<String> = into.collect();
        let reached = |folder: &String| {
            into.iter().any(|into| is_at_or_below(into, folder) || (into != "/" && is_at_or_below(folder, into)))
        };
        let mut found: Vec<String> =
            told.split(':').chain(SYSTEM_BIN_FOLDERS.iter().copied()).map(str::to_owned).collect();
        found.retain(|folder| folder.starts_with('/') && reached(folder));
        found.dedup();
        found
    }

    /// Reads the script that a shell receives from a file or pipe; returns whether there is one.
    fn read_script_from_input(&mut self, command: &Command, run: &RunInstruction, depth: usize) -> bool {
        let at = wrapped_program_index(&command.words);
        let known = |at: usize| command.words.get(at).and_then(Word::known);
        let shell =
            known(at).is_some_and(|program| SHELL_PROGRAMS.contains(&program.rsplit('/').next().unwrap_or(program)));
        let reads = |word: &str| word.starts_with("--") || !word.contains('n');
        let plain =
            (at + 1..command.words.len()).all(|at| known(at).is_some_and(|word| word.starts_with('-') && reads(word)));
        // A here-document was gone through with the text that it stands in.
        let given = matches!(command.input, StandardInput::File(_) | StandardInput::Pipe(_));
        if !shell || !plain || !given || depth >= MAX_SCRIPT_DEPTH || self.state.scripts >= MAX_SCRIPTS {
            return false;
        }
        let open = |folder: &str, path: &str| self.open_image_file(folder, path, run);
        let lookup = |name: &str| run.scope.lookup(name);
        let environment = MarkerEnvironment { machine: self.machine, python: None };
        let around = CommandContext { lookup: &lookup, open: &open, environment, knowledge: self.knowledge };
        let Ok(texts) = install::standard_input(command, &around) else { return false };
        for opened in texts {
            self.state.scripts += 1;
            let (source, folder) = (self.source, self.folder.clone());
            self.source = opened.source.unwrap_or(source);
            let variables = &command.variables;
            let commands = self.commands_with_files(run, |files| {
                shell::called_script_commands(&opened.text, &run.scope, variables, files)
            });
            for mut inner in commands {
                inner.conditional |= command.conditional;
                self.read_command(&inner, run, depth + 1);
            }
            (self.source, self.folder) = (source, folder);
        }
        true
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
        let opened = self.open_image_file("", path, run).ok().filter(|_| !self.is_removed(path))?;
        Some(opened.text.text().to_owned())
    }

    /// Records the files that a command may have changed.
    pub(super) fn record_file_changes(&mut self, command: &Command, run: &RunInstruction) {
        let Some(trace) = FileChanges::of_command(command) else { return };
        // Behind more than that nothing is told.
        if self.state.traces.len() <= MAX_TRACES {
            self.state.traces.push((run.instruction, self.folder.clone(), trace));
        }
    }

    /// Whether no command after the COPY of a file may have changed it.
    fn is_unchanged(&self, path: &str, run: &RunInstruction) -> bool {
        let whole = absolute_path(&self.folder, path);
        let from = self.tree.copy_instruction_of(run, &whole);
        let may = |(at, folder, trace): &(usize, String, FileChanges)| {
            *at >= from && trace.may_change(&whole) && (!trace.anything || whole.starts_with(folder.as_str()))
        };
        // What a command wrote itself is known; what came behind that counts.
        let since = self.state.traces_at_write.get(&whole).copied().unwrap_or(0);
        self.state.traces.len() <= MAX_TRACES && !self.state.traces.iter().skip(since).any(may)
    }

    /// Whether a command removed the file or a parent directory.
    fn is_removed(&self, path: &str) -> bool {
        let whole = absolute_path(&self.folder, path);
        self.state.removed_paths.iter().any(|gone| whole.starts_with(gone.as_str()))
    }

    /// Returns the sorted paths of the files that match a glob pattern; `None` where they are unknown.
    pub(super) fn expand_glob(&self, pattern: &str, run: &RunInstruction) -> Option<Vec<String>> {
        let whole = absolute_path(&self.folder, pattern);
        let mut found = self.tree.expand_glob(run, &whole)?;
        let made =
            self.state.written_files.keys().filter(|path| is_in_folder_of(path, &whole) && path_matches(&whole, path));
        found.extend(made.cloned());
        found.retain(|path| !self.is_removed(path));
        found.sort();
        found.dedup();
        (!found.is_empty()).then_some(found)
    }

    /// Returns the paths of the files that match a glob pattern, one per line.
    pub(super) fn open_glob_matches(&self, pattern: &str, run: &RunInstruction) -> Result<OpenedFile, Cause> {
        let found = self.expand_glob(pattern, run).ok_or(Cause::MatchesUnknown)?;
        Ok(OpenedFile::new(None, pattern, MappedText::contiguous(&found.join("\n"), 0)))
    }

    /// Returns the wheel names in a folder that COPY instructions list, one per line; otherwise the error `why`.
    pub(super) fn open_wheel_names(&self, folder: &str, why: Cause, run: &RunInstruction) -> Result<OpenedFile, Cause> {
        let names = self.tree.wheel_names(run, folder).ok_or(why)?;
        Ok(OpenedFile::new(None, folder, MappedText::contiguous(&names.join("\n"), 0)))
    }

    /// Records a script whose name is unknown and that may be in the build context, as missing evidence.
    fn record_unknown_script(&mut self, written: &str, reason: &Cause, span: Span, run: &RunInstruction) {
        let name = written.rsplit('/').next().unwrap_or(written);
        // A name that is known is one of a file that a COPY brings, or no file of the context.
        let name = if name.contains(['$', '`', ')', '}']) { "*.sh" } else { name };
        let front = written.split(['$', '`', '*', '?']).next().unwrap_or_default();
        let folder = front.rsplit_once('/').map_or("", |(folder, _)| folder);
        let below = (!front.is_empty()).then(|| absolute_path(&self.folder, folder));
        if self.tree.may_copy_file(run, below.as_deref(), name) {
            self.add_note(format!("{written} was not read: {reason}"));
            self.seen.of_base.untold.push(self.seen.commands);
            self.record_unread_script(written, reason, span);
        }
    }
}

/// Whether a path is a glob pattern for files of one folder, other than all files or all wheels.
pub(super) fn is_file_glob(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name.contains('*') && !matches!(name, "*" | "*.whl") && !folder.contains('*')
}

/// Whether a path is in the folder of a pattern.
fn is_in_folder_of(path: &str, pattern: &str) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    folder(path) == folder(pattern)
}

/// Returns the position of the script among the arguments of a command, and whether the current shell runs it.
fn find_script_argument(command: &Command) -> Option<(usize, bool)> {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    let at = wrapped_program_index(&command.words);
    let Some(first) = known(at) else {
        // `"$HERE/torch.sh"`
        let raw = command.words.get(at)?.raw.trim_matches(['"', '\'']);
        return (raw.contains('/') && is_shell_script(raw)).then_some((at, false));
    };
    match first.rsplit('/').next()? {
        program if SHELL_PROGRAMS.contains(&program) => {
            let after =
                (at + 1..command.words.len()).find(|at| known(*at).is_none_or(|word| !word.starts_with(['-', '+'])))?;
            // With `-n` the shell reads the script and runs nothing of it.
            let flags = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('n');
            let reads = (at + 1..after).any(|at| known(at).is_some_and(flags));
            (!reads).then_some((after, false))
        }
        "." | "source" => Some((at + 1, true)),
        _ => {
            (is_shell_script(first) || first.starts_with("./") || (first.starts_with('/') && !first.contains("/bin/")))
                .then_some((at, false))
        }
    }
}

/// Whether a path has the extension of a shell script.
fn is_shell_script(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "sh" | "bash"))
}

#[cfg(test)]
mod tests {
    use super::find_script_argument;
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    #[test]
    fn a_command_names_the_script_that_it_runs() {
        for (text, expected) in [
            ("./install.sh a", Some((0, false))),
            ("bash -eux /tmp/x.sh", Some((2, false))),
            ("sudo -E sh x.sh", Some((1, false))),
            ("timeout 60 bash x.sh", Some((1, false))),
            (". ./env.sh", Some((1, true))),
            ("/tmp/install.sh", Some((0, false))),
            ("python3 x.py", None),
            ("/usr/bin/pip install x", None),
            ("bash -n x.sh", None),
            ("sh -en x.sh", None),
            ("bash --noprofile x.sh", Some((2, false))),
            ("echo x.sh", None),
        ] {
            let commands = script_commands(&MappedText::contiguous(text, 0));
            assert_eq!(commands.first().and_then(find_script_argument), expected, "{text}");
        }
    }
}
