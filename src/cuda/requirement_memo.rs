//! What long requirements came to, remembered: the same one is asked of many hosts, which seldom differ in what it asks.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::cuda::host_values::HostValue;
use crate::cuda::host_values::Property;
use crate::cuda::host_values::RequirementHost;
use crate::cuda::requirement::Outcome;
use crate::cuda::requirement::outcome_c;

/// Shorter ones, in bytes, are evaluated sooner than looked up.
const SHORT: usize = 256;
/// So many outcomes are kept of one requirement.
const MOST: usize = 4096;

/// What the requirement that was asked last on this thread came to, by host.
#[derive(Debug, Default)]
struct Memo {
    requirement: String,
    /// What it does not ask for: hosts that differ in these alone are alike.
    unasked: Vec<Property>,
    /// By what it asks for.
    found: BTreeMap<RequirementHost, Outcome>,
}

impl Memo {
    fn outcome(&mut self, requirement: &str, host: &RequirementHost) -> Outcome {
        if self.requirement != requirement {
            requirement.clone_into(&mut self.requirement);
            self.found.clear();
            let plain = requirement.to_ascii_lowercase();
            self.unasked = Property::ALL.into_iter().filter(|property| !plain.contains(property.as_str())).collect();
        }
        let asked = self.asked(host);
        if let Some(known) = self.found.get(&asked) {
            return *known;
        }
        let outcome = outcome_c(requirement, host);
        if self.found.len() < MOST {
            self.found.insert(asked, outcome);
        }
        outcome
    }

    fn asked(&self, host: &RequirementHost) -> RequirementHost {
        let of = |property, value: &HostValue| {
            if self.unasked.contains(&property) { HostValue::NotVisible } else { value.clone() }
        };
        RequirementHost {
            cuda: of(Property::Cuda, &host.cuda),
            driver: of(Property::Driver, &host.driver),
            arch: of(Property::Arch, &host.arch),
            brand: of(Property::Brand, &host.brand),
        }
    }
}

thread_local! {
    static LAST: RefCell<Memo> = RefCell::default();
}

/// The outcome of one variable as [`outcome_c`] tells it.
pub fn remembered_c(requirement: &str, host: &RequirementHost) -> Outcome {
    if requirement.len() < SHORT {
        return outcome_c(requirement, host);
    }
    LAST.with(|last| {
        last.try_borrow_mut().map_or_else(|_| outcome_c(requirement, host), |mut memo| memo.outcome(requirement, host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_is_evaluated() {
        let long = |cuda: &str| format!("cuda>={cuda}{}", " brand=tesla,driver>=470,driver<471".repeat(20));
        let value = |text: &str| HostValue::Known(text.to_owned());
        let mut outcomes = std::collections::BTreeSet::new();
        for _ in 0..2 {
            for cuda in ["12.4", "12.8", "12.x"] {
                for (known, driver) in [("12.2", "535.1"), ("12.2", "470.1"), ("12.6", "560.1"), ("13.0", "580.1")] {
                    for brand in [value("Tesla"), value("GeForce"), HostValue::Unknown, HostValue::NotVisible] {
                        let host = RequirementHost {
                            cuda: value(known),
                            driver: value(driver),
                            brand,
                            ..RequirementHost::default()
                        };
                        let expected = outcome_c(&long(cuda), &host);
                        assert_eq!(remembered_c(&long(cuda), &host), expected, "{cuda} {host:?}");
                        outcomes.insert(format!("{expected:?}"));
                    }
                }
            }
        }
        assert!(outcomes.len() > 3, "{outcomes:?}");
    }

    #[test]
    fn no_more_is_kept_than_has_room() {
        let requirement = "cuda>=99 ".repeat(40);
        let mut memo = Memo::default();
        for at in 0..MOST + 10 {
            let host = RequirementHost { cuda: HostValue::Known(at.to_string()), ..RequirementHost::default() };
            assert_eq!(memo.outcome(&requirement, &host), outcome_c(&requirement, &host), "{at}");
        }
        assert_eq!(memo.found.len(), MOST);
        memo.outcome("cuda>=1", &RequirementHost::default());
        assert_eq!(memo.found.len(), 1);
    }

    #[test]
    fn hosts_that_differ_in_what_is_not_asked_are_one() {
        let value = |text: &str| HostValue::Known(text.to_owned());
        for (requirement, kept) in [("cuda>=12.4 DRIVER<471", 1), ("cuda>=12.4 Arch>=8.0", 3), ("driver<1", 1)] {
            let mut memo = Memo::default();
            for arch in ["7.5", "8.0", "9.0"] {
                let (cuda, driver) = (value("12.2"), value("535.1"));
                let host = RequirementHost { cuda, driver, arch: value(arch), brand: HostValue::Unknown };
                assert_eq!(memo.outcome(requirement, &host), outcome_c(requirement, &host), "{requirement} {arch}");
            }
            assert_eq!(memo.found.len(), kept, "{requirement}");
        }
    }
}
