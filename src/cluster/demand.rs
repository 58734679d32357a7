//! What a pod asks of the labels of a node.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::cluster::at;
use crate::cluster::items;
use crate::cluster::text;

/// Resources of this name are slices of GPUs: the profile stands behind it.
pub const SLICE: &str = "nvidia.com/mig-";

/// What a workload asks of a node: all of one list. Anywhere where there is no list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nodes(pub Vec<Vec<Demand>>);

impl Nodes {
    /// Whether nodes may do of which each demand `may` be met.
    pub fn fit(&self, may: impl Fn(&Demand) -> bool) -> bool {
        self.0.is_empty() || self.0.iter().any(|demands| demands.iter().all(&may))
    }
}

/// One demand on one label, or on what a device plugin offers of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Demand {
    /// The label, or the name of the resource.
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

/// What is known of a label of some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// Nothing.
    Untold,
    /// They do not have it.
    Absent,
    /// It has one of these values.
    OneOf(Vec<String>),
    /// It is a number of this range, both ends within it.
    Between(Option<i64>, Option<i64>),
}

impl Holds {
    /// Whether it may hold for a label. A range is of whole numbers.
    pub fn may(&self, label: &Label) -> bool {
        match label {
            Label::Untold => true,
            Label::Absent => matches!(self, Self::NotIn(_) | Self::DoesNotExist | Self::Untold),
            Label::OneOf(values) => values.iter().any(|value| self.holds(value)),
            Label::Between(from, to) => self.may_within(*from, *to),
        }
    }

    fn holds(&self, value: &String) -> bool {
        let number = || value.parse::<i64>().ok();
        match self {
            Self::In(values) => values.contains(value),
            Self::NotIn(values) => !values.contains(value),
            Self::Exists | Self::Untold => true,
            Self::DoesNotExist => false,
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }

    fn may_within(&self, from: Option<i64>, to: Option<i64>) -> bool {
        let within = |value: &String| {
            let number = value.parse::<i64>();
            number.is_ok_and(|number| from.is_none_or(|from| from <= number) && to.is_none_or(|to| number <= to))
        };
        match self {
            Self::In(values) => values.iter().any(within),
            Self::NotIn(values) => from.is_none() || from != to || !values.iter().any(within),
            Self::Exists | Self::Untold => true,
            Self::DoesNotExist => false,
            Self::Above(bound) => to.is_none_or(|to| to > *bound),
            Self::Below(bound) => from.is_none_or(|from| from < *bound),
        }
    }
}

impl Demand {
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

/// The slices that any container of a pod asks for, by the names of their resources.
fn slices(spec: &Value) -> BTreeSet<String> {
    let containers = ["initContainers", "containers"].into_iter().flat_map(|list| items(spec, &[list]));
    let lists = containers.flat_map(|container| {
        ["limits", "requests"].into_iter().filter_map(|list| at(container, &["resources", list])?.as_object())
    });
    let asked = lists.flatten().filter(|(name, count)| name.starts_with(SLICE) && !is_zero(count));
    asked.map(|(name, _)| name.clone()).collect()
}

/// Whether a resource is asked for that nothing is taken of.
pub(super) fn is_zero(count: &Value) -> bool {
    count.as_u64() == Some(0) || count.as_str() == Some("0")
}

/// What a pod demands: the selector and the slices of GPUs, and with them one of the terms of the affinity.
pub(super) fn of_pod(spec: &Value) -> Nodes {
    let selector = spec.get("nodeSelector").and_then(Value::as_object).into_iter().flatten();
    let mut selector: Vec<Demand> = selector.map(|(key, value)| Demand::label(key, value)).collect();
    selector.extend(slices(spec).into_iter().map(|key| Demand { key, holds: Holds::Exists }));
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
