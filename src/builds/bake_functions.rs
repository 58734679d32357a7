//! Functions that a bake file defines: their calls are replaced by their values.

use std::cell::Cell;
use std::collections::BTreeMap;

use hcl::eval::Context;
use hcl::expr::{Conditional, FuncCall, Operation};
use hcl::template::{Element, Strip};
use hcl::{Expression, Template, Value};

use crate::builds::bake_expression::{evaluate_expression, value_text};

/// Maximum depth of nested calls.
const MAX_CALL_DEPTH: usize = 8;
/// Maximum number of calls in one file.
const MAX_CALLS: usize = 10_000;

/// A function that a bake file defines.
#[derive(Debug, Default)]
struct BakeFunction {
    parameters: Vec<String>,
    rest: Option<String>,
    result: Option<Expression>,
}

/// The functions that a bake file defines.
#[derive(Debug, Default)]
pub(super) struct BakeFunctions {
    known: BTreeMap<String, BakeFunction>,
    calls: Cell<usize>,
}

impl BakeFunctions {
    /// Adds a block `function "name" { params = [a, b], variadic_params = c, result = … }`.
    pub(super) fn add_function(&mut self, name: String, attributes: &BTreeMap<String, Expression>) {
        let names = |key: &str| attributes.get(key).map(parameter_names).unwrap_or_default();
        let function = BakeFunction {
            parameters: names("params"),
            rest: names("variadic_params").pop(),
            result: attributes.get("result").cloned(),
        };
        self.known.insert(name, function);
    }

    /// Whether the file defines a function with this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// Returns an expression in which all calls with a known result are replaced by it.
    pub(super) fn evaluate_calls(&self, expression: &Expression, context: &Context<'_>) -> Expression {
        if self.known.is_empty() { expression.clone() } else { self.replace_calls(expression, context, 0) }
    }

    /// Replaces calls in an expression recursively.
    fn replace_calls(&self, expression: &Expression, context: &Context<'_>, depth: usize) -> Expression {
        let inner = |one: &Expression| self.replace_calls(one, context, depth);
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
                let told =
                    Template::from_expr(written).ok().and_then(|parts| self.evaluate_template(&parts, context, depth));
                told.map_or_else(|| expression.clone(), Expression::from)
            }
            Expression::FuncCall(call) => {
                let mut call = call.clone();
                call.args = call.args.iter().map(inner).collect();
                match self.call_result(&call, context, depth) {
                    Some(value) => Expression::from(value),
                    None => Expression::FuncCall(call),
                }
            }
            other => other.clone(),
        }
    }

    /// Evaluates a template; `None` if a part is neither a literal nor a plain interpolation.
    fn evaluate_template(&self, parts: &Template, context: &Context<'_>, depth: usize) -> Option<String> {
        let mut out = String::new();
        for part in parts.elements() {
            match part {
                Element::Literal(literal) => out.push_str(literal),
                Element::Interpolation(part) if part.strip == Strip::None => {
                    out.push_str(&value_text(&evaluate_expression(
                        &self.replace_calls(&part.expr, context, depth),
                        context,
                    )?)?);
                }
                _ => return None,
            }
        }
        Some(out)
    }

    /// Evaluates a call; `None` if the file does not define the function or the result is unknown.
    fn call_result(&self, call: &FuncCall, context: &Context<'_>, depth: usize) -> Option<Value> {
        let function = self.known.get(call.name.name.as_str()).filter(|_| call.name.namespace.is_empty())?;
        let calls = self.calls.get() + 1;
        self.calls.set(calls);
        if depth >= MAX_CALL_DEPTH || calls > MAX_CALLS || call.expand_final {
            return None;
        }
        let values: Option<Vec<Value>> = call.args.iter().map(|one| evaluate_expression(one, context)).collect();
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
        evaluate_expression(&self.replace_calls(function.result.as_ref()?, &scene, depth + 1), &scene)
    }
}

/// Returns parameter names: identifiers in HCL, strings in JSON; a list, or a single one.
fn parameter_names(list: &Expression) -> Vec<String> {
    match list {
        Expression::Array(list) => list.iter().filter_map(parameter_name).collect(),
        one => parameter_name(one).into_iter().collect(),
    }
}

/// Returns one parameter name.
fn parameter_name(one: &Expression) -> Option<String> {
    match one {
        Expression::Variable(name) => Some(name.as_str().to_owned()),
        Expression::String(name) => Some(name.clone()),
        _ => None,
    }
}
