//! What the tables tell of releases, asked once of each: every combination asks the same again.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::install::admits;
use crate::knowledge::Knowledge;
use crate::recommend::choice;
use crate::recommend::choice::Choice;
use crate::recommend::python;

/// A version and a Python, and what decides for which Pythons it has wheels.
type Wheel = (&'static str, &'static str, String);

/// What was asked already.
pub(super) struct Known {
    pub(super) knowledge: Knowledge,
    /// The processors that wheels are for, `amd64`.
    pub(super) archs: Vec<String>,
    /// By name and version.
    pins: RefCell<BTreeMap<String, BTreeMap<&'static str, Option<&'static str>>>>,
    /// By name.
    wheels: RefCell<BTreeMap<String, BTreeMap<Wheel, Option<bool>>>>,
    /// By range and version.
    admitted: RefCell<BTreeMap<(&'static str, &'static str), bool>>,
}

impl Known {
    /// Nothing asked yet.
    pub(super) fn of(archs: Vec<String>, knowledge: Knowledge) -> Self {
        let (pins, wheels, admitted) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { knowledge, archs, pins, wheels, admitted }
    }

    /// Which release of the framework of several builds a choice wants, where the tables say it.
    pub(super) fn pin(&self, choice: &Choice) -> Option<&'static str> {
        let known = self.pins.borrow().get(&choice.name).and_then(|own| own.get(choice.version)).copied();
        known.unwrap_or_else(|| {
            let pin = choice::pin(&choice.name, choice.version, self.knowledge);
            self.pins.borrow_mut().entry(choice.name.clone()).or_default().insert(choice.version, pin);
            pin
        })
    }

    /// Whether there is a wheel of a choice for a Python; none where the tables do not say.
    pub(super) fn has_wheel(&self, choice: &Choice, python: &str) -> Option<bool> {
        let wheel: Wheel = (choice.version, choice.code, python.to_owned());
        let known = self.wheels.borrow().get(&choice.name).and_then(|own| own.get(&wheel)).copied();
        known.unwrap_or_else(|| {
            let has = python::has_wheel(choice, python, self);
            self.wheels.borrow_mut().entry(choice.name.clone()).or_default().insert(wheel, has);
            has
        })
    }

    /// Whether a pin admits a version.
    pub(super) fn admits(&self, pin: &'static str, version: &'static str) -> bool {
        let known = self.admitted.borrow().get(&(pin, version)).copied();
        known.unwrap_or_else(|| {
            let admitted = admits(pin, version) == Some(true);
            self.admitted.borrow_mut().insert((pin, version), admitted);
            admitted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(name: &str, code: &'static str, version: &'static str) -> Choice {
        let (name, spec) = (name.to_owned(), format!("{name}=={version}"));
        Choice { name, code, version, build: None, spec, page: None, cuda: None, within: None }
    }

    #[test]
    fn what_is_asked_again_is_told_alike_and_of_no_other() {
        let known = Known::of(vec!["amd64".to_owned()], Knowledge::built_in());
        let choices = [
            choice("torch", "torch", "2.6.0"),
            choice("torch", "torch", "1.13.1"),
            choice("torchvision", "torchvision", "0.21.0"),
            choice("torchvision", "torchvision", "0.20.0"),
            choice("tensorflow", "tensorflow", "2.18.0"),
            choice("no-such-thing", "tensorflow", "2.18.0"),
            choice("no-such-thing", "no-such-thing", "2.18.0"),
        ];
        // Twice, so that the second answer is the one that was kept.
        for one in choices.iter().chain(&choices) {
            let fresh = Known::of(vec!["amd64".to_owned()], Knowledge::built_in());
            assert_eq!(known.pin(one), choice::pin(&one.name, one.version, known.knowledge), "{}", one.spec);
            for python in ["3.8", "3.12", "3.13"] {
                let told = known.has_wheel(one, python);
                assert_eq!(told, python::has_wheel(one, python, &fresh), "{} {python}", one.spec);
            }
            for pin in ["==2.6.0", ">=2", "no range"] {
                assert_eq!(known.admits(pin, one.version), admits(pin, one.version) == Some(true), "{pin}");
            }
        }
    }
}
