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

/// How bad what a page says is on a pool, as the settings say, else the page.
pub(super) fn severity(page: &Page, pool: Option<&str>, settings: Settings<'_>) -> Severity {
    match settings.own.and_then(|own| own.level(&page.name, pool)) {
        Some(Level::Error) => Severity::Error,
        Some(Level::Warning) => Severity::Warning,
        Some(Level::Note) => Severity::Note,
        // What is off is left out before anybody asks how bad it is.
        Some(Level::Off) | None => page.severity,
    }
}

/// Whether the settings leave out what a rule says, with the note on it where they give a reason.
pub(super) fn left_out(rule: &str, pool: Option<&str>, settings: Settings<'_>) -> Option<Option<String>> {
    let own = settings.own?;
    if own.level(rule, pool) == Some(Level::Off) {
        return Some(None);
    }
    let ignore = own.ignores(rule, pool)?;
    let text = settings.sources.get(ignore.place.source);
    let on = pool.map_or_else(String::new, |pool| format!(" on pool `{pool}`"));
    let place = text.position(ignore.place.span.start);
    Some(Some(format!("{}:{place}: {rule}{on} is ignored: {}", text.name(), ignore.reason)))
}

/// The ignores of settings that have run out, and those that left nothing out where `all` was judged that they may
/// speak of; as a subject of its own, where there are any.
pub fn of_settings(name: &str, today: Date, all: bool, settings: Settings<'_>) -> Option<model::Subject> {
    let page = settings.book.reader(Notice::UnusedIgnore)?;
    let own = settings.own?;
    let places = Places { sources: settings.sources, fleet: settings.fleet };
    let tell = |ignore: &Ignore| {
        let (message, help) = idle(ignore, today, all, settings)?;
        let place = ignore.place;
        left_out(&page.name, None, settings).is_none().then(|| model::Finding {
            rule: page.name.clone(),
            severity: severity(page, None, settings).to_string(),
            message: page.message.render(&NoticeWords(message.clone())),
            help: Some(help),
            pools: Vec::new(),
            component: None,
            locations: vec![places.text("settings", place.source, place.span, message)],
            fixes: Vec::new(),
        })
    };
    let findings: Vec<model::Finding> = own.settings.ignores.iter().filter_map(tell).collect();
    (!findings.is_empty()).then(|| model::Subject {
        name: name.to_owned(),
        kind: model::SETTINGS.to_owned(),
        as_of: None,
        stage: None,
        platform: None,
        digest: None,
        gpu_content: false,
        inspected: model::Inspected { depth: "text".to_owned(), notes: Vec::new() },
        verdicts: Vec::new(),
        findings,
        facts: Vec::new(),
        description: serde_json::Value::Null,
        observed: Observed::default(),
    })
}

/// Why an ignore has no effect, and what to do.
fn idle(ignore: &Ignore, today: Date, all: bool, settings: Settings<'_>) -> Option<(String, String)> {
    let rule = &ignore.rule.value;
    if let Some(until) = ignore.until.as_ref().filter(|_| ignore.is_over(today)) {
        let message = format!("this ignore of `{rule}` ran out on {}: it leaves nothing out any more", until.value);
        return Some((message, "take the entry out, or set a later day for `until`".to_owned()));
    }
    let page = settings.book.get(rule)?;
    // What a start-up page says hangs on pools: without all of those that are there, nothing is proved.
    let open = settings.fleet.built_in || !settings.pools.is_empty();
    let unused = all && !open && !ignore.was_used() && page.persona <= settings.persona;
    unused.then(|| (format!("this ignore of `{rule}` leaves nothing out"), "take the entry out".to_owned()))
}
