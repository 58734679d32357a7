//! Completion in Dockerfiles and fleet files: tags of base images, and names of GPUs, pools and rules.

use crate::knowledge::{CudaImageRow, Knowledge, compare_natural};
use crate::model::reference::ImageReference;
use crate::text::source::Span;

/// The kind of name that can be completed at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CompletionKind {
    /// A tag of this repository.
    Tag(String),
    /// The name of a GPU.
    Gpu,
    /// The name of a node pool.
    Pool,
    /// The name of a rule.
    Rule,
}

/// Returns what can be completed at a byte of a Dockerfile, and the span to replace; `line` starts at the byte
/// `start`.
pub(super) fn completion_in_dockerfile(start: usize, line: &str, at: usize) -> Option<(CompletionKind, Span)> {
    let before = line.get(..at.checked_sub(start)?)?;
    if let Some(comment) = before.trim_start().strip_prefix('#') {
        let order = comment.trim_start().strip_prefix("imagelint:")?.trim_start();
        let (kind, named) = if let Some(named) = order.strip_prefix("pools=") {
            (CompletionKind::Pool, named)
        } else {
            let ignored = order.strip_prefix("ignore-file[").or_else(|| order.strip_prefix("ignore["))?;
            let word = ignored.rsplit(',').next().unwrap_or(ignored);
            if let Some((_, pool)) = word.split_once('@') {
                return word_span(pool, at, line, start).map(|span| (CompletionKind::Pool, span));
            }
            (CompletionKind::Rule, ignored)
        };
        let word = named.rsplit(',').next().unwrap_or(named).trim_start();
        return word_span(word, at, line, start).map(|span| (kind, span));
    }
    // Some editors keep the mark at the start of a file.
    let mut words = before.trim_start_matches('\u{feff}').split_whitespace();
    if !words.next()?.eq_ignore_ascii_case("FROM") {
        return None;
    }
    let image = words.by_ref().find(|word| !word.starts_with("--"))?;
    // The word is still being written, and has no digest.
    if words.next().is_some() || before.ends_with(char::is_whitespace) || image.contains('@') {
        return None;
    }
    let (repository, tag) = image.rsplit_once(':')?;
    let span = word_span(tag, at, line, start)?;
    Some((CompletionKind::Tag(repository.to_owned()), span))
}

/// Returns what can be completed at a byte of a fleet file, and the span to replace.
pub(super) fn completion_in_fleet_file(
    text: &str,
    start: usize,
    line: &str,
    at: usize,
) -> Option<(CompletionKind, Span)> {
    let before = line.get(..at.checked_sub(start)?)?;
    let quote = before.rfind('"')?;
    // A quote that opens: those before it on the line are closed.
    if before.matches('"').count() % 2 == 0 {
        return None;
    }
    let key = |line: &str| {
        let (key, _) = line.split_once('=')?;
        let key = key.trim();
        (!key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'))
            .then(|| key.to_owned())
    };
    let above = || text.get(..start)?.lines().rev().take(64).find_map(key);
    if key(before).or_else(above)? != "gpu" {
        return None;
    }
    let partial = before.get(quote + 1..)?;
    // In a table of its own a GPU is named by its key: { name = "..." }.
    let head = before.get(..quote)?.trim_end();
    if head.ends_with('=') && head.contains('{') && !head.trim_end_matches('=').trim_end().ends_with("name") {
        return None;
    }
    let rest = line.get(before.len()..)?;
    let behind = rest.find('"').unwrap_or(0);
    Some((CompletionKind::Gpu, Span::new(at - partial.len(), at + behind)))
}

/// Returns the tags of a base image that the knowledge tables list, the newest first.
pub fn known_base_image_tags(knowledge: Knowledge, repository: &str) -> Vec<String> {
    let Ok(image) = ImageReference::parse(repository) else { return Vec::new() };
    let repository = image.familiar_name();
    if !knowledge.is_cuda_repository(&repository) {
        let rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
        let mut tags: Vec<String> = rows.map(|row| row.tag.to_owned()).collect();
        if let Some(of_month) = knowledge.base_family(&repository).and_then(|family| family.month_tag) {
            let months = knowledge.ngc_releases().iter().filter(|row| row.torch.is_some());
            tags.extend(months.map(|row| of_month.replace("{month}", row.month)));
        }
        tags.sort_by(|one, other| compare_natural(other, one));
        return tags;
    }
    let served =
        knowledge.cuda_images().iter().filter(|row| knowledge.withdrawn_tag(&repository, row.version).is_none());
    let mut rows: Vec<_> = served.collect();
    rows.sort_by(|one, other| compare_natural(other.version, one.version));
    let of_row = |row: &CudaImageRow| {
        let words =
            knowledge.cudnn_tags().iter().find(|own| own.version == row.version).map_or(&[][..], |own| own.words);
        let mut tags = Vec::new();
        for (flavour, os) in row.flavours.iter().flat_map(|flavour| row.os.iter().map(move |os| (*flavour, *os))) {
            tags.push(format!("{}-{flavour}-{os}", row.version));
            // cuDNN comes on top of what has libraries.
            let with = words.iter().filter(|_| flavour != "base");
            tags.extend(with.map(|word| format!("{}-{word}-{flavour}-{os}", row.version)));
        }
        tags
    };
    rows.into_iter().flat_map(of_row).collect()
}

/// Returns the span of the word around a byte, given the part of the word before that byte.
fn word_span(partial: &str, at: usize, line: &str, start: usize) -> Option<Span> {
    let rest = line.get(at.checked_sub(start)?..)?;
    let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !partial.chars().all(part) {
        return None;
    }
    let behind = rest.find(|c| !part(c)).unwrap_or(rest.len());
    // What a variable says of the word would stay behind it.
    if rest.get(behind..).is_some_and(|rest| rest.starts_with('$')) {
        return None;
    }
    Some(Span::new(at - partial.len(), at + behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completes a line of a Dockerfile at the position of `^`.
    fn complete_in_dockerfile(line: &str) -> Option<(CompletionKind, String)> {
        let at = line.find('^').expect("a place");
        let line = line.replacen('^', "", 1);
        let (kind, span) = completion_in_dockerfile(0, &line, at)?;
        Some((kind, line[span.start..span.end].to_owned()))
    }

    /// Completes a fleet file at the position of `^`.
    fn complete_in_fleet_file(text: &str) -> Option<String> {
        let at = text.find('^').expect("a place");
        let text = text.replacen('^', "", 1);
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let (kind, span) = completion_in_fleet_file(&text, start, line, at)?;
        assert_eq!(kind, CompletionKind::Gpu);
        Some(text[span.start..span.end].to_owned())
    }

    #[test]
    fn tags_are_completed_after_the_colon_of_from() {
        let tag = |repository: &str, word: &str| Some((CompletionKind::Tag(repository.to_owned()), word.to_owned()));
        for (line, expected) in [
            ("FROM nvidia/cuda:^", tag("nvidia/cuda", "")),
            ("from --platform=linux/amd64 nvidia/cuda:12.^4.1 AS x", tag("nvidia/cuda", "12.4.1")),
            ("FROM host:5000/nvidia/cuda:12^", tag("host:5000/nvidia/cuda", "12")),
            ("\u{feff}FROM nvidia/cuda:12^", tag("nvidia/cuda", "12")),
            ("FROM nvidia/cuda:^${V}-base", None),
            ("FROM nvidia/cuda:12.^4.$PATCH", None),
            ("FROM nvidia/cuda:${V}^-base", None),
            ("FROM nvidia/cuda^", None),
            ("FROM nvidia/cuda:12 ^", None),
            ("FROM nvidia/cuda:12 AS x:^", None),
            ("FROM nvidia/cuda:12@sha256:^", None),
            ("FROM host:5000/cu^", None),
            ("RUN nvidia/cuda:^", None),
            ("^FROM nvidia/cuda:", None),
        ] {
            assert_eq!(complete_in_dockerfile(line), expected, "{line}");
        }
    }

    #[test]
    fn completion_offers_pools_and_rules_in_imagelint_comments() {
        for (line, expected) in [
            ("# imagelint: pools=^", Some((CompletionKind::Pool, ""))),
            ("#imagelint: pools=a100,h^1", Some((CompletionKind::Pool, "h1"))),
            ("# imagelint: ignore[no-^]", Some((CompletionKind::Rule, "no-"))),
            ("# imagelint: ignore-file[a,^", Some((CompletionKind::Rule, ""))),
            ("# imagelint: ignore[a@h^]", Some((CompletionKind::Pool, "h"))),
            ("# imagelint: ignore[a] be^cause", None),
            ("# pools=^", None),
            ("# imagelint: ^", None),
        ] {
            let expected = expected.map(|(kind, word)| (kind, word.to_owned()));
            assert_eq!(complete_in_dockerfile(line), expected, "{line}");
        }
    }

    #[test]
    fn tags_are_those_of_the_tables_the_newest_first() {
        let knowledge = Knowledge::built_in();
        let cuda = known_base_image_tags(knowledge, "docker.io/nvidia/cuda");
        let place = |tag: &str| cuda.iter().position(|own| own == tag);
        let (old, new) = (place("11.8.0-base-ubuntu22.04"), place("12.4.1-base-ubuntu22.04"));
        assert!(new.is_some() && new < old, "{new:?} {old:?}");
        assert!(place("12.4.1-cudnn-runtime-ubuntu22.04").is_some());
        assert!(!cuda.iter().any(|tag| tag.contains("-cudnn-base-")));
        assert!(known_base_image_tags(knowledge, "pytorch/pytorch").iter().all(|tag| tag.contains("cuda")));
        let months = known_base_image_tags(knowledge, "nvcr.io/nvidia/pytorch");
        let place = |tag: &str| months.iter().position(|own| own == tag);
        assert!(place("24.03-py3").is_some() && place("24.03-py3") < place("23.10-py3"), "{months:?}");
        for nothing in ["debian", "", "x y", "nvidia/cuda2", "nvcr.io/nvidia/pytorch2", "nvidia/pytorch"] {
            assert_eq!(known_base_image_tags(knowledge, nothing), Vec::<String>::new(), "{nothing}");
        }
    }

    #[test]
    fn gpus_are_completed_in_the_quotes_of_their_key() {
        for (text, expected) in [
            ("[[pool]]\ngpu = \"^\"\n", Some("")),
            ("gpu = \"A1^00\"", Some("A100")),
            ("gpu = [\"A100\", \"H^\"]", Some("H")),
            ("gpu = [\n  \"A100\",\n  \"H^\n]", Some("H")),
            ("gpu = [{ name = \"L^\", count = 2 }]", Some("L")),
            ("gpu = \"A100\"^", None),
            ("name = \"^\"", None),
            ("gpu = \"A100\"\nname = \"^\"", None),
            ("gpu = [{ name = \"L4\", brand = \"^\" }]", None),
            ("gpu = ^", None),
        ] {
            assert_eq!(complete_in_fleet_file(text).as_deref(), expected, "{text}");
        }
    }
}
