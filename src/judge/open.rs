//! Verdicts that are left open, told as warnings: one for each cause, with the pools that share it.

use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::judge::Settings;
use crate::judge::asked;
use crate::judge::control::Orders;
use crate::judge::findings::Judged;
use crate::judge::findings::label;
use crate::judge::findings::locations;
use crate::judge::findings::push;
use crate::judge::missing::missing;
use crate::judge::place::Places;
use crate::judge::scope::NoticeWords;
use crate::judge::verdict::message;
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

/// A finding names about so many places of facts, of so many hosts.
const MOST_PLACES: usize = 8;
const MOST_HOSTS: usize = 64;

/// A cause, and what is told of it.
struct Cause {
    notice: Notice,
    severity: Severity,
    message: String,
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
        let message = message(verdict, settings.knowledge);
        let help = help(verdict, settings);
        let severity = asked::severity(page, Some(pool), settings);
        let alike = |cause: &&mut Cause| {
            (cause.notice, cause.severity, &cause.message, &cause.help) == (notice, severity, &message, &help)
        };
        match causes.iter_mut().find(alike) {
            Some(cause) => {
                cause.pools.push(pool.clone());
                for location in located {
                    push(&mut cause.locations, location);
                }
            }
            None => {
                causes.push(Cause { notice, severity, message, help, pools: vec![pool.clone()], locations: located });
            }
        }
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
    let label = format!("the toolkit of pool `{}`", pool.name.value);
    let locations: Vec<Location> = places.pool(pool, Some(PoolField::Toolkit), label).into_iter().collect();
    if orders.ignores(Notice::Undetermined.word(), Some(&pool.name.value), &locations) {
        return None;
    }
    let help = verdict.missing.iter().map(|gap| gap.supply.as_str()).collect::<Vec<_>>().join("; ");
    let (notice, message, pools) = (Notice::Undetermined, verdict.message.clone(), vec![pool.name.value.clone()]);
    let severity = asked::severity(settings.book.reader(notice)?, Some(&pool.name.value), settings);
    finding(Cause { notice, severity, message, help, pools, locations }, settings)
}

fn finding(cause: Cause, settings: Settings<'_>) -> Option<Finding> {
    let page = settings.book.reader(cause.notice)?;
    Some(Finding {
        rule: page.name.clone(),
        severity: cause.severity.to_string(),
        message: page.message.render(&NoticeWords(cause.message)),
        help: Some(page.help.render(&NoticeWords(cause.help))),
        pools: cause.pools,
        component: None,
        locations: cause.locations,
        fixes: Vec::new(),
    })
}

/// How to supply what is missing, each once.
fn help(verdict: &Verdict<'_>, settings: Settings<'_>) -> String {
    let mut told: Vec<String> = Vec::new();
    for gap in missing(verdict, settings.knowledge) {
        if !told.contains(&gap.supply) {
            told.push(gap.supply);
        }
    }
    if told.is_empty() { "ask for the chain of steps by --why".to_owned() } else { told.join("; ") }
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
