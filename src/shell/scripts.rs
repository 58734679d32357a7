//! The commands of RUN instructions, of scripts, and of scripts inside of commands.

use std::ops::Range;

use crate::build::{Command, Word, is_shell};
use crate::dockerfile::{ExpandedText, MappedText, RunInstruction, VariableScope};
use crate::shell::walk;

/// Returns the commands of a RUN instruction, in order.
pub fn run_commands(run: &RunInstruction) -> Vec<Command> {
    walk::walk_run(run, ShellFiles::NONE)
}

/// Returns the commands of a RUN instruction, in order, with access to files of the image.
pub fn run_commands_with_files(run: &RunInstruction, files: ShellFiles<'_>) -> Vec<Command> {
    walk::walk_run(run, files)
}

/// Returns the commands of a shell script that runs without arguments or variables.
pub fn script_commands(text: &MappedText) -> Vec<Command> {
    walk::walk_script(text, &VariableScope::default(), &[], ShellFiles::NONE)
}

/// Returns the commands of a script that a command runs, with the command's variables and arguments.
pub fn called_script_commands(
    text: &MappedText,
    scope: &VariableScope,
    variables: &[(String, ExpandedText)],
    files: ShellFiles<'_>,
) -> Vec<Command> {
    walk::walk_script(text, scope, variables, files)
}

/// The files of the image that a shell script can access before it runs.
#[derive(Clone, Copy)]
pub struct ShellFiles<'a> {
    /// The working directory at the start; empty if it is unknown.
    pub folder: &'a str,
    /// Returns the text of a file that certainly exists, by its path.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// Whether no previous command may have changed a file, by its path.
    pub unchanged: &'a dyn Fn(&str) -> bool,
    /// Returns the paths that a glob pattern matches, in the shell's order, if they are known.
    pub listed: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

impl ShellFiles<'static> {
    /// No known files.
    pub const NONE: Self = Self { folder: "", text: &|_| None, unchanged: &|_| true, listed: &|_| None };
}

/// Returns the index of the word with the script of `sh -c SCRIPT`, and the script's byte offset in the word.
pub(super) fn find_inline_script(words: &[Word]) -> Option<(usize, usize)> {
    let known = |at: usize| words.get(at).and_then(Word::known);
    let program = known(0)?.rsplit('/').next()?;
    if program == "scl" {
        let whole = words.len() == 4 && known(1) == Some("enable") && known(3)?.contains(' ');
        return whole.then_some((3, 0));
    }
    let long = "--command=";
    let flag = |word: &Word| {
        word.known().is_some_and(|text| {
            (text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')) || text == "--command"
        })
    };
    if is_shell(program) {
        let flag = |word: &Word| flag(word) && word.known() != Some("--command");
        return words.iter().position(flag).map(|at| (at + 1, 0));
    }
    if !is_user_switch(program) && program != "script" {
        return None;
    }
    let inline = |word: &Word| word.raw.starts_with(long);
    let at = words.iter().position(|word| flag(word) || inline(word))?;
    Some(if words.get(at).is_some_and(inline) { (at, long.len()) } else { (at + 1, 0) })
}

/// Whether a command starts a shell that reads its script from standard input.
pub(super) fn reads_script_from_input(words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first().and_then(|(first, rest)| Some((first.known()?, rest))) else {
        return false;
    };
    if is_user_switch(program) {
        return words.len() < 4;
    }
    let mut rest = rest.iter().map(|word| word.known().unwrap_or("?"));
    while let Some(word) = rest.next() {
        match word {
            "-s" | "/dev/stdin" => break,
            "-" => {}
            "-o" | "+o" | "-O" | "+O" => drop(rest.next()),
            _ if word.starts_with("--") => {}
            // `-eo pipefail`
            _ if word.starts_with(['-', '+']) && word.ends_with('o') => drop(rest.next()),
            _ if word.starts_with(['-', '+']) && !word.contains('c') => {}
            _ => return false,
        }
    }
    is_shell(program)
}

/// Whether a program starts a shell as another user.
pub(super) fn is_user_switch(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("su" | "runuser"))
}

/// Splits an assignment `NAME=value`.
pub(super) fn split_assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let good = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (good && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())).then_some((name, value))
}

/// Removes the quotes of a word; variables stay, because the inner shell expands them.
pub(super) fn unquote(text: &MappedText, range: Range<usize>) -> MappedText {
    let mut out = MappedText::default();
    out.push("", text.source_offset(range.start));
    let mut quote = None;
    let mut chars = text.get(range.clone()).char_indices();
    while let Some((at, c)) = chars.next() {
        let (at, c) = match quote {
            Some(mark) if c == mark => {
                quote = None;
                continue;
            }
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                continue;
            }
            None | Some('"') if c == '\\' => match chars.clone().next() {
                Some(next) if quote.is_none() || matches!(next.1, '"' | '\\' | '$' | '`') => {
                    chars.next();
                    next
                }
                _ => (at, c),
            },
            _ => (at, c),
        };
        out.push(c.encode_utf8(&mut [0; 4]), text.source_offset(range.start + at));
    }
    out
}

/// Returns the range inside of a word that is one substitution: `$(…)`, `<(…)` or backticks, optionally in double
/// quotes.
pub(super) fn substitution_range(raw: &str) -> Option<Range<usize>> {
    let quoted = raw.len() > 1 && raw.starts_with('"') && raw.ends_with('"');
    let (from, to) = if quoted { (1, raw.len() - 1) } else { (0, raw.len()) };
    let text = raw.get(from..to)?;
    let (open, close) = match text.get(..2) {
        Some("$(" | "<(") if !text.starts_with("$((") => (2, ")"),
        _ if text.starts_with('`') => (1, "`"),
        _ => return None,
    };
    let inside = text.get(open..)?.strip_suffix(close)?;
    // `$(a)$(b)` is two of them.
    let mut depth = 0_i32;
    let whole = inside.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth >= 0 && !(close == "`" && byte == b'`')
    });
    (whole && depth == 0).then(|| from + open..from + open + inside.len())
}

#[cfg(test)]
mod tests {
    use super::substitution_range;

    #[test]
    fn word_is_at_most_one_substitution() {
        for (raw, expected) in [
            ("$(cat a)", Some("cat a")),
            ("\"$(cat a)\"", Some("cat a")),
            ("<(grep -v '(' a | (b))", None),
            ("<(grep -v x a | (b))", Some("grep -v x a | (b)")),
            ("`cat a`", Some("cat a")),
            ("`a``b`", None),
            ("$(a)$(b)", None),
            ("x$(a)", None),
            ("$((1+1))", None),
            ("$(a", None),
            ("\"", None),
            ("", None),
        ] {
            assert_eq!(substitution_range(raw).map(|range| &raw[range]), expected, "{raw}");
        }
    }
}
