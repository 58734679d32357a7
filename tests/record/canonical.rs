//! A report without what repeats: verdicts by pool, findings with their places, facts with their origins, fixes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// The longest value of a fact; a longer one is cut.
const LONGEST: usize = 120;

/// The part of a report that the record keeps.
pub(crate) fn report(report: &Value, exit: Option<i32>) -> Value {
    let subjects: Vec<Value> = list(&report["subjects"]).map(subject).collect();
    let mut kept = json!({"exit": exit, "subjects": subjects});
    let errors: Vec<&Value> = list(&report["errors"]).collect();
    if !errors.is_empty() {
        kept["errors"] = json!(errors.iter().map(|error| &error["message"]).collect::<Vec<_>>());
    }
    kept
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn subject(subject: &Value) -> Value {
    let facts: BTreeMap<String, Vec<String>> =
        list(&subject["facts"]).fold(BTreeMap::new(), |mut facts: BTreeMap<_, Vec<_>>, one| {
            facts.entry(text(&one["key"])).or_default().push(fact(one));
            facts
        });
    without_empty(json!({
        "stage": subject["stage"],
        "gpu": subject["gpu_content"],
        "notes": subject["inspected"]["notes"],
        "split": subject["split"],
        "verdicts": verdicts(list(&subject["verdicts"]).filter(|one| one["component"].is_null())),
        "components": components(subject),
        "findings": list(&subject["findings"]).map(finding).collect::<Vec<_>>(),
        "facts": facts,
    }))
}

/// Pools with the same verdict, each verdict once.
fn verdicts<'v>(all: impl Iterator<Item = &'v Value>) -> Value {
    let mut found: Vec<(Value, Vec<String>)> = Vec::new();
    for one in all {
        let missing: Vec<&Value> = list(&one["missing"]).map(|gap| &gap["key"]).collect();
        let verdict = without_empty(json!({
            "fate": one["fate"], "outcome": one["outcome"], "reason": one["reason"], "route": one["route"],
            "certain": one["codes"]["certain"], "possible": one["codes"]["possible"], "message": one["message"],
            "confidence": one["confidence"], "missing": missing, "not_seen": one["not_seen"], "notes": one["notes"],
        }));
        let pool = text(&one["pool"]);
        match found.iter_mut().find(|(own, _)| *own == verdict) {
            Some((_, pools)) => pools.push(pool),
            None => found.push((verdict, vec![pool])),
        }
    }
    let with_pools = |(mut verdict, pools): (Value, Vec<String>)| {
        verdict["pools"] = json!(pools);
        verdict
    };
    found.into_iter().map(with_pools).collect()
}

fn components(subject: &Value) -> Value {
    let mut found: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for one in list(&subject["verdicts"]).filter(|one| !one["component"].is_null()) {
        found.entry(text(&one["component"])).or_default().push(one);
    }
    let of = |(name, all): (String, Vec<&Value>)| (name, verdicts(all.into_iter()));
    Value::Object(found.into_iter().map(of).collect())
}

fn finding(one: &Value) -> Value {
    let places: Vec<String> = list(&one["locations"]).map(place).collect();
    without_empty(json!({
        "rule": one["rule"], "severity": one["severity"], "pools": one["pools"], "component": one["component"],
        "message": one["message"], "cause": one["cause"], "symptom": one["symptom"], "help": one["help"],
        "also_unknown": one["also_unknown"], "at": places, "fixes": list(&one["fixes"]).map(fix).collect::<Vec<_>>(),
    }))
}

fn fix(one: &Value) -> Value {
    let edit = |edit: &Value| format!("{} {}", position(edit), text(&edit["replacement"]));
    let mut kept = one.clone();
    kept["edits"] = list(&one["edits"]).map(|one| Value::String(edit(one))).collect();
    without_empty(kept)
}

/// `PATH:LINE:COLUMN label`, or the kind with its label.
fn place(location: &Value) -> String {
    format!("{} {}", position(location), text(&location["label"]))
}

fn position(location: &Value) -> String {
    let region = &location["region"];
    if region.is_null() {
        return text(&location["path"]);
    }
    let number = |key: &str| text(&region[key]);
    format!("{}:{}:{}-{}", text(&location["path"]), number("start_line"), number("start_column"), number("end_column"))
}

/// `known VALUE < PLACES`, `absent`, `unknown: WHY`.
fn fact(one: &Value) -> String {
    let value = match one["state"].as_str() {
        Some("known") => cut(&text(&one["value"])),
        Some(state) => format!("({state}) {}", one["why"].as_str().unwrap_or_default()),
        None => String::new(),
    };
    let mut places: Vec<String> = list(&one["origins"]).map(position).collect();
    places.dedup();
    format!("{value} < {}", places.join(", "))
}

/// A long value by its beginning and a checksum.
fn cut(value: &str) -> String {
    if value.chars().count() <= LONGEST {
        return value.to_owned();
    }
    format!("{}… ({:016x})", value.chars().take(LONGEST).collect::<String>(), checksum(value))
}

/// A text with a checksum in the place of each host of an address: the record of strangers' files names none.
pub(crate) fn without_hosts(text: &str) -> String {
    let mut parts = text.split("://");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|sign: char| !sign.is_ascii_alphanumeric() && !matches!(sign, '.' | '-' | ':' | '@' | '_'));
        let (host, rest) = part.split_at(end.unwrap_or(part.len()));
        let _ = write!(masked, "://{:08x}{rest}", checksum(host) >> 32);
    }
    masked
}

fn checksum(text: &str) -> u64 {
    let add = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, add)
}

/// The object without null, empty lists and empty objects.
fn without_empty(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    Value::Object(fields.into_iter().filter(|(_, value)| !is_empty(value)).collect::<Map<_, _>>())
}
