//! Source and evidence of a row of the compatibility database.

use jiff::civil::Date;

use crate::model::named_values::named_values;

named_values! {
    /// Evidence for a row, weakest first.
    How {
        /// From memory without a source; never decides an error.
        Memory = "memory",
        /// Derived from other rows.
        Inferred = "inferred",
        /// Read in the named document or file.
        Documented = "documented",
        /// Measured, or read from the artifact itself.
        Measured = "measured",
    }
}

/// Table and key of a row, and its source.
#[derive(Clone, Copy, Debug)]
pub struct RowInfo {
    /// Table name, such as `gpus`.
    pub table: &'static str,
    /// Key within the table, such as `NVIDIA A100-PCIE-40GB`.
    pub row: &'static str,
    /// Document, file or measurement.
    pub source: &'static str,
    /// Date on which the source was read.
    pub checked: Date,
    /// Evidence for the row.
    pub how: How,
}
