//! Conditions of rule pages: parsed and checked once against the vocabulary, then evaluated in many scopes in
//! three-valued logic; evaluation always terminates.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use jiff::civil::Date;
use thiserror::Error;

use crate::cuda::{CudaVersion, DottedVersion};
use crate::rules::condition_parser::{ComparisonOperator, ConditionNode, ConditionNodeKind, parse_condition};
use crate::rules::functions::{ConditionFunction, FUNCTIONS, find_function};
use crate::rules::page_error::{Fault, did_you_mean};
use crate::rules::pattern::{ConditionPattern, PatternCompilation};
use crate::rules::value::{FactLookup, FactScope, FactValue, Truth, ValueType};
use crate::rules::vocabulary::Vocabulary;
use crate::text::source::Span;

/// A condition over facts, in a subset of the CEL syntax.
///
/// It has `&& || !`, comparisons, round brackets, texts, integers, `true`, `false`, dotted names of the vocabulary and
/// its functions.
#[derive(Clone, Debug)]
pub struct RuleCondition {
    text: String,
    root: BooleanExpression,
    facts: Vec<String>,
}

impl RuleCondition {
    /// Parses a condition; spans in errors count from the start of `text`.
    pub fn parse(text: &str, vocabulary: &Vocabulary) -> Result<Self, Fault> {
        Self::parse_with_patterns(text, vocabulary, PatternCompilation::AtOnce)
    }

    /// Like `parse`, with regular expressions that are compiled now or at their first use.
    pub(super) fn parse_with_patterns(
        text: &str,
        vocabulary: &Vocabulary,
        patterns: PatternCompilation,
    ) -> Result<Self, Fault> {
        let (root, facts) = check_condition(&parse_condition(text)?, vocabulary, patterns)?;
        Ok(Self { text: text.to_owned(), root, facts })
    }

    /// Returns the source text of the condition.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of all facts that the condition uses, sorted, including `component.*` names.
    pub fn facts(&self) -> &[String] {
        &self.facts
    }

    /// Evaluates the condition; an error if a fact of the scope has the wrong type.
    ///
    /// A comparison with an absent fact does not hold; one with an unknown fact is unknown.
    pub fn evaluate(&self, scope: &dyn FactScope) -> Result<Truth, FactTypeMismatch> {
        let context = EvaluationContext { scope, misfit: RefCell::new(None) };
        let truth = self.root.evaluate(&context, None);
        context.misfit.into_inner().map_or(Ok(truth), Err)
    }
}

/// A fact whose type differs from the vocabulary; no condition can be evaluated with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{fact}` must be a {promised}, and is a {given}")]
pub struct FactTypeMismatch {
    /// The name of the fact.
    pub fact: String,
    /// The type in the vocabulary.
    pub promised: ValueType,
    /// The actual type.
    pub given: ValueType,
}

/// A checked expression that evaluates to true, false or unknown.
#[derive(Clone, Debug)]
pub(super) enum BooleanExpression {
    /// A Boolean value.
    Value(ValueExpression),
    Not(Box<BooleanExpression>),
    And(Vec<BooleanExpression>),
    Or(Vec<BooleanExpression>),
    Compare(ComparisonOperator, ValueExpression, ValueExpression),
    /// The equality of two Boolean expressions.
    Same(Box<BooleanExpression>, Box<BooleanExpression>),
    /// Whether a fact is known or absent.
    Settled(FactReference),
    /// Whether a fact has a value.
    Present(FactReference),
    Matches(ValueExpression, ConditionPattern),
    Contains(ValueExpression, ValueExpression),
    /// Whether a pattern matches any text of a list.
    Any(ValueExpression, ConditionPattern),
    /// Whether the body is true for any component, or for every one.
    Components {
        every: bool,
        body: Box<BooleanExpression>,
    },
}

/// A checked expression that evaluates to a value.
#[derive(Clone, Debug)]
pub(super) enum ValueExpression {
    Constant(FactValue),
    Fact(FactReference),
    /// A number of a version, by its index from 0.
    Part(Box<ValueExpression>, usize),
    /// The number of entries of a list.
    Size(Box<ValueExpression>),
    /// The release version at the start of a text.
    Release(Box<ValueExpression>),
}

/// A reference to a fact of the image or of a component.
#[derive(Clone, Debug)]
pub(super) struct FactReference {
    pub(super) name: String,
    /// The type in the vocabulary.
    pub(super) kind: ValueType,
    pub(super) of_component: bool,
}

/// Checks a parsed condition; returns it in typed form, with the names of the facts that it uses.
pub(super) fn check_condition(
    node: &ConditionNode,
    vocabulary: &Vocabulary,
    patterns: PatternCompilation,
) -> Result<(BooleanExpression, Vec<String>), Fault> {
    let mut checker = ConditionChecker { vocabulary, patterns, facts: BTreeSet::new(), binder: None };
    let test = checker.check_boolean(node)?;
    Ok((test, checker.facts.into_iter().collect()))
}

/// The state of a check.
struct ConditionChecker<'a> {
    vocabulary: &'a Vocabulary,
    patterns: PatternCompilation,
    facts: BTreeSet<String>,
    /// The variable of the enclosing `components.exists` or `components.all`.
    binder: Option<String>,
}

impl ConditionChecker<'_> {
    /// Checks a node that must be a Boolean expression.
    fn check_boolean(&mut self, node: &ConditionNode) -> Result<BooleanExpression, Fault> {
        match &node.kind {
            ConditionNodeKind::Not(inner) => Ok(BooleanExpression::Not(Box::new(self.check_boolean(inner)?))),
            ConditionNodeKind::And(parts) => Ok(BooleanExpression::And(self.check_booleans(parts)?)),
            ConditionNodeKind::Or(parts) => Ok(BooleanExpression::Or(self.check_booleans(parts)?)),
            ConditionNodeKind::Compare(operator, left, right) => {
                self.check_comparison(node.span, *operator, left, right)
            }
            ConditionNodeKind::Call { name, name_span, arguments } if !is_value_function(name) => {
                self.check_boolean_call(name, *name_span, arguments, node.span)
            }
            _ => {
                match self.check_value(node)? {
                    (term, ValueType::Bool) => Ok(BooleanExpression::Value(term)),
                    (_, other) => Err(type_mismatch(node.span, ValueType::Bool, other)
                        .with_help("compare it with a value".to_owned())),
                }
            }
        }
    }

    /// Checks several nodes that must be Boolean expressions.
    fn check_booleans(&mut self, nodes: &[ConditionNode]) -> Result<Vec<BooleanExpression>, Fault> {
        nodes.iter().map(|node| self.check_boolean(node)).collect()
    }

    /// Checks a comparison of two values or two Boolean expressions.
    fn check_comparison(
        &mut self,
        span: Span,
        operator: ComparisonOperator,
        left: &ConditionNode,
        right: &ConditionNode,
    ) -> Result<BooleanExpression, Fault> {
        if is_boolean_node(left) || is_boolean_node(right) {
            let (left, right) = (self.check_boolean(left)?, self.check_boolean(right)?);
            let same = BooleanExpression::Same(Box::new(left), Box::new(right));
            return match operator {
                ComparisonOperator::Equal => Ok(same),
                ComparisonOperator::NotEqual => Ok(BooleanExpression::Not(Box::new(same))),
                _ => Err(Fault::new(span, "Booleans have no order")),
            };
        }
        let ((left_term, left_type), (right_term, right_type)) = (self.check_value(left)?, self.check_value(right)?);
        if left_type != right_type {
            let help = match (left_type, right_type) {
                (ValueType::Text, ValueType::Version) => version_suggestion(left).map(|call| format!("write `{call}`")),
                (ValueType::Version, ValueType::Text) => {
                    version_suggestion(right).map(|call| format!("write `{call}`"))
                }
                (ValueType::Text, ValueType::Date) => date_suggestion(left),
                (ValueType::Date, ValueType::Text) => date_suggestion(right),
                _ => None,
            };
            return Err(Fault::new(span, format!("compares a {left_type} with a {right_type}")).with_help(help));
        }
        self.check_allowed_value(&left_term, right)?;
        self.check_allowed_value(&right_term, left)?;
        match (left_type, operator) {
            (ValueType::List, _) => {
                Err(Fault::new(span, "lists cannot be compared").with_help("use `contains(list, text)`".to_owned()))
            }
            (ValueType::Version | ValueType::Number | ValueType::Date, _)
            | (_, ComparisonOperator::Equal | ComparisonOperator::NotEqual) => {
                Ok(BooleanExpression::Compare(operator, left_term, right_term))
            }
            (other, _) => {
                let versions =
                    version_suggestion(left).zip(version_suggestion(right)).filter(|_| other == ValueType::Text);
                let help = versions.map(|(left, right)| format!("compare versions: `{left}` and `{right}`"));
                Err(Fault::new(span, format!("a {other} has no order")).with_help(help))
            }
        }
    }

    /// Rejects a string literal that is not among the allowed values of the fact it is compared with.
    fn check_allowed_value(&self, term: &ValueExpression, other: &ConditionNode) -> Result<(), Fault> {
        let (ValueExpression::Fact(fact), ConditionNodeKind::Text(text)) = (term, &other.kind) else { return Ok(()) };
        match self.vocabulary.allowed_values(&fact.name) {
            Some(words) if !words.contains(&text.as_str()) => {
                let help = did_you_mean(text, words.iter().copied());
                let help = help.unwrap_or_else(|| format!("one of: {}", words.join(", ")));
                Err(Fault::new(other.span, format!("`{}` is never `{text}`", fact.name)).with_help(help))
            }
            _ => Ok(()),
        }
    }

    /// Checks a node that must be a value; returns it with its type.
    fn check_value(&mut self, node: &ConditionNode) -> Result<(ValueExpression, ValueType), Fault> {
        let constant = |value: FactValue| Ok((ValueExpression::Constant(value.clone()), value.value_type()));
        match &node.kind {
            ConditionNodeKind::Bool(value) => constant(FactValue::Bool(*value)),
            ConditionNodeKind::Text(value) => constant(FactValue::Text(value.clone())),
            ConditionNodeKind::Number(value) => constant(FactValue::Number(*value)),
            ConditionNodeKind::Name(name) => {
                let (fact, kind) = self.resolve_fact(name, node.span)?;
                Ok((ValueExpression::Fact(fact), kind))
            }
            ConditionNodeKind::Call { name, arguments, .. } if is_value_function(name) => {
                self.check_value_call(name, arguments, node.span)
            }
            ConditionNodeKind::Call { name, name_span, .. } if find_function(name).is_none() => {
                Err(unknown_function(name, *name_span))
            }
            _ => Err(Fault::new(node.span, "expected a value, found a condition")),
        }
    }

    /// Checks a call of a function that returns a value other than a Boolean.
    fn check_value_call(
        &mut self,
        name: &str,
        arguments: &[ConditionNode],
        span: Span,
    ) -> Result<(ValueExpression, ValueType), Fault> {
        let function = find_function(name).ok_or_else(|| unknown_function(name, span))?;
        let [argument] = arguments else { return Err(wrong_argument_count(function, arguments.len(), span)) };
        let written = match &argument.kind {
            ConditionNodeKind::Text(text) => Some(text),
            _ => None,
        };
        let term = match (name, written) {
            ("version", Some(text)) => {
                ValueExpression::Constant(FactValue::Version(parse_version(text, argument.span)?))
            }
            ("version", None) => ValueExpression::Release(Box::new(self.check_typed_value(argument, ValueType::Text)?)),
            ("date", Some(text)) => ValueExpression::Constant(FactValue::Date(parse_date(text, argument.span)?)),
            ("package", Some(text)) => ValueExpression::Fact(self.package_fact(text)),
            ("date" | "package", None) => {
                let fault = Fault::new(argument.span, format!("`{name}` takes a literal string"));
                return Err(fault.with_help(format!("for example `{}`", function.example)));
            }
            ("size", _) => ValueExpression::Size(Box::new(self.check_typed_value(argument, ValueType::List)?)),
            ("minor", _) => ValueExpression::Part(Box::new(self.check_typed_value(argument, ValueType::Version)?), 1),
            _ => ValueExpression::Part(Box::new(self.check_typed_value(argument, ValueType::Version)?), 0),
        };
        Ok((term, function.gives))
    }

    /// Returns the fact for the version of a package; its name is normalized.
    fn package_fact(&mut self, name: &str) -> FactReference {
        let name = format!("package.{}", name.to_ascii_lowercase().replace(['_', '.'], "-"));
        self.facts.insert(name.clone());
        FactReference { name, kind: ValueType::Text, of_component: false }
    }

    /// Resolves the name of a fact, with the component variable replaced.
    fn resolve_fact(&mut self, name: &str, span: Span) -> Result<(FactReference, ValueType), Fault> {
        let bound = self.binder.as_deref().and_then(|binder| name.strip_prefix(binder)?.strip_prefix('.'));
        let full = bound.map_or_else(|| name.to_owned(), |rest| format!("component.{rest}"));
        if bound.is_none() && name.starts_with("component.") {
            return Err(Fault::new(span, "a component has no name here")
                .with_help("write `components.exists(c, …)` and `c.name` inside it".to_owned()));
        }
        let Some(entry) = self.vocabulary.find_entry(&full) else {
            let of_image = format!("image.{full}");
            let longer = self.vocabulary.find_entry(&of_image).map(|_| format!("did you mean `{of_image}`?"));
            let help = longer.or_else(|| {
                self.vocabulary.nearest_name(&full).map(|near| match (&self.binder, near.strip_prefix("component.")) {
                    (Some(binder), Some(rest)) if bound.is_some() => format!("did you mean `{binder}.{rest}`?"),
                    _ => format!("did you mean `{near}`?"),
                })
            });
            return Err(Fault::new(span, format!("there is no fact `{name}`")).with_help(help));
        };
        self.facts.insert(full.clone());
        Ok((FactReference { name: full, kind: entry.kind, of_component: bound.is_some() }, entry.kind))
    }

    /// Checks a call of a function that returns a Boolean.
    fn check_boolean_call(
        &mut self,
        name: &str,
        name_span: Span,
        arguments: &[ConditionNode],
        span: Span,
    ) -> Result<BooleanExpression, Fault> {
        let Some(function) = find_function(name) else { return Err(unknown_function(name, name_span)) };
        if arguments.len() != function.takes.len() {
            return Err(wrong_argument_count(function, arguments.len(), span));
        }
        match (name, arguments) {
            ("known" | "present", [argument]) => {
                let fact = match &argument.kind {
                    ConditionNodeKind::Name(fact) => self.resolve_fact(fact, argument.span)?.0,
                    ConditionNodeKind::Call { name: called, .. } if called == "package" => {
                        match self.check_value(argument)? {
                            (ValueExpression::Fact(fact), _) => fact,
                            _ => return Err(unknown_function(called, argument.span)),
                        }
                    }
                    _ => {
                        let fault = Fault::new(argument.span, format!("`{name}` takes the name of a fact"));
                        return Err(fault.with_help(format!("for example `{}`", function.example)));
                    }
                };
                Ok(if name == "known" { BooleanExpression::Settled(fact) } else { BooleanExpression::Present(fact) })
            }
            ("matches", [text, pattern]) => Ok(BooleanExpression::Matches(
                self.check_typed_value(text, ValueType::Text)?,
                self.check_pattern(pattern)?,
            )),
            ("any_matches", [list, pattern]) => {
                Ok(BooleanExpression::Any(self.check_typed_value(list, ValueType::List)?, self.check_pattern(pattern)?))
            }
            ("contains", [list, item]) => Ok(BooleanExpression::Contains(
                self.check_typed_value(list, ValueType::List)?,
                self.check_typed_value(item, ValueType::Text)?,
            )),
            (_, [binder, body]) => self.check_quantifier(name == "components.all", binder, body, span),
            _ => Err(unknown_function(name, name_span)),
        }
    }

    /// Checks `components.exists` or `components.all`.
    fn check_quantifier(
        &mut self,
        every: bool,
        binder: &ConditionNode,
        body: &ConditionNode,
        span: Span,
    ) -> Result<BooleanExpression, Fault> {
        let name = match &binder.kind {
            ConditionNodeKind::Name(name) if !name.contains('.') => name.clone(),
            _ => return Err(Fault::new(binder.span, "expected a name for the component, such as `c`")),
        };
        if self.binder.is_some() {
            return Err(Fault::new(span, "`components.exists` and `components.all` cannot be nested"));
        }
        self.binder = Some(name);
        let body = self.check_boolean(body);
        self.binder = None;
        Ok(BooleanExpression::Components { every, body: Box::new(body?) })
    }

    /// Reads a regular expression, which must be a string literal.
    fn check_pattern(&self, node: &ConditionNode) -> Result<ConditionPattern, Fault> {
        let ConditionNodeKind::Text(text) = &node.kind else {
            return Err(Fault::new(node.span, "the pattern must be a literal string"));
        };
        ConditionPattern::parse(text, node.span, self.patterns)
    }

    /// Checks a node that must be a value of a certain type.
    fn check_typed_value(&mut self, node: &ConditionNode, expected: ValueType) -> Result<ValueExpression, Fault> {
        match self.check_value(node)? {
            (term, found) if found == expected => Ok(term),
            (_, found) => Err(type_mismatch(node.span, expected, found)),
        }
    }
}

/// Whether a function of this name returns a value other than a Boolean.
fn is_value_function(name: &str) -> bool {
    find_function(name).is_some_and(|function| function.gives != ValueType::Bool)
}

/// Whether a node can only be a Boolean expression.
fn is_boolean_node(node: &ConditionNode) -> bool {
    match &node.kind {
        ConditionNodeKind::Not(_)
        | ConditionNodeKind::And(_)
        | ConditionNodeKind::Or(_)
        | ConditionNodeKind::Compare(..) => true,
        ConditionNodeKind::Call { name, .. } => find_function(name).is_some() && !is_value_function(name),
        _ => false,
    }
}

/// Returns the error for a wrong number of arguments.
fn wrong_argument_count(function: &ConditionFunction, given: usize, span: Span) -> Fault {
    let (name, expected) = (function.name, function.takes.len());
    let s = if expected == 1 { "" } else { "s" };
    Fault::new(span, format!("`{name}` takes {expected} argument{s}, not {given}"))
        .with_help(format!("for example `{}`", function.example))
}

/// Returns the error for a function that does not exist.
fn unknown_function(name: &str, span: Span) -> Fault {
    let names = || FUNCTIONS.iter().map(|function| function.name);
    // Written as a method of its argument.
    let method = name.rsplit_once('.').filter(|(_, method)| find_function(method).is_some());
    let help = match (name, method) {
        ("not", _) => "write `!`".to_owned(),
        (_, Some((of, method))) => format!("write `{method}({of}, …)`"),
        _ => did_you_mean(name, names())
            .unwrap_or_else(|| format!("the functions are {}", names().collect::<Vec<_>>().join(", "))),
    };
    Fault::new(span, format!("there is no function `{name}`")).with_help(help)
}

/// Returns the error for a value of the wrong type.
fn type_mismatch(span: Span, expected: ValueType, found: ValueType) -> Fault {
    Fault::new(span, format!("expected a {expected}, found a {found}"))
}

/// Parses the literal argument of `version(…)`.
fn parse_version(text: &str, span: Span) -> Result<DottedVersion, Fault> {
    text.parse::<CudaVersion>()
        .map(|version| version.0)
        .map_err(|_| Fault::new(span, format!("`{text}` is not a version: expected one to four numbers with dots")))
}

/// Parses the literal argument of `date(…)`.
fn parse_date(text: &str, span: Span) -> Result<Date, Fault> {
    text.parse::<Date>().map_err(|_| {
        Fault::new(span, format!("`{text}` is not a date")).with_help("write it like 2026-01-31".to_owned())
    })
}

/// Returns the advice to write a string literal as `date(…)`.
fn date_suggestion(node: &ConditionNode) -> Option<String> {
    match &node.kind {
        ConditionNodeKind::Text(text) => Some(format!("write `date(\"{text}\")`")),
        _ => None,
    }
}

/// Returns a literal or a name as the argument of `version(…)`, for an advice.
fn version_suggestion(node: &ConditionNode) -> Option<String> {
    match &node.kind {
        ConditionNodeKind::Text(text) => Some(format!("version(\"{text}\")")),
        ConditionNodeKind::Name(name) => Some(format!("version({name})")),
        _ => None,
    }
}

/// The scope that a condition is evaluated in, and the first fact with a wrong type.
pub(super) struct EvaluationContext<'a> {
    pub(super) scope: &'a dyn FactScope,
    pub(super) misfit: RefCell<Option<FactTypeMismatch>>,
}

impl BooleanExpression {
    /// Evaluates the expression; `component` is the scope of the enclosing `components.exists` or `components.all`.
    pub(super) fn evaluate(&self, context: &EvaluationContext<'_>, component: Option<&dyn FactScope>) -> Truth {
        let value = |term: &ValueExpression| term.evaluate(context, component);
        match self {
            Self::Value(term) => match value(term) {
                FactLookup::Known(FactValue::Bool(holds)) => holds.into(),
                FactLookup::Absent => Truth::False,
                _ => Truth::Unknown,
            },
            Self::Not(inner) => inner.evaluate(context, component).negate(),
            Self::And(parts) => {
                parts.iter().fold(Truth::True, |truth, part| truth.and(part.evaluate(context, component)))
            }
            Self::Or(parts) => {
                parts.iter().fold(Truth::False, |truth, part| truth.or(part.evaluate(context, component)))
            }
            Self::Compare(operator, left, right) => {
                combine_known(value(left), value(right), |left, right| compare_values(*operator, left, right))
            }
            Self::Same(left, right) => match (left.evaluate(context, component), right.evaluate(context, component)) {
                (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
                (left, right) => (left == right).into(),
            },
            Self::Settled(fact) => (fact.look_up(context, component) != FactLookup::Unknown).into(),
            Self::Present(fact) => match fact.look_up(context, component) {
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
                let components = context.scope.components();
                let rest = if components.complete { Truth::from(*every) } else { Truth::Unknown };
                components.list.iter().fold(rest, |truth, component| {
                    let one = body.evaluate(context, Some(component.as_ref()));
                    if *every { truth.and(one) } else { truth.or(one) }
                })
            }
        }
    }
}

impl ValueExpression {
    /// Evaluates the expression to a value.
    fn evaluate(&self, context: &EvaluationContext<'_>, component: Option<&dyn FactScope>) -> FactLookup {
        match self {
            Self::Constant(value) => FactLookup::Known(value.clone()),
            Self::Fact(fact) => fact.look_up(context, component),
            Self::Part(inner, index) => match inner.evaluate(context, component) {
                FactLookup::Known(FactValue::Version(version)) => {
                    FactLookup::Known(FactValue::Number(version.part(*index).into()))
                }
                FactLookup::Absent => FactLookup::Absent,
                _ => FactLookup::Unknown,
            },
            Self::Size(inner) => match inner.evaluate(context, component) {
                FactLookup::Known(FactValue::List(list)) => i64::try_from(list.len())
                    .map_or(FactLookup::Unknown, |size| FactLookup::Known(FactValue::Number(size))),
                FactLookup::Absent => FactLookup::Known(FactValue::Number(0)),
                _ => FactLookup::Unknown,
            },
            Self::Release(inner) => match inner.evaluate(context, component) {
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
    fn look_up(&self, context: &EvaluationContext<'_>, component: Option<&dyn FactScope>) -> FactLookup {
        let found = match component {
            Some(component) if self.of_component => component.value(&self.name),
            _ => context.scope.value(&self.name),
        };
        match found {
            FactLookup::Known(value) if value.value_type() != self.kind => {
                let misfit =
                    FactTypeMismatch { fact: self.name.clone(), promised: self.kind, given: value.value_type() };
                context.misfit.borrow_mut().get_or_insert(misfit);
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
