use super::check_versions;
use crate::fleet::{GpuNameLookup, read_fleet};
use crate::knowledge::Knowledge;
use crate::text::source::{SourceId, SourceText};

/// Returns the position, message and help of the first error.
fn first_error(pool: &str) -> Result<(), String> {
    let text = format!("[[pool]]\nname = \"a\"\n{pool}");
    let source = SourceText::new("fleet.toml", text.as_str());
    let fleet = read_fleet(SourceId(7), &source, &|_| GpuNameLookup::Known).expect("a fleet that can be read");
    check_versions(&fleet, &source, Knowledge::built_in()).map_err(|errors| {
        let problem = errors.all()[0].clone();
        let help = problem.help.unwrap_or_default();
        format!("{} {}; {help}", source.position(problem.span.start), problem.message)
    })
}

#[test]
fn a_version_that_cannot_be_a_driver_is_an_error_with_a_suggestion() {
    let old = "is not a driver version: the oldest driver branch is 340";
    for (pool, expected) in [
        (
            "driver = \"12.4\"",
            "3:10 `12.4` is not a driver version; is this `driver_cuda`? CUDA 12.4 is included in driver branch 550"
                .to_owned(),
        ),
        (
            "driver = \"11.8\"",
            "3:10 `11.8` is not a driver version; is this `driver_cuda`? CUDA 11.8 is included in driver branch 520"
                .to_owned(),
        ),
        ("driver = \"12\"", "3:10 `12` is not a driver version; is this `driver_cuda`?".to_owned()),
        ("driver = \"14.0\"", "3:10 `14.0` is not a driver version; is this `driver_cuda`?".to_owned()),
        ("driver = \"53\"", format!("3:10 `53` {old}; did you mean `530` or `535`?")),
        ("driver = \"57.01\"", format!("3:10 `57.01` {old}; did you mean `570` or `575`?")),
        ("driver = \"304\"", format!("3:10 `304` {old}; did you mean `340`?")),
        ("driver = \"1\"", format!("3:10 `1` {old}; did you mean `340`?")),
        ("driver = \"339.99\"", format!("3:10 `339.99` {old}; did you mean `340`?")),
        ("driver = \"331\"", format!("3:10 `331` {old}; did you mean `340`?")),
        ("driver = \"100\"", format!("3:10 `100` {old}; did you mean `340`?")),
        ("driver = \"15.0\"", format!("3:10 `15.0` {old}; did you mean `340`?")),
        ("driver = \"5.0\"", format!("3:10 `5.0` {old}; did you mean `340`?")),
        ("driver = \"5.35\"", format!("3:10 `5.35` {old}; did you mean `535`?")),
        (
            "driver = \"5350\"",
            "3:10 `5350` is not a driver version: a branch is shorter, and a version has dots; did you mean `535`?"
                .to_owned(),
        ),
        (
            "driver = \"535161\"",
            "3:10 `535161` is not a driver version: a branch is shorter, and a version has dots; did you mean \
             `535.161` or the branch `535`?"
                .to_owned(),
        ),
        (
            "driver = \"9990\"",
            "3:10 `9990` is not a driver version: a branch is shorter, and a version has dots; ".to_owned(),
        ),
        ("driver = \">=53,<56\"", format!("3:10 `53` {old}; did you mean `530` or `535`?")),
        (
            "driver = [\"535\", \"12.4\"]",
            "3:18 `12.4` is not a driver version; is this `driver_cuda`? CUDA 12.4 is included in driver branch 550"
                .to_owned(),
        ),
        ("wsl = true\ndriver = \"53\"", format!("4:10 `53` {old}; did you mean `530` or `535`?")),
        ("gpu = \"A100\"\ndriver = \"36.4.3\"", format!("4:10 `36.4.3` {old}; did you mean `367`?")),
        ("driver_cuda = \"550.54\"", "3:15 `550.54` is not a CUDA version; is this `driver`?".to_owned()),
    ] {
        assert_eq!(first_error(pool), Err(expected), "{pool}");
    }
    for (pool, expected) in [
        ("toolkit = \"12.4\"", "`12.4` is not a version of the NVIDIA Container Toolkit; is this `driver_cuda`?"),
        ("toolkit = \"535\"", "`535` is not a version of the NVIDIA Container Toolkit; is this `driver`?"),
    ] {
        let error = first_error(pool).expect_err(pool);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn versions_that_may_be_are_no_errors() {
    for pool in [
        "driver = \"535\"",
        "driver = \"340.108\"",
        "driver = \"550.54.15\"",
        "driver = \">=535,<536\"",
        "driver = \"<536\"",
        // Newer than the compatibility database: unknown.
        "driver = \"999.10\"",
        "driver = \"999\"",
        "driver = \"1000.10\"",
        // Between two known branches.
        "driver = \"541.10\"",
        // Windows has numbers of its own.
        "wsl = true\ndriver = \"531.61\"",
        "wsl = true\ndriver = \"451.48\"",
        // Modules have the numbers of Jetson Linux.
        "gpu = \"Jetson AGX Orin\"\ndriver = \"36.4.3\"",
        "driver = \"35\"",
        "driver_cuda = \"12.4\"",
        "driver_cuda = \"99.0\"",
        "toolkit = \"1.17.8\"",
        "toolkit = \"2.0\"",
    ] {
        assert_eq!(first_error(pool), Ok(()), "{pool}");
    }
}
