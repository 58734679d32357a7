//! Private indexes: a build that takes its packages from one of them may be unable to reach another.

use crate::cure::case::Case;
use crate::cure::write::Texts;
use crate::cure::write::index;
use crate::dockerfile::Kind;
use crate::source::SourceId;
use crate::source::Span;

/// Parts of the names of settings that give an installer an index, as variables spell them.
const SETTINGS: [&str; 2] = ["INDEX", "FIND_LINKS"];

/// Whether a command takes its packages from a place of which the tables do not know the content. Its options, its list,
/// its variables and the settings of its installer all name such places.
pub(super) fn is_private(
    case: &Case<'_>,
    texts: &Texts<'_>,
    word: (SourceId, Span),
    named: Option<(SourceId, Span)>,
) -> bool {
    let written = |(source, span): (SourceId, Span)| {
        texts.sources.get(source).text().get(span.start..span.end).unwrap_or_default()
    };
    let private = |text: &str| addresses(text).any(|one| !index::is_known(case, one));
    let mut near = index::around(texts, word).into_iter().chain(named);
    near.any(|place| private(written(place)))
        || case.seen.env.iter().any(|(name, (value, _))| {
            is_setting(name)
                && value.as_ref().map_or(true, |value| !value.is_empty() && (!value.contains("://") || private(value)))
        })
        || settings(texts).any(|one| !index::is_known(case, one))
}

/// The addresses in settings: of ARG and ENV, of `pip config set`, and of the files that the build reads.
fn settings<'a>(texts: &'a Texts<'_>) -> impl Iterator<Item = &'a str> {
    let sets = |kind: &Kind| matches!(kind, Kind::Arg | Kind::Env | Kind::Run);
    let instructions = texts.dockerfile.instructions.iter().filter(move |one| sets(&one.kind));
    let of_instructions = instructions.filter_map(|one| texts.text.get(one.span.start..one.span.end));
    let of_files = texts.files.asked().filter_map(|(_, file)| file.as_ref().ok()).map(|file| &*file.text);
    of_instructions.chain(of_files).flat_map(in_settings)
}

/// The addresses in a text that stand behind the name of a setting, on its line or on lines that continue it.
fn in_settings(text: &str) -> Vec<&str> {
    let (mut found, mut open, mut of_index) = (Vec::new(), false, false);
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.starts_with(['#', ';']) {
            continue;
        }
        if bare.starts_with('[') {
            of_index = is_setting(bare);
        }
        let name = line.split("://").next().unwrap_or_default();
        // Behind the name stands `=` or a blank; a name with two dashes is an option of its own command.
        let words = || name.split(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\'' | '{' | ','));
        let named = words().any(|word| !word.starts_with('-') && is_setting(word));
        let of_table = of_index && words().any(|word| word == "url");
        open = named || of_table || (open && line.starts_with([' ', '\t']) && !bare.contains(" = "));
        if open {
            found.extend(addresses(line));
        }
    }
    found
}

/// Whether a name is that of a setting for an index: `PIP_INDEX_URL`, `index-url`, `global.extra-index-url`, `UV_INDEX`.
fn is_setting(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace(['-', '.'], "_");
    let installer = ["PIP_", "UV_", "TOOL_UV", "[[TOOL_UV", "[[INDEX"].iter().any(|start| name.starts_with(start));
    let plain = ["INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS"].iter().any(|end| name.ends_with(end));
    plain || (installer && SETTINGS.iter().any(|part| name.contains(part)) && !name.contains("STRATEGY"))
}

/// The addresses in a text.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, _)| {
        let begins = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=');
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | ')' | '\\' | ',');
        let start = text.get(..at)?.rfind(begins).map_or(0, |before| before + 1);
        let end = text.get(at..)?.find(ends).map_or(text.len(), |length| at + length);
        text.get(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::in_settings;

    #[test]
    fn an_address_of_a_setting_stands_behind_its_name() {
        for (text, expected) in [
            ("ENV PIP_INDEX_URL=https://h/simple", &["https://h/simple"][..]),
            ("ARG UV_DEFAULT_INDEX=\"https://h/simple\"", &["https://h/simple"]),
            ("ENV UV_INDEX=\"a=https://h/a b=https://h/b\"", &["https://h/a", "https://h/b"]),
            ("RUN pip config set global.index-url https://h/simple && true", &["https://h/simple"]),
            (
                "[global]\nextra-index-url =\n    https://h/a\n    https://h/b\ntimeout = 3\n",
                &["https://h/a", "https://h/b"],
            ),
            ("[[tool.uv.index]]\nurl = \"https://h/a\"\n[project.urls]\nurl = \"https://h/b\"\n", &["https://h/a"]),
            ("ENV HOMEPAGE=https://h/index.html", &[]),
            ("RUN pip install --index-url https://h/a torch", &[]),
            ("# PIP_INDEX_URL=https://h/a", &[]),
            ("RUN curl https://h/index-url", &[]),
            ("://", &[]),
        ] {
            assert_eq!(in_settings(text), expected, "{text}");
        }
    }
}
