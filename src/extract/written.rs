//! Files that commands write, edit or copy before other commands read them.

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::extract::install::Reader;
use crate::extract::tree::absolute;
use crate::install;
use crate::install::Around;
use crate::install::Environment;
use crate::install::Opened;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::SourceId;

/// No command writes more files.
const MOST: usize = 64;

/// Remembers the files that a command writes: what is in them, where that is plain to see.
pub(super) fn written(reader: &mut Reader<'_>, command: &Command, run: &RunInstruction, environment: &Environment<'_>) {
    let mut made: Vec<(String, Result<Opened, String>)> = Vec::new();
    {
        let open = |folder: &str, path: &str| reader.open(folder, path, run);
        let around = Around {
            lookup: &|name| run.scope.lookup(name),
            open: &open,
            environment: *environment,
            knowledge: reader.knowledge,
        };
        let path = |word: &Word| word.known().map(|path| absolute(&reader.folder, path));
        redirected(command, &around, reader.source, &path, &mut made);
        in_place(command, &around, &path, &mut made);
        if let Some((Resolved::Known { value: to, .. }, texts)) = install::written_to(command, &around) {
            let to = absolute(&reader.folder, &to);
            let whole =
                texts.and_then(|texts| joined(&to, &texts).ok_or_else(|| "it is made of several files".to_owned()));
            made.push((to, whole));
        }
        if let Some((from, to)) = copied(command) {
            let into = if to.ends_with(['/', '.']) {
                format!("{to}/{}", from.rsplit('/').next().unwrap_or(from))
            } else {
                to.to_owned()
            };
            made.push((absolute(&reader.folder, &into), open("", from)));
        }
    }
    if command.conditional {
        for (_, made) in &mut made {
            *made = Err("a command may write it first".to_owned());
        }
    }
    let traces = reader.done.traces.len();
    reader.done.made_at.extend(made.iter().take(MOST).map(|(path, _)| (path.clone(), traces)));
    reader.done.made.extend(made.into_iter().take(MOST));
}

fn unknown() -> Result<Opened, String> {
    Err("a command writes it first".to_owned())
}

fn redirected(
    command: &Command,
    around: &Around<'_>,
    source: SourceId,
    path: &dyn Fn(&Word) -> Option<String>,
    made: &mut Vec<(String, Result<Opened, String>)>,
) {
    let tee = command.program() == Some("tee");
    let arguments: Vec<&Word> = command.words.iter().skip(1).collect();
    let flag = |word: &&&Word| word.known().is_some_and(|text| text.starts_with('-'));
    let appends =
        command.appends || (tee && arguments.iter().any(|word| matches!(word.known(), Some("-a" | "--append"))));
    let named: Vec<&Word> = arguments.iter().filter(|word| tee && !flag(word)).copied().collect();
    for word in command.writes.iter().chain(named) {
        let Some(to) = path(word).filter(|path| !path.starts_with("/dev/")) else { continue };
        let new = install::output(command, around);
        let parts = match (appends, new) {
            (_, Err(_)) => Err(()),
            (false, Ok(new)) => Ok(new),
            (true, Ok(new)) => match (around.open)("/", &to) {
                Ok(before) => Ok([vec![before], new].concat()),
                Err(_) => Err(()),
            },
        };
        let whole =
            |parts: Vec<Opened>| joined(&to, &parts).unwrap_or_else(|| at_command(&to, &parts, source, command));
        made.push((to.clone(), parts.map(whole).or_else(|()| unknown())));
    }
}

/// Texts of several files as one that stands where a command puts them together.
fn at_command(path: &str, parts: &[Opened], source: SourceId, command: &Command) -> Opened {
    let mut text = Mapped::default();
    for c in parts.iter().flat_map(|part| part.text.text().chars()) {
        let c = if c.is_ascii() { c } else { '?' };
        text.push(c.encode_utf8(&mut [0; 4]), command.span.start);
    }
    Opened::new(Some(source), path, text)
}

/// Texts of one file, one after the other; `None` where they stand in several.
fn joined(path: &str, parts: &[Opened]) -> Option<Opened> {
    let first = parts.first()?;
    let mut text = Mapped::default();
    for part in parts.iter().filter(|part| !part.text.text().is_empty()) {
        if part.source != first.source {
            return None;
        }
        let mut start = 0;
        for raw in part.text.text().split_inclusive('\n') {
            for (at, c) in raw.char_indices() {
                text.push(c.encode_utf8(&mut [0; 4]), part.text.offset(start + at));
            }
            start += raw.len();
        }
    }
    Some(Opened::new(first.source, path, text))
}

/// `sed -i`, and programs that write files of their own.
fn in_place(
    command: &Command,
    around: &Around<'_>,
    path: &dyn Fn(&Word) -> Option<String>,
    made: &mut Vec<(String, Result<Opened, String>)>,
) {
    let words = || command.words.iter().skip(1).filter_map(Word::known);
    let unclear = match command.program() {
        Some("sed") => {
            let edits = words().any(|word| {
                (word.starts_with("-i") || word.starts_with("--in-place"))
                    || word.ends_with('i') && word.starts_with('-')
            });
            match install::sed(&command.words) {
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
        Some("mv" | "cp" | "wget" | "curl") => copied(command).is_none(),
        Some("uv") => words().any(|word| word == "lock"),
        _ => false,
    };
    let named = command.words.iter().skip(1).filter(|word| word.known().is_some_and(|text| !text.starts_with('-')));
    made.extend(named.filter(|_| unclear).filter_map(|word| Some((path(word)?, unknown()))));
}

/// The one file that `cp` or `mv` takes, and where it goes.
fn copied(command: &Command) -> Option<(&str, &str)> {
    let words: Vec<&Word> = command.words.iter().skip(1).collect();
    match words.as_slice() {
        [from, to] if matches!(command.program(), Some("cp" | "mv")) => {
            let (from, to) = (from.known()?, to.known()?);
            (!from.starts_with('-') && !from.ends_with('/') && !from.contains('*')).then_some((from, to))
        }
        _ => None,
    }
}
