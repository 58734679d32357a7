//! Evaluation of expressions in bake files, and the basic built-in functions.

use hcl::eval::{Context, ErrorKind, Evaluate as _, FuncArgs, FuncDef, ParamType};
use hcl::{Expression, Value};

use crate::builds::bake_functions::BakeFunctions;
use crate::builds::bake_stdlib::STDLIB_FUNCTIONS;

/// Maximum number of passes to evaluate variables that refer to each other.
const MAX_VARIABLE_PASSES: usize = 8;
/// Maximum length of a string value, in bytes.
pub(super) const MAX_STRING_BYTES: usize = 64 * 1024;

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
        let told = args.iter().find(|one| !matches!(one, Value::Null));
        told.cloned().ok_or_else(|| "expected a value that is not null".to_owned())
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
pub(super) fn string_argument(args: &FuncArgs, at: usize) -> Result<String, String> {
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
