//! Services of compose files with `extends`, `include` and merged files resolved.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::dockerfile::builds::{BuildsError, check_file_limits, parse_environment_file};
use crate::model::cause::Cause;

/// Maximum depth of a chain of `extends`.
const MAX_EXTENDS_DEPTH: usize = 16;
/// Maximum number of files that one compose file may open.
const MAX_FILES: usize = 64;

/// Maximum number of services that are read; further ones are ignored.
const MAX_SERVICES: usize = 10_000;

/// Opens a file by its path relative to the directory of the compose file.
pub type FileOpener<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The services of a compose file, and of the files that it includes or extends.
pub(super) struct ComposeServices<'a> {
    open: FileOpener<'a>,
    /// Services by path of their file; the main file has an empty path.
    files: BTreeMap<String, Option<Map<String, Value>>>,
    /// Variables of included files by path, together with those of the including files.
    variables: BTreeMap<String, ComposeVariables>,
}

/// Variables by name.
pub(super) type ComposeVariables = BTreeMap<String, String>;

/// Parses a compose file.
pub(super) fn parse_compose(text: &str) -> Result<Value, BuildsError> {
    check_file_limits(text)?;
    // As compose reads it, `yes` and `on` are words.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error_text = error.to_string();
        let error_text = error_text.lines().next().unwrap_or("no YAML");
        let error_text = error_text.strip_prefix("error: ").unwrap_or(error_text);
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let Some((line, column)) = error.location().map(|place| (number(place.line()), number(place.column()))) else {
            return unreadable_error(error_text);
        };
        let message =
            error_text.strip_prefix(&format!("line {line} column {column}: ")).unwrap_or(error_text).to_owned();
        BuildsError::Broken { message, line, column }
    })
}

/// Returns an error for a file with the wrong structure.
fn unreadable_error(message: &str) -> BuildsError {
    BuildsError::Unreadable(message.to_owned())
}

/// Returns the mapping `services` of a compose file; an empty one if the file only includes others.
fn services_mapping(file: &Value) -> Option<Map<String, Value>> {
    match file.get("services") {
        Some(services) => services.as_object().cloned(),
        None => file.get("include").map(|_| Map::new()),
    }
}

/// An entry of `include`: compose files, and files with their variables.
struct ComposeInclude {
    paths: Vec<String>,
    environment: Vec<String>,
}

/// Returns the entries of `include`, with paths relative to `place`.
fn includes_of(file: &Value, place: &str) -> Vec<ComposeInclude> {
    let texts = |value: &Value| -> Vec<String> {
        let list = match value {
            Value::Array(list) => list.clone(),
            other => vec![other.clone()],
        };
        list.iter().filter_map(Value::as_str).map(|path| join_path(place, path)).collect()
    };
    let one = |one: &Value| {
        let paths = texts(one.get("path").unwrap_or(one));
        let project_directory =
            one.get("project_directory").and_then(Value::as_str).map(|folder| join_path(place, folder));
        let project_directory = project_directory.or_else(|| Some(parent_directory(paths.first()?).to_owned()));
        let environment = match one.get("env_file") {
            Some(files) => texts(files),
            None => project_directory.iter().map(|folder| join_path(folder, ".env")).collect(),
        };
        ComposeInclude { paths, environment }
    };
    file.get("include").and_then(Value::as_array).into_iter().flatten().map(one).collect()
}

impl<'a> ComposeServices<'a> {
    /// Reads the services of a compose file and of all files that it includes.
    pub(super) fn new(file: &Value, variables: &ComposeVariables, open: FileOpener<'a>) -> Result<Self, BuildsError> {
        let own = services_mapping(file).ok_or_else(|| unreadable_error("the file has no mapping `services`"))?;
        let mut found = Self { open, files: BTreeMap::from([(String::new(), Some(own))]), variables: BTreeMap::new() };
        let mut includes: Vec<(ComposeInclude, ComposeVariables)> =
            includes_of(file, "").into_iter().map(|one| (one, variables.clone())).collect();
        while let Some((include, above)) = includes.pop() {
            // Variables of the including file take precedence; of several files, the last one.
            let mut variables = ComposeVariables::new();
            let texts = include.environment.iter().take(MAX_FILES).filter_map(|path| (open)(path));
            texts.for_each(|text| variables.extend(parse_environment_file(&text)));
            variables.extend(above);
            for path in include.paths {
                if found.files.len() >= MAX_FILES || found.files.contains_key(&path) {
                    continue;
                }
                let file = (open)(&path).and_then(|text| parse_compose(&text).ok());
                let inner = file.iter().flat_map(|file| includes_of(file, parent_directory(&path)));
                includes.extend(inner.map(|one| (one, variables.clone())));
                found.files.insert(path.clone(), file.as_ref().and_then(services_mapping));
                found.variables.insert(path, variables.clone());
            }
        }
        Ok(found)
    }

    /// Returns the variables of an included file; `None` for the main file.
    pub(super) fn variables_of_file(&self, file: &str) -> Option<&ComposeVariables> {
        self.variables.get(file)
    }

    /// Returns file and name of every service, and whether it has an image name.
    pub(super) fn service_names(&self) -> Vec<(String, String, bool)> {
        let of_file = |(path, services): (&String, &Option<Map<String, Value>>)| match services {
            Some(services) => {
                let name = |(name, one): (&String, &Value)| (path.clone(), name.clone(), one.get("image").is_some());
                services.iter().map(name).collect()
            }
            // The services of an unreadable included file are unknown, so the file is listed in place of them.
            None => vec![(path.clone(), path.clone(), false)],
        };
        self.files.iter().flat_map(of_file).collect()
    }

    /// Returns build and platform of a service, including what it extends, and why a part could not be resolved.
    pub(super) fn build_of_service(&mut self, file: &str, name: &str) -> (Option<Value>, Option<Value>, Option<Cause>) {
        self.resolve_build(file, name, 0)
    }

    /// Resolves build and platform of a service recursively.
    fn resolve_build(&mut self, file: &str, name: &str, depth: usize) -> (Option<Value>, Option<Value>, Option<Cause>) {
        let Some(service) = self.services_of_file(file).and_then(|services| services.get(name)).cloned() else {
            return (None, None, Some(service_not_read(file, name)));
        };
        let build = service.get("build").map(|build| build_in_long_form(build, file));
        let platform = service.get("platform").cloned();
        let Some(extends) = service.get("extends") else { return (build, platform, None) };
        if depth >= MAX_EXTENDS_DEPTH {
            return (build, platform, Some(Cause::ServiceExtendsItself { service: name.to_owned() }));
        }
        let parent = extends.as_str().or_else(|| extends.get("service").and_then(Value::as_str));
        let other = extends.get("file").and_then(Value::as_str);
        let Some(parent) = parent else {
            return (build, platform, Some(Cause::ServiceExtendsNoService { service: name.to_owned() }));
        };
        let other = other.map_or_else(|| file.to_owned(), |other| join_path(parent_directory(file), other));
        let (below, its_platform, missing) = self.resolve_build(&other, parent, depth + 1);
        (merge_build(below, build), platform.or(its_platform), missing)
    }

    /// Returns a service merged with those that it extends, and why a part could not be resolved.
    pub(super) fn merged_service(&mut self, file: &str, name: &str, depth: usize) -> (Value, Option<Cause>) {
        let Some(service) = self.services_of_file(file).and_then(|services| services.get(name)).cloned() else {
            return (Value::Null, Some(service_not_read(file, name)));
        };
        let Some(extends) = service.get("extends") else { return (service, None) };
        let parent = extends.as_str().or_else(|| extends.get("service").and_then(Value::as_str));
        let other = extends.get("file").and_then(Value::as_str);
        match parent {
            _ if depth >= MAX_EXTENDS_DEPTH => {
                (service, Some(Cause::ServiceExtendsItself { service: name.to_owned() }))
            }
            None => (service, Some(Cause::ServiceExtendsNoService { service: name.to_owned() })),
            Some(parent) => {
                let other = other.map_or_else(|| file.to_owned(), |other| join_path(parent_directory(file), other));
                let (base, missing) = self.merged_service(&other, parent, depth + 1);
                (merge_service(base, service), missing)
            }
        }
    }

    /// Returns the services of a file, which is opened on first use.
    fn services_of_file(&mut self, path: &str) -> Option<&Map<String, Value>> {
        if !self.files.contains_key(path) && self.files.len() < MAX_FILES {
            let read = (self.open)(path).and_then(|text| services_mapping(&parse_compose(&text).ok()?));
            self.files.insert(path.to_owned(), read);
        }
        self.files.get(path)?.as_ref()
    }
}

/// Returns the cause for a service that could not be read; the path of the main file is empty.
fn service_not_read(file: &str, name: &str) -> Cause {
    let service = name.to_owned();
    if file.is_empty() {
        Cause::ServiceOfThisFileNotRead { service }
    } else {
        Cause::ServiceNotRead { service, file: file.to_owned() }
    }
}

/// A service merged with those that it extends.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedService {
    /// Name of the service.
    pub name: String,
    /// The merged definition.
    pub service: Value,
    /// Why a part could not be resolved, if so.
    pub missing: Option<Cause>,
    /// The variables for its definition.
    pub variables: BTreeMap<String, String>,
}

/// Returns the services of a compose file and of those that it includes; `variables` and `open` are as for
/// `read_compose_file`.
pub fn resolve_services(
    file: &Value,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> Result<Vec<ResolvedService>, BuildsError> {
    let mut services = ComposeServices::new(file, variables, open)?;
    let names = services.service_names();
    let one = |(file, name, _): (String, String, bool)| {
        let (service, missing) = services.merged_service(&file, &name, 0);
        let variables = services.variables_of_file(&file).unwrap_or(variables).clone();
        ResolvedService { name, service, missing, variables }
    };
    Ok(names.into_iter().take(MAX_SERVICES).map(one).collect())
}

/// Merges a service over another like compose: commands are replaced, mappings merged, lists joined.
fn merge_service(below: Value, above: Value) -> Value {
    match (below, above) {
        (Value::Object(mut below), Value::Object(above)) => {
            for (key, value) in above {
                let (replaced, pairs) = (
                    matches!(key.as_str(), "command" | "entrypoint"),
                    matches!(key.as_str(), "environment" | "labels"),
                );
                let merged = match below.remove(&key) {
                    Some(other) if pairs => merge_service(list_to_mapping(other), list_to_mapping(value)),
                    Some(other) if !replaced => merge_service(other, value),
                    _ => value,
                };
                below.insert(key, merged);
            }
            Value::Object(below)
        }
        (Value::Array(mut below), Value::Array(above)) => {
            below.extend(above);
            Value::Array(below)
        }
        (_, above) => above,
    }
}

/// Merges several compose files, of which later ones override earlier ones.
pub(super) fn merge_files(files: Vec<Value>) -> Value {
    let mut files = files.into_iter();
    let first = files.next().unwrap_or(Value::Null);
    files.fold(first, |whole, file| match (whole, file) {
        (Value::Object(mut whole), Value::Object(file)) => {
            for (key, value) in file {
                let value = match (whole.remove(&key), value) {
                    (Some(Value::Object(below)), Value::Object(above)) if key == "services" => {
                        Value::Object(merge_service_maps(below, above))
                    }
                    (Some(Value::Array(below)), Value::Array(above)) if key == "include" => {
                        Value::Array([below, above].concat())
                    }
                    (Some(below), Value::Null) => below,
                    (_, value) => value,
                };
                whole.insert(key, value);
            }
            Value::Object(whole)
        }
        (whole, Value::Null) => whole,
        (_, file) => file,
    })
}

/// Merges the services of one file over those of another.
fn merge_service_maps(mut below: Map<String, Value>, above: Map<String, Value>) -> Map<String, Value> {
    // Every file of variables is read, whether a list names it or it stands alone.
    let take = |service: &mut Value, key: &str| service.as_object_mut().and_then(|service| service.remove(key));
    let listed = |value: Value| if value.is_array() { value } else { Value::Array(vec![value]) };
    for (name, mut service) in above {
        let Some(mut other) = below.remove(&name) else {
            below.insert(name, service);
            continue;
        };
        let builds =
            [&mut other, &mut service].map(|one| take(one, "build").map(|build| build_in_long_form(&build, "")));
        let files = [&mut other, &mut service].map(|one| take(one, "env_file").map(listed));
        let mut whole = if service.is_null() { other } else { merge_service(other, service) };
        let ([its_build, own_build], [its_files, own_files]) = (builds, files);
        let env_files = match (its_files, own_files) {
            (Some(its), Some(own)) => Some(merge_service(its, own)),
            (its, own) => own.or(its),
        };
        if let Some(whole) = whole.as_object_mut() {
            whole.extend(merge_build(its_build, own_build).map(|build| ("build".to_owned(), build)));
            whole.extend(env_files.map(|files| ("env_file".to_owned(), files)));
        }
        below.insert(name, whole);
    }
    below
}

/// Converts a list of `NAME=VALUE` to a mapping.
fn list_to_mapping(value: Value) -> Value {
    let Value::Array(list) = value else { return value };
    let pair = |item: &str| match item.split_once('=') {
        Some((name, value)) => (name.to_owned(), Value::String(value.to_owned())),
        None => (item.to_owned(), Value::Null),
    };
    Value::Object(list.iter().filter_map(Value::as_str).map(pair).collect())
}

/// Returns the directory of a file; empty if it has none.
pub(super) fn parent_directory(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins a relative path to a directory.
pub(super) fn join_path(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") }
}

/// Converts a build to its long form: arguments as a mapping, and the context relative to the main compose file.
fn build_in_long_form(build: &Value, file: &str) -> Value {
    let mut build = match build {
        Value::Object(map) => map.clone(),
        other => Map::from_iter([("context".to_owned(), other.clone())]),
    };
    let place = parent_directory(file);
    if let Some(context) = build.get("context").and_then(Value::as_str).filter(|_| !place.is_empty())
        && !context.contains(':')
        && !context.starts_with('$')
    {
        let context = join_path(place, context);
        build.insert("context".to_owned(), Value::String(context));
    }
    for key in ["args", "additional_contexts"] {
        if let Some(Value::Array(list)) = build.get(key) {
            let pairs = list_to_mapping(Value::Array(list.clone()));
            build.insert(key.to_owned(), pairs);
        }
    }
    Value::Object(build)
}

/// Merges a build over another: values are replaced, arguments merged by name.
fn merge_build(below: Option<Value>, above: Option<Value>) -> Option<Value> {
    match (below, above) {
        (Some(Value::Object(mut below)), Some(Value::Object(above))) => {
            // A Dockerfile in the file itself takes the place of one by name, and the other way round.
            for (one, other) in [("dockerfile", "dockerfile_inline"), ("dockerfile_inline", "dockerfile")] {
                if above.contains_key(one) {
                    below.remove(other);
                }
            }
            for (key, value) in above {
                match (below.get_mut(&key), value) {
                    (Some(Value::Object(args)), Value::Object(more))
                        if key == "args" || key == "additional_contexts" =>
                    {
                        args.extend(more);
                    }
                    (_, value) => drop(below.insert(key, value)),
                }
            }
            Some(Value::Object(below))
        }
        (below, above) => above.or(below),
    }
}
