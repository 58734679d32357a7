//! Markers where the version of Python is not known: what holds for every one that it may be.

use crate::install::admits;
use crate::install::marker::Environment;
use crate::install::marker::holds;
use crate::knowledge::Knowledge;

/// Whether a requirement of a lock file is installed: by the Python that is known, else by every one that the lock
/// file is for; of a lock file that does not say, by every one that releases are made for. `None` where they differ.
pub(super) fn holds_in_lock(
    marker: &str,
    environment: Environment<'_>,
    requires: Option<&str>,
    knowledge: Knowledge,
) -> Option<bool> {
    let told = holds(marker, environment);
    if told.is_some() || environment.python.is_some() {
        return told;
    }
    let pythons = pythons(requires, knowledge);
    let mut all = pythons.iter().map(|python| holds(marker, Environment { python: Some(python), ..environment }));
    let first = all.next()??;
    all.all(|one| one == Some(first)).then_some(first)
}

/// The first and a late patch of every version that may be meant.
fn pythons(requires: Option<&str>, knowledge: Knowledge) -> Vec<String> {
    let rows = knowledge.torch_pythons().iter().filter(|row| requires.is_some() || row.last.is_none());
    let patches = rows.flat_map(|row| [format!("{}.0", row.python), format!("{}.99", row.python)]);
    patches.filter(|python| requires.is_none_or(|range| admits(range, python) != Some(false))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::marker::Machine;

    #[test]
    fn a_marker_holds_where_every_python_that_is_meant_meets_it() {
        let open = Environment { machine: Machine::new("x86_64"), python: None };
        let known = Environment { machine: Machine::new("x86_64"), python: Some("3.9") };
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
            assert_eq!(holds_in_lock(marker, open, requires, Knowledge::built_in()), expected, "{marker} {requires:?}");
        }
        // The Python that is there decides, whatever the lock file is for.
        assert_eq!(
            holds_in_lock("python_version >= '3.10'", known, Some(">=3.10"), Knowledge::built_in()),
            Some(false)
        );
    }
}
