//! A report with paths relative to the root of the repository, whatever the working directory is.

use crate::report::model::{Finding, InputError, Location, Observed, Report, Subject};

/// Returns the report with paths from the repository root, without facts, descriptions and texts.
#[must_use]
pub fn with_repository_paths(report: &Report, from_root: &dyn Fn(&str) -> String) -> Report {
    let place = |place: &Location| {
        let path = if place.region.is_some() { from_root(&place.path) } else { place.path.clone() };
        Location { path, ..place.clone() }
    };
    let finding =
        |finding: &Finding| Finding { locations: finding.locations.iter().map(place).collect(), ..finding.clone() };
    let subject = |subject: &Subject| Subject {
        name: from_root(&subject.name),
        findings: subject.findings.iter().map(finding).collect(),
        kind: subject.kind,
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
