//! Bake files in HCL or JSON: the targets of all groups, or every target if there is no group.
//!
//! Several files make one definition (docs.docker.com/build/bake/overrides).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hcl::eval::Context;
use hcl::expr::{ObjectKey, TemplateExpr};
use hcl::{Expression, Identifier, Structure, Value};

use crate::dockerfile::builds::bake_expression::{BakeFunctions, evaluate_expression, evaluation_context, value_text};
use crate::dockerfile::builds::{BuildsError, DockerfileSource, ImageBuild, MAX_BUILDS, check_file_limits};
use crate::model::cause::Cause;

/// Maximum number of targets in the resolution of `inherits`.
const MAX_INHERITED_TARGETS: usize = 32;

/// Block types of a bake file; any other top-level name is a variable.
const BLOCK_TYPES: &[&str] = &["variable", "function", "group", "target"];

/// The attributes of a block by name.
pub(super) type BakeAttributes = BTreeMap<String, Expression>;

/// A target of a matrix, or a target without one: its name, or why that is unknown, and its variables.
type MatrixTarget = (Result<String, Cause>, Vec<(String, Value)>);

/// The merged content of bake files; later files override earlier ones.
#[derive(Debug, Default)]
pub(super) struct BakeDefinition {
    pub(super) variables: Vec<(String, Option<Expression>)>,
    groups: BTreeMap<String, Vec<Expression>>,
    targets: BTreeMap<String, BakeAttributes>,
    pub(super) functions: BakeFunctions,
    /// Names and texts of the files.
    pub(super) texts: Vec<(String, String)>,
}

/// Returns the builds of a bake file, followed by those that others depend on.
pub fn read_bake_file(name: &str, file: &str) -> Result<Vec<ImageBuild>, BuildsError> {
    read_bake_files(&[(name, file)]).map_err(|(_, error)| error)
}

/// Returns the builds of several bake files (names and texts); later files override earlier ones. An error includes
/// the file index.
pub fn read_bake_files(files: &[(&str, &str)]) -> Result<Vec<ImageBuild>, (usize, BuildsError)> {
    let mut file = BakeDefinition::default();
    for (at, (name, text)) in files.iter().enumerate() {
        check_file_limits(text).and_then(|()| file.add_file(name, text)).map_err(|error| (at, error))?;
    }
    file.builds().map_err(|error| (0, error))
}

/// Converts a JSON value to an expression; strings may be templates.
fn expression_from_json(value: &serde_json::Value) -> Expression {
    match value {
        serde_json::Value::Null => Expression::Null,
        serde_json::Value::Bool(truth) => Expression::Bool(*truth),
        serde_json::Value::Number(number) => Expression::from(number.to_string()),
        serde_json::Value::String(text) if text.contains("${") || text.contains("%{") => {
            TemplateExpr::from(text.as_str()).into()
        }
        serde_json::Value::String(text) => Expression::from(text.as_str()),
        serde_json::Value::Array(list) => Expression::Array(list.iter().map(expression_from_json).collect()),
        serde_json::Value::Object(map) => {
            let entry = |(key, value): (&String, &serde_json::Value)| {
                // Keys are identifiers as in HCL, so that a key in one file overrides the same key in another.
                let name = Identifier::new(key.as_str()).map(ObjectKey::Identifier);
                let key = name.unwrap_or_else(|_| ObjectKey::Expression(Expression::from(key.as_str())));
                (key, expression_from_json(value))
            };
            Expression::Object(map.iter().map(entry).collect())
        }
    }
}

impl BakeDefinition {
    /// Adds a file in HCL, or in JSON by its extension.
    fn add_file(&mut self, name: &str, text: &str) -> Result<(), BuildsError> {
        self.texts.push((name.to_owned(), text.to_owned()));
        let is_json = name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"));
        if is_json { self.add_json(text) } else { self.add_hcl(text) }
    }

    /// Adds a file in HCL.
    fn add_hcl(&mut self, text: &str) -> Result<(), BuildsError> {
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
                    self.set_variable(attribute.key.as_str().to_owned(), Some(attribute.expr));
                    continue;
                }
            };
            let Some(label) = block.labels.first().map(|label| label.as_str().to_owned()) else { continue };
            let kind = block.identifier.as_str().to_owned();
            let attributes = block.body.into_iter().filter_map(|structure| match structure {
                Structure::Attribute(attribute) => Some((attribute.key.as_str().to_owned(), attribute.expr)),
                Structure::Block(_) => None,
            });
            self.add_block(&kind, label, attributes.collect());
        }
        Ok(())
    }

    /// Adds a file in JSON.
    fn add_json(&mut self, text: &str) -> Result<(), BuildsError> {
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let error_text = error.to_string();
            let message =
                error_text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&error_text).to_owned();
            BuildsError::Broken { message, line, column }
        })?;
        for (kind, labels) in value.as_object().into_iter().flatten() {
            if !BLOCK_TYPES.contains(&kind.as_str()) {
                self.set_variable(kind.clone(), Some(expression_from_json(labels)));
                continue;
            }
            for (label, attributes) in labels.as_object().into_iter().flatten() {
                let attributes = attributes.as_object().into_iter().flatten();
                let attributes = attributes.map(|(key, value)| (key.clone(), expression_from_json(value))).collect();
                self.add_block(kind, label.clone(), attributes);
            }
        }
        Ok(())
    }

    /// Sets a variable; a declaration without a value keeps an earlier value.
    fn set_variable(&mut self, name: String, value: Option<Expression>) {
        match self.variables.iter_mut().find(|(own, _)| *own == name) {
            Some((_, own)) if value.is_some() => *own = value,
            Some(_) => {}
            None => self.variables.push((name, value)),
        }
    }

    /// Returns the builds of the selected targets, followed by those that they depend on.
    fn builds(&self) -> Result<Vec<ImageBuild>, BuildsError> {
        let context = evaluation_context(&self.variables, &self.functions);
        let mut found: Vec<ImageBuild> = Vec::new();
        let selected = self.selected_targets(&context, &mut found);
        let mut open: VecDeque<(String, bool)> = selected.into_iter().map(|name| (name, true)).collect();
        let mut seen: BTreeSet<String> = open.iter().map(|(name, _)| name.clone()).collect();
        while let Some((target, requested)) = open.pop_front() {
            for (name, variables) in self.matrix_targets(&target, &context) {
                if found.len() >= MAX_BUILDS {
                    return Err(BuildsError::TooBig);
                }
                let name = match name {
                    Ok(name) => name,
                    // The rows of a matrix have one expression for their names.
                    Err(why) => {
                        found.push(ImageBuild {
                            recipe: DockerfileSource::Unknown(why),
                            requested,
                            ..ImageBuild::new(&target)
                        });
                        break;
                    }
                };
                let context = context_with_variables(&context, &variables);
                let own = self.target_attributes(&target, &context);
                let mut build = ImageBuild { requested, ..build_target(&name, &own, &context) };
                let notes = self.evaluation_notes(&target, &own, &context);
                if let Some(key) = undecided_attribute(&own, &context) {
                    let note = notes.iter().find(|(attribute, _)| attribute == key);
                    let why = note.map_or_else(|| unevaluated_attribute(key, &name), |(_, note)| note.clone());
                    build.recipe = DockerfileSource::Unknown(why);
                }
                build.notes.extend(notes.into_iter().map(|(_, note)| note));
                let further =
                    build.referenced_builds().map(|(_, name)| name).filter(|name| self.targets.contains_key(*name));
                let new = further.filter(|name| seen.insert((*name).to_owned()));
                open.extend(new.map(|name| (name.to_owned(), false)));
                found.push(build);
            }
        }
        Ok(found)
    }

    /// Returns the attributes of a target, including inherited ones, with calls of its own functions evaluated.
    fn target_attributes(&self, target: &str, context: &Context<'_>) -> BakeAttributes {
        let mut attributes = BakeAttributes::new();
        self.merge_inherited(target, context, &mut attributes, &mut 0);
        attributes.into_iter().map(|(key, value)| (key, self.functions.evaluate_calls(&value, context))).collect()
    }

    /// Returns the targets that the matrix of a target generates; without a matrix, the target itself.
    fn matrix_targets(&self, target: &str, context: &Context<'_>) -> Vec<MatrixTarget> {
        let attributes = self.target_attributes(target, context);
        let Some(rows) = matrix_rows(&attributes, context) else { return vec![(Ok(target.to_owned()), Vec::new())] };
        let named = |row: Vec<(String, Value)>| {
            let context = context_with_variables(context, &row);
            let own = self.target_attributes(target, &context);
            let name = own.get("name").and_then(|name| value_text(&evaluate_expression(name, &context)?));
            let refused = || self.failure_note(target, "name", own.get("name")?, &context);
            let name = name.map_or_else(|| refused().map_or_else(|| Ok(unnamed_target(target, &row)), Err), Ok);
            (name, row)
        };
        rows.into_iter().map(named).collect()
    }

    /// Returns the targets that others inherit from.
    fn inherited_targets(&self, context: &Context<'_>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for attributes in self.targets.values() {
            let Some(parents) = attributes.get("inherits") else { continue };
            for row in matrix_rows(attributes, context).unwrap_or_else(|| vec![Vec::new()]) {
                let context = context_with_variables(context, &row);
                found.extend(
                    evaluate_list(&self.functions.evaluate_calls(parents, &context), &context).unwrap_or_default(),
                );
            }
        }
        found
    }

    /// Adds a block.
    fn add_block(&mut self, kind: &str, label: String, attributes: BakeAttributes) {
        match kind {
            "variable" => self.set_variable(label, attributes.get("default").cloned()),
            "function" => self.functions.add_function(label, &attributes),
            "group" => self.groups.entry(label).or_default().extend(attributes.get("targets").cloned()),
            "target" => merge_attributes(self.targets.entry(label).or_default(), attributes),
            _ => {}
        }
    }

    /// Returns the targets to build, sorted; for a group that cannot be evaluated, adds a build with the reason to
    /// `found`.
    fn selected_targets(&self, context: &Context<'_>, found: &mut Vec<ImageBuild>) -> Vec<String> {
        if self.groups.is_empty() {
            let parents = self.inherited_targets(context);
            let concrete = self.targets.keys().filter(|name| !self.is_abstract(name, &parents, context));
            let concrete: Vec<String> = concrete.cloned().collect();
            return if concrete.is_empty() { self.targets.keys().cloned().collect() } else { concrete };
        }
        let mut selected = BTreeSet::new();
        // Without a group of this name, `docker buildx bake` builds the target.
        if self.targets.contains_key("default") && !self.groups.contains_key("default") {
            selected.insert("default".to_owned());
        }
        for (group, written) in &self.groups {
            for targets in written {
                let Some(names) = evaluate_list(&self.functions.evaluate_calls(targets, context), context) else {
                    let why = Cause::GroupTargets { group: group.clone() };
                    found.push(ImageBuild { recipe: DockerfileSource::Unknown(why), ..ImageBuild::new(group) });
                    continue;
                };
                for name in names {
                    if self.targets.contains_key(&name) {
                        selected.insert(name);
                    } else if !self.groups.contains_key(&name) {
                        // One that a matrix makes.
                        let made =
                            |target: &&String| name.starts_with(target.as_str()) || self.has_name_attribute(target);
                        selected
                            .extend(self.targets.keys().filter(|target| self.has_matrix(target)).filter(made).cloned());
                    }
                }
            }
        }
        selected.into_iter().collect()
    }

    /// Whether a target only serves others: its name begins with `_`, or others inherit from it and it has neither a
    /// tag nor an output.
    fn is_abstract(&self, name: &str, parents: &BTreeSet<String>, context: &Context<'_>) -> bool {
        let has = |key: &str| {
            let written = self.targets.get(name).and_then(|own| own.get(key));
            written.is_some_and(|written| {
                !is_empty_value(evaluate_expression(&self.functions.evaluate_calls(written, context), context))
            })
        };
        let result = name == "default" || has("tags") || has("output");
        name.starts_with('_') || (!result && parents.contains(name))
    }

    /// Whether a target has a matrix.
    fn has_matrix(&self, target: &str) -> bool {
        self.targets.get(target).is_some_and(|attributes| attributes.contains_key("matrix"))
    }

    /// Whether a target sets the names of its matrix targets.
    fn has_name_attribute(&self, target: &str) -> bool {
        self.targets.get(target).is_some_and(|attributes| attributes.contains_key("name"))
    }

    /// Merges the attributes of a target, after those that it inherits, into `attributes`.
    fn merge_inherited(&self, name: &str, context: &Context<'_>, attributes: &mut BakeAttributes, visited: &mut usize) {
        *visited += 1;
        let Some(own) = self.targets.get(name).filter(|_| *visited <= MAX_INHERITED_TARGETS) else { return };
        let parents = own.get("inherits").map(|parents| self.functions.evaluate_calls(parents, context));
        let parents = parents.and_then(|parents| evaluate_list(&parents, context)).unwrap_or_default();
        for parent in parents {
            self.merge_inherited(&parent, context, attributes, visited);
        }
        merge_attributes(attributes, own.clone());
    }
}

/// Merges attributes into others: `args` and `contexts` by entry, all others by replacement.
fn merge_attributes(attributes: &mut BakeAttributes, above: BakeAttributes) {
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

/// Evaluates an expression to a list of strings.
fn evaluate_list(expression: &Expression, context: &Context<'_>) -> Option<Vec<String>> {
    evaluate_expression(expression, context)?.as_array()?.iter().map(value_text).collect()
}

/// Whether a value is null or has only empty strings; false if unknown.
fn is_empty_value(value: Option<Value>) -> bool {
    match value {
        Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.into_iter().all(|one| is_empty_value(Some(one))),
        _ => false,
    }
}

/// Returns the combinations of a matrix, each with its variables; `None` without a matrix.
fn matrix_rows(attributes: &BakeAttributes, context: &Context<'_>) -> Option<Vec<Vec<(String, Value)>>> {
    let axes = attributes.get("matrix").and_then(|matrix| evaluate_expression(matrix, context));
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
        rows = longer.take(MAX_BUILDS + 1).collect();
    }
    Some(rows)
}

/// Attributes that decide which Dockerfile and which of its stages a target builds.
const DECISIVE_ATTRIBUTES: [&str; 6] = ["context", "dockerfile", "dockerfile-inline", "inherits", "matrix", "target"];

/// Returns the first decisive attribute without a value, if any.
fn undecided_attribute(attributes: &BakeAttributes, context: &Context<'_>) -> Option<&'static str> {
    let without_value =
        |key: &str| attributes.get(key).is_some_and(|written| evaluate_expression(written, context).is_none());
    DECISIVE_ATTRIBUTES.into_iter().find(|key| without_value(key))
}

/// Returns the cause for an attribute whose expression has no value.
fn unevaluated_attribute(key: &str, target: &str) -> Cause {
    Cause::TargetAttribute { key: key.to_owned(), target: target.to_owned() }
}

/// Returns a title for a target of a matrix whose name is unknown: `app (name unknown; cuda = 12.4)`.
fn unnamed_target(target: &str, row: &[(String, Value)]) -> String {
    let values: Vec<String> = row
        .iter()
        .map(|(axis, value)| format!("{axis} = {}", value_text(value).unwrap_or_else(|| value.to_string())))
        .collect();
    format!("{target} (name unknown; {})", values.join(", "))
}

/// Returns a copy of a context with additional variables.
fn context_with_variables<'a>(context: &Context<'a>, row: &[(String, Value)]) -> Context<'a> {
    let mut context = context.clone();
    for (axis, value) in row {
        context.declare_var(axis.clone(), value.clone());
    }
    context
}

/// Returns the build of a target.
fn build_target(name: &str, attributes: &BakeAttributes, context: &Context<'_>) -> ImageBuild {
    let mut build = ImageBuild::new(name);
    let mut notes = Vec::new();
    let mut value = |key: &str| {
        let written = attributes.get(key)?;
        let value = evaluate_expression(written, context);
        if value.is_none() {
            notes.push(unevaluated_attribute(key, name));
        }
        value.filter(|value| !matches!(value, Value::Null))
    };
    if let Some(context) = value("context").as_ref().and_then(value_text) {
        build.context = context;
    }
    if let Some(path) = value("dockerfile").as_ref().and_then(value_text) {
        build.recipe = DockerfileSource::Path(path);
    }
    if let Some(inline) = value("dockerfile-inline").as_ref().and_then(value_text) {
        build.recipe = DockerfileSource::Inline(inline);
    }
    for key in ["name", "matrix", "inherits"] {
        value(key);
    }
    build.target = value("target").as_ref().and_then(value_text);
    let platforms = value("platforms");
    let platforms = platforms.as_ref().and_then(Value::as_array).into_iter().flatten();
    build.platforms = platforms.filter_map(value_text).collect();
    for (key, into) in [("args", &mut build.args), ("contexts", &mut build.contexts)] {
        match attributes.get(key) {
            Some(Expression::Object(entries)) => {
                for (key, written) in entries {
                    let Some(key) = object_key_text(key, context) else { continue };
                    match evaluate_expression(written, context) {
                        Some(Value::Null) => {}
                        value => drop(into.insert(key, value.as_ref().and_then(value_text))),
                    }
                }
            }
            Some(written) => match evaluate_expression(written, context).as_ref().and_then(Value::as_object) {
                Some(entries) => into.extend(entries.iter().map(|(key, value)| (key.clone(), value_text(value)))),
                None => notes.push(unevaluated_attribute(key, name)),
            },
            None => {}
        }
    }
    build.notes = notes;
    build
}

/// Returns the key of an object entry as text.
fn object_key_text(key: &ObjectKey, context: &Context<'_>) -> Option<String> {
    match key {
        ObjectKey::Identifier(name) => Some(name.as_str().to_owned()),
        ObjectKey::Expression(written) => value_text(&evaluate_expression(written, context)?),
        _ => None,
    }
}
