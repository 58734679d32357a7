//! Detects private package indexes: a build that uses one may be unable to reach another index.

use crate::dockerfile::InstructionKind;
use crate::fix::fix_context::FixContext;
use crate::fix::write::dockerfile_texts::DockerfileTexts;
use crate::fix::write::index_urls;
use crate::text::source::{SourceId, Span};

/// Parts of names of settings that configure a package index, in the spelling of variables.
const SETTING_NAME_PARTS: [&str; 2] = ["INDEX", "FIND_LINKS"];

/// Whether the options, lists, variables or installer settings of a command name an unknown index.
pub(super) fn uses_private_index(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    word: (SourceId, Span),
    named: Option<(SourceId, Span)>,
) -> bool {
    let written = |(source, span): (SourceId, Span)| {
        texts.sources.get(source).text().get(span.start..span.end).unwrap_or_default()
    };
    let private = |text: &str| urls_in(text).any(|one| !index_urls::is_known_index(case, one));
    let mut near = index_urls::nearby_index_urls(texts, word).into_iter().chain(named);
    near.any(|place| private(written(place)))
        || case.seen.env.iter().any(|(name, (value, _))| {
            is_index_setting(name)
                && value.as_ref().map_or(true, |value| !value.is_empty() && (!value.contains("://") || private(value)))
        })
        || setting_urls(texts).any(|one| !index_urls::is_known_index(case, one))
}

/// Returns the URLs in settings: of ARG, ENV, `pip config set` and configuration files.
fn setting_urls<'a>(texts: &'a DockerfileTexts<'_>) -> impl Iterator<Item = &'a str> {
    let sets =
        |kind: &InstructionKind| matches!(kind, InstructionKind::Arg | InstructionKind::Env | InstructionKind::Run);
    let instructions = texts.dockerfile.instructions.iter().filter(move |one| sets(&one.kind));
    let of_instructions = instructions.filter_map(|one| texts.text.get(one.span.start..one.span.end));
    let of_files = texts.files.requested_files().filter_map(|(_, file)| file.as_ref().ok()).map(|file| &*file.text);
    of_instructions.chain(of_files).flat_map(urls_in_settings)
}

/// Returns the URLs in a text that follow the name of an index setting.
fn urls_in_settings(text: &str) -> Vec<&str> {
    let (mut found, mut open, mut of_index) = (Vec::new(), false, false);
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.starts_with(['#', ';']) {
            continue;
        }
        if bare.starts_with('[') {
            of_index = is_index_setting(bare);
        }
        let name = line.split("://").next().unwrap_or_default();
        // Behind the name stands `=` or a blank; a name with two dashes is an option of its own command.
        let words = || name.split(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\'' | '{' | ','));
        let named = words().any(|word| !word.starts_with('-') && is_index_setting(word));
        let of_table = of_index && words().any(|word| word == "url");
        open = named || of_table || (open && line.starts_with([' ', '\t']) && !bare.contains(" = "));
        if open {
            found.extend(urls_in(line));
        }
    }
    found
}

/// Whether a name is an index setting: `PIP_INDEX_URL`, `index-url`, `global.extra-index-url`, `UV_INDEX`.
fn is_index_setting(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace(['-', '.'], "_");
    let installer = ["PIP_", "UV_", "TOOL_UV", "[[TOOL_UV", "[[INDEX"].iter().any(|start| name.starts_with(start));
    let plain = ["INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS"].iter().any(|end| name.ends_with(end));
    plain || (installer && SETTING_NAME_PARTS.iter().any(|part| name.contains(part)) && !name.contains("STRATEGY"))
}

/// Returns the URLs in a text.
fn urls_in(text: &str) -> impl Iterator<Item = &str> {
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
    use super::urls_in_settings;

    #[test]
    fn finds_index_urls_in_settings() {
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
            assert_eq!(urls_in_settings(text), expected, "{text}");
        }
    }
}
