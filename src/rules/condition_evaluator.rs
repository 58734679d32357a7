//! Evaluates a checked condition in three-valued logic; evaluation always terminates.

use std::cell::RefCell;
use std::cmp::Ordering;

use crate::cuda::CudaVersion;
use crate::rules::condition::{BooleanExpression, FactReference, FactTypeMismatch, ValueExpression};
use crate::rules::condition_parser::ComparisonOperator;
use crate::rules::pattern::ConditionPattern;
use crate::rules::value::{FactLookup, FactScope, FactValue, Truth};

/// The scope that a condition is evaluated in, and the first fact with a wrong type.
pub(super) struct EvaluationContext<'a> {
    pub(super) scope: &'a dyn FactScope,
    pub(super) misfit: RefCell<Option<FactTypeMismatch>>,
}

impl BooleanExpression {
    /// Evaluates the expression; `component` is the scope of the enclosing `components.exists` or `components.all`.
    pub(super) fn evaluate(&self, asked: &EvaluationContext<'_>, component: Option<&dyn FactScope>) -> Truth {
        let value = |term: &ValueExpression| term.evaluate(asked, component);
        match self {
            Self::Value(term) => match value(term) {
                FactLookup::Known(FactValue::Bool(holds)) => holds.into(),
                FactLookup::Absent => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Not(inner) => inner.evaluate(asked, component).negate(),
            Self::And(parts) => {
                parts.iter().fold(Truth::True, |truth, part| truth.and(part.evaluate(asked, component)))
            }
            Self::Or(parts) => parts.iter().fold(Truth::False, |truth, part| truth.or(part.evaluate(asked, component))),
            Self::Compare(operator, left, right) => {
                combine_known(value(left), value(right), |left, right| compare_values(*operator, left, right))
            }
            Self::Same(left, right) => match (left.evaluate(asked, component), right.evaluate(asked, component)) {
                (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
                (left, right) => (left == right).into(),
            },
            Self::Settled(fact) => (fact.look_up(asked, component) != FactLookup::Unknown).into(),
            Self::Present(fact) => match fact.look_up(asked, component) {
                FactLookup::Known(_) => Truth::True,
                FactLookup::Absent => Truth::False,
                FactLookup::Unknown => Truth::Unknown,
            },
            Self::Matches(text, pattern) => match value(text) {
                FactLookup::Known(FactValue::Text(text)) => pattern.matches(&text).map_or(Truth::Unknown, Truth::from),
                FactLookup::Absent => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Contains(list, item) => combine_known(value(list), value(item), |list, item| match (list, item) {
                (FactValue::List(list), FactValue::Text(item)) => Some(list.contains(item)),
                (FactValue::Seen(list), FactValue::Text(item)) => list.contains(item).then_some(true),
                _ => None,
            }),
            Self::Any(list, pattern) => match value(list) {
                FactLookup::Known(FactValue::List(list)) => any_matches(&list, pattern),
                FactLookup::Known(FactValue::Seen(list)) => any_matches(&list, pattern).or(Truth::Unknown),
                FactLookup::Absent => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Components { every, body } => {
                let components = asked.scope.components();
                let rest = if components.complete { Truth::from(*every) } else { Truth::Unknown };
                components.list.iter().fold(rest, |truth, component| {
                    let one = body.evaluate(asked, Some(component.as_ref()));
                    if *every { truth.and(one) } else { truth.or(one) }
                })
            }
        }
    }
}

impl ValueExpression {
    /// Evaluates the expression to a value.
    fn evaluate(&self, asked: &EvaluationContext<'_>, component: Option<&dyn FactScope>) -> FactLookup {
        match self {
            Self::Constant(value) => FactLookup::Known(value.clone()),
            Self::Fact(fact) => fact.look_up(asked, component),
            Self::Part(inner, index) => match inner.evaluate(asked, component) {
                FactLookup::Known(FactValue::Version(version)) => {
                    FactLookup::Known(FactValue::Number(version.part(*index).into()))
                }
                FactLookup::Absent => FactLookup::Absent,
                _ => FactLookup::Unknown,
            },
            Self::Size(inner) => match inner.evaluate(asked, component) {
                FactLookup::Known(FactValue::List(list)) => i64::try_from(list.len())
                    .map_or(FactLookup::Unknown, |size| FactLookup::Known(FactValue::Number(size))),
                FactLookup::Absent => FactLookup::Known(FactValue::Number(0)),
                _ => FactLookup::Unknown,
            },
            Self::Release(inner) => match inner.evaluate(asked, component) {
                FactLookup::Known(FactValue::Text(text)) => {
                    release_version(&text).map_or(FactLookup::Unknown, FactLookup::Known)
                }
                FactLookup::Absent => FactLookup::Absent,
                _ => FactLookup::Unknown,
            },
        }
    }
}

/// Returns the dotted numbers that a version starts with: `2.1.0` for `2.1.0rc1` and `2.1.0+cu121`.
fn release_version(text: &str) -> Option<FactValue> {
    let numbers = text.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.trim_end_matches('.');
    numbers.parse::<CudaVersion>().ok().map(|version| FactValue::Version(version.0))
}

impl FactReference {
    /// Looks the fact up in the scope; a value of the wrong type counts as unknown and is recorded.
    fn look_up(&self, asked: &EvaluationContext<'_>, component: Option<&dyn FactScope>) -> FactLookup {
        let found = match component {
            Some(component) if self.of_component => component.value(&self.name),
            _ => asked.scope.value(&self.name),
        };
        match found {
            FactLookup::Known(value) if value.value_type() != self.kind => {
                let misfit =
                    FactTypeMismatch { fact: self.name.clone(), promised: self.kind, given: value.value_type() };
                asked.misfit.borrow_mut().get_or_insert(misfit);
                FactLookup::Unknown
            }
            found => found,
        }
    }
}

/// Whether the pattern matches any of the texts.
fn any_matches(list: &[String], pattern: &ConditionPattern) -> Truth {
    let one = |text: &String| pattern.matches(text).map_or(Truth::Unknown, Truth::from);
    list.iter().fold(Truth::False, |truth, text| truth.or(one(text)))
}

/// Applies `holds` to two known values; false if one is absent, else unknown.
fn combine_known(left: FactLookup, right: FactLookup, holds: impl Fn(&FactValue, &FactValue) -> Option<bool>) -> Truth {
    match (left, right) {
        (FactLookup::Absent, _) | (_, FactLookup::Absent) => Truth::False,
        (FactLookup::Known(left), FactLookup::Known(right)) => holds(&left, &right).map_or(Truth::Unknown, Truth::from),
        _ => Truth::Unknown,
    }
}

/// Compares two values of the same type; `None` for other values.
fn compare_values(operator: ComparisonOperator, left: &FactValue, right: &FactValue) -> Option<bool> {
    let order = match (left, right) {
        (FactValue::Version(left), FactValue::Version(right)) => left.cmp(right),
        (FactValue::Number(left), FactValue::Number(right)) => left.cmp(right),
        (FactValue::Date(left), FactValue::Date(right)) => left.cmp(right),
        (FactValue::Text(left), FactValue::Text(right)) => left.cmp(right),
        (FactValue::Bool(left), FactValue::Bool(right)) => left.cmp(right),
        _ => return None,
    };
    Some(match operator {
        ComparisonOperator::Equal => order == Ordering::Equal,
        ComparisonOperator::NotEqual => order != Ordering::Equal,
        ComparisonOperator::Less => order == Ordering::Less,
        ComparisonOperator::AtMost => order != Ordering::Greater,
        ComparisonOperator::Greater => order == Ordering::Greater,
        ComparisonOperator::AtLeast => order != Ordering::Less,
    })
}
