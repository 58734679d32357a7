//! Tags that name no release, such as `latest-gpu`: what they stood for on a day, as far as the tables tell.

use jiff::civil::Date;

use crate::knowledge::FrameworkImageRow;
use crate::knowledge::Knowledge;
use crate::knowledge::by_number;

/// Whether a tag names no release: its first word is none of numbers.
pub(super) fn is_floating(tag: &str) -> bool {
    !words(tag).next().unwrap_or_default().contains(|c: char| c.is_ascii_digit())
}

/// Whether another tag is of the same kind: the same words but for numbers; of a tag that names no release, but for the
/// first as well.
pub(super) fn is_alike(tag: &str, other: &str) -> bool {
    let skipped = usize::from(is_floating(tag));
    let bare = |tag: &str| -> Vec<String> {
        let digits = |c: &char| !c.is_ascii_digit() && *c != '.';
        words(tag).skip(skipped).map(|word| word.chars().filter(digits).collect()).collect()
    };
    bare(tag) == bare(other)
}

fn words(tag: &str) -> impl Iterator<Item = &str> {
    tag.split(['-', '_'])
}

/// The newest tag of its kind of which nothing is younger than the day; none where the tables have no such tag.
pub(super) fn stands_for(
    knowledge: Knowledge,
    repository: &str,
    tag: &str,
    day: Option<Date>,
) -> Option<&'static FrameworkImageRow> {
    if !is_floating(tag) {
        return None;
    }
    let rows = knowledge.framework_images().iter().filter(|row| row.repository == repository);
    let fitting = rows.filter(|row| !is_floating(row.tag) && is_alike(tag, row.tag));
    fitting
        .filter(|row| day.is_none_or(|day| !is_younger(knowledge, row, day)))
        .max_by(|one, other| by_number(one.tag, other.tag))
}

/// Whether something that lies in an image came out after a day.
fn is_younger(knowledge: Knowledge, row: &FrameworkImageRow, day: Date) -> bool {
    let of_package = |(name, version): &(&str, &str)| knowledge.framework_build(name, version)?.released;
    let torch = row.torch.and_then(|version| knowledge.torch(version)?.released);
    let cuda = knowledge.oldest_toolkit(row.cuda.major(), row.cuda.minor()).and_then(|row| row.released);
    row.brings.iter().filter_map(of_package).chain(torch).chain(cuda).any(|released| day < released)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_names_no_release_has_a_first_word_without_numbers() {
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
    fn tags_of_a_kind_have_the_same_words() {
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
            assert_eq!(is_alike(tag, other), expected, "{tag} {other}");
        }
    }

    #[test]
    fn a_floating_tag_stands_for_the_newest_of_its_day() {
        let knowledge = Knowledge::built_in();
        let of = |repository: &str, tag: &str, day: Option<&str>| {
            let day = day.map(|day| day.parse::<Date>().expect("a day"));
            stands_for(knowledge, repository, tag, day).map(|row| row.tag)
        };
        assert_eq!(of("tensorflow/tensorflow", "latest-gpu", Some("2021-06-16")), Some("2.5.0-gpu"));
        assert_eq!(of("tensorflow/tensorflow", "latest-gpu-jupyter", Some("2021-06-16")), Some("2.5.0-gpu-jupyter"));
        let newest = of("tensorflow/tensorflow", "latest-gpu", None).expect("one");
        assert!(by_number("2.5.0-gpu", newest).is_lt(), "{newest}");
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
