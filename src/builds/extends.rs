//! `extends` in compose files: one service begins as another, of the same file or of one beside it.

use std::collections::BTreeMap;

use serde_json::Map;
use serde_json::Value;

use crate::builds::BuildsError;
use crate::builds::bounded;

/// Longer chains go round in circles.
const LONGEST_CHAIN: usize = 16;
/// No more files are opened for one.
const MOST_FILES: usize = 64;

/// Opens a file by its path from the compose file's folder.
pub type Opens<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The services of a compose file, and of the files that they extend.
pub(super) struct Services<'a> {
    open: Opens<'a>,
    /// Services by the path of their file; the file at hand has no path.
    files: BTreeMap<String, Option<Map<String, Value>>>,
}

/// The mapping `services` of a compose file.
pub(super) fn services(text: &str) -> Result<Map<String, Value>, BuildsError> {
    bounded(text)?;
    let unreadable = |message: &str| BuildsError::Unreadable(message.to_owned());
    // As compose reads it, `yes` and `on` are words.
    let options = serde_saphyr::options! { strict_booleans: true };
    let file: Value = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| unreadable(error.to_string().lines().next().unwrap_or("no YAML")))?;
    let services = file.get("services").and_then(Value::as_object);
    services.cloned().ok_or_else(|| unreadable("there is no mapping `services`"))
}

impl<'a> Services<'a> {
    pub(super) fn new(own: Map<String, Value>, open: Opens<'a>) -> Self {
        Self { open, files: BTreeMap::from([(String::new(), Some(own))]) }
    }

    /// What a service says of its build, with what it extends; an error names what cannot be followed.
    pub(super) fn built(&mut self, name: &str) -> (Option<Value>, Option<Value>, Option<String>) {
        self.service("", name, 0)
    }

    fn service(&mut self, file: &str, name: &str, depth: usize) -> (Option<Value>, Option<Value>, Option<String>) {
        let Some(service) = self.file(file).and_then(|services| services.get(name)).cloned() else {
            let place = if file.is_empty() { "this file".to_owned() } else { format!("`{file}`") };
            return (None, None, Some(format!("service `{name}` of {place} was not read")));
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
            return (build, platform, Some(format!("service `{name}` extends what is no service")));
        };
        let other = other.map_or_else(|| file.to_owned(), |other| below(folder(file), other));
        let (below, its_platform, missing) = self.service(&other, parent, depth + 1);
        (merged(below, build), platform.or(its_platform), missing)
    }

    fn file(&mut self, path: &str) -> Option<&Map<String, Value>> {
        if !self.files.contains_key(path) && self.files.len() < MOST_FILES {
            let read = (self.open)(path).and_then(|text| services(&text).ok());
            self.files.insert(path.to_owned(), read);
        }
        self.files.get(path)?.as_ref()
    }
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn below(folder: &str, path: &str) -> String {
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
    if let Some(Value::Array(list)) = build.get("args") {
        let pairs = list.iter().filter_map(Value::as_str).map(|item| match item.split_once('=') {
            Some((name, value)) => (name.to_owned(), Value::String(value.to_owned())),
            None => (item.to_owned(), Value::Null),
        });
        let args = Value::Object(pairs.collect());
        build.insert("args".to_owned(), args);
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
                    (Some(Value::Object(args)), Value::Object(more)) if key == "args" => args.extend(more),
                    (_, value) => drop(below.insert(key, value)),
                }
            }
            Some(Value::Object(below))
        }
        (below, above) => above.or(below),
    }
}
