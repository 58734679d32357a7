//! More functions of bake files: over lists, maps and texts (docs.docker.com/build/bake/stdlib).

use std::cmp::Ordering;

use hcl::Map;
use hcl::Value;
use hcl::eval::FuncArgs;
use regex::Captures;
use regex::Regex;
use regex::RegexBuilder;

use crate::builds::expression::Function;
use crate::builds::expression::LONGEST;
use crate::builds::expression::said;
use crate::builds::expression::text;

/// A list with more elements is nobody's.
const MOST: usize = 1_000;
/// Lists lie in lists, but not for ever.
const DEEPEST: usize = 16;

/// Functions by name, with the number of their arguments; `None` takes any number.
pub(super) const MORE: &[(&str, Option<usize>, Function)] = &[
    ("flatten", Some(1), |args| {
        let mut flat = Vec::new();
        flattened(list(&args, 0)?, &mut flat, 0);
        Ok(Value::Array(flat))
    }),
    ("lookup", None, |args| {
        let (map, key) = (map(&args, 0)?, said(&args, 1)?);
        map.get(&key).or_else(|| args.get(2)).cloned().ok_or_else(|| "the key does not exist".to_owned())
    }),
    ("keys", Some(1), |args| Ok(sorted(map(&args, 0)?).map(|(key, _)| Value::from(key.as_str())).collect())),
    ("values", Some(1), |args| Ok(sorted(map(&args, 0)?).map(|(_, value)| value.clone()).collect())),
    ("merge", None, |args| {
        let mut merged = Map::new();
        for at in 0..args.len() {
            merged.extend(map(&args, at)?.iter().take(MOST).map(|(key, value)| (key.clone(), value.clone())));
        }
        Ok(Value::Object(merged))
    }),
    ("zipmap", Some(2), |args| {
        let keys: Option<Vec<String>> = list(&args, 0)?.iter().map(text).collect();
        let (keys, values) = (keys.ok_or("expected strings")?, list(&args, 1)?);
        Ok(Value::Object(keys.into_iter().zip(values.iter().cloned()).collect()))
    }),
    ("sort", Some(1), |args| {
        let mut texts: Vec<String> =
            list(&args, 0)?.iter().map(text).collect::<Option<_>>().ok_or("expected strings")?;
        texts.sort();
        Ok(Value::from(texts))
    }),
    ("distinct", Some(1), |args| {
        let mut found: Vec<Value> = Vec::new();
        for one in list(&args, 0)? {
            if !found.contains(one) {
                found.push(one.clone());
            }
        }
        Ok(Value::Array(found))
    }),
    ("compact", Some(1), |args| {
        Ok(Value::Array(list(&args, 0)?.iter().filter(|one| one.as_str() != Some("")).cloned().collect()))
    }),
    ("reverselist", Some(1), |args| Ok(Value::Array(list(&args, 0)?.iter().rev().cloned().collect()))),
    ("slice", Some(3), |args| {
        let part = list(&args, 0)?.get(place(&args, 1)?..place(&args, 2)?).ok_or("the range does not exist")?;
        Ok(Value::Array(part.to_vec()))
    }),
    ("index", Some(2), |args| match args.first() {
        Some(Value::Object(map)) => {
            map.get(&said(&args, 1)?).cloned().ok_or_else(|| "the key does not exist".to_owned())
        }
        _ => list(&args, 0)?.get(place(&args, 1)?).cloned().ok_or_else(|| "the index is out of range".to_owned()),
    }),
    ("coalescelist", None, |args| {
        let full = (0..args.len()).filter_map(|at| list(&args, at).ok()).find(|list| !list.is_empty());
        full.map(|list| Value::Array(list.to_vec())).ok_or_else(|| "expected a list".to_owned())
    }),
    ("range", None, |args| {
        let number = |at: usize| args.get(at).and_then(Value::as_i64).ok_or("expected a whole number");
        let (from, to) = if args.len() < 2 { (0, number(0)?) } else { (number(0)?, number(1)?) };
        let step = if args.len() > 2 { number(2)? } else { 1 };
        let step = usize::try_from(step).ok().filter(|step| *step > 0).ok_or("expected a positive step")?;
        Ok((from..to).step_by(step).take(MOST).map(Value::from).collect())
    }),
    ("setproduct", None, |args| {
        let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
        for at in 0..args.len() {
            let values = list(&args, at)?;
            let longer = |row: &Vec<Value>| {
                let row = row.clone();
                values.iter().map(move |value| [row.clone(), vec![value.clone()]].concat()).collect::<Vec<_>>()
            };
            rows = rows.iter().flat_map(longer).take(MOST).collect();
        }
        Ok(Value::Array(rows.into_iter().map(Value::Array).collect()))
    }),
    ("format", None, |args| {
        let values: Vec<&Value> = args.iter().skip(1).collect();
        formatted(&said(&args, 0)?, &values).map(Value::from)
    }),
    ("formatlist", None, |args| {
        let form = said(&args, 0)?;
        let length = (1..args.len()).filter_map(|at| list(&args, at).ok().map(<[Value]>::len)).min();
        let length = length.ok_or("expected a list")?;
        let row = |at: usize| {
            let one = |value: &Value| match value {
                Value::Array(list) => list.get(at).cloned().unwrap_or(Value::Null),
                other => other.clone(),
            };
            let values: Vec<Value> = args.iter().skip(1).map(one).collect();
            formatted(&form, &values.iter().collect::<Vec<_>>()).map(Value::from)
        };
        (0..length.min(MOST)).map(row).collect::<Result<Vec<_>, _>>().map(Value::Array)
    }),
    ("strlen", Some(1), |args| Ok(Value::from(said(&args, 0)?.chars().count()))),
    ("substr", Some(3), |args| {
        let length = args.get(2).and_then(Value::as_i64).ok_or("expected a length")?;
        let rest = said(&args, 0)?;
        let rest = rest.chars().skip(place(&args, 1)?);
        // A length below nothing takes all that is left.
        Ok(Value::from(rest.take(usize::try_from(length).unwrap_or(usize::MAX)).collect::<String>()))
    }),
    ("title", Some(1), |args| {
        let mut first = true;
        let one = |c: char| {
            let upper = std::mem::replace(&mut first, c.is_whitespace());
            if upper { c.to_ascii_uppercase() } else { c }
        };
        Ok(Value::from(said(&args, 0)?.chars().map(one).collect::<String>()))
    }),
    ("chomp", Some(1), |args| Ok(Value::from(said(&args, 0)?.trim_end_matches(['\r', '\n'])))),
    ("sanitize", Some(1), |args| {
        let one = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
        Ok(Value::from(said(&args, 0)?.chars().map(one).collect::<String>()))
    }),
    ("basename", Some(1), |args| Ok(Value::from(said(&args, 0)?.rsplit('/').next().unwrap_or_default()))),
    ("dirname", Some(1), |args| {
        let path = said(&args, 0)?;
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        Ok(Value::from(folder))
    }),
    ("reverse", Some(1), |args| Ok(Value::from(said(&args, 0)?.chars().rev().collect::<String>()))),
    ("regex", Some(2), |args| {
        let (pattern, text) = (pattern(&args, 0)?, said(&args, 1)?);
        let found = pattern.captures(&text).ok_or("the pattern does not match")?;
        Ok(captured(&pattern, &found))
    }),
    ("regexall", Some(2), |args| {
        let (pattern, text) = (pattern(&args, 0)?, said(&args, 1)?);
        Ok(Value::Array(pattern.captures_iter(&text).take(MOST).map(|found| captured(&pattern, &found)).collect()))
    }),
    ("regex_replace", Some(3), |args| {
        let (text, pattern, by) = (said(&args, 0)?, pattern(&args, 1)?, said(&args, 2)?);
        let replaced = pattern.replace_all(&text, by.as_str());
        if replaced.len() > LONGEST { Err("the result is too long".to_owned()) } else { Ok(Value::from(&*replaced)) }
    }),
    ("lessthan", Some(2), |args| compared(&args, |order| order == Ordering::Less)),
    ("lessthanorequalto", Some(2), |args| compared(&args, |order| order != Ordering::Greater)),
    ("greaterthan", Some(2), |args| compared(&args, |order| order == Ordering::Greater)),
    ("greaterthanorequalto", Some(2), |args| compared(&args, |order| order != Ordering::Less)),
    ("parseint", Some(2), |args| {
        let base = args.get(1).and_then(Value::as_u64).and_then(|base| u32::try_from(base).ok());
        let base = base.filter(|base| (2..=36).contains(base)).ok_or("expected a base")?;
        i64::from_str_radix(&said(&args, 0)?, base).map(Value::from).map_err(|error| error.to_string())
    }),
];

/// A regular expression in the syntax of Go, which is that of RE2.
fn pattern(args: &FuncArgs, at: usize) -> Result<Regex, String> {
    let written = said(args, at)?;
    let pattern = RegexBuilder::new(&written).size_limit(1 << 20).build();
    // The message draws the pattern over several lines; its last line says what is wrong.
    pattern.map_err(|error| {
        let error = error.to_string();
        let last = error.lines().next_back().unwrap_or_default();
        format!("`{written}` is not a regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
    })
}

/// One match: its text without groups, an object with named groups, a list with others.
fn captured(pattern: &Regex, found: &Captures<'_>) -> Value {
    let text = |at: usize| found.get(at).map_or(Value::Null, |part| Value::from(part.as_str()));
    let named: Vec<(String, Value)> =
        pattern.capture_names().enumerate().filter_map(|(at, name)| Some((name?.to_owned(), text(at)))).collect();
    match found.len() {
        1 => text(0),
        _ if !named.is_empty() => Value::Object(named.into_iter().collect()),
        groups => Value::Array((1..groups).map(text).collect()),
    }
}

fn list(args: &FuncArgs, at: usize) -> Result<&[Value], String> {
    let list = args.get(at).and_then(Value::as_array).filter(|list| list.len() <= MOST);
    list.map(Vec::as_slice).ok_or_else(|| "expected a list".to_owned())
}

fn map(args: &FuncArgs, at: usize) -> Result<&Map<String, Value>, String> {
    args.get(at).and_then(Value::as_object).ok_or_else(|| "expected a map".to_owned())
}

fn place(args: &FuncArgs, at: usize) -> Result<usize, String> {
    let place = args.get(at).and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok());
    place.ok_or_else(|| "expected an index".to_owned())
}

/// The entries of a map by their keys, as the builder walks them.
fn sorted(map: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by(|a, b| a.0.cmp(b.0));
    entries.into_iter()
}

fn flattened(list: &[Value], into: &mut Vec<Value>, depth: usize) {
    for one in list {
        match one {
            Value::Array(inner) if depth < DEEPEST => flattened(inner, into, depth + 1),
            other if into.len() < MOST => into.push(other.clone()),
            _ => {}
        }
    }
}

fn compared(args: &FuncArgs, holds: fn(Ordering) -> bool) -> Result<Value, String> {
    let number = |at: usize| args.get(at).and_then(Value::as_f64).ok_or("expected a number");
    let order = number(0)?.partial_cmp(&number(1)?).ok_or("expected a number")?;
    Ok(Value::Bool(holds(order)))
}

/// `%s`, `%d`, `%v` and `%%`, with widths left to those who need them.
fn formatted(form: &str, values: &[&Value]) -> Result<String, String> {
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
                let value = values.next().and_then(|value| text(value)).ok_or("expected a value")?;
                out.push_str(&value);
            }
            _ => return Err("this format is not supported".to_owned()),
        }
        if out.len() > LONGEST {
            return Err("the string is too long".to_owned());
        }
    }
    if values.next().is_some() { Err("too many values".to_owned()) } else { Ok(out) }
}
