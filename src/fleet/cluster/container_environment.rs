//! The environment of a container: its own variables, and those of config maps in the same file.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fleet::cluster::container_command;
use crate::fleet::cluster::json::{items_at, text_at};

/// The config maps of a file, by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConfigMaps(BTreeMap<(String, String), BTreeMap<String, String>>);

/// The config maps of one namespace.
pub(super) struct NamespaceConfigMaps<'a> {
    maps: &'a ConfigMaps,
    namespace: &'a str,
}

impl ConfigMaps {
    /// Adds an object, or the items of a list, if they are config maps.
    pub(super) fn add(&mut self, value: &Value) {
        for item in items_at(value, &["items"]) {
            self.add_object(item);
        }
        self.add_object(value);
    }

    /// Adds an object if it is a config map.
    fn add_object(&mut self, value: &Value) {
        if text_at(value, &["kind"]) != Some("ConfigMap") {
            return;
        }
        let Some(name) = text_at(value, &["metadata", "name"]) else { return };
        let namespace = text_at(value, &["metadata", "namespace"]).unwrap_or("default");
        let data = value.get("data").and_then(Value::as_object).into_iter().flatten();
        let data = data.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
        self.0.insert((namespace.to_owned(), name.to_owned()), data);
    }

    /// Returns the config maps of a namespace.
    pub(super) fn in_namespace<'a>(&'a self, namespace: &'a str) -> NamespaceConfigMaps<'a> {
        NamespaceConfigMaps { maps: self, namespace }
    }
}

impl NamespaceConfigMaps<'_> {
    /// Returns the entries of a config map.
    fn get(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.maps.0.get(&(self.namespace.to_owned(), name.to_owned()))
    }
}

/// Returns the variables of a container, with their values where known, and whether there can be no others.
pub(super) fn read_container_environment(
    container: &Value,
    maps: &NamespaceConfigMaps<'_>,
) -> (BTreeMap<String, Option<String>>, bool) {
    let (mut env, mut whole) = (BTreeMap::new(), true);
    for source in items_at(container, &["envFrom"]) {
        let Some(map) = text_at(source, &["configMapRef", "name"]).and_then(|name| maps.get(name)) else {
            // It may set what an earlier one has set.
            for value in env.values_mut() {
                *value = None;
            }
            whole = false;
            continue;
        };
        let prefix = text_at(source, &["prefix"]).unwrap_or_default();
        env.extend(map.iter().map(|(key, value)| (format!("{prefix}{key}"), Some(value.clone()))));
    }
    for variable in items_at(container, &["env"]) {
        let Some(name) = text_at(variable, &["name"]) else { continue };
        let value = variable_value(variable, maps).and_then(|value| container_command::expand_variables(&value, &env));
        env.insert(name.to_owned(), value);
    }
    (env, whole)
}

/// Returns the value of an `env` entry before expansion; `None` if it is not in the file.
fn variable_value(variable: &Value, maps: &NamespaceConfigMaps<'_>) -> Option<String> {
    match (variable.get("value"), variable.get("valueFrom")) {
        (Some(Value::String(text)), None) => Some(text.clone()),
        (None | Some(Value::Null), None) => Some(String::new()),
        (None, Some(from)) => {
            let of = |field: &str| text_at(from, &["configMapKeyRef", field]);
            // Its value is used as it is.
            maps.get(of("name")?)?.get(of("key")?).map(|value| value.replace('$', "$$"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the variables of a container as text, and whether they are complete.
    fn environment_text(container: &Value) -> (String, bool) {
        let mut maps = ConfigMaps::default();
        let map = |name: &str, namespace: &str, data: Value| json!({"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data});
        maps.add(&json!({"kind": "List", "items": [map("a", "ml", json!({"A": "1", "B": "$(A)", "N": 7}))]}));
        maps.add(&map("b", "ml", json!({"A": "2"})));
        maps.add(&map("far", "other", json!({"A": "3"})));
        maps.add(&json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "ml"}, "data": {"A": "NA=="}}));
        let (env, whole) = read_container_environment(container, &maps.in_namespace("ml"));
        let shown = |(name, value): (&String, &Option<String>)| format!("{name}={}", value.as_deref().unwrap_or("-"));
        (env.iter().map(shown).collect::<Vec<_>>().join(" "), whole)
    }

    #[test]
    fn variable_is_known_only_if_the_file_sets_it() {
        let key = |name: &str, key: &str| json!([{"name": "V", "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}]);
        for (env, expected) in [
            (json!([{"name": "A", "value": "x"}, {"name": "B", "value": "$(A)/y"}]), "A=x B=x/y"),
            (json!([{"name": "B", "value": "$(A)"}, {"name": "A", "value": "x"}]), "A=x B=-"),
            (json!([{"name": "B", "value": "$$(A)"}]), "B=$(A)"),
            (json!([{"name": "A"}, {"name": "A", "value": "2"}]), "A=2"),
            (key("a", "A"), "V=1"),
            (key("a", "B"), "V=$(A)"),
            (key("a", "N"), "V=-"),
            (key("a", "none"), "V=-"),
            (key("far", "A"), "V=-"),
            (key("s", "A"), "V=-"),
            (json!([{"name": "V", "valueFrom": {"secretKeyRef": {"name": "s", "key": "A"}}}]), "V=-"),
            (json!([{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]), "V=-"),
        ] {
            assert_eq!(environment_text(&json!({"env": env})), (expected.to_owned(), true), "{env}");
        }
    }

    #[test]
    fn env_from_is_read_if_the_file_contains_all_sources() {
        let map = |name: &str| json!({"configMapRef": {"name": name}});
        for (sources, expected, whole) in [
            (json!([map("a")]), "A=1 B=$(A)", true),
            (json!([map("a"), map("b")]), "A=2 B=$(A)", true),
            (json!([{"prefix": "P_", "configMapRef": {"name": "b"}}]), "P_A=2", true),
            (json!([map("far")]), "", false),
            (json!([map("a"), map("none")]), "A=- B=-", false),
            (json!([map("none"), map("b")]), "A=2", false),
            (json!([{"secretRef": {"name": "s"}}]), "", false),
        ] {
            assert_eq!(environment_text(&json!({"envFrom": sources})), (expected.to_owned(), whole), "{sources}");
        }
        let own = json!({"envFrom": [map("a")], "env": [{"name": "A", "value": "own"}]});
        assert_eq!(environment_text(&own), ("A=own B=$(A)".to_owned(), true));
    }
}
