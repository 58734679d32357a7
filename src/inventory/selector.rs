//! Labels that tell some nodes from all others, as Kubernetes writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cluster::Demand;
use crate::cluster::Holds;
use crate::inventory::labels::TELLING;

/// The labels of a node.
pub type Labels = BTreeMap<String, String>;

/// One term: all of its demands are met.
pub type Term = Vec<Demand>;

/// Labels that every node has, with or without a GPU: what is told by them alone is met by all.
const COMMON: &[&str] = &["kubernetes.io/arch", "kubernetes.io/os"];

/// Terms of which a wanted node meets one, and no other node meets any; by the labels that are known to tell what a node
/// is, and by some of a user's `own`.
///
/// # Errors
/// The place of a wanted node and of another one that no label tells apart; of the wanted one alone where it has no label
/// that says what it is.
pub fn choose(own: &[&str], wanted: &[&Labels], others: &[&Labels]) -> Result<Vec<Term>, (usize, Option<usize>)> {
    let known = TELLING.iter().copied();
    let keys: Vec<&str> = known.chain(own.iter().copied().filter(|key| !TELLING.contains(key))).collect();
    // Nodes differ in their names and little else.
    let alike = |list: &[&Labels]| {
        let mut places: BTreeMap<Labels, usize> = BTreeMap::new();
        for (at, labels) in list.iter().enumerate() {
            let told = keys.iter().filter_map(|key| Some(((*key).to_owned(), labels.get(*key)?.clone())));
            places.entry(told.collect()).or_insert(at);
        }
        places
    };
    let (wanted, others) = (alike(wanted), alike(others));
    let (left_out, places): (Vec<&Labels>, Vec<usize>) = others.iter().unzip();
    let mut terms: Vec<Term> = Vec::new();
    for (labels, at) in &wanted {
        let place = |other: Option<usize>| (*at, other.and_then(|other| places.get(other).copied()));
        let term = term(&keys, labels, &left_out).map_err(place)?;
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    join(&mut terms);
    Ok(terms)
}

/// The term of one node: the first label that says what it is, and as many more as there is need for.
fn term(keys: &[&str], labels: &Labels, others: &[&Labels]) -> Result<Term, Option<usize>> {
    let demand = |key: &&str| Demand {
        key: (*key).to_owned(),
        holds: labels.get(*key).map_or(Holds::DoesNotExist, |value| Holds::In(vec![value.clone()])),
    };
    let mut open: Vec<Demand> = keys.iter().map(demand).collect();
    // Some label has to be there: what is told by absence alone is met by every new node.
    let tells = |demand: &Demand| demand.holds != Holds::DoesNotExist && !COMMON.contains(&demand.key.as_str());
    let anchor = open.iter().position(tells).ok_or(None)?;
    let mut term = vec![open.remove(anchor)];
    let mut left: Vec<usize> = (0..others.len()).collect();
    let meets = |at: &usize, demand: &Demand| others.get(*at).is_some_and(|labels| is_met(demand, labels));
    left.retain(|at| term.iter().all(|demand| meets(at, demand)));
    while let Some(first) = left.first().copied() {
        let leaves = |demand: &Demand| left.iter().filter(|at| meets(at, demand)).count();
        let best = open.iter().enumerate().min_by_key(|(_, demand)| leaves(demand)).map(|(at, _)| at);
        let Some(demand) = best.map(|at| open.remove(at)).filter(|demand| leaves(demand) < left.len()) else {
            return Err(Some(first));
        };
        left.retain(|at| meets(at, &demand));
        term.push(demand);
    }
    term.sort();
    Ok(term)
}

/// Whether a node meets a demand, exactly as the scheduler sees it; of what is never asked here, no.
fn is_met(demand: &Demand, labels: &Labels) -> bool {
    let value = labels.get(&demand.key);
    match &demand.holds {
        Holds::In(values) => value.is_some_and(|value| values.contains(value)),
        Holds::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
        Holds::Exists => value.is_some(),
        Holds::DoesNotExist => value.is_none(),
        Holds::Above(_) | Holds::Below(_) | Holds::Untold => false,
    }
}

/// Makes one term of two that differ in the values of one label alone: it is met where either is, and nowhere else.
fn join(terms: &mut Vec<Term>) {
    let mut at = 0;
    while at < terms.len() {
        let joined = terms.iter().enumerate().skip(at + 1).find_map(|(other, later)| {
            let first = terms.get(at)?;
            Some((other, both(first, later)?))
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

fn both(one: &Term, other: &Term) -> Option<Term> {
    if one.len() != other.len() || one.iter().zip(other).any(|(one, other)| one.key != other.key) {
        return None;
    }
    let mut apart = one.iter().zip(other).enumerate().filter(|(_, (one, other))| one.holds != other.holds);
    let (at, (first, second)) = apart.next()?;
    if apart.next().is_some() {
        return None;
    }
    let (Holds::In(values), Holds::In(more)) = (&first.holds, &second.holds) else { return None };
    let mut values: Vec<String> = values.iter().chain(more).cloned().collect();
    values.sort();
    values.dedup();
    let mut term = one.clone();
    *term.get_mut(at)? = Demand { key: first.key.clone(), holds: Holds::In(values) };
    Some(term)
}

/// The terms as a pod's `affinity`.
pub fn to_yaml(terms: &[Term]) -> String {
    let mut text = String::from(
        "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n",
    );
    for term in terms {
        text.push_str("        - matchExpressions:\n");
        for demand in term {
            let _ = writeln!(text, "            - key: {}", quoted(&demand.key));
            match &demand.holds {
                Holds::In(values) => {
                    let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
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

/// A string in double quotes, as JSON and YAML have it alike.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
