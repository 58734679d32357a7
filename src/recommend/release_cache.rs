//! Cache of table lookups on releases, which every combination repeats.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::install::range_contains;
use crate::knowledge::Knowledge;
use crate::recommend::release::CandidateRelease;
use crate::recommend::{python, release};

/// A version, the distribution with its GPU code, and a Python version.
type WheelKey = (&'static str, &'static str, String);

/// Cached table lookups on releases.
pub(super) struct ReleaseCache {
    pub(super) knowledge: Knowledge,
    /// The architectures of wheels, such as `amd64`.
    pub(super) archs: Vec<String>,
    /// By name and version.
    pins: RefCell<BTreeMap<String, BTreeMap<&'static str, Option<&'static str>>>>,
    /// By name.
    wheels: RefCell<BTreeMap<String, BTreeMap<WheelKey, Option<bool>>>>,
    /// By range and version.
    admitted: RefCell<BTreeMap<(&'static str, &'static str), bool>>,
}

impl ReleaseCache {
    /// Creates an empty cache.
    pub(super) fn new(archs: Vec<String>, knowledge: Knowledge) -> Self {
        let (pins, wheels, admitted) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { knowledge, archs, pins, wheels, admitted }
    }

    /// Returns the `PyTorch` specifier that a release requires, if the tables list it.
    pub(super) fn torch_pin(&self, choice: &CandidateRelease) -> Option<&'static str> {
        let known = self.pins.borrow().get(&choice.name).and_then(|own| own.get(choice.version)).copied();
        known.unwrap_or_else(|| {
            let pin = release::torch_pin(&choice.name, choice.version, self.knowledge);
            self.pins.borrow_mut().entry(choice.name.clone()).or_default().insert(choice.version, pin);
            pin
        })
    }

    /// Whether a release has a wheel for a Python version; `None` if the tables do not list that.
    pub(super) fn has_wheel(&self, choice: &CandidateRelease, python: &str) -> Option<bool> {
        let wheel: WheelKey = (choice.version, choice.code, python.to_owned());
        let known = self.wheels.borrow().get(&choice.name).and_then(|own| own.get(&wheel)).copied();
        known.unwrap_or_else(|| {
            let has = python::has_wheel(choice, python, self);
            self.wheels.borrow_mut().entry(choice.name.clone()).or_default().insert(wheel, has);
            has
        })
    }

    /// Whether a specifier admits a version.
    pub(super) fn admits(&self, pin: &'static str, version: &'static str) -> bool {
        let known = self.admitted.borrow().get(&(pin, version)).copied();
        known.unwrap_or_else(|| {
            let admitted = range_contains(pin, version) == Some(true);
            self.admitted.borrow_mut().insert((pin, version), admitted);
            admitted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(name: &str, code: &'static str, version: &'static str) -> CandidateRelease {
        let (name, spec) = (name.to_owned(), format!("{name}=={version}"));
        CandidateRelease { name, code, version, build: None, spec, page: None, cuda: None, within: None }
    }

    #[test]
    fn what_is_asked_again_is_told_alike_and_of_no_other() {
        let known = ReleaseCache::new(vec!["amd64".to_owned()], Knowledge::built_in());
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
            let fresh = ReleaseCache::new(vec!["amd64".to_owned()], Knowledge::built_in());
            assert_eq!(
                known.torch_pin(one),
                release::torch_pin(&one.name, one.version, known.knowledge),
                "{}",
                one.spec
            );
            for python in ["3.8", "3.12", "3.13"] {
                let told = known.has_wheel(one, python);
                assert_eq!(told, python::has_wheel(one, python, &fresh), "{} {python}", one.spec);
            }
            for pin in ["==2.6.0", ">=2", "no range"] {
                assert_eq!(known.admits(pin, one.version), range_contains(pin, one.version) == Some(true), "{pin}");
            }
        }
    }
}
