//! The base images that a choice may stand on, each by a tag that the tables know.

use crate::cuda::CudaVersion;
use crate::knowledge::CudaImageRow;
use crate::knowledge::FrameworkImageRow;
use crate::knowledge::ImagePythonRow;
use crate::knowledge::Knowledge;
use crate::knowledge::NgcReleaseRow;
use crate::knowledge::by_number;
use crate::nearest::nearest;
use crate::recommend::candidate::python_commands;
use crate::recommend::choice::Choice;
use crate::recommend::choice::Libraries;
use crate::recommend::choice::weight;
use crate::recommend::known::Known;
use crate::recommend::python;
use crate::reference::ImageReference;

/// The oldest Python that uv is installed for.
const OLDEST: &str = "3.8";

/// What kind of image a base is, the one that brings least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// One that brings its Python and nothing else.
    Language,
    /// An operating system.
    System,
    /// A CUDA base image.
    Cuda,
    /// One that brings a framework.
    Framework,
    /// One that was named with its tag.
    Given,
}

/// One base image.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) reference: String,
    pub(super) kind: Kind,
    /// Its Python, where the tables tell it.
    pub(super) python: Option<&'static str>,
    /// Whether Python has to be installed first.
    pub(super) bare: bool,
    /// Whether that Python is none of its own, so that another tool brings it.
    pub(super) fetched: bool,
    /// Its CUDA, of a CUDA base image.
    pub(super) cuda: Option<CudaVersion>,
    /// The same with more libraries in it, to be tried where this one has not enough.
    pub(super) larger: Option<String>,
    /// A CUDA base image of an older release of the same major, which asks for less of the driver, to be tried where this
    /// one is refused.
    pub(super) older: Option<Box<Self>>,
}

/// Which bases are wished for.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// Any.
    Any,
    /// Those of one repository.
    Repository(String),
    /// This one.
    Exactly(ImageReference),
}

impl Wanted {
    /// Reads a wish; the reason where the tables know no image like that.
    pub(super) fn read(text: Option<&str>, knowledge: Knowledge) -> Result<Self, String> {
        let Some(text) = text else { return Ok(Self::Any) };
        let reference =
            ImageReference::parse(text).map_err(|error| format!("`{text}` is not an image reference: {error}"))?;
        if reference.tag().is_some() || reference.digest().is_some() {
            return Ok(Self::Exactly(reference));
        }
        let repository = reference.familiar();
        let known = repositories(knowledge);
        if known.iter().any(|one| *one == repository) {
            return Ok(Self::Repository(repository));
        }
        let hint = nearest(&repository, known.iter().copied());
        let hint =
            hint.map_or_else(|| format!("it has {}", known.join(", ")), |meant| format!("did you mean `{meant}`?"));
        Err(format!("the compatibility database of {} has no tags of `{repository}`; {hint}", knowledge.newest_date()))
    }

    fn repository(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Repository(own) => own == name,
            Self::Exactly(_) => false,
        }
    }
}

/// The repositories of which the tables know tags.
fn repositories(knowledge: Knowledge) -> Vec<&'static str> {
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

/// What bases are chosen by.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) python: Option<&'a str>,
    pub(super) archs: &'a [String],
    pub(super) known: &'a Known,
    pub(super) knowledge: Knowledge,
}

impl Ground<'_> {
    /// Every base for what is chosen.
    pub(super) fn bases(self, choices: &[&Choice]) -> Vec<Base> {
        if let Some(row) = choices.iter().find_map(|choice| choice.within) {
            let reference = format!("{}:{}", row.repository, row.tag);
            // Which Python it has is not in the tables: one that all of it has wheels for it must be able to have.
            let alone = choices.len() == 1 || self.some_python(choices);
            let fits = alone && self.wanted.repository(row.repository) && self.python.is_none();
            let built = row.arches.is_empty() || self.archs.iter().all(|arch| row.arches.contains(&arch.as_str()));
            let base = Base {
                reference,
                kind: Kind::Framework,
                python: None,
                bare: false,
                fetched: false,
                cuda: None,
                larger: None,
                older: None,
            };
            return if fits && built { vec![base] } else { Vec::new() };
        }
        if let Wanted::Exactly(reference) = self.wanted {
            return self.given(reference, choices).into_iter().collect();
        }
        let mut found = if choices.is_empty() { Vec::new() } else { self.plain(choices) };
        found.extend(self.cuda(choices));
        found.extend(self.months(choices));
        found.extend(self.tags(choices));
        // Of what nobody knows which libraries it looks for, a base with all of them is the only one to be named.
        if matches!(self.wanted, Wanted::Any) && self.untold(choices) {
            found.retain(|base| base.kind == Kind::Cuda);
        }
        found
    }

    /// Each month of a framework container that was asked for, of those that are known to have one. It brings its own
    /// framework, and which Python is not in the tables.
    fn months(self, choices: &[&Choice]) -> Vec<Base> {
        let Wanted::Repository(repository) = self.wanted else { return Vec::new() };
        let tag = self.knowledge.base_family(repository).and_then(|family| family.month_tag);
        let (Some(tag), true, None) = (tag, choices.is_empty(), self.python) else { return Vec::new() };
        let known = self.knowledge.ngc_releases().iter().filter(|row| row.torch.is_some());
        let base = |row: &NgcReleaseRow| Base {
            reference: format!("{repository}:{}", tag.replace("{month}", row.month)),
            kind: Kind::Framework,
            python: None,
            bare: false,
            fetched: false,
            cuda: Some(row.cuda),
            larger: None,
            older: None,
        };
        known.map(base).collect()
    }

    /// Each image of a framework image's repository that was asked for; of those that differ in their flavour alone, the
    /// smallest. Which Python it has is not in the tables.
    fn tags(self, choices: &[&Choice]) -> Vec<Base> {
        let (Wanted::Repository(repository), true, None) = (self.wanted, choices.is_empty(), self.python) else {
            return Vec::new();
        };
        let mut kept: Vec<&'static FrameworkImageRow> = Vec::new();
        for row in self.knowledge.framework_images().iter().filter(|row| row.repository == *repository) {
            let first = row.tag.split('-').next().unwrap_or(row.tag);
            let built = row.arches.is_empty() || self.archs.iter().all(|arch| row.arches.contains(&arch.as_str()));
            if !built || self.knowledge.withdrawn(row.repository, first).is_some() {
                continue;
            }
            let alike = |own: &FrameworkImageRow| {
                own.tag.split('-').next() == Some(first)
                    && (own.cuda, own.torch, own.brings) == (row.cuda, row.torch, row.brings)
            };
            match kept.iter_mut().find(|own| alike(own)) {
                Some(own) if weight(row.tag) < weight(own.tag) => *own = row,
                Some(_) => {}
                None => kept.push(row),
            }
        }
        let base = |row: &FrameworkImageRow| Base {
            reference: format!("{repository}:{}", row.tag),
            kind: Kind::Framework,
            python: None,
            bare: false,
            fetched: false,
            cuda: Some(row.cuda),
            larger: None,
            older: None,
        };
        kept.into_iter().map(base).collect()
    }

    fn untold(self, choices: &[&Choice]) -> bool {
        choices.iter().any(|choice| choice.libraries(self.knowledge) == Libraries::Untold)
    }

    fn takes(self, choices: &[&Choice], python: &str) -> bool {
        self.python.is_none_or(|wished| wished == python) && python::fits(choices, python, self.known)
    }

    /// Whether some Python that an image has can have all that is chosen.
    pub(super) fn some_python(self, choices: &[&Choice]) -> bool {
        python::all(self.knowledge).any(|own| python::all_have(choices, own, self.known))
    }

    /// Language images and operating systems; these only where they are asked for.
    fn plain(self, choices: &[&Choice]) -> Vec<Base> {
        let rows = self.knowledge.image_pythons().iter();
        let numbered = rows.filter(|row| row.version.starts_with(|c: char| c.is_ascii_digit()));
        let (language, system): (Vec<&ImagePythonRow>, Vec<&ImagePythonRow>) = numbered
            .filter(|row| self.knowledge.plain_image(row.name).is_some() && self.takes(choices, row.python))
            .partition(|row| row.version == row.python);
        let mut found = Vec::new();
        let of_language = language.iter().filter(|row| self.wanted.repository(row.name));
        if let Some(python) = python::middle(of_language.clone().map(|row| row.python).collect())
            && let Some(row) = of_language.clone().find(|row| row.python == python)
        {
            let (reference, kind) = (format!("{}:{}-slim", row.name, row.version), Kind::Language);
            found.push(Base {
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
        let asked = |name: &str| matches!(self.wanted, Wanted::Repository(own) if own == name);
        let debian = |name: &str| self.knowledge.operating_system(name, "").is_some_and(|system| system.debian);
        let systems = system.iter().filter(|row| asked(row.name) && debian(row.name));
        if let Some(row) = systems.max_by(|one, other| by_number(one.version, other.version)) {
            let (reference, kind) = (format!("{}:{}", row.name, row.version), Kind::System);
            found.push(Base {
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

    /// CUDA base images of the CUDA of what is chosen, the newest patch of each minor.
    fn cuda(self, choices: &[&Choice]) -> Vec<Base> {
        let knowledge = self.knowledge;
        let Some(repository) = knowledge.cuda_repositories().into_iter().find(|name| self.wanted.repository(name))
        else {
            return Vec::new();
        };
        let wished = choices.iter().find_map(|choice| choice.cuda);
        let goes = |cuda: CudaVersion| match wished {
            None => choices.is_empty(),
            Some(own) if own.0.len() > 1 => own.release() == cuda.release(),
            // Of a major alone the newest minor: it has every symbol of those before it.
            Some(own) => own.major() == cuda.major() && cuda.release() == newest_of(own.major(), knowledge),
        };
        let kept = self.newest_patches(repository, goes);
        let older = wished.and_then(|wished| self.oldest(repository, wished, choices)).map(Box::new);
        let with_older = |base: Base| Base { older: older.clone().filter(|older| older.cuda < base.cuda), ..base };
        let of_row = |(version, row)| self.of_row(repository, version, row, choices).map(with_older);
        kept.into_iter().filter_map(of_row).collect()
    }

    /// The base image of the oldest CUDA of a major: what is installed brings its own libraries, and runs on it as well.
    fn oldest(self, repository: &str, wished: CudaVersion, choices: &[&Choice]) -> Option<Base> {
        if self.untold(choices) {
            return None;
        }
        let mut all = self.newest_patches(repository, |cuda| cuda.major() == wished.major());
        all.sort_by_key(|(cuda, _)| *cuda);
        all.into_iter().find_map(|(cuda, row)| self.of_row(repository, cuda, row, choices))
    }

    /// The newest patch of each CUDA release that has base images.
    fn newest_patches(
        self,
        repository: &str,
        goes: impl Fn(CudaVersion) -> bool,
    ) -> Vec<(CudaVersion, &'static CudaImageRow)> {
        let knowledge = self.knowledge;
        let mut kept: Vec<(CudaVersion, &'static CudaImageRow)> = Vec::new();
        for row in knowledge.cuda_images().iter().filter(|row| knowledge.withdrawn(repository, row.version).is_none()) {
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

    fn of_row(
        self,
        repository: &str,
        cuda: CudaVersion,
        row: &'static CudaImageRow,
        choices: &[&Choice],
    ) -> Option<Base> {
        let knowledge = self.knowledge;
        let built = |os: &str| {
            self.archs.iter().all(|arch| knowledge.cuda_recipes_of(row.version).any(|recipe| recipe.is_for(os, arch)))
        };
        let debian = |os: &str| knowledge.operating_system("", os).is_some_and(|system| system.debian);
        let python = |os: &str| system_python(os, knowledge);
        let fits = |os: &str| {
            debian(os) && built(os) && (choices.is_empty() || python(os).is_some_and(|own| self.takes(choices, own)))
        };
        let newest = |fits: &dyn Fn(&str) -> bool| {
            row.os.iter().copied().filter(|os| fits(os)).max_by(|one, other| by_number(one, other))
        };
        let (os, python, fetched) = if let Some(os) = newest(&fits) {
            (os, python(os), false)
        } else {
            let fetched = self.fetched(choices)?;
            let takes_it = |os: &str| debian(os) && built(os) && python(os).is_some_and(brings_others);
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
            Some(larger) if self.untold(choices) => (larger, None),
            larger => (base.or(runtime)?, larger),
        };
        Some(Base {
            reference,
            kind: Kind::Cuda,
            python,
            bare: !choices.is_empty(),
            fetched,
            cuda: Some(cuda),
            larger,
            older: None,
        })
    }

    /// The Python that is wished for, where another tool can bring it to a base that has none: one that is known, with
    /// wheels of all that is chosen.
    fn fetched(self, choices: &[&Choice]) -> Option<&'static str> {
        let wished = self.python.filter(|_| !choices.is_empty() && !matches!(self.wanted, Wanted::Any))?;
        let known = self.knowledge.image_pythons().iter().map(|row| row.python).find(|own| *own == wished)?;
        python::fits(choices, known, self.known).then_some(known)
    }

    /// The image that was named, where its Python is not known to lack a wheel.
    fn given(self, reference: &ImageReference, choices: &[&Choice]) -> Option<Base> {
        let (repository, tag) = (reference.familiar(), reference.tag().unwrap_or_default());
        if !choices.is_empty() && (self.barrier(reference).is_some() || !self.some_python(choices)) {
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
        if let Some(python) = python.as_mut().filter(|_| !choices.is_empty())
            && !self.takes(choices, python)
        {
            if own.is_some_and(|row| row.version == row.python) || !brings_others(python) {
                return None;
            }
            (*python, fetched) = (self.fetched(choices)?, true);
        }
        let language = own.is_some_and(|row| row.version == row.python);
        let framework = self.knowledge.framework_images().iter().any(|row| row.repository == repository);
        let alone = || own.is_none() && self.brings_none(&repository);
        let bare = !choices.is_empty() && (python.is_some() || alone()) && !language && !framework;
        let reference = reference.to_string();
        Some(Base { reference, kind: Kind::Given, python, bare, fetched, cuda: None, larger: None, older: None })
    }
}

impl Ground<'_> {
    /// Whether the images of a repository are an operating system, with or without CUDA, and nothing else.
    fn brings_none(self, repository: &str) -> bool {
        let knowledge = self.knowledge;
        let system = knowledge.operating_systems().iter().any(|row| row.name == repository);
        let mut languages = knowledge.image_pythons().iter().filter(|row| row.version == row.python);
        let plain = system && knowledge.plain_image(repository).is_some();
        knowledge.is_cuda_repository(repository) || plain && !languages.any(|row| row.name == repository)
    }

    /// Why nothing can be installed by pip on an image that was named.
    pub(super) fn barrier(self, reference: &ImageReference) -> Option<String> {
        let tag = reference.tag().unwrap_or_default();
        let system = self.knowledge.operating_system(&reference.familiar(), tag)?;
        if system.musl {
            return Some(format!("{} uses the C library musl, and no wheel supports it", system.name));
        }
        let untold = self.brings_none(&reference.familiar())
            && python_commands(&reference.to_string(), self.knowledge).is_empty();
        untold.then(|| format!("the compatibility database does not list how to install Python on {}", system.name))
    }
}

/// Whether the tool that brings other Pythons runs on a Python.
fn brings_others(python: &str) -> bool {
    by_number(OLDEST, python).is_le()
}

/// The newest CUDA of a major that has base images.
fn newest_of(major: u32, knowledge: Knowledge) -> (u32, u32) {
    let all = knowledge.cuda_images().iter().filter_map(|row| row.version.parse::<CudaVersion>().ok());
    all.filter(|cuda| cuda.major() == major).map(CudaVersion::release).max().unwrap_or_default()
}

/// The Python that an operating system as a tag writes it installs first: of `ubuntu22.04`.
fn system_python(os: &str, knowledge: Knowledge) -> Option<&'static str> {
    let mut rows = knowledge.image_pythons().iter();
    rows.find(|row| os.strip_prefix(row.name).is_some_and(|rest| rest == row.version)).map(|row| row.python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_repository_of_the_tables_or_a_whole_reference() {
        let told = |text: &str| Wanted::read(Some(text), Knowledge::built_in());
        assert!(matches!(told("nvidia/cuda"), Ok(Wanted::Repository(name)) if name == "nvidia/cuda"));
        assert!(matches!(told("python:3.11-slim"), Ok(Wanted::Exactly(_))));
        for (wrong, hint) in [
            ("nvidia/cudaa", "did you mean `nvidia/cuda`"),
            ("alpine", "it has "),
            ("A B", "is not an image reference"),
        ] {
            let error = told(wrong).err().unwrap_or_default();
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
