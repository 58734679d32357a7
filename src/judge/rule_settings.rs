//! Rule severities and ignores from the settings, and settings that have no effect.

use jiff::civil::Date;

use crate::fleet::settings::{IgnoreEntry, RuleSeverity, SettingLocation, SeverityLevel};
use crate::judge::AnalysisSettings;
use crate::judge::location::LocationBuilder;
use crate::judge::scope::NoticeScope;
use crate::model::fact::InspectionDepth;
use crate::report::kinds::{LocationKind, SubjectKind};
use crate::report::model;
use crate::report::model::Observed;
use crate::rules::{Notice, RulePage, Severity};

/// Returns the severity of a rule on a pool: from the settings, else from its rule page.
pub(super) fn configured_severity(page: &RulePage, pool: Option<&str>, settings: AnalysisSettings<'_>) -> Severity {
    match settings.own.and_then(|own| page.names().find_map(|name| own.rule_severity(name, pool))) {
        Some(SeverityLevel::Error) => Severity::Error,
        Some(SeverityLevel::Warning) => Severity::Warning,
        Some(SeverityLevel::Note) => Severity::Note,
        // Disabled rules are left out before the severity is used.
        Some(SeverityLevel::Off) | None => page.severity,
    }
}

/// How settings suppress a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SettingsSuppression {
    /// The rule is off.
    Off,
    /// An `ignore` entry matches; the note on it.
    Ignored(String),
}

/// Returns how the settings suppress a rule, for one pool or for the image; `None` if they do not.
pub(super) fn settings_suppression(
    rule: &str,
    pool: Option<&str>,
    settings: AnalysisSettings<'_>,
) -> Option<SettingsSuppression> {
    let own = settings.own?;
    let page = settings.book.get(rule);
    let names = || page.into_iter().flat_map(RulePage::names).chain(std::iter::once(rule).filter(|_| page.is_none()));
    if names().find_map(|name| own.rule_severity(name, pool)) == Some(SeverityLevel::Off) {
        return Some(SettingsSuppression::Off);
    }
    let ignore = names().find_map(|name| own.matching_ignore(name, pool))?;
    let text = settings.sources.get(ignore.location.source);
    let on = pool.map_or_else(String::new, |pool| format!(" on pool `{pool}`"));
    let place = text.position(ignore.location.span.start);
    Some(SettingsSuppression::Ignored(format!("{}:{place}: {rule}{on} is ignored: {}", text.name(), ignore.reason)))
}

/// Returns a report subject with findings on settings that have no effect; `None` if there are none. Unused entries
/// count only with `all`.
pub fn settings_subject(name: &str, today: Date, all: bool, settings: AnalysisSettings<'_>) -> Option<model::Subject> {
    let page = settings.book.notice_page(Notice::UnusedIgnore)?;
    let own = settings.own?;
    let places = LocationBuilder { sources: settings.sources, fleet: settings.fleet };
    let tell = |(place, message, help): (SettingLocation, String, String)| {
        settings_suppression(&page.name, None, settings).is_none().then(|| model::Finding {
            rule: page.name.clone(),
            severity: configured_severity(page, None, settings).into(),
            message: page.message.render(&NoticeScope(message.clone())),
            help: Some(help),
            pools: Vec::new(),
            component: None,
            locations: vec![places.text(LocationKind::Settings, place.source, place.span, message)],
            cause: None,
            also_unknown: Vec::new(),
            symptom: None,
            fixes: Vec::new(),
            base_not_read: false,
        })
    };
    let ignores = own.settings.ignores.iter().filter_map(|ignore| {
        let (message, help) = unused_ignore_message(ignore, today, all, settings)?;
        let until = ignore.until.as_ref().filter(|_| ignore.is_expired(today));
        Some((until.map_or(ignore.location, |until| until.location), message, help))
    });
    let paths = own.settings.paths.iter().filter(|one| all && !one.was_used()).map(|one| {
        let message = "`match` matches none of the inputs, so this entry has no effect".to_owned();
        (one.location, message, "correct the pattern, or remove the entry".to_owned())
    });
    let of_paths = own.settings.paths.iter().flat_map(|one| &one.rules);
    let levels =
        own.settings.rules.iter().chain(of_paths).filter(|level| is_disabled_preview(level, settings)).map(|level| {
            let message =
                format!("`{}` is a preview rule and not enabled, so its severity has no effect", level.rule.value);
            (level.rule.location, message, "set `preview = true`, or remove the entry".to_owned())
        });
    let of_paths = own.settings.paths.iter().flat_map(|one| &one.rules);
    let of_pools = own.settings.rules.iter().chain(of_paths).filter(|level| !level.pools.is_empty());
    let of_pools = of_pools.filter(|level| is_image_rule(&level.rule.value, settings)).map(|level| {
        let message = format!("`{}` is about the image, so `pools` has no effect", level.rule.value);
        (level.rule.location, message, "set `severity` for the image, or remove `pools`".to_owned())
    });
    let findings: Vec<model::Finding> = ignores.chain(paths).chain(levels).chain(of_pools).filter_map(tell).collect();
    (!findings.is_empty()).then(|| model::Subject {
        name: name.to_owned(),
        kind: SubjectKind::Settings,
        as_of: None,
        stage: None,
        platform: None,
        digest: None,
        images: Vec::new(),
        gpu_content: false,
        inspected: model::Inspected { depth: InspectionDepth::Text, notes: Vec::new() },
        split: None,
        about: None,
        verdicts: Vec::new(),
        findings,
        facts: Vec::new(),
        description: serde_json::Value::Null,
        observed: Observed::default(),
    })
}

/// Whether a level enables a preview rule while preview rules are disabled.
fn is_disabled_preview(level: &RuleSeverity, settings: AnalysisSettings<'_>) -> bool {
    let off = |set: SeverityLevel| set == SeverityLevel::Off;
    let all_off = level.severity.as_ref().is_none_or(|severity| off(severity.value));
    let all_off = all_off && level.pools.iter().all(|(_, set)| off(*set));
    !all_off && settings.book.get(&level.rule.value).is_some_and(|page| !settings.book.is_active(page))
}

/// Whether a rule is about the image, whatever pool it runs on.
fn is_image_rule(rule: &str, settings: AnalysisSettings<'_>) -> bool {
    settings.book.get(rule).is_some_and(|page| !page.depends_on_pool())
}

/// Returns why an ignore has no effect and how to correct it; `None` if it has an effect or that is unknown.
fn unused_ignore_message(
    ignore: &IgnoreEntry,
    today: Date,
    all: bool,
    settings: AnalysisSettings<'_>,
) -> Option<(String, String)> {
    let rule = &ignore.rule.value;
    if let Some(until) = ignore.until.as_ref().filter(|_| ignore.is_expired(today)) {
        let message = format!("this ignore of `{rule}` expired on {} and has no effect", until.value);
        return Some((message, "remove the entry, or set a later date for `until`".to_owned()));
    }
    let page = settings.book.get(rule)?;
    // Findings of start-up rules depend on pools: without all pools, an ignore is not proven to be unused.
    let open = settings.fleet.built_in || !settings.pools.is_empty();
    let unused = all && !open && !ignore.was_used() && page.persona <= settings.persona;
    let help = if !ignore.pools.is_empty() && is_image_rule(rule, settings) {
        "the rule is about the image: remove `pools`, or the entry"
    } else {
        "remove the entry"
    };
    unused.then(|| (format!("this ignore of `{rule}` matches no finding"), help.to_owned()))
}
