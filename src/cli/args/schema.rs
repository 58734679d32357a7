//! Arguments of `imagelint schema`.

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Report format: json, or a line of ndjson
    #[arg(value_enum, default_value_t = SchemaFormat::Json, value_name = "FORMAT")]
    pub(crate) of: SchemaFormat,
}

/// A form of report that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaFormat {
    /// The whole report of `--format json`.
    Json,
    /// A line of `--format ndjson`: a subject, an error or the summary.
    Ndjson,
}
