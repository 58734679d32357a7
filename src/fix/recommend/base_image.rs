//! Base images for chosen releases, each with a tag from the knowledge tables.

use crate::cuda::CudaVersion;
use crate::fix::recommend::release;
use crate::fix::recommend::release::{CandidateRelease, LibraryKnowledge, ReleaseCache, tag_size_rank};
use crate::knowledge::{
    CudaImageRow, FrameworkImageRow, ImagePythonRow, Knowledge, NgcReleaseRow, OsRow, compare_natural,
};
use crate::model::reference::ImageReference;
use crate::text::nearest::nearest_word;

/// The oldest Python version that can install uv.
const OLDEST_UV_PYTHON: &str = "3.8";

/// The kind of a base image, the one with the least content first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BaseImageKind {
    /// An image with Python and nothing else.
    Language,
    /// An operating system.
    System,
    /// A CUDA base image.
    Cuda,
    /// An image with a framework.
    Framework,
    /// An image that was requested with its tag or digest.
    Given,
}

/// A base image that is tested with chosen releases.
#[derive(Clone, Debug)]
pub(super) struct BaseCandidate {
    pub(super) reference: String,
    pub(super) kind: BaseImageKind,
    /// Its Python version, if the tables list it.
    pub(super) python: Option<&'static str>,
    /// Whether Python must be installed first.
    pub(super) bare: bool,
    /// Whether uv installs that Python, because the system has another version.
    pub(super) fetched: bool,
    /// The CUDA release of a CUDA base image or framework container.
    pub(super) cuda: Option<CudaVersion>,
    /// The same image with more libraries, for use if this one lacks some.
    pub(super) larger: Option<String>,
    /// A CUDA base image with an older release of the same major, which requires an older driver, for use if this one
    /// is refused.
    pub(super) older: Option<Box<Self>>,
}

/// The base images to consider.
#[derive(Clone, Debug)]
pub(super) enum BaseConstraint {
    /// Any.
    Any,
    /// Images of one repository.
    Repository(String),
    /// This image.
    Exactly(ImageReference),
}

impl BaseConstraint {
    /// Parses a repository or image reference; returns an error if the tables know no such image.
    pub(super) fn parse(text: Option<&str>, knowledge: Knowledge) -> Result<Self, String> {
        let Some(text) = text else { return Ok(Self::Any) };
        let reference =
            ImageReference::parse(text).map_err(|error| format!("`{text}` is not an image reference: {error}"))?;
        if reference.tag().is_some() || reference.digest().is_some() {
            return Ok(Self::Exactly(reference));
        }
        let repository = reference.familiar_name();
        let release_cache = known_repositories(knowledge);
        if release_cache.iter().any(|one| *one == repository) {
            return Ok(Self::Repository(repository));
        }
        let hint = nearest_word(&repository, release_cache.iter().copied());
        let hint = hint.map_or_else(
            || format!("it has {}", release_cache.join(", ")),
            |suggestion| format!("did you mean `{suggestion}`?"),
        );
        Err(format!(
            "the compatibility database of {} has no tags of `{repository}`; {hint}",
            knowledge.newest_source_date()
        ))
    }

    /// Whether images of a repository are considered.
    fn allows_repository(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Repository(own) => own == name,
            Self::Exactly(_) => false,
        }
    }
}

/// Returns the repositories with tags in the knowledge tables.
fn known_repositories(knowledge: Knowledge) -> Vec<&'static str> {
    let plain = knowledge.plain_images().iter().map(|row| row.repository);
    let plain = plain.filter(|name| knowledge.image_pythons().iter().any(|row| row.name == *name));
    let plain = plain.filter(|name| knowledge.operating_system(name, "").is_some_and(|system| system.debian));
    let framework = knowledge.framework_images().iter().map(|row| row.repository);
    let months = knowledge.base_families().iter().filter(|row| row.month_tag.is_some()).map(|row| row.repository);
    let mut all: Vec<&str> = plain.chain(knowledge.cuda_repositories()).chain(framework).chain(months).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Selects base images for chosen releases.
#[derive(Clone, Copy)]
pub(super) struct BaseSelector<'a> {
    pub(super) constraint: &'a BaseConstraint,
    pub(super) python: Option<&'a str>,
    pub(super) archs: &'a [String],
    pub(super) release_cache: &'a ReleaseCache,
    pub(super) knowledge: Knowledge,
}

impl BaseSelector<'_> {
    /// Returns every base image for chosen releases.
    pub(super) fn bases(self, candidate_releases: &[&CandidateRelease]) -> Vec<BaseCandidate> {
        if let Some(row) = candidate_releases.iter().find_map(|choice| choice.within) {
            let reference = format!("{}:{}", row.repository, row.tag);
            // Which Python it has is not in the tables: one that all of it has wheels for it must be able to have.
            let is_compatible = candidate_releases.len() == 1 || self.has_common_python(candidate_releases);
            let fits = is_compatible && self.constraint.allows_repository(row.repository) && self.python.is_none();
            let built = row.arches.is_empty() || self.archs.iter().all(|arch| row.arches.contains(&arch.as_str()));
            let base = BaseCandidate {
                reference,
                kind: BaseImageKind::Framework,
                python: None,
                bare: false,
                fetched: false,
                cuda: None,
                larger: None,
                older: None,
            };
            return if fits && built { vec![base] } else { Vec::new() };
        }
        if let BaseConstraint::Exactly(reference) = self.constraint {
            return self.requested_image(reference, candidate_releases).into_iter().collect();
        }
        let mut found =
            if candidate_releases.is_empty() { Vec::new() } else { self.images_without_cuda(candidate_releases) };
        found.extend(self.cuda_images(candidate_releases));
        found.extend(self.monthly_containers(candidate_releases));
        found.extend(self.framework_image_tags(candidate_releases));
        // If the required libraries are unknown, only a base with all libraries is recommended.
        if matches!(self.constraint, BaseConstraint::Any) && self.has_unknown_libraries(candidate_releases) {
            found.retain(|base| base.kind == BaseImageKind::Cuda);
        }
        found
    }

    /// Returns each monthly release of the requested framework container.
    fn monthly_containers(self, candidate_releases: &[&CandidateRelease]) -> Vec<BaseCandidate> {
        let BaseConstraint::Repository(repository) = self.constraint else { return Vec::new() };
        let tag = self.knowledge.base_family(repository).and_then(|family| family.month_tag);
        let (Some(tag), true, None) = (tag, candidate_releases.is_empty(), self.python) else { return Vec::new() };
        let release_cache = self.knowledge.ngc_releases().iter().filter(|row| row.torch.is_some());
        let base = |row: &NgcReleaseRow| BaseCandidate {
            reference: format!("{repository}:{}", tag.replace("{month}", row.month)),
            kind: BaseImageKind::Framework,
            python: None,
            bare: false,
            fetched: false,
            cuda: Some(row.cuda),
            larger: None,
            older: None,
        };
        release_cache.map(base).collect()
    }

    /// Returns the images of the requested framework repository; only the smallest of those that differ in flavour.
    fn framework_image_tags(self, candidate_releases: &[&CandidateRelease]) -> Vec<BaseCandidate> {
        let (BaseConstraint::Repository(repository), true, None) =
            (self.constraint, candidate_releases.is_empty(), self.python)
        else {
            return Vec::new();
        };
        let mut kept: Vec<&'static FrameworkImageRow> = Vec::new();
        for row in self.knowledge.framework_images().iter().filter(|row| row.repository == *repository) {
            let first = row.tag.split('-').next().unwrap_or(row.tag);
            let built = row.arches.is_empty() || self.archs.iter().all(|arch| row.arches.contains(&arch.as_str()));
            if !built || self.knowledge.withdrawn_tag(row.repository, first).is_some() {
                continue;
            }
            let alike = |own: &FrameworkImageRow| {
                own.tag.split('-').next() == Some(first)
                    && (own.cuda, own.torch, own.packages) == (row.cuda, row.torch, row.packages)
            };
            match kept.iter_mut().find(|own| alike(own)) {
                Some(own) if tag_size_rank(row.tag) < tag_size_rank(own.tag) => *own = row,
                Some(_) => {}
                None => kept.push(row),
            }
        }
        let base = |row: &FrameworkImageRow| BaseCandidate {
            reference: format!("{repository}:{}", row.tag),
            kind: BaseImageKind::Framework,
            python: None,
            bare: false,
            fetched: false,
            cuda: Some(row.cuda),
            larger: None,
            older: None,
        };
        kept.into_iter().map(base).collect()
    }

    /// Whether the required libraries of a release are unknown.
    fn has_unknown_libraries(self, candidate_releases: &[&CandidateRelease]) -> bool {
        candidate_releases.iter().any(|choice| choice.library_knowledge(self.knowledge) == LibraryKnowledge::Unknown)
    }

    /// Whether a Python version was requested, if any was, and has wheels of all releases.
    fn supports_python(self, candidate_releases: &[&CandidateRelease], python: &str) -> bool {
        self.python.is_none_or(|wished| wished == python)
            && release::has_all_wheels(candidate_releases, python, self.release_cache)
    }

    /// Whether a Python version of some image supports all releases.
    pub(super) fn has_common_python(self, candidate_releases: &[&CandidateRelease]) -> bool {
        release::image_pythons(self.knowledge)
            .any(|own| release::supports_all_releases(candidate_releases, own, self.release_cache))
    }

    /// Returns language images, and operating systems if they were requested.
    fn images_without_cuda(self, candidate_releases: &[&CandidateRelease]) -> Vec<BaseCandidate> {
        let rows = self.knowledge.image_pythons().iter();
        let numbered = rows.filter(|row| row.version.starts_with(|c: char| c.is_ascii_digit()));
        let (language, system): (Vec<&ImagePythonRow>, Vec<&ImagePythonRow>) = numbered
            .filter(|row| {
                self.knowledge.plain_image(row.name).is_some() && self.supports_python(candidate_releases, row.python)
            })
            .partition(|row| row.version == row.python);
        let mut found = Vec::new();
        let of_language = language.iter().filter(|row| self.constraint.allows_repository(row.name));
        if let Some(python) = release::middle_version(of_language.clone().map(|row| row.python).collect())
            && let Some(row) = of_language.clone().find(|row| row.python == python)
        {
            let (reference, kind) = (format!("{}:{}-slim", row.name, row.version), BaseImageKind::Language);
            found.push(BaseCandidate {
                reference,
                kind,
                python: Some(row.python),
                bare: false,
                fetched: false,
                cuda: None,
                larger: None,
                older: None,
            });
        }
        let is_requested = |name: &str| matches!(self.constraint, BaseConstraint::Repository(own) if own == name);
        let debian = |name: &str| self.knowledge.operating_system(name, "").is_some_and(|system| system.debian);
        let systems = system.iter().filter(|row| is_requested(row.name) && debian(row.name));
        if let Some(row) = systems.max_by(|one, other| compare_natural(one.version, other.version)) {
            let (reference, kind) = (format!("{}:{}", row.name, row.version), BaseImageKind::System);
            found.push(BaseCandidate {
                reference,
                kind,
                python: Some(row.python),
                bare: true,
                fetched: false,
                cuda: None,
                larger: None,
                older: None,
            });
        }
        found
    }

    /// Returns CUDA base images with the CUDA of the releases, the newest patch of each minor release.
    fn cuda_images(self, candidate_releases: &[&CandidateRelease]) -> Vec<BaseCandidate> {
        let knowledge = self.knowledge;
        let Some(repository) =
            knowledge.cuda_repositories().into_iter().find(|name| self.constraint.allows_repository(name))
        else {
            return Vec::new();
        };
        let wished = candidate_releases.iter().find_map(|choice| choice.cuda);
        let goes = |cuda: CudaVersion| match wished {
            None => candidate_releases.is_empty(),
            Some(own) if own.0.len() > 1 => own.release() == cuda.release(),
            // Of a major alone the newest minor: it has every symbol of those before it.
            Some(own) => own.major() == cuda.major() && cuda.release() == newest_cuda_release(own.major(), knowledge),
        };
        let kept = self.newest_patches(repository, goes);
        let older =
            wished.and_then(|wished| self.oldest_cuda_image(repository, wished, candidate_releases)).map(Box::new);
        let with_older =
            |base: BaseCandidate| BaseCandidate { older: older.clone().filter(|older| older.cuda < base.cuda), ..base };
        let of_row = |(version, row)| self.base_from_row(repository, version, row, candidate_releases).map(with_older);
        kept.into_iter().filter_map(of_row).collect()
    }

    /// Returns the base image with the oldest CUDA of a major release; installed packages include their own libraries
    /// and run on it as well.
    fn oldest_cuda_image(
        self,
        repository: &str,
        wished: CudaVersion,
        candidate_releases: &[&CandidateRelease],
    ) -> Option<BaseCandidate> {
        if self.has_unknown_libraries(candidate_releases) {
            return None;
        }
        let mut all = self.newest_patches(repository, |cuda| cuda.major() == wished.major());
        all.sort_by_key(|(cuda, _)| *cuda);
        all.into_iter().find_map(|(cuda, row)| self.base_from_row(repository, cuda, row, candidate_releases))
    }

    /// Returns the newest patch of each CUDA release with base images.
    fn newest_patches(
        self,
        repository: &str,
        goes: impl Fn(CudaVersion) -> bool,
    ) -> Vec<(CudaVersion, &'static CudaImageRow)> {
        let knowledge = self.knowledge;
        let mut kept: Vec<(CudaVersion, &'static CudaImageRow)> = Vec::new();
        for row in
            knowledge.cuda_images().iter().filter(|row| knowledge.withdrawn_tag(repository, row.version).is_none())
        {
            let Ok(version) = row.version.parse::<CudaVersion>() else { continue };
            if !goes(version) {
                continue;
            }
            match kept.iter_mut().find(|(own, _)| own.release() == version.release()) {
                Some(own) if own.0 < version => *own = (version, row),
                Some(_) => {}
                None => kept.push((version, row)),
            }
        }
        kept
    }

    /// Returns the base image for a row of the CUDA image table, with a suitable operating system.
    fn base_from_row(
        self,
        repository: &str,
        cuda: CudaVersion,
        row: &'static CudaImageRow,
        candidate_releases: &[&CandidateRelease],
    ) -> Option<BaseCandidate> {
        let knowledge = self.knowledge;
        let built = |os: &str| {
            self.archs
                .iter()
                .all(|arch| knowledge.cuda_recipes_for_version(row.version).any(|recipe| recipe.is_for(os, arch)))
        };
        let debian = |os: &str| knowledge.operating_system("", os).is_some_and(|system| system.debian);
        let python = |os: &str| system_python(os, knowledge);
        let fits = |os: &str| {
            debian(os)
                && built(os)
                && (candidate_releases.is_empty()
                    || python(os).is_some_and(|own| self.supports_python(candidate_releases, own)))
        };
        let newest = |fits: &dyn Fn(&str) -> bool| {
            row.os.iter().copied().filter(|os| fits(os)).max_by(|one, other| compare_natural(one, other))
        };
        let (os, python, fetched) = if let Some(os) = newest(&fits) {
            (os, python(os), false)
        } else {
            let fetched = self.python_from_uv(candidate_releases)?;
            let takes_it = |os: &str| debian(os) && built(os) && python(os).is_some_and(supports_uv);
            (newest(&takes_it)?, Some(fetched), true)
        };
        let of = |flavour: &str| {
            row.flavours.contains(&flavour).then(|| format!("{repository}:{}-{flavour}-{os}", row.version))
        };
        let words =
            knowledge.cudnn_tags().iter().find(|own| own.version == row.version).and_then(|own| own.words.last());
        let with_cudnn = || Some(format!("{repository}:{}-{}-runtime-{os}", row.version, words?));
        let (base, runtime) = (of("base"), of("runtime"));
        let larger = runtime.clone().and_then(|_| with_cudnn()).or(runtime.clone());
        let (reference, larger) = match larger {
            Some(larger) if self.has_unknown_libraries(candidate_releases) => (larger, None),
            larger => (base.or(runtime)?, larger),
        };
        Some(BaseCandidate {
            reference,
            kind: BaseImageKind::Cuda,
            python,
            bare: !candidate_releases.is_empty(),
            fetched,
            cuda: Some(cuda),
            larger,
            older: None,
        })
    }

    /// Returns the requested Python version, if uv can install it and all releases have wheels for it.
    fn python_from_uv(self, candidate_releases: &[&CandidateRelease]) -> Option<&'static str> {
        let wished = self
            .python
            .filter(|_| !candidate_releases.is_empty() && !matches!(self.constraint, BaseConstraint::Any))?;
        let release_cache = self.knowledge.image_pythons().iter().map(|row| row.python).find(|own| *own == wished)?;
        release::has_all_wheels(candidate_releases, release_cache, self.release_cache).then_some(release_cache)
    }

    /// Returns the requested image, unless its Python is known to lack a wheel.
    fn requested_image(
        self,
        reference: &ImageReference,
        candidate_releases: &[&CandidateRelease],
    ) -> Option<BaseCandidate> {
        let (repository, tag) = (reference.familiar_name(), reference.tag().unwrap_or_default());
        if !candidate_releases.is_empty()
            && (self.pip_obstacle(reference).is_some() || !self.has_common_python(candidate_releases))
        {
            return None;
        }
        let rows = || self.knowledge.image_pythons().iter();
        let begins = |version: &str| {
            tag.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        };
        let own = rows().find(|row| row.name == repository && begins(row.version));
        let system = || tag.split('-').find_map(|word| system_python(word, self.knowledge));
        let mut python = own.map(|row| row.python).or_else(system);
        let mut fetched = false;
        if let Some(python) = python.as_mut().filter(|_| !candidate_releases.is_empty())
            && !self.supports_python(candidate_releases, python)
        {
            if own.is_some_and(|row| row.version == row.python) || !supports_uv(python) {
                return None;
            }
            (*python, fetched) = (self.python_from_uv(candidate_releases)?, true);
        }
        let language = own.is_some_and(|row| row.version == row.python);
        let framework = self.knowledge.framework_images().iter().any(|row| row.repository == repository);
        let is_unlisted_system = || own.is_none() && self.is_plain_system(&repository);
        let bare =
            !candidate_releases.is_empty() && (python.is_some() || is_unlisted_system()) && !language && !framework;
        let reference = reference.to_string();
        Some(BaseCandidate {
            reference,
            kind: BaseImageKind::Given,
            python,
            bare,
            fetched,
            cuda: None,
            larger: None,
            older: None,
        })
    }
}

impl BaseSelector<'_> {
    /// Whether the images of a repository are an operating system, with or without CUDA, and nothing else.
    fn is_plain_system(self, repository: &str) -> bool {
        let knowledge = self.knowledge;
        let system = knowledge.operating_systems().iter().any(|row| row.name == repository);
        let mut languages = knowledge.image_pythons().iter().filter(|row| row.version == row.python);
        let plain = system && knowledge.plain_image(repository).is_some();
        knowledge.is_cuda_repository(repository) || plain && !languages.any(|row| row.name == repository)
    }

    /// Returns why pip cannot install anything on a requested image.
    pub(super) fn pip_obstacle(self, reference: &ImageReference) -> Option<String> {
        let tag = reference.tag().unwrap_or_default();
        let system = self.knowledge.operating_system(&reference.familiar_name(), tag)?;
        if system.musl {
            return Some(format!("{} uses the C library musl, and no wheel supports it", system.name));
        }
        let lacks_install_commands = self.is_plain_system(&reference.familiar_name())
            && python_install_commands(&reference.to_string(), self.knowledge).is_empty();
        lacks_install_commands
            .then(|| format!("the compatibility database does not list how to install Python on {}", system.name))
    }
}

/// Whether uv runs on a Python version, to install others.
fn supports_uv(python: &str) -> bool {
    compare_natural(OLDEST_UV_PYTHON, python).is_le()
}

/// Returns the newest CUDA release of a major version with base images.
fn newest_cuda_release(major: u32, knowledge: Knowledge) -> (u32, u32) {
    let all = knowledge.cuda_images().iter().filter_map(|row| row.version.parse::<CudaVersion>().ok());
    all.filter(|cuda| cuda.major() == major).map(CudaVersion::release).max().unwrap_or_default()
}

/// Returns the Python version of an operating system, by its name in a tag such as `ubuntu22.04`.
fn system_python(os: &str, knowledge: Knowledge) -> Option<&'static str> {
    let mut rows = knowledge.image_pythons().iter();
    rows.find(|row| os.strip_prefix(row.name).is_some_and(|rest| rest == row.version)).map(|row| row.python)
}

/// Returns the commands that install Python on the system of a base image; those of Debian if the system is unknown.
pub(super) fn python_install_commands(reference: &str, knowledge: Knowledge) -> &'static [&'static str] {
    let words = |lean: &str| reference.rsplit([':', '/', '-']).any(|word| word == lean);
    match operating_system(reference, knowledge) {
        Some(row) if !row.debian && row.lean.is_some_and(words) => row.lean_python,
        Some(row) if !row.debian => row.python,
        Some(_) | None => DEBIAN_PYTHON_COMMANDS,
    }
}

/// Commands that install Python on Debian and its derivatives.
const DEBIAN_PYTHON_COMMANDS: &[&str] = &[
    "apt-get update",
    "apt-get install -y --no-install-recommends python3 python3-venv",
    "rm -rf /var/lib/apt/lists/*",
];

/// Returns the operating system of a base image, by its name.
pub(super) fn operating_system(reference: &str, knowledge: Knowledge) -> Option<&'static OsRow> {
    let reference = ImageReference::parse(reference).ok()?;
    knowledge.operating_system(&reference.familiar_name(), reference.tag().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_repository_of_the_tables_or_a_whole_reference() {
        let parse_constraint = |text: &str| BaseConstraint::parse(Some(text), Knowledge::built_in());
        assert!(
            matches!(parse_constraint("nvidia/cuda"), Ok(BaseConstraint::Repository(name)) if name == "nvidia/cuda")
        );
        assert!(matches!(parse_constraint("python:3.11-slim"), Ok(BaseConstraint::Exactly(_))));
        for (wrong, hint) in [
            ("nvidia/cudaa", "did you mean `nvidia/cuda`"),
            ("alpine", "it has "),
            ("A B", "is not an image reference"),
        ] {
            let error = parse_constraint(wrong).err().unwrap_or_default();
            assert!(error.contains(hint), "{wrong}: {error}");
        }
    }

    #[test]
    fn an_operating_system_in_a_tag_has_a_python() {
        for (os, python) in
            [("ubuntu22.04", Some("3.10")), ("ubuntu99.04", None), ("rockylinux9", Some("3.9")), ("", None)]
        {
            assert_eq!(system_python(os, Knowledge::built_in()), python, "{os}");
        }
    }
}
