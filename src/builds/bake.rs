//! Bake files, in HCL or JSON: every target that a group names, or every target where there is no group.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::VecDeque;

use hcl::Expression;
use hcl::Structure;
use hcl::Value;
use hcl::eval::Context;
use hcl::expr::ObjectKey;
use hcl::expr::TemplateExpr;

use crate::builds::Build;
use crate::builds::BuildsError;
use crate::builds::MOST_BUILDS;
use crate::builds::Recipe;
use crate::builds::bounded;
use crate::builds::expression::context;
use crate::builds::expression::evaluate;
use crate::builds::expression::text;
use crate::builds::function::Functions;

/// Longer chains of `inherits` go round in circles.
const LONGEST_CHAIN: usize = 32;

type Attributes = BTreeMap<String, Expression>;

/// A file as written.
#[derive(Debug, Default)]
struct File {
    variables: Vec<(String, Option<Expression>)>,
    groups: BTreeMap<String, Expression>,
    targets: BTreeMap<String, Attributes>,
    functions: Functions,
}

/// The builds of a bake file, those behind that others stand on.
pub fn bake(name: &str, file: &str) -> Result<Vec<Build>, BuildsError> {
    bounded(file)?;
    let is_json = name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"));
    let file = if is_json { of_json(file)? } else { of_hcl(file)? };
    let context = context(&file.variables, &file.functions);
    let mut found: Vec<Build> = Vec::new();
    let mut open: VecDeque<(String, bool)> = file.wanted(&context).into_iter().map(|name| (name, true)).collect();
    let mut seen: BTreeSet<String> = open.iter().map(|(name, _)| name.clone()).collect();
    while let Some((target, asked)) = open.pop_front() {
        let mut attributes = Attributes::new();
        file.inherited(&target, &context, &mut attributes, &mut 0);
        let called = |attributes: &Attributes, context: &Context<'_>| -> Attributes {
            let one = |(key, value): (&String, &Expression)| (key.clone(), file.functions.called(value, context));
            attributes.iter().map(one).collect()
        };
        let attributes = called(&attributes, &context);
        for (name, variables) in matrix(&target, &attributes, &context) {
            if found.len() >= MOST_BUILDS {
                return Err(BuildsError::TooBig);
            }
            let mut context = context.clone();
            for (key, value) in variables {
                context.declare_var(key, value);
            }
            let build = Build { asked, ..build(&name, &called(&attributes, &context), &context) };
            let further = build.referred().map(|(_, name)| name).filter(|name| file.targets.contains_key(*name));
            let new = further.filter(|name| seen.insert((*name).to_owned()));
            open.extend(new.map(|name| (name.to_owned(), false)));
            found.push(build);
        }
    }
    Ok(found)
}

fn of_hcl(text: &str) -> Result<File, BuildsError> {
    let body = hcl::parse(text).map_err(|error| match error {
        hcl::Error::Parse(error) => BuildsError::Broken {
            message: error.message().to_owned(),
            line: error.location().line(),
            column: error.location().column(),
        },
        other => BuildsError::Unreadable(other.to_string()),
    })?;
    let mut file = File::default();
    for structure in body {
        let Structure::Block(block) = structure else { continue };
        let Some(label) = block.labels.first().map(|label| label.as_str().to_owned()) else { continue };
        let kind = block.identifier.as_str().to_owned();
        let attributes = block.body.into_iter().filter_map(|structure| match structure {
            Structure::Attribute(attribute) => Some((attribute.key.as_str().to_owned(), attribute.expr)),
            Structure::Block(_) => None,
        });
        file.add(&kind, label, attributes.collect());
    }
    Ok(file)
}

fn of_json(text: &str) -> Result<File, BuildsError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let told = error.to_string();
        let message = told.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&told).to_owned();
        BuildsError::Broken { message, line, column }
    })?;
    let mut file = File::default();
    for kind in ["variable", "function", "group", "target"] {
        for (label, attributes) in value.get(kind).and_then(|kind| kind.as_object()).into_iter().flatten() {
            let attributes = attributes.as_object().into_iter().flatten();
            let attributes = attributes.map(|(key, value)| (key.clone(), expression(value))).collect();
            file.add(kind, label.clone(), attributes);
        }
    }
    Ok(file)
}

/// A JSON value, with its texts as templates.
fn expression(value: &serde_json::Value) -> Expression {
    match value {
        serde_json::Value::Null => Expression::Null,
        serde_json::Value::Bool(truth) => Expression::Bool(*truth),
        serde_json::Value::Number(number) => Expression::from(number.to_string()),
        serde_json::Value::String(text) if text.contains("${") || text.contains("%{") => {
            TemplateExpr::from(text.as_str()).into()
        }
        serde_json::Value::String(text) => Expression::from(text.as_str()),
        serde_json::Value::Array(list) => Expression::Array(list.iter().map(expression).collect()),
        serde_json::Value::Object(map) => {
            let entry = |(key, value): (&String, &serde_json::Value)| {
                (ObjectKey::Expression(Expression::from(key.as_str())), expression(value))
            };
            Expression::Object(map.iter().map(entry).collect())
        }
    }
}

impl File {
    fn add(&mut self, kind: &str, label: String, attributes: Attributes) {
        match kind {
            "variable" => self.variables.push((label, attributes.get("default").cloned())),
            "function" => self.functions.add(label, &attributes),
            "group" => self.groups.extend(attributes.get("targets").map(|targets| (label, targets.clone()))),
            "target" => self.targets.entry(label).or_default().extend(attributes),
            _ => {}
        }
    }

    /// The targets to build, sorted.
    fn wanted(&self, context: &Context<'_>) -> Vec<String> {
        if self.groups.is_empty() {
            return self.targets.keys().cloned().collect();
        }
        let named = self.groups.values().flat_map(|targets| list(targets, context).unwrap_or_default());
        let named: BTreeSet<String> = named.filter(|name| self.targets.contains_key(name)).collect();
        named.into_iter().collect()
    }

    /// The attributes of a target over those that it inherits.
    fn inherited(&self, name: &str, context: &Context<'_>, attributes: &mut Attributes, asked: &mut usize) {
        *asked += 1;
        let Some(own) = self.targets.get(name).filter(|_| *asked <= LONGEST_CHAIN) else { return };
        let parents = own.get("inherits").and_then(|parents| list(parents, context)).unwrap_or_default();
        for parent in parents {
            self.inherited(&parent, context, attributes, asked);
        }
        for (key, value) in own {
            match (attributes.get_mut(key), value) {
                (Some(Expression::Object(below)), Expression::Object(above)) if key == "args" || key == "contexts" => {
                    for (key, value) in above {
                        below.insert(key.clone(), value.clone());
                    }
                }
                _ => {
                    attributes.insert(key.clone(), value.clone());
                }
            }
        }
    }
}

fn list(expression: &Expression, context: &Context<'_>) -> Option<Vec<String>> {
    evaluate(expression, context)?.as_array()?.iter().map(text).collect()
}

/// The targets that a matrix makes of one, each with its variables; the target itself where there is none.
fn matrix(target: &str, attributes: &Attributes, context: &Context<'_>) -> Vec<(String, Vec<(String, Value)>)> {
    let axes = attributes.get("matrix").and_then(|matrix| evaluate(matrix, context));
    let Some(axes) = axes.as_ref().and_then(Value::as_object) else { return vec![(target.to_owned(), Vec::new())] };
    let mut rows: Vec<Vec<(String, Value)>> = vec![Vec::new()];
    for (axis, values) in axes {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        let longer = rows.iter().flat_map(|row| {
            values.iter().map(move |value| {
                let mut row = row.clone();
                row.push((axis.clone(), value.clone()));
                row
            })
        });
        rows = longer.take(MOST_BUILDS + 1).collect();
    }
    rows.into_iter()
        .enumerate()
        .map(|(at, row)| {
            let mut context = context.clone();
            for (axis, value) in &row {
                context.declare_var(axis.clone(), value.clone());
            }
            let name = attributes.get("name").and_then(|name| text(&evaluate(name, &context)?));
            (name.unwrap_or_else(|| format!("{target}-{at}")), row)
        })
        .collect()
}

fn build(name: &str, attributes: &Attributes, context: &Context<'_>) -> Build {
    let mut build = Build::new(name);
    let mut notes = Vec::new();
    let mut value = |key: &str| {
        let written = attributes.get(key)?;
        let value = evaluate(written, context);
        if value.is_none() {
            notes.push(format!("`{key}` of target `{name}` cannot be told from the file"));
        }
        value.filter(|value| !matches!(value, Value::Null))
    };
    if let Some(context) = value("context").as_ref().and_then(text) {
        build.context = context;
    }
    if let Some(path) = value("dockerfile").as_ref().and_then(text) {
        build.recipe = Recipe::Path(path);
    }
    if let Some(inline) = value("dockerfile-inline").as_ref().and_then(text) {
        build.recipe = Recipe::Inline(inline);
    }
    build.target = value("target").as_ref().and_then(text);
    let platforms = value("platforms");
    let platforms = platforms.as_ref().and_then(Value::as_array).into_iter().flatten();
    build.platforms = platforms.filter_map(text).collect();
    for (key, into) in [("args", &mut build.args), ("contexts", &mut build.contexts)] {
        match attributes.get(key) {
            Some(Expression::Object(entries)) => {
                for (key, written) in entries {
                    let Some(key) = key_text(key, context) else { continue };
                    match evaluate(written, context) {
                        Some(Value::Null) => {}
                        value => drop(into.insert(key, value.as_ref().and_then(text))),
                    }
                }
            }
            Some(written) => match evaluate(written, context).as_ref().and_then(Value::as_object) {
                Some(entries) => into.extend(entries.iter().map(|(key, value)| (key.clone(), text(value)))),
                None => notes.push(format!("`{key}` of target `{name}` cannot be told from the file")),
            },
            None => {}
        }
    }
    build.notes = notes;
    build
}

fn key_text(key: &ObjectKey, context: &Context<'_>) -> Option<String> {
    match key {
        ObjectKey::Identifier(name) => Some(name.as_str().to_owned()),
        ObjectKey::Expression(written) => text(&evaluate(written, context)?),
        _ => None,
    }
}
