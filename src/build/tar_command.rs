//! The arguments of `tar`: a mode, options that may stand together without a hyphen, and folders between operands.

use crate::build::command::{Command, Word};
use crate::build::file_effect::{FileEffect, Operand, PackedMember};

/// Names of the program.
const PROGRAMS: &[&str] = &["bsdtar", "gtar", "tar"];
/// Letters of options with a value, as GNU tar and bsdtar document them.
const LETTERS_WITH_VALUE: &str = "fCbLNTXgHIKVF";
/// Long options with a value that may be the next word.
const LONG_WITH_VALUE: &[&str] = &[
    "--exclude",
    "--file",
    "--directory",
    "--files-from",
    "--exclude-from",
    "--format",
    "--group",
    "--mode",
    "--mtime",
    "--newer",
    "--owner",
    "--strip-components",
    "--transform",
    "--use-compress-program",
    "--xform",
];

/// The arguments of a `tar` command.
#[derive(Default)]
struct TarArguments {
    extracts: bool,
    writes_archive: bool,
    /// The effect of an option that decides alone: it only reads an archive, or removes what it packs.
    decided: Option<FileEffect>,
    archive: Option<Operand>,
    folder: Option<Operand>,
    /// The files and folders that it packs or unpacks.
    members: Vec<PackedMember>,
}

/// Returns the effect of a `tar` command; `None` for any other program.
pub(super) fn effect_of(program: &str, command: &Command) -> Option<FileEffect> {
    if !PROGRAMS.contains(&program) {
        return None;
    }
    let mut arguments = TarArguments::default();
    let mut words = command.words.iter().skip(1).peekable();
    // `tar xzfC archive folder`: the values follow in the order of the letters.
    if let Some(bundle) = words.peek().and_then(|word| word.known()).filter(|text| !text.starts_with('-')) {
        words.next();
        for letter in bundle.chars() {
            let value = LETTERS_WITH_VALUE.contains(letter).then(|| words.next().map(Operand::of_word)).flatten();
            arguments.apply_letter(letter, value);
        }
    }
    while let Some(word) = words.next() {
        let Some(text) = word.known().filter(|text| text.starts_with('-') && text.len() > 1) else {
            let folder = arguments.folder.clone();
            arguments.members.push(PackedMember { folder, path: Operand::of_word(word) });
            continue;
        };
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((text, None), |(name, value)| {
                (text.get(..name.len() + 2).unwrap_or(text), Some(joined_value(word, value)))
            });
            let value =
                value.or_else(|| LONG_WITH_VALUE.contains(&name).then(|| words.next().map(Operand::of_word)).flatten());
            arguments.apply_long_option(name, value);
            continue;
        }
        for (at, letter) in text.char_indices().skip(1) {
            let rest = text.get(at + letter.len_utf8()..).unwrap_or_default();
            let takes = LETTERS_WITH_VALUE.contains(letter);
            let value = match (takes, rest) {
                (false, _) => None,
                (true, "") => words.next().map(Operand::of_word),
                (true, rest) => Some(joined_value(word, rest)),
            };
            arguments.apply_letter(letter, value);
            if takes {
                break;
            }
        }
    }
    Some(arguments.into_effect())
}

/// Returns the value of an option in the same word.
fn joined_value(word: &Word, value: &str) -> Operand {
    Operand { text: Some(value.to_owned()), span: word.span }
}

impl TarArguments {
    fn apply_letter(&mut self, letter: char, value: Option<Operand>) {
        match letter {
            'x' => self.extracts = true,
            'c' | 'r' | 'u' | 'A' => self.writes_archive = true,
            't' | 'd' | 'O' => self.decided = Some(FileEffect::Nothing),
            'f' => self.archive = value,
            'C' => self.folder = value,
            _ => {}
        }
    }

    fn apply_long_option(&mut self, name: &str, value: Option<Operand>) {
        match name {
            "--extract" | "--get" => self.extracts = true,
            "--create" | "--append" | "--update" | "--catenate" | "--concatenate" => self.writes_archive = true,
            "--list" | "--diff" | "--compare" | "--to-stdout" => self.decided = Some(FileEffect::Nothing),
            "--remove-files" => self.decided = Some(FileEffect::Unknown),
            "--file" => self.archive = value,
            "--directory" => self.folder = value,
            _ => {}
        }
    }

    fn into_effect(self) -> FileEffect {
        let archive = self.archive.filter(|archive| archive.text.as_deref() != Some("-"));
        if let Some(effect) = self.decided {
            return effect;
        }
        match (self.extracts, archive) {
            (true, archive) => FileEffect::Unpack { archive, folder: self.folder },
            (false, archive) if self.writes_archive => FileEffect::Pack { archive, members: self.members },
            // The mode is in a variable.
            (false, _) => FileEffect::Unknown,
        }
    }
}
