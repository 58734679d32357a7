//! Verdicts that are left open, told as warnings: one for each cause, with the pools that share it.

use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::judge::Settings;
use crate::judge::asked;
use crate::judge::control::Orders;
use crate::judge::findings::Judged;
use crate::judge::findings::locations;
use crate::judge::findings::push;
use crate::judge::labels::label;
use crate::judge::labels::pool_field;
use crate::judge::missing::missing;
use crate::judge::opened::Opened;
use crate::judge::place::Places;
use crate::judge::scope::NoticeWords;
use crate::report::model;
use crate::report::model::Finding;
use crate::report::model::Location;
use crate::rules::Notice;
use crate::rules::Severity;
use crate::start::Basis;
use crate::start::Fate;
use crate::start::HostFate;
use crate::start::StepResult;
use crate::start::Verdict;
use crate::start::words::Failure;
use crate::start::words::failure;
use crate::start::words::failure_of_several;

/// A finding names about so many places of facts, of so many hosts.
const MOST_PLACES: usize = 8;
const MOST_HOSTS: usize = 64;

/// What helps where nothing is named that is missing.
const NO_HELP: &str = "run with --why to see the deciding step";

/// A cause, and what is told of it.
struct Cause {
    notice: Notice,
    severity: Severity,
    opened: Opened,
    /// What goes wrong if it fails: the parts that all pools share.
    failure: Option<[Failure; 2]>,
    help: String,
    pools: Vec<String>,
    locations: Vec<Location>,
}

/// One finding for each cause, of those pools that no comment leaves out.
pub(super) fn report(
    judged: &[Judged<'_>],
    places: Places<'_>,
    settings: Settings<'_>,
    orders: &mut Orders<'_>,
) -> Vec<Finding> {
    let mut causes: Vec<Cause> = Vec::new();
    for one in judged {
        let Some(verdict) = one.verdicts.iter().find(|verdict| verdict.component.is_none()) else { continue };
        let notice = match verdict.fate {
            None => Notice::Depends,
            Some(Fate::Undetermined) => Notice::Undetermined,
            Some(Fate::Starts(_) | Fate::Fails(_)) => continue,
        };
        let Some(page) = settings.book.reader(notice) else { continue };
        let located = located(verdict, one, places);
        let pool = &one.pool.name.value;
        if orders.ignores(&page.name, Some(pool), &located) {
            continue;
        }
        let Some(opened) = Opened::of(verdict, settings.knowledge) else { continue };
        let help = help(verdict, settings);
        let severity = asked::severity(page, Some(pool), settings);
        let alike = |cause: &&mut Cause| {
            (cause.notice, cause.severity, &cause.help) == (notice, severity, &help) && cause.opened.is_alike(&opened)
        };
        if let Some(cause) = causes.iter_mut().find(alike) {
            cause.pools.push(pool.clone());
            cause.failure = match (cause.failure.take(), failure_of(verdict, settings)) {
                (Some([one, general]), Some([other, other_general])) => {
                    Some([one.common(&other, &general, &other_general), general])
                }
                _ => None,
            };
            for location in located {
                push(&mut cause.locations, location);
            }
            continue;
        }
        let failure = failure_of(verdict, settings);
        causes.push(Cause { notice, severity, opened, failure, help, pools: vec![pool.clone()], locations: located });
    }
    causes.into_iter().filter_map(|cause| finding(cause, settings)).collect()
}

/// What is told of a pool of which no node can be drawn up.
pub(super) fn no_host(
    pool: &Pool,
    verdict: &model::Verdict,
    places: Places<'_>,
    settings: Settings<'_>,
    orders: &mut Orders<'_>,
) -> Option<Finding> {
    let label = pool_field(pool, PoolField::Toolkit);
    let locations: Vec<Location> = places.pool(pool, Some(PoolField::Toolkit), label).into_iter().collect();
    if orders.ignores(Notice::Undetermined.word(), Some(&pool.name.value), &locations) {
        return None;
    }
    let help = verdict.missing.iter().map(|gap| gap.supply.as_str()).collect::<Vec<_>>().join("; ");
    let told = verdict.message.strip_prefix("unknown: ").unwrap_or(&verdict.message).to_owned();
    let (notice, opened, pools) = (Notice::Undetermined, Opened::Reasons(vec![told]), vec![pool.name.value.clone()]);
    let severity = asked::severity(settings.book.reader(notice)?, Some(&pool.name.value), settings);
    finding(Cause { notice, severity, opened, failure: None, help, pools, locations }, settings)
}

fn finding(cause: Cause, settings: Settings<'_>) -> Option<Finding> {
    let page = settings.book.reader(cause.notice)?;
    let behind = cause.opened.cause();
    let title = match (&cause.failure, &behind) {
        (Some([failure, _]), Some(_)) => format!("may fail on {}: {}", named(&cause.pools), failure.title),
        (None, Some(_)) => format!("may fail on {}: it {}", named(&cause.pools), cause.opened.text()),
        (_, None) => cause.opened.text(),
    };
    let symptom = cause.failure.and_then(|[failure, _]| failure.symptom).filter(|_| behind.is_some());
    Some(Finding {
        rule: page.name.clone(),
        severity: cause.severity.to_string(),
        message: page.message.render(&NoticeWords(title)),
        help: Some(page.help.render(&NoticeWords(cause.help))),
        pools: cause.pools,
        component: None,
        locations: cause.locations,
        cause: behind,
        symptom,
        fixes: Vec::new(),
    })
}

/// The failure of the first host that fails, on its pool and on several.
fn failure_of(verdict: &Verdict<'_>, settings: Settings<'_>) -> Option<[Failure; 2]> {
    let of = |host: &HostFate<'_>| match host.fate {
        Fate::Fails(wall) => {
            let replay = host.replay(settings.knowledge);
            Some([failure(replay, wall), failure_of_several(replay, wall)])
        }
        Fate::Starts(_) | Fate::Undetermined => None,
    };
    verdict.hosts.iter().find_map(of)
}

/// The most pools that a title names.
const MOST_NAMED: usize = 3;

/// Pools by name, the first of many.
fn named(pools: &[String]) -> String {
    match pools.get(..MOST_NAMED) {
        Some(first) if pools.len() > MOST_NAMED => {
            format!("{} and {} more", first.join(", "), pools.len() - MOST_NAMED)
        }
        _ => pools.join(", "),
    }
}

/// How to supply what is missing, each once; where fields of the pool decide, these first, for they may settle all.
fn help(verdict: &Verdict<'_>, settings: Settings<'_>) -> String {
    let mut told: Vec<String> = Vec::new();
    let gaps = missing(verdict, settings.knowledge);
    let asked = |gap: &&model::Missing| {
        verdict.fate.is_some() || verdict.open_fields.is_empty() || gap.key.starts_with("pool.")
    };
    for gap in gaps.iter().filter(asked) {
        if told.iter().any(|one| one.contains(&gap.supply)) {
            continue;
        }
        told.retain(|one| !gap.supply.contains(one.as_str()));
        told.push(gap.supply.clone());
    }
    if told.is_empty() { NO_HELP.to_owned() } else { told.join("; ") }
}

/// The places of what decides on some hosts or is not known, then those of the pool.
fn located(verdict: &Verdict<'_>, one: &Judged<'_>, places: Places<'_>) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    let mut fields: Vec<Basis> = verdict.open_fields.iter().map(|field| Basis::Pool(*field)).collect();
    for host in verdict.hosts.iter().take(MOST_HOSTS) {
        for basis in open_basis(host) {
            match basis {
                Basis::Image(id) if found.len() < MOST_PLACES => {
                    let label = label(host.image, id);
                    for origin in host.image.facts.origins(id) {
                        push(&mut found, places.origin(&origin, label.clone()));
                    }
                }
                Basis::Pool(_) | Basis::Entry(_) => fields.push(basis),
                Basis::Image(_) | Basis::Row(_) => {}
            }
        }
    }
    if let Some(host) = verdict.hosts.first() {
        places.named(&mut found, host.image);
        let of_pool = locations(host.image, &fields, one.pool, places);
        for location in of_pool.into_iter().filter(|location| location.kind == "fleet") {
            push(&mut found, location);
        }
    }
    found
}

/// What an open host lacks, and what decides on one that is not open.
fn open_basis(host: &HostFate<'_>) -> Vec<Basis> {
    match host.fate {
        Fate::Fails(_) => host.deciding().map(|step| step.facts.iter().collect()).unwrap_or_default(),
        Fate::Starts(_) => Vec::new(),
        Fate::Undetermined => {
            let unknown = host.steps.iter().filter(|step| step.result == StepResult::Unknown);
            let lacks = |basis: &Basis| match basis {
                Basis::Image(id) => host.image.why(*id).is_some(),
                Basis::Pool(_) | Basis::Entry(_) => true,
                Basis::Row(_) => false,
            };
            unknown
                .flat_map(|step| {
                    let lacking: Vec<Basis> = step.facts.iter().filter(lacks).collect();
                    // Where every fact is known, they are what leaves the step open.
                    let images = || step.facts.iter().filter(|basis| matches!(basis, Basis::Image(_))).collect();
                    if lacking.is_empty() { images() } else { lacking }
                })
                .collect()
        }
    }
}
