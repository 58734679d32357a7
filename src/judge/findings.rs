//! Findings: start-up pages tell the walls that were met, practice pages speak where their conditions hold.

use crate::fact::Confidence;
use crate::fact::ImageFacts;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::judge::Build;
use crate::judge::Settings;
use crate::judge::asked;
use crate::judge::control::Orders;
use crate::judge::labels::label;
use crate::judge::labels::labelled;
use crate::judge::labels::pool_entry;
use crate::judge::labels::pool_field;
use crate::judge::open;
use crate::judge::place::Places;
use crate::judge::scope::PoolWords;
use crate::judge::scope::Subject;
use crate::judge::untold::Untold;
use crate::judge::verdict::elsewhere;
use crate::judge::verdict::message;
use crate::judge::verdict::message_of_several;
use crate::knowledge::How;
use crate::knowledge::RowInfo;
use crate::outcome::Cause;
use crate::report::model::Finding;
use crate::report::model::Location;
use crate::report::observed::OnPlatform;
use crate::rules::Kind;
use crate::rules::Page;
use crate::rules::Severity;
use crate::rules::Truth;
use crate::start::Basis;
use crate::start::Fate;
use crate::start::HostFate;
use crate::start::Verdict;
use crate::start::Wall;
use crate::start::cause;
use crate::start::deciding;
use crate::start::words::Failure;
use crate::start::words::POOLS;
use crate::start::words::failure_of_several;

/// A pool with its verdicts.
pub(super) struct Judged<'a> {
    pub(super) pool: &'a Pool,
    pub(super) verdicts: Vec<Verdict<'a>>,
}

/// The builds of a subject, and what was seen of each platform.
#[derive(Clone, Copy)]
pub(super) struct Images<'a> {
    pub(super) builds: &'a [Build],
    pub(super) looked: &'a [OnPlatform],
}

/// Whether the image is built for the platform that it was inferred for, as far as that is known.
fn is_there(build: &Build) -> bool {
    let platforms = build.image.platforms.known();
    platforms.is_none_or(|list| list.iter().any(|one| one.starts_with(&build.platform)))
}

impl<'a> Images<'a> {
    /// The image as pages ask about it, with the words of a pool where there is one.
    fn scope(self, image: &'a ImageFacts, settings: Settings<'_>, pool: Option<&'a PoolWords>) -> Subject<'a> {
        let build = self.builds.iter().find(|build| std::ptr::eq(build.image.as_ref(), image));
        let seen = build.and_then(|build| self.looked.get(build.looked)).map(|looked| &looked.seen);
        let day = settings.as_of.unwrap_or_else(|| settings.knowledge.newest_date());
        Subject { image, seen, knowledge: settings.knowledge, day, pool }
    }

    /// The first build for a platform, else the first of all, of those that there are.
    fn on(self, platform: Option<&str>) -> Option<&'a ImageFacts> {
        let mut there = self.builds.iter().filter(|build| is_there(build));
        let own = there.clone().find(|build| Some(build.platform.as_str()) == platform);
        own.or_else(|| there.next()).map(|build| build.image.as_ref())
    }
}

/// All findings of a subject that no comment leaves out; `undecided` gets the pages of which the condition is open.
pub(super) fn report(
    judged: &[Judged<'_>],
    images: Images<'_>,
    places: Places<'_>,
    settings: Settings<'_>,
    orders: &mut Orders<'_>,
    undecided: &mut Vec<String>,
) -> Vec<Finding> {
    let mut findings = startup(judged, images, places, settings, orders);
    findings.extend(open::report(judged, places, settings, orders));
    let words: Vec<PoolWords> = judged.iter().map(|one| PoolWords::of(one, settings.knowledge)).collect();
    let mut untold = Untold::default();
    for page in settings.book.speaking().filter(|page| page.persona <= settings.persona) {
        for finding in practice(page, &words, images, places, settings, &mut untold, undecided) {
            // Such a finding is about one pool or none.
            let pool = finding.pools.first().map(String::as_str);
            if !orders.ignores(&finding.rule, pool, &finding.locations) {
                add(&mut findings, finding);
            }
        }
    }
    findings.extend(untold.report(settings, orders));
    findings
}

/// What is told of several pools in the same words is told once.
fn add(findings: &mut Vec<Finding>, finding: Finding) {
    let alike = |other: &&mut Finding| {
        (&other.rule, &other.severity, &other.message, &other.help, &other.locations)
            == (&finding.rule, &finding.severity, &finding.message, &finding.help, &finding.locations)
    };
    match findings.iter_mut().find(alike) {
        Some(other) => other.pools.extend(finding.pools),
        None => findings.push(finding),
    }
}

/// Sorts by place, rule and pool.
pub(super) fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (first_byte(finding), finding.rule.clone(), finding.pools.clone()));
}

fn first_byte(finding: &Finding) -> usize {
    // The place in a fleet file says nothing of the order in the input.
    let first = finding.locations.first().filter(|location| location.kind != "fleet");
    first.and_then(|location| location.region).map_or(usize::MAX, |region| region.start_byte)
}

/// One finding for each way to fail at one place of the image, with all the pools on which it is met.
fn startup(
    judged: &[Judged<'_>],
    images: Images<'_>,
    places: Places<'_>,
    settings: Settings<'_>,
    orders: &mut Orders<'_>,
) -> Vec<Finding> {
    let mut walls: Vec<Met<'_>> = Vec::new();
    for one in judged {
        let Some(verdict) = one.verdicts.iter().find(|verdict| verdict.component.is_none()) else { continue };
        let (Some(Fate::Fails(wall)), Some(host)) = (verdict.fate, verdict.typical()) else { continue };
        let page = settings.book.startup(wall.outcome());
        let locations = locations(host.image, &basis(host), one.pool, places);
        if orders.ignores(&page.name, Some(&one.pool.name.value), &locations) {
            continue;
        }
        let own = match host.fate {
            Fate::Fails(own) => own,
            Fate::Starts(_) | Fate::Undetermined => wall,
        };
        let met = Met {
            wall,
            cause: cause(host.replay(settings.knowledge), own),
            severity: severity(page, Some(&one.pool.name.value), settings),
            host,
            message: message(verdict, settings.knowledge),
            general: message_of_several(host, wall, settings.knowledge),
            fails: vec![(host, own)],
            elsewhere: elsewhere(verdict, wall),
            pools: vec![one],
            locations,
        };
        match walls.iter_mut().find(|other| other.is_alike(&met)) {
            Some(other) => other.join(met),
            None => walls.push(met),
        }
    }
    walls.into_iter().map(|met| met.finding(images, places, settings)).collect()
}

/// A wall, and the pools on which it is met for the same cause.
struct Met<'a> {
    wall: Wall,
    cause: Option<Cause>,
    severity: Severity,
    /// On the first pool; the others differ from it in their GPUs and drivers.
    host: &'a HostFate<'a>,
    /// As long as all pools have the same, their sentence; else empty.
    message: String,
    /// The same without what differs from pool to pool.
    general: String,
    /// A host of each pool, with its wall.
    fails: Vec<(&'a HostFate<'a>, Wall)>,
    /// How other nodes of the pools fail; empty if all fail alike.
    elsewhere: String,
    pools: Vec<&'a Judged<'a>>,
    locations: Vec<Location>,
}

impl<'a> Met<'a> {
    /// Whether it is told with the same words at the same place of the image.
    fn is_alike(&self, other: &Self) -> bool {
        (self.wall, self.cause, self.severity, &self.host.component.name)
            == (other.wall, other.cause, other.severity, &other.host.component.name)
            && rests_on_memory(self.host) == rests_on_memory(other.host)
            && of_image(&self.locations).eq(of_image(&other.locations))
            && (self.message == other.message || self.general == other.general)
    }

    fn join(&mut self, other: Self) {
        if self.message != other.message {
            self.message.clear();
        }
        self.fails.extend(other.fails);
        if self.elsewhere != other.elsewhere {
            self.elsewhere.clear();
        }
        self.pools.extend(other.pools);
        for location in other.locations {
            push(&mut self.locations, location);
        }
    }

    fn finding(mut self, images: Images<'a>, places: Places<'_>, settings: Settings<'_>) -> Finding {
        let page = settings.book.startup(self.wall.outcome());
        let pools: Vec<String> = self.pools.iter().map(|one| one.pool.name.value.clone()).collect();
        let fails: Vec<_> = self.fails.iter().map(|(host, own)| (host.replay(settings.knowledge), *own)).collect();
        let Failure { title, cause, symptom, help } = failure_of_several(&fails);
        let words = PoolWords {
            name: pools.join(", "),
            outcome: Some(self.wall.outcome().to_string()),
            title,
            ..self.pools.first().map(|one| PoolWords::of(one, settings.knowledge)).unwrap_or_default()
        };
        let scope = images.scope(self.host.image, settings, Some(&words));
        let base = self.host.image.base.map(|id| self.host.image.facts.origins(id)).unwrap_or_default();
        let base: Vec<Location> = base.iter().map(|origin| places.origin(origin, String::new())).collect();
        base_behind(&mut self.locations, &base);
        let recalled = rests_on_memory(self.host);
        let own = help.map(|help| help.replace(POOLS, &of_pools(&pools)));
        let help = own.unwrap_or_else(|| page.help_of(self.cause).render(&scope));
        let cause = match cause {
            Some(cause) => Some(format!("{cause}{}", self.elsewhere)),
            None => Some(self.elsewhere.trim_start_matches("; ").to_owned()).filter(|text| !text.is_empty()),
        };
        Finding {
            rule: page.name.clone(),
            severity: if recalled { self.severity.min(Severity::Warning) } else { self.severity }.into(),
            message: page.message.render(&scope),
            help: Some(if recalled { format!("{}. {FROM_MEMORY}", help.trim_end_matches('.')) } else { help }),
            pools,
            component: Some(self.host.component.name.clone()),
            locations: self.locations,
            cause,
            also_unknown: Vec::new(),
            symptom,
            fixes: Vec::new(),
        }
    }
}

/// The most pools that a help names.
const MOST_NAMED: usize = 3;

/// Pools by name: `pool t4`, `pools a and b`, `5 pools`.
pub(super) fn of_pools(names: &[String]) -> String {
    match names {
        [one] => format!("pool {one}"),
        [others @ .., last] if names.len() <= MOST_NAMED => format!("pools {} and {last}", others.join(", ")),
        _ => format!("these {} pools", names.len()),
    }
}

/// Places of the image, without those of pools.
fn of_image(locations: &[Location]) -> impl Iterator<Item = &Location> {
    locations.iter().filter(|location| location.kind != "fleet")
}

/// A line that somebody wrote to change what the base image does says more than the base image's own.
fn base_behind(found: &mut [Location], base: &[Location]) {
    let of_base =
        |location: &Location| base.iter().any(|other| other.path == location.path && other.region == location.region);
    let beside = |location: &Location| !of_base(location) && base.iter().any(|other| other.path == location.path);
    if let Some(last) = found.iter().rposition(beside) {
        found.get_mut(..=last).unwrap_or_default().sort_by_key(of_base);
    }
}

/// What the step that decided rests on.
fn basis(host: &HostFate<'_>) -> Vec<Basis> {
    host.deciding().map(|step| deciding(step, host.host)).unwrap_or_default()
}

/// Said with a finding that rests on somebody's memory.
const FROM_MEMORY: &str = "This depends on an unverified entry of the compatibility database, so it is not an error.";

/// Whether the step that decided looked at a table row from memory: itself, for a fact of the image, or for the host.
fn rests_on_memory(host: &HostFate<'_>) -> bool {
    let recalled = |row: Option<&RowInfo>| row.is_some_and(|row| row.how == How::Memory);
    host.deciding().is_some_and(|step| {
        step.facts.iter().any(|basis| match basis {
            Basis::Row(row) => recalled(Some(row)),
            Basis::Image(id) => host.image.facts.confidence(id) == Confidence::Assumed,
            Basis::Pool(PoolField::Driver) => recalled(host.host.driver_row),
            Basis::Pool(PoolField::Gpu) => recalled(host.host.gpu.as_ref().and_then(|gpu| gpu.row)),
            Basis::Pool(_) | Basis::Entry(_) => false,
        })
    })
}

/// How bad what a page says is on a pool: as the settings say, else the page.
pub(super) fn severity(page: &Page, pool: Option<&str>, settings: Settings<'_>) -> Severity {
    // Nobody has said that these pools exist.
    let cap = if settings.fleet.built_in { Severity::Warning } else { Severity::Error };
    asked::severity(page, pool, settings).min(cap)
}

/// The places of the facts that decided, each labelled with its value, then those of the pool's fields.
pub(super) fn locations(image: &ImageFacts, basis: &[Basis], pool: &Pool, places: Places<'_>) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    for one in basis {
        match one {
            Basis::Image(id) => {
                for (origin, label) in labelled(image, *id) {
                    push(&mut found, places.origin(&origin, label));
                }
            }
            Basis::Pool(field) if pool.span_of(*field).is_some() => {
                found.extend(places.pool(pool, Some(*field), pool_field(pool, *field)));
            }
            Basis::Entry(entry) => {
                if let Some((name, value)) = entry.of(pool) {
                    found.extend(places.pool_span(value.span, pool_entry(pool, name, &value.value)));
                }
            }
            Basis::Pool(_) | Basis::Row(_) => {}
        }
    }
    places.named(&mut found, image);
    if !found.iter().any(|location| location.kind == "fleet") {
        found.extend(places.pool(pool, None, format!("pool {}", pool.name.value)));
    }
    found
}

pub(super) fn push(found: &mut Vec<Location>, location: Location) {
    if !found
        .iter()
        .any(|other| other.kind == location.kind && other.path == location.path && other.region == location.region)
    {
        found.push(location);
    }
}

/// What a practice page says: once for an image, or for each pool where it asks about pools.
fn practice(
    page: &Page,
    words: &[PoolWords],
    images: Images<'_>,
    places: Places<'_>,
    settings: Settings<'_>,
    untold: &mut Untold,
    undecided: &mut Vec<String>,
) -> Vec<Finding> {
    let Kind::Practice(condition) = &page.kind else { return Vec::new() };
    let asked: Vec<Option<&PoolWords>> =
        if page.is_about_pools() { words.iter().map(Some).collect() } else { vec![None] };
    let mut found = Vec::new();
    for pool in asked {
        let Some(image) = images.on(pool.and_then(|pool| pool.platform.as_deref())) else { continue };
        let scope = images.scope(image, settings, pool);
        let message = match condition.truth(&scope) {
            Ok(Truth::True) => page.message.render(&scope),
            Ok(Truth::False) => continue,
            Ok(Truth::Unknown) => {
                undecided.push(page.name.clone());
                untold.add(page, condition, &scope, places);
                continue;
            }
            // Not to be told of at all would be a pass.
            Err(misfit) => format!("the rule could not be evaluated: {misfit}"),
        };
        found.push(Finding {
            rule: page.name.clone(),
            severity: severity(page, pool.map(|pool| pool.name.as_str()), settings).into(),
            message,
            help: Some(page.help.render(&scope)),
            pools: pool.map(|pool| pool.name.clone()).into_iter().collect(),
            component: None,
            locations: blame(&scope, page, places),
            cause: page.cause.as_ref().map(|cause| cause.render(&scope)),
            also_unknown: Vec::new(),
            symptom: None,
            fixes: Vec::new(),
        });
    }
    found
}

/// What is wrong with such a variable is its name.
const MISSPELT: &str = "image.env_misspelt";

fn blame(scope: &Subject<'_>, page: &Page, places: Places<'_>) -> Vec<Location> {
    let mut found = Vec::new();
    if let Some(id) = scope.blamed(&page.blame) {
        let misspelt = page.blame == MISSPELT;
        for origin in scope.image.facts.origins(id) {
            let name = scope.image.facts.get(id).of.as_deref().filter(|_| misspelt);
            let origin = name.map_or(origin.clone(), |name| places.name_of(&origin, name));
            push(&mut found, places.origin(&origin, label(scope.image, id)));
        }
    }
    // Then the other facts that the message names, each at its first place.
    for id in page.message.names().filter(|name| *name != page.blame).filter_map(|name| scope.blamed(name)) {
        if let Some(origin) = scope.image.facts.origins(id).into_iter().next() {
            push(&mut found, places.origin(&origin, label(scope.image, id)));
        }
    }
    places.named(&mut found, scope.image);
    found
}
