//! Judge: subjects, pools and pages become the report. Nothing is decided here; fates come from the replay.

mod asked;
mod beside;
mod control;
mod early;
mod facts;
mod findings;
mod hosts;
mod inferred;
mod labels;
mod missing;
mod open;
mod opened;
mod other_processor;
mod past;
mod place;
pub mod saved;
mod scope;
mod seen;
mod untold;
mod verdict;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::civil::Date;

use crate::cluster::Nodes;
use crate::cluster::Start;
use crate::context::Files;
use crate::describe::Description;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::OnDemand;
use crate::extract;
use crate::extract::Bases;
use crate::fact::Depth;
use crate::fact::ImageFacts;
use crate::fact::Observations;
use crate::fleet::Fleet;
use crate::fleet::Pool;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::inventory::suits;
pub use crate::judge::asked::of_settings;
use crate::judge::control::Orders;
pub use crate::judge::control::looks_for_pools;
pub use crate::judge::early::Early;
pub use crate::judge::hosts::Hosts;
use crate::judge::hosts::Outlook;
use crate::judge::hosts::Tried;
pub use crate::judge::inferred::Inferred;
pub(crate) use crate::judge::other_processor::is_for_gpus;
use crate::judge::past::Past;
use crate::judge::place::Places;
use crate::judge::saved::Saved;
use crate::judge::seen::Beside;
use crate::judge::seen::described;
pub use crate::judge::seen::description;
pub use crate::judge::seen::observations;
pub use crate::judge::seen::which_platform;
use crate::knowledge::Knowledge;
use crate::report::model;
use crate::report::observed::Observed;
use crate::report::observed::OnPlatform;
use crate::rules::Persona;
use crate::rules::RuleBook;
use crate::settings::Own;
use crate::source::SourceId;
use crate::source::Sources;
use crate::start::Doubts;

/// What a subject consists of.
#[derive(Clone, Debug)]
pub enum Content {
    /// A Dockerfile, evaluated for each platform that is asked.
    Dockerfile {
        /// Its text.
        source: SourceId,
        /// Its stages.
        dockerfile: OnDemand,
        /// Build arguments and target; the platform is the pool's.
        options: EvaluateOptions,
        /// The files of its build context that it asks for.
        files: Files,
        /// What is known of base images beside the tables.
        bases: Arc<Bases>,
        /// What was seen of it already.
        early: Early,
    },
    /// The same for every platform.
    Fixed(Box<Observations>),
    /// One for each platform of an index; a pool whose platform is not there gets the first.
    ByPlatform(Vec<(String, Observations)>),
    /// What a saved report says was seen.
    Saved(Saved),
}

/// Where alone a subject runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// On the pools of these names.
    Pools(Vec<String>),
    /// On nodes with the labels that it asks for.
    Nodes(Nodes),
}

/// Something to judge.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Path or reference as given.
    pub name: String,
    /// The path as the pools' patterns see it: from the fleet file's folder.
    pub path: String,
    /// `dockerfile`, `image` or `description`.
    pub kind: &'static str,
    /// The digest that the name of an image leads to.
    pub digest: Option<String>,
    /// The images behind the name, one a platform.
    pub images: Vec<model::ImageOf>,
    /// What the reader had to leave out, with its place.
    pub notes: Vec<String>,
    /// Day for which tables are asked where the run does not say it.
    pub as_of: Option<Date>,
    /// Where alone it runs; as the fleet says where nothing is told.
    pub only: Option<Only>,
    /// How it comes to its GPUs; as the pools say where nothing is told.
    pub start: Start,
    /// Where a list or a manifest names it, for what is told of an image that no text of ours makes.
    pub named_at: Option<model::Location>,
    /// What it consists of.
    pub content: Content,
}

/// How much of what was found goes into the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// How it ends on each pool, and nothing else.
    Fates,
    /// The same with every scenario, without the words of its steps, and every fact that is not known.
    Steps,
    /// Verdicts and findings, without what they rest on.
    Verdicts,
    /// All of it, with every scenario, every fact and what was seen.
    #[default]
    Everything,
}

impl Detail {
    /// Whether pages speak.
    const fn speaks(self) -> bool {
        matches!(self, Self::Verdicts | Self::Everything)
    }

    /// Whether scenarios and facts are told.
    const fn steps(self) -> bool {
        matches!(self, Self::Steps | Self::Everything)
    }
}

/// What to judge against, and how.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The fleet.
    pub fleet: &'a Fleet,
    /// Pools by name; empty = all.
    pub pools: &'a [String],
    /// Day for which tables are asked.
    pub as_of: Option<Date>,
    /// Whose rules speak.
    pub persona: Persona,
    /// Tables.
    pub knowledge: Knowledge,
    /// Pages.
    pub book: &'a RuleBook,
    /// All texts.
    pub sources: &'a Sources,
    /// How much is told.
    pub detail: Detail,
    /// What the settings of a repository say of the input.
    pub own: Option<Own<'a>>,
}

/// One build for one platform, with its place in the subject's list of facts.
pub(crate) struct Build {
    platform: String,
    image: Arc<ImageFacts>,
    /// Why it is for a processor other than an NVIDIA GPU.
    other: Option<String>,
    first_fact: u32,
    /// Which of the platforms that were looked at it is of.
    looked: usize,
}

/// Judges one subject.
pub fn judge(subject: &Subject, settings: Settings<'_>) -> model::Subject {
    judge_on(subject, settings, &Hosts::of(settings))
}

/// Judges one subject on hosts that are known already.
pub fn judge_on(subject: &Subject, settings: Settings<'_>, hosts: &Hosts) -> model::Subject {
    judge_and_tell(subject, settings, hosts, &mut Vec::new())
}

/// Judges once more a subject of which some was inferred already: `inferred` is of this subject. There is no verdict where
/// nothing of what is sought can come of it on any pool.
pub fn judge_with_doubts(
    subject: &Subject,
    settings: Settings<'_>,
    hosts: &Hosts,
    inferred: &Inferred,
    doubts: &mut Doubts,
) -> model::Subject {
    judge_inferred(subject, settings, hosts, inferred, (&mut Vec::new(), Past::Asked(doubts)))
}

/// The same with every verdict: of what was sought before, that alone is used which the hosts have in common.
pub fn judge_sharing(
    subject: &Subject,
    settings: Settings<'_>,
    hosts: &Hosts,
    inferred: &Inferred,
    doubts: &mut Doubts,
) -> model::Subject {
    judge_inferred(subject, settings, hosts, inferred, (&mut Vec::new(), Past::Kept(doubts)))
}

/// The same; `undecided` gets the names of the practice pages of which the condition could not be told.
pub fn judge_and_tell(
    subject: &Subject,
    settings: Settings<'_>,
    hosts: &Hosts,
    undecided: &mut Vec<String>,
) -> model::Subject {
    judge_inferred(subject, settings, hosts, &Inferred::default(), (undecided, Past::None))
}

/// How far a subject of its kind is looked into.
fn depth_of(subject: &Subject) -> Depth {
    if subject.kind == "dockerfile" { Depth::Text } else { Depth::Description }
}

#[expect(clippy::too_many_lines, reason = "one step after the other")]
fn judge_inferred(
    subject: &Subject,
    settings: Settings<'_>,
    hosts: &Hosts,
    inferred: &Inferred,
    (undecided, mut past): (&mut Vec<String>, Past<'_>),
) -> model::Subject {
    let started = settings.fleet.started(subject.start, &own_variables(&subject.content));
    let of_start = started.as_ref().map(|fleet| Settings { fleet, ..settings });
    let hosts_then = of_start.map(Hosts::of);
    let (settings, hosts) = (of_start.unwrap_or(settings), hosts_then.as_ref().unwrap_or(hosts));
    let knowledge = settings.knowledge;
    let mut orders = Orders::of(subject, settings);
    // What is told of an earlier day ran on what there was on that day.
    let day = said_day(&subject.content).or(settings.as_of);
    let of_day = (day != settings.as_of).then(|| Hosts::of(Settings { as_of: day, ..settings }));
    let hosts = of_day.as_ref().unwrap_or(hosts);
    let pools = concerned(subject, settings, &orders);
    let platforms = hosts.platforms(&pools, knowledge);
    let (mut builds, mut beside, mut looked) = (Vec::<Build>::new(), Beside::default(), Vec::<OnPlatform>::new());
    let mut description = Description { of: depth_of(subject), ..Description::default() };
    let everything = settings.detail == Detail::Everything;
    for (at, platform) in platforms.iter().enumerate() {
        let Some((told, on_platform)) = inferred.on(&subject.content, platform, settings) else { continue };
        beside.clone_from(&told.beside);
        if at == 0
            && everything
            && let Some(one) = &on_platform
        {
            description = described(&subject.content, platform, settings.as_of, &one.seen);
        }
        for image in told.images.iter().map(Arc::clone) {
            let before = builds.last().map_or(0, |build| build.first_fact + build.image.facts.len());
            let other = other_processor::stated(subject, &image, knowledge);
            builds.push(Build { platform: platform.clone(), image, other, first_fact: before, looked: looked.len() });
        }
        looked.extend(on_platform);
    }
    orders.look_beside(&looked);
    let places = Places { sources: settings.sources, fleet: settings.fleet };
    let gpu_content = builds.iter().any(|build| build.image.gpu_content);
    let mut report = model::Subject {
        name: subject.name.clone(),
        kind: subject.kind.to_owned(),
        stage: beside.stage,
        platform: platform_of(subject, &builds),
        digest: subject.digest.clone(),
        images: subject.images.clone(),
        gpu_content,
        inspected: model::Inspected {
            depth: depth(&subject.content).to_owned(),
            notes: subject.notes.iter().cloned().chain(beside.notes).collect(),
        },
        split: None,
        about: if settings.detail.speaks() { facts::about(&builds) } else { None },
        verdicts: Vec::new(),
        findings: Vec::new(),
        facts: if settings.detail.steps() { facts::report(&builds, places, everything) } else { Vec::new() },
        description: if everything { description.to_json() } else { serde_json::Value::Null },
        observed: Observed::default(),
        as_of: settings.as_of.map(|day| day.to_string()),
    };
    if !gpu_content {
        report.verdicts = pools.iter().map(|(_, pool)| verdict::not_applicable(&pool.name.value, &builds)).collect();
        if settings.detail.speaks() {
            report.findings = orders.notices(&beside.stages, false, places);
        }
        if everything {
            report.observed = saved::observed(subject, looked, &report.facts);
        }
        return report;
    }
    // What hosts have in common is kept for these very hosts.
    let same_hosts = hosts_then.is_none() && of_day.is_none();
    let mut shared = past.take(&pools, same_hosts);
    if past.is_hopeless(hosts, &pools, &builds, knowledge, &mut shared) {
        past.keep(&pools, shared, same_hosts);
        return report;
    }
    let tried: Vec<Tried<'_>> = pools.iter().map(|(at, pool)| hosts.tried(*at, pool, &builds, settings, day)).collect();
    let (mut judged, mut hostless) = (Vec::new(), Vec::new());
    for (((_, pool), tried), shared) in pools.iter().zip(&tried).zip(&mut shared) {
        match tried.verdicts(&builds, knowledge, shared) {
            Outlook::NoHost => {
                let verdict = verdict::no_host(&pool.name.value, day);
                hostless.extend(open::no_host(pool, &verdict, places, settings, &mut orders));
                report.verdicts.push(verdict);
            }
            Outlook::NoContent(own) => report.verdicts.push(verdict::not_applicable(&pool.name.value, own)),
            Outlook::Judged(list) => {
                report.verdicts.extend(list.iter().map(|one| verdict::report(one, &list, pool, &builds, settings)));
                judged.push(findings::Judged { pool, verdicts: list });
            }
        }
    }
    past.keep(&pools, shared, same_hosts);
    if !settings.detail.speaks() {
        return report;
    }
    if let Some(name) = looked.iter().find_map(|one| one.seen.missing_installer()) {
        report.verdicts.iter_mut().for_each(|verdict| verdict::not_built(verdict, name));
    }
    let images = findings::Images { builds: &builds, looked: &looked };
    report.findings = findings::report(&judged, images, places, settings, &mut orders, undecided);
    report.findings.append(&mut hostless);
    report.findings.extend(orders.notices(&beside.stages, true, places));
    report.findings.iter_mut().for_each(|finding| place::listed(&mut finding.locations, subject.named_at.as_ref()));
    findings::sort(&mut report.findings);
    report.inspected.notes.append(&mut orders.notes);
    if everything {
        report.observed = saved::observed(subject, looked, &report.facts);
    }
    report
}

/// The pools on which a subject may run, each with its place in the fleet.
fn concerned<'a>(subject: &Subject, settings: Settings<'a>, orders: &Orders) -> Vec<(usize, &'a Pool)> {
    let numbered = settings.fleet.pools.iter().enumerate();
    numbered
        .filter(|(_, pool)| {
            runs(subject, pool, settings.pools) && fits(subject, pool, settings.fleet, settings.knowledge)
        })
        .filter(|(_, pool)| orders.runs(pool))
        .collect()
}

/// The platform that was judged, where it was one: that of the image, or that of all builds.
fn platform_of(subject: &Subject, builds: &[Build]) -> Option<String> {
    match subject.images.as_slice() {
        [image] => Some(image.platform.clone()),
        _ => only_platform(builds),
    }
}

/// Where a pool is declared; nowhere for the built-in fleet.
pub fn pool_place(fleet: &Fleet, pool: &Pool, sources: &Sources) -> Option<model::Location> {
    Places { sources, fleet }.pool(pool, None, format!("pool `{}`", pool.name.value))
}

/// Every field that a pool declares, and every entry of its tables, with its own place.
pub fn pool_fields(fleet: &Fleet, pool: &Pool, sources: &Sources) -> Vec<model::PoolField> {
    let places = Places { sources, fleet };
    let declared = PoolField::ALL.iter().filter_map(|field| Some((*field, pool.text_of(*field)?)));
    let fields = declared.map(|(field, value)| model::PoolField {
        key: field.name().to_owned(),
        value,
        location: places.pool(pool, Some(field), field.name().to_owned()),
    });
    let entries = pool.entries().map(|(key, value)| model::PoolField {
        location: places.pool_span(value.span, key.clone()),
        value: value.value.clone(),
        key,
    });
    fields.chain(entries).collect()
}

/// The keys of every field that a pool leaves out, and of every option of its container toolkit that steps may name.
pub fn undeclared(pool: &Pool) -> Vec<String> {
    let fields =
        PoolField::ALL.iter().filter(|field| pool.text_of(**field).is_none()).map(|field| field.name().to_owned());
    let options = PoolEntry::OPTIONS.iter().filter(|name| PoolEntry::Option(name).of(pool).is_none());
    fields.chain(options.map(|name| format!("{}.{name}", PoolField::Host.name()))).collect()
}

/// Whether a subject runs on a pool, and the pool was asked for.
fn runs(subject: &Subject, pool: &Pool, asked: &[String]) -> bool {
    let wanted = asked.is_empty() || asked.contains(&pool.name.value);
    let here = match &subject.content {
        Content::Dockerfile { .. } => pool.runs_dockerfile(&subject.path),
        Content::ByPlatform(_) => pool.runs_image(&subject.path),
        Content::Saved(_) if subject.kind == "dockerfile" => pool.runs_dockerfile(&subject.path),
        Content::Saved(_) if subject.kind == "image" => pool.runs_image(&subject.path),
        Content::Fixed(_) | Content::Saved(_) => true,
    };
    wanted && here
}

/// Whether a pool is where a subject may run: by name, or by what it asks of the labels of nodes.
pub fn fits(subject: &Subject, pool: &Pool, fleet: &Fleet, knowledge: Knowledge) -> bool {
    match &subject.only {
        None => true,
        Some(Only::Pools(names)) => names.contains(&pool.name.value),
        Some(Only::Nodes(nodes)) => suits(nodes, pool, fleet, knowledge),
    }
}

/// The platform that the input itself is for, where that is one.
fn only_platform(builds: &[Build]) -> Option<String> {
    let own = |build: &Build| match build.image.platforms.known()?.as_slice() {
        [platform] => Some(platform.clone()),
        _ => None,
    };
    let first = own(builds.first()?)?;
    builds.iter().all(|build| own(build).as_ref() == Some(&first)).then_some(first)
}

/// The variables that the one who starts the container sets, as a file of workloads has them.
fn own_variables(content: &Content) -> BTreeSet<&str> {
    let seen: Vec<&Observations> = match content {
        Content::Dockerfile { .. } => Vec::new(),
        Content::Fixed(seen) => vec![seen],
        Content::ByPlatform(list) => list.iter().map(|(_, seen)| seen).collect(),
        Content::Saved(saved) => saved.platforms.iter().map(|one| &one.seen).collect(),
    };
    seen.into_iter().flat_map(extract::own_of_start).collect()
}

/// The day that an input itself is of.
fn said_day(content: &Content) -> Option<Date> {
    match content {
        Content::Dockerfile { .. } => None,
        Content::Fixed(seen) => seen.as_of,
        Content::ByPlatform(list) => list.iter().find_map(|(_, seen)| seen.as_of),
        Content::Saved(saved) => saved.platforms.iter().find_map(|one| one.seen.as_of),
    }
}

fn depth(content: &Content) -> &'static str {
    match content {
        Content::Dockerfile { .. } => Depth::Text.name(),
        Content::Fixed(seen) => seen.depth.name(),
        Content::ByPlatform(list) => list.first().map_or(Depth::Config, |(_, seen)| seen.depth).name(),
        Content::Saved(saved) => saved.platforms.first().map_or("text", |one| one.seen.depth.name()),
    }
}
