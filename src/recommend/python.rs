//! Python versions that have wheels of the chosen releases, as far as the tables list them.

use crate::knowledge::Knowledge;
use crate::recommend::release::{CandidateRelease, compare_versions};
use crate::recommend::release_cache::ReleaseCache;

/// The architecture of the main table of wheels and Python versions.
const DEFAULT_WHEEL_ARCH: &str = "amd64";

/// Whether a release has a wheel for a Python version on all architectures; `None` if the tables do not list that.
pub(super) fn has_wheel(choice: &CandidateRelease, python: &str, known: &ReleaseCache) -> Option<bool> {
    let knowledge = known.knowledge;
    let within = |first: &str, last: Option<&str>, version: &str| {
        compare_versions(version, first).is_ge() && last.is_none_or(|last| compare_versions(version, last).is_le())
    };
    let of_built = |version: &str| {
        let mut rows = knowledge.torch_pythons().iter().filter(|row| row.python == python);
        rows.any(|row| within(row.first, row.last, version))
    };
    if knowledge.has_variants(choice.code) {
        return Some(of_built(choice.version));
    }
    // What pins a release of that framework has no more Pythons than it.
    let pinned = known.torch_pin(choice).and_then(|pin| pin.strip_prefix("=="));
    if has_unmet_extra(choice, python, knowledge) {
        return Some(false);
    }
    if pinned.is_some_and(|version| !version.contains(['*', ',']) && !of_built(version)) {
        return Some(false);
    }
    let listed = || knowledge.wheel_pythons_of(choice.code);
    let others = || knowledge.platform_wheels_of(choice.code);
    listed().map(|_| ()).chain(others().map(|_| ())).next()?;
    let has = |arch: &str| {
        let mut own = listed().filter(|row| arch == DEFAULT_WHEEL_ARCH && row.python == python);
        let mut more = others().filter(|row| row.arch == arch && row.python == python);
        own.any(|row| within(row.first, row.last, choice.version))
            || more.any(|row| within(row.first, row.last, choice.version))
    };
    Some(known.archs.iter().all(|arch| has(arch)))
}

/// Whether a requested extra installs nothing for a Python version.
fn has_unmet_extra(choice: &CandidateRelease, python: &str, knowledge: Knowledge) -> bool {
    let extras = choice.spec.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(extras, _)| extras);
    let mut extras = extras.into_iter().flat_map(|extras| extras.split(','));
    extras.any(|extra| knowledge.is_unusable_extra(&choice.name, extra, choice.version, Some(python)))
}

/// Whether the tables list a wheel for a Python version of every release that no image includes.
pub(super) fn has_all_wheels(choices: &[&CandidateRelease], python: &str, known: &ReleaseCache) -> bool {
    let has = |choice: &&CandidateRelease| known.has_wheel(choice, python) == Some(true);
    choices.iter().all(|choice| choice.within.is_some() || has(choice))
}

/// Whether all wheels exist for a Python version, and no release in an image is known to lack one.
pub(super) fn supports_all_releases(choices: &[&CandidateRelease], python: &str, known: &ReleaseCache) -> bool {
    let brought = |choice: &&CandidateRelease| choice.within.is_some();
    let against = |choice: &&CandidateRelease| known.has_wheel(choice, python) == Some(false);
    has_all_wheels(choices, python, known) && !choices.iter().any(|choice| brought(choice) && against(choice))
}

/// Returns the Python versions of images in the tables.
pub(super) fn image_pythons(knowledge: Knowledge) -> impl Iterator<Item = &'static str> {
    knowledge.image_pythons().iter().map(|row| row.python)
}

/// Whether a release has a wheel for the Python version of some image, on all architectures.
pub(super) fn has_any_wheel(choice: &CandidateRelease, known: &ReleaseCache) -> bool {
    choice.within.is_some() || image_pythons(known.knowledge).any(|python| has_all_wheels(&[choice], python, known))
}

/// Returns the middle one of several versions, which is least likely to be too new or too old.
pub(super) fn middle_version(mut fitting: Vec<&str>) -> Option<&str> {
    fitting.sort_by(|one, other| compare_versions(one, other));
    fitting.dedup();
    fitting.get(fitting.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend::release::torch_pin;

    fn choice(code: &'static str, version: &'static str) -> CandidateRelease {
        let (name, spec) = (code.to_owned(), format!("{code}=={version}"));
        CandidateRelease { name, code, version, build: None, spec, page: None, cuda: None, within: None }
    }

    #[test]
    fn wheels_are_those_of_the_tables() {
        let known = ReleaseCache::new(vec!["amd64".to_owned()], Knowledge::built_in());
        for (name, version, python, expected) in [
            ("torch", "2.6.0", "3.11", Some(true)),
            ("torch", "2.6.0", "3.8", Some(false)),
            ("torch", "1.13.1", "3.12", Some(false)),
            ("tensorflow", "2.18.0", "3.12", Some(true)),
            ("tensorflow", "2.18.0", "3.13", Some(false)),
            ("tensorflow", "1.15.5", "3.5", Some(false)),
            ("tensorflow", "1.15.0", "3.5", Some(true)),
            ("vllm", "0.8.3", "3.15", Some(false)),
            ("torchvision", "0.21.0", "3.11", Some(true)),
            ("torchvision", "0.3.0", "3.7", Some(true)),
            ("torchvision", "0.3.0", "3.11", Some(false)),
            ("torchvision", "0.2.2", "3.7", Some(false)),
            ("cupy-cuda11x", "13.6.0", "3.8", Some(false)),
            ("cupy-cuda12x", "13.6.0", "3.9", Some(true)),
            ("cupy-cuda12x", "13.5.0", "3.9", Some(false)),
            ("a", "1", "3.11", None),
        ] {
            let told = has_wheel(&choice(name, version), python, &known);
            assert_eq!(told, expected, "{name} {version} {python}");
        }
    }

    #[test]
    fn a_wheel_for_one_processor_is_none_for_another() {
        let both = vec!["amd64".to_owned(), "arm64".to_owned()];
        let [one, both] = [vec!["arm64".to_owned()], both].map(|archs| ReleaseCache::new(archs, Knowledge::built_in()));
        for (name, version, python, expected) in [
            ("paddlepaddle-gpu", "2.6.2", "3.10", false),
            ("onnxruntime-gpu", "1.18.1", "3.10", false),
            ("onnxruntime-gpu", "1.18.1", "3.11", false),
            ("onnxruntime-gpu", "1.31.1", "3.12", true),
            ("xformers", "0.0.30", "3.11", false),
            ("cupy-cuda12x", "14.2.0", "3.12", true),
            ("vllm", "0.8.3", "3.11", false),
            ("vllm", "0.11.0", "3.11", true),
        ] {
            for known in [&one, &both] {
                let told = has_wheel(&choice(name, version), python, known);
                assert_eq!(told, Some(expected), "{name} {version} {python} {:?}", known.archs);
            }
            assert_eq!(has_any_wheel(&choice(name, version), &one), expected, "{name} {version}");
        }
    }

    /// A release is found as it is written before any is read, which is the same where none is there twice.
    #[test]
    fn no_release_is_pinned_in_two_ways() {
        let rows = Knowledge::built_in().torch_pins();
        for (at, one) in rows.iter().enumerate().filter(|(_, row)| row.version != "*") {
            let mut others = rows.iter().skip(at + 1).filter(|row| row.distribution == one.distribution);
            let twice = others.find(|row| compare_versions(row.version, one.version).is_eq());
            assert!(twice.is_none(), "{} {}", one.distribution, one.version);
        }
        assert_eq!(torch_pin("vllm", "no version", Knowledge::built_in()), None);
        assert!(torch_pin("torchvision", "0.21.0", Knowledge::built_in()).is_some_and(|pin| pin.contains("2.6.0")));
        assert_eq!(
            torch_pin("torchvision", "0.21", Knowledge::built_in()),
            torch_pin("torchvision", "0.21.0", Knowledge::built_in())
        );
    }

    #[test]
    fn the_middle_one_is_taken() {
        assert_eq!(middle_version(vec!["3.10", "3.9", "3.11"]), Some("3.10"));
        assert_eq!(middle_version(vec!["3.10", "3.9"]), Some("3.9"));
        assert_eq!(middle_version(vec!["3.12"]), Some("3.12"));
        assert_eq!(middle_version(Vec::new()), None);
    }
}
