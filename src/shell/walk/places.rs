//! Folders and files as a script finds its own: `$(cd "$(dirname "$0")" && pwd)`, `. ./lib.sh`, `scripts/*.sh`.

use crate::context::normal;
use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::shell::Command;
use crate::shell::Word;
use crate::shell::filters;
use crate::shell::walk::DEEPEST;
use crate::shell::walk::MOST_VARIABLES;
use crate::shell::walk::Walk;
use crate::source::Span;

/// No stage reads in more files.
const MOST_FILES: usize = 64;
/// What is read in and longer is no file of functions and settings.
const LONGEST: usize = 64 * 1024;
/// The variable that names the file of the commands at hand.
pub const OWN_FILE: &str = "BASH_SOURCE";

impl Walk<'_> {
    /// What a substitution writes, where that can be told without running it.
    pub(super) fn told(&self, inside: &str) -> Option<(String, Vec<Span>)> {
        let text = Mapped::whole(inside, 0);
        if let Some(command) = self.substituted(&text)
            && let Some(line) = filters::line(&command)
        {
            return Some(self.real(&command, line));
        }
        if self.substitutions >= DEEPEST || !inside.contains("pwd") {
            return None;
        }
        let mut walk = self.inside();
        walk.text(&text, 0);
        let (last, before) = walk.out.split_last()?;
        let plain = before.iter().chain([last]).all(|command| !command.conditional);
        let moves = before.iter().all(|command| command.program() == Some("cd") && command.words.len() > 1);
        let writes = last.program() == Some("pwd") && last.writes.is_empty();
        if !(plain && moves && writes) {
            return None;
        }
        let origins = before.iter().flat_map(|command| &command.words).flat_map(|word| word.value.origins());
        Some((rooted(&moved(&self.seen(".")?, before)?)?, origins.copied().collect()))
    }

    /// What `realpath` makes of a path.
    fn real(&self, command: &Command, (path, origins): (String, Vec<Span>)) -> (String, Vec<Span>) {
        let whole = match command.program() {
            Some("realpath" | "readlink") => self.seen(&path).and_then(|path| rooted(&path)),
            _ => None,
        };
        (whole.unwrap_or(path), origins)
    }

    /// A path as it is seen from the folder that the text began in; `None` where it is not known where the commands so
    /// far went.
    pub(super) fn seen(&self, path: &str) -> Option<String> {
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        let here = moved(self.files.folder, &self.out)?;
        Some(if here.is_empty() { path.to_owned() } else { format!("{here}/{path}") })
    }

    /// Reads in what `.` and `source` name: what it sets and the functions that it has; says whether it could.
    pub(super) fn reads_in(&mut self, words: &[Word]) -> bool {
        let [command, file, ..] = words else { return false };
        let path = file.known().filter(|_| command.known() != Some("eval")).and_then(|path| self.seen(path));
        let text = path.as_deref().filter(|_| self.read_in < MOST_FILES).and_then(|path| (self.files.text)(path));
        let Some((path, text)) = path.zip(text.filter(|text| text.len() <= LONGEST)) else { return false };
        if self.substitutions >= DEEPEST {
            return false;
        }
        let mut walk = self.inside();
        walk.functions.clone_from(&self.functions);
        walk.read_in = self.read_in + 1;
        walk.variables.insert(OWN_FILE.to_owned(), Resolved::literal(&path));
        let own = words.get(2..).unwrap_or_default();
        walk.begin_read_in(own);
        walk.text(&Mapped::whole(&text, 0), 0);
        if own.is_empty() {
            self.end_read_in(std::mem::take(&mut walk.arguments));
        }
        self.read_in = walk.read_in;
        walk.variables.remove(OWN_FILE);
        for (name, value) in walk.variables {
            if self.variables.get(&name) != Some(&value) && self.variables.len() < MOST_VARIABLES {
                let value = match value {
                    // Where it is written there is no place of this text.
                    Resolved::Known { value, .. } => Resolved::Known { value, origins: vec![file.span] },
                    unresolved @ Resolved::Unresolved { .. } => unresolved,
                };
                self.set(&name, value);
            }
        }
        for (name, body) in walk.functions {
            if !self.functions.contains_key(&name)
                && self.functions.len() < MOST_VARIABLES
                && let Some(body) = body.into_elsewhere()
            {
                self.functions.insert(name, body);
            }
        }
        !walk.sourced
    }

    /// The words that a pattern for files stands for, where it is one and that can be told.
    pub(super) fn spread_out(&self, word: &Word) -> Option<Vec<Word>> {
        let pattern = word.known().filter(|pattern| pattern.contains('*') && !word.raw.contains(['"', '\'']))?;
        let folder = pattern.rsplit_once('/').map_or("", |(folder, _)| folder);
        if folder.contains(['*', '?']) {
            return None;
        }
        let path = |found: String| {
            let name = found.rsplit('/').next().unwrap_or_default();
            let value = if pattern.contains('/') { format!("{folder}/{name}") } else { name.to_owned() };
            let value = Resolved::Known { value, origins: word.value.origins().to_vec() };
            Word { value, ..word.clone() }
        };
        Some((self.files.listed)(&self.seen(pattern)?)?.into_iter().map(path).collect())
    }
}

/// A path from the root, where it is one.
fn rooted(path: &str) -> Option<String> {
    path.starts_with('/').then(|| format!("/{}", normal(path)))
}

/// The folder behind commands that go from one to another; `None` where one of them goes nobody knows where.
fn moved(folder: &str, commands: &[Command]) -> Option<String> {
    let mut folder = folder.to_owned();
    for command in commands {
        match command.program() {
            Some("cd") => {
                let mut to = command.words.iter().skip(1).map(Word::known);
                let to = to.find(|word| !matches!(word, Some("--" | "-P" | "-L"))).flatten();
                let to = to.filter(|to| !command.conditional && !to.starts_with(['-', '~']))?;
                folder =
                    if to.starts_with('/') || folder.is_empty() { to.to_owned() } else { format!("{folder}/{to}") };
            }
            Some("pushd" | "popd") => return None,
            _ => {}
        }
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use crate::dockerfile::Mapped;
    use crate::dockerfile::Resolved;
    use crate::dockerfile::Scope;
    use crate::shell::Files;
    use crate::shell::walk::script;

    /// The words of each command of `/opt/s/own.sh`, called by this name from a folder.
    fn run(name: &str, folder: &str, text: &str) -> Vec<String> {
        let held = |path: &str| match path.strip_prefix("/opt/s/")?.trim_start_matches("./") {
            "lib.sh" => Some("V=1\ninst(){ pip install \"$@\"; }\n".to_owned()),
            "round.sh" => Some(". /opt/s/round.sh; . /opt/s/round.sh; f() { a; }\n".to_owned()),
            "far.sh" => Some(". /opt/s/gone.sh; f() { a; }\n".to_owned()),
            "may.sh" => Some("if [ -n \"$(x)\" ]; then V=2; fi\n".to_owned()),
            "long.sh" => Some("# long\n".repeat(20_000)),
            _ => None,
        };
        let listed =
            |pattern: &str| (pattern == "/opt/s/*.sh").then(|| vec!["/opt/s/a.sh".into(), "/opt/s/b.sh".into()]);
        let files = Files { folder, text: &held, listed: &listed, ..Files::NONE };
        let variables = ["0", "BASH_SOURCE"].map(|own| (own.to_owned(), Resolved::literal(name)));
        let commands = script(&Mapped::whole(text, 0), &Scope::default(), &variables, files);
        let line = |one: crate::shell::Command| {
            one.words.iter().map(|word| word.known().unwrap_or("?").to_owned()).collect::<Vec<_>>().join(" ")
        };
        commands.into_iter().map(line).collect()
    }

    #[test]
    fn a_script_finds_the_folder_that_it_lies_in() {
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
            assert_eq!(run("/opt/s/own.sh", "/work", text), [expected], "{text}");
        }
        // By a name that is seen from the folder at hand.
        let pwd = "H=$(cd \"$(dirname \"$0\")\" && pwd); bash $H/t.sh";
        assert_eq!(run("./own.sh", "/opt/s", pwd), ["bash /opt/s/t.sh"]);
        assert_eq!(run("s/own.sh", "/opt", pwd), ["bash /opt/s/t.sh"]);
        assert_eq!(run("own.sh", "/opt/s", "bash $(dirname $0)/t.sh"), ["bash ./t.sh"]);
        assert_eq!(run("s/own.sh", "/opt", "cd /tmp; H=$(pwd); bash $H/t.sh"), ["cd /tmp", "bash /tmp/t.sh"]);
        for (text, expected) in [
            ("bash \"$(cd \"$(x)\" && pwd)/t.sh\"", "bash ?"),
            ("bash \"$(cd /a && x && pwd)/t.sh\"", "bash ?"),
            ("bash \"$(cd && pwd)/t.sh\"", "bash ?"),
            ("bash \"$(pwd > x)/t.sh\"", "bash ?"),
            ("bash `x`/t.sh", "bash ?"),
            ("bash '$(dirname $0)'", "bash $(dirname $0)"),
        ] {
            assert_eq!(run("/opt/s/own.sh", "/work", text).last().map(String::as_str), Some(expected), "{text}");
        }
        assert_eq!(run("own.sh", "", "bash $(pwd)/t.sh"), ["bash ?"]);
        assert_eq!(run("own.sh", "/a", "cd $X; bash $(pwd)/t.sh"), ["cd", "bash ?"]);
    }

    #[test]
    fn what_a_file_that_is_read_in_sets_holds_behind_it() {
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
            assert_eq!(run("own.sh", "/opt/s", text), expected, "{text}");
        }
    }

    #[test]
    fn a_loop_over_files_goes_through_those_that_are_known() {
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
            assert_eq!(run("own.sh", "/opt/s", text), expected, "{text}");
        }
    }
}
