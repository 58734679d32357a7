//! Evaluates a checked condition; total, and three-valued.

use std::cell::RefCell;
use std::cmp::Ordering;

use crate::cuda::CudaVersion;
use crate::rules::expr::Fact;
use crate::rules::expr::Misfit;
use crate::rules::expr::Term;
use crate::rules::expr::Test;
use crate::rules::parser::Operator;
use crate::rules::pattern::Pattern;
use crate::rules::value::Lookup;
use crate::rules::value::Scope;
use crate::rules::value::Truth;
use crate::rules::value::Value;

/// Whom a condition is asked of, and what did not fit.
pub(super) struct Asked<'a> {
    pub(super) scope: &'a dyn Scope,
    pub(super) misfit: RefCell<Option<Misfit>>,
}

impl Test {
    /// Whether the part holds; `component` answers for the component in hand.
    pub(super) fn truth(&self, asked: &Asked<'_>, component: Option<&dyn Scope>) -> Truth {
        let value = |term: &Term| term.value(asked, component);
        match self {
            Self::Value(term) => match value(term) {
                Lookup::Known(Value::Bool(holds)) => holds.into(),
                Lookup::Absent => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Not(inner) => inner.truth(asked, component).negate(),
            Self::And(parts) => parts.iter().fold(Truth::True, |truth, part| truth.and(part.truth(asked, component))),
            Self::Or(parts) => parts.iter().fold(Truth::False, |truth, part| truth.or(part.truth(asked, component))),
            Self::Compare(operator, left, right) => {
                both(value(left), value(right), |left, right| compare(*operator, left, right))
            }
            Self::Same(left, right) => match (left.truth(asked, component), right.truth(asked, component)) {
                (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
                (left, right) => (left == right).into(),
            },
            Self::Settled(fact) => (fact.lookup(asked, component) != Lookup::Unknown).into(),
            Self::Present(fact) => match fact.lookup(asked, component) {
                Lookup::Known(_) => Truth::True,
                Lookup::Absent => Truth::False,
                Lookup::Unknown => Truth::Unknown,
            },
            Self::Matches(text, pattern) => match value(text) {
                Lookup::Known(Value::Text(text)) => pattern.is_in(&text).map_or(Truth::Unknown, Truth::from),
                Lookup::Absent => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Contains(list, item) => both(value(list), value(item), |list, item| match (list, item) {
                (Value::List(list), Value::Text(item)) => Some(list.contains(item)),
                (Value::Seen(list), Value::Text(item)) => list.contains(item).then_some(true),
                _ => None,
            }),
            Self::Any(list, pattern) => match value(list) {
                Lookup::Known(Value::List(list)) => any(&list, pattern),
                Lookup::Known(Value::Seen(list)) => any(&list, pattern).or(Truth::Unknown),
                Lookup::Absent => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Components { every, body } => {
                let components = asked.scope.components();
                let rest = if components.complete { Truth::from(*every) } else { Truth::Unknown };
                components.list.iter().fold(rest, |truth, component| {
                    let one = body.truth(asked, Some(component.as_ref()));
                    if *every { truth.and(one) } else { truth.or(one) }
                })
            }
        }
    }
}

impl Term {
    fn value(&self, asked: &Asked<'_>, component: Option<&dyn Scope>) -> Lookup {
        match self {
            Self::Constant(value) => Lookup::Known(value.clone()),
            Self::Fact(fact) => fact.lookup(asked, component),
            Self::Part(inner, index) => match inner.value(asked, component) {
                Lookup::Known(Value::Version(version)) => Lookup::Known(Value::Number(version.part(*index).into())),
                Lookup::Absent => Lookup::Absent,
                _ => Lookup::Unknown,
            },
            Self::Size(inner) => match inner.value(asked, component) {
                Lookup::Known(Value::List(list)) => {
                    i64::try_from(list.len()).map_or(Lookup::Unknown, |size| Lookup::Known(Value::Number(size)))
                }
                Lookup::Absent => Lookup::Known(Value::Number(0)),
                _ => Lookup::Unknown,
            },
            Self::Release(inner) => match inner.value(asked, component) {
                Lookup::Known(Value::Text(text)) => release(&text).map_or(Lookup::Unknown, Lookup::Known),
                Lookup::Absent => Lookup::Absent,
                _ => Lookup::Unknown,
            },
        }
    }
}

/// The numbers with dots that a version begins with: `2.1.0` of `2.1.0rc1` and of `2.1.0+cu121`.
fn release(text: &str) -> Option<Value> {
    let numbers = text.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.trim_end_matches('.');
    numbers.parse::<CudaVersion>().ok().map(|version| Value::Version(version.0))
}

impl Fact {
    fn lookup(&self, asked: &Asked<'_>, component: Option<&dyn Scope>) -> Lookup {
        let found = match component {
            Some(component) if self.of_component => component.value(&self.name),
            _ => asked.scope.value(&self.name),
        };
        match found {
            Lookup::Known(value) if value.kind() != self.kind => {
                let misfit = Misfit { fact: self.name.clone(), promised: self.kind, given: value.kind() };
                asked.misfit.borrow_mut().get_or_insert(misfit);
                Lookup::Unknown
            }
            found => found,
        }
    }
}

/// Whether any of the texts has the pattern.
fn any(list: &[String], pattern: &Pattern) -> Truth {
    let one = |text: &String| pattern.is_in(text).map_or(Truth::Unknown, Truth::from);
    list.iter().fold(Truth::False, |truth, text| truth.or(one(text)))
}

/// False where one is absent, unknown where one is unknown or of a type that the vocabulary does not promise.
fn both(left: Lookup, right: Lookup, holds: impl Fn(&Value, &Value) -> Option<bool>) -> Truth {
    match (left, right) {
        (Lookup::Absent, _) | (_, Lookup::Absent) => Truth::False,
        (Lookup::Known(left), Lookup::Known(right)) => holds(&left, &right).map_or(Truth::Unknown, Truth::from),
        _ => Truth::Unknown,
    }
}

fn compare(operator: Operator, left: &Value, right: &Value) -> Option<bool> {
    let order = match (left, right) {
        (Value::Version(left), Value::Version(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        _ => return None,
    };
    Some(match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Less => order == Ordering::Less,
        Operator::AtMost => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::AtLeast => order != Ordering::Less,
    })
}
