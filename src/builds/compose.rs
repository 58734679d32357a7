//! Compose files: the services that are built.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builds::Build;
use crate::builds::BuildsError;
use crate::builds::MOST_BUILDS;
use crate::builds::Recipe;
use crate::builds::bounded;
use crate::builds::interpolate::interpolate;

/// The builds of a compose file; `variables` are those of the `.env` file beside it.
pub fn compose(text: &str, variables: &BTreeMap<String, String>) -> Result<Vec<Build>, BuildsError> {
    bounded(text)?;
    let unreadable = |message: String| BuildsError::Unreadable(message);
    let file: Value = serde_saphyr::from_str(text)
        .map_err(|error| unreadable(error.to_string().lines().next().unwrap_or("no YAML").to_owned()))?;
    let services = file.get("services").and_then(Value::as_object);
    let services = services.ok_or_else(|| unreadable("there is no mapping `services`".to_owned()))?;
    if services.len() > MOST_BUILDS {
        return Err(BuildsError::TooBig);
    }
    Ok(services.iter().filter_map(|(name, service)| service_build(name, service, variables)).collect())
}

fn service_build(name: &str, service: &Value, variables: &BTreeMap<String, String>) -> Option<Build> {
    let written = service.get("build")?;
    let mut build = Build::new(name);
    let mut notes = Vec::new();
    let mut said = |key: &str, value: Option<&Value>| {
        let value = interpolate(&plain(value?)?, variables);
        if value.is_none() {
            notes.push(format!("`{key}` of service `{name}` cannot be told from the file"));
        }
        value
    };
    if written.is_string() {
        build.context = said("build", Some(written)).unwrap_or(build.context);
    } else {
        build.context = said("context", written.get("context")).unwrap_or(build.context);
        if let Some(path) = said("dockerfile", written.get("dockerfile")) {
            build.recipe = Recipe::Path(path);
        }
        if let Some(inline) = said("dockerfile_inline", written.get("dockerfile_inline")) {
            build.recipe = Recipe::Inline(inline);
        }
        build.target = said("target", written.get("target"));
        build.args = args(written.get("args"), variables);
        let platforms = written.get("platforms").and_then(Value::as_array).into_iter().flatten();
        build.platforms = platforms.filter_map(|platform| interpolate(&plain(platform)?, variables)).collect();
    }
    if let Some(platform) = said("platform", service.get("platform")).filter(|_| build.platforms.is_empty()) {
        build.platforms.push(platform);
    }
    build.notes = notes;
    Some(build)
}

fn args(written: Option<&Value>, variables: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let from_environment = |name: &str| variables.get(name).cloned();
    match written {
        Some(Value::Object(map)) => {
            let arg = |(name, value): (&String, &Value)| match plain(value) {
                Some(value) => (name.clone(), interpolate(&value, variables)),
                None => (name.clone(), from_environment(name)),
            };
            map.iter().map(arg).collect()
        }
        Some(Value::Array(list)) => {
            let arg = |item: &Value| {
                let item = plain(item)?;
                Some(match item.split_once('=') {
                    Some((name, value)) => (name.to_owned(), interpolate(value, variables)),
                    None => (item.clone(), from_environment(&item)),
                })
            };
            list.iter().filter_map(arg).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// A scalar as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
