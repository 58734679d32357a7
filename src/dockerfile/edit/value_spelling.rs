//! How to replace a value in a Dockerfile: where it is used, or in the default of an argument that it refers to.

use crate::dockerfile::{Dockerfile, InstructionKind, parse_name_value_pairs};
use crate::text::source::Span;

/// Maximum depth of arguments that refer to other arguments.
const MAX_REFERENCE_DEPTH: usize = 4;
/// Maximum number of spans that a value is composed of.
const MAX_SPANS: usize = 32;
/// Maximum number of candidate replacements for one value.
const MAX_CANDIDATES: usize = 8;

/// Characters that separate the parts of tags, versions and addresses.
const SEPARATORS: &[char] = &[':', '-', '/', '@', '+', '_', '=', '"', '\''];

/// Returns the spans in which a value is written: its own, then the values of the arguments and variables to which it
/// refers.
pub fn value_spans(dockerfile: &Dockerfile, text: &str, span: Span) -> Vec<Span> {
    let mut found = vec![span];
    let mut next = 0;
    for _ in 0..MAX_REFERENCE_DEPTH {
        let from = next;
        next = found.len();
        let names: Vec<String> = found
            .iter()
            .skip(from)
            .filter_map(|span| text.get(span.start..span.end))
            .flat_map(variable_names)
            .collect();
        for place in assigned_values(dockerfile, &names) {
            if !found.contains(&place) && found.len() < MAX_SPANS {
                found.push(place);
            }
        }
    }
    found
}

/// Returns the variable names after every `$` of a text.
fn variable_names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in text.split('$').skip(1) {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Returns the spans of the values that ARG and ENV assign to these names.
fn assigned_values(dockerfile: &Dockerfile, names: &[String]) -> Vec<Span> {
    if names.is_empty() {
        return Vec::new();
    }
    let setting =
        dockerfile.instructions.iter().filter(|one| matches!(one.kind, InstructionKind::Arg | InstructionKind::Env));
    setting
        .flat_map(|one| parse_name_value_pairs(&one.arguments, dockerfile.escape, one.kind == InstructionKind::Env))
        .filter(|pair| names.contains(&pair.name))
        .filter_map(|pair| pair.value.map(|value| value.full_source_span()))
        .collect()
}

/// Returns candidate replacements that write `new` where the spans together spell `old`, each with few edits.
///
/// None of them is certain to do it: what comes out has to be read again.
pub fn replacement_candidates(text: &str, leaves: &[Span], old: &str, new: &str) -> Vec<Vec<(Span, String)>> {
    let mut ways: Vec<Vec<(Span, String)>> = Vec::new();
    let mut add = |way: Vec<(Span, String)>| {
        if !way.is_empty() && ways.len() < MAX_CANDIDATES && !ways.contains(&way) {
            ways.push(way);
        }
    };
    for place in find_whole_words(text, leaves, old) {
        add(vec![(place, new.to_owned())]);
    }
    let (olds, news) = (split_at_separators(old), split_at_separators(new));
    if olds.len() == news.len() {
        let pairs: Vec<_> = olds.iter().zip(&news).filter(|(one, other)| one != other).collect();
        for nth in 0..2 {
            let each = pairs.iter().map(|(one, other)| {
                let mut all = part_replacements(text, leaves, one, other);
                if nth < all.len() { Some(all.swap_remove(nth)) } else { all.into_iter().next() }
            });
            add(each.collect::<Option<Vec<_>>>().unwrap_or_default());
        }
    }
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = olds.iter().zip(&news).take_while(same).count();
    let tail = olds.iter().skip(head).rev().zip(news.iter().skip(head).rev()).take_while(same).count();
    let middle = |list: &[&str]| list.get(head..list.len() - tail).unwrap_or_default().concat();
    for place in find_whole_words(text, leaves, &middle(&olds)) {
        add(vec![(place, middle(&news))]);
    }
    ways
}

/// Splits a text at its separators, which become parts of their own.
fn split_at_separators(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in text.split_inclusive(SEPARATORS) {
        match piece.strip_suffix(SEPARATORS) {
            Some(word) => {
                if !word.is_empty() {
                    parts.push(word);
                }
                parts.extend(piece.get(word.len()..));
            }
            None => parts.push(piece),
        }
    }
    parts
}

/// Returns replacements of one part by another: of the whole part, else of the longest run of its numbers that
/// contains the difference.
fn part_replacements(text: &str, leaves: &[Span], old: &str, new: &str) -> Vec<(Span, String)> {
    let mut found: Vec<(Span, String)> =
        find_whole_words(text, leaves, old).into_iter().map(|place| (place, new.to_owned())).collect();
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.split('.').collect(), new.split('.').collect());
    if olds.len() != news.len() {
        // `cu121` may be written as `cu${...}`.
        let number = |tag: &str| tag.trim_start_matches(|c: char| c.is_ascii_alphabetic()).to_owned();
        let (old, new) = (number(old), number(new));
        found.extend(find_whole_words(text, leaves, &old).into_iter().map(|place| (place, new.clone())));
        return found;
    }
    let differ = |at: &usize| olds.get(*at) != news.get(*at);
    let first = (0..olds.len()).find(differ).unwrap_or(0);
    let last = (0..olds.len()).rfind(differ).unwrap_or(0);
    let mut runs: Vec<(usize, usize)> =
        (0..=first).flat_map(|from| (last..olds.len()).map(move |to| (from, to))).collect();
    runs.sort_by_key(|(from, to)| from + olds.len() - to);
    for (from, to) in runs {
        let run = |list: &[&str]| list.get(from..=to).unwrap_or_default().join(".");
        found.extend(find_whole_words(text, leaves, &run(&olds)).into_iter().map(|place| (place, run(&news))));
    }
    let number = |tag: &str| tag.trim_start_matches(|c: char| c.is_ascii_alphabetic()).to_owned();
    if number(old) != old && !number(old).is_empty() {
        found.extend(find_whole_words(text, leaves, &number(old)).into_iter().map(|place| (place, number(new))));
    }
    found
}

/// Returns where a text occurs in the spans, but not inside a longer word or number.
fn find_whole_words(text: &str, leaves: &[Span], needle: &str) -> Vec<Span> {
    let mut found = Vec::new();
    if needle.is_empty() {
        return found;
    }
    for leaf in leaves {
        let slice = text.get(leaf.start..leaf.end).unwrap_or_default();
        for (at, _) in slice.match_indices(needle) {
            let before = slice.get(..at).and_then(|before| before.chars().next_back());
            let after = slice.get(at + needle.len()..).and_then(|after| after.chars().next());
            let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            if !inside(before) && !inside(after) {
                found.push(Span::new(leaf.start + at, leaf.start + at + needle.len()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts that the candidate replacements result in.
    fn edited_texts(text: &str, word: &str, old: &str, new: &str) -> Vec<String> {
        let dockerfile = Dockerfile::parse(text);
        let start = text.find(word).expect("the word");
        let leaves = value_spans(&dockerfile, text, Span::new(start, start + word.len()));
        let ways = replacement_candidates(text, &leaves, old, new).into_iter();
        ways.map(|mut way| {
            way.sort();
            let mut out = text.to_owned();
            for (span, replacement) in way.iter().rev() {
                out.replace_range(span.start..span.end, replacement);
            }
            out
        })
        .collect()
    }

    #[test]
    fn a_tag_is_changed_where_it_is_written() {
        let (old, new) = ("nvidia/cuda:12.8.1-base-ubuntu22.04", "nvidia/cuda:12.4.1-base-ubuntu22.04");
        for (text, word, expected) in [
            (
                "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\n",
                "nvidia/cuda:12.8.1-base-ubuntu22.04",
                "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n",
            ),
            (
                "ARG V=12.8.1\nFROM nvidia/cuda:${V}-base-ubuntu22.04\n",
                "nvidia/cuda:${V}-base-ubuntu22.04",
                "ARG V=12.4.1\nFROM nvidia/cuda:${V}-base-ubuntu22.04\n",
            ),
            (
                "ARG V=\"12.8\"\nFROM nvidia/cuda:$V.1-base-ubuntu22.04\n",
                "nvidia/cuda:$V.1-base-ubuntu22.04",
                "ARG V=\"12.4\"\nFROM nvidia/cuda:$V.1-base-ubuntu22.04\n",
            ),
            (
                "ARG TAG=12.8.1-base-ubuntu22.04\nARG I=nvidia/cuda:${TAG}\nFROM ${I}\n",
                "${I}",
                "ARG TAG=12.4.1-base-ubuntu22.04\nARG I=nvidia/cuda:${TAG}\nFROM ${I}\n",
            ),
        ] {
            let ways = edited_texts(text, word, old, new);
            assert!(ways.iter().any(|way| way == expected), "{text}: {ways:?}");
        }
    }

    #[test]
    fn value_that_the_text_does_not_contain_has_no_edit() {
        for (text, word) in [
            ("ARG V\nFROM nvidia/cuda:$V-base\n", "nvidia/cuda:$V-base"),
            ("ARG V=112.80.10\nFROM nvidia/cuda:$V-base\n", "nvidia/cuda:$V-base"),
            ("ARG W=12.8.1\nFROM nvidia/cuda:$V-base\n", "nvidia/cuda:$V-base"),
        ] {
            let ways = edited_texts(text, word, "nvidia/cuda:12.8.1-base", "nvidia/cuda:12.4.1-base");
            assert!(ways.is_empty(), "{text}: {ways:?}");
        }
    }

    #[test]
    fn the_number_of_a_build_may_be_the_value() {
        let text = "ARG C=121\nRUN pip install torch --index-url https://wheels.example.com/whl/cu${C}\n";
        let ways = edited_texts(text, "https://wheels.example.com/whl/cu${C}", "cu121", "cu118");
        assert_eq!(ways, [text.replace("121", "118")]);
    }
}
