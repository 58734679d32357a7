//! Files that commands write, edit or copy before other commands read them.

use crate::dockerfile::{ExpandedText, MappedText, RunInstruction};
use crate::extract::command_reader::CommandReader;
use crate::extract::stage_files::absolute_path;
use crate::install;
use crate::install::{CommandContext, MarkerEnvironment, OpenedFile};
use crate::model::cause::Cause;
use crate::shell::{Command, Word};
use crate::text::source::SourceId;

/// The largest number of files that one command may write.
const MAX_WRITTEN_FILES: usize = 64;

/// Records the files that a command writes, with their content where it is known.
pub(super) fn record_written_files(
    reader: &mut CommandReader<'_>,
    command: &Command,
    run: &RunInstruction,
    environment: &MarkerEnvironment<'_>,
) {
    let mut made: Vec<(String, Result<OpenedFile, Cause>)> = Vec::new();
    {
        let open = |folder: &str, path: &str| reader.open_image_file(folder, path, run);
        let around = CommandContext {
            lookup: &|name| run.scope.lookup(name),
            open: &open,
            environment: *environment,
            knowledge: reader.knowledge,
        };
        let path = |word: &Word| word.known().map(|path| absolute_path(&reader.folder, path));
        add_redirected_files(command, &around, reader.source, &path, &mut made);
        add_edited_files(command, &around, &path, &mut made);
        if let Some((ExpandedText::Known { value: to, .. }, texts)) = install::exported_file(command, &around) {
            let to = absolute_path(&reader.folder, &to);
            let whole = texts.and_then(|texts| join_texts(&to, &texts).ok_or(Cause::SeveralFiles));
            made.push((to, whole));
        }
        if let Some((from, to)) = copied_file(command) {
            let into = if to.ends_with(['/', '.']) {
                format!("{to}/{}", from.rsplit('/').next().unwrap_or(from))
            } else {
                to.to_owned()
            };
            made.push((absolute_path(&reader.folder, &into), open("", from)));
        }
    }
    if command.conditional {
        for (_, made) in &mut made {
            *made = Err(Cause::PerhapsWritten);
        }
    }
    let traces = reader.state.traces.len();
    reader.state.traces_at_write.extend(made.iter().take(MAX_WRITTEN_FILES).map(|(path, _)| (path.clone(), traces)));
    reader.state.written_files.extend(made.into_iter().take(MAX_WRITTEN_FILES));
}

/// Returns the error for a file whose content a command changes in an unknown manner.
fn unknown_content() -> Result<OpenedFile, Cause> {
    Err(Cause::WrittenByCommand)
}

/// Adds the files that a command writes by redirection or `tee`.
fn add_redirected_files(
    command: &Command,
    around: &CommandContext<'_>,
    source: SourceId,
    path: &dyn Fn(&Word) -> Option<String>,
    made: &mut Vec<(String, Result<OpenedFile, Cause>)>,
) {
    let tee = command.program() == Some("tee");
    let arguments: Vec<&Word> = command.words.iter().skip(1).collect();
    let flag = |word: &&&Word| word.known().is_some_and(|text| text.starts_with('-'));
    let appends =
        command.appends || (tee && arguments.iter().any(|word| matches!(word.known(), Some("-a" | "--append"))));
    let named: Vec<&Word> = arguments.iter().filter(|word| tee && !flag(word)).copied().collect();
    for word in command.writes.iter().chain(named) {
        let Some(to) = path(word).filter(|path| !path.starts_with("/dev/")) else { continue };
        let new = install::standard_output(command, around);
        let parts = match (appends, new) {
            (_, Err(_)) => Err(()),
            (false, Ok(new)) => Ok(new),
            (true, Ok(new)) => match (around.open)("/", &to) {
                Ok(before) => Ok([vec![before], new].concat()),
                Err(_) => Err(()),
            },
        };
        let whole = |parts: Vec<OpenedFile>| {
            join_texts(&to, &parts).unwrap_or_else(|| join_at_command(&to, &parts, source, command))
        };
        made.push((to.clone(), parts.map(whole).or_else(|()| unknown_content())));
    }
}

/// Joins texts of several files into one whose position is that of a command.
fn join_at_command(path: &str, parts: &[OpenedFile], source: SourceId, command: &Command) -> OpenedFile {
    let mut text = MappedText::default();
    for c in parts.iter().flat_map(|part| part.text.text().chars()) {
        let c = if c.is_ascii() { c } else { '?' };
        text.push(c.encode_utf8(&mut [0; 4]), command.span.start);
    }
    OpenedFile::new(Some(source), path, text)
}

/// Joins texts of the same file; `None` if they come from several files.
fn join_texts(path: &str, parts: &[OpenedFile]) -> Option<OpenedFile> {
    let first = parts.first()?;
    let mut text = MappedText::default();
    for part in parts.iter().filter(|part| !part.text.text().is_empty()) {
        if part.source != first.source {
            return None;
        }
        let mut start = 0;
        for raw in part.text.text().split_inclusive('\n') {
            for (at, c) in raw.char_indices() {
                text.push(c.encode_utf8(&mut [0; 4]), part.text.source_offset(start + at));
            }
            start += raw.len();
        }
    }
    Some(OpenedFile::new(first.source, path, text))
}

/// Adds the files that `sed -i` and similar programs change.
fn add_edited_files(
    command: &Command,
    around: &CommandContext<'_>,
    path: &dyn Fn(&Word) -> Option<String>,
    made: &mut Vec<(String, Result<OpenedFile, Cause>)>,
) {
    let words = || command.words.iter().skip(1).filter_map(Word::known);
    let unclear = match command.program() {
        Some("sed") => {
            let edits = words().any(|word| {
                (word.starts_with("-i") || word.starts_with("--in-place"))
                    || word.ends_with('i') && word.starts_with('-')
            });
            match install::parse_sed(&command.words) {
                Some((edit, files, true)) => {
                    for file in files {
                        let Some(to) = path(file) else { continue };
                        let edited = (around.open)("/", &to).and_then(|opened| edit.apply(&opened));
                        made.push((to, edited));
                    }
                    false
                }
                Some((_, _, false)) => false,
                None => edits,
            }
        }
        Some("perl") => words().any(|word| word.starts_with("-i") || word.starts_with("-pi")),
        Some("mv" | "cp" | "wget" | "curl") => copied_file(command).is_none(),
        Some("uv") => words().any(|word| word == "lock"),
        _ => false,
    };
    let named = command.words.iter().skip(1).filter(|word| word.known().is_some_and(|text| !text.starts_with('-')));
    made.extend(named.filter(|_| unclear).filter_map(|word| Some((path(word)?, unknown_content()))));
}

/// Returns the only file that `cp` or `mv` copies, and its destination.
fn copied_file(command: &Command) -> Option<(&str, &str)> {
    let words: Vec<&Word> = command.words.iter().skip(1).collect();
    match words.as_slice() {
        [from, to] if matches!(command.program(), Some("cp" | "mv")) => {
            let (from, to) = (from.known()?, to.known()?);
            (!from.starts_with('-') && !from.ends_with('/') && !from.contains('*')).then_some((from, to))
        }
        _ => None,
    }
}
