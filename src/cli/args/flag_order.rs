//! Moves flags that precede the command behind it.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

/// Returns the arguments with the flags before the command moved behind it; unchanged if no command follows flags.
///
/// A word is the command if the words before it are flags of some command with their values. A value that may be left out
/// is left out there. Of a flag that the command does not know, clap reports the name.
pub(super) fn move_flags_behind_command(args: &[OsString], program: &Command) -> Vec<OsString> {
    let begins = |word: &OsString| word.to_string_lossy().starts_with('-');
    if args.get(1).is_some_and(begins) {
        // With the command `help`, which clap adds.
        let mut program = program.clone();
        program.build();
        for at in 2..args.len() {
            let (Some(leading), Some(rest)) = (args.get(1..at), args.get(at..)) else { break };
            let (depth, command) = find_command(rest, &program);
            let Some(flags) = recognize_flags(leading, command, &program).filter(|_| depth > 0) else { continue };
            let (path, rest) = rest.split_at(depth);
            let first = args.iter().take(1);
            // `help` takes names of commands alone, and no flag changes what it prints.
            let is_help = path.first().is_some_and(|word| word == "help");
            match (is_help, flags) {
                (true, FlagRecognition::Known) => return first.chain(path).chain(rest).cloned().collect(),
                (true, FlagRecognition::Unknown) => {}
                (false, _) => return first.chain(path).chain(leading).chain(rest).cloned().collect(),
            }
        }
    }
    args.to_vec()
}

/// Returns the number of arguments that name the command, and the command.
fn find_command<'c>(words: &[OsString], program: &'c Command) -> (usize, &'c Command) {
    let (mut command, mut depth) = (program, 0);
    for word in words {
        let Some(below) = word.to_str().and_then(|word| command.find_subcommand(word)) else { break };
        (command, depth) = (below, depth + 1);
    }
    (depth, command)
}

/// Whether some command knows each of several flags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagRecognition {
    Known,
    Unknown,
}

/// Whether some command defines each of these flags, with their values; `None` if the arguments are not all flags.
fn recognize_flags(words: &[OsString], command: &Command, program: &Command) -> Option<FlagRecognition> {
    let (mut words, mut found) = (words.iter(), FlagRecognition::Known);
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        let help = ["-h", "--help", "-V", "--version", "--", "-"];
        if !word.starts_with('-') || help.contains(&word.as_ref()) {
            return None;
        }
        let known = command.get_arguments().find(|arg| matches_flag(arg, &word)).map(takes_value);
        let has_own = word.contains('=') || !word.starts_with("--") && word.chars().count() > 2;
        let known = known.or_else(|| takes_value_in_any_command(&word, program));
        if known.is_none() {
            found = FlagRecognition::Unknown;
        }
        if known == Some(true) && !has_own {
            words.next()?;
        }
    }
    Some(found)
}

/// Whether a flag takes a value in some command; `None` if no command defines it.
fn takes_value_in_any_command(word: &str, command: &Command) -> Option<bool> {
    let own = command.get_arguments().find(|arg| matches_flag(arg, word)).map(takes_value);
    command.get_subcommands().filter_map(|below| takes_value_in_any_command(word, below)).chain(own).max()
}

/// Whether an argument is this flag, with or without its value: `--jobs`, `--jobs=4`, `-j`, `-j4`.
fn matches_flag(arg: &Arg, word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long.split('=').next().unwrap_or(long)),
        None => word.chars().nth(1).is_some_and(|short| arg.get_short() == Some(short)),
    }
}

/// Whether a flag takes a value that cannot be omitted.
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
        for (command_line, expected) in [
            ("--color never check", "check --color never"),
            ("--color=never check a", "check --color=never a"),
            ("-v --pool t4 check Dockerfile", "check -v --pool t4 Dockerfile"),
            ("-j 4 check", "check -j 4"),
            ("-j4 check", "check -j4"),
            ("--why check", "check --why"),
            ("--format json rules list", "rules list --format json"),
            ("--knowledge tables knowledge gpu A100", "knowledge --knowledge tables gpu A100"),
            ("--from-file list scan", "scan --from-file list"),
            // The command does not know the flag, or knows none.
            ("--color never rules list", "rules list --color never"),
            ("--color never fleet check", "fleet check --color never"),
            ("--pool t4 fleet check", "fleet check --pool t4"),
            ("-j 2 fleet check fleet.toml", "fleet check -j 2 fleet.toml"),
            ("-j2 fleet check", "fleet check -j2"),
            ("--color never explain 804", "explain --color never 804"),
            ("--nonsense rules list", "rules list --nonsense"),
            ("--color never help", "help"),
            ("--color never -v help check", "help check"),
            ("--nonsense help", "--nonsense help"),
            // A value is no command.
            ("--color rules list", "--color rules list"),
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
            assert_eq!(
                move_flags_behind_command(&words(command_line), &Args::command()),
                words(expected),
                "{command_line}"
            );
        }
    }
}
