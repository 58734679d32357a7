//! Scripts of the build context that commands run: their commands are read as if they stood in the RUN.

use crate::dockerfile::RunInstruction;
use crate::extract::install::Reader;
use crate::shell;
use crate::shell::Command;
use crate::shell::Word;
use crate::shell::inner;

/// Scripts run scripts, but not for ever.
const DEEPEST: usize = 4;
const MOST_SCRIPTS: usize = 64;

impl Reader<'_> {
    /// Goes through a script that came from the context; says whether the command runs one.
    pub(super) fn script(&mut self, command: &Command, run: &RunInstruction, depth: usize) -> bool {
        let Some((at, same_shell)) = script_word(command) else { return false };
        let Some(path) = command.words.get(at).and_then(Word::known) else { return false };
        if depth >= DEEPEST || self.done.scripts >= MOST_SCRIPTS {
            self.note(format!("{path} was not read: too many scripts run one another"));
            return true;
        }
        let opened = match self.open("", path, run) {
            Ok(opened) => opened,
            Err(why) => {
                if is_script(path) {
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
        let mut variables = command.variables.clone();
        for (number, word) in command.words.iter().skip(at + 1).take(9).enumerate() {
            variables.push(((number + 1).to_string(), word.value.clone()));
        }
        let (source, folder) = (self.source, self.folder.clone());
        self.source = opened.source.unwrap_or(source);
        for mut inner in shell::called_commands(&opened.text, &run.scope, &variables) {
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

/// Which word of a command is a script, and whether the same shell goes through it.
fn script_word(command: &Command) -> Option<(usize, bool)> {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    let at = inner(&command.words);
    let first = known(at)?;
    match first.rsplit('/').next()? {
        "sh" | "bash" | "dash" | "ash" | "zsh" => {
            let after = (at + 1..command.words.len())
                .find(|at| known(*at).is_some_and(|word| !word.starts_with(['-', '+'])))?;
            Some((after, false))
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
            ("echo x.sh", None),
        ] {
            let commands = script_commands(&Mapped::whole(text, 0));
            assert_eq!(commands.first().and_then(script_word), expected, "{text}");
        }
    }
}
