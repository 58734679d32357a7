//! Evaluates `NVIDIA_REQUIRE_*` as the csv mode of the container toolkit does.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::cuda::host_values::{HostProperty, HostValue, RequirementHost};
use crate::cuda::image_requirements::{ContainerToolkitRelease, Semver};
use crate::cuda::requirement_cli::{RequirementOperator, RequirementVerdict, is_operator_char};

/// One condition on a known property; it fails if it has no operator.
#[derive(Clone, Debug)]
struct RequirementCondition<'a> {
    property: HostProperty,
    operator: Option<RequirementOperator>,
    value: &'a str,
}

impl RequirementCondition<'_> {
    /// Returns the condition as text.
    fn text(&self) -> String {
        format!("{}{}{}", self.property, self.operator.map_or("", RequirementOperator::as_str), self.value)
    }
}

/// The reason why a condition or a combination of conditions does not hold.
enum ConditionFailure {
    Unsatisfied { condition: Option<String>, message: String },
    Error(String),
    Unknown(BTreeSet<HostProperty>),
}

/// Splits a factor into property, operator and value; `None` if it is blank or its property is unknown.
pub fn toolkit_condition(
    factor: &str,
    version: ContainerToolkitRelease,
) -> Result<Option<(HostProperty, &'static str, &str)>, String> {
    let condition = parse_condition(factor, version)?;
    Ok(condition.map(|found| (found.property, found.operator.map_or("", RequirementOperator::as_str), found.value)))
}

/// Parses one factor; `None` if it is blank or its property is unknown.
fn parse_condition(factor: &str, version: ContainerToolkitRelease) -> Result<Option<RequirementCondition<'_>>, String> {
    if factor.trim().is_empty() {
        return Ok(None);
    }
    let Some(start) = factor.find(is_operator_char) else { return Err(format!("invalid constraint: {factor}")) };
    let (name, rest) = factor.split_at(start);
    let Some(property) = HostProperty::ALL.into_iter().find(|property| property.as_str() == name) else {
        return Ok(None);
    };
    let longest_first = [
        RequirementOperator::NotEqual,
        RequirementOperator::LessEqual,
        RequirementOperator::GreaterEqual,
        RequirementOperator::Equal,
        RequirementOperator::Less,
        RequirementOperator::Greater,
    ];
    let operator = longest_first.into_iter().find(|operator| rest.starts_with(operator.as_str()));
    let value = &rest[operator.map_or(0, |operator| operator.as_str().len())..];
    if property != HostProperty::Brand && Semver::parse(value, version).is_none() {
        return Err(match version {
            ContainerToolkitRelease::UpTo1_20_0 => format!("invailid value {value}; expected a valid version string"),
            ContainerToolkitRelease::After1_20_0 => "invalid version string: invalid semantic version".to_owned(),
        });
    }
    Ok(Some(RequirementCondition { property, operator, value }))
}

/// Evaluates all requirements together.
///
/// The csv runtime itself sees `cuda` and `arch` alone: pass [`HostValue::NotVisible`] for the others.
pub fn evaluate_toolkit_requirements<'a>(
    requirements: impl IntoIterator<Item = &'a str>,
    host: &RequirementHost,
    version: ContainerToolkitRelease,
) -> RequirementVerdict {
    let mut parsed = Vec::new();
    for requirement in requirements {
        let mut terms = Vec::new();
        for term in requirement.split(' ') {
            let mut factors = Vec::new();
            for factor in term.split(',') {
                match parse_condition(factor, version) {
                    Ok(condition) => factors.extend(condition),
                    Err(message) => return RequirementVerdict::Malformed { message },
                }
            }
            if !factors.is_empty() {
                terms.push(factors);
            }
        }
        parsed.push(terms);
    }
    let mut needs = BTreeSet::new();
    for terms in &parsed {
        match check_any_term(terms, host, version) {
            Ok(()) => {}
            Err(ConditionFailure::Unsatisfied { condition, message }) => {
                return RequirementVerdict::Unsatisfied { first_term: first_term_text(terms), condition, message };
            }
            Err(ConditionFailure::Error(message)) => return RequirementVerdict::Malformed { message },
            Err(ConditionFailure::Unknown(more)) => needs.extend(more),
        }
    }
    if needs.is_empty() {
        RequirementVerdict::Holds
    } else {
        RequirementVerdict::Undetermined { needs: needs.into_iter().collect() }
    }
}

/// Returns the first alternative as text.
fn first_term_text(terms: &[Vec<RequirementCondition<'_>>]) -> String {
    terms.first().map(|term| term_text(term)).unwrap_or_default()
}

/// Returns the conditions of one alternative as text.
fn term_text(term: &[RequirementCondition<'_>]) -> String {
    term.iter().map(RequirementCondition::text).collect::<Vec<_>>().join("&&")
}

/// Checks whether one of the alternatives holds.
fn check_any_term(
    terms: &[Vec<RequirementCondition<'_>>],
    host: &RequirementHost,
    version: ContainerToolkitRelease,
) -> Result<(), ConditionFailure> {
    match terms {
        [] => return Ok(()),
        [only] => return check_all_conditions(only, host, version),
        _ => {}
    }
    let mut needs = BTreeSet::new();
    for term in terms {
        match check_all_conditions(term, host, version) {
            Ok(()) => return Ok(()),
            Err(ConditionFailure::Unknown(more)) => needs.extend(more),
            Err(_) => {}
        }
    }
    if needs.is_empty() {
        let texts: Vec<String> = terms.iter().map(|term| term_text(term)).collect();
        let message = format!("{} not met", texts.join("||"));
        return Err(ConditionFailure::Unsatisfied { condition: None, message });
    }
    Err(ConditionFailure::Unknown(needs))
}

/// Checks whether all conditions of an alternative hold.
fn check_all_conditions(
    term: &[RequirementCondition<'_>],
    host: &RequirementHost,
    version: ContainerToolkitRelease,
) -> Result<(), ConditionFailure> {
    let mut needs = BTreeSet::new();
    for condition in term {
        match check_condition(condition, host, version) {
            Ok(()) => {}
            Err(ConditionFailure::Unknown(more)) => needs.extend(more),
            Err(failure) => return Err(failure),
        }
    }
    if needs.is_empty() { Ok(()) } else { Err(ConditionFailure::Unknown(needs)) }
}

/// Checks whether one condition holds.
fn check_condition(
    condition: &RequirementCondition<'_>,
    host: &RequirementHost,
    version: ContainerToolkitRelease,
) -> Result<(), ConditionFailure> {
    let RequirementCondition { property, operator, value } = condition;
    let known = match host.get(*property) {
        HostValue::Known(known) => known.as_str(),
        HostValue::NotVisible => "",
        HostValue::Unknown => return Err(ConditionFailure::Unknown(BTreeSet::from([*property]))),
    };
    let ordering = if *property == HostProperty::Brand {
        known.cmp(value)
    } else {
        match (Semver::parse(known, version), Semver::parse(value, version)) {
            (Some(known), Some(value)) => known.cmp(&value),
            (None, _) if version == ContainerToolkitRelease::After1_20_0 => {
                return Err(ConditionFailure::Error(format!("invalid value for {property}: invalid semantic version")));
            }
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        }
    };
    let Some(operator) = operator else { return Err(ConditionFailure::Error("invalid operator ".to_owned())) };
    if operator.holds(ordering) {
        return Ok(());
    }
    let condition = condition.text();
    let message = format!("unsatisfied condition: {condition} ({property}={known})");
    Err(ConditionFailure::Unsatisfied { condition: Some(condition), message })
}
