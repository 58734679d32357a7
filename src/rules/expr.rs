//! Conditions of pages: parsed and checked once, then asked of one scope after the other.

use std::cell::RefCell;

use thiserror::Error;

use crate::rules::check::check;
use crate::rules::eval::Asked;
use crate::rules::parser::Operator;
use crate::rules::parser::parse;
use crate::rules::pattern::Pattern;
use crate::rules::pattern::Patterns;
use crate::rules::problem::Fault;
use crate::rules::value::Scope;
use crate::rules::value::Truth;
use crate::rules::value::Type;
use crate::rules::value::Value;
use crate::rules::vocabulary::Vocabulary;

/// A condition over facts, in a subset of CEL's syntax.
///
/// It has `&& || !`, comparisons, round brackets, texts, integers, `true`, `false`, dotted names of the vocabulary and
/// its functions.
#[derive(Clone, Debug)]
pub struct Condition {
    text: String,
    root: Test,
    facts: Vec<String>,
}

impl Condition {
    /// Reads a condition; the place in a fault counts from the start of `text`.
    pub fn parse(text: &str, vocabulary: &Vocabulary) -> Result<Self, Fault> {
        Self::read(text, vocabulary, Patterns::AtOnce)
    }

    /// The same, with patterns that are compiled at once or when they are asked for.
    pub(super) fn read(text: &str, vocabulary: &Vocabulary, patterns: Patterns) -> Result<Self, Fault> {
        let (root, facts) = check(&parse(text)?, vocabulary, patterns)?;
        Ok(Self { text: text.to_owned(), root, facts })
    }

    /// The condition as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names of all facts that it asks for, sorted, `component.*` names among them.
    pub fn facts(&self) -> &[String] {
        &self.facts
    }

    /// Whether it holds; an error where the scope does not keep what the vocabulary promises.
    ///
    /// A comparison with an absent fact does not hold; one with an unknown fact is unknown.
    pub fn truth(&self, scope: &dyn Scope) -> Result<Truth, Misfit> {
        let asked = Asked { scope, misfit: RefCell::new(None) };
        let truth = self.root.truth(&asked, None);
        asked.misfit.into_inner().map_or(Ok(truth), Err)
    }
}

/// A fact that is of another type than the vocabulary promises: no condition can be evaluated with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{fact}` must be a {promised}, and is a {given}")]
pub struct Misfit {
    /// Its name.
    pub fact: String,
    /// What it should be.
    pub promised: Type,
    /// What it is.
    pub given: Type,
}

/// A checked part that is true, false or unknown.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// A truth value.
    Value(Term),
    Not(Box<Test>),
    And(Vec<Test>),
    Or(Vec<Test>),
    Compare(Operator, Term, Term),
    /// Equality of two truth values that are conditions themselves.
    Same(Box<Test>, Box<Test>),
    /// Whether a fact has been found out, be it that it is absent.
    Settled(Fact),
    /// Whether a fact has a value.
    Present(Fact),
    Matches(Term, Pattern),
    Contains(Term, Term),
    /// A pattern that any text of a list has.
    Any(Term, Pattern),
    /// Over components: any of them, or every one.
    Components {
        every: bool,
        body: Box<Test>,
    },
}

/// A checked part that is a value.
#[derive(Clone, Debug)]
pub(super) enum Term {
    Constant(Value),
    Fact(Fact),
    /// A number of a version, counted from 0.
    Part(Box<Term>, usize),
    /// How many texts a list has.
    Size(Box<Term>),
    /// The release at the beginning of a text.
    Release(Box<Term>),
}

/// A fact by name, and whose.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) name: String,
    /// What the vocabulary promises.
    pub(super) kind: Type,
    pub(super) of_component: bool,
}
