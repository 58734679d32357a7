//! Evaluates the markers of lock files for every possible Python version.

use crate::install::marker::{MarkerEnvironment, evaluate_marker};
use crate::install::version_range::range_contains;
use crate::knowledge::Knowledge;

/// Whether a requirement of a lock file is installed, with the known Python or with every Python that the file
/// allows; `None` if they differ.
pub(super) fn evaluate_lock_marker(
    marker: &str,
    environment: MarkerEnvironment<'_>,
    requires: Option<&str>,
    knowledge: Knowledge,
) -> Option<bool> {
    let told = evaluate_marker(marker, environment);
    if told.is_some() || environment.python.is_some() {
        return told;
    }
    let pythons = possible_pythons(requires, knowledge);
    let mut all =
        pythons.iter().map(|python| evaluate_marker(marker, MarkerEnvironment { python: Some(python), ..environment }));
    let first = all.next()??;
    all.all(|one| one == Some(first)).then_some(first)
}

/// Returns the first and a late patch release of every possible Python version.
fn possible_pythons(requires: Option<&str>, knowledge: Knowledge) -> Vec<String> {
    let rows = knowledge.torch_pythons().iter().filter(|row| requires.is_some() || row.last.is_none());
    let patches = rows.flat_map(|row| [format!("{}.0", row.python), format!("{}.99", row.python)]);
    patches.filter(|python| requires.is_none_or(|range| range_contains(range, python) != Some(false))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::marker::TargetMachine;

    #[test]
    fn a_marker_holds_if_it_does_for_every_possible_python() {
        let open = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: None };
        let known = MarkerEnvironment { machine: TargetMachine::new("x86_64"), python: Some("3.9") };
        for (marker, requires, expected) in [
            ("python_version >= '3.8'", None, Some(true)),
            ("python_full_version >= '3.8.0'", None, Some(true)),
            ("python_version < '3.0'", None, Some(false)),
            ("python_version >= '3.12'", None, None),
            ("python_version >= '3.12'", Some("==3.12.*"), Some(true)),
            ("python_version < '3.12'", Some("==3.12.*"), Some(false)),
            ("python_version >= '3.10'", Some(">=3.10,<3.13"), Some(true)),
            ("python_version >= '3.11'", Some(">=3.10,<3.13"), None),
            ("python_full_version < '3.12.4'", Some("==3.12.*"), None),
            ("platform_release == '5'", Some("==3.12.*"), None),
            ("python_version >= '3.8'", Some("==1.0"), None),
            ("nonsense", None, None),
        ] {
            assert_eq!(
                evaluate_lock_marker(marker, open, requires, Knowledge::built_in()),
                expected,
                "{marker} {requires:?}"
            );
        }
        // The Python that is there decides, whatever the lock file is for.
        assert_eq!(
            evaluate_lock_marker("python_version >= '3.10'", known, Some(">=3.10"), Knowledge::built_in()),
            Some(false)
        );
    }
}
