//! Conditions of rule pages: parsed and checked once, then evaluated in many scopes.

use std::cell::RefCell;

use thiserror::Error;

use crate::rules::condition_checker::check_condition;
use crate::rules::condition_evaluator::EvaluationContext;
use crate::rules::condition_parser::{ComparisonOperator, parse_condition};
use crate::rules::page_error::Fault;
use crate::rules::pattern::{ConditionPattern, PatternCompilation};
use crate::rules::value::{FactScope, FactValue, Truth, ValueType};
use crate::rules::vocabulary::Vocabulary;

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
        let asked = EvaluationContext { scope, misfit: RefCell::new(None) };
        let truth = self.root.evaluate(&asked, None);
        asked.misfit.into_inner().map_or(Ok(truth), Err)
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
