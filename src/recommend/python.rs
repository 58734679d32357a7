//! Which Pythons have a wheel of what is chosen, as far as the tables tell.

use crate::knowledge::Knowledge;
use crate::recommend::choice::Choice;
use crate::recommend::choice::newer;
use crate::recommend::known::Known;

/// The processor of which the tables of Pythons are.
const LISTED: &str = "amd64";

/// Whether there is a wheel of a choice for a Python on every one of some processors; none where the tables do not say.
pub(super) fn has_wheel(choice: &Choice, python: &str, known: &Known) -> Option<bool> {
    let knowledge = known.knowledge;
    let within = |first: &str, last: Option<&str>, version: &str| {
        newer(version, first).is_ge() && last.is_none_or(|last| newer(version, last).is_le())
    };
    let of_built = |version: &str| {
        let mut rows = knowledge.torch_pythons().iter().filter(|row| row.python == python);
        rows.any(|row| within(row.first, row.last, version))
    };
    if knowledge.is_built_framework(choice.code) {
        return Some(of_built(choice.version));
    }
    // What pins a release of that framework has no more Pythons than it.
    let pinned = known.pin(choice).and_then(|pin| pin.strip_prefix("=="));
    if is_unmet(choice, python, knowledge) {
        return Some(false);
    }
    if pinned.is_some_and(|version| !version.contains(['*', ',']) && !of_built(version)) {
        return Some(false);
    }
    let listed = || knowledge.wheel_pythons_of(choice.code);
    let others = || knowledge.platform_wheels_of(choice.code);
    listed().map(|_| ()).chain(others().map(|_| ())).next()?;
    let has = |arch: &str| {
        let mut own = listed().filter(|row| arch == LISTED && row.python == python);
        let mut more = others().filter(|row| row.arch == arch && row.python == python);
        own.any(|row| within(row.first, row.last, choice.version))
            || more.any(|row| within(row.first, row.last, choice.version))
    };
    Some(known.archs.iter().all(|arch| has(arch)))
}

/// Whether an extra of it is of no avail for a Python.
fn is_unmet(choice: &Choice, python: &str, knowledge: Knowledge) -> bool {
    let extras = choice.spec.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(extras, _)| extras);
    let mut extras = extras.into_iter().flat_map(|extras| extras.split(','));
    extras.any(|extra| knowledge.is_unmet(&choice.name, extra, choice.version, Some(python)))
}

/// Whether the tables have a wheel for a Python of all that is chosen and that no image brings.
pub(super) fn fits(choices: &[&Choice], python: &str, known: &Known) -> bool {
    let has = |choice: &&Choice| known.has_wheel(choice, python) == Some(true);
    choices.iter().all(|choice| choice.within.is_some() || has(choice))
}

/// The same where what an image brings may not speak against that Python either.
pub(super) fn all_have(choices: &[&Choice], python: &str, known: &Known) -> bool {
    let brought = |choice: &&Choice| choice.within.is_some();
    let against = |choice: &&Choice| known.has_wheel(choice, python) == Some(false);
    fits(choices, python, known) && !choices.iter().any(|choice| brought(choice) && against(choice))
}

/// The Pythons of which some image tells that it has them.
pub(super) fn all(knowledge: Knowledge) -> impl Iterator<Item = &'static str> {
    knowledge.image_pythons().iter().map(|row| row.python)
}

/// Whether some Python of an image has a wheel of it on every one of some processors.
pub(super) fn is_served(choice: &Choice, known: &Known) -> bool {
    choice.within.is_some() || all(known.knowledge).any(|python| fits(&[choice], python, known))
}

/// The Python to take of several that fit: the one in the middle, so that neither what is new nor what is old to it is
/// the first to lack a wheel.
pub(super) fn middle(mut fitting: Vec<&str>) -> Option<&str> {
    fitting.sort_by(|one, other| newer(one, other));
    fitting.dedup();
    fitting.get(fitting.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend::choice::pin;

    fn choice(code: &'static str, version: &'static str) -> Choice {
        let (name, spec) = (code.to_owned(), format!("{code}=={version}"));
        Choice { name, code, version, build: None, spec, page: None, cuda: None, within: None }
    }

    #[test]
    fn wheels_are_those_of_the_tables() {
        let known = Known::of(vec!["amd64".to_owned()], Knowledge::built_in());
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
        let [one, both] = [vec!["arm64".to_owned()], both].map(|archs| Known::of(archs, Knowledge::built_in()));
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
            assert_eq!(is_served(&choice(name, version), &one), expected, "{name} {version}");
        }
    }

    /// A release is found as it is written before any is read, which is the same where none is there twice.
    #[test]
    fn no_release_is_pinned_in_two_ways() {
        let rows = Knowledge::built_in().torch_pins();
        for (at, one) in rows.iter().enumerate().filter(|(_, row)| row.version != "*") {
            let mut others = rows.iter().skip(at + 1).filter(|row| row.distribution == one.distribution);
            let twice = others.find(|row| newer(row.version, one.version).is_eq());
            assert!(twice.is_none(), "{} {}", one.distribution, one.version);
        }
        assert_eq!(pin("vllm", "no version", Knowledge::built_in()), None);
        assert!(pin("torchvision", "0.21.0", Knowledge::built_in()).is_some_and(|pin| pin.contains("2.6.0")));
        assert_eq!(
            pin("torchvision", "0.21", Knowledge::built_in()),
            pin("torchvision", "0.21.0", Knowledge::built_in())
        );
    }

    #[test]
    fn the_middle_one_is_taken() {
        assert_eq!(middle(vec!["3.10", "3.9", "3.11"]), Some("3.10"));
        assert_eq!(middle(vec!["3.10", "3.9"]), Some("3.9"));
        assert_eq!(middle(vec!["3.12"]), Some("3.12"));
        assert_eq!(middle(Vec::new()), None);
    }
}
