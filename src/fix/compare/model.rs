//! The result of a comparison: schema version 1, the same in print and in JSON.

use serde::Serialize;

use crate::model::outcome::Outcome;
use crate::replay::StartRoute;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::report::phrases::verdict_kind_label;

/// What a change of images does to a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Version of this schema: 1.
    pub schema_version: u32,
    /// The program and its version.
    pub tool: model::Tool,
    /// The fleet against which the later side was judged, and the earlier side too unless `fleet_before` is set.
    pub fleet: model::Fleet,
    /// The fleet against which the earlier side was judged, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet_before: Option<model::Fleet>,
    /// Pools that only the later fleet has.
    pub pools_added: Vec<String>,
    /// Pools that only the earlier fleet has.
    pub pools_removed: Vec<String>,
    /// Which fleets and settings the sides were judged against, if that is not obvious.
    pub notes: Vec<String>,
    /// The earlier side, as named on the command line.
    pub before: String,
    /// The later side, as named on the command line.
    pub after: String,
    /// The change as a whole, in sentences.
    pub summary: Vec<String>,
    /// One entry for each image, in the order of its name.
    pub images: Vec<ComparedImage>,
    /// Inputs that could not be read.
    pub errors: Vec<model::InputError>,
}

/// One image with its earlier and its later version.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedImage {
    /// The name that both versions have in common.
    pub name: String,
    /// Title of the earlier version; `None` if the image is new.
    pub before: Option<String>,
    /// Title of the later version; `None` if the image was removed.
    pub after: Option<String>,
    /// The earlier name of its Dockerfile, if it was renamed.
    pub renamed_from: Option<String>,
    /// What the change does to this image, in sentences.
    pub summary: Vec<String>,
    /// One entry for each pool on which one of the versions runs.
    pub pools: Vec<ComparedPool>,
    /// The smallest drivers, if they differ.
    pub drivers: Vec<MinimumDriverComparison>,
    /// Findings that are new, with the pools on which they are new.
    pub new_findings: Vec<model::Finding>,
}

impl ComparedImage {
    /// Returns the same comparison with the earlier name of the Dockerfile.
    #[must_use]
    pub fn with_earlier_name(mut self, from: &str) -> Self {
        self.summary.insert(0, format!("renamed from `{from}`"));
        self.renamed_from = Some(from.to_owned());
        self
    }
}

/// The verdicts on both versions of an image on one pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedPool {
    /// Name of the pool.
    pub pool: String,
    /// The kind of change.
    pub change: VerdictChange,
    /// The verdict on the earlier version; `None` if it did not run there.
    pub before: Option<ComparedVerdict>,
    /// The verdict on the later version; `None` if it does not run there.
    pub after: Option<ComparedVerdict>,
}

/// The verdict on one version of an image on a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedVerdict {
    /// The verdict: `starts`, `fails`, `depends`, `undetermined` or `not-applicable`.
    pub fate: VerdictKind,
    /// Name of the outcome, if the image fails.
    pub outcome: Option<Outcome>,
    /// Route of the start, if the image starts: `native`, `minor-version`, `forward-compat` or `jit`.
    pub route: Option<StartRoute>,
    /// The message that a user would see, or why the verdict is unknown.
    pub message: String,
    /// GPU code that was not inspected; a start is then only a start without a known failure.
    pub not_seen: Vec<String>,
}

/// The smallest drivers of both versions, on pools that share them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MinimumDriverComparison {
    /// Names of the pools.
    pub pools: Vec<String>,
    /// The pools among them whose driver is older than the smallest, and on which the image starts nevertheless.
    pub below: Vec<String>,
    /// The smallest driver of the earlier version; `None` if it started with no driver.
    pub before: Option<String>,
    /// The smallest driver of the later version; `None` if it starts with no driver.
    pub after: Option<String>,
    /// An older driver with which the earlier version started as well, although it failed with some drivers in
    /// between.
    pub older_before: Option<ComparedOlderDriver>,
    /// An older driver with which the later version starts as well, although it fails with some drivers in between.
    pub older_after: Option<ComparedOlderDriver>,
}

/// The oldest driver below the smallest with which an image starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedOlderDriver {
    /// The driver release.
    pub driver: String,
    /// Route of the start: `native`, `minor-version`, `forward-compat` or `jit`.
    pub route: StartRoute,
}

/// How the verdict on an image changes on a pool, the worst change first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictChange {
    /// The image fails, and did not before.
    Breaks,
    /// The image started or is new, and is unknown now.
    Unsure,
    /// The image starts, and failed or was unknown before.
    Works,
    /// The image failed, and is unknown now.
    #[serde(rename = "lifted")]
    FailureUncertain,
    /// The image fails with another outcome, starts by another route, or started or stopped using a GPU.
    Otherwise,
    /// The image no longer runs on the pool.
    Gone,
    /// The verdict is the same.
    Same,
}

impl VerdictChange {
    /// Returns the change from one verdict to another.
    pub fn between(before: Option<&ComparedVerdict>, after: Option<&ComparedVerdict>) -> Self {
        use VerdictKind::{Depends, Fails, NotApplicable, Starts, Undetermined};
        let Some(after) = after else { return if before.is_some() { Self::Gone } else { Self::Same } };
        match (before.map_or(NotApplicable, |end| end.fate), after.fate) {
            (Fails, Fails) if before.is_some_and(|end| end.outcome == after.outcome) => Self::Same,
            (Starts, Starts) if before.is_some_and(|end| end.route == after.route) => Self::Same,
            (Fails, Fails | NotApplicable)
            | (Starts | NotApplicable, Starts)
            | (Starts | Depends | Undetermined, NotApplicable) => Self::Otherwise,
            (_, Fails) => Self::Breaks,
            (_, Starts) => Self::Works,
            (Fails, Depends | Undetermined) => Self::FailureUncertain,
            (Starts | NotApplicable, Depends | Undetermined) => Self::Unsure,
            (Depends | Undetermined, Depends | Undetermined) | (NotApplicable, NotApplicable) => Self::Same,
        }
    }
}

impl ComparedVerdict {
    /// Converts a verdict of a report.
    pub fn from_verdict(verdict: &model::Verdict) -> Self {
        Self {
            fate: verdict.fate,
            outcome: verdict.outcome,
            route: verdict.route,
            message: verdict.message.clone(),
            not_seen: verdict.not_seen.clone(),
        }
    }

    /// Whether no failure is known, although some GPU code was not inspected.
    pub fn has_uninspected_code(&self) -> bool {
        self.fate == VerdictKind::Starts && !self.not_seen.is_empty()
    }

    /// Returns the verdict as a short text, as in the report.
    pub fn short_text(&self) -> String {
        let word = if self.has_uninspected_code() { "no failure found" } else { verdict_kind_label(self.fate) };
        match (self.fate, &self.outcome, self.route.and_then(StartRoute::label)) {
            (VerdictKind::Starts, _, Some(route)) => format!("{word} ({route})"),
            (VerdictKind::Fails, Some(outcome), _) => format!("{word} {}", outcome.rule_name()),
            _ => word.to_owned(),
        }
    }
}
