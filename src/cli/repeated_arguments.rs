//! Arguments of this run, repeated in the commands that a report suggests.

use std::env;
use std::iter::Peekable;

/// Flags for output, fixes and speed, which a suggested command does not repeat.
const OUTPUT_FLAGS: [&str; 8] =
    ["--show-fixes", "--fix", "--diff", "--unsafe-fixes", "--verbose", "-v", "--show-files", "--dry-run"];
/// Such flags that take a value.
const OUTPUT_FLAGS_WITH_VALUE: [&str; 5] = ["--format", "--color", "--why", "--jobs", "-j"];
/// Largest number of characters of repeated arguments; longer lists are cut off.
const MAX_LENGTH: usize = 400;

/// Returns the arguments that select inputs, fleet and settings of this run, each preceded by a space.
pub(crate) fn arguments_to_repeat(command: &str) -> String {
    let words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    filter_arguments(words, command)
}

/// Removes the subcommand and the output flags from a list of arguments.
fn filter_arguments(words: impl Iterator<Item = String>, command: &str) -> String {
    let mut words = words.peekable();
    let (mut out, mut found) = (String::new(), false);
    while let Some(word) = words.next() {
        if !found && word == command {
            found = true;
        } else if OUTPUT_FLAGS_WITH_VALUE.contains(&word.as_str()) {
            skip_value(&word, &mut words);
        } else if !is_output_flag(&word) {
            out.push(' ');
            out.push_str(&shell_quoted(&word));
        }
    }
    match out.char_indices().nth(MAX_LENGTH) {
        Some((at, _)) => {
            let end = out.get(..at).and_then(|kept| kept.rfind(' ')).unwrap_or(0);
            format!("{} ...", out.get(..end).unwrap_or_default())
        }
        None => out,
    }
}

/// Whether an argument is a flag that is not repeated.
fn is_output_flag(word: &str) -> bool {
    let with_value = |flag: &&str| word.strip_prefix(*flag).is_some_and(|rest| rest.starts_with('='));
    OUTPUT_FLAGS.contains(&word) || OUTPUT_FLAGS_WITH_VALUE.iter().any(with_value)
}

/// Skips the value of a flag.
fn skip_value(flag: &str, words: &mut Peekable<impl Iterator<Item = String>>) {
    // The value of `--why` may be omitted.
    if flag != "--why" || words.peek().is_some_and(|word| !word.starts_with('-')) {
        words.next();
    }
}

/// Quotes an argument for the shell if necessary.
fn shell_quoted(word: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "_-./:=@%+,~".contains(sign);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_command_repeats_what_selects_the_input() {
        for (words, expected) in [
            ("check", ""),
            ("check first-check", " first-check"),
            ("check --fleet f.toml a b", " --fleet f.toml a b"),
            ("--fleet f.toml check a", " --fleet f.toml a"),
            ("check --show-fixes --color never --format=concise a -v", " a"),
            ("check --format human check", " check"),
            ("check --jobs 2 -j 4 --jobs=8 a", " a"),
            ("check --why=t4 --pool t4 a", " --pool t4 a"),
            ("check --fix --unsafe-fixes --target prod .", " --target prod ."),
        ] {
            assert_eq!(filter_arguments(words.split(' ').map(str::to_owned), "check"), expected, "{words}");
        }
        let odd = ["check", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(filter_arguments(odd.into_iter(), "check"), r" 'a b' 'it'\''s' ''");
        let many = std::iter::once("check".to_owned()).chain((0..300).map(|number| format!("image-{number}")));
        let many = filter_arguments(many, "check");
        assert!(many.len() <= MAX_LENGTH + 4 && many.ends_with(" ..."), "{many}");
    }
}
