//! Tags that name no release, such as `latest-gpu`, and the release that they pointed to on a day, as far as the
//! tables show.

use jiff::civil::Date;

use crate::knowledge::{FrameworkImageRow, Knowledge, RowVersion, compare_natural};

/// Whether a tag names no release: its first component contains no digit.
pub(super) fn is_floating(tag: &str) -> bool {
    !tag_components(tag).next().unwrap_or_default().contains(|c: char| c.is_ascii_digit())
}

/// Whether two tags differ only in their numbers, or in their first component as well if the first tag is floating.
pub(super) fn is_same_flavour(tag: &str, other: &str) -> bool {
    let skipped = usize::from(is_floating(tag));
    let bare = |tag: &str| -> Vec<String> {
        let digits = |c: &char| !c.is_ascii_digit() && *c != '.';
        tag_components(tag).skip(skipped).map(|word| word.chars().filter(digits).collect()).collect()
    };
    bare(tag) == bare(other)
}

/// Splits a tag at `-` and `_`.
fn tag_components(tag: &str) -> impl Iterator<Item = &str> {
    tag.split(['-', '_'])
}

/// Returns the newest release of the same flavour with no contents newer than the day; `None` if the tables have
/// none.
pub(super) fn resolve_floating_tag(
    knowledge: Knowledge,
    repository: &str,
    tag: &str,
    day: Option<Date>,
) -> Option<&'static FrameworkImageRow> {
    if !is_floating(tag) {
        return None;
    }
    let rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
    let fitting = rows.filter(|row| !is_floating(row.tag) && is_same_flavour(tag, row.tag));
    fitting
        .filter(|row| day.is_none_or(|day| !has_contents_newer_than(knowledge, row, day)))
        .max_by(|one, other| compare_natural(one.tag, other.tag))
}

/// Whether something in an image was released after a day.
fn has_contents_newer_than(knowledge: Knowledge, row: &FrameworkImageRow, day: Date) -> bool {
    let of_package = |(name, version): &(&str, RowVersion)| knowledge.framework_build(name, version)?.released;
    let torch = row.torch.and_then(|version| knowledge.torch_release(version)?.released);
    let cuda = knowledge.oldest_toolkit(row.cuda.major(), row.cuda.minor()).and_then(|row| row.released);
    row.packages.iter().filter_map(of_package).chain(torch).chain(cuda).any(|released| day < released)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floating_tag_has_a_first_component_without_digits() {
        for (tag, expected) in [
            ("latest", true),
            ("latest-gpu", true),
            ("nightly_v2", true),
            ("2.3.0-gpu", false),
            ("v0.7.0", false),
            ("cu124-latest", false),
        ] {
            assert_eq!(is_floating(tag), expected, "{tag}");
        }
    }

    #[test]
    fn tags_of_one_flavour_have_the_same_components() {
        for (tag, other, expected) in [
            ("2.3.0-gpu", "2.4.1-gpu", true),
            ("latest-gpu", "2.4.1-gpu", true),
            ("latest", "v0.7.0", true),
            ("2.3.0-gpu", "2.4.1-gpu-jupyter", false),
            ("latest-gpu", "2.4.1-gpu-jupyter", false),
            ("latest-gpu", "2.4.1", false),
            ("latest", "v0.20.0-cu129", false),
            ("v0.7.0", "0.7.0", false),
        ] {
            assert_eq!(is_same_flavour(tag, other), expected, "{tag} {other}");
        }
    }

    #[test]
    fn a_floating_tag_resolves_to_the_newest_release_of_its_day() {
        let knowledge = Knowledge::built_in();
        let of = |repository: &str, tag: &str, day: Option<&str>| {
            let day = day.map(|day| day.parse::<Date>().expect("a day"));
            resolve_floating_tag(knowledge, repository, tag, day).map(|row| row.tag)
        };
        assert_eq!(of("tensorflow/tensorflow", "latest-gpu", Some("2021-06-16")), Some("2.5.0-gpu"));
        assert_eq!(of("tensorflow/tensorflow", "latest-gpu-jupyter", Some("2021-06-16")), Some("2.5.0-gpu-jupyter"));
        let newest = of("tensorflow/tensorflow", "latest-gpu", None).expect("one");
        assert!(compare_natural("2.5.0-gpu", newest).is_lt(), "{newest}");
        for (repository, tag, day) in [
            ("tensorflow/tensorflow", "latest-gpu", Some("2010-01-01")),
            ("tensorflow/tensorflow", "2.5.0-gpu", None),
            ("tensorflow/tensorflow", "latest", None),
            ("example.com/tensorflow", "latest-gpu", None),
        ] {
            assert_eq!(of(repository, tag, day), None, "{repository}:{tag}");
        }
    }
}
