//! Findings: start-up failures from the replay, and practice rules whose conditions hold.

use crate::fleet::PoolField;
use crate::judge::judged_pool::{JudgedPool, basis_locations, pool_list_text, push_unique_location};
use crate::judge::labels::fact_label;
use crate::judge::location::LocationBuilder;
use crate::judge::scope::{PoolSummary, RuleScope};
use crate::judge::suppression::SuppressionState;
use crate::judge::undecided_conditions::UndecidedConditions;
use crate::judge::verdict::{message_without_host, other_failures_text, verdict_message};
use crate::judge::{AnalysisSettings, PlatformBuild, open_verdict_findings, rule_settings};
use crate::knowledge::{How, RowInfo};
use crate::model::fact::{Confidence, ImageFacts};
use crate::model::outcome::FailureCause;
use crate::replay::explanations::{FailureExplanation, POOLS_PLACEHOLDER, explain_failures};
use crate::replay::{Basis, HostResult, ReplayFailure, StartupResult, deciding_facts, failure_cause};
use crate::report::kinds::LocationKind;
use crate::report::model::{Finding, Location, OnPlatform};
use crate::rules::{PageKind, RulePage, Severity, Truth};

/// The builds of a subject, and the observations of each platform.
#[derive(Clone, Copy)]
pub(super) struct SubjectBuilds<'a> {
    pub(super) builds: &'a [PlatformBuild],
    /// The observations, by platform.
    pub(super) looked: &'a [OnPlatform],
}

/// Whether the image exists for the platform that it was inferred for, as far as that is known.
fn is_built_for_platform(build: &PlatformBuild) -> bool {
    let platforms = build.image.platforms.known();
    platforms.is_none_or(|list| list.iter().any(|one| one.starts_with(&build.platform)))
}

impl<'a> SubjectBuilds<'a> {
    /// Returns the scope in which rules query an image, with the summary of a pool if there is one.
    fn rule_scope(
        self,
        image: &'a ImageFacts,
        settings: AnalysisSettings<'_>,
        pool: Option<&'a PoolSummary>,
    ) -> RuleScope<'a> {
        let build = self.builds.iter().find(|build| std::ptr::eq(build.image.as_ref(), image));
        let seen = build.and_then(|build| self.looked.get(build.looked)).map(|looked| &looked.seen);
        let day = settings.as_of.unwrap_or_else(|| settings.knowledge.newest_source_date());
        RuleScope { image, seen, knowledge: settings.knowledge, day, pool }
    }

    /// Returns the first build for a platform, else the first build of all.
    fn image_for_platform(self, platform: Option<&str>) -> Option<&'a ImageFacts> {
        let mut there = self.builds.iter().filter(|build| is_built_for_platform(build));
        let own = there.clone().find(|build| Some(build.platform.as_str()) == platform);
        own.or_else(|| there.next()).map(|build| build.image.as_ref())
    }
}

/// Returns all findings of a subject that are not suppressed; adds rules with an unknown condition to `undecided`.
pub(super) fn collect_findings(
    judged: &[JudgedPool<'_>],
    images: SubjectBuilds<'_>,
    places: LocationBuilder<'_>,
    settings: AnalysisSettings<'_>,
    orders: &mut SuppressionState<'_>,
    undecided: &mut Vec<String>,
) -> Vec<Finding> {
    let mut findings = startup_findings(judged, images, places, settings, orders);
    findings.extend(open_verdict_findings::collect_open_findings(judged, places, settings, orders));
    let words: Vec<PoolSummary> =
        judged.iter().map(|one| PoolSummary::from_judged_pool(one, settings.knowledge)).collect();
    let mut undecided_conditions = UndecidedConditions::default();
    for page in settings.book.active_practice_pages().filter(|page| page.persona <= settings.persona) {
        for finding in practice_findings(page, &words, images, places, settings, &mut undecided_conditions, undecided) {
            // Such a finding is about one pool or none.
            let pool = finding.pools.first().map(String::as_str);
            if !orders.suppresses(&finding.rule, pool, &finding.locations) {
                add_or_merge_finding(&mut findings, finding);
            }
        }
    }
    findings.extend(undecided_conditions.into_findings(settings, orders));
    findings
}

/// Adds a finding, or its pools to an equal one.
fn add_or_merge_finding(findings: &mut Vec<Finding>, finding: Finding) {
    let alike = |other: &&mut Finding| {
        (&other.rule, &other.severity, &other.message, &other.help, &other.locations)
            == (&finding.rule, &finding.severity, &finding.message, &finding.help, &finding.locations)
    };
    match findings.iter_mut().find(alike) {
        Some(other) => other.pools.extend(finding.pools),
        None => findings.push(finding),
    }
}

/// Sorts findings by location, rule and pool.
pub(super) fn sort_findings(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (first_byte_offset(finding), finding.rule.clone(), finding.pools.clone()));
}

/// Returns the byte offset of the first location in the input.
fn first_byte_offset(finding: &Finding) -> usize {
    // The place in a fleet file says nothing of the order in the input.
    let first = finding.locations.first().filter(|location| location.kind != LocationKind::Fleet);
    first.and_then(|location| location.region).map_or(usize::MAX, |region| region.start_byte)
}

/// Returns one finding for each failure at one location of the image, with all the pools that have it.
fn startup_findings(
    judged: &[JudgedPool<'_>],
    images: SubjectBuilds<'_>,
    places: LocationBuilder<'_>,
    settings: AnalysisSettings<'_>,
    orders: &mut SuppressionState<'_>,
) -> Vec<Finding> {
    let mut failures: Vec<FailureGroup<'_>> = Vec::new();
    for one in judged {
        let Some(verdict) = one.verdicts.iter().find(|verdict| verdict.component.is_none()) else { continue };
        let (Some(StartupResult::Fails(failure)), Some(host)) = (verdict.fate, verdict.typical_host()) else {
            continue;
        };
        let page = settings.book.outcome_page(failure.outcome());
        let locations = basis_locations(host.image, &deciding_basis(host), one.pool, places);
        if orders.suppresses(&page.name, Some(&one.pool.name.value), &locations) {
            continue;
        }
        let own = match host.fate {
            StartupResult::Fails(own) => own,
            StartupResult::Starts(_) | StartupResult::Undetermined => failure,
        };
        let met = FailureGroup {
            failure,
            cause: failure_cause(host.replay(settings.knowledge), own),
            severity: pool_severity(page, Some(&one.pool.name.value), settings),
            host,
            message: verdict_message(verdict, settings.knowledge),
            general: message_without_host(host, failure, settings.knowledge),
            fails: vec![(host, own)],
            elsewhere: other_failures_text(verdict, failure),
            pools: vec![one],
            locations,
        };
        match failures.iter_mut().find(|other| other.has_same_finding(&met)) {
            Some(other) => other.merge(met),
            None => failures.push(met),
        }
    }
    failures.into_iter().map(|met| met.into_finding(images, places, settings)).collect()
}

/// A start-up failure, and the pools that have it for the same cause.
struct FailureGroup<'a> {
    failure: ReplayFailure,
    cause: Option<FailureCause>,
    severity: Severity,
    /// A host of the first pool; those of other pools have other GPUs and drivers.
    host: &'a HostResult<'a>,
    /// The message if it is the same for all pools, else empty.
    message: String,
    /// The message without GPU and driver.
    general: String,
    /// One failing host of each pool, with its failure.
    fails: Vec<(&'a HostResult<'a>, ReplayFailure)>,
    /// Failures of other nodes of the pools; empty if all fail alike.
    elsewhere: String,
    pools: Vec<&'a JudgedPool<'a>>,
    locations: Vec<Location>,
}

impl<'a> FailureGroup<'a> {
    /// Whether another failure has the same message at the same location of the image.
    fn has_same_finding(&self, other: &Self) -> bool {
        (self.failure, self.cause, self.severity, &self.host.component.name)
            == (other.failure, other.cause, other.severity, &other.host.component.name)
            && uses_unverified_row(self.host) == uses_unverified_row(other.host)
            && image_locations(&self.locations).eq(image_locations(&other.locations))
            && (self.message == other.message || self.general == other.general)
    }

    /// Merges the pools and locations of another group into this one.
    fn merge(&mut self, other: Self) {
        if self.message != other.message {
            self.message.clear();
        }
        self.fails.extend(other.fails);
        if self.elsewhere != other.elsewhere {
            self.elsewhere.clear();
        }
        self.pools.extend(other.pools);
        for location in other.locations {
            push_unique_location(&mut self.locations, location);
        }
    }

    /// Returns the finding for the group.
    fn into_finding(
        mut self,
        images: SubjectBuilds<'a>,
        places: LocationBuilder<'_>,
        settings: AnalysisSettings<'_>,
    ) -> Finding {
        let page = settings.book.outcome_page(self.failure.outcome());
        let pools: Vec<String> = self.pools.iter().map(|one| one.pool.name.value.clone()).collect();
        let fails: Vec<_> = self.fails.iter().map(|(host, own)| (host.replay(settings.knowledge), *own)).collect();
        let FailureExplanation { title, cause_text, symptom, help } = explain_failures(&fails);
        let words = PoolSummary {
            name: pools.join(", "),
            outcome: Some(self.failure.outcome()),
            title,
            ..self.pools.first().map(|one| PoolSummary::from_judged_pool(one, settings.knowledge)).unwrap_or_default()
        };
        let scope = images.rule_scope(self.host.image, settings, Some(&words));
        let base = self.host.image.base.map(|id| self.host.image.facts.origins(id)).unwrap_or_default();
        let base: Vec<Location> = base.iter().map(|origin| places.origin(origin, String::new())).collect();
        move_base_locations_last(&mut self.locations, &base);
        let recalled = uses_unverified_row(self.host);
        let own = help.map(|help| help.replace(POOLS_PLACEHOLDER, &pool_list_text(&pools)));
        let help = own.unwrap_or_else(|| page.help_for_cause(self.cause).render(&scope));
        let cause = match cause_text {
            Some(cause) => Some(format!("{cause}{}", self.elsewhere)),
            None => Some(self.elsewhere.trim_start_matches("; ").to_owned()).filter(|text| !text.is_empty()),
        };
        Finding {
            rule: page.name.clone(),
            severity: if recalled { self.severity.min(Severity::Warning) } else { self.severity }.into(),
            message: page.message.render(&scope),
            help: Some(if recalled {
                format!("{}. {UNVERIFIED_ENTRY_NOTE}", help.trim_end_matches('.'))
            } else {
                help
            }),
            pools,
            component: Some(self.host.component.name.clone()),
            locations: self.locations,
            cause,
            also_unknown: Vec::new(),
            symptom,
            fixes: Vec::new(),
            base_not_read: false,
        }
    }
}

/// Returns the locations in the image, without those in the fleet file.
fn image_locations(locations: &[Location]) -> impl Iterator<Item = &Location> {
    locations.iter().filter(|location| location.kind != LocationKind::Fleet)
}

/// Moves locations of the base image behind those of lines that override it.
fn move_base_locations_last(found: &mut [Location], base: &[Location]) {
    let of_base =
        |location: &Location| base.iter().any(|other| other.path == location.path && other.region == location.region);
    let in_base_file = |location: &Location| !of_base(location) && base.iter().any(|other| other.path == location.path);
    if let Some(last) = found.iter().rposition(in_base_file) {
        found.get_mut(..=last).unwrap_or_default().sort_by_key(of_base);
    }
}

/// Returns the facts and fields that the deciding step used.
fn deciding_basis(host: &HostResult<'_>) -> Vec<Basis> {
    host.deciding_step().map(|step| deciding_facts(step, host.host)).unwrap_or_default()
}

/// Help text of a finding that depends on an unverified row of the knowledge tables.
const UNVERIFIED_ENTRY_NOTE: &str =
    "This depends on an unverified entry of the compatibility database, so it is not an error.";

/// Whether the deciding step used an unverified table row, directly, through an image fact or for the host.
fn uses_unverified_row(host: &HostResult<'_>) -> bool {
    let recalled = |row: Option<&RowInfo>| row.is_some_and(|row| row.how == How::Memory);
    host.deciding_step().is_some_and(|step| {
        step.facts.iter().any(|basis| match basis {
            Basis::Row(row) => recalled(Some(row)),
            Basis::Image(id) => host.image.facts.confidence(id) == Confidence::Assumed,
            Basis::Pool(PoolField::Driver) => recalled(host.host.driver_row),
            Basis::Pool(PoolField::Gpu) => recalled(host.host.gpu.as_ref().and_then(|gpu| gpu.row)),
            Basis::Pool(_) | Basis::Entry(_) => false,
        })
    })
}

/// Returns the severity of a rule on a pool; at most a warning for the built-in fleet.
fn pool_severity(page: &RulePage, pool: Option<&str>, settings: AnalysisSettings<'_>) -> Severity {
    // Nobody has said that these pools exist.
    let cap = if settings.fleet.built_in { Severity::Warning } else { Severity::Error };
    rule_settings::configured_severity(page, pool, settings).min(cap)
}

/// Returns the findings of a practice rule: one for the image, or one for each pool if it is about pools.
fn practice_findings(
    page: &RulePage,
    words: &[PoolSummary],
    images: SubjectBuilds<'_>,
    places: LocationBuilder<'_>,
    settings: AnalysisSettings<'_>,
    undecided_conditions: &mut UndecidedConditions,
    undecided: &mut Vec<String>,
) -> Vec<Finding> {
    let PageKind::Practice(condition) = &page.kind else { return Vec::new() };
    let pools: Vec<Option<&PoolSummary>> =
        if page.depends_on_pool() { words.iter().map(Some).collect() } else { vec![None] };
    let mut found = Vec::new();
    for pool in pools {
        let Some(image) = images.image_for_platform(pool.and_then(|pool| pool.platform.as_deref())) else { continue };
        let scope = images.rule_scope(image, settings, pool);
        let message = match condition.evaluate(&scope) {
            Ok(Truth::True) => page.message.render(&scope),
            Ok(Truth::False) => continue,
            Ok(Truth::Unknown) => {
                undecided.push(page.name.clone());
                undecided_conditions.add_rule(page, condition, &scope, places);
                continue;
            }
            // Without a message, the rule would count as passed.
            Err(misfit) => format!("the rule could not be evaluated: {misfit}"),
        };
        found.push(Finding {
            rule: page.name.clone(),
            severity: pool_severity(page, pool.map(|pool| pool.name.as_str()), settings).into(),
            message,
            help: Some(page.help.render(&scope)),
            pools: pool.map(|pool| pool.name.clone()).into_iter().collect(),
            component: None,
            locations: blamed_locations(&scope, page, places),
            cause: page.cause.as_ref().map(|cause| cause.render(&scope)),
            also_unknown: Vec::new(),
            symptom: None,
            fixes: Vec::new(),
            base_not_read: false,
        });
    }
    found
}

/// Vocabulary name of misspelt variables, which are located at their name instead of their value.
const MISSPELT_VARIABLES: &str = "image.env_misspelt";

/// Returns the locations of the facts that a rule blames or names in its message.
fn blamed_locations(scope: &RuleScope<'_>, page: &RulePage, places: LocationBuilder<'_>) -> Vec<Location> {
    let mut found = Vec::new();
    if let Some(id) = scope.fact_for_condition_name(&page.blame) {
        let misspelt = page.blame == MISSPELT_VARIABLES;
        for origin in scope.image.facts.origins(id) {
            let name = scope.image.facts.get(id).subject.as_deref().filter(|_| misspelt);
            let origin = name.map_or(origin.clone(), |name| places.variable_name_origin(&origin, name));
            push_unique_location(&mut found, places.origin(&origin, fact_label(scope.image, id)));
        }
    }
    // Then the other facts that the message names, each at its first place.
    for id in page
        .message
        .fact_names()
        .filter(|name| *name != page.blame)
        .filter_map(|name| scope.fact_for_condition_name(name))
    {
        if let Some(origin) = scope.image.facts.origins(id).into_iter().next() {
            push_unique_location(&mut found, places.origin(&origin, fact_label(scope.image, id)));
        }
    }
    places.insert_image_line(&mut found, scope.image);
    found
}
