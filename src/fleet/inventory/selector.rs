//! Selects the labels that distinguish some nodes from all others, as a Kubernetes node affinity.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::fleet::cluster::{LabelCondition, NodeRequirement};
use crate::fleet::inventory::kubernetes::IDENTIFYING_LABELS;

/// The labels of a node.
pub type NodeLabels = BTreeMap<String, String>;

/// A node selector term: a node must match all of its requirements.
pub type NodeSelectorTerm = Vec<NodeRequirement>;

/// Labels that all nodes have, with or without GPUs, and that identify no node by themselves.
const COMMON_LABELS: &[&str] = &["kubernetes.io/arch", "kubernetes.io/os"];

/// Returns terms such that each wanted node meets one and no other node meets any. They use the identifying labels
/// and the labels in `own`.
///
/// # Errors
/// The place of a wanted node and of another one that no label tells apart; of the wanted one alone where it has no label
/// that says what it is.
pub fn node_selector_terms(
    own: &[&str],
    selected: &[&NodeLabels],
    others: &[&NodeLabels],
) -> Result<Vec<NodeSelectorTerm>, (usize, Option<usize>)> {
    let known = IDENTIFYING_LABELS.iter().copied();
    let keys: Vec<&str> = known.chain(own.iter().copied().filter(|key| !IDENTIFYING_LABELS.contains(key))).collect();
    // Nodes differ in their names and little else.
    let alike = |list: &[&NodeLabels]| {
        let mut places: BTreeMap<NodeLabels, usize> = BTreeMap::new();
        for (at, labels) in list.iter().enumerate() {
            let relevant_labels = keys.iter().filter_map(|key| Some(((*key).to_owned(), labels.get(*key)?.clone())));
            places.entry(relevant_labels.collect()).or_insert(at);
        }
        places
    };
    let (selected, others) = (alike(selected), alike(others));
    let (left_out, places): (Vec<&NodeLabels>, Vec<usize>) = others.iter().unzip();
    let mut terms: Vec<NodeSelectorTerm> = Vec::new();
    for (labels, at) in &selected {
        let place = |other: Option<usize>| (*at, other.and_then(|other| places.get(other).copied()));
        let term = term_for_node(&keys, labels, &left_out).map_err(place)?;
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    merge_terms(&mut terms);
    Ok(terms)
}

/// Returns the term for one node: its first identifying label and as many more as needed.
fn term_for_node(
    keys: &[&str],
    labels: &NodeLabels,
    others: &[&NodeLabels],
) -> Result<NodeSelectorTerm, Option<usize>> {
    let requirement = |key: &&str| NodeRequirement {
        key: (*key).to_owned(),
        holds: labels.get(*key).map_or(LabelCondition::DoesNotExist, |value| LabelCondition::In(vec![value.clone()])),
    };
    let mut open: Vec<NodeRequirement> = keys.iter().map(requirement).collect();
    // At least one label must be present: a selector with only absent labels matches every new node.
    let tells = |requirement: &NodeRequirement| {
        requirement.holds != LabelCondition::DoesNotExist && !COMMON_LABELS.contains(&requirement.key.as_str())
    };
    let anchor = open.iter().position(tells).ok_or(None)?;
    let mut term = vec![open.remove(anchor)];
    let mut left: Vec<usize> = (0..others.len()).collect();
    let meets = |at: &usize, requirement: &NodeRequirement| {
        others.get(*at).is_some_and(|labels| is_requirement_satisfied(requirement, labels))
    };
    left.retain(|at| term.iter().all(|requirement| meets(at, requirement)));
    while let Some(first) = left.first().copied() {
        let leaves = |requirement: &NodeRequirement| left.iter().filter(|at| meets(at, requirement)).count();
        let best = open.iter().enumerate().min_by_key(|(_, requirement)| leaves(requirement)).map(|(at, _)| at);
        let Some(requirement) = best.map(|at| open.remove(at)).filter(|requirement| leaves(requirement) < left.len())
        else {
            return Err(Some(first));
        };
        left.retain(|at| meets(at, &requirement));
        term.push(requirement);
    }
    term.sort();
    Ok(term)
}

/// Whether a node meets a demand, as the Kubernetes scheduler decides; false for operators that are never generated.
fn is_requirement_satisfied(requirement: &NodeRequirement, labels: &NodeLabels) -> bool {
    let value = labels.get(&requirement.key);
    match &requirement.holds {
        LabelCondition::In(values) => value.is_some_and(|value| values.contains(value)),
        LabelCondition::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
        LabelCondition::Exists => value.is_some(),
        LabelCondition::DoesNotExist => value.is_none(),
        LabelCondition::Above(_) | LabelCondition::Below(_) | LabelCondition::Unknown => false,
    }
}

/// Merges pairs of terms that differ only in the values of one label into one term.
fn merge_terms(terms: &mut Vec<NodeSelectorTerm>) {
    let mut at = 0;
    while at < terms.len() {
        let joined = terms.iter().enumerate().skip(at + 1).find_map(|(other, later)| {
            let first = terms.get(at)?;
            Some((other, merge_pair(first, later)?))
        });
        match joined {
            Some((other, term)) => {
                terms.remove(other);
                if let Some(first) = terms.get_mut(at) {
                    *first = term;
                }
                at = 0;
            }
            None => at += 1,
        }
    }
}

/// Returns the union of two terms that differ only in the values of one label.
fn merge_pair(one: &NodeSelectorTerm, other: &NodeSelectorTerm) -> Option<NodeSelectorTerm> {
    if one.len() != other.len() || one.iter().zip(other).any(|(one, other)| one.key != other.key) {
        return None;
    }
    let mut differences = one.iter().zip(other).enumerate().filter(|(_, (one, other))| one.holds != other.holds);
    let (at, (first, second)) = differences.next()?;
    if differences.next().is_some() {
        return None;
    }
    let (LabelCondition::In(values), LabelCondition::In(more)) = (&first.holds, &second.holds) else { return None };
    let mut values: Vec<String> = values.iter().chain(more).cloned().collect();
    values.sort();
    values.dedup();
    let mut term = one.clone();
    *term.get_mut(at)? = NodeRequirement { key: first.key.clone(), holds: LabelCondition::In(values) };
    Some(term)
}

/// Returns the terms as the `affinity` of a pod.
pub fn affinity_yaml(terms: &[NodeSelectorTerm]) -> String {
    let mut text = String::from(
        "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n",
    );
    for term in terms {
        text.push_str("        - matchExpressions:\n");
        for requirement in term {
            let _ = writeln!(text, "            - key: {}", quote(&requirement.key));
            match &requirement.holds {
                LabelCondition::In(values) => {
                    let values: Vec<String> = values.iter().map(|value| quote(value)).collect();
                    let _ = writeln!(text, "              operator: In\n              values: [{}]", values.join(", "));
                }
                _ => {
                    let _ = writeln!(text, "              operator: DoesNotExist");
                }
            }
        }
    }
    text
}

/// Returns a string in double quotes, valid in JSON and YAML.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
