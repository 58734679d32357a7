//! Scripts of the build context that commands run: their commands are read as if they stood in the RUN.

use crate::context::matches;
use crate::cuda::lies_below;
use crate::dockerfile::Lookup;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::extract::install::Reader;
use crate::extract::lands::SYSTEM;
use crate::extract::tree::absolute;
use crate::install;
use crate::install::Around;
use crate::install::Environment;
use crate::install::Opened;
use crate::shell;
use crate::shell::Command;
use crate::shell::Files;
use crate::shell::Input;
use crate::shell::OWN_FILE;
use crate::shell::Trace;
use crate::shell::Word;
use crate::shell::inner;
use crate::source::Span;

/// Scripts run scripts, but not for ever.
pub(super) const DEEPEST: usize = 4;
pub(super) const MOST_SCRIPTS: usize = 64;
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh"];
/// What more commands may have changed is not kept.
const MOST_TRACES: usize = 4096;

impl Reader<'_> {
    /// Goes through a script that came from the context; says whether the command runs one.
    pub(super) fn script(&mut self, command: &Command, run: &RunInstruction, depth: usize) -> bool {
        let found = self.on_path(command, run);
        let Some((at, same_shell)) = found.as_ref().map(|(at, _)| (*at, false)).or_else(|| script_word(command)) else {
            return self.script_on_input(command, run, depth);
        };
        let Some(word) = command.words.get(at) else { return false };
        let path = match &word.value {
            Resolved::Known { value, .. } if value.contains(['*', '?']) => {
                self.nameless(value, "the files that match it are unknown", word.span, run);
                return false;
            }
            Resolved::Known { value, .. } => found.as_ref().map_or(value.as_str(), |(_, path)| path.as_str()),
            Resolved::Unresolved { reason, .. } => {
                self.nameless(word.raw.trim_matches(['"', '\'']), reason, word.span, run);
                return false;
            }
        };
        if depth >= DEEPEST || self.done.scripts >= MOST_SCRIPTS {
            self.note(format!("{path} was not read: the scripts are nested too deeply"));
            return true;
        }
        let opened = match self.open("", path, run) {
            Ok(opened) => opened,
            Err(why) => {
                if is_script(path) {
                    self.seen.of_base.untold.push(self.seen.commands);
                    self.unseen(path, &why, command.span);
                    self.note(format!("{path} was not read: {why}"));
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
        self.done.scripts += 1;
        let mut variables = command.variables.to_vec();
        if !same_shell || command.words.len() > at + 1 {
            // Its arguments are its own.
            variables.retain(|(name, _)| name == "0" || !name.bytes().all(|byte| byte.is_ascii_digit()));
        }
        if !same_shell {
            variables.push(("0".to_owned(), Resolved::literal(path)));
        }
        variables.push((OWN_FILE.to_owned(), Resolved::literal(path)));
        for (number, word) in command.words.iter().skip(at + 1).take(9).enumerate() {
            variables.push(((number + 1).to_string(), word.value.clone()));
        }
        let (source, folder) = (self.source, self.folder.clone());
        self.source = opened.source.unwrap_or(source);
        let commands = self.among(run, |files| shell::called_commands(&opened.text, &run.scope, &variables, files));
        for mut inner in commands {
            inner.conditional |= command.conditional;
            self.step(&inner, run, depth + 1);
        }
        self.source = source;
        if !same_shell {
            self.folder = folder;
        }
        true
    }
}

impl Reader<'_> {
    /// The script that a bare name means, with the word that names it: the first one that lies in a directory of PATH.
    fn on_path(&mut self, command: &Command, run: &RunInstruction) -> Option<(usize, String)> {
        let at = inner(&command.words);
        let name = command.words.get(at)?.known().filter(|name| !name.is_empty() && !name.contains('/'))?;
        if self.done.on_path.0 != run.instruction + 1 {
            self.done.on_path = (run.instruction + 1, self.directories(command, run));
        }
        let copied = self.done.on_path.1.iter().find_map(|folder| {
            let path = format!("{folder}/{name}");
            (!self.is_gone(&path) && self.open("", &path, run).is_ok()).then_some(path)
        });
        let of_system =
            || SYSTEM.iter().filter(|_| !self.done.made.is_empty()).map(|folder| format!("{folder}/{name}"));
        let made = || of_system().find(|path| self.done.made.contains_key(path));
        copied.or_else(made).map(|path| (at, path))
    }

    /// The directories of PATH that a COPY may bring programs into.
    fn directories(&self, command: &Command, run: &RunInstruction) -> Vec<String> {
        let told = match command.variable("PATH") {
            Some(value) => value.known().map(str::to_owned),
            None => match run.scope.lookup("PATH") {
                Lookup::Known(value, _) => Some(value),
                Lookup::Unset | Lookup::NoValue | Lookup::Unknown(..) => None,
            },
        };
        let told = told.or_else(|| run.path_head.clone()).unwrap_or_default();
        let copies = || self.tree.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction);
        let into = copies().filter_map(|copy| {
            let (path, _) = copy.destination.as_ref()?;
            Some(absolute(&copy.folder, path.known()?))
        });
        let into: Vec<String> = into.collect();
        let reached = |folder: &String| {
            into.iter().any(|into| lies_below(into, folder) || (into != "/" && lies_below(folder, into)))
        };
        let mut found: Vec<String> = told.split(':').chain(SYSTEM.iter().copied()).map(str::to_owned).collect();
        found.retain(|folder| folder.starts_with('/') && reached(folder));
        found.dedup();
        found
    }

    /// Goes through the script that a shell reads from a file or another command; says whether it did.
    fn script_on_input(&mut self, command: &Command, run: &RunInstruction, depth: usize) -> bool {
        let at = inner(&command.words);
        let known = |at: usize| command.words.get(at).and_then(Word::known);
        let shell = known(at).is_some_and(|program| SHELLS.contains(&program.rsplit('/').next().unwrap_or(program)));
        let reads = |word: &str| word.starts_with("--") || !word.contains('n');
        let plain =
            (at + 1..command.words.len()).all(|at| known(at).is_some_and(|word| word.starts_with('-') && reads(word)));
        // A here-document was gone through with the text that it stands in.
        let given = matches!(command.input, Input::File(_) | Input::Pipe(_));
        if !shell || !plain || !given || depth >= DEEPEST || self.done.scripts >= MOST_SCRIPTS {
            return false;
        }
        let open = |folder: &str, path: &str| self.open(folder, path, run);
        let lookup = |name: &str| run.scope.lookup(name);
        let environment = Environment { machine: self.machine, python: None };
        let around = Around { lookup: &lookup, open: &open, environment, knowledge: self.knowledge };
        let Ok(texts) = install::input(command, &around) else { return false };
        for opened in texts {
            self.done.scripts += 1;
            let (source, folder) = (self.source, self.folder.clone());
            self.source = opened.source.unwrap_or(source);
            let variables = &command.variables;
            let commands = self.among(run, |files| shell::called_commands(&opened.text, &run.scope, variables, files));
            for mut inner in commands {
                inner.conditional |= command.conditional;
                self.step(&inner, run, depth + 1);
            }
            (self.source, self.folder) = (source, folder);
        }
        true
    }

    /// Reads commands among the files that are in the image now.
    pub(super) fn among(&self, run: &RunInstruction, read: impl FnOnce(Files<'_>) -> Vec<Command>) -> Vec<Command> {
        let text = |path: &str| self.text(path, run);
        let listed = |pattern: &str| self.listed(pattern, run);
        let unchanged = |path: &str| self.unchanged(path, run);
        read(Files { folder: &self.folder, text: &text, unchanged: &unchanged, listed: &listed })
    }

    /// The text of a file that is surely in the image.
    fn text(&self, path: &str, run: &RunInstruction) -> Option<String> {
        let opened = self.open("", path, run).ok().filter(|_| !self.is_gone(path))?;
        Some(opened.text.text().to_owned())
    }

    /// Notes what a command may have changed.
    pub(super) fn trace(&mut self, command: &Command, run: &RunInstruction) {
        let Some(trace) = Trace::of(command) else { return };
        // Behind more than that nothing is told.
        if self.done.traces.len() <= MOST_TRACES {
            self.done.traces.push((run.instruction, self.folder.clone(), trace));
        }
    }

    /// Whether no command behind the COPY that brings a file may have changed it.
    fn unchanged(&self, path: &str, run: &RunInstruction) -> bool {
        let whole = absolute(&self.folder, path);
        let from = self.tree.brought_at(run, &whole);
        let may = |(at, folder, trace): &(usize, String, Trace)| {
            *at >= from && trace.may_change(&whole) && (!trace.anything || whole.starts_with(folder.as_str()))
        };
        // What a command wrote itself is known; what came behind that counts.
        let since = self.done.made_at.get(&whole).copied().unwrap_or(0);
        self.done.traces.len() <= MOST_TRACES && !self.done.traces.iter().skip(since).any(may)
    }

    fn is_gone(&self, path: &str) -> bool {
        let whole = absolute(&self.folder, path);
        self.done.gone.iter().any(|gone| whole.starts_with(gone.as_str()))
    }

    /// The paths of the files that a pattern stands for, sorted; none where that cannot be told.
    pub(super) fn listed(&self, pattern: &str, run: &RunInstruction) -> Option<Vec<String>> {
        let whole = absolute(&self.folder, pattern);
        let mut found = self.tree.listed(run, &whole)?;
        let made = self.done.made.keys().filter(|path| same_folder(path, &whole) && matches(&whole, path));
        found.extend(made.cloned());
        found.retain(|path| !self.is_gone(path));
        found.sort();
        found.dedup();
        (!found.is_empty()).then_some(found)
    }

    /// The names of the files that a pattern stands for, one a line.
    pub(super) fn names(&self, pattern: &str, run: &RunInstruction) -> Result<Opened, String> {
        let found = self.listed(pattern, run).ok_or_else(|| "the files that match it are unknown".to_owned())?;
        Ok(Opened::new(None, pattern, Mapped::whole(&found.join("\n"), 0)))
    }

    /// The wheels of a folder that was not found in the context and whose names COPY instructions say; else why it was not.
    pub(super) fn wheels_of(&self, folder: &str, why: String, run: &RunInstruction) -> Result<Opened, String> {
        let names = self.tree.wheels(run, folder).ok_or(why)?;
        Ok(Opened::new(None, folder, Mapped::whole(&names.join("\n"), 0)))
    }

    /// A script whose name cannot be told and that may be one of the context: what it installs is missing evidence.
    fn nameless(&mut self, written: &str, reason: &str, span: Span, run: &RunInstruction) {
        let name = written.rsplit('/').next().unwrap_or(written);
        // A name that is known is one of a file that a COPY brings, or no file of the context.
        let name = if name.contains(['$', '`', ')', '}']) { "*.sh" } else { name };
        let front = written.split(['$', '`', '*', '?']).next().unwrap_or_default();
        let folder = front.rsplit_once('/').map_or("", |(folder, _)| folder);
        let below = (!front.is_empty()).then(|| absolute(&self.folder, folder));
        if self.tree.may_bring(run, below.as_deref(), name) {
            self.note(format!("{written} was not read: {reason}"));
            self.seen.of_base.untold.push(self.seen.commands);
            self.unseen(written, reason, span);
        }
    }
}

/// Whether a path is a pattern for files of one folder; all wheels of a folder are asked for in another way.
pub(super) fn is_pattern(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    name.contains('*') && !matches!(name, "*" | "*.whl") && !folder.contains('*')
}

/// Whether a path lies in the folder of a pattern.
fn same_folder(path: &str, pattern: &str) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    folder(path) == folder(pattern)
}

/// Which word of a command is a script, and whether the same shell goes through it.
fn script_word(command: &Command) -> Option<(usize, bool)> {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    let at = inner(&command.words);
    let Some(first) = known(at) else {
        // `"$HERE/torch.sh"`
        let raw = command.words.get(at)?.raw.trim_matches(['"', '\'']);
        return (raw.contains('/') && is_script(raw)).then_some((at, false));
    };
    match first.rsplit('/').next()? {
        program if SHELLS.contains(&program) => {
            let after =
                (at + 1..command.words.len()).find(|at| known(*at).is_none_or(|word| !word.starts_with(['-', '+'])))?;
            // With `-n` the shell reads the script and runs nothing of it.
            let flags = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('n');
            let reads = (at + 1..after).any(|at| known(at).is_some_and(flags));
            (!reads).then_some((after, false))
        }
        "." | "source" => Some((at + 1, true)),
        _ => (is_script(first) || first.starts_with("./") || (first.starts_with('/') && !first.contains("/bin/")))
            .then_some((at, false)),
    }
}

/// Whether a path names a script of the shell.
fn is_script(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "sh" | "bash"))
}

#[cfg(test)]
mod tests {
    use super::script_word;
    use crate::dockerfile::Mapped;
    use crate::shell::script_commands;

    #[test]
    fn a_command_says_which_script_it_runs() {
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
            let commands = script_commands(&Mapped::whole(text, 0));
            assert_eq!(commands.first().and_then(script_word), expected, "{text}");
        }
    }
}
