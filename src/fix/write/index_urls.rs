//! Package index URLs of builds: where they are written, and how to add one more.

use crate::dockerfile::{Instruction, InstructionKind, edit};
use crate::fix::fix_context::FixContext;
use crate::fix::write::dockerfile_texts::DockerfileTexts;
use crate::fix::write::value_edits::{index_url_spans, word_end};
use crate::install::tag_of_url;
use crate::model::package::PackageName;
use crate::text::source::{SourceId, Span};

/// The syntax in which requirements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequirementSyntax {
    /// A shell command.
    Shell,
    /// The exec form of a command: a JSON list of strings.
    Words,
    /// A requirements file, one requirement per line.
    List,
    /// The TOML tables of a project file.
    Table,
}

/// Name of the project file with TOML tables of requirements.
const PROJECT_FILE: &str = "pyproject.toml";

/// Returns the instruction that contains a span, or the one nested in its ONBUILD.
pub(super) fn instruction_at<'a>(texts: &DockerfileTexts<'a>, place: Span) -> Option<&'a Instruction> {
    let holds = |one: &&Instruction| one.span.start <= place.start && place.end <= one.span.end;
    let one = texts.dockerfile.instructions.iter().find(holds)?;
    Some(one.child.as_deref().unwrap_or(one))
}

/// Returns the syntax at a span of a text; `None` where the file is not edited by hand.
pub(super) fn requirement_syntax(
    texts: &DockerfileTexts<'_>,
    source: SourceId,
    place: Span,
) -> Option<RequirementSyntax> {
    if source == texts.source {
        return Some(match instruction_at(texts, place) {
            Some(one) if matches!(one.kind, InstructionKind::Copy | InstructionKind::Add) => RequirementSyntax::List,
            Some(one) if one.json.is_some() => RequirementSyntax::Words,
            _ => RequirementSyntax::Shell,
        });
    }
    let name = texts.sources.get(source).name();
    if file_name(name) == Some(PROJECT_FILE) {
        return Some(RequirementSyntax::Table);
    }
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("txt" | "in") => Some(RequirementSyntax::List),
        Some("sh" | "bash") => Some(RequirementSyntax::Shell),
        _ => None,
    }
}

/// The pip option that adds an index to the default one.
pub(super) const EXTRA_INDEX_OPTION: &str = "--extra-index-url";
/// The pip option that replaces the default index.
pub(super) const INDEX_OPTION: &str = "--index-url";
/// Installer options that do not change which packages are installed.
pub(super) const NEUTRAL_OPTIONS: [&str; 9] = [
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

/// Returns the insertions that add an index; empty where it is present, `None` where it would not be read.
pub(super) fn add_index(
    texts: &DockerfileTexts<'_>,
    (source, word): (SourceId, Span),
    style: RequirementSyntax,
    (name, page): (&str, &str),
) -> Option<Vec<(Span, String)>> {
    let text = texts.sources.get(source).text();
    let option = format!("{name} {page}");
    match style {
        RequirementSyntax::Shell => {
            let escape = if source == texts.source { texts.dockerfile.escape } else { '\\' };
            let at = word_end(text, word);
            accepts_index_option(text, word.start, escape).then(|| vec![(Span::new(at, at), format!(" {option}"))])
        }
        RequirementSyntax::Words => {
            let one = instruction_at(texts, word)?;
            let before = text.get(one.span.start..word.start)?;
            let words = before.split(|c: char| c.is_whitespace() || matches!(c, '"' | '[' | ','));
            let at = word.end + text.get(word.end..one.span.end)?.find([',', ']'])?;
            let added = format!(", \"{name}\", \"{page}\"");
            words.into_iter().any(is_installer).then(|| vec![(Span::new(at, at), added)])
        }
        RequirementSyntax::Table => None,
        RequirementSyntax::List => {
            let whole = instruction_at(texts, word).filter(|_| source == texts.source).map(|one| one.span);
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

/// Whether the command that contains a position is one of pip or uv.
fn accepts_index_option(text: &str, at: usize, escape: char) -> bool {
    let command = command_before(text, at, escape);
    command.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).any(is_installer)
}

/// Returns the shell command up to a position, as one line.
fn command_before(text: &str, at: usize, escape: char) -> String {
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

/// Returns the shell command from a position on, as one line.
fn command_after(text: &str, at: usize, escape: char) -> String {
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

/// Whether the command or requirements file at a span installs only packages of these names.
pub(super) fn installs_only(
    texts: &DockerfileTexts<'_>,
    (source, place): (SourceId, Span),
    style: RequirementSyntax,
    names: &[&str],
) -> bool {
    let text = texts.sources.get(source).text();
    let whole = instruction_at(texts, place).filter(|_| source == texts.source).map(|one| one.span);
    let whole = whole.and_then(|span| text.get(span.start..span.end)).unwrap_or(text);
    let words: Vec<String> = match style {
        RequirementSyntax::Table => return false,
        RequirementSyntax::List if source == texts.source => return false,
        RequirementSyntax::List => {
            let lines = text.lines().map(|line| line.split(" #").next().unwrap_or(line).trim());
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
        }
        RequirementSyntax::Words => whole.split('"').skip(1).step_by(2).map(str::to_owned).collect(),
        RequirementSyntax::Shell => {
            let escape = if source == texts.source { texts.dockerfile.escape } else { '\\' };
            let command =
                format!("{}{}", command_before(text, place.end, escape), command_after(text, place.end, escape));
            command.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
        }
    };
    let at = if style == RequirementSyntax::List {
        Some(0)
    } else {
        words.iter().position(|word| word == "install").map(|at| at + 1)
    };
    let Some(arguments) = at.and_then(|at| words.get(at..)) else { return false };
    let mut skips = false;
    arguments.iter().all(|word| {
        // The value after the option is the index.
        let value = std::mem::replace(&mut skips, word == EXTRA_INDEX_OPTION);
        let name = word.split(|c: char| "=<>~![; ".contains(c)).next().unwrap_or(word);
        let name = PackageName::python(name);
        value
            || word == EXTRA_INDEX_OPTION
            || word.starts_with("--extra-index-url=")
            || is_listed_name(&name, names)
            || is_neutral_option(word, style)
    })
}

/// Whether a name is in a list.
fn is_listed_name(name: &str, names: &[&str]) -> bool {
    names.contains(&name)
}

/// Whether a word is an installer option that does not change which packages are installed.
fn is_neutral_option(word: &str, style: RequirementSyntax) -> bool {
    style != RequirementSyntax::List && NEUTRAL_OPTIONS.contains(&word)
}

/// Returns the edit that makes the extra index of a build the only index; `None` where there are other indexes.
pub(super) fn replace_extra_index_option(
    texts: &DockerfileTexts<'_>,
    place: (SourceId, Span),
    build: &str,
) -> Option<(Span, String)> {
    let text = texts.sources.get(place.0).text();
    let found = nearby_index_urls(texts, place);
    let [(source, span)] = found.as_slice() else { return None };
    let address = text.get(span.start..span.end).filter(|_| *source == place.0)?;
    let front = text.get(..span.start)?.trim_end_matches(['=', ' ', '"', ',', '\'']);
    let start = front.strip_suffix(EXTRA_INDEX_OPTION)?.len();
    (tag_of_url(address).as_deref() == Some(build))
        .then(|| (Span::new(start, start + EXTRA_INDEX_OPTION.len()), INDEX_OPTION.to_owned()))
}

/// Whether a word is the program name of pip or uv.
fn is_installer(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let pip = name.strip_prefix("pip").is_some_and(|rest| rest.bytes().all(|one| one.is_ascii_digit() || one == b'.'));
    pip || matches!(name, "uv" | "uvx")
}

/// Returns the index URLs of the instruction or requirements file at a word, and of instructions that name the file.
pub(super) fn nearby_index_urls(
    texts: &DockerfileTexts<'_>,
    (source, word): (SourceId, Span),
) -> Vec<(SourceId, Span)> {
    let whole = |id: SourceId| texts.sources.get(id).text();
    let list = if source == texts.source { None } else { file_name(texts.sources.get(source).name()) };
    let holds = |span: Span| match list {
        Some(name) => texts.text.get(span.start..span.end).is_some_and(|text| mentions_file(text, name)),
        None => span.start <= word.start && word.end <= span.end,
    };
    let spans = texts.dockerfile.instructions.iter().map(|one| one.span).filter(|span| holds(*span));
    let mut regions: Vec<(SourceId, Span)> = spans.map(|span| (texts.source, span)).collect();
    regions.extend(list.map(|_| (source, Span::new(0, whole(source).len()))));
    let of_region = |(id, span): (SourceId, Span)| {
        let found = index_url_spans(whole(id).get(span.start..span.end).unwrap_or_default());
        found.into_iter().map(move |one| (id, Span::new(span.start + one.start, span.start + one.end)))
    };
    regions.into_iter().flat_map(of_region).collect()
}

/// Returns the index URLs of a build in all shipped stages and files, including those with variables.
pub(super) fn all_build_index_urls(texts: &DockerfileTexts<'_>, build: &str) -> Vec<(SourceId, Span)> {
    // Of the stages that ship, and of what is said before the first.
    let first = texts.dockerfile.stages.first().map_or(0, |stage| stage.from);
    let stages = texts.evaluated.chain.iter().filter_map(|at| texts.dockerfile.stages.get(*at));
    let own = (0..first).chain(stages.flat_map(|stage| stage.instructions.iter().copied()));
    let of_instructions = own.filter_map(|at| texts.dockerfile.instructions.get(at));
    let mut regions: Vec<(SourceId, Span)> = of_instructions.map(|one| (texts.source, one.span)).collect();
    let files = texts.files.requested_files().filter_map(|(_, file)| file.as_ref().ok());
    regions.extend(files.map(|file| (file.source, Span::new(0, file.text.len()))));
    let mut found = Vec::new();
    for (id, span) in regions {
        let text = texts.sources.get(id).text().get(span.start..span.end).unwrap_or_default();
        for one in build_index_url_spans(text, build) {
            let place = (id, Span::new(span.start + one.start, span.start + one.end));
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    found
}

/// Returns the spans of URLs of the index of a build, or with variables, outside comments.
fn build_index_url_spans(text: &str, build: &str) -> Vec<Span> {
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

/// Whether a URL belongs to an index page that the tables list.
pub(super) fn is_known_index(case: &FixContext<'_>, address: &str) -> bool {
    let pages = case.knowledge().all_build_index_url_templates();
    pages.filter_map(|page| page.split("{build}").next()).any(|page| address.starts_with(page))
}

/// Whether a text mentions a file by its full name.
fn mentions_file(text: &str, file: &str) -> bool {
    let before = |at: usize| text.get(..at).and_then(|before| before.chars().next_back());
    text.match_indices(file)
        .any(|(at, _)| before(at).is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.')))
}

/// Returns the last component of a path.
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
            assert_eq!(accepts_index_option(text, at, '\\'), expected, "{text}");
        }
        assert!(accepts_index_option("pip install `\n torch", 15, '`'), "another escape character");
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
            let found: Vec<&str> = build_index_url_spans(text, "cu130")
                .into_iter()
                .map(|span| text.get(span.start..span.end).expect("a place"))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
