//! Validation of tags of CUDA base images, for repositories whose tags are all in the tables.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::CudaImageRow;

/// The parts of a full tag: `11.8.0-cudnn8-devel-ubuntu22.04`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CudaTagParts<'a> {
    version: &'a str,
    cudnn: Option<&'a str>,
    flavour: &'a str,
    os: &'a str,
}

impl<'a> CudaTagParts<'a> {
    /// Parses a tag; `None` if it has another form.
    fn parse(tag: &'a str) -> Option<Self> {
        let words: Vec<&str> = tag.split('-').collect();
        match *words.as_slice() {
            [version, flavour, os] if !flavour.starts_with("cudnn") => Some(Self { version, cudnn: None, flavour, os }),
            [version, cudnn, flavour, os] if cudnn.starts_with("cudnn") => {
                Some(Self { version, cudnn: Some(cudnn), flavour, os })
            }
            _ => None,
        }
    }

    /// Returns the parts as a tag.
    fn tag(self) -> String {
        [Some(self.version), self.cudnn, Some(self.flavour), Some(self.os)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("-")
    }
}

/// A tag that has never existed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchTag {
    /// The part that does not exist: `12.4`, `debian11`.
    pub part: String,
    /// The most similar tag that exists.
    pub nearest: Option<String>,
}

impl Knowledge {
    /// Returns why a tag of a CUDA repository has never existed; `None` if it exists or the tables do not list all
    /// tags.
    pub fn nonexistent_cuda_tag(self, repository: &str, tag: &str) -> Option<NoSuchTag> {
        self.base_family(repository).filter(|row| row.listed)?;
        let version = tag.split('-').next().unwrap_or(tag);
        let rows = self.cuda_images_for_version(version);
        let newest = rows.last()?;
        let parts = CudaTagParts::parse(tag);
        let nearest = || self.nearest_existing_tag(newest, parts?);
        let wrong = |part: &str| Some(NoSuchTag { part: part.to_owned(), nearest: nearest() });
        // A minor alone is a tag of its own where a recipe had it.
        let tagged = || self.cuda_recipes_for_version(version).next().is_some();
        if newest.version != version && !tagged() {
            return wrong(version);
        }
        let parts = parts.filter(|_| rows.iter().all(|row| !row.os.is_empty() && !row.flavours.is_empty()))?;
        // What there was a recipe for counts, and what there is a tag of.
        let of_os = |row: &&CudaImageRow| {
            let recipe =
                || [row.version, version].into_iter().flat_map(|version| self.cuda_recipes_for_version(version));
            row.os.contains(&parts.os) || recipe().any(|recipe| recipe.architectures_on(parts.os).next().is_some())
        };
        if !rows.iter().any(of_os) {
            return wrong(parts.os);
        }
        if !rows.iter().any(|row| row.flavours.contains(&parts.flavour)) {
            return wrong(parts.flavour);
        }
        let cudnn = parts.cudnn?;
        let lacks =
            |row: &&CudaImageRow| self.cudnn_tag_words(row.version).is_some_and(|words| !words.contains(&cudnn));
        if rows.iter().all(lacks) { wrong(cudnn) } else { None }
    }

    /// Returns the cuDNN words in tags of a CUDA version.
    fn cudnn_tag_words(self, version: &str) -> Option<&'static [&'static str]> {
        self.cudnn_tags().iter().find(|row| row.version == version).map(|row| row.words)
    }

    /// Returns the most similar tag of a version: the same flavour, and the nearest release of the operating system,
    /// otherwise the newest.
    fn nearest_existing_tag(self, row: &'static CudaImageRow, asked: CudaTagParts<'_>) -> Option<String> {
        let flavour = row.flavours.iter().find(|own| **own == asked.flavour).or(row.flavours.last())?;
        let of_name = row.os.iter().filter(|own| os_name(own) == os_name(asked.os));
        let os = of_name.min_by_key(|own| os_number(own).abs_diff(os_number(asked.os))).or(row.os.last())?;
        let cudnn = match asked.cudnn {
            None => None,
            Some(word) => {
                let words = self.cudnn_tag_words(row.version).unwrap_or_default();
                Some(*words.iter().find(|own| **own == word).or(words.last())?)
            }
        };
        Some(CudaTagParts { version: row.version, cudnn, flavour, os }.tag())
    }
}

/// Returns the name of an operating system: `ubuntu` of `ubuntu22.04`.
fn os_name(os: &str) -> &str {
    os.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.')
}

/// Returns the release of an operating system as a number: 2204 of `ubuntu22.04`.
fn os_number(os: &str) -> u32 {
    let digits: String = os.chars().filter(char::is_ascii_digit).take(6).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_no_image_ever_had_is_told_with_the_nearest_that_one_has() {
        for (tag, part, nearest) in [
            ("11.6.2-base-debian11", "debian11", Some("11.6.2-base-ubuntu20.04")),
            ("12.4.1-base-ubuntu24.04", "ubuntu24.04", Some("12.4.1-base-ubuntu22.04")),
            ("10.2-base-ubuntu20.04", "ubuntu20.04", Some("10.2-base-ubuntu18.04")),
            ("11.8.0-cudnn9-runtime-ubuntu22.04", "cudnn9", Some("11.8.0-cudnn8-runtime-ubuntu22.04")),
            ("12.4-base-ubuntu22.04", "12.4", Some("12.4.1-base-ubuntu22.04")),
            ("12.4-base", "12.4", None),
            ("11.8.0-slim-ubuntu22.04", "slim", Some("11.8.0-runtime-ubuntu22.04")),
        ] {
            let found = Knowledge::built_in().nonexistent_cuda_tag("nvidia/cuda", tag).expect(tag);
            assert_eq!((found.part.as_str(), found.nearest.as_deref()), (part, nearest), "{tag}");
        }
    }

    #[test]
    fn tags_that_were_there_and_tags_of_other_shapes_are_not_doubted() {
        for tag in [
            "12.4.1-base-ubuntu22.04",
            "11.8.0-cudnn8-devel-ubuntu22.04",
            "12.6.3-cudnn-runtime-ubuntu24.04",
            "11.0-devel-ubuntu20.04",
            "11.0.3-cudnn8-devel-ubuntu18.04",
            "10.0-base-ubuntu16.04",
            "10.2-base-ubuntu18.04",
            "10.1-cudnn7-runtime-ubuntu18.04",
            "9.0-base",
            "11.1-base",
            "12.4.1",
            "latest",
            "99.1.0-base-ubuntu22.04",
            "12.4.1-base-ubuntu22.04-mine",
            "",
            "---",
        ] {
            assert_eq!(Knowledge::built_in().nonexistent_cuda_tag("nvidia/cuda", tag), None, "{tag}");
        }
        for repository in ["nvidia/cuda-arm64", "nvidia/cudagl", "registry.example/nvidia/cuda", "python"] {
            assert_eq!(
                Knowledge::built_in().nonexistent_cuda_tag(repository, "12.4.1-base-debian11"),
                None,
                "{repository}"
            );
        }
    }
}
