//! A report whose files are called as they are from the root of the repository, wherever the program runs.

use crate::report::model::Finding;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::observed::Observed;

/// The same report for a reader who is not told where it was made: without facts, descriptions and texts.
#[must_use]
pub fn rooted(report: &Report, from_root: &dyn Fn(&str) -> String) -> Report {
    let place = |place: &Location| {
        let path = if place.region.is_some() { from_root(&place.path) } else { place.path.clone() };
        Location { path, ..place.clone() }
    };
    let finding =
        |finding: &Finding| Finding { locations: finding.locations.iter().map(place).collect(), ..finding.clone() };
    let subject = |subject: &Subject| Subject {
        name: from_root(&subject.name),
        findings: subject.findings.iter().map(finding).collect(),
        kind: subject.kind.clone(),
        as_of: subject.as_of.clone(),
        stage: subject.stage.clone(),
        platform: subject.platform.clone(),
        digest: subject.digest.clone(),
        images: subject.images.clone(),
        gpu_content: subject.gpu_content,
        inspected: subject.inspected.clone(),
        split: subject.split.clone(),
        about: subject.about.clone(),
        verdicts: subject.verdicts.clone(),
        facts: Vec::new(),
        description: serde_json::Value::Null,
        observed: Observed::default(),
    };
    let error = |error: &InputError| InputError {
        input: from_root(&error.input),
        location: error.location.as_ref().map(place),
        ..error.clone()
    };
    let mut fleet = report.fleet.clone();
    for pool in &mut fleet.pools {
        pool.location = pool.location.as_ref().map(place);
    }
    Report {
        schema_version: report.schema_version,
        tool: report.tool.clone(),
        as_of: report.as_of.clone(),
        fleet,
        subjects: report.subjects.iter().map(subject).collect(),
        errors: report.errors.iter().map(error).collect(),
        texts: Vec::new(),
    }
}
