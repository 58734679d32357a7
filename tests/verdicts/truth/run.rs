//! One report through the built program: how the start-up ends, and which step says so.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use imagelint::report::kinds::{StepStatus, VerdictKind};
use imagelint::report::model;
use imagelint::report::model::{Step, Verdict};
use tempfile::TempDir;

use crate::support::program::imagelint_program;
use crate::truth::data::Report;
use crate::truth::mapper;

/// The image's verdict on the host of a report.
pub(crate) struct Found {
    /// `starts`, `fails`, `depends`, `undetermined`, `not-applicable`, or `error` where the program gave no verdict.
    pub(crate) fate: String,
    /// The end in words of outcomes.toml, from the general to the special; the last is the one to print.
    pub(crate) ends: Vec<String>,
    /// Outcomes on the hosts that the pool allows, where they fail in different ways.
    pub(crate) others: Vec<String>,
    /// The deciding step of every scenario, without repeats.
    pub(crate) steps: Vec<String>,
    /// What would settle it.
    pub(crate) missing: Vec<String>,
}

impl Found {
    /// The most special word of the end.
    pub(crate) fn end(&self) -> &str {
        self.ends.last().map_or("", String::as_str)
    }
}

/// Judges one report.
pub(crate) fn run(report: &Report) -> Found {
    let folder = TempDir::new().expect("temporary folder");
    match verdict(report, folder.path()) {
        Ok(verdict) => found(&verdict),
        Err(said) => {
            let (ends, others) = (vec!["error".to_owned()], Vec::new());
            Found { fate: "error".to_owned(), ends, others, steps: vec![said], missing: Vec::new() }
        }
    }
}

fn verdict(report: &Report, folder: &Path) -> Result<Verdict, String> {
    let (image, fleet) = (folder.join("report.image.toml"), folder.join("fleet.toml"));
    fs::write(&image, mapper::image(report)).expect("image written");
    fs::write(&fleet, mapper::fleet(report)).expect("fleet written");
    let mut command = Command::new(imagelint_program());
    command.arg("check").arg(&image).arg("--fleet").arg(&fleet);
    command.args(["--format", "json", "--fail-on", "never", "--color", "never"]);
    let output = command.output().expect("program runs");
    let parsed: Result<model::Report, _> = serde_json::from_slice(&output.stdout);
    let verdict = parsed.ok().and_then(|report| {
        let subject = report.subjects.into_iter().next()?;
        subject.verdicts.into_iter().find(|verdict| verdict.component.is_none())
    });
    verdict.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        // The line that names what was refused, not the frame around it.
        let line = said.lines().find(|line| line.contains("╰──") || line.contains("unknown"));
        format!("exit {:?}: {}", output.status.code(), line.unwrap_or_default().trim())
    })
}

fn found(verdict: &Verdict) -> Found {
    let mut steps: Vec<String> = Vec::new();
    for scenario in &verdict.scenarios {
        let step = deciding(&scenario.steps);
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    Found {
        fate: verdict.fate.to_string(),
        ends: ends(verdict),
        others: verdict.scenarios.iter().filter_map(|scenario| Some(scenario.outcome?.to_string())).collect(),
        steps,
        missing: verdict.missing.iter().map(|one| one.key.clone()).collect(),
    }
}

fn ends(verdict: &Verdict) -> Vec<String> {
    let Some(outcome) = verdict.outcome.filter(|_| verdict.fate == VerdictKind::Fails) else {
        return vec![verdict.fate.to_string()];
    };
    let mut ends = vec![outcome.to_string()];
    ends.extend(verdict.reason.iter().map(|reason| format!("{outcome}/{}", reason.name())));
    ends.extend(verdict.codes.certain.iter().map(|code| format!("{outcome}/{code}")));
    ends
}

/// The step that stops, otherwise the first unknown one, otherwise the last.
fn deciding(steps: &[Step]) -> String {
    let with = |result: StepStatus| steps.iter().find(|step| step.result == result);
    let step = with(StepStatus::Stops).or_else(|| with(StepStatus::Unknown)).or(steps.last());
    step.map_or_else(|| "no step".to_owned(), |step| format!("{}:{}", step.step, step.result))
}
