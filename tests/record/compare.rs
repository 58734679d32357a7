//! The differences between two records, by class.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::iter;

use serde_json::Value;

/// What the program said of each case.
#[derive(Default)]
pub(crate) struct Record(BTreeMap<String, Value>);

impl Record {
    /// Of cases with different names.
    pub(crate) fn of(cases: Vec<(String, Value)>) -> Result<Self, Box<dyn Error>> {
        let mut record = Self::default();
        for (name, said) in cases {
            if record.0.insert(name.clone(), said).is_some() {
                return Err(format!("two cases have the name {name}").into());
            }
        }
        Ok(record)
    }

    /// A record as [`Self::text`] writes it.
    pub(crate) fn read(text: &str) -> Result<Self, Box<dyn Error>> {
        let mut cases = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let pair: (String, Value) =
                serde_json::from_str(line).map_err(|error| format!("line {}: {error}", at + 1))?;
            cases.push(pair);
        }
        Self::of(cases)
    }

    /// One case per line, sorted by name; keys are sorted, too.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for pair in &self.0 {
            let line = serde_json::to_string(&pair).expect("strings and JSON");
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// How a case differs, the worst class first. What becomes a start, or known, needs a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    FailsToStarts,
    UnknownToStarts,
    /// The verdict was another one, or there was none on this pool or of this component.
    OtherToStarts,
    UnknownToFails,
    UnknownToNotApplicable,
    StartsToFails,
    KnownToUnknown,
    /// A fact became known or absent.
    UnknownToKnownFact,
    KnownToUnknownFact,
    /// Another change of the verdict, such as another outcome.
    Verdict,
    VerdictOnlyOld,
    VerdictOnlyNew,
    Exit,
    /// A finding came or went, or has another severity or other pools.
    Findings,
    Fixes,
    /// A fact came or went, or has another value or place.
    Facts,
    /// The words of a verdict or a finding, or its places.
    Text,
    OnlyOld,
    OnlyNew,
}

impl Class {
    fn words(self) -> &'static str {
        match self {
            Self::FailsToStarts => "fails → starts (name the source)",
            Self::UnknownToStarts => "unknown → starts (name the source)",
            Self::OtherToStarts => "other → starts (name the source)",
            Self::UnknownToFails => "unknown → fails (name the source)",
            Self::UnknownToNotApplicable => "unknown → not applicable (name the source)",
            Self::StartsToFails => "starts → fails",
            Self::KnownToUnknown => "known → unknown",
            Self::UnknownToKnownFact => "unknown → known fact (name the source)",
            Self::KnownToUnknownFact => "known → unknown fact",
            Self::Verdict => "other: verdict",
            Self::VerdictOnlyOld => "verdict only in the old record",
            Self::VerdictOnlyNew => "verdict only in the new record",
            Self::Exit => "other: exit code",
            Self::Findings => "other: findings",
            Self::Fixes => "other: fixes",
            Self::Facts => "other: facts",
            Self::Text => "text only",
            Self::OnlyOld => "only in the old record",
            Self::OnlyNew => "only in the new record",
        }
    }
}

/// One difference: the case with its place in it, then old and new.
#[derive(Debug)]
struct Difference {
    class: Class,
    at: String,
    old: String,
    new: String,
}

/// The number of differences of each class, each with its first example; empty if the records are equal.
pub(crate) fn differences(old: &Record, new: &Record) -> String {
    let mut classes: BTreeMap<Class, Vec<Difference>> = BTreeMap::new();
    let mut names: Vec<&String> = old.0.keys().chain(new.0.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        for one in of_case(name, old.0.get(name), new.0.get(name)) {
            classes.entry(one.class).or_default().push(one);
        }
    }
    let mut text = String::new();
    for (class, all) in &classes {
        let Some(first) = all.first() else { continue };
        let _ = writeln!(text, "{:>6}  {}", all.len(), class.words());
        let _ = writeln!(text, "        {}\n        - {}\n        + {}", first.at, first.old, first.new);
    }
    text
}

/// The differences of a case: each change of a verdict, and the first fact that became known and unknown; without any of
/// them, the first other class that applies.
fn of_case(name: &str, old: Option<&Value>, new: Option<&Value>) -> Vec<Difference> {
    let one = |class, old: String, new: String| vec![Difference { class, at: name.to_owned(), old, new }];
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (Some(_), None) => return one(Class::OnlyOld, String::new(), String::new()),
        (None, _) => return one(Class::OnlyNew, String::new(), String::new()),
    };
    if old == new {
        return Vec::new();
    }
    let mut found = of_verdicts(name, old, new);
    found.extend(of_known_facts(name, old, new));
    if !found.is_empty() {
        return found;
    }
    let part = |value: &Value, of: fn(&Value) -> Value| of(value);
    let exit = |value: &Value| value["exit"].clone();
    let findings = |value: &Value| each(value, "findings", &["rule", "severity", "pools", "component"]);
    let fixes = |value: &Value| each(value, "findings", &["fixes"]);
    let facts = |value: &Value| subjects(value).map(|subject| subject["facts"].clone()).collect();
    for (class, of) in [
        (Class::Exit, exit as fn(&Value) -> Value),
        (Class::Findings, findings),
        (Class::Fixes, fixes),
        (Class::Facts, facts),
    ] {
        let (old, new) = (part(old, of), part(new, of));
        if old != new {
            let (old, new) = first_difference(&old, &new);
            return one(class, old, new);
        }
    }
    let (old, new) = first_difference(old, new);
    one(Class::Text, old, new)
}

fn subjects(case: &Value) -> impl Iterator<Item = &Value> {
    case["subjects"].as_array().into_iter().flatten()
}

/// Some fields of each entry of a list of each subject.
fn each(case: &Value, list: &str, fields: &[&str]) -> Value {
    let entries = subjects(case).flat_map(|subject| subject[list].as_array().into_iter().flatten());
    entries.map(|entry| fields.iter().map(|field| entry[*field].clone()).collect::<Value>()).collect()
}

/// The verdicts of a case by stage, pool and component. The verdict of the image has no component.
fn by_place(case: &Value) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    for subject in subjects(case) {
        let stage = subject["stage"].as_str().unwrap_or_default();
        let components = subject["components"].as_object().into_iter().flatten();
        let components = components.map(|(name, verdicts)| (format!(", component {name}"), verdicts));
        for (component, verdicts) in iter::once((String::new(), &subject["verdicts"])).chain(components) {
            for verdict in verdicts.as_array().into_iter().flatten() {
                for pool in verdict["pools"].as_array().into_iter().flatten() {
                    let place = format!("{stage} {}{component}", pool.as_str().unwrap_or_default());
                    found.insert(place.trim().to_owned(), verdict);
                }
            }
        }
    }
    found
}

/// The changes of the verdicts of the image and of its components.
fn of_verdicts(name: &str, old: &Value, new: &Value) -> Vec<Difference> {
    let (old, new) = (by_place(old), by_place(new));
    let places: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let words = |verdict: Option<&Value>| match verdict {
        Some(verdict) => {
            format!("{}: {}", verdict["fate"].as_str().unwrap_or("?"), verdict["message"].as_str().unwrap_or(""))
        }
        None => "no verdict".to_owned(),
    };
    let of_place = |place: &String| {
        let (before, after) = (old.get(place).copied(), new.get(place).copied());
        let class = change(before, after)?;
        Some(Difference { class, at: format!("{name} on {place}"), old: words(before), new: words(after) })
    };
    places.into_iter().filter_map(of_place).collect()
}

/// The class of a change of the verdict itself; its words do not count.
fn change(old: Option<&Value>, new: Option<&Value>) -> Option<Class> {
    let fate = |verdict: &Value| match verdict["fate"].as_str() {
        Some("depends" | "undetermined") => "unknown".to_owned(),
        other => other.unwrap_or_default().to_owned(),
    };
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (Some(_), None) => return Some(Class::VerdictOnlyOld),
        (None, Some(new)) if fate(new) == "starts" => return Some(Class::OtherToStarts),
        (None, Some(_)) => return Some(Class::VerdictOnlyNew),
        (None, None) => return None,
    };
    let same = |key: &str| old[key] == new[key];
    match (fate(old).as_str(), fate(new).as_str()) {
        ("fails", "starts") => Some(Class::FailsToStarts),
        ("starts", "fails") => Some(Class::StartsToFails),
        ("unknown", "starts") => Some(Class::UnknownToStarts),
        (other, "starts") if other != "starts" => Some(Class::OtherToStarts),
        ("unknown", "fails") => Some(Class::UnknownToFails),
        ("unknown", "not-applicable") => Some(Class::UnknownToNotApplicable),
        (known, "unknown") if known != "unknown" => Some(Class::KnownToUnknown),
        (one, other) if one != other => Some(Class::Verdict),
        _ => {
            let keys = ["fate", "outcome", "reason", "route", "certain", "possible", "missing", "not_seen"];
            (!keys.into_iter().all(same)).then_some(Class::Verdict)
        }
    }
}

/// The facts of a case by stage and key. A key has an entry per value, and the last one counts.
fn by_key(case: &Value) -> BTreeMap<(&str, &str), Vec<&str>> {
    let mut found: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for subject in subjects(case) {
        let stage = subject["stage"].as_str().unwrap_or_default();
        for (key, values) in subject["facts"].as_object().into_iter().flatten() {
            let values = values.as_array().into_iter().flatten().filter_map(Value::as_str);
            found.entry((stage, key)).or_default().extend(values);
        }
    }
    found
}

/// The first fact that became known, and the first that became unknown. An absent fact is known.
fn of_known_facts(name: &str, old: &Value, new: &Value) -> Vec<Difference> {
    let (old, new) = (by_key(old), by_key(new));
    let mut found: BTreeMap<Class, Difference> = BTreeMap::new();
    for ((stage, key), before) in &old {
        let Some(after) = new.get(&(*stage, *key)) else { continue };
        // With another number of entries, nothing but the last ones have a counterpart.
        let skip = |values: &[&str]| if before.len() == after.len() { 0 } else { values.len().saturating_sub(1) };
        for (before, after) in before.iter().skip(skip(before)).zip(after.iter().skip(skip(after))) {
            let class = match (is_unknown(before), is_unknown(after)) {
                (true, false) => Class::UnknownToKnownFact,
                (false, true) => Class::KnownToUnknownFact,
                _ => continue,
            };
            let at = format!("{name} {stage} {key}").replace("  ", " ");
            let one = Difference { class, at, old: (*before).to_owned(), new: (*after).to_owned() };
            found.entry(class).or_insert(one);
        }
    }
    found.into_values().collect()
}

/// Whether a fact as `canonical.rs` writes it is unknown.
fn is_unknown(fact: &str) -> bool {
    fact.starts_with("(unknown)")
}

/// The first parts that differ.
fn first_difference(old: &Value, new: &Value) -> (String, String) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let keys = before.keys().chain(after.keys());
            let differs = keys.into_iter().find(|key| before.get(*key) != after.get(*key));
            match differs {
                Some(key) => {
                    let (old, new) = first_difference(&old[key], &new[key]);
                    (format!("{key}: {old}"), format!("{key}: {new}"))
                }
                None => (String::new(), String::new()),
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            let at = before.iter().zip(after).take_while(|(old, new)| old == new).count();
            first_difference(before.get(at).unwrap_or(&Value::Null), after.get(at).unwrap_or(&Value::Null))
        }
        _ => (old.to_string(), new.to_string()),
    }
}
