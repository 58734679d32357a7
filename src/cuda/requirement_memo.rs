//! What long requirements came to, remembered: the same one is asked of many hosts, which seldom differ in what it asks.

use std::cell::RefCell;
use std::collections::BTreeMap;

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
    found: BTreeMap<RequirementHost, Outcome>,
}

impl Memo {
    fn outcome(&mut self, requirement: &str, host: &RequirementHost) -> Outcome {
        if self.requirement != requirement {
            requirement.clone_into(&mut self.requirement);
            self.found.clear();
        }
        if let Some(known) = self.found.get(host) {
            return *known;
        }
        let outcome = outcome_c(requirement, host);
        if self.found.len() < MOST {
            self.found.insert(host.clone(), outcome);
        }
        outcome
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
    use crate::cuda::host_values::HostValue;

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
}
