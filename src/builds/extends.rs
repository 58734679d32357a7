//! `extends` and `include` in compose files: services of other files, and those that begin as another one.

use std::collections::BTreeMap;

use serde_json::Map;
use serde_json::Value;

use crate::builds::BuildsError;
use crate::builds::bounded;
use crate::builds::environment_file;

/// Longer chains go round in circles.
const LONGEST_CHAIN: usize = 16;
/// No more files are opened for one.
const MOST_FILES: usize = 64;

/// Of a file with more services, the first ones are read.
const MOST_SERVICES: usize = 10_000;

/// Opens a file by its path from the compose file's folder.
pub type Opens<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The services of a compose file, and of the files that they extend.
pub(super) struct Services<'a> {
    open: Opens<'a>,
    /// Services by the path of their file; the file at hand has no path.
    files: BTreeMap<String, Option<Map<String, Value>>>,
    /// Variables of included files, by their path, with those of the files that include them.
    variables: BTreeMap<String, Variables>,
}

/// Variables by name.
pub(super) type Variables = BTreeMap<String, String>;

/// A compose file as its data.
pub(super) fn parsed(text: &str) -> Result<Value, BuildsError> {
    bounded(text)?;
    // As compose reads it, `yes` and `on` are words.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let told = error.to_string();
        let told = told.lines().next().unwrap_or("no YAML");
        let told = told.strip_prefix("error: ").unwrap_or(told);
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let Some((line, column)) = error.location().map(|place| (number(place.line()), number(place.column()))) else {
            return unreadable(told);
        };
        let message = told.strip_prefix(&format!("line {line} column {column}: ")).unwrap_or(told).to_owned();
        BuildsError::Broken { message, line, column }
    })
}

fn unreadable(message: &str) -> BuildsError {
    BuildsError::Unreadable(message.to_owned())
}

/// The mapping `services` of a compose file; none where it only includes others.
fn services(file: &Value) -> Option<Map<String, Value>> {
    match file.get("services") {
        Some(services) => services.as_object().cloned(),
        None => file.get("include").map(|_| Map::new()),
    }
}

/// Files that a compose file includes, and those with the variables for them.
struct Include {
    paths: Vec<String>,
    environment: Vec<String>,
}

/// What a compose file includes, with paths as seen from `place`.
fn included(file: &Value, place: &str) -> Vec<Include> {
    let texts = |value: &Value| -> Vec<String> {
        let list = match value {
            Value::Array(list) => list.clone(),
            other => vec![other.clone()],
        };
        list.iter().filter_map(Value::as_str).map(|path| below(place, path)).collect()
    };
    let one = |one: &Value| {
        let paths = texts(one.get("path").unwrap_or(one));
        let beside = one.get("project_directory").and_then(Value::as_str).map(|folder| below(place, folder));
        let beside = beside.or_else(|| Some(folder(paths.first()?).to_owned()));
        let environment = match one.get("env_file") {
            Some(files) => texts(files),
            None => beside.iter().map(|folder| below(folder, ".env")).collect(),
        };
        Include { paths, environment }
    };
    file.get("include").and_then(Value::as_array).into_iter().flatten().map(one).collect()
}

impl<'a> Services<'a> {
    pub(super) fn new(file: &Value, variables: &Variables, open: Opens<'a>) -> Result<Self, BuildsError> {
        let own = services(file).ok_or_else(|| unreadable("the file has no mapping `services`"))?;
        let mut found = Self { open, files: BTreeMap::from([(String::new(), Some(own))]), variables: BTreeMap::new() };
        let mut includes: Vec<(Include, Variables)> =
            included(file, "").into_iter().map(|one| (one, variables.clone())).collect();
        while let Some((include, above)) = includes.pop() {
            // What the including file has goes first; of several files the last one does.
            let mut variables = Variables::new();
            let texts = include.environment.iter().take(MOST_FILES).filter_map(|path| (open)(path));
            texts.for_each(|text| variables.extend(environment_file(&text)));
            variables.extend(above);
            for path in include.paths {
                if found.files.len() >= MOST_FILES || found.files.contains_key(&path) {
                    continue;
                }
                let file = (open)(&path).and_then(|text| parsed(&text).ok());
                let inner = file.iter().flat_map(|file| included(file, folder(&path)));
                includes.extend(inner.map(|one| (one, variables.clone())));
                found.files.insert(path.clone(), file.as_ref().and_then(services));
                found.variables.insert(path, variables.clone());
            }
        }
        Ok(found)
    }

    /// The variables of an included file; none for the file at hand.
    pub(super) fn variables(&self, file: &str) -> Option<&Variables> {
        self.variables.get(file)
    }

    /// File and name of every service, and whether it names an image.
    pub(super) fn names(&self) -> Vec<(String, String, bool)> {
        let of_file = |(path, services): (&String, &Option<Map<String, Value>>)| match services {
            Some(services) => {
                let name = |(name, one): (&String, &Value)| (path.clone(), name.clone(), one.get("image").is_some());
                services.iter().map(name).collect()
            }
            // What an included file builds has to be told as unknown.
            None => vec![(path.clone(), path.clone(), false)],
        };
        self.files.iter().flat_map(of_file).collect()
    }

    /// What a service says of its build, with what it extends; an error names what cannot be followed.
    pub(super) fn built(&mut self, file: &str, name: &str) -> (Option<Value>, Option<Value>, Option<String>) {
        self.service(file, name, 0)
    }

    fn service(&mut self, file: &str, name: &str, depth: usize) -> (Option<Value>, Option<Value>, Option<String>) {
        let Some(service) = self.file(file).and_then(|services| services.get(name)).cloned() else {
            let place = if file.is_empty() { "this file".to_owned() } else { format!("`{file}`") };
            return (None, None, Some(format!("service `{name}` of {place} could not be read")));
        };
        let build = service.get("build").map(|build| long(build, file));
        let platform = service.get("platform").cloned();
        let Some(extends) = service.get("extends") else { return (build, platform, None) };
        if depth >= LONGEST_CHAIN {
            return (build, platform, Some(format!("service `{name}` extends itself")));
        }
        let parent = extends.as_str().or_else(|| extends.get("service").and_then(Value::as_str));
        let other = extends.get("file").and_then(Value::as_str);
        let Some(parent) = parent else {
            return (build, platform, Some(format!("service `{name}` extends something that is not a service")));
        };
        let other = other.map_or_else(|| file.to_owned(), |other| below(folder(file), other));
        let (below, its_platform, missing) = self.service(&other, parent, depth + 1);
        (merged(below, build), platform.or(its_platform), missing)
    }

    /// A service with what it extends; an error names what cannot be followed.
    pub(super) fn whole(&mut self, file: &str, name: &str, depth: usize) -> (Value, Option<String>) {
        let Some(service) = self.file(file).and_then(|services| services.get(name)).cloned() else {
            let place = if file.is_empty() { "this file".to_owned() } else { format!("`{file}`") };
            return (Value::Null, Some(format!("service `{name}` of {place} could not be read")));
        };
        let Some(extends) = service.get("extends") else { return (service, None) };
        let parent = extends.as_str().or_else(|| extends.get("service").and_then(Value::as_str));
        let other = extends.get("file").and_then(Value::as_str);
        match parent {
            _ if depth >= LONGEST_CHAIN => (service, Some(format!("service `{name}` extends itself"))),
            None => (service, Some(format!("service `{name}` extends something that is not a service"))),
            Some(parent) => {
                let other = other.map_or_else(|| file.to_owned(), |other| below(folder(file), other));
                let (base, missing) = self.whole(&other, parent, depth + 1);
                (over(base, service), missing)
            }
        }
    }

    fn file(&mut self, path: &str) -> Option<&Map<String, Value>> {
        if !self.files.contains_key(path) && self.files.len() < MOST_FILES {
            let read = (self.open)(path).and_then(|text| services(&parsed(&text).ok()?));
            self.files.insert(path.to_owned(), read);
        }
        self.files.get(path)?.as_ref()
    }
}

/// A service with all that it extends.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// Its name.
    pub name: String,
    /// What it says, and what those say that it extends.
    pub service: Value,
    /// What could not be followed.
    pub missing: Option<String>,
    /// The variables for what it says.
    pub variables: BTreeMap<String, String>,
}

/// The services of a compose file and of those that it includes; `variables` and `open` are as for [`compose`].
///
/// [`compose`]: crate::builds::compose
pub fn services_of(
    file: &Value,
    variables: &BTreeMap<String, String>,
    open: Opens<'_>,
) -> Result<Vec<Whole>, BuildsError> {
    let mut services = Services::new(file, variables, open)?;
    let names = services.names();
    let one = |(file, name, _): (String, String, bool)| {
        let (service, missing) = services.whole(&file, &name, 0);
        let variables = services.variables(&file).unwrap_or(variables).clone();
        Whole { name, service, missing, variables }
    };
    Ok(names.into_iter().take(MOST_SERVICES).map(one).collect())
}

/// One service over another, as compose merges them: a command takes the other's place, mappings are merged, lists
/// joined.
fn over(below: Value, above: Value) -> Value {
    match (below, above) {
        (Value::Object(mut below), Value::Object(above)) => {
            for (key, value) in above {
                let (replaced, pairs) = (
                    matches!(key.as_str(), "command" | "entrypoint"),
                    matches!(key.as_str(), "environment" | "labels"),
                );
                let merged = match below.remove(&key) {
                    Some(other) if pairs => over(mapping(other), mapping(value)),
                    Some(other) if !replaced => over(other, value),
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

/// Compose files that are given together as one, the later ones over the earlier ones.
pub(super) fn together(files: Vec<Value>) -> Value {
    let mut files = files.into_iter();
    let first = files.next().unwrap_or(Value::Null);
    files.fold(first, |whole, file| match (whole, file) {
        (Value::Object(mut whole), Value::Object(file)) => {
            for (key, value) in file {
                let value = match (whole.remove(&key), value) {
                    (Some(Value::Object(below)), Value::Object(above)) if key == "services" => {
                        Value::Object(over_services(below, above))
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

/// The services of one file over those of another.
fn over_services(mut below: Map<String, Value>, above: Map<String, Value>) -> Map<String, Value> {
    // Every file of variables is read, whether a list names it or it stands alone.
    let take = |service: &mut Value, key: &str| service.as_object_mut().and_then(|service| service.remove(key));
    let listed = |value: Value| if value.is_array() { value } else { Value::Array(vec![value]) };
    for (name, mut service) in above {
        let Some(mut other) = below.remove(&name) else {
            below.insert(name, service);
            continue;
        };
        let builds = [&mut other, &mut service].map(|one| take(one, "build").map(|build| long(&build, "")));
        let files = [&mut other, &mut service].map(|one| take(one, "env_file").map(listed));
        let mut whole = if service.is_null() { other } else { over(other, service) };
        let ([its_build, own_build], [its_files, own_files]) = (builds, files);
        let env_files = match (its_files, own_files) {
            (Some(its), Some(own)) => Some(over(its, own)),
            (its, own) => own.or(its),
        };
        if let Some(whole) = whole.as_object_mut() {
            whole.extend(merged(its_build, own_build).map(|build| ("build".to_owned(), build)));
            whole.extend(env_files.map(|files| ("env_file".to_owned(), files)));
        }
        below.insert(name, whole);
    }
    below
}

/// A list of `NAME=VALUE` as a mapping.
fn mapping(value: Value) -> Value {
    let Value::Array(list) = value else { return value };
    let pair = |item: &str| match item.split_once('=') {
        Some((name, value)) => (name.to_owned(), Value::String(value.to_owned())),
        None => (item.to_owned(), Value::Null),
    };
    Value::Object(list.iter().filter_map(Value::as_str).map(pair).collect())
}

pub(super) fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") }
}

/// A build as a mapping, with arguments as a mapping, and its context as seen from the compose file.
fn long(build: &Value, file: &str) -> Value {
    let mut build = match build {
        Value::Object(map) => map.clone(),
        other => Map::from_iter([("context".to_owned(), other.clone())]),
    };
    let place = folder(file);
    if let Some(context) = build.get("context").and_then(Value::as_str).filter(|_| !place.is_empty())
        && !context.contains(':')
        && !context.starts_with('$')
    {
        let context = below(place, context);
        build.insert("context".to_owned(), Value::String(context));
    }
    for key in ["args", "additional_contexts"] {
        if let Some(Value::Array(list)) = build.get(key) {
            let pairs = mapping(Value::Array(list.clone()));
            build.insert(key.to_owned(), pairs);
        }
    }
    Value::Object(build)
}

/// One build over another: a value takes the other's place, arguments one by one.
fn merged(below: Option<Value>, above: Option<Value>) -> Option<Value> {
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
