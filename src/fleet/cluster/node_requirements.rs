//! What a pod requires of the labels and resources of a node.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fleet::cluster::json::{items_at, text_at, value_at};

/// Prefix of the resource names of MIG slices, before the profile.
pub const MIG_RESOURCE_PREFIX: &str = "nvidia.com/mig-";

/// The node requirements of a workload: a node must fulfill all of one list. Without a list any node fits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeRequirements(pub Vec<Vec<NodeRequirement>>);

impl NodeRequirements {
    /// Whether there is no list, or one of which `may_fulfill` holds for each requirement.
    pub fn may_be_fulfilled(&self, may_fulfill: impl Fn(&NodeRequirement) -> bool) -> bool {
        self.0.is_empty() || self.0.iter().any(|demands| demands.iter().all(&may_fulfill))
    }
}

/// A requirement on a node label, or on a resource of a device plugin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeRequirement {
    /// The name of the label or of the resource.
    pub key: String,
    /// The condition on its value.
    pub holds: LabelCondition,
}

/// A condition on the value of a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelCondition {
    /// The label has one of these values.
    In(Vec<String>),
    /// The label has none of these values, or is absent.
    NotIn(Vec<String>),
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is a number above this one.
    Above(i64),
    /// The label is a number below this one.
    Below(i64),
    /// An unknown condition, which excludes no node.
    #[serde(rename = "untold")]
    Unknown,
}

/// What is known about a label of some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelState {
    /// Unknown.
    Unknown,
    /// The label is absent.
    Absent,
    /// The label has one of these values.
    OneOf(Vec<String>),
    /// The label is a number in this inclusive range.
    Between(Option<i64>, Option<i64>),
}

impl LabelCondition {
    /// Whether the condition may hold for a label; a range contains whole numbers only.
    pub fn may_match_label(&self, label: &LabelState) -> bool {
        match label {
            LabelState::Unknown => true,
            LabelState::Absent => matches!(self, Self::NotIn(_) | Self::DoesNotExist | Self::Unknown),
            LabelState::OneOf(values) => values.iter().any(|value| self.holds_for_value(value)),
            LabelState::Between(from, to) => self.may_hold_in_range(*from, *to),
        }
    }

    /// Whether the condition holds for a value.
    fn holds_for_value(&self, value: &String) -> bool {
        let number = || value.parse::<i64>().ok();
        match self {
            Self::In(values) => values.contains(value),
            Self::NotIn(values) => !values.contains(value),
            Self::Exists | Self::Unknown => true,
            Self::DoesNotExist => false,
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }

    /// Whether the condition may hold for a number in a range.
    fn may_hold_in_range(&self, from: Option<i64>, to: Option<i64>) -> bool {
        let within = |value: &String| {
            let number = value.parse::<i64>();
            number.is_ok_and(|number| from.is_none_or(|from| from <= number) && to.is_none_or(|to| number <= to))
        };
        match self {
            Self::In(values) => values.iter().any(within),
            Self::NotIn(values) => from.is_none() || from != to || !values.iter().any(within),
            Self::Exists | Self::Unknown => true,
            Self::DoesNotExist => false,
            Self::Above(bound) => to.is_none_or(|to| to > *bound),
            Self::Below(bound) => from.is_none_or(|from| from < *bound),
        }
    }
}

impl NodeRequirement {
    /// Creates the requirement of an entry of `nodeSelector`.
    fn from_node_selector(key: &str, value: &Value) -> Self {
        let holds = value.as_str().map_or(LabelCondition::Unknown, |value| LabelCondition::In(vec![value.to_owned()]));
        Self { key: key.to_owned(), holds }
    }

    /// Creates the requirement of an entry of `matchExpressions`.
    fn from_match_expression(value: &Value) -> Self {
        let values: Vec<String> =
            items_at(value, &["values"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let bound = values.first().and_then(|value| value.parse().ok());
        let holds = match (text_at(value, &["operator"]).unwrap_or_default(), bound) {
            ("In", _) => LabelCondition::In(values),
            ("NotIn", _) => LabelCondition::NotIn(values),
            ("Exists", _) => LabelCondition::Exists,
            ("DoesNotExist", _) => LabelCondition::DoesNotExist,
            ("Gt", Some(bound)) => LabelCondition::Above(bound),
            ("Lt", Some(bound)) => LabelCondition::Below(bound),
            _ => LabelCondition::Unknown,
        };
        Self { key: text_at(value, &["key"]).unwrap_or_default().to_owned(), holds }
    }
}

/// Returns the resources of MIG slices that the containers of a pod request.
fn mig_resources(spec: &Value) -> BTreeSet<String> {
    let containers = ["initContainers", "containers"].into_iter().flat_map(|list| items_at(spec, &[list]));
    let lists = containers.flat_map(|container| {
        ["limits", "requests"].into_iter().filter_map(|list| value_at(container, &["resources", list])?.as_object())
    });
    let requested =
        lists.flatten().filter(|(name, count)| name.starts_with(MIG_RESOURCE_PREFIX) && !is_zero_quantity(count));
    requested.map(|(name, _)| name.clone()).collect()
}

/// Whether a resource quantity is zero.
pub(super) fn is_zero_quantity(count: &Value) -> bool {
    count.as_u64() == Some(0) || count.as_str() == Some("0")
}

/// Returns the node requirements of a pod: node selector and MIG slices, each combined with one term of the node
/// affinity.
pub(super) fn read_node_requirements(spec: &Value) -> NodeRequirements {
    let selector = spec.get("nodeSelector").and_then(Value::as_object).into_iter().flatten();
    let mut selector: Vec<NodeRequirement> =
        selector.map(|(key, value)| NodeRequirement::from_node_selector(key, value)).collect();
    selector.extend(mig_resources(spec).into_iter().map(|key| NodeRequirement { key, holds: LabelCondition::Exists }));
    let path = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];
    // Terms that select a node by its name or another field exclude nothing here.
    let term = |term: &Value| -> Vec<NodeRequirement> {
        selector
            .iter()
            .cloned()
            .chain(items_at(term, &["matchExpressions"]).iter().map(NodeRequirement::from_match_expression))
            .collect()
    };
    match items_at(spec, &path) {
        [] if selector.is_empty() => NodeRequirements::default(),
        [] => NodeRequirements(vec![selector]),
        terms => NodeRequirements(terms.iter().map(term).collect()),
    }
}
