//! What a pod asks of the labels of a node.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::cluster::items;
use crate::cluster::text;

/// What a workload asks of a node: all of one list. Anywhere where there is no list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nodes(pub Vec<Vec<Demand>>);

impl Nodes {
    /// Whether nodes with these labels may do; `known` are the labels that any node of the fleet declares.
    pub fn fit(&self, labels: &BTreeMap<&str, &str>, known: &BTreeSet<&str>) -> bool {
        let fits = |demands: &Vec<Demand>| demands.iter().all(|demand| demand.fits(labels, known));
        self.0.is_empty() || self.0.iter().any(fits)
    }
}

/// One demand on one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Demand {
    /// The label.
    pub key: String,
    /// What must hold.
    pub holds: Holds,
}

/// What must hold for a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// It has one of these values.
    In(Vec<String>),
    /// It has none of these values, or is not there.
    NotIn(Vec<String>),
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// Its number is above this one.
    Above(i64),
    /// Its number is below this one.
    Below(i64),
    /// Something that cannot be told, which narrows nothing.
    Untold,
}

impl Demand {
    /// Whether nodes with these labels may meet it. A label that no pool of the fleet declares says nothing.
    pub(super) fn fits(&self, labels: &BTreeMap<&str, &str>, known: &BTreeSet<&str>) -> bool {
        if !known.contains(self.key.as_str()) {
            return true;
        }
        let value = labels.get(self.key.as_str()).copied();
        let one_of = |values: &[String]| value.is_some_and(|value| values.iter().any(|other| other == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.holds {
            Holds::In(values) => one_of(values),
            Holds::NotIn(values) => !one_of(values),
            Holds::Exists => value.is_some(),
            Holds::DoesNotExist => value.is_none(),
            Holds::Above(bound) => number().is_some_and(|number| number > *bound),
            Holds::Below(bound) => number().is_some_and(|number| number < *bound),
            Holds::Untold => true,
        }
    }

    /// One entry of `nodeSelector`.
    fn label(key: &str, value: &Value) -> Self {
        let holds = value.as_str().map_or(Holds::Untold, |value| Holds::In(vec![value.to_owned()]));
        Self { key: key.to_owned(), holds }
    }

    /// One entry of `matchExpressions`.
    fn expression(value: &Value) -> Self {
        let values: Vec<String> =
            items(value, &["values"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let bound = values.first().and_then(|value| value.parse().ok());
        let holds = match (text(value, &["operator"]).unwrap_or_default(), bound) {
            ("In", _) => Holds::In(values),
            ("NotIn", _) => Holds::NotIn(values),
            ("Exists", _) => Holds::Exists,
            ("DoesNotExist", _) => Holds::DoesNotExist,
            ("Gt", Some(bound)) => Holds::Above(bound),
            ("Lt", Some(bound)) => Holds::Below(bound),
            _ => Holds::Untold,
        };
        Self { key: text(value, &["key"]).unwrap_or_default().to_owned(), holds }
    }
}

/// What a pod demands: the selector, and with it one of the terms of the affinity.
pub(super) fn of_pod(spec: &Value) -> Nodes {
    let selector = spec.get("nodeSelector").and_then(Value::as_object).into_iter().flatten();
    let selector: Vec<Demand> = selector.map(|(key, value)| Demand::label(key, value)).collect();
    let path = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
    // Terms that ask for a node by its name or another field narrow nothing here.
    let term = |term: &Value| -> Vec<Demand> {
        selector.iter().cloned().chain(items(term, &["matchExpressions"]).iter().map(Demand::expression)).collect()
    };
    match items(spec, &path) {
        [] if selector.is_empty() => Nodes::default(),
        [] => Nodes(vec![selector]),
        terms => Nodes(terms.iter().map(term).collect()),
    }
}
