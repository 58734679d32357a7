//! Verdicts that are left open, told as warnings: one for each cause, with the pools that share it.

use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::judge::Settings;
use crate::judge::asked;
use crate::judge::control::Orders;
use crate::judge::findings::Judged;
use crate::judge::findings::locations;
use crate::judge::findings::of_pools;
use crate::judge::findings::push;
use crate::judge::labels::labelled;
use crate::judge::labels::pool_field;
use crate::judge::missing::missing;
use crate::judge::opened::Opened;
use crate::judge::opened::Reason;
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
use crate::start::Route;
use crate::start::StepResult;
use crate::start::Verdict;
use crate::start::Wall;
use crate::start::field_value;
use crate::start::words::Failure;
use crate::start::words::POOLS;
use crate::start::words::failure_of_several;

/// A finding names about so many places of facts, of so many hosts.
const MOST_PLACES: usize = 8;
const MOST_HOSTS: usize = 64;

/// What helps where nothing is named that is missing.
const NO_HELP: &str = "run with --why to see the deciding step";

/// A cause, and what is told of it.
struct Cause<'a> {
    notice: Notice,
    severity: Severity,
    opened: Opened,
    /// Of each pool, the first host that fails.
    fails: Vec<Option<(&'a HostFate<'a>, Wall)>>,
    /// Of each pool, which value of the open field leads where.
    ends: Vec<Option<String>>,
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
    let mut causes: Vec<Cause<'_>> = Vec::new();
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
        let help = if opened.may_fail() { help(verdict, settings) } else { String::new() };
        let severity = asked::severity(page, Some(pool), settings);
        let alike = |cause: &&mut Cause<'_>| {
            (cause.notice, cause.severity, &cause.help) == (notice, severity, &help) && cause.opened.is_alike(&opened)
        };
        if let Some(cause) = causes.iter_mut().find(alike) {
            cause.pools.push(pool.clone());
            cause.fails.push(failing(verdict));
            cause.ends.push(ends(verdict));
            for location in located {
                push(&mut cause.locations, location);
            }
            continue;
        }
        let (fails, ends, pools) = (vec![failing(verdict)], vec![ends(verdict)], vec![pool.clone()]);
        causes.push(Cause { notice, severity, opened, fails, ends, help, pools, locations: located });
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
    let opened = Opened::Reasons(vec![Reason { text: told, supply: help }]);
    let (notice, help, pools) = (Notice::Undetermined, String::new(), vec![pool.name.value.clone()]);
    let severity = asked::severity(settings.book.reader(notice)?, Some(&pool.name.value), settings);
    finding(Cause { notice, severity, opened, fails: Vec::new(), ends: Vec::new(), help, pools, locations }, settings)
}

fn finding(cause: Cause<'_>, settings: Settings<'_>) -> Option<Finding> {
    let page = settings.book.reader(cause.notice)?;
    let mut texts = cause.opened.texts();
    let may_fail = cause.opened.may_fail();
    if let Some(Some(ends)) = cause.ends.first().filter(|first| cause.ends.iter().all(|other| other == *first)) {
        texts.cause = Some(ends.clone());
    }
    let failure = failure(&cause.fails, settings);
    let title = match &failure {
        Some(failure) if may_fail => format!("may fail on {}: {}", named(&cause.pools), failure.title),
        None if may_fail => format!("may fail on {}: it {}", named(&cause.pools), texts.title),
        _ => texts.title,
    };
    let failure = failure.filter(|_| may_fail);
    let (symptom, repair) = failure.map_or((None, None), |failure| (failure.symptom, failure.help));
    let help = [texts.help, cause.help].into_iter().find(|help| !help.is_empty());
    let pools = of_pools(&cause.pools);
    let of_pool = |help: String| help.replace(" of the pool", &format!(" of {pools} in the fleet file"));
    let help = of_pool(help.unwrap_or_else(|| NO_HELP.to_owned()));
    let help = match repair {
        Some(repair) => format!("{help}; if it fails, {}", repair.replace(POOLS, &pools)),
        None => help,
    };
    let also_unknown = texts.also_unknown.into_iter().map(of_pool).collect();
    Some(Finding {
        rule: page.name.clone(),
        severity: cause.severity.into(),
        message: page.message.render(&NoticeWords(title)),
        help: Some(page.help.render(&NoticeWords(help))),
        pools: cause.pools,
        component: None,
        locations: cause.locations,
        cause: texts.cause,
        also_unknown,
        symptom,
        fixes: Vec::new(),
    })
}

/// The first host that fails.
fn failing<'a>(verdict: &'a Verdict<'a>) -> Option<(&'a HostFate<'a>, Wall)> {
    verdict.hosts.iter().find_map(|host| match host.fate {
        Fate::Fails(wall) => Some((host, wall)),
        Fate::Starts(_) | Fate::Undetermined => None,
    })
}

/// So many values of a field are named for each end.
const MOST_VALUES: usize = 3;

/// A value that the pool could declare.
fn value(field: PoolField, host: &HostFate<'_>) -> Option<String> {
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
    own.contains(&field).then(|| field_value(field, host.host)).filter(|value| !value.is_empty())
}

/// Which values of the one open field lead where: `fails (no-gpu) with launch = "enroot"; starts with "docker-gpus"`.
fn ends(verdict: &Verdict<'_>) -> Option<String> {
    let [field] = verdict.open_fields.as_slice() else { return None };
    let mut ends: Vec<(String, Vec<String>)> = Vec::new();
    for host in &verdict.hosts {
        let end = match host.fate {
            Fate::Fails(wall) => format!("fails ({})", wall.outcome().rule()),
            Fate::Starts(Route::ForwardCompat) => "starts on cuda-compat of the image".to_owned(),
            Fate::Starts(_) => "starts".to_owned(),
            Fate::Undetermined => "unknown".to_owned(),
        };
        let value = value(*field, host)?;
        match ends.iter_mut().find(|(other, _)| *other == end) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => ends.push((end, vec![value])),
        }
    }
    ends.sort();
    let once = |value: &String| ends.iter().filter(|(_, values)| values.contains(value)).count() == 1;
    let always_named = matches!(field, PoolField::Launch | PoolField::Toolkit);
    let too_many = |(_, values): &(String, Vec<String>)| !always_named && values.len() > MOST_VALUES;
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
        let named: Vec<String> = values.iter().take(MOST_VALUES).map(|value| format!("\"{value}\"")).collect();
        let more = values.len().saturating_sub(MOST_VALUES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let key = if at == 0 { key.as_str() } else { "" };
        format!("{end} with {key}{}{more}", named.join(", "))
    });
    Some(each.collect::<Vec<_>>().join("; "))
}

/// What goes wrong if it fails, if it can fail on each of the pools.
fn failure<'a>(fails: &[Option<(&'a HostFate<'a>, Wall)>], settings: Settings<'a>) -> Option<Failure> {
    let mut known = Vec::new();
    for one in fails {
        let (host, wall) = (*one)?;
        known.push((host.replay(settings.knowledge), wall));
    }
    (!known.is_empty()).then(|| failure_of_several(&known))
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

/// How to settle a verdict that depends on fields of the pool or on the build, each way once. Where fields of the pool
/// decide, only these, because they may settle everything.
fn help(verdict: &Verdict<'_>, settings: Settings<'_>) -> String {
    let mut ways: Vec<String> = Vec::new();
    let gaps = missing(verdict, settings.knowledge);
    for gap in gaps.iter().filter(|gap| verdict.open_fields.is_empty() || gap.key.starts_with("pool.")) {
        if ways.iter().any(|one| one.contains(&gap.supply)) {
            continue;
        }
        ways.retain(|one| !gap.supply.contains(one.as_str()));
        ways.push(gap.supply.clone());
    }
    ways.join("; ")
}

/// The places of what decides on some hosts or is not known, then those of the pool.
fn located(verdict: &Verdict<'_>, one: &Judged<'_>, places: Places<'_>) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    let mut fields: Vec<Basis> = verdict.open_fields.iter().map(|field| Basis::Pool(*field)).collect();
    for host in verdict.hosts.iter().take(MOST_HOSTS) {
        for basis in open_basis(host, one.pool) {
            match basis {
                Basis::Image(id) if found.len() < MOST_PLACES => {
                    let places_of = |id| labelled(host.image, id);
                    for (origin, label) in unread_file(host.image, id).into_iter().chain([id]).flat_map(places_of) {
                        push(&mut found, places.origin(&origin, label));
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

/// The file that was not read, if a fact is unknown for that reason.
fn unread_file(image: &ImageFacts, id: FactId) -> Option<FactId> {
    let why = image.why(id)?;
    let same = |state: &State<Value>| matches!(state, State::Unknown(other) if other == why);
    image.facts.iter().find(|(_, entry)| entry.key == FactKey::Requirements && same(&entry.state)).map(|(id, _)| id)
}

/// What an open host lacks, and what decides on one that is not open.
fn open_basis(host: &HostFate<'_>, pool: &Pool) -> Vec<Basis> {
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
                    // If the pool declares its part and every fact is known, the facts leave the step open.
                    let declared =
                        |basis: &Basis| matches!(basis, Basis::Pool(field) if pool.span_of(*field).is_some());
                    let images = || step.facts.iter().filter(|basis| matches!(basis, Basis::Image(_)));
                    if lacking.iter().all(declared) { images().chain(lacking).collect() } else { lacking }
                })
                .collect()
        }
    }
}
