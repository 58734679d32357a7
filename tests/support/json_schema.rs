//! A validator for the part of JSON Schema that the schema of reports uses. An unknown keyword is a fault.

use serde_json::Value;

/// What of a value does not fit a schema, each with its place.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        assert!(schema == &Value::Bool(true), "{at}: {schema} is no schema");
        return;
    };
    for (keyword, wanted) in keywords {
        let holds = match keyword.as_str() {
            "$ref" => {
                let target = wanted.as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
                check(root, target.expect("a definition"), value, at, found);
                true
            }
            "anyOf" => wanted.as_array().expect("schemas").iter().any(|one| {
                let mut faults = Vec::new();
                check(root, one, value, at, &mut faults);
                faults.is_empty()
            }),
            "oneOf" => {
                let fits = |one: &&Value| {
                    let mut faults = Vec::new();
                    check(root, one, value, at, &mut faults);
                    faults.is_empty()
                };
                wanted.as_array().expect("schemas").iter().filter(fits).count() == 1
            }
            "const" => value == wanted,
            "type" => wanted.as_array().map_or_else(
                || is(value, wanted.as_str().expect("a type")),
                |all| all.iter().any(|one| is(value, one.as_str().expect("a type"))),
            ),
            "properties" => {
                for (name, schema) in wanted.as_object().expect("properties") {
                    if let Some(value) = value.get(name) {
                        check(root, schema, value, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "required" => {
                wanted.as_array().expect("names").iter().all(|name| value.get(name.as_str().expect("a name")).is_some())
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{at}/{index}"), found);
                }
                true
            }
            "additionalProperties" => {
                let named = |name: &String| schema["properties"].get(name).is_some();
                for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| !named(name)) {
                    check(root, wanted, value, &format!("{at}/{name}"), found);
                }
                true
            }
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().expect("a number")),
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
            other => panic!("{at}: `{other}` is not checked"),
        };
        if !holds {
            found.push(format!("{at}: {keyword} {wanted}"));
        }
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}
