//! Further built-in functions of bake files: for lists, maps and strings (docs.docker.com/build/bake/stdlib).

use std::cmp::Ordering;

use hcl::eval::FuncArgs;
use hcl::{Map, Value};
use regex::{Captures, Regex, RegexBuilder};

use crate::builds::bake_expression::{BuiltinFunction, MAX_STRING_BYTES, string_argument, value_text};

/// Maximum length of a list.
const MAX_LIST_LENGTH: usize = 1_000;
/// Maximum nesting depth of a list.
const MAX_LIST_NESTING: usize = 16;

/// Further built-in functions by name, with their number of arguments; `None` accepts any number.
pub(super) const STDLIB_FUNCTIONS: &[(&str, Option<usize>, BuiltinFunction)] = &[
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
