//! The JSON Schemas of reports, generated from their types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::report::model::Report;
use crate::report::ndjson::Line;

/// Returns the schema of the output of `--format json`: version 1, draft 2020-12.
pub fn report_schema() -> Value {
    schema_of::<Report>("Report of imagelint, schema version 1")
}

/// Returns the schema of each line of the output of `--format ndjson`: version 1, draft 2020-12.
pub fn ndjson_line_schema() -> Value {
    schema_of::<Line<'_>>("A line of a report of imagelint, schema version 1")
}

/// Returns the schema of a type with a title.
fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
