//! Flags before the command: they are moved behind it.

use std::ffi::OsString;

use clap::Arg;
use clap::ArgAction;
use clap::Command;

/// The arguments with the flags that precede the command behind it; the same if there is no command behind flags.
///
/// A word is the command if the words before it are flags of that command with their values. A value that may be left out
/// is left out there.
pub(super) fn ordered(said: &[OsString], program: &Command) -> Vec<OsString> {
    let begins = |word: &OsString| word.to_string_lossy().starts_with('-');
    if said.get(1).is_some_and(begins) {
        for at in 2..said.len() {
            let (Some(leading), Some(rest)) = (said.get(1..at), said.get(at..)) else { break };
            let (depth, command) = called(rest, program);
            if depth > 0 && are_flags(leading, command, program) {
                let (path, rest) = rest.split_at(depth);
                let first = said.iter().take(1);
                return first.chain(path).chain(leading).chain(rest).cloned().collect();
            }
        }
    }
    said.to_vec()
}

/// The command that the first words name, and how many words that takes.
fn called<'c>(words: &[OsString], program: &'c Command) -> (usize, &'c Command) {
    let (mut command, mut depth) = (program, 0);
    for word in words {
        let Some(below) = word.to_str().and_then(|word| command.find_subcommand(word)) else { break };
        (command, depth) = (below, depth + 1);
    }
    (depth, command)
}

/// Whether words are flags of a command, each with the value that it takes. Of an unknown flag clap reports the name.
fn are_flags(words: &[OsString], command: &Command, program: &Command) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        let help = ["-h", "--help", "-V", "--version", "--", "-"];
        if !word.starts_with('-') || help.contains(&word.as_ref()) {
            return false;
        }
        let known = |command: &Command| command.get_arguments().find(|arg| is_called(arg, &word)).map(takes_value);
        let has_own = word.contains('=') || !word.starts_with("--") && word.chars().count() > 2;
        let takes = known(command).or_else(|| known(program)).unwrap_or(false);
        if takes && !has_own && words.next().is_none() {
            return false;
        }
    }
    true
}

/// Whether a word is a flag's name, with or without its value: `--jobs`, `--jobs=4`, `-j`, `-j4`.
fn is_called(arg: &Arg, word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long.split('=').next().unwrap_or(long)),
        None => word.chars().nth(1).is_some_and(|short| arg.get_short() == Some(short)),
    }
}

/// Whether a flag takes a value that cannot be left out.
fn takes_value(arg: &Arg) -> bool {
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    takes && arg.get_num_args().is_none_or(|range| range.min_values() > 0)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Args;

    #[test]
    fn flags_before_the_command_are_moved_behind_it() {
        for (said, expected) in [
            ("--color never check", "check --color never"),
            ("--color=never check a", "check --color=never a"),
            ("-v --pool t4 check Dockerfile", "check -v --pool t4 Dockerfile"),
            ("-j 4 check", "check -j 4"),
            ("-j4 check", "check -j4"),
            ("--why check", "check --why"),
            ("--format json rules list", "rules list --format json"),
            ("--knowledge tables knowledge gpu A100", "knowledge --knowledge tables gpu A100"),
            ("--from-file list scan", "scan --from-file list"),
            // A value is no command.
            ("--fleet check Dockerfile", "--fleet check Dockerfile"),
            ("--fleet check", "--fleet check"),
            // No command at all: flags of `check`.
            ("--color never", "--color never"),
            ("--color never Dockerfile", "--color never Dockerfile"),
            // Nothing to move.
            ("check --color never", "check --color never"),
            ("check check", "check check"),
            ("--help check", "--help check"),
            ("-- check", "-- check"),
            ("", ""),
        ] {
            let words = |text: &str| -> Vec<OsString> {
                std::iter::once("imagelint").chain(text.split_whitespace()).map(OsString::from).collect()
            };
            assert_eq!(ordered(&words(said), &Args::command()), words(expected), "{said}");
        }
    }
}
