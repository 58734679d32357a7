//! The JSON Schemas of reports, made from their types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::report::model::Report;
use crate::report::ndjson::Line;

/// The schema of what `--format json` writes: version 1, draft 2020-12.
pub fn schema() -> Value {
    of::<Report>("Report of imagelint, schema version 1")
}

/// The schema of each line that `--format ndjson` writes: version 1, draft 2020-12.
pub fn lines() -> Value {
    of::<Line<'_>>("A line of a report of imagelint, schema version 1")
}

fn of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
