//! Compose files: the services that are built, and the GPUs that they request.
//!
//! Several files make one definition (docs.docker.com/compose/how-tos/multiple-compose-files/merge).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::dockerfile::builds::compose_services::{
    ComposeServices, FileOpener, join_path, merge_files, parent_directory, parse_compose,
};
use crate::dockerfile::builds::interpolation::{parse_environment_file, substitute_variables};
use crate::dockerfile::builds::{BuildsError, DockerfileSource, ImageBuild, MAX_BUILDS};
use crate::model::cause::Cause;

/// Returns the builds of a compose file, with the variables of its `.env` file; `open` opens files that it extends or
/// includes.
///
/// A service of a profile is built like every other, as if its profile were enabled.
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
        build.requested = unread.is_some() || request == ServiceGpuRequest::Made;
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
    let mut resolve_value = |key: &str, value: Option<&Value>| {
        let value = substitute_variables(&scalar_text(value?)?, variables);
        if value.is_none() {
            notes.push(Cause::ServiceAttribute { key: key.to_owned(), service: name.to_owned() });
        }
        value
    };
    build.context = resolve_value("context", written.get("context")).unwrap_or(build.context);
    if let Some(path) = resolve_value("dockerfile", written.get("dockerfile")) {
        build.recipe = DockerfileSource::Path(path);
    }
    if let Some(inline) = resolve_value("dockerfile_inline", written.get("dockerfile_inline")) {
        build.recipe = DockerfileSource::Inline(inline);
    }
    build.target = resolve_value("target", written.get("target"));
    build.args = build_arguments(written.get("args"), variables);
    let contexts = written.get("additional_contexts").and_then(Value::as_object).into_iter().flatten();
    let context = |(name, value): (&String, &Value)| {
        (name.clone(), scalar_text(value).and_then(|text| substitute_variables(&text, variables)))
    };
    build.contexts = contexts.map(context).collect();
    let platforms = written.get("platforms").and_then(Value::as_array).into_iter().flatten();
    build.platforms =
        platforms.filter_map(|platform| substitute_variables(&scalar_text(platform)?, variables)).collect();
    if let Some(platform) = resolve_value("platform", platform).filter(|_| build.platforms.is_empty()) {
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

/// Driver name of a device, and part of the runtime name.
const NVIDIA_NAME: &str = "nvidia";
/// Variable that requests GPUs under a default runtime of the container toolkit.
const DEVICES_VARIABLE: &str = "NVIDIA_VISIBLE_DEVICES";

/// Whether a service requests GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceGpuRequest {
    /// It requests a GPU, or may do so through a variable or a file that was not read.
    Made,
    /// It has no request: under a default runtime that provides GPUs, the image decides.
    Absent,
    /// It disables GPUs that a default runtime would provide.
    Refused,
}

/// The value of `NVIDIA_VISIBLE_DEVICES` that a service sets.
enum DevicesValue {
    /// A known value.
    Known(String),
    /// An unknown value.
    Unknown,
}

impl DevicesValue {
    /// Converts the value that a service sets; it is unknown if it contains a Compose variable.
    fn from_text(value: Option<String>) -> Self {
        value.filter(|value| !value.contains('$')).map_or(Self::Unknown, Self::Known)
    }
}

/// Returns whether a service of a file in `folder` requests GPUs. Unresolved variables count as a request.
fn service_gpu_request(
    service: &Value,
    folder: &str,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> ServiceGpuRequest {
    let reservations = |kind: &str| array_elements(service.pointer(&format!("/deploy/resources/reservations/{kind}")));
    let devices = reservations("devices").any(may_reserve_gpu);
    let resources = reservations("generic_resources").any(|one| {
        let kind = one.pointer("/discrete_resource_spec/kind").and_then(Value::as_str).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        kind.contains("gpu") || may_name_nvidia(&kind)
    });
    let mapped = array_elements(service.get("devices")).any(|one| {
        let source = one.as_str().or_else(|| one.get("source").and_then(Value::as_str));
        source.is_some_and(may_name_nvidia)
    });
    let runtime = service.get("runtime").and_then(Value::as_str).filter(|runtime| !runtime.is_empty());
    if devices || resources || mapped || requests_gpus(service.get("gpus")) || runtime.is_some_and(may_name_nvidia) {
        return ServiceGpuRequest::Made;
    }
    let visible = devices_in_environment(service.get("environment"));
    match visible.or_else(|| devices_in_env_files(service.get("env_file"), folder, variables, open)) {
        _ if runtime.is_some() => ServiceGpuRequest::Refused,
        Some(DevicesValue::Known(value)) if matches!(value.as_str(), "" | "none" | "void") => {
            ServiceGpuRequest::Refused
        }
        Some(_) => ServiceGpuRequest::Made,
        None => ServiceGpuRequest::Absent,
    }
}

/// Returns the elements of an array; none for any other value.
fn array_elements(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a text contains `nvidia` or a variable.
fn may_name_nvidia(text: &str) -> bool {
    text.contains(NVIDIA_NAME) || text.contains('$')
}

/// Whether a reserved device may be an NVIDIA GPU.
fn may_reserve_gpu(device: &Value) -> bool {
    let driver = device.get("driver").and_then(Value::as_str).unwrap_or_default();
    let texts = |key: &str| array_elements(device.get(key)).filter_map(Value::as_str);
    let capable = texts("capabilities").any(|one| matches!(one, "gpu" | NVIDIA_NAME) || one.contains('$'));
    may_name_nvidia(driver) || texts("device_ids").any(may_name_nvidia) || (capable && driver.is_empty())
}

/// Whether the attribute `gpus` requests a GPU.
fn requests_gpus(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => !matches!(text.as_str(), "" | "0"),
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        Some(Value::Array(devices)) => devices.iter().any(|device| {
            let driver = device.get("driver").and_then(Value::as_str).unwrap_or_default();
            driver.is_empty() || may_name_nvidia(driver)
        }),
        _ => false,
    }
}

/// Returns the value that the attribute `environment` sets.
fn devices_in_environment(written: Option<&Value>) -> Option<DevicesValue> {
    match written? {
        Value::Object(map) => map.get(DEVICES_VARIABLE).map(|value| DevicesValue::from_text(scalar_text(value))),
        Value::Array(items) => {
            let one = |item: &Value| {
                let item = item.as_str()?;
                let (name, value) = item.split_once('=').map_or((item, None), |(name, value)| (name, Some(value)));
                (name == DEVICES_VARIABLE).then(|| DevicesValue::from_text(value.map(str::to_owned)))
            };
            items.iter().rev().find_map(one)
        }
        _ => None,
    }
}

/// Returns the value that the last matching file of `env_file` sets; unknown if a required file was not read.
fn devices_in_env_files(
    written: Option<&Value>,
    folder: &str,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> Option<DevicesValue> {
    let files = match written? {
        Value::Array(files) => files.clone(),
        one => vec![one.clone()],
    };
    let of_file = |file: &Value| {
        let path = file.as_str().or_else(|| file.get("path").and_then(Value::as_str))?;
        let needed = file.get("required").and_then(Value::as_bool).unwrap_or(true);
        let text = substitute_variables(path, variables).and_then(|path| open(&join_path(folder, &path)));
        match text {
            Some(text) => Some(DevicesValue::from_text(Some(parse_environment_file(&text).remove(DEVICES_VARIABLE)?))),
            None => needed.then_some(DevicesValue::Unknown),
        }
    };
    files.iter().rev().find_map(of_file)
}
