//! Compose files: the services that are built.
//!
//! Several files make one definition (docs.docker.com/compose/how-tos/multiple-compose-files/merge).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builds::compose_services::{ComposeServices, FileOpener, merge_files, parent_directory, parse_compose};
use crate::builds::gpu_request::{ServiceGpuRequest, service_gpu_request};
use crate::builds::interpolation::substitute_variables;
use crate::builds::{BuildsError, DockerfileSource, ImageBuild, MAX_BUILDS};

/// Returns the builds of a compose file, with the variables of its `.env` file; `open` opens files that it extends or
/// includes.
///
/// A service of a profile is built like every other: somebody asks for it.
pub fn read_compose_file(
    text: &str,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> Result<Vec<ImageBuild>, BuildsError> {
    read_compose_files(&[text], variables, open).map_err(|(_, error)| error)
}

/// Returns the builds of several compose files; later files override earlier ones. Paths are relative to the first.
/// An error includes the file index.
pub fn read_compose_files(
    texts: &[&str],
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> Result<Vec<ImageBuild>, (usize, BuildsError)> {
    let of_file = |(at, text): (usize, &&str)| parse_compose(text).map_err(|error| (at, error));
    let files = texts.iter().enumerate().map(of_file).collect::<Result<Vec<_>, _>>()?;
    compose_builds(&merge_files(files), variables, open).map_err(|error| (0, error))
}

/// Returns the builds of a merged compose file.
fn compose_builds(
    file: &Value,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> Result<Vec<ImageBuild>, BuildsError> {
    let mut services = ComposeServices::new(file, variables, open)?;
    let names = services.service_names();
    if names.len() > MAX_BUILDS {
        return Err(BuildsError::TooBig);
    }
    let build = |(file, name, image): (String, String, bool)| {
        let (build, platform, missing) = services.build_of_service(&file, &name);
        // Of an image by name nothing has to be built, whatever it extends.
        if build.is_none() && (image || missing.is_none()) {
            return None;
        }
        let (whole, unread) = services.merged_service(&file, &name, 0);
        let written = build.unwrap_or(Value::Null);
        let variables = services.variables_of_file(&file).unwrap_or(variables);
        let mut build = build_service(&name, &written, platform.as_ref(), variables);
        let request = service_gpu_request(&whole, parent_directory(&file), variables, open);
        build.asked = unread.is_some() || request == ServiceGpuRequest::Made;
        build.refuses = request == ServiceGpuRequest::Refused;
        if let Some(why) = missing {
            if written.get("context").is_none() {
                build.recipe = DockerfileSource::Unknown(why);
            } else {
                build.notes.push(why);
            }
        }
        Some(build)
    };
    Ok(names.into_iter().filter_map(build).collect())
}

/// Returns the build of a service.
fn build_service(
    name: &str,
    written: &Value,
    platform: Option<&Value>,
    variables: &BTreeMap<String, String>,
) -> ImageBuild {
    let mut build = ImageBuild::new(name);
    let mut notes = Vec::new();
    let mut said = |key: &str, value: Option<&Value>| {
        let value = substitute_variables(&scalar_text(value?)?, variables);
        if value.is_none() {
            notes.push(format!("`{key}` of service `{name}` is unknown, because a variable in it has no known value"));
        }
        value
    };
    build.context = said("context", written.get("context")).unwrap_or(build.context);
    if let Some(path) = said("dockerfile", written.get("dockerfile")) {
        build.recipe = DockerfileSource::Path(path);
    }
    if let Some(inline) = said("dockerfile_inline", written.get("dockerfile_inline")) {
        build.recipe = DockerfileSource::Inline(inline);
    }
    build.target = said("target", written.get("target"));
    build.args = build_arguments(written.get("args"), variables);
    let contexts = written.get("additional_contexts").and_then(Value::as_object).into_iter().flatten();
    let context = |(name, value): (&String, &Value)| {
        (name.clone(), scalar_text(value).and_then(|text| substitute_variables(&text, variables)))
    };
    build.contexts = contexts.map(context).collect();
    let platforms = written.get("platforms").and_then(Value::as_array).into_iter().flatten();
    build.platforms =
        platforms.filter_map(|platform| substitute_variables(&scalar_text(platform)?, variables)).collect();
    if let Some(platform) = said("platform", platform).filter(|_| build.platforms.is_empty()) {
        build.platforms.push(platform);
    }
    build.notes = notes;
    build
}

/// Returns the build arguments; those without a value get it from the variables.
fn build_arguments(written: Option<&Value>, variables: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let from_environment = |name: &str| variables.get(name).cloned();
    let arg = |(name, value): (&String, &Value)| match scalar_text(value) {
        Some(value) => (name.clone(), substitute_variables(&value, variables)),
        None => (name.clone(), from_environment(name)),
    };
    written.and_then(Value::as_object).into_iter().flatten().map(arg).collect()
}

/// Returns a scalar as text; `None` for lists, maps and null.
pub fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
