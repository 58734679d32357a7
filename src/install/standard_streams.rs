//! Standard input and output of commands, if they can be determined: files, filtered files, and printed words.

use crate::build::{Command, StandardInput, Word};
use crate::dockerfile::{ExpandedText, MappedText};
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::stream_edit::StreamEdit;
use crate::install::{lock_export, stream_edit};
use crate::model::cause::Cause;

/// Maximum number of files that a package list is made of.
const MAX_FILES: usize = 16;

/// Returns the texts that a command writes to standard output, or why they are unknown.
pub fn standard_output(command: &Command, context: &CommandContext<'_>) -> Result<Vec<OpenedFile>, Cause> {
    let program = command.program().unwrap_or("a command");
    let cannot = || Cause::OutputNotKnown { program: program.to_owned() };
    if let Some(written) = lock_export::export_output(command, context) {
        return written;
    }
    let plain = |word: &&Word| word.known().is_none_or(|text| !text.starts_with('-') || text == "-");
    let arguments = || command.words.get(1..).unwrap_or_default();
    match program {
        "cat" if arguments().iter().all(|word| plain(&word)) => {
            read_files(&arguments().iter().collect::<Vec<_>>(), command, context)
        }
        "sort" | "uniq" if arguments().iter().all(|word| plain(&word) || word.known() == Some("-u")) => {
            read_files(&arguments().iter().filter(plain).collect::<Vec<_>>(), command, context)
        }
        "grep" | "egrep" => {
            let (edit, from) = stream_edit::parse_grep(&command.words).ok_or_else(cannot)?;
            apply_edit(&edit, &read_files(&from, command, context)?)
        }
        "sed" => {
            let (edit, from, in_place) = stream_edit::parse_sed(&command.words).ok_or_else(cannot)?;
            if in_place { Err(cannot()) } else { apply_edit(&edit, &read_files(&from, command, context)?) }
        }
        "tr" if replaces_newlines(arguments()) => standard_input(command, context),
        "tee" => standard_input(command, context),
        "echo" | "printf" => printed_text(program, arguments()).map(|text| vec![text]).ok_or_else(cannot),
        _ => Err(cannot()),
    }
}

/// Returns the texts that a command reads from standard input, or why they are unknown.
pub fn standard_input(command: &Command, context: &CommandContext<'_>) -> Result<Vec<OpenedFile>, Cause> {
    match &command.input {
        StandardInput::Pipe(before) => standard_output(before, context),
        StandardInput::File(word) => Ok(vec![open_named_file(word, context)?]),
        StandardInput::Text(text) => Ok(vec![OpenedFile::new(None, "/dev/stdin", text.clone())]),
        StandardInput::Unknown => Err(Cause::InputNotKnown),
        StandardInput::None => Err(Cause::NoInput),
    }
}

/// Returns the texts whose words `xargs` passes to its command.
pub(super) fn xargs_arguments(
    words: &[Word],
    command: &Command,
    context: &CommandContext<'_>,
) -> Result<Vec<OpenedFile>, Cause> {
    let file = words.iter().zip(words.iter().skip(1)).find(|(option, _)| option.known() == Some("-a"));
    let texts = match file {
        Some((_, file)) => vec![open_named_file(file, context)?],
        None => standard_input(command, context)?,
    };
    Ok(texts.iter().map(one_word_per_line).collect())
}

/// Applies an edit to several texts.
fn apply_edit(edit: &StreamEdit, texts: &[OpenedFile]) -> Result<Vec<OpenedFile>, Cause> {
    texts.iter().map(|text| edit.apply(text)).collect()
}

/// Returns the contents of files; standard input if none is named, or for `-`.
fn read_files(from: &[&Word], command: &Command, context: &CommandContext<'_>) -> Result<Vec<OpenedFile>, Cause> {
    if from.is_empty() {
        return standard_input(command, context);
    }
    if from.len() > MAX_FILES {
        return Err(Cause::TooManyFiles);
    }
    let mut texts = Vec::new();
    for word in from {
        match word.known() {
            Some("-" | "/dev/stdin") => texts.extend(standard_input(command, context)?),
            Some(pattern) if pattern.contains('*') && !word.raw.contains(['"', '\'']) => {
                let whole = pattern.rsplit_once('/').is_none_or(|(folder, _)| !folder.contains('*'));
                let names = open_named_file(word, context).ok().filter(|names| whole && !names.text.text().is_empty());
                let names = names.ok_or_else(|| Cause::MatchesNotKnown { pattern: pattern.to_owned() })?;
                for path in names.text.text().lines().take(MAX_FILES) {
                    texts.push((context.open)("/", path).map_err(|why| Cause::file_not_read(path, why))?);
                }
            }
            _ => texts.push(open_named_file(word, context)?),
        }
    }
    Ok(texts)
}

/// Opens the file that a word names.
fn open_named_file(word: &Word, context: &CommandContext<'_>) -> Result<OpenedFile, Cause> {
    match &word.value {
        ExpandedText::Known { value, .. } => (context.open)("", value).map_err(|why| Cause::file_not_read(value, why)),
        ExpandedText::Unresolved { reason, .. } => Err((**reason).clone()),
    }
}

/// Whether the arguments of `tr` replace newlines by blanks, which keeps a list of words the same.
fn replaces_newlines(arguments: &[Word]) -> bool {
    matches!(arguments, [from, to] if from.known() == Some("\\n") && to.known() == Some(" "))
}

/// Returns the text that `echo` or `printf` writes.
fn printed_text(program: &str, arguments: &[Word]) -> Option<OpenedFile> {
    let mut text = MappedText::default();
    let printf = program == "printf";
    let flags = arguments.iter().take_while(|word| matches!(word.known(), Some("-e" | "-n" | "-en" | "-ne"))).count();
    let has_flag = |flag| arguments.iter().take(flags).any(|word| word.known().is_some_and(|word| word.contains(flag)));
    let escapes = printf || has_flag('e');
    let no_newline = has_flag('n');
    let mut arguments = arguments.get(flags..)?;
    // `printf '%s\n' a b` writes one word a line.
    let lines = printf && arguments.first()?.known()?.trim_matches(['"', '\'']) == "%s\\n";
    if lines {
        arguments = arguments.get(1..)?;
    } else if printf && (arguments.len() != 1 || arguments.first()?.known()?.contains('%')) {
        return None;
    }
    for (at, word) in arguments.iter().enumerate() {
        let value = word.known()?;
        let value = if escapes { value.replace("\\n", "\n").replace("\\t", "\t") } else { value.to_owned() };
        if value.contains('\\') {
            return None;
        }
        if at > 0 {
            text.push(if lines { "\n" } else { " " }, word.span.start);
        }
        // Where a quote or a variable stands in a word, its beginning is near enough.
        if word.raw == value {
            text.push(&value, word.span.start);
        } else {
            for c in value.chars() {
                text.push(c.encode_utf8(&mut [0; 4]), word.span.start);
            }
        }
    }
    let ends_line = if printf { lines } else { !no_newline };
    if ends_line {
        text.push("\n", arguments.last().map_or(0, |word| word.span.start));
    }
    Some(OpenedFile::new(None, "/dev/stdout", text))
}

/// Returns a text with one word per line, as a program receives arguments; lines with options, markers or comments
/// stay unchanged.
pub(super) fn one_word_per_line(opened: &OpenedFile) -> OpenedFile {
    let mut text = MappedText::default();
    let mut start = 0;
    for raw in opened.text.text().split_inclusive('\n') {
        let whole = raw.contains([';', '@', '#']) || raw.trim_start().starts_with('-');
        for (at, c) in raw.char_indices() {
            let c = if c.is_whitespace() && !whole { '\n' } else { c };
            text.push(c.encode_utf8(&mut [0; 4]), opened.text.source_offset(start + at));
        }
        start += raw.len();
    }
    opened.with_text(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::script_commands;

    #[test]
    fn printed_texts_end_as_the_shell_ends_them() {
        for (command, expected) in [
            ("echo a b", Some("a b\n")),
            ("echo -n a", Some("a")),
            (r"echo -e 'a\nb'", Some("a\nb\n")),
            (r"echo -ne 'a\nb'", Some("a\nb")),
            (r"printf 'a\nb\n'", Some("a\nb\n")),
            ("printf a", Some("a")),
            (r"printf '%s\n' a b", Some("a\nb\n")),
            ("printf %d 3", None),
        ] {
            let commands = script_commands(&MappedText::contiguous(command, 0));
            let words = &commands.first().expect("a command").words;
            let program = words.first().and_then(Word::known).expect("a program");
            let printed = printed_text(program, words.get(1..).unwrap_or_default());
            assert_eq!(printed.as_ref().map(|file| file.text.text()), expected, "{command}");
        }
    }
}
