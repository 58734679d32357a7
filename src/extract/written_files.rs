//! Files that commands write, edit, copy or remove before other commands read them.

use crate::build::{Command, Destination, DownloadTarget, FileEffect, Operand, TransferKind, Word};
use crate::dockerfile::{ExpandedText, MappedText, RunInstruction};
use crate::extract::changed_files::{ChangedFile, FileChange, source_path, target_path};
use crate::extract::command_reader::CommandReader;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_files::absolute_path;
use crate::install;
use crate::install::{CommandContext, MarkerEnvironment, OpenedFile};
use crate::model::cause::Cause;
use crate::text::source::SourceId;

/// The largest number of files that one command may write.
const MAX_WRITTEN_FILES: usize = 64;

/// Records the files that a command writes, copies and removes, with their content where it is known, and returns them.
pub(super) fn record_changed_files(
    reader: &mut CommandReader<'_>,
    step: CommandStep<'_>,
    run: &RunInstruction,
    environment: &MarkerEnvironment<'_>,
) -> Vec<(String, FileChange)> {
    let command = step.command;
    let mut made: Vec<(String, FileChange)> = Vec::new();
    {
        let open = |folder: &str, path: &str| reader.open_image_file(folder, path, run);
        let context = CommandContext {
            lookup: &|name| run.scope.lookup(name),
            open: &open,
            environment: *environment,
            knowledge: reader.knowledge,
        };
        let path = |word: &Word| word.known().map(|path| absolute_path(&reader.folder, path));
        let mut written = Vec::new();
        add_redirected_files(command, &context, reader.source, &path, &mut written);
        if let Some((ExpandedText::Known { value: to, .. }, texts)) = install::exported_file(command, &context) {
            let to = absolute_path(&reader.folder, &to);
            let whole = texts.and_then(|texts| join_texts(&to, &texts).ok_or(Cause::SeveralFiles));
            written.push((to, whole));
        }
        let edits = add_edited_files(command, &context, &path, &mut written);
        if command.conditional {
            for (_, content) in &mut written {
                *content = Err(Cause::PerhapsWritten);
            }
        }
        made.extend(written.into_iter().map(|(path, content)| (path, FileChange::Written(content))));
        if !edits {
            add_effect(reader, step, run, &mut made);
        }
    }
    let (instruction, traces) = (run.instruction, reader.state.traces.len());
    made.truncate(MAX_WRITTEN_FILES);
    for (path, change) in made.iter().cloned() {
        reader.state.changed_files.push(ChangedFile { path, change, instruction, traces });
    }
    made
}

/// Adds the changes of a command whose effect its arguments determine.
fn add_effect(
    reader: &CommandReader<'_>,
    step: CommandStep<'_>,
    run: &RunInstruction,
    made: &mut Vec<(String, FileChange)>,
) {
    let conditional = step.command.conditional;
    let absolute = |operand: &Operand| step.absolute(operand);
    let certain = |content: Result<OpenedFile, Cause>| {
        FileChange::Written(if conditional { Err(Cause::PerhapsWritten) } else { content })
    };
    match step.effect {
        FileEffect::Nothing
        | FileEffect::Packages
        | FileEffect::Unknown
        | FileEffect::Create(_)
        | FileEffect::Unpack { .. }
        | FileEffect::Clone { .. } => {}
        FileEffect::Transfer { kind, sources, to, recursive, selective } => {
            let conditional = conditional || *selective;
            let certain = |content: Result<OpenedFile, Cause>| {
                FileChange::Written(if conditional { Err(Cause::PerhapsWritten) } else { content })
            };
            for source in sources {
                let is_folder = |folder: &str| reader.is_known_folder(folder, run);
                let Some(target) = target_path(to, source, &reader.folder, &is_folder) else { continue };
                let into = !matches!(to, Destination::File(_));
                let Some(from) = source.text.as_deref() else {
                    if into {
                        made.push((target.clone(), FileChange::UnknownFiles));
                    }
                    made.push((target, certain(unknown_content_error())));
                    continue;
                };
                let whole = source_path(*kind, from, &target, &reader.folder);
                if is_pattern(from) {
                    match reader.expand_glob(&whole, run) {
                        Some(found) if !*recursive => {
                            for path in found {
                                let name = path.rsplit('/').next().unwrap_or_default();
                                let content = reader.open_image_file("", &path, run);
                                made.push((absolute_path(&target, name), certain(content)));
                            }
                        }
                        _ => match from.strip_suffix("/*") {
                            Some(folder) => {
                                let from = absolute_path(&reader.folder, folder);
                                made.push((target, FileChange::FolderCopied { from, conditional }));
                            }
                            None => made.push((target, FileChange::UnknownFiles)),
                        },
                    }
                } else if *kind == TransferKind::Link && !conditional {
                    made.push((target, FileChange::Linked { to: whole.clone() }));
                } else {
                    let opened = reader.open_image_file("", &whole, run);
                    let is_file = opened.is_ok();
                    if source.file_name().is_some() {
                        made.push((target.clone(), certain(opened)));
                    }
                    if *recursive && !is_file {
                        made.push((target, FileChange::FolderCopied { from: whole.clone(), conditional }));
                    }
                }
                if *kind == TransferKind::Move {
                    made.push((whole, FileChange::Removed { conditional: conditional || from.contains('{') }));
                }
            }
        }
        FileEffect::Remove(paths) => made.extend(paths.iter().map(|path| match absolute(path) {
            Some(path) => {
                let uncertain = conditional || path.contains('{');
                (path, FileChange::Removed { conditional: uncertain })
            }
            None => ("/".to_owned(), FileChange::Removed { conditional: true }),
        })),
        FileEffect::MakeDirectory(paths) => {
            made.extend(paths.iter().filter_map(|path| Some((absolute(path)?, FileChange::FolderCreated))));
        }
        // What `tee` writes is known by its input.
        FileEffect::Write(_) if step.command.program() == Some("tee") => {}
        FileEffect::Pack { archive, .. } => {
            let archive = archive.iter().filter_map(absolute);
            made.extend(archive.map(|path| (path, certain(unknown_content_error()))));
        }
        FileEffect::Write(files) => {
            made.extend(files.iter().filter_map(|file| Some((absolute(file)?, certain(unknown_content_error())))));
        }
        FileEffect::Download { addresses, to, .. } => match to {
            DownloadTarget::StandardOutput => {}
            DownloadTarget::File(file) => {
                made.extend(absolute(file).map(|path| (path, certain(unknown_content_error()))));
            }
            DownloadTarget::RemoteName { folder, .. } => {
                let into = folder.as_ref().map_or_else(|| Some(reader.folder.clone()), absolute);
                let Some(into) = into else { return };
                let names = addresses.iter().filter_map(Operand::file_name);
                made.extend(names.map(|name| (absolute_path(&into, name), certain(unknown_content_error()))));
            }
        },
    }
}

/// Whether a path is a glob pattern.
fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// Returns the error for a file whose content a command changes in an unknown manner.
fn unknown_content_error() -> Result<OpenedFile, Cause> {
    Err(Cause::WrittenByCommand)
}

/// Adds the files that a command writes by redirection or `tee`.
fn add_redirected_files(
    command: &Command,
    context: &CommandContext<'_>,
    source: SourceId,
    path: &dyn Fn(&Word) -> Option<String>,
    made: &mut Vec<(String, Result<OpenedFile, Cause>)>,
) {
    let tee = command.program() == Some("tee");
    let arguments: Vec<&Word> = command.words.iter().skip(1).collect();
    let flag = |word: &&&Word| word.known().is_some_and(|text| text.starts_with('-'));
    let appends = command.appends_output();
    let named: Vec<&Word> = arguments.iter().filter(|word| tee && !flag(word)).copied().collect();
    for word in command.writes.iter().chain(named) {
        let Some(to) = path(word).filter(|path| !path.starts_with("/dev/")) else { continue };
        let new = install::standard_output(command, context);
        let parts = match (appends, new) {
            (_, Err(_)) => Err(()),
            (false, Ok(new)) => Ok(new),
            (true, Ok(new)) => match (context.open)("/", &to) {
                Ok(before) => Ok([vec![before], new].concat()),
                Err(_) => Err(()),
            },
        };
        let whole = |parts: Vec<OpenedFile>| {
            join_texts(&to, &parts).unwrap_or_else(|| join_at_command(&to, &parts, source, command))
        };
        made.push((to.clone(), parts.map(whole).or_else(|()| unknown_content_error())));
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

/// Adds the files that a `sed` command edits in a way that is followed; returns whether it is one.
fn add_edited_files(
    command: &Command,
    context: &CommandContext<'_>,
    path: &dyn Fn(&Word) -> Option<String>,
    made: &mut Vec<(String, Result<OpenedFile, Cause>)>,
) -> bool {
    if command.program() != Some("sed") {
        return false;
    }
    let Some((edit, files, true)) = install::parse_sed(&command.words) else { return false };
    for file in files {
        let Some(to) = path(file) else { continue };
        let edited = (context.open)("/", &to).and_then(|opened| edit.apply(&opened));
        made.push((to, edited));
    }
    true
}
