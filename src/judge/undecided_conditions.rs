//! Rule conditions that could not be evaluated, for auditors: one finding for each missing fact.

use std::collections::BTreeSet;

use crate::judge::judged_pool::push_unique_location;
use crate::judge::labels::fact_label;
use crate::judge::location::LocationBuilder;
use crate::judge::scope::{NoticeScope, RuleScope};
use crate::judge::suppression::SuppressionState;
use crate::judge::{AnalysisSettings, rule_settings};
use crate::model::cause::{CORRECT_VALUE, Cause, RUN_SCAN_OR_DESCRIBE};
use crate::report::model::{Finding, Location};
use crate::rules::{
    ComponentScopes, FactLookup, FactScope, FactValue, Notice, Persona, RuleCondition, RulePage, Truth, ValueType,
    Vocabulary,
};

/// Missing information, and the rules that need it.
struct MissingConditionFact {
    message: String,
    help: String,
    rules: BTreeSet<String>,
    pools: Vec<String>,
    locations: Vec<Location>,
}

/// All information that rule conditions miss.
#[derive(Default)]
pub(super) struct UndecidedConditions(Vec<MissingConditionFact>);

/// A scope in which one fact is certainly absent.
struct ScopeWithoutFact<'a> {
    scope: &'a RuleScope<'a>,
    name: &'a str,
}

impl FactScope for ScopeWithoutFact<'_> {
    fn value(&self, name: &str) -> FactLookup {
        if name == self.name { FactLookup::Absent } else { self.scope.value(name) }
    }

    fn components(&self) -> ComponentScopes<'_> {
        self.scope.components()
    }
}

impl UndecidedConditions {
    /// Adds a rule with an unknown condition, for a pool if the rule is about pools.
    pub(super) fn add_rule(
        &mut self,
        page: &RulePage,
        condition: &RuleCondition,
        scope: &RuleScope<'_>,
        places: LocationBuilder<'_>,
    ) {
        for name in deciding_unknown_facts(condition, scope) {
            let fact = scope.fact_for_condition_name(name);
            let why = fact.and_then(|id| scope.image.unknown_cause(id));
            let value = scope.value(name);
            let open = || match &value {
                FactLookup::Known(FactValue::Seen(_)) => RUN_SCAN_OR_DESCRIBE.to_owned(),
                FactLookup::Known(_) => CORRECT_VALUE.to_owned(),
                _ if name.starts_with("pool.") => {
                    format!("set `{}` of the pool in the fleet file", name.trim_start_matches("pool."))
                }
                _ => RUN_SCAN_OR_DESCRIBE.to_owned(),
            };
            let message = match (why, &value) {
                (Some(why), _) => why.reason(),
                (None, FactLookup::Known(FactValue::Seen(_))) => format!("`{name}` was not inspected completely"),
                (None, FactLookup::Known(value)) => format!("the condition cannot read `{name}`, which is `{value}`"),
                (None, _) => unknown_fact_text(name),
            };
            let help = why.map_or_else(open, Cause::remedy);
            let at = self.0.iter().position(|gap| (&gap.message, &gap.help) == (&message, &help));
            let at = at.unwrap_or_else(|| {
                let (rules, pools, locations) = (BTreeSet::new(), Vec::new(), Vec::new());
                self.0.push(MissingConditionFact { message, help, rules, pools, locations });
                self.0.len() - 1
            });
            let Some(gap) = self.0.get_mut(at) else { continue };
            gap.rules.insert(page.name.clone());
            if let Some(pool) = scope.pool.map(|pool| &pool.name).filter(|pool| !gap.pools.contains(pool)) {
                gap.pools.push(pool.clone());
            }
            for origin in fact.map(|id| scope.image.facts.origins(id)).unwrap_or_default() {
                let label = fact.map(|id| fact_label(scope.image, id)).unwrap_or_default();
                push_unique_location(&mut gap.locations, places.origin(&origin, label));
            }
            places.insert_image_line(&mut gap.locations, scope.image);
        }
    }

    /// Returns a finding for each gap, if the persona is the auditor.
    pub(super) fn into_findings(
        self,
        settings: AnalysisSettings<'_>,
        orders: &mut SuppressionState<'_>,
    ) -> Vec<Finding> {
        let page = settings.book.notice_page(Notice::Condition).filter(|_| settings.persona == Persona::Auditor);
        let Some(page) = page else { return Vec::new() };
        let mut found = Vec::new();
        for gap in self.0 {
            if orders.suppresses(&page.name, None, &gap.locations) {
                continue;
            }
            let rules = gap.rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ");
            let were = if gap.rules.len() == 1 { "rule" } else { "rules" };
            let was = if gap.rules.len() == 1 { "was" } else { "were" };
            let message = format!("{were} {rules} {was} not checked: {}", gap.message);
            found.push(Finding {
                rule: page.name.clone(),
                severity: rule_settings::configured_severity(page, None, settings).into(),
                message: page.message.render(&NoticeScope(message)),
                help: Some(page.help.render(&NoticeScope(gap.help))),
                pools: gap.pools,
                component: None,
                locations: gap.locations,
                cause: None,
                also_unknown: Vec::new(),
                symptom: None,
                fixes: Vec::new(),
                base_not_read: false,
            });
        }
        found
    }
}

/// Returns a sentence that a fact is unknown, with its description from the vocabulary.
fn unknown_fact_text(name: &str) -> String {
    let Some(entry) = Vocabulary::built_in().find_entry(name) else { return format!("`{name}` is unknown") };
    let words = entry.doc.split([',', ':', ';']).next().unwrap_or(entry.doc).trim_start_matches("the ");
    match entry.kind {
        ValueType::Bool => format!("it is unknown whether {words}"),
        _ => format!("unknown {words}"),
    }
}

/// Returns the unknown facts that alone would decide a condition, else all its unknown facts.
fn deciding_unknown_facts<'a>(condition: &'a RuleCondition, scope: &RuleScope<'_>) -> Vec<&'a str> {
    let is_open =
        |name: &&str| matches!(scope.value(name), FactLookup::Unknown | FactLookup::Known(FactValue::Seen(_)));
    let own = |name: &&str| !name.starts_with("component.");
    let open: Vec<&str> = condition.facts().iter().map(String::as_str).filter(own).filter(is_open).collect();
    let is_text = |name: &&str| matches!(scope.value(name), FactLookup::Known(FactValue::Text(_)));
    let settles =
        |name: &&&str| condition.evaluate(&ScopeWithoutFact { scope, name }).is_ok_and(|truth| truth != Truth::Unknown);
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
