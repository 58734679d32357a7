use super::*;

/// Returns whether the runtime passes (`Some(true)`) or stops with error 35 (`Some(false)`); `None` if unknown.
fn is_driver_enough(runtime: &str, supported: &str, driver: Option<&str>) -> Option<bool> {
    let cuda = |text: &str| text.parse().expect("a CUDA version");
    let driver = driver.map(|text| text.parse().expect("a driver"));
    match compare_driver(Knowledge::built_in(), cuda(runtime), cuda(supported), driver).0 {
        StepResult::Passes(_) => Some(true),
        StepResult::Stops(failure) => {
            assert_eq!(failure.codes().certain, Some(35));
            Some(false)
        }
        _ => None,
    }
}

#[test]
fn full_driver_versions_are_compared_with_the_minimum() {
    for (runtime, supported, driver, expected) in [
        ("11.0", "11.0", "450.36.06", true),
        ("11.1", "11.0", "450.51.06", false),
        ("11.8", "11.0", "450.80.02", true),
        ("12.0", "12.0", "525.53", true),
        ("12.9", "12.0", "525.60.13", true),
        ("12.0", "11.8", "520.61.05", false),
        ("13.0", "12.9", "575.64.05", false),
        ("13.4", "13.0", "580.65.06", true),
        ("10.2", "10.1", "418.67", false),
        ("10.1", "10.1", "418.39", true),
        ("9.2", "13.0", "580.65.06", true),
        ("12.1", "11.4", "525.60.13", false),
        // Newer than the tables, and the driver is too old for all of its major.
        ("13.99", "12.9", "575.64.05", false),
        ("13.99", "11.4", "470.57.02", false),
        // Before minor version compatibility the release of the driver counts, too.
        ("8.0.61", "8.0", "367.57", false),
        ("8.0.61", "8.0", "375.20", false),
        ("8.0.61", "8.0", "375.26", true),
        ("8.0.44", "8.0", "367.48", true),
        ("8.0.44", "8.0", "367.57", true),
        ("8.0", "8.0", "367.35", false),
        ("8.0", "8.0", "375.26", true),
        ("9.0.176", "9.0", "384.59", false),
        ("9.0", "9.0", "384.81", true),
        // The driver in the installer is enough, although the release notes name a newer one.
        ("9.1.85", "9.1", "387.26", true),
        ("9.2.88", "9.2", "396.26", true),
        ("9.2.148", "9.2", "396.26", false),
        ("10.1.243", "10.1", "418.39", true),
        ("10.2.89", "10.2", "440.31", false),
        ("10.2.89", "10.2", "440.33.01", true),
        ("10.2", "10.2", "440.64.00", true),
        // A driver that was ahead of its branch, and the rest of that branch.
        ("10.1.243", "10.2", "430.26", true),
        ("10.2.89", "10.1", "430.50", false),
        // A driver of a later release is newer, whatever its number.
        ("8.0.61", "9.0", "384.59", true),
        // Of which the major alone is known.
        ("12", "12.0", "525.60.13", true),
        ("12", "13.0", "580.65.06", true),
        ("12", "11.4", "470.223.02", false),
        ("11", "12.2", "535.54.03", true),
        ("10", "10.2", "440.33.01", true),
        ("10", "9.2", "396.26", false),
        // The driver's own word.
        ("13.99", "13.99", "9999.1", true),
    ] {
        assert_eq!(is_driver_enough(runtime, supported, Some(driver)), Some(expected), "{runtime} on {driver}");
    }
}

/// The release notes name 525.60.13, the compatibility guide the whole branch.
#[test]
fn driver_on_which_documents_differ_is_unknown() {
    for (runtime, supported, driver) in [
        ("12.1", "12.0", "525.53"),
        ("12.9", "12.0", "525.60.11"),
        ("12", "12.0", "525.60.11"),
        ("10", "10.1", "418.39"),
        // It reports CUDA 10.2, for which the release notes name 440.33.
        ("10.2.89", "10.2", "430.26"),
        ("10.2", "10.2", "430.14"),
    ] {
        assert_eq!(is_driver_enough(runtime, supported, Some(driver)), None, "{runtime} on {driver}");
    }
}

/// CUDA 8.0 and 9.2 have two toolkits each: one accepts the driver, the other does not.
#[test]
fn release_with_several_toolkits_is_unknown_between_their_drivers() {
    for (runtime, supported, driver) in
        [("8.0", "8.0", "367.48"), ("8.0", "8.0", "367.57"), ("8.0", "8.0", "375.20"), ("9.2", "9.2", "396.26")]
    {
        assert_eq!(is_driver_enough(runtime, supported, Some(driver)), None, "{runtime} on {driver}");
    }
    for (runtime, supported) in [("8.0.61", "8.0"), ("10.2.89", "10.2")] {
        assert_eq!(
            is_driver_enough(runtime, supported, None),
            Some(true),
            "no release of the driver is known: {runtime}"
        );
    }
}

#[test]
fn major_newer_than_the_tables_needs_at_least_the_newest_known_minimum() {
    for (supported, driver, expected) in
        [("11.4", "470.57.02", Some(false)), ("12.9", "575.64.05", Some(false)), ("13.0", "580.65.06", None)]
    {
        assert_eq!(is_driver_enough("99.0", supported, Some(driver)), expected, "{driver}");
    }
}

/// Minor version compatibility is promised only for releases that exist.
#[test]
fn minor_newer_than_the_tables_is_unknown_if_its_major_is_enough() {
    for (supported, driver) in [("13.0", Some("580.65.06")), ("13.0", None), ("13.1", None), ("13.4", Some("615.10"))] {
        assert_eq!(is_driver_enough("13.99", supported, driver), None, "{supported} {driver:?}");
    }
    let knowledge = Knowledge::built_in();
    let newest = knowledge.toolkits().iter().map(|row| row.version).max().expect("a toolkit");
    assert!(
        !is_beyond_known_toolkits(knowledge, newest) && !is_beyond_known_toolkits(knowledge, knowledge.newest_cuda())
    );
    assert_eq!(is_driver_enough(&newest.to_string(), "13.0", Some("580.65.06")), Some(true), "{newest}");
}

#[test]
fn declared_cuda_version_decides_without_a_driver_version() {
    for (runtime, supported, expected) in [
        ("12.4", "12.2", Some(true)),
        ("12.4", "12.4", Some(true)),
        ("12.4", "11.8", Some(false)),
        ("10.2", "10.1", Some(false)),
        // The first release of a branch may be below the floor.
        ("11.4", "11.0", None),
        ("11.4", "11.1", Some(true)),
        ("99.0", "13.0", None),
    ] {
        assert_eq!(is_driver_enough(runtime, supported, None), expected, "{runtime} on a driver for {supported}");
    }
}
