//! The JSON Schema of a report, made from its types.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::report::model::Report;

/// The schema of what `--format json` writes: version 1, draft 2020-12.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Report>();
    schema.insert("title".to_owned(), "Report of imagelint, schema version 1".into());
    schema.to_value()
}
