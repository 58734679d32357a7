//! Warnings on open verdicts: one for each cause, with the pools that share it.

use crate::fleet::{Pool, PoolField};
use crate::judge::judged_pool::{JudgedPool, basis_locations, pool_list_text, push_unique_location};
use crate::judge::labels::{labelled_origins, pool_field_label};
use crate::judge::location::LocationBuilder;
use crate::judge::scope::NoticeScope;
use crate::judge::suppression::SuppressionState;
use crate::judge::verdict::{OpenVerdict, UnknownReason, missing_for_verdict};
use crate::judge::{AnalysisSettings, rule_settings};
use crate::model::cause::Cause;
use crate::model::fact::{FactId, FactKey, ImageFacts, PrintedValue, ValueState};
use crate::replay::explanations::{FailureExplanation, POOLS_PLACEHOLDER, explain_failures};
use crate::replay::{
    Basis, HostResult, ReplayFailure, StartRoute, StartupResult, StartupVerdict, StepResult, pool_field_value,
};
use crate::report::kinds::LocationKind;
use crate::report::model::{Finding, Location};
use crate::rules::{Notice, Severity};

/// Maximum number of fact locations in a finding.
const MAX_LOCATIONS: usize = 8;
/// Maximum number of hosts that contribute locations to a finding.
const MAX_HOSTS: usize = 64;

/// Help text of a finding that names nothing missing.
const FALLBACK_HELP: &str = "run with --why to see the deciding step";

/// An open verdict, and the pools that share its cause.
struct OpenVerdictGroup<'a> {
    notice: Notice,
    severity: Severity,
    opened: OpenVerdict,
    /// The first failing host of each pool.
    fails: Vec<Option<(&'a HostResult<'a>, ReplayFailure)>>,
    /// For each pool, the result for each value of the open field.
    ends: Vec<Option<String>>,
    help: String,
    pools: Vec<String>,
    locations: Vec<Location>,
}

/// Returns one finding for each cause, without suppressed pools.
pub(super) fn collect_open_findings(
    judged: &[JudgedPool<'_>],
    places: LocationBuilder<'_>,
    settings: AnalysisSettings<'_>,
    orders: &mut SuppressionState<'_>,
) -> Vec<Finding> {
    let mut causes: Vec<OpenVerdictGroup<'_>> = Vec::new();
    for one in judged {
        let Some(verdict) = one.verdicts.iter().find(|verdict| verdict.component.is_none()) else { continue };
        let notice = match verdict.fate {
            None => Notice::Depends,
            Some(StartupResult::Undetermined) => Notice::Undetermined,
            Some(StartupResult::Starts(_) | StartupResult::Fails(_)) => continue,
        };
        let Some(page) = settings.book.notice_page(notice) else { continue };
        let located = open_verdict_locations(verdict, one, places);
        let pool = &one.pool.name.value;
        if orders.suppresses(&page.name, Some(pool), &located) {
            continue;
        }
        let Some(opened) = OpenVerdict::from_verdict(verdict, settings.knowledge) else { continue };
        let help = if opened.may_fail() { missing_facts_help(verdict, settings) } else { String::new() };
        let severity = rule_settings::configured_severity(page, Some(pool), settings);
        let alike = |cause: &&mut OpenVerdictGroup<'_>| {
            (cause.notice, cause.severity, &cause.help) == (notice, severity, &help)
                && cause.opened.has_same_cause(&opened)
        };
        if let Some(cause) = causes.iter_mut().find(alike) {
            cause.pools.push(pool.clone());
            cause.fails.push(first_failing_host(verdict));
            cause.ends.push(results_by_value(verdict));
            for location in located {
                push_unique_location(&mut cause.locations, location);
            }
            continue;
        }
        let (fails, ends, pools) =
            (vec![first_failing_host(verdict)], vec![results_by_value(verdict)], vec![pool.clone()]);
        causes.push(OpenVerdictGroup { notice, severity, opened, fails, ends, help, pools, locations: located });
    }
    causes.into_iter().filter_map(|cause| group_finding(cause, settings)).collect()
}

/// Returns the finding on a pool that no host matches.
pub(super) fn no_host_finding(
    pool: &Pool,
    cause: &Cause,
    places: LocationBuilder<'_>,
    settings: AnalysisSettings<'_>,
    orders: &mut SuppressionState<'_>,
) -> Option<Finding> {
    let label = pool_field_label(pool, PoolField::Toolkit);
    let locations: Vec<Location> = places.pool(pool, Some(PoolField::Toolkit), label).into_iter().collect();
    if orders.suppresses(Notice::Undetermined.name(), Some(&pool.name.value), &locations) {
        return None;
    }
    let opened = OpenVerdict::Reasons(vec![UnknownReason { why: cause.explain(), supply: cause.remedy() }]);
    let (notice, help, pools) = (Notice::Undetermined, String::new(), vec![pool.name.value.clone()]);
    let severity =
        rule_settings::configured_severity(settings.book.notice_page(notice)?, Some(&pool.name.value), settings);
    group_finding(
        OpenVerdictGroup { notice, severity, opened, fails: Vec::new(), ends: Vec::new(), help, pools, locations },
        settings,
    )
}

/// Returns the finding for a group.
fn group_finding(cause: OpenVerdictGroup<'_>, settings: AnalysisSettings<'_>) -> Option<Finding> {
    let page = settings.book.notice_page(cause.notice)?;
    let mut texts = cause.opened.finding_texts();
    let may_fail = cause.opened.may_fail();
    if let Some(Some(ends)) = cause.ends.first().filter(|first| cause.ends.iter().all(|other| other == *first)) {
        texts.cause_text = Some(ends.clone());
    }
    let failure = common_failure(&cause.fails, settings);
    let title = match &failure {
        Some(failure) if may_fail => format!("may fail on {}: {}", pool_names_text(&cause.pools), failure.title),
        None if may_fail => format!("may fail on {}: it {}", pool_names_text(&cause.pools), texts.title),
        _ => texts.title,
    };
    let failure = failure.filter(|_| may_fail);
    let (symptom, repair) = failure.map_or((None, None), |failure| (failure.symptom, failure.help));
    let help = [texts.help, cause.help].into_iter().find(|help| !help.is_empty());
    let pools = pool_list_text(&cause.pools);
    let of_pool = |help: String| help.replace(" of the pool", &format!(" of {pools} in the fleet file"));
    let help = of_pool(help.unwrap_or_else(|| FALLBACK_HELP.to_owned()));
    let help = match repair {
        Some(repair) => format!("{help}; if it fails, {}", repair.replace(POOLS_PLACEHOLDER, &pools)),
        None => help,
    };
    let also_unknown = texts.also_unknown.into_iter().map(of_pool).collect();
    Some(Finding {
        rule: page.name.clone(),
        severity: cause.severity.into(),
        message: page.message.render(&NoticeScope(title)),
        help: Some(page.help.render(&NoticeScope(help))),
        pools: cause.pools,
        component: None,
        locations: cause.locations,
        cause: texts.cause_text,
        also_unknown,
        symptom,
        fixes: Vec::new(),
        base_not_read: cause.opened.needs_base(),
    })
}

/// Returns the first host that fails.
fn first_failing_host<'a>(verdict: &'a StartupVerdict<'a>) -> Option<(&'a HostResult<'a>, ReplayFailure)> {
    verdict.hosts.iter().find_map(|host| match host.fate {
        StartupResult::Fails(failure) => Some((host, failure)),
        StartupResult::Starts(_) | StartupResult::Undetermined => None,
    })
}

/// Maximum number of field values that are named for each result.
const MAX_VALUES: usize = 3;

/// Returns the value of a field on a host, if a pool can declare it.
fn declarable_value(field: PoolField, host: &HostResult<'_>) -> Option<String> {
    let own = [
        PoolField::Gpu,
        PoolField::Brand,
        PoolField::Driver,
        PoolField::Platform,
        PoolField::Launch,
        PoolField::Toolkit,
        PoolField::Mode,
        PoolField::LibraryDirectory,
    ];
    own.contains(&field).then(|| pool_field_value(field, host.host)).filter(|value| !value.is_empty())
}

/// Returns the result for each value of the one open field: `fails (no-gpu) with launch = "enroot"; starts with
/// "docker-gpus"`.
fn results_by_value(verdict: &StartupVerdict<'_>) -> Option<String> {
    let [field] = verdict.open_fields.as_slice() else { return None };
    let mut ends: Vec<(String, Vec<String>)> = Vec::new();
    for host in &verdict.hosts {
        let end = match host.fate {
            StartupResult::Fails(failure) => format!("fails ({})", failure.outcome().rule_name()),
            StartupResult::Starts(StartRoute::ForwardCompat) => "starts on cuda-compat of the image".to_owned(),
            StartupResult::Starts(_) => "starts".to_owned(),
            StartupResult::Undetermined => "unknown".to_owned(),
        };
        let value = declarable_value(*field, host)?;
        match ends.iter_mut().find(|(other, _)| *other == end) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => ends.push((end, vec![value])),
        }
    }
    ends.sort();
    let once = |value: &String| ends.iter().filter(|(_, values)| values.contains(value)).count() == 1;
    let always_named = matches!(field, PoolField::Launch | PoolField::Toolkit);
    let too_many = |(_, values): &(String, Vec<String>)| !always_named && values.len() > MAX_VALUES;
    if verdict.open_build
        || ends.len() < 2
        || ends.iter().any(too_many)
        || !ends.iter().flat_map(|(_, values)| values).all(once)
    {
        return None;
    }
    let key = if *field == PoolField::Toolkit {
        "NVIDIA Container Toolkit ".to_owned()
    } else {
        format!("{} = ", field.name().trim_start_matches("pool."))
    };
    let each = ends.iter().enumerate().map(|(at, (end, values))| {
        let named: Vec<String> = values.iter().take(MAX_VALUES).map(|value| format!("\"{value}\"")).collect();
        let more = values.len().saturating_sub(MAX_VALUES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let key = if at == 0 { key.as_str() } else { "" };
        format!("{end} with {key}{}{more}", named.join(", "))
    });
    Some(each.collect::<Vec<_>>().join("; "))
}

/// Returns the explanation of the failure, if it can fail on each of the pools.
fn common_failure<'a>(
    fails: &[Option<(&'a HostResult<'a>, ReplayFailure)>],
    settings: AnalysisSettings<'a>,
) -> Option<FailureExplanation> {
    let mut known = Vec::new();
    for one in fails {
        let (host, failure) = (*one)?;
        known.push((host.replay(settings.knowledge), failure));
    }
    (!known.is_empty()).then(|| explain_failures(&known))
}

/// Maximum number of pools that a title names.
const MAX_TITLE_POOLS: usize = 3;

/// Returns the names of pools, only the first of many.
fn pool_names_text(pools: &[String]) -> String {
    match pools.get(..MAX_TITLE_POOLS) {
        Some(first) if pools.len() > MAX_TITLE_POOLS => {
            format!("{} and {} more", first.join(", "), pools.len() - MAX_TITLE_POOLS)
        }
        _ => pools.join(", "),
    }
}

/// Returns how to decide a verdict that depends on pool fields or on the build; only pool fields if those decide.
fn missing_facts_help(verdict: &StartupVerdict<'_>, settings: AnalysisSettings<'_>) -> String {
    let mut ways: Vec<String> = Vec::new();
    let gaps = missing_for_verdict(verdict, settings.knowledge);
    for gap in gaps.iter().filter(|gap| verdict.open_fields.is_empty() || gap.key.starts_with("pool.")) {
        if ways.iter().any(|one| one.contains(&gap.supply)) {
            continue;
        }
        ways.retain(|one| !gap.supply.contains(one.as_str()));
        ways.push(gap.supply.clone());
    }
    ways.join("; ")
}

/// Returns the locations of what decides on some hosts or is unknown, then those of the pool.
fn open_verdict_locations(
    verdict: &StartupVerdict<'_>,
    one: &JudgedPool<'_>,
    places: LocationBuilder<'_>,
) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    let mut fields: Vec<Basis> = verdict.open_fields.iter().map(|field| Basis::Pool(*field)).collect();
    for host in verdict.hosts.iter().take(MAX_HOSTS) {
        for basis in open_host_basis(host, one.pool) {
            match basis {
                Basis::Image(id) if found.len() < MAX_LOCATIONS => {
                    let places_of = |id| labelled_origins(host.image, id);
                    for (origin, label) in
                        unread_requirements_fact(host.image, id).into_iter().chain([id]).flat_map(places_of)
                    {
                        push_unique_location(&mut found, places.origin(&origin, label));
                    }
                }
                Basis::Pool(_) | Basis::Entry(_) => fields.push(basis),
                Basis::Image(_) | Basis::Row(_) => {}
            }
        }
    }
    if let Some(host) = verdict.hosts.first() {
        places.insert_image_line(&mut found, host.image);
        let of_pool = basis_locations(host.image, &fields, one.pool, places);
        for location in of_pool.into_iter().filter(|location| location.kind == LocationKind::Fleet) {
            push_unique_location(&mut found, location);
        }
    }
    found
}

/// Returns the fact of the unread file, if a fact is unknown for that reason.
fn unread_requirements_fact(image: &ImageFacts, id: FactId) -> Option<FactId> {
    let why = image.unknown_cause(id)?;
    let same = |state: &ValueState<PrintedValue>| matches!(state, ValueState::Unknown(other) if other == why);
    image.facts.iter().find(|(_, entry)| entry.key == FactKey::Requirements && same(&entry.state)).map(|(id, _)| id)
}

/// Returns what is unknown on an undetermined host, or what decides on a failing one.
fn open_host_basis(host: &HostResult<'_>, pool: &Pool) -> Vec<Basis> {
    match host.fate {
        StartupResult::Fails(_) => host.deciding_step().map(|step| step.facts.iter().collect()).unwrap_or_default(),
        StartupResult::Starts(_) => Vec::new(),
        StartupResult::Undetermined => {
            let unknown = host.steps.iter().filter(|step| step.result == StepResult::Unknown);
            let lacks = |basis: &Basis| match basis {
                Basis::Image(id) => host.image.unknown_cause(*id).is_some(),
                Basis::Pool(_) | Basis::Entry(_) => true,
                Basis::Row(_) => false,
            };
            unknown
                .flat_map(|step| {
                    let lacking: Vec<Basis> = step.facts.iter().filter(lacks).collect();
                    // If the pool declares its part and every fact is known, the facts leave the step open.
                    let declared =
                        |basis: &Basis| matches!(basis, Basis::Pool(field) if pool.field_span(*field).is_some());
                    let images = || step.facts.iter().filter(|basis| matches!(basis, Basis::Image(_)));
                    if lacking.iter().all(declared) { images().chain(lacking).collect() } else { lacking }
                })
                .collect()
        }
    }
}
