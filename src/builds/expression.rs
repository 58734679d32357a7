//! Expressions of bake files: their variables and the functions that are met most.

use hcl::Expression;
use hcl::Value;
use hcl::eval::Context;
use hcl::eval::ErrorKind;
use hcl::eval::Evaluate as _;
use hcl::eval::FuncArgs;
use hcl::eval::FuncDef;
use hcl::eval::ParamType;

use crate::builds::function::Functions;
use crate::builds::standard::MORE;

/// Rounds in which variables may build on each other.
const ROUNDS: usize = 8;
/// A value that is longer is not kept.
pub(super) const LONGEST: usize = 64 * 1024;

pub(super) type Function = fn(FuncArgs) -> Result<Value, String>;

/// Functions by name, with the number of their arguments; `None` takes any number.
const FUNCTIONS: &[(&str, Option<usize>, Function)] = &[
    ("and", Some(2), |args| Ok(Value::Bool(truth(&args, 0)? && truth(&args, 1)?))),
    ("or", Some(2), |args| Ok(Value::Bool(truth(&args, 0)? || truth(&args, 1)?))),
    ("not", Some(1), |args| Ok(Value::Bool(!truth(&args, 0)?))),
    ("equal", Some(2), |args| Ok(Value::Bool(args.first() == args.get(1)))),
    ("notequal", Some(2), |args| Ok(Value::Bool(args.first() != args.get(1)))),
    ("lower", Some(1), |args| Ok(Value::from(said(&args, 0)?.to_lowercase()))),
    ("upper", Some(1), |args| Ok(Value::from(said(&args, 0)?.to_uppercase()))),
    ("replace", Some(3), |args| Ok(Value::from(said(&args, 0)?.replace(&said(&args, 1)?, &said(&args, 2)?)))),
    ("trimprefix", Some(2), |args| {
        let (text, part) = (said(&args, 0)?, said(&args, 1)?);
        Ok(Value::from(text.strip_prefix(&part).unwrap_or(&text)))
    }),
    ("trimsuffix", Some(2), |args| {
        let (text, part) = (said(&args, 0)?, said(&args, 1)?);
        Ok(Value::from(text.strip_suffix(&part).unwrap_or(&text)))
    }),
    ("trimspace", Some(1), |args| Ok(Value::from(said(&args, 0)?.trim()))),
    ("trim", Some(2), |args| {
        let marks = said(&args, 1)?;
        Ok(Value::from(said(&args, 0)?.trim_matches(|c| marks.contains(c))))
    }),
    ("add", Some(2), |args| sum(&args, i64::checked_add)),
    ("subtract", Some(2), |args| sum(&args, i64::checked_sub)),
    ("multiply", Some(2), |args| sum(&args, i64::checked_mul)),
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
        let told = args.iter().find(|one| !matches!(one, Value::Null));
        told.cloned().ok_or_else(|| "expected a value that is not null".to_owned())
    }),
    ("split", Some(2), |args| Ok(said(&args, 1)?.split(&said(&args, 0)?).map(str::to_owned).collect())),
    ("join", Some(2), |args| {
        let parts = args.get(1).and_then(Value::as_array).ok_or("expected a list")?;
        let parts: Option<Vec<String>> = parts.iter().map(text).collect();
        Ok(Value::from(parts.ok_or("expected strings")?.join(&said(&args, 0)?)))
    }),
    ("concat", None, |args| {
        let lists: Option<Vec<&Vec<Value>>> = args.iter().map(Value::as_array).collect();
        Ok(Value::Array(lists.ok_or("expected lists")?.into_iter().flatten().take(1_000).cloned().collect()))
    }),
];

pub(super) fn said(args: &FuncArgs, at: usize) -> Result<String, String> {
    args.get(at).and_then(text).filter(|text| text.len() <= LONGEST).ok_or_else(|| "expected a string".to_owned())
}

fn sum(args: &FuncArgs, of: fn(i64, i64) -> Option<i64>) -> Result<Value, String> {
    let number = |at: usize| args.get(at).and_then(Value::as_i64).ok_or("expected a whole number");
    of(number(0)?, number(1)?).map(Value::from).ok_or_else(|| "it is too large".to_owned())
}

fn truth(args: &FuncArgs, at: usize) -> Result<bool, String> {
    args.get(at).and_then(Value::as_bool).ok_or_else(|| "expected true or false".to_owned())
}

/// A value as the builder gets it; `None` for lists, objects and null.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The variables of a file, as far as they have values, and the functions.
pub(super) fn context(variables: &[(String, Option<Expression>)], functions: &Functions) -> Context<'static> {
    let mut context = Context::new();
    for (name, count, function) in FUNCTIONS.iter().chain(MORE) {
        let definition = match count {
            Some(count) => FuncDef::builder().params(vec![ParamType::Any; *count]).build(*function),
            None => FuncDef::builder().variadic_param(ParamType::Any).build(*function),
        };
        context.declare_func(*name, definition);
    }
    let mut open: Vec<&(String, Option<Expression>)> = variables.iter().collect();
    for _ in 0..ROUNDS {
        let before = open.len();
        open.retain(|(name, default)| {
            let value = default.as_ref().and_then(|default| evaluate(&functions.called(default, &context), &context));
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

/// Whether a function of this name is among those of bake files that are computed here.
pub(super) fn is_computed(name: &str) -> bool {
    FUNCTIONS.iter().chain(MORE).any(|(known, ..)| *known == name)
}

/// The value of an expression; `None` where it cannot be had from the file.
pub(super) fn evaluate(expression: &Expression, context: &Context<'_>) -> Option<Value> {
    let value = expression.evaluate(context).ok()?;
    let short = |text: &str| text.len() <= LONGEST;
    value.as_str().is_none_or(short).then_some(value)
}

/// What keeps an expression from having a value.
pub(super) enum Failure {
    /// A function, by name, refuses its arguments, for this reason.
    Function(String, String),
    /// A variable, by name, has no value.
    Variable(String),
}

/// What keeps an expression from having a value, where that is a function or a variable.
pub(super) fn failure(expression: &Expression, context: &Context<'_>) -> Option<Failure> {
    match expression.evaluate(context).err()?.into_kind() {
        ErrorKind::FuncCall(name, why) => Some(Failure::Function(name.name.as_str().to_owned(), why)),
        ErrorKind::UndefinedVar(name) => Some(Failure::Variable(name.as_str().to_owned())),
        _ => None,
    }
}
