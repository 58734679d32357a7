//! Checks that the URLs which a change writes are known: listed in the tables, or already in the text.

use std::collections::BTreeSet;

use crate::dockerfile::edit::SourceEdit;
use crate::dockerfile::{Dockerfile, InstructionKind, edit, parse_name_value_pairs};
use crate::fix::fix_context::FixContext;
use crate::judge::SubjectContent;
use crate::knowledge::Knowledge;
use crate::text::source::SourceId;

/// Maximum number of expansions of one URL.
const MAX_EXPANSIONS: usize = 16;
/// Maximum depth of variables that refer to variables.
const MAX_DEPTH: usize = 4;

/// Whether edits write a URL that is neither in the text nor in the tables.
pub(super) fn writes_unknown_url(case: &FixContext<'_>, edits: &[SourceEdit]) -> bool {
    let SubjectContent::Dockerfile { source, .. } = &case.subject.content else { return false };
    let sources: BTreeSet<SourceId> = edits.iter().map(|edit| edit.source).collect();
    sources.into_iter().any(|id| {
        let text = case.settings.sources.get(id).text();
        let own: Vec<SourceEdit> = edits.iter().filter(|edit| edit.source == id).cloned().collect();
        let Ok(new) = edit::apply_edits(text, &own) else { return true };
        let [before, after] = [text, &new].map(|text| expanded_urls(text, id == *source));
        after.difference(&before).any(|address| !is_listed_index(case.knowledge(), address))
    })
}

/// Whether the tables list a URL as the index of a build.
fn is_listed_index(knowledge: Knowledge, address: &str) -> bool {
    let address = address.trim_end_matches('/');
    knowledge.all_build_index_url_templates().any(|page| {
        let mut builds = knowledge.torch_releases().iter().flat_map(|release| release.variants);
        builds.any(|build| page.replace("{build}", build) == address)
    })
}

/// Returns every URL in a text; in a Dockerfile, with variables expanded.
fn expanded_urls(text: &str, is_dockerfile: bool) -> BTreeSet<String> {
    let values = if is_dockerfile { variable_values(text) } else { Vec::new() };
    urls_in(text).flat_map(|address| expand_variables(address, &values, MAX_DEPTH)).collect()
}

/// Returns the URLs in a text, as written.
fn urls_in(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, _)| {
        let begins = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '(' | ',' | '`');
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | ')' | '\\' | ',' | '`');
        let start = text.get(..at)?.rfind(begins).map_or(0, |before| before + 1);
        let end = text.get(at..)?.find(ends).map_or(text.len(), |length| at + length);
        text.get(start..end)
    })
}

/// Returns the variables and values that ARG and ENV set.
fn variable_values(text: &str) -> Vec<(String, String)> {
    let dockerfile = Dockerfile::parse(text);
    let setting =
        dockerfile.instructions.iter().filter(|one| matches!(one.kind, InstructionKind::Arg | InstructionKind::Env));
    let pairs = setting
        .flat_map(|one| parse_name_value_pairs(&one.arguments, dockerfile.escape, one.kind == InstructionKind::Env));
    let value =
        |span: crate::text::source::Span| Some(text.get(span.start..span.end)?.trim_matches(['"', '\'']).to_owned());
    let mut found: Vec<(String, String)> =
        pairs.filter_map(|pair| Some((pair.name, value(pair.value?.full_source_span())?))).collect();
    found.dedup();
    found
}

/// Expands the variables of a URL with each of their possible values.
fn expand_variables(address: &str, values: &[(String, String)], depth: usize) -> Vec<String> {
    let named = |rest: &str| -> Option<(String, usize)> {
        let braced = rest.strip_prefix('{');
        let inside = braced.unwrap_or(rest);
        let name: String = inside.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let length = match braced {
            Some(inside) => 1 + inside.find('}')? + 1,
            None => name.len(),
        };
        (!name.is_empty()).then_some((name, length))
    };
    let first = address.match_indices('$').find_map(|(at, _)| {
        let (name, length) = named(address.get(at + 1..)?)?;
        let own: Vec<&str> = values.iter().filter(|(one, _)| *one == name).map(|(_, value)| value.as_str()).collect();
        (!own.is_empty()).then_some((at, at + 1 + length, own))
    });
    let Some((start, end, own)) = first.filter(|_| depth > 0) else { return vec![address.to_owned()] };
    let (front, behind) = (address.get(..start).unwrap_or_default(), address.get(end..).unwrap_or_default());
    let with = |value: &str| expand_variables(&format!("{front}{value}{behind}"), values, depth - 1);
    own.into_iter().flat_map(with).take(MAX_EXPANSIONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_the_values_of_their_variables() {
        for (text, expected) in [
            ("RUN curl https://h/a && ls", &["https://h/a"][..]),
            ("ARG V=1\nRUN curl https://h/${V}/$V.x", &["https://h/1/1.x"]),
            ("ARG V=1\nFROM a\nARG V=2\nRUN pip -i 'https://h/$V'", &["https://h/1", "https://h/2"]),
            ("ARG A=1\nARG B=cu$A\nRUN curl https://h/${B:-x}", &["https://h/cu1"]),
            ("RUN curl https://h/$V", &["https://h/$V"]),
            ("RUN pip install \"a @ https://h/a.whl\"", &["https://h/a.whl"]),
        ] {
            let found: Vec<String> = expanded_urls(text, true).into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_tables_list_the_index_of_each_build_and_nothing_below_it() {
        for (address, expected) in [
            ("https://download.pytorch.org/whl/cu124", true),
            ("https://download.pytorch.org/whl/cu124/", true),
            ("https://download.pytorch.org/whl/cu999", false),
            ("https://download.pytorch.org/whl/nightly/cu124", false),
            ("https://download.pytorch.org/whl/cu118/torch_stable.html", false),
            ("https://download.pytorch.org/whl/cu118/torch-2.4.0%2Bcu118-cp310-cp310-linux_x86_64.whl", false),
            ("https://mirror.example/whl/cu124", false),
        ] {
            assert_eq!(is_listed_index(Knowledge::built_in(), address), expected, "{address}");
        }
    }
}
