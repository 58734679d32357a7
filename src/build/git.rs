//! The arguments of `git`: options in front of the subcommand, and `clone` with its own.

use crate::build::command::{Command, Word};
use crate::build::file_effect::{FileEffect, Operand};

/// Options in front of the subcommand with a value in the next word.
const GLOBAL_WITH_VALUE: &[&str] = &["-C", "-c", "--git-dir", "--namespace", "--work-tree"];
/// Options of `git clone` with a value that may be in the next word.
const CLONE_WITH_VALUE: &[&str] = &[
    "-b",
    "-c",
    "-j",
    "-o",
    "-u",
    "--branch",
    "--bundle-uri",
    "--config",
    "--depth",
    "--filter",
    "--jobs",
    "--origin",
    "--reference",
    "--reference-if-able",
    "--revision",
    "--separate-git-dir",
    "--server-option",
    "--shallow-exclude",
    "--shallow-since",
    "--template",
    "--upload-pack",
];
/// Subcommands that change no file of the working tree.
const READ_ONLY: &[&str] = &["config", "describe", "diff", "log", "ls-files", "remote", "rev-parse", "show", "status"];

/// Returns the effect of a `git` command; `None` for any other program.
pub(super) fn effect_of(program: &str, command: &Command) -> Option<FileEffect> {
    if program != "git" {
        return None;
    }
    let mut words = command.words.iter().skip(1);
    let mut inside = None;
    let subcommand = loop {
        let Some(word) = words.next() else { return Some(FileEffect::Nothing) };
        match word.known() {
            Some(name) if GLOBAL_WITH_VALUE.contains(&name) => {
                let value = words.next().map(Operand::of_word);
                inside = if name == "-C" { value } else { inside };
            }
            Some(option) if option.starts_with('-') => {}
            other => break other,
        }
    };
    Some(match subcommand {
        Some("clone") => clone_effect(words, inside),
        Some(name) if READ_ONLY.contains(&name) => FileEffect::Nothing,
        // Hooks and filters in the configuration.
        Some("lfs") if words.next().and_then(Word::known) == Some("install") => FileEffect::Nothing,
        _ => FileEffect::Unknown,
    })
}

/// Whether the last of several short options in one word is the first one with a value: `-qb`.
fn ends_with_value_letter(option: &str) -> bool {
    let takes = |letter: char| "bcjou".contains(letter);
    !option.starts_with("--") && option.find(takes).is_some_and(|at| at > 0 && at + 1 == option.len())
}

/// Returns the effect of `git clone` with these arguments.
fn clone_effect<'w>(mut words: impl Iterator<Item = &'w Word>, inside: Option<Operand>) -> FileEffect {
    let mut operands = Vec::new();
    while let Some(word) = words.next() {
        match word.known() {
            Some("--") => operands.extend(words.by_ref().map(Operand::of_word)),
            Some(option) if CLONE_WITH_VALUE.contains(&option) || ends_with_value_letter(option) => {
                words.next();
            }
            Some(option) if option.starts_with('-') => {}
            _ => operands.push(Operand::of_word(word)),
        }
    }
    let mut operands = operands.into_iter();
    match operands.next() {
        Some(address) => FileEffect::Clone { address, folder: operands.next(), inside },
        None => FileEffect::Nothing,
    }
}
