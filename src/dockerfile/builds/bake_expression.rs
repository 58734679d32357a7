//! Evaluation of expressions in bake files, with built-in functions (docs.docker.com/build/bake/stdlib) and those that
//! the file defines.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use hcl::eval::{Context, ErrorKind, Evaluate as _, FuncArgs, FuncDef, ParamType};
use hcl::expr::{Conditional, FuncCall, Operation};
use hcl::template::{Element, Strip};
use hcl::{Expression, Map, Template, Value};
use regex::{Captures, Regex, RegexBuilder};

/// Maximum number of passes to evaluate variables that refer to each other.
const MAX_VARIABLE_PASSES: usize = 8;
/// Maximum length of a string value, in bytes.
const MAX_STRING_BYTES: usize = 64 * 1024;

/// Implementation of a built-in function.
pub(super) type BuiltinFunction = fn(FuncArgs) -> Result<Value, String>;

/// Basic built-in functions by name, with their number of arguments; `None` accepts any number.
const BASIC_FUNCTIONS: &[(&str, Option<usize>, BuiltinFunction)] = &[
    ("and", Some(2), |args| Ok(Value::Bool(bool_argument(&args, 0)? && bool_argument(&args, 1)?))),
    ("or", Some(2), |args| Ok(Value::Bool(bool_argument(&args, 0)? || bool_argument(&args, 1)?))),
    ("not", Some(1), |args| Ok(Value::Bool(!bool_argument(&args, 0)?))),
    ("equal", Some(2), |args| Ok(Value::Bool(args.first() == args.get(1)))),
    ("notequal", Some(2), |args| Ok(Value::Bool(args.first() != args.get(1)))),
    ("lower", Some(1), |args| Ok(Value::from(string_argument(&args, 0)?.to_lowercase()))),
    ("upper", Some(1), |args| Ok(Value::from(string_argument(&args, 0)?.to_uppercase()))),
    ("replace", Some(3), |args| {
        Ok(Value::from(string_argument(&args, 0)?.replace(&string_argument(&args, 1)?, &string_argument(&args, 2)?)))
    }),
    ("trimprefix", Some(2), |args| {
        let (text, part) = (string_argument(&args, 0)?, string_argument(&args, 1)?);
        Ok(Value::from(text.strip_prefix(&part).unwrap_or(&text)))
    }),
    ("trimsuffix", Some(2), |args| {
        let (text, part) = (string_argument(&args, 0)?, string_argument(&args, 1)?);
        Ok(Value::from(text.strip_suffix(&part).unwrap_or(&text)))
    }),
    ("trimspace", Some(1), |args| Ok(Value::from(string_argument(&args, 0)?.trim()))),
    ("trim", Some(2), |args| {
        let marks = string_argument(&args, 1)?;
        Ok(Value::from(string_argument(&args, 0)?.trim_matches(|c| marks.contains(c))))
    }),
    ("add", Some(2), |args| integer_result(&args, i64::checked_add)),
    ("subtract", Some(2), |args| integer_result(&args, i64::checked_sub)),
    ("multiply", Some(2), |args| integer_result(&args, i64::checked_mul)),
    ("length", Some(1), |args| {
        let list = args.first().and_then(Value::as_array).ok_or("expected a list")?;
        Ok(Value::from(list.len()))
    }),
    ("contains", Some(2), |args| {
        let list = args.first().and_then(Value::as_array).ok_or("expected a list")?;
        Ok(Value::Bool(args.get(1).is_some_and(|one| list.contains(one))))
    }),
    ("element", Some(2), |args| {
        let list = args.first().and_then(Value::as_array).filter(|list| !list.is_empty()).ok_or("expected a list")?;
        let at =
            args.get(1).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok()).ok_or("expected an index")?;
        list.get(at % list.len()).cloned().ok_or_else(|| "the index is out of range".to_owned())
    }),
    ("coalesce", None, |args| {
        let non_null = args.iter().find(|one| !matches!(one, Value::Null));
        non_null.cloned().ok_or_else(|| "expected a value that is not null".to_owned())
    }),
    ("split", Some(2), |args| {
        Ok(string_argument(&args, 1)?.split(&string_argument(&args, 0)?).map(str::to_owned).collect())
    }),
    ("join", Some(2), |args| {
        let parts = args.get(1).and_then(Value::as_array).ok_or("expected a list")?;
        let parts: Option<Vec<String>> = parts.iter().map(value_text).collect();
        Ok(Value::from(parts.ok_or("expected strings")?.join(&string_argument(&args, 0)?)))
    }),
    ("concat", None, |args| {
        let lists: Option<Vec<&Vec<Value>>> = args.iter().map(Value::as_array).collect();
        Ok(Value::Array(lists.ok_or("expected lists")?.into_iter().flatten().take(1_000).cloned().collect()))
    }),
];

/// Returns an argument as a string.
fn string_argument(args: &FuncArgs, at: usize) -> Result<String, String> {
    args.get(at)
        .and_then(value_text)
        .filter(|text| text.len() <= MAX_STRING_BYTES)
        .ok_or_else(|| "expected a string".to_owned())
}

/// Applies a checked operation to two integer arguments.
fn integer_result(args: &FuncArgs, of: fn(i64, i64) -> Option<i64>) -> Result<Value, String> {
    let number = |at: usize| args.get(at).and_then(Value::as_i64).ok_or("expected a whole number");
    of(number(0)?, number(1)?).map(Value::from).ok_or_else(|| "it is too large".to_owned())
}

/// Returns an argument as a boolean.
fn bool_argument(args: &FuncArgs, at: usize) -> Result<bool, String> {
    args.get(at).and_then(Value::as_bool).ok_or_else(|| "expected true or false".to_owned())
}

/// Returns a value as text, as the build receives it; `None` for lists, objects and null.
pub(super) fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the evaluation context of a file: its variables with known values, and the built-in functions.
pub(super) fn evaluation_context(
    variables: &[(String, Option<Expression>)],
    functions: &BakeFunctions,
) -> Context<'static> {
    let mut context = Context::new();
    for (name, count, function) in BASIC_FUNCTIONS.iter().chain(STDLIB_FUNCTIONS) {
        let definition = match count {
            Some(count) => FuncDef::builder().params(vec![ParamType::Any; *count]).build(*function),
            None => FuncDef::builder().variadic_param(ParamType::Any).build(*function),
        };
        context.declare_func(*name, definition);
    }
    let mut open: Vec<&(String, Option<Expression>)> = variables.iter().collect();
    for _ in 0..MAX_VARIABLE_PASSES {
        let before = open.len();
        open.retain(|(name, default)| {
            let value = default
                .as_ref()
                .and_then(|default| evaluate_expression(&functions.evaluate_calls(default, &context), &context));
            let Some(value) = value else { return true };
            context.declare_var(name.as_str(), value);
            false
        });
        if open.len() == before {
            break;
        }
    }
    context
}

/// Whether a built-in function with this name is implemented.
pub(super) fn is_builtin_function(name: &str) -> bool {
    BASIC_FUNCTIONS.iter().chain(STDLIB_FUNCTIONS).any(|(known, ..)| *known == name)
}

/// Evaluates an expression; `None` if the file does not determine its value.
pub(super) fn evaluate_expression(expression: &Expression, context: &Context<'_>) -> Option<Value> {
    let value = expression.evaluate(context).ok()?;
    let short = |text: &str| text.len() <= MAX_STRING_BYTES;
    value.as_str().is_none_or(short).then_some(value)
}

/// Reason why an expression has no value.
pub(super) enum EvaluationFailure {
    /// A function rejects its arguments: its name, and the reason.
    Function(String, String),
    /// A variable with this name has no value.
    Variable(String),
}

/// Returns the function or variable because of which an expression has no value.
pub(super) fn evaluation_failure(expression: &Expression, context: &Context<'_>) -> Option<EvaluationFailure> {
    match expression.evaluate(context).err()?.into_kind() {
        ErrorKind::FuncCall(name, why) => Some(EvaluationFailure::Function(name.name.as_str().to_owned(), why)),
        ErrorKind::UndefinedVar(name) => Some(EvaluationFailure::Variable(name.as_str().to_owned())),
        _ => None,
    }
}

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
                let evaluated =
                    Template::from_expr(written).ok().and_then(|parts| self.evaluate_template(&parts, context, depth));
                evaluated.map_or_else(|| expression.clone(), Expression::from)
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

/// Maximum length of a list.
const MAX_LIST_LENGTH: usize = 1_000;
/// Maximum nesting depth of a list.
const MAX_LIST_NESTING: usize = 16;

/// Further built-in functions by name, with their number of arguments; `None` accepts any number.
const STDLIB_FUNCTIONS: &[(&str, Option<usize>, BuiltinFunction)] = &[
    ("flatten", Some(1), |args| {
        let mut flat = Vec::new();
        flatten_list(list_argument(&args, 0)?, &mut flat, 0);
        Ok(Value::Array(flat))
    }),
    ("lookup", None, |args| {
        let (map, key) = (map_argument(&args, 0)?, string_argument(&args, 1)?);
        map.get(&key).or_else(|| args.get(2)).cloned().ok_or_else(|| "the key does not exist".to_owned())
    }),
    ("keys", Some(1), |args| {
        Ok(sorted_entries(map_argument(&args, 0)?).map(|(key, _)| Value::from(key.as_str())).collect())
    }),
    ("values", Some(1), |args| Ok(sorted_entries(map_argument(&args, 0)?).map(|(_, value)| value.clone()).collect())),
    ("merge", None, |args| {
        let mut merged = Map::new();
        for at in 0..args.len() {
            merged.extend(
                map_argument(&args, at)?.iter().take(MAX_LIST_LENGTH).map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        Ok(Value::Object(merged))
    }),
    ("zipmap", Some(2), |args| {
        let keys: Option<Vec<String>> = list_argument(&args, 0)?.iter().map(value_text).collect();
        let (keys, values) = (keys.ok_or("expected strings")?, list_argument(&args, 1)?);
        Ok(Value::Object(keys.into_iter().zip(values.iter().cloned()).collect()))
    }),
    ("sort", Some(1), |args| {
        let mut texts: Vec<String> =
            list_argument(&args, 0)?.iter().map(value_text).collect::<Option<_>>().ok_or("expected strings")?;
        texts.sort();
        Ok(Value::from(texts))
    }),
    ("distinct", Some(1), |args| {
        let mut found: Vec<Value> = Vec::new();
        for one in list_argument(&args, 0)? {
            if !found.contains(one) {
                found.push(one.clone());
            }
        }
        Ok(Value::Array(found))
    }),
    ("compact", Some(1), |args| {
        Ok(Value::Array(list_argument(&args, 0)?.iter().filter(|one| one.as_str() != Some("")).cloned().collect()))
    }),
    ("reverselist", Some(1), |args| Ok(Value::Array(list_argument(&args, 0)?.iter().rev().cloned().collect()))),
    ("slice", Some(3), |args| {
        let part = list_argument(&args, 0)?
            .get(index_argument(&args, 1)?..index_argument(&args, 2)?)
            .ok_or("the range does not exist")?;
        Ok(Value::Array(part.to_vec()))
    }),
    ("index", Some(2), |args| match args.first() {
        Some(Value::Object(map)) => {
            map.get(&string_argument(&args, 1)?).cloned().ok_or_else(|| "the key does not exist".to_owned())
        }
        _ => list_argument(&args, 0)?
            .get(index_argument(&args, 1)?)
            .cloned()
            .ok_or_else(|| "the index is out of range".to_owned()),
    }),
    ("coalescelist", None, |args| {
        let full = (0..args.len()).filter_map(|at| list_argument(&args, at).ok()).find(|list| !list.is_empty());
        full.map(|list| Value::Array(list.to_vec())).ok_or_else(|| "expected a list".to_owned())
    }),
    ("range", None, |args| {
        let number = |at: usize| args.get(at).and_then(Value::as_i64).ok_or("expected a whole number");
        let (from, to) = if args.len() < 2 { (0, number(0)?) } else { (number(0)?, number(1)?) };
        let step = if args.len() > 2 { number(2)? } else { 1 };
        let step = usize::try_from(step).ok().filter(|step| *step > 0).ok_or("expected a positive step")?;
        Ok((from..to).step_by(step).take(MAX_LIST_LENGTH).map(Value::from).collect())
    }),
    ("setproduct", None, |args| {
        let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
        for at in 0..args.len() {
            let values = list_argument(&args, at)?;
            let longer = |row: &Vec<Value>| {
                let row = row.clone();
                values.iter().map(move |value| [row.clone(), vec![value.clone()]].concat()).collect::<Vec<_>>()
            };
            rows = rows.iter().flat_map(longer).take(MAX_LIST_LENGTH).collect();
        }
        Ok(Value::Array(rows.into_iter().map(Value::Array).collect()))
    }),
    ("format", None, |args| {
        let values: Vec<&Value> = args.iter().skip(1).collect();
        format_values(&string_argument(&args, 0)?, &values).map(Value::from)
    }),
    ("formatlist", None, |args| {
        let form = string_argument(&args, 0)?;
        let length = (1..args.len()).filter_map(|at| list_argument(&args, at).ok().map(<[Value]>::len)).min();
        let length = length.ok_or("expected a list")?;
        let row = |at: usize| {
            let one = |value: &Value| match value {
                Value::Array(list) => list.get(at).cloned().unwrap_or(Value::Null),
                other => other.clone(),
            };
            let values: Vec<Value> = args.iter().skip(1).map(one).collect();
            format_values(&form, &values.iter().collect::<Vec<_>>()).map(Value::from)
        };
        (0..length.min(MAX_LIST_LENGTH)).map(row).collect::<Result<Vec<_>, _>>().map(Value::Array)
    }),
    ("strlen", Some(1), |args| Ok(Value::from(string_argument(&args, 0)?.chars().count()))),
    ("substr", Some(3), |args| {
        let length = args.get(2).and_then(Value::as_i64).ok_or("expected a length")?;
        let rest = string_argument(&args, 0)?;
        let rest = rest.chars().skip(index_argument(&args, 1)?);
        // A length below nothing takes all that is left.
        Ok(Value::from(rest.take(usize::try_from(length).unwrap_or(usize::MAX)).collect::<String>()))
    }),
    ("title", Some(1), |args| {
        let mut first = true;
        let one = |c: char| {
            let upper = std::mem::replace(&mut first, c.is_whitespace());
            if upper { c.to_ascii_uppercase() } else { c }
        };
        Ok(Value::from(string_argument(&args, 0)?.chars().map(one).collect::<String>()))
    }),
    ("chomp", Some(1), |args| Ok(Value::from(string_argument(&args, 0)?.trim_end_matches(['\r', '\n'])))),
    ("sanitize", Some(1), |args| {
        let one = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
        Ok(Value::from(string_argument(&args, 0)?.chars().map(one).collect::<String>()))
    }),
    ("basename", Some(1), |args| Ok(Value::from(string_argument(&args, 0)?.rsplit('/').next().unwrap_or_default()))),
    ("dirname", Some(1), |args| {
        let path = string_argument(&args, 0)?;
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        Ok(Value::from(folder))
    }),
    ("reverse", Some(1), |args| Ok(Value::from(string_argument(&args, 0)?.chars().rev().collect::<String>()))),
    ("regex", Some(2), |args| {
        let (pattern, text) = (regex_argument(&args, 0)?, string_argument(&args, 1)?);
        let found = pattern.captures(&text).ok_or("the pattern does not match")?;
        Ok(match_value(&pattern, &found))
    }),
    ("regexall", Some(2), |args| {
        let (pattern, text) = (regex_argument(&args, 0)?, string_argument(&args, 1)?);
        Ok(Value::Array(
            pattern.captures_iter(&text).take(MAX_LIST_LENGTH).map(|found| match_value(&pattern, &found)).collect(),
        ))
    }),
    ("regex_replace", Some(3), |args| {
        let (text, pattern, by) = (string_argument(&args, 0)?, regex_argument(&args, 1)?, string_argument(&args, 2)?);
        let replaced = pattern.replace_all(&text, by.as_str());
        if replaced.len() > MAX_STRING_BYTES {
            Err("the result is too long".to_owned())
        } else {
            Ok(Value::from(&*replaced))
        }
    }),
    ("lessthan", Some(2), |args| compare_arguments(&args, |order| order == Ordering::Less)),
    ("lessthanorequalto", Some(2), |args| compare_arguments(&args, |order| order != Ordering::Greater)),
    ("greaterthan", Some(2), |args| compare_arguments(&args, |order| order == Ordering::Greater)),
    ("greaterthanorequalto", Some(2), |args| compare_arguments(&args, |order| order != Ordering::Less)),
    ("parseint", Some(2), |args| {
        let base = args.get(1).and_then(Value::as_u64).and_then(|base| u32::try_from(base).ok());
        let base = base.filter(|base| (2..=36).contains(base)).ok_or("expected a base")?;
        i64::from_str_radix(&string_argument(&args, 0)?, base).map(Value::from).map_err(|error| error.to_string())
    }),
];

/// Returns an argument as a regular expression, in the RE2 syntax of Go.
fn regex_argument(args: &FuncArgs, at: usize) -> Result<Regex, String> {
    let written = string_argument(args, at)?;
    let pattern = RegexBuilder::new(&written).size_limit(1 << 20).build();
    // The message draws the pattern over several lines; its last line says what is wrong.
    pattern.map_err(|error| {
        let error = error.to_string();
        let last = error.lines().next_back().unwrap_or_default();
        format!("`{written}` is not a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
    })
}

/// Returns the value of a match: its text without groups, an object with named groups, a list with unnamed groups.
fn match_value(pattern: &Regex, found: &Captures<'_>) -> Value {
    let text = |at: usize| found.get(at).map_or(Value::Null, |part| Value::from(part.as_str()));
    let named: Vec<(String, Value)> =
        pattern.capture_names().enumerate().filter_map(|(at, name)| Some((name?.to_owned(), text(at)))).collect();
    match found.len() {
        1 => text(0),
        _ if !named.is_empty() => Value::Object(named.into_iter().collect()),
        groups => Value::Array((1..groups).map(text).collect()),
    }
}

/// Returns an argument as a list.
fn list_argument(args: &FuncArgs, at: usize) -> Result<&[Value], String> {
    let list = args.get(at).and_then(Value::as_array).filter(|list| list.len() <= MAX_LIST_LENGTH);
    list.map(Vec::as_slice).ok_or_else(|| "expected a list".to_owned())
}

/// Returns an argument as a map.
fn map_argument(args: &FuncArgs, at: usize) -> Result<&Map<String, Value>, String> {
    args.get(at).and_then(Value::as_object).ok_or_else(|| "expected a map".to_owned())
}

/// Returns an argument as an index.
fn index_argument(args: &FuncArgs, at: usize) -> Result<usize, String> {
    let place = args.get(at).and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok());
    place.ok_or_else(|| "expected an index".to_owned())
}

/// Returns the entries of a map, sorted by key.
fn sorted_entries(map: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    entries.into_iter()
}

/// Appends the elements of nested lists to `into`.
fn flatten_list(list: &[Value], into: &mut Vec<Value>, depth: usize) {
    for one in list {
        match one {
            Value::Array(inner) if depth < MAX_LIST_NESTING => flatten_list(inner, into, depth + 1),
            other if into.len() < MAX_LIST_LENGTH => into.push(other.clone()),
            _ => {}
        }
    }
}

/// Compares two numeric arguments.
fn compare_arguments(args: &FuncArgs, holds: fn(Ordering) -> bool) -> Result<Value, String> {
    let number = |at: usize| args.get(at).and_then(Value::as_f64).ok_or("expected a number");
    let order = number(0)?.partial_cmp(&number(1)?).ok_or("expected a number")?;
    Ok(Value::Bool(holds(order)))
}

/// Formats values by `%s`, `%d`, `%v` and `%%`, without widths.
fn format_values(form: &str, values: &[&Value]) -> Result<String, String> {
    let (mut out, mut values) = (String::new(), values.iter());
    let mut chars = form.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('%') => out.push('%'),
            Some('s' | 'd' | 'v') => {
                let value = values.next().and_then(|value| value_text(value)).ok_or("expected a value")?;
                out.push_str(&value);
            }
            _ => return Err("this format is not supported".to_owned()),
        }
        if out.len() > MAX_STRING_BYTES {
            return Err("the string is too long".to_owned());
        }
    }
    if values.next().is_some() { Err("too many values".to_owned()) } else { Ok(out) }
}
