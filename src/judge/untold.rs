//! Conditions of pages that could not be told, for who asks for all of them: one finding for each thing that is missing.

use std::collections::BTreeSet;

use crate::judge::Settings;
use crate::judge::asked;
use crate::judge::control::Orders;
use crate::judge::findings::push;
use crate::judge::labels::label;
use crate::judge::place::Places;
use crate::judge::scope::NoticeWords;
use crate::judge::scope::Subject;
use crate::report::model::Finding;
use crate::report::model::Location;
use crate::rules::Components;
use crate::rules::Condition;
use crate::rules::Lookup;
use crate::rules::Notice;
use crate::rules::Page;
use crate::rules::Persona;
use crate::rules::Scope;
use crate::rules::Truth;
use crate::rules::Type;
use crate::rules::Value;
use crate::rules::Vocabulary;

/// What may be missing where nothing says it better.
const LOOK: &str = "run `imagelint scan` on the built image, or describe it in an image description";

/// What helps where a value is there, and the condition can make nothing of it.
const UNREADABLE: &str = "correct the value, or adapt the condition to it";

/// Something that is missing, and the pages that wait for it.
struct Gap {
    reason: String,
    supply: String,
    rules: BTreeSet<String>,
    pools: Vec<String>,
    locations: Vec<Location>,
}

/// All that is missing.
#[derive(Default)]
pub(super) struct Untold(Vec<Gap>);

/// A scope in which one fact is certainly not there.
struct Without<'a> {
    scope: &'a Subject<'a>,
    name: &'a str,
}

impl Scope for Without<'_> {
    fn value(&self, name: &str) -> Lookup {
        if name == self.name { Lookup::Absent } else { self.scope.value(name) }
    }

    fn components(&self) -> Components<'_> {
        self.scope.components()
    }
}

impl Untold {
    /// A page of which the condition could not be told, for a pool where it asks about pools.
    pub(super) fn add(&mut self, page: &Page, condition: &Condition, scope: &Subject<'_>, places: Places<'_>) {
        for name in waits_for(condition, scope) {
            let fact = scope.blamed(name);
            let why = fact.and_then(|id| scope.image.why(id));
            let value = scope.value(name);
            let open = || match &value {
                Lookup::Known(Value::Seen(_)) => LOOK.to_owned(),
                Lookup::Known(_) => UNREADABLE.to_owned(),
                _ if name.starts_with("pool.") => {
                    format!("set `{}` of the pool in the fleet file", name.trim_start_matches("pool."))
                }
                _ => LOOK.to_owned(),
            };
            let reason = match (why, &value) {
                (Some(why), _) => why.reason.clone(),
                (None, Lookup::Known(Value::Seen(_))) => format!("`{name}` was not inspected completely"),
                (None, Lookup::Known(value)) => format!("the condition cannot read `{name}`, which is `{value}`"),
                (None, _) => unknown(name),
            };
            let supply = why.map_or_else(open, |why| why.supply.clone());
            let at = self.0.iter().position(|gap| (&gap.reason, &gap.supply) == (&reason, &supply));
            let at = at.unwrap_or_else(|| {
                let (rules, pools, locations) = (BTreeSet::new(), Vec::new(), Vec::new());
                self.0.push(Gap { reason, supply, rules, pools, locations });
                self.0.len() - 1
            });
            let Some(gap) = self.0.get_mut(at) else { continue };
            gap.rules.insert(page.name.clone());
            if let Some(pool) = scope.pool.map(|pool| &pool.name).filter(|pool| !gap.pools.contains(pool)) {
                gap.pools.push(pool.clone());
            }
            for origin in fact.map(|id| scope.image.facts.origins(id)).unwrap_or_default() {
                let label = fact.map(|id| label(scope.image, id)).unwrap_or_default();
                push(&mut gap.locations, places.origin(&origin, label));
            }
            places.named(&mut gap.locations, scope.image);
        }
    }

    /// A finding for each gap, for those who ask for all of them.
    pub(super) fn report(self, settings: Settings<'_>, orders: &mut Orders<'_>) -> Vec<Finding> {
        let page = settings.book.reader(Notice::Condition).filter(|_| settings.persona == Persona::Auditor);
        let Some(page) = page else { return Vec::new() };
        let mut found = Vec::new();
        for gap in self.0 {
            if orders.ignores(&page.name, None, &gap.locations) {
                continue;
            }
            let rules = gap.rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ");
            let were = if gap.rules.len() == 1 { "rule" } else { "rules" };
            let was = if gap.rules.len() == 1 { "was" } else { "were" };
            let message = format!("{were} {rules} {was} not checked: {}", gap.reason);
            found.push(Finding {
                rule: page.name.clone(),
                severity: asked::severity(page, None, settings).into(),
                message: page.message.render(&NoticeWords(message)),
                help: Some(page.help.render(&NoticeWords(gap.supply))),
                pools: gap.pools,
                component: None,
                locations: gap.locations,
                cause: None,
                also_unknown: Vec::new(),
                symptom: None,
                fixes: Vec::new(),
            });
        }
        found
    }
}

/// That a fact is unknown, in the words of the reference on conditions.
fn unknown(name: &str) -> String {
    let Some(entry) = Vocabulary::built_in().find(name) else { return format!("`{name}` is unknown") };
    let words = entry.doc.split([',', ':', ';']).next().unwrap_or(entry.doc).trim_start_matches("the ");
    match entry.kind {
        Type::Bool => format!("it is unknown whether {words}"),
        _ => format!("unknown {words}"),
    }
}

/// The facts that a condition waits for: those that alone would settle it, else all that are open.
fn waits_for<'a>(condition: &'a Condition, scope: &Subject<'_>) -> Vec<&'a str> {
    let is_open = |name: &&str| matches!(scope.value(name), Lookup::Unknown | Lookup::Known(Value::Seen(_)));
    let own = |name: &&str| !name.starts_with("component.");
    let open: Vec<&str> = condition.facts().iter().map(String::as_str).filter(own).filter(is_open).collect();
    let is_text = |name: &&str| matches!(scope.value(name), Lookup::Known(Value::Text(_)));
    let settles = |name: &&&str| condition.truth(&Without { scope, name }).is_ok_and(|truth| truth != Truth::Unknown);
    let settling: Vec<&str> = open.iter().filter(settles).copied().collect();
    let of_components = condition.facts().iter().any(|name| name.starts_with("component."));
    match (settling.is_empty(), open.is_empty()) {
        (false, _) => settling,
        (true, false) => open,
        // What is open is what there is of components.
        (true, true) if of_components || condition.facts().is_empty() => vec!["image.packages"],
        // All is known, and a function makes nothing of a text.
        (true, true) => condition.facts().iter().map(String::as_str).filter(is_text).collect(),
    }
}
