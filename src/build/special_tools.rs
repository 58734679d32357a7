//! Programs whose effect depends on more than options and operands: those that run code or other programs.

use crate::build::command::{Command, Word};
use crate::build::file_effect::{FileEffect, Operand};
use crate::build::installers;

/// Actions of `find` that delete or write files, or run programs.
const FIND_ACTIONS: &[&str] =
    &["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];
/// Other modules of Python that change no requirements or lock file.
const INSTALLER_MODULES: &[&str] = &["ensurepip", "venv", "virtualenv"];

/// Returns the effect of such a program; `None` for any other.
pub(super) fn effect_of(program: &str, command: &Command) -> Option<FileEffect> {
    let words = command.words.get(1..).unwrap_or_default();
    let nothing_if = |harmless: bool| if harmless { FileEffect::Nothing } else { FileEffect::Unknown };
    match program {
        "find" => {
            let acts = |word: &Word| word.known().is_none_or(|word| FIND_ACTIONS.contains(&word));
            Some(nothing_if(!words.iter().any(acts)))
        }
        "." | "source" => {
            let activates = |word: &Word| word.known().is_some_and(|path| path.ends_with("/activate"));
            Some(nothing_if(words.first().is_some_and(activates)))
        }
        "uv" => Some(updated_by_uv(words)),
        "awk" | "gawk" | "mawk" => {
            let writes = |word: &Word| word.known().is_none_or(|word| word.contains('>') || word.starts_with("-i"));
            Some(nothing_if(!words.iter().any(writes)))
        }
        "perl" => Some(edited_by_perl(words)),
        "7z" | "7za" | "7zr" => Some(unpacked_by_7z(words)),
        _ if program.starts_with("python") => {
            let module =
                words.get(1).and_then(Word::known).filter(|_| words.first().and_then(Word::known) == Some("-m"));
            let is_installer = module.is_some_and(|module| {
                INSTALLER_MODULES.contains(&module)
                    || installers::installer_of_command(module, words.get(1..).unwrap_or_default())
                        .is_some_and(|row| row.only_packages)
            });
            Some(if is_installer { FileEffect::Packages } else { FileEffect::Unknown })
        }
        _ if installers::installer_of_command(program, &command.words).is_some_and(|row| row.only_packages) => {
            Some(FileEffect::Packages)
        }
        _ => None,
    }
}

/// Returns the effect of `uv`: `uv lock --upgrade` replaces the locked versions.
fn updated_by_uv(words: &[Word]) -> FileEffect {
    let is_upgrade = |word: &Word| {
        word.known().is_some_and(|word| {
            matches!(word, "-U" | "-P" | "--upgrade" | "--upgrade-package") || word.starts_with("--upgrade-package=")
        })
    };
    match words.iter().find(|word| word.known().is_none_or(|word| !word.starts_with('-'))) {
        Some(lock) if lock.known() == Some("lock") && words.iter().any(is_upgrade) => {
            let file = Operand { text: Some("uv.lock".to_owned()), span: lock.span };
            FileEffect::Write(vec![file])
        }
        _ => FileEffect::Packages,
    }
}

/// Returns the effect of `perl -pi -e PROGRAM FILE…`: it edits the files, as long as only such options stand before
/// the program. Any other program may do anything.
fn edited_by_perl(words: &[Word]) -> FileEffect {
    let mut words = words.iter();
    let mut in_place = false;
    while let Some(word) = words.next() {
        let Some(option) = word.known().and_then(|word| word.strip_prefix('-')) else { break };
        let flags = option.trim_start_matches(|c: char| c.is_ascii_digit() || "lnpsw".contains(c));
        // What follows the letter is the suffix of backups.
        if flags.starts_with('i') {
            in_place = true;
        } else if flags.ends_with(['e', 'E']) {
            words.next();
            return if in_place {
                FileEffect::Write(words.map(Operand::of_word).collect())
            } else {
                FileEffect::Unknown
            };
        }
    }
    FileEffect::Unknown
}

/// Returns the effect of `7z`, whose first argument is the command and whose `-o` has the folder in the same word.
fn unpacked_by_7z(words: &[Word]) -> FileEffect {
    let mut operands = words.iter().filter(|word| word.known().is_none_or(|word| !word.starts_with('-')));
    match operands.next().and_then(Word::known) {
        Some("x" | "e") => {
            let folder = words.iter().find_map(|word| {
                let value = word.known()?.strip_prefix("-o")?;
                Some(Operand { text: Some(value.to_owned()), span: word.span })
            });
            FileEffect::Unpack { archive: operands.next().map(Operand::of_word), folder }
        }
        Some("l" | "t" | "i" | "h" | "b") => FileEffect::Nothing,
        _ => FileEffect::Unknown,
    }
}
