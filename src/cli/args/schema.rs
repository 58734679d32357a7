//! What `schema` takes.

/// What `schema` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Report format: json, or a line of ndjson
    #[arg(value_enum, default_value_t = SchemaOf::Json, value_name = "FORMAT")]
    pub(crate) of: SchemaOf,
}

/// A form of report that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    /// The whole report of `--format json`.
    Json,
    /// A line of `--format ndjson`: a subject, an error or the summary.
    Ndjson,
}
