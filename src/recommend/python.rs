//! Which Pythons have a wheel of what is chosen, as far as the tables tell.

use crate::knowledge::Knowledge;
use crate::recommend::choice::Choice;
use crate::recommend::choice::newer;
use crate::recommend::known::Known;

/// Whether there is a wheel of a choice for a Python; none where the tables do not say.
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
    if pinned.is_some_and(|version| !version.contains(['*', ',']) && !of_built(version)) {
        return Some(false);
    }
    let rows = || knowledge.wheel_pythons().iter().filter(|row| row.distribution == choice.code);
    rows().next()?;
    Some(rows().any(|row| row.python == python && within(row.first, row.last, choice.version)))
}

/// Whether nothing in the tables speaks against a Python.
pub(super) fn fits(choices: &[&Choice], python: &str, known: &Known) -> bool {
    choices.iter().all(|choice| choice.within.is_some() || known.has_wheel(choice, python) != Some(false))
}

/// Whether nothing in the tables speaks against a Python, of what the base brings neither.
pub(super) fn all_have(choices: &[&Choice], python: &str, known: &Known) -> bool {
    choices.iter().all(|choice| known.has_wheel(choice, python) != Some(false))
}

/// The Python to take of several that fit: the one in the middle, so that neither what is new nor what is old to it is
/// the first to lack a wheel.
pub(super) fn middle(mut fitting: Vec<&str>) -> Option<&str> {
    fitting.sort_by(|one, other| newer(one, other));
    fitting.dedup();
    fitting.get(fitting.len().saturating_sub(1) / 2).copied()
}

/// Names of what is chosen of which the tables do not say for which Pythons it has wheels.
pub(super) fn untold(choices: &[&Choice], knowledge: Knowledge) -> Vec<String> {
    let known = Known::of(knowledge);
    let untold = |choice: &&&Choice| choice.within.is_none() && has_wheel(choice, "3", &known).is_none();
    choices.iter().filter(untold).map(|choice| choice.name.clone()).collect()
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
        let known = Known::of(Knowledge::built_in());
        for (name, version, python, expected) in [
            ("torch", "2.6.0", "3.11", Some(true)),
            ("torch", "2.6.0", "3.8", Some(false)),
            ("torch", "1.13.1", "3.12", Some(false)),
            ("tensorflow", "2.18.0", "3.12", Some(true)),
            ("tensorflow", "2.18.0", "3.13", Some(false)),
            ("tensorflow", "1.15.5", "3.5", Some(false)),
            ("tensorflow", "1.15.0", "3.5", Some(true)),
            ("vllm", "0.8.3", "3.15", Some(false)),
            ("cupy-cuda12x", "13.3.0", "3.11", None),
        ] {
            assert_eq!(has_wheel(&choice(name, version), python, &known), expected, "{name} {version} {python}");
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
