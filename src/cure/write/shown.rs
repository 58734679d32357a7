//! Addresses that a change writes. A change names no address of which nothing shows that it exists: the tables list the
//! index of each build, and what is already written counts as it stands.

use std::collections::BTreeSet;

use crate::cure::case::Case;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::Kind;
use crate::dockerfile::pairs;
use crate::edit;
use crate::edit::TextEdit;
use crate::judge::Content;
use crate::knowledge::Knowledge;
use crate::source::SourceId;

/// An address with more readings than this is read no further.
const MOST_READINGS: usize = 16;
/// Variables name variables, but not for ever.
const DEEPEST: usize = 4;

/// Whether edits write an address that no text had before and no table lists.
pub(in crate::cure) fn writes_unknown(case: &Case<'_>, edits: &[TextEdit]) -> bool {
    let Content::Dockerfile { source, .. } = &case.subject.content else { return false };
    let sources: BTreeSet<SourceId> = edits.iter().map(|edit| edit.source).collect();
    sources.into_iter().any(|id| {
        let text = case.settings.sources.get(id).text();
        let own: Vec<TextEdit> = edits.iter().filter(|edit| edit.source == id).cloned().collect();
        let Ok(new) = edit::apply(text, &own) else { return true };
        let [before, after] = [text, &new].map(|text| written(text, id == *source));
        after.difference(&before).any(|address| !is_listed(case.knowledge(), address))
    })
}

/// Whether the tables list an address: the index of one build.
fn is_listed(knowledge: Knowledge, address: &str) -> bool {
    let address = address.trim_end_matches('/');
    knowledge.build_pages().iter().any(|row| {
        let mut builds = knowledge.torch_releases().iter().flat_map(|release| release.variants);
        builds.any(|build| row.page.replace("{build}", build) == address)
    })
}

/// Every address in a text; in a Dockerfile with the values of its variables.
fn written(text: &str, is_dockerfile: bool) -> BTreeSet<String> {
    let values = if is_dockerfile { values(text) } else { Vec::new() };
    addresses(text).flat_map(|address| readings(address, &values, DEEPEST)).collect()
}

/// The addresses in a text as written.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(|(at, _)| {
        let begins = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '(' | ',' | '`');
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | ')' | '\\' | ',' | '`');
        let start = text.get(..at)?.rfind(begins).map_or(0, |before| before + 1);
        let end = text.get(at..)?.find(ends).map_or(text.len(), |length| at + length);
        text.get(start..end)
    })
}

/// The values that ARG and ENV give to names.
fn values(text: &str) -> Vec<(String, String)> {
    let dockerfile = Dockerfile::parse(text);
    let setting = dockerfile.instructions.iter().filter(|one| matches!(one.kind, Kind::Arg | Kind::Env));
    let pairs = setting.flat_map(|one| pairs(&one.arguments, dockerfile.escape, one.kind == Kind::Env));
    let value = |span: crate::source::Span| Some(text.get(span.start..span.end)?.trim_matches(['"', '\'']).to_owned());
    let mut found: Vec<(String, String)> =
        pairs.filter_map(|pair| Some((pair.name, value(pair.value?.full_span())?))).collect();
    found.dedup();
    found
}

/// An address with each value that its variables may have.
fn readings(address: &str, values: &[(String, String)], depth: usize) -> Vec<String> {
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
    let with = |value: &str| readings(&format!("{front}{value}{behind}"), values, depth - 1);
    own.into_iter().flat_map(with).take(MOST_READINGS).collect()
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
            let found: Vec<String> = written(text, true).into_iter().collect();
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
            assert_eq!(is_listed(Knowledge::built_in(), address), expected, "{address}");
        }
    }
}
