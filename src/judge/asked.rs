//! What the settings of a repository ask for: how bad a rule is, what is left out; and what of them has no effect.

use jiff::civil::Date;

use crate::judge::Settings;
use crate::judge::place::Places;
use crate::judge::scope::NoticeWords;
use crate::report::model;
use crate::report::observed::Observed;
use crate::rules::Notice;
use crate::rules::Page;
use crate::rules::Severity;
use crate::settings::Ignore;
use crate::settings::Level;
use crate::settings::Place;
use crate::settings::RuleLevel;

/// How bad what a page says is on a pool, as the settings say, else the page.
pub(super) fn severity(page: &Page, pool: Option<&str>, settings: Settings<'_>) -> Severity {
    match settings.own.and_then(|own| page.names().find_map(|name| own.level(name, pool))) {
        Some(Level::Error) => Severity::Error,
        Some(Level::Warning) => Severity::Warning,
        Some(Level::Note) => Severity::Note,
        // What is off is left out before anybody asks how bad it is.
        Some(Level::Off) | None => page.severity,
    }
}

/// What settings leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// The rule is off.
    Off,
    /// An ignore is for it, which this note tells.
    Ignored(String),
}

/// Whether the settings leave out what a rule says, for one pool or without pools.
pub(super) fn left_out(rule: &str, pool: Option<&str>, settings: Settings<'_>) -> Option<LeftOut> {
    let own = settings.own?;
    let page = settings.book.get(rule);
    let names = || page.into_iter().flat_map(Page::names).chain(std::iter::once(rule).filter(|_| page.is_none()));
    if names().find_map(|name| own.level(name, pool)) == Some(Level::Off) {
        return Some(LeftOut::Off);
    }
    let ignore = names().find_map(|name| own.ignores(name, pool))?;
    let text = settings.sources.get(ignore.place.source);
    let on = pool.map_or_else(String::new, |pool| format!(" on pool `{pool}`"));
    let place = text.position(ignore.place.span.start);
    Some(LeftOut::Ignored(format!("{}:{place}: {rule}{on} is ignored: {}", text.name(), ignore.reason)))
}

/// What of the settings has no effect: ignores that have run out, and those that left nothing out where `all` was judged
/// that they may speak of; likewise what is said of files among which no input was; rules whose level is set, and which do
/// not speak. As a subject of its own, where there is anything.
pub fn of_settings(name: &str, today: Date, all: bool, settings: Settings<'_>) -> Option<model::Subject> {
    let page = settings.book.reader(Notice::UnusedIgnore)?;
    let own = settings.own?;
    let places = Places { sources: settings.sources, fleet: settings.fleet };
    let tell = |(place, message, help): (Place, String, String)| {
        left_out(&page.name, None, settings).is_none().then(|| model::Finding {
            rule: page.name.clone(),
            severity: severity(page, None, settings).into(),
            message: page.message.render(&NoticeWords(message.clone())),
            help: Some(help),
            pools: Vec::new(),
            component: None,
            locations: vec![places.text("settings", place.source, place.span, message)],
            cause: None,
            also_unknown: Vec::new(),
            symptom: None,
            fixes: Vec::new(),
        })
    };
    let ignores = own.settings.ignores.iter().filter_map(|ignore| {
        let (message, help) = idle(ignore, today, all, settings)?;
        let until = ignore.until.as_ref().filter(|_| ignore.is_over(today));
        Some((until.map_or(ignore.place, |until| until.place), message, help))
    });
    let paths = own.settings.paths.iter().filter(|one| all && !one.was_used()).map(|one| {
        let message = "`match` matches none of the inputs, so this entry has no effect".to_owned();
        (one.place, message, "correct the pattern, or remove the entry".to_owned())
    });
    let of_paths = own.settings.paths.iter().flat_map(|one| &one.rules);
    let levels = own.settings.rules.iter().chain(of_paths).filter(|level| silent(level, settings)).map(|level| {
        let message =
            format!("`{}` is a preview rule and not enabled, so its severity has no effect", level.rule.value);
        (level.rule.place, message, "set `preview = true`, or remove the entry".to_owned())
    });
    let of_paths = own.settings.paths.iter().flat_map(|one| &one.rules);
    let of_pools = own.settings.rules.iter().chain(of_paths).filter(|level| !level.pools.is_empty());
    let of_pools = of_pools.filter(|level| is_of_image(&level.rule.value, settings)).map(|level| {
        let message = format!("`{}` is about the image, so `pools` has no effect", level.rule.value);
        (level.rule.place, message, "set `severity` for the image, or remove `pools`".to_owned())
    });
    let findings: Vec<model::Finding> = ignores.chain(paths).chain(levels).chain(of_pools).filter_map(tell).collect();
    (!findings.is_empty()).then(|| model::Subject {
        name: name.to_owned(),
        kind: model::SETTINGS.to_owned(),
        as_of: None,
        stage: None,
        platform: None,
        digest: None,
        images: Vec::new(),
        gpu_content: false,
        inspected: model::Inspected { depth: "text".to_owned(), notes: Vec::new() },
        split: None,
        about: None,
        verdicts: Vec::new(),
        findings,
        facts: Vec::new(),
        description: serde_json::Value::Null,
        observed: Observed::default(),
    })
}

/// Whether a level is for a rule that does not speak, and does not turn it off.
fn silent(level: &RuleLevel, settings: Settings<'_>) -> bool {
    let off = |set: Level| set == Level::Off;
    let all_off = level.severity.as_ref().is_none_or(|severity| off(severity.value));
    let all_off = all_off && level.pools.iter().all(|(_, set)| off(*set));
    !all_off && settings.book.get(&level.rule.value).is_some_and(|page| !settings.book.lets_speak(page))
}

/// Whether a rule speaks of the image, whichever pool it runs on.
fn is_of_image(rule: &str, settings: Settings<'_>) -> bool {
    settings.book.get(rule).is_some_and(|page| !page.is_about_pools())
}

/// Why an ignore has no effect, and what to do.
fn idle(ignore: &Ignore, today: Date, all: bool, settings: Settings<'_>) -> Option<(String, String)> {
    let rule = &ignore.rule.value;
    if let Some(until) = ignore.until.as_ref().filter(|_| ignore.is_over(today)) {
        let message = format!("this ignore of `{rule}` expired on {} and has no effect", until.value);
        return Some((message, "remove the entry, or set a later date for `until`".to_owned()));
    }
    let page = settings.book.get(rule)?;
    // What a start-up page says hangs on pools: without all of those that are there, nothing is proved.
    let open = settings.fleet.built_in || !settings.pools.is_empty();
    let unused = all && !open && !ignore.was_used() && page.persona <= settings.persona;
    let help = if !ignore.pools.is_empty() && is_of_image(rule, settings) {
        "the rule is about the image: remove `pools`, or the entry"
    } else {
        "remove the entry"
    };
    unused.then(|| (format!("this ignore of `{rule}` matches no finding"), help.to_owned()))
}
