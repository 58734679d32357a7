//! Determines which files a command may change; unknown programs may change any file.

use crate::dockerfile::context::path_matches;
use crate::shell::command::{Command, Word};

/// Programs that change no file except by redirection, or only system files.
const READ_ONLY_PROGRAMS: &[&str] = &[
    ":",
    "[",
    "[[",
    "addgroup",
    "adduser",
    "apk",
    "apt",
    "apt-get",
    "apt-key",
    "basename",
    "cat",
    "cd",
    "chgrp",
    "chmod",
    "chown",
    "command",
    "conda",
    "cut",
    "date",
    "dirname",
    "dnf",
    "echo",
    "egrep",
    "env",
    "exit",
    "export",
    "false",
    "fgrep",
    "getent",
    "grep",
    "groupadd",
    "head",
    "hash",
    "id",
    "ldconfig",
    "ls",
    "mamba",
    "microdnf",
    "micromamba",
    "mkdir",
    "nproc",
    "pip",
    "pip3",
    "printf",
    "printenv",
    "pushd",
    "popd",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "rmdir",
    "set",
    "shift",
    "shopt",
    "sleep",
    "stat",
    "tail",
    "test",
    "tr",
    "trap",
    "true",
    "type",
    "ulimit",
    "umask",
    "uname",
    "unset",
    "useradd",
    "usermod",
    "uv",
    "wait",
    "wc",
    "which",
    "yum",
    "zypper",
];
/// Programs that only change the files that their arguments name.
const NAMED_FILE_PROGRAMS: &[&str] = &["awk", "gawk", "mawk", "rm", "sort", "tee", "touch", "unlink", "uniq", "wget"];
/// Programs that change the files that their arguments name, and may copy whole folders.
const COPYING_PROGRAMS: &[&str] = &["cp", "install", "ln", "mv"];
/// Python modules that change no requirements or lock file.
const INSTALLER_MODULES: &[&str] = &["ensurepip", "pip", "venv", "virtualenv"];
/// Actions of `find` that delete files or run commands.
const FIND_ACTIONS: &[&str] = &["-delete", "-exec", "-execdir", "-ok", "-okdir"];

/// The files that a command may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChanges {
    /// Whether any file may have changed.
    pub anything: bool,
    /// The arguments that name files; `None` for an unknown one.
    words: Vec<Option<String>>,
}

impl FileChanges {
    /// Returns the files that a command may change; `None` if it changes none.
    pub fn of_command(command: &Command) -> Option<Self> {
        let words = command.words.get(1..).unwrap_or_default();
        let program = command.program().unwrap_or_default();
        // It stands for an assignment, with the command that tells the value.
        if let (":", Some(output)) = (program, command.words.first().and_then(|first| first.output.as_ref())) {
            return Self::of_command(output);
        }
        let named = match program {
            _ if READ_ONLY_PROGRAMS.contains(&program) => Some(Vec::new()),
            _ if NAMED_FILE_PROGRAMS.contains(&program) => Some(words.iter().collect()),
            _ if COPYING_PROGRAMS.contains(&program) => copied_files(words),
            "sed" => Some(if words.iter().any(|word| may_be_option(word, 'i')) {
                words.iter().collect()
            } else {
                Vec::new()
            }),
            "curl" => downloaded_files(words),
            "find" => {
                let runs = |word: &Word| {
                    word.known().is_none_or(|word| FIND_ACTIONS.contains(&word) || word.starts_with("-f"))
                };
                (!words.iter().any(runs)).then(Vec::new)
            }
            "." | "source" => {
                let is_harmless = |word: &Word| word.known().is_some_and(|path| path.ends_with("/activate"));
                words.first().is_some_and(is_harmless).then(Vec::new)
            }
            _ if program.starts_with("python") => {
                let arguments: Vec<_> = words.iter().take(2).map(Word::known).collect();
                matches!(arguments.as_slice(), [Some("-m"), Some(module)] if INSTALLER_MODULES.contains(module))
                    .then(Vec::new)
            }
            // `pip3.11`.
            _ if program.starts_with("pip3.") => Some(Vec::new()),
            _ => None,
        };
        let anything = named.is_none();
        let all = named.unwrap_or_default().into_iter().chain(&command.writes);
        let words: Vec<Option<String>> = all.map(|word| word.known().map(str::to_owned)).collect();
        (anything || !words.is_empty()).then_some(Self { anything, words })
    }

    /// Whether a file may be among the changed ones.
    pub fn may_change(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let one = |word: &Option<String>| {
            let Some(word) = word else { return true };
            let Some(at) = word.find(['*', '?', '[', '{']) else {
                let above = word.trim_end_matches('/');
                let is_above = above.len() > 1 && path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
                return word.contains(name) || is_above;
            };
            let (front, last) = (word.get(..at).unwrap_or(""), word.rsplit('/').next().unwrap_or(word));
            if front.starts_with('/') && path.starts_with('/') {
                return path.starts_with(front);
            }
            word.contains('{') || word.contains('/') || path_matches(last, name)
        };
        self.anything || name.is_empty() || self.words.iter().any(one)
    }
}

/// Whether a word is, or may be, a short option with this letter, or `--in-place`.
fn may_be_option(word: &Word, letter: char) -> bool {
    let option = |word: &str| word.starts_with("--in-place") || !word.starts_with("--") && word.contains(letter);
    word.known().is_none_or(|word| word.starts_with('-') && option(word))
}

/// Returns the arguments of a copy or move; `None` if it may copy a folder with unknown files.
fn copied_files(words: &[Word]) -> Option<Vec<&Word>> {
    let plain = |word: &Word| {
        word.known().is_some_and(|word| match word.strip_prefix('-') {
            Some(option) => !option.contains(['r', 'R', 'a', 'T', 't']) && !option.starts_with('-'),
            None => !word.contains(['*', '?', '[', '{']),
        })
    };
    words.iter().all(plain).then(|| words.iter().collect())
}

/// Returns the output files of a `curl` command; `None` if they are unknown.
fn downloaded_files(words: &[Word]) -> Option<Vec<&Word>> {
    let mut named = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.known().filter(|word| word.starts_with('-')) else {
            if word.known().is_none() && !word.raw.starts_with('"') && !word.raw.contains("://") {
                return None;
            }
            continue;
        };
        let long = option.starts_with("--");
        if option.starts_with("--remote-name")
            || option.starts_with("--config")
            || !long && option.contains(['O', 'J', 'K'])
        {
            return None;
        }
        if option == "--output" || !long && option.ends_with('o') {
            named.extend(words.next());
        } else if option.starts_with("--output") || option.starts_with("-o") {
            named.push(word);
        }
    }
    Some(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::shell::script_commands;

    /// Whether a script may change `/app/p.txt`.
    fn changes_file(text: &str) -> bool {
        let commands = script_commands(&MappedText::contiguous(text, 0));
        commands.iter().filter_map(FileChanges::of_command).any(|trace| trace.may_change("/app/p.txt"))
    }

    #[test]
    fn read_only_commands_leave_a_file_unchanged() {
        for text in [
            "apt-get update && apt-get install -y $PACKAGES && rm -rf /var/lib/apt/lists/*",
            "cat p.txt; grep x p.txt > /dev/null; pip install -r p.txt",
            "mkdir -p a; cd a; chmod 600 p.txt",
            "sed s/a/b/ p.txt; sed -i s/a/b/ q.txt; rm -f *.log",
            "curl -fsSL $(x)://h -o /tmp/x; wget https://h/q.whl; cp a.so b.so; ln -sf /a /b",
            "find . -name p.txt; python3 -m pip install x; . /venv/bin/activate",
            "echo x >> q.txt; mv q.txt r.txt",
        ] {
            assert!(!changes_file(text), "{text}");
        }
        for text in [
            "perl -pi -e s/a/b/ p.txt",
            "perl -pi -e s/a/b/ q.txt",
            "find . -name '*.txt' -exec sed -i s/a/b/ {} +",
            "find . -delete",
            "ln -sf q.txt p.txt",
            "ex -sc '%s/a/b/|x' p.txt",
            "./patch.sh",
            "bash patch.sh",
            "echo x | sh",
            "python3 x.py",
            "python3 -c x",
            "make",
            ". ./env.sh",
            "$(y) p.txt",
            "echo x >> p.txt",
            "echo x > $(y)",
            "echo x | tee p.txt",
            "sed -i s/a/b/ p.txt",
            "sed -ri s/a/b/ *.txt",
            "cp -r other/. .",
            "cp other/* .",
            "mv $(y) .",
            "rm -f *.txt",
            "rm -rf /app",
            "rm -rf /app/*",
            "tar xf x.tar",
            "git checkout x",
            "curl -o p.txt https://h/x",
            "curl -sSLo p.txt https://h/x",
            "curl -O https://h/x",
            "wget https://h/p.txt",
            "wget $(y)",
        ] {
            assert!(changes_file(text), "{text}");
        }
    }
}
