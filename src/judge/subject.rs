//! A subject to judge, its content, and the settings of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::Date;

use crate::dockerfile::context::ContextFiles;
use crate::dockerfile::{Dockerfile, EvaluateOptions, LazyDockerfile};
use crate::extract;
use crate::extract::KnownBases;
use crate::fleet::Fleet;
use crate::fleet::cluster::{NodeRequirements, Start};
use crate::fleet::settings::InputSettings;
use crate::judge::CachedTargetObservations;
use crate::knowledge::Knowledge;
use crate::model::fact::{ImageFacts, InspectionDepth, Observations};
use crate::model::note::Note;
use crate::report::kinds::SubjectKind;
use crate::report::model;
use crate::report::model::OnPlatform;
use crate::rules::{Persona, RuleBook};
use crate::text::source::{SourceId, Sources};

/// The observations of a subject when its report was written.
#[derive(Clone, Debug)]
pub struct SavedSubject {
    /// The Dockerfile, whose control comments apply again.
    pub dockerfile: Option<(SourceId, Dockerfile)>,
    /// The observations, platform by platform; empty only for a Dockerfile without stages.
    pub platforms: Vec<OnPlatform>,
}

impl SavedSubject {
    /// Returns the observations for a platform, else the first.
    pub(crate) fn for_platform(&self, platform: &str) -> Option<&OnPlatform> {
        find_platform(&self.platforms, platform, |one| one.platform.as_str())
    }
}

/// The content of a subject.
#[derive(Clone, Debug)]
pub enum SubjectContent {
    /// A Dockerfile, evaluated for each platform.
    Dockerfile {
        /// Its text.
        source: SourceId,
        /// Its stages.
        dockerfile: LazyDockerfile,
        /// Build arguments and target; the platform is the pool's.
        options: EvaluateOptions,
        /// The files of its build context that it uses.
        files: ContextFiles,
        /// What is known of base images in addition to the knowledge tables.
        bases: Arc<KnownBases>,
        /// Observations that were made already.
        cached_target: CachedTargetObservations,
    },
    /// Observations that are the same for every platform.
    Fixed(Box<Observations>),
    /// Observations for each platform of an index; the first for any other platform.
    ByPlatform(Vec<(String, Observations)>),
    /// The observations of a saved report.
    Saved(SavedSubject),
}

/// The pools or nodes to which a subject is restricted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolRestriction {
    /// Pools with these names.
    Pools(Vec<String>),
    /// Nodes whose labels match.
    Nodes(NodeRequirements),
}

/// A Dockerfile, image or description to judge.
#[derive(Clone, Debug)]
pub struct AnalysisSubject {
    /// Path or reference as given.
    pub name: String,
    /// The path relative to the folder of the fleet file, for the patterns of pools.
    pub path: String,
    /// `dockerfile`, `image` or `description`.
    pub kind: SubjectKind,
    /// The digest to which the name of an image resolves.
    pub digest: Option<String>,
    /// The images that the name refers to, one per platform.
    pub images: Vec<model::ImageOf>,
    /// What the reader left out, with locations.
    pub notes: Vec<Note>,
    /// Day as of which the tables are read, unless the run sets it.
    pub as_of: Option<Date>,
    /// The pools to which it is restricted; `None` to follow the fleet file.
    pub only: Option<PoolRestriction>,
    /// How the container gets its GPUs; unset parts follow the pools.
    pub start: Start,
    /// Where a list or manifest names it, as the location of findings on an image without a text.
    pub named_at: Option<model::Location>,
    /// The content.
    pub content: SubjectContent,
}

/// Level of detail of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportDetail {
    /// Only the verdict on each pool.
    Fates,
    /// Also every scenario without the texts of its steps, and every unknown fact.
    Steps,
    /// Verdicts and findings, without their evidence.
    Verdicts,
    /// Everything: every scenario, every fact and the observations.
    #[default]
    Everything,
}

impl ReportDetail {
    /// Whether rules are evaluated for findings.
    pub(super) const fn includes_findings(self) -> bool {
        matches!(self, Self::Verdicts | Self::Everything)
    }

    /// Whether scenarios and facts are reported.
    pub(super) const fn includes_steps(self) -> bool {
        matches!(self, Self::Steps | Self::Everything)
    }
}

/// The fleet, tables and rules to judge against, and the options of the run.
#[derive(Clone, Copy)]
pub struct AnalysisSettings<'a> {
    /// The fleet.
    pub fleet: &'a Fleet,
    /// Names of the selected pools; empty for all.
    pub pools: &'a [String],
    /// Day as of which the tables are read.
    pub as_of: Option<Date>,
    /// The persona whose rules are evaluated.
    pub persona: Persona,
    /// Tables.
    pub knowledge: Knowledge,
    /// The rule pages.
    pub book: &'a RuleBook,
    /// All texts.
    pub sources: &'a Sources,
    /// How much is reported.
    pub detail: ReportDetail,
    /// The repository settings that apply to the input.
    pub own: Option<InputSettings<'a>>,
}

/// One inferred build for one platform, with its position in the fact list of the subject.
pub(crate) struct PlatformBuild {
    pub(super) platform: String,
    pub(super) image: Arc<ImageFacts>,
    /// Why it is for a processor other than an NVIDIA GPU.
    pub(super) other_processor: Option<String>,
    pub(super) first_fact: u32,
    /// Index of its platform among the observations.
    pub(super) looked: usize,
}

/// Returns how deeply a subject of its kind is inspected.
pub(super) fn description_depth(subject: &AnalysisSubject) -> InspectionDepth {
    if subject.kind == SubjectKind::Dockerfile { InspectionDepth::Text } else { InspectionDepth::Description }
}

/// Returns the variables that are set at container start, from a workload file.
pub(super) fn launch_variables(content: &SubjectContent) -> BTreeSet<&str> {
    let seen: Vec<&Observations> = match content {
        SubjectContent::Dockerfile { .. } => Vec::new(),
        SubjectContent::Fixed(seen) => vec![seen],
        SubjectContent::ByPlatform(list) => list.iter().map(|(_, seen)| seen).collect(),
        SubjectContent::Saved(saved) => saved.platforms.iter().map(|one| &one.seen).collect(),
    };
    seen.into_iter().flat_map(extract::start_variable_names).collect()
}

/// Returns the day of the observations of an input.
pub(super) fn observation_day(content: &SubjectContent) -> Option<Date> {
    match content {
        SubjectContent::Dockerfile { .. } => None,
        SubjectContent::Fixed(seen) => seen.as_of,
        SubjectContent::ByPlatform(list) => list.iter().find_map(|(_, seen)| seen.as_of),
        SubjectContent::Saved(saved) => saved.platforms.iter().find_map(|one| one.seen.as_of),
    }
}

/// Returns the name of the depth to which the content was inspected.
pub(super) fn content_depth(content: &SubjectContent) -> InspectionDepth {
    match content {
        SubjectContent::Dockerfile { .. } => InspectionDepth::Text,
        SubjectContent::Fixed(seen) => seen.depth,
        SubjectContent::ByPlatform(list) => list.first().map_or(InspectionDepth::Config, |(_, seen)| seen.depth),
        SubjectContent::Saved(saved) => saved.platforms.first().map_or(InspectionDepth::Text, |one| one.seen.depth),
    }
}

/// Returns the entry for a platform, else for the same one with another variant, else the first.
pub(super) fn find_platform<'a, T>(list: &'a [T], platform: &str, name: impl Fn(&T) -> &str) -> Option<&'a T> {
    let near = |one: &&T| is_same_platform(name(one), platform);
    list.iter().find(|one| name(one) == platform).or_else(|| list.iter().find(near)).or(list.first())
}

/// Whether two names denote the same platform, with or without a variant.
pub(super) fn is_same_platform(own: &str, requested: &str) -> bool {
    let near =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    near(own, requested) || near(requested, own)
}
