//! Bake files, in HCL or JSON: every target that a group names, or every target where there is no group.
//!
//! Several files make one definition (docs.docker.com/build/bake/overrides).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::VecDeque;

use hcl::Expression;
use hcl::Identifier;
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

/// What a file has blocks of; whatever else stands there is a variable.
const BLOCKS: &[&str] = &["variable", "function", "group", "target"];

/// The attributes of a block, by name.
pub(super) type Attributes = BTreeMap<String, Expression>;

/// A target that a matrix makes, or the target itself: its name, or why nobody knows it, and its variables.
type Row = (Result<String, String>, Vec<(String, Value)>);

/// Files as written, the later ones over the earlier ones.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) variables: Vec<(String, Option<Expression>)>,
    groups: BTreeMap<String, Vec<Expression>>,
    targets: BTreeMap<String, Attributes>,
    pub(super) functions: Functions,
    /// Names and texts of the files.
    pub(super) texts: Vec<(String, String)>,
}

/// The builds of a bake file, those behind that others stand on.
pub fn bake(name: &str, file: &str) -> Result<Vec<Build>, BuildsError> {
    bake_merged(&[(name, file)]).map_err(|(_, error)| error)
}

/// The builds of bake files that are given together, by their names and texts: they make one definition, in which a
/// later file stands over an earlier one. An error says which file it is of.
pub fn bake_merged(files: &[(&str, &str)]) -> Result<Vec<Build>, (usize, BuildsError)> {
    let mut file = File::default();
    for (at, (name, text)) in files.iter().enumerate() {
        bounded(text).and_then(|()| file.read(name, text)).map_err(|error| (at, error))?;
    }
    file.builds().map_err(|error| (0, error))
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
                // As HCL writes it, so that what one file says stands over what another says.
                let name = Identifier::new(key.as_str()).map(ObjectKey::Identifier);
                let key = name.unwrap_or_else(|_| ObjectKey::Expression(Expression::from(key.as_str())));
                (key, expression(value))
            };
            Expression::Object(map.iter().map(entry).collect())
        }
    }
}

impl File {
    fn read(&mut self, name: &str, text: &str) -> Result<(), BuildsError> {
        self.texts.push((name.to_owned(), text.to_owned()));
        let is_json = name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"));
        if is_json { self.read_json(text) } else { self.read_hcl(text) }
    }

    fn read_hcl(&mut self, text: &str) -> Result<(), BuildsError> {
        let body = hcl::parse(text).map_err(|error| match error {
            hcl::Error::Parse(error) => BuildsError::Broken {
                message: error.message().to_owned(),
                line: error.location().line(),
                column: error.location().column(),
            },
            other => BuildsError::Unreadable(other.to_string()),
        })?;
        for structure in body {
            let block = match structure {
                Structure::Block(block) => block,
                Structure::Attribute(attribute) => {
                    self.variable(attribute.key.as_str().to_owned(), Some(attribute.expr));
                    continue;
                }
            };
            let Some(label) = block.labels.first().map(|label| label.as_str().to_owned()) else { continue };
            let kind = block.identifier.as_str().to_owned();
            let attributes = block.body.into_iter().filter_map(|structure| match structure {
                Structure::Attribute(attribute) => Some((attribute.key.as_str().to_owned(), attribute.expr)),
                Structure::Block(_) => None,
            });
            self.add(&kind, label, attributes.collect());
        }
        Ok(())
    }

    fn read_json(&mut self, text: &str) -> Result<(), BuildsError> {
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let told = error.to_string();
            let message = told.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&told).to_owned();
            BuildsError::Broken { message, line, column }
        })?;
        for (kind, labels) in value.as_object().into_iter().flatten() {
            if !BLOCKS.contains(&kind.as_str()) {
                self.variable(kind.clone(), Some(expression(labels)));
                continue;
            }
            for (label, attributes) in labels.as_object().into_iter().flatten() {
                let attributes = attributes.as_object().into_iter().flatten();
                let attributes = attributes.map(|(key, value)| (key.clone(), expression(value))).collect();
                self.add(kind, label.clone(), attributes);
            }
        }
        Ok(())
    }

    /// Gives a variable its value, in place of one that it had; one that is declared without a value keeps its own.
    fn variable(&mut self, name: String, value: Option<Expression>) {
        match self.variables.iter_mut().find(|(own, _)| *own == name) {
            Some((_, own)) if value.is_some() => *own = value,
            Some(_) => {}
            None => self.variables.push((name, value)),
        }
    }

    fn builds(&self) -> Result<Vec<Build>, BuildsError> {
        let context = context(&self.variables, &self.functions);
        let mut found: Vec<Build> = Vec::new();
        let wanted = self.wanted(&context, &mut found);
        let mut open: VecDeque<(String, bool)> = wanted.into_iter().map(|name| (name, true)).collect();
        let mut seen: BTreeSet<String> = open.iter().map(|(name, _)| name.clone()).collect();
        while let Some((target, asked)) = open.pop_front() {
            for (name, variables) in self.rows(&target, &context) {
                if found.len() >= MOST_BUILDS {
                    return Err(BuildsError::TooBig);
                }
                let name = match name {
                    Ok(name) => name,
                    // The rows of a matrix have one expression for their names.
                    Err(why) => {
                        found.push(Build { recipe: Recipe::Unknown(why), asked, ..Build::new(&target) });
                        break;
                    }
                };
                let context = with(&context, &variables);
                let own = self.attributes(&target, &context);
                let mut build = Build { asked, ..build(&name, &own, &context) };
                build.notes.extend(self.unsupported(&target, &own, &context));
                let further = build.referred().map(|(_, name)| name).filter(|name| self.targets.contains_key(*name));
                let new = further.filter(|name| seen.insert((*name).to_owned()));
                open.extend(new.map(|name| (name.to_owned(), false)));
                found.push(build);
            }
        }
        Ok(found)
    }

    /// The attributes of a target with those that it inherits, and the values of the calls in them.
    fn attributes(&self, target: &str, context: &Context<'_>) -> Attributes {
        let mut attributes = Attributes::new();
        self.inherited(target, context, &mut attributes, &mut 0);
        attributes.into_iter().map(|(key, value)| (key, self.functions.called(&value, context))).collect()
    }

    /// The targets that the matrix of a target makes; the target itself where there is none.
    fn rows(&self, target: &str, context: &Context<'_>) -> Vec<Row> {
        let attributes = self.attributes(target, context);
        let Some(rows) = matrix(&attributes, context) else { return vec![(Ok(target.to_owned()), Vec::new())] };
        let named = |(at, row): (usize, Vec<(String, Value)>)| {
            let context = with(context, &row);
            let own = self.attributes(target, &context);
            let name = own.get("name").and_then(|name| text(&evaluate(name, &context)?));
            let refused = || self.refused(target, "name", own.get("name")?, &context);
            let name = name.map_or_else(|| refused().map_or_else(|| Ok(format!("{target}-{at}")), Err), Ok);
            (name, row)
        };
        rows.into_iter().enumerate().map(named).collect()
    }

    /// The targets that others inherit from.
    fn parents(&self, context: &Context<'_>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for attributes in self.targets.values() {
            let Some(parents) = attributes.get("inherits") else { continue };
            for row in matrix(attributes, context).unwrap_or_else(|| vec![Vec::new()]) {
                let context = with(context, &row);
                found.extend(list(&self.functions.called(parents, &context), &context).unwrap_or_default());
            }
        }
        found
    }

    fn add(&mut self, kind: &str, label: String, attributes: Attributes) {
        match kind {
            "variable" => self.variable(label, attributes.get("default").cloned()),
            "function" => self.functions.add(label, &attributes),
            "group" => self.groups.entry(label).or_default().extend(attributes.get("targets").cloned()),
            "target" => over(self.targets.entry(label).or_default(), attributes),
            _ => {}
        }
    }

    /// The targets to build, sorted; a group of which that cannot be told is a build of its own that says so.
    fn wanted(&self, context: &Context<'_>, found: &mut Vec<Build>) -> Vec<String> {
        if self.groups.is_empty() {
            let parents = self.parents(context);
            let concrete = self.targets.keys().filter(|name| !self.is_abstract(name, &parents, context));
            let concrete: Vec<String> = concrete.cloned().collect();
            return if concrete.is_empty() { self.targets.keys().cloned().collect() } else { concrete };
        }
        let mut wanted = BTreeSet::new();
        // Without a group of this name, `docker buildx bake` builds the target.
        if self.targets.contains_key("default") && !self.groups.contains_key("default") {
            wanted.insert("default".to_owned());
        }
        for (group, written) in &self.groups {
            for targets in written {
                let Some(names) = list(&self.functions.called(targets, context), context) else {
                    let why = format!(
                        "the targets of group `{group}` are unknown, because their expression could not be evaluated"
                    );
                    found.push(Build { recipe: Recipe::Unknown(why), ..Build::new(group) });
                    continue;
                };
                for name in names {
                    if self.targets.contains_key(&name) {
                        wanted.insert(name);
                    } else if !self.groups.contains_key(&name) {
                        // One that a matrix makes.
                        let made = |target: &&String| name.starts_with(target.as_str()) || self.renames(target);
                        wanted
                            .extend(self.targets.keys().filter(|target| self.has_matrix(target)).filter(made).cloned());
                    }
                }
            }
        }
        wanted.into_iter().collect()
    }

    /// Whether a target only serves others: by convention its name starts with `_`, or others inherit from it and it has
    /// neither a tag nor an output. `docker buildx bake` builds the target `default` if no group has this name.
    fn is_abstract(&self, name: &str, parents: &BTreeSet<String>, context: &Context<'_>) -> bool {
        let has = |key: &str| {
            let written = self.targets.get(name).and_then(|own| own.get(key));
            written.is_some_and(|written| !is_empty(evaluate(&self.functions.called(written, context), context)))
        };
        let result = name == "default" || has("tags") || has("output");
        name.starts_with('_') || (!result && parents.contains(name))
    }

    fn has_matrix(&self, target: &str) -> bool {
        self.targets.get(target).is_some_and(|attributes| attributes.contains_key("matrix"))
    }

    /// Whether the targets that a matrix makes have names of their own.
    fn renames(&self, target: &str) -> bool {
        self.targets.get(target).is_some_and(|attributes| attributes.contains_key("name"))
    }

    /// The attributes of a target over those that it inherits.
    fn inherited(&self, name: &str, context: &Context<'_>, attributes: &mut Attributes, asked: &mut usize) {
        *asked += 1;
        let Some(own) = self.targets.get(name).filter(|_| *asked <= LONGEST_CHAIN) else { return };
        let parents = own.get("inherits").map(|parents| self.functions.called(parents, context));
        let parents = parents.and_then(|parents| list(&parents, context)).unwrap_or_default();
        for parent in parents {
            self.inherited(&parent, context, attributes, asked);
        }
        over(attributes, own.clone());
    }
}

/// Puts attributes over others: arguments and contexts are merged.
fn over(attributes: &mut Attributes, above: Attributes) {
    for (key, value) in above {
        match (attributes.get_mut(&key), value) {
            (Some(Expression::Object(below)), Expression::Object(above)) if key == "args" || key == "contexts" => {
                for (key, value) in above {
                    below.insert(key, value);
                }
            }
            (_, value) => drop(attributes.insert(key, value)),
        }
    }
}

fn list(expression: &Expression, context: &Context<'_>) -> Option<Vec<String>> {
    evaluate(expression, context)?.as_array()?.iter().map(text).collect()
}

/// Whether a value names nothing; what is not known may name something.
fn is_empty(value: Option<Value>) -> bool {
    match value {
        Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.into_iter().all(|one| is_empty(Some(one))),
        _ => false,
    }
}

/// The rows of a matrix, each with its variables; none where there is no matrix.
fn matrix(attributes: &Attributes, context: &Context<'_>) -> Option<Vec<Vec<(String, Value)>>> {
    let axes = attributes.get("matrix").and_then(|matrix| evaluate(matrix, context));
    let axes = axes.as_ref().and_then(Value::as_object)?;
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
    Some(rows)
}

/// A context with the variables of a row.
fn with<'a>(context: &Context<'a>, row: &[(String, Value)]) -> Context<'a> {
    let mut context = context.clone();
    for (axis, value) in row {
        context.declare_var(axis.clone(), value.clone());
    }
    context
}

fn build(name: &str, attributes: &Attributes, context: &Context<'_>) -> Build {
    let mut build = Build::new(name);
    let mut notes = Vec::new();
    let mut value = |key: &str| {
        let written = attributes.get(key)?;
        let value = evaluate(written, context);
        if value.is_none() {
            notes.push(format!("`{key}` of target `{name}` is unknown, because its expression could not be evaluated"));
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
    for key in ["name", "matrix", "inherits"] {
        value(key);
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
                None => notes.push(format!(
                    "`{key}` of target `{name}` is unknown, because its expression could not be evaluated"
                )),
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
