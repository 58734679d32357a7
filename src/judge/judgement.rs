//! Judges one subject on the pools of a fleet.

use std::sync::Arc;

use crate::describe::ImageDescription;
use crate::fleet::inventory::can_schedule_on_pool;
use crate::fleet::{Fleet, Pool, PoolEntry, PoolField};
use crate::judge::hosts::{PoolHosts, PoolJudgement};
use crate::judge::judged_pool::JudgedPool;
use crate::judge::location::LocationBuilder;
use crate::judge::platform_observations::{DockerfileSummary, describe_observations};
use crate::judge::replay_history::ReplayHistory;
use crate::judge::subject::{
    AnalysisSettings, AnalysisSubject, PlatformBuild, PoolRestriction, ReportDetail, SubjectContent, content_depth,
    description_depth, launch_variables, observation_day,
};
use crate::judge::suppression::SuppressionState;
use crate::judge::{
    FleetHosts, InferenceCache, facts, findings, location, open_verdict_findings, other_processor, saved, verdict,
};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::replay::ImprovementGoals;
use crate::report::kinds::SubjectKind;
use crate::report::model;
use crate::report::model::{Observed, OnPlatform};
use crate::text::source::Sources;

/// Judges one subject.
pub fn judge_subject(subject: &AnalysisSubject, settings: AnalysisSettings<'_>) -> model::Subject {
    judge_on_hosts(subject, settings, &FleetHosts::for_fleet(settings))
}

/// Judges one subject on existing hosts.
pub fn judge_on_hosts(subject: &AnalysisSubject, settings: AnalysisSettings<'_>, hosts: &FleetHosts) -> model::Subject {
    judge_with_undecided(subject, settings, hosts, &mut Vec::new())
}

/// Judges a subject again with its cached inference. There are no verdicts if it certainly misses the goals on every
/// pool.
pub fn judge_with_goals(
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    inferred: &InferenceCache,
    doubts: &mut ImprovementGoals,
) -> model::Subject {
    judge_with_inference(subject, settings, hosts, inferred, (&mut Vec::new(), ReplayHistory::WithGoals(doubts)))
}

/// Judges a subject again with every verdict; of the goals only the cached replay results are used.
pub fn judge_with_replay_cache(
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    inferred: &InferenceCache,
    doubts: &mut ImprovementGoals,
) -> model::Subject {
    judge_with_inference(subject, settings, hosts, inferred, (&mut Vec::new(), ReplayHistory::Cached(doubts)))
}

/// Judges one subject; adds practice rules with an unknown condition to `undecided`.
pub fn judge_with_undecided(
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    undecided: &mut Vec<String>,
) -> model::Subject {
    judge_with_inference(subject, settings, hosts, &InferenceCache::default(), (undecided, ReplayHistory::None))
}

/// Judges one subject with cached inference and replay results.
#[expect(clippy::too_many_lines, reason = "one step after the other")]
fn judge_with_inference(
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    inferred: &InferenceCache,
    (undecided, mut past): (&mut Vec<String>, ReplayHistory<'_>),
) -> model::Subject {
    let started = settings.fleet.for_container_start(subject.start, &launch_variables(&subject.content));
    let of_start = started.as_ref().map(|fleet| AnalysisSettings { fleet, ..settings });
    let hosts_then = of_start.map(FleetHosts::for_fleet);
    let (settings, hosts) = (of_start.unwrap_or(settings), hosts_then.as_ref().unwrap_or(hosts));
    let knowledge = settings.knowledge;
    let mut orders = SuppressionState::for_subject(subject, settings);
    // Observations of an earlier day are judged with the hosts of that day.
    let day = observation_day(&subject.content).or(settings.as_of);
    let of_day = (day != settings.as_of).then(|| FleetHosts::for_fleet(AnalysisSettings { as_of: day, ..settings }));
    let hosts = of_day.as_ref().unwrap_or(hosts);
    let pools = selected_pools(subject, settings, &orders);
    let platforms = hosts.platforms(&pools, knowledge);
    let (mut builds, mut summary, mut looked) =
        (Vec::<PlatformBuild>::new(), DockerfileSummary::default(), Vec::<OnPlatform>::new());
    let mut description = ImageDescription { source: description_depth(subject), ..ImageDescription::default() };
    let everything = settings.detail == ReportDetail::Everything;
    for (at, platform) in platforms.iter().enumerate() {
        let Some((inference, on_platform)) = inferred.for_platform(&subject.content, platform, settings) else {
            continue;
        };
        summary.clone_from(&inference.summary);
        if at == 0
            && everything
            && let Some(one) = &on_platform
        {
            description =
                describe_observations(&subject.content, platform, settings.as_of, &one.seen, settings.knowledge);
        }
        for image in inference.images.iter().map(Arc::clone) {
            let before = builds.last().map_or(0, |build| build.first_fact + build.image.facts.len());
            let other = other_processor::other_processor_reason(subject, &image, knowledge);
            builds.push(PlatformBuild {
                platform: platform.clone(),
                image,
                other_processor: other,
                first_fact: before,
                looked: looked.len(),
            });
        }
        looked.extend(on_platform);
    }
    orders.read_file_comments(&looked);
    let places = LocationBuilder { sources: settings.sources, fleet: settings.fleet };
    let gpu_content = builds.iter().any(|build| build.image.gpu_content);
    let mut report = model::Subject {
        name: subject.name.clone(),
        kind: subject.kind,
        stage: summary.stage,
        platform: judged_platform(subject, &builds),
        digest: subject.digest.clone(),
        images: subject.images.clone(),
        gpu_content,
        inspected: model::Inspected {
            depth: content_depth(&subject.content),
            notes: subject.notes.iter().cloned().chain(summary.notes).collect(),
        },
        split: None,
        about: if settings.detail.includes_findings() { facts::framework_summary(&builds) } else { None },
        verdicts: Vec::new(),
        findings: Vec::new(),
        facts: if settings.detail.includes_steps() {
            facts::report_facts(&builds, places, everything)
        } else {
            Vec::new()
        },
        description: if everything { description.to_json() } else { serde_json::Value::Null },
        observed: Observed::default(),
        as_of: settings.as_of.map(|day| day.to_string()),
    };
    if !gpu_content {
        report.verdicts =
            pools.iter().map(|(_, pool)| verdict::not_applicable_verdict(&pool.name.value, &builds)).collect();
        if settings.detail.includes_findings() {
            report.findings = orders.notice_findings(&summary.stages, false, places);
        }
        if everything {
            report.observed = saved::observations_for_report(subject, looked, &report.facts);
        }
        return report;
    }
    // What hosts have in common is kept for these very hosts.
    let same_hosts = hosts_then.is_none() && of_day.is_none();
    let mut shared = past.take_caches(&pools, same_hosts);
    if past.is_unreachable(hosts, &pools, &builds, knowledge, &mut shared) {
        past.store_caches(&pools, shared, same_hosts);
        return report;
    }
    let tried: Vec<PoolHosts<'_>> =
        pools.iter().map(|(at, pool)| hosts.pool_hosts(*at, pool, &builds, settings, day)).collect();
    let (mut judged, mut hostless) = (Vec::new(), Vec::new());
    for (((_, pool), tried), shared) in pools.iter().zip(&tried).zip(&mut shared) {
        match tried.verdicts(&builds, knowledge, shared) {
            PoolJudgement::NoHost => {
                let cause = day.map_or(Cause::NoToolkitWithMode, |day| Cause::NoToolkitWithModeUntil { day });
                report.verdicts.push(verdict::no_host_verdict(&pool.name.value, &cause));
                hostless.extend(open_verdict_findings::no_host_finding(pool, &cause, places, settings, &mut orders));
            }
            PoolJudgement::NoContent(own) => {
                report.verdicts.push(verdict::not_applicable_verdict(&pool.name.value, own));
            }
            PoolJudgement::Judged(list) => {
                report
                    .verdicts
                    .extend(list.iter().map(|one| verdict::report_verdict(one, &list, pool, &builds, settings)));
                judged.push(JudgedPool { pool, verdicts: list });
            }
        }
    }
    past.store_caches(&pools, shared, same_hosts);
    if !settings.detail.includes_findings() {
        return report;
    }
    if let Some(name) = looked.iter().find_map(|one| one.seen.missing_installer()) {
        report.verdicts.iter_mut().for_each(|verdict| verdict::note_failed_build(verdict, name));
    }
    let images = findings::SubjectBuilds { builds: &builds, looked: &looked };
    report.findings = findings::collect_findings(&judged, images, places, settings, &mut orders, undecided);
    report.findings.append(&mut hostless);
    report.findings.extend(orders.notice_findings(&summary.stages, true, places));
    report
        .findings
        .iter_mut()
        .for_each(|finding| location::insert_list_line(&mut finding.locations, subject.named_at.as_ref()));
    findings::sort_findings(&mut report.findings);
    report.inspected.notes.append(&mut orders.notes);
    if everything {
        report.observed = saved::observations_for_report(subject, looked, &report.facts);
    }
    report
}

/// Returns the pools on which a subject may run, each with its index in the fleet.
pub(super) fn selected_pools<'a>(
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'a>,
    orders: &SuppressionState,
) -> Vec<(usize, &'a Pool)> {
    let numbered = settings.fleet.pools.iter().enumerate();
    numbered
        .filter(|(_, pool)| {
            is_selected(subject, pool, settings.pools)
                && matches_restriction(subject, pool, settings.fleet, settings.knowledge)
        })
        .filter(|(_, pool)| orders.runs_on(pool))
        .collect()
}

/// Returns the platform that was judged, if it is one: that of the image, or that of all builds.
fn judged_platform(subject: &AnalysisSubject, builds: &[PlatformBuild]) -> Option<String> {
    match subject.images.as_slice() {
        [image] => Some(image.platform.clone()),
        _ => single_platform(builds),
    }
}

/// Returns the location at which a pool is declared; `None` for the built-in fleet.
pub fn pool_location(fleet: &Fleet, pool: &Pool, sources: &Sources) -> Option<model::Location> {
    LocationBuilder { sources, fleet }.pool(pool, None, format!("pool `{}`", pool.name.value))
}

/// Returns every declared field of a pool and every entry of its tables, each with its location.
pub fn declared_pool_fields(fleet: &Fleet, pool: &Pool, sources: &Sources) -> Vec<model::PoolField> {
    let places = LocationBuilder { sources, fleet };
    let declared = PoolField::ALL.iter().filter_map(|field| Some((*field, pool.field_text(*field)?)));
    let fields = declared.map(|(field, value)| model::PoolField {
        key: field.name().to_owned(),
        value,
        location: places.pool(pool, Some(field), field.name().to_owned()),
    });
    let entries = pool.table_entries().map(|(key, value)| model::PoolField {
        location: places.pool_span(value.span, key.clone()),
        value: value.value.clone(),
        key,
    });
    fields.chain(entries).collect()
}

/// Returns the keys of pool fields that are not declared, and of toolkit options that steps may name.
pub fn undeclared_pool_fields(pool: &Pool) -> Vec<String> {
    let fields =
        PoolField::ALL.iter().filter(|field| pool.field_text(**field).is_none()).map(|field| field.name().to_owned());
    let options = PoolEntry::CITED_OPTIONS.iter().filter(|name| PoolEntry::Option(name).declaration_in(pool).is_none());
    fields.chain(options.map(|name| format!("{}.{name}", PoolField::Host.name()))).collect()
}

/// Whether the pool was selected and its patterns match the subject.
pub(super) fn is_selected(subject: &AnalysisSubject, pool: &Pool, pool_names: &[String]) -> bool {
    let is_requested = pool_names.is_empty() || pool_names.contains(&pool.name.value);
    let here = match &subject.content {
        SubjectContent::Dockerfile { .. } => pool.runs_dockerfile(&subject.path),
        SubjectContent::ByPlatform(_) => pool.runs_image(&subject.path),
        SubjectContent::Saved(_) if subject.kind == SubjectKind::Dockerfile => pool.runs_dockerfile(&subject.path),
        SubjectContent::Saved(_) if subject.kind == SubjectKind::Image => pool.runs_image(&subject.path),
        SubjectContent::Fixed(_) | SubjectContent::Saved(_) => true,
    };
    is_requested && here
}

/// Whether a pool is within the restriction of a subject to pool names or node labels.
pub fn matches_restriction(subject: &AnalysisSubject, pool: &Pool, fleet: &Fleet, knowledge: Knowledge) -> bool {
    match &subject.only {
        None => true,
        Some(PoolRestriction::Pools(names)) => names.contains(&pool.name.value),
        Some(PoolRestriction::Nodes(nodes)) => can_schedule_on_pool(nodes, pool, fleet, knowledge),
    }
}

/// Returns the platform of all builds, if they have one in common.
pub(super) fn single_platform(builds: &[PlatformBuild]) -> Option<String> {
    let own = |build: &PlatformBuild| match build.image.platforms.known()?.as_slice() {
        [platform] => Some(platform.clone()),
        _ => None,
    };
    let first = own(builds.first()?)?;
    builds.iter().all(|build| own(build).as_ref() == Some(&first)).then_some(first)
}
