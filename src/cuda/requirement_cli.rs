//! Evaluates `NVIDIA_REQUIRE_*` as `nvidia-container-cli` does.

use std::cmp::Ordering;

use crate::cuda::host_values::{HostProperty, HostPropertySet, HostValue, RequirementHost};

/// The result of one requirement, with the message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementVerdict {
    /// The container may start.
    Holds,
    /// The container is refused.
    Unsatisfied {
        /// The first alternative of the requirement, whichever failed last.
        first_term: String,
        /// The condition that the message names, if it names a single one: `cuda>=12.4`.
        condition: Option<String>,
        /// What the user reads.
        message: String,
    },
    /// The container is refused since the requirement is not understood.
    Malformed {
        /// What the user reads.
        message: String,
    },
    /// The outcome depends on what we do not know of the host.
    Undetermined {
        /// What would decide it.
        needs: Vec<HostProperty>,
    },
}

/// The possible outcomes of one factor.
#[derive(Clone, Copy, Debug, Default)]
struct FactorOutcomes {
    yes: bool,
    no: bool,
    error: bool,
}

impl FactorOutcomes {
    /// The factor certainly holds.
    const YES: Self = Self { yes: true, no: false, error: false };
    /// The factor certainly fails.
    const NO: Self = Self { yes: false, no: true, error: false };
    /// The factor certainly causes an error.
    const ERROR: Self = Self { yes: false, no: false, error: true };
    /// The factor holds or fails, which is unknown.
    const HOLDS_OR_FAILS: Self = Self { yes: true, no: true, error: false };

    /// Returns the single outcome for a known result.
    const fn from_bool(holds: bool) -> Self {
        if holds { Self::YES } else { Self::NO }
    }
}

/// The length from which a factor that fails is an error instead.
const MAX_FACTOR_LENGTH: usize = 128;

/// The start of the message for an unsatisfied condition.
pub const UNSATISFIED_PREFIX: &str = "unsatisfied condition: ";
/// The end of that message if the first term requires a newer driver.
const UPDATE_HINT: &str = ", please update your driver to a newer version, or use an earlier cuda container";

/// The result of one requirement, without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequirementOutcome {
    /// The container may start.
    Holds,
    /// It is refused.
    Unsatisfied,
    /// It is refused since the requirement is not understood.
    Malformed,
    /// The outcome depends on these unknown properties.
    Undetermined(HostPropertySet),
}

impl From<&RequirementVerdict> for RequirementOutcome {
    fn from(verdict: &RequirementVerdict) -> Self {
        match verdict {
            RequirementVerdict::Holds => Self::Holds,
            RequirementVerdict::Unsatisfied { .. } => Self::Unsatisfied,
            RequirementVerdict::Malformed { .. } => Self::Malformed,
            RequirementVerdict::Undetermined { needs } => Self::Undetermined(needs.iter().copied().collect()),
        }
    }
}

/// The possible results at one point of the evaluation.
#[derive(Clone, Copy, Debug, Default)]
struct EvaluationStates {
    yes: bool,
    no: bool,
}

impl EvaluationStates {
    /// Whether any result is possible.
    const fn is_reachable(self) -> bool {
        self.yes || self.no
    }

    /// Returns the results that are possible in either.
    const fn union(self, other: Self) -> Self {
        Self { yes: self.yes || other.yes, no: self.no || other.no }
    }
}

/// Returns the outcome of one requirement as `nvidia-container-cli` evaluates it.
pub fn cli_requirement_outcome(requirement: &str, host: &RequirementHost) -> RequirementOutcome {
    let mut needs = HostPropertySet::default();
    // The results so far with which a term may be entered, and those that the whole may have.
    let mut live = EvaluationStates { yes: true, no: false };
    let mut ends = EvaluationStates::default();
    let mut error = false;
    for term in requirement.split(' ').filter(|term| !term.is_empty()) {
        if !live.is_reachable() {
            break;
        }
        let mut failed = false;
        let mut passing = live;
        for factor in term.split(',').filter(|factor| !factor.is_empty()) {
            let outcome = factor_outcomes(factor, host, &mut needs);
            error |= outcome.error;
            failed |= outcome.no;
            passing = EvaluationStates { yes: outcome.yes, no: false };
            if !outcome.yes {
                break;
            }
        }
        // A term read to its end closes the evaluation, even one without a factor.
        ends = ends.union(passing);
        live = EvaluationStates { yes: false, no: failed };
    }
    ends = ends.union(live);
    match (ends.yes, ends.no, error) {
        (_, false, false) => RequirementOutcome::Holds,
        (false, true, false) => RequirementOutcome::Unsatisfied,
        (false, false, true) => RequirementOutcome::Malformed,
        _ => RequirementOutcome::Undetermined(needs),
    }
}

/// Evaluates one requirement as `nvidia-container-cli` does, with its messages.
pub fn evaluate_cli_requirement(requirement: &str, host: &RequirementHost) -> RequirementVerdict {
    match cli_requirement_outcome(requirement, host) {
        RequirementOutcome::Holds => RequirementVerdict::Holds,
        RequirementOutcome::Unsatisfied => {
            let first_term = requirement.split(' ').next().unwrap_or_default().to_owned();
            let hint = if first_term.starts_with("cuda>=") { UPDATE_HINT } else { "" };
            let message = format!("{UNSATISFIED_PREFIX}{first_term}{hint}");
            let condition = first_condition(&first_term);
            RequirementVerdict::Unsatisfied { first_term, condition, message }
        }
        RequirementOutcome::Malformed => RequirementVerdict::Malformed { message: "invalid expression".to_owned() },
        RequirementOutcome::Undetermined(needs) => RequirementVerdict::Undetermined { needs: needs.to_vec() },
    }
}

/// Returns the first condition of an alternative.
pub(crate) fn first_condition(term: &str) -> Option<String> {
    term.split(',').next().filter(|condition| !condition.is_empty()).map(str::to_owned)
}

/// Returns the condition that failed last, as older versions of `nvidia-container-cli` print it. `None` if the
/// requirement holds or cannot be parsed.
pub fn last_failed_condition(requirement: &str, host: &RequirementHost) -> Option<String> {
    let (mut needs, mut last) = (HostPropertySet::default(), None);
    for term in requirement.split(' ').filter(|term| !term.is_empty()) {
        let mut factors = term.split(',').filter(|factor| !factor.is_empty());
        last = Some(factors.find(|factor| !factor_outcomes(factor, host, &mut needs).yes)?);
    }
    let factor = last?;
    let (name, rest) = factor.split_at(factor.find(is_operator_char)?);
    let value = rest.trim_start_matches(is_operator_char);
    let operator = RequirementOperator::parse(rest.strip_suffix(value)?)?.as_str();
    Some(format!("{name} {operator} {value}"))
}

/// Evaluates all requirements: the first one that refuses the container decides.
pub fn evaluate_cli_requirements<'a>(
    requirements: impl IntoIterator<Item = &'a str>,
    host: &RequirementHost,
) -> RequirementVerdict {
    let mut needs = HostPropertySet::default();
    for requirement in requirements {
        match evaluate_cli_requirement(requirement, host) {
            RequirementVerdict::Holds => {}
            RequirementVerdict::Undetermined { needs: more } => needs = needs.union(more.into_iter().collect()),
            refused => return refused,
        }
    }
    if needs == HostPropertySet::default() {
        RequirementVerdict::Holds
    } else {
        RequirementVerdict::Undetermined { needs: needs.to_vec() }
    }
}

/// The comparison operators of requirements, shared by both evaluators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequirementOperator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl RequirementOperator {
    /// Returns the operator as written.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }

    /// Whether the operator accepts an ordering.
    pub(crate) const fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterEqual => ordering.is_ge(),
        }
    }

    /// Parses a complete run of operator characters; a single `!` counts as `!=`.
    fn parse(run: &str) -> Option<Self> {
        Some(match run {
            "=" => Self::Equal,
            "!" | "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            _ => return None,
        })
    }
}

/// Whether a character is part of an operator.
pub(crate) fn is_operator_char(character: char) -> bool {
    matches!(character, '<' | '>' | '=' | '!')
}

/// Returns the possible outcomes of one factor, and adds the unknown properties on which they depend.
fn factor_outcomes(factor: &str, host: &RequirementHost, needs: &mut HostPropertySet) -> FactorOutcomes {
    let Some(start) = factor.find(is_operator_char) else { return FactorOutcomes::ERROR };
    let (name, rest) = factor.split_at(start);
    let value = rest.trim_start_matches(is_operator_char);
    let run = &rest[..rest.len() - value.len()];
    let property = HostProperty::ALL.into_iter().find(|property| property.as_str().eq_ignore_ascii_case(name));
    let (Some(operator), Some(property), false) = (RequirementOperator::parse(run), property, value.is_empty()) else {
        return FactorOutcomes::ERROR;
    };
    let outcome = match host.get(property) {
        HostValue::NotVisible => FactorOutcomes::YES,
        HostValue::Known(known) => {
            compare_property(property, known, operator, value).map_or(FactorOutcomes::ERROR, FactorOutcomes::from_bool)
        }
        HostValue::Unknown => {
            needs.insert(property);
            outcomes_for_unknown_value(property, operator, value)
        }
    };
    let length = name.len() + operator.as_str().len() + value.len() + 2;
    if outcome.no && length >= MAX_FACTOR_LENGTH {
        FactorOutcomes { no: false, error: true, ..outcome }
    } else {
        outcome
    }
}

/// Returns the possible outcomes of a factor if the value of the host is unknown.
fn outcomes_for_unknown_value(property: HostProperty, operator: RequirementOperator, value: &str) -> FactorOutcomes {
    let ordering = !matches!(operator, RequirementOperator::Equal | RequirementOperator::NotEqual);
    // The check skips even a malformed value where it sees none of the host.
    let malformed = match property {
        HostProperty::Brand => ordering,
        _ => compare_versions("1", operator, value).is_none(),
    };
    if malformed { FactorOutcomes { yes: true, no: false, error: true } } else { FactorOutcomes::HOLDS_OR_FAILS }
}

/// Compares a host value with a required value; `None` if the comparison is invalid.
fn compare_property(property: HostProperty, known: &str, operator: RequirementOperator, value: &str) -> Option<bool> {
    match (property, operator) {
        (HostProperty::Brand, RequirementOperator::Equal) => Some(known.eq_ignore_ascii_case(value)),
        (HostProperty::Brand, RequirementOperator::NotEqual) => Some(!known.eq_ignore_ascii_case(value)),
        (HostProperty::Brand, _) => None,
        _ => compare_versions(known, operator, value),
    }
}

/// Compares versions number by number; `None` if a text is not a version or a number is too large.
fn compare_versions(left: &str, operator: RequirementOperator, right: &str) -> Option<bool> {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !plain(left) || !plain(right) {
        return None;
    }
    let (mut left, mut right) = (left, right);
    while !left.is_empty() && !right.is_empty() {
        let (a, after_a) = leading_number(left)?;
        let (b, after_b) = leading_number(right)?;
        if a != b {
            return Some(operator.holds(a.cmp(&b)));
        }
        (left, right) = (after_a.trim_start_matches('.'), after_b.trim_start_matches('.'));
    }
    let more = |text: &str| !text.trim_start_matches(['.', '0']).is_empty();
    Some(operator.holds(more(left).cmp(&more(right))))
}

/// Splits the number at the start of a text from the rest; `None` if it is too large.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let number = digits.parse().ok().filter(|number| *number != u64::MAX)?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(cuda: HostValue, driver: HostValue, brand: HostValue) -> RequirementHost {
        RequirementHost { cuda, driver, arch: HostValue::Unknown, brand }
    }

    #[test]
    fn unknown_term_matters_only_if_it_changes_the_outcome() {
        let known = |text: &str| HostValue::Known(text.to_owned());
        let requirement = "cuda>=12.4 brand=tesla,driver>=535,driver<536";
        for (host, expected) in [
            (host(known("12.8"), HostValue::Unknown, HostValue::Unknown), "holds"),
            (host(known("12.2"), known("545.1"), HostValue::Unknown), "refused"),
            (host(known("12.2"), known("535.1"), HostValue::Unknown), "needs brand"),
            (host(HostValue::Unknown, known("535.1"), known("Tesla")), "holds"),
            (host(HostValue::Unknown, known("535.1"), known("GeForce")), "needs cuda"),
            (host(known("12.2"), known("535.1"), HostValue::NotVisible), "holds"),
        ] {
            let found = match evaluate_cli_requirement(requirement, &host) {
                RequirementVerdict::Holds => "holds".to_owned(),
                RequirementVerdict::Unsatisfied { .. } => "refused".to_owned(),
                RequirementVerdict::Malformed { message } => message,
                RequirementVerdict::Undetermined { needs } => {
                    format!("needs {}", needs.iter().map(|need| need.as_str()).collect::<Vec<_>>().join(","))
                }
            };
            assert_eq!(found, expected, "{host:?}");
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_malformed() {
        let host = host(HostValue::from_visible(Some("12.4")), HostValue::NotVisible, HostValue::NotVisible);
        assert!(matches!(
            evaluate_cli_requirement("cuda>=99999999999999999999", &host),
            RequirementVerdict::Malformed { .. }
        ));
    }
}
