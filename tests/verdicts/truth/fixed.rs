//! What helped, against what is offered: the classes of `resolutions.toml` among the changes that the program finds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use imagelint::report::model;
use serde::Deserialize;
use tempfile::TempDir;

use crate::support::program::imagelint_program;
use crate::truth::data::Report;
use crate::truth::mapper;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolutions {
    resolution: Vec<Resolution>,
    elsewhere: Vec<Elsewhere>,
}

/// What helped in one report.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resolution {
    pub(crate) id: String,
    pub(crate) class: Vec<String>,
    pub(crate) helped: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Elsewhere {
    id: String,
    helped: String,
}

/// Every resolution; panics where a report is there twice or nothing is said of it.
pub(crate) fn resolutions() -> Vec<Resolution> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts/truth/resolutions.toml");
    let read: Resolutions = toml::from_str(&fs::read_to_string(path).expect("readable")).expect("TOML");
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    let elsewhere = read.elsewhere.iter().map(|one| (one.id.as_str(), one.helped.as_str()));
    for (id, helped) in read.resolution.iter().map(|one| (one.id.as_str(), one.helped.as_str())).chain(elsewhere) {
        assert!(
            !helped.is_empty() && ids.insert(id, helped).is_none(),
            "{id} is there twice, or nothing is said of it"
        );
    }
    read.resolution
}

/// What the program says: whether it fails for certain, and the kinds of the changes offered, in the order of the list as
/// it is printed.
pub(crate) struct Offered {
    pub(crate) fate: String,
    pub(crate) kinds: Vec<String>,
}

impl Offered {
    /// Whether one of the classes is among the first so many changes of the list.
    pub(crate) fn is_among(&self, most: usize, classes: &[String]) -> bool {
        self.kinds.iter().take(most).any(|kind| classes.contains(kind))
    }

    /// Whether it is among the first so many kinds, however many changes of each there are.
    pub(crate) fn is_among_kinds(&self, most: usize, classes: &[String]) -> bool {
        let first = |(at, kind): &(usize, &String)| !self.kinds.iter().take(*at).any(|other| other == *kind);
        let mut kinds = self.kinds.iter().enumerate().filter(first).take(most);
        kinds.any(|(_, kind)| classes.contains(kind))
    }
}

/// Asks for the changes that cure the image of a report.
pub(crate) fn offered(report: &Report) -> Offered {
    let folder = TempDir::new().expect("temporary folder");
    let (image, fleet) = (folder.path().join("report.image.toml"), folder.path().join("fleet.toml"));
    fs::write(&image, mapper::image(report)).expect("image written");
    fs::write(&fleet, mapper::fleet(report)).expect("fleet written");
    let mut command = Command::new(imagelint_program());
    command.arg("check").arg(&image).arg("--fleet").arg(&fleet);
    command.args(["--show-fixes", "--format", "json", "--fail-on", "never"]);
    let output = command.output().expect("program runs");
    let parsed: Result<model::Report, _> = serde_json::from_slice(&output.stdout);
    let Some(subject) = parsed.ok().and_then(|report| report.subjects.into_iter().next()) else {
        return Offered { fate: "error".to_owned(), kinds: Vec::new() };
    };
    let fate =
        subject.verdicts.iter().find(|verdict| verdict.component.is_none()).map(|verdict| verdict.fate.to_string());
    let fixes = subject.findings.into_iter().flat_map(|finding| finding.fixes);
    Offered { fate: fate.unwrap_or_default(), kinds: fixes.map(|fix| fix.kind.name().to_owned()).collect() }
}
