//! Caches the outcomes of long requirements, because the same one is evaluated for many similar hosts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::cuda::host_values::{HostProperty, HostValue, RequirementHost};
use crate::cuda::requirement_cli::{RequirementOutcome, cli_requirement_outcome};

/// The length from which a requirement is cached; shorter ones are evaluated faster than looked up.
const MIN_CACHED_LENGTH: usize = 256;
/// The largest number of cached outcomes of one requirement.
const MAX_CACHED_OUTCOMES: usize = 4096;

/// The outcomes of the requirement that was evaluated last on this thread, by host.
#[derive(Debug, Default)]
struct RequirementCache {
    requirement: String,
    /// Properties that it does not test: hosts that differ only in these are equivalent.
    irrelevant_properties: Vec<HostProperty>,
    /// Outcomes by the tested properties.
    found: BTreeMap<RequirementHost, RequirementOutcome>,
}

impl RequirementCache {
    /// Returns the outcome from the cache, or evaluates and caches it.
    fn outcome(&mut self, requirement: &str, host: &RequirementHost) -> RequirementOutcome {
        if self.requirement != requirement {
            requirement.clone_into(&mut self.requirement);
            self.found.clear();
            let plain = requirement.to_ascii_lowercase();
            self.irrelevant_properties =
                HostProperty::ALL.into_iter().filter(|property| !plain.contains(property.as_str())).collect();
        }
        let key = self.relevant_values(host);
        if let Some(known) = self.found.get(&key) {
            return *known;
        }
        let outcome = cli_requirement_outcome(requirement, host);
        if self.found.len() < MAX_CACHED_OUTCOMES {
            self.found.insert(key, outcome);
        }
        outcome
    }

    /// Returns the host without the properties that the requirement does not mention.
    fn relevant_values(&self, host: &RequirementHost) -> RequirementHost {
        let of = |property, value: &HostValue| {
            if self.irrelevant_properties.contains(&property) { HostValue::NotVisible } else { value.clone() }
        };
        RequirementHost {
            cuda: of(HostProperty::Cuda, &host.cuda),
            driver: of(HostProperty::Driver, &host.driver),
            arch: of(HostProperty::Arch, &host.arch),
            brand: of(HostProperty::Brand, &host.brand),
        }
    }
}

thread_local! {
    static LAST: RefCell<RequirementCache> = RefCell::default();
}

/// Returns the outcome of one requirement like `cli_requirement_outcome`, from a cache if the requirement is long.
pub fn cached_cli_requirement_outcome(requirement: &str, host: &RequirementHost) -> RequirementOutcome {
    if requirement.len() < MIN_CACHED_LENGTH {
        return cli_requirement_outcome(requirement, host);
    }
    LAST.with(|last| {
        last.try_borrow_mut()
            .map_or_else(|_| cli_requirement_outcome(requirement, host), |mut memo| memo.outcome(requirement, host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_requirement_equals_the_evaluated_one() {
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
                        let expected = cli_requirement_outcome(&long(cuda), &host);
                        assert_eq!(cached_cli_requirement_outcome(&long(cuda), &host), expected, "{cuda} {host:?}");
                        outcomes.insert(format!("{expected:?}"));
                    }
                }
            }
        }
        assert!(outcomes.len() > 3, "{outcomes:?}");
    }

    #[test]
    fn requirement_cache_is_limited() {
        let requirement = "cuda>=99 ".repeat(40);
        let mut memo = RequirementCache::default();
        for at in 0..MAX_CACHED_OUTCOMES + 10 {
            let host = RequirementHost { cuda: HostValue::Known(at.to_string()), ..RequirementHost::default() };
            assert_eq!(memo.outcome(&requirement, &host), cli_requirement_outcome(&requirement, &host), "{at}");
        }
        assert_eq!(memo.found.len(), MAX_CACHED_OUTCOMES);
        memo.outcome("cuda>=1", &RequirementHost::default());
        assert_eq!(memo.found.len(), 1);
    }

    #[test]
    fn hosts_that_differ_in_irrelevant_properties_share_an_outcome() {
        let value = |text: &str| HostValue::Known(text.to_owned());
        for (requirement, kept) in [("cuda>=12.4 DRIVER<471", 1), ("cuda>=12.4 Arch>=8.0", 3), ("driver<1", 1)] {
            let mut memo = RequirementCache::default();
            for arch in ["7.5", "8.0", "9.0"] {
                let (cuda, driver) = (value("12.2"), value("535.1"));
                let host = RequirementHost { cuda, driver, arch: value(arch), brand: HostValue::Unknown };
                assert_eq!(
                    memo.outcome(requirement, &host),
                    cli_requirement_outcome(requirement, &host),
                    "{requirement} {arch}"
                );
            }
            assert_eq!(memo.found.len(), kept, "{requirement}");
        }
    }
}
