//! Indexes of builds: where their addresses are written, and how one more is named.

use crate::cure::case::Case;
use crate::cure::write::Texts;
use crate::cure::write::word::addresses;
use crate::cure::write::word::word_end;
use crate::dockerfile::Instruction;
use crate::dockerfile::Kind;
use crate::edit;
use crate::install::tag_of_url;
use crate::source::SourceId;
use crate::source::Span;

/// How the words of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A command of a shell.
    Shell,
    /// The words of a command as a list of JSON.
    Words,
    /// A list of requirements, one a line.
    List,
    /// The project's table of requirements and indexes, in TOML.
    Table,
}

/// The file that holds such a table.
const PROJECT: &str = "pyproject.toml";

/// The instruction that holds a place, and the one below its ONBUILD.
pub(super) fn instruction<'a>(texts: &Texts<'a>, place: Span) -> Option<&'a Instruction> {
    let holds = |one: &&Instruction| one.span.start <= place.start && place.end <= one.span.end;
    let one = texts.dockerfile.instructions.iter().find(holds)?;
    Some(one.child.as_deref().unwrap_or(one))
}

/// The way of a place in a text; none where nobody edits that by hand.
pub(super) fn style(texts: &Texts<'_>, source: SourceId, place: Span) -> Option<Style> {
    if source == texts.source {
        return Some(match instruction(texts, place) {
            Some(one) if matches!(one.kind, Kind::Copy | Kind::Add) => Style::List,
            Some(one) if one.json.is_some() => Style::Words,
            _ => Style::Shell,
        });
    }
    let name = texts.sources.get(source).name();
    if file_name(name) == Some(PROJECT) {
        return Some(Style::Table);
    }
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("txt" | "in") => Some(Style::List),
        Some("sh" | "bash") => Some(Style::Shell),
        _ => None,
    }
}

/// The option that names an index beside the default one, and the one that names it instead.
pub(super) const EXTRA: &str = "--extra-index-url";
pub(super) const OWN: &str = "--index-url";
/// Options of an installer by which it installs nothing else.
pub(super) const PLAIN: [&str; 9] = [
    "--no-cache-dir",
    "--no-cache",
    "-U",
    "--upgrade",
    "-q",
    "--quiet",
    "--user",
    "--system",
    "--break-system-packages",
];

/// One more index: behind the word in a command that takes one, on a line of its own in a list. Nothing where the list
/// has it; none where nothing says that it would be read.
pub(super) fn one_more(
    texts: &Texts<'_>,
    (source, word): (SourceId, Span),
    style: Style,
    (name, page): (&str, &str),
) -> Option<Vec<(Span, String)>> {
    let text = texts.sources.get(source).text();
    let option = format!("{name} {page}");
    match style {
        Style::Shell => {
            let escape = if source == texts.source { texts.dockerfile.escape } else { '\\' };
            let at = word_end(text, word);
            takes_index(text, word.start, escape).then(|| vec![(Span::new(at, at), format!(" {option}"))])
        }
        Style::Words => {
            let one = instruction(texts, word)?;
            let before = text.get(one.span.start..word.start)?;
            let words = before.split(|c: char| c.is_whitespace() || matches!(c, '"' | '[' | ','));
            let at = word.end + text.get(word.end..one.span.end)?.find([',', ']'])?;
            let added = format!(", \"{name}\", \"{page}\"");
            words.into_iter().any(is_installer).then(|| vec![(Span::new(at, at), added)])
        }
        Style::Table => None,
        Style::List => {
            let whole = instruction(texts, word).filter(|_| source == texts.source).map(|one| one.span);
            let list = text.get(whole.map_or(0, |span| span.start)..whole.map_or(text.len(), |span| span.end))?;
            let has = |line: &str| {
                let line = line.trim();
                line == option || line == option.replace(' ', "=")
            };
            if list.lines().any(has) {
                return Some(Vec::new());
            }
            // A mark at the beginning of a file stays there.
            let mark = text.chars().next().filter(|first| *first == '\u{feff}').map_or(0, char::len_utf8);
            let at = edit::line_start(text, word.start).max(mark);
            Some(vec![(Span::new(at, at), format!("{option}{}", edit::line_ending(text)))])
        }
    }
}

/// Whether the command that holds a place takes an index by its option: one of pip or uv.
fn takes_index(text: &str, at: usize, escape: char) -> bool {
    let command = before(text, at, escape);
    command.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).any(is_installer)
}

/// What stands in front of a place in the command of a shell that holds it, as one line.
fn before(text: &str, at: usize, escape: char) -> String {
    let mut start = edit::line_start(text, at);
    // Lines that the command began in; comments between them are none of it.
    while let Some(above) = start.checked_sub(1).map(|newline| edit::line_start(text, newline)) {
        let line = text.get(above..start).unwrap_or_default();
        if !line.trim_start().starts_with('#') && !line.trim_end().ends_with(escape) {
            break;
        }
        start = above;
    }
    let before = text.get(start..at).unwrap_or_default();
    let lines = before.lines().filter(|line| !line.trim_start().starts_with('#'));
    let joined = lines.map(|line| line.trim_end().trim_end_matches(escape)).collect::<Vec<_>>().join(" ");
    joined.rsplit([';', '&', '|', '(', '`']).next().unwrap_or_default().to_owned()
}

/// What stands behind a place in it.
fn behind(text: &str, at: usize, escape: char) -> String {
    let mut joined = String::new();
    for (nth, line) in text.get(at..).unwrap_or_default().lines().enumerate() {
        if nth > 0 && line.trim_start().starts_with('#') {
            continue;
        }
        let whole = line.trim_end();
        joined.push_str(whole.trim_end_matches(escape));
        joined.push(' ');
        if !whole.ends_with(escape) {
            break;
        }
    }
    joined.split([';', '&', '|', ')', '`']).next().unwrap_or_default().to_owned()
}

/// Whether the command or the list that holds a place asks for nothing but these packages, by their names.
pub(super) fn asks_for_nothing_else(
    texts: &Texts<'_>,
    (source, place): (SourceId, Span),
    style: Style,
    names: &[&str],
) -> bool {
    let text = texts.sources.get(source).text();
    let whole = instruction(texts, place).filter(|_| source == texts.source).map(|one| one.span);
    let whole = whole.and_then(|span| text.get(span.start..span.end)).unwrap_or(text);
    let words: Vec<String> = match style {
        Style::Table => return false,
        Style::List if source == texts.source => return false,
        Style::List => {
            let lines = text.lines().map(|line| line.split(" #").next().unwrap_or(line).trim());
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
        }
        Style::Words => whole.split('"').skip(1).step_by(2).map(str::to_owned).collect(),
        Style::Shell => {
            let escape = if source == texts.source { texts.dockerfile.escape } else { '\\' };
            let command = format!("{}{}", before(text, place.end, escape), behind(text, place.end, escape));
            command.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
        }
    };
    let at =
        if style == Style::List { Some(0) } else { words.iter().position(|word| word == "install").map(|at| at + 1) };
    let Some(asked) = at.and_then(|at| words.get(at..)) else { return false };
    let mut skips = false;
    asked.iter().all(|word| {
        // An index stands behind its option.
        let value = std::mem::replace(&mut skips, word == EXTRA);
        let name = word.split(|c: char| "=<>~![; ".contains(c)).next().unwrap_or(word);
        let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
        value
            || word == EXTRA
            || word.starts_with("--extra-index-url=")
            || is_one(&name, names)
            || is_plain(word, style)
    })
}

fn is_one(name: &str, names: &[&str]) -> bool {
    names.contains(&name)
}

fn is_plain(word: &str, style: Style) -> bool {
    style != Style::List && PLAIN.contains(&word)
}

/// The index of a build that a command names beside the default one, instead of that; none where it names others as well.
pub(super) fn made_own(texts: &Texts<'_>, place: (SourceId, Span), build: &str) -> Option<(Span, String)> {
    let text = texts.sources.get(place.0).text();
    let found = around(texts, place);
    let [(source, span)] = found.as_slice() else { return None };
    let address = text.get(span.start..span.end).filter(|_| *source == place.0)?;
    let front = text.get(..span.start)?.trim_end_matches(['=', ' ', '"', ',', '\'']);
    let start = front.strip_suffix(EXTRA)?.len();
    (tag_of_url(address).as_deref() == Some(build)).then(|| (Span::new(start, start + EXTRA.len()), OWN.to_owned()))
}

/// Whether a word calls pip or uv.
fn is_installer(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let pip = name.strip_prefix("pip").is_some_and(|rest| rest.bytes().all(|one| one.is_ascii_digit() || one == b'.'));
    pip || matches!(name, "uv" | "uvx")
}

/// The addresses of indexes around a word: of its instruction, of its list, and of the instructions that name the list.
/// Where the version says the build itself, an index that is for the old build alone has none for the new one.
pub(super) fn around(texts: &Texts<'_>, (source, word): (SourceId, Span)) -> Vec<(SourceId, Span)> {
    let whole = |id: SourceId| texts.sources.get(id).text();
    let list = if source == texts.source { None } else { file_name(texts.sources.get(source).name()) };
    let holds = |span: Span| match list {
        Some(name) => texts.text.get(span.start..span.end).is_some_and(|text| names(text, name)),
        None => span.start <= word.start && word.end <= span.end,
    };
    let spans = texts.dockerfile.instructions.iter().map(|one| one.span).filter(|span| holds(*span));
    let mut regions: Vec<(SourceId, Span)> = spans.map(|span| (texts.source, span)).collect();
    regions.extend(list.map(|_| (source, Span::new(0, whole(source).len()))));
    let of_region = |(id, span): (SourceId, Span)| {
        let found = addresses(whole(id).get(span.start..span.end).unwrap_or_default());
        found.into_iter().map(move |one| (id, Span::new(span.start + one.start, span.start + one.end)))
    };
    regions.into_iter().flat_map(of_region).collect()
}

/// The addresses of the index of a build wherever they are written: in variables, settings and lists. Those with a
/// variable in them may be such.
pub(super) fn everywhere(texts: &Texts<'_>, build: &str) -> Vec<(SourceId, Span)> {
    // Of the stages that ship, and of what is said before the first.
    let first = texts.dockerfile.stages.first().map_or(0, |stage| stage.from);
    let stages = texts.evaluated.chain.iter().filter_map(|at| texts.dockerfile.stages.get(*at));
    let own = (0..first).chain(stages.flat_map(|stage| stage.instructions.iter().copied()));
    let of_instructions = own.filter_map(|at| texts.dockerfile.instructions.get(at));
    let mut regions: Vec<(SourceId, Span)> = of_instructions.map(|one| (texts.source, one.span)).collect();
    let files = texts.files.asked().filter_map(|(_, file)| file.as_ref().ok());
    regions.extend(files.map(|file| (file.source, Span::new(0, file.text.len()))));
    let mut found = Vec::new();
    for (id, span) in regions {
        let text = texts.sources.get(id).text().get(span.start..span.end).unwrap_or_default();
        for one in of_build(text, build) {
            let place = (id, Span::new(span.start + one.start, span.start + one.end));
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    found
}

/// Addresses of the index of a build, or of what a variable says: its folder, and no file in it; those of comments are
/// none.
fn of_build(text: &str, build: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begins = start;
        start += line.len();
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        for (at, _) in line.match_indices("://") {
            let ends =
                |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ';' | '&' | '|' | ')' | '\\' | ',');
            let from = line.get(..at).and_then(|before| before.rfind(ends)).map_or(0, |before| before + 1);
            let to = line.get(at..).and_then(|rest| rest.find(ends)).map_or(line.len(), |length| at + length);
            let address = line.get(from..to).unwrap_or_default();
            let folder = address.trim_end_matches('/').ends_with(&format!("/{build}"));
            if address.contains('$') || (folder && tag_of_url(address).as_deref() == Some(build)) {
                found.push(Span::new(begins + from, begins + to));
            }
        }
    }
    found
}

/// Whether the tables know what lies at an address: it is one of the project's own pages.
pub(in crate::cure) fn is_known(case: &Case<'_>, address: &str) -> bool {
    let pages = case.knowledge().build_pages().iter();
    pages.filter_map(|row| row.page.split("{build}").next()).any(|page| address.starts_with(page))
}

/// Whether a text names a file: not one with a longer name that ends like it.
fn names(text: &str, file: &str) -> bool {
    let before = |at: usize| text.get(..at).and_then(|before| before.chars().next_back());
    text.match_indices(file)
        .any(|(at, _)| before(at).is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.')))
}

/// The last part of a path.
fn file_name(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_pip_is_read_by_commands_of_pip() {
        for (text, expected) in [
            ("RUN pip install torch", true),
            ("RUN pip install a \\\n  # why\n  torch", true),
            ("RUN /opt/v/bin/python3 -m pip install torch", true),
            ("RUN uv add torch", true),
            ("RUN pip install 'numpy<2' torch", true),
            ("pip install `\n torch", false),
            ("RUN poetry add torch", false),
            ("RUN pip install poetry && poetry add torch", false),
            ("RUN pdm add torch", false),
            ("RUN pipenv install torch", false),
            ("RUN pipx install torch", false),
            ("RUN echo torch", false),
            ("RUN pip install $(echo torch", false),
            ("RUN pip list\ntorch", false),
            ("torch", false),
        ] {
            let at = text.rfind("torch").expect("there");
            assert_eq!(takes_index(text, at, '\\'), expected, "{text}");
        }
        assert!(takes_index("pip install `\n torch", 15, '`'), "another escape character");
    }

    #[test]
    fn the_index_of_a_build_is_its_folder() {
        for (text, expected) in [
            ("ENV PIP_EXTRA_INDEX_URL=https://h/whl/cu130", &["https://h/whl/cu130"][..]),
            ("extra-index-url = https://h/whl/cu130/\n", &["https://h/whl/cu130/"]),
            ("ENV UV_INDEX=\"torch=https://h/whl/cu130 https://h/whl/cu126\"", &["https://h/whl/cu130"]),
            ("curl -O https://h/whl/cu130/torch-2.9.1.whl", &[]),
            ("ENV A=https://h/whl/$CU B=https://h/whl/cu126", &["https://h/whl/$CU"]),
            ("# https://h/whl/cu130", &[]),
            ("ENV A=https://h/whl/cu1300 B=https://h/cu130", &[]),
            ("://", &[]),
        ] {
            let found: Vec<&str> = of_build(text, "cu130")
                .into_iter()
                .map(|span| text.get(span.start..span.end).expect("a place"))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
