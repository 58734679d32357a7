//! What a command writes on its standard output, where that is plain to see: files as they are, filtered, or words.

use crate::dockerfile::Mapped;
use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Opened;
use crate::install::edit;
use crate::install::edit::Edit;
use crate::install::export;
use crate::shell::Command;
use crate::shell::Input;
use crate::shell::Word;

/// No list of packages is made of more files.
const MOST_FILES: usize = 16;

/// The texts that a command writes, one after the other, or why they cannot be told.
pub fn output(command: &Command, around: &Around<'_>) -> Result<Vec<Opened>, String> {
    let program = command.program().unwrap_or("a command");
    let cannot = || format!("the output of `{program}` is unknown");
    if let Some(written) = export::output(command, around) {
        return written;
    }
    let plain = |word: &&Word| word.known().is_none_or(|text| !text.starts_with('-') || text == "-");
    let arguments = || command.words.get(1..).unwrap_or_default();
    match program {
        "cat" if arguments().iter().all(|word| plain(&word)) => {
            files(&arguments().iter().collect::<Vec<_>>(), command, around)
        }
        "sort" | "uniq" if arguments().iter().all(|word| plain(&word) || word.known() == Some("-u")) => {
            files(&arguments().iter().filter(plain).collect::<Vec<_>>(), command, around)
        }
        "grep" | "egrep" => {
            let (edit, from) = edit::grep(&command.words).ok_or_else(cannot)?;
            edited(&edit, &files(&from, command, around)?)
        }
        "sed" => {
            let (edit, from, in_place) = edit::sed(&command.words).ok_or_else(cannot)?;
            if in_place { Err(cannot()) } else { edited(&edit, &files(&from, command, around)?) }
        }
        "tr" if newlines(arguments()) => input(command, around),
        "tee" => input(command, around),
        "echo" | "printf" => words(program, arguments()).map(|text| vec![text]).ok_or_else(cannot),
        _ => Err(cannot()),
    }
}

/// What a command reads on its standard input.
pub fn input(command: &Command, around: &Around<'_>) -> Result<Vec<Opened>, String> {
    match &command.input {
        Input::Pipe(before) => output(before, around),
        Input::File(word) => Ok(vec![open(word, around)?]),
        Input::Text(text) => Ok(vec![Opened::new(None, "/dev/stdin", text.clone())]),
        Input::Unknown => Err("its input is unknown".to_owned()),
        Input::None => Err("its input does not exist".to_owned()),
    }
}

/// The words that `xargs` hands to its command.
pub(super) fn handed(words: &[Word], command: &Command, around: &Around<'_>) -> Result<Vec<Opened>, String> {
    let file = words.iter().zip(words.iter().skip(1)).find(|(option, _)| option.known() == Some("-a"));
    let texts = match file {
        Some((_, file)) => vec![open(file, around)?],
        None => input(command, around)?,
    };
    Ok(texts.iter().map(one_a_line).collect())
}

fn edited(edit: &Edit, texts: &[Opened]) -> Result<Vec<Opened>, String> {
    texts.iter().map(|text| edit.apply(text)).collect()
}

fn files(from: &[&Word], command: &Command, around: &Around<'_>) -> Result<Vec<Opened>, String> {
    if from.is_empty() {
        return input(command, around);
    }
    if from.len() > MOST_FILES {
        return Err("it is made of too many files".to_owned());
    }
    let mut texts = Vec::new();
    for word in from {
        match word.known() {
            Some("-" | "/dev/stdin") => texts.extend(input(command, around)?),
            Some(pattern) if pattern.contains('*') && !word.raw.contains(['"', '\'']) => {
                let whole = pattern.rsplit_once('/').is_none_or(|(folder, _)| !folder.contains('*'));
                let names = open(word, around).ok().filter(|names| whole && !names.text.text().is_empty());
                let names = names.ok_or_else(|| format!("the files that match {pattern} are unknown"))?;
                for path in names.text.text().lines().take(MOST_FILES) {
                    texts.push((around.open)("/", path).map_err(|why| format!("{path} was not read: {why}"))?);
                }
            }
            _ => texts.push(open(word, around)?),
        }
    }
    Ok(texts)
}

fn open(word: &Word, around: &Around<'_>) -> Result<Opened, String> {
    match &word.value {
        Resolved::Known { value, .. } => (around.open)("", value).map_err(|why| format!("{value} was not read: {why}")),
        Resolved::Unresolved { reason, .. } => Err(reason.clone()),
    }
}

/// `tr '\n' ' '` changes nothing in a list of words.
fn newlines(arguments: &[Word]) -> bool {
    matches!(arguments, [from, to] if from.known() == Some("\\n") && to.known() == Some(" "))
}

/// What `echo` and `printf` write.
fn words(program: &str, arguments: &[Word]) -> Option<Opened> {
    let mut text = Mapped::default();
    let printf = program == "printf";
    let flags = arguments.iter().take_while(|word| matches!(word.known(), Some("-e" | "-n" | "-en" | "-ne"))).count();
    let escapes =
        printf || arguments.iter().take(flags).any(|word| word.known().is_some_and(|flag| flag.contains('e')));
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
    text.push("\n", arguments.last().map_or(0, |word| word.span.start));
    Some(Opened::new(None, "/dev/stdout", text))
}

/// A text with one word a line, as programs find their arguments; lines that are more than a list of names stay.
pub(super) fn one_a_line(opened: &Opened) -> Opened {
    let mut text = Mapped::default();
    let mut start = 0;
    for raw in opened.text.text().split_inclusive('\n') {
        let whole = raw.contains([';', '@', '#']) || raw.trim_start().starts_with('-');
        for (at, c) in raw.char_indices() {
            let c = if c.is_whitespace() && !whole { '\n' } else { c };
            text.push(c.encode_utf8(&mut [0; 4]), opened.text.offset(start + at));
        }
        start += raw.len();
    }
    opened.with(text)
}
