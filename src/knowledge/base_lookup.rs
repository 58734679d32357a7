//! Questions about base images.

use crate::cuda::CudaVersion;
use crate::knowledge::Knowledge;
use crate::knowledge::rows::BaseFamilyRow;
use crate::knowledge::rows::CodeFloorRow;
use crate::knowledge::rows::CudaImageRow;
use crate::knowledge::rows::NgcReleaseRow;

/// The month at the beginning of a tag: `23.10` of `23.10-py3`.
fn month(tag: &str) -> Option<&str> {
    let month = tag.split('-').next()?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    month.split_once('.').is_some_and(|(year, month)| digits(year) && digits(month)).then_some(month)
}

impl Knowledge {
    /// The month that a tag of a family names, where its content is that of the month.
    pub fn ngc_release(self, family: &BaseFamilyRow, tag: &str) -> Option<&'static NgcReleaseRow> {
        let own = family.monthly && !tag.split('-').any(|word| family.other_months.contains(&word));
        let month = month(tag).filter(|_| own)?;
        self.ngc_releases().iter().find(|row| row.month == month)
    }

    /// The first and the last month that the tables have.
    pub fn ngc_months(self) -> Option<(&'static str, &'static str)> {
        let rows = self.ngc_releases();
        Some((rows.first()?.month, rows.last()?.month))
    }

    /// The lowest compute capability that the program of an image takes.
    pub fn code_floor(self, repository: &str, tag: &str) -> Option<&'static CodeFloorRow> {
        let month = month(tag)?;
        let holds = |row: &&CodeFloorRow| row.from <= month && row.before.is_none_or(|before| month < before);
        self.code_floors().iter().filter(|row| row.repository == repository).find(holds)
    }

    /// The CUDA base images that a version in a tag may mean: its own row, else every patch of a minor.
    pub fn cuda_images_of(self, version: &str) -> Vec<&'static CudaImageRow> {
        if let Some(row) = self.cuda_image(version) {
            return vec![row];
        }
        let Some(minor) = version.parse::<CudaVersion>().ok().filter(|minor| minor.0.len() == 2) else {
            return Vec::new();
        };
        let of_minor =
            |row: &&CudaImageRow| row.version.parse().is_ok_and(|own: CudaVersion| own.0.starts_with(minor.0));
        self.cuda_images().iter().filter(of_minor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_stands_at_the_beginning_of_a_tag() {
        for (tag, expected) in [
            ("23.10-py3", Some("23.10")),
            ("24.01", Some("24.01")),
            ("23.1-py3", None),
            ("2.1.0-py3", None),
            ("v23.10", None),
            ("latest", None),
            ("", None),
        ] {
            assert_eq!(month(tag), expected, "{tag}");
        }
    }

    #[test]
    fn months_serve_every_repository_of_the_family_and_no_other() {
        let knowledge = Knowledge::built_in();
        let cuda = |repository: &str, tag: &str| {
            let family = knowledge.base_family(repository)?;
            knowledge.ngc_release(family, tag).map(|row| row.cuda.to_string())
        };
        for (repository, tag, expected) in [
            ("nvcr.io/nvidia/pytorch", "23.10-py3", Some("12.2.2.009")),
            ("nvcr.io/nvidia/tensorrt", "20.08-py3", Some("11.0.3")),
            ("nvcr.io/nvidia/tensorrtserver", "19.07-py3", Some("10.1.168")),
            ("nvcr.io/nvidia/tritonserver", "24.05-trtllm-python-py3", None),
            ("nvcr.io/nvidia/tritonserver", "24.05-py3-igpu", None),
            ("nvcr.io/nvidia/tensorflow", "18.01-py3", None),
            ("nvcr.io/nvidia/pytorch", "99.01-py3", None),
            ("nvcr.io/nvidia/cuda", "23.10-py3", None),
            ("pytorch/pytorch", "23.10-py3", None),
        ] {
            assert_eq!(cuda(repository, tag).as_deref(), expected, "{repository}:{tag}");
        }
    }

    #[test]
    fn a_floor_begins_with_its_month() {
        let floor = |repository: &str, tag: &str| {
            Knowledge::built_in().code_floor(repository, tag).map(|row| row.capability.to_string())
        };
        for (repository, tag, expected) in [
            ("nvcr.io/nvidia/tensorrtserver", "19.07-py3", None),
            ("nvcr.io/nvidia/tensorrtserver", "19.08-py3", Some("6.0")),
            ("nvcr.io/nvidia/tritonserver", "25.07-py3", Some("6.0")),
            ("nvcr.io/nvidia/tritonserver", "25.08-py3", Some("7.5")),
            ("nvcr.io/nvidia/tritonserver", "latest", None),
            ("nvcr.io/nvidia/tensorflow", "23.10-py3", None),
        ] {
            assert_eq!(floor(repository, tag).as_deref(), expected, "{repository}:{tag}");
        }
    }

    #[test]
    fn two_numbers_mean_every_patch() {
        let versions = |version: &str| {
            Knowledge::built_in().cuda_images_of(version).iter().map(|row| row.version).collect::<Vec<_>>()
        };
        assert_eq!(versions("11.1"), ["11.1.1"]);
        assert_eq!(versions("10.2"), ["10.2"]);
        assert_eq!(versions("12.4.1"), ["12.4.1"]);
        assert!(versions("11.4").len() > 1);
        for none in ["11", "11.9", "12.4.9", "devel", "", "1.1"] {
            assert_eq!(versions(none), [""; 0], "{none}");
        }
    }
}
