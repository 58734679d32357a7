//! `NVIDIA_REQUIRE_*` as the legacy start-up check evaluates it.

use std::cmp::Ordering;

use crate::cuda::host_values::HostValue;
use crate::cuda::host_values::Needs;
use crate::cuda::host_values::Property;
use crate::cuda::host_values::RequirementHost;

/// Outcome of one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The container may start.
    Holds,
    /// The container is refused.
    Unsatisfied {
        /// Legacy: the first alternative, whichever failed last. csv: the whole complaint.
        first_term: String,
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
        needs: Vec<Property>,
    },
}

/// Outcomes that a factor may have.
#[derive(Clone, Copy, Debug, Default)]
struct Possible {
    yes: bool,
    no: bool,
    error: bool,
}

impl Possible {
    const YES: Self = Self { yes: true, no: false, error: false };
    const NO: Self = Self { yes: false, no: true, error: false };
    const ERROR: Self = Self { yes: false, no: false, error: true };
    const EITHER: Self = Self { yes: true, no: true, error: false };

    const fn of(holds: bool) -> Self {
        if holds { Self::YES } else { Self::NO }
    }
}

/// A factor of which the text of the failing form reaches this length is an error instead.
const LONGEST_FACTOR: usize = 128;

/// What the user reads before a condition.
pub const UNSATISFIED: &str = "unsatisfied condition: ";
const HINT: &str = ", please update your driver to a newer version, or use an earlier cuda container";

/// Outcome of one requirement, without a word about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The container may start.
    Holds,
    /// It is refused.
    Unsatisfied,
    /// It is refused since the requirement is not understood.
    Malformed,
    /// The outcome depends on these.
    Undetermined(Needs),
}

impl From<&Verdict> for Outcome {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Unsatisfied { .. } => Self::Unsatisfied,
            Verdict::Malformed { .. } => Self::Malformed,
            Verdict::Undetermined { needs } => Self::Undetermined(needs.iter().copied().collect()),
        }
    }
}

/// Results that the evaluation may have so far.
#[derive(Clone, Copy, Debug, Default)]
struct Results {
    yes: bool,
    no: bool,
}

impl Results {
    const fn any(self) -> bool {
        self.yes || self.no
    }

    const fn or(self, other: Self) -> Self {
        Self { yes: self.yes || other.yes, no: self.no || other.no }
    }
}

/// The outcome of one variable as `nvidia-container-cli` evaluates it.
pub fn outcome_c(requirement: &str, host: &RequirementHost) -> Outcome {
    let mut needs = Needs::default();
    // The results so far with which a term may be entered, and those that the whole may have.
    let mut live = Results { yes: true, no: false };
    let mut ends = Results::default();
    let mut error = false;
    for term in requirement.split(' ').filter(|term| !term.is_empty()) {
        if !live.any() {
            break;
        }
        let mut failed = false;
        let mut passing = live;
        for factor in term.split(',').filter(|factor| !factor.is_empty()) {
            let outcome = factor_outcome(factor, host, &mut needs);
            error |= outcome.error;
            failed |= outcome.no;
            passing = Results { yes: outcome.yes, no: false };
            if !outcome.yes {
                break;
            }
        }
        // A term read to its end closes the evaluation, even one without a factor.
        ends = ends.or(passing);
        live = Results { yes: false, no: failed };
    }
    ends = ends.or(live);
    match (ends.yes, ends.no, error) {
        (_, false, false) => Outcome::Holds,
        (false, true, false) => Outcome::Unsatisfied,
        (false, false, true) => Outcome::Malformed,
        _ => Outcome::Undetermined(needs),
    }
}

/// Evaluates one variable as `nvidia-container-cli` does, with the words that it finds.
pub fn evaluate_c(requirement: &str, host: &RequirementHost) -> Verdict {
    match outcome_c(requirement, host) {
        Outcome::Holds => Verdict::Holds,
        Outcome::Unsatisfied => {
            let first_term = requirement.split(' ').next().unwrap_or_default().to_owned();
            let hint = if first_term.starts_with("cuda>=") { HINT } else { "" };
            let message = format!("{UNSATISFIED}{first_term}{hint}");
            Verdict::Unsatisfied { first_term, message }
        }
        Outcome::Malformed => Verdict::Malformed { message: "invalid expression".to_owned() },
        Outcome::Undetermined(needs) => Verdict::Undetermined { needs: needs.list() },
    }
}

/// The condition that failed last, as `nvidia-container-cli` once told it: with blanks around the operator. None where
/// the requirement holds, or cannot be read.
pub fn last_condition(requirement: &str, host: &RequirementHost) -> Option<String> {
    let (mut needs, mut last) = (Needs::default(), None);
    for term in requirement.split(' ').filter(|term| !term.is_empty()) {
        let mut factors = term.split(',').filter(|factor| !factor.is_empty());
        last = Some(factors.find(|factor| !factor_outcome(factor, host, &mut needs).yes)?);
    }
    let factor = last?;
    let (name, rest) = factor.split_at(factor.find(is_operator)?);
    let value = rest.trim_start_matches(is_operator);
    let operator = Operator::of_run(rest.strip_suffix(value)?)?.as_str();
    Some(format!("{name} {operator} {value}"))
}

/// Evaluates all variables together: the first that refuses the container decides.
pub fn evaluate_all_c<'a>(requirements: impl IntoIterator<Item = &'a str>, host: &RequirementHost) -> Verdict {
    let mut needs = Needs::default();
    for requirement in requirements {
        match evaluate_c(requirement, host) {
            Verdict::Holds => {}
            Verdict::Undetermined { needs: more } => needs = needs.and(more.into_iter().collect()),
            refused => return refused,
        }
    }
    if needs == Needs::default() { Verdict::Holds } else { Verdict::Undetermined { needs: needs.list() } }
}

/// The six operators; both evaluators share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Operator {
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

    /// The whole run of operator characters; a lone `!` passes for `!=`.
    fn of_run(run: &str) -> Option<Self> {
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

/// Where the operator characters of a factor are.
pub(crate) fn is_operator(character: char) -> bool {
    matches!(character, '<' | '>' | '=' | '!')
}

fn factor_outcome(factor: &str, host: &RequirementHost, needs: &mut Needs) -> Possible {
    let Some(start) = factor.find(is_operator) else { return Possible::ERROR };
    let (name, rest) = factor.split_at(start);
    let value = rest.trim_start_matches(is_operator);
    let run = &rest[..rest.len() - value.len()];
    let property = Property::ALL.into_iter().find(|property| property.as_str().eq_ignore_ascii_case(name));
    let (Some(operator), Some(property), false) = (Operator::of_run(run), property, value.is_empty()) else {
        return Possible::ERROR;
    };
    let outcome = match host.get(property) {
        HostValue::NotVisible => Possible::YES,
        HostValue::Known(known) => compare(property, known, operator, value).map_or(Possible::ERROR, Possible::of),
        HostValue::Unknown => {
            needs.insert(property);
            unknown_outcome(property, operator, value)
        }
    };
    let length = name.len() + operator.as_str().len() + value.len() + 2;
    if outcome.no && length >= LONGEST_FACTOR { Possible { no: false, error: true, ..outcome } } else { outcome }
}

/// What a factor may come to where the value of the host is not known.
fn unknown_outcome(property: Property, operator: Operator, value: &str) -> Possible {
    let ordering = !matches!(operator, Operator::Equal | Operator::NotEqual);
    // The check skips even a malformed value where it sees none of the host.
    let malformed = match property {
        Property::Brand => ordering,
        _ => compare_versions("1", operator, value).is_none(),
    };
    if malformed { Possible { yes: true, no: false, error: true } } else { Possible::EITHER }
}

fn compare(property: Property, known: &str, operator: Operator, value: &str) -> Option<bool> {
    match (property, operator) {
        (Property::Brand, Operator::Equal) => Some(known.eq_ignore_ascii_case(value)),
        (Property::Brand, Operator::NotEqual) => Some(!known.eq_ignore_ascii_case(value)),
        (Property::Brand, _) => None,
        _ => compare_versions(known, operator, value),
    }
}

/// Compares number by number; none where a text is no version or a number is too big.
fn compare_versions(left: &str, operator: Operator, right: &str) -> Option<bool> {
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

/// The number that a text starts with, and what follows; the biggest 64-bit number counts as too big.
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
    fn what_we_do_not_know_matters_only_where_it_changes_the_outcome() {
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
            let found = match evaluate_c(requirement, &host) {
                Verdict::Holds => "holds".to_owned(),
                Verdict::Unsatisfied { .. } => "refused".to_owned(),
                Verdict::Malformed { message } => message,
                Verdict::Undetermined { needs } => {
                    format!("needs {}", needs.iter().map(|need| need.as_str()).collect::<Vec<_>>().join(","))
                }
            };
            assert_eq!(found, expected, "{host:?}");
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_malformed() {
        let host = host(HostValue::visible(Some("12.4")), HostValue::NotVisible, HostValue::NotVisible);
        assert!(matches!(evaluate_c("cuda>=99999999999999999999", &host), Verdict::Malformed { .. }));
    }
}
