//! Resolves paths that a script uses: `$(cd "$(dirname "$0")" && pwd)`, `. ./lib.sh`, `scripts/*.sh`.

use crate::build::{Command, Word};
use crate::dockerfile::context::normalize_path;
use crate::dockerfile::{ExpandedText, MappedText};
use crate::model::cause::Cause;
use crate::shell::filters;
use crate::shell::walk::state::{MAX_DEPTH, MAX_VARIABLES, ShellWalker};
use crate::text::source::Span;

/// The maximum number of sourced files of a script.
const MAX_SOURCED_FILES: usize = 64;
/// The maximum length of a sourced file.
const MAX_SOURCED_BYTES: usize = 64 * 1024;
/// The variable that names the file of the current script.
pub const SCRIPT_FILE_VARIABLE: &str = "BASH_SOURCE";
/// The variable, which no text can name, that contains the current folder.
const FOLDER: &str = "(folder)";
/// The variable with the folder for `cd -`.
const PREVIOUS_FOLDER: &str = "(previous folder)";
/// The variable with the folders for `popd`, one per line.
const FOLDER_STACK: &str = "(folder stack)";
/// The home folder of the user, as shells write it.
const HOME: &str = "~/";

impl ShellWalker<'_> {
    /// Returns the output of a substitution with the spans of its values, if it can be computed statically.
    pub(super) fn substitution_output(&self, inside: &str) -> Option<(String, Vec<Span>)> {
        let text = MappedText::contiguous(inside, 0);
        if let Some(command) = self.substitution_command(&text)
            && let Some(line) = filters::output_line(&command)
        {
            return Some(self.resolve_realpath(&command, line));
        }
        if self.substitutions >= MAX_DEPTH || !inside.contains("pwd") {
            return None;
        }
        let mut walk = self.substitution_walker();
        walk.walk_text(&text, 0);
        let (last, before) = walk.out.split_last()?;
        let plain = before.iter().chain([last]).all(|command| !command.conditional);
        let moves = before.iter().all(|command| command.program() == Some("cd") && command.words.len() > 1);
        let writes = last.program() == Some("pwd") && last.writes.is_empty();
        if !(plain && moves && writes) {
            return None;
        }
        let origins = before.iter().flat_map(|command| &command.words).flat_map(|word| word.value.origins());
        Some((walk.absolute_folder()?, origins.copied().collect()))
    }

    /// Returns the absolute path of the current folder, if it is known.
    pub(super) fn absolute_folder(&self) -> Option<String> {
        normalize_absolute_path(&self.resolve_path(".")?)
    }

    /// Resolves the output of `realpath` and `readlink` to an absolute path.
    fn resolve_realpath(&self, command: &Command, (path, origins): (String, Vec<Span>)) -> (String, Vec<Span>) {
        let whole = match command.program() {
            Some("realpath" | "readlink") => self.resolve_path(&path).and_then(|path| normalize_absolute_path(&path)),
            _ => None,
        };
        (whole.unwrap_or(path), origins)
    }

    /// Resolves a path against the current folder; `None` if that folder is unknown.
    pub(super) fn resolve_path(&self, path: &str) -> Option<String> {
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        Some(join_folder(self.files.folder, &join_folder(&self.current_folder()?, path)))
    }

    /// Returns the current folder, relative to that in which the text starts; `None` if it is unknown.
    pub(super) fn current_folder(&self) -> Option<String> {
        self.variables.get(FOLDER).map_or(Some(String::new()), |folder| folder.known_text().map(str::to_owned))
    }

    /// Returns the variables that `cd`, `pushd` and `popd` set. The folder is kept as a variable, so that a subshell
    /// does not change that of its caller, and a branch that may not run makes it unknown.
    pub(super) fn folder_change(&self, words: &[Word]) -> Vec<(&'static str, ExpandedText)> {
        let unknown = || ExpandedText::unresolved(Vec::new(), Cause::ValueByControlFlow);
        let Some(program @ ("cd" | "pushd" | "popd")) = words.first().and_then(Word::known) else {
            return Vec::new();
        };
        let before = self.variables.get(FOLDER).cloned().unwrap_or_else(|| ExpandedText::literal(""));
        let kept = |name: &str| self.variables.get(name).cloned().unwrap_or_else(unknown);
        let mut operands = words.iter().skip(1).map(Word::known);
        let to = operands.find(|word| !matches!(word, Some("--" | "-P" | "-L" | "-e")));
        let stack = self.variables.get(FOLDER_STACK).map(ExpandedText::known_text);
        let (after, stack) = match (program, to) {
            ("popd", None) => {
                let (rest, top) = match stack.flatten().map(|stack| stack.rsplit_once('\n').unwrap_or(("", stack))) {
                    Some((rest, top)) => (ExpandedText::literal(rest), ExpandedText::literal(top)),
                    None => (unknown(), unknown()),
                };
                (top, Some(rest))
            }
            ("popd", Some(_)) | ("pushd", None) => (unknown(), Some(unknown())),
            (_, to) => {
                let after = match (to, before.known_text()) {
                    (None, _) => ExpandedText::literal(HOME),
                    (Some(Some("-")), _) => kept(PREVIOUS_FOLDER),
                    (Some(Some(to)), _) if to == "~" || to.starts_with("~/") => {
                        ExpandedText::literal(join_folder(HOME, to.trim_start_matches(['~', '/'])))
                    }
                    (Some(Some(to)), _) if to.starts_with('/') => ExpandedText::literal(to),
                    (Some(Some(to)), Some(before)) if !to.starts_with(['-', '+', '~']) => {
                        ExpandedText::literal(join_folder(before, to))
                    }
                    _ => unknown(),
                };
                let pushed = (program == "pushd").then(|| match (stack, before.known_text()) {
                    (None, Some(before)) => ExpandedText::literal(before),
                    (Some(Some(stack)), Some(before)) => ExpandedText::literal(format!("{stack}\n{before}")),
                    _ => unknown(),
                });
                (after, pushed)
            }
        };
        let stack = stack.map(|stack| (FOLDER_STACK, stack));
        [(PREVIOUS_FOLDER, before), (FOLDER, after)].into_iter().chain(stack).collect()
    }

    /// Walks the file of `.` or `source` and adopts its variables and functions; returns whether it could.
    pub(super) fn source_file(&mut self, words: &[Word]) -> bool {
        let [command, file, ..] = words else { return false };
        let path = file.known().filter(|_| command.known() != Some("eval")).and_then(|path| self.resolve_path(path));
        let text =
            path.as_deref().filter(|_| self.read_in < MAX_SOURCED_FILES).and_then(|path| (self.files.text)(path));
        let Some((path, text)) = path.zip(text.filter(|text| text.len() <= MAX_SOURCED_BYTES)) else { return false };
        if self.substitutions >= MAX_DEPTH {
            return false;
        }
        let mut walk = self.substitution_walker();
        walk.functions.clone_from(&self.functions);
        walk.read_in = self.read_in + 1;
        walk.variables.insert(SCRIPT_FILE_VARIABLE.to_owned(), ExpandedText::literal(&path));
        let own = words.get(2..).unwrap_or_default();
        walk.begin_sourced_file(own);
        walk.walk_text(&MappedText::contiguous(&text, 0), 0);
        if own.is_empty() {
            self.end_sourced_file(std::mem::take(&mut walk.arguments));
        }
        self.read_in = walk.read_in;
        walk.variables.remove(SCRIPT_FILE_VARIABLE);
        for (name, value) in walk.variables {
            if self.variables.get(&name) != Some(&value) && self.variables.len() < MAX_VARIABLES {
                let value = match value {
                    // Where it is written there is no place of this text.
                    ExpandedText::Known { value, .. } => ExpandedText::Known { value, origins: vec![file.span] },
                    unresolved @ ExpandedText::Unresolved { .. } => unresolved,
                };
                self.apply_assignment(&name, value);
            }
        }
        for (name, body) in walk.functions {
            if !self.functions.contains_key(&name)
                && self.functions.len() < MAX_VARIABLES
                && let Some(body) = body.into_sourced()
            {
                self.functions.insert(name, body);
            }
        }
        !walk.sourced
    }

    /// Returns the words that a glob pattern expands to, if they are known.
    pub(super) fn expand_glob(&self, word: &Word) -> Option<Vec<Word>> {
        let pattern = word.known().filter(|pattern| pattern.contains('*') && !word.raw.contains(['"', '\'']))?;
        let folder = pattern.rsplit_once('/').map_or("", |(folder, _)| folder);
        if folder.contains(['*', '?']) {
            return None;
        }
        let path = |found: String| {
            let name = found.rsplit('/').next().unwrap_or_default();
            let value = if pattern.contains('/') { format!("{folder}/{name}") } else { name.to_owned() };
            let value = ExpandedText::Known { value, origins: word.value.origins().to_vec() };
            Word { value, ..word.clone() }
        };
        Some((self.files.listed)(&self.resolve_path(pattern)?)?.into_iter().map(path).collect())
    }
}

/// Whether a variable contains a folder that `cd` and similar commands set.
pub(super) fn is_folder_variable(name: &str) -> bool {
    name.starts_with('(')
}

/// Joins a folder and a path that may be absolute.
pub(super) fn join_folder(folder: &str, path: &str) -> String {
    match (folder, path) {
        (folder, "") => folder.to_owned(),
        ("", path) => path.to_owned(),
        (_, path) if path.starts_with(['/', '~']) => path.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// Normalizes an absolute path; `None` for a relative one.
fn normalize_absolute_path(path: &str) -> Option<String> {
    path.starts_with('/').then(|| format!("/{}", normalize_path(path)))
}

#[cfg(test)]
mod tests {
    use crate::dockerfile::{ExpandedText, MappedText, VariableScope};
    use crate::shell::scripts::ShellFiles;
    use crate::shell::walk::walk_script;

    /// Returns the words of each command of `/opt/s/own.sh`, called by `name` from `folder`.
    fn command_lines(name: &str, folder: &str, text: &str) -> Vec<String> {
        let file_text = |path: &str| match path.strip_prefix("/opt/s/")?.trim_start_matches("./") {
            "lib.sh" => Some("V=1\ninst(){ pip install \"$@\"; }\n".to_owned()),
            "round.sh" => Some(". /opt/s/round.sh; . /opt/s/round.sh; f() { a; }\n".to_owned()),
            "far.sh" => Some(". /opt/s/gone.sh; f() { a; }\n".to_owned()),
            "may.sh" => Some("if [ -n \"$(x)\" ]; then V=2; fi\n".to_owned()),
            "long.sh" => Some("# long\n".repeat(20_000)),
            _ => None,
        };
        let listed =
            |pattern: &str| (pattern == "/opt/s/*.sh").then(|| vec!["/opt/s/a.sh".into(), "/opt/s/b.sh".into()]);
        let files = ShellFiles { folder, text: &file_text, listed: &listed, ..ShellFiles::NONE };
        let variables = ["0", "BASH_SOURCE"].map(|own| (own.to_owned(), ExpandedText::literal(name)));
        let commands = walk_script(&MappedText::contiguous(text, 0), &VariableScope::default(), &variables, files);
        let line = |one: crate::build::Command| {
            one.words.iter().map(|word| word.known().unwrap_or("?").to_owned()).collect::<Vec<_>>().join(" ")
        };
        commands.into_iter().map(line).collect()
    }

    #[test]
    fn script_resolves_its_own_directory() {
        for (text, expected) in [
            ("bash \"$(dirname \"$0\")/t.sh\"", "bash /opt/s/t.sh"),
            ("bash $(dirname $0)/t.sh", "bash /opt/s/t.sh"),
            ("bash `dirname $0`/t.sh", "bash /opt/s/t.sh"),
            ("bash \"${0%/*}/t.sh\"", "bash /opt/s/t.sh"),
            ("bash \"$(dirname \"${BASH_SOURCE[0]}\")/t.sh\"", "bash /opt/s/t.sh"),
            ("bash \"${BASH_SOURCE%/*}/t.sh\"", "bash /opt/s/t.sh"),
            ("H=$(cd \"$(dirname \"$0\")\" && pwd)\nbash $H/t.sh", "bash /opt/s/t.sh"),
            (
                "H=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" >/dev/null 2>&1 && pwd -P)\"; bash $H/t.sh",
                "bash /opt/s/t.sh",
            ),
            ("H=$(cd -- \"$(dirname \"$0\")/..\"; pwd); bash $H/t.sh", "bash /opt/t.sh"),
            ("H=$(dirname \"$(realpath \"$0\")\"); bash $H/t.sh", "bash /opt/s/t.sh"),
            ("H=$(dirname \"$(readlink -f \"$0\")\"); bash $H/t.sh", "bash /opt/s/t.sh"),
            ("N=$(basename \"$0\" .sh); bash $N", "bash own"),
        ] {
            assert_eq!(command_lines("/opt/s/own.sh", "/work", text), [expected], "{text}");
        }
        // By a name that is seen from the folder at hand.
        let pwd = "H=$(cd \"$(dirname \"$0\")\" && pwd); bash $H/t.sh";
        assert_eq!(command_lines("./own.sh", "/opt/s", pwd), ["bash /opt/s/t.sh"]);
        assert_eq!(command_lines("s/own.sh", "/opt", pwd), ["bash /opt/s/t.sh"]);
        assert_eq!(command_lines("own.sh", "/opt/s", "bash $(dirname $0)/t.sh"), ["bash ./t.sh"]);
        assert_eq!(command_lines("s/own.sh", "/opt", "cd /tmp; H=$(pwd); bash $H/t.sh"), ["cd /tmp", "bash /tmp/t.sh"]);
        for (text, expected) in [
            ("bash \"$(cd \"$(x)\" && pwd)/t.sh\"", "bash ?"),
            ("bash \"$(cd /a && x && pwd)/t.sh\"", "bash ?"),
            ("bash \"$(cd && pwd)/t.sh\"", "bash ?"),
            ("bash \"$(pwd > x)/t.sh\"", "bash ?"),
            ("bash `x`/t.sh", "bash ?"),
            ("bash '$(dirname $0)'", "bash $(dirname $0)"),
        ] {
            assert_eq!(
                command_lines("/opt/s/own.sh", "/work", text).last().map(String::as_str),
                Some(expected),
                "{text}"
            );
        }
        assert_eq!(command_lines("own.sh", "", "bash $(pwd)/t.sh"), ["bash ?"]);
        assert_eq!(command_lines("own.sh", "/a", "cd $X; bash $(pwd)/t.sh"), ["cd", "bash ?"]);
    }

    #[test]
    fn sourced_file_sets_variables_and_functions_afterwards() {
        for (text, expected) in [
            (". ./lib.sh\ninst torch==$V", vec![". ./lib.sh", "pip install torch==1"]),
            (". /opt/s/lib.sh && inst torch", vec![". /opt/s/lib.sh", "pip install torch"]),
            ("cd /opt; . s/lib.sh; inst a", vec!["cd /opt", ". s/lib.sh", "pip install a"]),
            ("inst() { b; }; . ./lib.sh; inst", vec![". ./lib.sh", "b"]),
            ("V=3; . ./may.sh; a $V", vec![". ./may.sh", "a ?"]),
            // What is not there may set and define anything.
            ("V=$(echo 1); . ./gone.sh; inst torch", vec![". ./gone.sh", "inst torch"]),
            ("cd /tmp; . ./lib.sh; inst a", vec!["cd /tmp", ". ./lib.sh", "inst a"]),
            ("cd $(x); . ./lib.sh; inst a", vec!["cd ?", ". ./lib.sh", "inst a"]),
            (". ./long.sh; a", vec![". ./long.sh", "a"]),
            ("eval ./lib.sh; inst a", vec!["./lib.sh", "inst a"]),
            (". /opt/s/far.sh; f; a $(echo 1)", vec![". /opt/s/far.sh", "a", "a ?"]),
            (". /opt/s/round.sh; f", vec![". /opt/s/round.sh", "a"]),
        ] {
            assert_eq!(command_lines("own.sh", "/opt/s", text), expected, "{text}");
        }
    }

    #[test]
    fn loop_over_a_glob_runs_for_each_known_file() {
        let both = vec!["bash /opt/s/a.sh", "bash /opt/s/b.sh"];
        for (text, expected) in [
            ("for f in /opt/s/*.sh; do bash \"$f\"; done", both.clone()),
            ("cd /opt; for f in s/*.sh; do bash $f; done", vec!["cd /opt", "bash s/a.sh", "bash s/b.sh"]),
            ("cd /opt/s; for f in *.sh; do bash ./$f; done", vec!["cd /opt/s", "bash ./a.sh", "bash ./b.sh"]),
            ("for f in /opt/s/*.py; do bash $f; done", vec!["bash /opt/s/*.py"]),
            ("for f in \"/opt/s/*.sh\"; do bash $f; done", vec!["bash /opt/s/*.sh"]),
            ("for f in /opt/*/*.sh; do bash $f; done", vec!["bash /opt/*/*.sh"]),
            ("cd $(x); for f in *.sh; do bash $f; done", vec!["cd ?", "bash *.sh"]),
        ] {
            assert_eq!(command_lines("own.sh", "/opt/s", text), expected, "{text}");
        }
    }
}
