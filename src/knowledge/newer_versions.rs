//! Versions that are newer than the compatibility database.

use std::cmp::Ordering;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::package::ExactVersion;

impl Knowledge {
    /// Whether a driver is of a later branch than all in the tables.
    pub fn is_newer_driver(self, driver: DriverVersion) -> bool {
        self.newest_driver_branch().is_some_and(|newest| driver.branch() > newest.branch)
    }

    /// Whether a CUDA version is later than all toolkits and all CUDA versions of drivers in the tables.
    pub fn is_newer_cuda(self, cuda: CudaVersion) -> bool {
        let toolkits = self.toolkits().iter().map(|row| row.version.release());
        let newest = toolkits.chain([self.newest_cuda().release()]).max();
        newest.is_some_and(|newest| cuda.release() > newest)
    }

    /// Whether a full CUDA version is later than all CUDA base images in the tables.
    pub fn is_newer_cuda_image(self, version: &str) -> bool {
        let version = ExactVersion::from(version);
        self.cuda_images().iter().all(|row| is_later_version(&version, &ExactVersion::from(row.version)))
    }

    /// Whether the version in a tag such as `v0.99.0` is later than all tags of the repository in the tables.
    pub fn is_newer_framework_image(self, repository: &str, tag: &str) -> bool {
        let plain = |tag: &str| ExactVersion::from(release_numbers(tag.strip_prefix('v').unwrap_or(tag)));
        let mut rows = self.framework_images().iter().filter(|row| row.repository == repository).peekable();
        rows.peek().is_some() && rows.all(|row| is_later_version(&plain(tag), &plain(row.tag)))
    }

    /// Whether a CUDA version is in the tables or may have been released after them; excludes probable typing errors.
    pub fn is_plausible_cuda(self, cuda: CudaVersion) -> bool {
        let next = self.newest_cuda().major() + 1;
        self.target_set(cuda).is_some() || self.is_newer_cuda(cuda) && cuda.major() <= next
    }

    /// Whether a CUDA version has never existed: the tables have older and newer versions, but not this one.
    pub fn is_nonexistent_cuda(self, cuda: CudaVersion) -> bool {
        let older = self.toolkits().first().is_some_and(|first| cuda.major() < first.version.major());
        !older && !self.is_newer_cuda(cuda) && self.target_sets_of(cuda).is_empty() && self.toolkit(cuda).is_none()
    }

    /// Whether a torch version, with or without a local part, is later than all releases in the tables.
    pub fn is_newer_torch(self, version: &ExactVersion) -> bool {
        self.torch_releases().last().is_some_and(|newest| is_later_version(version, newest.version))
    }

    /// Whether a version of a distribution with GPU code is later than all its rows.
    ///
    /// Never true of a distribution without rows, or with one for every version alone.
    pub fn is_newer_framework(self, distribution: &str, version: &ExactVersion) -> bool {
        if self.has_variants(distribution) {
            return self.is_newer_torch(version);
        }
        let rows = self.framework_releases_of(distribution).filter_map(|row| row.version);
        let bundled = self.bundled_variants().iter().filter(|row| row.distribution == distribution);
        let mut known = rows.chain(bundled.filter_map(|row| row.newest)).peekable();
        known.peek().is_some() && known.all(|known| is_later_version(version, known))
    }

    /// Returns why a version of a distribution is unknown: `torch 9.9 is newer than the compatibility database of
    /// 2026-11-21`.
    pub fn missing_version_cause(self, distribution: &str, version: &ExactVersion) -> Cause {
        let (package, text, date) = (distribution.to_owned(), version.to_string(), self.newest_source_date());
        if self.is_newer_framework(distribution, version) {
            return Cause::VersionNewer { package, version: text, date };
        }
        Cause::VersionNotInTables { package, version: text, date }
    }

    /// Returns the message for a newer version: `this driver is newer than the compatibility database of 2026-11-21`.
    pub fn newer_than_database(self, what: &str) -> String {
        format!("this {what} is newer than the compatibility database of {}", self.newest_source_date())
    }
}

/// Returns the numbers at the start of a tag: `0.99.0` of `0.99.0-cu130`.
fn release_numbers(tag: &str) -> &str {
    let end = tag.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(tag.len());
    tag.get(..end).unwrap_or_default().trim_matches('.')
}

/// Whether the release number of a version, which may be a pre-release, is above that of a release.
fn is_later_version(version: &ExactVersion, release: &ExactVersion) -> bool {
    version.compare_release_numbers(release) == Some(Ordering::Greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_compares_releases_and_not_their_spelling() {
        for (version, release, expected) in [
            ("2.16.0", "2.15.0", true),
            ("2.16", "2.15.0", true),
            ("2.16.0+cu140", "2.15.0", true),
            ("2.15.1", "2.15.0", true),
            ("2.16.0a0+git", "2.15.0", true),
            ("2.15", "2.15.0", false),
            ("2.15.0+cu132", "2.15.0", false),
            ("2.9.0", "2.15.0", false),
            ("", "2.15.0", false),
            ("nightly", "2.15.0", false),
        ] {
            let (one, other) = (ExactVersion::from(version), ExactVersion::from(release));
            assert_eq!(is_later_version(&one, &other), expected, "{version} after {release}");
        }
    }

    #[test]
    fn image_version_above_every_row_is_newer() {
        let knowledge = Knowledge::built_in();
        for (version, expected) in
            [("13.99.0", true), ("14.0.0", true), ("13.2.99", false), ("12.4.1", false), ("x", false)]
        {
            assert_eq!(knowledge.is_newer_cuda_image(version), expected, "{version}");
        }
        for (repository, tag, expected) in [
            ("vllm/vllm-openai", "v0.99.0", true),
            ("vllm/vllm-openai", "v0.99.0-cu129", true),
            ("pytorch/pytorch", "99.0.0-cuda14.0-cudnn9-runtime", true),
            ("vllm/vllm-openai", "v0.27.0", false),
            ("vllm/vllm-openai", "v0.8.5.post9", false),
            ("vllm/vllm-openai", "latest", false),
            ("vllm/vllm-openai", "nightly", false),
            ("somebody/vllm", "v0.99.0", false),
        ] {
            assert_eq!(knowledge.is_newer_framework_image(repository, tag), expected, "{repository}:{tag}");
        }
    }

    #[test]
    fn a_number_between_two_releases_is_no_cuda() {
        for (cuda, expected) in [
            ("10.7", true),
            ("9.7", true),
            ("11.9", true),
            ("12.10", true),
            ("9.7.1", true),
            ("10.2", false),
            ("12.7", false),
            ("12.4.99", false),
            ("12", false),
            ("7.0", false),
            ("6.5", false),
            ("99.1", false),
            ("97", false),
        ] {
            assert_eq!(Knowledge::built_in().is_nonexistent_cuda(cuda.parse().expect(cuda)), expected, "{cuda}");
        }
    }

    #[test]
    fn package_without_a_table_is_never_newer() {
        let knowledge = Knowledge::built_in();
        let is_newer = |name: &str, version: &str| knowledge.is_newer_framework(name, &ExactVersion::from(version));
        assert!(!is_newer("somebodys-package", "99.0"));
        assert!(is_newer("cupy-cuda12x", "99.0"));
        assert!(is_newer("tensorflow", "99.0"));
        assert!(is_newer("jax-cuda12-plugin", "99.0"));
        assert!(!is_newer("jax-cuda12-plugin", "0.5.0"));
        assert!(is_newer("bitsandbytes", "99.0"));
        assert!(!is_newer("bitsandbytes", "0.50.2"));
        assert!(!is_newer("bitsandbytes", "0.41.0"));
        assert!(!is_newer("tensorflow", "2.15.0"));
        assert!(is_newer("torch", "99.0.1+cu999"));
        for (distribution, version, expected) in [
            ("torch", "99.0", "torch 99.0 is newer than the compatibility database of "),
            ("torch", "2.6.99", "torch 2.6.99 is not in the compatibility database of "),
            ("tensorflow", "99.0", "tensorflow 99.0 is newer than the compatibility database of "),
            ("somebodys-package", "99.0", "somebodys-package 99.0 is not in the compatibility database of "),
        ] {
            let reason = knowledge.missing_version_cause(distribution, &ExactVersion::from(version)).reason();
            assert!(reason.starts_with(expected), "{reason}");
        }
    }

    #[test]
    fn known_drivers_and_toolkits_are_not_newer_and_gaps_between_them_neither() {
        let knowledge = Knowledge::built_in();
        let driver = |text: &str| knowledge.is_newer_driver(text.parse().expect(text));
        assert!(driver("99999.10"));
        assert!(!driver("535.161.08"));
        assert!(!driver("1.0"));
        let cuda = |text: &str| knowledge.is_newer_cuda(text.parse().expect(text));
        assert!(cuda("99.0"));
        assert!(!cuda("12.4.1"));
        assert!(!cuda("12.99"));
        assert!(!cuda("6.5"));
    }
}
