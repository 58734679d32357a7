//! Checks the tree of a condition against the vocabulary: names, types, arguments.

use std::collections::BTreeSet;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::cuda::DottedVersion;
use crate::rules::expr::Fact;
use crate::rules::expr::Term;
use crate::rules::expr::Test;
use crate::rules::functions::FUNCTIONS;
use crate::rules::functions::Function;
use crate::rules::functions::function;
use crate::rules::parser::Kind;
use crate::rules::parser::Node;
use crate::rules::parser::Operator;
use crate::rules::pattern::Pattern;
use crate::rules::pattern::Patterns;
use crate::rules::problem::Fault;
use crate::rules::problem::did_you_mean;
use crate::rules::value::Type;
use crate::rules::value::Value;
use crate::rules::vocabulary::Vocabulary;
use crate::source::Span;

/// The checked condition and the names that it asks for.
pub(super) fn check(node: &Node, vocabulary: &Vocabulary, patterns: Patterns) -> Result<(Test, Vec<String>), Fault> {
    let mut checker = Checker { vocabulary, patterns, facts: BTreeSet::new(), binder: None };
    let test = checker.test(node)?;
    Ok((test, checker.facts.into_iter().collect()))
}

struct Checker<'a> {
    vocabulary: &'a Vocabulary,
    patterns: Patterns,
    facts: BTreeSet<String>,
    /// The name that stands for the component in hand.
    binder: Option<String>,
}

impl Checker<'_> {
    fn test(&mut self, node: &Node) -> Result<Test, Fault> {
        match &node.kind {
            Kind::Not(inner) => Ok(Test::Not(Box::new(self.test(inner)?))),
            Kind::And(parts) => Ok(Test::And(self.tests(parts)?)),
            Kind::Or(parts) => Ok(Test::Or(self.tests(parts)?)),
            Kind::Compare(operator, left, right) => self.compare(node.span, *operator, left, right),
            Kind::Call { name, name_span, arguments } if !is_term(name) => {
                self.call(name, *name_span, arguments, node.span)
            }
            _ => match self.term(node)? {
                (term, Type::Bool) => Ok(Test::Value(term)),
                (_, other) => Err(mismatch(node.span, Type::Bool, other).help("compare it with a value".to_owned())),
            },
        }
    }

    fn tests(&mut self, nodes: &[Node]) -> Result<Vec<Test>, Fault> {
        nodes.iter().map(|node| self.test(node)).collect()
    }

    fn compare(&mut self, span: Span, operator: Operator, left: &Node, right: &Node) -> Result<Test, Fault> {
        if is_test(left) || is_test(right) {
            let (left, right) = (self.test(left)?, self.test(right)?);
            let same = Test::Same(Box::new(left), Box::new(right));
            return match operator {
                Operator::Equal => Ok(same),
                Operator::NotEqual => Ok(Test::Not(Box::new(same))),
                _ => Err(Fault::new(span, "Booleans have no order")),
            };
        }
        let ((left_term, left_type), (right_term, right_type)) = (self.term(left)?, self.term(right)?);
        if left_type != right_type {
            let help = match (left_type, right_type) {
                (Type::Text, Type::Version) => as_version(left).map(|call| format!("write `{call}`")),
                (Type::Version, Type::Text) => as_version(right).map(|call| format!("write `{call}`")),
                (Type::Text, Type::Date) => as_date(left),
                (Type::Date, Type::Text) => as_date(right),
                _ => None,
            };
            return Err(Fault::new(span, format!("compares a {left_type} with a {right_type}")).help(help));
        }
        self.never(&left_term, right)?;
        self.never(&right_term, left)?;
        match (left_type, operator) {
            (Type::List, _) => {
                Err(Fault::new(span, "lists cannot be compared").help("use `contains(list, text)`".to_owned()))
            }
            (Type::Version | Type::Number | Type::Date, _) | (_, Operator::Equal | Operator::NotEqual) => {
                Ok(Test::Compare(operator, left_term, right_term))
            }
            (other, _) => {
                let versions = as_version(left).zip(as_version(right)).filter(|_| other == Type::Text);
                let help = versions.map(|(left, right)| format!("compare versions: `{left}` and `{right}`"));
                Err(Fault::new(span, format!("a {other} has no order")).help(help))
            }
        }
    }

    /// Refuses a text that a fact can never be.
    fn never(&self, term: &Term, other: &Node) -> Result<(), Fault> {
        let (Term::Fact(fact), Kind::Text(text)) = (term, &other.kind) else { return Ok(()) };
        match self.vocabulary.words(&fact.name) {
            Some(words) if !words.contains(&text.as_str()) => {
                let help = did_you_mean(text, words.iter().copied());
                let help = help.unwrap_or_else(|| format!("one of: {}", words.join(", ")));
                Err(Fault::new(other.span, format!("`{}` is never `{text}`", fact.name)).help(help))
            }
            _ => Ok(()),
        }
    }

    fn term(&mut self, node: &Node) -> Result<(Term, Type), Fault> {
        let constant = |value: Value| Ok((Term::Constant(value.clone()), value.kind()));
        match &node.kind {
            Kind::Bool(value) => constant(Value::Bool(*value)),
            Kind::Text(value) => constant(Value::Text(value.clone())),
            Kind::Number(value) => constant(Value::Number(*value)),
            Kind::Name(name) => {
                let (fact, kind) = self.fact(name, node.span)?;
                Ok((Term::Fact(fact), kind))
            }
            Kind::Call { name, arguments, .. } if is_term(name) => self.value(name, arguments, node.span),
            Kind::Call { name, name_span, .. } if function(name).is_none() => Err(no_function(name, *name_span)),
            _ => Err(Fault::new(node.span, "expected a value, found a condition")),
        }
    }

    /// A function that gives something else than a truth value.
    fn value(&mut self, name: &str, arguments: &[Node], span: Span) -> Result<(Term, Type), Fault> {
        let function = function(name).ok_or_else(|| no_function(name, span))?;
        let [argument] = arguments else { return Err(wrong_arity(function, arguments.len(), span)) };
        let written = match &argument.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        };
        let term = match (name, written) {
            ("version", Some(text)) => Term::Constant(Value::Version(version(text, argument.span)?)),
            ("version", None) => Term::Release(Box::new(self.typed(argument, Type::Text)?)),
            ("date", Some(text)) => Term::Constant(Value::Date(date(text, argument.span)?)),
            ("package", Some(text)) => Term::Fact(self.package(text)),
            ("date" | "package", None) => {
                let fault = Fault::new(argument.span, format!("`{name}` takes a literal string"));
                return Err(fault.help(format!("for example `{}`", function.example)));
            }
            ("size", _) => Term::Size(Box::new(self.typed(argument, Type::List)?)),
            ("minor", _) => Term::Part(Box::new(self.typed(argument, Type::Version)?), 1),
            _ => Term::Part(Box::new(self.typed(argument, Type::Version)?), 0),
        };
        Ok((term, function.gives))
    }

    /// The fact of a package, by its name as people write it.
    fn package(&mut self, name: &str) -> Fact {
        let name = format!("package.{}", name.to_ascii_lowercase().replace(['_', '.'], "-"));
        self.facts.insert(name.clone());
        Fact { name, kind: Type::Text, of_component: false }
    }

    fn fact(&mut self, name: &str, span: Span) -> Result<(Fact, Type), Fault> {
        let bound = self.binder.as_deref().and_then(|binder| name.strip_prefix(binder)?.strip_prefix('.'));
        let full = bound.map_or_else(|| name.to_owned(), |rest| format!("component.{rest}"));
        if bound.is_none() && name.starts_with("component.") {
            return Err(Fault::new(span, "a component has no name here")
                .help("write `components.exists(c, …)` and `c.name` inside it".to_owned()));
        }
        let Some(entry) = self.vocabulary.find(&full) else {
            let of_image = format!("image.{full}");
            let longer = self.vocabulary.find(&of_image).map(|_| format!("did you mean `{of_image}`?"));
            let help = longer.or_else(|| {
                self.vocabulary.nearest(&full).map(|near| match (&self.binder, near.strip_prefix("component.")) {
                    (Some(binder), Some(rest)) if bound.is_some() => format!("did you mean `{binder}.{rest}`?"),
                    _ => format!("did you mean `{near}`?"),
                })
            });
            return Err(Fault::new(span, format!("there is no fact `{name}`")).help(help));
        };
        self.facts.insert(full.clone());
        Ok((Fact { name: full, kind: entry.kind, of_component: bound.is_some() }, entry.kind))
    }

    fn call(&mut self, name: &str, name_span: Span, arguments: &[Node], span: Span) -> Result<Test, Fault> {
        let Some(function) = function(name) else { return Err(no_function(name, name_span)) };
        if arguments.len() != function.takes.len() {
            return Err(wrong_arity(function, arguments.len(), span));
        }
        match (name, arguments) {
            ("known" | "present", [argument]) => {
                let fact = match &argument.kind {
                    Kind::Name(fact) => self.fact(fact, argument.span)?.0,
                    Kind::Call { name: called, .. } if called == "package" => match self.term(argument)? {
                        (Term::Fact(fact), _) => fact,
                        _ => return Err(no_function(called, argument.span)),
                    },
                    _ => {
                        let fault = Fault::new(argument.span, format!("`{name}` takes the name of a fact"));
                        return Err(fault.help(format!("for example `{}`", function.example)));
                    }
                };
                Ok(if name == "known" { Test::Settled(fact) } else { Test::Present(fact) })
            }
            ("matches", [text, pattern]) => Ok(Test::Matches(self.typed(text, Type::Text)?, self.pattern(pattern)?)),
            ("any_matches", [list, pattern]) => Ok(Test::Any(self.typed(list, Type::List)?, self.pattern(pattern)?)),
            ("contains", [list, item]) => {
                Ok(Test::Contains(self.typed(list, Type::List)?, self.typed(item, Type::Text)?))
            }
            (_, [binder, body]) => self.quantified(name == "components.all", binder, body, span),
            _ => Err(no_function(name, name_span)),
        }
    }

    fn quantified(&mut self, every: bool, binder: &Node, body: &Node, span: Span) -> Result<Test, Fault> {
        let name = match &binder.kind {
            Kind::Name(name) if !name.contains('.') => name.clone(),
            _ => return Err(Fault::new(binder.span, "expected a name for the component, such as `c`")),
        };
        if self.binder.is_some() {
            return Err(Fault::new(span, "`components.exists` and `components.all` cannot be nested"));
        }
        self.binder = Some(name);
        let body = self.test(body);
        self.binder = None;
        Ok(Test::Components { every, body: Box::new(body?) })
    }

    fn pattern(&self, node: &Node) -> Result<Pattern, Fault> {
        let Kind::Text(text) = &node.kind else {
            return Err(Fault::new(node.span, "the pattern must be a literal string"));
        };
        Pattern::read(text, node.span, self.patterns)
    }

    fn typed(&mut self, node: &Node, wanted: Type) -> Result<Term, Fault> {
        match self.term(node)? {
            (term, found) if found == wanted => Ok(term),
            (_, found) => Err(mismatch(node.span, wanted, found)),
        }
    }
}

/// Whether the function gives a value that is no truth value.
fn is_term(name: &str) -> bool {
    function(name).is_some_and(|function| function.gives != Type::Bool)
}

/// Whether a part can only be a condition.
fn is_test(node: &Node) -> bool {
    match &node.kind {
        Kind::Not(_) | Kind::And(_) | Kind::Or(_) | Kind::Compare(..) => true,
        Kind::Call { name, .. } => function(name).is_some() && !is_term(name),
        _ => false,
    }
}

fn wrong_arity(function: &Function, given: usize, span: Span) -> Fault {
    let (name, wanted) = (function.name, function.takes.len());
    let s = if wanted == 1 { "" } else { "s" };
    Fault::new(span, format!("`{name}` takes {wanted} argument{s}, not {given}"))
        .help(format!("for example `{}`", function.example))
}

fn no_function(name: &str, span: Span) -> Fault {
    let names = || FUNCTIONS.iter().map(|function| function.name);
    // Written as a method of what it is asked of.
    let method = name.rsplit_once('.').filter(|(_, method)| function(method).is_some());
    let help = match (name, method) {
        ("not", _) => "write `!`".to_owned(),
        (_, Some((of, method))) => format!("write `{method}({of}, …)`"),
        _ => did_you_mean(name, names())
            .unwrap_or_else(|| format!("the functions are {}", names().collect::<Vec<_>>().join(", "))),
    };
    Fault::new(span, format!("there is no function `{name}`")).help(help)
}

fn mismatch(span: Span, wanted: Type, found: Type) -> Fault {
    Fault::new(span, format!("expected a {wanted}, found a {found}"))
}

fn version(text: &str, span: Span) -> Result<DottedVersion, Fault> {
    text.parse::<CudaVersion>()
        .map(|version| version.0)
        .map_err(|_| Fault::new(span, format!("`{text}` is not a version: expected one to four numbers with dots")))
}

fn date(text: &str, span: Span) -> Result<Date, Fault> {
    text.parse::<Date>()
        .map_err(|_| Fault::new(span, format!("`{text}` is not a date")).help("write it like 2026-01-31".to_owned()))
}

/// A text as the version that it is, in the words of a condition.
fn as_date(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(format!("write `date(\"{text}\")`")),
        _ => None,
    }
}

fn as_version(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(format!("version(\"{text}\")")),
        Kind::Name(name) => Some(format!("version({name})")),
        _ => None,
    }
}
