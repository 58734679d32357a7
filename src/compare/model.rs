//! What is told of a change: schema version 1, the same in print and in JSON.

use serde::Serialize;

use crate::outcome::Outcome;
use crate::outcome::route_words;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::report::words::fate_word;

/// What a change does to a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// 1.
    pub schema_version: u32,
    /// The program.
    pub tool: model::Tool,
    /// The fleet that what is was judged against, and what was as well, unless that has its own.
    pub fleet: model::Fleet,
    /// The fleet that what was was judged against, when it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet_before: Option<model::Fleet>,
    /// Pools that only the later fleet has.
    pub pools_added: Vec<String>,
    /// Pools that only the earlier fleet has.
    pub pools_removed: Vec<String>,
    /// Which fleets and settings the sides were judged against, when that is no matter of course.
    pub notes: Vec<String>,
    /// What was, as given.
    pub before: String,
    /// What is, as given.
    pub after: String,
    /// The whole change in sentences.
    pub summary: Vec<String>,
    /// One entry for each image, in the order of its name.
    pub images: Vec<Pair>,
    /// Inputs that could not be read.
    pub errors: Vec<model::InputError>,
}

/// One image, as it was and as it is.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// What both have in common.
    pub name: String,
    /// What it was called; none where there was none.
    pub before: Option<String>,
    /// What it is called; none where there is none any more.
    pub after: Option<String>,
    /// The name that its Dockerfile had, where it is another now.
    pub renamed_from: Option<String>,
    /// What the change does, in sentences.
    pub summary: Vec<String>,
    /// One entry for each pool on which one of them runs.
    pub pools: Vec<OnPool>,
    /// The smallest driver, where it is another now.
    pub drivers: Vec<Drivers>,
    /// Findings that were not there before, with the pools on which they are new.
    pub new_findings: Vec<model::Finding>,
}

impl Pair {
    /// The same with the name that the Dockerfile had.
    #[must_use]
    pub fn renamed(mut self, from: &str) -> Self {
        self.summary.insert(0, format!("renamed from `{from}`"));
        self.renamed_from = Some(from.to_owned());
        self
    }
}

/// What a change does on one pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OnPool {
    /// Its name.
    pub pool: String,
    /// In one word.
    pub change: Change,
    /// How it ended; none where it did not run there.
    pub before: Option<End>,
    /// How it ends; none where it does not run there.
    pub after: Option<End>,
}

/// How an image ends on a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// `starts`, `fails`, `depends`, `undetermined`, `not-applicable`.
    pub fate: VerdictKind,
    /// Outcome name where it fails.
    pub outcome: Option<String>,
    /// `native`, `minor-version`, `forward-compat`, `jit` where it starts.
    pub route: Option<String>,
    /// What a user would see, or a sentence why it cannot be told.
    pub message: String,
    /// GPU code that nothing is known of: of a start, no failure was found.
    pub not_seen: Vec<String>,
}

/// The smallest drivers on pools that share them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drivers {
    /// Their names.
    pub pools: Vec<String>,
    /// Those of them that have an older driver than the smallest, and on which it starts all the same.
    pub below: Vec<String>,
    /// The driver from which on it started; none where none does.
    pub before: Option<String>,
    /// The driver from which on it starts; none where none does.
    pub after: Option<String>,
    /// A driver below that one with which it started all the same, while some in between did not.
    pub older_before: Option<Older>,
    /// A driver below that one with which it starts all the same, while some in between do not.
    pub older_after: Option<Older>,
}

/// The oldest driver below the smallest with which an image starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Older {
    /// Its release.
    pub driver: String,
    /// `native`, `minor-version`, `forward-compat`, `jit`.
    pub route: String,
}

/// What a change does to one verdict, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It fails, and did not.
    Breaks,
    /// It started, or was not there, and cannot be told now.
    Unsure,
    /// It starts, and did not or could not be told to.
    Works,
    /// It failed, and cannot be told now.
    Lifted,
    /// It fails with another outcome, starts by another route, or concerns a GPU now or no longer.
    Otherwise,
    /// It does not run there any more.
    Gone,
    /// It ends as it did.
    Same,
}

impl Change {
    /// From one end to another.
    pub fn of(before: Option<&End>, after: Option<&End>) -> Self {
        use VerdictKind::Depends;
        use VerdictKind::Fails;
        use VerdictKind::NotApplicable;
        use VerdictKind::Starts;
        use VerdictKind::Undetermined;
        let Some(after) = after else { return if before.is_some() { Self::Gone } else { Self::Same } };
        match (before.map_or(NotApplicable, |end| end.fate), after.fate) {
            (Fails, Fails) if before.is_some_and(|end| end.outcome == after.outcome) => Self::Same,
            (Starts, Starts) if before.is_some_and(|end| end.route == after.route) => Self::Same,
            (Fails, Fails | NotApplicable)
            | (Starts | NotApplicable, Starts)
            | (Starts | Depends | Undetermined, NotApplicable) => Self::Otherwise,
            (_, Fails) => Self::Breaks,
            (_, Starts) => Self::Works,
            (Fails, Depends | Undetermined) => Self::Lifted,
            (Starts | NotApplicable, Depends | Undetermined) => Self::Unsure,
            (Depends | Undetermined, Depends | Undetermined) | (NotApplicable, NotApplicable) => Self::Same,
        }
    }
}

impl End {
    /// Of a verdict.
    pub fn of(verdict: &model::Verdict) -> Self {
        Self {
            fate: verdict.fate,
            outcome: verdict.outcome.clone(),
            route: verdict.route.clone(),
            message: verdict.message.clone(),
            not_seen: verdict.not_seen.clone(),
        }
    }

    /// Whether no failure was found, though some GPU code is unknown.
    pub fn is_unseen(&self) -> bool {
        self.fate == VerdictKind::Starts && !self.not_seen.is_empty()
    }

    /// In a few words, as in the report.
    pub fn cell(&self) -> String {
        let word = if self.is_unseen() { "no failure found" } else { fate_word(self.fate) };
        match (self.fate, &self.outcome, self.route.as_deref().and_then(route_words)) {
            (VerdictKind::Starts, _, Some(route)) => format!("{word} ({route})"),
            (VerdictKind::Fails, Some(outcome), _) => format!("{word} {}", Outcome::rule_of(outcome)),
            _ => word.to_owned(),
        }
    }
}
