//! `NVIDIA_REQUIRE_*` as the csv mode of the container toolkit evaluates it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::cuda::host_values::HostValue;
use crate::cuda::host_values::Property;
use crate::cuda::host_values::RequirementHost;
use crate::cuda::image_requirements::Semver;
use crate::cuda::image_requirements::ToolkitVersion;
use crate::cuda::requirement::Operator;
use crate::cuda::requirement::Verdict;
use crate::cuda::requirement::is_operator;

/// One factor of a known property; without an operator it fails when it is reached.
#[derive(Clone, Debug)]
struct Condition<'a> {
    property: Property,
    operator: Option<Operator>,
    value: &'a str,
}

impl Condition<'_> {
    fn text(&self) -> String {
        format!("{}{}{}", self.property, self.operator.map_or("", Operator::as_str), self.value)
    }
}

/// Why a condition or a combination does not hold.
enum Failure {
    Unsatisfied(String),
    Error(String),
    Unknown(BTreeSet<Property>),
}

/// A factor taken apart: property, operator and value; nothing where it is blank or its property is not known.
pub fn go_condition(factor: &str, version: ToolkitVersion) -> Result<Option<(Property, &'static str, &str)>, String> {
    let condition = parse(factor, version)?;
    Ok(condition.map(|found| (found.property, found.operator.map_or("", Operator::as_str), found.value)))
}

fn parse(factor: &str, version: ToolkitVersion) -> Result<Option<Condition<'_>>, String> {
    if factor.trim().is_empty() {
        return Ok(None);
    }
    let Some(start) = factor.find(is_operator) else { return Err(format!("invalid constraint: {factor}")) };
    let (name, rest) = factor.split_at(start);
    let Some(property) = Property::ALL.into_iter().find(|property| property.as_str() == name) else {
        return Ok(None);
    };
    let longest_first = [
        Operator::NotEqual,
        Operator::LessEqual,
        Operator::GreaterEqual,
        Operator::Equal,
        Operator::Less,
        Operator::Greater,
    ];
    let operator = longest_first.into_iter().find(|operator| rest.starts_with(operator.as_str()));
    let value = &rest[operator.map_or(0, |operator| operator.as_str().len())..];
    if property != Property::Brand && Semver::read(value, version).is_none() {
        return Err(match version {
            ToolkitVersion::UpTo1_20_0 => format!("invailid value {value}; expected a valid version string"),
            ToolkitVersion::After1_20_0 => "invalid version string: invalid semantic version".to_owned(),
        });
    }
    Ok(Some(Condition { property, operator, value }))
}

/// Evaluates all variables together.
///
/// The csv runtime itself sees `cuda` and `arch` alone: pass [`HostValue::NotVisible`] for the others.
pub fn evaluate_all_go<'a>(
    requirements: impl IntoIterator<Item = &'a str>,
    host: &RequirementHost,
    version: ToolkitVersion,
) -> Verdict {
    let mut parsed = Vec::new();
    for requirement in requirements {
        let mut terms = Vec::new();
        for term in requirement.split(' ') {
            let mut factors = Vec::new();
            for factor in term.split(',') {
                match parse(factor, version) {
                    Ok(condition) => factors.extend(condition),
                    Err(message) => return Verdict::Malformed { message },
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
        match any_term(terms, host, version) {
            Ok(()) => {}
            Err(Failure::Unsatisfied(message)) => {
                return Verdict::Unsatisfied { first_term: first_term(terms), message };
            }
            Err(Failure::Error(message)) => return Verdict::Malformed { message },
            Err(Failure::Unknown(more)) => needs.extend(more),
        }
    }
    if needs.is_empty() { Verdict::Holds } else { Verdict::Undetermined { needs: needs.into_iter().collect() } }
}

fn first_term(terms: &[Vec<Condition<'_>>]) -> String {
    terms.first().map(|term| term_text(term)).unwrap_or_default()
}

fn term_text(term: &[Condition<'_>]) -> String {
    term.iter().map(Condition::text).collect::<Vec<_>>().join("&&")
}

fn any_term(terms: &[Vec<Condition<'_>>], host: &RequirementHost, version: ToolkitVersion) -> Result<(), Failure> {
    match terms {
        [] => return Ok(()),
        [only] => return all_factors(only, host, version),
        _ => {}
    }
    let mut needs = BTreeSet::new();
    for term in terms {
        match all_factors(term, host, version) {
            Ok(()) => return Ok(()),
            Err(Failure::Unknown(more)) => needs.extend(more),
            Err(_) => {}
        }
    }
    if needs.is_empty() {
        let texts: Vec<String> = terms.iter().map(|term| term_text(term)).collect();
        return Err(Failure::Unsatisfied(format!("{} not met", texts.join("||"))));
    }
    Err(Failure::Unknown(needs))
}

fn all_factors(term: &[Condition<'_>], host: &RequirementHost, version: ToolkitVersion) -> Result<(), Failure> {
    let mut needs = BTreeSet::new();
    for condition in term {
        match holds(condition, host, version) {
            Ok(()) => {}
            Err(Failure::Unknown(more)) => needs.extend(more),
            Err(failure) => return Err(failure),
        }
    }
    if needs.is_empty() { Ok(()) } else { Err(Failure::Unknown(needs)) }
}

fn holds(condition: &Condition<'_>, host: &RequirementHost, version: ToolkitVersion) -> Result<(), Failure> {
    let Condition { property, operator, value } = condition;
    let known = match host.get(*property) {
        HostValue::Known(known) => known.as_str(),
        HostValue::NotVisible => "",
        HostValue::Unknown => return Err(Failure::Unknown(BTreeSet::from([*property]))),
    };
    let ordering = if *property == Property::Brand {
        known.cmp(value)
    } else {
        match (Semver::read(known, version), Semver::read(value, version)) {
            (Some(known), Some(value)) => known.cmp(&value),
            (None, _) if version == ToolkitVersion::After1_20_0 => {
                return Err(Failure::Error(format!("invalid value for {property}: invalid semantic version")));
            }
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        }
    };
    let Some(operator) = operator else { return Err(Failure::Error("invalid operator ".to_owned())) };
    if operator.holds(ordering) {
        return Ok(());
    }
    Err(Failure::Unsatisfied(format!("unsatisfied condition: {} ({property}={known})", condition.text())))
}
