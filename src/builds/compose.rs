//! Compose files: the services that are built.
//!
//! Several files make one definition (docs.docker.com/compose/how-tos/multiple-compose-files/merge).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builds::Build;
use crate::builds::BuildsError;
use crate::builds::MOST_BUILDS;
use crate::builds::Recipe;
use crate::builds::extends::Opens;
use crate::builds::extends::Services;
use crate::builds::extends::folder;
use crate::builds::extends::parsed;
use crate::builds::extends::together;
use crate::builds::interpolate::interpolate;
use crate::builds::request::Request;
use crate::builds::request::request;

/// The builds of a compose file; `variables` are those of the `.env` file beside it, and `open` opens a file that a
/// service extends or the file includes, by its path from the compose file's folder.
///
/// A service of a profile is built like every other: somebody asks for it.
pub fn compose(text: &str, variables: &BTreeMap<String, String>, open: Opens<'_>) -> Result<Vec<Build>, BuildsError> {
    compose_merged(&[text], variables, open).map_err(|(_, error)| error)
}

/// The builds of compose files that are given together: they make one definition, in which a later file stands over an
/// earlier one. Paths are seen from the folder of the first. An error says which file it is of.
pub fn compose_merged(
    texts: &[&str],
    variables: &BTreeMap<String, String>,
    open: Opens<'_>,
) -> Result<Vec<Build>, (usize, BuildsError)> {
    let of_file = |(at, text): (usize, &&str)| parsed(text).map_err(|error| (at, error));
    let files = texts.iter().enumerate().map(of_file).collect::<Result<Vec<_>, _>>()?;
    builds(&together(files), variables, open).map_err(|error| (0, error))
}

fn builds(file: &Value, variables: &BTreeMap<String, String>, open: Opens<'_>) -> Result<Vec<Build>, BuildsError> {
    let mut services = Services::new(file, variables, open)?;
    let names = services.names();
    if names.len() > MOST_BUILDS {
        return Err(BuildsError::TooBig);
    }
    let build = |(file, name, image): (String, String, bool)| {
        let (build, platform, missing) = services.built(&file, &name);
        // Of an image by name nothing has to be built, whatever it extends.
        if build.is_none() && (image || missing.is_none()) {
            return None;
        }
        let (whole, unread) = services.whole(&file, &name, 0);
        let written = build.unwrap_or(Value::Null);
        let variables = services.variables(&file).unwrap_or(variables);
        let mut build = service_build(&name, &written, platform.as_ref(), variables);
        let request = request(&whole, folder(&file), variables, open);
        build.asked = unread.is_some() || request == Request::Made;
        build.refuses = request == Request::Refused;
        if let Some(why) = missing {
            if written.get("context").is_none() {
                build.recipe = Recipe::Unknown(why);
            } else {
                build.notes.push(why);
            }
        }
        Some(build)
    };
    Ok(names.into_iter().filter_map(build).collect())
}

fn service_build(name: &str, written: &Value, platform: Option<&Value>, variables: &BTreeMap<String, String>) -> Build {
    let mut build = Build::new(name);
    let mut notes = Vec::new();
    let mut said = |key: &str, value: Option<&Value>| {
        let value = interpolate(&scalar(value?)?, variables);
        if value.is_none() {
            notes.push(format!("`{key}` of service `{name}` is unknown, because a variable in it has no known value"));
        }
        value
    };
    build.context = said("context", written.get("context")).unwrap_or(build.context);
    if let Some(path) = said("dockerfile", written.get("dockerfile")) {
        build.recipe = Recipe::Path(path);
    }
    if let Some(inline) = said("dockerfile_inline", written.get("dockerfile_inline")) {
        build.recipe = Recipe::Inline(inline);
    }
    build.target = said("target", written.get("target"));
    build.args = args(written.get("args"), variables);
    let contexts = written.get("additional_contexts").and_then(Value::as_object).into_iter().flatten();
    let context =
        |(name, value): (&String, &Value)| (name.clone(), scalar(value).and_then(|text| interpolate(&text, variables)));
    build.contexts = contexts.map(context).collect();
    let platforms = written.get("platforms").and_then(Value::as_array).into_iter().flatten();
    build.platforms = platforms.filter_map(|platform| interpolate(&scalar(platform)?, variables)).collect();
    if let Some(platform) = said("platform", platform).filter(|_| build.platforms.is_empty()) {
        build.platforms.push(platform);
    }
    build.notes = notes;
    build
}

fn args(written: Option<&Value>, variables: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let from_environment = |name: &str| variables.get(name).cloned();
    let arg = |(name, value): (&String, &Value)| match scalar(value) {
        Some(value) => (name.clone(), interpolate(&value, variables)),
        None => (name.clone(), from_environment(name)),
    };
    written.and_then(Value::as_object).into_iter().flatten().map(arg).collect()
}

/// A scalar as text; `None` for lists, maps and null.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
