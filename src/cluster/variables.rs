//! The variables of a container: those of its own, and those of config maps that stand in the same file.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::command;
use crate::cluster::items;
use crate::cluster::text;

/// Config maps, by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Maps(BTreeMap<(String, String), BTreeMap<String, String>>);

/// Those of one namespace.
pub(super) struct MapsOf<'a> {
    maps: &'a Maps,
    namespace: &'a str,
}

impl Maps {
    /// Keeps an object or the items of a list that are config maps.
    pub(super) fn keep(&mut self, value: &Value) {
        for item in items(value, &["items"]) {
            self.keep_one(item);
        }
        self.keep_one(value);
    }

    fn keep_one(&mut self, value: &Value) {
        if text(value, &["kind"]) != Some("ConfigMap") {
            return;
        }
        let Some(name) = text(value, &["metadata", "name"]) else { return };
        let namespace = text(value, &["metadata", "namespace"]).unwrap_or("default");
        let data = value.get("data").and_then(Value::as_object).into_iter().flatten();
        let data = data.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
        self.0.insert((namespace.to_owned(), name.to_owned()), data);
    }

    /// Those of a namespace.
    pub(super) fn of<'a>(&'a self, namespace: &'a str) -> MapsOf<'a> {
        MapsOf { maps: self, namespace }
    }
}

impl MapsOf<'_> {
    fn get(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.maps.0.get(&(self.namespace.to_owned(), name.to_owned()))
    }
}

/// The variables of a container, each with its value where that stands in the file; and whether there can be no others.
/// Its own stand above those of maps, and of maps the later above the earlier.
pub(super) fn of(container: &Value, maps: &MapsOf<'_>) -> (BTreeMap<String, Option<String>>, bool) {
    let (mut env, mut whole) = (BTreeMap::new(), true);
    for source in items(container, &["envFrom"]) {
        let Some(map) = text(source, &["configMapRef", "name"]).and_then(|name| maps.get(name)) else {
            // It may set what an earlier one has set.
            for value in env.values_mut() {
                *value = None;
            }
            whole = false;
            continue;
        };
        let prefix = text(source, &["prefix"]).unwrap_or_default();
        env.extend(map.iter().map(|(key, value)| (format!("{prefix}{key}"), Some(value.clone()))));
    }
    for variable in items(container, &["env"]) {
        let Some(name) = text(variable, &["name"]) else { continue };
        let value = value(variable, maps).and_then(|value| command::expanded(&value, &env));
        env.insert(name.to_owned(), value);
    }
    (env, whole)
}

/// What an entry says, with other variables still in it; none where it stands elsewhere.
fn value(variable: &Value, maps: &MapsOf<'_>) -> Option<String> {
    match (variable.get("value"), variable.get("valueFrom")) {
        (Some(Value::String(told)), None) => Some(told.clone()),
        (None | Some(Value::Null), None) => Some(String::new()),
        (None, Some(from)) => {
            let of = |field: &str| text(from, &["configMapKeyRef", field]);
            // What it says is taken as it is.
            maps.get(of("name")?)?.get(of("key")?).map(|value| value.replace('$', "$$"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(container: &Value) -> (String, bool) {
        let mut maps = Maps::default();
        let map = |name: &str, namespace: &str, data: Value| json!({"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data});
        maps.keep(&json!({"kind": "List", "items": [map("a", "ml", json!({"A": "1", "B": "$(A)", "N": 7}))]}));
        maps.keep(&map("b", "ml", json!({"A": "2"})));
        maps.keep(&map("far", "other", json!({"A": "3"})));
        maps.keep(&json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "ml"}, "data": {"A": "NA=="}}));
        let (env, whole) = of(container, &maps.of("ml"));
        let shown = |(name, value): (&String, &Option<String>)| format!("{name}={}", value.as_deref().unwrap_or("-"));
        (env.iter().map(shown).collect::<Vec<_>>().join(" "), whole)
    }

    #[test]
    fn a_variable_is_known_where_the_file_says_it_and_nowhere_else() {
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
            assert_eq!(told(&json!({"env": env})), (expected.to_owned(), true), "{env}");
        }
    }

    #[test]
    fn sources_of_variables_are_read_where_all_of_them_stand_in_the_file() {
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
            assert_eq!(told(&json!({"envFrom": sources})), (expected.to_owned(), whole), "{sources}");
        }
        let own = json!({"envFrom": [map("a")], "env": [{"name": "A", "value": "own"}]});
        assert_eq!(told(&own), ("A=own B=$(A)".to_owned(), true));
    }
}
