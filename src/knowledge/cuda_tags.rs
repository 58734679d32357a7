//! Which tags of the CUDA base images there ever were, where the tables have all of them.

use crate::knowledge::Knowledge;
use crate::knowledge::rows::CudaImageRow;

/// The parts of a tag that names all of them: `11.8.0-cudnn8-devel-ubuntu22.04`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts<'a> {
    version: &'a str,
    cudnn: Option<&'a str>,
    flavour: &'a str,
    os: &'a str,
}

impl<'a> Parts<'a> {
    /// None of a tag of another shape, of which the tables say nothing.
    fn of(tag: &'a str) -> Option<Self> {
        let words: Vec<&str> = tag.split('-').collect();
        match *words.as_slice() {
            [version, flavour, os] if !flavour.starts_with("cudnn") => Some(Self { version, cudnn: None, flavour, os }),
            [version, cudnn, flavour, os] if cudnn.starts_with("cudnn") => {
                Some(Self { version, cudnn: Some(cudnn), flavour, os })
            }
            _ => None,
        }
    }

    fn tag(self) -> String {
        [Some(self.version), self.cudnn, Some(self.flavour), Some(self.os)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("-")
    }
}

/// A tag that there never was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchTag {
    /// What there is none of: `12.4`, `debian11`.
    pub part: String,
    /// The nearest tag that there is, where one is.
    pub nearest: Option<String>,
}

impl Knowledge {
    /// What is wrong with a tag of a CUDA repository that no image ever had; none where there was one, and where
    /// the tables do not have all of them.
    pub fn no_such_cuda_tag(self, repository: &str, tag: &str) -> Option<NoSuchTag> {
        self.base_family(repository).filter(|row| row.listed)?;
        let version = tag.split('-').next().unwrap_or(tag);
        let rows = self.cuda_images_of(version);
        let newest = rows.last()?;
        let parts = Parts::of(tag);
        let nearest = || self.nearest(newest, parts?);
        let wrong = |part: &str| Some(NoSuchTag { part: part.to_owned(), nearest: nearest() });
        // A minor alone is a tag of its own where a recipe had it.
        let tagged = || self.cuda_recipes_of(version).next().is_some();
        if newest.version != version && !tagged() {
            return wrong(version);
        }
        let parts = parts.filter(|_| rows.iter().all(|row| !row.os.is_empty() && !row.flavours.is_empty()))?;
        // What there was a recipe for counts, and what there is a tag of.
        let of_os = |row: &&CudaImageRow| {
            let recipe = || [row.version, version].into_iter().flat_map(|version| self.cuda_recipes_of(version));
            row.os.contains(&parts.os) || recipe().any(|recipe| recipe.arches_on(parts.os).next().is_some())
        };
        if !rows.iter().any(of_os) {
            return wrong(parts.os);
        }
        if !rows.iter().any(|row| row.flavours.contains(&parts.flavour)) {
            return wrong(parts.flavour);
        }
        let cudnn = parts.cudnn?;
        let lacks = |row: &&CudaImageRow| self.cudnn_words(row.version).is_some_and(|words| !words.contains(&cudnn));
        if rows.iter().all(lacks) { wrong(cudnn) } else { None }
    }

    fn cudnn_words(self, version: &str) -> Option<&'static [&'static str]> {
        self.cudnn_tags().iter().find(|row| row.version == version).map(|row| row.words)
    }

    /// The tag of a version that differs least from what was asked: the same flavour, the nearest release of the
    /// operating system, else the newest that it has.
    fn nearest(self, row: &'static CudaImageRow, asked: Parts<'_>) -> Option<String> {
        let flavour = row.flavours.iter().find(|own| **own == asked.flavour).or(row.flavours.last())?;
        let of_name = row.os.iter().filter(|own| name(own) == name(asked.os));
        let os = of_name.min_by_key(|own| number(own).abs_diff(number(asked.os))).or(row.os.last())?;
        let cudnn = match asked.cudnn {
            None => None,
            Some(word) => {
                let words = self.cudnn_words(row.version).unwrap_or_default();
                Some(*words.iter().find(|own| **own == word).or(words.last())?)
            }
        };
        Some(Parts { version: row.version, cudnn, flavour, os }.tag())
    }
}

/// `ubuntu` of `ubuntu22.04`.
fn name(os: &str) -> &str {
    os.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.')
}

/// 2204 of `ubuntu22.04`.
fn number(os: &str) -> u32 {
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
            let found = Knowledge::built_in().no_such_cuda_tag("nvidia/cuda", tag).expect(tag);
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
            assert_eq!(Knowledge::built_in().no_such_cuda_tag("nvidia/cuda", tag), None, "{tag}");
        }
        for repository in ["nvidia/cuda-arm64", "nvidia/cudagl", "registry.example/nvidia/cuda", "python"] {
            assert_eq!(
                Knowledge::built_in().no_such_cuda_tag(repository, "12.4.1-base-debian11"),
                None,
                "{repository}"
            );
        }
    }
}
