//! Judges subjects on pools and builds the report; results come from the replay, nothing is decided here.

mod cached_target;
pub mod examples;
mod facts;
mod file_comments;
mod findings;
mod hosts;
mod inference_cache;
mod judged_pool;
mod judgement;
mod labels;
mod location;
mod open_verdict_findings;
mod other_processor;
mod platform_observations;
mod replay_history;
mod rule_settings;
pub mod saved;
mod scope;
mod subject;
mod suppression;
mod undecided_conditions;
mod verdict;

pub use self::judgement::{
    declared_pool_fields, judge_on_hosts, judge_subject, judge_with_goals, judge_with_replay_cache,
    judge_with_undecided, matches_restriction, pool_location, undeclared_pool_fields,
};
pub use crate::judge::cached_target::CachedTargetObservations;
pub use crate::judge::hosts::FleetHosts;
pub use crate::judge::inference_cache::InferenceCache;
pub use crate::judge::platform_observations::{describe_subject, observations_for_platform, platform_note};
pub use crate::judge::rule_settings::settings_subject;
pub use crate::judge::subject::{
    AnalysisSettings, AnalysisSubject, PoolRestriction, ReportDetail, SavedSubject, SubjectContent,
};
pub use crate::judge::suppression::depends_on_all_pools;
pub(crate) use other_processor::is_for_nvidia_gpus;
pub(crate) use subject::PlatformBuild;
