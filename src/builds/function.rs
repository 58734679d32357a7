//! Functions that a bake file defines itself: their calls give way to what they come to.

use std::cell::Cell;
use std::collections::BTreeMap;

use hcl::Expression;
use hcl::Template;
use hcl::Value;
use hcl::eval::Context;
use hcl::expr::Conditional;
use hcl::expr::FuncCall;
use hcl::expr::Operation;
use hcl::template::Element;
use hcl::template::Strip;

use crate::builds::expression::evaluate;
use crate::builds::expression::text;

/// Functions that call one another deeper go round in circles.
const DEEPEST: usize = 8;
/// More calls in one file are nobody's.
const MOST_CALLS: usize = 10_000;

#[derive(Debug, Default)]
struct Function {
    parameters: Vec<String>,
    rest: Option<String>,
    result: Option<Expression>,
}

/// The functions of a file.
#[derive(Debug, Default)]
pub(super) struct Functions {
    known: BTreeMap<String, Function>,
    calls: Cell<usize>,
}

impl Functions {
    /// Takes a block `function "name" { params = [a, b], variadic_params = c, result = … }`.
    pub(super) fn add(&mut self, name: String, attributes: &BTreeMap<String, Expression>) {
        let names = |key: &str| attributes.get(key).map(names).unwrap_or_default();
        let function = Function {
            parameters: names("params"),
            rest: names("variadic_params").pop(),
            result: attributes.get("result").cloned(),
        };
        self.known.insert(name, function);
    }

    /// Whether the file defines a function of this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// An expression with the values of all calls that can be told in their place.
    pub(super) fn called(&self, expression: &Expression, context: &Context<'_>) -> Expression {
        if self.known.is_empty() { expression.clone() } else { self.walk(expression, context, 0) }
    }

    fn walk(&self, expression: &Expression, context: &Context<'_>, depth: usize) -> Expression {
        let inner = |one: &Expression| self.walk(one, context, depth);
        match expression {
            Expression::Array(list) => Expression::Array(list.iter().map(inner).collect()),
            Expression::Object(map) => {
                Expression::Object(map.iter().map(|(key, value)| (key.clone(), inner(value))).collect())
            }
            Expression::Parenthesis(one) => inner(one),
            Expression::Conditional(one) => {
                let (yes, no) = (inner(&one.true_expr), inner(&one.false_expr));
                Conditional::new(inner(&one.cond_expr), yes, no).into()
            }
            Expression::Operation(one) => match one.as_ref() {
                Operation::Unary(one) => {
                    let mut one = one.clone();
                    one.expr = inner(&one.expr);
                    Operation::Unary(one).into()
                }
                Operation::Binary(one) => {
                    let mut one = one.clone();
                    (one.lhs_expr, one.rhs_expr) = (inner(&one.lhs_expr), inner(&one.rhs_expr));
                    Operation::Binary(one).into()
                }
            },
            Expression::Traversal(one) => {
                let mut one = one.clone();
                one.expr = inner(&one.expr);
                Expression::Traversal(one)
            }
            Expression::TemplateExpr(written) => {
                let told = Template::from_expr(written).ok().and_then(|parts| self.template(&parts, context, depth));
                told.map_or_else(|| expression.clone(), Expression::from)
            }
            Expression::FuncCall(call) => {
                let mut call = call.clone();
                call.args = call.args.iter().map(inner).collect();
                match self.result(&call, context, depth) {
                    Some(value) => Expression::from(value),
                    None => Expression::FuncCall(call),
                }
            }
            other => other.clone(),
        }
    }

    /// A text with its parts in place; `None` where one of them is not plain.
    fn template(&self, parts: &Template, context: &Context<'_>, depth: usize) -> Option<String> {
        let mut out = String::new();
        for part in parts.elements() {
            match part {
                Element::Literal(literal) => out.push_str(literal),
                Element::Interpolation(part) if part.strip == Strip::None => {
                    out.push_str(&text(&evaluate(&self.walk(&part.expr, context, depth), context)?)?);
                }
                _ => return None,
            }
        }
        Some(out)
    }

    /// What a call comes to; `None` where it is none of a function of the file, or that cannot be told.
    fn result(&self, call: &FuncCall, context: &Context<'_>, depth: usize) -> Option<Value> {
        let function = self.known.get(call.name.name.as_str()).filter(|_| call.name.namespace.is_empty())?;
        let calls = self.calls.get() + 1;
        self.calls.set(calls);
        if depth >= DEEPEST || calls > MOST_CALLS || call.expand_final {
            return None;
        }
        let values: Option<Vec<Value>> = call.args.iter().map(|one| evaluate(one, context)).collect();
        let mut values = values?.into_iter();
        let mut scene = context.clone();
        for name in &function.parameters {
            scene.declare_var(name.as_str(), values.next()?);
        }
        let rest: Vec<Value> = values.collect();
        match &function.rest {
            Some(name) => scene.declare_var(name.as_str(), Value::Array(rest)),
            None if rest.is_empty() => {}
            None => return None,
        }
        evaluate(&self.walk(function.result.as_ref()?, &scene, depth + 1), &scene)
    }
}

/// Names as a file lists them: words in HCL, texts in JSON; one of them may stand alone.
fn names(list: &Expression) -> Vec<String> {
    match list {
        Expression::Array(list) => list.iter().filter_map(name).collect(),
        one => name(one).into_iter().collect(),
    }
}

fn name(one: &Expression) -> Option<String> {
    match one {
        Expression::Variable(name) => Some(name.as_str().to_owned()),
        Expression::String(name) => Some(name.clone()),
        _ => None,
    }
}
